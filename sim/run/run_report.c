/* SPDX-License-Identifier: Apache-2.0 */
/* run_report.c - table and JSON of one run: jobs, then the most contended links. */
#include "sim/run/run_report.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/cli.h"
#include "lib/base/jsonw.h"
#include "lib/base/strbuf.h"
#include "lib/base/table.h"
#include "sim/run/run_series.h"
#include "topology/topo.h"

/* Most links in the table, unless all are requested. */
#define MAX_LINKS 12

/* ---- For people ------------------------------------------------------------------ */

/* Leaves out columns, in the given order, if the terminal is narrow. */
static void
fit(struct table *t, const size_t *missed_least, size_t n)
{
	if (cli_columns() < CLI_FULL_COLUMNS)
		table_fit(t, cli_columns(), missed_least, n);
}

/*
 * Prints a paragraph, broken between words if it has more columns than the terminal or
 * than 'most'; frees 'text'.
 */
static void
put_text(struct strbuf *text, size_t indent, size_t most, FILE *out)
{
	size_t columns = cli_columns() < CLI_FULL_COLUMNS ? cli_columns() : most;
	struct strbuf lines = STRBUF_EMPTY;

	strbuf_wrap(&lines, text->text, 0, indent, columns);
	fprintf(out, "%s\n", lines.text);
	strbuf_free(&lines);
	strbuf_free(text);
}

static void
put_job_row(const struct run_report *r, size_t j, bool any_done, struct table *t)
{
	const struct experiment_job *job = &r->experiment->jobs[j];
	size_t n_before = t->cells.n;

	table_cell(t, "%s", r->scenario->workload.jobs[j].name);
	table_cell(t, "%zu", job->n);
	if (job->n) {
		table_cell(t, "%.2f", job->mean_ns / 1e6);
		table_cell(t, "%.2f", job->p50_ns / 1e6);
		table_cell(t, "%.2f", job->p90_ns / 1e6);
		table_cell(t, "%.2f", job->p99_ns / 1e6);
		table_cell(t, "%.2f", job->isolated_ns / 1e6);
		table_cell(t, "%.3f", job->slowdown);
		table_cell(t, "%.0f", job->ecn_per_iteration);
	}
	if (job->n && any_done && job->completion_ns >= 0)
		table_cell(t, "%.3f", job->completion_ns / 1e9);
	while (t->cells.n < n_before + t->n_columns)
		table_cell(t, "-");
}

static void
put_jobs(const struct run_report *r, FILE *out)
{
	const char *headings[] = {
		"JOB",    "%N",        "%MEAN ms", "%P50", "%P90", "%P99",
		"%ALONE", "%SLOWDOWN", "%ECN*",    NULL,   NULL,
	};
	static const size_t missed_least[] = { 8, 1, 3, 5, 4, 6, 9 };
	bool any_done = false;
	struct table t;

	for (size_t j = 0; j < r->experiment->n_jobs; j++)
		any_done |= r->experiment->jobs[j].is_placed &&
			    r->experiment->jobs[j].completion_ns >= 0;
	if (any_done)
		headings[9] = "%DONE s";
	table_init(&t, headings);
	for (size_t j = 0; j < r->experiment->n_jobs; j++)
		put_job_row(r, j, any_done, &t);
	fit(&t, missed_least, sizeof missed_least / sizeof *missed_least);
	table_print(&t, out);
	table_fini(&t);
}

static bool
is_planned(const struct run_report *r, size_t j)
{
	const struct sim_plan_job *planned = &r->plan->jobs[j];

	return !r->scenario->workload.jobs[j].hosts || planned->shift_ns ||
	       planned->is_aligned || planned->pacing != ENGINE_PACE_FREE;
}

