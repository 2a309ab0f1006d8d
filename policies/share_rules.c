/* SPDX-License-Identifier: Apache-2.0 */
/* share_rules.c - shares of GPUs, of time, of work (Gavel, OSDI 2020). */
#include <math.h>

#include "lib/base/vec.h"
#include "policies/math/shares.h"
#include "policies/share_types.h"
#include "policies/shares.h"

#define LEAST_S 1e-6 /* Least time, above 0. */
#define GRAINS  1e5  /* Of 1; shares of the largest throughput are rounded (Gavel). */

struct state {
	VEC(double) gpus;
	VEC(double) values;
	struct share_types types; /* For clusters with several types. */
	bool in_steps;            /* Value of throughput.in_steps. */
};

static void
fini(void *state)
{
	struct state *s = state;

	vec_free(&s->gpus);
	vec_free(&s->values);
	share_types_fini(&s->types);
}

static void
read_gpus(struct state *s, const struct pol_view *view, const uint32_t *ids, uint32_t n)
{
	s->gpus.n = s->values.n = 0;
	for (uint32_t i = 0; i < n; i++)
		vec_push(&s->gpus, view->jobs[ids[i]].n_gpus);
}

static void
equal(void *state, const struct pol_view *view, const uint32_t *ids, uint32_t n,
      double *ret_shares)
{
	struct state *s = state;

	if (view->cluster->n_types == 1) {
		shares_equal(n, view->cluster->n_all_gpus, ret_shares);
		return;
	}
	share_types_read(&s->types, view, ids, n);
	share_types_equal(&s->types, ret_shares);
	share_types_end(&s->types, 0, n, ret_shares);
}

/* Values are relative to an equal part of all types, as in Gavel. */
static void
max_min_types(struct state *s, const struct pol_view *view, const uint32_t *ids,
	      uint32_t n, double *ret_shares)
{
	struct share_types *types = &s->types;
	int r;

	share_types_read(types, view, ids, n);
	for (uint32_t i = 0; i < types->in.n_jobs; i++) {
		double mean = share_types_mean(types, i);

		for (uint32_t type = 0; type < types->in.n_types; type++)
			types->values.items[i * types->in.n_types + type] *=
				types->gpus.items[i] / mean;
	}
	r = shares_types_max_min(&types->in, ret_shares);
	share_types_end(types, r, n, ret_shares);
}

static void
max_min(void *state, const struct pol_view *view, const uint32_t *ids, uint32_t n,
	double *ret_shares)
{
	struct state *s = state;
	double capacity = view->cluster->n_all_gpus;

	if (view->cluster->n_types > 1) {
		max_min_types(s, view, ids, n, ret_shares);
		return;
	}
	read_gpus(s, view, ids, n);
	shares_max_min(s->gpus.items, NULL, n, capacity, ret_shares);
	shares_spread(s->gpus.items, n, capacity, ret_shares);
}

/* Maximizes the least fraction of remaining work done in a second. */
static void
makespan_types(struct state *s, const struct pol_view *view, const uint32_t *ids,
	       uint32_t n, double *ret_shares)
{
	struct share_types *types = &s->types;
	int r;

	share_types_read(types, view, ids, n);
	for (uint32_t i = 0; i < types->in.n_jobs; i++) {
		double left_s = fmax(LEAST_S, view->jobs[ids[i]].remaining_s);

		for (uint32_t type = 0; type < types->in.n_types; type++)
			types->values.items[i * types->in.n_types + type] /= left_s;
	}
	r = shares_types_max_min(&types->in, ret_shares);
	share_types_end(types, r, n, ret_shares);
}

static void
makespan(void *state, const struct pol_view *view, const uint32_t *ids, uint32_t n,
	 double *ret_shares)
{
	struct state *s = state;
	double capacity = view->cluster->n_all_gpus;

	if (view->cluster->n_types > 1) {
		makespan_types(s, view, ids, n, ret_shares);
		return;
	}
	read_gpus(s, view, ids, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct pol_job *job = &view->jobs[ids[i]];

		vec_push(&s->values, job->remaining_s / share_speed(view, job, 0));
	}
	shares_makespan(s->gpus.items, s->values.items, n, capacity, ret_shares);
	shares_spread(s->gpus.items, n, capacity, ret_shares);
}

static void
throughput_init(void *state, const double *params)
{
	struct state *s = state;

	s->in_steps = params[0] > 0;
}

/* What a job does in a second, over its speed. */
static double
unit_of(const struct state *s, const struct pol_job *job)
{
	return s->in_steps && job->iteration_s > 0 ? 1 / job->iteration_s : 1;
}

static void
throughput_types(struct state *s, const struct pol_view *view, const uint32_t *ids,
		 uint32_t n, double *ret_shares)
{
	struct share_types *types = &s->types;
	int r;

	share_types_read(types, view, ids, n);
	for (size_t i = 0; i < types->values.n; i++)
		types->values.items[i] *=
			unit_of(s, &view->jobs[ids[i / types->in.n_types]]);
	r = shares_types_most(&types->in, ret_shares);
	for (size_t i = 0; r == 0 && i < types->values.n; i++)
		ret_shares[i] = nearbyint(ret_shares[i] * GRAINS) / GRAINS;
	share_types_end(types, r, n, ret_shares);
}

static void
throughput(void *state, const struct pol_view *view, const uint32_t *ids, uint32_t n,
	   double *ret_shares)
{
	struct state *s = state;

	if (view->cluster->n_types > 1) {
		throughput_types(s, view, ids, n, ret_shares);
		return;
	}
	read_gpus(s, view, ids, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct pol_job *job = &view->jobs[ids[i]];

		vec_push(&s->values, share_speed(view, job, 0) * unit_of(s, job));
	}
	shares_most(s->gpus.items, s->values.items, n, view->cluster->n_all_gpus,
		    ret_shares);
}

const struct share_rule share_equal = {
	.state_size = sizeof(struct state),
	.fini = fini,
	.shares = equal,
};
const struct share_rule share_max_min = {
	.state_size = sizeof(struct state),
	.fini = fini,
	.shares = max_min,
};
const struct share_rule share_makespan = {
	.state_size = sizeof(struct state),
	.fini = fini,
	.shares = makespan,
};
const struct share_rule share_throughput = {
	.state_size = sizeof(struct state),
	.init = throughput_init,
	.fini = fini,
	.shares = throughput,
};
