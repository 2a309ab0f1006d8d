/*
 * jobs_run.c - jobs that run: their profiles, as traffic or their pacers show them.
 */
#include "lib/base/clk.h"
#include "lib/base/strbuf.h"
#include "scheduler/daemon/daemon.h"
#include "scheduler/daemon/jobs_priv.h"
#include "scheduler/live/live.h"
#include "scheduler/live/online.h"
#include "scheduler/live/running.h"
#include "topology/topo.h"

/* Whether a running job may be advised on. */
static enum jobs_refusal
judge(const struct daemon *d, const struct picture *picture,
      const struct work_job *running, const struct online_job *seen)
{
	int64_t age_ns = seen ? picture_estimate_age_ns(picture, seen) : 0;

	if (!d->jobs->advisor)
		return d->fabric.topo ? JOBS_NO_ADVISOR : JOBS_NO_FABRIC;
	if (age_ns > daemon_integer(d, "max_age_s") * DAEMON_SECOND_NS)
		return JOBS_STALE;
	if (running->profile.n_iterations < daemon_integer(d, "min_iterations"))
		return JOBS_THIN;
	if (jobs_has_silent(d->jobs, running->hosts, running->n_hosts_wanted))
		return JOBS_SILENT;
	return JOBS_ADVISED;
}

/* A pacer knows better than the traffic what the job is like alone. */
static void
take_paced(const struct daemon *d, struct job *job, struct work_job *new)
{
	job->is_by_pacer = false;
	if (!d->fabric.topo || !new->hosts)
		return;
	job->is_by_pacer = paced_profile(
		&job->paced,
		topo_line_bps(d->fabric.topo, new->hosts, new->n_hosts_wanted),
		&new->profile);
	if (!job->is_by_pacer)
		return;
	if (new->profile.n_iterations < job->paced.n)
		new->profile.n_iterations = job->paced.n;
	work_job_segments_from_profile(new);
	new->jitter_frac = work_job_jitter_of_profile(new);
}

void
jobs_take_running(struct daemon *d, const struct running *running,
		  const struct online_job *seen)
{
	const struct picture picture = now_picture(d);
	struct job *job = jobs_make(d->jobs, live_job_name(d->now.live, seen->job));
	struct strbuf notes = STRBUF_EMPTY;
	struct work_job new;
	enum jobs_refusal why;

	job->is_here = true;
	if (running && !running_job(running, seen, &new, &notes)) {
		take_paced(d, job, &new);
		why = judge(d, &picture, &new, seen);
		if (why == JOBS_ADVISED)
			jobs_put(d, job, &new);
		else
			jobs_refuse(d, job, why);
		work_job_fini(&new);
	} else if (!job->is_restored) {
		jobs_refuse(d, job,
			    !running              ? JOBS_NO_FABRIC
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
	const struct online_job *const *seen = online_jobs(d->now.online, &n);

	for (size_t i = 0; i < d->jobs->items.n; i++)
		if (d->jobs->items.items[i])
			d->jobs->items.items[i]->is_here = false;
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
			job->is_here |= clk_wall_us() - job->restored_us <
					daemon_integer(d, "max_age_s") * 1000000;
	}
}

/* Between estimates, too, hosts fall silent and profiles grow old. */
void
jobs_look_again(struct daemon *d)
{
	const struct picture picture = now_picture(d);

	for (size_t i = 0; i < d->jobs->items.n; i++) {
		struct job *job = d->jobs->items.items[i];
		uint32_t id;
		const struct online_job *seen;

		if (!job || job->number == UINT32_MAX || job->is_waiting)
			continue;
		if (job->is_restored)
			continue;
		id = live_find_job(d->now.live, job->name);
		seen = id < TELE_OTHER ? online_find(d->now.online, id) : NULL;
		if (!seen || picture_estimate_age_ns(&picture, seen) >
				     daemon_integer(d, "max_age_s") * DAEMON_SECOND_NS)
			jobs_refuse(d, job, JOBS_STALE);
		else if (jobs_has_silent(d->jobs, job->hosts, job->n_hosts))
			jobs_refuse(d, job, JOBS_SILENT);
	}
}
