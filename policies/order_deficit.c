/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order_deficit.c - rounds that realize shares of time (Gavel, OSDI 2020).
 *
 * On each type of GPUs, jobs are sorted by x over (their part of all time given
 * there), then by the time owed to them when shares were computed last, then by x,
 * where x is the job's share; largest first.  Shares are recomputed after jobs came,
 * left or changed, but not within recompute_s of the last time; time given and owed
 * counts from then.  A job that came since has no share: it gets what others leave, or
 * waits (hold_new_jobs, as in Gavel's simulator). Each job begins with
 * initial_credit_s, so that no job has had no time at all.
 *
 * Types are served one after another, the reference type first; or together, in one
 * order of all pairs of a job and a type, by the first and the last of these keys, then
 * by type and arrival (types_together).
 */
#include <float.h>
#include <math.h>

#include "policies/order_list.h"
#include "policies/orders.h"
#include "policies/share_types.h"
#include "policies/shares.h"

#define N_COMMON     5   /* Parameters of all rules; a rule's own follow. */
#define NEVER_SERVED 1e9 /* Priority over share of a job that has had no time. */

struct part {
	double given_s, owed_s, share; /* share NAN: none was found yet. */
};

struct job {
	double executed_s; /* At the last update. */
	uint32_t type;     /* Type of GPUs that it ran on since then. */
};

struct state {
	const struct share_rule *rule;
	void *rule_state;
	double reset_s, credit_s;
	double round_s; /* 0: without rounds. */
	bool waits, remembers, together;
	uint32_t n_types;
	struct order_list list;
	VEC(struct job) jobs;   /* By id. */
	VEC(struct part) parts; /* By id and type. */
	VEC(double) shares;     /* [list.ids x types] */
	VEC(double) all_s;      /* Given to all jobs, by type. */
	VEC(uint32_t) types;    /* Of the last written list. */
	VEC(double) keys;       /* By place in that list. */
	VEC(uint32_t) sorted, scratch;
	double found_s; /* Time of the last shares. */
	double grain_s; /* Resolution of the clock at the last call. */
	bool is_stale;
};

static void
begin(struct state *s, const double *params, const struct pol_cluster *cluster,
      const struct share_rule *rule)
{
	s->rule = rule;
	s->rule_state = xcalloc(1, rule->state_size + 1);
	if (rule->init)
		rule->init(s->rule_state, params + N_COMMON);
	s->reset_s = params[0];
	s->credit_s = params[1];
	s->waits = params[2] > 0;
	s->remembers = params[3] > 0;
	s->together = params[4] > 0;
	s->n_types = cluster->n_types;
	for (uint32_t type = 0; type < s->n_types; type++)
		vec_push(&s->all_s, 0);
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

	if (s->rule->fini)
		s->rule->fini(s->rule_state);
	free(s->rule_state);
	order_list_fini(&s->list);
	vec_free(&s->jobs);
	vec_free(&s->parts);
	vec_free(&s->shares);
	vec_free(&s->all_s);
	vec_free(&s->types);
	vec_free(&s->keys);
	vec_free(&s->sorted);
	vec_free(&s->scratch);
}

static struct part *
part_of(const struct state *s, uint32_t id, uint32_t type)
{
	return &s->parts.items[(size_t)id * s->n_types + type];
}

static double
account(struct state *s, const struct pol_job *job)
{
	struct job *it = &s->jobs.items[job->id];
	double given_s = job->executed_s - it->executed_s, n = given_s / s->grain_s;

	/* Otherwise rounding of sums below the clock's resolution would decide ties. */
	if (n < 1 / DBL_EPSILON)
		given_s = nearbyint(n) * s->grain_s;
	it->executed_s = job->executed_s;
	part_of(s, job->id, it->type)->given_s += given_s;
	s->all_s.items[it->type] += given_s;
	return given_s;
}

/* Of a job that ends: where types are compared, all of its last round counts. */
static void
account_last(struct state *s, const struct pol_job *job)
{
	double given_s = account(s, job);

	if (s->together && given_s < s->round_s)
		s->all_s.items[s->jobs.items[job->id].type] += s->round_s - given_s;
}

static void
on_event(void *state, const struct pol_view *view, enum pol_event event,
	 const struct pol_job *job)
{
	struct state *s = state;

	(void)view;
	order_list_event(&s->list, event, job->id);
	if (event == POL_ARRIVED) {
		while (s->jobs.n <= job->id)
			vec_push(&s->jobs, ((struct job){ 0 }));
		while (s->parts.n < ((size_t)job->id + 1) * s->n_types)
			vec_push(&s->parts, ((struct part){ 0 }));
		s->jobs.items[job->id] = (struct job){ .executed_s = job->executed_s };
		for (uint32_t type = 0; type < s->n_types; type++) {
			*part_of(s, job->id, type) =
				(struct part){ .given_s = s->credit_s, .share = NAN };
			if (s->remembers)
				s->all_s.items[type] += s->credit_s;
		}
	} else if (event == POL_DONE) {
		account_last(s, job);
	}
	s->is_stale |=
		event == POL_ARRIVED || event == POL_DONE || event == POL_CHANGED;
}

/* Adds the time owed until now. */
static void
settle(struct state *s, struct part *it, double since_s, double *all_s)
{
	if (!isnan(it->share))
		it->owed_s += it->share * since_s;
	if (s->remembers)
		return;
	it->owed_s -= it->given_s - s->credit_s;
	it->given_s = s->credit_s;
	*all_s += it->given_s;
}

static void
reset(struct state *s, const struct pol_view *view)
{
	double since_s = view->now_s - s->found_s;
	uint32_t n = (uint32_t)s->list.ids.n;
	const double *share;

	for (uint32_t type = 0; type < s->n_types; type++) {
		double *all_s = &s->all_s.items[type];

		*all_s = s->remembers ? *all_s : 0;
		for (uint32_t i = 0; i < n; i++)
			settle(s, part_of(s, s->list.ids.items[i], type), since_s,
			       all_s);
	}
	vec_reserve(&s->shares, (size_t)n * s->n_types + 1);
	if (n)
		s->rule->shares(s->rule_state, view, s->list.ids.items, n,
				s->shares.items);
	share = s->shares.items;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t type = 0; type < s->n_types; type++)
			part_of(s, s->list.ids.items[i], type)->share = *share++;
	s->found_s = view->now_s;
	s->is_stale = false;
}

