/* SPDX-License-Identifier: Apache-2.0 */
/* test_bus_names.c - keys and the hosts that they speak for, on all ways of the bus. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/daemon/loop.h"
#include "lib/wire/bus_keys.h"
#include "tests/unit/bus_fixture.h"
#include "tests/unit/key_lab.h"

static struct bus_pub *
publisher(const struct key_lab *lab, const char *host, const char *endpoint,
	  bool is_bound)
{
	struct bus_keys *keys = key_lab_load(lab, host);
	struct err err = { 0 };
	struct bus_pub *pub;

	if (bus_pub_open(endpoint, is_bound, keys, &pub, &err) < 0)
		fail_msg("%s", err.text);
	bus_keys_free(keys);
	return pub;
}

static struct bus_sub *
subscriber(const struct key_lab *lab, const char *host, const char *const *endpoints,
	   size_t n, bool is_bound)
{
	struct bus_keys *keys = key_lab_load(lab, host);
	struct err err = { 0 };
	struct bus_sub *sub;

	if (bus_sub_open(endpoints, n, is_bound, keys, &sub, &err) < 0)
		fail_msg("%s", err.text);
	bus_keys_free(keys);
	bus_sub_want(sub, TELE_SUMMARY, NULL, true);
	return sub;
}

static void
send_as(struct bus_pub *pub, const char *host, uint64_t start_id, uint64_t sequence)
{
	struct tele_frame frame = { 0 };

	frame_of(&frame, host, TELE_SUMMARY, sequence);
	frame.start_id = start_id;
	assert_int_equal(bus_pub_frame(pub, &frame), 0);
	tele_fini(&frame);
}

/* The subscription of 'sub' has come to 'pub'. */
static void
meet(struct bus_pub *pub, struct bus_sub *sub)
{
	until(bus_pub_is_wanted(pub, TELE_SUMMARY, "n1"),
	      (bus_sub_wait(sub, 5 * MS), bus_pub_wait(pub, 5 * MS)));
}

/* Takes frames until this one comes; returns how many came before it. */
static unsigned
take_until(struct bus_sub *sub, const char *host, uint64_t sequence)
{
	struct tele_frame frame = { 0 };
	unsigned n = 0;
	bool is_it = false;

	until(is_it, {
		if (bus_sub_frame(sub, &frame, NULL, NULL) == 1) {
			is_it = strcmp(frame.host, host) == 0 &&
				frame.sequence == sequence;
			n += !is_it;
		} else {
			bus_sub_wait(sub, 5 * MS);
		}
	});
	tele_fini(&frame);
	return n;
}

/* ---- Publishers that connect ----------------------------------------------------- */

static void
a_host_cannot_speak_as_another(void **state)
{
	const char *any = ANY_PORT, *mine;
	struct bus_pub *n1, *n2;
	struct bus_sub *sub;
	struct key_lab lab;
	char host[8];

	(void)state;
	key_lab_open(&lab);
	key_lab_make(&lab, "receiver");
	key_lab_make(&lab, "n1");
	key_lab_make(&lab, "n2");
	key_lab_allow(&lab, "receiver", "n1", NULL);
	key_lab_allow(&lab, "receiver", "n2", NULL);
	key_lab_trust(&lab, "n1", "receiver", NULL, NULL);
	key_lab_trust(&lab, "n2", "receiver", NULL, NULL);
	sub = subscriber(&lab, "receiver", &any, 1, true);
	mine = bus_sub_endpoint(sub);
	n1 = publisher(&lab, "n1", mine, false);
	n2 = publisher(&lab, "n2", mine, false);
	meet(n1, sub);
	meet(n2, sub);

	send_as(n1, "n1", 1, 0);
	assert_int_equal(take_until(sub, "n1", 0), 0);
	send_as(n2, "n2", 1, 0);
	assert_int_equal(take_until(sub, "n2", 0), 0);
	send_as(n1, "n2", 9, 0); /* A new start, as after a boot. */
	for (unsigned i = 0; i < 50; i++) {
		snprintf(host, sizeof host, "x%u", i);
		send_as(n1, host, 1, 0);
	}
	send_as(n1, "n1", 1, 1);
	assert_int_equal(take_until(sub, "n1", 1), 0);
	assert_int_equal(bus_sub_counts(sub)->misnamed, 51);
	assert_int_equal(bus_sub_counts(sub)->hosts, 2);

	/* The real one goes on without a gap. */
	send_as(n2, "n2", 1, 1);
	assert_int_equal(take_until(sub, "n2", 1), 0);
	assert_int_equal(bus_sub_counts(sub)->gaps, 0);
	assert_int_equal(bus_sub_counts(sub)->restarts, 0);
	bus_pub_close(n1);
	bus_pub_close(n2);
	bus_sub_close(sub);
	key_lab_close(&lab);
}

