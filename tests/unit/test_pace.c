/* SPDX-License-Identifier: Apache-2.0 */
/* test_pace.c - packets of pacers: encoding, decoding, refusals */
#include <errno.h>
#include <string.h>

#include "lib/base/rng.h"
#include "lib/wire/pace.h"
#include "lib/wire/pack.h"
#include "tests/unit/test.h"

static const struct pace_packet PACKETS[] = {
	{ .kind = PACE_HELLO,
	  .hello = { .source = PACE_NCCL,
		     .is_observing = true,
		     .pid = 4711,
		     .rank = 3,
		     .n_ranks = 4,
		     .job = "4711_2" } },
	{ .kind = PACE_ITERATION,
	  .iteration = { .number = UINT64_C(0xfedcba9876543210),
			 .enter_ns = INT64_C(1234567890123456789),
			 .begin_ns = INT64_C(1234567890123456790),
			 .comm_ns = 7,
			 .bytes = UINT64_C(0x123456789abcdef0),
			 .n_collectives = 5,
			 .gap_us = 30000,
			 .order = 9,
			 .lost = 11 } },
	{ .kind = PACE_ORDER,
	  .order = { .number = 1,
		     .delay_ns = 40000000,
		     .not_before_ns = 1,
		     .expires_ns = INT64_C(4611686018427387903),
		     .max_ns = PACE_MAX_ORDER_NS } },
};

static const size_t SIZES[] = { 84, 64, 48 };

static void
assert_same(const struct pace_packet *a, const struct pace_packet *b)
{
	uint8_t x[PACE_MAX_BYTES], y[PACE_MAX_BYTES];
	size_t n = pace_encode(a, x);

	assert_int_equal(a->kind, b->kind);
	assert_int_equal(pace_encode(b, y), n);
	assert_memory_equal(x, y, n);
}

static void
each_packet_comes_out_as_it_went_in(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		uint8_t bytes[PACE_MAX_BYTES];
		struct pace_packet got;

		assert_int_equal(pace_encode(&PACKETS[i], bytes), SIZES[i]);
		assert_memory_equal(bytes, "appc\1\0", 6);
		assert_int_equal(pace_decode(bytes, SIZES[i], &got), 0);
		assert_same(&got, &PACKETS[i]);
	}
}

static void
every_field_is_read_back(void **state)
{
	uint8_t bytes[PACE_MAX_BYTES];
	struct pace_packet got;

	(void)state;
	pace_encode(&PACKETS[0], bytes);
	assert_int_equal(pace_decode(bytes, SIZES[0], &got), 0);
	assert_int_equal(got.hello.source, PACE_NCCL);
	assert_true(got.hello.is_observing);
	assert_int_equal(got.hello.pid, 4711);
	assert_int_equal(got.hello.rank, 3);
	assert_int_equal(got.hello.n_ranks, 4);
	assert_string_equal(got.hello.job, "4711_2");
	pace_encode(&PACKETS[1], bytes);
	assert_int_equal(pace_decode(bytes, SIZES[1], &got), 0);
	assert_memory_equal(&got.iteration, &PACKETS[1].iteration,
			    sizeof got.iteration);
	pace_encode(&PACKETS[2], bytes);
	assert_int_equal(pace_decode(bytes, SIZES[2], &got), 0);
	assert_int_equal(got.order.number, 1);
	assert_int_equal(got.order.delay_ns, 40000000);
	assert_int_equal(got.order.not_before_ns, 1);
	assert_true(got.order.expires_ns == INT64_C(4611686018427387903));
	assert_true(got.order.max_ns == PACE_MAX_ORDER_NS);
}

static void
other_lengths_magics_versions_and_kinds_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		uint8_t bytes[PACE_MAX_BYTES + 1] = { 0 };
		struct pace_packet got = PACKETS[(i + 1) % 3];

		pace_encode(&PACKETS[i], bytes);
		for (size_t n = 0; n <= PACE_MAX_BYTES; n++)
			if (n != SIZES[i])
				assert_int_equal(pace_decode(bytes, n, &got), -EBADMSG);
		for (size_t at = 0; at < 8; at++) {
			bytes[at] ^= 0x41;
			assert_int_equal(pace_decode(bytes, SIZES[i], &got),
					 at == 4 || at == 5 ? -EPROTONOSUPPORT
							    : -EBADMSG);
			bytes[at] ^= 0x41;
		}
		assert_same(&got, &PACKETS[(i + 1) % 3]); /* Unchanged. */
	}
}

struct change {
	size_t packet, at, n; /* These bytes, */
	uint64_t value;       /* set to this value, are refused. */
};

