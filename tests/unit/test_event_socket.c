/* SPDX-License-Identifier: Apache-2.0 */
/* test_event_socket.c - events from processes of this host, and their jobs */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/jobs/event_socket.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/wire/coll_event.h"
#include "tests/unit/cgroups.h"
#include "tests/unit/test.h"

struct place {
	char directory[64], path[96];
	struct event_socket *events;
	struct coll_event_sender sender;
	struct tele_frame frame;
};

static int
open_place(void **state)
{
	struct place *place = calloc(1, sizeof *place);
	struct err err = { 0 };
	char proc[80];

	strcpy(place->directory, "/tmp/antiphase-events.XXXXXX");
	assert_non_null(mkdtemp(place->directory));
	snprintf(place->path, sizeof place->path, "%s/events.sock", place->directory);
	snprintf(proc, sizeof proc, "%s/proc", place->directory);
	assert_int_equal(mkdir(proc, 0700), 0);
	cgroups_write(place->directory, 7,
		      "1:name=systemd:/jobs/wrong\n0::/jobs/4711\n");
	cgroups_write(place->directory, 8, "0::/jobs/4712\n");
	cgroups_write(place->directory, 9, "0::/user.slice\n");
	cgroups_write_host(place->directory);
	assert_int_equal(event_socket_open(place->path, place->directory,
					   cgroups_job_of, NULL, &place->events, &err),
			 0);
	assert_int_equal(coll_event_sender_init(&place->sender, place->path), 0);
	*state = place;
	return 0;
}

static int
close_place(void **state)
{
	struct place *place = *state;
	char command[128];

	event_socket_close(place->events);
	assert_int_equal(access(place->path, F_OK), -1);
	coll_event_sender_fini(&place->sender);
	tele_fini(&place->frame);
	snprintf(command, sizeof command, "rm -r %s", place->directory);
	assert_int_equal(system(command), 0);
	free(place);
	return 0;
}

static void
send_event(struct place *place, uint32_t pid, int64_t begin_ns)
{
	const struct coll_event event = {
		.source = TELE_EVENT_MPI,
		.pid = pid,
		.begin_ns = begin_ns,
		.end_ns = begin_ns + 1000,
		.bytes = 4096,
	};

	assert_int_equal(coll_event_send(&place->sender, &event), 0);
}

