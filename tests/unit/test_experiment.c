/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_experiment.c - the counters of runs, and runs compared with themselves; closed
 * forms are in test_experiment_forms.c
 */
#include "lib/base/rng.h"
#include "sim/run/run_report.h"
#include "tests/unit/experiment_fixture.h"

/* ---- Counted iterations ---------------------------------------------------------- */

static void
a_job_that_shares_nothing_has_slowdown_one_with_jitter(void **state)
{
	struct lab lab = lab_make(
		"[sim]\niterations = 300\n" LAB_JOB("A", "a0,a1", "25", "125",
						    "jitter = 5 %\n")
			LAB_JOB("B", "b0,b1", "35", "62.5", "jitter = 10 %\n"));
	struct experiment x = lab_run(&lab);

	(void)state;
	for (int j = 0; j < 2; j++) {
		assert_near(x.jobs[j].slowdown, 1, 1e-9);
		assert_true(x.jobs[j].p99_ns > x.jobs[j].p50_ns * 1.02);
		assert_near(x.jobs[j].mean_ns / 1e6, 45, 0.6);
	}
	experiment_fini(&x);
	lab_fini(&lab);
}

static void
jobs_run_until_the_slowest_has_its_iterations(void **state)
{
	struct lab lab = lab_make(
		"[sim]\niterations = 10\n" LAB_JOB("slow", "a0,a1", "480", "125", "")
			LAB_JOB("fast", "b0,b1", "25", "125", ""));
	struct experiment x = lab_run(&lab);

	(void)state;
	assert_near(x.simulated_ns / 1e9, 5, 1e-6);
	assert_int_equal(x.jobs[0].n, 10);
	assert_int_equal(x.jobs[1].n, 10); /* Of 111 iterations. */
	assert_near(x.jobs[1].packets, 2 * 111 * 125e6 / 4000, 1);
	experiment_fini(&x);
	lab_fini(&lab);
}

static void
a_job_with_iterations_of_its_own_completes(void **state)
{
	struct lab lab = lab_make("[sim]\niterations = 50\n" LAB_JOB(
		"short", "a0,b0", "25", "125", "iterations = 7\narrival = 3 ms\n")
					  LAB_JOB("long", "a1,a2", "25", "125", ""));
	struct experiment x = lab_run(&lab);

	(void)state;
	assert_int_equal(x.jobs[0].n, 7);
	assert_near(x.jobs[0].completion_ns / 1e6, 7 * 45, 1e-6);
	assert_near(x.jobs[1].completion_ns, -1, 0);
	assert_int_equal(x.jobs[1].n, 50);
	experiment_fini(&x);
	lab_fini(&lab);
}

static void
a_job_that_stops_is_not_waited_for(void **state)
{
	struct lab lab = lab_make("[sim]\niterations = 50\n" LAB_JOB(
		"stops", "a0,b0", "25", "125", "stop = 100 ms\n")
					  LAB_JOB("stays", "a1,a2", "25", "125", ""));
	struct experiment x = lab_run(&lab);

	(void)state;
	assert_int_equal(x.jobs[0].n, 2);
	assert_near(x.jobs[0].completion_ns, -1, 0);
	assert_int_equal(x.jobs[1].n, 50);
	experiment_fini(&x);
	lab_fini(&lab);

	/* The run also ends when all jobs have left. */
	lab = lab_make(LAB_JOB("stops", "a0,b0", "25", "125", "stop = 100 ms\n"));
	x = lab_run(&lab);
	assert_int_equal(x.jobs[0].n, 2);
	experiment_fini(&x);
	lab_fini(&lab);
}

static void
a_duration_ends_the_run(void **state)
{
	struct lab lab = lab_make(
		"[sim]\nduration = 1 s\n" LAB_JOB("A", "a0,b0", "25", "125", ""));
	struct experiment x = lab_run(&lab);

	(void)state;
	assert_int_equal(x.jobs[0].n, 22);
	assert_near(x.simulated_ns, 1e9, 1e-3);
	experiment_fini(&x);
	lab_fini(&lab);
}

