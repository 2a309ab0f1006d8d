/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order_shockwave.c - a plan of the next rounds: the largest log utility of progress, a
 * small makespan, and finish-time fairness (Shockwave, NSDI 2023).
 *
 * A job is treated fairly if it ends by the time that it would need with 1/n of the
 * time, where n is the number of jobs per GPU, averaged over its life.  First each job
 * gets the rounds that this takes.  If that is impossible, fairness is not required, but
 * the utility of each late job is multiplied by a power of its lateness rho.  A plan
 * holds until a job comes or ends, but no more than shockwave.replan_rounds.
 *
 * In a round, the jobs of the plan go first; the others follow, longest remaining time
 * first.
 */
#include <math.h>

#include "policies/math/market.h"
#include "policies/order_list.h"
#include "policies/orders.h"
#include "policies/regimes.h"
#include "policies/share_types.h"

#define LEAST_S      1e-6  /* Least time, above 0. */
#define LOG_FLOOR    1e-6  /* The progress whose logarithm stands for log 0. */
#define LATEST_AVG   0.1   /* Weight of the latest estimate in the fair end. */
#define URGENT_POWER 100   /* Of rho, for late jobs that end within a round. */
#define MAX_WEIGHT   1e100 /* So that sums are finite. */

enum {
	WINDOW,
	COST,
	POWER,
	MAX_RHO,
	REPLAN,
	N_PARAMS,
};

/* When a job would end with its fair share, as estimated since its arrival. */
struct fair {
	double sum_s2; /* Ends until since_s, times how long each was valid. */
	double first_s, since_s; /* Times of the first and the latest estimate. */
	double end_s;            /* The latest. */
};

struct state {
	struct order_list list;
	double values[N_PARAMS];
	double round_s;
	uint32_t n_rounds, at; /* Of the plan; the rounds that are over. */
	bool is_stale;
	VEC(struct fair) fair;         /* By id. */
	VEC(struct regimes) regimes;   /* By place in the list. */
	VEC(double) left_s;            /* By place: predicted. */
	VEC(struct market_job) market; /* By place. */
	VEC(double) weights;           /* By place. */
	VEC(uint32_t) x;               /* By place: rounds of the plan. */
	VEC(bool) runs;                /* By place and round. */
};

static const struct pol_param params[] = {
	[WINDOW] = { "shockwave.window_rounds", "rounds of a plan", 20, 1, 1000, true },
	[COST] = { "shockwave.makespan_weight",
		   "cost of the longest remaining time, per s", 1e-3, 0, 1e6, false },
	[POWER] = { "shockwave.fairness_power",
		    "power of rho by which the utility of late jobs is multiplied", 12,
		    0, 100, false },
	[MAX_RHO] = { "shockwave.max_rho",
		      "finish-time fairness rho above which a job is late", 1, 0.01,
		      100, false },
	[REPLAN] = { "shockwave.replan_rounds",
		     "most rounds until there is a new plan (Shockwave's code)", 8, 1,
		     1000, true },
	[N_PARAMS] = { 0 },
};

static void
init(void *state, const double *values, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;

	(void)cluster;
	(void)rng;
	for (int i = 0; i < N_PARAMS; i++)
		s->values[i] = values[i];
	s->n_rounds = (uint32_t)values[WINDOW];
	s->is_stale = true;
}

static void
rounds(void *state, double round_s)
{
	struct state *s = state;

	s->round_s = round_s;
}

static void
fini(void *state)
{
	struct state *s = state;

	order_list_fini(&s->list);
	vec_free(&s->fair);
	vec_free(&s->regimes);
	vec_free(&s->left_s);
	vec_free(&s->market);
	vec_free(&s->weights);
	vec_free(&s->x);
	vec_free(&s->runs);
}

static void
on_event(void *state, const struct pol_view *view, enum pol_event event,
	 const struct pol_job *job)
{
	struct state *s = state;

	order_list_event(&s->list, event, job->id);
	if (event != POL_ARRIVED && event != POL_DONE)
		return;
	while (s->fair.n < view->n_ids)
		vec_push(&s->fair, ((struct fair){ 0 }));
	if (event == POL_ARRIVED)
		s->fair.items[job->id] = (struct fair){ .first_s = NAN };
	s->is_stale = true;
}

/* ---- Finish-time fairness -------------------------------------------------------- */

/* Part of the time for each job if all run alike. */
static double
share_of(const struct state *s, const struct pol_view *view)
{
	return fmin(1, view->cluster->n_all_gpus / (double)s->list.ids.n);
}

static void
estimate_end(struct state *s, const struct pol_view *view, size_t i)
{
	const struct pol_job *job = &view->jobs[s->list.ids.items[i]];
	struct fair *it = &s->fair.items[job->id];
	double done_s = regimes_done_s(&s->regimes.items[i]);

	if (isnan(it->first_s))
		it->first_s = view->now_s;
	else
		it->sum_s2 += it->end_s * (view->now_s - it->since_s);
	it->since_s = view->now_s;
	it->end_s = job->submit_s + (done_s + s->left_s.items[i]) / share_of(s, view);
}

/* The fair end of a job: mostly the mean of its estimates over time. */
static double
fair_end_s(const struct fair *it, double now_s)
{
	double all_s = now_s - it->first_s, mean_s = it->end_s;

	if (all_s > 0)
		mean_s = (it->sum_s2 + it->end_s * (now_s - it->since_s)) / all_s;
	return (1 - LATEST_AVG) * mean_s + LATEST_AVG * it->end_s;
}

