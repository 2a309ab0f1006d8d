/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "lib/base/rng.h"
#include "scheduler/core/advise/place.h"
#include "tests/unit/jobs_fixture.h"
#include "tests/unit/test.h"

/* Number of leaves of 'n' hosts, in a fabric with 'per_leaf' hosts per leaf. */
static uint32_t
leaves_of(const uint32_t *hosts, uint32_t n, uint32_t per_leaf)
{
	uint32_t seen = 0, n_leaves = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t bit = 1u << (hosts[i] / per_leaf);

		n_leaves += !(seen & bit);
		seen |= bit;
	}
	return n_leaves;
}

static void
packs_into_the_leaf_that_fits_best(void **state)
{
	struct fixture f;
	struct place *place;
	uint32_t hosts[4];

	(void)state;
	fixture_init(&f, 4, 4, 2, 50e9);
	ON(fixture_job(&f, "a", 2, 100000, 0.3, 50e9), 4, 5);
	fixture_job(&f, "b", 2, 100000, 0.3, 50e9);
	fixture_job(&f, "c", 4, 100000, 0.3, 50e9);
	place = place_new(f.topo, f.routes, &f.workload, PLACE_HASHED);
	assert_int_equal(place_put(place, 0, f.workload.jobs[0].hosts), 0);
	assert_int_equal(place_pack(place, 1, hosts), 0);
	assert_int_equal(hosts[0], 6);
	assert_int_equal(hosts[1], 7);
	assert_int_equal(place_put(place, 1, hosts), 0);
	assert_int_equal(place_pack(place, 2, hosts), 0);
	assert_int_equal(leaves_of(hosts, 4, 4), 1);
	place_free(place);
	fixture_fini(&f);
}

static void
takes_as_few_leaves_as_it_can(void **state)
{
	struct fixture f;
	struct place *place;
	uint32_t hosts[7];

	(void)state;
	fixture_init(&f, 4, 4, 2, 50e9);
	ON(fixture_job(&f, "a", 3, 100000, 0.3, 50e9), 0, 1, 2);
	fixture_job(&f, "b", 7, 100000, 0.3, 50e9);
	place = place_new(f.topo, f.routes, &f.workload, PLACE_HASHED);
	assert_int_equal(place_put(place, 0, f.workload.jobs[0].hosts), 0);
	assert_int_equal(place_pack(place, 1, hosts), 0);
	assert_int_equal(leaves_of(hosts, 7, 4), 2);
	place_free(place);
	fixture_fini(&f);
}

static void
respects_slots_and_says_when_there_are_too_few(void **state)
{
	struct fixture f;
	struct place *place;
	uint32_t hosts[16];

	(void)state;
	fixture_init(&f, 2, 4, 2, 50e9);
	ON(fixture_job(&f, "a", 3, 100000, 0.3, 50e9), 0, 1, 4);
	fixture_job(&f, "b", 5, 100000, 0.3, 50e9);
	fixture_job(&f, "c", 6, 100000, 0.3, 50e9);
	place = place_new(f.topo, f.routes, &f.workload, PLACE_HASHED);
	assert_int_equal(place_put(place, 0, f.workload.jobs[0].hosts), 0);
	assert_int_equal(place_pack(place, 2, hosts), -ENOSPC);
	assert_int_equal(place_pack(place, 1, hosts), 0);
	for (int i = 0; i < 5; i++)
		assert_true(hosts[i] != 0 && hosts[i] != 1 && hosts[i] != 4);
	assert_int_equal(place_put(place, 1, hosts), 0);
	place_remove(place, 0);
	assert_int_equal(place_pack(place, 0, hosts), 0);
	place_free(place);
	fixture_fini(&f);
}

