/*
 * steer.h - keeps running jobs interleaved: from what each iteration did to what the
 * next one should wait.
 *
 * A shift that is given once decays, as every job's iterations wander (interleaving,
 * 8.7), so this is a loop.  For each job it tracks onsets (track.h): phase, period,
 * noise, and whether any of them has changed for good.  For each pair of jobs that can
 * be in each other's way there is a conflict edge: the window in which their relative
 * phase does no harm (edges.h).  Nothing is ordered as long as all edges are kept: the
 * dead band is the slack of the edges, and not a share of the period.
 *
 * STEER_GATE: jobs take turns (turn.h).  Whoever is foretold to come while another
 * sends is ordered not to begin before that one will be done; at most one order an
 * iteration, sent ahead, so that nobody waits for an answer.  That costs nothing beyond
 * what sharing costs the one who waits, as he is done at the same time, and it holds a
 * quicker job back to the pace of a slower one where that pays.  Whether it does is
 * played out (regime.h) and then learned from what it costs (learn.h), by all that hang
 * together by edges: they take turns at once if that is clear, share first and compare
 * if it is not, and give turns up before these have cost three iterations more than
 * sharing, so nobody starves.
 *
 * STEER_SHIFT: jobs are kept in their windows (correct.h).  When an edge is about to be
 * left, the cheapest delays over the whole component bring all of them well into their
 * windows again, not more often than the limit; what is locked to a longer period
 * (lock.h) waits a little each iteration.
 *
 * Which is better is measured, by "antiphase sim compare FILE --policies
 * none,none:gate,none:steer" in examples/ (mean slowdown; "gate": turns by somebody who
 * sees the link at every instant, "steer": this loop, orders 20 ms under way):
 *
 *	                   none   none:gate  none:steer   orders that were waited for
 *	three-jobs.ini    1.186     1.002      1.002      32 a minute and job
 *	one-to-two.ini    1.049     1.001      1.001       8
 *	unlike-jobs.ini   1.077     1.120      1.077       0
 *
 * In windows instead of turns the first is 1.004 with 25 corrections (tests/unit/
 * test_steer.c holds it below 1.01).  So jobs that send in one go take turns, and the
 * windows are for those with several bursts, for which a turn at the onset says nothing
 * of the rest (edges.h chooses; demo.ini has both: fair 1.181, antiphase:steer 1.001).
 * There is no fixed load above which turns are not taken: on one link they win even
 * above 1, and over many links it depends on who meets whom, which is why it is played
 * out and learned.  Of random mixes of 2 to 6 jobs of all kinds none is worse off than
 * it would be without, by more than two runs without differ: bench_steer.  How soon jobs
 * that have just begun find their turns, and how much noise that bears: bench_settle.
 *
 * The same code steers real jobs (antiphase-scheduler) and simulated ones (steered.h,
 * ENGINE_PACE_STEER).  Pure: time comes with the reports.  Deterministic.  A report
 * costs O(n^3) of those that its job meets, at most SEND_SCHEDULE_MAX_JOBS; for jobs in windows
 * O(V E) of the component, at most STEER_MAX_COMPONENT jobs; a new choice of turns
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
	int64_t latency_ns;    /* From a report to its order at the job; 0: 20 ms. */
	double max_per_minute; /* Shift corrections of one job; 0: 60. */
	double max_delay_frac; /* Of a period, of one order; 0: 1. */
};

enum steer_mode {
	STEER_FREE,  /* Watched, never delayed. */
	STEER_SHIFT, /* Kept in its windows. */
	STEER_GATE,  /* Takes turns. */
};

/* What the advisor wants of a job. */
struct steer_job {
	enum steer_mode mode;
	const struct profile *profile; /* Of the job alone; copied. */
	int64_t locked_us; /* Iterations are to take this long, idle time included;
			    * 0: as long as they take. */
	double weight;     /* What a second of its delay costs. */
};

/*
 * (begin of b - begin of a) modulo 'modulus_us' is to be in [lo_us, hi_us] (hi may be
 * above the modulus: it goes round).  Which links it is about does not matter here.
 */
