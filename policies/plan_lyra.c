/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_lyra.c - training on its own servers and on those that inference lends (Lyra,
 * EuroSys 2023).
 *
 * The last nodes belong to inference, which lends them (loans.h).  On those that it does
 * not want at a time and on the training servers
 *
 *	1. running jobs keep n_gpus of their GPUs, and waiting ones, least predicted
 *	   duration first, get n_gpus, on training servers if they suffice;
 *	2. the GPUs that are left become extra workers of elastic jobs, for the largest
 *	   sum of reductions of remaining time: a multiple-choice knapsack whose items
 *	   are k extra workers of a job.  They go onto lent servers first.
 */
#include <math.h>

#include "policies/loans.h"
#include "policies/math/knapsack.h"
#include "policies/order_list.h"
#include "policies/places.h"
#include "policies/planners.h"
#include "policies/predicted.h"

#define LEAST_S 1 /* Least predicted remaining time. */

enum {
	BY,
	SHARE,
	PEAK_HOUR,
	LEAST,
	N_PARAMS,
};

struct extra {
	uint32_t grant, node, n_gpus;
};

struct state {
	struct order_list list; /* Its keys: predicted durations. */
	struct predicted predicted;
	struct loans loans;
	VEC(uint32_t) parts;              /* By node. */
	void *place;                      /* State of the placement; owned. */
	VEC(uint32_t) n_free, n_training; /* By node: free GPUs; of training servers. */
	VEC(uint32_t) by_node;
	struct pol_free free;
	VEC(uint32_t) waiting;
	struct pol_plan base; /* After the first step. */
	VEC(struct knapsack_choice) choices;
	VEC(uint32_t) taken;  /* By grant. */
	VEC(uint32_t) n_more; /* By grant: extra workers to place. */
	VEC(struct extra) extras;
};

static void
init(void *state, const double *params, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;

	(void)rng;
	s->predicted.by_oracle = params[BY] != 0;
	loans_init(&s->loans, cluster, params[SHARE], params[PEAK_HOUR], params[LEAST]);
	for (uint32_t i = 0; i < cluster->n_nodes; i++)
		vec_push(&s->parts, i < s->loans.first ? 0 : i);
	s->place = place_best_fit_new(cluster, false);
}

static void
fini(void *state)
{
	struct state *s = state;

	order_list_fini(&s->list);
	predicted_fini(&s->predicted);
	loans_fini(&s->loans);
	place_best_fit_free(s->place);
	vec_free(&s->parts);
	vec_free(&s->n_free);
	vec_free(&s->n_training);
	vec_free(&s->by_node);
	vec_free(&s->waiting);
	pol_plan_fini(&s->base);
	vec_free(&s->choices);
	vec_free(&s->taken);
	vec_free(&s->n_more);
	vec_free(&s->extras);
}

static void
on_event(void *state, const struct pol_view *view, enum pol_event event,
	 const struct pol_job *job)
{
	struct state *s = state;

	if (event == POL_ARRIVED)
		order_list_keys(&s->list, view)[job->id] =
			predicted_duration_s(&s->predicted, job);
	else if (event == POL_DONE)
		predicted_learn(&s->predicted, job);
	order_list_event(&s->list, event, job->id);
}

static double
wakeup_s(void *state, const struct pol_view *view)
{
	const struct state *s = state;

	return loans_next_s(&s->loans, view);
}

/* ---- What jobs asked for --------------------------------------------------------- */

static void
begin(struct state *s, const struct pol_cluster *cluster)
{
	s->n_free.n = s->n_training.n = s->by_node.n = 0;
	s->free.n_all = 0;
	for (uint32_t i = 0; i < cluster->n_nodes; i++) {
		uint32_t n = s->loans.is_lent.items[i] ? pol_node_gpus(cluster, i) : 0;

		vec_push(&s->n_free, n);
		vec_push(&s->n_training, 0);
		vec_push(&s->by_node, 0);
		s->free.n_all += n;
	}
	s->free.n_free = s->n_free.items;
	pol_plan_clear(&s->base);
}

/*
 * A running job keeps n_gpus of its GPUs that are there, on training servers first: its
 * nodes ascend.  Returns false if there are fewer.
 */
static bool
keep(struct state *s, const struct pol_job *job)
{
	size_t first = s->base.pieces.n;
	uint32_t left = job->n_gpus;

	for (uint32_t i = 0; i < job->n_pieces && left; i++) {
		uint32_t n = job->pieces[i].n_gpus;

		if (s->n_free.items[job->pieces[i].node] < n)
			continue;
		n = n < left ? n : left;
		place_take(&s->free, &s->base, job->pieces[i].node, n);
		left -= n;
	}
	if (!left) {
		pol_plan_grant(&s->base, job->id, job->n_gpus, job->id, first);
		return true;
	}
	place_give_back(&s->free, s->base.pieces.items + first,
			(uint32_t)(s->base.pieces.n - first));
	s->base.pieces.n = first;
	return false;
}