static void
varied_packings_are_as_good_and_not_all_the_same(void **state)
{
	struct fixture f;
	struct place *place;
	uint32_t hosts[3], first = UINT32_MAX, n_other = 0;
	struct rng rng;

	(void)state;
	fixture_init(&f, 6, 4, 2, 50e9);
	fixture_job(&f, "a", 3, 100000, 0.3, 50e9);
	place = place_new(f.topo, f.routes, &f.workload, PLACE_HASHED);
	rng_init(&rng, 5);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(place_pack_varied(place, 0, &rng, hosts), 0);
		assert_int_equal(leaves_of(hosts, 3, 4), 1);
		n_other += first != UINT32_MAX && hosts[0] != first;
		first = hosts[0];
	}
	assert_true(n_other > 5);
	place_free(place);
	fixture_fini(&f);
}

/* Two of three leaves have crossing jobs; the third has room. */
static void
search_finds_the_links_that_nobody_uses(void **state)
{
	struct fixture f;
	struct place *place;
	struct place_candidates candidates;

	(void)state;
	fixture_init(&f, 4, 4, 1, 50e9);
	ON(fixture_job(&f, "a", 4, 100000, 0.5, 50e9), 0, 1, 4, 5);
	ON(fixture_job(&f, "x", 2, 100000, 0.5, 1e9), 8, 9);
	fixture_job(&f, "b", 3, 100000, 0.5, 50e9);
	place = place_new(f.topo, f.routes, &f.workload, PLACE_HASHED);
	for (uint32_t j = 0; j < 2; j++)
		assert_int_equal(place_put(place, j, f.workload.jobs[j].hosts), 0);
	assert_int_equal(place_search(place, 2, 1, 200, 10, &candidates), 0);
	assert_int_equal(leaves_of(candidates.items[0].hosts, 3, 4), 1);
	assert_near(candidates.items[0].loss, 0, 1e-12);
	place_candidates_fini(&candidates);
	place_free(place);
	fixture_fini(&f);
}

/* The new job must span two leaves.  Packing would use one of the busy pair. */
static void
search_prefers_leaves_with_idle_uplinks(void **state)
{
	struct fixture f;
	struct place *place;
	struct place_candidates candidates;
	struct place_candidate packed;
	uint32_t hosts[4];

	(void)state;
	fixture_init(&f, 4, 4, 1, 50e9);
	/* Leaves 0 and 1 share a ring; 2 and 3 have only local work. */
	ON(fixture_job(&f, "a", 2, 100000, 0.5, 50e9), 0, 4);
	ON(fixture_job(&f, "x", 1, 100000, 0.5, 1e9), 8);
	ON(fixture_job(&f, "y", 1, 100000, 0.5, 1e9), 12);
	fixture_job(&f, "b", 4, 97000, 0.5, 50e9);
	place = place_new(f.topo, f.routes, &f.workload, PLACE_HASHED);
	for (uint32_t j = 0; j < 3; j++)
		assert_int_equal(place_put(place, j, f.workload.jobs[j].hosts), 0);
	assert_int_equal(place_pack(place, 3, hosts), 0);
	place_rate(place, 3, hosts, &packed);
	assert_true(packed.loss > 0);
	assert_true(packed.n_contended > 0);
	free(packed.hosts);
	assert_int_equal(place_search(place, 3, 1, 200, 10, &candidates), 0);
	assert_near(candidates.items[0].loss, 0, 1e-12);
	assert_int_equal(candidates.items[0].n_contended, 0);
	for (int i = 0; i < 4; i++)
		assert_true(candidates.items[0].hosts[i] >= 8);
	place_candidates_fini(&candidates);
	place_free(place);
	fixture_fini(&f);
}

/* ---- Properties on random states ----------------------------------------------- */

