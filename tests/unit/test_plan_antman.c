/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_plan_antman.c - guaranteed jobs, and opportunistic jobs on their GPUs (AntMan)
 */
#include <math.h>
#include <string.h>

#include "lib/base/rng.h"
#include "policies/stages.h"
#include "tests/unit/cluster_lab.h"
#include "tests/unit/policy_lab.h"
#include "tests/unit/test.h"

#define N_NODES 3
#define N_JOBS  150
#define GUEST   1

static const uint32_t fours[N_NODES] = { 4, 4, 4 }, uneven[N_NODES] = { 4, 8, 2 };

/* Nodes of four GPUs. */
static void
begin(struct policy_lab *lab, uint32_t n_nodes)
{
	lab_init_on(lab, lab_cluster_of(fours, n_nodes), "antman", NULL);
}

static void
submit(struct policy_lab *lab, uint32_t n_gpus, int32_t priority)
{
	lab_add(lab, (struct pol_job){ .n_gpus = n_gpus,
				       .max_gpus = n_gpus,
				       .priority = priority });
}

static void
put_hosts(struct strbuf *text, const struct pol_plan *plan,
	  const struct pol_grant *grant)
{
	for (uint32_t k = 0; k < grant->n_owners; k++) {
		const struct pol_owner *owner =
			&plan->owners.items[grant->first_owner + k];

		strbuf_printf(text, "%s %c %u:%u", k ? "" : " of",
			      'a' + (int)owner->job, owner->node, owner->n_gpus);
	}
}

/* The plan as text: "a 0:3, b 0:1 1:4 of a 0:1". */
static const char *
decide(struct policy_lab *lab)
{
	return lab_decide(lab, put_hosts);
}

/* ---- Guaranteed jobs ------------------------------------------------------------- */

static void
one_that_does_not_fit_holds_back_what_there_is(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab, 2);
	submit(&lab, 3, 0);
	submit(&lab, 2, 0);
	submit(&lab, 3, 0); /* c: two are free on node 1, one on node 0. */
	submit(&lab, 1, 0); /* d gets that one; c holds the other two. */
	submit(&lab, 1, 0); /* e: nothing is left. */
	assert_string_equal(decide(&lab), "a 0:3, b 1:2, d 0:1");
	/* Node 0 has room for c now, but c waits where it already holds GPUs. */
	lab_finish(&lab, 0);
	assert_string_equal(decide(&lab), "b 1:2, d 0:1, e 0:1");
	lab_finish(&lab, 1);
	assert_string_equal(decide(&lab), "c 1:3, d 0:1, e 0:1");
	lab_fini(&lab);
}

static void
one_of_several_nodes_holds_back_whole_ones(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab, 3);
	submit(&lab, 3, 0);
	submit(&lab, 2, 0);
	submit(&lab, 8, 0); /* c has node 2, and waits for another. */
	submit(&lab, 4, 0); /* d reserves two of node 1. */
	assert_string_equal(decide(&lab), "a 0:3, b 1:2");
	lab_finish(&lab, 1);
	assert_string_equal(decide(&lab), "a 0:3, d 1:4");
	lab_finish(&lab, 0);
	assert_string_equal(decide(&lab), "c 0:4 2:4, d 1:4");
	lab_fini(&lab);
}

static void
one_that_leaves_part_of_a_node_holds_back_nothing(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab, 3);
	submit(&lab, 4, 0);
	submit(&lab, 10, 0);
	submit(&lab, 8, 0);
	assert_string_equal(decide(&lab), "a 0:4, c 1:4 2:4");
	lab_finish(&lab, 0);
	lab_finish(&lab, 2);
	assert_string_equal(decide(&lab), "b 0:4 1:4 2:2");
	lab_fini(&lab);
}

/* ---- Opportunistic jobs ---------------------------------------------------------- */

