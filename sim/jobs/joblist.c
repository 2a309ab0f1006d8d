/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/jobs/joblist.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/rng.h"
#include "policies/interference.h"
#include "sim/jobs/recipe.h"

/* Submissions from this on are seconds since 1970, 2001 or later. */
#define TIME_OF_DAY_S 1e9
#define MALFORMED     "malformed rows, left out"

struct loader {
	struct joblist *list;
	VEC(struct cluster_job) jobs;
	VEC(uint32_t) id_at;
};

void
joblist_filter_init(struct joblist_filter *filter)
{
	*filter = (struct joblist_filter){
		.from_s = -INFINITY,
		.to_s = INFINITY,
		.max_duration_s = INFINITY,
		.max_gpus = UINT32_MAX,
		.n_head = UINT64_MAX,
	};
}

double
joblist_duration_s(const struct jobtrace_job *job)
{
	return isnan(job->duration_s) ? job->iterations * job->iteration_s
				      : job->duration_s;
}

double
joblist_origin_s(double first_submit_s)
{
	return first_submit_s >= TIME_OF_DAY_S ? first_submit_s : 0;
}

bool
joblist_filter_passes(const struct joblist_filter *filter,
		      const struct jobtrace_job *job)
{
	double duration_s = joblist_duration_s(job);

	if (job->submit_s < filter->from_s || job->submit_s >= filter->to_s ||
	    job->n_gpus < filter->min_gpus || job->n_gpus > filter->max_gpus ||
	    (filter->vc && strcmp(filter->vc, job->vc) != 0))
		return false;
	/* A job of unknown duration matches. */
	return !(duration_s < filter->min_duration_s) &&
	       !(duration_s > filter->max_duration_s);
}

static uint32_t
number(struct strtab *tab, const char *name)
{
	return *name ? strtab_intern(tab, name) : POL_NONE;
}

static double
known(double amount)
{
	return isnan(amount) ? 0 : amount;
}

static void
add(struct loader *l, const struct jobtrace_job *in)
{
	struct joblist *list = l->list;
	size_t n_id = strlen(in->id) + 1;

	vec_push(&l->jobs,
		 ((struct cluster_job){
			 .submit_s = in->submit_s,
			 .duration_s = joblist_duration_s(in),
			 .n_gpus = in->n_gpus,
			 .max_gpus = in->n_gpus,
			 .user = number(list->users, in->user),
			 .vc = number(list->vcs, in->vc),
			 .model = number(list->models, in->model),
			 .measured_model = interference_find(in->model),
			 .batch = in->batch,
			 .batch_mode = batch_mode_of(in->mode),
			 .priority = in->priority,
			 .predicted_s = in->expected_s,
			 .iterations = in->iterations,
			 .iteration_s = in->iteration_s,
			 .stage_s = { in->stage_s[0], in->stage_s[1], in->stage_s[2] },
			 .needs = { { [NEED_MEMORY] = known(in->memory_gib),
				      [NEED_GPU_MEMORY] = known(in->gpu_memory_gib) } },
		 }));
	vec_push(&l->id_at, (uint32_t)list->ids.n);
	vec_reserve(&list->ids, n_id);
	memcpy(list->ids.items + list->ids.n, in->id, n_id);
	list->ids.n += n_id;
}

static int
compare_submits(const void *a, const void *b, void *ctx)
{
	const struct cluster_job *jobs = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (jobs[x].submit_s != jobs[y].submit_s)
		return jobs[x].submit_s < jobs[y].submit_s ? -1 : 1;
	return (x > y) - (x < y);
}

/* Sorts by submission; ties in the order of the trace. */
static void
sort(struct loader *l)
{
	struct joblist *list = l->list;
	size_t n = l->jobs.n;
	uint32_t *order = xcalloc(n + 1, sizeof *order);

	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, n, sizeof *order, compare_submits, l->jobs.items);
	if (n)
		list->origin_s = joblist_origin_s(l->jobs.items[order[0]].submit_s);
	list->n = n;
	list->jobs = xcalloc(n + 1, sizeof *list->jobs);
	list->id_at = xcalloc(n + 1, sizeof *list->id_at);
	for (size_t i = 0; i < n; i++) {
		list->jobs[i] = l->jobs.items[order[i]];
		list->jobs[i].submit_s -= list->origin_s;
		list->id_at[i] = l->id_at.items[order[i]];
	}
	free(order);
}

static int
read_all(struct loader *l, struct jobtrace *trace, const struct joblist_filter *filter,
	 struct err *err)
{
	struct joblist *list = l->list;
	struct jobtrace_job job;
	int r;

	while ((r = jobtrace_next(trace, &job, err)) > 0) {
		if (filter && (l->jobs.n >= filter->n_head ||
			       !joblist_filter_passes(filter, &job))) {
			list->n_filtered++;
			continue;
		}
		if (!(joblist_duration_s(&job) > 0)) {
			list->n_no_duration++;
			if (!filter || !filter->keeps_unknown)
				continue;
		}
		if (l->jobs.n == UINT32_MAX - 1 || list->ids.n > UINT32_MAX / 2)
			return err_set(err, NULL, 0, 0, "too many jobs");
		add(l, &job);
	}
	return r;
}

static void
init(struct joblist *list)
{
	*list = (struct joblist){ .users = strtab_new(),
				  .vcs = strtab_new(),
				  .models = strtab_new() };
}

