#include "scheduler/cli/jobs_print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/hostlist.h"
#include "lib/base/jsonw.h"
#include "lib/base/strbuf.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"
#include "scheduler/cli/rate_text.h"
#include "scheduler/cli/screen.h"
#include "scheduler/cli/spark.h"
#include "scheduler/live/contention.h"
#include "scheduler/live/live.h"
#include "scheduler/live/online.h"

#define SKETCH_COLUMNS 60

/* ---- Facts ---------------------------------------------------------------------- */

struct name_list {
	VEC(const char *) names; /* Borrowed. */
};

static int
compare_names(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;
	int order = strverscmp(*x, *y);

	return order ? order : strcmp(*x, *y);
}

/* The hosts that told of traffic of the job, by name. */
static void
find_hosts(const struct screen *screen, uint32_t job, struct name_list *ret_hosts)
{
	const struct live *live = screen->live;
	size_t n = 0;

	*ret_hosts = (struct name_list){ .names = VEC_EMPTY };
	for (uint32_t s = 0; s < live_n_series(live); s++) {
		const struct live_series *series = live_series(live, s);
		uint32_t host = live_interface(live, series->interface)->host;

		if (series->job == job && live_has_traffic(live, s))
			vec_push(&ret_hosts->names, live_host(live, host)->name);
	}
	if (!ret_hosts->names.n)
		return;
	qsort(ret_hosts->names.items, ret_hosts->names.n,
	      sizeof *ret_hosts->names.items, compare_names);
	for (size_t i = 0; i < ret_hosts->names.n; i++)
		if (n == 0 || strcmp(ret_hosts->names.items[n - 1],
				     ret_hosts->names.items[i]) != 0)
			ret_hosts->names.items[n++] = ret_hosts->names.items[i];
	ret_hosts->names.n = n;
}

/* Share of the iteration in which it sends. */
static double
duty(const struct profile *p)
{
	double busy_us = 0;

	for (size_t i = 0; i < p->n_phases; i++)
		busy_us += (double)p->phases[i].duration_us;
	return busy_us / (double)p->period_us;
}

/* Nanoseconds since the window of the estimate ended. */
static int64_t
estimate_age_ns(const struct screen *screen, const struct online_job *job)
{
	return screen_age_ns(screen, job->at_ns / 1000000);
}

/* The newest estimate against the oldest remembered, as a share. */
static double
trend(const struct online_job *job)
{
	return (double)job->trend_us[job->n_trend - 1] / (double)job->trend_us[0] - 1;
}

/* ---- The table ------------------------------------------------------------------ */

static void
add_estimate(const struct screen *screen, const struct online_job *job, struct table *t)
{
	const struct profile *p = &job->detection.profile;

	table_cell(t, "%.1f ms", (double)p->period_us / 1e3);
	table_cell(t, "%.1f ms", (double)p->jitter_us / 1e3);
	table_cell(t, "%.0f %%", 100 * duty(p));
	table_cell(t, "%.2f MB", p->bytes_per_iteration / 1e6);
	table_cell(t, "%.2f", p->confidence);
	if (job->n_trend > 1)
		table_cell(t, "%+.1f %%", 100 * trend(job));
	else
		table_cell(t, "-");
	table_cell(t, "%.0f s", (double)estimate_age_ns(screen, job) / 1e9);
}

static void
add_row(const struct screen *screen, const struct online_job *job, struct table *t)
{
	struct name_list hosts;

	find_hosts(screen, job->job, &hosts);
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
		   : job->harmonic_of_us ? "by marks"
					 : "");
}

char **
jobs_table(const struct screen *screen, const struct online_job *const *jobs, size_t n,
	   unsigned columns)
{
	static const size_t missed_least[] = { 7, 3, 6, 1, 4, 5, 8 };
	char **lines = xcalloc(n + 2, sizeof *lines), *text = NULL, *rest;
	size_t size, at = 0;
	FILE *out = open_memstream(&text, &size);
	struct table t;

	BUG_ON(!out);
	table_init(&t, (const char *const[]){ "JOB", "%HOSTS", "%PERIOD", "%JITTER",
					      "%DUTY", "%BYTES/IT", "%CONF", "%TREND",
					      "%AGE", "", NULL });
	for (size_t i = 0; i < n; i++)
		add_row(screen, jobs[i], &t);
	if (columns < SCREEN_FULL_COLUMNS)
		table_fit(&t, columns, missed_least,
			  sizeof missed_least / sizeof *missed_least);
	table_print(&t, out);
	table_fini(&t);
	fclose(out);
	for (char *line = strtok_r(text, "\n", &rest); line && at <= n;
	     line = strtok_r(NULL, "\n", &rest))
		lines[at++] = xstrdup(line);
	free(text);
	return lines;
}

