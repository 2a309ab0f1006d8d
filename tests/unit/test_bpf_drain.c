/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_bpf_drain.c - rings drained late, early and while written: each byte is counted
 * once and in its millisecond
 */
#include <string.h>

#include "collector/sources/bpf/src_bpf_drain.h"
#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "tests/unit/test.h"

#define N_RINGS 3
#define N_CPUS  3
#define SHIFT   8
#define SIZE    (1 << SHIFT)

struct lab {
	__u64 buckets[N_RINGS * N_CPUS * SIZE];
	struct flow_totals totals[N_RINGS * N_CPUS];
	struct drain *drain;
	int64_t now_ms;
	uint64_t got[1 << 16]; /* By millisecond, of ring 1. */
	uint64_t got_bytes, got_packets, lost_ms;
};

static struct lab *
lab_new(int64_t now_ms)
{
	struct lab *lab = xcalloc(1, sizeof *lab);

	lab->drain = drain_new(lab->buckets, lab->totals, N_RINGS, N_CPUS, SHIFT);
	lab->now_ms = now_ms;
	for (uint32_t ring = 0; ring < N_RINGS; ring++)
		drain_skip(lab->drain, ring, now_ms);
	return lab;
}

static void
lab_free(struct lab *lab)
{
	drain_free(lab->drain);
	free(lab);
}

/* As in the BPF programs: the bucket, then the total. */
static void
put_bucket(struct lab *lab, uint32_t ring, uint32_t cpu, int64_t ms, uint32_t bytes)
{
	__u64 *at = &lab->buckets[((ring * N_CPUS + cpu) << SHIFT) + (ms & (SIZE - 1))];
	__u64 *current = &lab->totals[ring * N_CPUS + cpu].current;

	/* A CPU's clock does not go back: late bytes go into the ring at once. */
	if ((int32_t)((uint32_t)ms - FLOW_BUCKET_MS(*current)) > 0 || !*current) {
		lab->buckets[((ring * N_CPUS + cpu) << SHIFT) +
			     (FLOW_BUCKET_MS(*current) & (SIZE - 1))] = *current;
		*current = FLOW_BUCKET(ms, 0);
	}
	if (FLOW_BUCKET_MS(*current) == (uint32_t)ms)
		at = current;
	if (FLOW_BUCKET_MS(*at) != (uint32_t)ms)
		*at = FLOW_BUCKET(ms, 0);
	*at += bytes;
}

static void
put_total(struct lab *lab, uint32_t ring, uint32_t cpu, uint32_t bytes)
{
	lab->totals[ring * N_CPUS + cpu].bytes += bytes;
	lab->totals[ring * N_CPUS + cpu].packets++;
}

static void
put(struct lab *lab, uint32_t ring, uint32_t cpu, int64_t ms, uint32_t bytes)
{
	put_bucket(lab, ring, cpu, ms, bytes);
	put_total(lab, ring, cpu, bytes);
}

static void
take(struct lab *lab, uint32_t ring)
{
	struct drain_out out;

	drain_ring(lab->drain, ring, lab->now_ms, &out);
	for (uint32_t i = 0; i < out.n; i++) {
		lab->got[(out.first_ms + i) & 0xffff] += out.bytes[i];
		lab->got_bytes += out.bytes[i];
	}
	lab->got_packets += out.extra.packets;
	lab->lost_ms += out.lost_ms;
}

static void
bytes_land_in_their_millisecond(void **state)
{
	struct lab *lab = lab_new(1000);

	(void)state;
	put(lab, 1, 0, 1003, 100);
	put(lab, 1, 2, 1003, 20);
	put(lab, 1, 1, 1090, 7);
	lab->now_ms = 1100;
	take(lab, 1);
	assert_int_equal(lab->got[1003], 120);
	assert_int_equal(lab->got[1090], 7);
	assert_int_equal(lab->got_bytes, 127);
	assert_int_equal(lab->got_packets, 3);
	take(lab, 0);
	assert_int_equal(lab->got_bytes, 127);
	take(lab, 1);
	assert_int_equal(lab->got_bytes, 127);
	lab_free(lab);
}

static void
what_was_there_before_is_not_counted(void **state)
{
	struct lab *lab = lab_new(1000);

	(void)state;
	put(lab, 1, 0, 1001, 500);
	lab->now_ms = 1001;
	drain_skip(lab->drain, 1, 1001);
	take(lab, 1);
	assert_int_equal(lab->got_bytes, 0);
	put(lab, 1, 0, 1001, 5);
	take(lab, 1);
	assert_int_equal(lab->got[1001], 5);
	lab_free(lab);
}

static void
a_late_packet_is_added_where_it_belongs(void **state)
{
	struct lab *lab = lab_new(1000);

	(void)state;
	put(lab, 1, 0, 1010, 10);
	lab->now_ms = 1020;
	take(lab, 1);
	put(lab, 1, 0, 1010, 3);
	lab->now_ms = 1030;
	take(lab, 1);
	assert_int_equal(lab->got[1010], 13);
	assert_int_equal(lab->lost_ms, 0);
	lab_free(lab);
}

