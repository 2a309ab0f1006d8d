/*
 * order_deficit.c - rounds out of shares of the time (Gavel).
 *
 * Who has had least of its share goes first: by x / (its part of all time that was given),
 * then by what it was owed when shares were found last, then by x.  Shares are found anew
 * when jobs have come, gone or changed, yet not within 'reset_s' of the last time; what
 * was given and owed is counted from then.  One that came since then has no share, and has
 * what others leave, or waits ('wait', as Gavel's simulator has it).  Each begins with 'credit_s', so that nobody has had nothing.
 */
#include <float.h>
#include <math.h>

#include "scheduler/policy/order_list.h"
#include "scheduler/policy/orders.h"
#include "scheduler/policy/shares.h"

#define NEVER_SERVED 1e9 /* Priority for each share, of who has had no time at all. */

struct job {
	double given_s, owed_s, share; /* share NAN: none was found yet. */
	double executed_s;             /* When it was looked at last. */
};

struct state {
	const struct share_rule *rule;
	void *rule_state;
	double reset_s, credit_s;
	bool waits, remembers;
	struct order_list list;
	VEC(struct job) jobs; /* By id. */
	VEC(double) shares;
	VEC(double) keys; /* By id. */
	VEC(uint32_t) scratch;
	double found_s; /* When shares were. */
	double all_s;   /* Given to all. */
	double grain_s; /* Of the clock, when it was asked last. */
	bool is_stale;
};

static void
begin(struct state *s, const double *params, const struct share_rule *rule)
{
	s->rule = rule;
	s->rule_state = xcalloc(1, rule->state_size + 1);
	s->reset_s = params[0];
	s->credit_s = params[1];
	s->waits = params[2] > 0;
	s->remembers = params[3] > 0;
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
	vec_free(&s->shares);
	vec_free(&s->keys);
	vec_free(&s->scratch);
}

static void
look(struct state *s, const struct pol_job *job)
{
	struct job *it = &s->jobs.items[job->id];
	double given_s = job->executed_s - it->executed_s, n = given_s / s->grain_s;

	/* What the clock cannot tell is left over from sums, and would decide ties. */
	if (n < 1 / DBL_EPSILON)
		given_s = nearbyint(n) * s->grain_s;
	it->executed_s = job->executed_s;
	it->given_s += given_s;
	s->all_s += given_s;
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
		s->jobs.items[job->id] = (struct job){ .given_s = s->credit_s,
						       .share = NAN,
						       .executed_s = job->executed_s };
	} else if (event == POL_DONE) {
		look(s, job);
	}
	s->is_stale |=
		event == POL_ARRIVED || event == POL_DONE || event == POL_CHANGED;
}

/* Settles what was owed until now, and finds new shares. */
static void
reset(struct state *s, const struct pol_view *view)
{
	double since_s = view->now_s - s->found_s;
	uint32_t n = (uint32_t)s->list.ids.n;

	if (!s->remembers)
		s->all_s = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct job *it = &s->jobs.items[s->list.ids.items[i]];

		if (!isnan(it->share))
			it->owed_s += it->share * since_s;
		if (s->remembers)
			continue;
		it->owed_s -= it->given_s - s->credit_s;
		it->given_s = s->credit_s;
		s->all_s += it->given_s;
	}
	vec_reserve(&s->shares, n);
	if (n)
		s->rule->shares(s->rule_state, view, s->list.ids.items, n,
				s->shares.items);
	for (uint32_t i = 0; i < n; i++)
		s->jobs.items[s->list.ids.items[i]].share = s->shares.items[i];
	s->found_s = view->now_s;
	s->is_stale = false;
}

static double
priority(const struct state *s, const struct job *it)
{
	double part = s->all_s > 0 ? it->given_s / s->all_s : 0;

	if (isnan(it->share))
		return 0;
	return part > 0 ? it->share / part : it->share * NEVER_SERVED;
}

enum key {
	SHARE,
	OWED,
	PRIORITY, /* Sorted by last: it counts most. */
	N_KEYS,
};

static double
key_of(const struct state *s, const struct job *it, enum key key)
{
	if (key == PRIORITY)
		return priority(s, it);
	if (key == OWED)
		return it->owed_s - (s->remembers ? it->given_s : 0);
	return isnan(it->share) ? 0 : it->share;
}

/* Those without a share. */
static uint32_t
leave_out(const struct state *s, uint32_t *ids, uint32_t n)
{
	uint32_t n_left = 0;

	for (uint32_t i = 0; i < n; i++)
		if (!isnan(s->jobs.items[ids[i]].share))
			ids[n_left++] = ids[i];
	return n_left;
}

static uint32_t
order(void *state, const struct pol_view *view, uint32_t *ret_ids)
{
	struct state *s = state;
	uint32_t n = (uint32_t)s->list.ids.n;

	for (uint32_t i = 0; i < n; i++) {
		ret_ids[i] = s->list.ids.items[i];
		look(s, &view->jobs[ret_ids[i]]);
	}
	/* At the time 0 nothing has been found yet, as far as Gavel is concerned. */
	if (s->is_stale &&
	    (!(s->found_s > 0) || view->now_s - s->found_s >= s->reset_s))
		reset(s, view);
	if (s->waits)
		n = leave_out(s, ret_ids, n);
	vec_reserve(&s->scratch, n);
	vec_reserve(&s->keys, s->jobs.n);
	for (int key = 0; key < N_KEYS; key++) {
		for (uint32_t i = 0; i < n; i++)
			s->keys.items[ret_ids[i]] =
				-key_of(s, &s->jobs.items[ret_ids[i]], (enum key)key);
		order_sort(ret_ids, n, s->keys.items, s->scratch.items);
	}
	s->grain_s = nextafter(view->now_s, INFINITY) - view->now_s;
	return n;
}

static const struct pol_param params[] = {
	{ "deficit.reset_s", "between two times that shares are found, s (Gavel)", 1000,
	  0, 1e9 },
	{ "deficit.credit_s", "what each begins with, s: half a round (Gavel)", 180, 0,
	  1e9 },
	{ "deficit.wait", "1: new jobs wait until shares are found (Gavel's simulator)",
	  0, 0, 1 },
	{ "deficit.remember",
	  "1: time counts since a job came, not since shares were found (Muri's simulator)",
	  0, 0, 1 },
	{ 0 },
};

/* An order for each rule. */
#define ORDER(name_, text_, rule_)                                                   \
	static void init_##rule_(void *state, const double *values,                  \
				 const struct pol_cluster *cluster, struct rng *rng) \
	{                                                                            \
		(void)cluster;                                                       \
		(void)rng;                                                           \
		begin(state, values, &rule_);                                        \
	}                                                                            \
	const struct pol_order order_##rule_ = {                                     \
		.module = { .name = name_,                                           \
			    .text = text_,                                           \
			    .params = params,                                        \
			    .state_size = sizeof(struct state),                      \
			    .init = init_##rule_,                                    \
			    .fini = fini,                                            \
			    .on_event = on_event },                                  \
		.fit = POL_SKIP,                                                     \
		.order = order,                                                      \
	}

ORDER("equal-shares", "least served of an equal share of the time", share_equal);
ORDER("max-min-shares", "least served of an equal share of the GPUs", share_max_min);
ORDER("finish-time-shares", "least served of a share that delays all alike",
      share_finish_time);
ORDER("makespan-shares", "least served of a share by which all end together",
      share_makespan);
ORDER("throughput-shares", "least served of a share that gets most done",
      share_throughput);
