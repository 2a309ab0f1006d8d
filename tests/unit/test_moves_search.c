/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "lib/base/rng.h"
#include "scheduler/core/advise/moves_search.h"
#include "scheduler/core/advise/place.h"
#include "tests/unit/jobs_fixture.h"
#include "tests/unit/test.h"

#define HOUR_S   3600.0
#define MAX_JOBS 5
#define LEAVES   3
#define PER_LEAF 3

static void
put_all(struct fixture *f, struct place *place)
{
	for (uint32_t j = 0; j < f->workload.n; j++)
		assert_int_equal(place_put(place, j, f->workload.jobs[j].hosts), 0);
}

static void
jobs_of(const struct fixture *f, double left_s, double cost_s, struct moves_job *jobs)
{
	for (size_t j = 0; j < f->workload.n; j++)
		jobs[j] = (struct moves_job){ .weight = f->workload.jobs[j].weight,
					      .left_s = left_s,
					      .cost_s = cost_s,
					      .is_movable = true };
}

/* Two jobs of two workers cross two leaves of two hosts: exchanging one heals both. */
static void
two_fragmented_jobs_exchange_workers(void **state)
{
	const struct moves_opts opts = { .seed = 1, .n_allowed = 2 };
	struct moves_job jobs[2];
	struct moves_steps steps;
	struct fixture f;
	struct place *place;

	(void)state;
	fixture_init(&f, 2, 2, 1, 50e9);
	ON(fixture_job(&f, "a", 2, 100000, 0.7, 50e9), 0, 2);
	ON(fixture_job(&f, "b", 2, 100000, 0.7, 50e9), 1, 3);
	place = place_new(f.topo, f.routes, &f.workload, PLACE_HASHED);
	put_all(&f, place);
	jobs_of(&f, HOUR_S, NAN, jobs);
	moves_search(place, jobs, &opts, &steps);
	assert_int_equal(steps.n, 1);
	assert_int_equal(steps.items[0].n_jobs, 2);
	assert_int_equal(steps.items[0].n_workers[0], 1);
	assert_int_equal(steps.items[0].n_workers[1], 1);
	assert_near(steps.items[0].bill.cost, 2 * 2 * 40, 1e-9);
	/* The hosts of one are a leaf. */
	assert_int_equal(steps.items[0].hosts[0][0] / 2,
			 steps.items[0].hosts[0][1] / 2);
	moves_steps_fini(&steps);
	/* Not if only one job may be moved, nor if one must stay. */
	moves_search(place, jobs, &(struct moves_opts){ .n_allowed = 1 }, &steps);
	assert_int_equal(steps.n, 0);
	jobs[1].is_movable = false;
	moves_search(place, jobs, &opts, &steps);
	assert_int_equal(steps.n, 0);
	/* Two starts exchange hosts without a bill. */
	jobs[1].is_movable = true;
	jobs[0].is_waiting = jobs[1].is_waiting = true;
	moves_search(place, jobs, &(struct moves_opts){ .seed = 1 }, &steps);
	assert_int_equal(steps.n, 1);
	assert_near(steps.items[0].bill.cost, 0, 0);
	moves_steps_fini(&steps);
	place_free(place);
	fixture_fini(&f);
}

/* A start gets the whole leaf; the running job in its way moves to its other host. */
static void
the_next_start_heals(void **state)
{
	const struct moves_opts opts = { .seed = 1, .n_allowed = 1, .n_max = 3 };
	struct moves_job jobs[3];
	struct moves_steps steps;
	struct fixture f;
	struct place *place;

	(void)state;
	fixture_init(&f, 3, 2, 1, 50e9);
	ON(fixture_job(&f, "a", 1, 100000, 0.7, 50e9), 0);
	ON(fixture_job(&f, "b", 2, 100000, 0.7, 50e9), 1, 3);
	ON(fixture_job(&f, "c", 2, 100000, 0.7, 50e9), 2, 4);
	place = place_new(f.topo, f.routes, &f.workload, PLACE_HASHED);
	put_all(&f, place);
	jobs_of(&f, HOUR_S, NAN, jobs);
	jobs[2].is_movable = false;
	jobs[1].is_waiting = true;
	moves_search(place, jobs, &opts, &steps);
	assert_true(steps.n >= 1);
	assert_int_equal(steps.items[0].n_jobs, 2);
	assert_near(steps.items[0].bill.cost, 1 * 40, 1e-9);
	moves_steps_fini(&steps);
	place_free(place);
	fixture_fini(&f);
}

