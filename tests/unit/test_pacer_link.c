/* SPDX-License-Identifier: Apache-2.0 */
/* test_pacer_link.c - a collector that is present, absent, malformed or stopped */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "pacer/link.h"
#include "pacer/wait.h"
#include "tests/unit/test.h"

#define SECOND_NS INT64_C(1000000000)

struct place {
	char directory[64], path[96];
	struct link link;
	int listener, peer;
	unsigned n_orders;
	struct pace_order last;
};

static int
listen_at(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	strcpy(at.sun_path, path);
	unlink(path);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(listen(fd, 4), 0);
	return fd;
}

static int
make_place(void **state)
{
	struct place *place = calloc(1, sizeof *place);
	const struct pace_hello hello = { .pid = 7, .n_ranks = 2, .job = "4711" };

	strcpy(place->directory, "/tmp/antiphase-link.XXXXXX");
	assert_non_null(mkdtemp(place->directory));
	snprintf(place->path, sizeof place->path, "%s/pacer.sock", place->directory);
	link_init(&place->link, place->path, &hello);
	place->listener = place->peer = -1;
	*state = place;
	return 0;
}

static int
remove_place(void **state)
{
	struct place *place = *state;

	link_close(&place->link);
	close(place->listener);
	close(place->peer);
	unlink(place->path);
	rmdir(place->directory);
	free(place);
	return 0;
}

static void
connect_both(struct place *place, int64_t now_ns)
{
	if (place->listener < 0)
		place->listener = listen_at(place->path);
	assert_true(link_open(&place->link, now_ns));
	place->peer = accept(place->listener, NULL, NULL);
	assert_true(place->peer >= 0);
}

static void
expect_packet(const struct place *place, enum pace_kind kind,
	      struct pace_packet *ret_packet)
{
	uint8_t bytes[PACE_MAX_BYTES];
	ssize_t n = recv(place->peer, bytes, sizeof bytes, MSG_DONTWAIT);

	assert_true(n > 0);
	assert_int_equal(pace_decode(bytes, (size_t)n, ret_packet), 0);
	assert_int_equal(ret_packet->kind, kind);
}

static void
count_order(void *ctx, const struct pace_order *order)
{
	struct place *place = ctx;

	place->n_orders++;
	place->last = *order;
}

static void
send_order(const struct place *place, uint32_t number)
{
	const struct pace_packet packet = { .kind = PACE_ORDER,
					    .order = { .number = number } };
	uint8_t bytes[PACE_MAX_BYTES];
	size_t n = pace_encode(&packet, bytes);

	assert_int_equal(send(place->peer, bytes, n, MSG_NOSIGNAL), n);
}

static void
who_it_is_comes_first_and_then_reports_go_and_orders_come(void **state)
{
	struct place *place = *state;
	struct pace_iteration report = { .number = 9 };
	struct pace_packet got;

	connect_both(place, 1);
	link_send(&place->link, &report);
	expect_packet(place, PACE_HELLO, &got);
	assert_string_equal(got.hello.job, "4711");
	expect_packet(place, PACE_ITERATION, &got);
	assert_int_equal(got.iteration.number, 9);
	send_order(place, 1);
	send_order(place, 2);
	link_receive(&place->link, count_order, place);
	assert_int_equal(place->n_orders, 2);
	assert_int_equal(place->last.number, 2);
}

static void
nobody_there_is_tried_again_and_what_is_lost_is_told(void **state)
{
	struct place *place = *state;
	struct pace_iteration report = { 0 };
	struct pace_packet got;

	assert_false(link_open(&place->link, SECOND_NS));
	link_send(&place->link, &report);
	link_send(&place->link, &report);
	assert_int_equal(place->link.lost, 2);
	place->listener = listen_at(place->path);
	assert_false(link_open(&place->link, SECOND_NS + LINK_RETRY_NS - 1));
	connect_both(place, SECOND_NS + LINK_RETRY_NS);
	link_send(&place->link, &report);
	expect_packet(place, PACE_HELLO, &got);
	expect_packet(place, PACE_ITERATION, &got);
	assert_int_equal(got.iteration.lost, 2);
}

