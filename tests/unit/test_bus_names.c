/* SPDX-License-Identifier: Apache-2.0 */
/* test_bus_names.c - keys and the hosts that they speak for, on all ways of the bus. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/daemon/loop.h"
#include "lib/wire/bus_keys.h"
#include "tests/unit/bus_fixture.h"

/* A folder with the key directories of some hosts. */
struct lab {
	char root[40];
};

static void
setup(struct lab *lab)
{
	strcpy(lab->root, "/tmp/antiphase-names-XXXXXX");
	assert_non_null(mkdtemp(lab->root));
}

static void
teardown(struct lab *lab)
{
	char command[64];

	snprintf(command, sizeof command, "rm -r %s", lab->root);
	assert_int_equal(system(command), 0);
}

/* The directory of a host, in one of some buffers. */
static const char *
at(const struct lab *lab, const char *host)
{
	static char paths[4][80];
	static unsigned n;
	char *path = paths[n++ % 4];

	snprintf(path, sizeof paths[0], "%s/%s", lab->root, host);
	return path;
}

static struct bus_keys *
load(const struct lab *lab, const char *host)
{
	struct bus_keys *keys;
	struct err err = { 0 };

	if (bus_keys_load(at(lab, host), &keys, &err) < 0)
		fail_msg("%s: %s", err.file, err.text);
	return keys;
}

static void
public_of(const struct lab *lab, const char *host, char ret_z85[BUS_Z85_CHARS + 1])
{
	struct bus_keys *keys = load(lab, host);

	strcpy(ret_z85, keys->public);
	bus_keys_free(keys);
}

/* 'who' may connect to 'where', and speaks for 'hosts' (NULL: itself). */
static void
allow(const struct lab *lab, const char *where, const char *who, const char *hosts)
{
	char z85[BUS_Z85_CHARS + 1];

	public_of(lab, who, z85);
	assert_int_equal(
		bus_keys_allow(at(lab, where), who, z85, hosts, BUS_KEYS_FIRST, NULL),
		0);
}

/* 'who' finds 'server' at endpoints with this host (NULL: all), and believes it. */
static void
trust(const struct lab *lab, const char *who, const char *server, const char *host,
      const char *hosts)
{
	char z85[BUS_Z85_CHARS + 1];

	public_of(lab, server, z85);
	assert_int_equal(
		bus_keys_server(at(lab, who), host, z85, hosts, BUS_KEYS_FIRST, NULL),
		0);
}

static void
make(const struct lab *lab, const char *host)
{
	assert_int_equal(bus_keys_new(at(lab, host), NULL), 0);
}

static struct bus_pub *
publisher(const struct lab *lab, const char *host, const char *endpoint, bool is_bound)
{
	struct bus_keys *keys = load(lab, host);
	struct err err = { 0 };
	struct bus_pub *pub;

	if (bus_pub_open(endpoint, is_bound, keys, &pub, &err) < 0)
		fail_msg("%s", err.text);
	bus_keys_free(keys);
	return pub;
}

