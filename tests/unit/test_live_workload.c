/* SPDX-License-Identifier: Apache-2.0 */
/* test_live_workload.c - running jobs as a workload for the advisor */
#include "lib/base/strbuf.h"
#include "scheduler/core/profile/same_period.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"
#include "scheduler/live/live_workload.h"
#include "tests/unit/frames.h"
#include "tests/unit/test.h"
#include "topology/gen_table.h"
#include "topology/route.h"
#include "topology/topo.h"

#define T0 INT64_C(8000000)

static void
a_relieved_profile_keeps_its_bytes_and_gaps(void **state)
{
	struct profile_phase phases[] = { { 10000, 40000, 25e9 },
					  { 60000, 20000, 1e9 } };
	struct profile profile = { .period_us = 100000,
				   .n_phases = 2,
				   .phases = phases };

	(void)state;
	live_workload_relieve(&profile, 0.5);
	assert_int_equal(profile.period_us, 70000);
	assert_int_equal(phases[0].start_us, 10000);
	assert_int_equal(phases[0].duration_us, 20000);
	assert_near(phases[0].rate_bps, 50e9, 1);
	assert_int_equal(phases[1].start_us,
			 40000); /* 10 ms after the first, as before. */
	assert_int_equal(phases[1].duration_us, 10000);
	assert_near(phases[1].rate_bps, 2e9, 1);
	assert_int_equal(profile.period_error_us, 0); /* Not known before, nor now. */
}

/* 1 ms / sqrt(6 * 24), and what it was before. */
static void
a_relieved_period_is_less_certain(void **state)
{
	struct profile_phase phase = { 10000, 40000, 25e9 };
	struct profile profile = { .period_us = 100000,
				   .period_error_us = 10,
				   .n_iterations = 24,
				   .n_phases = 1,
				   .phases = &phase };

	(void)state;
	live_workload_relieve(&profile, 0.5);
	assert_int_equal(profile.period_error_us, 84);
}

/* Jobs a (h0, h2) and b (h1, h3), one of which may be shifted, at 50 Gb/s. */
static void
feed_lab(struct live *live, struct job_profiler *online, const struct frames_square *a,
	 const struct frames_square *b)
{
	struct tele_frame frame = { 0 };

	for (int s = 0; s < 12; s++) {
		for (int h = 0; h < 4; h++) {
			char name[16];

			snprintf(name, sizeof name, "h%d", h);
			frames_begin(&frame, TELE_RAW, name, T0 + 1000 * s,
				     T0 + 1000 * (s + 1), h * 1000000, (uint64_t)s);
			for (int d = TELE_TX; d <= TELE_RX; d++)
				frames_add(&frame, "p0", 50e9, h % 2 ? "b" : "a",
					   (enum tele_direction)d, frames_square,
					   h % 2 ? b : a);
			live_frame(live, &frame);
		}
	}
	tele_fini(&frame);
	job_profiler_now(online, live);
}

struct lab {
	struct topo *topo;
	struct routes *routes;
	struct live *live;
	struct job_profiler *online;
	struct workload workload;
	struct strbuf notes;
};

static void
lab_init(struct lab *lab, const struct frames_square *a, const struct frames_square *b)
{
	*lab = (struct lab){ .notes = STRBUF_EMPTY };
	assert_int_equal(gen_text("leaf-spine --leaves 2 --hosts-per-leaf 2 --spines 1 "
				  "--gbps 50",
				  &lab->topo, NULL),
			 0);
	lab->routes = routes_new(lab->topo, 0);
	lab->live = live_new(NULL);
	lab->online = job_profiler_new();
	feed_lab(lab->live, lab->online, a, b);
	live_workload_make(lab->live, lab->online, lab->topo, lab->routes,
			   &lab->workload, &lab->notes);
}

static void
lab_fini(struct lab *lab)
{
	workload_fini(&lab->workload);
	strbuf_free(&lab->notes);
	job_profiler_free(lab->online);
	live_free(lab->live);
	routes_free(lab->routes);
	topo_unref(lab->topo);
}

static void
jobs_that_hold_each_other_up_are_taken_as_if_alone(void **state)
{
	/* Isolated: 125 MB in 20 ms, computing 25 ms; together at half rate. */
	static const struct frames_square together = { 65, 0, 40, 3125000 };
	struct lab lab;

	(void)state;
	lab_init(&lab, &together, &together);
	assert_int_equal(lab.workload.n, 2);
	for (size_t j = 0; j < 2; j++) {
		const struct work_job *job = &lab.workload.jobs[j];

		assert_string_equal(job->name, j ? "b" : "a");
		assert_int_equal(job->n_hosts_wanted, 2);
		assert_string_equal(topo_node(lab.topo, job->hosts[0])->name,
				    j ? "h1" : "h0");
		assert_near((double)job->profile.period_us, 45000, 500);
		assert_near(profile_peak_bps(&job->profile), 50e9, 1e9);
		assert_near(job->profile.bytes_per_iteration, 125e6, 1e6);
	}
	assert_int_equal(same_period(&lab.workload.jobs[0].profile,
				     &lab.workload.jobs[1].profile),
			 lab.workload.jobs[0].profile.period_us);
	assert_in_range(lab.workload.jobs[0].profile.period_error_us, 10, 100);
	assert_non_null(strstr(lab.notes.text, "job 'a' is held up by others"));
	lab_fini(&lab);
}

static void
jobs_that_do_not_meet_are_taken_as_they_are(void **state)
{
	static const struct frames_square first = { 65, 0, 20, 6250000 };
	static const struct frames_square second = { 65, 30, 20, 6250000 };
	struct lab lab;

	(void)state;
	lab_init(&lab, &first, &second);
	assert_int_equal(lab.workload.n, 2);
	assert_near((double)lab.workload.jobs[0].profile.period_us, 65000, 200);
	assert_string_equal(lab.notes.text, "");
	lab_fini(&lab);
}

static void
a_job_without_a_period_is_left_out_with_a_reason(void **state)
{
	static const struct frames_square once = { 65, 0, 20, 6250000 };
	static const struct frames_square flat = { 100, 0, 100, 1000000 };
	struct lab lab;

	(void)state;
	lab_init(&lab, &once, &flat);
	assert_int_equal(lab.workload.n, 1);
	assert_string_equal(lab.workload.jobs[0].name, "a");
	assert_non_null(strstr(lab.notes.text, "job 'b' is left out: "));
	lab_fini(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_relieved_profile_keeps_its_bytes_and_gaps),
		cmocka_unit_test(a_relieved_period_is_less_certain),
		cmocka_unit_test(jobs_that_hold_each_other_up_are_taken_as_if_alone),
		cmocka_unit_test(jobs_that_do_not_meet_are_taken_as_they_are),
		cmocka_unit_test(a_job_without_a_period_is_left_out_with_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