/* Puts jobs of random size on random hosts, one slot each. */
static struct place *
random_state(struct fixture *f, struct rng *rng, uint32_t n_jobs)
{
	struct place *place;
	uint32_t n_hosts = topo_n_hosts(f->topo), order[64], at = 0;

	for (uint32_t i = 0; i < n_hosts; i++)
		order[i] = i;
	for (uint32_t i = n_hosts - 1; i > 0; i--) {
		uint32_t k = (uint32_t)rng_below(rng, i + 1), swap = order[i];

		order[i] = order[k];
		order[k] = swap;
	}
	for (uint32_t j = 0; j < n_jobs; j++) {
		uint32_t n = 2 + (uint32_t)rng_below(rng, 3);
		struct work_job *job = fixture_job(
			f, "j", n, 1000 * (int64_t)(80 + rng_below(rng, 40)),
			0.2 + 0.3 * rng_uniform(rng), 50e9);

		fixture_on(job, order + at);
		at += n;
	}
	fixture_job(f, "new", 4, 100000, 0.4, 50e9);
	place = place_new(f->topo, f->routes, &f->workload, PLACE_HASHED);
	for (uint32_t j = 0; j < n_jobs; j++)
		assert_int_equal(place_put(place, j, f->workload.jobs[j].hosts), 0);
	return place;
}

static void
candidates_are_legal_ordered_and_different(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 11);
	for (int round = 0; round < 30; round++) {
		struct fixture f;
		struct place *place;
		struct place_candidates c;

		fixture_init(&f, 6, 4, 2, 50e9);
		place = random_state(&f, &rng, 5);
		assert_int_equal(place_search(place, 5, 1, 60, 8, &c), 0);
		assert_true(c.n >= 1 && c.n <= 8);
		for (size_t i = 0; i < c.n; i++) {
			for (int k = 0; k < 4; k++) {
				for (uint32_t j = 0; j < 5; j++)
					for (uint32_t m = 0;
					     m < f.workload.jobs[j].n_hosts_wanted; m++)
						assert_int_not_equal(
							c.items[i].hosts[k],
							f.workload.jobs[j].hosts[m]);
				if (k > 0)
					assert_true(c.items[i].hosts[k - 1] <
						    c.items[i].hosts[k]);
			}
			if (i > 0) {
				assert_true(c.items[i - 1].loss <=
					    c.items[i].loss + 1e-8);
				assert_memory_not_equal(c.items[i].hosts,
							c.items[i - 1].hosts,
							4 * sizeof(uint32_t));
			}
		}
		place_candidates_fini(&c);
		place_free(place);
		fixture_fini(&f);
	}
}

static void
putting_and_removing_leaves_no_trace(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 12);
	for (int round = 0; round < 30; round++) {
		struct fixture f;
		struct place *place;
		struct place_candidate rated, again;
		uint32_t hosts[4];

		fixture_init(&f, 6, 4, 2, 50e9);
		place = random_state(&f, &rng, 5);
		assert_int_equal(place_pack_varied(place, 5, &rng, hosts), 0);
		place_rate(place, 5, hosts, &rated);
		assert_true(rated.loss >= 0);
		assert_int_equal(place_put(place, 5, hosts), 0);
		place_remove(place, 5);
		place_rate(place, 5, hosts, &again);
		assert_near(again.loss, rated.loss, 1e-12);
		assert_int_equal(again.n_contended, rated.n_contended);
		free(rated.hosts);
		free(again.hosts);
		place_free(place);
		fixture_fini(&f);
	}
}

static void
same_seed_same_candidates(void **state)
{
	(void)state;
	for (int round = 0; round < 5; round++) {
		struct place_candidates c[2];

		for (int k = 0; k < 2; k++) {
			struct fixture f;
			struct place *place;
			struct rng rng;

			rng_init(&rng, 100 + (uint64_t)round);
			fixture_init(&f, 6, 4, 2, 50e9);
			place = random_state(&f, &rng, 5);
			assert_int_equal(place_search(place, 5, 42, 100, 8, &c[k]), 0);
			place_free(place);
			fixture_fini(&f);
		}
		assert_int_equal(c[0].n, c[1].n);
		for (size_t i = 0; i < c[0].n; i++)
			assert_memory_equal(c[0].items[i].hosts, c[1].items[i].hosts,
					    4 * sizeof(uint32_t));
		place_candidates_fini(&c[0]);
		place_candidates_fini(&c[1]);
	}
}

