/* SPDX-License-Identifier: Apache-2.0 */
/* test_iteration_traffic.c - profiles of jobs whose segments overlap */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "scheduler/core/workload/iteration_traffic.h"
#include "scheduler/core/workload/workload.h"
#include "tests/unit/test.h"

#define LINE_BPS 50e9
#define MS       1000000

static void
assert_piece(const struct iteration_traffic *t, size_t i, double start_ms,
	     double end_ms, double gbps)
{
	assert_true(i < t->n_pieces);
	assert_near(t->pieces[i].start_ns, start_ms * MS, 2);
	assert_near(t->pieces[i].end_ns, end_ms * MS, 2);
	assert_near(t->pieces[i].rate_bps, gbps * 1e9, 1);
}

/*
 * 62.5 MB take 10 ms at the line.  Bucket 1 (from 10 ms) is capped at 20 Gb/s and takes
 * 25 ms; bucket 2 (from 20 ms) is capped at 25 Gb/s and takes 20 ms.
 */
static void
buckets_share_the_interface(void **state)
{
	struct work_segment segments[] = {
		{ .compute_ns = 10 * MS }, { .nic_bytes = 62.5e6, .cap_bps = 20e9 },
		{ .compute_ns = 10 * MS }, { .nic_bytes = 62.5e6, .cap_bps = 25e9 },
		{ .compute_ns = 5 * MS },
	};
	struct work_need needs[] = { { 2, 0 }, { 4, 1 }, { 4, 3 } };
	struct work_job job = {
		.segments = segments, .n_segments = 5, .needs = needs, .n_needs = 3
	};
	struct iteration_traffic t;

	(void)state;
	assert_int_equal(iteration_traffic_make(&job, LINE_BPS, &t), 0);
	assert_near(t.iteration_ns, 45.0 * MS, 2);
	assert_int_equal(t.n_pieces, 3);
	assert_piece(&t, 0, 10, 20, 20);
	assert_piece(&t, 1, 20, 35, 45);
	assert_piece(&t, 2, 35, 40, 25);
	assert_near(t.send_ns[0], -1, 0);
	assert_near(t.send_ns[1], 10.0 * MS, 1);
	assert_near(t.send_ns[3], 20.0 * MS, 1);
	iteration_traffic_fini(&t);
	job.jitter_frac = 0.01;
	assert_int_equal(work_job_profile_from_segments(&job, LINE_BPS, NULL), 0);
	assert_int_equal(job.profile.period_us, 45000);
	assert_int_equal(job.profile.n_phases, 3);
	assert_int_equal(job.profile.phases[1].start_us, 20000);
	assert_int_equal(job.profile.phases[1].duration_us, 15000);
	assert_near(job.profile.bytes_per_iteration, 125e6, 1e-3);
	assert_int_equal(job.profile.jitter_us, 150); /* Of sqrt(10^2 + 10^2 + 5^2). */
	profile_fini(&job.profile);
}

/* Two flows that share a full link send at the line, whatever their number. */
static void
a_full_interface_is_one_piece(void **state)
{
	struct work_segment segments[] = {
		{ .nic_bytes = 62.5e6 },
		{ .nic_bytes = 125e6, .from_start = true },
		{ .nic_bytes = 125e6, .from_start = true, .send_offset_ns = 5 * MS },
	};
	struct work_job job = { .segments = segments, .n_segments = 3 };
	struct iteration_traffic t;

	(void)state;
	assert_int_equal(iteration_traffic_make(&job, LINE_BPS, &t), 0);
	assert_int_equal(t.n_pieces, 1);
	assert_piece(&t, 0, 0, 50, 50);
	iteration_traffic_fini(&t);
}

static double
bits_of(const struct iteration_traffic *t)
{
	double bits = 0;

	for (size_t i = 0; i < t->n_pieces; i++)
		bits += t->pieces[i].rate_bps *
			(t->pieces[i].end_ns - t->pieces[i].start_ns);
	return bits;
}

