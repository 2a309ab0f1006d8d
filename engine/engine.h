/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - simulation of training jobs on a fabric, as fluid flows.
 *
 * The engine knows links (a capacity each) and jobs.  A job repeats
 * iterations; an iteration is a list of segments; a segment computes, sends
 * flows over explicit paths, or does both at once, and ends when all of it has
 * ended.  Segments follow each other, or overlap: each waits for those that it
 * names, and the iteration ends with its last segment.  A flow that is split over k connections is therefore k flows of a segment,
 * each with its own path and its share of the bytes.  At all times the rates are
 * (weighted) max-min fair over the links' capacities and the flows' own caps:
 *
 *	for every flow f: rate_f = cap_f, or there is a link l on its path that
 *	is full and on which no flow g has rate_g / weight_g > rate_f / weight_f.
 *
 * Jobs have strict priorities: flows of a higher priority get the rates that they would
 * have if lower ones did not send; lower ones share what is left of each link, which
 * may be nothing.  While all jobs have the same priority, this costs no time.
 *
 * The engine is pure: no I/O, no clock, no global state; the same jobs and
 * seed give the same bytes.  Events within a nanosecond are one batch, and the
 * jobs in it are handled in the order of their numbers.  Input times are integer
 * nanoseconds.  Names, tables, percentiles and policies are in
 * sim/ and scheduler/core.
 *
 * Cost: O(flows whose rate may change) per event, see fluid.h; an uncontended job costs
 * one event per iteration for any number of flows.  An event of a job whose segments
 * overlap costs O(its running segments) besides.  Adding a job costs O(all flows)
 * once at the next engine_run(), so add many at a time, also later ones.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine;

#define ENGINE_NEVER INT64_MAX /* A time that never comes. */
/* Each costs an event a flow.  Chosen: far more than a weight needs. */
#define ENGINE_MAX_STEPS 1024

struct engine_flow {
	const uint32_t *links; /* Borrowed until engine_add_job() returns. */
	uint32_t n_links;      /* 0: within a host, takes no time unless capped. */
	double bytes;          /* At least 0. */
	double cap_bps;        /* Own limit, bits per second; 0: none. */
	double weight;         /* Share against others; 1 is normal, above 0. */
};

struct engine_segment {
	int64_t compute_ns;      /* 0: none. */
	int64_t flows_offset_ns; /* Flows are due this long after the start. */
	/*
	 * Bytes flow this long after the flows are due, the alpha of an alpha-beta
	 * model; jitter does not scale it, and waits of the pacing come after it.
	 */
	int64_t latency_ns;
	const struct engine_flow *flows; /* Borrowed as above. */
	uint32_t n_flows;
	/*
	 * Factors, above 0, of its flows' weights at their first and last byte, linear in
	 * the bytes sent: in 'n_steps' equal steps, each with its mean.  0 steps: 1.
	 */
	double first_weight, last_weight;
	uint32_t n_steps; /* At most ENGINE_MAX_STEPS. */
	/*
	 * Numbers of earlier segments of the job, which must have ended before this
	 * one starts.  Borrowed as above.  'n_after' 0: the segment before it; with
	 * 'from_start', none: it starts with the iteration.
	 */
	const uint32_t *after;
	uint32_t n_after;
	bool from_start;
};

/* How a job keeps to its time-shift after the first iteration. */
enum engine_pacing {
	ENGINE_PACE_FREE,    /* Not at all: the shift is one delay at the start. */
	ENGINE_PACE_REALIGN, /* CASSINI's agent: off by more than the deadband,
			      * wait for the next point of the grid. */
	ENGINE_PACE_GATE,    /* Work-conserving slots: a segment's flows wait only
			      * while another gated job uses one of its links. */
	ENGINE_PACE_STEER,   /* The observer's 'wait_ns' returns the waits. */
};

