/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/jobs/recipe.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cfg.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/rng.h"
#include "lib/base/units.h"
#include "lib/base/vec.h"
#include "lib/base/words.h"
#include "sim/jobs/model_catalog.h"
#include "topology/gen.h"
#include "topology/topo.h"

#define MAX_BYTES   (1u << 20)
#define MAX_WORKERS 1024
#define N_ID        32

enum arrivals {
	POISSON,
	SNAPSHOT,
	BURST
};

static const char *const arrivals_names[] = { "poisson", "snapshot", "burst", NULL };

enum key {
	ARRIVALS,
	GPUS,
	NIC,
	MODELS,
	NAMES,
	WORKERS,
	ITERATIONS,
	LOAD,
	COUNT,
	BURST_SHARE,
	BURST_AT,
	N_KEYS
};

static const char *const keys[] = {
	[ARRIVALS] = "arrivals",     [GPUS] = "gpus",         [NIC] = "nic",
	[MODELS] = "models",         [NAMES] = "names",       [WORKERS] = "workers",
	[ITERATIONS] = "iterations", [LOAD] = "load",         [COUNT] = "count",
	[BURST_SHARE] = "burst",     [BURST_AT] = "burst_at", [N_KEYS] = NULL,
};

static const char *const wanted[] = {
	[ARRIVALS] = "'poisson', 'snapshot' or 'burst'",
	[GPUS] = "the cluster's number of GPUs",
	[NIC] = UNITS_WANT_RATE,
	[MODELS] = "a folder",
	[NAMES] = "names of models",
	[WORKERS] = "a range such as '1..12', up to 1024",
	[ITERATIONS] = "a range such as '200..1000'",
	[LOAD] = UNITS_WANT_FRAC,
	[COUNT] = "a number of jobs, up to 1000000",
	[BURST_SHARE] = UNITS_WANT_FRAC,
	[BURST_AT] = UNITS_WANT_TIME,
};

struct range {
	uint64_t from, to; /* Inclusive. */
};

struct recipe {
	char *file, *models, *names; /* Owned; the last may be NULL. */
	bool has[N_KEYS];
	enum arrivals arrivals;
	struct range gpus, workers, iterations, count;
	double nic_bps, load, burst;
	int64_t burst_at_ns;
	struct model_catalog catalog;
	VEC(uint32_t) kinds;     /* Of the catalog. */
	VEC(double) iteration_s; /* By kind, then by workers from the fewest. */
	VEC(char) ids;           /* N_ID each; of the last jobs. */
};

bool
recipe_is(const char *path)
{
	size_t n = strlen(path);

	return n > 4 && strcmp(path + n - 4, ".ini") == 0;
}

/* ---- Reading --------------------------------------------------------------------- */

/* "5" or "1..12", each from 1. */
static bool
read_range(const char *text, uint64_t max, struct range *ret_range)
{
	unsigned long long from, to;
	int n = 0, n_both = 0;

	if (strspn(text, "0123456789.") != strlen(text) ||
	    sscanf(text, "%10llu%n..%10llu%n", &from, &n, &to, &n_both) < 1)
		return false;
	if (text[n_both ? n_both : n])
		return false;
	*ret_range = (struct range){ from, n_both ? to : from };
	return from >= 1 && ret_range->to >= from && ret_range->to <= max;
}

/* A number from 1 on. */
static bool
read_count(const char *text, uint64_t max, struct range *ret_range)
{
	return read_range(text, max, ret_range) && ret_range->from == ret_range->to;
}

static bool
read_frac(const char *text, double *ret_frac)
{
	return units_parse_frac(text, ret_frac) == 0 && *ret_frac > 0 &&
	       *ret_frac <= 100;
}

