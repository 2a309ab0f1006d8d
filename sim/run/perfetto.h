/*
 * perfetto.h - a run as a trace for Perfetto (ui.perfetto.dev) or chrome://tracing:
 * JSON trace events, written as they happen.
 *
 * One process "jobs" has a thread a job with its iterations.  Each link is a
 * process with a thread for each job on it, and a slice where that job sends:
 * one track a (link, job), so slices never overlap.  A counter says how many jobs
 * send over the link at once.
 */
#ifndef SIM_RUN_PERFETTO_H
#define SIM_RUN_PERFETTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/run/plan.h"

/* Viewers do not take much more. */
#define PERFETTO_MAX_BYTES ((uint64_t)200 * 1000 * 1000)

struct perfetto;

/*
 * Begins a trace on 'out', which is borrowed, as are 'scenario', 'plan' and
 * 'topo'.  Links that only one job uses are left out, unless 'all_links'.
 * What would go beyond 'max_bytes' is left out, too.
 */
struct perfetto *perfetto_new(FILE *out, const struct scenario *scenario,
			      const struct sim_plan *plan, const struct topo *topo,
			      bool all_links, uint64_t max_bytes);

/* For the callbacks of experiment.h. */
void perfetto_iteration(struct perfetto *trace, uint32_t job, uint64_t iteration,
			double start_ns, double end_ns);
void perfetto_flows(struct perfetto *trace, uint32_t job, uint32_t segment,
		    double start_ns, double end_ns);

/*
 * Ends the trace with where it comes from, and frees it.  Returns the number of
 * slices that were left out for want of room.
 */
uint64_t perfetto_finish(struct perfetto *trace, const char *version,
			 const char *command, uint64_t seed);

#endif
