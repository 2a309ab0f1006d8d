/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steer.h - the control loop that keeps running jobs interleaved.
 *
 * It converts reports of iterations into orders for the next ones.  A shift that is
 * applied once decays, because the iterations of every job wander, so this is a loop.
 * For each job it tracks onsets (onset_tracker.h): phase, period, noise, and permanent
 * changes of these.  Each pair of jobs that share a link has a constraint: the window
 * in which their relative phase does no harm (phase_constraints.h).  While all
 * constraints hold, nothing is ordered: the dead band is the slack of the constraints,
 * not a share of the period.
 *
 * STEER_GATE: jobs take turns (send_schedule.h).  A job that is predicted to begin
 * while another sends is ordered not to begin before that one ends; at most one order
 * per iteration, sent ahead, so that no job waits for an answer.  The wait costs a job
 * no more than sharing would, since it ends at the same time, and it holds a faster job
 * back to the pace of a slower one where that pays.  Whether it pays is predicted
 * (rollout.h), then decided by measured costs (regret.h), for all jobs connected by
 * constraints together: they take turns at once if that is clear, otherwise share first
 * and compare, and give turns up before these have cost three iterations more than
 * sharing, so no job starves.  Where hosts are too busy for turns to help, the loop
 * stands back (stand_back.h): it sends no orders, for growing pauses.
 *
 * STEER_SHIFT: jobs are kept in their windows (phase_correction.h).  When a constraint
 * is about to be broken, the cheapest delays over the whole component bring all jobs
 * well into their windows again, at a limited rate; a job with a locked period
 * (period_lock.h) waits a little in each iteration.
 *
 * Measured by "antiphase sim compare FILE --policies none,none:gate,none:steer" in
 * examples/ (mean slowdown; "gate": turns by an oracle that sees the link at every
 * instant, "steer": this loop, with orders 20 ms under way):
 *
 *	                   none   none:gate  none:steer   orders a minute and job
 *	three-jobs.ini    1.186     1.002      1.002      32
 *	one-to-two.ini    1.049     1.001      1.001       8
 *	unlike-jobs.ini   1.077     1.120      1.077       0
 *
 * In windows instead of turns the first is 1.004 with 25 corrections (tests/unit/
 * test_steer.c holds it below 1.01).  So jobs that send contiguously take turns, and
 * windows are for jobs with several bursts, for which a turn at the onset does not
 * cover the rest (phase_constraints.h chooses; demo.ini has both: fair 1.181,
 * antiphase:steer 1.001).  There is no fixed load above which turns are not taken: on
 * one link they win even above 1, and over many links it depends on which jobs share
 * which link, so it is predicted and measured. bench_steer: in random mixes of 2 to 6
 * jobs of all kinds, no mix is worse off than without the loop by more than two runs
 * without it differ. bench_settle: how soon new jobs get their turns, and with how much
 * noise.
 *
 * The same code steers real jobs (antiphase-scheduler) and simulated ones (steer_sim.h,
 * ENGINE_PACE_STEER).  Pure: time comes with the reports.  Deterministic.  A report
 * costs O(n^3) of the job's peers, at most SEND_SCHEDULE_MAX_JOBS; for jobs in windows
 * O(V E) of the component, at most STEER_MAX_COMPONENT jobs; a new choice of turns,
 * milliseconds.
 */
#ifndef SCHEDULER_CORE_CONTROL_STEER_H
#define SCHEDULER_CORE_CONTROL_STEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;
struct steer;

struct steer_opts {
	int64_t latency_ns;    /* From a report to its order at the job; 0: default. */
	double max_per_minute; /* Shift corrections of one job; 0: default. */
	double max_delay_frac; /* Of a period, of one order; 0: 1. */
};

enum steer_mode {
	STEER_FREE,  /* Watched, never delayed. */
	STEER_SHIFT, /* Kept in its windows. */
	STEER_GATE,  /* Takes turns. */
};

/* What the advisor requests for a job. */
struct steer_job {
	enum steer_mode mode;
	const struct profile *profile; /* In isolation; copied. */
	int64_t locked_us;             /* Required length of iterations; 0: none. */
	double weight;                 /* Cost of a second of its delay. */
};

/*
 * (begin of b - begin of a) modulo 'modulus_us' is to be in [lo_us, hi_us]; hi may be
 * above the modulus: it wraps.
 */
