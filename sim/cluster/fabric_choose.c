/*
 * fabric_choose.c - which of several plans is taken, by what jobs do to each other there.
 *
 * antiphase takes the plan whose jobs lose least: the sum over jobs of GPUs times how much
 * longer an iteration takes than alone, as the engine has it.  CASSINI takes the one with the
 * best score (Algorithm 2), the mean over the links on which jobs meet that could fill them;
 * a plan with a loop where a job is placed anew is discarded, and if all are, the policy's
 * own is taken.  Of equals the first.  Nothing is better than a plan in which nobody meets
 * anybody, so the first of those is taken without a look at the others.
 */
#include <math.h>

#include "scheduler/policy/augment.h"
#include "sim/cluster/fabric_priv.h"

#define NEAR 1e-9 /* What rounding may add to a sum. */

struct judgement {
	double loss;  /* GPUs. */
	double score; /* Sum over links. */
	size_t n_links;
	bool has_loop;
};

static void
judge_component(struct fabric *fabric, const uint32_t *at, void *ctx)
{
	struct judgement *judgement = ctx;
	struct fabric_known known = fabric_recall(fabric);
	bool is_new = false;

	(void)at;
	for (size_t i = 0; i < fabric->members.n; i++) {
		const struct placed *placed = fabric->members.items[i];

		judgement->loss += placed->n_gpus * (1 / known.speeds[i] - 1);
		is_new |= placed != &fabric->placed[placed->id];
	}
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

/* Makes 'there' the jobs of a plan that are on several hosts. */
static void
look(struct fabric *fabric, const struct pol_view *view, const struct pol_plan *plan)
{
	fabric->there.n = 0;
	for (size_t i = 0; i < plan->grants.n; i++) {
		const struct pol_grant *grant = &plan->grants.items[i];
		const struct placed *placed =
			fabric_try(fabric, &view->jobs[grant->job],
				   plan->pieces.items + grant->first_piece,
				   grant->n_pieces, grant->n_gpus);

		if (placed)
			vec_push(&fabric->there, placed);
	}
	if (fabric->there.n)
		qsort(fabric->there.items, fabric->there.n, sizeof *fabric->there.items,
		      compare_placed);
}

static void
note_meeting(struct fabric *fabric, const uint32_t *at, void *ctx)
{
	(void)fabric;
	(void)at;
	*(bool *)ctx = true;
}

/* The first plan in which nobody meets anybody; 'n' if there is none. */
static uint32_t
find_quiet(struct fabric *fabric, const struct pol_view *view,
	   const struct pol_plan *plans, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		bool meets = false;

		look(fabric, view, &plans[i]);
		fabric_components(fabric, note_meeting, &meets);
		if (!meets)
			return i;
	}
	return n;
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

uint32_t
fabric_choose(void *ctx, const struct pol_view *view, const struct pol_plan *plans,
	      uint32_t n)
{
	struct fabric *fabric = ctx;
	const double most = fabric->opts.augment == FABRIC_ANTIPHASE ? 0 : 1;
	double best = -INFINITY;
	uint32_t chosen = 0;

	fabric->counts.n_choices++;
	chosen = find_quiet(fabric, view, plans, n);
	if (chosen < n)
		return chosen;
	chosen = 0;
	for (uint32_t i = 0; i < n && best < most - NEAR; i++) {
		struct judgement judgement = { 0 };
		double value;

		look(fabric, view, &plans[i]);
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
