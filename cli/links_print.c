/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/links_print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/collisions_print.h"
#include "cli/screen.h"
#include "cli/sparkline.h"
#include "lib/base/cli.h"
#include "lib/base/rate_text.h"
#include "lib/base/strbuf.h"
#include "lib/base/table.h"
#include "lib/base/utf8.h"
#include "scheduler/live/contention.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"

#define SPARK_COLUMNS     10
#define MIN_SPARK_COLUMNS 4
#define WIDE_COLUMNS      52 /* For the history of one link. */
#define NOTABLE_PEAK      0.7

bool
links_is_notable(const struct contention_link *link)
{
	return link->over_ms > 0 || contention_peak_frac(link) > NOTABLE_PEAK;
}

/* Scale of a history: the capacity, or the peak. */
static double
full_bps(const struct contention_link *link)
{
	return link->capacity_bps > 0 ? link->capacity_bps : link->peak_bps;
}

/* The text of a value that is 0 if unknown. */
static double
unless_zero(double bps)
{
	return bps > 0 ? bps : -1;
}

/* ---- The table ------------------------------------------------------------------- */

static void
add_since(const struct screen *screen, const struct contention_link *link,
	  struct table *t)
{
	int64_t s;

	if (link->since_ms == INT64_MIN) {
		table_cell(t, "-");
		return;
	}
	s = screen_age_ns(screen, link->since_ms) / 1000000000;
	table_cell(t, "%s%02lld:%02lld", link->is_since_older ? ">" : "",
		   (long long)(s / 60), (long long)(s % 60));
}

static void
add_row(const struct screen *screen, const struct contention_link *link,
	unsigned spark_columns, struct table *t)
{
	double over = contention_over_frac(link);

	table_cell(t, "%s%s", link->name, link->is_up ? "" : " (down)");
	rate_cell(t, unless_zero(link->capacity_bps));
	rate_cell(t, link->now_bps);
	rate_cell(t, link->peak_bps);
	if (over < 0)
		table_cell(t, "-");
	else
		table_cell(t, "%.0f %%", 100 * over);
	table_cell(t, "%zu", link->n_jobs);
	if (link->n_pairs)
		table_cell(t, "%s x %s", live_job_name(screen->live, link->pairs[0].a),
			   live_job_name(screen->live, link->pairs[0].b));
	else
		table_cell(t, "-");
	add_since(screen, link, t);
	if (spark_columns) {
		struct strbuf spark = STRBUF_EMPTY;

		sparkline_add(link->history_bps, CONTENTION_COLUMNS, full_bps(link),
			      spark_columns, &spark);
		table_cell(t, "%s", spark.text);
		strbuf_free(&spark);
	}
}

static size_t
characters(const char *s)
{
	size_t n = 0;

	for (; *s; n++)
		s += utf8_length(s) ? utf8_length(s) : 1;
	return n;
}

/*
 * Columns that a narrow terminal omits, in this order: first those that others imply.
 */
static const size_t missed_least[] = { 7, 5, 1, 6, 2 };

/* Draws the table; returns its width. */
static size_t
draw(const struct screen *screen, const struct contention_link *const *links, size_t n,
     unsigned spark_columns, unsigned columns, char ***ret_lines)
{
	static const char *const headings[] = { "LINK",       "%CAP",   "%NOW",
						"%PEAK",      "%OVER",  "%JOBS",
						"WORST PAIR", "%SINCE", "" };
	const char *shown[sizeof headings / sizeof *headings + 1] = { NULL };
	size_t width = 0;
	struct table t;
	char **lines;

	memcpy(shown, headings, sizeof headings);
	if (!spark_columns)
		shown[sizeof headings / sizeof *headings - 1] = NULL;
	table_init(&t, shown);
	for (size_t i = 0; i < n; i++)
		add_row(screen, links[i], spark_columns, &t);
	if (columns < CLI_FULL_COLUMNS)
		table_fit(&t, columns, missed_least,
			  sizeof missed_least / sizeof *missed_least);
	lines = table_lines(&t);
	table_fini(&t);
	for (size_t i = 0; i <= n; i++)
		width = characters(lines[i]) > width ? characters(lines[i]) : width;
	*ret_lines = lines;
	return width;
}

char **
links_table(const struct screen *screen, const struct contention_link *const *links,
	    size_t n, unsigned columns)
{
	unsigned spark_columns = SPARK_COLUMNS;
	char **lines;
	size_t width = draw(screen, links, n, spark_columns, CLI_FULL_COLUMNS, &lines);

	if (width <= columns)
		return lines;
	for (size_t i = 0; i <= n; i++)
		free(lines[i]);
	free(lines);
	/* The history shrinks first. */
	spark_columns = width - columns + MIN_SPARK_COLUMNS <= spark_columns
				? spark_columns - (unsigned)(width - columns)
				: 0;
	draw(screen, links, n, spark_columns, columns, &lines);
	return lines;
}

/* ---- One link -------------------------------------------------------------------- */

static const char *
basis_text(const struct contention_link *link)
{
	switch (link->basis) {
	case CONTENTION_MEASURED:
		return "measured";
	case CONTENTION_COMPUTED:
		return "computed from what the jobs' hosts send";
	default:
		return link->now_bps < 0 ? "no current data"
					 : "from summaries: overlap is unknown";
	}
}

/* Rare values that indicate trouble. */
static void
add_counts(const struct contention_link *link, struct strbuf *out)
{
	if (link->queue_bytes)
		strbuf_printf(out, "  host queue in the last second: at most %.2f MB\n",
			      link->queue_bytes / 1e6);
	if (link->total_retransmits)
		strbuf_printf(
			out,
			"  TCP retransmissions: %llu since the collector started\n",
			(unsigned long long)link->total_retransmits);
	if (link->total_ce)
		strbuf_printf(out,
			      "  packets marked CE: %llu since the collector started\n",
			      (unsigned long long)link->total_ce);
}

