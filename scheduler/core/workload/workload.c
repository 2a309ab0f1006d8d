/* SPDX-License-Identifier: Apache-2.0 */
/* workload.c - jobs: segments to profiles and back. routed_job.c puts them on links. */
#include "scheduler/core/workload/workload.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "scheduler/core/workload/iteration_traffic.h"

void
work_job_fini(struct work_job *job)
{
	free(job->name);
	free(job->hosts);
	free(job->paths);
	free(job->segments);
	free(job->needs);
	profile_fini(&job->profile);
	*job = (struct work_job){ 0 };
}

void
workload_fini(struct workload *workload)
{
	for (size_t i = 0; i < workload->n; i++)
		work_job_fini(&workload->jobs[i]);
	free(workload->jobs);
	*workload = (struct workload){ 0 };
}

void
work_job_copy(const struct work_job *job, struct work_job *ret_copy)
{
	struct work_job copy = *job;

	copy.name = job->name ? xstrdup(job->name) : NULL;
	copy.hosts = copy.paths = NULL;
	if (job->hosts)
		copy.hosts =
			xmemdup(job->hosts, job->n_hosts_wanted, sizeof *job->hosts);
	if (job->paths)
		copy.paths = xmemdup(job->paths, job->n_paths, sizeof *job->paths);
	copy.segments = xmemdup(job->segments, job->n_segments, sizeof *job->segments);
	copy.needs = NULL;
	if (job->needs)
		copy.needs = xmemdup(job->needs, job->n_needs, sizeof *job->needs);
	profile_copy(&job->profile, &copy.profile);
	*ret_copy = copy;
}

/* ---- Segments to profile ------------------------------------------------------ */

static double
send_ns(const struct work_segment *segment, double line_bps)
{
	double rate_bps = line_bps;

	if (!(segment->nic_bytes > 0))
		return 0;
	if (segment->cap_bps > 0 && segment->cap_bps < rate_bps)
		rate_bps = segment->cap_bps;
	return segment->nic_bytes * 8e9 / rate_bps;
}

/* A segment lasts as long as the longer of its computing and its traffic. */
static double
segment_ns(const struct work_segment *segment, double line_bps)
{
	double sent_ns = send_ns(segment, line_bps);

	if (sent_ns > 0)
		sent_ns += work_segment_wait_ns(segment);
	return fmax((double)segment->compute_ns, sent_ns);
}

/*
 * Adds the traffic from 'start_ns' to 'end_ns' as a phase on whole
 * microseconds: the edges are rounded, the bytes are kept.
 */
static void
put_phase(struct profile *profile, double start_ns, double end_ns, double nic_bytes)
{
	struct profile_phase *phase = &profile->phases[profile->n_phases];
	int64_t start_us = llround(start_ns / 1e3), end_us = llround(end_ns / 1e3);

	if (profile->n_phases > 0) {
		int64_t free_us = phase[-1].start_us + phase[-1].duration_us;

		if (start_us < free_us)
			start_us = free_us;
	}
	if (end_us <= start_us)
		end_us = start_us + 1;
	phase->start_us = start_us;
	phase->duration_us = end_us - start_us;
	phase->rate_bps = nic_bytes * 8e6 / (double)phase->duration_us;
	profile->n_phases++;
}

/* Extends the last phase by what the same collective sends next. */
static void
extend_phase(struct profile *profile, double end_ns, double nic_bytes)
{
	struct profile_phase *phase = &profile->phases[profile->n_phases - 1];
	double bits =
		phase->rate_bps * (double)phase->duration_us / 1e6 + nic_bytes * 8;
	int64_t duration_us = llround(end_ns / 1e3) - phase->start_us;

	if (duration_us > phase->duration_us)
		phase->duration_us = duration_us;
	phase->rate_bps = bits * 1e6 / (double)phase->duration_us;
}

/*
 * Compute times vary independently, so their variances add.  A stall of probability p
 * and mean m has the variance p (2 - p) m^2.  If traffic hides computing, or segments
 * overlap, this is an upper bound.
 */
static int64_t
jitter_us_of(const struct work_job *job)
{
	double square_ns = 0, stalls_ns = 0;

	for (size_t i = 0; i < job->n_segments; i++) {
		square_ns += (double)job->segments[i].compute_ns *
			     (double)job->segments[i].compute_ns;
		if (job->segments[i].compute_ns > 0)
			stalls_ns += job->stall_frac * (2 - job->stall_frac) *
				     job->stall_ns * job->stall_ns;
	}
	return llround(hypot(job->jitter_frac * sqrt(square_ns), sqrt(stalls_ns)) /
		       1e3);
}