/* A wait ordered by pacing is part of the iteration time. */
static void
iterations_fill_the_time_also_where_pacing_waits(void **state)
{
	struct lab lab = lab_make("[sim]\niterations = 200\npacing = realign\n" LAB_JOB(
		"A", "a0,b0", "25", "125", "jitter = 6 %\n")
					  LAB_JOB("B", "a1,b1", "25", "125",
						  "shift = 22 ms\njitter = 6 %\n"));
	struct experiment x = lab_run(&lab);

	(void)state;
	assert_true(x.jobs[0].n_corrections > 0);
	assert_true(x.jobs[0].corrections_per_min > 0);
	for (int j = 0; j < 2; j++) {
		const struct experiment_job *job = &x.jobs[j];
		double sum_ns = 0;

		for (size_t i = 0; i < job->n; i++) {
			assert_near(job->start_ns[i], job->start_ns[0] + sum_ns, 1);
			sum_ns += job->iteration_ns[i];
		}
		assert_near(job->mean_ns, sum_ns / (double)job->n, 1);
	}
	experiment_fini(&x);
	lab_fini(&lab);
}

/* ---- Phases ---------------------------------------------------------------------- */

static struct experiment
run_with(const struct lab *lab, const struct sim_plan *plan, uint64_t seed, bool random)
{
	struct experiment_opts opts;
	struct experiment x;

	experiment_opts_init(&opts, lab->scenario, SIM_POLICY_NONE);
	opts.seed = seed;
	opts.random_phases = random;
	assert_int_equal(experiment_run(lab->scenario, plan, lab->topo, &opts, &x), 0);
	return x;
}

static void
random_phases_are_within_a_period_and_of_seed_and_job_alone(void **state)
{
	struct lab lab = lab_make(LAB_JOB("A", "a0,b0", "25", "125", "arrival = 1 s\n")
					  LAB_JOB("B", "a1,b1", "25", "125", ""));
	struct sim_plan plan = lab_plan(&lab, "none");
	double sum_ns = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct experiment x = run_with(&lab, &plan, seed, true);
		struct experiment y;

		assert_true(x.jobs[0].start_ns[0] >= 1e9);
		assert_true(x.jobs[0].start_ns[0] < 1e9 + 45e6);
		sum_ns += x.jobs[0].start_ns[0] - 1e9;
		/* The start is independent of the other job. */
		plan.jobs[1].is_aligned = true;
		plan.jobs[1].shift_ns = 10000000;
		y = run_with(&lab, &plan, seed, true);
		plan.jobs[1].is_aligned = false;
		plan.jobs[1].shift_ns = 0;
		assert_near(y.jobs[0].start_ns[0], x.jobs[0].start_ns[0], 0);
		/* An aligned job waits less than a period for its phase. */
		assert_near(fmod(y.jobs[1].start_ns[0], 45e6), 10e6, 1e-3);
		assert_true(y.jobs[1].start_ns[0] >= x.jobs[1].start_ns[0]);
		assert_true(y.jobs[1].start_ns[0] < x.jobs[1].start_ns[0] + 45e6);
		experiment_fini(&x);
		experiment_fini(&y);
	}
	assert_near(sum_ns / 100, 22.5e6, 4e6);
	sim_plan_fini(&plan);
	lab_fini(&lab);
}

/* ---- Determinism ----------------------------------------------------------------- */

static char *
report_of(const struct lab *lab, const struct sim_plan *plan, uint64_t seed)
{
	struct experiment x = run_with(lab, plan, seed, true);
	struct run_report report = {
		.scenario = lab->scenario,
		.plan = plan,
		.topo = lab->topo,
		.experiment = &x,
		.policy = "none",
		.seed = 1,
	};
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	run_report_json(&report, out);
	run_report_table(&report, out);
	fclose(out);
	experiment_fini(&x);
	return text;
}

static void
the_same_seed_gives_the_same_bytes_and_another_does_not(void **state)
{
	struct lab lab = lab_make(
		LAB_JOB("A", "a0,b0", "25", "125", "jitter = 5 %\n")
			LAB_JOB("B", "a1,b1", "31", "100", "jitter = 5 %\n")
				LAB_JOB("C", "a2,b2", "40", "100", "jitter = 2 %\n"));
	struct sim_plan plan = lab_plan(&lab, "none");
	char *one = report_of(&lab, &plan, 1), *again = report_of(&lab, &plan, 1);
	char *other = report_of(&lab, &plan, 2);

	(void)state;
	assert_string_equal(one, again);
	assert_string_not_equal(one, other);
	free(one);
	free(again);
	free(other);
	sim_plan_fini(&plan);
	lab_fini(&lab);
}

static bool
stop_at_once(void *ctx, double frac)
{
	double *seen = ctx;

	*seen = frac;
	return false;
}