static double
priority(const struct state *s, const struct part *it, double all_s)
{
	double part = all_s > 0 ? it->given_s / all_s : 0;

	if (s->remembers && !s->together)
		part = it->given_s;
	if (isnan(it->share))
		return 0;
	return part > 0 ? it->share / part : it->share * NEVER_SERVED;
}

enum key {
	SHARE,
	OWED,
	PRIORITY, /* The last sort, which counts most. */
	N_KEYS,
};

static double
key_of(const struct state *s, const struct part *it, uint32_t type, enum key key)
{
	if (key == PRIORITY)
		return priority(s, it, s->all_s.items[type]);
	if (key == OWED)
		return it->owed_s - (s->remembers ? it->given_s : 0);
	return isnan(it->share) ? 0 : it->share;
}

/* Jobs that can run on a type, by arrival. */
static uint32_t
list_type(const struct state *s, const struct pol_view *view, uint32_t type,
	  uint32_t *ret_ids)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s->list.ids.n; i++) {
		uint32_t id = s->list.ids.items[i];

		if (s->waits && isnan(part_of(s, id, type)->share))
			continue;
		if (s->n_types == 1 || share_speed(view, &view->jobs[id], type) > 0)
			ret_ids[n++] = id;
	}
	return n;
}

static void
sort_type(struct state *s, const struct pol_view *view, uint32_t type, uint32_t *ids,
	  uint32_t n)
{
	double *keys = order_list_keys(&s->list, view);

	for (int key = 0; key < N_KEYS; key++) {
		for (uint32_t i = 0; i < n; i++)
			keys[ids[i]] = -key_of(s, part_of(s, ids[i], type), type,
					       (enum key)key);
		order_list_sort_ids(&s->list, ids, n);
	}
}

static void
set_keys(struct state *s, const uint32_t *ids, uint32_t n, enum key key)
{
	s->keys.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t type = s->types.items[i];

		vec_push(&s->keys, -key_of(s, part_of(s, ids[i], type), type, key));
	}
}

/* Sorts all pairs of a job and a type; ties by share, by type, then by arrival. */
static void
sort_together(struct state *s, uint32_t *ids, uint32_t n)
{
	s->sorted.n = s->scratch.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		vec_push(&s->sorted, i);
		vec_push(&s->scratch, 0);
	}
	set_keys(s, ids, n, SHARE);
	order_sort(s->sorted.items, n, s->keys.items, s->scratch.items);
	set_keys(s, ids, n, PRIORITY);
	order_sort(s->sorted.items, n, s->keys.items, s->scratch.items);
	for (uint32_t i = 0; i < n; i++)
		s->scratch.items[i] = ids[s->sorted.items[i]];
	for (uint32_t i = 0; i < n; i++) {
		ids[i] = s->scratch.items[i];
		s->scratch.items[i] = s->types.items[s->sorted.items[i]];
	}
	for (uint32_t i = 0; i < n; i++)
		s->types.items[i] = s->scratch.items[i];
}

