/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flows_one.c - a run of a flow scenario in our engine
 *
 *	flows_one FILE.scn ITERATIONS
 *
 * Prints "flows cpu_s peak_rss_kb events solves".  The CPU time, user and system,
 * covers the run without reading and setup, as in simgrid_flows.cpp, which does the
 * same with SimGrid.
 */
#include <stdio.h>
#include <sys/resource.h>

#include "engine/engine_internal.h"
#include "lib/base/clk.h"
#include "sim/run/flow_scenario.h"
#include "tests/bench/flow_args.h"

static void
on_iteration(void *ctx, uint32_t job, uint64_t iteration, double start_ns,
	     double end_ns)
{
	double *sum_ns = ctx;

	(void)job;
	(void)iteration;
	*sum_ns += end_ns - start_ns;
}

int
main(int argc, char **argv)
{
	double sum_ns = 0;
	struct engine_observer observer = { .ctx = &sum_ns,
					    .on_iteration = on_iteration };
	struct engine *engine;
	struct rusage usage;
	uint64_t n_iterations;
	struct flow_scenario *scn =
		flow_args_read("flows_one", argc, argv, &n_iterations);
	uint64_t n_events;
	int64_t before_ns;

	engine = flow_scenario_new_engine(scn, n_iterations, &observer);
	flow_scenario_free(scn);
	before_ns = clk_cpu_ns();
	n_events = engine_run(engine, ENGINE_NEVER);
	before_ns = clk_cpu_ns() - before_ns;
	getrusage(RUSAGE_SELF, &usage);
	printf("%llu %.9f %ld %llu %llu\n",
	       (unsigned long long)engine_flows_finished(engine),
	       (double)before_ns / 1e9, usage.ru_maxrss, (unsigned long long)n_events,
	       (unsigned long long)engine->fluid.n_solves);
	engine_free(engine);
	return 0;
}
