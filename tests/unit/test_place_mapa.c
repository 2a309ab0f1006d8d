/* SPDX-License-Identifier: Apache-2.0 */
/* test_place_mapa.c - GPUs of a server by their links */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/rng.h"
#include "policies/places.h"
#include "policies/rings.h"
#include "tests/unit/policy_lab.h"

static const uint32_t eight[LAB_NODES] = { 8, 8, 8, 8 };

static struct pol_cluster
servers(const char *name, uint32_t n)
{
	struct pol_cluster cluster = lab_cluster_of(eight, n);

	cluster.inside = inside_find(name);
	return cluster;
}

/* Submits a job with this network share of its iteration; NAN: unknown. */
static uint32_t
submit(struct policy_lab *lab, uint32_t n_gpus, double share)
{
	return lab_add(lab, (struct pol_job){ .submit_s = lab->view.now_s,
					      .n_gpus = n_gpus,
					      .max_gpus = n_gpus,
					      .duration_s = 10,
					      .remaining_s = 10,
					      .first_s = NAN,
					      .stage_s = { 0, 1 - share, share } });
}

/* The GPUs of the job's only piece, and its node. */
static uint64_t
gpus_of(const struct policy_lab *lab, uint32_t job, uint32_t *ret_node)
{
	const struct pol_grant *grant = pol_plan_find(&lab->plans[0], job);
	const struct pol_piece *piece;

	assert_non_null(grant);
	assert_int_equal(grant->n_pieces, 1);
	piece = &lab->plans[0].pieces.items[grant->first_piece];
	if (ret_node)
		*ret_node = piece->node;
	return piece->gpus;
}

static void
a_pair_gets_a_double_link(void **state)
{
	struct policy_lab lab;
	uint32_t a, b;

	(void)state;
	lab_init_on(&lab, servers("dgx-v", 1), "mapa", NULL);
	a = submit(&lab, 2, 0.5);
	b = submit(&lab, 2, NAN);
	lab_plan(&lab, 1);
	/* The lowest of the pairs with 50 GB/s: 1-2, then 0-3. */
	assert_int_equal(gpus_of(&lab, a, NULL), 1u << 1 | 1u << 2);
	assert_int_equal(gpus_of(&lab, b, NULL), 1u << 0 | 1u << 3);
	lab_fini(&lab);
}

static void
running_jobs_keep_their_very_gpus(void **state)
{
	struct policy_lab lab;
	uint32_t a, b, c;
	uint64_t before;

	(void)state;
	lab_init_on(&lab, servers("dgx-v", 1), "mapa", NULL);
	a = submit(&lab, 3, 0.5);
	b = submit(&lab, 2, 0);
	lab_plan(&lab, 1);
	before = gpus_of(&lab, b, NULL);
	assert_true(!(before & gpus_of(&lab, a, NULL)));
	lab_carry_out(&lab);
	lab_finish(&lab, a);
	c = submit(&lab, 6, 0.5);
	lab_plan(&lab, 1);
	assert_int_equal(gpus_of(&lab, b, NULL), before);
	assert_int_equal(gpus_of(&lab, c, NULL), 0xff & ~before);
	lab_fini(&lab);
}

/* Strict order: a job that does not fit blocks those behind it. */
static void
it_is_first_come_first_served(void **state)
{
	struct policy_lab lab;
	uint32_t b, c;

	(void)state;
	lab_init_on(&lab, servers("dgx-v", 1), "mapa", NULL);
	submit(&lab, 5, 0.5);
	b = submit(&lab, 4, 0.5);
	c = submit(&lab, 1, 0.5);
	lab_plan(&lab, 1);
	assert_null(pol_plan_find(&lab.plans[0], b));
	assert_null(pol_plan_find(&lab.plans[0], c));
	lab_fini(&lab);
}

static void
a_large_job_gets_whole_servers(void **state)
{
	struct policy_lab lab;
	const struct pol_grant *grant;
	uint32_t a;

	(void)state;
	lab_init_on(&lab, servers("dgx-v", 4), "mapa", NULL);
	submit(&lab, 1, 0.5);
	a = submit(&lab, 20, 0.5);
	lab_plan(&lab, 4); /* Variants must not move GPUs that are named. */
	assert_int_equal(lab.n_plans, 1);
	grant = pol_plan_find(&lab.plans[0], a);
	assert_int_equal(grant->n_pieces, 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct pol_piece *piece =
			&lab.plans[0].pieces.items[grant->first_piece + i];

		assert_int_equal(piece->node, i + 1);
		assert_int_equal(__builtin_popcountll(piece->gpus), i < 2 ? 8 : 4);
	}
	lab_fini(&lab);
}