static void
note_text(void *ctx, const char *topic, const char *text, size_t n)
{
	(void)text;
	(void)n;
	snprintf(ctx, 64, "%s", topic);
}

static void
a_host_cannot_report_flows_of_another(void **state)
{
	static const char *const prefixes[] = { "flow/", "port/", NULL };
	const char *any = ANY_PORT;
	char heard[64] = "";
	struct bus_pub *n1;
	struct bus_sub *sub;
	struct key_lab lab;

	(void)state;
	key_lab_open(&lab);
	key_lab_make(&lab, "receiver");
	key_lab_make(&lab, "n1");
	key_lab_allow(&lab, "receiver", "n1", NULL);
	key_lab_trust(&lab, "n1", "receiver", NULL, NULL);
	sub = subscriber(&lab, "receiver", &any, 1, true);
	assert_int_equal(bus_sub_on_texts(sub, prefixes, note_text, heard), 0);
	n1 = publisher(&lab, "n1", bus_sub_endpoint(sub), false);
	meet(n1, sub);
	bus_pub_text(n1, "flow/n2/", "{}");
	send_as(n1, "n1", 1, 0);
	take_until(sub, "n1", 0);
	assert_string_equal(heard, "");
	bus_pub_text(n1, "flow/n1/", "{}");
	send_as(n1, "n1", 1, 1);
	take_until(sub, "n1", 1);
	assert_string_equal(heard, "flow/n1/");
	bus_pub_text(n1, "port/10.0.0.9/", "{}");
	send_as(n1, "n1", 1, 2);
	take_until(sub, "n1", 2);
	assert_string_equal(heard, "port/10.0.0.9/");
	assert_int_equal(bus_sub_counts(sub)->misnamed, 1);
	bus_pub_close(n1);
	bus_sub_close(sub);
	key_lab_close(&lab);
}