struct engine_job {
	const struct engine_segment *segments; /* Borrowed as above. */
	uint32_t n_segments;                   /* At least 1. */
	int64_t arrival_ns;                    /* Enters the system. */
	int64_t shift_ns;        /* Delay of the first iteration after arrival. */
	int64_t stop_ns;         /* Leaves then, even amid an iteration; or NEVER. */
	uint64_t max_iterations; /* The job leaves after these; 0: unlimited. */
	double jitter_frac;      /* Std deviation of each compute time, relative. */
	/*
	 * Stalls, as on hosts whose CPUs others use: with the probability 'stall_frac'
	 * a compute time is longer by a time drawn from an exponential distribution
	 * with the mean 'stall_ns'.  0: none.
	 */
	double stall_frac, stall_ns;
	enum engine_pacing pacing;
	int64_t grid_ns;      /* Ideal iteration time, for REALIGN and GATE. */
	double deadband_frac; /* Fraction of grid_ns; 0: CASSINI's 0.05. */
	uint8_t priority;     /* Of its flows, strict: 0 (lowest) to 255. */
};

/* Called in order of time; any may be NULL. */
struct engine_observer {
	void *ctx;
	/*
	 * Iteration 'iteration' (from 0) of 'job' ran from 'start_ns' to 'end_ns'.
	 * Waits of REALIGN are before 'start_ns', so between iterations; waits of GATE
	 * are within.
	 */
	void (*on_iteration)(void *ctx, uint32_t job, uint64_t iteration,
			     double start_ns, double end_ns);
	/* The flows of one segment ran from 'start_ns' to 'end_ns'. */
	void (*on_flows)(void *ctx, uint32_t job, uint32_t segment, double start_ns,
			 double end_ns);
	/*
	 * Needs 'measure_links'.  Flow 'flow' of 'job' (its flows are numbered from
	 * 0 over its segments) sent at the constant 'rate_bps', above 0, from
	 * 'start_ns' to 'end_ns'; 'ecn_packets' of that were marked, by estimate.
	 * Called when the rate changes, and when engine_run() returns.  The pieces of
	 * one flow come in order of time; those of different flows do not.
	 */
	void (*on_sent)(void *ctx, uint32_t job, uint32_t flow, double start_ns,
			double end_ns, double rate_bps, double ecn_packets);
	/*
	 * Returns a factor, above 0, for the weights of a job's flows in its next
	 * segment.
	 */
	double (*flow_weight)(void *ctx, uint32_t job, uint64_t iteration,
			      uint32_t segment);
	/*
	 * With ENGINE_PACE_STEER: called when a segment's flows are due.  Returns how
	 * long they wait; it is called again after that wait, until it returns 0 and
	 * the flows start.  These waits are within the iteration.
	 */
	double (*wait_ns)(void *ctx, uint32_t job, uint64_t iteration, uint32_t segment,
			  double now_ns);
};

struct engine_config {
	const double *capacity_bps; /* Borrowed until engine_new() returns. */
	uint32_t n_links;
	uint64_t seed;      /* For jitter and stalls; a stream of each per job. */
	bool measure_links; /* Keep struct engine_link_stats; costs time. */
	/*
	 * Borrowed until engine_new() returns; NULL: none.  Links that mark no packets
	 * when full, as a host's own interface, whose queue is in the host's memory.
	 */
	const bool *unmarked;
	double mtu_bytes; /* For ECN marks; 0: 4000. */
	struct engine_observer observer;
};

/* Statistics of a link, with 'measure_links'. */
struct engine_link_stats {
	double bytes;           /* Carried. */
	double busy_ns;         /* Time with any flow. */
	double over_ns;         /* Time in which demand exceeded capacity. */
	double job_ns;          /* Integral of the number of jobs at once. */
	uint32_t max_jobs;      /* Largest number of jobs at once. */
	double peak_bps;        /* Largest rate carried. */
	double packets;         /* Bytes / MTU. */
	double ecn_packets;     /* Estimated marks: see ecn.h. */
	double max_queue_bytes; /* Estimated: see ecn.h. */
};

struct engine_job_stats {
	uint64_t n_iterations;  /* Finished. */
	double end_ns;          /* When the job left; negative until then. */
	uint64_t n_corrections; /* Waits ordered by the pacing. */
	double waited_ns;       /* The sum of these waits. */
	double packets;         /* Sent; only if 'measure_links'. */
	double ecn_packets;     /* Estimated marks on them; likewise. */
};

