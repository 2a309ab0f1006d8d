/* SPDX-License-Identifier: Apache-2.0 */
/* admit_load.c - admission while the load is below a limit (Blox, EuroSys 2024). */
#include "policies/admits.h"

struct state {
	double max_wanted; /* GPUs that admitted jobs may request. */
	uint64_t n_wanted; /* GPUs that they request. */
	uint32_t last;     /* The last job admitted; they come in order. */
};

static const struct pol_param params[] = {
	{ "load.max", "requested GPUs over GPUs of the cluster", 1.2, 0, 1e9, false },
	{ 0 },
};

static void
init(void *state, const double *values, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;

	(void)rng;
	s->max_wanted = values[0] * cluster->n_all_gpus;
	s->last = POL_NONE;
}

static void
on_event(void *state, const struct pol_view *view, enum pol_event event,
	 const struct pol_job *job)
{
	struct state *s = state;

	(void)view;
	if (event == POL_DONE)
		s->n_wanted -= job->n_gpus;
}

static bool
admit(void *state, const struct pol_view *view, const struct pol_job *job)
{
	struct state *s = state;

	(void)view;
	/* Ids are numbered by arrival. */
	if (job->id != s->last + 1 ||
	    (s->n_wanted && (double)(s->n_wanted + job->n_gpus) > s->max_wanted))
		return false;
	s->last = job->id;
	s->n_wanted += job->n_gpus;
	return true;
}

const struct pol_admit admit_load = {
	.module = { .name = "load",
		    .text = "by arrival, while the admitted jobs request less than "
			    "load.max times the GPUs",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .on_event = on_event },
	.admit = admit,
};