static struct bus_sub *
subscriber(const struct lab *lab, const char *host, const char *const *endpoints,
	   size_t n, bool is_bound)
{
	struct bus_keys *keys = load(lab, host);
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

/* ---- Directories ----------------------------------------------------------------- */

static void
a_key_speaks_for_its_name_or_for_its_list(void **state)
{
	const struct bus_known *known;
	char z85[BUS_Z85_CHARS + 1];
	struct bus_keys *keys;
	struct lab lab;

	(void)state;
	setup(&lab);
	make(&lab, "scheduler");
	make(&lab, "n1");
	make(&lab, "proxy");
	make(&lab, "reader");
	allow(&lab, "scheduler", "n1", NULL);
	allow(&lab, "scheduler", "proxy", "rack1-*,n7 n8");
	allow(&lab, "scheduler", "reader", "");
	keys = load(&lab, "scheduler");

	public_of(&lab, "n1", z85);
	known = bus_keys_client(keys, z85);
	assert_true(bus_known_speaks_for(known, "n1"));
	assert_false(bus_known_speaks_for(known, "n10"));
	assert_false(bus_known_speaks_for(known, "n"));
	assert_false(bus_known_speaks_for(known, NULL));

	public_of(&lab, "proxy", z85);
	known = bus_keys_client(keys, z85);
	assert_true(bus_known_speaks_for(known, "rack1-04"));
	assert_true(bus_known_speaks_for(known, "n8"));
	assert_false(bus_known_speaks_for(known, "proxy"));
	assert_false(bus_known_speaks_for(known, "rack2-04"));
	assert_false(bus_known_speaks_for(known, NULL));

	public_of(&lab, "reader", z85);
	assert_false(bus_known_speaks_for(bus_keys_client(keys, z85), "reader"));
	public_of(&lab, "scheduler", z85);
	assert_null(bus_keys_client(keys, z85));
	bus_keys_free(keys);
	teardown(&lab);
}

static void
a_key_with_two_names_is_refused(void **state)
{
	char z85[BUS_Z85_CHARS + 1], *from, *to;
	struct bus_keys *keys;
	struct err err = { 0 };
	struct lab lab;

	(void)state;
	setup(&lab);
	make(&lab, "scheduler");
	make(&lab, "n1");
	allow(&lab, "scheduler", "n1", NULL);
	public_of(&lab, "n1", z85);
	assert_int_equal(bus_keys_allow(at(&lab, "scheduler"), "n2", z85, NULL,
					BUS_KEYS_FIRST, &err),
			 -EEXIST);
	assert_non_null(strstr(err.text, "n1.pub holds this key already"));

	from = xasprintf("%s/allow/n1.pub", at(&lab, "scheduler"));
	to = xasprintf("%s/allow/n2.pub", at(&lab, "scheduler"));
	assert_int_equal(link(from, to), 0);
	assert_int_equal(bus_keys_load(at(&lab, "scheduler"), &keys, &err), -EINVAL);
	assert_non_null(strstr(err.text, "n1.pub and n2.pub hold the same key"));
	assert_non_null(strstr(err.text, "n1.hosts"));
	free(from);
	free(to);
	teardown(&lab);
}

static void
a_list_of_an_earlier_key_is_not_taken_over(void **state)
{
	char z85[BUS_Z85_CHARS + 1], *path;
	struct err err = { 0 };
	struct lab lab;

	(void)state;
	setup(&lab);
	make(&lab, "scheduler");
	make(&lab, "n1");
	allow(&lab, "scheduler", "n1", "*");
	path = xasprintf("%s/allow/n1.pub", at(&lab, "scheduler"));
	assert_int_equal(unlink(path), 0);
	public_of(&lab, "n1", z85);
	assert_int_equal(bus_keys_allow(at(&lab, "scheduler"), "n1", z85, NULL,
					BUS_KEYS_FIRST, &err),
			 -EEXIST);
	assert_non_null(strstr(err.text, "--hosts"));
	assert_int_equal(access(path, F_OK), -1);
	free(path);
	teardown(&lab);
}

static void
keys_of_a_name_are_two_at_most_and_change_only_when_told_to(void **state)
{
	const char *names[] = { "n1", "next", "third" };
	char z85[3][BUS_Z85_CHARS + 1];
	struct bus_keys *keys;
	const char *path;
	struct lab lab;

	(void)state;
	setup(&lab);
	make(&lab, "scheduler");
	for (int i = 0; i < 3; i++) {
		make(&lab, names[i]);
		public_of(&lab, names[i], z85[i]);
	}
	path = at(&lab, "scheduler");
	assert_int_equal(bus_keys_allow(path, "n1", z85[1], NULL, BUS_KEYS_ALSO, NULL),
			 -ENOENT);
	assert_int_equal(
		bus_keys_allow(path, "n1", z85[0], "n1,n2", BUS_KEYS_FIRST, NULL), 0);
	for (int twice = 0; twice < 2; twice++)
		assert_int_equal(
			bus_keys_allow(path, "n1", z85[1], NULL, BUS_KEYS_ALSO, NULL),
			0);
	assert_int_equal(bus_keys_allow(path, "n1", z85[2], NULL, BUS_KEYS_ALSO, NULL),
			 -EEXIST);
	keys = load(&lab, "scheduler");
	assert_int_equal(keys->allowed.n, 2);
	for (int i = 0; i < 2; i++)
		assert_true(bus_known_speaks_for(bus_keys_client(keys, z85[i]), "n2"));
	bus_keys_free(keys);
	assert_int_equal(
		bus_keys_allow(path, "n1", z85[1], NULL, BUS_KEYS_REPLACE, NULL), 0);
	keys = load(&lab, "scheduler");
	assert_null(bus_keys_client(keys, z85[0]));
	assert_true(bus_known_speaks_for(bus_keys_client(keys, z85[1]), "n2"));
	bus_keys_free(keys);
	teardown(&lab);
}

static void
the_next_pair_takes_the_place_of_ours(void **state)
{
	char next[BUS_Z85_CHARS + 1], again[BUS_Z85_CHARS + 1];
	char now[BUS_Z85_CHARS + 1];
	struct err err = { 0 };
	struct lab lab;

	(void)state;
	setup(&lab);
	assert_int_equal(bus_keys_rotate(at(&lab, "n1"), next, &err), -ENOENT);
	make(&lab, "n1");
	assert_int_equal(bus_keys_rotated(at(&lab, "n1"), &err), -ENOENT);
	assert_int_equal(bus_keys_rotate(at(&lab, "n1"), next, NULL), 0);
	assert_int_equal(bus_keys_rotate(at(&lab, "n1"), again, NULL), 0);
	assert_string_equal(next, again);
	public_of(&lab, "n1", now);
	assert_string_not_equal(now, next);
	assert_int_equal(bus_keys_rotated(at(&lab, "n1"), NULL), 0);
	public_of(&lab, "n1", now);
	assert_string_equal(now, next);
	teardown(&lab);
}

/* ---- Publishers that connect ----------------------------------------------------- */

static void
a_host_cannot_speak_as_another(void **state)
{
	const char *any = ANY_PORT, *mine;
	struct bus_pub *n1, *n2;
	struct bus_sub *sub;
	struct lab lab;
	char host[8];

	(void)state;
	setup(&lab);
	make(&lab, "receiver");
	make(&lab, "n1");
	make(&lab, "n2");
	allow(&lab, "receiver", "n1", NULL);
	allow(&lab, "receiver", "n2", NULL);
	trust(&lab, "n1", "receiver", NULL, NULL);
	trust(&lab, "n2", "receiver", NULL, NULL);
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
	teardown(&lab);
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
	struct lab lab;

	(void)state;
	setup(&lab);
	make(&lab, "receiver");
	make(&lab, "n1");
	allow(&lab, "receiver", "n1", NULL);
	trust(&lab, "n1", "receiver", NULL, NULL);
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
	teardown(&lab);
}

/* Hosts that share a pair, which has to be said. */
static void
a_second_sender_of_a_host_waits_until_the_first_one_is_gone(void **state)
{
	const char *any = ANY_PORT;
	struct bus_pub *first, *second;
	struct bus_sub *sub;
	struct lab lab;

	(void)state;
	setup(&lab);
	make(&lab, "receiver");
	make(&lab, "hosts");
	allow(&lab, "receiver", "hosts", "n*");
	trust(&lab, "hosts", "receiver", NULL, NULL);
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
	teardown(&lab);
}

/* ---- Publishers that are connected to -------------------------------------------- */

static void
each_server_speaks_for_its_own_hosts(void **state)
{
	const char *endpoints[2];
	struct bus_pub *n1, *n2;
	struct bus_sub *sub;
	struct lab lab;

	(void)state;
	setup(&lab);
	make(&lab, "receiver");
	make(&lab, "n1");
	make(&lab, "n2");
	allow(&lab, "n1", "receiver", NULL);
	allow(&lab, "n2", "receiver", NULL);
	trust(&lab, "receiver", "n1", "127.0.0.1", "n1");
	trust(&lab, "receiver", "n2", "127.0.0.2", "n2");
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
	teardown(&lab);
}

static void
who_shares_a_pair_has_to_be_listed(void **state)
{
	const char *endpoint = "tcp://127.0.0.1:9";
	struct bus_keys *keys;
	struct bus_sub *sub;
	struct err err = { 0 };
	struct lab lab;

	(void)state;
	setup(&lab);
	make(&lab, "receiver");
	make(&lab, "hosts");
	trust(&lab, "receiver", "hosts", NULL, NULL);
	keys = load(&lab, "receiver");
	assert_int_equal(bus_sub_open(&endpoint, 1, false, keys, &sub, &err), -EINVAL);
	assert_non_null(strstr(err.text, "server.hosts is missing"));
	bus_keys_free(keys);
	teardown(&lab);
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
	struct lab lab;
	char from[64];

	(void)state;
	setup(&lab);
	make(&lab, "proxy");
	make(&lab, "receiver");
	make(&lab, "n1");
	make(&lab, "n2");
	allow(&lab, "proxy", "n1", NULL);
	allow(&lab, "proxy", "n2", NULL);
	allow(&lab, "proxy", "receiver", "*");
	trust(&lab, "n1", "proxy", NULL, "*");
	trust(&lab, "n2", "proxy", NULL, NULL);
	trust(&lab, "receiver", "proxy", "127.0.0.1", "n1,n3");
	keys = load(&lab, "proxy");
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
	until(bus_sub_frame(sub, &frame, NULL, NULL) == 1 &&
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
	teardown(&lab);
}

/* ---- Orders ---------------------------------------------------------------------- */

static struct bus_sub *
listen_to(const struct lab *lab, const char *host, struct bus_pub *pub,
	  const char *prefix)
{
	struct bus_keys *keys = load(lab, host);
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
	struct lab lab;
	size_t n;

	(void)state;
	setup(&lab);
	make(&lab, "scheduler");
	make(&lab, "n1");
	make(&lab, "watcher");
	allow(&lab, "scheduler", "n1", NULL);
	allow(&lab, "scheduler", "watcher", "*");
	trust(&lab, "n1", "scheduler", NULL, NULL);
	trust(&lab, "watcher", "scheduler", NULL, NULL);
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
	teardown(&lab);
}

/* ---- Rotation -------------------------------------------------------------------- */

static void
a_client_changes_its_key_without_a_gap(void **state)
{
	char next[BUS_Z85_CHARS + 1], other[BUS_Z85_CHARS + 1];
	const char *any = ANY_PORT;
	struct bus_pub *old, *new;
	struct bus_sub *sub;
	struct lab lab;

	(void)state;
	setup(&lab);
	make(&lab, "receiver");
	make(&lab, "n1");
	make(&lab, "n2");
	allow(&lab, "receiver", "n1", NULL);
	trust(&lab, "n1", "receiver", NULL, NULL);
	sub = subscriber(&lab, "receiver", &any, 1, true);
	old = publisher(&lab, "n1", bus_sub_endpoint(sub), false);
	meet(old, sub);
	send_as(old, "n1", 1, 0);
	assert_int_equal(take_until(sub, "n1", 0), 0);

	assert_int_equal(bus_keys_rotate(at(&lab, "n1"), next, NULL), 0);
	assert_int_equal(bus_keys_allow(at(&lab, "receiver"), "n1", next, NULL,
					BUS_KEYS_ALSO, NULL),
			 0);
	assert_int_equal(bus_keys_rotated(at(&lab, "n1"), NULL), 0);
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
	assert_int_equal(bus_keys_allow(at(&lab, "receiver"), "n1", next, NULL,
					BUS_KEYS_REPLACE, NULL),
			 0);
	until(bus_sub_counts(sub)->refused > 0,
	      (bus_sub_wait(sub, 5 * MS), bus_pub_wait(old, 5 * MS),
	       bus_pub_wait(new, MS)));
	send_as(old, "n1", 1, 50);
	send_as(new, "n1", 1, 3);
	assert_int_equal(take_until(sub, "n1", 3), 0);
	public_of(&lab, "n1", other);
	assert_string_equal(other, next);
	bus_pub_close(old);
	bus_pub_close(new);
	bus_sub_close(sub);
	teardown(&lab);
}

static void
a_server_changes_its_key_and_is_found_again(void **state)
{
	char next[BUS_Z85_CHARS + 1], endpoint[64];
	const char *where = endpoint;
	struct bus_pub *pub;
	struct bus_sub *sub;
	struct lab lab;

	(void)state;
	setup(&lab);
	make(&lab, "receiver");
	make(&lab, "n1");
	allow(&lab, "n1", "receiver", NULL);
	trust(&lab, "receiver", "n1", "127.0.0.1", "n1");
	pub = publisher(&lab, "n1", ANY_PORT, true);
	snprintf(endpoint, sizeof endpoint, "%s", bus_pub_endpoint(pub));
	assert_int_equal(bus_keys_rotate(at(&lab, "n1"), next, NULL), 0);
	assert_int_equal(bus_keys_server(at(&lab, "receiver"), "127.0.0.1", next, NULL,
					 BUS_KEYS_ALSO, NULL),
			 0);
	sub = subscriber(&lab, "receiver", &where, 1, false);
	meet(pub, sub);
	send_as(pub, "n1", 1, 0);
	assert_int_equal(take_until(sub, "n1", 0), 0);
	bus_pub_close(pub);
	assert_int_equal(bus_keys_rotated(at(&lab, "n1"), NULL), 0);
	pub = publisher(&lab, "n1", endpoint, true);
	meet(pub, sub);
	send_as(pub, "n1", 1, 1);
	assert_int_equal(take_until(sub, "n1", 1), 0);
	assert_int_equal(bus_sub_counts(sub)->misnamed, 0);
	bus_sub_close(sub);
	bus_pub_close(pub);
	teardown(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_speaks_for_its_name_or_for_its_list),
		cmocka_unit_test(a_key_with_two_names_is_refused),
		cmocka_unit_test(a_list_of_an_earlier_key_is_not_taken_over),
		cmocka_unit_test(
			keys_of_a_name_are_two_at_most_and_change_only_when_told_to),
		cmocka_unit_test(the_next_pair_takes_the_place_of_ours),
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
