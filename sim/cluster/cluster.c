/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.c - the loop over events. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "policies/stages.h"
#include "sim/cluster/cluster_priv.h"

static double
next_s(struct loop *l)
{
	double next = policy_wakeup_s(l->policy, &l->view);

	if (l->n_arrived < l->n)
		next = fmin(next, l->input[l->n_arrived].submit_s);
	if (l->n_changed < l->opts->n_changes)
		next = fmin(next, l->opts->changes[l->n_changed].at_s);
	for (size_t i = 0; i < l->running.n; i++)
		next = fmin(next, l->runs[l->running.items[i]].end_s);
	return next;
}

static int
run(struct loop *l)
{
	while (l->n_done < l->n) {
		double now_s = next_s(l);

		if (!(now_s < INFINITY))
			break;
		if (now_s > l->opts->until_s) {
			l->view.now_s = l->opts->until_s;
			cluster_advance(l);
			break;
		}
		l->view.now_s = now_s;
		cluster_complete(l);
		cluster_arrive(l);
		cluster_advance(l);
		cluster_change_nodes(l);
		cluster_decide(l);
		l->counts->n_events++;
		if (l->opts->go_on &&
		    !l->opts->go_on(l->opts->ctx, (double)l->n_done / (double)l->n))
			return -ECANCELED;
	}
	return 0;
}

/* 0, -EINVAL or -ERANGE, as cluster_run(). */
static int
check_job(const struct policy *policy, const struct cluster_job *job, double until_s)
{
	double most_s = CLUSTER_MAX_ROUNDS * policy_round_s(policy);

	if (job->n_gpus > policy_max_gpus(policy) || !job->n_gpus)
		return -EINVAL;
	return fmin(job->duration_s, until_s - job->submit_s) > most_s ? -ERANGE : 0;
}

int
cluster_run(const struct cluster_job *jobs, size_t n, struct policy *policy,
	    const struct cluster_opts *opts, struct cluster_result *ret_results,
	    struct cluster_counts *ret_counts, size_t *ret_bad)
{
	struct loop l = {
		.input = jobs,
		.n = n,
		.policy = policy,
		.costs = policy_costs(policy),
		.opts = opts,
		.jobs = xcalloc(n + 1, sizeof *l.jobs),
		.runs = xcalloc(n + 1, sizeof *l.runs),
		.results = ret_results,
		.counts = ret_counts,
	};
	int r = 0;

	*ret_counts = (struct cluster_counts){ 0 };
	l.view = (struct pol_view){ .cluster = opts->cluster,
				    .jobs = l.jobs,
				    .n_ids = (uint32_t)n,
				    .speed = opts->work->speed,
				    .report = opts->work->report };
	if (!l.view.speed.speed)
		l.view.speed.speed = stages_speed;
	for (size_t i = 0; r == 0 && i < n; i++) {
		ret_results[i] =
			(struct cluster_result){ .first_s = NAN, .end_s = NAN };
		*ret_bad = i;
		r = check_job(policy, &jobs[i], opts->until_s);
	}
	if (r == 0)
		r = run(&l);
	for (size_t i = 0; i < l.ids.n; i++)
		cluster_note_result(&l, l.ids.items[i], NAN, 0);
	for (size_t i = 0; i < n; i++)
		vec_free(&l.runs[i].pieces);
	vec_free(&l.ids);
	vec_free(&l.running);
	vec_free(&l.done);
	vec_free(&l.speeds);
	vec_free(&l.mates);
	vec_free(&l.lost_s);
	vec_free(&l.ends_s);
	for (size_t i = 0; i < AUGMENT_MAX_PLANS; i++)
		pol_plan_fini(&l.plans[i]);
	free(l.jobs);
	free(l.runs);
	return r;
}