/* Fills the phases and the iteration time where segments overlap. */
static int
put_overlapping(const struct work_job *job, double line_bps, struct profile *profile,
		double *ret_ns)
{
	struct iteration_traffic traffic;

	if (iteration_traffic_make(job, line_bps, &traffic) < 0)
		return -EINVAL;
	iteration_traffic_coarsen(&traffic, PROFILE_MAX_PHASES);
	free(profile->phases);
	profile->phases = xcalloc(traffic.n_pieces + 1, sizeof *profile->phases);
	for (size_t i = 0; i < traffic.n_pieces; i++) {
		const struct traffic_piece *p = &traffic.pieces[i];
		double bytes = p->rate_bps * (p->end_ns - p->start_ns) / 8e9;

		put_phase(profile, p->start_ns, p->end_ns, bytes);
	}
	for (size_t i = 0; i < job->n_segments; i++)
		profile->bytes_per_iteration += job->segments[i].nic_bytes;
	*ret_ns = traffic.iteration_ns;
	iteration_traffic_fini(&traffic);
	return 0;
}

int
work_job_profile_from_segments(struct work_job *job, double line_bps,
			       const char **ret_why)
{
	bool overlaps = work_job_overlaps(job);
	struct profile profile = { 0 };
	const char *why = "an iteration takes less than a microsecond";
	double now_ns = 0;
	int64_t end_us = 0;

	profile.phases = xcalloc(job->n_segments + 1, sizeof *profile.phases);
	if (overlaps && (put_overlapping(job, line_bps, &profile, &now_ns) < 0 ||
			 !(now_ns <= (double)PROFILE_MAX_PERIOD_US * 1e3))) {
		why = "an iteration takes more than one hour";
		goto fail;
	}
	for (size_t i = 0; !overlaps && i < job->n_segments; i++) {
		const struct work_segment *s = &job->segments[i];
		double sent_ns = send_ns(s, line_bps);
		double start_ns = now_ns + work_segment_wait_ns(s);

		now_ns += segment_ns(s, line_bps);
		if (!(now_ns <= (double)PROFILE_MAX_PERIOD_US * 1e3)) {
			why = "an iteration takes more than one hour";
			goto fail;
		}
		if (!(sent_ns > 0))
			continue;
		profile.bytes_per_iteration += s->nic_bytes;
		if (s->continues && profile.n_phases) {
			extend_phase(&profile, start_ns + sent_ns, s->nic_bytes);
			continue;
		}
		if (profile.n_phases == PROFILE_MAX_PHASES) {
			why = "more than 64 segments send";
			goto fail;
		}
		put_phase(&profile, start_ns, start_ns + sent_ns, s->nic_bytes);
	}
	if (profile.n_phases) {
		const struct profile_phase *last =
			&profile.phases[profile.n_phases - 1];

		end_us = last->start_us + last->duration_us;
	}
	profile.period_us = llround(now_ns / 1e3);
	if (profile.period_us < 1)
		goto fail;
	if (profile.period_us < end_us)
		profile.period_us = end_us;
	profile.job = job->name ? xstrdup(job->name) : NULL;
	profile.jitter_us = jitter_us_of(job);
	profile.confidence = 1;
	if (profile_normalize(&profile, &why) < 0)
		goto fail;
	profile_fini(&job->profile);
	job->profile = profile;
	return 0;
fail:
	profile_fini(&profile);
	if (ret_why)
		*ret_why = why;
	return -EINVAL;
}

/* ---- Profile to segments -------------------------------------------------------- */

void
work_job_segments_from_profile(struct work_job *job)
{
	const struct profile *profile = &job->profile;
	struct work_segment *segments =
		xcalloc(2 * profile->n_phases + 1, sizeof *segments);
	int64_t now_us = 0;
	size_t n = 0;

	for (size_t i = 0; i < profile->n_phases; i++) {
		const struct profile_phase *phase = &profile->phases[i];

		if (phase->start_us > now_us)
			segments[n++].compute_ns = (phase->start_us - now_us) * 1000;
		segments[n].nic_bytes =
			phase->rate_bps * (double)phase->duration_us / 8e6;
		segments[n++].cap_bps = phase->rate_bps;
		now_us = phase->start_us + phase->duration_us;
	}
	if (profile->period_us > now_us)
		segments[n++].compute_ns = (profile->period_us - now_us) * 1000;
	free(job->segments);
	free(job->needs);
	job->segments = segments;
	job->n_segments = n;
	job->needs = NULL;
	job->n_needs = 0;
}

double
work_job_jitter_of_profile(const struct work_job *job)
{
	double square_ns = 0, frac;

	for (size_t i = 0; i < job->n_segments; i++)
		square_ns += (double)job->segments[i].compute_ns *
			     (double)job->segments[i].compute_ns;
	if (!(square_ns > 0))
		return 0;
	frac = (double)job->profile.jitter_us * 1e3 / sqrt(square_ns);
	return fmin(frac, WORK_MAX_JITTER);
}
