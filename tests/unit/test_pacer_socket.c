/* SPDX-License-Identifier: Apache-2.0 */
/* test_pacer_socket.c - correct and malformed pacers of this host, and their orders */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "collector/jobs/pacer_socket.h"
#include "lib/base/err.h"
#include "pacer/link.h"
#include "tests/unit/cgroups.h"
#include "tests/unit/test.h"

#define SECOND_NS INT64_C(1000000000)

struct place {
	char directory[64], path[96];
	struct pacer_socket *pacers;
	struct tele_frame frame;
	struct link link;
	int64_t now_ns;
};

static struct place *
open_place(const char *cgroup, bool is_claim_believed)
{
	struct place *place = calloc(1, sizeof *place);
	const struct pacer_socket_options options = {
		.sysroot = place->directory,
		.is_claim_believed = is_claim_believed,
		.job_of = cgroups_job_of,
	};
	const struct pace_hello hello = {
		.source = PACE_MPI, .pid = 1, .rank = 0, .n_ranks = 4, .job = "claim"
	};
	struct err err = { 0 };
	char proc[80];

	strcpy(place->directory, "/tmp/antiphase-pacers.XXXXXX");
	assert_non_null(mkdtemp(place->directory));
	snprintf(place->path, sizeof place->path, "%s/pacer.sock", place->directory);
	snprintf(proc, sizeof proc, "%s/proc", place->directory);
	assert_int_equal(mkdir(proc, 0700), 0);
	cgroups_write(place->directory, (unsigned)getpid(), cgroup);
	assert_int_equal(pacer_socket_open(place->path, &options, &place->pacers, &err),
			 0);
	link_init(&place->link, place->path, &hello);
	place->now_ns = 10 * SECOND_NS;
	return place;
}

static void
close_place(struct place *place)
{
	char command[128];

	link_close(&place->link);
	pacer_socket_close(place->pacers);
	assert_int_equal(access(place->path, F_OK), -1);
	tele_fini(&place->frame);
	snprintf(command, sizeof command, "rm -r %s", place->directory);
	assert_int_equal(system(command), 0);
	free(place);
}

/* Reads until nothing is left, into the frame. */
static void
read_all(struct place *place)
{
	for (int i = 0; i < 100; i++)
		pacer_socket_read(place->pacers, place->now_ns);
	tele_clear(&place->frame);
	pacer_socket_fill(place->pacers, &place->frame);
}

static void
send_iteration(struct place *place, uint64_t number)
{
	struct pace_iteration iteration = {
		.number = number,
		.enter_ns = (int64_t)number * 1000,
		.begin_ns = (int64_t)number * 1000 + 10,
		.comm_ns = 7,
		.bytes = 8,
		.n_collectives = 9,
		.gap_us = 10,
		.order = 11,
	};

	link_send(&place->link, &iteration);
}

static int
connect_raw(const struct place *place)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	strcpy(to.sun_path, place->path);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	return fd;
}