/* Jobs that are placed or paced: where, and how. */
static void
put_plans(const struct run_report *r, FILE *out)
{
	static const char *const headings[] = { "PLAN",      "%SHIFT ms", "PACING",
						"%CORR/MIN", "HOSTS",     NULL };
	struct strbuf hosts = STRBUF_EMPTY;
	bool any = false;
	struct table t;

	table_init(&t, headings);
	for (size_t j = 0; j < r->experiment->n_jobs; j++) {
		const struct experiment_job *job = &r->experiment->jobs[j];

		if (!is_planned(r, j))
			continue;
		any = true;
		table_cell(&t, "%s", r->scenario->workload.jobs[j].name);
		if (!job->is_placed) {
			table_cell(&t, "-");
			table_cell(&t, "-");
			table_cell(&t, "-");
			table_cell(&t, "no place");
			continue;
		}
		run_report_hosts(r, j, &hosts);
		table_cell(&t, "%.3f", (double)r->plan->jobs[j].shift_ns / 1e6);
		table_cell(&t, "%s", run_report_pacing(&r->plan->jobs[j]));
		table_cell(&t, "%.1f", job->corrections_per_min);
		table_cell(&t, "%s%s", hosts.text,
			   r->scenario->workload.jobs[j].hosts ? "" : " (waited)");
	}
	if (any) {
		fputc('\n', out);
		table_print(&t, out);
	}
	table_fini(&t);
	strbuf_free(&hosts);
}

/* Most time above capacity first, then most bytes, then by number. */
static int
compare_links(const void *a, const void *b)
{
	const struct experiment_link *const *la = a, *const *lb = b;
	const struct engine_link_stats *sa = &(*la)->stats, *sb = &(*lb)->stats;

	if (sa->over_ns != sb->over_ns)
		return sa->over_ns > sb->over_ns ? -1 : 1;
	if (sa->bytes != sb->bytes)
		return sa->bytes > sb->bytes ? -1 : 1;
	return ((*la)->link > (*lb)->link) - ((*la)->link < (*lb)->link);
}

static void
put_link_row(const struct run_report *r, const struct experiment_link *link,
	     struct table *t, struct strbuf *name)
{
	const struct engine_link_stats *stats = &link->stats;

	strbuf_clear(name);
	topo_link_name(r->topo, link->link, name);
	table_cell(t, "%s", name->text);
	table_cell(t, "%.0f", topo_link(r->topo, link->link)->capacity_bps / 1e9);
	table_cell(t, "%.1f %%", 100 * run_report_utilization(r, link));
	table_cell(t, "%.1f", stats->peak_bps / 1e9);
	table_cell(t, "%.1f %%", 100 * run_report_time_frac(r, stats->over_ns));
	table_cell(t, "%u", link->n_jobs);
	table_cell(t, "%.2f", run_report_mean_jobs(r, link));
	table_cell(t, "%u", stats->max_jobs);
	table_cell(t, "%.0f", stats->max_queue_bytes / 1e3);
	table_cell(t, "%.0f", stats->ecn_packets);
}

static void
put_links(const struct run_report *r, FILE *out)
{
	static const char *const headings[] = { "LINK",     "%Gb/s", "%UTIL",
						"%PEAK",    "%OVER", "%JOBS",
						"%AT ONCE", "%MAX",  "%QUEUE* kB",
						"%ECN*",    NULL };
	static const size_t missed_least[] = { 8, 9, 7, 6, 1, 3, 5 };
	const struct experiment *x = r->experiment;
	const struct experiment_link **links = xcalloc(x->n_links + 1, sizeof *links);
	struct strbuf name = STRBUF_EMPTY;
	size_t n = 0, n_shown;
	struct table t;

	for (size_t i = 0; i < x->n_links; i++)
		if (r->all_links || x->links[i].n_jobs > 1)
			links[n++] = &x->links[i];
	qsort(links, n, sizeof *links, compare_links);
	n_shown = !r->all_links && n > MAX_LINKS ? MAX_LINKS : n;
	fputc('\n', out);
	if (n_shown) {
		table_init(&t, headings);
		for (size_t i = 0; i < n_shown; i++)
			put_link_row(r, links[i], &t, &name);
		fit(&t, missed_least, sizeof missed_least / sizeof *missed_least);
		table_print(&t, out);
		table_fini(&t);
	}
	if (n_shown < x->n_links) {
		strbuf_clear(&name);
		strbuf_printf(&name,
			      "%zu of %zu links that carried traffic shown (%zu with "
			      "two jobs or more); --all-links for the rest.",
			      n_shown, x->n_links, n);
		put_text(&name, 0, SIZE_MAX, out);
	}
	strbuf_free(&name);
	free(links);
}

