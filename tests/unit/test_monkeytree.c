/* SPDX-License-Identifier: Apache-2.0 */
/* test_monkeytree.c - fragments, moves against all plans, and spines without conflicts */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "lib/base/vec.h"
#include "scheduler/core/solve/edge_coloring.h"
#include "sim/baselines/monkeytree.h"
#include "tests/unit/test.h"

#define JOBS  4
#define RACKS 3
#define CELLS (JOBS * RACKS)
#define NODES 2000000

/* ------ All plans ------ */

struct search {
	const struct monkeytree *mt;
	uint32_t workers[CELLS], left[JOBS];
	uint32_t best; /* Moves; UINT32_MAX: none. */
};

static bool
is_plan(const struct monkeytree *mt, const uint32_t *workers)
{
	uint32_t *loads = xcalloc(mt->n_racks, sizeof *loads);
	bool is_good = true;

	monkeytree_loads(mt, workers, loads);
	for (uint32_t r = 0; r < mt->n_racks; r++) {
		uint32_t sum = 0;

		for (uint32_t j = 0; j < mt->n_jobs; j++)
			sum += workers[j * mt->n_racks + r];
		is_good &= sum <= mt->capacity[r] && loads[r] <= mt->lambda;
	}
	for (uint32_t j = 0; j < mt->n_jobs; j++) {
		int64_t more = 0;

		for (uint32_t r = 0; r < mt->n_racks; r++)
			more += (int64_t)workers[j * mt->n_racks + r] -
				mt->workers[j * mt->n_racks + r];
		is_good &= !more;
	}
	free(loads);
	return is_good;
}

static void
try_all(struct search *s, uint32_t cell)
{
	const struct monkeytree *mt = s->mt;
	uint32_t job = cell / mt->n_racks;

	if (cell == mt->n_jobs * mt->n_racks) {
		uint32_t moved = monkeytree_moved(mt, s->workers);

		if (moved < s->best && is_plan(mt, s->workers))
			s->best = moved;
		return;
	}
	for (uint32_t w = 0; w <= s->left[job]; w++) {
		/* The last rack has the rest. */
		if (cell % mt->n_racks == mt->n_racks - 1 && w < s->left[job])
			continue;
		s->workers[cell] = w;
		s->left[job] -= w;
		try_all(s, cell + 1);
		s->left[job] += w;
	}
}

static uint32_t
fewest_moves(const struct monkeytree *mt)
{
	struct search s = { .mt = mt, .best = UINT32_MAX };

	for (uint32_t j = 0; j < mt->n_jobs; j++)
		for (uint32_t r = 0; r < mt->n_racks; r++)
			s.left[j] += mt->workers[j * mt->n_racks + r];
	try_all(&s, 0);
	return s.best;
}

/* ------ Random clusters ------ */

/* Puts workers of random jobs into racks, up to 'fill' of each; the rest stays free. */
static void
draw(struct rng *rng, const struct monkeytree *mt, uint32_t fill, uint32_t *workers)
{
	memset(workers, 0, (size_t)mt->n_jobs * mt->n_racks * sizeof *workers);
	for (uint32_t r = 0; r < mt->n_racks; r++)
		for (uint32_t i = 0; i < fill; i++)
			workers[rng_below(rng, mt->n_jobs) * mt->n_racks + r]++;
}

