/* SPDX-License-Identifier: Apache-2.0 */
/*
 * experiment.h - one run of a plan: iteration times of jobs, and statistics of links.
 *
 * The first iteration of a job starts at its arrival.  With random phases it starts up
 * to one period later; the draw depends on the seed and the job alone, so that
 * policies are compared on the same draws.  A policy's shift is a phase in a common
 * grid of time: an interleaved job then waits, by less than a period, for the next
 * moment t with t = shift modulo its period.
 *
 * All jobs run until each has done the requested iterations, so that slow jobs never
 * have the fabric for themselves; only these iterations count.
 *
 * A run ends, too, when it has lasted EXPERIMENT_STARVED times as long as any isolated
 * job needs: higher priorities may leave a job nothing.  What such a job has waited since
 * its last iteration counts as one.
 *
 * Slowdown is relative to the isolated job: the same iterations with the same draws of
 * jitter, on a private copy of the job's links (isolated.h).
 *
 * No I/O and no clock: progress and the trace are callbacks.
 */
#ifndef SIM_RUN_EXPERIMENT_H
#define SIM_RUN_EXPERIMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/run/plan.h"

/* Most iterations of a job. */
#define EXPERIMENT_MAX_ITERATIONS 10000000

/* Chosen: far beyond the slowdown of a job that gets anything. */
#define EXPERIMENT_STARVED 100

struct experiment_opts {
	uint64_t seed;
	uint64_t iterations;        /* Per job; 0: unlimited. */
	uint64_t warmup_iterations; /* First iterations that do not count. */
	int64_t duration_ns;        /* ENGINE_NEVER: not limited. */
	bool random_phases;
	double mtu_bytes; /* 0: the engine's default. */
	bool with_series; /* Fill 'series' of the results. */
	/* All may be NULL. */
	void *ctx;
	/* Called regularly with the fraction done; false ends the run. */
	bool (*go_on)(void *ctx, double frac);
	void (*on_iteration)(void *ctx, uint32_t job, uint64_t iteration,
			     double start_ns, double end_ns);
	void (*on_flows)(void *ctx, uint32_t job, uint32_t segment, double start_ns,
			 double end_ns);
	/* Flow 'flow' of the job's collective, numbered as in its routed_job. */
	void (*on_sent)(void *ctx, uint32_t job, uint32_t flow, double start_ns,
			double end_ns, double rate_bps, double ecn_packets);
	/*
	 * Called every 'tick_ns' (if above 0) of simulated time, after all earlier
	 * reports, and once at the end for the rest.  False ends the run.
	 */
	int64_t tick_ns;
	bool (*on_tick)(void *ctx, int64_t now_ns);
};

struct experiment_job {
	bool is_placed;
	size_t n;                               /* Iterations counted. */
	uint64_t n_skipped;                     /* The warm-up before them. */
	double *iteration_ns;                   /* Owned.  In order of time. */
	double *start_ns;                       /* Owned.  When they started. */
	double mean_ns, p50_ns, p90_ns, p99_ns; /* 0 if n is 0. */
	bool is_starved;      /* The run ended without all its iterations. */
	double isolated_ns;   /* Mean of the same iterations, isolated. */
	double slowdown;      /* mean_ns / isolated_ns; 0 if n is 0. */
	double active_ns;     /* From arrival to end, or to the end of the run. */
	double completion_ns; /* From arrival to end; negative: not ended. */
	uint64_t n_corrections;
	double corrections_per_min;
	double path_wait_ns; /* Time in which a flow had no path: link_events.h. */
	double packets, ecn_packets;
	double ecn_per_iteration; /* Estimated marks over all its iterations. */
};

struct experiment_link {
	uint32_t link;
	uint32_t n_jobs; /* Jobs that ever use it. */
	struct engine_link_stats stats;
};

/* One event of the scenario, and a job's iterations before and after it. */
struct experiment_span {
	/*
	 * Means of the counted iterations that lie between the event before and this one,
	 * and between this one and the next; 0: there is none.
	 */
	double before_ns, after_ns;
	bool is_waiting; /* A flow has no path from then on. */
};

struct experiment_event {
	const struct scenario_event *event; /* Borrowed from the scenario. */
	bool has_happened;                  /* Before the run ended. */
	uint32_t n_moved;                   /* See link_events.h. */
	struct experiment_span *spans;      /* Owned.  By job. */
};

struct experiment {
	struct experiment_job *jobs; /* Owned.  One a job of the workload. */
	size_t n_jobs;
	struct experiment_link *links; /* Owned.  Used by any job; ascending. */
	size_t n_links;
	struct experiment_event *events; /* Owned.  By time. */
	size_t n_events;
	struct run_series *series; /* Owned; or NULL. */
	double simulated_ns;
	bool was_interrupted;
};

/*
 * Runs the plan of 'scenario'. Returns 0, or -EINVAL for a job that the engine
 * refuses.  Release with experiment_fini().
 */
int experiment_run(const struct scenario *scenario, const struct sim_plan *plan,
		   const struct topo *topo, const struct experiment_opts *opts,
		   struct experiment *ret_experiment);
void experiment_fini(struct experiment *experiment); /* Accepts a zeroed one. */

/* A scenario's options; policy "none" starts jobs aligned by default. */
void experiment_opts_init(struct experiment_opts *opts, const struct scenario *scenario,
			  int policy);

/* Figures over all jobs of a run. */
struct experiment_summary {
	size_t n_jobs;            /* Jobs with iterations. */
	double iteration_mean_ns; /* Mean over jobs of the mean; and so on. */
	double iteration_p90_ns, iteration_p99_ns;
	double slowdown_mean, slowdown_worst;
	double goodput;             /* Weight / slowdown, over all jobs' weight. */
	double ecn_per_iteration;   /* Mean over jobs. */
	double ecn_frac;            /* Marked share of all packets. */
	double corrections_per_min; /* Mean over jobs. */
};

void experiment_summarize(const struct experiment *experiment,
			  const struct workload *workload,
			  struct experiment_summary *ret_summary);

#endif
