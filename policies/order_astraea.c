/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order_astraea.c - long-term fairness of GPU time, of users and of a user's jobs
 * (Astraea, TPDS 2021).
 *
 * A user deserves the smaller of its demand and its quota, an equal part of the cluster;
 * a job the smaller of its GPUs and an equal part of the quota.  When leases end, the
 * user with the least GPU time over what it deserved, in the last hours, is next, with
 * the lease that it would get counted.  Of its jobs the one in the lowest class goes
 * first; a class is a range of the job's GPU time over what it deserved.  Within a
 * class: the highest chance, for each GPU, to end within the next lease, by the
 * durations of ended jobs.  Jobs that wait for too long go first of their user.
 */
#include <math.h>

#include "policies/lease.h"
#include "policies/math/durations.h"
#include "policies/order_list.h"
#include "policies/orders.h"

#define MAX_INTERVALS 168
#define INTERVAL_S    3600.0
#define LEAST_SAMPLES 5 /* Ended jobs of a size that say something (its code). */

enum {
	CLASSES,
	STARVING_S,
	INTERVALS,
	N_PARAMS,
};

struct user {
	/* GPU seconds by interval, a ring. */
	double used_s[MAX_INTERVALS], deserved_s[MAX_INTERVALS];
	uint32_t n_wanted, n_held, n_jobs; /* GPUs and jobs since the last plan. */
	double sum_used_s, sum_deserved_s; /* While an order is made. */
	uint32_t first, last;              /* Its jobs to serve: 'next' by id. */
};

struct state {
	struct order_list list; /* First: order_list_event(). */
	double n_classes, starving_s, lease_s;
	uint32_t n_intervals;
	VEC(struct user) users; /* 0: jobs without a user; else by number, from 1. */
	VEC(double) job_deserved_s; /* By id. */
	VEC(uint32_t) next;         /* By id: the user's next job. */
	VEC(uint32_t) waiting;
	struct durations ended;
	double synced_s; /* GPU times are counted until here. */
	uint64_t interval;
};

static void
init(void *state, const double *params, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;

	(void)cluster;
	(void)rng;
	s->n_classes = params[CLASSES];
	s->starving_s = params[STARVING_S];
	s->n_intervals = (uint32_t)params[INTERVALS];
}

static void
leases(void *state, double lease_s)
{
	((struct state *)state)->lease_s = lease_s;
}

static void
fini(void *state)
{
	struct state *s = state;

	order_list_fini(&s->list);
	vec_free(&s->users);
	vec_free(&s->job_deserved_s);
	vec_free(&s->next);
	vec_free(&s->waiting);
	durations_free(&s->ended);
}

static struct user *
user_of(struct state *s, const struct pol_job *job)
{
	return &s->users.items[job->user == POL_NONE ? 0 : job->user + 1];
}

static void
on_event(void *state, const struct pol_view *view, enum pol_event event,
	 const struct pol_job *job)
{
	struct state *s = state;
	size_t n_users = job->user == POL_NONE ? 1 : (size_t)job->user + 2;

	while (s->users.n < n_users)
		vec_push(&s->users, ((struct user){ .first = POL_NONE }));
	while (s->next.n < view->n_ids) {
		vec_push(&s->next, POL_NONE);
		vec_push(&s->job_deserved_s, 0);
	}
	if (event == POL_ARRIVED)
		s->job_deserved_s.items[job->id] = 0;
	if (event == POL_DONE)
		durations_add(&s->ended, job->n_gpus, job->duration_s);
	order_list_event(&s->list, event, job->id);
}

/* ---- What was used and deserved -------------------------------------------------- */

/* GPUs of each user that has submitted jobs; the first entry may have none. */
static double
quota(const struct state *s, const struct pol_view *view)
{
	double n = fmax(1, (double)s->users.n - 1);

	return pol_cluster_usable(view->cluster) / n;
}

/* Counts 'dt_s' since the last plan, within one interval. */
static void
count(struct state *s, double gpus, double dt_s)
{
	uint64_t k = s->interval % s->n_intervals;

	for (size_t i = 0; i < s->users.n; i++) {
		struct user *user = &s->users.items[i];

		user->used_s[k] += user->n_held * dt_s;
		user->deserved_s[k] += fmin(user->n_wanted, gpus) * dt_s;
	}
}

static void
next_interval(struct state *s)
{
	uint64_t k = ++s->interval % s->n_intervals;

	for (size_t i = 0; i < s->users.n; i++)
		s->users.items[i].used_s[k] = s->users.items[i].deserved_s[k] = 0;
}

/* Counts until now. */
static void
sync(struct state *s, const struct pol_view *view)
{
	double gpus = quota(s, view), dt_s = view->now_s - s->synced_s;

	for (uint32_t i = 0; dt_s > 0 && i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];
		uint32_t n = user_of(s, job)->n_jobs;

		if (n && job->submit_s <= s->synced_s)
			s->job_deserved_s.items[job->id] +=
				fmin(job->n_gpus, gpus / n) * dt_s;
	}
	/* Intervals in which nothing happened are counted one by one, at most a ring. */
	while (s->synced_s < view->now_s) {
		double end_s = ((double)s->interval + 1) * INTERVAL_S;
		double to_s = fmin(end_s, view->now_s);

		if (to_s > s->synced_s)
			count(s, gpus, to_s - s->synced_s);
		s->synced_s = to_s;
		if (to_s >= end_s)
			next_interval(s);
	}
}

/* Notes what each user has, and wants. */
static void
note(struct state *s, const struct pol_view *view)
{
	for (size_t i = 0; i < s->users.n; i++)
		s->users.items[i].n_wanted = s->users.items[i].n_held =
			s->users.items[i].n_jobs = 0;
	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];
		struct user *user = user_of(s, job);

		user->n_wanted += job->n_gpus;
		user->n_held += job->n_held_gpus;
		user->n_jobs++;
	}
}

