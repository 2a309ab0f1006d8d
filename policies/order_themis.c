/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order_themis.c - largest finish-time fairness first (the auction of Themis, NSDI
 * 2020).
 *
 * When leases end, jobs are sorted by rho, largest first: the time they would take in
 * all if they had their GPUs from now on, over their isolated time (isolated.h). The
 * first 1 - f of them choose first; the others follow in random order.
 *
 * With themis.partial_allocation, those of the first without a lease bid for the GPUs
 * that are not on lease (math/auction.h): 1 / rho if they get their GPUs now, or after
 * one more lease.  A winning gang gets its GPUs with probability c, its share: the
 * mean is as in the auction, and no gang is split.  Then come the others in random
 * order, and last the losers, so that no GPU is left idle that a job could use.
 */
#include <math.h>
#include <string.h>

#include "lib/base/rng.h"
#include "policies/isolated.h"
#include "policies/lease.h"
#include "policies/math/auction.h"
#include "policies/order_list.h"
#include "policies/orders.h"
#include "policies/share_types.h"

#define ROWS    2    /* Rows of a bid: without its GPUs, and with them. */
#define LEAST_S 1e-6 /* Least time, above 0. */

struct state {
	struct order_list list; /* First: order_list_on_event(). */
	struct rng *rng;
	double fairness, lease_s; /* lease_s 0: no leases. */
	bool is_partial;
	struct isolated isolated;
	VEC(struct auction_row) rows; /* [bidders x ROWS] */
	VEC(struct auction_bid) bids;
	VEC(struct auction_prize) prizes;
	VEC(uint32_t) losers;
};

static void
init(void *state, const double *params, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;

	(void)cluster;
	s->rng = rng;
	s->fairness = params[0];
	s->is_partial = params[1] > 0;
}

static void
leases(void *state, double lease_s)
{
	struct state *s = state;

	s->lease_s = lease_s;
}

static void
fini(void *state)
{
	struct state *s = state;

	order_list_fini(&s->list);
	isolated_fini(&s->isolated);
	vec_free(&s->rows);
	vec_free(&s->bids);
	vec_free(&s->prizes);
	vec_free(&s->losers);
}

/* Total time of a job that gets its GPUs in 'wait_s'. */
static double
shared_s(const struct pol_view *view, const struct pol_job *job, double wait_s)
{
	double left_s = fmax(0, job->remaining_s / share_speed_most(view, job));

	return view->now_s - job->submit_s + wait_s + left_s;
}

static double
rho(struct state *s, const struct pol_view *view, const struct pol_job *job, uint32_t n)
{
	return shared_s(view, job, 0) /
	       isolated_s(&s->isolated, view, job, share_speed_most(view, job), n);
}

/* ---- The auction ----------------------------------------------------------------- */

/* 1 / rho times the isolated time, which is the same in all rows of a bid. */
static struct auction_row
row(const struct pol_view *view, const struct pol_job *job, uint32_t n_gpus,
    double wait_s)
{
	return (struct auction_row){ n_gpus,
				     1 / fmax(LEAST_S, shared_s(view, job, wait_s)) };
}

static uint32_t
count_free(const struct state *s, const struct pol_view *view)
{
	uint32_t n = pol_cluster_usable(view->cluster);

	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];

		n -= lease_holds(job, view->now_s, s->lease_s) ? job->n_held_gpus : 0;
	}
	return n;
}

static void
bid(struct state *s, const struct pol_view *view, const uint32_t *ids, uint32_t n)
{
	s->rows.n = s->bids.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct pol_job *job = &view->jobs[ids[i]];

		vec_push(&s->rows, row(view, job, 0, s->lease_s));
		vec_push(&s->rows, row(view, job, job->n_gpus, 0));
	}
	for (uint32_t i = 0; i < n; i++)
		vec_push(&s->bids, ((struct auction_bid){
					   s->rows.items + (size_t)i * ROWS, ROWS }));
}

/* Moves jobs with a lease to the end; returns the number of bidders. */
static uint32_t
part_leased(struct state *s, const struct pol_view *view, uint32_t *ids, uint32_t n)
{
	uint32_t n_bids = 0;

	s->losers.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (lease_holds(&view->jobs[ids[i]], view->now_s, s->lease_s))
			vec_push(&s->losers, ids[i]);
		else
			ids[n_bids++] = ids[i];
	}
	for (uint32_t i = 0; i < s->losers.n; i++)
		ids[n_bids + i] = s->losers.items[i];
	return n_bids;
}

/*
 * Orders the 'n_first' jobs with the largest rho: winners first, losers behind the
 * 'n_others' that follow.
 */
static void
auction(struct state *s, const struct pol_view *view, uint32_t *ids, uint32_t n_first,
	uint32_t n_others)
{
	uint32_t n_bids = part_leased(s, view, ids, n_first), n_won = 0;

	bid(s, view, ids, n_bids);
	s->prizes.n = s->losers.n = 0;
	vec_reserve(&s->prizes, n_bids + 1);
	auction_run(s->bids.items, n_bids, count_free(s, view), s->prizes.items);
	for (uint32_t i = 0; i < n_bids; i++) {
		const struct auction_prize *prize = &s->prizes.items[i];

		if (prize->n_units && rng_uniform(s->rng) < prize->share)
			ids[n_won++] = ids[i];
		else
			vec_push(&s->losers, ids[i]);
	}
	memmove(ids + n_won, ids + n_bids, (n_first - n_bids + n_others) * sizeof *ids);
	for (uint32_t i = 0; i < s->losers.n; i++)
		ids[n_first + n_others - s->losers.n + i] = s->losers.items[i];
}

static uint32_t
order(void *state, const struct pol_view *view, uint32_t *ret_ids)
{
	struct state *s = state;
	uint32_t n = order_list_copy(&s->list, ret_ids), n_first;
	double *keys = order_list_keys(&s->list, view);

	for (uint32_t i = 0; i < n; i++)
		keys[ret_ids[i]] = -rho(s, view, &view->jobs[ret_ids[i]], n);
	order_list_sort_ids(&s->list, ret_ids, n);
	n_first = (uint32_t)fmin(n, ceil((1 - s->fairness) * n));
	rng_shuffle(s->rng, ret_ids + n_first, n - n_first);
	if (s->is_partial)
		auction(s, view, ret_ids, n_first, n - n_first);
	return n;
}

static const struct pol_param params[] = {
	{ "themis.fairness",
	  "f: fraction of jobs that get only what the others leave (Themis)", 0.8, 0, 1,
	  false },
	{ "themis.partial_allocation",
	  "1: partial allocation: a winner gets its GPUs with probability c (Themis); "
	  "0: the jobs with the largest rho choose first",
	  0, 0, 1, true },
	{ 0 },
};

const struct pol_order order_themis = {
	.module = { .name = "themis",
		    .text = "largest finish-time fairness rho first, the rest in "
			    "random order",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini,
		    .on_event = order_list_on_event,
		    .leases = leases },
	.fit = POL_SKIP,
	.order = order,
};
