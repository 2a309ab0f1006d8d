/* SPDX-License-Identifier: Apache-2.0 */
/* flow_args.h - the arguments "FILE.scn ITERATIONS" of tools that run a flow scenario */
#ifndef TESTS_BENCH_FLOW_ARGS_H
#define TESTS_BENCH_FLOW_ARGS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/file.h"
#include "sim/run/flow_scenario.h"

/* The scenario; or, with a message of what is wrong, the end of the program (2). */
static inline struct flow_scenario *
flow_args_read(const char *tool, int argc, char **argv, uint64_t *ret_n_iterations)
{
	struct flow_scenario *scn;
	struct err err;
	size_t length;
	char *text;

	if (argc != 3) {
		fprintf(stderr, "usage: %s FILE.scn ITERATIONS\n", tool);
		exit(2);
	}
	if (file_read(argv[1], (size_t)1 << 30, &text, &length, &err) ||
	    flow_scenario_parse(argv[1], text, length, &scn, &err)) {
		err_print(&err, stderr);
		exit(2);
	}
	free(text);
	*ret_n_iterations = strtoull(argv[2], NULL, 10);
	return scn;
}

#endif
