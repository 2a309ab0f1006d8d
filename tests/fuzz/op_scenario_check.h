/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_scenario_check.h - operations from outside become a scenario that can be read, or
 * an error with a text; for the fuzz targets of their readers
 */
#ifndef TESTS_FUZZ_OP_SCENARIO_CHECK_H
#define TESTS_FUZZ_OP_SCENARIO_CHECK_H

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "scheduler/core/workload/workload_ini.h"
#include "sim/import/op_scenario.h"
#include "tests/fuzz/fuzz.h"

static inline void
op_scenario_check(struct op_table *table)
{
	const struct op_scenario_options options = { .job = "j", .slots = 1 };
	const struct scenario_io io = { 0 };
	struct op_graph graph = { 0 };
	struct strbuf text = STRBUF_EMPTY;
	struct scenario *scenario;
	struct err err = { 0 };
	int r = op_table_finish(table, &err);

	if (r == 0)
		r = op_graph_make(table, &graph, &err);
	for (size_t i = 0; r == 0 && i < graph.n; i++)
		for (size_t k = 0; k < graph.steps[i].n_needs; k++)
			BUG_ON(graph.steps[i].needs[k] >= i);
	if (r == 0)
		r = op_scenario_write(table, &graph, &options, &text, &err);
	BUG_ON(r < 0 && !err.text[0]);
	if (r == 0) {
		BUG_ON(scenario_parse("x", text.text, text.length, &io, &scenario,
				      &err) < 0);
		scenario_free(scenario);
	}
	strbuf_free(&text);
	op_graph_fini(&graph);
}

#endif
