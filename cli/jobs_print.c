/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/jobs_print.h"

#include <math.h>
#include <stdlib.h>

#include "cli/screen.h"
#include "cli/sparkline.h"
#include "lib/base/cli.h"
#include "lib/base/hostlist.h"
#include "lib/base/rate_text.h"
#include "lib/base/strbuf.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"
#include "lib/base/words.h"
#include "scheduler/live/contention.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"

#define SKETCH_COLUMNS 60

static double
trend(const struct profiled_job *job)
{
	return (double)job->trend_us[job->n_trend - 1] / (double)job->trend_us[0] - 1;
}

/* ---- The table ------------------------------------------------------------------ */

static void
add_estimate(const struct screen *screen, const struct profiled_job *job,
	     struct table *t)
{
	const struct status status = screen_status(screen);
	const struct profile *p = &job->detection.profile;

	table_cell(t, "%.1f ms", (double)p->period_us / 1e3);
	table_cell(t, "%.1f ms", (double)p->jitter_us / 1e3);
	table_cell(t, "%.0f %%", 100 * profile_duty(p));
	table_cell(t, "%.2f MB", p->bytes_per_iteration / 1e6);
	table_cell(t, "%.2f", p->confidence);
	if (job->n_trend > 1)
		table_cell(t, "%+.1f %%", 100 * trend(job));
	else
		table_cell(t, "-");
	table_cell(t, "%.0f s", (double)status_estimate_age_ns(&status, job) / 1e9);
}

static void
add_row(const struct screen *screen, const struct profiled_job *job, struct table *t)
{
	const struct status status = screen_status(screen);
	struct status_names hosts;

	status_hosts(&status, NULL, job->job, &hosts);
	table_cell(t, "%s", live_job_name(screen->live, job->job));
	table_cell(t, "%zu", hosts.names.n);
	vec_free(&hosts.names);
	if (job->has_estimate)
		add_estimate(screen, job, t);
	else
		for (int i = 0; i < 7; i++)
			table_cell(t, "-");
	table_cell(t, "%s",
		   !job->has_estimate    ? "no period"
		   : job->has_alarm      ? "CHANGED"
		   : job->why            ? "stale"
		   : job->harmonic_of_us ? "by events"
					 : "");
}

char **
jobs_table(const struct screen *screen, const struct profiled_job *const *jobs,
	   size_t n, unsigned columns)
{
	static const size_t missed_least[] = { 7, 3, 6, 1, 4, 5, 8 };
	struct table t;
	char **lines;

	table_init(&t, (const char *const[]){ "JOB", "%HOSTS", "%PERIOD", "%JITTER",
					      "%DUTY", "%BYTES/IT", "%CONF", "%TREND",
					      "%AGE", "", NULL });
	for (size_t i = 0; i < n; i++)
		add_row(screen, jobs[i], &t);
	if (columns < CLI_FULL_COLUMNS)
		table_fit(&t, columns, missed_least,
			  sizeof missed_least / sizeof *missed_least);
	lines = table_lines(&t);
	table_fini(&t);
	return lines;
}

/* ---- One job -------------------------------------------------------------------- */

static void
add_hosts(const struct screen *screen, const struct profiled_job *job,
	  struct strbuf *out)
{
	const struct status status = screen_status(screen);
	struct status_names hosts;

	status_hosts(&status, NULL, job->job, &hosts);
	strbuf_printf(out, "%s  on %zu host%s", live_job_name(screen->live, job->job),
		      hosts.names.n, words_plural(hosts.names.n));
	if (hosts.names.n) {
		strbuf_puts(out, ": ");
		hostlist_fold(hosts.names.items, hosts.names.n, out);
	}
	strbuf_puts(out, "\n");
	vec_free(&hosts.names);
}

static void
add_profile(const struct screen *screen, const struct profiled_job *job,
	    struct strbuf *out)
{
	const struct status status = screen_status(screen);
	const struct detection *d = &job->detection;
	const struct profile *p = &d->profile;

