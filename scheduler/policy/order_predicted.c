/*
 * order_predicted.c - least predicted GPU time first (QSSF of Helios, SC 2021).
 *
 * A prediction is made when a job comes, and stays: what its trace foretells, or the mean
 * of the jobs that are done of its user and number of GPUs, else of its user, else of all;
 * 0 for as long as none is.
 */
#include <math.h>

#include "scheduler/policy/order_list.h"
#include "scheduler/policy/orders.h"

enum {
	BY,
	N_PARAMS,
};

enum by {
	BY_HISTORY,
	BY_ORACLE
};

struct mean {
	uint32_t user, n_gpus; /* POL_NONE, 0: any. */
	double sum_s;
	uint32_t n;
};

struct state {
	struct order_list list;
	VEC(double) keys; /* By id. */
	VEC(uint32_t) scratch;
	VEC(struct mean) means; /* By user and GPUs; the first is of all. */
	enum by by;
};

static const struct pol_param params[] = {
	[BY] = { "predicted.by", "0: the trace's prediction, or a mean; 1: an oracle's",
		 0, 0, 1 },
	[N_PARAMS] = { 0 },
};

static void
init(void *state, const double *values, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;

	(void)cluster;
	(void)rng;
	s->by = (enum by)values[BY];
	vec_push(&s->means, ((struct mean){ .user = POL_NONE }));
}

static void
fini(void *state)
{
	struct state *s = state;

	order_list_fini(&s->list);
	vec_free(&s->keys);
	vec_free(&s->scratch);
	vec_free(&s->means);
}

/* Made if there is none; few: users of a cluster, by the sizes of their jobs. */
static struct mean *
mean_of(struct state *s, uint32_t user, uint32_t n_gpus)
{
	for (size_t i = 0; i < s->means.n; i++)
		if (s->means.items[i].user == user &&
		    s->means.items[i].n_gpus == n_gpus)
			return &s->means.items[i];
	vec_push(&s->means, ((struct mean){ .user = user, .n_gpus = n_gpus }));
	return &s->means.items[s->means.n - 1];
}

static void
learn(struct mean *mean, const struct pol_job *job)
{
	mean->sum_s += job->duration_s;
	mean->n++;
}

static double
predict(struct state *s, const struct pol_job *job)
{
	const struct mean *mean;

	if (s->by == BY_ORACLE)
		return job->duration_s;
	if (!isnan(job->predicted_s))
		return job->predicted_s;
	mean = mean_of(s, job->user, job->n_gpus);
	if (!mean->n)
		mean = mean_of(s, job->user, 0);
	if (!mean->n)
		mean = mean_of(s, POL_NONE, 0);
	return mean->n ? mean->sum_s / mean->n : 0;
}

static void
on_event(void *state, const struct pol_view *view, enum pol_event event,
	 const struct pol_job *job)
{
	struct state *s = state;

	if (event == POL_ARRIVED) {
		s->keys.n = 0;
		vec_reserve(&s->keys, view->n_ids);
		s->keys.items[job->id] = predict(s, job) * job->n_gpus;
	} else if (event == POL_DONE) {
		learn(mean_of(s, POL_NONE, 0), job);
		if (job->user != POL_NONE)
			learn(mean_of(s, job->user, 0), job);
		learn(mean_of(s, job->user, job->n_gpus), job);
	}
	order_list_event(&s->list, event, job->id);
}

static uint32_t
order(void *state, const struct pol_view *view, uint32_t *ret_ids)
{
	struct state *s = state;
	uint32_t n = (uint32_t)s->list.ids.n;

	(void)view;
	s->scratch.n = 0;
	vec_reserve(&s->scratch, n);
	order_sort(s->list.ids.items, n, s->keys.items, s->scratch.items);
	for (uint32_t i = 0; i < n; i++)
		ret_ids[i] = s->list.ids.items[i];
	return n;
}

const struct pol_order order_predicted = {
	.module = { .name = "predicted",
		    .text = "least predicted GPU time first; nobody passes one that does "
			    "not fit",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini,
		    .on_event = on_event },
	.fit = POL_STRICT,
	.order = order,
};