static void
moves_that_cost_more_than_they_gain_are_not_found(void **state)
{
	const struct moves_opts opts = { .seed = 1, .n_allowed = 2 };
	struct moves_job jobs[2];
	struct moves_steps steps;
	struct fixture f;
	struct place *place;

	(void)state;
	fixture_init(&f, 2, 2, 1, 50e9);
	ON(fixture_job(&f, "a", 2, 100000, 0.7, 50e9), 0, 2);
	ON(fixture_job(&f, "b", 2, 100000, 0.7, 50e9), 1, 3);
	place = place_new(f.topo, f.routes, &f.workload, PLACE_HASHED);
	put_all(&f, place);
	jobs_of(&f, HOUR_S, HOUR_S, jobs);
	moves_search(place, jobs, &opts, &steps);
	assert_int_equal(steps.n, 0);
	jobs_of(&f, 60, NAN, jobs);
	moves_search(place, jobs, &opts, &steps);
	assert_int_equal(steps.n, 0);
	place_free(place);
	fixture_fini(&f);
}

/* ---- Against all steps ----------------------------------------------------------- */

/* Workers of each job by leaf; hosts follow from it. */
struct layout {
	uint32_t counts[MAX_JOBS][LEAVES];
};

struct twin {
	struct fixture *f;
	const struct moves_job *jobs;
	struct place *empty; /* Without jobs. */
	struct layout old;
	double before[MAX_JOBS], best;
};

static uint32_t
room_of(const struct twin *t, const struct layout *layout, uint32_t leaf)
{
	uint32_t used = 0;

	for (size_t j = 0; j < t->f->workload.n; j++)
		used += layout->counts[j][leaf];
	return used > PER_LEAF ? UINT32_MAX : PER_LEAF - used;
}

/* The bounds of a layout: hosts of a leaf are alike. */
static void
bounds_of(const struct twin *t, const struct layout *layout, double *ret_bounds)
{
	uint32_t next[LEAVES] = { 0 };

	for (uint32_t j = 0; j < t->f->workload.n; j++) {
		uint32_t hosts[LEAVES * PER_LEAF], n = 0;

		for (uint32_t l = 0; l < LEAVES; l++)
			for (uint32_t i = 0; i < layout->counts[j][l]; i++)
				hosts[n++] = l * PER_LEAF + next[l]++;
		assert_int_equal(place_put(t->empty, j, hosts), 0);
	}
	for (uint32_t j = 0; j < t->f->workload.n; j++)
		ret_bounds[j] = place_bound(t->empty, j);
	for (uint32_t j = 0; j < t->f->workload.n; j++)
		place_remove(t->empty, j);
}

static void
judge(struct twin *t, const struct layout *layout)
{
	uint32_t n_workers[MAX_JOBS] = { 0 }, n_racks = 0, n_racks_before = 0;
	double after[MAX_JOBS];
	struct moves_bill bill;

	for (uint32_t l = 0; l < LEAVES; l++)
		if (room_of(t, layout, l) == UINT32_MAX)
			return;
	for (size_t j = 0; j < t->f->workload.n; j++)
		for (uint32_t l = 0; l < LEAVES; l++) {
			n_racks += layout->counts[j][l] > 0;
			n_racks_before += t->old.counts[j][l] > 0;
		}
	if (n_racks > n_racks_before)
		return;
	for (size_t j = 0; j < t->f->workload.n; j++)
		for (uint32_t l = 0; l < LEAVES; l++)
			if (layout->counts[j][l] > t->old.counts[j][l])
				n_workers[j] +=
					layout->counts[j][l] - t->old.counts[j][l];
	bounds_of(t, layout, after);
	moves_bill(t->jobs, t->f->workload.n, t->before, after, n_workers, &bill);
	if (bill.pays && bill.gain - bill.cost > t->best)
		t->best = bill.gain - bill.cost;
}

