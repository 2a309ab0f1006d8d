/* SPDX-License-Identifier: Apache-2.0 */
/*
 * joblist.h - the jobs of a trace or recipe, as input of a cluster (sim/cluster): in
 * order of submission, names as numbers.
 *
 * Times of day are counted from the first submission; relative times stay.  A job of
 * unknown duration takes its iterations; without those it is left out.  About 200
 * bytes per job.
 */
#ifndef SIM_JOBS_JOBLIST_H
#define SIM_JOBS_JOBLIST_H

#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "sim/cluster/cluster.h"
#include "sim/jobs/model_catalog.h"
#include "sim/trace/jobtrace.h"

struct err;

/* Selects jobs; see joblist_filter_init(). */
struct joblist_filter {
	double from_s,
		to_s; /* Range of submission, on the trace's clock; without the end. */
	double min_duration_s, max_duration_s;
	uint32_t min_gpus, max_gpus;
	const char *vc;     /* NULL: any. */
	uint64_t n_head;    /* At most the first n_head matching rows. */
	bool keeps_unknown; /* Keeps jobs of unknown duration (NAN). */
};

struct joblist {
	size_t n;
	struct cluster_job *jobs; /* Owned. */
	uint32_t *id_at;          /* By job: begin of its id in 'ids'. */
	VEC(char) ids;            /* Each ends with a zero. */
	struct strtab *users, *vcs, *models;
	double origin_s; /* The trace's time that is 0 here. */
	enum jobtrace_format format;
	struct jobtrace_counts counts;
	uint64_t n_no_duration, n_filtered; /* Left out, unless kept. */
	bool keeps_unknown;                 /* See the filter. */
	char *faults[10];                   /* The first malformed rows; owned. */
};

/* Matches every job. */
void joblist_filter_init(struct joblist_filter *filter);
bool joblist_filter_passes(const struct joblist_filter *filter,
			   const struct jobtrace_job *job);

/* The time that is 0 in a trace with this first submission. */
double joblist_origin_s(double first_submit_s);
/* Seconds over all attempts; NAN: unknown. */
double joblist_duration_s(const struct jobtrace_job *job);

/* 'filter' may be NULL. Returns 0 or -errno with 'err' filled. */
int joblist_load(const char *path, enum jobtrace_format format,
		 const struct joblist_filter *filter, struct joblist *ret_list,
		 struct err *err);
/* The jobs of a recipe (recipe.h) for a seed.  Likewise. */
int joblist_make(const char *path, uint64_t seed, struct joblist *ret_list,
		 struct err *err);
void joblist_fini(struct joblist *list); /* Accepts a zeroed one. */

/*
 * Returns each job's model in 'catalog', by number; free with free(). A job whose
 * trace names no model of the catalog gets a random one, by its position and the seed;
 * these are counted in '*ret_n_drawn'. A job with fewer than 'min_gpus' GPUs gets
 * POL_NONE.
 */
uint32_t *joblist_find_models(const struct joblist *list,
			      const struct model_catalog *catalog, uint32_t min_gpus,
			      uint64_t seed, uint64_t *ret_n_drawn);

const char *joblist_id(const struct joblist *list, size_t i);
const char *joblist_model(const void *list, uint32_t number); /* "" for none. */
/* Removes jobs with more GPUs; returns how many. */
size_t joblist_drop_above(struct joblist *list, uint32_t n_gpus);

/* Prints "PATH: WHAT: N" on stderr, unless 'n' is 0. */
void joblist_report_count(const char *path, uint64_t n, const char *what);
/* Reports malformed and left out rows on stderr, if any. */
void joblist_report_trace(const struct jobtrace *trace, const char *path);
void joblist_report(const struct joblist *list, const char *path);

#endif
