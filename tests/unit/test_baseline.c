/* SPDX-License-Identifier: Apache-2.0 */
/* test_baseline.c - paths and priorities of jobs on fabrics, as Crux and MonkeyTree choose */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "sim/baselines/baseline.h"
#include "tests/unit/test.h"
#include "topology/gen_table.h"
#include "topology/route.h"
#include "topology/topo.h"

#define MOST 16
#define BPS  50e9

#define LEAF_SPINE "leaf-spine --leaves 4 --spines 4 --hosts-per-leaf 4 --gbps 50"

struct lab {
	struct topo *topo;
	struct routes *routes;
	const uint32_t *hosts;
	struct work_job work[MOST];
	struct routed_job routed[MOST];
	struct baseline_job jobs[MOST];
	size_t n;
};

static void
lab_init(struct lab *lab, const char *fabric)
{
	struct err err = { 0 };
	size_t n_hosts;

	*lab = (struct lab){ .n = 0 };
	assert_int_equal(gen_text(fabric, &lab->topo, &err), 0);
	lab->routes = routes_new(lab->topo, 1);
	lab->hosts = topo_hosts(lab->topo, &n_hosts);
}

static void
lab_fini(struct lab *lab)
{
	for (size_t j = 0; j < lab->n; j++) {
		work_job_fini(&lab->work[j]);
		routed_job_fini(&lab->routed[j]);
	}
	routes_free(lab->routes);
	topo_unref(lab->topo);
}

/* Adds a ring on hosts of the fabric that computes, then sends. */
static void
add(struct lab *lab, const uint32_t *numbers, uint32_t n, double compute_s,
    double send_s, double n_gpus)
{
	const size_t j = lab->n++;
	struct work_job *work = &lab->work[j];

	*work = (struct work_job){ .collective = COLLECTIVE_RING,
				   .n_hosts_wanted = n,
				   .slots_per_host = 1,
				   .n_segments = 2,
				   .weight = n,
				   .first_port = (uint16_t)(1000 * (j + 1)) };
	work->hosts = xcalloc(n, sizeof *work->hosts);
	for (uint32_t i = 0; i < n; i++)
		work->hosts[i] = lab->hosts[numbers[i]];
	work->segments = xcalloc(2, sizeof *work->segments);
	work->segments[0].compute_ns = (int64_t)(compute_s * 1e9);
	work->segments[1].nic_bytes = send_s * BPS / 8;
	assert_int_equal(work_job_profile_from_segments(work, BPS, NULL), 0);
	assert_int_equal(routed_job_make(work, work->hosts, lab->topo, lab->routes,
					 &lab->routed[j]),
			 0);
	lab->jobs[j] = (struct baseline_job){ .work = work,
					      .hosts = work->hosts,
					      .routed = &lab->routed[j],
					      .n_gpus = n_gpus };
}

/* Jobs of random sizes on all hosts of a fabric, in random places. */
static void
add_scattered(struct lab *lab, struct rng *rng, uint32_t n_hosts, uint32_t n_jobs)
{
	uint32_t *numbers = xcalloc(n_hosts, sizeof *numbers), first = 0;

	for (uint32_t i = 0; i < n_hosts; i++)
		numbers[i] = i;
	rng_shuffle(rng, numbers, n_hosts);
	for (uint32_t j = 0; j < n_jobs; j++) {
		uint32_t n = n_hosts / n_jobs;

		add(lab, numbers + first, n, 0.1 + rng_uniform(rng),
		    0.1 + rng_uniform(rng), n);
		first += n;
	}
	free(numbers);
}

static int
choose(struct lab *lab, enum baseline baseline)
{
	return baseline_route(baseline, lab->jobs, lab->n, lab->topo, lab->routes, 7);
}

static bool
is_between_switches(const struct topo *topo, uint32_t link)
{
	return topo_node(topo, topo_link(topo, link)->from)->kind == TOPO_SWITCH &&
	       topo_node(topo, topo_link(topo, link)->to)->kind == TOPO_SWITCH;
}

/* Flows on each link. */
static uint32_t *
count_flows(const struct lab *lab)
{
	uint32_t *counts = xcalloc(topo_n_links(lab->topo), sizeof *counts);

	for (size_t j = 0; j < lab->n; j++) {
		const struct routed_job *routed = &lab->routed[j];

		for (size_t i = 0; i < routed->path_first[routed->flows.n]; i++)
			counts[routed->path_links[i]]++;
	}
	return counts;
}

