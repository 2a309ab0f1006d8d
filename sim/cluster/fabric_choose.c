/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fabric_choose.c - the choice among plans, by contention on the fabric.
 *
 * antiphase takes the plan whose jobs lose least.  With g_j the GPUs of job j, and s
 * the time of an iteration over its isolated time, as simulated by the engine, the
 * loss is
 *
 *	sum over jobs j of g_j (mean over the iterations of j of s^2 - 1),
 *
 * but for a constant the square of the L2 norm of slowdowns.  An L_p norm is the usual
 * compromise between the mean (p = 1), under which a job on few GPUs may wait for
 * large ones again and again, and the maximum (p without bound), for which all other
 * jobs are sacrificed (Bansal and Pruhs, "Server Scheduling in the Lp Norm", STOC
 * 2003). An iteration with s = 1.5 costs 1.25, one with s = 3 costs 8. The same sum
 * decides whether a component's shifts at gates are used (fabric_solve.c).
 *
 * CASSINI takes the plan with the best score (Algorithm 2), the mean over shared links
 * that the jobs could fill.  A plan with a loop through a job that is placed anew is
 * discarded; if all are, the policy's own plan is taken.
 *
 * Among equals the first plan is taken.  No plan is better than one without shared
 * links, so the first of those is taken without evaluating the others' harm.  Above
 * FABRIC_MANY jobs in a component, antiphase runs no simulation, as a difference
 * between short windows would be chance, and takes the plan that costs least: by the
 * harm of all links with the paths that would be chosen (fabric_paths.h), or, if flows
 * are hashed, by the expected overlap (fabric_overlap()).  By that harm the jobs of the
 * chosen plan are then placed anew one by one (augment.h).
 *
 * Where antiphase chooses paths, fragments decide among plans that do nearly equal harm.
 * A fragment is a part of a job in one of several racks.  Jobs to come get the nodes
 * that present jobs leave, so in a full cluster scattered jobs leave scattered nodes,
 * until racks have more flows than uplinks, and no choice of paths helps.
 */
#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "policies/augment.h"
#include "sim/baselines/monkeytree.h"
#include "sim/cluster/fabric_move.h"
#include "sim/cluster/fabric_priv.h"

#define NEAR 1e-9 /* Tolerance for rounding in sums. */
/*
 * The cost of a fragment, in the unit of harm, GPUs times slowdown: less than any harm
 * that matters.  Chosen: with 0.01, 0.2 and 2 the mean completion in the experiment of
 * docs/repro-cassini.md on 512 servers is 326, 328 and 332 s, without it 350 s.
 */
#define FRAGMENT_COST 0.01

struct judgement {
	double loss;  /* See the header. */
	double score; /* Sum over links. */
	size_t n_links;
	bool has_loop;
};

static void
judge_component(struct fabric *fabric, const uint32_t *at, void *ctx)
{
	struct judgement *judgement = ctx;
	bool is_antiphase = fabric->opts.augment == FABRIC_ANTIPHASE, is_new = false;
	struct fabric_known known =
		is_antiphase ? fabric_recall(fabric) : fabric_score(fabric);

	(void)at;
	for (size_t i = 0; i < fabric->members.n; i++) {
		const struct placed *placed = fabric->members.items[i];

		if (is_antiphase)
			judgement->loss += placed->n_gpus * (known.squares[i] - 1);
		is_new |= placed != &fabric->placed[placed->id];
	}
	if (is_antiphase)
		return;
	if (known.has_loop) {
		judgement->has_loop |= is_new;
		return;
	}
	judgement->score += known.score * (double)known.n_links;
	judgement->n_links += known.n_links;
}

static int
compare_placed(const void *pa, const void *pb)
{
	const struct placed *a = *(const struct placed *const *)pa;
	const struct placed *b = *(const struct placed *const *)pb;

	return (a->id > b->id) - (a->id < b->id);
}

void
fabric_place_plan(struct fabric *fabric, const struct pol_view *view,
		  const struct pol_plan *plan, bool is_run)
{
	fabric->there.n = 0;
	for (size_t i = 0; i < plan->grants.n; i++) {
		const struct pol_grant *grant = &plan->grants.items[i];
		struct placed *placed =
			fabric_try(fabric, &view->jobs[grant->job],
				   plan->pieces.items + grant->first_piece,
				   grant->n_pieces, grant->n_gpus);

		if (placed && (!is_run || fabric_isolate(fabric, placed) == 0))
			vec_push(&fabric->there, placed);
	}
	sort_items(fabric->there.items, fabric->there.n, compare_placed);
	if (fabric->paths)
		fabric_paths_set(fabric->paths, fabric->there.items, fabric->there.n);
}

static void
note_size(struct fabric *fabric, const uint32_t *at, void *ctx)
{
	size_t *largest = ctx;

	(void)at;
	if (fabric->members.n > *largest)
		*largest = fabric->members.n;
}

