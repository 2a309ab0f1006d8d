/* SPDX-License-Identifier: Apache-2.0 */
/*
 * size_marginal.c - each GPU goes to the job with the largest marginal gain.
 *
 * By remaining time (Optimus, EuroSys 2018, section 4.1): T(k) - T(k + 1), where T(k)
 * is the remaining time on k GPUs.  By loss (SLAQ, SoCC 2017): with x the fraction of
 * work done, the loss is l(x) = 1 / (1 + c x), as first-order methods converge; the
 * gain is l(x + d(k)) - l(x + d(k + 1)), where d(k) is the work done until the next
 * round.  All losses begin at 1, so they compare.  GPUs are assumed to be packed on
 * few nodes.
 */
#include <math.h>

#include "policies/order_list.h"
#include "policies/plan.h"
#include "policies/sizes.h"

#define EQUAL (1 + 1e-9) /* Gains closer than this are equal: rounding. */

enum {
	STEEPNESS,
	EPOCH_S,
	N_PARAMS,
};

struct state {
	double steepness, epoch_s;
	VEC(double) worth; /* Gain of one more GPU, by want. */
	VEC(struct pol_want) wants;
	VEC(double) keys;
	VEC(uint32_t) at, scratch;
};

typedef double (*worth_fn)(const struct state *s, const struct pol_view *view,
			   const struct pol_job *job, uint32_t n_gpus);

static void
init(void *state, const double *params, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;

	(void)cluster;
	(void)rng;
	s->steepness = params[STEEPNESS];
	s->epoch_s = params[EPOCH_S];
}

static void
fini(void *state)
{
	struct state *s = state;

	vec_free(&s->worth);
	vec_free(&s->wants);
	vec_free(&s->keys);
	vec_free(&s->at);
	vec_free(&s->scratch);
}

/* ---- Gains ----------------------------------------------------------------------- */

static double
speed_on(const struct pol_view *view, const struct pol_job *job, uint32_t n_gpus)
{
	uint32_t n_most = 1;

	if (!view->speed.speed)
		return 1;
	for (uint32_t i = 0; i < view->cluster->n_nodes; i++)
		if (view->cluster->n_gpus[i] > n_most)
			n_most = view->cluster->n_gpus[i];
	return view->speed.speed(view->speed.ctx, job, n_gpus,
				 (n_gpus + n_most - 1) / n_most, 0, NULL, 0);
}

static double
worth_in_time(const struct state *s, const struct pol_view *view,
	      const struct pol_job *job, uint32_t n_gpus)
{
	(void)s;
	return job->remaining_s / speed_on(view, job, n_gpus) -
	       job->remaining_s / speed_on(view, job, n_gpus + 1);
}

/* The loss after an epoch at 'speed'. */
static double
loss(const struct state *s, const struct pol_job *job, double speed)
{
	double left = (job->remaining_s - speed * s->epoch_s) / job->duration_s;

	return 1 / (1 + s->steepness * (1 - fmax(0, left)));
}

static double
worth_in_loss(const struct state *s, const struct pol_view *view,
	      const struct pol_job *job, uint32_t n_gpus)
{
	return loss(s, job, speed_on(view, job, n_gpus)) -
	       loss(s, job, speed_on(view, job, n_gpus + 1));
}

/* ---- Sizing ---------------------------------------------------------------------- */

static double
worth_of_next(const struct state *s, const struct pol_view *view,
	      const struct pol_want *want, worth_fn worth)
{
	const struct pol_job *job = &view->jobs[want->job];
	double value;

	if (want->n_gpus >= job->max_gpus)
		return 0;
	value = worth(s, view, job, want->n_gpus);
	return isnan(value) ? 0 : value;
}

/* Sorts by size, smallest first; stable. */
static void
sort_by_size(struct state *s, struct pol_want *wants, uint32_t n)
{
	s->wants.n = s->keys.n = s->at.n = 0;
	vec_reserve(&s->scratch, n);
	for (uint32_t i = 0; i < n; i++) {
		vec_push(&s->wants, wants[i]);
		vec_push(&s->keys, wants[i].n_gpus);
		vec_push(&s->at, i);
	}
	order_sort(s->at.items, n, s->keys.items, s->scratch.items);
	for (uint32_t i = 0; i < n; i++)
		wants[i] = s->wants.items[s->at.items[i]];
}

/* An elastic job's memory must fit. */
static uint32_t
least_gpus(const struct pol_view *view, const struct pol_job *job)
{
	struct needs capacity = pol_cluster_capacity(view->cluster, 0);
	uint32_t n = needs_least_gpus(&job->needs, job->n_gpus, &capacity);

	return job->max_gpus > job->n_gpus && n < job->n_gpus ? n : job->n_gpus;
}

static void
size(struct state *s, const struct pol_view *view, struct pol_want *wants, uint32_t n,
     worth_fn worth)
{
	uint32_t n_free = pol_cluster_usable(view->cluster);

	s->worth.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct pol_job *job = &view->jobs[wants[i].job];
		uint32_t n_least = least_gpus(view, job);

		wants[i].n_gpus = n_least <= n_free ? n_least : 0;
		n_free -= wants[i].n_gpus;
		vec_push(&s->worth, wants[i].n_gpus
					    ? worth_of_next(s, view, &wants[i], worth)
					    : 0);
	}
	while (n && n_free) {
		uint32_t best = 0;

		for (uint32_t i = 1; i < n; i++)
			if (s->worth.items[i] > s->worth.items[best] * EQUAL)
				best = i;
		if (!(s->worth.items[best] > 0))
			break;
		wants[best].n_gpus++;
		n_free--;
		s->worth.items[best] = worth_of_next(s, view, &wants[best], worth);
	}
	sort_by_size(s, wants, n);
}

static void
by_time(void *state, const struct pol_view *view, struct pol_want *wants, uint32_t n)
{
	size(state, view, wants, n, worth_in_time);
}

static void
by_loss(void *state, const struct pol_view *view, struct pol_want *wants, uint32_t n)
{
	size(state, view, wants, n, worth_in_loss);
}

static const struct pol_param loss_params[] = {
	[STEEPNESS] = { "slaq.steepness",
			"c of the loss 1 / (1 + c x), with x the fraction of work done",
			9, 0, 1e6, false },
	[EPOCH_S] = { "slaq.horizon_s",
		      "horizon over which the loss is extrapolated, s", 60, 1e-3, 1e6,
		      false },
	{ 0 },
};

const struct pol_size size_time = {
	.module = { .name = "marginal-time",
		    .text = "each GPU to the job whose remaining time it reduces most",
		    .state_size = sizeof(struct state),
		    .fini = fini },
	.size = by_time,
};
const struct pol_size size_loss = {
	.module = { .name = "marginal-loss",
		    .text = "each GPU to the job whose loss it reduces most",
		    .params = loss_params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini },
	.size = by_loss,
};