static void
each_field_that_cannot_be_is_refused(void **state)
{
	static const struct change changes[] = {
		{ 0, 7, 1, 3 },           /* Unknown source, */
		{ 0, 7, 1, 0x83 },        /* also when observing. */
		{ 0, 12, 4, 4 },          /* Rank 4 of 4. */
		{ 0, 20, 1, 0x1b },       /* Control characters, */
		{ 0, 21, 1, 0x7f },       /* this one, too, */
		{ 0, 22, 1, 0 },          /* bytes after the end, */
		{ 0, 83, 1, 'x' },        /* also at the very end. */
		{ 1, 7, 1, 1 },           /* Only for HELLO. */
		{ 1, 16, 8, UINT64_MAX }, /* Negative times */
		{ 1, 24, 8, UINT64_MAX }, /* in each field, */
		{ 1, 32, 8, UINT64_C(1) << 63 },
		{ 1, 24, 8, UINT64_C(1) << 62 }, /* beyond a frame's range, */
		{ 1, 32, 8, UINT64_C(1) << 62 },
		{ 1, 24, 8, 5 }, /* begin before arrival. */
		{ 2, 7, 1, 0x80 },
		{ 2, 8, 4, 0 },  /* Number missing. */
		{ 2, 12, 4, 1 }, /* Must be 0. */
		{ 2, 16, 8, UINT64_MAX },
		{ 2, 24, 8, UINT64_MAX },
		{ 2, 32, 8, UINT64_MAX },
		{ 2, 40, 8, UINT64_MAX },
		{ 2, 16, 8, UINT64_C(3600000000001) }, /* More than an hour. */
		{ 2, 40, 8, UINT64_C(3600000000001) },
		{ 2, 24, 8, UINT64_C(1) << 62 },
		{ 2, 32, 8, UINT64_C(1) << 62 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
		const struct change *c = &changes[i];
		uint8_t bytes[PACE_MAX_BYTES];
		struct pace_packet got;

		pace_encode(&PACKETS[c->packet], bytes);
		if (c->n == 1)
			bytes[c->at] = (uint8_t)c->value;
		else if (c->n == 4)
			pack_u32_at(bytes + c->at, (uint32_t)c->value);
		else
			pack_u64_at(bytes + c->at, c->value);
		if (pace_decode(bytes, SIZES[c->packet], &got) != -EBADMSG)
			fail_msg("change %zu was taken", i);
	}
}

static void
a_name_of_any_length_fits_and_one_that_does_not_end_is_refused(void **state)
{
	struct pace_packet packet = PACKETS[0], got;
	uint8_t bytes[PACE_MAX_BYTES];

	(void)state;
	memset(packet.hello.job, 'j', sizeof packet.hello.job);
	assert_int_equal(pace_encode(&packet, bytes), SIZES[0]);
	assert_int_equal(pace_decode(bytes, SIZES[0], &got), 0);
	assert_int_equal(strlen(got.hello.job), PACE_MAX_NAME); /* Cut. */
	bytes[SIZES[0] - 1] = 'j';
	assert_int_equal(pace_decode(bytes, SIZES[0], &got), -EBADMSG);
	packet.hello.job[0] = '\0';
	pace_encode(&packet, bytes);
	assert_int_equal(pace_decode(bytes, SIZES[0], &got), 0);
	assert_string_equal(got.hello.job, "");
}

static void
whatever_decodes_encodes_to_the_same_bytes(void **state)
{
	size_t n_decoded = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (int i = 0; i < 100000; i++) {
		size_t which = rng_below(&rng, 3);
		uint8_t bytes[PACE_MAX_BYTES], again[PACE_MAX_BYTES];
		struct pace_packet got;

		pace_encode(&PACKETS[which], bytes);
		for (uint64_t k = rng_below(&rng, 4) + 1; k; k--)
			bytes[rng_below(&rng, SIZES[which])] ^=
				(uint8_t)(1u << rng_below(&rng, 8));
		if (pace_decode(bytes, SIZES[which], &got) < 0)
			continue;
		n_decoded++;
		assert_int_equal(pace_encode(&got, again), SIZES[which]);
		assert_memory_equal(bytes, again, SIZES[which]);
	}
	assert_true(n_decoded > 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_packet_comes_out_as_it_went_in),
		cmocka_unit_test(every_field_is_read_back),
		cmocka_unit_test(other_lengths_magics_versions_and_kinds_are_refused),
		cmocka_unit_test(each_field_that_cannot_be_is_refused),
		cmocka_unit_test(
			a_name_of_any_length_fits_and_one_that_does_not_end_is_refused),
		cmocka_unit_test(whatever_decodes_encodes_to_the_same_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
