/* SPDX-License-Identifier: Apache-2.0 */
/* order_key.c - orders by one key of each job. */
#include <math.h>

#include "policies/order_list.h"
#include "policies/orders.h"

struct state {
	struct order_list list; /* First: order_list_on_event(). */
	bool has_gaps;          /* Longest pending: as in Tiresias's simulator. */
};

static void
fini(void *state)
{
	order_list_fini(&((struct state *)state)->list);
}

/* Sorts the list itself, so that ties keep their order. */
static uint32_t
by_key(struct state *s, const struct pol_view *view, uint32_t *ret_ids,
       double (*key)(const struct pol_job *job, const struct pol_view *view))
{
	double *keys = order_list_keys(&s->list, view);

	for (size_t i = 0; i < s->list.ids.n; i++) {
		uint32_t id = s->list.ids.items[i];

		keys[id] = key(&view->jobs[id], view);
	}
	order_list_sort(&s->list);
	return order_list_copy(&s->list, ret_ids);
}

/* An order by a key without parameters: the least key first. */
#define KEY_ORDER(order_, name_, text_, fit_, key_)                           \
	static uint32_t by_##order_(void *state, const struct pol_view *view, \
				    uint32_t *ret_ids)                        \
	{                                                                     \
		return by_key(state, view, ret_ids, key_);                    \
	}                                                                     \
	const struct pol_order order_ = {                                     \
		.module = { .name = name_,                                    \
			    .text = text_,                                    \
			    .state_size = sizeof(struct state),               \
			    .fini = fini,                                     \
			    .on_event = order_list_on_event },                \
		.fit = fit_,                                                  \
		.order = by_##order_,                                         \
	}

/* ---- Keys ------------------------------------------------------------------------ */

static double
arrival(const struct pol_job *job, const struct pol_view *view)
{
	(void)view;
	return job->id;
}

static double
gpus(const struct pol_job *job, const struct pol_view *view)
{
	(void)view;
	return job->n_gpus;
}

static double
remaining(const struct pol_job *job, const struct pol_view *view)
{
	(void)view;
	return job->remaining_s;
}

static double
remaining_gpu_time(const struct pol_job *job, const struct pol_view *view)
{
	(void)view;
	return job->remaining_s * job->n_gpus;
}

static double
tier(const struct pol_job *job, const struct pol_view *view)
{
	(void)view;
	return -(double)job->priority;
}

/* Waiting time over running time: with the least key, the ratio is highest. */
static double
response_ratio(const struct pol_job *job, const struct pol_view *view)
{
	return -(view->now_s - job->submit_s) / job->duration_s;
}

KEY_ORDER(order_fifo, "fifo",
	  "by arrival; a job that does not fit blocks those behind it", POL_STRICT,
	  arrival);
KEY_ORDER(order_fifo_backfill, "fifo-backfill",
	  "by arrival; a job that does not fit is skipped", POL_SKIP, arrival);
KEY_ORDER(order_smallest, "smallest", "fewest GPUs first", POL_SKIP, gpus);
KEY_ORDER(order_srtf, "srtf", "least remaining time first", POL_SKIP, remaining);
KEY_ORDER(order_srsf, "srsf", "least remaining GPU time first", POL_SKIP,
	  remaining_gpu_time);
KEY_ORDER(order_tier, "tier", "highest priority first, then by arrival", POL_SKIP,
	  tier);
KEY_ORDER(order_hrrn, "hrrn", "highest response ratio first", POL_STRICT,
	  response_ratio);

/* ---- Longest pending ------------------------------------------------------------- */

/* Longest waiting time first; a running job's time stops at its start. */
static double
pending(const struct pol_job *job, const struct pol_view *view)
{
	double until_s = job->n_pieces ? job->since_s : view->now_s;

	return -(until_s - job->submit_s - job->executed_s);
}

static void
init_pending(void *state, const double *params, const struct pol_cluster *cluster,
	     struct rng *rng)
{
	(void)cluster;
	(void)rng;
	((struct state *)state)->has_gaps = params[0] != 0;
}

/*
 * Skips each waiting job behind one that starts, and ends at the first that does not
 * fit.  Tiresias's simulator does so, since it removes jobs from the list that it
 * walks.
 */
static uint32_t
leave_gaps(const struct pol_view *view, uint32_t *ids, uint32_t n)
{
	uint32_t n_free = view->cluster->n_all_gpus, n_kept = 0;
	bool passes_one = false;

	for (uint32_t i = 0; i < view->n_jobs; i++)
		n_free -= view->jobs[view->ids[i]].n_held_gpus;
	for (uint32_t i = 0; i < n; i++) {
		const struct pol_job *job = &view->jobs[ids[i]];

		if (job->n_pieces) {
			ids[n_kept++] = job->id;
			continue;
		}
		if (passes_one) {
			passes_one = false;
			continue;
		}
		if (job->n_gpus > n_free) {
			n_free = 0;
			continue;
		}
		n_free -= job->n_gpus;
		ids[n_kept++] = job->id;
		passes_one = true;
	}
	return n_kept;
}

static uint32_t
order_by_pending(void *state, const struct pol_view *view, uint32_t *ret_ids)
{
	uint32_t n = by_key(state, view, ret_ids, pending);

	return ((struct state *)state)->has_gaps ? leave_gaps(view, ret_ids, n) : n;
}

static const struct pol_param pending_params[] = {
	{ "longest-pending.skip_behind_started",
	  "1: the job behind one that starts is skipped (Tiresias's simulator)", 0, 0,
	  1, true },
	{ 0 },
};
const struct pol_order order_longest_pending = {
	.module = { .name = "longest-pending",
		    .text = "longest waiting time first",
		    .params = pending_params,
		    .state_size = sizeof(struct state),
		    .init = init_pending,
		    .fini = fini,
		    .on_event = order_list_on_event },
	.fit = POL_STRICT,
	.order = order_by_pending,
};