/* The links of a leaf to or from spines carry floor(n / spines) or one more. */
static void
assert_even(const struct lab *lab, uint32_t n_spines)
{
	uint32_t *counts = count_flows(lab);

	for (uint32_t v = 0; v < topo_n_nodes(lab->topo); v++) {
		uint32_t sum[2] = { 0 }, least[2] = { UINT32_MAX, UINT32_MAX },
			 most[2] = { 0 };

		if (topo_node(lab->topo, v)->tier != 1)
			continue;
		for (uint32_t l = 0; l < topo_n_links(lab->topo); l++) {
			const struct topo_link *link = topo_link(lab->topo, l);
			int side = link->to == v;

			if ((link->from != v && link->to != v) ||
			    !is_between_switches(lab->topo, l))
				continue;
			sum[side] += counts[l];
			least[side] = counts[l] < least[side] ? counts[l] : least[side];
			most[side] = counts[l] > most[side] ? counts[l] : most[side];
		}
		for (int side = 0; side < 2; side++) {
			assert_true(least[side] >= sum[side] / n_spines);
			assert_true(most[side] <=
				    (sum[side] + n_spines - 1) / n_spines);
		}
	}
	free(counts);
}

static void
monkeytree_spreads_the_flows_of_each_leaf_evenly(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 5);
	for (uint32_t i = 0; i < 40; i++) {
		struct lab lab;

		/* 2 spines with 2 cables each are 4 uplinks, too. */
		lab_init(&lab, i % 2 ? LEAF_SPINE
				     : "leaf-spine --leaves 4 --spines 2 --parallel 2 "
				       "--hosts-per-leaf 4 --gbps 50");
		add_scattered(&lab, &rng, 16, 1 + i % 8);
		assert_int_equal(choose(&lab, BASELINE_MONKEYTREE), 0);
		assert_even(&lab, 4);
		/* The result does not depend on the paths before. */
		assert_int_equal(choose(&lab, BASELINE_MONKEYTREE), 0);
		for (size_t j = 0; j < lab.n; j++)
			assert_int_equal(lab.jobs[j].n_changed, 0);
		lab_fini(&lab);
	}
}

static void
monkeytree_needs_two_tiers(void **state)
{
	const uint32_t apart[] = { 0, 8 };
	struct lab lab;

	(void)state;
	lab_init(&lab, "fat-tree --k 4 --gbps 50");
	add(&lab, apart, 2, 1, 1, 2);
	assert_int_equal(choose(&lab, BASELINE_MONKEYTREE), -ENOTSUP);
	assert_int_equal(choose(&lab, BASELINE_CRUX), 0);
	lab_fini(&lab);
}

/* The largest number of flows of different jobs on a link between switches. */
static uint32_t
most_on_a_link(const struct lab *lab)
{
	uint32_t *counts = count_flows(lab), most = 0;

	for (uint32_t l = 0; l < topo_n_links(lab->topo); l++)
		if (is_between_switches(lab->topo, l) && counts[l] > most)
			most = counts[l];
	free(counts);
	return most;
}

/* As many flows leave and enter each leaf as it has uplinks. */
static void
crux_avoids_what_hashing_shares(void **state)
{
	struct lab lab;

	(void)state;
	lab_init(&lab, LEAF_SPINE);
	for (uint32_t j = 0; j < 4; j++) {
		const uint32_t mine[] = { j, 4 + j };

		add(&lab, mine, 2, 1, 1, 2);
	}
	assert_true(most_on_a_link(&lab) > 1);
	assert_int_equal(choose(&lab, BASELINE_CRUX_PATHS), 0);
	assert_int_equal(most_on_a_link(&lab), 1);
	for (uint32_t j = 0; j < 4; j++)
		assert_int_equal(lab.jobs[j].priority, 0);
	/* Now nothing is less congested than what they have. */
	assert_int_equal(choose(&lab, BASELINE_CRUX_PATHS), 0);
	for (uint32_t j = 0; j < 4; j++)
		assert_int_equal(lab.jobs[j].n_changed, 0);
	lab_fini(&lab);
}

