/* SPDX-License-Identifier: Apache-2.0 */
/* test_coll_event.c - collective events as datagrams: encoding, decoding, refusals */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/rng.h"
#include "lib/wire/coll_event.h"
#include "lib/wire/tele.h"
#include "tests/unit/test.h"

static const struct coll_event EVENT = {
	.source = TELE_EVENT_NCCL,
	.is_launch = true,
	.pid = 4711,
	.begin_ns = INT64_C(1234567890123456789),
	.end_ns = INT64_C(1234567890123456790),
	.bytes = UINT64_C(0xfedcba9876543210),
	.lost = 3,
};

static void
assert_same(const struct coll_event *a, const struct coll_event *b)
{
	assert_int_equal(a->source, b->source);
	assert_int_equal(a->is_launch, b->is_launch);
	assert_int_equal(a->pid, b->pid);
	assert_int_equal(a->begin_ns, b->begin_ns);
	assert_int_equal(a->end_ns, b->end_ns);
	assert_int_equal(a->bytes, b->bytes);
	assert_int_equal(a->lost, b->lost);
}

static void
an_event_comes_out_as_it_went_in(void **state)
{
	uint8_t bytes[COLL_EVENT_BYTES];
	struct coll_event event;

	(void)state;
	coll_event_encode(&EVENT, bytes);
	assert_memory_equal(bytes, "apmk\1\0\2\1", 8);
	assert_int_equal(coll_event_decode(bytes, sizeof bytes, &event), 0);
	assert_same(&event, &EVENT);
}

static void
what_is_no_event_is_refused_and_leaves_the_result_alone(void **state)
{
	uint8_t good[COLL_EVENT_BYTES], bytes[COLL_EVENT_BYTES + 1] = { 0 };
	struct coll_event event = EVENT;

	(void)state;
	coll_event_encode(&EVENT, good);
	for (size_t n = 0; n < COLL_EVENT_BYTES; n++)
		assert_true(coll_event_decode(good, n, &event) < 0);
	memcpy(bytes, good, sizeof good);
	assert_int_equal(coll_event_decode(bytes, sizeof bytes, &event), -EBADMSG);
	bytes[0] ^= 1; /* Magic. */
	assert_int_equal(coll_event_decode(bytes, sizeof good, &event), -EBADMSG);
	memcpy(bytes, good, sizeof good);
	bytes[4]++; /* Version. */
	assert_int_equal(coll_event_decode(bytes, sizeof good, &event),
			 -EPROTONOSUPPORT);
	for (size_t at = 6; at < 16; at++) {
		memcpy(bytes, good, sizeof good);
		bytes[at] = 0xff; /* Source, flags, pid, zero fields. */
		assert_int_equal(coll_event_decode(bytes, sizeof good, &event),
				 at >= 8 && at < 12 ? 0 : -EBADMSG);
	}
	event = EVENT;
	event.end_ns = TELE_MAX_NS + 1; /* Fits no frame. */
	coll_event_encode(&event, bytes);
	assert_int_equal(coll_event_decode(bytes, sizeof good, &event), -EBADMSG);
	event = EVENT;
	event.end_ns = event.begin_ns - 1;
	coll_event_encode(&event, bytes);
	event = EVENT;
	assert_int_equal(coll_event_decode(bytes, sizeof good, &event), -EBADMSG);
	assert_same(&event, &EVENT);
}

static void
whatever_decodes_encodes_to_the_same_bytes(void **state)
{
	struct rng rng;
	uint8_t bytes[COLL_EVENT_BYTES], again[COLL_EVENT_BYTES];
	struct coll_event event;
	size_t n_decoded = 0;

	(void)state;
	rng_init(&rng, 1);
	for (int i = 0; i < 100000; i++) {
		coll_event_encode(&EVENT, bytes);
		for (uint64_t k = rng_below(&rng, 4) + 1; k; k--)
			bytes[rng_below(&rng, sizeof bytes)] ^=
				(uint8_t)(1u << rng_below(&rng, 8));
		if (coll_event_decode(bytes, sizeof bytes, &event) < 0)
			continue;
		n_decoded++;
		assert_true(event.source <= TELE_EVENT_NCCL &&
			    event.begin_ns <= event.end_ns && event.begin_ns >= 0);
		coll_event_encode(&event, again);
		assert_memory_equal(bytes, again, sizeof bytes);
	}
	assert_true(n_decoded > 1000);
}

/* ---- Sending -------------------------------------------------------------------- */

struct place {
	char directory[64], path[96];
};

