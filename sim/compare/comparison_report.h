/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comparison_report.h - the results of a comparison, as a table, JSON and CSV.
 */
#ifndef SIM_COMPARE_COMPARISON_REPORT_H
#define SIM_COMPARE_COMPARISON_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/compare/comparison.h"
#include "sim/report/report.h"

struct run_series;

struct comparison_report {
	const struct scenario *scenario;
	const struct comparison *comparison;
	const char *const *policies; /* Names. */
	size_t n_policies;
	const struct sim_plan *plans; /* By policy; NULL: unknown. */
	const uint64_t *seeds;
	const struct topo *topo;
	const struct run_series *const *series; /* By policy, or NULL: not in JSON. */
	bool was_interrupted;
	bool utf8; /* In the table. */
};

void comparison_report_table(const struct comparison_report *report, FILE *out);
void comparison_report_json(const struct comparison_report *report, FILE *out);

/* policies.csv and jobs.csv, a row a run; see report_csv(). */
int comparison_report_csv(const struct comparison_report *report, const char *path,
			  const struct provenance *provenance, struct err *err);

#endif