/* False if the value is invalid for the key. */
static bool
take_value(struct recipe *recipe, enum key key, const char *value)
{
	int i;

	switch (key) {
	case ARRIVALS:
		i = words_index(value, arrivals_names);
		recipe->arrivals = (enum arrivals)i;
		return i >= 0;
	case GPUS:
		return read_count(value, 10 * RECIPE_MAX_JOBS, &recipe->gpus);
	case COUNT:
		return read_count(value, RECIPE_MAX_JOBS, &recipe->count);
	case WORKERS:
		return read_range(value, MAX_WORKERS, &recipe->workers);
	case ITERATIONS:
		return read_range(value, 1000000000, &recipe->iterations);
	case NIC:
		return units_parse_bps(value, &recipe->nic_bps) == 0 &&
		       recipe->nic_bps > 0;
	case LOAD:
		return read_frac(value, &recipe->load);
	case BURST_SHARE:
		return read_frac(value, &recipe->burst);
	case BURST_AT:
		return units_parse_ns(value, &recipe->burst_at_ns) == 0;
	case MODELS:
		recipe->models = xstrdup(value);
		return *value;
	case NAMES:
		recipe->names = xstrdup(value);
		return *value;
	case N_KEYS:
		break;
	}
	BUG("key %d", (int)key);
}

static int
take_entry(void *ctx, const struct cfg_entry *entry, struct err *err)
{
	struct recipe *recipe = ctx;
	int key;

	if (strcmp(entry->section, "jobs") != 0)
		return err_set(err, recipe->file, entry->line, 0,
			       "expected only the section [jobs]");
	if (!entry->key)
		return 0;
	key = words_index(entry->key, keys);
	if (key < 0) {
		err_set(err, recipe->file, entry->line, 0, "unknown key '%s'",
			entry->key);
		err_suggest(err, entry->key, keys);
		return -EINVAL;
	}
	if (recipe->has[key])
		return err_set(err, recipe->file, entry->line, 0, "'%s' is set twice",
			       entry->key);
	recipe->has[key] = true;
	if (!take_value(recipe, (enum key)key, entry->value))
		return err_set(err, recipe->file, entry->line, 0,
			       "%s is '%s', expected %s", entry->key, entry->value,
			       wanted[key]);
	return 0;
}

static int
check_keys(const struct recipe *recipe, struct err *err)
{
	static const enum key needed[] = { ARRIVALS, GPUS,       NIC, MODELS,
					   WORKERS,  ITERATIONS, LOAD };

	bool is_poisson = recipe->arrivals == POISSON;
	bool is_burst = recipe->arrivals == BURST;

	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (!recipe->has[needed[i]])
			return err_set(err, recipe->file, 0, 0, "[jobs] has no '%s'",
				       keys[needed[i]]);
	if (recipe->has[COUNT] != is_poisson)
		return err_set(err, recipe->file, 0, 0,
			       "'count' goes with 'arrivals = poisson'");
	if (recipe->has[BURST_SHARE] != is_burst || recipe->has[BURST_AT] != is_burst)
		return err_set(err, recipe->file, 0, 0,
			       "'burst' and 'burst_at' go with 'arrivals = burst'");
	if (recipe->workers.to > recipe->gpus.from)
		return err_set(err, recipe->file, 0, 0,
			       "jobs have up to %llu workers, but the cluster has "
			       "%llu GPUs",
			       (unsigned long long)recipe->workers.to,
			       (unsigned long long)recipe->gpus.from);
	return 0;
}

static int
load_models(struct recipe *recipe, struct err *err)
{
	const char *slash = strrchr(recipe->file, '/');
	int n = slash && *recipe->models != '/' ? (int)(slash + 1 - recipe->file) : 0;
	char *folder = xasprintf("%.*s%s", n, recipe->file, recipe->models);
	char *rest = NULL;
	int r = model_catalog_load(folder, &recipe->catalog, err);

	free(folder);
	if (r < 0)
		return r;
	for (uint32_t i = 0; !recipe->names && i < recipe->catalog.n; i++)
		vec_push(&recipe->kinds, i);
	for (char *name = recipe->names ? strtok_r(recipe->names, " \t", &rest) : NULL;
	     name; name = strtok_r(NULL, " \t", &rest)) {
		uint32_t i = model_catalog_find(&recipe->catalog, name);

		if (i == MODEL_NONE)
			return err_set(err, recipe->file, 0, 0,
				       "there is no model '%.60s' in %s", name,
				       recipe->models);
		vec_push(&recipe->kinds, i);
	}
	return 0;
}