static void
add_total(const struct screen *screen, const struct contention_link *link,
	  struct strbuf *out)
{
	double over = contention_over_frac(link);

	strbuf_printf(out, "%s%s  ", link->name, link->is_up ? "" : " (down)");
	rate_add(out, unless_zero(link->capacity_bps));
	strbuf_printf(out, ", %s\n  now ", basis_text(link));
	rate_add(out, link->now_bps);
	strbuf_puts(out, ", mean ");
	rate_add(out, link->mean_bps);
	strbuf_puts(out, ", peak ");
	rate_add(out, link->peak_bps);
	if (link->other_bps >= 5e-4 * full_bps(link) && link->other_bps > 0) {
		strbuf_puts(out, ", of no job ");
		rate_add(out, link->other_bps);
	}
	if (over >= 0)
		strbuf_printf(out,
			      "; full with at least 2 active jobs %.1f %% of the time",
			      100.0 * link->over_ms / link->known_ms);
	strbuf_puts(out, "\n");
	add_counts(link, out);
	if (link->basis == CONTENTION_SUMMARY)
		return;
	strbuf_puts(out, "  |");
	sparkline_add(link->history_bps, CONTENTION_COLUMNS, full_bps(link),
		      WIDE_COLUMNS, out);
	strbuf_printf(out, "|  %s is ", sparkline_full());
	rate_add(out, full_bps(link));
	strbuf_printf(out, ", of %.0f ms\n",
		      screen->opts.history_ms ? (double)screen->opts.history_ms : 1e3);
}

static void
add_jobs(const struct screen *screen, const struct contention_link *link,
	 struct strbuf *out)
{
	struct table t;

	table_init(&t,
		   (const char *const[]){ "  JOB", "%NOW", "%MEAN", "%PEAK", "%ALONE",
					  "%IN OVERLAP", "%ACTIVE", "%OVERLAP", NULL });
	for (size_t i = 0; i < link->n_jobs; i++) {
		const struct contention_job *job = &link->jobs[i];

		table_cell(&t, "  %s", live_job_name(screen->live, job->job));
		rate_cell(&t, job->now_bps);
		rate_cell(&t, job->mean_bps);
		rate_cell(&t, job->peak_bps);
		rate_cell(&t, unless_zero(job->isolated_bps));
		rate_cell(&t, unless_zero(job->overlap_bps));
		if (!link->known_ms) {
			table_cell(&t, "-");
			table_cell(&t, "-");
			continue;
		}
		table_cell(&t, "%.1f %%", 100.0 * job->active_ms / link->known_ms);
		table_cell(&t, "%.1f %%", 100.0 * job->overlap_ms / link->known_ms);
	}
	table_add(&t, out);
	table_fini(&t);
	for (size_t i = 0; i < link->n_jobs && link->known_ms; i++) {
		strbuf_puts(out, "  |");
		sparkline_add(link->jobs[i].history_bps, CONTENTION_COLUMNS,
			      full_bps(link), WIDE_COLUMNS, out);
		strbuf_printf(out, "|  %s\n",
			      live_job_name(screen->live, link->jobs[i].job));
	}
}

static bool
has_period(const struct screen *screen, uint32_t job)
{
	const struct profiled_job *profiled = job_profiler_find(screen->profiler, job);

	return profiled && profiled->has_estimate;
}

static void
add_no_period(const struct screen *screen, uint32_t job, struct strbuf *out)
{
	const struct profiled_job *profiled = job_profiler_find(screen->profiler, job);

	strbuf_printf(out, "    the period of %s is unknown",
		      live_job_name(screen->live, job));
	if (profiled && profiled->why)
		strbuf_printf(out, ": %s", profiled->why);
	if (screen->is_live && screen->wanted_ms < JOB_PROFILER_MIN_WINDOW_MS)
		strbuf_puts(out, " (--window 10s listens longer)");
	strbuf_putc(out, '\n');
}

static void
add_pairs(const struct screen *screen, const struct contention_link *link,
	  struct strbuf *out)
{
	const struct status status = screen_status(screen);

	for (size_t i = 0; i < link->n_pairs; i++) {
		const struct contention_pair *pair = &link->pairs[i];
		const uint32_t both[] = { pair->a, pair->b };
		bool any = false;

		strbuf_printf(out, "  %s x %s: overlap %.1f %% of the time",
			      live_job_name(screen->live, pair->a),
			      live_job_name(screen->live, pair->b),
			      100.0 * pair->overlap_ms / link->known_ms);
		for (int k = 0; k < 2; k++) {
			double us = status_overlap_us(&status, link, pair, both[k]);

			if (us < 0)
				continue;
			strbuf_printf(out, "%s%.1f ms per iteration of %s",
				      any ? ", " : "\n    = ", us / 1e3,
				      live_job_name(screen->live, both[k]));
			any = true;
		}
		strbuf_putc(out, '\n');
		for (int k = 0; k < 2; k++)
			if (!has_period(screen, both[k]))
				add_no_period(screen, both[k], out);
	}
}

void
links_detail(const struct screen *screen, const struct contention *found,
	     const struct contention_link *link, struct strbuf *out)
{
	add_total(screen, link, out);
	if (link->n_jobs)
		add_jobs(screen, link, out);
	else
		strbuf_puts(out, "  no job was active\n");
	add_pairs(screen, link, out);
	collisions_add(screen, found, link, out);
}
