/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/wire/bus_keys.h"
#include "tests/unit/bus_fixture.h"
#include "tests/unit/capture.h"

/* The key directories of two hosts. */
struct lab {
	char root[32], server[48], client[48];
};

static void
setup_lab(struct lab *lab)
{
	strcpy(lab->root, "/tmp/antiphase-keys-XXXXXX");
	assert_non_null(mkdtemp(lab->root));
	snprintf(lab->server, sizeof lab->server, "%s/server", lab->root);
	snprintf(lab->client, sizeof lab->client, "%s/client", lab->root);
	assert_int_equal(bus_keys_new(lab->server, NULL), 0);
	assert_int_equal(bus_keys_new(lab->client, NULL), 0);
}

static void
teardown_lab(struct lab *lab)
{
	char command[64];

	snprintf(command, sizeof command, "rm -r %s", lab->root);
	assert_int_equal(system(command), 0);
}

static struct bus_keys *
load(const char *directory)
{
	struct bus_keys *keys;
	struct err err = { 0 };

	if (bus_keys_load(directory, &keys, &err) < 0)
		fail_msg("%s: %s", err.file, err.text);
	return keys;
}

/* The public key of a directory. */
static void
public_of(const char *directory, char ret_z85[BUS_Z85_CHARS + 1])
{
	struct bus_keys *keys = load(directory);

	strcpy(ret_z85, keys->public);
	bus_keys_free(keys);
}

/* Each host gets the other's public key. */
static void
introduce(const struct lab *lab)
{
	char z85[BUS_Z85_CHARS + 1];

	public_of(lab->client, z85);
	assert_int_equal(
		bus_keys_allow(lab->server, "n1", z85, NULL, BUS_KEYS_FIRST, NULL), 0);
	public_of(lab->server, z85);
	assert_int_equal(
		bus_keys_server(lab->client, NULL, z85, "*", BUS_KEYS_FIRST, NULL), 0);
}

static void
a_secret_is_for_its_owner_alone_and_is_never_replaced(void **state)
{
	struct bus_keys *keys;
	struct err err = { 0 };
	struct stat status;
	char path[64];
	struct lab lab;

	(void)state;
	setup_lab(&lab);
	snprintf(path, sizeof path, "%s/self.key", lab.server);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_int_equal(bus_keys_new(lab.server, &err), -EEXIST);
	assert_non_null(strstr(err.text, "never replaced"));
	for (mode_t mode = 0640; mode; mode = mode == 0640 ? 0604 : 0) {
		assert_int_equal(chmod(path, mode), 0);
		assert_int_equal(bus_keys_load(lab.server, &keys, &err), -EACCES);
		assert_non_null(strstr(err.text, "chmod 600"));
	}
	assert_int_equal(unlink(path), 0);
	assert_int_equal(bus_keys_load(lab.server, &keys, &err), -ENOENT);
	assert_non_null(strstr(err.text, "antiphase keys new"));
	teardown_lab(&lab);
}

static void
what_is_no_key_or_no_name_is_refused(void **state)
{
	char z85[BUS_Z85_CHARS + 1], path[64];
	struct bus_keys *keys;
	struct err err = { 0 };
	struct lab lab;

	(void)state;
	setup_lab(&lab);
	public_of(lab.client, z85);
	assert_int_equal(
		bus_keys_allow(lab.server, "../n1", z85, NULL, BUS_KEYS_FIRST, &err),
		-EINVAL);
	assert_int_equal(
		bus_keys_allow(lab.server, ".", z85, NULL, BUS_KEYS_FIRST, &err),
		-EINVAL);
	assert_int_equal(
		bus_keys_allow(lab.server, "", z85, NULL, BUS_KEYS_FIRST, &err),
		-EINVAL);
	assert_int_equal(
		bus_keys_allow(lab.server, "n1", "short", NULL, BUS_KEYS_FIRST, &err),
		-EINVAL);
	assert_int_equal(
		bus_keys_allow(lab.server, "n1", z85, NULL, BUS_KEYS_FIRST, &err), 0);
	assert_int_equal(
		bus_keys_allow(lab.server, "n1", z85, NULL, BUS_KEYS_FIRST, &err),
		-EEXIST);
	z85[7] = '"'; /* Not one of Z85's 85 characters. */
	assert_int_equal(bus_key_check(z85), -EINVAL);
	z85[7] = '\x80';
	assert_int_equal(bus_key_check(z85), -EINVAL);
	snprintf(path, sizeof path, "%s/self.key", lab.server);
	assert_int_equal(file_write(path, "no key\n", 7, NULL), 0);
	chmod(path, 0600);
	assert_int_equal(bus_keys_load(lab.server, &keys, &err), -EINVAL);
	teardown_lab(&lab);
}

