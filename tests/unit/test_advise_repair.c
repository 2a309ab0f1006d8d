/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/rng.h"
#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/advise/advise_internal.h"
#include "tests/unit/jobs_fixture.h"
#include "tests/unit/test.h"

#define N_LEAVES 6
#define N_HOSTS  (N_LEAVES * 8)

/* Jobs of 2 to 8 hosts, scattered over leaves with two uplinks. */
static void
scatter_jobs(struct fixture *f, uint64_t seed)
{
	uint32_t order[N_HOSTS], at = 0;
	struct rng rng;

	rng_init(&rng, seed);
	fixture_init(f, N_LEAVES, 8, 2, 50e9);
	for (uint32_t i = 0; i < N_HOSTS; i++)
		order[i] = i;
	rng_shuffle(&rng, order, N_HOSTS);
	for (uint32_t n; at + 8 <= N_HOSTS; at += n) {
		struct work_job *job;

		n = 2 + (uint32_t)rng_below(&rng, 7);
		job = fixture_job(f, "j", n, 80000 + (int64_t)rng_below(&rng, 300000),
				  0.2 + 0.2 * rng_uniform(&rng), 50e9);
		job->first_port = (uint16_t)rng_below(&rng, 60000);
		fixture_on(job, order + at);
	}
}

static struct advise_ctx
ctx_of(struct fixture *f, uint32_t n_seeds)
{
	return (struct advise_ctx){
		.workload = &f->workload,
		.topo = f->topo,
		.routes = f->routes,
		.opts = { .policy = ADVISE_ANTIPHASE,
			  .levers = ADVISE_PATH,
			  .seed = 1,
			  .max_slowdown = 1.3 },
		.n_seeds = n_seeds,
		.n_iterations = 30,
	};
}

/* Of the plans that harm a job, most are mended, and keep most of their gain. */
static void
other_paths_spare_a_job_beyond_the_cap(void **state)
{
	int n_broken = 0, n_mended = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct fixture f;
		struct advise_ctx ctx;
		struct plan base, plan;
		double gain;

		scatter_jobs(&f, seed);
		ctx = ctx_of(&f, ADVISE_SEEDS);
		assert_int_equal(plan_init(&base, &ctx), 0);
		assert_int_equal(plan_complete(&base, &ctx), 0);
		ctx.paths = PLACE_CHOSEN;
		ctx.reference = &base;
		assert_int_equal(plan_init(&plan, &ctx), 0);
		assert_int_equal(plan_complete(&plan, &ctx), 0);
		gain = plan_goodput(&plan, &ctx) - plan_goodput(&base, &ctx);
		if (plan_breaks_cap(&plan, &base, &ctx)) {
			n_broken++;
			assert_int_equal(plan_repair(&plan, &ctx), 0);
			if (!plan_breaks_cap(&plan, &base, &ctx)) {
				n_mended++;
				assert_true(plan_goodput(&plan, &ctx) -
						    plan_goodput(&base, &ctx) >
					    0.5 * gain);
			}
		}
		plan_fini(&plan);
		plan_fini(&base);
		fixture_fini(&f);
	}
	assert_true(n_broken >= 3);
	assert_true(n_mended > n_broken / 2);
}

/* A plan within the cap, or with hashed paths, stays as it is. */
static void
what_harms_no_job_is_not_touched(void **state)
{
	struct fixture f;
	struct advise_ctx ctx;
	struct plan base, plan;
	double goodput;

	(void)state;
	scatter_jobs(&f, 1);
	ctx = ctx_of(&f, ADVISE_MIN_SEEDS);
	assert_int_equal(plan_init(&base, &ctx), 0);
	assert_int_equal(plan_complete(&base, &ctx), 0);
	goodput = plan_goodput(&base, &ctx);
	ctx.opts.max_slowdown = 1.001;
	ctx.reference = &base;
	assert_int_equal(plan_repair(&base, &ctx), 0);
	assert_true(plan_goodput(&base, &ctx) == goodput);
	ctx.paths = PLACE_CHOSEN;
	ctx.opts.max_slowdown = 1000;
	assert_int_equal(plan_init(&plan, &ctx), 0);
	assert_int_equal(plan_complete(&plan, &ctx), 0);
	goodput = plan_goodput(&plan, &ctx);
	assert_int_equal(plan_repair(&plan, &ctx), 0);
	assert_true(plan_goodput(&plan, &ctx) == goodput);
	plan_fini(&plan);
	plan_fini(&base);
	fixture_fini(&f);
}

