/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onset_tracker.h - the onsets of one job's iterations, and when the next one comes.
 *
 * The tracked figure is the free iteration time: from the moment when the pacer
 * releases the job to its next first collective, minus the stretch of its collectives
 * by contention.  So neither ordered delays nor contention looks like another period.
 *
 *	sample = enter(k+1) - begin(k) - stretch(k),
 *	stretch(k) = comm(k) - its usual length, if others sent at the same time.
 *
 * The usual length is that of iterations without contention, if the caller knows which
 * these are, or an estimate of it; otherwise any difference from it counts as stretch.
 *
 * A sample is one of three things.  Noise and small bias: the mean follows, faster
 * while a CUSUM of the residuals raises an alarm.  Odd, once or twice: an exception
 * such as a checkpoint; it gives a phase but no period.  Odd ONSET_N_ODD times in a row
 * to the same side: the regime has changed, and the period is that of these samples.
 *
 * A lost report only omits a sample.  Impossible reports are refused; if they continue,
 * the next one is accepted, as from a restarted job.  Pure, O(1) per report.
 */
#ifndef SCHEDULER_CORE_CONTROL_TRACK_H
#define SCHEDULER_CORE_CONTROL_TRACK_H

#include <stdbool.h>
#include <stdint.h>

struct steer_report;

#define ONSET_N_ODD   3 /* Consecutive odd samples that change the regime. */
#define ONSET_N_KNOWN 4 /* Samples after which the period is trusted. */

enum onset_event {
	ONSET_REFUSED, /* Impossible: ignored. */
	ONSET_SYNCED,  /* The first report, or after a gap: a phase, no sample. */
	ONSET_NORMAL,
	ONSET_ODD,     /* Only once or twice so far. */
	ONSET_CHANGED, /* The regime has changed. */
};

struct onset_tracker {
	bool has_begun;
	uint64_t number;
	int64_t begin_ns;   /* Of the last iteration. */
	double period_ns;   /* Free; 0: unknown. */
	double sd_ns;       /* Of one sample. */
	double comm_ns;     /* Usual time in collectives; 0: unknown. */
	uint32_t n_comm;    /* Iterations in that estimate. */
	double stretch_ns;  /* Of the collectives of the last sample. */
	double ahead_ns;    /* Expected stretch of the current iteration. */
	uint64_t n_samples; /* Since the regime began. */
	uint64_t n_reports;
	double cusum_up, cusum_down, cusum_sum_ns[2];
	uint32_t n_cusum[2];
	uint32_t n_odd, n_refused;
	double odd_sum_ns;
};

/* 'period_ns', 'comm_ns' and 'sd_ns' are the profile's; 0: unknown. */
void onset_tracker_init(struct onset_tracker *track, double period_ns, double comm_ns,
			double sd_ns);

/* Whether jobs on the same links sent at the same time in the last iteration. */
enum onset_contention {
	ONSET_ISOLATED,
	ONSET_MAYBE_CONTENDED, /* They may have: too close to tell. */
	ONSET_CONTENDED,
	ONSET_UNKNOWN, /* The jobs on the same links are unknown. */
};

enum onset_event onset_tracker_report(struct onset_tracker *track,
				      const struct steer_report *report,
				      enum onset_contention company);

/*
 * Takes an estimate of the isolated length of the last iteration's collectives, derived
 * from an iteration in which others sent for a while.
 */
void onset_tracker_learn_isolated(struct onset_tracker *track, double comm_ns);

/*
 * Takes the time in collectives of a better profile; 'before_ns' is the previous
 * profile's.  If they differ, the new one replaces the tracked value unless enough
 * iterations were seen; the period changes by the same amount, because computing stays.
 */
void onset_tracker_refine(struct onset_tracker *track, double before_ns,
			  double comm_ns);

/* True if the next onset can be predicted. */
bool onset_tracker_is_known(const struct onset_tracker *track);

#endif
