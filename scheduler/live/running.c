#include "scheduler/live/running.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "scheduler/live/contention.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"
#include "scheduler/live/traffic_map.h"
#include "topology/topo.h"

/* More than this share of its sending time is not believed to be lost to others. */
#define MAX_HELD 0.8
/* Less is within what bins of 1 ms can tell. */
#define MIN_HELD 0.02
/* Of its active time: enough to see its rate alone. */
#define MIN_ALONE 0.1

/* What one job is on one link. */
struct place {
	uint32_t link, at; /* found->links[link].jobs[at] */
};

enum stage {
	STAGE_PORTS,
	STAGE_TRAFFIC,
	STAGE_PLACES,
	STAGE_DONE,
};

struct running {
	enum stage stage;
	struct traffic_map_ports *numbering; /* Owned.  Until it is over. */
	const struct live *live;
	const struct topo *topo;
	const struct contention *found;
	uint16_t *first_ports;               /* Owned. */
	struct traffic_map_traffic *traffic; /* Owned. */
	uint32_t n_jobs;                     /* When it was made. */
	uint32_t *first;      /* Owned.  Job j's places are at first[j] to */
	struct place *places; /* first[j + 1] of this one; owned. */
};

/* ---- Where each job is -------------------------------------------------------- */

/* A counting sort, so that not all links are looked through for each job. */
static void
find_places(struct running *running)
{
	const struct contention *found = running->found;
	uint32_t *first = xcalloc((size_t)running->n_jobs + 2, sizeof *first);
	size_t n = 0;

	for (size_t i = 0; i < found->n_links; i++) {
		for (size_t k = 0; k < found->links[i].n_jobs; k++) {
			first[found->links[i].jobs[k].job + 2]++;
			n++;
		}
	}
	for (uint32_t j = 1; j < running->n_jobs + 2; j++)
		first[j] += first[j - 1];
	running->places = xcalloc(n + 1, sizeof *running->places);
	for (uint32_t i = 0; i < found->n_links; i++)
		for (uint32_t k = 0; k < found->links[i].n_jobs; k++)
			running->places[first[found->links[i].jobs[k].job + 1]++] =
				(struct place){ i, k };
	running->first = first;
}

struct running *
running_begin(const struct live *live, const struct topo *topo,
	      const struct contention *found)
{
	struct running *running = xcalloc(1, sizeof *running);

	running->live = live;
	running->topo = topo;
	running->found = found;
	running->n_jobs = live_n_jobs(live);
	running->numbering = traffic_map_ports_begin(live);
	return running;
}

bool
running_step(struct running *running)
{
	switch (running->stage) {
	case STAGE_PORTS:
		if (!traffic_map_ports_step(running->numbering))
			break;
		running->first_ports = traffic_map_ports_end(running->numbering);
		running->numbering = NULL;
		running->traffic = traffic_map_traffic_begin(running->live);
		running->stage = STAGE_TRAFFIC;
		break;
	case STAGE_TRAFFIC:
		if (traffic_map_traffic_step(running->traffic))
			running->stage = STAGE_PLACES;
		break;
	case STAGE_PLACES:
		find_places(running);
		running->stage = STAGE_DONE;
		break;
	case STAGE_DONE:
		break;
	}
	return running->stage == STAGE_DONE;
}

static struct running *
running_new(const struct live *live, const struct topo *topo,
	    const struct contention *found)
{
	struct running *running = running_begin(live, topo, found);

	while (!running_step(running))
		continue;
	return running;
}

void
running_free(struct running *running)
{
	if (!running)
		return;
	free(traffic_map_ports_end(running->numbering));
	free(running->first_ports);
	traffic_map_traffic_free(running->traffic);
	free(running->first);
	free(running->places);
	free(running);
}

/* ---- What others cost it ------------------------------------------------------- */

/*
 * The share of its sending time that a job loses on one link, where it would send at
 * 'line_bps', if it is never seen alone.
 */
static double
held_on(const struct contention_link *link, const struct contention_job *here,
	double least_alone_bps)
{
	double isolated_bps = here->isolated_bps;

	if (!here->over_ms || !here->active_ms)
		return 0;
	if (here->active_ms - here->overlap_ms < MIN_ALONE * here->active_ms)
		isolated_bps = fmin(link->capacity_bps, least_alone_bps);
	if (!(isolated_bps > here->over_bps))
		return 0;
	return (double)here->over_ms / here->active_ms *
	       (1 - here->over_bps / isolated_bps);
}