/* The parts of jobs on several racks in a plan; 0 if they do not count. */
static size_t
count_fragments(struct fabric *fabric, const struct pol_plan *plan)
{
	size_t sum = 0;

	for (size_t i = 0; fabric->paths && i < plan->grants.n; i++) {
		const struct pol_grant *grant = &plan->grants.items[i];
		const struct pol_piece *pieces =
			plan->pieces.items + grant->first_piece;
		size_t n_racks = 0;

		if (fabric->model_of[grant->job] == POL_NONE)
			continue;
		fabric->seen++;
		for (uint32_t k = 0; k < grant->n_pieces; k++) {
			uint32_t *seen =
				&fabric->seen_by[fabric->rack_of[pieces[k].node]];

			n_racks += *seen != fabric->seen;
			*seen = fabric->seen;
		}
		sum += n_racks > 1 ? n_racks : 0;
	}
	return sum;
}

/*
 * The first plan without shared links, of those with fewest fragments, or 'n'; and the
 * largest component of the others.
 */
static uint32_t
find_quiet(struct fabric *fabric, const struct pol_view *view,
	   const struct pol_plan *plans, uint32_t n, size_t *ret_largest)
{
	size_t fewest = SIZE_MAX;
	uint32_t quiet = n;

	for (uint32_t i = 0; i < n && fewest > 0; i++) {
		size_t largest = 0, n_fragments = count_fragments(fabric, &plans[i]);

		if (n_fragments >= fewest)
			continue;
		fabric_place_plan(fabric, view, &plans[i], false);
		fabric_components(fabric, note_size, &largest);
		if (!largest) {
			quiet = i;
			fewest = n_fragments;
		}
		if (largest > *ret_largest)
			*ret_largest = largest;
	}
	return quiet;
}

/* The cost of a plan without a run; see struct augment. */
static double
judge(void *ctx, const struct pol_view *view, const struct pol_plan *plan,
      double at_most)
{
	struct fabric *fabric = ctx;
	double cost = FRAGMENT_COST * (double)count_fragments(fabric, plan);

	if (cost >= at_most)
		return cost;
	fabric_place_plan(fabric, view, plan, !fabric->paths);
	return cost + (fabric->paths ? fabric_paths_harm(fabric->paths)
				     : fabric_overlap(fabric));
}

/* The plan that costs least without a run; among equals the first. */
static uint32_t
find_cheapest(struct fabric *fabric, const struct pol_view *view,
	      const struct pol_plan *plans, uint32_t n)
{
	double least = INFINITY;
	uint32_t chosen = 0;

	for (uint32_t i = 0; i < n; i++) {
		double cost = judge(fabric, view, &plans[i], least);

		if (cost < least * (1 - NEAR)) {
			least = cost;
			chosen = i;
		}
	}
	return chosen;
}

static double
merit(const struct fabric *fabric, const struct judgement *judgement)
{
	if (fabric->opts.augment == FABRIC_ANTIPHASE)
		return -judgement->loss;
	if (judgement->has_loop)
		return -INFINITY;
	return judgement->n_links ? judgement->score / (double)judgement->n_links : 1;
}

static uint32_t
choose(void *ctx, const struct pol_view *view, const struct pol_plan *plans, uint32_t n)
{
	struct fabric *fabric = ctx;
	bool is_antiphase = fabric->opts.augment == FABRIC_ANTIPHASE;
	const double most = is_antiphase ? 0 : 1;
	double best = -INFINITY;
	size_t largest = 0;
	uint32_t chosen;

	fabric->counts.n_choices++;
	chosen = find_quiet(fabric, view, plans, n, &largest);
	if (chosen < n)
		return chosen;
	chosen = 0;
	if (is_antiphase && largest > FABRIC_MANY) {
		fabric->counts.n_judged += n;
		return find_cheapest(fabric, view, plans, n);
	}
	for (uint32_t i = 0; i < n && best < most - NEAR; i++) {
		struct judgement judgement = { 0 };
		double value;

		fabric_place_plan(fabric, view, &plans[i], true);
		fabric_components(fabric, judge_component, &judgement);
		value = merit(fabric, &judgement);
		fabric->counts.n_judged++;
		if (value > best + (i ? NEAR : 0)) {
			best = value;
			chosen = i;
		}
	}
	return chosen;
}

static void
move_monkeytree(void *ctx, const struct pol_view *view, struct pol_plan *plan,
		double *lost_s)
{
	struct fabric *fabric = ctx;
	uint32_t *n_left = xcalloc(plan->grants.n + 1, sizeof *n_left);

	fabric->counts.n_nodes_moved +=
		fabric_monkeytree_move(fabric->monkeytree, view, plan, n_left);
	for (size_t i = 0; i < plan->grants.n; i++)
		if (n_left[i] > 0)
			lost_s[i] = n_left[i] * MONKEYTREE_MOVE_S;
	free(n_left);
}

struct cluster_work
fabric_work(struct fabric *fabric)
{
	const bool moves_as_published =
		fabric->monkeytree && fabric->opts.augment == FABRIC_MONKEYTREE;
	const bool chooses = fabric->opts.augment == FABRIC_CASSINI ||
			     fabric->opts.augment == FABRIC_CASSINI_ONCE ||
			     fabric_pulls(fabric, ADVISE_PLACE);

	return (struct cluster_work){
		.ctx = fabric,
		.rates = fabric_rates,
		.worked = fabric->opts.measure ? fabric_worked : NULL,
		.augment = { .ctx = fabric,
			     .choose = chooses ? choose : NULL,
			     .judge = fabric->paths && chooses ? judge : NULL },
		.move = moves_as_published                  ? move_monkeytree
			: fabric_pulls(fabric, ADVISE_MOVE) ? fabric_move
							    : NULL,
	};
}