static void
coarsening_keeps_bytes_and_ends(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (int round = 0; round < 200; round++) {
		size_t n = 1 + rng_below(&rng, 300), most = 1 + rng_below(&rng, 64);
		struct iteration_traffic t = { .pieces = xcalloc(n, sizeof *t.pieces),
					       .n_pieces = n };
		double now_ns = 0, bits, start_ns;

		for (size_t i = 0; i < n; i++) {
			if (rng_below(&rng, 2))
				now_ns += 1e5 * rng_uniform(&rng);
			t.pieces[i].start_ns = now_ns;
			now_ns +=
				rng_below(&rng, 4) ? 1e6 * rng_uniform(&rng) + 1 : 100;
			t.pieces[i].end_ns = now_ns;
			t.pieces[i].rate_bps = 1e9 * (1 + rng_uniform(&rng));
		}
		bits = bits_of(&t);
		start_ns = t.pieces[0].start_ns;
		iteration_traffic_coarsen(&t, most);
		assert_in_range(t.n_pieces, 1, most);
		assert_near(bits_of(&t), bits, 1e-9 * bits);
		assert_near(t.pieces[0].start_ns, start_ns, 0);
		assert_near(t.pieces[t.n_pieces - 1].end_ns, now_ns, 0);
		for (size_t i = 1; i < t.n_pieces; i++)
			assert_true(t.pieces[i].start_ns >= t.pieces[i - 1].end_ns);
		iteration_traffic_fini(&t);
	}
}

/* 100 buckets with pauses: too many phases for a profile, so the closest ones merge. */
static void
many_phases_become_a_coarser_profile(void **state)
{
	struct work_segment segments[200] = { { 0 } };
	struct work_need needs[100] = { { 0 } };
	struct work_job job = { .segments = segments,
				.n_segments = 200,
				.needs = needs };

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		segments[2 * i].compute_ns = 2 * MS;
		segments[2 * i + 1].nic_bytes = 6.25e6; /* 1 ms. */
		if (i)
			needs[job.n_needs++] = (struct work_need){ 2 * i, 2 * i - 2 };
	}
	assert_int_equal(work_job_profile_from_segments(&job, LINE_BPS, NULL), 0);
	assert_int_equal(job.profile.period_us, 201000);
	assert_true(job.profile.n_phases <= PROFILE_MAX_PHASES);
	assert_near(job.profile.bytes_per_iteration, 625e6, 1e-3);
	profile_fini(&job.profile);
}

/* The engine's isolated iteration of a chain is what adding up its segments gives. */
static void
a_chain_has_the_same_profile_either_way(void **state)
{
	struct work_segment segments[] = {
		{ .compute_ns = 7 * MS },
		{ .compute_ns = 4 * MS, .nic_bytes = 50e6, .send_offset_ns = MS },
		{ .nic_bytes = 10e6, .cap_bps = 8e9 },
		{ .compute_ns = 3 * MS },
	};
	struct work_job job = { .segments = segments, .n_segments = 4 };
	struct iteration_traffic t;

	(void)state;
	assert_int_equal(work_job_profile_from_segments(&job, LINE_BPS, NULL), 0);
	assert_int_equal(iteration_traffic_make(&job, LINE_BPS, &t), 0);
	assert_near(t.iteration_ns / 1e3, (double)job.profile.period_us, 0.01);
	assert_int_equal(t.n_pieces, job.profile.n_phases);
	for (size_t i = 0; i < t.n_pieces; i++) {
		const struct profile_phase *phase = &job.profile.phases[i];

		assert_near(t.pieces[i].start_ns / 1e3, (double)phase->start_us, 0.01);
		assert_near(t.pieces[i].rate_bps, phase->rate_bps, 1);
	}
	iteration_traffic_fini(&t);
	profile_fini(&job.profile);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_share_the_interface),
		cmocka_unit_test(a_full_interface_is_one_piece),
		cmocka_unit_test(coarsening_keeps_bytes_and_ends),
		cmocka_unit_test(many_phases_become_a_coarser_profile),
		cmocka_unit_test(a_chain_has_the_same_profile_either_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
