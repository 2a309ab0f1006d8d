/* SPDX-License-Identifier: Apache-2.0 */
/* run_report_csv.c - CSV of one run, and functions shared by its reports. */
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/hostlist.h"
#include "lib/base/strbuf.h"
#include "lib/base/table.h"
#include "sim/run/run_report.h"
#include "topology/topo.h"

const char *
run_report_pacing(const struct sim_plan_job *planned)
{
	switch (planned->pacing) {
	case ENGINE_PACE_REALIGN:
		return "realign";
	case ENGINE_PACE_GATE:
		return "gate";
	case ENGINE_PACE_STEER:
		return "steer";
	default:
		return planned->shift_ns || planned->is_aligned ? "once" : "none";
	}
}

void
run_report_hosts(const struct run_report *r, size_t job, struct strbuf *out)
{
	size_t n = r->scenario->workload.jobs[job].n_hosts_wanted;
	const char **names = xcalloc(n + 1, sizeof *names);

	strbuf_clear(out);
	for (size_t i = 0; i < n; i++)
		names[i] = topo_node(r->topo, r->plan->jobs[job].hosts[i])->name;
	hostlist_fold(names, n, out);
	free(names);
}

double
run_report_utilization(const struct run_report *r, const struct experiment_link *link)
{
	double bps = topo_link(r->topo, link->link)->capacity_bps;

	if (!(r->experiment->simulated_ns > 0))
		return 0;
	return link->stats.bytes * 8e9 / (bps * r->experiment->simulated_ns);
}

double
run_report_time_frac(const struct run_report *r, double ns)
{
	return r->experiment->simulated_ns > 0 ? ns / r->experiment->simulated_ns : 0;
}

double
run_report_mean_jobs(const struct run_report *r, const struct experiment_link *link)
{
	return run_report_time_frac(r, link->stats.job_ns);
}

/* ---- CSV ------------------------------------------------------------------------- */

static void
csv_jobs(const void *ctx, FILE *out)
{
	static const char *const headings[] = {
		"job",
		"hosts",
		"iterations",
		"iteration_mean_us",
		"iteration_p50_us",
		"iteration_p90_us",
		"iteration_p99_us",
		"alone_us",
		"slowdown",
		"completion_us",
		"shift_us",
		"pacing",
		"corrections_per_minute",
		"packets",
		"ecn_packets_estimated",
		NULL,
	};
	const struct run_report *r = ctx;
	struct strbuf hosts = STRBUF_EMPTY;
	struct table t;

	table_init(&t, headings);
	for (size_t j = 0; j < r->experiment->n_jobs; j++) {
		const struct experiment_job *job = &r->experiment->jobs[j];

		if (!job->is_placed)
			continue;
		run_report_hosts(r, j, &hosts);
		table_cell(&t, "%s", r->scenario->workload.jobs[j].name);
		table_cell(&t, "%s", hosts.text);
		table_cell(&t, "%zu", job->n);
		table_cell(&t, "%.3f", job->mean_ns / 1e3);
		table_cell(&t, "%.3f", job->p50_ns / 1e3);
		table_cell(&t, "%.3f", job->p90_ns / 1e3);
		table_cell(&t, "%.3f", job->p99_ns / 1e3);
		table_cell(&t, "%.3f", job->isolated_ns / 1e3);
		table_cell(&t, "%.6f", job->slowdown);
		if (job->completion_ns >= 0)
			table_cell(&t, "%.3f", job->completion_ns / 1e3);
		else
			table_cell(&t, "%s", "");
		table_cell(&t, "%lld", (long long)(r->plan->jobs[j].shift_ns / 1000));
		table_cell(&t, "%s", run_report_pacing(&r->plan->jobs[j]));
		table_cell(&t, "%.3f", job->corrections_per_min);
		table_cell(&t, "%.0f", job->packets);
		table_cell(&t, "%.0f", job->ecn_packets);
	}
	table_print_csv(&t, out);
	table_fini(&t);
	strbuf_free(&hosts);
}

static void
csv_links(const void *ctx, FILE *out)
{
	static const char *const headings[] = {
		"link",
		"capacity_bps",
		"jobs",
		"bytes",
		"utilization",
		"peak_bps",
		"busy_us",
		"over_us",
		"jobs_at_once_mean",
		"jobs_at_once_max",
		"packets",
		"ecn_packets_estimated",
		"queue_max_bytes_estimated",
		NULL,
	};
	const struct run_report *r = ctx;
	struct strbuf name = STRBUF_EMPTY;
	struct table t;

	table_init(&t, headings);
	for (size_t i = 0; i < r->experiment->n_links; i++) {
		const struct experiment_link *link = &r->experiment->links[i];

		strbuf_clear(&name);
		topo_link_name(r->topo, link->link, &name);
		table_cell(&t, "%s", name.text);
		table_cell(&t, "%.0f", topo_link(r->topo, link->link)->capacity_bps);
		table_cell(&t, "%u", link->n_jobs);
		table_cell(&t, "%.0f", link->stats.bytes);
		table_cell(&t, "%.6f", run_report_utilization(r, link));
		table_cell(&t, "%.0f", link->stats.peak_bps);
		table_cell(&t, "%.3f", link->stats.busy_ns / 1e3);
		table_cell(&t, "%.3f", link->stats.over_ns / 1e3);
		table_cell(&t, "%.6f", run_report_mean_jobs(r, link));
		table_cell(&t, "%u", link->stats.max_jobs);
		table_cell(&t, "%.0f", link->stats.packets);
		table_cell(&t, "%.0f", link->stats.ecn_packets);
		table_cell(&t, "%.0f", link->stats.max_queue_bytes);
	}
	table_print_csv(&t, out);
	table_fini(&t);
	strbuf_free(&name);
}

/* Many rows, so without a table; names of jobs need no quotes. */
static void
csv_iterations(const void *ctx, FILE *out)
{
	const struct run_report *r = ctx;

	fprintf(out, "job,iteration,start_us,duration_us\n");
	for (size_t j = 0; j < r->experiment->n_jobs; j++) {
		const struct experiment_job *job = &r->experiment->jobs[j];

		for (size_t i = 0; i < job->n; i++)
			fprintf(out, "%s,%llu,%.3f,%.3f\n",
				r->scenario->workload.jobs[j].name,
				(unsigned long long)(job->n_skipped + i),
				job->start_ns[i] / 1e3, job->iteration_ns[i] / 1e3);
	}
}

int
run_report_csv(const struct run_report *r, const char *path,
	       const struct provenance *provenance, struct err *err)
{
	static const struct csv_file files[] = {
		{ "jobs.csv", csv_jobs },
		{ "links.csv", csv_links },
		{ "iterations.csv", csv_iterations },
	};

	return report_csv(path, provenance, files, 3, r, err);
}