static uint32_t
order(void *state, const struct pol_view *view, uint32_t *ret_ids)
{
	struct state *s = state;
	uint32_t n = 0;

	for (size_t i = 0; i < s->list.ids.n; i++)
		account(s, &view->jobs[s->list.ids.items[i]]);
	/* As in Gavel, shares computed at time 0 do not count. */
	if (s->is_stale &&
	    (!(s->found_s > 0) || view->now_s - s->found_s >= s->reset_s))
		reset(s, view);
	s->types.n = 0;
	for (uint32_t type = 0; type < s->n_types; type++) {
		uint32_t n_here = list_type(s, view, type, ret_ids + n);

		if (!s->together)
			sort_type(s, view, type, ret_ids + n, n_here);
		for (uint32_t i = 0; i < n_here; i++)
			vec_push(&s->types, type);
		n += n_here;
	}
	if (s->together)
		sort_together(s, ret_ids, n);
	s->grain_s = nextafter(view->now_s, INFINITY) - view->now_s;
	return n;
}

static void
types(void *state, uint32_t *ret_types)
{
	const struct state *s = state;

	for (size_t i = 0; i < s->types.n; i++)
		ret_types[i] = s->types.items[i];
}

/* Notes the type that each job runs on. */
static void
served(void *state, const struct pol_view *view, const struct pol_plan *plan)
{
	struct state *s = state;

	for (size_t i = 0; i < plan->grants.n; i++) {
		const struct pol_grant *it = &plan->grants.items[i];

		s->jobs.items[it->job].type =
			view->cluster
				->type_of[plan->pieces.items[it->first_piece].node];
	}
}

/* clang-format off */
#define COMMON                                                                          \
	{ "deficit.recompute_s",                                                        \
	  "least time between two computations of shares, s (Gavel)",                   \
	  1000, 0, 1e9, false },                                                        \
	{ "deficit.initial_credit_s",                                                   \
	  "time with which each job begins, s: half a round (Gavel)",                   \
	  180, 0, 1e9, false },                                                         \
	POL_SWITCH("deficit.hold_new_jobs",                                             \
		   "1: new jobs wait until shares are computed (Gavel's simulator)", 0), \
	POL_SWITCH("deficit.since_arrival",                                             \
		   "1: time counts from a job's arrival, not from the last computation " \
		   "(Muri's simulator)", 0),                                            \
	POL_SWITCH("deficit.types_together",                                            \
		   "1: types are served together, not one after another (Sia's "        \
		   "simulator)", 0)
/* clang-format on */

static const struct pol_param common[] = { COMMON, { 0 } };
static const struct pol_param finish_time[] = {
	COMMON,
	POL_SWITCH(
		"finish-time.muri_semantics",
		"1: isolated time in iterations, on whole GPUs; remaining time is not "
		"shared out (Muri's simulator)",
		0),
	{ 0 },
};
static const struct pol_param steps[] = {
	COMMON,
	POL_SWITCH(
		"throughput.in_steps",
		"1: throughput counts in steps (Gavel), not in time on the first type",
		0),
	{ 0 },
};
static const struct pol_param assigned[] = {
	COMMON,
	{ "assigned.oldest_frac",
	  "fraction of the waiting jobs, oldest first, that is assigned (AlloX)", 1, 0,
	  1, false },
	{ 0 },
};

/* An order for each rule. */
#define ORDER(name_, text_, params_, rule_)                                          \
	static void init_##rule_(void *state, const double *values,                  \
				 const struct pol_cluster *cluster, struct rng *rng) \
	{                                                                            \
		(void)rng;                                                           \
		begin(state, values, cluster, &rule_);                               \
	}                                                                            \
	const struct pol_order order_##rule_ = {                                     \
		.module = { .name = name_,                                           \
			    .text = text_,                                           \
			    .params = params_,                                       \
			    .state_size = sizeof(struct state),                      \
			    .init = init_##rule_,                                    \
			    .fini = fini,                                            \
			    .rounds = rounds,                                        \
			    .on_event = on_event },                                  \
		.fit = POL_SKIP,                                                     \
		.order = order,                                                      \
		.types = types,                                                      \
		.served = served,                                                    \
	}

ORDER("equal-shares", "furthest below an equal share of time", common, share_equal);
ORDER("max-min-shares", "furthest below an equal share of the GPUs", common,
      share_max_min);
ORDER("finish-time-shares", "furthest below the share with equal finish-time fairness",
      finish_time, share_finish_time);
ORDER("makespan-shares", "furthest below the share with the least makespan", common,
      share_makespan);
ORDER("throughput-shares", "furthest below the share with the largest throughput",
      steps, share_throughput);
ORDER("assigned-shares", "first on its GPU by the optimal assignment", assigned,
      share_assigned);
