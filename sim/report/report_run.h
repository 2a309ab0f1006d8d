/*
 * report_run.h - what the table, the JSON and the CSV of one run have in common.
 */
#ifndef SIM_REPORT_REPORT_RUN_H
#define SIM_REPORT_REPORT_RUN_H

#include "sim/report/report.h"

struct strbuf;

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
