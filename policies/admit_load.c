/* admit_load.c - as many as the load allows (Blox, EuroSys 2024). */
#include "policies/admits.h"

struct state {
	double most;       /* GPUs that may be wanted. */
	uint64_t n_wanted; /* By those inside. */
	uint32_t last;     /* The last one let in; they come in order. */
};

static const struct pol_param params[] = {
	{ "load.max", "GPUs wanted over GPUs there are", 1.2, 0, 1e9, false },
	{ 0 },
};

static void
init(void *state, const double *values, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;

	(void)rng;
	s->most = values[0] * cluster->n_all_gpus;
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
	/* Nobody passes one that was not let in: jobs are numbered as they came. */
	if (job->id != s->last + 1 ||
	    (s->n_wanted && (double)(s->n_wanted + job->n_gpus) > s->most))
		return false;
	s->last = job->id;
	s->n_wanted += job->n_gpus;
	return true;
}

const struct pol_admit admit_load = {
	.module = { .name = "load",
		    .text = "as they came, while not much more GPUs are wanted than there "
			    "are",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .on_event = on_event },
	.admit = admit,
};