/* True if the other side has closed it. */
static bool
is_closed(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

static void
iterations_become_rows_of_the_job_that_the_kernel_knows(void **state)
{
	struct place *place = open_place("0::/jobs/4711\n", true);
	const struct tele_iteration *row;

	(void)state;
	assert_true(link_open(&place->link, place->now_ns));
	send_iteration(place, 3);
	send_iteration(place, 4);
	read_all(place);
	assert_int_equal(place->frame.iterations.n, 2);
	assert_int_equal(place->frame.jobs.n, 1);
	row = &place->frame.iterations.items[1];
	assert_string_equal(tele_job_name(&place->frame, row->job), "4711");
	assert_false(row->is_claimed || row->is_over || row->is_observing);
	assert_int_equal(row->pid, getpid());
	assert_int_equal(row->number, 4);
	assert_int_equal(row->enter_ns, 4000);
	assert_int_equal(row->begin_ns, 4010);
	assert_int_equal(row->comm_ns, 7);
	assert_int_equal(row->bytes, 8);
	assert_int_equal(row->n_collectives, 9);
	assert_int_equal(row->gap_us, 10);
	assert_int_equal(row->order, 11);
	assert_int_equal(pacer_socket_n(place->pacers), 1);
	/* Its end is a row, too. */
	link_close(&place->link);
	read_all(place);
	assert_int_equal(place->frame.iterations.n, 1);
	assert_true(place->frame.iterations.items[0].is_over);
	assert_int_equal(place->frame.iterations.items[0].number, 4);
	assert_int_equal(pacer_socket_n(place->pacers), 0);
	assert_int_equal(pacer_socket_counts(place->pacers)->refused, 0);
	close_place(place);
}

/* Connects again and reports 'lost' losses in total; returns the counted losses. */
static uint64_t
lost_after(struct place *place, uint32_t lost)
{
	link_close(&place->link);
	read_all(place);
	place->now_ns += SECOND_NS;
	assert_true(link_open(&place->link, place->now_ns));
	place->link.lost = lost;
	send_iteration(place, 3);
	send_iteration(place, 4);
	read_all(place);
	return pacer_socket_counts(place->pacers)->lost;
}

static void
what_is_lost_is_counted_once_however_often_a_pacer_comes(void **state)
{
	struct place *place = open_place("0::/jobs/4711\n", false);

	(void)state;
	assert_int_equal(lost_after(place, 3), 3);
	assert_int_equal(lost_after(place, 3), 3);
	assert_int_equal(lost_after(place, 5), 5);
	/* Another process with the same number. */
	assert_int_equal(lost_after(place, 2), 7);
	close_place(place);
}

static void
more_jobs_than_a_frame_has_come_as_other(void **state)
{
	struct place *place = open_place("0::/elsewhere\n", true);
	size_t n_other = 0;

	(void)state;
	for (unsigned i = 0; i < TELE_MAX_JOBS + 4; i++) {
		struct pace_packet packet = {
			.kind = PACE_HELLO,
			.hello = { .source = PACE_MPI, .pid = 1, .n_ranks = 4 },
		};
		uint8_t bytes[PACE_MAX_BYTES];
		int fd = connect_raw(place);
		size_t n;

		snprintf(packet.hello.job, sizeof packet.hello.job, "job%u", i);
		n = pace_encode(&packet, bytes);
		assert_int_equal(send(fd, bytes, n, 0), n);
		close(fd);
		/* It is accepted, read, and seen to end. */
		for (int k = 0; k < 3; k++)
			pacer_socket_read(place->pacers, place->now_ns);
		/* Not more than its user may send. */
		pacer_socket_tick(place->pacers, place->now_ns);
	}
	read_all(place);
	assert_int_equal(place->frame.jobs.n, TELE_MAX_JOBS);
	for (size_t i = 0; i < place->frame.iterations.n; i++)
		n_other += place->frame.iterations.items[i].job == TELE_OTHER;
	assert_int_equal(n_other, 4);
	close_place(place);
}

static void
a_claim_counts_only_where_it_is_believed(void **state)
{
	(void)state;
	for (int believed = 0; believed < 2; believed++) {
		struct place *place = open_place("0::/user.slice\n", believed);
		const struct tele_iteration *row;

		assert_true(link_open(&place->link, place->now_ns));
		send_iteration(place, 3);
		read_all(place);
		assert_int_equal(place->frame.iterations.n, 1);
		row = &place->frame.iterations.items[0];
		assert_string_equal(tele_job_name(&place->frame, row->job),
				    believed ? "claim" : "(other)");
		assert_int_equal(row->is_claimed, believed);
		assert_int_equal(pacer_socket_counts(place->pacers)->unknown_job,
				 !believed);
		close_place(place);
	}
}

static void
a_process_that_is_put_into_a_job_later_is_found_there(void **state)
{
	struct place *place = open_place("0::/user.slice\n", false);

	(void)state;
	assert_true(link_open(&place->link, place->now_ns));
	send_iteration(place, 3);
	read_all(place);
	cgroups_write(place->directory, (unsigned)getpid(), "0::/jobs/4712\n");
	place->now_ns += SECOND_NS;
	send_iteration(place, 4);
	read_all(place);
	assert_string_equal(
		tele_job_name(&place->frame, place->frame.iterations.items[0].job),
		"4712");
	close_place(place);
}

static void
take_order(void *ctx, const struct pace_order *order)
{
	*(struct pace_order *)ctx = *order;
}

static void
an_order_reaches_the_pacer_of_that_job_and_process_and_no_other(void **state)
{
	struct place *place = open_place("0::/jobs/4711\n", false);
	const struct pace_order order = {
		.number = 5, .delay_ns = 40, .expires_ns = 1000, .max_ns = 100
	};
	struct pace_order got = { 0 };
	uint32_t pid = (uint32_t)getpid();

	(void)state;
	assert_int_equal(pacer_socket_order(place->pacers, "4711", pid, &order),
			 -ESRCH);
	assert_true(link_open(&place->link, place->now_ns));
	read_all(place);
	assert_int_equal(pacer_socket_order(place->pacers, "4712", pid, &order),
			 -ESRCH);
	assert_int_equal(pacer_socket_order(place->pacers, "4711", pid + 1, &order),
			 -ESRCH);
	assert_int_equal(pacer_socket_order(place->pacers, "4711", pid, &order), 0);
	link_receive(&place->link, take_order, &got);
	assert_int_equal(got.number, 5);
	assert_int_equal(got.delay_ns, 40);
	assert_int_equal(got.max_ns, 100);
	assert_int_equal(pacer_socket_counts(place->pacers)->orders, 1);
	assert_int_equal(pacer_socket_counts(place->pacers)->strays, 3);
	close_place(place);
}

static void
a_pacer_that_does_not_read_is_not_waited_for(void **state)
{
	struct place *place = open_place("0::/jobs/4711\n", false);
	const struct pace_order order = { .number = 1 };
	int error = 0;

	(void)state;
	assert_true(link_open(&place->link, place->now_ns));
	read_all(place);
	for (int i = 0; i < 100000 && !error; i++)
		error = pacer_socket_order(place->pacers, "4711", (uint32_t)getpid(),
					   &order);
	assert_int_equal(error, -EAGAIN);
	assert_int_equal(pacer_socket_counts(place->pacers)->unsent, 1);
	close_place(place);
}

static void
what_is_no_packet_ends_its_connection_and_no_other(void **state)
{
	static const char *const texts[] = { "x", "appc", "hello, is this HTTP?",
					     "GET / HTTP/1.1\r\n\r\n" };
	struct place *place = open_place("0::/jobs/4711\n", false);
	char large[4096] = "appc\1";
	size_t n_bad = 0;

	(void)state;
	assert_true(link_open(&place->link, place->now_ns));
	for (size_t i = 0; i < sizeof texts / sizeof texts[0] + 1; i++) {
		const char *text = i < 4 ? texts[i] : large;
		size_t n = i < 4 ? strlen(text) : sizeof large;
		int fd = connect_raw(place);

		read_all(place);
		assert_false(is_closed(fd));
		assert_int_equal(send(fd, text, n, MSG_NOSIGNAL), n);
		read_all(place);
		assert_true(is_closed(fd));
		assert_int_equal(pacer_socket_counts(place->pacers)->refused, ++n_bad);
		close(fd);
	}
	send_iteration(place, 3);
	read_all(place);
	assert_int_equal(place->frame.iterations.n, 1);
	close_place(place);
}

static void
packets_out_of_turn_end_the_connection(void **state)
{
	struct place *place = open_place("0::/jobs/4711\n", false);
	struct pace_packet packet = { .kind = PACE_ITERATION };
	uint8_t bytes[PACE_MAX_BYTES];
	size_t n = pace_encode(&packet, bytes);
	int fd = connect_raw(place);

	(void)state;
	assert_int_equal(send(fd, bytes, n, MSG_NOSIGNAL), n); /* No HELLO. */
	read_all(place);
	assert_true(is_closed(fd));
	close(fd);
	assert_int_equal(place->frame.iterations.n, 0);
	/* HELLO twice; and an order, which a pacer must not send. */
	for (int i = 0; i < 2; i++) {
		fd = connect_raw(place);
		packet = (struct pace_packet){ .kind = PACE_HELLO };
		n = pace_encode(&packet, bytes);
		assert_int_equal(send(fd, bytes, n, MSG_NOSIGNAL), n);
		if (i == 1) {
			packet = (struct pace_packet){ .kind = PACE_ORDER,
						       .order.number = 1 };
			n = pace_encode(&packet, bytes);
		}
		assert_int_equal(send(fd, bytes, n, MSG_NOSIGNAL), n);
		read_all(place);
		assert_true(is_closed(fd));
		close(fd);
	}
	assert_int_equal(pacer_socket_counts(place->pacers)->refused, 3);
	close_place(place);
}

/* Sends as often as there is room, on 'n' connections; returns the rows in the frames. */
static size_t
flood(struct place *place, const int *fds, size_t n)
{
	const struct pace_packet packet = { .kind = PACE_ITERATION };
	uint8_t bytes[PACE_MAX_BYTES];
	size_t length = pace_encode(&packet, bytes), n_rows = 0;

	for (int i = 0; i < 2 * PACER_SOCKET_PACKETS; i++) {
		for (size_t k = 0; k < n; k++)
			(void)send(fds[k], bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
		pacer_socket_read(place->pacers, place->now_ns);
		tele_clear(&place->frame);
		pacer_socket_fill(place->pacers, &place->frame);
		n_rows += place->frame.iterations.n;
	}
	return n_rows;
}

/* The limit is of a job: more connections give it no more. */
static void
what_a_job_has_too_much_of_waits(void **state)
{
	enum {
		N = 4
	};

	struct place *place = open_place("0::/jobs/4711\n", false);
	const struct pace_packet packet = { .kind = PACE_HELLO };
	uint8_t bytes[PACE_MAX_BYTES];
	size_t length = pace_encode(&packet, bytes), n_rows;
	int fds[N];

	(void)state;
	for (int i = 0; i < N; i++) {
		fds[i] = connect_raw(place);
		assert_int_equal(send(fds[i], bytes, length, MSG_NOSIGNAL), length);
	}
	read_all(place);
	/* Each HELLO is a packet. */
	n_rows = flood(place, fds, N);
	assert_int_equal(n_rows, PACER_SOCKET_PACKETS - N);
	assert_int_equal(pacer_socket_n(place->pacers), N);
	assert_int_equal(pacer_socket_counts(place->pacers)->paused, N);
	/* Its connections cost nothing until the next second. */
	assert_int_equal(
		poll(&(struct pollfd){ pacer_socket_fd(place->pacers), POLLIN, 0 }, 1,
		     0),
		0);
	place->now_ns += INT64_C(1000000000);
	pacer_socket_tick(place->pacers, place->now_ns);
	assert_int_equal(flood(place, fds, N), PACER_SOCKET_PACKETS);
	assert_int_equal(pacer_socket_counts(place->pacers)->refused, 0);
	assert_int_equal(pacer_socket_counts(place->pacers)->iterations,
			 2 * PACER_SOCKET_PACKETS - N);
	for (int i = 0; i < N; i++)
		close(fds[i]);
	close_place(place);
}

/* Connects until it is refused; at most 'max'.  Returns the number of connections. */
static size_t
crowd(struct place *place, int *fds, size_t max)
{
	size_t n = 0;

	while (n < max) {
		fds[n] = connect_raw(place);
		pacer_socket_read(place->pacers, place->now_ns);
		if (is_closed(fds[n])) {
			close(fds[n]);
			break;
		}
		n++;
	}
	return n;
}

/* Root in containers too: the test's user is root, or that of the collector. */
static void
no_job_and_no_container_takes_all_places(void **state)
{
	struct place *place = open_place("0::/docker/3f0c\n", true);
	static int fds[1200];
	size_t n_of_none, n = 0;

	(void)state;
	n_of_none = crowd(place, fds, 1100);
	assert_int_equal(n_of_none, PACER_SOCKET_OF_NONE);
	n = n_of_none;
	for (int i = 0; i < 3; i++) {
		char cgroup[32];
		size_t n_of_job;

		snprintf(cgroup, sizeof cgroup, "0::/jobs/%d\n", i);
		cgroups_write(place->directory, (unsigned)getpid(), cgroup);
		n_of_job = crowd(place, fds + n, 100);
		assert_int_equal(n_of_job, geteuid() == 0 ? PACER_SOCKET_OF_JOB : 0);
		n += n_of_job;
	}
	print_message("places: %zu of %d go to processes of no job, %d to one job\n",
		      n_of_none, PACER_SOCKET_CONNECTIONS, PACER_SOCKET_OF_JOB);
	assert_int_equal(pacer_socket_counts(place->pacers)->refused, 4);
	/* A job still has its place. */
	if (geteuid() == 0) {
		cgroups_write(place->directory, (unsigned)getpid(), "0::/jobs/9\n");
		assert_true(link_open(&place->link, place->now_ns));
		send_iteration(place, 3);
		read_all(place);
		assert_int_equal(place->frame.iterations.n, 1);
	}
	while (n > 0)
		close(fds[--n]);
	close_place(place);
}

/* A connection that belonged to no job counts as the job's once it is known to be. */
static void
who_joins_a_job_that_is_full_is_let_go(void **state)
{
	struct place *place = open_place("0::/jobs/4711\n", false);
	int fds[PACER_SOCKET_OF_JOB];

	(void)state;
	assert_int_equal(crowd(place, fds, PACER_SOCKET_OF_JOB), PACER_SOCKET_OF_JOB);
	cgroups_write(place->directory, (unsigned)getpid(), "0::/elsewhere\n");
	assert_true(link_open(&place->link, place->now_ns));
	send_iteration(place, 3);
	read_all(place);
	assert_int_equal(pacer_socket_n(place->pacers), 1);
	cgroups_write(place->directory, (unsigned)getpid(), "0::/jobs/4711\n");
	place->now_ns += SECOND_NS;
	send_iteration(place, 4);
	read_all(place);
	assert_int_equal(pacer_socket_n(place->pacers), 0);
	assert_int_equal(pacer_socket_counts(place->pacers)->refused, 1);
	for (int i = 0; i < PACER_SOCKET_OF_JOB; i++)
		close(fds[i]);
	close_place(place);
}

static void
who_says_nothing_is_let_go_in_the_end(void **state)
{
	struct place *place = open_place("0::/jobs/4711\n", false);
	int fd = connect_raw(place);

	(void)state;
	read_all(place);
	pacer_socket_tick(place->pacers, place->now_ns + PACER_SOCKET_HELLO_NS);
	assert_false(is_closed(fd));
	pacer_socket_tick(place->pacers, place->now_ns + PACER_SOCKET_HELLO_NS + 1);
	assert_true(is_closed(fd));
	close(fd);
	close_place(place);
}

static void
without_descriptors_the_next_is_refused_and_all_go_on(void **state)
{
	struct place *place = open_place("0::/jobs/4711\n", false);
	struct rlimit limit, low;
	int fd, copies[256];
	size_t n = 0;

	(void)state;
	assert_true(link_open(&place->link, place->now_ns));
	read_all(place);
	fd = connect_raw(place); /* The connection waits to be accepted. */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = 128;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	while (n < 256 && (copies[n] = dup(0)) >= 0)
		n++;
	read_all(place);
	assert_true(is_closed(fd));
	assert_true(pacer_socket_counts(place->pacers)->refused > 0);
	send_iteration(place, 3);
	read_all(place);
	assert_int_equal(place->frame.iterations.n, 1);
	while (n > 0)
		close(copies[--n]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	close(fd);
	fd = connect_raw(place);
	read_all(place);
	assert_false(is_closed(fd));
	close(fd);
	close_place(place);
}

static void
a_socket_left_behind_is_replaced_and_one_in_use_is_not(void **state)
{
	struct place *place = open_place("0::/jobs/4711\n", false);
	const struct pacer_socket_options options = { .job_of = cgroups_job_of };
	struct pacer_socket *other;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(pacer_socket_open(place->path, &options, &other, &err),
			 -EADDRINUSE);
	assert_non_null(strstr(err.text, "another collector"));
	assert_int_equal(access(place->path, W_OK), 0);
	close_place(place);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			iterations_become_rows_of_the_job_that_the_kernel_knows),
		cmocka_unit_test(
			what_is_lost_is_counted_once_however_often_a_pacer_comes),
		cmocka_unit_test(more_jobs_than_a_frame_has_come_as_other),
		cmocka_unit_test(a_claim_counts_only_where_it_is_believed),
		cmocka_unit_test(a_process_that_is_put_into_a_job_later_is_found_there),
		cmocka_unit_test(
			an_order_reaches_the_pacer_of_that_job_and_process_and_no_other),
		cmocka_unit_test(a_pacer_that_does_not_read_is_not_waited_for),
		cmocka_unit_test(what_is_no_packet_ends_its_connection_and_no_other),
		cmocka_unit_test(packets_out_of_turn_end_the_connection),
		cmocka_unit_test(what_a_job_has_too_much_of_waits),
		cmocka_unit_test(no_job_and_no_container_takes_all_places),
		cmocka_unit_test(who_joins_a_job_that_is_full_is_let_go),
		cmocka_unit_test(who_says_nothing_is_let_go_in_the_end),
		cmocka_unit_test(without_descriptors_the_next_is_refused_and_all_go_on),
		cmocka_unit_test(
			a_socket_left_behind_is_replaced_and_one_in_use_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