struct engine *engine_new(const struct engine_config *config);
void engine_free(struct engine *engine);

/*
 * Adds a job before or during a run; it may not arrive in the past.  Copies
 * what it needs.  Observers may call it, too.  Returns 0 and the job's number
 * (counted from 0), or -EINVAL for a negative time, a link out of range, a
 * quantity not finite, a segment that waits for one that is not earlier, or iterations
 * without end that take no time.
 */
int engine_add_job(struct engine *engine, const struct engine_job *job,
		   uint32_t *ret_job);

/*
 * Changes the priority of a job's flows now, also of those that send.  Observers may
 * call it, too.  No effect on a job that has left.  O(flows of the job), and new rates
 * at the end of the batch.
 */
void engine_job_set_priority(struct engine *engine, uint32_t job, uint8_t priority);

/*
 * Changes of the fabric, between calls of engine_run(): they hold from now on, also for
 * flows that send, which go on with what they have left.  O(all flows) once at the next
 * engine_run(), however many changes there are.
 */

/* The capacity of a link.  Returns 0, or -EINVAL if it is not finite and above 0. */
int engine_set_capacity(struct engine *engine, uint32_t link, double capacity_bps);
/*
 * The path of flow 'flow' of a job, numbered from 0 over its segments; 'links' NULL: it
 * has none, and waits at ENGINE_BLOCKED_BPS until it gets one.  No effect on a job that
 * has left.  Returns 0 or -EINVAL.
 */
int engine_set_path(struct engine *engine, uint32_t job, uint32_t flow,
		    const uint32_t *links, uint32_t n_links);

/* So little that a day of it is less than a bit; above 0, so that times are finite. */
#define ENGINE_BLOCKED_BPS 1e-6

/*
 * Runs until no job is left or the simulated time reaches 'until_ns', and may
 * be called again to go on.  Returns the number of events handled.
 */
uint64_t engine_run(struct engine *engine, int64_t until_ns);

/* Makes the running engine_run() return after the current batch; for observers. */
void engine_stop(struct engine *engine);

/*
 * Stores the state as engine_state_size() numbers, without jitter, hooks and priorities
 * (times in nanoseconds from now, or from a job's grid).  From two states that are
 * equal within a nanosecond the run continues identically.  Call it between calls of
 * engine_run().
 */
size_t engine_state_size(const struct engine *engine);
void engine_state(const struct engine *engine, double *ret_state);

/*
 * A job's position in an iteration, to resume it in another engine.  Only for jobs
 * without pacing whose segments follow each other: a point has one running segment.
 */
struct engine_point {
	double since_ns;   /* Time since the iteration began; 0 or below: not yet. */
	uint32_t segment;  /* The running one; also of the members below. */
	double compute_ns; /* Left to compute. */
	double send_ns;    /* Until its flows start. */
	double *left;      /* Owned.  By flow: the share of its bytes left, 0 to 1. */
	uint32_t n_flows;
};

void engine_point_fini(struct engine_point *point); /* Accepts a zeroed one. */
/* Call it between calls of engine_run(). */
void engine_job_point(const struct engine *engine, uint32_t job,
		      struct engine_point *ret_point);
/* The position of the isolated job after this share, below 1, of an iteration. */
void engine_point_amid(const struct engine *engine, uint32_t job, double share,
		       struct engine_point *ret_point);
/*
 * Makes a job that was just added begin at 'point'.  Returns 0, or -EINVAL if the job
 * has begun or is paced, if its segments overlap, or if the point is not of this job.
 */
int engine_job_resume(struct engine *engine, uint32_t job,
		      const struct engine_point *from);
/*
 * Iterations that the job has finished, plus the finished share of the current one by
 * isolated time.  As the points above, not for a job whose segments overlap.
 */
double engine_job_progress(const struct engine *engine, uint32_t job);

double engine_now_ns(const struct engine *engine);
uint64_t engine_flows_finished(const struct engine *engine);
void engine_job_stats(const struct engine *engine, uint32_t job,
		      struct engine_job_stats *ret_stats);
/* All zero without 'measure_links'. */
void engine_link_stats(const struct engine *engine, uint32_t link,
		       struct engine_link_stats *ret_stats);

#endif
