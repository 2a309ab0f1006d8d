/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_order_themis.c - bids by the jobs that are worst off, and their hidden payment
 */
#include "lib/base/rng.h"
#include "tests/unit/policy_lab.h"

#define LEASE_S 100

static void
begin(struct policy_lab *lab, const char *fairness, bool is_partial, uint64_t seed)
{
	const char *const sets[] = { fairness, "themis.partial_allocation=1" };
	const struct policy_opts opts = { .seed = seed,
					  .sets = sets,
					  .n_sets = is_partial ? 2 : 1,
					  .round_s = LEASE_S,
					  .restart_s = NAN };

	lab_init(lab, "themis", &opts);
}

static bool
runs(const struct policy_lab *lab, uint32_t id)
{
	return pol_plan_find(&lab->plans[0], id) != NULL;
}

/* A long wait makes some more cost little; four short jobs lose much. */
static void
the_product_counts_not_who_is_worst_off(void **state)
{
	(void)state;
	for (int is_partial = 0; is_partial < 2; is_partial++) {
		struct policy_lab lab;

		begin(&lab, "themis.fairness=0", is_partial, 1);
		lab_submit(&lab, 16, 16, 1000);
		lab.view.now_s = 5000;
		for (int i = 0; i < 4; i++)
			lab_submit(&lab, 4, 4, 100);
		lab_plan(&lab, 1);
		assert_int_equal(runs(&lab, 0), !is_partial);
		for (uint32_t i = 1; i < 5; i++)
			assert_int_equal(runs(&lab, i), is_partial);
		lab_fini(&lab);
	}
}

/*
 * Two of three jobs bid for all 16 GPUs.  One has 100 s to go, or 200 s after another
 * lease, the other 150 s or 250 s.  So the first one wins, and gets them with
 * probability 150 / 250; otherwise the third job gets them.
 */
static void
who_wins_has_it_by_its_share_else_others(void **state)
{
	const int n = 4000;
	int n_runs[3] = { 0 };
	struct policy_lab lab;

	(void)state;
	begin(&lab, "themis.fairness=0.34", true, 1);
	lab_submit(&lab, 16, 16, 100);
	lab_submit(&lab, 16, 16, 150);
	lab_submit(&lab, 16, 16, 1000);
	for (int k = 0; k < n; k++) {
		lab_plan(&lab, 1);
		assert_int_equal(lab.plans[0].grants.n, 1);
		n_runs[lab.plans[0].grants.items[0].job]++;
	}
	assert_int_equal(n_runs[1], 0);
	/* Four standard deviations. */
	assert_near((double)n_runs[0] / n, 0.6, 4 * sqrt(0.6 * 0.4 / n));
	lab_fini(&lab);
}

/* A job with a lease keeps it, and no job that fits into the rest waits. */
static void
check(const struct policy_lab *lab, const struct pol_job *before)
{
	uint32_t n_free = lab_cluster.n_all_gpus;

	for (uint32_t i = 0; i < lab->view.n_jobs; i++)
		n_free -= lab->jobs[i].n_held_gpus;
	for (uint32_t i = 0; i < lab->view.n_jobs; i++) {
		const struct pol_job *job = &lab->jobs[i];

		if (!job->n_pieces)
			assert_true(job->n_gpus > n_free);
		if (before[i].n_pieces && lab->view.now_s - before[i].since_s < LEASE_S)
			assert_int_equal(job->n_pieces, before[i].n_pieces);
	}
}

/* Jobs arrive while others run and none ends; writes the running jobs over time. */
static void
live(uint64_t seed, char *ret_text, size_t size)
{
	struct policy_lab lab;
	struct rng rng;
	size_t at = 0;

	rng_init(&rng, 7);
	begin(&lab, "themis.fairness=0.5", true, seed);
	for (int k = 0; k < 40; k++) {
		struct pol_job before[LAB_JOBS];

		if (k % 3 == 0 && lab.view.n_jobs < LAB_JOBS) {
			uint32_t n = 1 + (uint32_t)rng_below(&rng, 9);

			lab_submit(&lab, n, n, 100 + 1000 * rng_uniform(&rng));
		}
		lab_plan(&lab, 1);
		memcpy(before, lab.jobs, sizeof before);
		lab_carry_out(&lab);
		check(&lab, before);
		for (uint32_t i = 0; i < lab.view.n_jobs; i++) {
			bool is_there = before[i].n_pieces > 0;

			if (is_there != (lab.jobs[i].n_pieces > 0))
				lab.jobs[i].since_s = lab.view.now_s;
			if (lab.jobs[i].n_pieces && at + 1 < size)
				ret_text[at++] = (char)('a' + i);
		}
		lab.view.now_s += 40;
	}
	ret_text[at] = '\0';
	lab_fini(&lab);
}

static void
leases_are_kept_nothing_is_left_and_a_seed_says_all(void **state)
{
	char one[1000], same[1000], other[1000];
	int n_others = 0;

	(void)state;
	live(1, one, sizeof one);
	live(1, same, sizeof same);
	assert_string_equal(one, same);
	for (uint64_t seed = 2; seed < 20; seed++) {
		live(seed, other, sizeof other);
		n_others += strcmp(one, other) != 0;
	}
	assert_true(n_others > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_product_counts_not_who_is_worst_off),
		cmocka_unit_test(who_wins_has_it_by_its_share_else_others),
		cmocka_unit_test(leases_are_kept_nothing_is_left_and_a_seed_says_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
