/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HiveD: cells of virtual clusters, opportunistic jobs, preemption, near GPUs; and a
 * VC's jobs do not wait longer than in a cluster of its own.
 */
#include "lib/base/rng.h"
#include "policies/hived/divide.h"
#include "sim/cluster/cluster.h"
#include "tests/unit/policy_lab.h"

static void
add_gpus(struct strbuf *text, const struct pol_plan *plan,
	 const struct pol_grant *grant)
{
	for (uint32_t i = 0; i < grant->n_pieces; i++)
		strbuf_printf(
			text, "/%x",
			(unsigned)plan->pieces.items[grant->first_piece + i].gpus);
}

static void
begin(struct policy_lab *lab, const char *const *sets, size_t n_sets)
{
	const struct policy_opts opts = { .seed = 1,
					  .sets = sets,
					  .n_sets = n_sets,
					  .round_s = NAN,
					  .restart_s = NAN };

	lab_init(lab, "hived", &opts);
}

static uint32_t
submit(struct policy_lab *lab, uint32_t vc, int32_t priority, uint32_t n_gpus)
{
	return lab_add(lab, (struct pol_job){ .n_gpus = n_gpus,
					      .max_gpus = n_gpus,
					      .vc = vc,
					      .priority = priority,
					      .duration_s = 100,
					      .remaining_s = 100 - lab->n,
					      .first_s = NAN });
}

static const char *
decide(struct policy_lab *lab)
{
	const char *text = lab_decide(lab, add_gpus);

	lab_carry_out(lab);
	return text;
}

static const char *const two_vcs[] = { "hived.vcs=2" };

static void
a_vc_gets_its_cells_and_no_more(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab, two_vcs, 1);
	for (int i = 0; i < 3; i++)
		submit(&lab, 0, 0, 4);
	/* Two nodes are the other VC's. */
	assert_string_equal(decide(&lab), "a 0:4/f, b 3:4/f");
	submit(&lab, 1, 0, 8);
	assert_string_equal(decide(&lab), "a 0:4/f, b 3:4/f, d 1:4 2:4/f/f");
	lab_finish(&lab, 0);
	assert_string_equal(decide(&lab), "b 3:4/f, c 0:4/f, d 1:4 2:4/f/f");
	lab_fini(&lab);
}

static void
shares_may_differ(void **state)
{
	static const char *const sets[] = { "hived.vcs=2", "hived.share1=3" };
	struct policy_lab lab;

	(void)state;
	begin(&lab, sets, 2);
	submit(&lab, 0, 0, 4);
	submit(&lab, 0, 0, 4);
	submit(&lab, 1, 0, 12);
	assert_string_equal(decide(&lab), "a 0:4/f, c 1:4 2:4 3:4/f/f/f");
	lab_fini(&lab);
}

static void
gpus_of_a_job_are_near_one_another(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab, NULL, 0);
	submit(&lab, 0, 0, 1);
	submit(&lab, 0, 0, 2);
	submit(&lab, 0, 0, 1);
	assert_string_equal(decide(&lab), "a 0:1/1, b 0:2/c, c 0:1/2");
	lab_fini(&lab);
}

static void
opportunistic_jobs_use_what_is_left_and_yield(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab, two_vcs, 1);
	submit(&lab, 0, -1, 8);
	submit(&lab, 0, 0, 12); /* Too large for its VC: opportunistic. */
	submit(&lab, 0, 0, 4);
	assert_string_equal(decide(&lab), "c 0:4/f, a 1:4 2:4/f/f");
	/* It takes the cell with fewer opportunistic jobs. */
	submit(&lab, 1, 0, 4);
	assert_string_equal(decide(&lab), "c 0:4/f, d 3:4/f, a 1:4 2:4/f/f");
	submit(&lab, 1, 0, 4);
	assert_string_equal(decide(&lab), "c 0:4/f, d 3:4/f, e 2:4/f");
	lab_finish(&lab, 2);
	lab_finish(&lab, 3);
	/* By arrival: the first one fits, the other does not. */
	assert_string_equal(decide(&lab), "e 2:4/f, a 1:4 3:4/f/f");
	lab_finish(&lab, 0);
	assert_string_equal(decide(&lab), "e 2:4/f, b 0:4 1:4 3:4/f/f/f");
	lab_fini(&lab);
}

static void
higher_priorities_of_a_vc_preempt(void **state)
{
	static const char *const at_once[] = { "hived.vcs=2",
					       "hived.lazy_preemption=0" };
	struct policy_lab lab;

	(void)state;
	/* Lazily: the job that loses its cells runs on beside. */
	begin(&lab, two_vcs, 1);
	submit(&lab, 0, 0, 8);
	decide(&lab);
	submit(&lab, 0, 1, 8);
	assert_string_equal(decide(&lab), "b 1:4 2:4/f/f, a 0:4 3:4/f/f");
	submit(&lab, 1, 0, 4);
	assert_string_equal(decide(&lab), "b 1:4 2:4/f/f, c 0:4/f");
	lab_fini(&lab);

	begin(&lab, at_once, 2);
	submit(&lab, 0, 0, 8);
	decide(&lab);
	submit(&lab, 0, 1, 8);
	assert_string_equal(decide(&lab), "b 0:4 3:4/f/f");
	lab_fini(&lab);
}

static void
the_inner_order_is_a_choice(void **state)
{
	static const char *const by_remaining[] = { "hived.order=1" };
	struct policy_lab lab;

	(void)state;
	begin(&lab, by_remaining, 1);
	submit(&lab, 0, 0, 16);
	submit(&lab, 0, 0, 16); /* It has less left. */
	assert_string_equal(decide(&lab), "b 0:4 1:4 2:4 3:4/f/f/f/f");
	lab_fini(&lab);
}

