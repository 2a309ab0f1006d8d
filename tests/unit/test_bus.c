/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <zmq.h>

#include "lib/daemon/loop.h"
#include "lib/wire/bus_socket.h"
#include "lib/wire/seq.h"
#include "tests/unit/bus_fixture.h"

static void
only_this_host_is_local(void **state)
{
	static const struct {
		const char *endpoint;
		bool is_local;
	} cases[] = {
		{ "tcp://127.0.0.1:7461", true },
		{ "tcp://127.9.8.7:*", true },
		{ "tcp://localhost:7461", true },
		{ "tcp://[::1]:7461", true },
		{ "ipc:///run/antiphase/x", true },
		{ "tcp://*:7461", false },
		{ "tcp://0.0.0.0:7461", false },
		{ "tcp://10.0.0.1:7461", false },
		{ "tcp://[::]:7461", false },
		{ "tcp://[2001:db8::1]:1", false },
		{ "tcp://eth0:7461", false },
		{ "tcp://127.0.0.1.evil:1", false },
		{ "tcp://localhost.evil:1", false },
		{ "tcp://127.0.0.1", false },
		{ "tcp://[::ffff:10.0.0.1]:1", false },
		{ "udp://127.0.0.1:1", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_int_equal(bus_endpoint_is_local(cases[i].endpoint),
				 cases[i].is_local);
}

static void
without_keys_nothing_is_bound_beyond_this_host(void **state)
{
	struct bus_pub *pub;
	struct bus_sub *sub;
	struct err err = { 0 };
	const char *all = "tcp://0.0.0.0:*";

	(void)state;
	assert_int_equal(bus_pub_open(all, true, NULL, &pub, &err), -EACCES);
	assert_non_null(strstr(err.text, "keys"));
	assert_int_equal(bus_sub_open(&all, 1, true, NULL, &sub, &err), -EACCES);
	assert_int_equal(bus_pub_open("nonsense", true, NULL, &pub, &err), -EINVAL);
	assert_int_equal(bus_pub_open("tcp://127.0.0.1:x", true, NULL, &pub, &err),
			 -EINVAL);
	assert_true(bus_pub_open("ipc:///nowhere/at/all", true, NULL, &pub, &err) < 0);
	assert_non_null(strstr(err.text, "/nowhere/at/all"));
}

static void
without_keys_nothing_is_connected_beyond_this_host(void **state)
{
	static const char *const far[] = { "tcp://10.255.0.1:7461", "tcp://n1:7461" };
	struct bus_proxy *proxy;
	struct bus_pub *pub;
	struct bus_sub *sub;
	struct err err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
		assert_int_equal(bus_sub_open(&far[i], 1, false, NULL, &sub, &err),
				 -EACCES);
		assert_non_null(strstr(err.text, "--keys"));
		assert_null(strchr(err.text, '\n'));
		assert_int_equal(bus_sub_open_texts(far[i], NULL, "t/", &sub, &err),
				 -EACCES);
		assert_int_equal(bus_pub_open(far[i], false, NULL, &pub, &err),
				 -EACCES);
		assert_int_equal(
			bus_proxy_open(&far[i], 1, false, ANY_PORT, NULL, &proxy, &err),
			-EACCES);
	}
}

static void
a_port_in_use_is_told(void **state)
{
	struct bus_pub *pub = open_pub(ANY_PORT, NULL), *second;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(bus_pub_open(bus_pub_endpoint(pub), true, NULL, &second, &err),
			 -EADDRINUSE);
	assert_non_null(strstr(err.text, bus_pub_endpoint(pub)));
	assert_non_null(
		strstr(err.text, "run 'ss -ltnp' to see which program uses it"));
	bus_pub_close(pub);
}

static void
a_publisher_knows_what_is_wanted(void **state)
{
	struct bus_pub *pub = open_pub(ANY_PORT, NULL);
	struct bus_sub *one = open_sub(bus_pub_endpoint(pub), NULL);
	struct bus_sub *two = open_sub(bus_pub_endpoint(pub), NULL);

	(void)state;
	assert_false(bus_pub_is_heard(pub));
	bus_sub_want(one, TELE_SUMMARY, NULL, true);
	bus_sub_want(one, TELE_RAW, "n1", true);
	bus_sub_want(two, TELE_RAW, "n1", true);
	bus_sub_want(two, TELE_RAW, "n2", true);
	until(bus_pub_is_wanted(pub, TELE_SUMMARY, "x") &&
		      bus_pub_is_wanted(pub, TELE_RAW, "n1") &&
		      bus_pub_is_wanted(pub, TELE_RAW, "n2"),
	      bus_pub_wait(pub, 10 * MS));
	/* "n1" does not match "n10", and raw series are not summaries. */
	assert_false(bus_pub_is_wanted(pub, TELE_RAW, "n10"));
	assert_false(bus_pub_is_wanted(pub, TELE_RAW, "n"));
	assert_false(bus_pub_is_wanted(pub, TELE_EVENTS, "n1"));
	/* One of two subscribers leaves: n1 is still wanted, n2 is not. */
	bus_sub_close(two);
	until(!bus_pub_is_wanted(pub, TELE_RAW, "n2"), bus_pub_wait(pub, 10 * MS));
	assert_true(bus_pub_is_wanted(pub, TELE_RAW, "n1"));
	bus_sub_want(one, TELE_RAW, "n1", false);
	until(!bus_pub_is_wanted(pub, TELE_RAW, "n1"), bus_pub_wait(pub, 10 * MS));
	bus_sub_close(one);
	until(!bus_pub_is_heard(pub), bus_pub_wait(pub, 10 * MS));
	bus_pub_close(pub);
}

/* A subscriber that speaks ZMTP by itself, and so is free to send anything. */
static int
open_raw(const char *endpoint)
{
	static const char ready[] = "\4\x19\5READY\xbSocket-Type\0\0\0\3SUB";
	char greeting[64] = "\xff\0\0\0\0\0\0\0\0\x7f\3\0NULL";
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	to.sin_port = htons((uint16_t)atoi(strrchr(endpoint, ':') + 1));
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	assert_int_equal(write(fd, greeting, 64), 64);
	assert_int_equal(write(fd, ready, sizeof ready - 1), sizeof ready - 1);
	return fd;
}

static void
send_raw(int fd, bool is_wanted, const char *prefix)
{
	char frame[128] = { 0, (char)(1 + strlen(prefix)), (char)is_wanted };

	strcpy(frame + 3, prefix);
	/* The other side may have ended the connection. */
	(void)!send(fd, frame, 3 + strlen(prefix), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void
a_peer_cannot_unsubscribe_another(void **state)
{
	struct bus_pub *pub = open_pub(ANY_PORT, NULL);
	struct bus_sub *sub = open_sub(bus_pub_endpoint(pub), NULL);
	int raw = open_raw(bus_pub_endpoint(pub));

	(void)state;
	bus_sub_want(sub, TELE_SUMMARY, NULL, true);
	until(bus_pub_is_wanted(pub, TELE_SUMMARY, "n1"), bus_pub_wait(pub, 10 * MS));
	send_raw(raw, false, "s/");
	send_raw(raw, true, "m/");
	until(bus_pub_is_wanted(pub, TELE_EVENTS, "n1"), bus_pub_wait(pub, 10 * MS));
	assert_true(bus_pub_is_wanted(pub, TELE_SUMMARY, "n1"));
	close(raw);
	until(!bus_pub_is_wanted(pub, TELE_EVENTS, "n1"), bus_pub_wait(pub, 10 * MS));
	assert_true(bus_pub_is_wanted(pub, TELE_SUMMARY, "n1"));
	bus_sub_close(sub);
	bus_pub_close(pub);
}

static void
a_peer_that_subscribes_to_too_much_is_ended(void **state)
{
	struct bus_pub *pub = open_pub(ANY_PORT, NULL);
	struct bus_sub *sub = open_sub(bus_pub_endpoint(pub), NULL);
	int raw = open_raw(bus_pub_endpoint(pub));
	char topic[64];

	(void)state;
	bus_sub_want(sub, TELE_SUMMARY, NULL, true);
	until(bus_pub_is_wanted(pub, TELE_SUMMARY, "n1"), bus_pub_wait(pub, 10 * MS));
	for (unsigned i = 0; !bus_pub_counts(pub)->ended; i++) {
		snprintf(topic, sizeof topic, "r/host%06u/", i);
		send_raw(raw, true, topic);
		bus_pub_serve(pub);
		assert_in_range(i, 0, 1000000);
	}
	close(raw);
	until(!bus_pub_is_wanted(pub, TELE_RAW, "host000000"),
	      bus_pub_wait(pub, 10 * MS));
	assert_int_equal(bus_pub_counts(pub)->ended, 1);
	assert_true(bus_pub_is_wanted(pub, TELE_SUMMARY, "n1"));
	bus_sub_close(sub);
	bus_pub_close(pub);
}

static void
frames_come_to_those_who_asked_and_gaps_are_counted(void **state)
{
	struct bus_pub *pub = open_pub(ANY_PORT, NULL);
	struct bus_sub *sub = open_sub(bus_pub_endpoint(pub), NULL);

	(void)state;
	bus_sub_want(sub, TELE_SUMMARY, NULL, true);
	until(bus_pub_is_wanted(pub, TELE_SUMMARY, "n1"), bus_pub_wait(pub, 10 * MS));
	publish(pub, "n1", TELE_SUMMARY, 0);
	publish(pub, "n1", TELE_RAW, 0);
	publish(pub, "n2", TELE_SUMMARY, 9);
	publish(pub, "n1", TELE_SUMMARY, 1);
	publish(pub, "n1", TELE_SUMMARY, 4);
	publish(pub, "n1", TELE_SUMMARY, 4);
	publish(pub, "n1", TELE_SUMMARY, 5);
	expect_frame(pub, sub, "n1", TELE_SUMMARY, 0);
	expect_frame(pub, sub, "n2", TELE_SUMMARY, 9);
	expect_frame(pub, sub, "n1", TELE_SUMMARY, 1);
	expect_frame(pub, sub, "n1", TELE_SUMMARY, 4);
	expect_frame(pub, sub, "n1", TELE_SUMMARY, 5);
	assert_int_equal(bus_sub_counts(sub)->gaps, 2);
	assert_int_equal(bus_sub_counts(sub)->repeats, 1);
	assert_int_equal(bus_sub_counts(sub)->frames, 6);
	assert_int_equal(bus_sub_counts(sub)->hosts, 2);
	assert_int_equal(seq_gaps_of(bus_sub_sequences(sub), "n1"), 2);
	assert_int_equal(bus_pub_counts(pub)->frames, 7);
	bus_sub_close(sub);
	bus_pub_close(pub);
}

static void
a_publisher_that_comes_back_is_heard_again(void **state)
{
	struct bus_pub *pub = open_pub(ANY_PORT, NULL);
	struct bus_sub *sub = open_sub(bus_pub_endpoint(pub), NULL);
	char *endpoint = strdup(bus_pub_endpoint(pub));
	struct tele_frame frame = { 0 };

	(void)state;
	bus_sub_want(sub, TELE_SUMMARY, NULL, true);
	until(bus_pub_is_wanted(pub, TELE_SUMMARY, "n1"), bus_pub_wait(pub, 10 * MS));
	publish(pub, "n1", TELE_SUMMARY, 5);
	expect_frame(pub, sub, "n1", TELE_SUMMARY, 5);
	assert_int_equal(bus_sub_counts(sub)->connections, 1);
	bus_pub_close(pub);
	until(bus_sub_counts(sub)->connections == 0, bus_sub_wait(sub, 10 * MS));

	pub = open_pub(endpoint, NULL);
	until(bus_pub_is_wanted(pub, TELE_SUMMARY, "n1"), bus_sub_wait(sub, 10 * MS));
	frame_of(&frame, "n1", TELE_SUMMARY, 0);
	frame.start_id = 2;
	assert_int_equal(bus_pub_frame(pub, &frame), 0);
	expect_frame(pub, sub, "n1", TELE_SUMMARY, 0);
	assert_int_equal(bus_sub_counts(sub)->connections, 1);
	assert_int_equal(bus_sub_counts(sub)->reconnects, 1);
	assert_int_equal(bus_sub_counts(sub)->restarts, 1);
	assert_int_equal(bus_sub_counts(sub)->gaps, 0);
	tele_fini(&frame);
	free(endpoint);
	bus_sub_close(sub);
	bus_pub_close(pub);
}

static void
send_parts(void *socket, const char *topic, const void *body, size_t n, bool has_third)
{
	zmq_send(socket, topic, strlen(topic), body || has_third ? ZMQ_SNDMORE : 0);
	if (body)
		zmq_send(socket, body, n, has_third ? ZMQ_SNDMORE : 0);
	if (has_third)
		zmq_send(socket, "x", 1, 0);
}

static void
what_is_no_frame_is_counted_and_passed_over(void **state)
{
	void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_XPUB);
	struct tele_frame frame = { 0 };
	struct tele_buffer bytes = { 0 };
	struct bus_sub *sub;
	char endpoint[64], subscription[16];
	size_t size = sizeof endpoint;

	(void)state;
	zmq_bind(socket, ANY_PORT);
	zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &size);
	sub = open_sub(endpoint, NULL);
	bus_sub_want(sub, TELE_SUMMARY, NULL, true);
	assert_true(zmq_recv(socket, subscription, sizeof subscription, 0) > 0);

	frame_of(&frame, "n1", TELE_SUMMARY, 3);
	tele_encode(&frame, &bytes);
	send_parts(socket, "s/n1/", "rubbish", 7, false);
	send_parts(socket, "s/n1/", NULL, 0, false);
	send_parts(socket, "s/n1/", bytes.bytes, bytes.n, true);
	send_parts(socket, "s/n2/", bytes.bytes, bytes.n, false); /* A frame of n1. */
	send_parts(socket, "s/n1/", bytes.bytes, bytes.n - 1, false);
	send_parts(socket, "s/n1/", bytes.bytes, bytes.n, false);
	expect_frame(NULL, sub, "n1", TELE_SUMMARY, 3);
	assert_int_equal(bus_sub_counts(sub)->damaged, 5);
	assert_int_equal(bus_sub_counts(sub)->frames, 1);
	bus_sub_close(sub);
	zmq_close(socket);
	zmq_ctx_term(context);
	tele_fini(&frame);
	tele_buffer_fini(&bytes);
}

static long
resident_kb(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long pages;

	assert_int_equal(fscanf(file, "%*d %ld", &pages), 1);
	fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/*
 * Takes frames until 'last' has arrived, from the endpoint in a line of 'in'.  Exits
 * with 0 if the frames and the reported gaps add up.
 */
static void
be_receiver(FILE *in, uint64_t last)
{
	char line[64] = "";
	const char *endpoint = line;
	struct bus_sub *sub;
	struct tele_frame frame = { 0 };
	const struct bus_counts *counts;

	/* A failed test must not leave a stopped process behind. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!fgets(line, sizeof line, in))
		_exit(9);
	line[strcspn(line, "\n")] = '\0';
	if (bus_sub_open(&endpoint, 1, false, NULL, &sub, NULL) < 0)
		_exit(10);
	bus_sub_want(sub, TELE_SUMMARY, NULL, true);
	bus_sub_want(sub, TELE_RAW, NULL, true);
	alarm(20);
	while (frame.sequence < last || frame.kind != TELE_RAW) {
		bus_sub_wait(sub, 1000 * MS);
		while (bus_sub_frame(sub, &frame, NULL, NULL) == 1 &&
		       !(frame.sequence == last && frame.kind == TELE_RAW))
			continue;
	}
	counts = bus_sub_counts(sub);
	_exit(counts->gaps == 0                               ? 11
	      : counts->frames - 1 + counts->gaps != last + 1 ? 12
							      : 0);
}

static void
a_stopped_receiver_costs_a_publisher_no_memory_and_sees_the_gap(void **state)
{
	/*
	 * Raw frames of 200 kB: ten times what the high-water mark allows, and more
	 * than the kernel's buffers hold.
	 */
	const uint64_t last = 640;
	struct bus_pub *pub;
	struct tele_frame frame = { 0 };
	uint32_t bins[50000], eth0;
	long before_kb;
	pid_t child;
	int status, ends[2];

	(void)state;
	for (uint32_t i = 0; i < 50000; i++)
		bins[i] = 10000000 + i;
	assert_int_equal(pipe(ends), 0);
	/* Fork before there are threads, whose locks would stay locked in the child. */
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		be_receiver(fdopen(ends[0], "r"), last);
	pub = open_pub(ANY_PORT, NULL);
	assert_true(dprintf(ends[1], "%s\n", bus_pub_endpoint(pub)) > 0);
	close(ends[0]);
	close(ends[1]);
	until(bus_pub_is_wanted(pub, TELE_RAW, "n1"), bus_pub_wait(pub, 10 * MS));
	publish(pub, "n1", TELE_SUMMARY, 0);
	kill(child, SIGSTOP);
	before_kb = resident_kb();
	for (uint64_t i = 0; i < last; i++) {
		frame_of(&frame, "n1", TELE_RAW, i);
		eth0 = tele_add_interface(&frame, "eth0");
		tele_add_series(&frame, eth0, TELE_LINK, TELE_TX, TELE_WIRE, 0, bins,
				50000);
		assert_int_equal(bus_pub_frame(pub, &frame), 0);
	}
	/*
	 * 128 MB were published, and 64 frames of 200 kB may wait.  (The sanitizer
	 * keeps freed memory.)
	 */
#ifndef __SANITIZE_ADDRESS__
	assert_in_range(resident_kb() - before_kb, 0, 24 * 1024);
#else
	(void)before_kb;
#endif
	kill(child, SIGCONT);
	/* Sends the last frame again and again until there is room. */
	frame_of(&frame, "n1", TELE_RAW, last);
	until(waitpid(child, &status, WNOHANG) == child,
	      (bus_pub_frame(pub, &frame), bus_pub_wait(pub, 20 * MS)));
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	tele_fini(&frame);
	bus_pub_close(pub);
}

/* Publishes more than there is room for, then waits to be ended. */
static _Noreturn void
be_publisher(const char *endpoint)
{
	struct bus_pub *pub;
	struct err err = { 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (bus_pub_open_room(endpoint, true, NULL, 200000, &pub, &err) < 0)
		_exit(1);
	until(bus_pub_is_wanted(pub, TELE_SUMMARY, "n1"), bus_pub_wait(pub, 10 * MS));
	for (uint64_t i = 0; i < 100000; i++)
		publish(pub, "n1", TELE_SUMMARY, i);
	for (;;)
		bus_pub_wait(pub, 1000 * MS);
}

/* libzmq 4.3.4 would abort here if heartbeats were on. */
static void
a_publisher_may_die_while_nobody_takes_what_it_sent(void **state)
{
	char endpoint[64];
	struct bus_sub *sub;
	struct tele_frame frame = { 0 };
	uint64_t n = 0;
	pid_t child;

	(void)state;
	snprintf(endpoint, sizeof endpoint, "ipc:///tmp/apbus-%d", (int)getpid());
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		be_publisher(endpoint);
	sub = open_sub(endpoint, NULL);
	bus_sub_want(sub, TELE_SUMMARY, NULL, true);
	until(bus_sub_frame(sub, &frame, NULL, NULL) == 1, bus_sub_wait(sub, 10 * MS));
	/* Until the queue is full; after the end for more than a heartbeat. */
	usleep(1000 * 1000);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	usleep(6000 * 1000);
	while (bus_sub_frame(sub, &frame, NULL, NULL) == 1)
		n++;
	assert_in_range(n, 1000, 99999);
	tele_fini(&frame);
	bus_sub_close(sub);
	unlink(endpoint + strlen("ipc://"));
}

/* ---- In an event loop ------------------------------------------------------------ */

struct chain {
	struct loop *loop;
	struct bus_pub *pubs[2];
	struct bus_sub *sub;
	uint64_t sequences[2], taken;
};

static void
publish_both(void *ctx, int64_t now_ns, int64_t missed)
{
	struct chain *chain = ctx;

	(void)now_ns;
	(void)missed;
	for (int i = 0; i < 2; i++) {
		if (bus_pub_is_wanted(chain->pubs[i], TELE_SUMMARY, i ? "n2" : "n1"))
			publish(chain->pubs[i], i ? "n2" : "n1", TELE_SUMMARY,
				chain->sequences[i]++);
	}
}

static void
take_all(void *ctx)
{
	struct chain *chain = ctx;
	struct tele_frame frame = { 0 };

	while (bus_sub_frame(chain->sub, &frame, NULL, NULL) == 1)
		chain->taken++;
	if (chain->taken >= 50 && bus_sub_counts(chain->sub)->hosts == 2)
		loop_stop(chain->loop, 0);
	tele_fini(&frame);
}

static void
give_up(void *ctx, int64_t now_ns, int64_t missed)
{
	(void)now_ns;
	(void)missed;
	loop_stop(ctx, 1);
}

static void
a_proxy_passes_frames_on_and_subscriptions_back(void **state)
{
	struct chain chain = { .loop = loop_new() };
	struct bus_proxy *proxy;
	const char *from[2];
	struct err err = { 0 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		chain.pubs[i] = open_pub(ANY_PORT, NULL);
		from[i] = bus_pub_endpoint(chain.pubs[i]);
		bus_pub_join(chain.pubs[i], chain.loop);
	}
	assert_int_equal(bus_proxy_open(from, 2, false, ANY_PORT, NULL, &proxy, &err),
			 0);
	bus_proxy_join(proxy, chain.loop);
	chain.sub = open_sub(bus_proxy_endpoint(proxy), NULL);
	bus_sub_join(chain.sub, chain.loop, take_all, &chain);
	/* No subscriber wants raw series; publishers learn this through the proxy. */
	bus_sub_want(chain.sub, TELE_SUMMARY, NULL, true);
	loop_every(chain.loop, 2 * MS, publish_both, &chain);
	loop_every(chain.loop, PATIENCE, give_up, chain.loop);
	assert_int_equal(loop_run(chain.loop), 0);
	assert_false(bus_pub_is_wanted(chain.pubs[0], TELE_RAW, "n1"));
	assert_int_equal(bus_sub_counts(chain.sub)->gaps, 0);
	assert_true(bus_proxy_counts(proxy)->frames >= 50);
	bus_sub_close(chain.sub);
	bus_proxy_close(proxy);
	for (int i = 0; i < 2; i++)
		bus_pub_close(chain.pubs[i]);
	loop_free(chain.loop);
}

static void
a_bound_subscriber_takes_publishers_that_connect(void **state)
{
	const char *any = ANY_PORT;
	struct bus_sub *sub;
	struct bus_pub *pub;

	(void)state;
	assert_int_equal(bus_sub_open(&any, 1, true, NULL, &sub, NULL), 0);
	bus_sub_want(sub, TELE_SUMMARY, NULL, true);
	assert_int_equal(bus_pub_open(bus_sub_endpoint(sub), false, NULL, &pub, NULL),
			 0);
	until(bus_pub_is_wanted(pub, TELE_SUMMARY, "n1"), bus_sub_wait(sub, 10 * MS));
	publish(pub, "n1", TELE_SUMMARY, 0);
	expect_frame(pub, sub, "n1", TELE_SUMMARY, 0);
	bus_sub_close(sub);
	bus_pub_close(pub);
}

static void
a_bound_subscriber_takes_nine_hundred_connections(void **state)
{
	enum {
		N = 900
	};
	struct rlimit limit = { 256, 0 }, before;
	void *context = zmq_ctx_new(), *pubs[N];
	const char *any = ANY_PORT;
	struct tele_frame frame = { 0 };
	struct tele_buffer bytes = { 0 };
	struct bus_sub *sub;
	size_t n = 0;

	(void)state;
	/* Like a shell's limits: the soft limit is too low, the hard limit suffices. */
	getrlimit(RLIMIT_NOFILE, &before);
	if (before.rlim_max < 4 * N)
		skip();
	limit.rlim_max = before.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	assert_int_equal(bus_sub_open(&any, 1, true, NULL, &sub, NULL), 0);
	bus_sub_want(sub, TELE_SUMMARY, NULL, true);
	for (int i = 0; i < N; i++) {
		pubs[i] = zmq_socket(context, ZMQ_XPUB);
		assert_non_null(pubs[i]);
		assert_int_equal(zmq_connect(pubs[i], bus_sub_endpoint(sub)), 0);
	}
	until(bus_sub_counts(sub)->connections == N, bus_sub_wait(sub, 10 * MS));
	for (int i = 0; i < N; i++) {
		char host[16], topic[24], subscription[8];
		int linger_ms = 0;

		snprintf(host, sizeof host, "n%d", i);
		snprintf(topic, sizeof topic, "s/%s/", host);
		frame_of(&frame, host, TELE_SUMMARY, 0);
		bytes.n = 0;
		tele_encode(&frame, &bytes);
		assert_true(zmq_recv(pubs[i], subscription, sizeof subscription, 0) >
			    0);
		send_parts(pubs[i], topic, bytes.bytes, bytes.n, false);
		zmq_setsockopt(pubs[i], ZMQ_LINGER, &linger_ms, sizeof linger_ms);
	}
	until(n == N, (bus_sub_wait(sub, 10 * MS),
		       n += bus_sub_frame(sub, &frame, NULL, NULL) == 1));
	assert_int_equal(bus_sub_counts(sub)->hosts, N);
	bus_sub_close(sub);
	for (int i = 0; i < N; i++)
		zmq_close(pubs[i]);
	zmq_ctx_term(context);
	setrlimit(RLIMIT_NOFILE, &before);
	tele_fini(&frame);
	tele_buffer_fini(&bytes);
}

/* ---- Announcements --------------------------------------------------------------- */

static void
announcements_reach_who_listens_to_their_topic(void **state)
{
	struct bus_pub *pub = open_pub(ANY_PORT, NULL);
	struct bus_sub *sub;
	const char *topic;
	const uint8_t *text;
	size_t n;
	int r = 0;

	(void)state;
	assert_int_equal(
		bus_sub_open_texts(bus_pub_endpoint(pub), NULL, "t/", &sub, NULL), 0);
	/* The subscription takes a moment to get there. */
	until(r == 1, {
		bus_pub_text(pub, "u/other", "wrong\n");
		bus_pub_text(pub, "t/link_down", "right\n");
		r = bus_sub_wait(sub, 10 * MS);
		if (r == 1)
			r = bus_sub_message(sub, &topic, &text, &n);
	});
	assert_string_equal(topic, "t/link_down");
	assert_int_equal(n, 6);
	assert_memory_equal(text, "right\n", n);
	bus_sub_close(sub);
	bus_pub_close(pub);
}

static void
a_text_that_is_too_long_is_not_taken(void **state)
{
	struct bus_pub *pub = open_pub(ANY_PORT, NULL);
	char *much = malloc(BUS_MAX_TEXT + 2);
	const char *topic;
	const uint8_t *text;
	struct bus_sub *sub;
	size_t n;

	(void)state;
	memset(much, 'x', BUS_MAX_TEXT + 1);
	much[BUS_MAX_TEXT + 1] = '\0';
	assert_int_equal(
		bus_sub_open_texts(bus_pub_endpoint(pub), NULL, "t/", &sub, NULL), 0);
	until(bus_pub_is_heard(pub), bus_sub_wait(sub, 10 * MS));
	bus_pub_text(pub, "t/much", much);
	for (int i = 0; i < 20; i++) {
		bus_sub_wait(sub, 10 * MS);
		assert_int_equal(bus_sub_message(sub, &topic, &text, &n), 0);
	}
	bus_sub_close(sub);
	bus_pub_close(pub);
	free(much);
}

struct texts {
	unsigned n;
	char last[16];
};

static void
note_text(void *ctx, const char *topic, const char *text, size_t n)
{
	struct texts *texts = ctx;

	assert_string_equal(topic, "port/10.0.0.1/");

	/* ZeroMQ's messages have no terminator. */
	assert_int_equal(strlen(text), n);
	snprintf(texts->last, sizeof texts->last, "%s", text);
	texts->n++;
}

static void
texts_among_frames_go_to_their_callback(void **state)
{
	struct bus_pub *pub = open_pub(ANY_PORT, NULL);
	struct bus_sub *sub = open_sub(bus_pub_endpoint(pub), NULL);
	static const char *const prefixes[] = { "flow/", "port/", NULL };
	struct texts texts = { .n = 0 };
	struct tele_frame frame = { 0 };

	(void)state;
	assert_int_equal(bus_sub_want(sub, TELE_SUMMARY, NULL, true), 0);
	assert_int_equal(bus_sub_on_texts(sub, prefixes, note_text, &texts), 0);
	until(bus_pub_is_wanted(pub, TELE_SUMMARY, "n1") && texts.n, {
		bus_pub_text(pub, "port/10.0.0.1/", "one");
		bus_pub_text(pub, "pork/10.0.0.1/", "other");
		bus_sub_wait(sub, 10 * MS);
		assert_int_equal(bus_sub_frame(sub, &frame, NULL, NULL), 0);
	});
	assert_string_equal(texts.last, "one");
	publish(pub, "n1", TELE_SUMMARY, 0);
	bus_pub_text(pub, "port/10.0.0.1/", "two");
	expect_frame(pub, sub, "n1", TELE_SUMMARY, 0);
	until(!strcmp(texts.last, "two"), {
		bus_sub_wait(sub, 10 * MS);
		assert_int_equal(bus_sub_frame(sub, &frame, NULL, NULL), 0);
	});
	assert_int_equal(bus_sub_counts(sub)->damaged, 0);
	tele_fini(&frame);
	bus_sub_close(sub);
	bus_pub_close(pub);
}

/* The longest topic that a host can have. */
#define HOST_63 "n12345678901234567890123456789012345678901234567890123456789012"
#define PACE_63 "pace/" HOST_63 "/"

struct hearing {
	struct loop *loop;
	struct bus_pub *pub;
	struct bus_sub *sub;
	unsigned n_said, n_heard;
};

static void
hear(void *ctx)
{
	struct hearing *h = ctx;
	const char *topic;
	const uint8_t *text;
	size_t n;

	while (bus_sub_message(h->sub, &topic, &text, &n) == 1) {
		assert_string_equal(topic, PACE_63);
		assert_int_equal(n, 4);
		assert_memory_equal(text, "mine", n);
		if (++h->n_heard == 3)
			loop_stop(h->loop, 7);
	}
}

/* Texts are repeated, since a listener misses those sent before it connects. */
static void
say(void *ctx, int64_t now_ns, int64_t missed)
{
	struct hearing *h = ctx;

	(void)now_ns;
	(void)missed;
	bus_pub_text(h->pub, "pace/n2/", "not mine");
	bus_pub_text(h->pub, PACE_63, "mine");
	if (++h->n_said > 500)
		loop_stop(h->loop, 1);
}

static void
a_listener_in_a_loop_hears_its_topic_and_no_other(void **state)
{
	struct hearing h = { .loop = loop_new() };
	char endpoint[64];

	(void)state;
	assert_int_equal(strlen(HOST_63), TELE_MAX_NAME);
	snprintf(endpoint, sizeof endpoint, "ipc:///tmp/antiphase-bus-%d",
		 (int)getpid());
	/* A publisher may start after its listeners. */
	assert_int_equal(bus_sub_open_texts(endpoint, NULL, PACE_63, &h.sub, NULL), 0);
	bus_sub_join(h.sub, h.loop, hear, &h);
	h.pub = open_pub(endpoint, NULL);
	bus_pub_join(h.pub, h.loop);
	loop_every(h.loop, 10 * MS, say, &h);
	assert_int_equal(loop_run(h.loop), 7);
	bus_sub_close(h.sub);
	bus_pub_close(h.pub);
	loop_free(h.loop);
	unlink(endpoint + sizeof "ipc://" - 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_this_host_is_local),
		cmocka_unit_test(without_keys_nothing_is_bound_beyond_this_host),
		cmocka_unit_test(without_keys_nothing_is_connected_beyond_this_host),
		cmocka_unit_test(a_port_in_use_is_told),
		cmocka_unit_test(a_peer_cannot_unsubscribe_another),
		cmocka_unit_test(a_peer_that_subscribes_to_too_much_is_ended),
		cmocka_unit_test(a_publisher_knows_what_is_wanted),
		cmocka_unit_test(frames_come_to_those_who_asked_and_gaps_are_counted),
		cmocka_unit_test(a_publisher_that_comes_back_is_heard_again),
		cmocka_unit_test(what_is_no_frame_is_counted_and_passed_over),
		cmocka_unit_test(
			a_stopped_receiver_costs_a_publisher_no_memory_and_sees_the_gap),
		cmocka_unit_test(a_publisher_may_die_while_nobody_takes_what_it_sent),
		cmocka_unit_test(a_proxy_passes_frames_on_and_subscriptions_back),
		cmocka_unit_test(a_bound_subscriber_takes_publishers_that_connect),
		cmocka_unit_test(a_bound_subscriber_takes_nine_hundred_connections),
		cmocka_unit_test(announcements_reach_who_listens_to_their_topic),
		cmocka_unit_test(a_text_that_is_too_long_is_not_taken),
		cmocka_unit_test(texts_among_frames_go_to_their_callback),
		cmocka_unit_test(a_listener_in_a_loop_hears_its_topic_and_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