/* ---- One job -------------------------------------------------------------------- */

static void
tell_hosts(const struct screen *screen, const struct online_job *job,
	   struct strbuf *out)
{
	struct name_list hosts;

	find_hosts(screen, job->job, &hosts);
	strbuf_printf(out, "%s  on %zu hosts", live_job_name(screen->live, job->job),
		      hosts.names.n);
	if (hosts.names.n) {
		strbuf_puts(out, ": ");
		hostlist_fold(hosts.names.items, hosts.names.n, out);
	}
	strbuf_puts(out, "\n");
	vec_free(&hosts.names);
}

static void
tell_profile(const struct screen *screen, const struct online_job *job,
	     struct strbuf *out)
{
	const struct detection *d = &job->detection;
	const struct profile *p = &d->profile;
	float fold[SKETCH_COLUMNS] = { 0 };
	double highest = 0;

	strbuf_printf(out,
		      "  period %.1f ms, jitter %.1f ms, duty %.0f %%, %.2f MB an "
		      "iteration and direction\n",
		      (double)p->period_us / 1e3, (double)p->jitter_us / 1e3,
		      100 * duty(p), p->bytes_per_iteration / 1e6);
	strbuf_printf(out,
		      "  from %lld iterations in %.1f s, %.0f s old, of %u series (%u "
		      "left out); confidence %.2f\n",
		      (long long)p->n_iterations, job->window_ms / 1e3,
		      (double)estimate_age_ns(screen, job) / 1e9, job->n_series,
		      job->n_left_out, p->confidence);
	if (job->gap_frac > 0)
		strbuf_printf(out, "  %.1f %% of it was not known\n",
			      100 * job->gap_frac);
	if (job->harmonic_of_us)
		strbuf_printf(out,
			      "  The traffic repeats after %.1f ms; the program's own "
			      "marks say that this is a part.\n",
			      (double)job->harmonic_of_us / 1e3);
	for (size_t c = 0; c < SKETCH_COLUMNS; c++) {
		size_t from = c * d->n_fold / SKETCH_COLUMNS;
		size_t to = (c + 1) * d->n_fold / SKETCH_COLUMNS;

		to = to > from ? to : from + 1;
		for (size_t t = from; t < to && t < d->n_fold; t++)
			fold[c] += (float)(d->fold_bps[t] / (double)(to - from));
		highest = fmax(highest, (double)fold[c]);
	}
	strbuf_puts(out, "  |");
	spark_add(fold, SKETCH_COLUMNS, highest, SKETCH_COLUMNS, out);
	strbuf_printf(out, "|  %s is ", spark_full());
	rate_add(out, highest);
	strbuf_puts(out, "\n");
	for (size_t i = 0; i < p->n_phases; i++) {
		strbuf_printf(out, "  phase %zu: from %.1f ms for %.1f ms at ", i + 1,
			      (double)p->phases[i].start_us / 1e3,
			      (double)p->phases[i].duration_us / 1e3);
		rate_add(out, p->phases[i].rate_bps);
		strbuf_puts(out, "\n");
	}
}

static void
tell_trend(const struct screen *screen, const struct online_job *job,
	   struct strbuf *out)
{
	if (job->n_trend > 1) {
		strbuf_puts(out, "  periods so far, ms:");
		for (uint32_t i = 0; i < job->n_trend; i++)
			strbuf_printf(out, " %.1f", (double)job->trend_us[i] / 1e3);
		strbuf_puts(out, "\n");
	}
	if (job->has_alarm)
		strbuf_printf(
			out,
			"  CHANGED %.0f s ago: before, it took %.1f ms and %.2f "
			"MB an iteration\n",
			(double)screen_age_ns(screen, job->alarm_ns / 1000000) / 1e9,
			(double)job->period_before_us / 1e3, job->bytes_before / 1e6);
}

static void
tell_links(const struct contention *found, const struct online_job *job,
	   struct strbuf *out)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	struct table t;

	BUG_ON(!file);
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
		rate_cell(&t, here->alone_bps > 0 ? here->alone_bps : -1);
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
	table_print(&t, file);
	table_fini(&t);
	fclose(file);
	strbuf_puts(out, text);
	free(text);
}