static void
an_interrupted_run_has_what_was_done(void **state)
{
	struct lab lab = lab_make(
		"[sim]\niterations = 100000\n" LAB_JOB("A", "a0,b0", "25", "125", ""));
	struct sim_plan plan = lab_plan(&lab, "none");
	struct experiment_opts opts;
	struct experiment x;
	double seen = -1;

	(void)state;
	experiment_opts_init(&opts, lab.scenario, SIM_POLICY_NONE);
	opts.ctx = &seen;
	opts.go_on = stop_at_once;
	assert_int_equal(experiment_run(lab.scenario, &plan, lab.topo, &opts, &x), 0);
	assert_true(x.was_interrupted);
	assert_true(x.jobs[0].n > 0 && x.jobs[0].n < 1000);
	assert_near(seen, (double)x.jobs[0].n / 100000, 1e-4);
	assert_near(x.jobs[0].mean_ns / 1e6, 45, 1e-6);
	experiment_fini(&x);
	sim_plan_fini(&plan);
	lab_fini(&lab);
}

/* ---- Profiles ------------------------------------------------------------------- */

struct seen_flows {
	const struct profile *profile;
	size_t n; /* Phases seen in the first iteration. */
};

static void
compare_phase(void *ctx, uint32_t job, uint32_t segment, double start_ns, double end_ns)
{
	struct seen_flows *seen = ctx;

	(void)job;
	(void)segment;
	if (seen->n < seen->profile->n_phases) {
		const struct profile_phase *phase = &seen->profile->phases[seen->n];

		assert_near(start_ns / 1e3, (double)phase->start_us, 8);
		assert_near((end_ns - start_ns) / 1e3, (double)phase->duration_us, 8);
	}
	seen->n++;
}

/* A segment that computes, sends, or does both at once. */
static void
random_segment(struct rng *rng, struct strbuf *text)
{
	unsigned kind = (unsigned)rng_below(rng, 3);

	strbuf_puts(text, "segment = ");
	if (kind != 0)
		strbuf_printf(text, "compute %llu us%s",
			      1 + (unsigned long long)rng_below(rng, 40000),
			      kind == 2 ? " + " : "");
	if (kind != 1)
		strbuf_printf(text, "send %llu kB",
			      1 + (unsigned long long)rng_below(rng, 200000));
	if (kind != 1 && rng_below(rng, 2))
		strbuf_printf(text, " at %llu Gb/s",
			      1 + (unsigned long long)rng_below(rng, 80));
	if (kind != 1 && rng_below(rng, 2))
		strbuf_printf(text, " after %llu us",
			      (unsigned long long)rng_below(rng, 20000));
	strbuf_putc(text, '\n');
}

/* The profile given to the solver matches the simulation up to rounding. */
static void
a_job_alone_does_what_its_profile_says(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (int round = 0; round < 300; round++) {
		struct strbuf text = STRBUF_EMPTY;
		struct seen_flows seen = { 0 };
		struct experiment_opts opts;
		struct sim_plan plan;
		struct experiment x;
		struct lab lab;

		strbuf_puts(&text, "[sim]\niterations = 3\n[job j]\nhosts = ");
		strbuf_puts(&text, rng_below(&rng, 2) ? "a0,b0\n" : "a[0-2],b[0-1]\n");
		for (uint64_t n = 1 + rng_below(&rng, 6); n > 0; n--)
			random_segment(&rng, &text);
		lab = lab_make(text.text);
		plan = lab_plan(&lab, "none");
		seen.profile = &lab.scenario->workload.jobs[0].profile;
		experiment_opts_init(&opts, lab.scenario, SIM_POLICY_NONE);
		opts.ctx = &seen;
		opts.on_flows = compare_phase;
		assert_int_equal(
			experiment_run(lab.scenario, &plan, lab.topo, &opts, &x), 0);
		assert_int_equal(seen.n, 3 * seen.profile->n_phases);
		assert_near(x.jobs[0].mean_ns / 1e3, (double)seen.profile->period_us,
			    8);
		experiment_fini(&x);
		sim_plan_fini(&plan);
		lab_fini(&lab);
		strbuf_free(&text);
	}
}

/* ---- Plans ----------------------------------------------------------------------- */

static void
a_waiting_job_needs_a_policy(void **state)
{
	struct lab lab = lab_make("[job w]\nnodes = 2\nsegment = compute 1 ms\n");
	struct sim_plan plan;
	struct err err;

	(void)state;
	assert_int_equal(sim_plan_make(lab.scenario, lab.topo, lab.routes,
				       SIM_POLICY_NONE, 0, SCENARIO_PACE_UNSET, &plan,
				       &err),
			 -EINVAL);
	assert_string_equal(
		err.text, "job 'w' has no hosts; set 'hosts', or choose a policy with "
			  "--policy");
	plan = lab_plan(&lab, "fair");
	assert_true(plan.jobs[0].is_placed);
	sim_plan_fini(&plan);
	lab_fini(&lab);
}