/* Hosts that share a pair, which has to be said. */
static void
a_second_sender_of_a_host_waits_until_the_first_one_is_gone(void **state)
{
	const char *any = ANY_PORT;
	struct bus_pub *first, *second;
	struct bus_sub *sub;
	struct key_lab lab;

	(void)state;
	key_lab_open(&lab);
	key_lab_make(&lab, "receiver");
	key_lab_make(&lab, "hosts");
	key_lab_allow(&lab, "receiver", "hosts", "n*");
	key_lab_trust(&lab, "hosts", "receiver", NULL, NULL);
	sub = subscriber(&lab, "receiver", &any, 1, true);
	first = publisher(&lab, "hosts", bus_sub_endpoint(sub), false);
	second = publisher(&lab, "hosts", bus_sub_endpoint(sub), false);
	meet(first, sub);
	meet(second, sub);
	send_as(first, "n1", 1, 0);
	assert_int_equal(take_until(sub, "n1", 0), 0);
	send_as(second, "n1", 2, 500);
	send_as(second, "n2", 2, 0);
	assert_int_equal(take_until(sub, "n2", 0), 0);
	assert_int_equal(bus_sub_counts(sub)->duplicates, 1);
	send_as(first, "n1", 1, 1);
	assert_int_equal(take_until(sub, "n1", 1), 0);

	/* Of the same start on two paths, one is a repetition. */
	send_as(second, "n1", 1, 1);
	send_as(second, "n1", 1, 2);
	assert_int_equal(take_until(sub, "n1", 2), 0);
	assert_int_equal(bus_sub_counts(sub)->duplicates, 1);
	assert_int_equal(bus_sub_counts(sub)->repeats, 1);
	assert_int_equal(bus_sub_counts(sub)->gaps, 0);

	/* Now the second connection speaks for it.  It ends, and a new start comes. */
	bus_pub_close(second);
	for (uint64_t i = 0; bus_sub_counts(sub)->restarts == 0; i++) {
		struct tele_frame frame = { 0 };

		send_as(first, "n1", 3, i);
		bus_sub_wait(sub, 5 * MS);
		bus_sub_frame(sub, &frame, NULL, NULL);
		tele_fini(&frame);
		assert_true(i < 2000);
	}
	bus_pub_close(first);
	bus_sub_close(sub);
	key_lab_close(&lab);
}

/* ---- Publishers that are connected to -------------------------------------------- */

static void
each_server_speaks_for_its_own_hosts(void **state)
{
	const char *endpoints[2];
	struct bus_pub *n1, *n2;
	struct bus_sub *sub;
	struct key_lab lab;

	(void)state;
	key_lab_open(&lab);
	key_lab_make(&lab, "receiver");
	key_lab_make(&lab, "n1");
	key_lab_make(&lab, "n2");
	key_lab_allow(&lab, "n1", "receiver", NULL);
	key_lab_allow(&lab, "n2", "receiver", NULL);
	key_lab_trust(&lab, "receiver", "n1", "127.0.0.1", "n1");
	key_lab_trust(&lab, "receiver", "n2", "127.0.0.2", "n2");
	n1 = publisher(&lab, "n1", "tcp://127.0.0.1:*", true);
	n2 = publisher(&lab, "n2", "tcp://127.0.0.2:*", true);
	endpoints[0] = bus_pub_endpoint(n1);
	endpoints[1] = bus_pub_endpoint(n2);
	sub = subscriber(&lab, "receiver", endpoints, 2, false);
	meet(n1, sub);
	meet(n2, sub);
	send_as(n1, "n1", 1, 0);
	assert_int_equal(take_until(sub, "n1", 0), 0);
	send_as(n1, "n2", 1, 7);
	send_as(n1, "n1", 1, 1);
	assert_int_equal(take_until(sub, "n1", 1), 0);
	send_as(n2, "n2", 1, 0);
	assert_int_equal(take_until(sub, "n2", 0), 0);
	assert_int_equal(bus_sub_counts(sub)->misnamed, 1);
	assert_int_equal(bus_sub_counts(sub)->connections, 2);
	bus_sub_close(sub);
	bus_pub_close(n1);
	bus_pub_close(n2);
	key_lab_close(&lab);
}

static void
who_shares_a_pair_has_to_be_listed(void **state)
{
	const char *endpoint = "tcp://127.0.0.1:9";
	struct bus_keys *keys;
	struct bus_sub *sub;
	struct err err = { 0 };
	struct key_lab lab;

	(void)state;
	key_lab_open(&lab);
	key_lab_make(&lab, "receiver");
	key_lab_make(&lab, "hosts");
	key_lab_trust(&lab, "receiver", "hosts", NULL, NULL);
	keys = key_lab_load(&lab, "receiver");
	assert_int_equal(bus_sub_open(&endpoint, 1, false, keys, &sub, &err), -EINVAL);
	assert_non_null(strstr(err.text, "server.hosts is missing"));
	bus_keys_free(keys);
	key_lab_close(&lab);
}

/* ---- Proxies --------------------------------------------------------------------- */

