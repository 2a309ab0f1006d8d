/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_series.h - a run by time: how much each link carries in each step, and the
 * iterations of each job.
 *
 * Bounded for runs of any length: when the steps are RUN_SERIES_MAX_STEPS, each two
 * become one.  All steps have the same length, except the last, which ends with the run.
 * Iterations are folded likewise: an entry stands for some in succession.
 *
 *	4 kB of memory a link while the run lasts; JSON has at most RUN_SERIES_MAX_LINKS
 *	links with two numbers a step, and two numbers an entry of each job.
 */
#ifndef SIM_RUN_RUN_SERIES_H
#define SIM_RUN_RUN_SERIES_H

#include <stddef.h>
#include <stdint.h>

struct engine;
struct experiment;
struct jsonw;
struct scenario;
struct sim_plan;
struct topo;

#define RUN_SERIES_MAX_STEPS   512
#define RUN_SERIES_MAX_LINKS   100
#define RUN_SERIES_MAX_ENTRIES 512

struct run_series_link {
	uint32_t link;
	double bytes, over_ns;            /* So far, as in struct engine_link_stats. */
	float *step_bytes, *step_over_ns; /* Owned. */
};

struct run_series_job {
	size_t per_entry; /* Iterations an entry; the last may have fewer. */
	size_t n;
	double *start_ns,
		*mean_ns; /* Owned.  Of an entry: its begin, mean iteration. */
};

struct run_series {
	int64_t step_ns;
	size_t n_steps;
	double end_ns;                 /* Of the last step. */
	struct run_series_link *links; /* Owned.  Ascending. */
	size_t n_links, n_links_left_out;
	struct run_series_job *jobs; /* Owned.  One a job of the workload. */
	size_t n_jobs;
};

/* For the links that jobs of 'plan' use. */
struct run_series *run_series_new(const struct sim_plan *plan, const struct topo *topo);
void run_series_free(struct run_series *series); /* Accepts NULL. */

/* When the current step ends. */
int64_t run_series_next_ns(const struct run_series *series);
/* Ends the current step at the engine's time, which is not after its end. */
void run_series_note(struct run_series *series, const struct engine *engine);
/*
 * Ends the last step, takes the iterations of 'experiment', and leaves out links that
 * carried nothing, and all but the RUN_SERIES_MAX_LINKS whose demand exceeded the
 * capacity for the longest time, or else that carried most.
 */
void run_series_end(struct run_series *series, const struct engine *engine,
		    const struct experiment *experiment);

/* Makes steps longer until they are at least 'step_ns' long. */
void run_series_coarsen(struct run_series *series, int64_t step_ns);

/* Writes the object "series". */
void run_series_json(const struct run_series *series, const struct scenario *scenario,
		     const struct topo *topo, struct jsonw *w);

#endif
