/* SPDX-License-Identifier: Apache-2.0 */
/* test_config.c - the collector's settings: sources and allowed values */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/config.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/settings.h"
#include "tests/unit/test.h"

static int
parse(struct config *config, const char *text, struct err *err)
{
	int rc;

	*err = (struct err){ 0 };
	rc = settings_parse(config->settings, "a.conf", text, strlen(text), err);

	config_follow(config);
	return rc;
}

static void
refused(const char *text, unsigned line, const char *part)
{
	struct config config;
	struct err err;

	config_init(&config);
	assert_int_equal(parse(&config, text, &err), -EINVAL);
	assert_string_equal(err.file, "a.conf");
	assert_int_equal(err.line, line);
	if (!strstr(err.text, part))
		fail_msg("'%s' does not say '%s'", err.text, part);
	config_fini(&config);
}

static void
defaults_are_those_of_the_manual(void **state)
{
	struct config config;

	(void)state;
	config_init(&config);
	assert_int_equal(config.sources, CONFIG_AUTO);
	assert_string_equal(config.runtime_dir, "/run/antiphase");
	assert_string_equal(config.endpoint, "tcp://127.0.0.1:7461");
	assert_string_equal(config.metrics, "127.0.0.1:9471");
	assert_int_equal(config.raw_ms, 250);
	assert_false(config.is_link_only);
	assert_string_equal(settings_origin(config.settings, 0), "default");
	config_fini(&config);
}

static void
values_are_taken_with_their_place(void **state)
{
	struct config config;
	struct err err;

	(void)state;
	config_init(&config);
	assert_int_equal(parse(&config,
			       "[collector]\nhost = n1\ninterval_ms = 20\n"
			       "[source]\nsource = bpf, rdma\nlink_only = yes\n"
			       "[topology]\nwhatever = theirs\n"
			       "[metrics]\naddress = none\n",
			       &err),
			 0);
	assert_string_equal(config.host, "n1");
	assert_int_equal(config.interval_ms, 20);
	assert_int_equal(config.sources, CONFIG_BPF | CONFIG_RDMA);
	assert_true(config.is_link_only);
	assert_string_equal(config.metrics, "none");
	assert_true(settings_is_none(config.metrics) && settings_is_none("off"));
	assert_false(settings_is_none(config.endpoint));
	assert_string_equal(settings_origin(config.settings, 0), "a.conf");
	assert_string_equal(settings_origin(config.settings, 1), "default");
	config_fini(&config);
}

static void
what_is_wrong_is_said_with_the_line_and_what_was_meant(void **state)
{
	(void)state;
	refused("[collector]\nintervall_ms = 3\n", 2, "did you mean 'interval_ms'?");
	refused("[colector]\n", 1, "did you mean 'collector'?");
	refused("[collector]\nendpoint = x\n", 2, "it belongs to [bus]");
	refused("[collector]\ninterval_ms = 1001\n", 2, "from 0 to 1000, not '1001'");
	refused("[collector]\ninterval_ms = ten\n", 2, "not 'ten'");
	refused("[collector]\ninterval_ms = 99999999999999999999\n", 2,
		"from 0 to 1000");
	refused("[source]\nlink_only = maybe\n", 2, "yes or no, not 'maybe'");
	refused("[source]\nsource = bpf,netlnk\n", 2, "did you mean 'netlink'?");
	refused("[source]\nsource = ,\n", 2, "no source is named");
	refused("[source]\nsource = replay,bpf\n", 2, "cannot be combined");
	refused("[source]\nclsact = never\n", 2, "auto, yes, no");
	refused("[bus]\nendpoint =\n", 2, "endpoint has no value");
	refused("host = x\n", 1, "is in no section");
}

static void
write_file(const char *directory, const char *name, const char *text)
{
	char path[128];
	struct err err;

	snprintf(path, sizeof path, "%s/%s", directory, name);
	assert_int_equal(file_write(path, text, strlen(text), &err), 0);
}

static void
files_in_order_then_the_environment_then_options(void **state)
{
	char directory[] = "/tmp/ap-config-XXXXXX", file[64], command[64];
	struct config config;
	struct err err = { 0 };

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(file, sizeof file, "%s/conf.d", directory);
	assert_int_equal(mkdir(file, 0755), 0);
	write_file(directory, "a.conf",
		   "[collector]\nhost = a\nuser = a\nlog = dbg\ninterval_ms = 1\n");
	write_file(directory, "conf.d/20.conf", "[collector]\nuser = twenty\n");
	write_file(directory, "conf.d/10.conf",
		   "[collector]\nuser = ten\nhost = ten\n");
	write_file(directory, "conf.d/30.conf.bak", "[collector]\nuser = thirty\n");
	setenv("ANTIPHASE_COLLECTOR_LOG", "err", 1);
	setenv("ANTIPHASE_COLLECTOR_INTERVAL_MS", "5", 1);
	snprintf(file, sizeof file, "%s/a.conf", directory);
	config_init(&config);
	assert_int_equal(config_load(&config, file, &err), 0);
	assert_int_equal(config_set(&config, "collector", "interval_ms", "9",
				    "--interval-ms", 0, &err),
			 0);
	assert_string_equal(config.host, "ten");
	assert_string_equal(config.user, "twenty");
	assert_string_equal(config.log, "err");
	assert_int_equal(config.interval_ms, 9);
	assert_non_null(strstr(settings_origin(config.settings, 1), "conf.d/20.conf"));
	assert_string_equal(settings_origin(config.settings, 3),
			    "ANTIPHASE_COLLECTOR_LOG");
	assert_string_equal(settings_origin(config.settings, 4), "--interval-ms");
	setenv("ANTIPHASE_COLLECTOR_LOG", "loud", 1);
	assert_int_equal(config_load(&config, file, &err), -EINVAL);
	assert_string_equal(err.file, "ANTIPHASE_COLLECTOR_LOG");
	unsetenv("ANTIPHASE_COLLECTOR_LOG");
	unsetenv("ANTIPHASE_COLLECTOR_INTERVAL_MS");
	/* A file named on the command line must exist. */
	assert_int_equal(config_load(&config, "/no/such.conf", &err), -ENOENT);
	config_fini(&config);
	snprintf(command, sizeof command, "rm -r %s", directory);
	assert_int_equal(system(command), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_those_of_the_manual),
		cmocka_unit_test(values_are_taken_with_their_place),
		cmocka_unit_test(
			what_is_wrong_is_said_with_the_line_and_what_was_meant),
		cmocka_unit_test(files_in_order_then_the_environment_then_options),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
