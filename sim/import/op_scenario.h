/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_scenario.h - steps as a job of a scenario (antiphase-scenario(5))
 *
 * Groups of collectives become 'over tp', 'over dp' and 'over ep' where all groups of
 * such a kind take part: tp are the groups of consecutive ranks, dp the largest groups
 * whose ranks are tp apart, ep smaller ones.  Every other group becomes a segment of its
 * own, over its ranks.
 *
 * Pure.
 */
#ifndef SIM_IMPORT_OP_SCENARIO_H
#define SIM_IMPORT_OP_SCENARIO_H

#include "sim/import/op_graph.h"

struct strbuf;

struct op_scenario_options {
	const char *job;      /* Its name. */
	const char *hosts;    /* A hostlist; NULL: the job waits for a place. */
	const char *generate; /* Arguments of a generated fabric; NULL: none. */
	uint32_t slots;       /* Ranks on a host, at least 1. */
};

/*
 * Appends the text.  Returns 0, or -EINVAL or -E2BIG with 'err' filled: nothing that
 * takes time, ranks that do not fill hosts, more segments than scenarios may have.
 */
int op_scenario_write(const struct op_table *table, const struct op_graph *graph,
		      const struct op_scenario_options *options, struct strbuf *text,
		      struct err *err);

#endif