/* All ways of job 'j' over the leaves, then of job 'k'. */
static void
enumerate(struct twin *t, struct layout *layout, uint32_t j, uint32_t k)
{
	uint32_t n = t->f->workload.jobs[j].n_hosts_wanted;

	for (uint32_t a = 0; a <= n; a++)
		for (uint32_t b = 0; a + b <= n; b++) {
			layout->counts[j][0] = a;
			layout->counts[j][1] = b;
			layout->counts[j][2] = n - a - b;
			if (k == UINT32_MAX)
				judge(t, layout);
			else
				enumerate(t, layout, k, UINT32_MAX);
		}
}

static double
best_of_all(struct fixture *f, const struct moves_job *jobs)
{
	struct twin t = { .f = f, .jobs = jobs };

	t.empty = place_new(f->topo, f->routes, &f->workload, PLACE_HASHED);
	for (size_t j = 0; j < f->workload.n; j++)
		for (uint32_t i = 0; i < f->workload.jobs[j].n_hosts_wanted; i++)
			t.old.counts[j][f->workload.jobs[j].hosts[i] / PER_LEAF]++;
	bounds_of(&t, &t.old, t.before);
	for (uint32_t j = 0; j < f->workload.n; j++)
		for (uint32_t k = 0; k < f->workload.n; k++) {
			struct layout layout = t.old;

			if (k != j)
				enumerate(&t, &layout, j, k);
		}
	place_free(t.empty);
	return t.best;
}

static void
draw(struct fixture *f, struct rng *rng)
{
	uint32_t order[LEAVES * PER_LEAF], used = 0, n_jobs;

	for (uint32_t i = 0; i < LEAVES * PER_LEAF; i++)
		order[i] = i;
	rng_shuffle(rng, order, LEAVES * PER_LEAF);
	n_jobs = 2 + (uint32_t)rng_below(rng, 3);
	for (uint32_t j = 0; j < n_jobs; j++) {
		char name[] = { (char)('a' + j), '\0' };
		uint32_t n = 1 + (uint32_t)rng_below(rng, 4);

		if (used + n > LEAVES * PER_LEAF)
			break;
		fixture_on(fixture_job(f, name, n,
				       50000 + 10000 * (int64_t)rng_below(rng, 10),
				       0.1 + 0.7 * rng_uniform(rng), 50e9),
			   order + used);
		used += n;
	}
}

/* Takes steps as long as one is found, each job once; returns what they gain. */
static double
take_steps(struct place *place, struct moves_job *jobs, double *ret_first)
{
	const struct moves_opts opts = { .seed = 1, .n_allowed = 2 };
	double net = 0;

	*ret_first = 0;
	for (int i = 0; i < MAX_JOBS; i++) {
		struct moves_steps steps;

		moves_search(place, jobs, &opts, &steps);
		for (size_t k = 0; k < steps.n; k++) {
			const struct moves_step *step = &steps.items[k];

			net += step->bill.gain - step->bill.cost;
			if (i == 0)
				*ret_first = net;
			for (uint32_t m = 0; m < step->n_jobs; m++)
				place_remove(place, step->jobs[m]);
			for (uint32_t m = 0; m < step->n_jobs; m++) {
				assert_int_equal(
					place_put(place, step->jobs[m], step->hosts[m]),
					0);
				jobs[step->jobs[m]].is_movable = false;
			}
		}
		moves_steps_fini(&steps);
	}
	return net;
}

/*
 * Steps against the best of all layouts in which at most two jobs change.  The search is
 * local, so it need not find each; how many it finds is held here.
 */