void
run_report_table(const struct run_report *r, FILE *out)
{
	struct strbuf text = STRBUF_EMPTY;
	struct experiment_summary s;

	put_jobs(r, out);
	put_plans(r, out);
	run_report_events(r, out);
	put_links(r, out);
	experiment_summarize(r->experiment, &r->scenario->workload, &s);
	strbuf_printf(&text, "Policy %s, seed %llu: %.3f s simulated%s.  ", r->policy,
		      (unsigned long long)r->seed, r->experiment->simulated_ns / 1e9,
		      r->experiment->was_interrupted ? ", interrupted" : "");
	if (s.n_jobs)
		strbuf_printf(&text, "Mean slowdown %.3f, worst %.3f, goodput %.3f.",
			      s.slowdown_mean, s.slowdown_worst, s.goodput);
	else
		strbuf_puts(&text, "No iteration ended after the warm-up.");
	fputc('\n', out);
	put_text(&text, 0, SIZE_MAX, out);
	strbuf_puts(&text, "* Marks per iteration, or in all on a link; estimated from "
			   "the flows on full links, not simulated packet by packet.");
	put_text(&text, 2, CLI_FULL_COLUMNS, out);
}

/* ---- JSON ------------------------------------------------------------------------ */

static void
json_hosts(const struct run_report *r, size_t j, struct jsonw *w)
{
	jsonw_flat_array(w, "hosts");
	for (size_t i = 0; r->experiment->jobs[j].is_placed &&
			   i < r->scenario->workload.jobs[j].n_hosts_wanted;
	     i++)
		jsonw_str(w, NULL, topo_node(r->topo, r->plan->jobs[j].hosts[i])->name);
	jsonw_end(w);
}

/* A figure of counted iterations, or null. */
static void
json_us(struct jsonw *w, const char *key, const struct experiment_job *job, double ns)
{
	jsonw_rounded(w, key, job->n ? ns / 1e3 : NAN, 3);
}

static void
json_job(const struct run_report *r, size_t j, struct jsonw *w)
{
	const struct experiment_job *job = &r->experiment->jobs[j];
	const struct sim_plan_job *planned = &r->plan->jobs[j];
	bool has_ended;

	jsonw_object(w, NULL);
	jsonw_str(w, "job", r->scenario->workload.jobs[j].name);
	jsonw_bool(w, "placed", job->is_placed);
	json_hosts(r, j, w);
	jsonw_int(w, "iterations", (int64_t)job->n);
	json_us(w, "iteration_mean_us", job, job->mean_ns);
	json_us(w, "iteration_p50_us", job, job->p50_ns);
	json_us(w, "iteration_p90_us", job, job->p90_ns);
	json_us(w, "iteration_p99_us", job, job->p99_ns);
	json_us(w, "alone_us", job, job->isolated_ns);
	jsonw_rounded(w, "slowdown", job->n ? job->slowdown : NAN, 6);
	has_ended = job->is_placed && job->completion_ns >= 0;
	jsonw_rounded(w, "completion_us", has_ended ? job->completion_ns / 1e3 : NAN,
		      3);
	jsonw_int(w, "shift_us", planned->shift_ns / 1000);
	jsonw_str(w, "pacing", run_report_pacing(planned));
	jsonw_int(w, "corrections", (int64_t)job->n_corrections);
	jsonw_rounded(w, "corrections_per_minute", job->corrections_per_min, 3);
	if (r->experiment->n_events)
		jsonw_rounded(w, "path_wait_us", job->path_wait_ns / 1e3, 3);
	jsonw_int(w, "packets", llround(job->packets));
	jsonw_int(w, "ecn_packets_estimated", llround(job->ecn_packets));
	jsonw_end(w);
}