static void
moves_are_compared_with_all_plans(void **state)
{
	uint32_t n = 0, n_optimal = 0, n_missed = 0, sum = 0, sum_best = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 2602);
	for (int i = 0; i < 300; i++) {
		uint32_t workers[CELLS], plan[CELLS], rings[JOBS], capacity[RACKS],
			best;
		struct monkeytree mt = { .n_jobs = JOBS - (uint32_t)rng_below(&rng, 2),
					 .n_racks = RACKS,
					 .workers = workers,
					 .capacity = capacity,
					 .rings = rings,
					 .lambda = 1 + (uint32_t)rng_below(&rng, 3) };

		for (uint32_t j = 0; j < mt.n_jobs; j++)
			rings[j] = 1 + (uint32_t)rng_below(&rng, 2);
		draw(&rng, &mt, 2 + (uint32_t)rng_below(&rng, 2), workers);
		for (uint32_t r = 0; r < RACKS; r++)
			capacity[r] = 3 + (uint32_t)rng_below(&rng, 2);
		assert_int_equal(monkeytree_check(&mt), 0);
		best = fewest_moves(&mt);
		if (best == UINT32_MAX) {
			assert_int_equal(monkeytree_exact(&mt, NODES, plan), -ENOSPC);
			assert_int_equal(monkeytree_moves(&mt, plan), -ENOSPC);
			continue;
		}
		assert_int_equal(monkeytree_is_due(&mt), best > 0);
		assert_int_equal(monkeytree_exact(&mt, NODES, plan), 0);
		assert_true(is_plan(&mt, plan));
		assert_int_equal(monkeytree_moved(&mt, plan), best);
		n++;
		if (monkeytree_moves(&mt, plan)) {
			n_missed++;
			continue;
		}
		assert_true(is_plan(&mt, plan));
		assert_true(monkeytree_moved(&mt, plan) >= best);
		n_optimal += monkeytree_moved(&mt, plan) == best;
		sum += monkeytree_moved(&mt, plan);
		sum_best += best;
	}
	print_message("%u clusters: %u optimal, %u missed; %u moves for %u\n", n,
		      n_optimal, n_missed, sum, sum_best);
	assert_true(n > 100);
	assert_true(n_missed * 10 <= n);
	assert_true(sum <= sum_best * 1.5);
}

static void
a_rack_with_parts_of_two_jobs_is_healed_by_one_exchange(void **state)
{
	/* Jobs 0 and 1 are in both racks, each with one worker in the other one's. */
	const uint32_t workers[4] = { 3, 1, 1, 3 }, capacity[2] = { 4, 4 };
	const uint32_t rings[2] = { 1, 1 };
	const struct monkeytree mt = { 2, 2, workers, capacity, rings, 1 };
	uint32_t plan[4], loads[2];

	(void)state;
	monkeytree_loads(&mt, workers, loads);
	assert_int_equal(loads[0], 2);
	assert_true(monkeytree_is_due(&mt));
	assert_int_equal(monkeytree_exact(&mt, NODES, plan), 0);
	assert_int_equal(monkeytree_moved(&mt, plan), 2);
	assert_int_equal(monkeytree_moves(&mt, plan), 0);
	assert_int_equal(monkeytree_moved(&mt, plan), 2);
	assert_int_equal(plan[0] + plan[3], 8);
	assert_int_equal(monkeytree_exact(&mt, 1, plan), -EAGAIN);
}

static void
a_full_cluster_of_128_hosts_is_healed(void **state)
{
	enum {
		N_RACKS = 16,
		N_JOBS = 24
	};

	uint32_t workers[N_JOBS * N_RACKS], plan[N_JOBS * N_RACKS], rings[N_JOBS];
	uint32_t capacity[N_RACKS];
	struct monkeytree mt = { N_JOBS,   N_RACKS, workers,
				 capacity, rings,   MONKEYTREE_LAMBDA };
	struct rng rng;

	(void)state;
	rng_init(&rng, 128);
	for (uint32_t j = 0; j < N_JOBS; j++)
		rings[j] = 1;
	for (uint32_t r = 0; r < N_RACKS; r++)
		capacity[r] = 8;
	for (int i = 0; i < 10; i++) {
		draw(&rng, &mt, 8, workers);
		assert_true(monkeytree_is_due(&mt));
		assert_int_equal(monkeytree_moves(&mt, plan), 0);
		assert_true(is_plan(&mt, plan));
		print_message("moved %u of 128 workers\n", monkeytree_moved(&mt, plan));
	}
}

/* Each ring of a job goes once around its racks, in ascending order. */
static size_t
flows_between_racks(const struct monkeytree *mt, const uint32_t *workers,
		    struct edge_coloring_edge **ret_flows, uint32_t **ret_jobs)
{
	VEC(struct edge_coloring_edge) flows = VEC_EMPTY;
	VEC(uint32_t) jobs = VEC_EMPTY;
	VEC(uint32_t) racks = VEC_EMPTY;

	for (uint32_t j = 0; j < mt->n_jobs; j++) {
		const uint32_t *row = workers + (size_t)j * mt->n_racks;

		racks.n = 0;
		for (uint32_t r = 0; r < mt->n_racks; r++)
			if (row[r])
				vec_push(&racks, r);
		for (size_t i = 0; racks.n > 1 && i < racks.n * mt->rings[j]; i++) {
			struct edge_coloring_edge flow = {
				racks.items[i % racks.n], racks.items[(i + 1) % racks.n]
			};

			vec_push(&flows, flow);
			vec_push(&jobs, j);
		}
	}
	vec_free(&racks);
	*ret_flows = flows.items;
	*ret_jobs = jobs.items;
	return flows.n;
}

