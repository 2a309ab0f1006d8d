/* SPDX-License-Identifier: Apache-2.0 */
/* test_augment.c - equivalent plans, compared with the policy's own plan */
#include <math.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "policies/augment.h"
#include "policies/places.h"
#include "sim/cluster/cluster.h"
#include "tests/unit/test.h"

#define N_NODES 12
#define N_JOBS  120

static const uint32_t gpus[N_NODES] = { 4, 4, 4, 4, 4, 4, 4, 4, 8, 8, 2, 2 };
static const uint32_t racks[N_NODES] = { 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2 };
static const uint32_t zeros[N_NODES];
static const struct pol_cluster cluster = { .n_nodes = N_NODES,
					    .n_racks = 3,
					    .n_types = 1,
					    .n_gpus = gpus,
					    .rack_of = racks,
					    .type_of = zeros,
					    .n_all_gpus = 52 };

static void
draw_jobs(struct cluster_job *jobs, uint64_t seed)
{
	struct rng rng;
	double now_s = 0;

	rng_init(&rng, seed);
	for (size_t i = 0; i < N_JOBS; i++) {
		now_s += (double)rng_below(&rng, 200);
		jobs[i] = (struct cluster_job){
			.submit_s = now_s,
			.duration_s = (double)(1 + rng_below(&rng, 2000)),
			.n_gpus = 1 + (uint32_t)rng_below(&rng, 20),
			.user = (uint32_t)rng_below(&rng, 4),
			.vc = POL_NONE,
			.model = POL_NONE,
			.predicted_s = NAN,
			.iterations = NAN,
			.iteration_s = NAN,
		};
		if (i % 2) {
			jobs[i].stage_s[0] = (double)rng_below(&rng, 10);
			jobs[i].stage_s[1] = 4;
			jobs[i].stage_s[2] = 1;
			jobs[i].iteration_s = 10;
			jobs[i].iterations = jobs[i].duration_s / 10;
		}
		jobs[i].max_gpus = jobs[i].n_gpus;
		jobs[i].skew = i % 3 ? 0 : 0.7;
	}
}

struct watcher {
	struct rng rng;
	const char *name;
	bool scatters, brings_plans; /* Its planner's own plans differ. */
	bool binds;                  /* It keeps some jobs close together. */
	uint32_t n_apart;            /* The last nodes, a separate part. */
	uint64_t n_plans, hash;
};

static const struct pol_piece *
pieces_of(const struct pol_plan *plan, const struct pol_grant *grant)
{
	return plan->pieces.items + grant->first_piece;
}

static unsigned
count_racks(const struct pol_plan *plan, const struct pol_grant *grant)
{
	bool has[3] = { false };

	for (uint32_t i = 0; i < grant->n_pieces; i++)
		has[racks[pieces_of(plan, grant)[i].node]] = true;
	return (unsigned)has[0] + has[1] + has[2];
}

/* Number of pieces on separate nodes. */
static uint32_t
count_apart(const struct watcher *w, const struct pol_plan *plan,
	    const struct pol_grant *grant)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < grant->n_pieces; i++)
		n += pieces_of(plan, grant)[i].node >= N_NODES - w->n_apart;
	return n;
}

/* Equal jobs and sizes; kept jobs stay; no job spans more nodes or racks. */
static void
check_alike(const struct watcher *w, const struct pol_plan *base,
	    const struct pol_plan *plan, const struct pol_view *view)
{
	assert_int_equal(base->grants.n, plan->grants.n);
	for (size_t i = 0; i < base->grants.n; i++) {
		const struct pol_grant *a = &base->grants.items[i];
		const struct pol_grant *b = &plan->grants.items[i];
		const struct pol_job *job = &view->jobs[a->job];
		bool stays = job->n_pieces == a->n_pieces &&
			     memcmp(job->pieces, pieces_of(base, a),
				    a->n_pieces * sizeof *job->pieces) == 0;

		assert_int_equal(a->job, b->job);
		assert_int_equal(a->n_gpus, b->n_gpus);
		assert_int_equal(a->group, b->group);
		stays |= w->binds && job->skew > 0.5;
		if (stays && (b->n_pieces != a->n_pieces ||
			      memcmp(pieces_of(plan, b), pieces_of(base, a),
				     a->n_pieces * sizeof *job->pieces) != 0))
			fail_msg("%s: job %u is moved", w->name, a->job);
		if (w->scatters)
			continue;
		if (b->n_pieces != a->n_pieces)
			fail_msg("%s: job %u on %u nodes, not %u", w->name, a->job,
				 b->n_pieces, a->n_pieces);
		if (count_racks(plan, b) > count_racks(base, a))
			fail_msg("%s: job %u in more racks", w->name, a->job);
		if (count_apart(w, plan, b) != count_apart(w, base, a))
			fail_msg("%s: job %u in another part", w->name, a->job);
	}
}

static int
compare_numbers(const void *pa, const void *pb)
{
	const uint32_t *a = pa, *b = pb;

	return (*a > *b) - (*a < *b);
}

/* Free GPUs of nodes, sorted. */
static void
find_room(const struct pol_plan *plan, uint32_t *ret_n_free)
{
	memcpy(ret_n_free, gpus, sizeof gpus);
	for (size_t i = 0; i < plan->grants.n; i++) {
		const struct pol_grant *grant = &plan->grants.items[i];

		for (uint32_t k = 0; grant->job == grant->group && k < grant->n_pieces;
		     k++)
			ret_n_free[pieces_of(plan, grant)[k].node] -=
				pieces_of(plan, grant)[k].n_gpus;
	}
	qsort(ret_n_free, N_NODES, sizeof *ret_n_free, compare_numbers);
}