static void
a_reader_too_late_keeps_every_byte_and_says_so(void **state)
{
	struct lab *lab = lab_new(1000);

	(void)state;
	for (int64_t ms = 1001; ms <= 2000; ms++)
		put(lab, 1, 0, ms, 1000);
	lab->now_ms = 2000;
	take(lab, 1);
	assert_int_equal(lab->got_bytes, 1000000);
	assert_true(lab->lost_ms >= 1000 - SIZE);
	assert_true(lab->lost_ms <= 1000);
	take(lab, 1);
	assert_int_equal(lab->got_bytes, 1000000);
	lab_free(lab);
}

static void
a_packet_later_than_what_is_remembered_is_in_the_totals(void **state)
{
	struct lab *lab = lab_new(1000);

	(void)state;
	lab->now_ms = 1500;
	take(lab, 1);
	put(lab, 1, 0, 1400, 77);
	for (int i = 0; i < 3; i++) {
		lab->now_ms += 100;
		take(lab, 1);
	}
	assert_int_equal(lab->got_bytes, 77);
	assert_int_equal(lab->lost_ms, 1);
	lab_free(lab);
}

static void
a_bucket_seen_before_its_total_counts_once(void **state)
{
	struct lab *lab = lab_new(1000);

	(void)state;
	/* Between the two stores of a program. */
	put_bucket(lab, 1, 0, 1050, 9);
	lab->now_ms = 1060;
	take(lab, 1);
	put_total(lab, 1, 0, 9);
	lab->now_ms = 1160;
	take(lab, 1);
	lab->now_ms = 1260;
	take(lab, 1);
	assert_int_equal(lab->got[1050], 9);
	assert_int_equal(lab->got_bytes, 9);
	assert_int_equal(lab->lost_ms, 0);
	lab_free(lab);
}

static void
random_writers_and_readers_agree(void **state)
{
	struct rng rng;
	uint64_t want[4096];

	(void)state;
	for (uint64_t seed = 0; seed < 40; seed++) {
		int64_t base = (int64_t)(seed % 2 ? UINT32_MAX - 1000 : 5000);
		struct lab *lab = lab_new(base);
		uint64_t sum = 0;

		rng_init(&rng, seed);
		memset(want, 0, sizeof want);
		while (lab->now_ms < base + 3000) {
			for (uint64_t k = rng_below(&rng, 20); k > 0; k--) {
				/* Late as a halted CPU, or just ahead. */
				int64_t ms =
					lab->now_ms + 2 - (int64_t)rng_below(&rng, 16);
				uint32_t bytes = (uint32_t)rng_below(&rng, 9000) + 1;

				if (ms <= base)
					continue;
				put(lab, 1, (uint32_t)rng_below(&rng, N_CPUS), ms,
				    bytes);
				want[ms - base] += bytes;
				sum += bytes;
			}
			lab->now_ms++;
			if (rng_below(&rng, seed % 3 ? 20 : 150) == 0)
				take(lab, 1);
		}
		/* Losses for another reason show up one drain later. */
		for (int i = 0; i < 2; i++) {
			lab->now_ms += 20;
			take(lab, 1);
		}
		assert_int_equal(lab->got_bytes, sum);
		if (!lab->lost_ms)
			for (int64_t i = 0; i < 3000; i++)
				assert_int_equal(lab->got[(base + i) & 0xffff],
						 want[i]);
		lab_free(lab);
	}
}

static void
flows_are_estimated(void **state)
{
	struct lab *lab = lab_new(10 << FLOW_SKETCH_SHIFT);
	struct drain_out out;

	(void)state;
	lab->now_ms += 10;
	put(lab, 1, 0, lab->now_ms, 1);
	put(lab, 1, 1, lab->now_ms, 1);
	lab->totals[N_CPUS].sketch[0] = 0x0f;
	lab->totals[N_CPUS].sketch_window = 10;
	lab->totals[N_CPUS + 1].sketch[0] = 0x1e;
	lab->totals[N_CPUS + 1].sketch_window = 10;
	drain_ring(lab->drain, 1, lab->now_ms, &out);
	assert_int_equal(out.extra.flows, 5);
	lab_free(lab);
}

static void
cpus_are_numbered_with_holes(void **state)
{
	(void)state;
	assert_int_equal(drain_cpu_numbers("0-3,8-11\n"), 12);
	assert_int_equal(drain_cpu_numbers("0"), 1);
	assert_int_equal(drain_cpu_numbers("0-1"), 2);
	assert_int_equal(drain_cpu_numbers("0,2\n"), 3);
	assert_int_equal(drain_cpu_numbers(""), 0);
	assert_int_equal(drain_cpu_numbers("0-"), 0);
	assert_int_equal(drain_cpu_numbers("all"), 0);
	assert_int_equal(drain_cpu_numbers("0-99999999999999999999"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_land_in_their_millisecond),
		cmocka_unit_test(what_was_there_before_is_not_counted),
		cmocka_unit_test(a_late_packet_is_added_where_it_belongs),
		cmocka_unit_test(a_reader_too_late_keeps_every_byte_and_says_so),
		cmocka_unit_test(
			a_packet_later_than_what_is_remembered_is_in_the_totals),
		cmocka_unit_test(a_bucket_seen_before_its_total_counts_once),
		cmocka_unit_test(random_writers_and_readers_agree),
		cmocka_unit_test(flows_are_estimated),
		cmocka_unit_test(cpus_are_numbered_with_holes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
