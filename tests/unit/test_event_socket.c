/* SPDX-License-Identifier: Apache-2.0 */
/* test_event_socket.c - events from processes of this host, and their jobs */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/jobs/event_socket.h"
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
	event_socket_read(place->events);
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
	event_socket_read(place->events);
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
	event_socket_read(place->events);
	assert_true(event_socket_fill(place->events, &place->frame));
	assert_int_equal(place->frame.events.items[0].pid, child);
	assert_int_equal(place->frame.events.items[0].job, TELE_OTHER);
}

static void
what_is_no_event_is_counted_and_dropped(void **state)
{
	struct place *place = *state;
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	char rubbish[1000] = "apmk";
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	strcpy(to.sun_path, place->path);
	for (size_t n = 0; n <= sizeof rubbish; n += 250)
		assert_int_equal(
			sendto(fd, rubbish, n, 0, (struct sockaddr *)&to, sizeof to),
			(ssize_t)n);
	close(fd);
	event_socket_read(place->events);
	assert_false(event_socket_fill(place->events, &place->frame));
	assert_int_equal(event_socket_counts(place->events)->refused, 5);
}

static void
descriptors_that_are_passed_along_do_not_stay(void **state)
{
	struct place *place = *state;
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec piece = { (char[]){ "x" }, 1 };
	struct msghdr message = {
		&to, sizeof to, &piece, 1, &control, sizeof control, 0
	};
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0), before, after;

	strcpy(to.sun_path, place->path);
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
	before = dup(0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(sendmsg(fd, &message, 0), 1);
	event_socket_read(place->events);
	after = dup(0);
	assert_int_equal(after, before + 1);
	close(after);
	close(before);
	close(fd);
	assert_int_equal(event_socket_counts(place->events)->refused, 5);
}

/* Any process on the host may send: events that fit no frame must end here. */
static void
no_event_makes_a_frame_that_cannot_be_sent(void **state)
{
	struct place *place = *state;
	struct tele_buffer bytes = { 0 };

	send_event(place, 7, TELE_MAX_NS - 999); /* It ends 1 ns too late. */
	send_event(place, 7, TELE_MAX_NS - 1000);
	send_event(place, 7, INT64_MAX - 1000);
	event_socket_read(place->events);
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
	event_socket_read(place->events);
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
	fd = socket(AF_UNIX, SOCK_DGRAM, 0);
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
		WITH_PLACE(what_is_no_event_is_counted_and_dropped),
		WITH_PLACE(descriptors_that_are_passed_along_do_not_stay),
		WITH_PLACE(no_event_makes_a_frame_that_cannot_be_sent),
		WITH_PLACE(more_jobs_than_a_frame_has_room_for_are_other),
		WITH_PLACE(a_full_queue_drops_and_counts),
		WITH_PLACE(losses_that_senders_tell_are_added_up),
		WITH_PLACE(a_dead_collectors_socket_is_replaced_a_live_ones_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