/* A server without a graph has GPUs without names. */
static void
other_servers_are_used_by_number(void **state)
{
	struct policy_lab lab;
	uint32_t a, node;

	(void)state;
	lab_init_on(&lab, servers("summit", 2), "mapa", NULL);
	a = submit(&lab, 5, 0.5);
	lab_plan(&lab, 1);
	assert_int_equal(gpus_of(&lab, a, &node), 0);
	assert_int_equal(node, 0);
	lab_fini(&lab);
}

/* ---- Against all sets and orders ------------------------------------------------- */

enum rule {
	GREEDY,
	PREDICTED,
	LEFT,
};

struct best {
	double score, tie;
	uint32_t node;
	uint64_t gpus;
};

/* Bandwidth of all NVLinks among the GPUs. */
static double
nvlinks(const struct pol_inside *in, uint64_t gpus)
{
	double sum = 0;

	for (uint32_t a = 0; a < in->n_gpus; a++)
		for (uint32_t b = 0; b < a; b++)
			if ((gpus >> a & 1) && (gpus >> b & 1) &&
			    inside_link(in, a, b) != INSIDE_PCIE)
				sum += in->gb_s[inside_link(in, a, b)];
	return sum;
}

/* Considers one match: the job's GPUs in the order of the ring. */
static void
consider(const struct pol_inside *in, enum rule rule, uint32_t node, uint64_t free,
	 const uint32_t *ring, uint32_t n, struct best *best)
{
	uint32_t count[INSIDE_N_LINKS] = { 0 };
	struct best match = { .node = node };

	for (uint32_t i = 0; i < n; i++) {
		enum inside_link link =
			n > 1 ? inside_link(in, ring[i], ring[(i + 1) % n]) : 0;

		match.gpus |= UINT64_C(1) << ring[i];
		count[link] += n > 1;
		match.tie += n > 1 ? in->gb_s[link] : 0;
	}
	match.score = rule == GREEDY ? match.tie
		      : rule == LEFT
			      ? nvlinks(in, free & ~match.gpus) - nvlinks(in, free)
			      : rings_predict_gb_s(count[2], count[1], count[0]);
	if (match.score > best->score + 1e-9)
		*best = match;
	else if (match.score > best->score - 1e-9 &&
		 (match.tie > best->tie ||
		  (match.tie == best->tie &&
		   (match.node < best->node ||
		    (match.node == best->node && match.gpus < best->gpus)))))
		*best = match;
}

static void
consider_all(const struct pol_inside *in, enum rule rule, uint32_t node, uint64_t free,
	     uint32_t *ring, uint32_t at, uint32_t n, uint64_t used, struct best *best)
{
	if (at == n)
		consider(in, rule, node, free, ring, n, best);
	for (uint32_t i = 0; at < n && i < in->n_gpus; i++)
		if ((free & ~used) >> i & 1) {
			ring[at] = i;
			consider_all(in, rule, node, free, ring, at + 1, n,
				     used | UINT64_C(1) << i, best);
		}
}

/* With the predicted bandwidth, a tie is decided by a bandwidth of another ring. */
static void
check_choice(const struct pol_inside *in, enum rule rule, const struct best *best,
	     uint32_t node, uint64_t gpus)
{
	struct rings *rings = rings_new(in);

	if (rule == PREDICTED)
		assert_near(rings_of(rings, gpus)->predicted_gb_s, best->score, 1e-9);
	else if (node != best->node || gpus != best->gpus)
		fail_msg("GPUs %#llx of node %u instead of %#llx of %u",
			 (unsigned long long)gpus, node, (unsigned long long)best->gpus,
			 best->node);
	rings_free(rings);
}