static void
nothing(void *ctx, int64_t now_ns, int64_t missed)
{
	(void)now_ns;
	(void)missed;
	loop_stop(ctx, 0);
}

/* Runs a proxy for a moment. */
static void
run_loop(struct loop *loop)
{
	struct loop_item *item = loop_every(loop, 5 * MS, nothing, loop);

	loop_run(loop);
	loop_remove(loop, item);
}

static void
a_proxy_passes_on_what_the_hosts_key_speaks_for(void **state)
{
	const char *to, *where;
	struct bus_keys *keys;
	struct tele_frame frame = { 0 };
	struct bus_proxy *proxy;
	struct bus_pub *n1, *n2;
	struct bus_sub *sub, *spy;
	struct loop *loop = loop_new();
	struct key_lab lab;
	bool is_heard = false;
	char from[64];

	(void)state;
	key_lab_open(&lab);
	key_lab_make(&lab, "proxy");
	key_lab_make(&lab, "receiver");
	key_lab_make(&lab, "n1");
	key_lab_make(&lab, "n2");
	key_lab_allow(&lab, "proxy", "n1", NULL);
	key_lab_allow(&lab, "proxy", "n2", NULL);
	key_lab_allow(&lab, "proxy", "receiver", "*");
	key_lab_trust(&lab, "n1", "proxy", NULL, "*");
	key_lab_trust(&lab, "n2", "proxy", NULL, NULL);
	key_lab_trust(&lab, "receiver", "proxy", "127.0.0.1", "n1,n3");
	keys = key_lab_load(&lab, "proxy");
	/* An endpoint that publishers can be told. */
	snprintf(from, sizeof from, "ipc://%s/from", lab.root);
	where = from;
	assert_int_equal(bus_proxy_open(&where, 1, true, ANY_PORT, keys, &proxy, NULL),
			 0);
	bus_keys_free(keys);
	bus_proxy_join(proxy, loop);
	to = bus_proxy_endpoint(proxy);
	sub = subscriber(&lab, "receiver", &to, 1, false);
	n1 = publisher(&lab, "n1", from, false);
	n2 = publisher(&lab, "n2", from, false);
	until(bus_pub_is_wanted(n1, TELE_SUMMARY, "n1") &&
		      bus_pub_is_wanted(n2, TELE_SUMMARY, "n1"),
	      (run_loop(loop), bus_sub_wait(sub, MS)));
	send_as(n1, "n2", 1, 7); /* Of another host: dropped there. */
	send_as(n2, "n2", 1, 0); /* Passed on, and dropped by the receiver. */
	send_as(n1, "n1", 1, 0);
	until((is_heard |= bus_sub_frame(sub, &frame, NULL, NULL) == 1) &&
		      bus_sub_counts(sub)->misnamed == 1,
	      (run_loop(loop), bus_sub_wait(sub, MS)));
	assert_string_equal(frame.host, "n1");
	assert_int_equal(bus_proxy_counts(proxy)->misnamed, 1);

	/* A host does not hear the others there. */
	spy = subscriber(&lab, "n1", &to, 1, false);
	until(bus_proxy_counts(proxy)->ended > 0,
	      (run_loop(loop), bus_sub_wait(spy, MS)));
	tele_fini(&frame);
	bus_sub_close(spy);
	bus_pub_close(n1);
	bus_pub_close(n2);
	bus_sub_close(sub);
	bus_proxy_close(proxy);
	loop_free(loop);
	key_lab_close(&lab);
}

/* ---- Orders ---------------------------------------------------------------------- */

static struct bus_sub *
listen_to(const struct key_lab *lab, const char *host, struct bus_pub *pub,
	  const char *prefix)
{
	struct bus_keys *keys = key_lab_load(lab, host);
	struct bus_sub *sub;

	assert_int_equal(
		bus_sub_open_texts(bus_pub_endpoint(pub), keys, prefix, &sub, NULL), 0);
	bus_keys_free(keys);
	return sub;
}

