/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs_run.c - running jobs: profiles from the reports of their pacers (jobs_pacer.c),
 * or else from their traffic.
 */
#include <errno.h>

#include "lib/base/clk.h"
#include "lib/base/strbuf.h"
#include "scheduler/daemon/config.h"
#include "scheduler/daemon/jobs_priv.h"
#include "scheduler/daemon/telemetry.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"
#include "scheduler/live/live_workload.h"
#include "topology/topo.h"

/* Whether a running job's traffic is enough for advice. */
static enum jobs_refusal
judge(const struct jobs *jobs, const struct status *status,
      const struct work_job *running, const struct profiled_job *seen)
{
	if (status_estimate_age_ns(status, seen) > jobs->opts.config->max_age_us * 1000)
		return JOBS_STALE;
	if (running->profile.n_iterations < jobs->opts.config->min_iterations)
		return JOBS_THIN;
	if (jobs_has_silent(jobs, running->hosts, running->n_hosts_wanted))
		return JOBS_SILENT;
	return JOBS_ADVISED;
}

/* A pacer shows the isolated job better than traffic does. */
static bool
take_pacer(struct jobs *jobs, const struct live_workload *running, struct job *job)
{
	struct work_job new;
	int r = jobs_pacer_work(jobs, running, job, &new);

	if (r == -EAGAIN)
		return job->is_by_pacer; /* Unchanged. */
	if (r < 0)
		return false;
	if (jobs_has_silent(jobs, new.hosts, new.n_hosts_wanted))
		jobs_refuse(jobs, job, JOBS_SILENT);
	else
		jobs_put(jobs, job, &new, true);
	job->is_restored = false;
	work_job_fini(&new);
	return true;
}

void
jobs_take_running(struct jobs *jobs, const struct live_workload *running,
		  const struct profiled_job *seen)
{
	const struct status status = telemetry_status(jobs->opts.telemetry);
	struct job *job = jobs_make(jobs, live_job_name(jobs->live, seen->job));
	struct strbuf notes = STRBUF_EMPTY;
	struct work_job new;
	enum jobs_refusal why;

	job->is_here = true;
	if (running && jobs->advisor && take_pacer(jobs, running, job))
		return;
	if (running && jobs->advisor &&
	    !live_workload_job(running, seen, &new, &notes)) {
		why = judge(jobs, &status, &new, seen);
		/* A few iterations after a restart are no reason to give up its advice. */
		if (why != JOBS_THIN)
			job->is_restored = false;
		if (why == JOBS_ADVISED)
			jobs_put(jobs, job, &new, false);
		else if (!job->is_restored)
			jobs_refuse(jobs, job, why);
		work_job_fini(&new);
	} else if (!job->is_restored) {
		jobs_refuse(jobs, job,
			    !running              ? JOBS_NO_FABRIC
			    : !jobs->advisor      ? JOBS_NO_ADVISOR
			    : !seen->has_estimate ? JOBS_NO_PERIOD
			    : seen->why           ? JOBS_STALE
						  : JOBS_NOT_PLACED);
	}
	strbuf_free(&notes);
}

void
jobs_mark_running(struct jobs *jobs)
{
	size_t n;
	const struct profiled_job *const *seen = job_profiler_jobs(jobs->profiler, &n);

	for (size_t i = 0; i < jobs->items.n; i++)
		if (jobs->items.items[i])
			jobs->items.items[i]->is_here =
				jobs_has_pacer(jobs->items.items[i]);
	for (size_t i = 0; i < n; i++) {
		struct job *job =
			jobs_find(jobs, live_job_name(jobs->live, seen[i]->job));

		if (job)
			job->is_here = true;
	}
	/* Jobs from before a restart: until their profile is too old. */
	for (size_t i = 0; i < jobs->items.n; i++) {
		struct job *job = jobs->items.items[i];

		if (!job || !job->is_restored)
			continue;
		if (clk_wall_us() - job->restored_us < jobs->opts.config->max_age_us)
			job->is_here = true;
		else if (job->is_here)
			job->is_restored = false;
	}
}

/* The age of the data behind its profile. */
static int64_t
age_ns(const struct jobs *jobs, const struct status *status, const struct job *job)
{
	uint32_t id = live_find_job(jobs->live, job->name);
	const struct profiled_job *seen =
		id < TELE_OTHER ? job_profiler_find(jobs->profiler, id) : NULL;

	if (job->is_by_pacer && job->report_ns)
		return clk_monotonic_ns() - job->report_ns;
	return seen ? status_estimate_age_ns(status, seen) : INT64_MAX;
}

/* Hosts fall silent and profiles grow old between estimates, too. */
void
jobs_check_ages(struct jobs *jobs)
{
	const struct status status = telemetry_status(jobs->opts.telemetry);
	int64_t most_ns = jobs->opts.config->max_age_us * 1000;

	for (size_t i = 0; i < jobs->items.n; i++) {
		struct job *job = jobs->items.items[i];

		if (!job || job->number == UINT32_MAX || job->is_waiting ||
		    job->is_restored)
			continue;
		if (age_ns(jobs, &status, job) > most_ns)
			jobs_refuse(jobs, job, JOBS_STALE);
		else if (jobs_has_silent(jobs, job->hosts, job->n_hosts))
			jobs_refuse(jobs, job, JOBS_SILENT);
	}
}