/* On training servers alone. */
static bool
place_on_training(struct state *s, const struct pol_view *view,
		  const struct pol_want *want)
{
	struct pol_free training = { s->n_training.items, 0 };
	size_t first = s->base.pieces.n;
	uint32_t n;

	for (uint32_t i = 0; i < s->loans.first; i++) {
		s->n_training.items[i] = s->n_free.items[i];
		training.n_all += s->n_free.items[i];
	}
	n = place_best_fit.place(s->place, view, want, &training, &s->base);
	for (uint32_t i = 0; i < n; i++) {
		s->n_free.items[s->base.pieces.items[first + i].node] -=
			s->base.pieces.items[first + i].n_gpus;
		s->free.n_all -= s->base.pieces.items[first + i].n_gpus;
	}
	return n;
}

static void
start(struct state *s, const struct pol_view *view, const struct pol_job *job)
{
	struct pol_want want = place_want(job);
	size_t first = s->base.pieces.n;

	if (job->n_gpus > s->free.n_all)
		return;
	if (place_on_training(s, view, &want) ||
	    place_best_fit.place(s->place, view, &want, &s->free, &s->base))
		pol_plan_grant(&s->base, job->id, job->n_gpus, job->id, first);
}

static void
serve(struct state *s, const struct pol_view *view)
{
	s->waiting.n = 0;
	for (size_t i = 0; i < s->list.ids.n; i++) {
		const struct pol_job *job = &view->jobs[s->list.ids.items[i]];

		if (!job->n_pieces || !keep(s, job))
			vec_push(&s->waiting, job->id);
	}
	order_list_sort_ids(&s->list, s->waiting.items, (uint32_t)s->waiting.n);
	for (size_t i = 0; i < s->waiting.n && s->free.n_all; i++)
		start(s, view, &view->jobs[s->waiting.items[i]]);
}

/* ---- Extra workers --------------------------------------------------------------- */

/* Predicted remaining time on 'n_gpus' GPUs, packed on few nodes. */
static double
remaining_s(const struct state *s, const struct pol_view *view,
	    const struct pol_job *job, uint32_t n_gpus)
{
	double left_s =
		s->list.keys.items[job->id] - job->duration_s + job->remaining_s;
	uint32_t n_most = 1;

	for (uint32_t i = 0; i < view->cluster->n_nodes; i++)
		if (view->cluster->n_gpus[i] > n_most)
			n_most = view->cluster->n_gpus[i];
	return fmax(left_s, LEAST_S) / view->speed.speed(view->speed.ctx, job, n_gpus,
							 (n_gpus + n_most - 1) / n_most,
							 0, NULL, 0);
}

static void
add_choices(struct state *s, const struct pol_view *view, uint32_t class)
{
	const struct pol_job *job = &view->jobs[s->base.grants.items[class].job];
	uint32_t n_most = job->max_gpus > job->n_gpus ? job->max_gpus - job->n_gpus : 0;
	double before_s;

	if (!n_most || !view->speed.speed)
		return;
	before_s = remaining_s(s, view, job, job->n_gpus);
	for (uint32_t k = 1; k <= n_most && k <= s->free.n_all; k++) {
		double value = before_s - remaining_s(s, view, job, job->n_gpus + k);

		if (isfinite(value) && value > 0)
			vec_push(&s->choices,
				 ((struct knapsack_choice){ class, 0, k, value }));
	}
}

static void
choose_extras(struct state *s, const struct pol_view *view)
{
	uint32_t n = (uint32_t)s->base.grants.n;

	s->choices.n = s->taken.n = s->n_more.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		vec_push(&s->taken, KNAPSACK_NONE);
		add_choices(s, view, i);
	}
	/* A problem that is too large is solved approximately. */
	if (s->choices.n)
		(void)knapsack_solve(s->choices.items, (uint32_t)s->choices.n, n,
				     &s->free.n_all, 1, s->taken.items);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = s->taken.items[i];

		vec_push(&s->n_more,
			 at == KNAPSACK_NONE ? 0 : s->choices.items[at].weight);
	}
}

