/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_profiler.h - profiles of running jobs, estimated every few seconds.
 *
 * The series of a job's hosts, both directions, are pooled and given to detect.h, like
 * a capture:
 *
 *	window   the last 30 s that all hosts have reported, or as much as there is. If
 *	         nothing repeats in it (as when a job changed in it), the last 20 s, then
 *	         the last 10 s are tried. Less than JOB_PROFILER_MIN_ITERATIONS
 *	         iterations are not published
 *	series   those with at least a tenth of the busiest one's bytes; at most
 *	         JOB_PROFILER_MAX_SERIES, picked evenly in the order of host, interface and
 *	         direction.  Switches' own (imported) ones do not count
 *	gaps     an unknown bin is filled with the mean of its series'
 *	         known bins, which is neutral to an autocorrelation; a series with
 *	         more than a fifth of gaps is left out; if none is left, no estimate
 *	events   the program's own events, if there are any, give the time from one
 *	         iteration to the next: a sequence of collectives, each with its bytes,
 *	         that repeats. If that is k >= 2 periods of the traffic, these k periods
 *	         are one iteration, and harmonic_of is the period of the traffic alone
 *
 * When a new estimate differs from the first one, or from that of the last alarm, by
 * more than JOB_PROFILER_PERIOD_MOVE in its period (and three standard errors), or
 * JOB_PROFILER_BYTES_MOVE in its bytes, the job has changed: an alarm, for
 * JOB_PROFILER_ALARM_NS. Under contention the traffic is that of a delayed job: the
 * period is the present one, not that in isolation.
 *
 * Time is that of the frames. Pure, and deterministic: the estimate depends only on the
 * content of the state.
 */
#ifndef SCHEDULER_LIVE_JOB_PROFILER_H
#define SCHEDULER_LIVE_JOB_PROFILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/profile/detect.h"

struct live;
struct job_profiler;

#define JOB_PROFILER_EVERY_NS       INT64_C(5000000000)
#define JOB_PROFILER_MAX_WINDOW_MS  30000
#define JOB_PROFILER_MIN_WINDOW_MS  10000
#define JOB_PROFILER_MIN_ITERATIONS 8
#define JOB_PROFILER_MAX_SERIES     8
#define JOB_PROFILER_MAX_AT_ONCE \
	32 /* Jobs estimated in job_profiler_step(); others wait. */
#define JOB_PROFILER_PERIOD_MOVE 0.05
#define JOB_PROFILER_BYTES_MOVE  0.10
#define JOB_PROFILER_ALARM_NS    INT64_C(60000000000)
/* A job without traffic is forgotten this long after its last estimate. */
#define JOB_PROFILER_FORGET_NS INT64_C(60000000000)
#define JOB_PROFILER_TREND     12 /* Estimates that are remembered. */

struct profiled_job {
	uint32_t job;               /* live_job_name(). */
	bool has_estimate;          /* The members up to 'trend' are valid. */
	int64_t at_ns;              /* Wall clock: end of the window of the estimate. */
	uint32_t window_ms;         /* Its length. */
	struct detection detection; /* Owned. The profile has the job's name. */
	int64_t harmonic_of_us;     /* The traffic's own period; 0: the same. */
	bool has_events;            /* The period was compared with events. */
	uint32_t n_series, n_left_out; /* Series pooled; of the job, but not pooled. */
	double gap_frac;               /* Of the pooled bins. */
	int64_t trend_us[JOB_PROFILER_TREND]; /* Periods, oldest first. */
	uint32_t n_trend;
	/* The last change. */
	bool has_alarm;
	int64_t alarm_ns; /* Wall clock. */
	int64_t period_before_us;
	double bytes_before;
	int64_t steady_period_us; /* The period to compare the next estimate with. */
	double steady_bytes, steady_error_us; /* Standard error of that period. */
	char *why;        /* Owned.  Why there is no newer estimate, or NULL. */
	int64_t tried_ns; /* live_elapsed_ns(). */
};

struct job_profiler *job_profiler_new(void);
void job_profiler_free(struct job_profiler *profiler); /* Accepts NULL. */

/*
 * Estimates anew if JOB_PROFILER_EVERY_NS of frame time have passed; true if so. It
 * takes at most JOB_PROFILER_MAX_AT_ONCE jobs, those that have waited longest.
 */
bool job_profiler_step(struct job_profiler *profiler, const struct live *live);
/*
 * The same in steps, for an event loop: returns true if a round begins. Then each
 * job_profiler_next() is a step of some milliseconds, beginning with the job that has
 * waited longest; it returns whether more steps are needed. The next round begins
 * JOB_PROFILER_EVERY_NS after this one, with the jobs that this one did not reach.
 */
bool job_profiler_begin(struct job_profiler *profiler, const struct live *live);
bool job_profiler_next(struct job_profiler *profiler, const struct live *live);
/* Ends the round as it is, for example before numbers of the state change. */
void job_profiler_stop(struct job_profiler *profiler);
/* Estimates all jobs now, for example at the end of a recording. */
void job_profiler_now(struct job_profiler *profiler, const struct live *live);

/*
 * All jobs that have traffic, or had an estimate lately (JOB_PROFILER_FORGET_NS), by
 * name; '*ret_n' of them.
 */
const struct profiled_job *const *job_profiler_jobs(const struct job_profiler *profiler,
						    size_t *ret_n);
/* By number of the live state, or NULL. */
const struct profiled_job *job_profiler_find(const struct job_profiler *profiler,
					     uint32_t job);

/*
 * The job's time from iteration to iteration by its events, microseconds; 0 if there
 * are none or they do not repeat. Also for tests.
 */
int64_t job_profiler_event_period_us(const struct live *live, uint32_t job,
				     int64_t from_ns, double *ret_jitter_us);

#endif
