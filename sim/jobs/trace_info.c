/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/jobs/trace_info.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>

#include "lib/base/jsonw.h"
#include "lib/base/table.h"
#include "lib/base/words.h"
#include "sim/jobs/joblist.h"

int
trace_info_read(struct jobtrace *trace, const char *path, struct trace_info *ret_info,
		struct err *err)
{
	struct trace_info info = { 0 };
	struct jobtrace_job job;
	struct trace_counters *counters = trace_counters_new();
	int r;

	while ((r = jobtrace_next(trace, &job, err)) > 0)
		trace_counters_add(counters, &job);
	if (r == 0) {
		trace_counters_sum(counters, &info.sums);
		info.format = jobtrace_format(trace);
		info.counts = jobtrace_counts(trace);
		joblist_report_trace(trace, path);
		joblist_report_count(path, info.sums.n - info.sums.n_known,
				     "jobs of unknown duration");
		*ret_info = info;
	}
	trace_counters_free(counters);
	return r;
}

static double
span_s(const struct trace_counters_sums *sums)
{
	return sums->last_s - sums->first_s;
}

/* Mean GPUs in use; NAN: unknown. */
static double
load_gpus(const struct trace_counters_sums *sums)
{
	return span_s(sums) > 0 && sums->n_known ? sums->gpu_s / span_s(sums) : NAN;
}

static void
put_date(double at_s, FILE *out)
{
	time_t seconds = (time_t)at_s;
	char text[32];
	struct tm tm;

	if (gmtime_r(&seconds, &tm) &&
	    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm))
		fputs(text, out);
}

static void
put_sizes(const struct trace_counters_sums *sums, FILE *out)
{
	static const char *const headings[] = { "GPUS",      "%JOBS",     "%SHARE",
						"%GPU TIME", "%MEDIAN s", NULL };
	struct table t;

	table_init(&t, headings);
	for (size_t s = 0; s < TRACE_COUNTERS_N_SIZES; s++) {
		const struct trace_counters_size *size = &sums->sizes[s];

		if (!size->n)
			continue;
		if (size->min_gpus == size->max_gpus)
			table_cell(&t, "%u", size->max_gpus);
		else
			table_cell(&t, "%u-%u", size->min_gpus, size->max_gpus);
		table_cell(&t, "%" PRIu64, size->n);
		table_cell(&t, "%.1f %%", 100 * (double)size->n / (double)sums->n);
		if (size->n_known) {
			table_cell(&t, "%.1f %%", 100 * size->gpu_s / sums->gpu_s);
			table_cell(&t, "%.0f", size->median_s);
		} else {
			table_cell(&t, "-");
			table_cell(&t, "-");
		}
	}
	table_print(&t, out);
	table_fini(&t);
}

void
trace_info_text(const struct trace_info *info, const char *path, FILE *out)
{
	const struct trace_counters_sums *sums = &info->sums;
	double origin_s = joblist_origin_s(sums->first_s), load = load_gpus(sums);

	fprintf(out,
		"%s: %s, %" PRIu64 " job%s of %" PRIu64
		" row%s; %u user%s, %u VC%s, %u model%s\n",
		path, jobtrace_format_names[info->format], sums->n,
		words_plural(sums->n), info->counts.rows,
		words_plural(info->counts.rows), sums->n_users,
		words_plural(sums->n_users), sums->n_vcs, words_plural(sums->n_vcs),
		sums->n_models, words_plural(sums->n_models));
	fprintf(out, "submitted within %.2f days", span_s(sums) / 86400);
	if (sums->n && origin_s > 0) {
		fputs(", from ", out);
		put_date(sums->first_s, out);
		fputs(" to ", out);
		put_date(sums->last_s, out);
	}
	fputc('\n', out);
	if (sums->n_known)
		fprintf(out,
			"durations: mean %.1f s, median %.1f s, p99 %.1f s, max %.1f "
			"s\n",
			sums->mean_s, sums->median_s, sums->p99_s, sums->max_s);
	if (!isnan(load) && sums->n_known == sums->n)
		fprintf(out, "load: %.1f GPUs, if each job ran when it was submitted\n",
			load);
	else if (!isnan(load))
		fprintf(out,
			"load: %.1f GPUs, if each job of known duration (%" PRIu64
			" of %" PRIu64 ") ran when it was submitted\n",
			load, sums->n_known, sums->n);
	fputc('\n', out);
	put_sizes(sums, out);
}

static void
put_json_sizes(struct jsonw *w, const struct trace_counters_sums *sums)
{
	jsonw_array(w, "sizes");
	for (size_t s = 0; s < TRACE_COUNTERS_N_SIZES; s++) {
		const struct trace_counters_size *size = &sums->sizes[s];

		if (!size->n)
			continue;
		jsonw_object(w, NULL);
		jsonw_int(w, "min_gpus", size->min_gpus);
		jsonw_int(w, "max_gpus", size->max_gpus);
		jsonw_int(w, "n_jobs", (int64_t)size->n);
		jsonw_num(w, "gpu_s", size->n_known ? size->gpu_s : NAN);
		jsonw_num(w, "median_s", size->median_s);
		jsonw_end(w);
	}
	jsonw_end(w);
}

void
trace_info_json(const struct trace_info *info, const char *path, FILE *out)
{
	const struct jobtrace_counts *counts = &info->counts;
	const struct trace_counters_sums *sums = &info->sums;
	struct jsonw w;

	jsonw_document(&w, out, "antiphase.trace_info/2");
	jsonw_str(&w, "trace", path);
	jsonw_str(&w, "format", jobtrace_format_names[info->format]);
	jsonw_int(&w, "n_rows", (int64_t)counts->rows);
	jsonw_int(&w, "n_jobs", (int64_t)sums->n);
	jsonw_int(&w, "n_malformed", (int64_t)counts->malformed);
	jsonw_int(&w, "n_no_gpus", (int64_t)counts->no_gpus);
	jsonw_int(&w, "n_not_run", (int64_t)counts->not_run);
	jsonw_int(&w, "n_no_duration", (int64_t)(sums->n - sums->n_known));
	jsonw_int(&w, "n_rounded", (int64_t)counts->rounded);
	jsonw_int(&w, "n_users", sums->n_users);
	jsonw_int(&w, "n_vcs", sums->n_vcs);
	jsonw_int(&w, "n_models", sums->n_models);
	jsonw_num(&w, "origin_s", joblist_origin_s(sums->first_s));
	jsonw_num(&w, "span_s", span_s(sums));
	jsonw_num(&w, "mean_s", sums->mean_s);
	jsonw_num(&w, "median_s", sums->median_s);
	jsonw_num(&w, "p99_s", sums->p99_s);
	jsonw_num(&w, "max_s", sums->max_s);
	jsonw_num(&w, "gpu_s", sums->n_known ? sums->gpu_s : NAN);
	jsonw_num(&w, "load_gpus", load_gpus(sums));
	put_json_sizes(&w, sums);
	jsonw_end(&w);
	jsonw_finish(&w);
}
