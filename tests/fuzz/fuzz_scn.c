/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_scn.c - texts as flow scenarios, simulated for a while if accepted */
#include <string.h>

#include "engine/engine.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "sim/run/flow_scenario.h"
#include "tests/fuzz/fuzz.h"

#define MAX_ITERATIONS 200 /* Of all jobs together. */

struct seen {
	struct engine *engine;
	double now_ns;
	unsigned n;
};

static void
on_iteration(void *ctx, uint32_t job, uint64_t iteration, double start_ns,
	     double end_ns)
{
	struct seen *seen = ctx;

	(void)job;
	(void)iteration;
	BUG_ON(!(start_ns <= end_ns) || !(end_ns >= seen->now_ns));
	seen->now_ns = end_ns;
	if (++seen->n >= MAX_ITERATIONS)
		engine_stop(seen->engine);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen seen = { 0 };
	struct engine_observer observer = { .ctx = &seen,
					    .on_iteration = on_iteration };
	struct err err = { 0 };
	struct flow_scenario *scn;

	if (flow_scenario_parse("fuzz", (const char *)data, size, &scn, &err) < 0) {
		BUG_ON(!err.line || !err.text[0]);
		return 0;
	}
	seen.engine = flow_scenario_new_engine(scn, 20, &observer);
	engine_run(seen.engine, ENGINE_NEVER);
	engine_free(seen.engine);
	flow_scenario_free(scn);
	return 0;
}