/* Takes a random plan; cluster_opts.check has checked each plan. */
static uint32_t
watch(void *ctx, const struct pol_view *view, const struct pol_plan *plans, uint32_t n)
{
	struct watcher *w = ctx;
	uint32_t chosen = (uint32_t)rng_below(&w->rng, n);

	assert_true(n > 1 && n <= AUGMENT_MAX_PLANS);
	for (uint32_t i = 1; i < n && !w->brings_plans; i++) {
		uint32_t theirs[N_NODES], ours[N_NODES];

		check_alike(w, &plans[0], &plans[i], view);
		find_room(&plans[0], theirs);
		find_room(&plans[i], ours);
		if (!w->scatters && memcmp(theirs, ours, sizeof ours) != 0)
			fail_msg("%s: other room is left", w->name);
		for (size_t k = 0; k < plans[i].pieces.n; k++)
			w->hash = rng_mix(w->hash ^ plans[i].pieces.items[k].node);
	}
	w->n_plans += n;
	return chosen;
}

static struct watcher
run(const struct policy_spec *spec, const char *place, const struct cluster_job *jobs)
{
	const struct pol_place *other = place ? place_find(place) : spec->place;
	struct watcher w = { .name = spec->name,
			     .scatters = other && other->scatters,
			     .binds = other && other->is_bound,
			     .brings_plans = strcmp(spec->name, "pollux") == 0,
			     .n_apart = strcmp(spec->name, "lucid") == 0 ? 2 : 0 };
	const struct cluster_work work = { .augment = { .ctx = &w, .choose = watch } };
	const struct cluster_opts opts = {
		.cluster = &cluster, .work = &work, .until_s = INFINITY, .check = true
	};
	const struct policy_opts policy_opts = {
		.seed = 3, .round_s = NAN, .restart_s = NAN, .place = place
	};
	struct cluster_result results[N_JOBS];
	struct cluster_counts counts;
	struct policy *policy;
	struct err err = { 0 };
	size_t bad;

	rng_init(&w.rng, 5);
	assert_int_equal(policy_new(spec, &policy_opts, &cluster, &policy, &err), 0);
	assert_int_equal(
		cluster_run(jobs, N_JOBS, policy, &opts, results, &counts, &bad), 0);
	for (size_t i = 0; i < N_JOBS; i++)
		assert_true(isfinite(results[i].end_s));
	policy_free(policy);
	return w;
}

static void
plans_of_all_policies_are_as_good(void **state)
{
	struct cluster_job jobs[N_JOBS];
	uint64_t n_plans = 0;

	(void)state;
	for (const struct policy_spec *spec = policy_table; spec->name; spec++)
		for (uint64_t seed = 1; seed <= 3; seed++) {
			draw_jobs(jobs, seed);
			n_plans += run(spec, NULL, jobs).n_plans;
		}
	assert_true(n_plans > 10000);
}

static void
plans_of_all_placements_are_as_good(void **state)
{
	struct cluster_job jobs[N_JOBS];

	(void)state;
	draw_jobs(jobs, 9);
	for (const struct pol_place *const *place = place_all; *place; place++) {
		const char *name = (*place)->module.name;

		assert_true(run(policy_find("fifo"), name, jobs).n_plans > 20);
		assert_true(run(policy_find("themis"), name, jobs).n_plans > 20);
	}
}

static void
the_same_seed_gives_the_same_plans(void **state)
{
	struct cluster_job jobs[N_JOBS];

	(void)state;
	draw_jobs(jobs, 2);
	for (const struct policy_spec *spec = policy_table; spec->name; spec++)
		assert_int_equal(run(spec, NULL, jobs).hash,
				 run(spec, NULL, jobs).hash);
}

/* Jobs of 5 and 4 on four nodes of 4: by count the second is split. */
static void
those_that_scatter_are_shown_close_ones(void **state)
{
	static const uint32_t four[] = { 4, 4, 4, 4 };
	static const struct pol_cluster small = { .n_nodes = 4,
						  .n_racks = 1,
						  .n_types = 1,
						  .n_gpus = four,
						  .rack_of = zeros,
						  .type_of = zeros,
						  .n_all_gpus = 16 };
	static const uint32_t ids[] = { 0, 1 };
	const struct pol_job jobs[] = {
		{ .id = 0, .n_gpus = 5, .max_gpus = 5 },
		{ .id = 1, .n_gpus = 4, .max_gpus = 4, .group = 1 }
	};
	const struct pol_view view = {
		.cluster = &small, .ids = ids, .n_jobs = 2, .jobs = jobs, .n_ids = 2
	};
	struct pol_plan plans[AUGMENT_MAX_PLANS] = { 0 };
	struct policy *policy;
	struct err err = { 0 };
	bool is_whole = false;
	uint32_t n;

	(void)state;
	assert_int_equal(policy_new(policy_find("fifo"), NULL, &small, &policy, &err),
			 0);
	for (uint32_t i = 0; i < 2; i++)
		policy_event(policy, &view, POL_ARRIVED, &jobs[i]);
	n = policy_decide(policy, &view, plans, AUGMENT_MAX_PLANS);
	assert_int_equal(plans[0].grants.items[1].n_pieces, 2);
	for (uint32_t i = 1; i < n; i++)
		is_whole |= plans[i].grants.items[1].n_pieces == 1;
	assert_true(is_whole);
	for (size_t i = 0; i < AUGMENT_MAX_PLANS; i++)
		pol_plan_fini(&plans[i]);
	policy_free(policy);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plans_of_all_policies_are_as_good),
		cmocka_unit_test(plans_of_all_placements_are_as_good),
		cmocka_unit_test(the_same_seed_gives_the_same_plans),
		cmocka_unit_test(those_that_scatter_are_shown_close_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
