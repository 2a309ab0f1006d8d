/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_constants.h - the thresholds for reading telemetry, in one place.
 *
 * Shares have no unit; times have theirs in the name. Where no source is named, a
 * number was chosen by hand, and the unit tests of the modules check it. Definitions
 * for callers are in contention.h, job_profiler.h and live.h.
 */
#ifndef SCHEDULER_LIVE_LIVE_CONSTANTS_H
#define SCHEDULER_LIVE_LIVE_CONSTANTS_H

/* ---- Which series count: series_select.c, iteration_volume.c, traffic_map.c ------ */

#define SERIES_MIN_SHARE 0.1  /* Of the busiest series' bytes. */
#define SERIES_MAX_GAPS  0.2  /* Of a series' bins. */
#define HOST_MIN_SHARE   0.02 /* Of the busiest host's bytes: the job runs there. */

/* ---- Bytes of an iteration: iteration_volume.c ----------------------------------- */

#define VOLUME_MIN_CELL 0.1   /* Of the mean of all cells: this one is busy. */
#define VOLUME_LATE_MS  2     /* Data may be in flight after a collective ends. */
#define VOLUME_MAX_MS   30000 /* Of all iterations together. */

/* ---- Profiles: job_profiler.c, job_profiler_events.c, profiled_job.c ------------- */

#define PROFILER_MIN_SPAN_MS 2000
#define PROFILER_MAX_IDLE_MS 5000 /* At the end of the window: the job does not run. */
#define EVENTS_MAX_SEQUENCE  64   /* Collectives of one iteration. */
#define EVENTS_MIN_REPEATS   4    /* Iterations needed. */
#define EVENTS_MAX_MISFITS   0.1  /* Share of sizes that need not repeat. */
#define EVENTS_MAX_JITTER    0.2  /* Standard deviation over the mean. */
#define EVENTS_MAX_MISMATCH  0.1 /* Of events and a multiple of the traffic's period. */
#define EVENTS_MAX_HARMONIC  64

/* ---- Links: link_stats_measure.c ------------------------------------------------- */

/* A computed mean above this share of the capacity over this time is impossible. */
#define LINK_IMPOSSIBLE_FRAC 1.05
#define LINK_IMPOSSIBLE_MS   100

/* ---- Delay by others: live_workload.c -------------------------------------------- */

/*
 * Of a job's sending time: a larger share is not believed to be lost to others, and a
 * smaller one is below the resolution of 1 ms bins.
 */
#define DELAYED_MAX_FRAC 0.8
#define DELAYED_MIN_FRAC 0.02
/* Of its active time: enough to see its isolated rate. */
#define ISOLATED_MIN_FRAC 0.1

#endif