/* Number of attempts of a client that always asks. */
static unsigned
n_attempts(struct place *place, int64_t from_ns, int64_t for_ns)
{
	unsigned n = 0;

	for (int64_t at_ns = from_ns; at_ns < from_ns + for_ns; at_ns += 1000000) {
		int64_t retry_at_ns = place->link.retry_at_ns;

		link_open(&place->link, at_ns);
		n += place->link.retry_at_ns != retry_at_ns;
	}
	return n;
}

static void
attempts_in_vain_are_further_and_further_apart(void **state)
{
	struct place *place = *state;

	/* At 0, 50, 150, 350, 750, 1550 ms, then each second. */
	assert_int_equal(n_attempts(place, SECOND_NS, SECOND_NS), 5);
	assert_int_equal(n_attempts(place, 2 * SECOND_NS, 10 * SECOND_NS), 10);
	/* After a longer connection is lost, the next attempt is immediate. */
	connect_both(place, 13 * SECOND_NS);
	close(place->peer);
	place->peer = -1;
	link_receive(&place->link, count_order, place);
	assert_int_equal(place->link.fd, -1);
	connect_both(place, 13 * SECOND_NS + LINK_MAX_RETRY_NS);
	close(place->peer);
	place->peer = -1;
	link_receive(&place->link, count_order, place);
	connect_both(place, 15 * SECOND_NS);
	assert_int_equal(place->link.retry_ns, LINK_RETRY_NS);
}

static void
one_that_turns_us_away_is_not_asked_all_the_time(void **state)
{
	struct place *place = *state;
	unsigned n = 0;

	place->listener = listen_at(place->path);
	for (int64_t at_ns = SECOND_NS; at_ns < 6 * SECOND_NS; at_ns += 1000000) {
		if (!link_open(&place->link, at_ns))
			continue;
		close(accept(place->listener, NULL, NULL));
		link_receive(&place->link, count_order, place);
		assert_int_equal(place->link.fd, -1);
		n++;
	}
	assert_in_range(n, 2, 80);
}

static void
a_collector_that_is_killed_and_comes_back_is_found_again(void **state)
{
	struct place *place = *state;
	struct pace_iteration report = { 0 };
	struct pace_packet got;

	connect_both(place, SECOND_NS);
	close(place->peer);
	close(place->listener);
	place->listener = -1;
	link_receive(&place->link, count_order, place);
	assert_int_equal(place->link.fd, -1);
	link_send(&place->link, &report);
	assert_false(link_open(&place->link, SECOND_NS + 5));
	/* No collector listens. */
	assert_false(link_open(&place->link, SECOND_NS + LINK_RETRY_NS));
	connect_both(place, SECOND_NS + 3 * LINK_RETRY_NS);
	expect_packet(place, PACE_HELLO, &got);
}

static void
one_that_never_reads_costs_packets_and_no_time(void **state)
{
	struct place *place = *state;
	struct pace_iteration report = { 0 };
	int64_t longest_ns = 0;

	connect_both(place, 1);
	for (int i = 0; i < 100000; i++) {
		int64_t begin_ns = wait_now_ns(), took_ns;

		link_send(&place->link, &report);
		took_ns = wait_now_ns() - begin_ns;
		longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
	}
	assert_true(place->link.fd >= 0);
	assert_true(place->link.lost > 90000);
	/* It does not wait: a wait would take a second, a busy machine less. */
	assert_true(longest_ns < SECOND_NS);
}

