/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_marks.c - the ECN marks that our engine estimates for a flow scenario
 *
 *	flow_marks FILE.scn ITERATIONS
 *
 * Prints for each job "job,ecn,packets,marked", as ns3_flows.cpp does: packets of 4000
 * bytes, and those of them with a mark.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine/engine.h"
#include "lib/base/alloc.h"
#include "sim/run/flow_scenario.h"
#include "tests/bench/flow_args.h"

#define PACKET_BYTES 4000

struct sums {
	double packets, marked;
};

static void
on_sent(void *ctx, uint32_t job, uint32_t flow, double start_ns, double end_ns,
	double rate_bps, double ecn_packets)
{
	struct sums *sums = ctx;

	(void)flow;
	sums[job].packets += (end_ns - start_ns) / 1e9 * rate_bps / 8 / PACKET_BYTES;
	sums[job].marked += ecn_packets;
}

int
main(int argc, char **argv)
{
	struct engine_observer observer = { .on_sent = on_sent };
	struct engine *engine;
	uint64_t n_iterations;
	struct flow_scenario *scn =
		flow_args_read("flow_marks", argc, argv, &n_iterations);
	struct sums *sums;

	sums = xcalloc(scn->n_jobs + 1, sizeof *sums);
	observer.ctx = sums;
	engine = flow_scenario_new_engine(scn, n_iterations, &observer);
	engine_run(engine, ENGINE_NEVER);
	for (uint32_t j = 0; j < scn->n_jobs; j++)
		printf("%u,ecn,%.0f,%.0f\n", j, sums[j].packets, sums[j].marked);
	engine_free(engine);
	flow_scenario_free(scn);
	free(sums);
	return fflush(stdout) == 0 ? 0 : 1;
}
