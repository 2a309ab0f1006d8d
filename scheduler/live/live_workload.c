/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/live/live_workload.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "scheduler/live/contention.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"
#include "scheduler/live/live_constants.h"
#include "scheduler/live/traffic_map.h"
#include "topology/topo.h"

enum stage {
	STAGE_PORTS,
	STAGE_TRAFFIC,
	STAGE_PLACES,
	STAGE_DONE,
};

struct live_workload {
	enum stage stage;
	struct traffic_map_ports *numbering; /* Owned. Until all ports are assigned. */
	const struct live *live;
	const struct topo *topo;
	const struct contention *found;
	uint16_t *first_ports;               /* Owned. */
	struct traffic_map_traffic *traffic; /* Owned. */
	uint32_t n_jobs;                     /* When 'traffic' was made. */
	struct contention_by_job by_job;
};

struct live_workload *
live_workload_begin(const struct live *live, const struct topo *topo,
		    const struct contention *found)
{
	struct live_workload *w = xcalloc(1, sizeof *w);

	w->live = live;
	w->topo = topo;
	w->found = found;
	w->n_jobs = live_n_jobs(live);
	w->numbering = traffic_map_ports_begin(live);
	return w;
}

bool
live_workload_step(struct live_workload *w)
{
	switch (w->stage) {
	case STAGE_PORTS:
		if (!traffic_map_ports_step(w->numbering))
			break;
		w->first_ports = traffic_map_ports_end(w->numbering);
		w->numbering = NULL;
		w->traffic = traffic_map_traffic_begin(w->live);
		w->stage = STAGE_TRAFFIC;
		break;
	case STAGE_TRAFFIC:
		if (traffic_map_traffic_step(w->traffic))
			w->stage = STAGE_PLACES;
		break;
	case STAGE_PLACES:
		contention_by_job_init(&w->by_job, w->found, w->n_jobs);
		w->stage = STAGE_DONE;
		break;
	case STAGE_DONE:
		break;
	}
	return w->stage == STAGE_DONE;
}

static struct live_workload *
live_workload_new(const struct live *live, const struct topo *topo,
		  const struct contention *found)
{
	struct live_workload *w = live_workload_begin(live, topo, found);

	while (!live_workload_step(w))
		continue;
	return w;
}

void
live_workload_free(struct live_workload *w)
{
	if (!w)
		return;
	free(traffic_map_ports_end(w->numbering));
	free(w->first_ports);
	traffic_map_traffic_free(w->traffic);
	contention_by_job_fini(&w->by_job);
	free(w);
}

/* ---- Delay by others ------------------------------------------------------- */

/*
 * The share of its sending time that a job loses on one link. 'least_alone_bps' is its
 * isolated rate if it is never seen isolated.
 */
static double
held_on(const struct contention_link *link, const struct contention_job *here,
	double least_alone_bps)
{
	double isolated_bps = here->isolated_bps;

	if (!here->over_ms || !here->active_ms)
		return 0;
	if (here->active_ms - here->overlap_ms < ISOLATED_MIN_FRAC * here->active_ms)
		isolated_bps = fmin(link->capacity_bps, least_alone_bps);
	if (!(isolated_bps > here->over_bps))
		return 0;
	return (double)here->over_ms / here->active_ms *
	       (1 - here->over_bps / isolated_bps);
}

static double
held_frac(const struct live_workload *r, uint32_t job, const struct profile *profile,
	  double line_bps)
{
	double most = 0;

	for (size_t i = r->by_job.first[job]; i < r->by_job.first[job + 1]; i++) {
		const struct contention_link *link =
			&r->found->links[r->by_job.items[i].link];

		const struct contention_job *here = &link->jobs[r->by_job.items[i].at];

		most = fmax(most, held_on(link, here,
					  line_bps * here->mean_bps /
						  profile_mean_bps(profile)));
	}
	return fmin(most, DELAYED_MAX_FRAC);
}

struct live_workload_others
live_workload_others(const struct live_workload *r, uint32_t job,
		     const struct footprint *footprint, double line_bps)
{
	struct live_workload_others others = { 0 };

	if (job >= r->n_jobs)
		return others;
	for (size_t i = r->by_job.first[job]; i < r->by_job.first[job + 1]; i++) {
		const struct contention_link *link =
			&r->found->links[r->by_job.items[i].link];
		const struct contention_job *here = &link->jobs[r->by_job.items[i].at];
		/* The share of the busiest interface's bytes that this link carries. */
		const struct footprint_entry *ours =
			footprint_find(footprint, link->link);

		if (!ours || !(ours->factor > 0) || !here->active_ms)
			continue;
		others.held_frac = fmax(others.held_frac,
					held_on(link, here, line_bps * ours->factor));
		others.met_frac = fmax(others.met_frac,
				       (double)here->overlap_ms / here->active_ms);
	}
	others.held_frac = fmin(others.held_frac, DELAYED_MAX_FRAC);
	return others;
}

