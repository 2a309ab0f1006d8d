/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_assign.c - the next job of each GPU, by optimal assignment (AlloX, EuroSys
 * 2020).
 *
 * Free GPUs are machines.  A job that is the k-th from the end on its machine makes k
 * jobs wait or run during its time there: its cost is k times that time.  The
 * assignment of least total cost has the least mean completion time if no other jobs
 * arrive.  The first job of each machine gets that type of GPUs from then on, all of
 * the time; the others get nothing until shares are recomputed.
 *
 * As in Gavel's simulator, a job of g GPUs counts as one machine and gets 1/g of the
 * time; since only a full share is final, such a job is assigned again each time.
 */
#include <math.h>

#include "lib/base/vec.h"
#include "policies/math/assign.h"
#include "policies/plan.h"
#include "policies/share_types.h"
#include "policies/shares.h"

#define NEVER     1e15 /* Seconds, for GPUs that the job cannot use. */
#define MOST_JOBS 512  /* Most jobs assigned at once, the oldest ones. */

struct state {
	double oldest;         /* Share of 'waiting' that is assigned. */
	VEC(double) had;       /* By id and type: the last shares. */
	VEC(uint32_t) waiting; /* Places in 'ids'. */
	VEC(uint32_t) type_of; /* By machine. */
	VEC(double) times_s;   /* [waiting x types] */
	VEC(double) costs;     /* [waiting x (level x machine)] */
	VEC(uint32_t) columns; /* By index in 'waiting'. */
	VEC(uint32_t)
	first, levels; /* By machine: its first job, and how far from the end. */
};

static void
init(void *state, const double *params)
{
	((struct state *)state)->oldest = params[0];
}

static void
fini(void *state)
{
	struct state *s = state;

	vec_free(&s->had);
	vec_free(&s->waiting);
	vec_free(&s->type_of);
	vec_free(&s->times_s);
	vec_free(&s->costs);
	vec_free(&s->columns);
	vec_free(&s->first);
	vec_free(&s->levels);
}

static double *
had_of(const struct state *s, const struct pol_view *view, uint32_t id)
{
	return s->had.items + (size_t)id * view->cluster->n_types;
}

/* The type that a job has all the time, or POL_NONE. */
static uint32_t
settled_on(const struct state *s, const struct pol_view *view, uint32_t id)
{
	const double *had = had_of(s, view, id);

	for (uint32_t type = 0; type < view->cluster->n_types; type++)
		if (had[type] >= 1)
			return type;
	return POL_NONE;
}

/* GPUs that no job has all the time are the machines, by type. */
static void
find_machines(struct state *s, const struct pol_view *view, const uint32_t *ids,
	      uint32_t n)
{
	const struct pol_cluster *cluster = view->cluster;

	s->waiting.n = s->type_of.n = 0;
	for (uint32_t type = 0; type < cluster->n_types; type++) {
		uint32_t n_gpus = pol_cluster_gpus(cluster, type);

		for (uint32_t i = 0; i < n && n_gpus; i++)
			n_gpus -= settled_on(s, view, ids[i]) == type;
		for (uint32_t k = 0; k < n_gpus; k++)
			vec_push(&s->type_of, type);
	}
	for (uint32_t i = 0; i < n; i++)
		if (settled_on(s, view, ids[i]) == POL_NONE)
			vec_push(&s->waiting, i);
}

/* Keeps the oldest 'share' of the waiting jobs, at least one for each machine. */
static void
leave_out(struct state *s, double share)
{
	size_t n = (size_t)(share * (double)s->waiting.n);

	if (n < s->type_of.n)
		n = s->type_of.n;
	if (n > MOST_JOBS)
		n = MOST_JOBS;
	if (s->waiting.n > n)
		s->waiting.n = n;
}

