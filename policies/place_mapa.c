/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_mapa.c - the GPUs of a server whose links suit a job best (MAPA, SC 2021).
 *
 * Every set of free GPUs of a server is a candidate; a ring or all pairs of the set
 * communicate.  The greedy rule takes the most summed bandwidth.  The preserving rule
 * gives a job that depends on bandwidth the most predicted effective bandwidth, and any
 * other job those GPUs that leave the most NVLink bandwidth to others.  Ties go to the
 * larger bandwidth of the job, then to the first server, then to the lowest set as a
 * number.
 */
#include <math.h>
#include <string.h>

#include "policies/order_list.h"
#include "policies/places.h"
#include "policies/rings.h"

enum {
	RULE,
	PATTERN,
	SENSITIVE,
	N_PARAMS,
};

struct state {
	bool preserves, all_pairs;
	double sensitive;
	struct rings *rings;          /* NULL: no server's inside is known. */
	double *nvlink_gb_s;          /* By set: of all its NVLinks. */
	VEC(uint64_t) busy, seen;     /* By node; sets that were searched. */
	VEC(uint32_t) nodes, scratch; /* The largest first. */
	VEC(double) keys;
};

/* GPUs that a job could get, the better the larger its scores. */
struct choice {
	uint32_t node;
	uint64_t gpus;
	double score, tie;
};

static const struct pol_param params[] = {
	[RULE] = POL_SWITCH("mapa.preserve",
			    "0: most bandwidth for each job (greedy); 1: jobs that do "
			    "not depend on bandwidth leave it to others",
			    1),
	[PATTERN] =
		POL_SWITCH("mapa.all_pairs",
			   "0: a job's GPUs communicate in a ring; 1: all pairs do", 0),
	[SENSITIVE] = { "mapa.sensitive_share",
			"network's share of an iteration from which on a job depends on "
			"bandwidth; so do jobs of unknown stages",
			0.1, 0, 1, false },
	[N_PARAMS] = { 0 },
};

static void
init(void *state, const double *values, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;
	const struct pol_inside *inside = cluster->inside;

	(void)rng;
	s->preserves = values[RULE] != 0;
	s->all_pairs = values[PATTERN] != 0;
	s->sensitive = values[SENSITIVE];
	if (!inside)
		return;
	s->rings = rings_new(inside);
	s->nvlink_gb_s = xcalloc((size_t)1 << inside->n_gpus, sizeof *s->nvlink_gb_s);
	for (uint32_t set = 1; set < UINT32_C(1) << inside->n_gpus; set++) {
		uint32_t first = (uint32_t)__builtin_ctz(set), rest = set & (set - 1);

		s->nvlink_gb_s[set] = s->nvlink_gb_s[rest];
		for (; rest; rest &= rest - 1) {
			enum inside_link link = inside_link(
				inside, first, (uint32_t)__builtin_ctz(rest));

			if (link != INSIDE_PCIE)
				s->nvlink_gb_s[set] += inside->gb_s[link];
		}
	}
}

static void
fini(void *state)
{
	struct state *s = state;

	rings_free(s->rings);
	free(s->nvlink_gb_s);
	vec_free(&s->busy);
	vec_free(&s->seen);
	vec_free(&s->nodes);
	vec_free(&s->scratch);
	vec_free(&s->keys);
}

/* ---- Scores ---------------------------------------------------------------------- */

static bool
is_sensitive(const struct state *s, const struct pol_job *job)
{
	double share =
		job->stage_s[2] / (job->stage_s[0] + job->stage_s[1] + job->stage_s[2]);

	return !(share < s->sensitive);
}

/* Bandwidth of all pairs, summed and predicted. */
static struct ring
all_pairs(const struct pol_inside *inside, uint64_t gpus)
{
	uint32_t n[INSIDE_N_LINKS] = { 0 };
	struct ring all = { 0 };

	for (uint64_t a = gpus; a; a &= a - 1)
		for (uint64_t b = a & (a - 1); b; b &= b - 1)
			n[inside_link(inside, (uint32_t)__builtin_ctzll(a),
				      (uint32_t)__builtin_ctzll(b))]++;
	for (int link = 0; link < INSIDE_N_LINKS; link++)
		all.gb_s += n[link] * inside->gb_s[link];
	all.predicted_gb_s = rings_predict_gb_s(n[INSIDE_DOUBLE_NVLINK],
						n[INSIDE_NVLINK], n[INSIDE_PCIE]);
	return all;
}

static void
rate(const struct state *s, const struct pol_inside *inside, bool sensitive,
     uint64_t free, struct choice *choice)
{
	struct ring own = s->all_pairs ? all_pairs(inside, choice->gpus)
				       : *rings_of(s->rings, choice->gpus);

	choice->tie = own.gb_s;
	if (!s->preserves)
		choice->score = own.gb_s;
	else if (sensitive)
		choice->score = own.predicted_gb_s;
	else /* What the server loses; other servers lose nothing. */
		choice->score =
			s->nvlink_gb_s[free & ~choice->gpus] - s->nvlink_gb_s[free];
}