static void
with_keys_of_each_other_frames_pass(void **state)
{
	struct bus_keys *server, *client;
	struct bus_pub *pub;
	struct bus_sub *sub;
	struct lab lab;

	(void)state;
	setup_lab(&lab);
	introduce(&lab);
	server = load(lab.server);
	client = load(lab.client);
	pub = open_pub("tcp://0.0.0.0:*", server); /* Allowed with keys. */
	bus_pub_close(pub);
	pub = open_pub(ANY_PORT, server);
	sub = open_sub(bus_pub_endpoint(pub), client);
	bus_keys_free(server);
	bus_keys_free(client);
	bus_sub_want(sub, TELE_SUMMARY, NULL, true);
	until(bus_pub_is_wanted(pub, TELE_SUMMARY, "n1"),
	      (bus_sub_wait(sub, 5 * MS), bus_pub_wait(pub, 5 * MS)));
	publish(pub, "n1", TELE_SUMMARY, 0);
	expect_frame(pub, sub, "n1", TELE_SUMMARY, 0);
	assert_int_equal(bus_pub_counts(pub)->refused, 0);
	assert_int_equal(bus_sub_counts(sub)->refused, 0);
	bus_sub_close(sub);
	bus_pub_close(pub);
	teardown_lab(&lab);
}

/* A refused subscriber: both sides report it, and no frame passes. */
static void
expect_refusal(struct bus_pub *pub, struct bus_sub *sub, bool is_told_to_sub)
{
	struct tele_frame frame = { 0 };

	bus_sub_want(sub, TELE_SUMMARY, NULL, true);
	until(bus_pub_counts(pub)->refused > 0 &&
		      (!is_told_to_sub || bus_sub_counts(sub)->refused > 0),
	      (bus_sub_wait(sub, 5 * MS), bus_pub_wait(pub, 5 * MS)));
	publish(pub, "n1", TELE_SUMMARY, 0);
	for (int i = 0; i < 5; i++) {
		bus_pub_wait(pub, 5 * MS);
		bus_sub_wait(sub, 5 * MS);
		assert_int_equal(bus_sub_frame(sub, &frame, NULL, NULL), 0);
	}
	assert_false(bus_pub_is_heard(pub));
	assert_int_equal(bus_sub_counts(sub)->connections, 0);
	tele_fini(&frame);
}

static void
a_key_that_is_not_allowed_stays_outside_until_it_is(void **state)
{
	struct bus_keys *server, *client;
	struct bus_pub *pub;
	struct bus_sub *sub;
	char z85[BUS_Z85_CHARS + 1];
	struct lab lab;

	(void)state;
	setup_lab(&lab);
	public_of(lab.server, z85);
	assert_int_equal(
		bus_keys_server(lab.client, NULL, z85, "*", BUS_KEYS_FIRST, NULL), 0);
	server = load(lab.server);
	client = load(lab.client);
	pub = open_pub(ANY_PORT, server);
	sub = open_sub(bus_pub_endpoint(pub), client);
	expect_refusal(pub, sub, true);

	/* Once allowed, it connects without a restart of either side. */
	public_of(lab.client, z85);
	assert_int_equal(
		bus_keys_allow(lab.server, "n1", z85, NULL, BUS_KEYS_FIRST, NULL), 0);
	until(bus_pub_is_wanted(pub, TELE_SUMMARY, "n1"),
	      (bus_sub_wait(sub, 5 * MS), bus_pub_wait(pub, 5 * MS)));
	publish(pub, "n1", TELE_SUMMARY, 7);
	expect_frame(pub, sub, "n1", TELE_SUMMARY, 7);
	bus_keys_free(server);
	bus_keys_free(client);
	bus_sub_close(sub);
	bus_pub_close(pub);
	teardown_lab(&lab);
}