/* Gives a job up to 'n' extra workers on a node. */
static void
add_extra(struct state *s, uint32_t grant, uint32_t node, uint32_t n)
{
	uint32_t *n_more = &s->n_more.items[grant];

	n = n < *n_more ? n : *n_more;
	n = n < s->n_free.items[node] ? n : s->n_free.items[node];
	if (!n)
		return;
	vec_push(&s->extras, ((struct extra){ grant, node, n }));
	s->n_free.items[node] -= n;
	s->free.n_all -= n;
	*n_more -= n;
}

/* Extra workers that a job has stay where they are, first those on lent servers. */
static void
keep_extras(struct state *s, const struct pol_view *view, uint32_t at)
{
	const struct pol_grant *grant = &s->base.grants.items[at];
	const struct pol_job *job = &view->jobs[grant->job];

	for (uint32_t i = job->n_pieces; i-- > 0;) {
		uint32_t node = job->pieces[i].node, n = job->pieces[i].n_gpus;

		for (uint32_t k = 0; k < grant->n_pieces; k++) {
			const struct pol_piece *piece =
				&s->base.pieces.items[grant->first_piece + k];

			if (piece->node == node)
				n -= piece->n_gpus < n ? piece->n_gpus : n;
		}
		add_extra(s, at, node, n);
	}
}

/* The lent servers, then the others: the one with most room. */
static uint32_t
find_room(const struct state *s)
{
	uint32_t best = POL_NONE;

	for (uint32_t i = (uint32_t)s->n_free.n; i-- > 0;) {
		if (i + 1 == s->loans.first && best != POL_NONE)
			break;
		if (s->n_free.items[i] &&
		    (best == POL_NONE || s->n_free.items[i] >= s->n_free.items[best]))
			best = i;
	}
	return best;
}

static void
place_extras(struct state *s, const struct pol_view *view)
{
	s->extras.n = 0;
	for (uint32_t i = 0; i < s->n_more.n; i++)
		keep_extras(s, view, i);
	for (uint32_t i = 0; i < s->n_more.n; i++)
		while (s->n_more.items[i])
			add_extra(s, i, find_room(s), UINT32_MAX);
}

/* Writes a grant with its extra workers. */
static void
write_grant(struct state *s, uint32_t at, struct pol_plan *plan)
{
	const struct pol_grant *grant = &s->base.grants.items[at];
	size_t first = plan->pieces.n;
	uint32_t n = grant->n_gpus;

	for (uint32_t i = 0; i < grant->n_pieces; i++) {
		const struct pol_piece *piece =
			&s->base.pieces.items[grant->first_piece + i];

		s->by_node.items[piece->node] += piece->n_gpus;
	}
	for (size_t i = 0; i < s->extras.n; i++)
		if (s->extras.items[i].grant == at) {
			s->by_node.items[s->extras.items[i].node] +=
				s->extras.items[i].n_gpus;
			n += s->extras.items[i].n_gpus;
		}
	for (uint32_t i = 0; i < s->by_node.n; i++) {
		if (s->by_node.items[i])
			vec_push(&plan->pieces,
				 ((struct pol_piece){ i, s->by_node.items[i], 0 }));
		s->by_node.items[i] = 0;
	}
	pol_plan_grant(plan, grant->job, n, grant->job, first);
}

static uint32_t
plan(void *state, const struct pol_view *view, struct pol_plan *plans, uint32_t n_max)
{
	struct state *s = state;

	(void)n_max;
	loans_follow(&s->loans, view);
	begin(s, view->cluster);
	serve(s, view);
	choose_extras(s, view);
	place_extras(s, view);
	for (uint32_t i = 0; i < s->base.grants.n; i++)
		write_grant(s, i, &plans[0]);
	return 1;
}

static const uint32_t *
parts(const void *state)
{
	return ((const struct state *)state)->parts.items;
}

static const struct pol_param params[] = {
	[BY] = PREDICTED_PARAM,
	[SHARE] = { "lyra.loaned_share",
		    "share of the nodes, the last ones, that inference lends (assumed)",
		    0.25, 0, 0.9, false },
	[PEAK_HOUR] = { "lyra.peak_hour",
			"hour of the day at which inference wants all of them back; "
			"time 0 is midnight (assumed)",
			14, 0, 24, false },
	[LEAST] = { "lyra.least_load",
		    "share of them that inference wants 12 hours later (assumed)", 0, 0,
		    1, false },
	[N_PARAMS] = { 0 },
};

const struct pol_planner planner_lyra = {
	.module = { .name = "lyra",
		    .text = "shortest first on training and lent servers, then extra "
			    "workers",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini,
		    .on_event = on_event,
		    .wakeup_s = wakeup_s },
	.plan = plan,
	.parts = parts,
};