static void
check_against_all(const char *server, const char *set, enum rule rule, uint32_t n_max,
		  uint64_t seed)
{
	const char *sets[] = { set };
	const struct policy_opts opts = {
		.seed = 1, .sets = sets, .n_sets = 1, .round_s = NAN, .restart_s = NAN
	};
	const struct pol_inside *in = inside_find(server);
	uint32_t gpus[2] = { in->n_gpus, in->n_gpus };
	struct pol_cluster cluster = lab_cluster_of(gpus, 2);
	struct policy_lab lab;
	struct rng rng;

	rng_init(&rng, seed);
	cluster.inside = in;
	lab_init_on(&lab, cluster, "mapa", &opts);
	for (int i = 0; i < LAB_JOBS; i++) {
		uint64_t free[2] = { inside_all(in), inside_all(in) };
		struct best best = { .score = -INFINITY };
		uint32_t n = 1 + (uint32_t)rng_below(&rng, n_max), id, node;
		uint32_t ring[INSIDE_MAX_GPUS];

		for (uint32_t k = 0; k < lab.view.n_jobs; k++) {
			const struct pol_job *job = &lab.jobs[lab.ids[k]];

			free[job->pieces[0].node] &= ~job->pieces[0].gpus;
		}
		id = submit(&lab, n, rule == LEFT ? 0 : 0.5);
		for (uint32_t k = 0; k < 2; k++)
			consider_all(in, n == 1 && rule == PREDICTED ? LEFT : rule, k,
				     free[k], ring, 0, n, 0, &best);
		lab_plan(&lab, 1);
		if (best.score == -INFINITY) {
			assert_null(pol_plan_find(&lab.plans[0], id));
			lab_finish(&lab, id);
		} else {
			uint64_t chosen = gpus_of(&lab, id, &node);

			check_choice(in, n == 1 && rule == PREDICTED ? LEFT : rule,
				     &best, node, chosen);
		}
		lab_carry_out(&lab);
		/* Some end, the first of those that are left. */
		if (lab.view.n_jobs && rng_below(&rng, 2))
			lab_finish(&lab, lab.ids[rng_below(&rng, lab.view.n_jobs)]);
	}
	lab_fini(&lab);
}

static void
it_takes_the_best_of_all_matches(void **state)
{
	static const struct {
		const char *set;
		enum rule rule;
	} rules[] = { { "mapa.preserve=0", GREEDY },
		      { "mapa.preserve=1", PREDICTED },
		      { "mapa.preserve=1", LEFT } };

	(void)state;
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		for (uint64_t seed = 1; seed <= 2; seed++) {
			check_against_all("dgx-v", rules[i].set, rules[i].rule, 5,
					  seed);
			check_against_all("dgx-p", rules[i].set, rules[i].rule, 4,
					  seed);
			check_against_all("summit", rules[i].set, rules[i].rule, 5,
					  seed);
			check_against_all("power8", rules[i].set, rules[i].rule, 4,
					  seed);
		}
	check_against_all("torus", "mapa.preserve=1", PREDICTED, 3, 1);
}

/* Bandwidth of all pairs. */
static double
all_links(const struct pol_inside *in, uint64_t gpus)
{
	double sum = 0;

	for (uint32_t a = 0; a < in->n_gpus; a++)
		for (uint32_t b = 0; b < a; b++)
			if ((gpus >> a & 1) && (gpus >> b & 1))
				sum += in->gb_s[inside_link(in, a, b)];
	return sum;
}

/* Four GPUs of a socket of dgx-v have three double and three single links. */
static void
all_pairs_may_communicate(void **state)
{
	const char *sets[] = { "mapa.preserve=0", "mapa.all_pairs=1" };
	const struct policy_opts opts = {
		.seed = 1, .sets = sets, .n_sets = 2, .round_s = NAN, .restart_s = NAN
	};
	const struct pol_inside *in = inside_find("dgx-v");
	struct policy_lab lab;
	double best = 0;
	uint32_t a;

	(void)state;
	lab_init_on(&lab, servers("dgx-v", 1), "mapa", &opts);
	a = submit(&lab, 4, 0.5);
	lab_plan(&lab, 1);
	for (uint64_t set = 1; set < 256; set++)
		if (__builtin_popcountll(set) == 4)
			best = fmax(best, all_links(in, set));
	assert_near(all_links(in, gpus_of(&lab, a, NULL)), best, 1e-9);
	assert_near(best, 225, 1e-9);
	lab_fini(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pair_gets_a_double_link),
		cmocka_unit_test(running_jobs_keep_their_very_gpus),
		cmocka_unit_test(it_is_first_come_first_served),
		cmocka_unit_test(a_large_job_gets_whole_servers),
		cmocka_unit_test(other_servers_are_used_by_number),
		cmocka_unit_test(it_takes_the_best_of_all_matches),
		cmocka_unit_test(all_pairs_may_communicate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