/* Unrelated periods have no useful shift, but turns at a gate pay. */
static void
another_pacing_takes_the_gate_from_jobs_without_a_phase_too(void **state)
{
	struct lab lab = lab_make(LAB_JOB("x", "a0,b0", "25", "125", "")
					  LAB_JOB("y", "a1,b1", "27.003", "125", ""));
	struct sim_plan advised = lab_plan(&lab, "antiphase"), once;
	struct err err;

	(void)state;
	assert_int_equal(sim_plan_make(lab.scenario, lab.topo, lab.routes,
				       SIM_POLICY_NONE + 1 + ADVISE_ANTIPHASE, 0,
				       SCENARIO_PACE_ONCE, &once, &err),
			 0);
	for (size_t j = 0; j < 2; j++) {
		assert_false(advised.jobs[j].is_aligned);
		assert_int_equal(advised.jobs[j].pacing, ENGINE_PACE_GATE);
		assert_int_equal(once.jobs[j].pacing, ENGINE_PACE_FREE);
	}
	sim_plan_fini(&once);
	sim_plan_fini(&advised);
	lab_fini(&lab);
}

static void
a_job_that_fits_nowhere_is_left_out(void **state)
{
	struct lab lab =
		lab_make("[job all]\nhosts = a[0-3],b[0-3]\nsegment = compute 1 ms\n"
			 "[job more]\nnodes = 2\nsegment = compute 1 ms\n");
	struct sim_plan plan = lab_plan(&lab, "antiphase");
	struct experiment_summary summary;
	struct experiment x = run_with(&lab, &plan, 1, true);

	(void)state;
	assert_false(plan.jobs[1].is_placed);
	assert_false(x.jobs[1].is_placed);
	assert_int_equal(x.jobs[0].n, 200);
	experiment_summarize(&x, &lab.scenario->workload, &summary);
	assert_int_equal(summary.n_jobs, 1);
	/* Eight of ten GPUs make progress. */
	assert_near(summary.goodput, 0.8, 1e-9);
	experiment_fini(&x);
	sim_plan_fini(&plan);
	lab_fini(&lab);
}

static void
interleaving_removes_what_fair_sharing_costs(void **state)
{
	struct lab lab = lab_make("[sim]\niterations = 300\n" LAB_JOB(
		"A", "a0,b0", "25", "125",
		"jitter = 1 %\n") LAB_JOB("B", "a1,b1", "25", "125", "jitter = 1 %\n"));
	struct sim_plan fair = lab_plan(&lab, "fair"),
			ours = lab_plan(&lab, "antiphase");
	double fair_slowdown = 0, our_slowdown = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct experiment x = run_with(&lab, &fair, seed, true);
		struct experiment y = run_with(&lab, &ours, seed, true);

		fair_slowdown += x.jobs[0].slowdown / 8;
		our_slowdown += y.jobs[0].slowdown / 8;
		experiment_fini(&x);
		experiment_fini(&y);
	}
	assert_true(fair_slowdown > 1.08);
	assert_true(our_slowdown < 1.02);
	sim_plan_fini(&fair);
	sim_plan_fini(&ours);
	lab_fini(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_job_that_shares_nothing_has_slowdown_one_with_jitter),
		cmocka_unit_test(jobs_run_until_the_slowest_has_its_iterations),
		cmocka_unit_test(a_job_with_iterations_of_its_own_completes),
		cmocka_unit_test(a_job_that_stops_is_not_waited_for),
		cmocka_unit_test(a_duration_ends_the_run),
		cmocka_unit_test(iterations_fill_the_time_also_where_pacing_waits),
		cmocka_unit_test(
			random_phases_are_within_a_period_and_of_seed_and_job_alone),
		cmocka_unit_test(
			the_same_seed_gives_the_same_bytes_and_another_does_not),
		cmocka_unit_test(an_interrupted_run_has_what_was_done),
		cmocka_unit_test(a_job_alone_does_what_its_profile_says),
		cmocka_unit_test(a_waiting_job_needs_a_policy),
		cmocka_unit_test(
			another_pacing_takes_the_gate_from_jobs_without_a_phase_too),
		cmocka_unit_test(a_job_that_fits_nowhere_is_left_out),
		cmocka_unit_test(interleaving_removes_what_fair_sharing_costs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
