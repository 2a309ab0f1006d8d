/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order_predicted.c - least predicted GPU time first (QSSF of Helios, SC 2021).
 *
 * A prediction (predicted.h) is made when a job arrives, and kept.
 */
#include "policies/order_list.h"
#include "policies/orders.h"
#include "policies/predicted.h"

enum {
	BY,
	N_PARAMS,
};

struct state {
	struct order_list list;
	struct predicted predicted;
};

static const struct pol_param params[] = {
	[BY] = PREDICTED_PARAM,
	[N_PARAMS] = { 0 },
};

static void
init(void *state, const double *values, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;

	(void)cluster;
	(void)rng;
	s->predicted.by_oracle = values[BY] != 0;
}

static void
fini(void *state)
{
	struct state *s = state;

	order_list_fini(&s->list);
	predicted_fini(&s->predicted);
}

static void
on_event(void *state, const struct pol_view *view, enum pol_event event,
	 const struct pol_job *job)
{
	struct state *s = state;

	if (event == POL_ARRIVED) {
		order_list_keys(&s->list, view)[job->id] =
			predicted_duration_s(&s->predicted, job) * job->n_gpus;
	} else if (event == POL_DONE) {
		predicted_learn(&s->predicted, job);
	}
	order_list_event(&s->list, event, job->id);
}

static uint32_t
order(void *state, const struct pol_view *view, uint32_t *ret_ids)
{
	struct state *s = state;

	(void)view;
	order_list_sort(&s->list);
	return order_list_copy(&s->list, ret_ids);
}

const struct pol_order order_predicted = {
	.module = { .name = "predicted",
		    .text = "least predicted GPU time first; a job that does not fit "
			    "blocks those behind it",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini,
		    .on_event = on_event },
	.fit = POL_STRICT,
	.order = order,
};
