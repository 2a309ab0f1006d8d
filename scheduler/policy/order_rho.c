/*
 * order_rho.c - who is worst off bids first (Themis's auction).
 *
 * At each end of leases, jobs are sorted by rho, the largest first: what they would take in
 * all if they had their GPUs from now on, over what they would take on a cluster of their
 * own.  The worst 1 - f of them have the first choice; what they leave is for the others,
 * drawn at random.
 */
#include <math.h>

#include "lib/base/rng.h"
#include "scheduler/policy/alone.h"
#include "scheduler/policy/order_list.h"
#include "scheduler/policy/orders.h"
#include "scheduler/policy/shares.h"

struct state {
	struct order_list list; /* First: order_list_on_event(). */
	struct rng *rng;
	double fairness;
	struct alone alone;
};

static void
init(void *state, const double *params, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;

	(void)cluster;
	s->rng = rng;
	s->fairness = params[0];
}

static void
fini(void *state)
{
	struct state *s = state;

	order_list_fini(&s->list);
	alone_fini(&s->alone);
}

static double
rho(struct state *s, const struct pol_view *view, const struct pol_job *job, uint32_t n)
{
	double speed = share_speed_most(view, job);
	double left_s = fmax(0, job->remaining_s / speed);

	return (view->now_s - job->submit_s + left_s) /
	       alone_s(&s->alone, view, job, speed, n);
}

static void
shuffle(struct rng *rng, uint32_t *ids, uint32_t n)
{
	for (uint32_t i = n; i > 1; i--) {
		uint32_t j = (uint32_t)rng_below(rng, i), id = ids[i - 1];

		ids[i - 1] = ids[j];
		ids[j] = id;
	}
}

static uint32_t
order(void *state, const struct pol_view *view, uint32_t *ret_ids)
{
	struct state *s = state;
	uint32_t n = order_list_tell(&s->list, ret_ids), n_first;
	double *keys = order_list_keys(&s->list, view);

	for (uint32_t i = 0; i < n; i++)
		keys[ret_ids[i]] = -rho(s, view, &view->jobs[ret_ids[i]], n);
	order_list_sort_ids(&s->list, ret_ids, n);
	n_first = (uint32_t)fmin(n, ceil((1 - s->fairness) * n));
	shuffle(s->rng, ret_ids + n_first, n - n_first);
	return n;
}

static const struct pol_param params[] = {
	{ "themis.fairness",
	  "share of jobs that have only what others leave (Themis: f)", 0.8, 0, 1 },
	{ 0 },
};

const struct pol_order order_rho = {
	.module = { .name = "rho",
		    .text = "worst off against a cluster of one's own first, the rest at "
			    "random",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini,
		    .on_event = order_list_on_event },
	.fit = POL_SKIP,
	.order = order,
};
