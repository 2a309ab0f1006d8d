/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/run/run_series.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/jsonw.h"
#include "lib/base/strbuf.h"
#include "sim/run/experiment.h"
#include "topology/topo.h"

/* The first length of a step; doubled again and again, it gives 1, 2, 4 ... ms. */
#define FIRST_STEP_NS 125000

/* ---- Links ------------------------------------------------------------------------- */

struct run_series *
run_series_new(const struct sim_plan *plan, const struct topo *topo)
{
	struct run_series *series = xcalloc(1, sizeof *series);
	uint32_t n = topo_n_links(topo);
	bool *is_used = xcalloc((size_t)n + 1, sizeof *is_used);

	series->step_ns = FIRST_STEP_NS;
	for (size_t j = 0; j < plan->n; j++)
		for (size_t i = 0; i < plan->jobs[j].routed.footprint.n; i++)
			is_used[plan->jobs[j].routed.footprint.entries[i].link] = true;
	series->links = xcalloc((size_t)n + 1, sizeof *series->links);
	for (uint32_t l = 0; l < n; l++) {
		struct run_series_link *link = &series->links[series->n_links];

		if (!is_used[l])
			continue;
		link->link = l;
		link->step_bytes =
			xcalloc(RUN_SERIES_MAX_STEPS, sizeof *link->step_bytes);
		link->step_over_ns =
			xcalloc(RUN_SERIES_MAX_STEPS, sizeof *link->step_over_ns);
		series->n_links++;
	}
	free(is_used);
	return series;
}

static void
free_link(struct run_series_link *link)
{
	free(link->step_bytes);
	free(link->step_over_ns);
}

void
run_series_free(struct run_series *series)
{
	if (!series)
		return;
	for (size_t i = 0; i < series->n_links; i++)
		free_link(&series->links[i]);
	for (size_t j = 0; j < series->n_jobs; j++) {
		free(series->jobs[j].start_ns);
		free(series->jobs[j].mean_ns);
	}
	free(series->links);
	free(series->jobs);
	free(series);
}

static void
fold(float *values, size_t n)
{
	for (size_t k = 0; k < (n + 1) / 2; k++)
		values[k] = values[2 * k] + (2 * k + 1 < n ? values[2 * k + 1] : 0);
	for (size_t k = (n + 1) / 2; k < n; k++)
		values[k] = 0;
}

static void
double_step(struct run_series *series)
{
	for (size_t i = 0; i < series->n_links; i++) {
		fold(series->links[i].step_bytes, series->n_steps);
		fold(series->links[i].step_over_ns, series->n_steps);
	}
	series->n_steps = (series->n_steps + 1) / 2;
	series->step_ns *= 2;
}

void
run_series_coarsen(struct run_series *series, int64_t step_ns)
{
	while (series->step_ns < step_ns)
		double_step(series);
}

int64_t
run_series_next_ns(const struct run_series *series)
{
	return ((int64_t)series->n_steps + 1) * series->step_ns;
}

void
run_series_note(struct run_series *series, const struct engine *engine)
{
	size_t k = series->n_steps++;

	for (size_t i = 0; i < series->n_links; i++) {
		struct run_series_link *link = &series->links[i];
		struct engine_link_stats stats;

		engine_link_stats(engine, link->link, &stats);
		link->step_bytes[k] = (float)(stats.bytes - link->bytes);
		link->step_over_ns[k] = (float)(stats.over_ns - link->over_ns);
		link->bytes = stats.bytes;
		link->over_ns = stats.over_ns;
	}
	series->end_ns = engine_now_ns(engine);
	if (series->n_steps == RUN_SERIES_MAX_STEPS)
		double_step(series);
}

/* ---- The end of the run ------------------------------------------------------------ */

static int
by_contention(const void *a, const void *b)
{
	const struct run_series_link *la = a, *lb = b;

	if (la->over_ns != lb->over_ns)
		return la->over_ns > lb->over_ns ? -1 : 1;
	if (la->bytes != lb->bytes)
		return la->bytes > lb->bytes ? -1 : 1;
	return (la->link > lb->link) - (la->link < lb->link);
}

static int
by_number(const void *a, const void *b)
{
	const struct run_series_link *la = a, *lb = b;

	return (la->link > lb->link) - (la->link < lb->link);
}

static void
choose_links(struct run_series *series)
{
	size_t n = series->n_links, n_busy = 0;

	qsort(series->links, n, sizeof *series->links, by_contention);
	for (size_t i = 0; i < n; i++)
		n_busy += series->links[i].bytes > 0;
	series->n_links = n_busy < RUN_SERIES_MAX_LINKS ? n_busy : RUN_SERIES_MAX_LINKS;
	series->n_links_left_out = n_busy - series->n_links;
	for (size_t i = series->n_links; i < n; i++)
		free_link(&series->links[i]);
	qsort(series->links, series->n_links, sizeof *series->links, by_number);
}