/* ---- A cluster's cells ----------------------------------------------------------- */

static void
cells_are_dealt_out(void **state)
{
	static const uint32_t gpus[] = { 8, 8, 8, 6 }, racks[] = { 0, 0, 1, 1 };
	const struct pol_cluster cluster = { .n_nodes = 4,
					     .n_racks = 2,
					     .n_types = 1,
					     .n_gpus = gpus,
					     .rack_of = racks,
					     .type_of = lab_zeros,
					     .n_all_gpus = 30 };

	/* Three VCs: an 8-GPU node is 2 GPUs each, 2 remain; 6 GPUs are 2 each. */
	static const struct {
		uint32_t chain, n_gpus;
		int r;
	} tries[] = {
		{ 0, 8, CELLS_WAITS }, /* Two nodes in a rack: a socket each, and one GPU. */
		{ 0, 4, CELLS_FITS },  { 1, 2, CELLS_FITS }, { 1, 4, CELLS_WAITS },
		{ 2, 2, CELLS_WAITS }, { 2, 1, CELLS_FITS },
	};

	static const double shares[] = { 2, 2, 2 };
	struct cell_division division;
	struct cells *cells = cells_divide(&cluster, shares, 3, &division);
	struct cells_answer answer = { 0 };

	(void)state;
	assert_int_equal(division.chains.n, 3);
	for (size_t i = 0; i < sizeof tries / sizeof *tries; i++)
		for (uint32_t vc = 0; vc < 3; vc++) {
			const struct cells_member member = { 1, tries[i].n_gpus };
			const struct cells_request request = {
				.vc = vc,
				.pinned = CELLS_NONE,
				.leaf_type = tries[i].chain,
				.members = &member,
				.n_members = 1,
			};

			if (cells_find(cells, &request, &answer) != tries[i].r)
				fail_msg("try %zu of VC %u", i, vc);
		}
	cells_answer_fini(&answer);
	cell_division_fini(&division);
	cells_free(cells);
}

/* ---- Sharing, in a simulation ---------------------------------------------------- */

#define N_JOBS 200

static double
full_speed(void *ctx, const struct pol_job *job, uint32_t n_gpus, uint32_t n_nodes,
	   uint32_t type, const struct pol_job *const *mates, uint32_t n_mates)
{
	(void)ctx;
	(void)job;
	(void)n_gpus;
	(void)n_nodes;
	(void)type;
	(void)mates;
	(void)n_mates;
	return 1;
}

static void
simulate(const struct cluster_job *jobs, size_t n, struct cluster_result *ret_results)
{
	static const uint32_t gpus[] = { 8, 8, 8, 8 };
	const struct pol_cluster cluster = lab_cluster_of(gpus, 4);
	const struct cluster_work work = { .speed = { .speed = full_speed } };
	const struct cluster_opts opts = {
		.cluster = &cluster, .work = &work, .until_s = INFINITY, .check = true
	};
	const struct policy_opts policy_opts = { .seed = 1,
						 .sets = two_vcs,
						 .n_sets = 1,
						 .round_s = NAN,
						 .restart_s = NAN };
	struct cluster_counts counts;
	struct policy *policy;
	struct err err = { 0 };
	size_t bad;

	assert_int_equal(
		policy_new(policy_find("hived"), &policy_opts, &cluster, &policy, &err),
		0);
	assert_int_equal(
		cluster_run(jobs, n, policy, &opts, ret_results, &counts, &bad), 0);
	policy_free(policy);
}

/* Each guaranteed job of VC 0 ends as if the jobs of others did not exist. */
static void
others_do_not_delay_a_vc(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 25; seed++) {
		struct cluster_job all[N_JOBS], own[N_JOBS];
		struct cluster_result shared[N_JOBS], alone[N_JOBS];
		struct rng rng;
		double now_s = 0;
		size_t n = 0, k = 0;

		rng_init(&rng, seed);
		for (size_t i = 0; i < N_JOBS; i++) {
			now_s += (double)rng_below(&rng, 60);
			all[i] = (struct cluster_job){
				.submit_s = now_s,
				.duration_s = 1 + (double)rng_below(&rng, 400),
				.n_gpus = 1u << rng_below(&rng, 5),
				.vc = (uint32_t)rng_below(&rng, 2),
				.user = POL_NONE,
				.model = POL_NONE,
				.predicted_s = NAN,
				.iterations = NAN,
				.iteration_s = NAN,
				.stage_s = { NAN, NAN, NAN },
			};
			all[i].max_gpus = all[i].n_gpus;
			/* The other VC has opportunistic jobs, too. */
			all[i].priority =
				all[i].vc ? (int32_t)rng_below(&rng, 3) - 1 : 0;
			if (!all[i].vc)
				own[n++] = all[i];
		}
		simulate(all, N_JOBS, shared);
		simulate(own, n, alone);
		for (size_t i = 0; i < N_JOBS; i++)
			if (!all[i].vc) {
				assert_near(shared[i].end_s, alone[k].end_s, 1e-6);
				k++;
			}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vc_gets_its_cells_and_no_more),
		cmocka_unit_test(shares_may_differ),
		cmocka_unit_test(gpus_of_a_job_are_near_one_another),
		cmocka_unit_test(opportunistic_jobs_use_what_is_left_and_yield),
		cmocka_unit_test(higher_priorities_of_a_vc_preempt),
		cmocka_unit_test(the_inner_order_is_a_choice),
		cmocka_unit_test(cells_are_dealt_out),
		cmocka_unit_test(others_do_not_delay_a_vc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