static void
guests_are_where_the_least_load_is(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab, 2);
	submit(&lab, 6, GUEST); /* Although it came first. */
	submit(&lab, 4, 0);
	submit(&lab, 2, GUEST);
	submit(&lab, 1, GUEST); /* d: each GPU has a guest. */
	assert_string_equal(decide(&lab), "b 0:4, a 0:2 1:4 of b 0:2, c 0:2 of b 0:2");
	/* Owners may come later; guests are not moved. */
	submit(&lab, 4, 0);
	assert_string_equal(decide(&lab), "b 0:4, e 1:4, a 0:2 1:4 of b 0:2 e 1:4, "
					  "c 0:2 of b 0:2");
	lab_finish(&lab, 1);
	assert_string_equal(decide(&lab), "e 1:4, a 0:2 1:4 of e 1:4, c 0:2");
	lab_finish(&lab, 2);
	assert_string_equal(decide(&lab), "e 1:4, a 0:2 1:4 of e 1:4, d 0:1");
	lab_fini(&lab);
}

static void
who_waits_is_nobodys_host(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab, 2);
	submit(&lab, 3, 0);
	submit(&lab, 3, 0);
	submit(&lab, 2, 0); /* c reserves the last one of node 0. */
	submit(&lab, 2, GUEST);
	assert_string_equal(decide(&lab), "a 0:3, b 1:3, d 0:1 1:1");
	lab_finish(&lab, 0);
	assert_string_equal(decide(&lab), "b 1:3, c 0:2, d 0:1 1:1 of c 0:1");
	lab_fini(&lab);
}

static void
a_plan_with_guests_is_checked(void **state)
{
	struct policy_lab lab;
	struct pol_plan *plan = &lab.plans[0];

	(void)state;
	begin(&lab, 2);
	submit(&lab, 6, GUEST);
	submit(&lab, 4, 0);
	submit(&lab, 2, GUEST);
	assert_string_equal(decide(&lab), "b 0:4, a 0:2 1:4 of b 0:2, c 0:2 of b 0:2");
	plan->grants.items[2].n_owners = 0;
	assert_string_equal(pol_plan_why_not(plan, &lab.view), "a GPU given twice");
	plan->grants.items[2].n_owners = 2;
	assert_string_equal(pol_plan_why_not(plan, &lab.view),
			    "an opportunistic job without its owners");
	plan->grants.items[2].n_owners = 1;
	plan->owners.items[1].n_gpus = 3;
	assert_string_equal(pol_plan_why_not(plan, &lab.view),
			    "an opportunistic job where its owner is not");
	plan->owners.items[0].n_gpus = 3;
	plan->owners.items[1].n_gpus = 2;
	assert_string_equal(pol_plan_why_not(plan, &lab.view),
			    "an opportunistic job where its owner is not");
	plan->owners.items[0].n_gpus = 2;
	plan->owners.items[1].node = 1;
	assert_string_equal(pol_plan_why_not(plan, &lab.view),
			    "an opportunistic job where its owner is not");
	plan->owners.items[1].node = 0;
	plan->owners.items[1].job = 0;
	assert_string_equal(pol_plan_why_not(plan, &lab.view),
			    "an owner that cannot be one");
	plan->owners.items[1].job = 3;
	assert_string_equal(pol_plan_why_not(plan, &lab.view),
			    "an owner that cannot be one");
	plan->owners.items[1].job = 1;
	assert_null(pol_plan_why_not(plan, &lab.view));
	lab_fini(&lab);
}

/* ---- Speed ----------------------------------------------------------------------- */

static const struct pol_job owner = { .iteration_s = 6, .stage_s = { 3, 2, 1 } };