static void
json_link(const struct run_report *r, const struct experiment_link *link,
	  struct jsonw *w, struct strbuf *name)
{
	const struct engine_link_stats *stats = &link->stats;

	strbuf_clear(name);
	topo_link_name(r->topo, link->link, name);
	jsonw_object(w, NULL);
	jsonw_str(w, "link", name->text);
	jsonw_num(w, "capacity_bps", topo_link(r->topo, link->link)->capacity_bps);
	jsonw_int(w, "jobs", link->n_jobs);
	jsonw_int(w, "bytes", llround(stats->bytes));
	jsonw_rounded(w, "utilization", run_report_utilization(r, link), 6);
	jsonw_rounded(w, "peak_bps", stats->peak_bps, 0);
	jsonw_rounded(w, "busy_us", stats->busy_ns / 1e3, 3);
	jsonw_rounded(w, "over_us", stats->over_ns / 1e3, 3);
	jsonw_rounded(w, "jobs_at_once_mean", run_report_mean_jobs(r, link), 6);
	jsonw_int(w, "jobs_at_once_max", stats->max_jobs);
	jsonw_int(w, "packets", llround(stats->packets));
	jsonw_int(w, "ecn_packets_estimated", llround(stats->ecn_packets));
	jsonw_int(w, "queue_max_bytes_estimated", llround(stats->max_queue_bytes));
	jsonw_end(w);
}

static void
json_summary(const struct run_report *r, struct jsonw *w)
{
	struct experiment_summary s;
	double none; /* NAN makes a figure null. */

	experiment_summarize(r->experiment, &r->scenario->workload, &s);
	none = s.n_jobs ? 0 : NAN;
	jsonw_object(w, "summary");
	jsonw_int(w, "jobs", (int64_t)s.n_jobs);
	jsonw_rounded(w, "iteration_mean_us", s.iteration_mean_ns / 1e3 + none, 3);
	jsonw_rounded(w, "iteration_p90_us", s.iteration_p90_ns / 1e3 + none, 3);
	jsonw_rounded(w, "iteration_p99_us", s.iteration_p99_ns / 1e3 + none, 3);
	jsonw_rounded(w, "slowdown_mean", s.slowdown_mean + none, 6);
	jsonw_rounded(w, "slowdown_worst", s.slowdown_worst + none, 6);
	jsonw_rounded(w, "goodput", s.goodput + none, 6);
	jsonw_rounded(w, "ecn_packets_per_iteration_estimated",
		      s.ecn_per_iteration + none, 3);
	jsonw_rounded(w, "ecn_fraction_estimated", s.ecn_frac + none, 6);
	jsonw_rounded(w, "corrections_per_minute", s.corrections_per_min + none, 3);
	jsonw_end(w);
}

void
run_report_json(const struct run_report *r, FILE *out)
{
	struct strbuf name = STRBUF_EMPTY;
	struct jsonw w;

	jsonw_document(&w, out, "antiphase.sim_run/2");
	jsonw_str(&w, "scenario", r->scenario->file);
	jsonw_str(&w, "policy", r->policy);
	jsonw_int(&w, "seed", (int64_t)r->seed);
	jsonw_rounded(&w, "simulated_us", r->experiment->simulated_ns / 1e3, 3);
	jsonw_bool(&w, "interrupted", r->experiment->was_interrupted);
	json_summary(r, &w);
	jsonw_array(&w, "jobs");
	for (size_t j = 0; j < r->experiment->n_jobs; j++)
		json_job(r, j, &w);
	jsonw_end(&w);
	jsonw_array(&w, "links");
	for (size_t i = 0; i < r->experiment->n_links; i++)
		json_link(r, &r->experiment->links[i], &w, &name);
	jsonw_end(&w);
	run_report_events_json(r, &w);
	if (r->experiment->series)
		run_series_json(r->experiment->series, r->scenario, r->topo, &w);
	jsonw_end(&w);
	jsonw_finish(&w);
	strbuf_free(&name);
}