/* ---- Iteration times ------------------------------------------------------------- */

static int
iteration_s(const struct recipe *recipe, const struct work_model *model,
	    struct topo *topo, const uint32_t *hosts, size_t n, double *ret_s,
	    struct err *err)
{
	struct work_job job = { .n_hosts_wanted = (uint32_t)n };
	struct collective_flows flows;
	int r = collective_make(topo, model->collective, hosts, n, 1, &flows);

	if (r == 0) {
		r = work_model_make_job(model, flows.nic_bytes, recipe->nic_bps, &job);
		collective_flows_fini(&flows);
	}
	*ret_s = (double)job.profile.period_us / 1e6;
	work_job_fini(&job);
	return r < 0 ? err_set(err, recipe->file, 0, 0,
			       "a job of %s with %zu workers cannot be made",
			       model->name, n)
		     : 0;
}

static int
time_iterations(struct recipe *recipe, struct err *err)
{
	const struct gen_leaf_spine options = {
		.n_leaves = 1,
		.hosts_per_leaf = (uint32_t)recipe->workers.to,
		.n_spines = 1,
		.host_bps = recipe->nic_bps,
		.uplink_bps = recipe->nic_bps,
	};
	const uint32_t *hosts;
	struct topo *topo;
	size_t n_hosts;
	int r = gen_leaf_spine(&options, &topo, err);

	if (r < 0)
		return r;
	hosts = topo_hosts(topo, &n_hosts);
	for (size_t k = 0; r == 0 && k < recipe->kinds.n; k++) {
		const struct work_model *model =
			&recipe->catalog.models[recipe->kinds.items[k]];

		for (size_t n = recipe->workers.from; r == 0 && n <= recipe->workers.to;
		     n++) {
			double s;

			r = iteration_s(recipe, model, topo, hosts, n, &s, err);
			vec_push(&recipe->iteration_s, s);
		}
	}
	topo_unref(topo);
	return r;
}

int
recipe_load(const char *path, struct recipe **ret_recipe, struct err *err)
{
	struct recipe *recipe;
	char *text;
	size_t n;
	int r = file_read(path, MAX_BYTES, &text, &n, err);

	if (r < 0)
		return r;
	recipe = xcalloc(1, sizeof *recipe);
	recipe->file = xstrdup(path);
	r = cfg_parse(path, text, n, take_entry, recipe, err);
	free(text);
	if (r == 0)
		r = check_keys(recipe, err);
	if (r == 0)
		r = load_models(recipe, err);
	if (r == 0)
		r = time_iterations(recipe, err);
	if (r == 0)
		*ret_recipe = recipe;
	else
		recipe_free(recipe);
	return r;
}

void
recipe_free(struct recipe *recipe)
{
	if (!recipe)
		return;
	model_catalog_fini(&recipe->catalog);
	vec_free(&recipe->kinds);
	vec_free(&recipe->iteration_s);
	vec_free(&recipe->ids);
	free(recipe->file);
	free(recipe->models);
	free(recipe->names);
	free(recipe);
}

/* ---- Drawing --------------------------------------------------------------------- */

static uint64_t
draw(struct rng *rng, const struct range *range)
{
	return range->from + rng_below(rng, range->to - range->from + 1);
}

static double
iteration_of(const struct recipe *recipe, size_t kind, uint64_t n_workers)
{
	uint64_t n = recipe->workers.to - recipe->workers.from + 1;

	return recipe->iteration_s
		.items[kind * n + (size_t)(n_workers - recipe->workers.from)];
}

