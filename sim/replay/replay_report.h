/* SPDX-License-Identifier: Apache-2.0 */
/* replay_report.h - results of policies on a trace, as a table, JSON and CSV. */
#ifndef SIM_REPLAY_REPLAY_REPORT_H
#define SIM_REPLAY_REPLAY_REPORT_H

#include "sim/replay/replay.h"
#include "sim/report/report.h"

struct replay_report {
	const char *path, *cluster, *semantics;
	const struct joblist *list;
	size_t n_too_large, n;
	bool has_times; /* Add iteration times. */
	bool was_interrupted;
	const struct replay *replays;
};

struct table;

/*
 * A table of a row per policy, whose rows are printed as they become known (table.h).
 * 'policy_width' is that of the longest name to come.
 */
void replay_report_begin(struct table *ret_table, size_t policy_width,
			 const struct joblist *list, bool has_fabric);
void replay_report_row(struct table *t, const struct replay *r, size_t n_jobs);
void replay_report_json(const struct replay_report *report, FILE *out);
/* Writes a row per policy and job.  Returns 0 or -errno with 'err' filled. */
int replay_report_csv(const struct replay_report *report, const char *path,
		      const struct provenance *provenance, struct err *err);

#endif