/* Reads until nothing is left. */
static void
read_all(struct place *place)
{
	for (int i = 0; i < 100; i++)
		event_socket_read(place->events);
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

static void
an_event_becomes_one_of_its_processs_job(void **state)
{
	struct place *place = *state;
	const struct tele_event *event;

	send_event(place, 8, 100);
	send_event(place, 7, 200);
	send_event(place, 9, 300);
	send_event(place, 8, 400);
	send_event(place, 6, 500); /* The process has ended. */
	read_all(place);
	assert_true(event_socket_fill(place->events, &place->frame));
	assert_int_equal(place->frame.events.n, 5);
	event = place->frame.events.items;
	for (size_t i = 0; i < 5; i++) {
		static const char *const jobs[] = { "4712", "4711", "(other)", "4712",
						    "(other)" };
		static const uint32_t pids[] = { 8, 7, 9, 8, 6 };

		assert_string_equal(tele_job_name(&place->frame, event[i].job),
				    jobs[i]);
		assert_int_equal(event[i].pid, pids[i]);
		assert_int_equal(event[i].begin_ns, 100 * (int64_t)(i + 1));
		assert_int_equal(event[i].end_ns, 100 * (int64_t)(i + 1) + 1000);
		assert_int_equal(event[i].bytes, 4096);
		assert_int_equal(event[i].source, TELE_EVENT_MPI);
		assert_false(event[i].is_launch);
	}
	assert_int_equal(event_socket_counts(place->events)->events, 5);
	assert_int_equal(event_socket_counts(place->events)->unknown_job, 2);
	tele_clear(&place->frame);
	assert_false(event_socket_fill(place->events, &place->frame));
	assert_int_equal(place->frame.events.n, 0);
}

static void
a_frame_that_has_jobs_already_keeps_them(void **state)
{
	struct place *place = *state;

	tele_add_job(&place->frame, "other");
	tele_add_job(&place->frame, "4711");
	send_event(place, 8, 100);
	send_event(place, 7, 200);
	read_all(place);
	assert_true(event_socket_fill(place->events, &place->frame));
	assert_int_equal(place->frame.jobs.n, 3);
	assert_int_equal(place->frame.events.items[0].job, 2);
	assert_int_equal(place->frame.events.items[1].job, 1);
}

static void
a_stranger_speaks_for_itself_only(void **state)
{
	struct place *place = *state;
	pid_t child;
	int status;

	if (geteuid() != 0) {
		print_message("a_stranger_speaks_for_itself_only: needs root\n");
		skip();
	}
	assert_int_equal(chmod(place->directory, 0755), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		const struct coll_event event = { .pid = 7,
						  .begin_ns = 1,
						  .end_ns = 2 };

		if (setgid(65534) || setuid(65534))
			_exit(1);
		_exit(coll_event_send(&place->sender, &event) ? 2 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	read_all(place);
	assert_true(event_socket_fill(place->events, &place->frame));
	assert_int_equal(place->frame.events.items[0].pid, child);
	assert_int_equal(place->frame.events.items[0].job, TELE_OTHER);
}

/* Whether an event of the test's process is taken to be of process 7. */
static bool
is_believed(struct place *place)
{
	bool is_of_7;

	coll_event_sender_fini(&place->sender);
	assert_int_equal(coll_event_sender_init(&place->sender, place->path), 0);
	send_event(place, 7, 1);
	read_all(place);
	tele_clear(&place->frame);
	assert_true(event_socket_fill(place->events, &place->frame));
	assert_int_equal(place->frame.events.n, 1);
	is_of_7 = place->frame.events.items[0].pid == 7;
	assert_int_equal(place->frame.events.items[0].pid, is_of_7 ? 7 : getpid());
	return is_of_7;
}

/* Root in a container has the user id 0. */
static void
only_the_hosts_own_processes_speak_for_others(void **state)
{
	static const char *const worse[][2] = {
		{ "status", "Name:\tx\nNSpid:\t7\t1\n" }, /* In a container, */
		{ "status", "Name:\tx\n" },
		{ "status", "Name:\tNSpid:\t7\n" },
		{ "uid_map", "         0     100000      65536\n" },
		{ "uid_map", "" },
		{ "cgroup", "0::/jobs/4711\n" }, /* or in a job, of all the rest. */
		{ "cgroup", "" },
	};
	struct place *place = *state;
	char self[16];

	snprintf(self, sizeof self, "%d", (int)getpid());
	assert_true(is_believed(place));
	for (size_t i = 0; i < sizeof worse / sizeof worse[0]; i++) {
		cgroups_write_proc(place->directory, self, worse[i][0], worse[i][1]);
		assert_false(is_believed(place));
		cgroups_write_host(place->directory);
	}
	assert_true(is_believed(place));
}

/* A process that connects, and hands the connection on, has no more to say. */
static void
who_has_ended_speaks_for_nobody(void **state)
{
	struct place *place = *state;
	int status, fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
	struct coll_event event = { .pid = 7, .begin_ns = 1, .end_ns = 2 };
	uint8_t bytes[COLL_EVENT_BYTES];
	char number[16];
	pid_t child;

	child = fork();
	assert_true(child >= 0);
	if (!child) {
		struct sockaddr_un to = { .sun_family = AF_UNIX };

		strcpy(to.sun_path, place->path);
		_exit(connect(fd, (struct sockaddr *)&to, sizeof to) ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	/* Another process, of the host, has its number now. */
	snprintf(number, sizeof number, "%d", (int)child);
	cgroups_write_proc(place->directory, number, "uid_map", CGROUPS_HOST_USERS);
	cgroups_write_proc(place->directory, number, "status", "\nNSpid:\t7\n");
	cgroups_write_proc(place->directory, number, "cgroup", "0::/x\n");
	coll_event_encode(&event, bytes);
	assert_int_equal(send(fd, bytes, sizeof bytes, 0), sizeof bytes);
	read_all(place);
	assert_true(event_socket_fill(place->events, &place->frame));
	assert_int_equal(place->frame.events.items[0].pid, child);
	close(fd);
}

static void
what_is_no_event_is_counted_and_ends_its_connection(void **state)
{
	struct place *place = *state;
	char rubbish[1000] = "apmk", byte;

	for (size_t n = 250; n <= sizeof rubbish; n += 250) {
		int fd = connect_raw(place);

		assert_int_equal(send(fd, rubbish, n, 0), (ssize_t)n);
		read_all(place);
		assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), 0);
		close(fd);
	}
	assert_false(event_socket_fill(place->events, &place->frame));
	assert_int_equal(event_socket_counts(place->events)->refused, 4);
}

static size_t
n_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void
descriptors_that_are_passed_along_do_not_stay(void **state)
{
	struct place *place = *state;

	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	const struct coll_event event = { .begin_ns = 1, .end_ns = 2 };
	uint8_t bytes[COLL_EVENT_BYTES];
	struct iovec piece = { bytes, sizeof bytes };
	struct msghdr message = { NULL, 0, &piece, 1, &control, sizeof control, 0 };
	int fd = connect_raw(place);
	size_t n_before;

	coll_event_encode(&event, bytes);
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
	read_all(place);
	n_before = n_descriptors();
	for (int i = 0; i < 5; i++)
		assert_int_equal(sendmsg(fd, &message, 0), sizeof bytes);
	read_all(place);
	assert_int_equal(n_descriptors(), n_before);
	close(fd);
	assert_int_equal(event_socket_counts(place->events)->events, 5);
}

/* ---- Floods -------------------------------------------------------------------- */

/* Another process, as a user of its own, floods until it is killed. */
static pid_t
begin_flood(const struct place *place, unsigned uid)
{
	const struct coll_event event = { .begin_ns = 1, .end_ns = 2 };
	struct coll_event_sender senders[8];
	pid_t child = fork();

	assert_true(child >= 0);
	if (child)
		return child;
	if (setgid(uid) || setuid(uid))
		_exit(1);
	for (int i = 0; i < 8; i++)
		(void)coll_event_sender_init(&senders[i], place->path);
	for (unsigned i = 0;; i++)
		(void)coll_event_send(&senders[i % 8], &event);
}

static int64_t
cpu_us(void)
{
	struct rusage use;

	assert_int_equal(getrusage(RUSAGE_SELF, &use), 0);
	return (int64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000 +
	       use.ru_utime.tv_usec + use.ru_stime.tv_usec;
}

/* A loop as the collector's: reads when there is something, a frame each second. */
static void
a_flood_of_one_user_costs_another_nothing(void **state)
{
	enum {
		N_MARKS = 500,
		SECONDS = 3
	};
	struct place *place = *state;
	const struct event_socket_counts *counts = event_socket_counts(place->events);
	struct pollfd in = { event_socket_fd(place->events), POLLIN, 0 };
	int64_t began_ns, next_ns, second_ns, cpu_us_before;
	pid_t flood, honest = getpid();
	uint64_t n_sent = 0, n_honest = 0, n_other = 0;
	int status;

	if (geteuid() != 0) {
		print_message(
			"a_flood_of_one_user_costs_another_nothing: needs root\n");
		skip();
	}
	assert_int_equal(chmod(place->directory, 0755), 0);
	/* The honest one is of a job, and no more trusted than the other. */
	cgroups_write(place->directory, (unsigned)honest, "0::/jobs/4711\n");
	flood = begin_flood(place, 65534);
	began_ns = next_ns = second_ns = clk_monotonic_ns();
	cpu_us_before = cpu_us();
	while (n_sent < N_MARKS ||
	       clk_monotonic_ns() - began_ns < SECONDS * 1000000000LL) {
		int64_t now_ns = clk_monotonic_ns();

		if (now_ns >= next_ns && n_sent < N_MARKS) {
			const struct coll_event event = { .begin_ns = 1, .end_ns = 2 };

			(void)coll_event_send(&place->sender, &event);
			n_sent++;
			next_ns += SECONDS * 1000000000LL / N_MARKS;
		}
		if (poll(&in, 1, 1) > 0)
			event_socket_read(place->events);
		if (now_ns - second_ns >= 1000000000) {
			second_ns += 1000000000;
			tele_clear(&place->frame);
			event_socket_fill(place->events, &place->frame);
			for (size_t i = 0; i < place->frame.events.n; i++)
				if (place->frame.events.items[i].pid ==
				    (uint32_t)honest)
					n_honest++;
				else
					n_other++;
		}
	}
	cpu_us_before = cpu_us() - cpu_us_before;
	kill(flood, SIGKILL);
	assert_int_equal(waitpid(flood, &status, 0), flood);
	read_all(place);
	tele_clear(&place->frame);
	event_socket_fill(place->events, &place->frame);
	for (size_t i = 0; i < place->frame.events.n; i++)
		n_honest += place->frame.events.items[i].pid == (uint32_t)honest;
	print_message(
		"flood: %llu of %d marks of the other user arrive (%.1f %%), %llu "
		"of the flood in %d s; %.1f %% of a core, with the marks' sender\n",
		(unsigned long long)n_honest, N_MARKS,
		100.0 * (double)n_honest / N_MARKS, (unsigned long long)n_other,
		SECONDS, (double)cpu_us_before / 1e4 / SECONDS);
	assert_true(n_honest * 100 >= N_MARKS * 95);
	assert_true(n_other > 0);
	assert_true(counts->paused > 0);
	/* No second has more of one user. */
	assert_true(n_other <= (SECONDS + 1) * EVENT_SOCKET_OF_SENDER);
}

static void
a_job_that_sent_its_share_is_read_again_in_the_next_second(void **state)
{
	const struct coll_event event = { .begin_ns = 1, .end_ns = 2 };
	struct place *place = *state;
	uint64_t n_sent = 0;

	cgroups_write(place->directory, (unsigned)getpid(), "0::/jobs/4711\n");
	while (coll_event_send(&place->sender, &event) == 0 || n_sent % 2) {
		n_sent++;
		event_socket_read(place->events);
	}
	read_all(place);
	assert_true(event_socket_fill(place->events, &place->frame));
	assert_int_equal(place->frame.events.n, EVENT_SOCKET_OF_SENDER);
	assert_int_equal(event_socket_counts(place->events)->paused, 1);
	/* What waited in its queue, and what the sender lost, is told now. */
	read_all(place);
	assert_int_equal(coll_event_send(&place->sender, &event), 0);
	read_all(place);
	tele_clear(&place->frame);
	assert_true(event_socket_fill(place->events, &place->frame));
	assert_true(place->frame.events.n > 1);
	assert_true(event_socket_counts(place->events)->lost > 0);
	assert_int_equal(event_socket_counts(place->events)->dropped, 0);
}

static void
connections_are_few_for_a_job_and_for_all_of_none(void **state)
{
	struct place *place = *state;
	int fds[EVENT_SOCKET_OF_NONE + 10];
	size_t n = 0;

	cgroups_write(place->directory, (unsigned)getpid(), "0::/jobs/4711\n");
	for (; n < EVENT_SOCKET_OF_JOB + 3; n++) {
		fds[n] = connect_raw(place);
		read_all(place);
	}
	assert_int_equal(event_socket_counts(place->events)->refused, 3);
	while (n > 0)
		close(fds[--n]);
	read_all(place);
	event_socket_fill(place->events, &place->frame); /* The next second. */
	cgroups_write(place->directory, (unsigned)getpid(), "");
	for (; n < EVENT_SOCKET_OF_NONE + 4; n++) {
		fds[n] = connect_raw(place);
		read_all(place);
	}
	assert_int_equal(event_socket_counts(place->events)->refused, 3 + 4);
	/* A job has its place. */
	cgroups_write(place->directory, (unsigned)getpid(), "0::/jobs/4711\n");
	event_socket_fill(place->events, &place->frame);
	send_event(place, 0, 1);
	read_all(place);
	assert_true(event_socket_fill(place->events, &place->frame));
	while (n > 0)
		close(fds[--n]);
}

/* Any process on the host may send: events that fit no frame must end here. */
static void
no_event_makes_a_frame_that_cannot_be_sent(void **state)
{
	struct place *place = *state;
	struct tele_buffer bytes = { 0 };

	send_event(place, 7, TELE_MAX_NS - 999); /* It ends 1 ns too late. */
	read_all(place);
	send_event(place, 7, TELE_MAX_NS - 1000);
	send_event(place, 7, INT64_MAX - 1000);
	read_all(place);
	assert_int_equal(event_socket_counts(place->events)->refused, 2);
	assert_true(event_socket_fill(place->events, &place->frame));
	assert_int_equal(place->frame.events.n, 1);
	place->frame.kind = TELE_EVENTS;
	tele_set_name(place->frame.host, "h");
	tele_encode(&place->frame, &bytes);
	tele_buffer_fini(&bytes);
}

static void
more_jobs_than_a_frame_has_room_for_are_other(void **state)
{
	struct place *place = *state;

	for (unsigned i = 0; i < TELE_MAX_JOBS + 10; i++) {
		char text[64];

		snprintf(text, sizeof text, "0::/jobs/many-%u\n", i);
		cgroups_write(place->directory, 1000 + i, text);
		send_event(place, 1000 + i, 1);
		event_socket_read(place->events);
	}
	assert_true(event_socket_fill(place->events, &place->frame));
	assert_int_equal(place->frame.jobs.n, TELE_MAX_JOBS);
	assert_int_equal(event_socket_counts(place->events)->unknown_job, 10);
}

static void
a_full_queue_drops_and_counts(void **state)
{
	struct place *place = *state;

	for (int i = 0; i < EVENT_SOCKET_MAX + 10; i++) {
		send_event(place, 7, i);
		event_socket_read(place->events);
	}
	assert_true(event_socket_fill(place->events, &place->frame));
	assert_int_equal(place->frame.events.n, EVENT_SOCKET_MAX);
	assert_int_equal(event_socket_counts(place->events)->dropped, 10);
}

static void
losses_that_senders_tell_are_added_up(void **state)
{
	struct place *place = *state;

	place->sender.lost = 3;
	send_event(place, 7, 1);
	send_event(place, 7, 2);
	place->sender.lost = 5;
	send_event(place, 7, 3);
	place->sender.lost = 1; /* A new process with the same number. */
	send_event(place, 7, 4);
	read_all(place);
	assert_int_equal(event_socket_counts(place->events)->lost, 6);
}

static void
a_dead_collectors_socket_is_replaced_a_live_ones_is_not(void **state)
{
	struct place *place = *state;
	struct event_socket *second = NULL;
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct err err = { 0 };
	int fd;

	assert_int_equal(event_socket_open(place->path, NULL, cgroups_job_of, NULL,
					   &second, &err),
			 -EADDRINUSE);
	snprintf(at.sun_path, sizeof at.sun_path, "%s/dead.sock", place->directory);
	fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
	close(fd);
	assert_int_equal(event_socket_open(at.sun_path, NULL, cgroups_job_of, NULL,
					   &second, &err),
			 0);
	event_socket_close(second);
	snprintf(at.sun_path, sizeof at.sun_path, "%s/file", place->directory);
	fd = open(at.sun_path, O_CREAT | O_WRONLY, 0600);
	close(fd);
	assert_int_equal(event_socket_open(at.sun_path, NULL, cgroups_job_of, NULL,
					   &second, &err),
			 -EEXIST);
	assert_int_equal(access(at.sun_path, F_OK), 0);
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, open_place, close_place)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_PLACE(an_event_becomes_one_of_its_processs_job),
		WITH_PLACE(a_frame_that_has_jobs_already_keeps_them),
		WITH_PLACE(a_stranger_speaks_for_itself_only),
		WITH_PLACE(only_the_hosts_own_processes_speak_for_others),
		WITH_PLACE(who_has_ended_speaks_for_nobody),
		WITH_PLACE(what_is_no_event_is_counted_and_ends_its_connection),
		WITH_PLACE(descriptors_that_are_passed_along_do_not_stay),
		WITH_PLACE(a_flood_of_one_user_costs_another_nothing),
		WITH_PLACE(a_job_that_sent_its_share_is_read_again_in_the_next_second),
		WITH_PLACE(connections_are_few_for_a_job_and_for_all_of_none),
		WITH_PLACE(no_event_makes_a_frame_that_cannot_be_sent),
		WITH_PLACE(more_jobs_than_a_frame_has_room_for_are_other),
		WITH_PLACE(a_full_queue_drops_and_counts),
		WITH_PLACE(losses_that_senders_tell_are_added_up),
		WITH_PLACE(a_dead_collectors_socket_is_replaced_a_live_ones_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