double
recipe_mean_gpu_s(const struct recipe *recipe)
{
	double iterations =
		(double)(recipe->iterations.from + recipe->iterations.to) / 2;
	double sum = 0;

	for (size_t k = 0; k < recipe->kinds.n; k++)
		for (uint64_t n = recipe->workers.from; n <= recipe->workers.to; n++)
			sum += (double)n * iteration_of(recipe, k, n);
	return sum / (double)recipe->iteration_s.n * iterations;
}

/* The i-th job, with at most 'max' workers; 'rng' is left for further draws. */
static struct jobtrace_job
draw_job(const struct recipe *recipe, uint64_t seed, size_t i, uint64_t max,
	 struct rng *rng)
{
	struct jobtrace_job job;
	const struct work_model *model;
	uint64_t n_workers;
	size_t kind;

	jobtrace_clear(&job);
	rng_init_stream(rng, seed, i);
	kind = (size_t)rng_below(rng, recipe->kinds.n);
	n_workers = draw(rng, &recipe->workers);
	n_workers = n_workers > max ? max : n_workers;
	model = &recipe->catalog.models[recipe->kinds.items[kind]];
	job.model = model->name;
	job.batch = (uint32_t)model->batch;
	job.n_gpus = job.n_nodes = (uint32_t)n_workers;
	job.iterations = (double)draw(rng, &recipe->iterations);
	job.iteration_s = iteration_of(recipe, kind, n_workers);
	return job;
}

struct jobs {
	VEC(struct jobtrace_job) list;
};

static void
put(struct jobs *jobs, const struct jobtrace_job *job, double submit_s)
{
	struct jobtrace_job *put;

	vec_push(&jobs->list, *job);
	put = &jobs->list.items[jobs->list.n - 1];
	put->submit_s = submit_s;
	put->duration_s = job->iterations * job->iteration_s;
}

/*
 * Adds jobs at one time, until they request a share of the GPUs; none requests more
 * than are left.
 */
static void
put_share(const struct recipe *recipe, uint64_t seed, double share, bool is_amid,
	  double submit_s, struct jobs *jobs)
{
	uint64_t left = (uint64_t)llround(share * (double)recipe->gpus.from);

	while (left >= recipe->workers.from && jobs->list.n < RECIPE_MAX_JOBS) {
		struct rng rng;
		struct jobtrace_job job =
			draw_job(recipe, seed, jobs->list.n, left, &rng);

		if (is_amid)
			job.iterations = ceil(job.iterations * (1 - rng_uniform(&rng)));
		put(jobs, &job, submit_s);
		left -= job.n_gpus;
	}
}

static void
put_poisson(const struct recipe *recipe, uint64_t seed, struct jobs *jobs)
{
	double gap_s =
		recipe_mean_gpu_s(recipe) / (recipe->load * (double)recipe->gpus.from);
	double now_s = 0;

	for (uint64_t i = 0; i < recipe->count.from; i++) {
		struct rng rng;
		struct jobtrace_job job =
			draw_job(recipe, seed, i, recipe->workers.to, &rng);

		now_s -= gap_s * log1p(-rng_uniform(&rng));
		put(jobs, &job, now_s);
	}
}

struct jobtrace_job *
recipe_make(struct recipe *recipe, uint64_t seed, size_t *ret_n)
{
	struct jobs jobs = { 0 };

	if (recipe->arrivals == POISSON)
		put_poisson(recipe, seed, &jobs);
	else
		put_share(recipe, seed, recipe->load, recipe->arrivals == BURST, 0,
			  &jobs);
	if (recipe->arrivals == BURST)
		put_share(recipe, seed, recipe->burst, false,
			  (double)recipe->burst_at_ns / 1e9, &jobs);
	recipe->ids.n = 0;
	vec_reserve(&recipe->ids, (jobs.list.n + 1) * N_ID);
	for (size_t i = 0; i < jobs.list.n; i++) {
		char *id = recipe->ids.items + i * N_ID;

		snprintf(id, N_ID, "job%zu", i + 1);
		jobs.list.items[i].id = id;
	}
	*ret_n = jobs.list.n;
	return jobs.list.items;
}