struct steer_edge {
	uint32_t a, b;
	int64_t modulus_us, lo_us, hi_us;
	double cost; /* Of a second in which both send, what each loses; 0: 1. */
};

struct steer_report {
	uint64_t number;            /* Of the iteration that begins. */
	int64_t enter_ns, begin_ns; /* Came to its first collective; was let go on. */
	int64_t comm_ns; /* In collectives in the iteration before; 0: unknown. */
	uint32_t order;  /* The last order that had been received; 0: none. */
};

enum steer_why {
	STEER_WHY_DRIFT,  /* An edge is about to leave its window. */
	STEER_WHY_START,  /* The first shift of a job, or after a new plan. */
	STEER_WHY_PERIOD, /* Its period is made equal to what it is locked to. */
	STEER_WHY_TURN,   /* Another job's turn. */
	STEER_N_WHYS,
};

extern const char *const steer_why_names[]; /* "drift", "start", "period", "turn". */

/* Times on the clock of the reports. */
struct steer_order {
	uint32_t job, number;
	int64_t delay_ns;      /* 0 or more. */
	int64_t not_before_ns; /* 0: none; the later of the two counts. */
	int64_t expires_ns;    /* Not for iterations that begin after it. */
	int64_t max_ns;        /* At most so long. */
	enum steer_why why;
};

struct steer_state {
	bool is_tracked;  /* Enough iterations were seen; else all below is 0. */
	bool is_settled;  /* All its edges have been within their windows lately. */
	bool has_changed; /* Its period is another one since the plan: re-profile. */
	uint64_t n_iterations;
	int64_t period_us, jitter_us; /* Without our delays. */
	int64_t burst_us;             /* In collectives, alone; 0: not known. */
	int64_t error_us; /* Outside of its windows now, at most; 0: within. */
	int64_t last_begin_ns;
	uint64_t n_orders[STEER_N_WHYS];
	int64_t delayed_ns; /* Sum of what it is known to have waited for us. */
	int64_t first_shift_ns, settled_ns; /* When; 0: not yet. */

	/* Of those that learn together: see learn.h. */
	struct steer_learned {
		bool takes_turns;
		double foretold_share, foretold_turns;
		double share, turns;       /* Mean costs, */
		uint32_t n_share, n_turns; /* of so many blocks. */
	} learned;
};

struct steer *steer_new(const struct steer_opts *opts); /* NULL: defaults. */
void steer_free(struct steer *steer);                   /* Accepts NULL. */

/*
 * Sets or changes a job, by any number of the caller's; it is watched from then on.  True
 * if it was not known before.
 */
bool steer_set_job(struct steer *steer, uint32_t job, const struct steer_job *what);
void steer_remove_job(struct steer *steer, uint32_t job);
/*
 * Replaces all edges of 'jobs' (those of one component, or several) by those given,
 * which may have a job at one end that is not listed.  Of a pair that is given twice,
 * the first counts.  What was learned of turns is forgotten, unless they are the same
 * edges as before, or these refined: no number of any differs by more than a tenth of
 * its modulus.
 */
void steer_set_constraints(struct steer *steer, const uint32_t *jobs, size_t n_jobs,
			   const struct steer_edge *edges, size_t n_edges);

/*
 * Takes a report.  Appends the orders that follow from it, of this and of other jobs,
 * to 'ret_orders' (room for 'max'); returns how many.
 */
size_t steer_report(struct steer *steer, uint32_t job,
		    const struct steer_report *report, struct steer_order *ret_orders,
		    size_t max);

/*
 * Takes reports of before the job was set, oldest first, so that its next onset can be
 * foretold at once.  Nothing is ordered; what its collectives took beyond its profile is
 * taken for the doing of others.
 */
void steer_remember(struct steer *steer, uint32_t job,
		    const struct steer_report *reports, size_t n_reports);

/* Zeroed for a job that is not known. */
void steer_state(const struct steer *steer, uint32_t job,
		 struct steer_state *ret_state);

#endif