/* The published example, with 5 GPUs for an intensity of 5: see test_crux_pair.c. */
static void
the_published_example_puts_the_smaller_job_first(void **state)
{
	const uint32_t a[] = { 0, 2 }, b[] = { 1, 3 }, c[] = { 4, 5 };
	struct lab lab;

	(void)state;
	lab_init(&lab, "leaf-spine --leaves 3 --spines 1 --hosts-per-leaf 2 --gbps 50");
	add(&lab, a, 2, 2, 2, 5);
	add(&lab, b, 2, 1, 1, 5);
	add(&lab, c, 2, 1, 1, 1);
	assert_int_equal(choose(&lab, BASELINE_CRUX), 0);
	assert_int_equal(lab.jobs[1].priority, 7);
	assert_int_equal(lab.jobs[0].priority, 6);
	/* It shares no link. */
	assert_int_equal(lab.jobs[2].priority, 7);
	lab_fini(&lab);
}

static void
where_the_fabric_sprays_paths_stay(void **state)
{
	const uint32_t a[] = { 0, 4 }, b[] = { 1, 5 };
	struct lab lab;

	(void)state;
	lab_init(&lab, LEAF_SPINE " --balance spray");
	add(&lab, a, 2, 2, 2, 5);
	add(&lab, b, 2, 1, 1, 5);
	assert_int_equal(lab.routed[0].flows.n, 8);
	for (int k = 0; k < N_BASELINES; k++) {
		assert_int_equal(choose(&lab, (enum baseline)k), 0);
		assert_int_equal(lab.jobs[0].n_changed, 0);
		assert_int_equal(lab.routed[0].flows.n, 8);
	}
	lab_fini(&lab);
}

/* The routes of "spray" on a fabric that hashes are those of a fabric that sprays. */
static void
spraying_routes_are_those_of_a_fabric_that_sprays(void **state)
{
	const uint32_t a[] = { 0, 4, 8 };
	struct lab hashes, sprays;
	struct routed_job routed;
	struct routes *routes;

	(void)state;
	lab_init(&hashes, LEAF_SPINE);
	lab_init(&sprays, LEAF_SPINE " --balance spray");
	add(&hashes, a, 3, 1, 1, 3);
	add(&sprays, a, 3, 1, 1, 3);
	routes = routes_new_spraying(hashes.topo, 1);
	assert_int_equal(routed_job_make(&hashes.work[0], hashes.work[0].hosts,
					 hashes.topo, routes, &routed),
			 0);
	assert_int_equal(routed.flows.n, sprays.routed[0].flows.n);
	assert_int_equal(routed.footprint.n, sprays.routed[0].footprint.n);
	for (size_t i = 0; i < routed.footprint.n; i++) {
		const struct footprint_entry *entry = &routed.footprint.entries[i];

		assert_int_equal(entry->link,
				 sprays.routed[0].footprint.entries[i].link);
		assert_near(entry->factor, sprays.routed[0].footprint.entries[i].factor,
			    0);
	}
	assert_memory_equal(routed.path_links, sprays.routed[0].path_links,
			    routed.path_first[routed.flows.n] * sizeof(uint32_t));
	assert_false(routes_all_hash(routes));
	routed_job_fini(&routed);
	routes_free(routes);
	lab_fini(&hashes);
	lab_fini(&sprays);
}

static void
jobs_without_flows_and_no_jobs_are_fine(void **state)
{
	const uint32_t alone[] = { 3 };
	struct lab lab;

	(void)state;
	lab_init(&lab, LEAF_SPINE);
	for (int k = 0; k < N_BASELINES; k++)
		assert_int_equal(choose(&lab, (enum baseline)k), 0);
	add(&lab, alone, 1, 1, 1, 1);
	for (int k = 0; k < N_BASELINES; k++)
		assert_int_equal(choose(&lab, (enum baseline)k), 0);
	assert_int_equal(lab.jobs[0].priority, 0);
	lab_fini(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(monkeytree_spreads_the_flows_of_each_leaf_evenly),
		cmocka_unit_test(monkeytree_needs_two_tiers),
		cmocka_unit_test(crux_avoids_what_hashing_shares),
		cmocka_unit_test(the_published_example_puts_the_smaller_job_first),
		cmocka_unit_test(where_the_fabric_sprays_paths_stay),
		cmocka_unit_test(spraying_routes_are_those_of_a_fabric_that_sprays),
		cmocka_unit_test(jobs_without_flows_and_no_jobs_are_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
