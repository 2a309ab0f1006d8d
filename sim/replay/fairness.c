/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/replay/fairness.h"

#include <math.h>

#include "lib/base/sort.h"
#include "lib/base/vec.h"

/* A job begins or ends to want GPUs. */
struct change {
	uint32_t user, job;
	double at_s;
	bool ends;
};

/* Jobs of one size. */
struct size {
	uint32_t n_gpus;
	double deserved_s; /* Of such a job of this user, if it wanted them always. */
};

struct sweep {
	const struct cluster_job *jobs;
	const struct cluster_result *results;
	double quota;
	VEC(struct change) changes;
	VEC(struct size) sizes;
	VEC(double) deserved_s; /* By job: at its begin, then in all. */
	/* Of the user at hand. */
	double used_s, user_deserved_s, wanted, n_present;
	struct fairness sum;
	uint32_t n_jobs, n_users;
};

static int
by_user_and_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->user != y->user)
		return x->user < y->user ? -1 : 1;
	if (x->at_s != y->at_s)
		return x->at_s < y->at_s ? -1 : 1;
	return (x->job > y->job) - (x->job < y->job);
}

static struct size *
size_of(struct sweep *s, uint32_t n_gpus)
{
	for (size_t i = 0; i < s->sizes.n; i++)
		if (s->sizes.items[i].n_gpus == n_gpus)
			return &s->sizes.items[i];
	vec_push(&s->sizes, ((struct size){ n_gpus, 0 }));
	return &s->sizes.items[s->sizes.n - 1];
}

/* All changes; a job that takes no time deserves nothing. */
static void
list_changes(struct sweep *s, size_t n, double until_s)
{
	for (size_t i = 0; i < n; i++) {
		const struct cluster_job *job = &s->jobs[i];
		double end_s = s->results[i].end_s;

		vec_push(&s->deserved_s, 0);
		end_s = isnan(end_s) ? until_s : end_s;
		if (job->user == POL_NONE || !(end_s > job->submit_s))
			continue;
		vec_push(&s->changes, ((struct change){ job->user, (uint32_t)i,
							job->submit_s, false }));
		vec_push(&s->changes,
			 ((struct change){ job->user, (uint32_t)i, end_s, true }));
		size_of(s, job->n_gpus);
	}
	sort_items(s->changes.items, s->changes.n, by_user_and_time);
}

static void
pass(struct sweep *s, double dt_s)
{
	if (!(dt_s > 0) || !(s->n_present > 0))
		return;
	s->user_deserved_s += fmin(s->wanted, s->quota) * dt_s;
	for (size_t i = 0; i < s->sizes.n; i++)
		s->sizes.items[i].deserved_s +=
			fmin(s->sizes.items[i].n_gpus, s->quota / s->n_present) * dt_s;
}

static void
change(struct sweep *s, const struct change *change)
{
	uint32_t n_gpus = s->jobs[change->job].n_gpus;
	double now_s = size_of(s, n_gpus)->deserved_s, fair;
	double *deserved_s = &s->deserved_s.items[change->job];

	s->wanted += change->ends ? -(double)n_gpus : n_gpus;
	s->n_present += change->ends ? -1 : 1;
	if (!change->ends) {
		*deserved_s = now_s;
		return;
	}
	s->used_s += s->results[change->job].attained_s;
	fair = s->results[change->job].attained_s / (now_s - *deserved_s);
	s->sum.job_least = fmin(s->sum.job_least, fair);
	s->sum.job_mean += fair;
	s->n_jobs++;
}

static void
end_user(struct sweep *s)
{
	double fair = s->used_s / s->user_deserved_s;

	s->sum.user_least = fmin(s->sum.user_least, fair);
	s->sum.user_mean += fair;
	s->n_users++;
	s->used_s = s->user_deserved_s = s->wanted = s->n_present = 0;
	for (size_t i = 0; i < s->sizes.n; i++)
		s->sizes.items[i].deserved_s = 0;
}

static uint32_t
count_users(const struct sweep *s)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s->changes.n; i++)
		n += !i || s->changes.items[i].user != s->changes.items[i - 1].user;
	return n;
}

struct fairness
fairness_of(const struct cluster_job *jobs, const struct cluster_result *results,
	    size_t n, uint32_t n_gpus, double until_s)
{
	struct sweep s = { .jobs = jobs,
			   .results = results,
			   .sum = { 0, INFINITY, 0, INFINITY, 0 } };

	list_changes(&s, n, until_s);
	s.quota = (double)n_gpus / fmax(1, count_users(&s));
	for (size_t i = 0; i < s.changes.n; i++) {
		const struct change *at = &s.changes.items[i];

		if (i && at->user != at[-1].user)
			end_user(&s);
		else if (i)
			pass(&s, at->at_s - at[-1].at_s);
		change(&s, at);
	}
	if (s.changes.n)
		end_user(&s);
	vec_free(&s.changes);
	vec_free(&s.sizes);
	vec_free(&s.deserved_s);
	if (!s.n_users)
		return (struct fairness){ 0, NAN, NAN, NAN, NAN };
	s.sum.n_users = s.n_users;
	s.sum.user_mean /= s.n_users;
	s.sum.job_mean /= s.n_jobs;
	return s.sum;
}