static void
a_server_with_another_key_is_not_believed(void **state)
{
	struct bus_keys *server, *client;
	struct bus_pub *pub;
	struct bus_sub *sub;
	char z85[BUS_Z85_CHARS + 1];
	struct lab lab;

	(void)state;
	setup_lab(&lab);
	public_of(lab.client, z85);
	assert_int_equal(
		bus_keys_allow(lab.server, "n1", z85, NULL, BUS_KEYS_FIRST, NULL), 0);
	/* The client uses its own key as the server's. */
	assert_int_equal(
		bus_keys_server(lab.client, NULL, z85, "*", BUS_KEYS_FIRST, NULL), 0);
	server = load(lab.server);
	client = load(lab.client);
	pub = open_pub(ANY_PORT, server);
	sub = open_sub(bus_pub_endpoint(pub), client);
	/* The server cannot decrypt the handshake and disconnects. */
	expect_refusal(pub, sub, false);
	bus_keys_free(server);
	bus_keys_free(client);
	bus_sub_close(sub);
	bus_pub_close(pub);
	teardown_lab(&lab);
}

/* Each endpoint that refuses is named once, not again a few seconds later. */
static void
each_endpoint_that_refuses_is_named_once(void **state)
{
	struct bus_keys *server;
	struct bus_pub *pubs[2];
	struct bus_sub *sub;
	struct err err = { 0 };
	struct capture capture;
	struct lab lab;
	char *text;

	(void)state;
	setup_lab(&lab);
	server = load(lab.server);
	for (int i = 0; i < 2; i++)
		pubs[i] = open_pub(ANY_PORT, server);
	assert_int_equal(
		bus_sub_open((const char *const[]){ bus_pub_endpoint(pubs[0]),
						    bus_pub_endpoint(pubs[1]) },
			     2, false, NULL, &sub, &err),
		0);
	bus_sub_want(sub, TELE_SUMMARY, NULL, true);
	capture_begin(&capture, STDERR_FILENO);
	/* Each refuses twice at least: at once, and a second later. */
	until(bus_pub_counts(pubs[0])->refused >= 2 &&
		      bus_pub_counts(pubs[1])->refused >= 2 &&
		      bus_sub_counts(sub)->refused >= 4,
	      (bus_sub_wait(sub, 5 * MS), bus_pub_wait(pubs[0], 5 * MS),
	       bus_pub_wait(pubs[1], 5 * MS)));
	for (int i = 0; i < 20; i++)
		bus_sub_wait(sub, 5 * MS);
	text = capture_end(&capture);
	for (int i = 0; i < 2; i++) {
		char line[100], *at;

		snprintf(line, sizeof line, "%s: no connection",
			 bus_pub_endpoint(pubs[i]));
		at = strstr(text, line);
		assert_non_null(at);
		assert_null(strstr(at + 1, line));
		bus_pub_close(pubs[i]);
	}
	free(text);
	bus_keys_free(server);
	bus_sub_close(sub);
	teardown_lab(&lab);
}

static void
without_keys_nobody_gets_into_what_has_them(void **state)
{
	struct bus_keys *server;
	struct bus_pub *pub;
	struct bus_sub *sub;
	struct lab lab;

	(void)state;
	setup_lab(&lab);
	server = load(lab.server);
	pub = open_pub(ANY_PORT, server);
	sub = open_sub(bus_pub_endpoint(pub), NULL);
	expect_refusal(pub, sub, false);
	bus_keys_free(server);
	bus_sub_close(sub);
	bus_pub_close(pub);
	teardown_lab(&lab);
}

static void
who_connects_with_keys_has_to_know_whose(void **state)
{
	struct bus_keys *client;
	struct bus_sub *sub;
	struct err err = { 0 };
	const char *endpoint = "tcp://127.0.0.1:9";
	struct lab lab;

	(void)state;
	setup_lab(&lab);
	client = load(lab.client);
	assert_int_equal(bus_sub_open(&endpoint, 1, false, client, &sub, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "server.pub"));
	bus_keys_free(client);
	teardown_lab(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_secret_is_for_its_owner_alone_and_is_never_replaced),
		cmocka_unit_test(what_is_no_key_or_no_name_is_refused),
		cmocka_unit_test(with_keys_of_each_other_frames_pass),
		cmocka_unit_test(a_key_that_is_not_allowed_stays_outside_until_it_is),
		cmocka_unit_test(a_server_with_another_key_is_not_believed),
		cmocka_unit_test(each_endpoint_that_refuses_is_named_once),
		cmocka_unit_test(without_keys_nobody_gets_into_what_has_them),
		cmocka_unit_test(who_connects_with_keys_has_to_know_whose),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
