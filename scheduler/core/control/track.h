/*
 * track.h - one job's iterations, followed: when the next one will begin.
 *
 * What is tracked is the free iteration time: from where the job was let go on to where
 * it comes to its first collective again, less what contention has stretched its
 * collectives by.  So neither our own delays nor our failures look like another period.
 *
 *	sample = enter(k+1) - begin(k) - stretch(k),
 *	stretch(k) = comm(k) - its usual length, if others sent at the same time.
 *
 * The usual length is that of iterations in which nobody did, as the caller knows, or
 * what it would have been; where that is not known, whatever differs from it, to either
 * side, is not the job's own.
 *
 * A sample is one of three things.  Noise and small bias: the mean follows, quicker
 * while a CUSUM of the residuals says that it is off (bias).  Far off, once or twice: a
 * checkpoint or the like; the phase is taken from it, the period is not.  Far off
 * TRACK_N_ODD times running to the same side: another regime, and the period is
 * theirs from then on.
 *
 * Lost reports only leave samples out.  Reports that cannot be are refused; should they
 * go on, the next one is believed, as from a job that began anew.  Pure, O(1) a report.
 */
#ifndef SCHEDULER_CORE_CONTROL_TRACK_H
#define SCHEDULER_CORE_CONTROL_TRACK_H

#include <stdbool.h>
#include <stdint.h>

struct steer_report;

#define TRACK_N_ODD   3 /* Odd samples running that make a regime. */
#define TRACK_N_KNOWN 4 /* Samples from which on the period is relied on. */

enum track_event {
	TRACK_REFUSED, /* Cannot be: nothing has changed. */
	TRACK_SYNCED,  /* The first one, or after a hole: a phase, and no sample. */
	TRACK_NORMAL,
	TRACK_ODD,     /* Far off, so far once or twice. */
	TRACK_CHANGED, /* Another regime has begun. */
};

struct track {
	bool has_begun;
	uint64_t number;
	int64_t begin_ns;   /* Of the last iteration. */
	double period_ns;   /* Free; 0: not known. */
	double sd_ns;       /* Of one sample. */
	double comm_ns;     /* Usual time in collectives; 0: not known. */
	uint32_t n_comm;    /* Iterations that it was learned from. */
	double stretch_ns;  /* Of the collectives of the last sample. */
	double ahead_ns;    /* Stretch that is expected of the iteration under way. */
	uint64_t n_samples; /* Since the regime began. */
	uint64_t n_reports;
	double cusum_up, cusum_down, cusum_sum_ns[2];
	uint32_t n_cusum[2];
	uint32_t n_odd, n_refused;
	double odd_sum_ns;
};

/* 'period_ns', 'comm_ns' and 'sd_ns' as a profile has them; 0: not known. */
void track_init(struct track *track, double period_ns, double comm_ns, double sd_ns);

/* Whether others that it shares a link with sent in the iteration before as it did. */
enum track_company {
	TRACK_ALONE,
	TRACK_PERHAPS, /* Near enough that they may have. */
	TRACK_MET,
	TRACK_UNKNOWN, /* With whom it shares links is not known. */
};

enum track_event track_report(struct track *track, const struct steer_report *report,
			      enum track_company company);

/*
 * The collectives of the last iteration would have taken so long alone, as far as can be
 * told of one in which others sent for a while.
 */
void track_learn_alone(struct track *track, double comm_ns);

/*
 * A better profile has its collectives take so long alone, the one before had them take
 * 'before_ns'.  If these are not about the same, the new one is believed, unless it was
 * seen often enough by now what they take; computing is known as it was, so the period is
 * another one by as much.
 */
void track_refine(struct track *track, double before_ns, double comm_ns);

/* True if the next onset can be foretold. */
bool track_is_known(const struct track *track);

#endif