/* ---- A plan ---------------------------------------------------------------------- */

static void
read_jobs(struct state *s, const struct pol_view *view)
{
	const struct pol_report *report = &view->report;

	s->regimes.n = s->left_s.n = 0;
	for (size_t i = 0; i < s->list.ids.n; i++) {
		const struct pol_job *job = &view->jobs[s->list.ids.items[i]];
		struct regimes regimes;

		if (!report->regimes || !report->regimes(report->ctx, job, &regimes))
			regimes = regimes_static(fmax(LEAST_S, job->duration_s),
						 job->remaining_s);
		for (uint32_t k = 0; k < regimes.n; k++)
			regimes.epoch_s[k] /= share_speed_most(view, job);
		vec_push(&s->regimes, regimes);
		vec_push(&s->left_s, fmax(LEAST_S, regimes_left_s(&regimes)));
	}
}

/* Jobs of the market, without fairness. */
static void
make_jobs(struct state *s, const struct pol_view *view)
{
	s->market.n = s->weights.n = 0;
	for (size_t i = 0; i < s->list.ids.n; i++) {
		const struct regimes *regimes = &s->regimes.items[i];

		vec_push(&s->weights, 1);
		vec_push(&s->market,
			 ((struct market_job){
				 .n_gpus = view->jobs[s->list.ids.items[i]].n_gpus,
				 .weight = 1,
				 .progress = regimes_done(regimes),
				 .rate = s->round_s /
					 (regimes_epoch_s(regimes) * regimes->n_epochs),
				 .left_s = s->left_s.items[i] }));
	}
}

/* Requires that each job ends fairly; returns false if one cannot. */
static bool
require_fairness(struct state *s, const struct pol_view *view,
		 const struct market *market)
{
	double window_end_s = view->now_s + s->n_rounds * s->round_s;

	for (size_t i = 0; i < s->market.n; i++) {
		struct market_job *job = &s->market.items[i];
		const struct fair *fair = &s->fair.items[s->list.ids.items[i]];
		double late_s = fair_end_s(fair, view->now_s) * s->values[MAX_RHO] -
				window_end_s;
		double n =
			ceil((job->left_s - late_s * share_of(s, view)) / s->round_s);

		if (late_s < 0 || n > s->n_rounds)
			return false;
		job->n_least = n > 0 ? (uint32_t)n : 0;
		if (market_left_s(market, job, job->n_least) >
		    late_s * share_of(s, view) + LEAST_S)
			return false;
	}
	return true;
}

/* Multiplies the utility of late jobs instead. */
static void
prefer_late(struct state *s, const struct pol_view *view)
{
	for (size_t i = 0; i < s->market.n; i++) {
		struct market_job *job = &s->market.items[i];
		const struct fair *fair = &s->fair.items[s->list.ids.items[i]];
		double rho = (view->now_s + job->left_s / share_of(s, view)) /
			     fair_end_s(fair, view->now_s);
		double power =
			job->left_s < s->round_s ? URGENT_POWER : s->values[POWER];

		job->n_least = 0;
		if (rho > s->values[MAX_RHO])
			job->weight = fmin(MAX_WEIGHT, pow(rho, power));
		s->weights.items[i] = job->weight;
	}
}

static void
make_plan(struct state *s, const struct pol_view *view)
{
	uint32_t n = (uint32_t)s->list.ids.n;
	struct market market = { .n_jobs = n,
				 .n_rounds = s->n_rounds,
				 .capacity = view->cluster->n_all_gpus,
				 .round_s = s->round_s,
				 .cost_per_s = s->values[COST],
				 .log_floor = log(LOG_FLOOR) };

	make_jobs(s, view);
	market.jobs = s->market.items;
	vec_reserve(&s->x, n + 1);
	vec_reserve(&s->runs, (size_t)n * s->n_rounds + 1);
	if (!require_fairness(s, view, &market) || !market_solve(&market, s->x.items)) {
		prefer_late(s, view);
		market_solve(&market, s->x.items);
	}
	market_rank(&market, s->x.items, s->weights.items, s->runs.items);
}

static void
replan(struct state *s, const struct pol_view *view)
{
	read_jobs(s, view);
	if (s->is_stale)
		for (size_t i = 0; i < s->list.ids.n; i++)
			estimate_end(s, view, i);
	make_plan(s, view);
	s->is_stale = false;
	s->at = 0;
}

/* ---- A round --------------------------------------------------------------------- */

static uint32_t
order(void *state, const struct pol_view *view, uint32_t *ret_ids)
{
	struct state *s = state;
	double *keys = order_list_keys(&s->list, view);
	uint32_t n = (uint32_t)s->list.ids.n;

	if (s->is_stale || s->at >= s->n_rounds || s->at >= s->values[REPLAN])
		replan(s, view);
	else
		read_jobs(s, view);
	for (uint32_t i = 0; i < n; i++) {
		bool is_planned = s->runs.items[(size_t)i * s->n_rounds + s->at];

		ret_ids[i] = s->list.ids.items[i];
		keys[ret_ids[i]] = is_planned ? -INFINITY : -s->left_s.items[i];
	}
	order_list_sort_ids(&s->list, ret_ids, n);
	s->at++;
	return n;
}

const struct pol_order order_shockwave = {
	.module = { .name = "shockwave",
		    .text = "as planned for the next rounds; then longest remaining "
			    "time first",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini,
		    .on_event = on_event,
		    .rounds = rounds },
	.fit = POL_SKIP,
	.order = order,
};