static void
a_host_hears_its_own_orders_only(void **state)
{
	static const char *const others[] = { "pace/n2/", "pace/", "pace/n1", "pac",
					      "" };
	const char *topic;
	const uint8_t *bytes;
	struct bus_pub *announcer;
	struct bus_sub *own, *spy;
	struct key_lab lab;
	size_t n;

	(void)state;
	key_lab_open(&lab);
	key_lab_make(&lab, "scheduler");
	key_lab_make(&lab, "n1");
	key_lab_make(&lab, "watcher");
	key_lab_allow(&lab, "scheduler", "n1", NULL);
	key_lab_allow(&lab, "scheduler", "watcher", "*");
	key_lab_trust(&lab, "n1", "scheduler", NULL, NULL);
	key_lab_trust(&lab, "watcher", "scheduler", NULL, NULL);
	announcer = publisher(&lab, "scheduler", ANY_PORT, true);
	own = listen_to(&lab, "n1", announcer, "pace/n1/");
	assert_int_equal(bus_sub_want_texts(own, "port/10.0.0.1/", true), 0);
	assert_int_equal(bus_sub_want_texts(own, "t/", true), 0);
	until(bus_pub_is_heard(announcer),
	      (bus_sub_wait(own, 5 * MS), bus_pub_wait(announcer, 5 * MS)));
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		uint64_t ended = bus_pub_counts(announcer)->ended;

		spy = listen_to(&lab, "n1", announcer, others[i]);
		until(bus_pub_counts(announcer)->ended > ended,
		      (bus_sub_wait(spy, 5 * MS), bus_pub_wait(announcer, 5 * MS)));
		bus_sub_close(spy);
	}
	spy = listen_to(&lab, "watcher", announcer, "");
	n = 0;
	until(bus_sub_message(spy, &topic, &bytes, &n) == 1 &&
		      strcmp(topic, "pace/n2/") == 0,
	      (bus_pub_text(announcer, "pace/n2/", "other"),
	       bus_sub_wait(spy, 5 * MS)));
	bus_pub_text(announcer, "pace/n1/", "mine");
	until(bus_sub_message(own, &topic, &bytes, &n) == 1, bus_sub_wait(own, 5 * MS));
	assert_string_equal(topic, "pace/n1/");
	bus_sub_close(own);
	bus_sub_close(spy);
	bus_pub_close(announcer);
	key_lab_close(&lab);
}

/* ---- Rotation -------------------------------------------------------------------- */