struct steer_constraint {
	uint32_t a, b;
	int64_t modulus_us, lo_us, hi_us;
	double cost; /* Loss of each in a second in which both send; 0: 1. */
};

struct steer_report {
	uint64_t number;            /* Of the beginning iteration. */
	int64_t enter_ns, begin_ns; /* Arrival at its first collective; departure. */
	int64_t comm_ns; /* In collectives of the previous iteration; 0: unknown. */
	uint32_t order;  /* Last received order; 0: none. */
};

enum steer_why {
	STEER_WHY_DRIFT,  /* A constraint is about to be broken. */
	STEER_WHY_START,  /* First shift of a job, or after a new plan. */
	STEER_WHY_PERIOD, /* Its period is stretched to its lock. */
	STEER_WHY_TURN,   /* Another job's turn. */
	STEER_N_WHYS,
};

extern const char *const steer_why_names[]; /* "drift", "start", "period", "turn". */

/* Times on the clock of the reports. */
struct steer_order {
	uint32_t job, number;
	int64_t delay_ns;      /* 0 or more. */
	int64_t not_before_ns; /* 0: none; the later of the two counts. */
	int64_t expires_ns;    /* Void for iterations that begin later. */
	int64_t max_ns;        /* The longest wait. */
	enum steer_why why;
};

struct steer_state {
	bool is_tracked;  /* Enough iterations were seen; else the rest is 0. */
	bool is_settled;  /* All its constraints have held recently. */
	bool has_changed; /* Its period differs from the plan's: profile again. */
	uint64_t n_iterations;
	int64_t period_us, jitter_us; /* Without ordered delays. */
	int64_t burst_us;             /* In collectives, in isolation; 0: unknown. */
	int64_t error_us;             /* Distance from its windows; 0: within. */
	int64_t last_begin_ns;
	uint64_t n_orders[STEER_N_WHYS];
	int64_t delayed_ns;                 /* Sum of known waits by orders. */
	int64_t first_shift_ns, settled_ns; /* Times; 0: not yet. */

	/* Of its group: see regret.h. */
	struct steer_learned {
		bool takes_turns;
		double predicted_share, predicted_turns;
		double share, turns;       /* Mean measured costs. */
		uint32_t n_share, n_turns; /* Number of blocks in these. */
		/*
		 * Turns did not help, by stand_back.h: no orders until then; 0: until
		 * the cost of sharing is measured.
		 */
		bool stands_back;
		int64_t stands_back_until_ns;
		/* Recent costs that were compared for it, in periods. */
		double recent_share, recent_turns;
	} learned;
};

struct steer *steer_new(const struct steer_opts *opts); /* NULL: defaults. */
void steer_free(struct steer *steer);                   /* Accepts NULL. */

/* Adds or changes a job; the caller chooses its number.  Returns true if it is new. */
bool steer_set_job(struct steer *steer, uint32_t job, const struct steer_job *what);
void steer_remove_job(struct steer *steer, uint32_t job);
/*
 * Replaces all constraints of 'jobs' (those of one or several components) by the given
 * ones, of which one job need not be listed.  Of a repeated pair, the first counts.
 * The measured costs of turns are discarded, unless the constraints are unchanged or
 * refined: no number differs by more than STEER_SAME_FRAC of its modulus.
 */
void steer_set_constraints(struct steer *steer, const uint32_t *jobs, size_t n_jobs,
			   const struct steer_constraint *constraints,
			   size_t n_constraints);

/*
 * Takes a report.  Writes the resulting orders, for this and other jobs, to
 * 'ret_orders' (room for 'max'); returns their number.
 */
size_t steer_report(struct steer *steer, uint32_t job,
		    const struct steer_report *report, struct steer_order *ret_orders,
		    size_t max);

/*
 * Takes reports from before the job was set, oldest first, so that its next onset can
 * be predicted at once.  Nothing is ordered; time in collectives beyond the profile's
 * counts as contention.
 */
void steer_remember(struct steer *steer, uint32_t job,
		    const struct steer_report *reports, size_t n_reports);

/* Zeroed for an unknown job. */
void steer_state(const struct steer *steer, uint32_t job,
		 struct steer_state *ret_state);

#endif