static void
one_that_never_accepts_costs_no_time_either(void **state)
{
	struct place *place = *state;
	int64_t begin_ns = wait_now_ns();
	unsigned n_open = 0;

	place->listener = listen_at(place->path);
	for (int i = 0; i < 20; i++) {
		struct link other;

		link_init(&other, place->path, &place->link.hello);
		n_open += link_open(&other, SECOND_NS);
		/* Left open on purpose, to fill the listener's backlog. */
		if (other.fd >= 0)
			fcntl(other.fd, F_SETFD, 0);
	}
	assert_in_range(n_open, 1, 19);
	assert_true(wait_now_ns() - begin_ns < SECOND_NS);
}

static void
nonsense_is_counted_and_in_the_end_cut(void **state)
{
	struct place *place = *state;
	char nonsense[4096];

	memset(nonsense, 'x', sizeof nonsense);
	connect_both(place, 1);
	for (int i = 0; i < LINK_MAX_BAD - 1; i++) {
		size_t n = i % 2 ? sizeof nonsense : 48;

		assert_int_equal(send(place->peer, nonsense, n, MSG_NOSIGNAL), n);
		link_receive(&place->link, count_order, place);
	}
	send_order(place, 5);
	link_receive(&place->link, count_order, place);
	assert_int_equal(place->n_orders, 1);
	assert_int_equal(place->link.n_bad, LINK_MAX_BAD - 1);
	assert_int_equal(send(place->peer, nonsense, 1, MSG_NOSIGNAL), 1);
	link_receive(&place->link, count_order, place);
	assert_int_equal(place->link.fd, -1);
}

static void
a_flood_of_orders_is_taken_a_few_at_a_time(void **state)
{
	struct place *place = *state;

	connect_both(place, 1);
	for (uint32_t i = 0; i < 3 * LINK_MAX_ORDERS; i++)
		send_order(place, i + 1);
	link_receive(&place->link, count_order, place);
	assert_int_equal(place->n_orders, LINK_MAX_ORDERS);
}

static void
a_descriptor_that_became_somebody_elses_is_left_alone(void **state)
{
	struct place *place = *state;
	struct pace_iteration report = { 0 };
	int pair[2], fd;
	char byte;

	connect_both(place, SECOND_NS);
	fd = place->link.fd;
	/* The program closes the unknown descriptor, and gets its number again. */
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair),
			 0);
	assert_int_equal(dup2(pair[0], fd), fd);
	link_send(&place->link, &report);
	link_receive(&place->link, count_order, place);
	assert_int_equal(recv(pair[1], &byte, 1, 0), -1);
	assert_int_equal(errno, EAGAIN);
	link_close(&place->link);
	assert_true(fcntl(fd, F_GETFD) >= 0); /* Still the program's. */
	assert_int_equal(place->link.fd, -1);
	close(fd);
	close(pair[0]);
	close(pair[1]);
}

static void
waits_end_when_they_should(void **state)
{
	unsigned n_late = 0;

	(void)state;
	for (int i = 0; i < 100; i++) {
		int64_t until_ns = wait_now_ns() + 1000000 + i * 20000;
		int64_t late_ns = wait_until(until_ns) - until_ns;

		assert_true(late_ns >= 0);
		n_late += late_ns > 50000;
	}
	/* On a busy machine most iterations may be late, but not all. */
	assert_true(n_late < 100);
	assert_true(wait_until(0) > 0);
}

int
main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)
	const struct CMUnitTest tests[] = {
		test(who_it_is_comes_first_and_then_reports_go_and_orders_come),
		test(nobody_there_is_tried_again_and_what_is_lost_is_told),
		test(attempts_in_vain_are_further_and_further_apart),
		test(one_that_turns_us_away_is_not_asked_all_the_time),
		test(a_collector_that_is_killed_and_comes_back_is_found_again),
		test(one_that_never_reads_costs_packets_and_no_time),
		test(one_that_never_accepts_costs_no_time_either),
		test(nonsense_is_counted_and_in_the_end_cut),
		test(a_flood_of_orders_is_taken_a_few_at_a_time),
		test(a_descriptor_that_became_somebody_elses_is_left_alone),
		cmocka_unit_test(waits_end_when_they_should),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