void
jobs_detail(const struct screen *screen, const struct contention *found,
	    const struct online_job *job, struct strbuf *out)
{
	tell_hosts(screen, job, out);
	if (job->has_estimate)
		tell_profile(screen, job, out);
	tell_trend(screen, job, out);
	if (job->why)
		strbuf_printf(out, "  No %sestimate: %s\n",
			      job->has_estimate ? "newer " : "", job->why);
	tell_links(found, job, out);
}

/* ---- JSON ------------------------------------------------------------------------ */

static void
put_int(struct jsonw *w, const char *key, int64_t value, bool is_known)
{
	if (is_known)
		jsonw_int(w, key, value);
	else
		jsonw_null(w, key);
}

static void
put_num(struct jsonw *w, const char *key, double value, bool is_known)
{
	if (is_known)
		jsonw_rounded(w, key, value, 4);
	else
		jsonw_null(w, key);
}

static void
put_phases(const struct profile *p, struct jsonw *w)
{
	jsonw_array(w, "phases");
	for (size_t i = 0; i < p->n_phases; i++) {
		jsonw_flat_object(w, NULL);
		jsonw_int(w, "start_us", p->phases[i].start_us);
		jsonw_int(w, "duration_us", p->phases[i].duration_us);
		jsonw_rounded(w, "rate_bps", p->phases[i].rate_bps, 0);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void
put_links(const struct contention *found, const struct online_job *job, struct jsonw *w)
{
	jsonw_array(w, "links");
	for (size_t i = 0; i < found->n_links; i++)
		if (contention_find_job(&found->links[i], job->job))
			jsonw_str(w, NULL, found->links[i].name);
	jsonw_end(w);
}

static void
put_job(const struct screen *screen, const struct contention *found,
	const struct online_job *job, struct jsonw *w)
{
	const struct profile *p = &job->detection.profile;
	bool known = job->has_estimate;
	struct name_list hosts;

	jsonw_object(w, NULL);
	jsonw_str(w, "job", live_job_name(screen->live, job->job));
	find_hosts(screen, job->job, &hosts);
	jsonw_flat_array(w, "hosts");
	for (size_t i = 0; i < hosts.names.n; i++)
		jsonw_str(w, NULL, hosts.names.items[i]);
	jsonw_end(w);
	vec_free(&hosts.names);
	put_int(w, "period_us", p->period_us, known);
	put_int(w, "jitter_us", p->jitter_us, known);
	put_num(w, "duty_ratio", known ? duty(p) : 0, known);
	put_num(w, "bytes_per_iteration", p->bytes_per_iteration, known);
	put_int(w, "iterations", p->n_iterations, known);
	put_num(w, "confidence", p->confidence, known);
	put_int(w, "window_us", job->window_ms * INT64_C(1000), known);
	put_int(w, "age_us", known ? estimate_age_ns(screen, job) / 1000 : 0, known);
	jsonw_int(w, "series", job->n_series);
	jsonw_int(w, "series_left_out", job->n_left_out);
	put_num(w, "gap_ratio", job->gap_frac, known);
	jsonw_bool(w, "has_marks", job->has_marks);
	put_int(w, "harmonic_of_us", job->harmonic_of_us, job->harmonic_of_us > 0);
	jsonw_bool(w, "has_changed", job->has_alarm);
	put_int(w, "changed_at_us", job->alarm_ns / 1000, job->has_alarm);
	put_int(w, "period_before_us", job->period_before_us, job->has_alarm);
	put_num(w, "bytes_before", job->bytes_before, job->has_alarm);
	jsonw_str(w, "why", job->why);
	jsonw_flat_array(w, "trend_us");
	for (uint32_t i = 0; i < job->n_trend; i++)
		jsonw_int(w, NULL, job->trend_us[i]);
	jsonw_end(w);
	put_phases(p, w);
	put_links(found, job, w);
	jsonw_end(w);
}

void
jobs_json(const struct screen *screen, const struct contention *found,
	  const struct online_job *const *jobs, size_t n, struct jsonw *w)
{
	jsonw_array(w, "jobs");
	for (size_t i = 0; i < n; i++)
		put_job(screen, found, jobs[i], w);
	jsonw_end(w);
}