void
live_workload_relieve(struct profile *profile, double frac)
{
	double saved_us = 0; /* Before the present phase. */

	for (size_t i = 0; i < profile->n_phases; i++) {
		struct profile_phase *phase = &profile->phases[i];
		double bits = phase->rate_bps * (double)phase->duration_us;
		int64_t start_us = phase->start_us - llround(saved_us), end_us;

		saved_us += frac * (double)phase->duration_us;
		end_us = phase->start_us + phase->duration_us - llround(saved_us);
		phase->start_us = start_us;
		phase->duration_us = end_us > start_us ? end_us - start_us : 1;
		phase->rate_bps = bits / (double)phase->duration_us;
	}
	profile->period_us -= llround(saved_us);
	/* Both ends of each iteration's delay are known to a bin of 1 ms: sqrt(2 / 12). */
	if (profile->period_error_us && profile->n_iterations > 0)
		profile->period_error_us = profile_error_us(
			hypot((double)profile->period_error_us,
			      1e3 / sqrt(6 * (double)profile->n_iterations)));
}

/* ---- Jobs ---------------------------------------------------------------------- */

/* Segments of the profile; a segment faster than the interfaces is stretched. */
static int
fill_traffic(const struct live_workload *r, uint32_t id, struct work_job *job,
	     struct strbuf *notes, const char **ret_why)
{
	double bps = topo_line_bps(r->topo, job->hosts, job->n_hosts_wanted);
	double held = held_frac(r, id, &job->profile, bps);
	struct profile seen = job->profile;
	int rc;

	if (held >= DELAYED_MIN_FRAC) {
		live_workload_relieve(&job->profile, held);
		strbuf_printf(notes,
			      "job '%s' is held up by others: %.1f ms an iteration, "
			      "about %.1f ms without them\n",
			      job->name, (double)seen.period_us / 1e3,
			      (double)job->profile.period_us / 1e3);
	}
	work_job_segments_from_profile(job);
	if (profile_peak_bps(&job->profile) <= bps)
		return 0;
	rc = work_job_profile_from_segments(job, bps, ret_why);
	job->profile.n_iterations = seen.n_iterations;
	job->profile.confidence = seen.confidence;
	job->profile.period_error_us = seen.period_error_us;
	job->profile.jitter_us = seen.jitter_us;
	return rc;
}

const uint32_t *
live_workload_series(const struct live_workload *r, uint32_t job, size_t *ret_n)
{
	*ret_n = 0;
	return job < r->n_jobs ? traffic_map_job_series(r->traffic, job, ret_n) : NULL;
}

void
live_workload_ring(const struct live_workload *r, uint32_t job,
		   struct work_job *ret_job)
{
	size_t n = 0;

	*ret_job = (struct work_job){ .collective = COLLECTIVE_RING,
				      .slots_per_host = 1,
				      .stop_ns = ENGINE_NEVER };
	ret_job->name = xstrdup(live_job_name(r->live, job));
	if (job < r->n_jobs) {
		ret_job->first_port = r->first_ports[job];
		ret_job->hosts =
			traffic_map_job_hosts(r->live, r->topo, r->traffic, job, &n);
	}
	ret_job->n_hosts_wanted = (uint32_t)n;
	ret_job->weight = (double)n;
}

const char *
live_workload_job(const struct live_workload *r, const struct profiled_job *seen,
		  struct work_job *ret_job, struct strbuf *notes)
{
	const char *why = "its hosts have no links";
	struct work_job *job = ret_job;

	if (!seen->has_estimate || seen->why)
		return seen->why ? seen->why : "it has no period";
	if (seen->job >= r->n_jobs)
		return "it has only just begun";
	live_workload_ring(r, seen->job, job);
	profile_copy(&seen->detection.profile, &job->profile);
	if (job->n_hosts_wanted == 0)
		why = "its hosts are not on the fabric";
	else if (job->n_hosts_wanted == 1)
		why = "only one host of the fabric carries it";
	else if (fill_traffic(r, seen->job, job, notes, &why) == 0)
		why = NULL;
	if (why)
		work_job_fini(job);
	else
		job->jitter_frac = work_job_jitter_of_profile(job);
	return why;
}

void
live_workload_make(const struct live *live, const struct job_profiler *profiler,
		   struct topo *topo, struct routes *routes,
		   struct workload *ret_workload, struct strbuf *notes)
{
	const struct contention_opts opts = { .topo = topo,
					      .routes = routes,
					      .window_ms = JOB_PROFILER_MAX_WINDOW_MS };
	struct workload workload = { 0 };
	struct contention found;
	struct live_workload *w;
	size_t n;
	const struct profiled_job *const *jobs = job_profiler_jobs(profiler, &n);

	contention_find(live, &opts, &found);
	w = live_workload_new(live, topo, &found);
	if (found.n_impossible)
		strbuf_printf(
			notes,
			"%u links are computed to carry more than their capacity: "
			"flows take other paths than assumed, so jobs may share "
			"other links\n",
			found.n_impossible);
	workload.jobs = xcalloc(n + 1, sizeof *workload.jobs);
	for (size_t i = 0; i < n; i++) {
		const char *why = live_workload_job(w, jobs[i],
						    &workload.jobs[workload.n], notes);

		if (!why)
			workload.n++;
		else
			strbuf_printf(notes, "job '%s' is left out: %s\n",
				      live_job_name(live, jobs[i]->job), why);
	}
	live_workload_free(w);
	contention_fini(&found);
	*ret_workload = workload;
}