static int
make_place(void **state)
{
	static struct place place;

	strcpy(place.directory, "/tmp/antiphase-event.XXXXXX");
	assert_non_null(mkdtemp(place.directory));
	snprintf(place.path, sizeof place.path, "%s/events.sock", place.directory);
	*state = &place;
	return 0;
}

static int
remove_place(void **state)
{
	struct place *place = *state;

	unlink(place->path);
	rmdir(place->directory);
	return 0;
}

static int
bind_receiver(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);

	strcpy(at.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(listen(fd, 4), 0);
	return fd;
}

static void
what_cannot_be_sent_is_counted_and_told_by_the_next(void **state)
{
	const struct place *place = *state;
	struct coll_event_sender sender;
	struct coll_event event = EVENT, got;
	uint8_t bytes[COLL_EVENT_BYTES];
	int fd, from;

	event.lost = 0;
	assert_int_equal(coll_event_sender_init(&sender, place->path), 0);
	assert_int_equal(coll_event_send(&sender, &event), -ENOENT);
	assert_int_equal(coll_event_send(&sender, &event), -ENOENT);
	fd = bind_receiver(place->path);
	assert_int_equal(coll_event_send(&sender, &event), 0);
	from = accept(fd, NULL, NULL);
	assert_int_equal(recv(from, bytes, sizeof bytes, 0), COLL_EVENT_BYTES);
	assert_int_equal(coll_event_decode(bytes, sizeof bytes, &got), 0);
	assert_int_equal(got.lost, 2);
	/* The collector restarts: events in between are lost, later ones arrive. */
	close(from);
	close(fd);
	assert_int_equal(coll_event_send(&sender, &event), -ECONNREFUSED);
	unlink(place->path);
	fd = bind_receiver(place->path);
	assert_int_equal(coll_event_send(&sender, &event), 0);
	from = accept(fd, NULL, NULL);
	assert_int_equal(recv(from, bytes, sizeof bytes, 0), COLL_EVENT_BYTES);
	assert_int_equal(coll_event_decode(bytes, sizeof bytes, &got), 0);
	assert_int_equal(got.lost, 3);
	assert_int_equal(sender.sent, 2);
	/* Without a loss, if it is there again at once. */
	close(from);
	assert_int_equal(coll_event_send(&sender, &event), 0);
	close(fd);
	coll_event_sender_fini(&sender);
}

static void
a_receiver_that_does_not_read_makes_nobody_wait(void **state)
{
	const struct place *place = *state;
	struct coll_event_sender sender;
	int fd = bind_receiver(place->path), error = 0;

	assert_int_equal(coll_event_sender_init(&sender, place->path), 0);
	for (int i = 0; i < 100000 && !error; i++)
		error = coll_event_send(&sender, &EVENT);
	assert_int_equal(error, -EAGAIN);
	assert_int_equal(sender.lost, 1);
	close(fd);
	coll_event_sender_fini(&sender);
}

static void
the_path_comes_from_the_environment_and_is_checked(void **state)
{
	struct coll_event_sender sender;
	char path[COLL_EVENT_MAX_PATH + 1];

	(void)state;
	memset(path, 'x', sizeof path - 1);
	path[sizeof path - 1] = '\0';
	assert_int_equal(coll_event_sender_init(&sender, path), -ENAMETOOLONG);
	assert_true(coll_event_send(&sender, &EVENT) < 0);
	assert_int_equal(sender.lost, 1);
	setenv(COLL_EVENT_PATH_ENV, "/nowhere/events.sock", 1);
	assert_int_equal(coll_event_sender_init(&sender, NULL), 0);
	assert_string_equal(sender.path, "/nowhere/events.sock");
	coll_event_sender_fini(&sender);
	unsetenv(COLL_EVENT_PATH_ENV);
	assert_int_equal(coll_event_sender_init(&sender, NULL), 0);
	assert_string_equal(sender.path, COLL_EVENT_DEFAULT_PATH);
	coll_event_sender_fini(&sender);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_comes_out_as_it_went_in),
		cmocka_unit_test(
			what_is_no_event_is_refused_and_leaves_the_result_alone),
		cmocka_unit_test(whatever_decodes_encodes_to_the_same_bytes),
		cmocka_unit_test_setup_teardown(
			what_cannot_be_sent_is_counted_and_told_by_the_next, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(
			a_receiver_that_does_not_read_makes_nobody_wait, make_place,
			remove_place),
		cmocka_unit_test(the_path_comes_from_the_environment_and_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