static void
steps_are_optimal_on_small_fabrics(void **state)
{
	uint32_t n_best = 0, n_paying = 0;
	double found = 0, possible = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 11);
	for (int round = 0; round < 300; round++) {
		struct moves_job jobs[MAX_JOBS];
		struct fixture f;
		struct place *place;
		double best, net, first;

		fixture_init(&f, LEAVES, PER_LEAF, 1, 50e9);
		draw(&f, &rng);
		place = place_new(f.topo, f.routes, &f.workload, PLACE_HASHED);
		put_all(&f, place);
		jobs_of(&f, 100 + 5000 * rng_uniform(&rng), NAN, jobs);
		best = best_of_all(&f, jobs);
		net = take_steps(place, jobs, &first);
		assert_true(first <= best + 1e-6 * (1 + best));
		n_paying += best > 0;
		n_best += best > 0 && net >= best * (1 - 1e-6) - 1e-6;
		found += fmin(net, best);
		possible += best;
		place_free(place);
		fixture_fini(&f);
	}
	print_message("optimal: %u of %u; gain %.4f of the optimum\n", n_best, n_paying,
		      found / possible);
	assert_true(n_paying >= 100);
	assert_true(n_best >= 0.98 * n_paying);
	assert_true(found >= 0.995 * possible);
}

/* The place is as before, whatever was tried. */
static void
a_search_leaves_the_place_as_it_was(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 5);
	for (int round = 0; round < 60; round++) {
		const struct moves_opts opts = { .seed = 1,
						 .n_allowed = 2,
						 .n_max = 5 };
		struct moves_job jobs[MAX_JOBS];
		double bounds[MAX_JOBS];
		uint32_t *paths[MAX_JOBS];
		struct moves_steps steps;
		struct fixture f;
		struct place *place;

		fixture_init(&f, LEAVES, PER_LEAF, 3, 50e9);
		draw(&f, &rng);
		place = place_new(f.topo, f.routes, &f.workload, PLACE_CHOSEN);
		put_all(&f, place);
		assert_int_equal(place_improve_paths(place, 1), 0);
		jobs_of(&f, HOUR_S, NAN, jobs);
		for (uint32_t j = 0; j < f.workload.n; j++) {
			const struct routed_job *routed = place_routed_job(place, j);

			bounds[j] = place_bound(place, j);
			paths[j] = xmemdup(routed->paths, routed->flows.n,
					   sizeof(uint32_t));
		}
		moves_search(place, jobs, &opts, &steps);
		for (size_t i = 1; i < steps.n; i++)
			assert_true(steps.items[i - 1].bill.gain -
					    steps.items[i - 1].bill.cost >=
				    steps.items[i].bill.gain -
					    steps.items[i].bill.cost);
		for (uint32_t j = 0; j < f.workload.n; j++) {
			const struct work_job *job = &f.workload.jobs[j];
			const struct routed_job *routed = place_routed_job(place, j);
			const uint32_t *hosts = place_hosts(place, j);

			assert_near(place_bound(place, j), bounds[j], 1e-9);
			assert_memory_equal(routed->paths, paths[j],
					    routed->flows.n * sizeof(uint32_t));
			for (uint32_t i = 0; i < job->n_hosts_wanted; i++) {
				bool is_there = false;

				for (uint32_t k = 0; k < job->n_hosts_wanted; k++)
					is_there |= hosts[k] == job->hosts[i];
				assert_true(is_there);
				assert_int_equal(place_free_slots(place, hosts[i]), 0);
			}
			free(paths[j]);
		}
		moves_steps_fini(&steps);
		place_free(place);
		fixture_fini(&f);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_fragmented_jobs_exchange_workers),
		cmocka_unit_test(the_next_start_heals),
		cmocka_unit_test(moves_that_cost_more_than_they_gain_are_not_found),
		cmocka_unit_test(steps_are_optimal_on_small_fabrics),
		cmocka_unit_test(a_search_leaves_the_place_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