	strbuf_printf(out,
		      "  period %.1f ms, jitter %.1f ms, duty %.0f %%, %.2f MB "
		      "per iteration and direction\n",
		      (double)p->period_us / 1e3, (double)p->jitter_us / 1e3,
		      100 * profile_duty(p), p->bytes_per_iteration / 1e6);
	strbuf_printf(out,
		      "  from %lld iteration%s in %.1f s, %.0f s old, of %u series (%u "
		      "left out); confidence %.2f\n",
		      (long long)p->n_iterations,
		      words_plural((uint64_t)p->n_iterations), job->window_ms / 1e3,
		      (double)status_estimate_age_ns(&status, job) / 1e9, job->n_series,
		      job->n_left_out, p->confidence);
	if (job->gap_frac > 0)
		strbuf_printf(out, "  %.1f %% of the time is unknown\n",
			      100 * job->gap_frac);
	if (job->harmonic_of_us)
		strbuf_printf(out,
			      "  The traffic repeats every %.1f ms; the program's own "
			      "events show that this is a part of the iteration.\n",
			      (double)job->harmonic_of_us / 1e3);
	rate_add(out, sparkline_sketch(d->fold_bps, d->n_fold, SKETCH_COLUMNS, out));
	strbuf_puts(out, "\n");
	for (size_t i = 0; i < p->n_phases; i++) {
		strbuf_printf(out, "  phase %zu: at %.1f ms, for %.1f ms, at ", i + 1,
			      (double)p->phases[i].start_us / 1e3,
			      (double)p->phases[i].duration_us / 1e3);
		rate_add(out, p->phases[i].rate_bps);
		strbuf_puts(out, "\n");
	}
}

static void
add_trend(const struct screen *screen, const struct profiled_job *job,
	  struct strbuf *out)
{
	if (job->n_trend > 1) {
		strbuf_puts(out, "  recent periods, ms:");
		for (uint32_t i = 0; i < job->n_trend; i++)
			strbuf_printf(out, " %.1f", (double)job->trend_us[i] / 1e3);
		strbuf_puts(out, "\n");
	}
	if (job->has_alarm)
		strbuf_printf(
			out,
			"  CHANGED %.0f s ago: before, %.1f ms and %.2f MB per "
			"iteration\n",
			(double)screen_age_ns(screen, job->alarm_ns / 1000000) / 1e9,
			(double)job->period_before_us / 1e3, job->bytes_before / 1e6);
}

static void
add_links(const struct contention *found, const struct profiled_job *job,
	  struct strbuf *out)
{
	struct table t;

	table_init(&t,
		   (const char *const[]){ "  LINK", "%MEAN", "%ALONE", "%IN OVERLAP",
					  "%OVERLAP", "%OVER", NULL });
	for (size_t i = 0; i < found->n_links; i++) {
		const struct contention_link *link = &found->links[i];
		const struct contention_job *here = contention_find_job(link, job->job);

		if (!here)
			continue;
		table_cell(&t, "  %s", link->name);
		rate_cell(&t, here->mean_bps);
		rate_cell(&t, here->isolated_bps > 0 ? here->isolated_bps : -1);
		rate_cell(&t, here->overlap_bps > 0 ? here->overlap_bps : -1);
		if (here->active_ms)
			table_cell(&t, "%.0f %%",
				   100.0 * here->overlap_ms / here->active_ms);
		else
			table_cell(&t, "-");
		if (contention_over_frac(link) >= 0)
			table_cell(&t, "%.0f %%", 100 * contention_over_frac(link));
		else
			table_cell(&t, "-");
	}
	table_add(&t, out);
	table_fini(&t);
}

void
jobs_detail(const struct screen *screen, const struct contention *found,
	    const struct profiled_job *job, struct strbuf *out)
{
	add_hosts(screen, job, out);
	if (job->has_estimate)
		add_profile(screen, job, out);
	add_trend(screen, job, out);
	if (job->why)
		strbuf_printf(out, "  No %sestimate: %s\n",
			      job->has_estimate ? "newer " : "", job->why);
	add_links(found, job, out);
}
