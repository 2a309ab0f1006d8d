/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto.h - a run as a trace for Perfetto (ui.perfetto.dev) or chrome://tracing:
 * JSON trace events, written as they happen.
 *
 * A process "jobs" has a thread per job with its iterations.  Each link is a process
 * with a thread per job, and a slice where that job sends: one track per (link, job),
 * so slices never overlap.  A counter shows the number of jobs that send over the
 * link.
 */
#ifndef SIM_RUN_PERFETTO_H
#define SIM_RUN_PERFETTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/run/plan.h"

/* Viewers cannot load much more. */
#define PERFETTO_MAX_BYTES ((uint64_t)200 * 1000 * 1000)

struct perfetto;

/*
 * Begins a trace on 'out'; borrows 'out', 'scenario', 'plan' and 'topo'. Omits links
 * of a single job, unless 'all_links', and everything beyond 'max_bytes'.
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
 * Ends the trace with its provenance, and frees it.  Returns the number of slices
 * omitted for lack of room.
 */
uint64_t perfetto_finish(struct perfetto *trace, const char *version,
			 const char *command, uint64_t seed);

#endif