static void
a_guest_has_the_gaps_of_its_host(void **state)
{
	static const struct {
		double stage_s[3], turns;
	} cases[] = {
		/*
		 * Loading fills a gap of 3, and 1 of the next one; 1 of that goes to
		 * the GPU. 2 of a gap of 4 are left for it, and the network fits, too.
		 */
		{ { 4, 3, 2 }, 3 },
		/* The network fills two gaps of 5. */
		{ { 0, 0, 10 }, 2 },
		/* The rest fits into the owner's loading time. */
		{ { 0, 0, 12 }, 2 },
		{ { 0, 0, 14 }, 3 },
		/* The GPU fills a gap of 4 and all but 1 of another: none is left. */
		{ { 0, 7, 1 }, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct pol_job guest = { .iteration_s = 1 };

		memcpy(guest.stage_s, cases[i].stage_s, sizeof guest.stage_s);
		assert_near(stages_owner_turns(&guest, &owner), cases[i].turns, 0);
	}
	assert_true(isinf(stages_owner_turns(
		&owner,
		&(struct pol_job){ .iteration_s = 1, .stage_s = { 0, 1, 0 } })));
}

static struct cluster_job
make_job(double submit_s, double duration_s, uint32_t n_gpus, int32_t priority)
{
	struct cluster_job job = cluster_lab_job(submit_s, duration_s, n_gpus);

	job.priority = priority;
	return job;
}

static void
run(const struct pol_cluster *cluster, const struct cluster_job *jobs, size_t n,
    struct cluster_result *ret_results)
{
	const struct cluster_counts counts =
		cluster_lab_run(cluster, "antman", NULL, jobs, n, ret_results);

	assert_int_equal(counts.n_preemptions + counts.n_migrations, 0);
}

static void
a_guest_is_slower_while_its_host_is_there_and_the_host_is_not(void **state)
{
	const struct pol_cluster cluster = lab_cluster_of(fours, 1);
	struct cluster_job jobs[] = { make_job(0, 90, 4, GUEST), make_job(0, 60, 4, 0),
				      make_job(0, 10, 4, GUEST) };
	struct cluster_result results[3];

	(void)state;
	/* Three turns of 6 s for 9 s of its own: half the speed, for 60 s. */
	jobs[0].iteration_s = 9;
	memcpy(jobs[0].stage_s, (double[]){ 4, 3, 2 }, sizeof jobs[0].stage_s);
	jobs[1].iteration_s = 6;
	memcpy(jobs[1].stage_s, owner.stage_s, sizeof jobs[1].stage_s);
	run(&cluster, jobs, 3, results);
	assert_near(results[1].end_s, 60, 1e-9);
	assert_near(results[0].first_s, 0, 0);
	assert_near(results[0].end_s, 120, 1e-9);
	assert_near(results[2].first_s, 120, 1e-9);
	assert_near(results[2].end_s, 130, 1e-9);
	/* Half, if the stages are unknown. */
	jobs[1].iteration_s = NAN;
	run(&cluster, jobs, 3, results);
	assert_near(results[0].end_s, 120, 1e-9);
}

static void
all_are_served_and_guaranteed_ones_at_full_speed(void **state)
{
	const uint32_t *const clusters[] = { fours, uneven };
	struct cluster_job jobs[N_JOBS];
	struct cluster_result results[N_JOBS];

	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct pol_cluster cluster =
			lab_cluster_of(clusters[seed % 2], N_NODES);
		double now_s = 0;
		struct rng rng;

		rng_init(&rng, seed + 1);
		for (size_t i = 0; i < N_JOBS; i++) {
			now_s += (double)rng_below(&rng, 400);
			jobs[i] = make_job(
				now_s, (double)(1 + rng_below(&rng, 2000)),
				(uint32_t)(1 +
					   rng_below(&rng, seed % 3 ? cluster.n_all_gpus
								    : 4)),
				rng_below(&rng, 2) ? GUEST : 0);
		}
		run(&cluster, jobs, N_JOBS, results);
		for (size_t i = 0; i < N_JOBS; i++) {
			double took_s = results[i].end_s - results[i].first_s;

			if (!jobs[i].priority)
				assert_near(took_s, jobs[i].duration_s, 1e-6);
			assert_true(took_s >= jobs[i].duration_s - 1e-6);
			assert_true(took_s <= 2 * jobs[i].duration_s + 1e-6);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_does_not_fit_holds_back_what_there_is),
		cmocka_unit_test(one_of_several_nodes_holds_back_whole_ones),
		cmocka_unit_test(one_that_leaves_part_of_a_node_holds_back_nothing),
		cmocka_unit_test(guests_are_where_the_least_load_is),
		cmocka_unit_test(who_waits_is_nobodys_host),
		cmocka_unit_test(a_plan_with_guests_is_checked),
		cmocka_unit_test(a_guest_has_the_gaps_of_its_host),
		cmocka_unit_test(
			a_guest_is_slower_while_its_host_is_there_and_the_host_is_not),
		cmocka_unit_test(all_are_served_and_guaranteed_ones_at_full_speed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