static void
fold_iterations(const struct experiment_job *job, struct run_series_job *folded)
{
	size_t per_entry = job->n / RUN_SERIES_MAX_ENTRIES +
			   (job->n % RUN_SERIES_MAX_ENTRIES != 0);

	folded->per_entry = per_entry ? per_entry : 1;
	folded->n = (job->n + folded->per_entry - 1) / folded->per_entry;
	folded->start_ns = xcalloc(folded->n + 1, sizeof *folded->start_ns);
	folded->mean_ns = xcalloc(folded->n + 1, sizeof *folded->mean_ns);
	for (size_t k = 0; k < folded->n; k++) {
		size_t first = k * folded->per_entry, end = first + folded->per_entry;

		if (end > job->n)
			end = job->n;
		folded->start_ns[k] = job->start_ns[first];
		for (size_t i = first; i < end; i++)
			folded->mean_ns[k] +=
				job->iteration_ns[i] / (double)(end - first);
	}
}

void
run_series_end(struct run_series *series, const struct engine *engine,
	       const struct experiment *experiment)
{
	if (engine_now_ns(engine) > series->end_ns)
		run_series_note(series, engine);
	choose_links(series);
	series->n_jobs = experiment->n_jobs;
	series->jobs = xcalloc(series->n_jobs + 1, sizeof *series->jobs);
	for (size_t j = 0; j < series->n_jobs; j++)
		fold_iterations(&experiment->jobs[j], &series->jobs[j]);
}

/* ---- JSON -------------------------------------------------------------------------- */

static double
step_length_ns(const struct run_series *series, size_t k)
{
	double length_ns = (double)series->step_ns;

	return k + 1 < series->n_steps ? length_ns
				       : series->end_ns - (double)k * length_ns;
}

static void
json_link(const struct run_series *series, const struct run_series_link *link,
	  const struct topo *topo, struct jsonw *w, struct strbuf *name)
{
	double bytes_ns = topo_link(topo, link->link)->capacity_bps / 8e9;

	strbuf_clear(name);
	topo_link_name(topo, link->link, name);
	jsonw_object(w, NULL);
	jsonw_str(w, "link", name->text);
	jsonw_flat_array(w, "permille");
	for (size_t k = 0; k < series->n_steps; k++)
		jsonw_int(w, NULL,
			  lround(1e3 * (double)link->step_bytes[k] /
				 (bytes_ns * step_length_ns(series, k))));
	jsonw_end(w);
	jsonw_flat_array(w, "over_permille");
	for (size_t k = 0; k < series->n_steps; k++)
		jsonw_int(w, NULL,
			  lround(1e3 * (double)link->step_over_ns[k] /
				 step_length_ns(series, k)));
	jsonw_end(w);
	jsonw_end(w);
}

static void
json_us(struct jsonw *w, const char *key, const double *ns, size_t n)
{
	jsonw_flat_array(w, key);
	for (size_t k = 0; k < n; k++)
		jsonw_int(w, NULL, llround(ns[k] / 1e3));
	jsonw_end(w);
}

static void
json_job(const struct run_series_job *job, const char *name, struct jsonw *w)
{
	jsonw_object(w, NULL);
	jsonw_str(w, "job", name);
	jsonw_int(w, "per_entry", (int64_t)job->per_entry);
	json_us(w, "start_us", job->start_ns, job->n);
	json_us(w, "mean_us", job->mean_ns, job->n);
	jsonw_end(w);
}

void
run_series_json(const struct run_series *series, const struct scenario *scenario,
		const struct topo *topo, struct jsonw *w)
{
	struct strbuf name = STRBUF_EMPTY;

	jsonw_object(w, "series");
	jsonw_int(w, "step_us", series->step_ns / 1000);
	jsonw_rounded(w, "end_us", series->end_ns / 1e3, 3);
	jsonw_array(w, "links");
	for (size_t i = 0; i < series->n_links; i++)
		json_link(series, &series->links[i], topo, w, &name);
	jsonw_end(w);
	jsonw_int(w, "links_left_out", (int64_t)series->n_links_left_out);
	jsonw_array(w, "jobs");
	for (size_t j = 0; j < series->n_jobs; j++)
		if (series->jobs[j].n)
			json_job(&series->jobs[j], scenario->workload.jobs[j].name, w);
	jsonw_end(w);
	jsonw_end(w);
	strbuf_free(&name);
}
