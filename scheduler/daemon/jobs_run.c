/*
 * jobs_run.c - jobs that run: their profiles, as their pacers tell of them
 * (jobs_paced.c), or else as their traffic shows them.
 */
#include <errno.h>

#include "lib/base/clk.h"
#include "lib/base/strbuf.h"
#include "scheduler/daemon/daemon.h"
#include "scheduler/daemon/jobs_priv.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"
#include "scheduler/live/running.h"
#include "topology/topo.h"

/* Whether a running job may be advised on, on what its traffic shows. */
static enum jobs_refusal
judge(const struct daemon *d, const struct status *picture,
      const struct work_job *running, const struct profiled_job *seen)
{
	if (status_estimate_age_ns(picture, seen) > d->config.max_age_us * 1000)
		return JOBS_STALE;
	if (running->profile.n_iterations < d->config.min_iterations)
		return JOBS_THIN;
	if (jobs_has_silent(d->jobs, running->hosts, running->n_hosts_wanted))
		return JOBS_SILENT;
	return JOBS_ADVISED;
}

/* A pacer knows better than the traffic what the job is like alone. */
static bool
take_paced(struct daemon *d, const struct running *running, struct job *job)
{
	struct work_job new;
	int r = jobs_paced_work(d, running, job, &new);

	if (r == -EAGAIN)
		return job->is_by_pacer; /* As it was. */
	if (r < 0)
		return false;
	if (jobs_has_silent(d->jobs, new.hosts, new.n_hosts_wanted))
		jobs_refuse(d, job, JOBS_SILENT);
	else
		jobs_put(d, job, &new, true);
	work_job_fini(&new);
	return true;
}

void
jobs_take_running(struct daemon *d, const struct running *running,
		  const struct profiled_job *seen)
{
	const struct status picture = telemetry_status(d);
	struct job *job = jobs_make(d->jobs, live_job_name(d->now.live, seen->job));
	struct strbuf notes = STRBUF_EMPTY;
	struct work_job new;
	enum jobs_refusal why;

	job->is_here = true;
	if (running && d->jobs->advisor && take_paced(d, running, job))
		return;
	if (running && d->jobs->advisor && !running_job(running, seen, &new, &notes)) {
		why = judge(d, &picture, &new, seen);
		if (why == JOBS_ADVISED)
			jobs_put(d, job, &new, false);
		else
			jobs_refuse(d, job, why);
		work_job_fini(&new);
	} else if (!job->is_restored) {
		jobs_refuse(d, job,
			    !running              ? JOBS_NO_FABRIC
			    : !d->jobs->advisor   ? JOBS_NO_ADVISOR
			    : !seen->has_estimate ? JOBS_NO_PERIOD
			    : seen->why           ? JOBS_STALE
						  : JOBS_NOT_PLACED);
	}
	strbuf_free(&notes);
}

void
jobs_mark_running(struct daemon *d)
{
	size_t n;
	const struct profiled_job *const *seen = job_profiler_jobs(d->now.online, &n);

	for (size_t i = 0; i < d->jobs->items.n; i++)
		if (d->jobs->items.items[i])
			d->jobs->items.items[i]->is_here =
				jobs_is_paced(d->jobs->items.items[i]);
	for (size_t i = 0; i < n; i++) {
		struct job *job =
			jobs_find(d, live_job_name(d->now.live, seen[i]->job));

		if (job)
			job->is_here = true;
		if (job && seen[i]->has_estimate)
			job->is_restored = false;
	}
	/* Of before a restart: until its profile is too old. */
	for (size_t i = 0; i < d->jobs->items.n; i++) {
		struct job *job = d->jobs->items.items[i];

		if (job && job->is_restored)
			job->is_here |=
				clk_wall_us() - job->restored_us < d->config.max_age_us;
	}
}

/* How old that is which its profile stands on. */
static int64_t
age_ns(const struct daemon *d, const struct status *picture, const struct job *job)
{
	uint32_t id = live_find_job(d->now.live, job->name);
	const struct profiled_job *seen =
		id < TELE_OTHER ? job_profiler_find(d->now.online, id) : NULL;

	if (job->is_by_pacer && job->paced_ns)
		return clk_monotonic_ns() - job->paced_ns;
	return seen ? status_estimate_age_ns(picture, seen) : INT64_MAX;
}

/* Between estimates, too, hosts fall silent and profiles grow old. */
void
jobs_look_again(struct daemon *d)
{
	const struct status picture = telemetry_status(d);
	int64_t most_ns = d->config.max_age_us * 1000;

	for (size_t i = 0; i < d->jobs->items.n; i++) {
		struct job *job = d->jobs->items.items[i];

		if (!job || job->number == UINT32_MAX || job->is_waiting ||
		    job->is_restored)
			continue;
		if (age_ns(d, &picture, job) > most_ns)
			jobs_refuse(d, job, JOBS_STALE);
		else if (jobs_has_silent(d->jobs, job->hosts, job->n_hosts))
			jobs_refuse(d, job, JOBS_SILENT);
	}
}
