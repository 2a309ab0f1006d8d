/* test_mark.c - marks as datagrams: what goes in comes out, and nothing else. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/rng.h"
#include "lib/wire/mark.h"
#include "lib/wire/tele.h"
#include "tests/unit/test.h"

static const struct mark MARK = {
	.source = TELE_MARK_NCCL,
	.is_launch = true,
	.pid = 4711,
	.begin_ns = INT64_C(1234567890123456789),
	.end_ns = INT64_C(1234567890123456790),
	.bytes = UINT64_C(0xfedcba9876543210),
	.lost = 3,
};

static void
assert_same(const struct mark *a, const struct mark *b)
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
a_mark_comes_out_as_it_went_in(void **state)
{
	uint8_t bytes[MARK_BYTES];
	struct mark mark;

	(void)state;
	mark_encode(&MARK, bytes);
	assert_memory_equal(bytes, "apmk\1\0\2\1", 8);
	assert_int_equal(mark_decode(bytes, sizeof bytes, &mark), 0);
	assert_same(&mark, &MARK);
}

static void
what_is_no_mark_is_refused_and_leaves_the_result_alone(void **state)
{
	uint8_t good[MARK_BYTES], bytes[MARK_BYTES + 1] = { 0 };
	struct mark mark = MARK;

	(void)state;
	mark_encode(&MARK, good);
	for (size_t n = 0; n < MARK_BYTES; n++)
		assert_true(mark_decode(good, n, &mark) < 0);
	memcpy(bytes, good, sizeof good);
	assert_int_equal(mark_decode(bytes, sizeof bytes, &mark), -EBADMSG);
	bytes[0] ^= 1; /* Magic. */
	assert_int_equal(mark_decode(bytes, sizeof good, &mark), -EBADMSG);
	memcpy(bytes, good, sizeof good);
	bytes[4]++; /* Version. */
	assert_int_equal(mark_decode(bytes, sizeof good, &mark), -EPROTONOSUPPORT);
	for (size_t at = 6; at < 16; at++) {
		memcpy(bytes, good, sizeof good);
		bytes[at] = 0xff; /* Source, flags, pid, what has to be zero. */
		assert_int_equal(mark_decode(bytes, sizeof good, &mark),
				 at >= 8 && at < 12 ? 0 : -EBADMSG);
	}
	mark = MARK;
	mark.end_ns = TELE_MAX_NS + 1; /* No frame could hold it. */
	mark_encode(&mark, bytes);
	assert_int_equal(mark_decode(bytes, sizeof good, &mark), -EBADMSG);
	mark = MARK;
	mark.end_ns = mark.begin_ns - 1;
	mark_encode(&mark, bytes);
	mark = MARK;
	assert_int_equal(mark_decode(bytes, sizeof good, &mark), -EBADMSG);
	assert_same(&mark, &MARK);
}

static void
whatever_decodes_encodes_to_the_same_bytes(void **state)
{
	struct rng rng;
	uint8_t bytes[MARK_BYTES], again[MARK_BYTES];
	struct mark mark;
	size_t n_decoded = 0;

	(void)state;
	rng_init(&rng, 1);
	for (int i = 0; i < 100000; i++) {
		mark_encode(&MARK, bytes);
		for (uint64_t k = rng_below(&rng, 4) + 1; k; k--)
			bytes[rng_below(&rng, sizeof bytes)] ^=
				(uint8_t)(1u << rng_below(&rng, 8));
		if (mark_decode(bytes, sizeof bytes, &mark) < 0)
			continue;
		n_decoded++;
		assert_true(mark.source <= TELE_MARK_NCCL &&
			    mark.begin_ns <= mark.end_ns && mark.begin_ns >= 0);
		mark_encode(&mark, again);
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

	strcpy(place.directory, "/tmp/antiphase-mark.XXXXXX");
	assert_non_null(mkdtemp(place.directory));
	snprintf(place.path, sizeof place.path, "%s/marks.sock", place.directory);
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
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	strcpy(at.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
	return fd;
}

static void
what_cannot_be_sent_is_counted_and_told_by_the_next(void **state)
{
	const struct place *place = *state;
	struct mark_sender sender;
	struct mark mark = MARK, got;
	uint8_t bytes[MARK_BYTES];
	int fd;

	mark.lost = 0;
	assert_int_equal(mark_sender_init(&sender, place->path), 0);
	assert_int_equal(mark_send(&sender, &mark), -ENOENT);
	assert_int_equal(mark_send(&sender, &mark), -ENOENT);
	fd = bind_receiver(place->path);
	assert_int_equal(mark_send(&sender, &mark), 0);
	assert_int_equal(recv(fd, bytes, sizeof bytes, 0), MARK_BYTES);
	assert_int_equal(mark_decode(bytes, sizeof bytes, &got), 0);
	assert_int_equal(got.lost, 2);
	/* The collector restarts: in between marks are lost, then they arrive again. */
	close(fd);
	assert_int_equal(mark_send(&sender, &mark), -ECONNREFUSED);
	unlink(place->path);
	fd = bind_receiver(place->path);
	assert_int_equal(mark_send(&sender, &mark), 0);
	assert_int_equal(recv(fd, bytes, sizeof bytes, 0), MARK_BYTES);
	assert_int_equal(mark_decode(bytes, sizeof bytes, &got), 0);
	assert_int_equal(got.lost, 3);
	assert_int_equal(sender.sent, 2);
	close(fd);
	mark_sender_fini(&sender);
}

static void
a_receiver_that_does_not_read_makes_nobody_wait(void **state)
{
	const struct place *place = *state;
	struct mark_sender sender;
	int fd = bind_receiver(place->path), error = 0;

	assert_int_equal(mark_sender_init(&sender, place->path), 0);
	for (int i = 0; i < 100000 && !error; i++)
		error = mark_send(&sender, &MARK);
	assert_int_equal(error, -EAGAIN);
	assert_int_equal(sender.lost, 1);
	close(fd);
	mark_sender_fini(&sender);
}

static void
the_path_comes_from_the_environment_and_is_checked(void **state)
{
	struct mark_sender sender;
	char path[MARK_MAX_PATH + 1];

	(void)state;
	memset(path, 'x', sizeof path - 1);
	path[sizeof path - 1] = '\0';
	assert_int_equal(mark_sender_init(&sender, path), -ENAMETOOLONG);
	assert_true(mark_send(&sender, &MARK) < 0);
	assert_int_equal(sender.lost, 1);
	setenv(MARK_PATH_ENV, "/nowhere/marks.sock", 1);
	assert_int_equal(mark_sender_init(&sender, NULL), 0);
	assert_string_equal(sender.path, "/nowhere/marks.sock");
	mark_sender_fini(&sender);
	unsetenv(MARK_PATH_ENV);
	assert_int_equal(mark_sender_init(&sender, NULL), 0);
	assert_string_equal(sender.path, MARK_DEFAULT_PATH);
	mark_sender_fini(&sender);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mark_comes_out_as_it_went_in),
		cmocka_unit_test(
			what_is_no_mark_is_refused_and_leaves_the_result_alone),
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
