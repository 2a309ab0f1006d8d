#include "sim/jobs_info.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>

#include "lib/base/jsonw.h"
#include "lib/base/stats.h"
#include "lib/base/table.h"

#define N_SIZES 18 /* 1, 2, 3..4, 5..8, ... GPUs. */

struct size {
	uint32_t min_gpus, max_gpus;
	size_t n, n_known;
	double gpu_s, median_s;
};

struct info {
	struct size sizes[N_SIZES];
	size_t n_known; /* Jobs whose duration is. */
	double mean_s, median_s, p99_s, max_s;
	double span_s; /* From the first submission to the last. */
	double gpu_s, load_gpus;
};

static size_t
size_of(uint32_t n_gpus)
{
	size_t i = 0;

	while (i < N_SIZES - 1 && (UINT32_C(1) << i) < n_gpus)
		i++;
	return i;
}

/* Of those jobs whose size is 'size', or of all; sorted.  Returns how many. */
static size_t
durations(const struct joblist *list, size_t size, double *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++)
		if (list->jobs[i].duration_s > 0 &&
		    (size == N_SIZES || size_of(list->jobs[i].n_gpus) == size))
			ret[n++] = list->jobs[i].duration_s;
	stats_sort(ret, n);
	return n;
}

static void
find(const struct joblist *list, struct info *info)
{
	double *sorted = xcalloc(list->n + 1, sizeof *sorted);

	*info = (struct info){ .mean_s = NAN,
			       .median_s = NAN,
			       .p99_s = NAN,
			       .max_s = NAN,
			       .load_gpus = NAN };
	for (size_t s = 0; s < N_SIZES; s++) {
		struct size *size = &info->sizes[s];

		size->min_gpus = s ? (UINT32_C(1) << (s - 1)) + 1 : 1;
		size->max_gpus = UINT32_C(1) << s;
		size->n_known = durations(list, s, sorted);
		size->median_s = size->n_known
					 ? stats_quantile(sorted, size->n_known, 0.5)
					 : NAN;
	}
	for (size_t i = 0; i < list->n; i++) {
		const struct cluster_job *job = &list->jobs[i];
		struct size *size = &info->sizes[size_of(job->n_gpus)];

		size->n++;
		if (job->duration_s > 0)
			size->gpu_s += job->duration_s * job->n_gpus;
	}
	for (size_t s = 0; s < N_SIZES; s++)
		info->gpu_s += info->sizes[s].gpu_s;
	info->n_known = durations(list, N_SIZES, sorted);
	if (info->n_known) {
		info->mean_s = stats_mean(sorted, info->n_known);
		info->median_s = stats_quantile(sorted, info->n_known, 0.5);
		info->p99_s = sorted[(size_t)(0.99 * (double)info->n_known)];
		info->max_s = sorted[info->n_known - 1];
	}
	if (list->n)
		info->span_s =
			list->jobs[list->n - 1].submit_s - list->jobs[0].submit_s;
	if (info->span_s > 0 && info->n_known)
		info->load_gpus = info->gpu_s / info->span_s;
	free(sorted);
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
put_sizes(const struct info *info, size_t n, FILE *out)
{
	static const char *const headings[] = { "GPUS",      "%JOBS",     "%SHARE",
						"%GPU TIME", "%MEDIAN s", NULL };
	struct table t;

	table_init(&t, headings);
	for (size_t s = 0; s < N_SIZES; s++) {
		const struct size *size = &info->sizes[s];

		if (!size->n)
			continue;
		if (size->min_gpus == size->max_gpus)
			table_cell(&t, "%u", size->max_gpus);
		else
			table_cell(&t, "%u-%u", size->min_gpus, size->max_gpus);
		table_cell(&t, "%zu", size->n);
		table_cell(&t, "%.1f %%", 100 * (double)size->n / (double)n);
		if (size->n_known) {
			table_cell(&t, "%.1f %%", 100 * size->gpu_s / info->gpu_s);
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
jobs_info_text(const struct joblist *list, const char *path, FILE *out)
{
	struct info info;

	find(list, &info);
	fprintf(out,
		"%s: %s, %zu jobs of %" PRIu64 " rows; %u users, %u VCs, %u models\n",
		path, jobtrace_format_names[list->format], list->n, list->counts.rows,
		strtab_n(list->users), strtab_n(list->vcs), strtab_n(list->models));
	fprintf(out, "submitted within %.2f days", info.span_s / 86400);
	if (list->n && list->origin_s > 0) {
		fputs(", from ", out);
		put_date(list->origin_s, out);
		fputs(" to ", out);
		put_date(list->origin_s + list->jobs[list->n - 1].submit_s, out);
	}
	fputc('\n', out);
	if (info.n_known)
		fprintf(out,
			"durations: mean %.1f s, median %.1f s, p99 %.1f s, max %.1f "
			"s\n",
			info.mean_s, info.median_s, info.p99_s, info.max_s);
	if (!isnan(info.load_gpus) && info.n_known == list->n)
		fprintf(out, "load: %.1f GPUs, if all ran when they were submitted\n",
			info.load_gpus);
	else if (!isnan(info.load_gpus))
		fprintf(out,
			"load: %.1f GPUs, if all of which a duration is known (%zu of "
			"%zu) ran when they were submitted\n",
			info.load_gpus, info.n_known, list->n);
	fputc('\n', out);
	put_sizes(&info, list->n, out);
}

void
jobs_info_json(const struct joblist *list, const char *path, FILE *out)
{
	struct info info;
	struct jsonw w;

	find(list, &info);
	jsonw_document(&w, out, "antiphase.trace-info/1");
	jsonw_str(&w, "trace", path);
	jsonw_str(&w, "format", jobtrace_format_names[list->format]);
	jsonw_int(&w, "n_rows", (int64_t)list->counts.rows);
	jsonw_int(&w, "n_jobs", (int64_t)list->n);
	jsonw_int(&w, "n_malformed", (int64_t)list->counts.malformed);
	jsonw_int(&w, "n_no_gpus", (int64_t)list->counts.no_gpus);
	jsonw_int(&w, "n_not_run", (int64_t)list->counts.not_run);
	jsonw_int(&w, "n_no_duration", (int64_t)list->n_no_duration);
	jsonw_int(&w, "n_rounded", (int64_t)list->counts.rounded);
	jsonw_int(&w, "n_users", strtab_n(list->users));
	jsonw_int(&w, "n_vcs", strtab_n(list->vcs));
	jsonw_int(&w, "n_models", strtab_n(list->models));
	jsonw_num(&w, "origin_s", list->origin_s);
	jsonw_num(&w, "span_s", info.span_s);
	jsonw_num(&w, "mean_s", info.mean_s);
	jsonw_num(&w, "median_s", info.median_s);
	jsonw_num(&w, "p99_s", info.p99_s);
	jsonw_num(&w, "max_s", info.max_s);
	jsonw_num(&w, "gpu_s", info.n_known ? info.gpu_s : NAN);
	jsonw_num(&w, "load_gpus", info.load_gpus);
	jsonw_array(&w, "sizes");
	for (size_t s = 0; s < N_SIZES; s++) {
		if (!info.sizes[s].n)
			continue;
		jsonw_object(&w, NULL);
		jsonw_int(&w, "min_gpus", info.sizes[s].min_gpus);
		jsonw_int(&w, "max_gpus", info.sizes[s].max_gpus);
		jsonw_int(&w, "n_jobs", (int64_t)info.sizes[s].n);
		jsonw_num(&w, "gpu_s",
			  info.sizes[s].n_known ? info.sizes[s].gpu_s : NAN);
		jsonw_num(&w, "median_s", info.sizes[s].median_s);
		jsonw_end(&w);
	}
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
}
