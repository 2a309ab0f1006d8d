/* SPDX-License-Identifier: Apache-2.0 */
/* test_caps.c - dropping privileges, in a child since it is irreversible */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/daemon/caps.h"
#include "tests/unit/test.h"

/* The number after "NAME:" in /proc/self/status, in base 'base'. */
static unsigned long long
status_of(const char *name, int base)
{
	char line[256];
	unsigned long long value = ~0ull;
	FILE *in = fopen("/proc/self/status", "r");

	while (in && fgets(line, sizeof line, in)) {
		if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
			value = strtoull(line + strlen(name) + 1, NULL, base);
	}
	if (in)
		fclose(in);
	return value;
}

/* Runs 'work' in a child; returns its exit status. */
static int
in_child(int (*work)(void))
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		_exit(work());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int
become_nobody(void)
{
	struct err err = { 0 };

	if (caps_drop("65534", CAPS_TELEMETRY, &err) < 0) {
		err_print(&err, stderr);
		return 1;
	}
	if (status_of("Uid", 10) != 65534 || status_of("Gid", 10) != 65534)
		return 2;
	if (status_of("CapEff", 16) != CAPS_TELEMETRY ||
	    status_of("CapPrm", 16) != CAPS_TELEMETRY)
		return 3;
	if (status_of("CapInh", 16) || status_of("CapAmb", 16))
		return 4;
	if (status_of("CapBnd", 16) & ~CAPS_TELEMETRY)
		return 5;
	if (status_of("NoNewPrivs", 10) != 1)
		return 6;
	return setuid(0) == 0 || setgid(0) == 0 ? 7 : 0;
}

static void
root_becomes_a_user_with_just_the_capabilities_named(void **state)
{
	(void)state;
	if (geteuid() != 0 || (caps_effective() & CAPS_TELEMETRY) != CAPS_TELEMETRY)
		skip();
	assert_int_equal(in_child(become_nobody), 0);
}

static int
drop_all_in_place(void)
{
	struct err err = { 0 };
	unsigned long long uid = status_of("Uid", 10);

	if (caps_drop(NULL, 0, &err) < 0)
		return 1;
	if (status_of("CapEff", 16) || status_of("CapPrm", 16))
		return 2;
	return status_of("Uid", 10) != uid || status_of("NoNewPrivs", 10) != 1 ? 3 : 0;
}

/* This one needs no privileges. */
static void
without_a_user_only_capabilities_go(void **state)
{
	(void)state;
	assert_int_equal(in_child(drop_all_in_place), 0);
}

static int
change_without_the_right_to(void)
{
	struct err err = { 0 };

	if (caps_drop(geteuid() == 0 ? "65534" : NULL, 0, &err) < 0)
		return 1;
	return caps_drop("root", 0, &err) == -EPERM ? 0 : 2;
}

static void
nobody_cannot_become_root(void **state)
{
	(void)state;
	assert_int_equal(in_child(change_without_the_right_to), 0);
}

static void
users_are_found_by_name_and_number(void **state)
{
	struct err err = { 0 };
	unsigned uid = 9, gid = 9;

	(void)state;
	assert_int_equal(caps_find_user("root", &uid, &gid, &err), 0);
	assert_int_equal(uid, 0);
	assert_int_equal(gid, 0);
	assert_int_equal(caps_find_user("4242424", &uid, &gid, &err), 0);
	assert_int_equal(uid, 4242424);
	assert_int_equal(gid, 4242424);
	assert_int_equal(caps_find_user("no such user", &uid, &gid, &err), -EINVAL);
	assert_non_null(strstr(err.text, "no such user"));
	assert_int_equal(caps_find_user("4294967295", &uid, &gid, &err), -EINVAL);
	assert_int_equal(caps_find_user("12x", &uid, &gid, &err), -EINVAL);
	assert_int_equal(caps_drop("no such user", 0, &err), -EINVAL);
}

static void
sets_are_told_by_their_names(void **state)
{
	char text[512], little[20];

	(void)state;
	assert_string_equal(caps_text(CAPS_TELEMETRY, text, sizeof text),
			    "CAP_NET_ADMIN, CAP_PERFMON, CAP_BPF");
	assert_string_equal(caps_text(0, text, sizeof text), "none");
	assert_string_equal(caps_text(UINT64_C(1) << 60 | 1, text, sizeof text),
			    "CAP_CHOWN, 60");
	caps_text(~UINT64_C(0), little, sizeof little);
	assert_int_equal(strlen(little), sizeof little - 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_becomes_a_user_with_just_the_capabilities_named),
		cmocka_unit_test(without_a_user_only_capabilities_go),
		cmocka_unit_test(nobody_cannot_become_root),
		cmocka_unit_test(users_are_found_by_name_and_number),
		cmocka_unit_test(sets_are_told_by_their_names),
	};

	return cmocka_run_group_tests_name("caps", tests, NULL, NULL);
}