/* As many spines as the largest load, and no two flows share an uplink or downlink. */
static void
flows_of_a_plan_get_spines_without_a_conflict(void **state)
{
	enum {
		N_RACKS = 8,
		N_JOBS = 10
	};

	uint32_t workers[N_JOBS * N_RACKS], rings[N_JOBS], loads[N_RACKS];
	uint32_t capacity[N_RACKS] = { 8, 8, 8, 8, 8, 8, 8, 8 };
	struct monkeytree mt = { N_JOBS, N_RACKS, workers, capacity, rings, 3 };
	struct rng rng;

	(void)state;
	rng_init(&rng, 7);
	for (int i = 0; i < 100; i++) {
		bool used[2][N_RACKS][64] = { 0 };
		struct edge_coloring_edge *flows;
		uint32_t *jobs, *spines, most = 1;
		size_t n;

		for (uint32_t j = 0; j < N_JOBS; j++)
			rings[j] = 1 + (uint32_t)rng_below(&rng, 3);
		draw(&rng, &mt, (uint32_t)rng_below(&rng, 9), workers);
		monkeytree_loads(&mt, workers, loads);
		n = flows_between_racks(&mt, workers, &flows, &jobs);
		for (uint32_t r = 0; r < N_RACKS; r++)
			most = loads[r] > most ? loads[r] : most;
		if (n)
			assert_int_equal(
				edge_coloring_degree(N_RACKS, N_RACKS, flows, n), most);
		assert_true(most <= 64);
		spines = xcalloc(n, sizeof *spines);
		assert_int_equal(edge_coloring_find(N_RACKS, N_RACKS, flows, n, most,
						    NULL, spines),
				 0);
		for (size_t f = 0; f < n; f++) {
			assert_true(jobs[f] < N_JOBS);
			assert_false(used[0][flows[f].left][spines[f]]);
			assert_false(used[1][flows[f].right][spines[f]]);
			used[0][flows[f].left][spines[f]] = true;
			used[1][flows[f].right][spines[f]] = true;
		}
		free(spines);
		free(flows);
		free(jobs);
	}
}

static void
bad_clusters_are_refused(void **state)
{
	const uint32_t workers[2] = { 3, 2 }, capacity[2] = { 3, 2 },
		       tight[2] = { 2, 2 };
	const uint32_t rings[1] = { 1 }, none[1] = { 0 };
	const struct monkeytree none_at_all = { 0, 0, workers, capacity, rings, 0 };
	uint32_t plan[2];

	(void)state;
	assert_int_equal(monkeytree_check(&(struct monkeytree){ 1, 2, workers, capacity,
								rings, 1 }),
			 0);
	assert_int_equal(monkeytree_check(&(struct monkeytree){ 1, 2, workers, tight,
								rings, 1 }),
			 -EINVAL);
	assert_int_equal(monkeytree_check(&(struct monkeytree){ 1, 2, workers, capacity,
								none, 1 }),
			 -EINVAL);
	/* A job larger than a rack always has fragments. */
	assert_int_equal(monkeytree_moves(&(struct monkeytree){ 1, 2, workers, capacity,
								rings, 0 },
					  plan),
			 -ENOSPC);
	assert_int_equal(monkeytree_exact(&(struct monkeytree){ 1, 2, workers, capacity,
								rings, 0 },
					  NODES, plan),
			 -ENOSPC);
	assert_int_equal(monkeytree_check(&none_at_all), 0);
	assert_int_equal(monkeytree_moves(&none_at_all, plan), 0);
	assert_int_equal(monkeytree_exact(&none_at_all, NODES, plan), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moves_are_compared_with_all_plans),
		cmocka_unit_test(
			a_rack_with_parts_of_two_jobs_is_healed_by_one_exchange),
		cmocka_unit_test(a_full_cluster_of_128_hosts_is_healed),
		cmocka_unit_test(flows_of_a_plan_get_spines_without_a_conflict),
		cmocka_unit_test(bad_clusters_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