static void
packs_into_one_pod_of_a_fat_tree(void **state)
{
	struct gen_fat_tree options = { .k = 4 };
	struct fixture f = { 0 };
	struct place *place;
	uint32_t hosts[4];

	(void)state;
	assert_int_equal(gen_fat_tree(&options, &f.topo, NULL), 0);
	f.routes = routes_new(f.topo, 1);
	/* One host of the first pod is taken; only other pods have four left. */
	ON(fixture_job(&f, "a", 1, 100000, 0.3, 50e9), 1);
	fixture_job(&f, "b", 4, 100000, 0.3, 50e9);
	place = place_new(f.topo, f.routes, &f.workload, PLACE_HASHED);
	assert_int_equal(place_put(place, 0, f.workload.jobs[0].hosts), 0);
	assert_int_equal(place_pack(place, 1, hosts), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(hosts[i], 4 + i);
	place_free(place);
	fixture_fini(&f);
}

/* Lifted and returned, or put in another place, a job has the paths that it had. */
static void
a_job_keeps_its_paths_when_it_is_lifted_or_copied(void **state)
{
	static const uint32_t spread[2][4] = { { 0, 1, 4, 8 }, { 2, 5, 6, 9 } };
	struct fixture f;
	struct place *place, *copy;
	struct place_lifted *lifted;
	double bounds[2];
	uint32_t paths[2][4];

	(void)state;
	fixture_init(&f, 4, 4, 3, 50e9);
	fixture_job(&f, "a", 4, 100000, 0.5, 50e9);
	fixture_job(&f, "b", 4, 90000, 0.5, 50e9);
	place = place_new(f.topo, f.routes, &f.workload, PLACE_CHOSEN);
	copy = place_new(f.topo, f.routes, &f.workload, PLACE_CHOSEN);
	for (uint32_t j = 0; j < 2; j++)
		assert_int_equal(place_put(place, j, spread[j]), 0);
	assert_int_equal(place_improve_paths(place, 1), 0);
	for (uint32_t j = 0; j < 2; j++) {
		bounds[j] = place_bound(place, j);
		memcpy(paths[j], place_routed_job(place, j)->paths, sizeof paths[j]);
		assert_int_equal(place_put_as(copy, j, place), 0);
	}
	lifted = place_lift(place, 0);
	assert_null(place_hosts(place, 0));
	assert_int_equal(place_free_slots(place, 4), 1);
	place_return(place, 0, lifted);
	for (uint32_t j = 0; j < 2; j++) {
		assert_near(place_bound(place, j), bounds[j], 1e-12);
		assert_near(place_bound(copy, j), bounds[j], 1e-12);
		assert_memory_equal(place_routed_job(place, j)->paths, paths[j],
				    sizeof paths[j]);
		assert_memory_equal(place_routed_job(copy, j)->paths, paths[j],
				    sizeof paths[j]);
		assert_memory_equal(place_hosts(copy, j), spread[j], sizeof spread[j]);
	}
	assert_int_equal(place_free_slots(place, 4), 0);
	/* The paths of its next place are chosen, too. */
	place_remove(place, 0);
	assert_int_equal(place_put(place, 0, spread[0]), 0);
	assert_int_equal(place_improve_paths(place, 1), 0);
	assert_near(place_bound(place, 0), bounds[0], 1e-12);
	place_free(place);
	place_free(copy);
	fixture_fini(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_keeps_its_paths_when_it_is_lifted_or_copied),
		cmocka_unit_test(packs_into_the_leaf_that_fits_best),
		cmocka_unit_test(takes_as_few_leaves_as_it_can),
		cmocka_unit_test(respects_slots_and_says_when_there_are_too_few),
		cmocka_unit_test(varied_packings_are_as_good_and_not_all_the_same),
		cmocka_unit_test(search_finds_the_links_that_nobody_uses),
		cmocka_unit_test(search_prefers_leaves_with_idle_uplinks),
		cmocka_unit_test(candidates_are_legal_ordered_and_different),
		cmocka_unit_test(putting_and_removing_leaves_no_trace),
		cmocka_unit_test(same_seed_same_candidates),
		cmocka_unit_test(packs_into_one_pod_of_a_fat_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
