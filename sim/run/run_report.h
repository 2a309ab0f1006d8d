/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_report.h - the results of one run, as a table, JSON and CSV.
 */
#ifndef SIM_RUN_RUN_REPORT_H
#define SIM_RUN_RUN_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/report/report.h"
#include "sim/run/experiment.h"

struct jsonw;
struct strbuf;

struct run_report {
	const struct scenario *scenario;
	const struct sim_plan *plan;
	const struct topo *topo;
	const struct experiment *experiment;
	const char *policy;
	uint64_t seed;
	bool all_links; /* In the table: also those that one job has for itself. */
};

void run_report_table(const struct run_report *report, FILE *out);
void run_report_json(const struct run_report *report, FILE *out);

/* jobs.csv, links.csv and iterations.csv; see report_csv(). */
int run_report_csv(const struct run_report *report, const char *path,
		   const struct provenance *provenance, struct err *err);

/* ---- For the files of this module ---- */

/* run_report_events.c: nothing if the scenario has no events. */
void run_report_events(const struct run_report *report, FILE *out);
void run_report_events_json(const struct run_report *report, struct jsonw *w);

/* "none", "once", "realign" or "gate". */
const char *run_report_pacing(const struct sim_plan_job *planned);

/* Makes '*out' the names of a placed job's hosts, as a list such as "h[0-3]". */
void run_report_hosts(const struct run_report *report, size_t job, struct strbuf *out);

double run_report_utilization(const struct run_report *report,
			      const struct experiment_link *link);
double run_report_mean_jobs(const struct run_report *report,
			    const struct experiment_link *link);

/* Share of the simulated time. */
double run_report_time_frac(const struct run_report *report, double ns);

#endif
