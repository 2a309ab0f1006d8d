/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_scenario.h - scenarios of flows, 'fabscn 1': links, and jobs that send flows
 * over explicit paths, so that any simulator can run them.
 *
 *	fabscn 1
 *	hosts N
 *	links M
 *	L id bytes_per_s name                       M lines, id = 0..M-1 in order
 *	jobs K
 *	J id iters shift_ns compute_ns nflows       K blocks, id = 0..K-1 in order,
 *	F src dst bytes k link_1 ... link_k         each followed by its F lines
 *
 * Integers only, fields separated by one space.  A job waits 'shift_ns', and then
 * 'iters' times computes and sends all its flows at once; the iteration ends with the
 * last flow.
 */
#ifndef SIM_RUN_FLOW_SCENARIO_H
#define SIM_RUN_FLOW_SCENARIO_H

#include <stddef.h>
#include <stdint.h>

struct engine;
struct engine_observer;
struct err;

struct flow_scenario_flow {
	uint32_t src, dst; /* Hosts. */
	int64_t bytes;
	uint32_t first_link, n_links; /* In scenario.paths. */
};

struct flow_scenario_job {
	uint64_t n_iterations;
	int64_t shift_ns, compute_ns;
	uint32_t first_flow, n_flows; /* In scenario.flows. */
};

struct flow_scenario {
	uint32_t n_hosts, n_links, n_jobs, n_flows, n_path_links;
	double *capacity_bps;             /* Owned, by link. */
	struct flow_scenario_job *jobs;   /* Owned. */
	struct flow_scenario_flow *flows; /* Owned, in order of their jobs. */
	uint32_t *paths;                  /* Owned. */
};

/*
 * Reads 'length' bytes of 'text'; 'file' is for messages.  No allocation exceeds a
 * small multiple of 'length'. Returns 0 and a new scenario, or -EINVAL with 'err'
 * filled.
 */
int flow_scenario_parse(const char *file, const char *text, size_t length,
			struct flow_scenario **ret_scenario, struct err *err);

void flow_scenario_free(struct flow_scenario *scenario);

/*
 * Returns a new engine with the scenario's links and jobs, in order, each job with at
 * most 'max_iterations' iterations (0: its own). Borrows nothing.  With the observer's
 * 'on_sent' it measures links: the first link of a path, the host's own interface, marks
 * nothing.
 */
struct engine *flow_scenario_new_engine(const struct flow_scenario *scenario,
					uint64_t max_iterations,
					const struct engine_observer *observer);

#endif