static bool
is_better(const struct choice *a, const struct choice *b)
{
	return a->score > b->score || (a->score == b->score && a->tie > b->tie);
}

/* ---- Search ---------------------------------------------------------------------- */

/* The best GPUs of a node with room; in descending order of sets, so that ties go low. */
static struct choice
search_node(const struct state *s, const struct pol_cluster *cluster,
	    const struct pol_job *job, uint32_t node, uint32_t n_gpus)
{
	const struct pol_inside *inside = inside_of(cluster, node);
	struct choice best = { .node = node, .score = -INFINITY };
	bool sensitive = is_sensitive(s, job) && n_gpus > 1;
	uint64_t free;

	if (!inside)
		return best;
	free = inside_all(inside) & ~s->busy.items[node];
	for (uint64_t set = free; set; set = (set - 1) & free) {
		struct choice choice = { .node = node, .gpus = set };

		if ((uint32_t)__builtin_popcountll(set) != n_gpus)
			continue;
		rate(s, inside, sensitive, free, &choice);
		if (!is_better(&best, &choice))
			best = choice;
	}
	return best;
}

/* Whether an earlier node with the same free GPUs was searched. */
static bool
is_seen(struct state *s, uint64_t busy)
{
	for (size_t i = 0; i < s->seen.n; i++)
		if (s->seen.items[i] == busy)
			return true;
	vec_push(&s->seen, busy);
	return false;
}

static void
take(struct pol_free *free, struct pol_plan *plan, const struct choice *choice,
     uint32_t n_gpus)
{
	place_take_named(free, plan,
			 (struct pol_piece){ choice->node, n_gpus, choice->gpus });
}

/* The best GPUs of any node; false: no node has room. */
static bool
place_in_one(struct state *s, const struct pol_view *view, const struct pol_want *want,
	     struct pol_free *free, struct pol_plan *plan)
{
	const struct pol_cluster *cluster = view->cluster;
	struct choice best = { .node = POL_NONE };

	s->seen.n = 0;
	for (uint32_t i = 0; i < cluster->n_nodes; i++) {
		struct choice choice;

		if (free->n_free[i] < want->n_gpus ||
		    (inside_of(cluster, i) && is_seen(s, s->busy.items[i])))
			continue;
		choice = search_node(s, cluster, &view->jobs[want->job], i,
				     want->n_gpus);
		if (best.node == POL_NONE || is_better(&choice, &best))
			best = choice;
	}
	if (best.node == POL_NONE)
		return false;
	take(free, plan, &best, want->n_gpus);
	return true;
}

/* Sorts the nodes, those with the most GPUs first. */
static void
sort_nodes(struct state *s, const struct pol_cluster *cluster)
{
	s->nodes.n = s->keys.n = 0;
	vec_reserve(&s->scratch, cluster->n_nodes);
	for (uint32_t i = 0; i < cluster->n_nodes; i++) {
		vec_push(&s->nodes, i);
		vec_push(&s->keys, -(double)cluster->n_gpus[i]);
	}
	order_sort(s->nodes.items, cluster->n_nodes, s->keys.items, s->scratch.items);
}

/* Whole empty nodes, and a part of the last one; 0: too few are empty. */
static uint32_t
place_in_many(struct state *s, const struct pol_view *view, const struct pol_want *want,
	      struct pol_free *free, struct pol_plan *plan)
{
	const struct pol_cluster *cluster = view->cluster;
	uint32_t n_empty = 0, n_pieces = 0, left = want->n_gpus;

	for (uint32_t i = 0; i < cluster->n_nodes; i++)
		if (free->n_free[i] == cluster->n_gpus[i])
			n_empty += cluster->n_gpus[i];
	if (n_empty < want->n_gpus)
		return 0;
	sort_nodes(s, cluster);
	for (uint32_t i = 0; left; i++) {
		uint32_t node = s->nodes.items[i], n = cluster->n_gpus[node];
		struct choice choice;

		if (free->n_free[node] != n)
			continue;
		n = n < left ? n : left;
		choice = search_node(s, cluster, &view->jobs[want->job], node, n);
		take(free, plan, &choice, n);
		left -= n;
		n_pieces++;
	}
	place_sort(plan->pieces.items + plan->pieces.n - n_pieces, n_pieces);
	return n_pieces;
}

static uint32_t
place(void *state, const struct pol_view *view, const struct pol_want *want,
      struct pol_free *free, struct pol_plan *plan)
{
	struct state *s = state;
	const struct pol_cluster *cluster = view->cluster;
	uint32_t largest = 0;

	vec_reserve(&s->busy, cluster->n_nodes);
	place_busy(plan, cluster->n_nodes, s->busy.items);
	for (uint32_t i = 0; i < cluster->n_nodes; i++)
		if (cluster->n_gpus[i] > largest)
			largest = cluster->n_gpus[i];
	if (want->n_gpus > largest)
		return place_in_many(s, view, want, free, plan);
	return place_in_one(s, view, want, free, plan);
}

const struct pol_place place_mapa = {
	.module = { .name = "mapa",
		    .text = "the GPUs of a server whose links suit the job best",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini },
	.place = place,
};