static void
few_runs_break_the_cap_only_beyond_their_noise(void **state)
{
	/* Three jobs in two runs: 1, 1.4 +- 0.1 and 1.5 +- 0.1. */
	const double slowdown[] = { 1, 1, 1.3, 1.5, 1.4, 1.6 };
	struct advise_ctx few = { .opts = { .max_slowdown = 1.45 },
				  .n_seeds = ADVISE_MIN_SEEDS };
	struct advise_ctx many = { .opts = { .max_slowdown = 1.45 },
				   .n_seeds = ADVISE_SEEDS };
	double noise = cap_noise(&few, slowdown, 3);

	(void)state;
	/* Variances 0.02 each; squares of 0.4 and 0.5. */
	assert_near(noise, sqrt(0.04 / 0.41 / 2), 1e-12);
	assert_false(cap_is_broken(&few, 1, 1.5, noise));
	assert_true(cap_is_broken(&few, 1, 1.9, noise));
	assert_false(cap_is_broken(&few, 1.89, 1.9, 0));
	assert_true(cap_noise(&many, slowdown, 0) == 0);
	assert_true(cap_is_broken(&many, 1, 1.5, 0));
	/* Nothing is slowed. */
	assert_true(prediction_noise(slowdown, 1, 2) == 0);
}

/* Jobs of few periods, which shifts and turns suit. */
static void
share_periods(struct fixture *f)
{
	for (size_t j = 0; j < f->workload.n; j++) {
		struct profile *profile = &f->workload.jobs[j].profile;

		profile->period_us = profile->period_us < 200000 ? 150000 : 300000;
		profile->phases[0].duration_us = profile->period_us / 4;
		work_job_segments_from_profile(&f->workload.jobs[j]);
	}
}

/* What a plan is without shifts is not predicted again, and decides the same. */
static void
a_predicted_plan_is_shifted_like_another(void **state)
{
	int n_phased = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct fixture f;
		struct advise_ctx ctx;
		struct plan plan, again;

		scatter_jobs(&f, seed);
		share_periods(&f);
		ctx = ctx_of(&f, ADVISE_MIN_SEEDS);
		assert_int_equal(plan_init(&plan, &ctx), 0);
		assert_int_equal(plan_complete(&plan, &ctx), 0);
		assert_int_equal(plan_init(&again, &ctx), 0);
		ctx.opts.levers = ADVISE_PATH | ADVISE_TIME;
		shift_predicted(&plan, &ctx);
		shift_by_prediction(&again, &ctx);
		for (uint32_t j = 0; j < f.workload.n; j++) {
			n_phased += plan.is_phased[j];
			assert_int_equal(plan.is_phased[j], again.is_phased[j]);
			assert_int_equal(plan.phase_us[j], again.phase_us[j]);
			assert_int_equal(plan.pacing[j], again.pacing[j]);
			assert_near(plan_slowdown(&plan, &ctx, j),
				    plan_slowdown(&again, &ctx, j), 0);
		}
		plan_fini(&plan);
		plan_fini(&again);
		fixture_fini(&f);
	}
	assert_true(n_phased > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_paths_spare_a_job_beyond_the_cap),
		cmocka_unit_test(what_harms_no_job_is_not_touched),
		cmocka_unit_test(few_runs_break_the_cap_only_beyond_their_noise),
		cmocka_unit_test(a_predicted_plan_is_shifted_like_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
