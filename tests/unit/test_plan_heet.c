/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_heet.c - types and numbers of GPUs by prices, matching and trades */
#include <math.h>
#include <string.h>

#include "lib/base/rng.h"
#include "tests/unit/policy_lab.h"

static const uint32_t types[LAB_NODES] = { 0, 0, 1, 1 };

/* Rates on one GPU of each type; and the exponent of the number of GPUs. */
static double rates[LAB_JOBS][2], powers[LAB_JOBS];

static double
speed(void *ctx, const struct pol_job *job, uint32_t n_gpus, uint32_t n_nodes,
      uint32_t type, const struct pol_job *const *mates, uint32_t n_mates)
{
	(void)ctx;
	(void)n_nodes;
	(void)mates;
	(void)n_mates;
	return rates[job->id][type] * pow(n_gpus, powers[job->id]);
}

static void
begin(struct policy_lab *lab, bool has_types)
{
	static const char *const sets[] = { "heet.restart_s=0" };
	const struct policy_opts opts = {
		.seed = 1, .sets = sets, .n_sets = 1, .round_s = NAN, .restart_s = NAN
	};
	struct pol_cluster cluster = lab_cluster;

	if (has_types) {
		cluster.n_types = 2;
		cluster.type_of = types;
	}
	lab_init_on(lab, cluster, "heet", &opts);
	lab->view.speed.speed = speed;
}

static uint32_t
submit(struct policy_lab *lab, uint32_t n_gpus, uint32_t max_gpus, double power)
{
	uint32_t id = lab_submit(lab, n_gpus, max_gpus, 1000);

	rates[id][0] = rates[id][1] = 1;
	powers[id] = power;
	return id;
}

/* Decides, carries out the plan, and lets a minute pass. */
static void
decide(struct policy_lab *lab)
{
	lab_plan(lab, 1);
	lab_carry_out(lab);
	for (uint32_t i = 0; i < lab->view.n_jobs; i++)
		if (lab->jobs[lab->ids[i]].n_pieces)
			lab->jobs[lab->ids[i]].executed_s += 60;
	lab->view.now_s += 60;
}

/* Puts a job on a node, as if it ran there. */
static void
put(struct policy_lab *lab, uint32_t id, uint32_t node)
{
	struct pol_job *job = &lab->jobs[id];

	lab->pieces[id][0] = (struct pol_piece){ node, job->n_gpus, 0 };
	job->pieces = lab->pieces[id];
	job->n_pieces = 1;
	job->n_held_gpus = job->n_gpus;
}

static void
a_job_gets_at_most_twice_what_it_has_tried(void **state)
{
	static const uint32_t expect[] = { 1, 2, 4, 8, 16, 16 };
	struct policy_lab lab;

	(void)state;
	begin(&lab, false);
	submit(&lab, 4, 16, 1);
	for (size_t i = 0; i < sizeof expect / sizeof *expect; i++) {
		decide(&lab);
		assert_int_equal(lab.jobs[0].n_held_gpus, expect[i]);
	}
	lab_fini(&lab);
}

/* All could use all GPUs; those that scale get most of them. */
static void
gpus_go_to_jobs_that_scale(void **state)
{
	struct policy_lab lab;
	uint32_t n_good = 0, n_bad = 0;

	(void)state;
	begin(&lab, false);
	for (int i = 0; i < 6; i++)
		submit(&lab, 4, 16, i % 2 ? 0.2 : 0.95);
	for (int i = 0; i < 12; i++)
		decide(&lab);
	for (int i = 0; i < 6; i++) {
		assert_true(lab.jobs[i].n_held_gpus > 0);
		*(i % 2 ? &n_bad : &n_good) += lab.jobs[i].n_held_gpus;
	}
	assert_true(n_good >= 3 * n_bad);
	lab_fini(&lab);
}

static void
a_gang_that_waits_has_its_turn(void **state)
{
	struct policy_lab lab;
	bool ran = false;

	(void)state;
	begin(&lab, false);
	submit(&lab, 12, 12, 1);
	decide(&lab);
	submit(&lab, 8, 8, 1);
	for (int i = 0; i < 5; i++) {
		decide(&lab);
		assert_int_equal(lab.jobs[1].n_held_gpus, 0);
	}
	for (int i = 0; i < 30; i++) {
		decide(&lab);
		ran |= lab.jobs[1].n_held_gpus == 8;
	}
	assert_true(ran);
	lab_fini(&lab);
}

/* ---- The matching ---------------------------------------------------------------- */

/* The price of four GPUs of a type for a job that does not wait, as on its page. */
static double
price_of(uint32_t id, uint32_t type)
{
	double r = 4 * rates[id][type] / fmax(rates[id][0], rates[id][1]);

	return 1 / r + pow(4 / 16.0, 2) * (4 - r);
}

/* The least sum over all ways to give two of four jobs each type. */
static double
least_sum(void)
{
	double least = INFINITY;

	for (uint32_t set = 0; set < 16; set++) {
		double sum = 0;

		if (__builtin_popcount(set) != 2)
			continue;
		for (uint32_t id = 0; id < 4; id++)
			sum += price_of(id, set >> id & 1);
		least = fmin(least, sum);
	}
	return least;
}

/* Four gangs of a node each have run on both types; no GPU is left for trades. */
static void
gangs_are_matched_with_types_at_the_least_price(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 9);
	for (int round = 0; round < 200; round++) {
		struct policy_lab lab;

		begin(&lab, true);
		for (uint32_t i = 0; i < 4; i++) {
			uint32_t id = submit(&lab, 4, 4, 1);

			for (int type = 0; type < 2; type++)
				rates[id][type] = 0.1 + rng_uniform(&rng);
		}
		for (uint32_t from = 0; from < 4; from += 2) {
			for (uint32_t i = 0; i < 4; i++)
				put(&lab, i, (from + i) % 4);
			lab_plan(&lab, 1);
		}
		assert_near(-lab.plans[0].score, least_sum(), 1e-9);
		lab_fini(&lab);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_gets_at_most_twice_what_it_has_tried),
		cmocka_unit_test(gpus_go_to_jobs_that_scale),
		cmocka_unit_test(a_gang_that_waits_has_its_turn),
		cmocka_unit_test(gangs_are_matched_with_types_at_the_least_price),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