int
joblist_load(const char *path, enum jobtrace_format format,
	     const struct joblist_filter *filter, struct joblist *ret_list,
	     struct err *err)
{
	struct loader l = { .list = ret_list };
	struct jobtrace *trace;
	int r;

	init(ret_list);
	r = jobtrace_open(path, format, &trace, err);
	if (r < 0) {
		joblist_fini(ret_list);
		return r;
	}
	ret_list->format = jobtrace_format(trace);
	ret_list->keeps_unknown = filter && filter->keeps_unknown;
	r = read_all(&l, trace, filter, err);
	ret_list->counts = jobtrace_counts(trace);
	for (size_t i = 0; i < sizeof ret_list->faults / sizeof *ret_list->faults &&
			   jobtrace_fault(trace, i);
	     i++)
		ret_list->faults[i] = xstrdup(jobtrace_fault(trace, i));
	if (r == 0)
		sort(&l);
	vec_free(&l.jobs);
	vec_free(&l.id_at);
	jobtrace_close(trace);
	if (r < 0)
		joblist_fini(ret_list);
	return r;
}

int
joblist_make(const char *path, uint64_t seed, struct joblist *ret_list, struct err *err)
{
	struct loader l = { .list = ret_list };
	struct jobtrace_job *jobs;
	struct recipe *recipe;
	size_t n;
	int r = recipe_load(path, &recipe, err);

	if (r < 0)
		return r;
	init(ret_list);
	ret_list->format = JOBTRACE_ANTIPHASE;
	jobs = recipe_make(recipe, seed, &n);
	for (size_t i = 0; i < n; i++)
		add(&l, &jobs[i]);
	ret_list->counts.rows = ret_list->counts.jobs = n;
	sort(&l);
	vec_free(&l.jobs);
	vec_free(&l.id_at);
	free(jobs);
	recipe_free(recipe);
	return 0;
}

void
joblist_fini(struct joblist *list)
{
	free(list->jobs);
	free(list->id_at);
	vec_free(&list->ids);
	strtab_free(list->users);
	strtab_free(list->vcs);
	strtab_free(list->models);
	for (size_t i = 0; i < sizeof list->faults / sizeof *list->faults; i++)
		free(list->faults[i]);
	*list = (struct joblist){ 0 };
}

const char *
joblist_id(const struct joblist *list, size_t i)
{
	return list->ids.items + list->id_at[i];
}

const char *
joblist_model(const void *list, uint32_t number)
{
	return number == POL_NONE
		       ? ""
		       : strtab_name(((const struct joblist *)list)->models, number);
}

size_t
joblist_drop_above(struct joblist *list, uint32_t n_gpus)
{
	size_t n = 0, n_before = list->n;

	for (size_t i = 0; i < list->n; i++) {
		if (list->jobs[i].n_gpus > n_gpus)
			continue;
		list->jobs[n] = list->jobs[i];
		list->id_at[n++] = list->id_at[i];
	}
	list->n = n;
	return n_before - n;
}

void
joblist_report_count(const char *path, uint64_t n, const char *what)
{
	if (n)
		fprintf(stderr, "%s: %s: %s: %llu\n", log_program(), path, what,
			(unsigned long long)n);
}

static void
report_left_out(const char *path, const struct jobtrace_counts *counts)
{
	joblist_report_count(path, counts->no_gpus, "jobs without GPUs, left out");
	joblist_report_count(path, counts->not_run, "jobs that never ran, left out");
	joblist_report_count(path, counts->rounded,
			     "jobs with a fraction of a GPU, rounded up to one");
}

void
joblist_report_trace(const struct jobtrace *trace, const char *path)
{
	struct jobtrace_counts counts = jobtrace_counts(trace);

	joblist_report_count(path, counts.malformed, MALFORMED);
	for (size_t i = 0; jobtrace_fault(trace, i); i++)
		fprintf(stderr, "  %s\n", jobtrace_fault(trace, i));
	report_left_out(path, &counts);
	joblist_report_count(path, counts.unjoined,
			     "jobs without instances, with the times of their tasks");
}

void
joblist_report(const struct joblist *list, const char *path)
{
	joblist_report_count(path, list->counts.malformed, MALFORMED);
	for (size_t i = 0; i < sizeof list->faults / sizeof *list->faults; i++)
		if (list->faults[i])
			fprintf(stderr, "  %s\n", list->faults[i]);
	report_left_out(path, &list->counts);
	joblist_report_count(path, list->n_no_duration,
			     list->keeps_unknown
				     ? "jobs of unknown duration"
				     : "jobs of unknown duration, left out");
}

uint32_t *
joblist_find_models(const struct joblist *list, const struct model_catalog *catalog,
		    uint32_t min_gpus, uint64_t seed, uint64_t *ret_n_drawn)
{
	uint32_t *models = xcalloc(list->n + 1, sizeof *models);

	*ret_n_drawn = 0;
	for (size_t i = 0; i < list->n; i++) {
		struct rng rng;

		models[i] = POL_NONE;
		if (list->jobs[i].n_gpus < min_gpus)
			continue;
		models[i] = model_catalog_find(
			catalog, joblist_model(list, list->jobs[i].model));
		if (models[i] != POL_NONE)
			continue;
		rng_init_stream(&rng, seed, i);
		models[i] = (uint32_t)rng_below(&rng, catalog->n);
		++*ret_n_drawn;
	}
	return models;
}