static void
served(void *state, const struct pol_view *view, const struct pol_plan *plan)
{
	(void)plan;
	note(state, view);
}

/* ---- A user's jobs --------------------------------------------------------------- */

static double
class_of(const struct state *s, const struct pol_job *job)
{
	double x = job->attained_s / s->job_deserved_s.items[job->id], f;

	if (!(x > 0))
		return 0;
	f = -log(x) / sqrt(1 + log(x) * log(x));
	return s->n_classes - floor((f + 1) / 2 * s->n_classes);
}

/* Sorts jobs that may be served: class, chance to end, arrival. */
static void
sort_waiting(struct state *s, const struct pol_view *view)
{
	double *keys = order_list_keys(&s->list, view);
	uint32_t *ids = s->waiting.items, n = (uint32_t)s->waiting.n;

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < n; i++) {
			const struct pol_job *job = &view->jobs[ids[i]];
			bool starves = !job->n_pieces &&
				       view->now_s - job->since_s >= s->starving_s;

			if (starves)
				keys[ids[i]] = pass ? -1 : -INFINITY;
			else if (pass)
				keys[ids[i]] = class_of(s, job);
			else
				keys[ids[i]] =
					-durations_end_chance(
						&s->ended, job->n_gpus, job->executed_s,
						s->lease_s, LEAST_SAMPLES) /
					job->n_gpus;
		}
		order_list_sort_ids(&s->list, ids, n);
	}
}

/* ---- Users ----------------------------------------------------------------------- */

static void
sum_up(struct state *s, double gpus)
{
	for (size_t i = 0; i < s->users.n; i++) {
		struct user *user = &s->users.items[i];

		user->first = user->last = POL_NONE;
		user->sum_used_s = 0;
		user->sum_deserved_s = fmin(user->n_wanted, gpus) * s->lease_s;
		for (uint32_t k = 0; k < s->n_intervals; k++) {
			user->sum_used_s += user->used_s[k];
			user->sum_deserved_s += user->deserved_s[k];
		}
	}
}

static void
queue(struct state *s, const struct pol_job *job)
{
	struct user *user = user_of(s, job);

	s->next.items[job->id] = POL_NONE;
	if (user->first == POL_NONE)
		user->first = job->id;
	else
		s->next.items[user->last] = job->id;
	user->last = job->id;
}

static double
fairness(const struct user *user)
{
	return user->sum_deserved_s > 0 ? user->sum_used_s / user->sum_deserved_s : 0;
}

/* The user with the least fairness of those with jobs; or NULL. */
static struct user *
next_user(struct state *s)
{
	struct user *best = NULL;

	for (size_t i = 0; i < s->users.n; i++) {
		struct user *user = &s->users.items[i];

		if (user->first != POL_NONE &&
		    (!best || fairness(user) < fairness(best)))
			best = user;
	}
	return best;
}

/* Lists jobs that hold a lease, and collects the others. */
static uint32_t
part_leased(struct state *s, const struct pol_view *view, uint32_t *ret_ids,
	    uint32_t *n_free)
{
	uint32_t n = 0;

	s->waiting.n = 0;
	*n_free = pol_cluster_usable(view->cluster);
	for (size_t i = 0; i < s->list.ids.n; i++) {
		const struct pol_job *job = &view->jobs[s->list.ids.items[i]];

		if (lease_holds(job, view->now_s, s->lease_s)) {
			ret_ids[n++] = job->id;
			*n_free -= job->n_held_gpus;
		} else {
			vec_push(&s->waiting, job->id);
		}
	}
	return n;
}

static uint32_t
order(void *state, const struct pol_view *view, uint32_t *ret_ids)
{
	struct state *s = state;
	uint32_t n_free, n = part_leased(s, view, ret_ids, &n_free);
	struct user *user;

	sync(s, view);
	note(s, view);
	sum_up(s, quota(s, view));
	sort_waiting(s, view);
	for (size_t i = 0; i < s->waiting.n; i++)
		queue(s, &view->jobs[s->waiting.items[i]]);
	while (n_free && (user = next_user(s))) {
		const struct pol_job *job = &view->jobs[user->first];

		user->first = s->next.items[job->id];
		ret_ids[n++] = job->id;
		if (job->n_gpus > n_free)
			continue;
		n_free -= job->n_gpus;
		user->sum_used_s += job->n_gpus * s->lease_s;
	}
	/* No GPU is left for the others. */
	for (size_t i = 0; i < s->users.n; i++)
		for (uint32_t id = s->users.items[i].first; id != POL_NONE;
		     id = s->next.items[id])
			ret_ids[n++] = id;
	return n;
}

static const struct pol_param params[] = {
	[CLASSES] = POL_WHOLE("astraea.classes",
			      "k: classes of jobs by fairness (Astraea's code)", 5, 1,
			      1000),
	[STARVING_S] = { "astraea.starvation_s",
			 "wait after which a job goes first of its user, s (Astraea's "
			 "code)",
			 14400, 0, 1e12, false },
	[INTERVALS] = POL_WHOLE("astraea.hours",
				"hours over which GPU time of users counts (Astraea's "
				"code)",
				24, 1, MAX_INTERVALS),
	[N_PARAMS] = { 0 },
};

const struct pol_order order_astraea = {
	.module = { .name = "astraea",
		    .text = "user, then its job, with the least GPU time over what it "
			    "deserved",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini,
		    .on_event = on_event,
		    .leases = leases },
	.fit = POL_SKIP,
	.order = order,
	.served = served,
};