/* Fills times of each job on each type; returns the largest ratio between types. */
static double
find_times(struct state *s, const struct pol_view *view, const uint32_t *ids)
{
	double differ = 1;

	s->times_s.n = 0;
	for (size_t i = 0; i < s->waiting.n; i++) {
		const struct pol_job *job = &view->jobs[ids[s->waiting.items[i]]];
		double least = INFINITY, most = 0;

		for (uint32_t type = 0; type < view->cluster->n_types; type++) {
			double speed = share_speed(view, job, type);
			double time_s =
				speed > 0 ? fmax(0, job->remaining_s) / speed : NEVER;

			vec_push(&s->times_s, time_s);
			if (time_s >= NEVER)
				continue;
			least = fmin(least, time_s);
			most = fmax(most, time_s);
		}
		if (least > 0 && most > 0)
			differ = fmax(differ, most / least);
	}
	return differ;
}

/*
 * A job's level is at most the number of jobs per machine times the ratio between
 * types: beyond that another place is better for it.  A job's waiting time is the same
 * everywhere; it is in the costs, as in Gavel, since costs are rounded.
 */
static void
assign(struct state *s, const struct pol_view *view, const uint32_t *ids, double differ)
{
	size_t n = s->waiting.n, n_machines = s->type_of.n;
	size_t even = (n + n_machines - 1) / n_machines;
	size_t n_levels = (size_t)fmin((double)n, ceil((double)even * differ));

	s->costs.n = s->columns.n = 0;
	vec_reserve(&s->costs, n * n_levels * n_machines);
	vec_reserve(&s->columns, n);
	for (size_t i = 0; i < n; i++) {
		const struct pol_job *job = &view->jobs[ids[s->waiting.items[i]]];
		const double *times_s = s->times_s.items + i * view->cluster->n_types;

		for (size_t level = 0; level < n_levels; level++)
			for (size_t m = 0; m < n_machines; m++)
				s->costs.items[s->costs.n++] =
					(double)(level + 1) *
						times_s[s->type_of.items[m]] +
					(view->now_s - job->submit_s);
	}
	assign_find((uint32_t)n, (uint32_t)(n_levels * n_machines), s->costs.items,
		    s->columns.items);
}

static void
find_firsts(struct state *s)
{
	uint32_t n_machines = (uint32_t)s->type_of.n;

	s->first.n = s->levels.n = 0;
	for (uint32_t m = 0; m < n_machines; m++) {
		vec_push(&s->first, POL_NONE);
		vec_push(&s->levels, 0);
	}
	for (uint32_t i = 0; i < s->waiting.n; i++) {
		uint32_t m = s->columns.items[i] % n_machines;
		uint32_t level = s->columns.items[i] / n_machines + 1;

		if (level <= s->levels.items[m])
			continue;
		s->levels.items[m] = level;
		s->first.items[m] = i;
	}
}

static void
give(struct state *s, const struct pol_view *view, const uint32_t *ids)
{
	uint32_t n_types = view->cluster->n_types;

	for (uint32_t m = 0; m < s->first.n; m++) {
		uint32_t i = s->first.items[m], type = s->type_of.items[m];
		uint32_t id;

		if (i == POL_NONE || s->times_s.items[i * n_types + type] >= NEVER)
			continue;
		id = ids[s->waiting.items[i]];
		for (uint32_t k = 0; k < n_types; k++)
			had_of(s, view, id)[k] = 0;
		had_of(s, view, id)[type] = 1.0 / view->jobs[id].n_gpus;
	}
}

static void
shares(void *state, const struct pol_view *view, const uint32_t *ids, uint32_t n,
       double *ret_shares)
{
	struct state *s = state;
	uint32_t n_types = view->cluster->n_types;

	for (uint32_t i = 0; i < n; i++)
		while (s->had.n < ((size_t)ids[i] + 1) * n_types)
			vec_push(&s->had, 0);
	find_machines(s, view, ids, n);
	leave_out(s, s->oldest);
	if (s->waiting.n && s->type_of.n) {
		assign(s, view, ids, find_times(s, view, ids));
		find_firsts(s);
		give(s, view, ids);
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t type = 0; type < n_types; type++)
			*ret_shares++ = had_of(s, view, ids[i])[type];
}

const struct share_rule share_assigned = {
	.state_size = sizeof(struct state),
	.init = init,
	.fini = fini,
	.shares = shares,
};