static void
a_client_changes_its_key_without_a_gap(void **state)
{
	char next[BUS_Z85_CHARS + 1], other[BUS_Z85_CHARS + 1];
	const char *any = ANY_PORT;
	struct bus_pub *old, *new;
	struct bus_sub *sub;
	struct key_lab lab;

	(void)state;
	key_lab_open(&lab);
	key_lab_make(&lab, "receiver");
	key_lab_make(&lab, "n1");
	key_lab_make(&lab, "n2");
	key_lab_allow(&lab, "receiver", "n1", NULL);
	key_lab_trust(&lab, "n1", "receiver", NULL, NULL);
	sub = subscriber(&lab, "receiver", &any, 1, true);
	old = publisher(&lab, "n1", bus_sub_endpoint(sub), false);
	meet(old, sub);
	send_as(old, "n1", 1, 0);
	assert_int_equal(take_until(sub, "n1", 0), 0);

	assert_int_equal(bus_keys_rotate(key_lab_dir(&lab, "n1"), next, NULL), 0);
	assert_int_equal(bus_keys_allow(key_lab_dir(&lab, "receiver"), "n1", next, NULL,
					BUS_KEYS_ALSO, NULL),
			 0);
	assert_int_equal(bus_keys_rotated(key_lab_dir(&lab, "n1"), NULL), 0);
	send_as(old, "n1", 1, 1); /* The old key still holds. */
	assert_int_equal(take_until(sub, "n1", 1), 0);
	new = publisher(&lab, "n1", bus_sub_endpoint(sub), false);
	meet(new, sub);
	send_as(new, "n1", 1, 2);
	assert_int_equal(take_until(sub, "n1", 2), 0);
	assert_int_equal(bus_sub_counts(sub)->gaps, 0);
	assert_int_equal(bus_sub_counts(sub)->refused, 0);
	assert_int_equal(bus_sub_counts(sub)->misnamed, 0);
	assert_int_equal(bus_sub_counts(sub)->duplicates, 0);

	/* Without the old key, its connection is of no use, and ends. */
	assert_int_equal(bus_keys_allow(key_lab_dir(&lab, "receiver"), "n1", next, NULL,
					BUS_KEYS_REPLACE, NULL),
			 0);
	until(bus_sub_counts(sub)->refused > 0,
	      (bus_sub_wait(sub, 5 * MS), bus_pub_wait(old, 5 * MS),
	       bus_pub_wait(new, MS)));
	send_as(old, "n1", 1, 50);
	send_as(new, "n1", 1, 3);
	assert_int_equal(take_until(sub, "n1", 3), 0);
	key_lab_public(&lab, "n1", other);
	assert_string_equal(other, next);
	bus_pub_close(old);
	bus_pub_close(new);
	bus_sub_close(sub);
	key_lab_close(&lab);
}

static void
a_server_changes_its_key_and_is_found_again(void **state)
{
	char next[BUS_Z85_CHARS + 1], endpoint[64];
	const char *where = endpoint;
	struct bus_pub *pub;
	struct bus_sub *sub;
	struct key_lab lab;

	(void)state;
	key_lab_open(&lab);
	key_lab_make(&lab, "receiver");
	key_lab_make(&lab, "n1");
	key_lab_allow(&lab, "n1", "receiver", NULL);
	key_lab_trust(&lab, "receiver", "n1", "127.0.0.1", "n1");
	pub = publisher(&lab, "n1", ANY_PORT, true);
	snprintf(endpoint, sizeof endpoint, "%s", bus_pub_endpoint(pub));
	assert_int_equal(bus_keys_rotate(key_lab_dir(&lab, "n1"), next, NULL), 0);
	assert_int_equal(bus_keys_server(key_lab_dir(&lab, "receiver"), "127.0.0.1",
					 next, NULL, BUS_KEYS_ALSO, NULL),
			 0);
	sub = subscriber(&lab, "receiver", &where, 1, false);
	meet(pub, sub);
	send_as(pub, "n1", 1, 0);
	assert_int_equal(take_until(sub, "n1", 0), 0);
	bus_pub_close(pub);
	assert_int_equal(bus_keys_rotated(key_lab_dir(&lab, "n1"), NULL), 0);
	pub = publisher(&lab, "n1", endpoint, true);
	meet(pub, sub);
	send_as(pub, "n1", 1, 1);
	assert_int_equal(take_until(sub, "n1", 1), 0);
	assert_int_equal(bus_sub_counts(sub)->misnamed, 0);
	bus_sub_close(sub);
	bus_pub_close(pub);
	key_lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_cannot_speak_as_another),
		cmocka_unit_test(a_host_cannot_report_flows_of_another),
		cmocka_unit_test(
			a_second_sender_of_a_host_waits_until_the_first_one_is_gone),
		cmocka_unit_test(each_server_speaks_for_its_own_hosts),
		cmocka_unit_test(who_shares_a_pair_has_to_be_listed),
		cmocka_unit_test(a_proxy_passes_on_what_the_hosts_key_speaks_for),
		cmocka_unit_test(a_host_hears_its_own_orders_only),
		cmocka_unit_test(a_client_changes_its_key_without_a_gap),
		cmocka_unit_test(a_server_changes_its_key_and_is_found_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
