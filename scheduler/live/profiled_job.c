/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/live/profiled_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/live/live_constants.h"

void
profiled_job_free(struct profiled_job *job)
{
	if (!job)
		return;
	detection_fini(&job->detection);
	free(job->why);
	free(job);
}

void
profiled_job_refuse(struct profiled_job *job, char *why)
{
	free(job->why);
	job->why = why;
}

/*
 * Merges k periods of the traffic into one iteration of 'period_us'.  That is not k times
 * the traffic's period, which is a median: where some bursts take longer than most, the
 * median of the sums is more than the sum of the medians.  Each period of the traffic
 * begins a k-th of the iteration after the one before.
 */
static void
tile(struct detection *d, size_t k, int64_t period_us)
{
	struct profile *p = &d->profile;
	size_t n = p->n_phases, n_fold = (size_t)llround((double)period_us / 1e3);
	double part_us = (double)period_us / (double)k, part_ms = part_us / 1e3;
	double shrink = fmin(part_us / (double)p->period_us, 1);
	double *fold_bps = xcalloc(n_fold + 1, sizeof *fold_bps);

	p->phases = xreallocarray(p->phases, n * k + 1, sizeof *p->phases);
	for (size_t i = n * k; i-- > 0;) {
		const struct profile_phase *phase = &p->phases[i % n];
		double start_us = (double)phase->start_us * shrink;
		int64_t end_us =
			(int64_t)(start_us + (double)phase->duration_us * shrink);
		int64_t tile_us = (int64_t)((double)(i / n) * part_us);

		p->phases[i] = (struct profile_phase){
			.start_us = tile_us + (int64_t)start_us,
			.duration_us = end_us - (int64_t)start_us,
			.rate_bps = phase->rate_bps,
		};
	}
	for (size_t t = 0; t < n_fold; t++) {
		size_t at = (size_t)(fmod((double)t, part_ms) / shrink);

		fold_bps[t] = at < d->n_fold ? d->fold_bps[at] : 0;
	}
	free(d->fold_bps);
	d->fold_bps = fold_bps;
	d->n_fold = n_fold;
	d->mean_us *= (double)k;
	p->n_phases = n * k;
	p->period_us = period_us;
	p->bytes_per_iteration *= (double)k;
	p->n_iterations /= (int64_t)k;
}

void
profiled_job_use_events(const struct live *live, struct profiled_job *job,
			struct detection *d, int64_t from_ns)
{
	double jitter_us = 0, ratio;
	int64_t event_us =
		job_profiler_event_period_us(live, job->job, from_ns, &jitter_us);
	int64_t k;

	job->harmonic_of_us = 0;
	job->has_events = event_us > 0;
	if (!event_us)
		return;
	ratio = (double)event_us / (double)d->profile.period_us;
	k = llround(ratio);
	if (k < 2 || k > EVENTS_MAX_HARMONIC ||
	    fabs(ratio / (double)k - 1) > EVENTS_MAX_MISMATCH ||
	    d->profile.n_phases * (size_t)k > PROFILE_MAX_PHASES ||
	    event_us > PROFILE_MAX_PERIOD_US)
		return;
	job->harmonic_of_us = d->profile.period_us;
	tile(d, (size_t)k, event_us);
	d->profile.jitter_us = llround(jitter_us);
	d->profile.period_error_us = profile_error_us(
		jitter_us / sqrt(fmax((double)d->profile.n_iterations, 1)));
}

/*
 * Raises the alarm if the job has changed since the last alarm, or the first estimate.
 * Windows overlap, so a change shows in several estimates; these are one alarm.
 */
static void
compare(struct profiled_job *job, const struct detection *found, int64_t now_ns)
{
	const struct profile *new = &found->profile;
	double error_us = (double)new->jitter_us / sqrt((double)new->n_iterations);
	double moved_us = fabs((double)(new->period_us - job->steady_period_us));
	bool is_same_alarm;

	/* An alarm that is still to come is of before a step of the clock. */
	if (job->has_alarm &&
	    (now_ns < job->alarm_ns || now_ns - job->alarm_ns > JOB_PROFILER_ALARM_NS))
		job->has_alarm = false;
	if (job->has_estimate &&
	    moved_us <= fmax(JOB_PROFILER_PERIOD_MOVE * (double)job->steady_period_us,
			     3 * hypot(error_us, job->steady_error_us)) &&
	    fabs(new->bytes_per_iteration / job->steady_bytes - 1) <=
		    JOB_PROFILER_BYTES_MOVE)
		return;
	is_same_alarm =
		job->has_alarm &&
		now_ns - job->alarm_ns <= JOB_PROFILER_MAX_WINDOW_MS * INT64_C(1000000);
	if (job->has_estimate && !is_same_alarm) {
		job->has_alarm = true;
		job->alarm_ns = now_ns;
		job->period_before_us = job->steady_period_us;
		job->bytes_before = job->steady_bytes;
	}
	job->steady_period_us = new->period_us;
	job->steady_error_us = error_us;
	job->steady_bytes = new->bytes_per_iteration;
}

void
profiled_job_publish(struct profiled_job *job, struct detection *found, int64_t at_ns,
		     uint32_t window_ms)
{
	compare(job, found, at_ns);
	if (job->has_estimate && job->at_ns == at_ns)
		job->n_trend--; /* The same window again. */
	detection_fini(&job->detection);
	job->detection = *found;
	job->has_estimate = true;
	job->at_ns = at_ns;
	job->window_ms = window_ms;
	if (job->n_trend == JOB_PROFILER_TREND)
		memmove(job->trend_us, job->trend_us + 1,
			(--job->n_trend) * sizeof *job->trend_us);
	job->trend_us[job->n_trend++] = found->profile.period_us;
	profiled_job_refuse(job, NULL);
}