static double
held_frac(const struct running *r, uint32_t job, const struct profile *profile,
	  double line_bps)
{
	double most = 0;

	for (uint32_t i = r->first[job]; i < r->first[job + 1]; i++) {
		const struct contention_link *link =
			&r->found->links[r->places[i].link];

		const struct contention_job *here = &link->jobs[r->places[i].at];

		most = fmax(most, held_on(link, here,
					  line_bps * here->mean_bps /
						  profile_mean_bps(profile)));
	}
	return fmin(most, MAX_HELD);
}

struct running_others
running_others(const struct running *r, uint32_t job, const struct footprint *footprint,
	       double line_bps)
{
	struct running_others others = { 0 };

	if (job >= r->n_jobs)
		return others;
	for (uint32_t i = r->first[job]; i < r->first[job + 1]; i++) {
		const struct contention_link *link =
			&r->found->links[r->places[i].link];
		const struct contention_job *here = &link->jobs[r->places[i].at];
		/* Of what the job's busiest interface sends, what this link carries. */
		const struct footprint_entry *ours =
			footprint_find(footprint, link->link);

		if (!ours || !(ours->factor > 0) || !here->active_ms)
			continue;
		others.held_frac = fmax(others.held_frac,
					held_on(link, here, line_bps * ours->factor));
		others.met_frac = fmax(others.met_frac,
				       (double)here->overlap_ms / here->active_ms);
	}
	others.held_frac = fmin(others.held_frac, MAX_HELD);
	return others;
}

void
running_relieve(struct profile *profile, double frac)
{
	double saved_us = 0; /* Up to the phase in hand. */

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
}

/* ---- Jobs ---------------------------------------------------------------------- */

/* Segments of the profile; one that is faster than the interfaces is stretched. */
static int
fill_traffic(const struct running *r, uint32_t id, struct work_job *job,
	     struct strbuf *notes, const char **ret_why)
{
	double bps = topo_line_bps(r->topo, job->hosts, job->n_hosts_wanted);
	double held = held_frac(r, id, &job->profile, bps);
	struct profile seen = job->profile;
	int rc;

	if (held >= MIN_HELD) {
		running_relieve(&job->profile, held);
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
	job->profile.jitter_us = seen.jitter_us;
	return rc;
}

const uint32_t *
running_series(const struct running *r, uint32_t job, size_t *ret_n)
{
	*ret_n = 0;
	return job < r->n_jobs ? traffic_map_job_series(r->traffic, job, ret_n) : NULL;
}

void
running_ring(const struct running *r, uint32_t job, struct work_job *ret_job)
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
running_job(const struct running *r, const struct profiled_job *seen,
	    struct work_job *ret_job, struct strbuf *notes)
{
	const char *why = "its hosts have no links";
	struct work_job *job = ret_job;

	if (!seen->has_estimate || seen->why)
		return seen->why ? seen->why : "it has no period";
	if (seen->job >= r->n_jobs)
		return "it has only just begun";
	running_ring(r, seen->job, job);
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
running_workload(const struct live *live, const struct job_profiler *online,
		 struct topo *topo, struct routes *routes,
		 struct workload *ret_workload, struct strbuf *notes)
{
	const struct contention_opts opts = { .topo = topo,
					      .routes = routes,
					      .window_ms = JOB_PROFILER_MAX_WINDOW_MS };
	struct workload workload = { 0 };
	struct contention found;
	struct running *running;
	size_t n;
	const struct profiled_job *const *jobs = job_profiler_jobs(online, &n);

	contention_find(live, &opts, &found);
	running = running_new(live, topo, &found);
	if (found.n_impossible)
		strbuf_printf(
			notes,
			"%u links are computed to carry more than they can: flows "
			"take other paths than assumed, and jobs may meet "
			"elsewhere\n",
			found.n_impossible);
	workload.jobs = xcalloc(n + 1, sizeof *workload.jobs);
	for (size_t i = 0; i < n; i++) {
		const char *why = running_job(running, jobs[i],
					      &workload.jobs[workload.n], notes);

		if (!why)
			workload.n++;
		else
			strbuf_printf(notes, "job '%s' is left out: %s\n",
				      live_job_name(live, jobs[i]->job), why);
	}
	running_free(running);
	contention_fini(&found);
	*ret_workload = workload;
}
