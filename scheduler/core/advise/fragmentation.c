/* SPDX-License-Identifier: Apache-2.0 */
/* The formula is in fragmentation.h. */
#include "scheduler/core/advise/fragmentation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "lib/base/vec.h"
#include "scheduler/core/advise/advise.h"
#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/advise/place.h"
#include "scheduler/core/advise/predict.h"
#include "scheduler/core/advise/racks.h"
#include "scheduler/core/paths/link_loads.h"
#include "scheduler/core/workload/workload.h"

/* The workers of a job in one rack. */
struct part {
	uint32_t job; /* Index in 'jobs'. */
	uint32_t rack, n_workers;
};

struct fragmentation_maker {
	struct topo *topo;        /* Borrowed. */
	struct work_job job;      /* A shallow copy of the job that is judged. */
	struct workload workload; /* That job. */
	struct place *place;      /* Owned.  Empty between calls. */
	struct racks *racks;      /* Owned. */
	uint32_t *n_workers;      /* Owned.  By rack; zero between calls. */
	VEC(struct fragmentation_job) jobs;
	VEC(struct part) parts;
	uint32_t n_unknown;
};

struct fragmentation_maker *
fragmentation_maker_new(struct topo *topo, struct routes *routes)
{
	struct fragmentation_maker *maker = xcalloc(1, sizeof *maker);

	maker->topo = topo;
	maker->place = place_new(topo, routes, &maker->workload, PLACE_HASHED);
	maker->workload = (struct workload){ &maker->job, 1 };
	maker->racks = racks_new(maker->place);
	maker->n_workers = xcalloc(racks_n(maker->racks) + 1, sizeof(uint32_t));
	return maker;
}

static void
jobs_free(struct fragmentation_job *jobs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(jobs[i].name);
	free(jobs);
}

void
fragmentation_maker_free(struct fragmentation_maker *maker)
{
	if (!maker)
		return;
	jobs_free(maker->jobs.items, maker->jobs.n);
	vec_free(&maker->parts);
	racks_free(maker->racks);
	place_free(maker->place);
	free(maker->n_workers);
	free(maker);
}

void
fragmentation_fini(struct fragmentation *fragmentation)
{
	jobs_free(fragmentation->jobs, fragmentation->n_jobs_listed);
	for (size_t i = 0; i < fragmentation->n_racks_listed; i++)
		free(fragmentation->racks[i].name);
	free(fragmentation->racks);
	*fragmentation = (struct fragmentation){ 0 };
}

/* ---- One job --------------------------------------------------------------------- */

/* Simulates the judged job, alone on its place. */
static double
predict_alone(const struct fragmentation_maker *maker)
{
	const struct predict_job job = {
		.job = &maker->job,
		.routed = place_routed_job(maker->place, 0),
		.has_random_phase = true,
		.pacing = ENGINE_PACE_FREE,
	};
	struct predict_opts opts = { .seed = 1,
				     .n_seeds = ADVISE_MIN_SEEDS,
				     .n_iterations = ADVISE_ITERATIONS };
	double cost = opts.n_seeds * predict_cost(&job, 1, opts.n_iterations), slowdown;
	struct prediction prediction;

	if (cost > FRAGMENTATION_FLOWS)
		opts.n_iterations =
			(uint32_t)fmax(PREDICT_MIN_ITERATIONS,
				       opts.n_iterations * FRAGMENTATION_FLOWS / cost);
	predict(&job, 1, maker->topo, &opts, &prediction);
	slowdown = prediction_mean(&prediction, 0);
	prediction_fini(&prediction);
	return slowdown;
}

/* As in advise.h, a job that can exceed no link has slowdown 1. */
static int
slowdown_alone(struct fragmentation_maker *maker, const uint32_t *hosts,
	       double *ret_slowdown)
{
	const struct routed_job *routed;
	bool is_exceedable = false;
	int r;

	place_renew(maker->place, 0);
	r = place_put(maker->place, 0, hosts);
	if (r < 0)
		return r;
	routed = place_routed_job(maker->place, 0);
	for (size_t i = 0; i < routed->footprint.n; i++)
		is_exceedable |=
			link_loads_is_exceedable(place_link_loads(maker->place),
						 routed->footprint.entries[i].link);
	*ret_slowdown = is_exceedable ? predict_alone(maker) : 1;
	place_remove(maker->place, 0);
	return 0;
}

/* The racks of the judged job, as parts of the job with that index. */
static uint32_t
add_parts(struct fragmentation_maker *maker, uint32_t index)
{
	const struct work_job *job = &maker->job;
	uint32_t n_racks = 0;

	for (uint32_t i = 0; i < job->n_hosts_wanted; i++)
		n_racks +=
			maker->n_workers[racks_of(maker->racks, job->hosts[i])]++ == 0;
	for (uint32_t i = 0; i < job->n_hosts_wanted; i++) {
		uint32_t rack = racks_of(maker->racks, job->hosts[i]);

		if (maker->n_workers[rack] == 0)
			continue; /* Added already. */
		vec_push(&maker->parts,
			 ((struct part){ index, rack, maker->n_workers[rack] }));
		maker->n_workers[rack] = 0;
	}
	return n_racks;
}

static uint32_t
n_fragments(uint32_t n_racks)
{
	return n_racks > 1 ? n_racks : 0;
}

int
fragmentation_add(struct fragmentation_maker *maker, const struct work_job *job,
		  double slowdown)
{
	struct fragmentation_job own = {
		.weight = job->weight,
		.n_hosts = job->n_hosts_wanted,
		.slowdown = slowdown,
	};
	uint32_t *packed = xcalloc(job->n_hosts_wanted + 1, sizeof *packed);
	size_t n_parts = maker->parts.n;
	const uint32_t *hosts = packed;
	int r;

	maker->job = *job;
	own.n_racks = add_parts(maker, (uint32_t)maker->jobs.n);
	r = racks_fewest(maker->racks, job->n_hosts_wanted, job->slots_per_host, packed,
			 &own.n_racks_needed);
	/* Running jobs may overdraw slots: where they are is possible in any case. */
	if (r < 0 || own.n_racks_needed >= own.n_racks) {
		own.n_racks_needed = own.n_racks;
		hosts = job->hosts;
	}
	own.n_extra_fragments =
		n_fragments(own.n_racks) - n_fragments(own.n_racks_needed);
	r = slowdown_alone(maker, hosts, &own.slowdown_packed);
	free(packed);
	if (r < 0) {
		maker->parts.n = n_parts;
		maker->n_unknown++;
		return r;
	}
	own.name = xstrdup(job->name);
	vec_push(&maker->jobs, own);
	return 0;
}

void
fragmentation_add_unknown(struct fragmentation_maker *maker)
{
	maker->n_unknown++;
}

/* ---- All jobs -------------------------------------------------------------------- */

static int
compare_jobs(const void *a, const void *b)
{
	const struct fragmentation_job *x = a, *y = b;

	if (x->lost_frac != y->lost_frac)
		return x->lost_frac > y->lost_frac ? -1 : 1;
	if (x->n_extra_fragments != y->n_extra_fragments)
		return x->n_extra_fragments > y->n_extra_fragments ? -1 : 1;
	return strverscmp(x->name, y->name);
}

static int
compare_racks(const void *a, const void *b)
{
	const struct fragmentation_rack *x = a, *y = b;

	if (x->lost_frac != y->lost_frac)
		return x->lost_frac > y->lost_frac ? -1 : 1;
	if (x->n_fragments != y->n_fragments)
		return x->n_fragments > y->n_fragments ? -1 : 1;
	return strverscmp(x->name, y->name);
}

/* Sums up the jobs, and shares out what is lost. */
static void
sum_jobs(struct fragmentation_maker *maker, struct fragmentation *f)
{
	double now = 0, packed = 0, weights = 0;

	for (size_t i = 0; i < maker->jobs.n; i++) {
		const struct fragmentation_job *job = &maker->jobs.items[i];

		now += job->weight / job->slowdown;
		packed += job->weight / job->slowdown_packed;
		weights += job->weight;
		f->n_fragmented += job->n_racks > job->n_racks_needed;
	}
	f->n_jobs = (uint32_t)maker->jobs.n;
	f->n_unknown = maker->n_unknown;
	f->lost_frac = packed > 0 ? 1 - now / packed : (double)NAN;
	f->goodput = weights > 0 ? now / weights : (double)NAN;
	f->goodput_packed = weights > 0 ? packed / weights : (double)NAN;
	for (size_t i = 0; i < maker->jobs.n; i++) {
		struct fragmentation_job *job = &maker->jobs.items[i];

		job->lost_frac = job->weight *
				 (1 / job->slowdown_packed - 1 / job->slowdown) /
				 packed;
	}
}

/* Needs the jobs in the order in which they were added. */
static void
sum_racks(const struct fragmentation_maker *maker, struct fragmentation *f)
{
	uint32_t n = racks_n(maker->racks);
	struct fragmentation_rack *racks = xcalloc(n + 1, sizeof *racks);

	for (size_t i = 0; i < maker->parts.n; i++) {
		const struct part *part = &maker->parts.items[i];
		const struct fragmentation_job *job = &maker->jobs.items[part->job];

		racks[part->rack].n_jobs++;
		racks[part->rack].n_fragments += part->n_workers < job->n_hosts;
		racks[part->rack].lost_frac +=
			job->lost_frac * part->n_workers / job->n_hosts;
	}
	for (uint32_t r = 0; r < n; r++) {
		if (racks[r].n_jobs == 0)
			continue;
		racks[r].name = xstrdup(racks_name(maker->racks, r));
		racks[f->n_racks_listed++] = racks[r];
	}
	sort_items(racks, f->n_racks_listed, compare_racks);
	f->racks = racks;
}

void
fragmentation_take(struct fragmentation_maker *maker,
		   struct fragmentation *ret_fragmentation)
{
	struct fragmentation f = { 0 };

	sum_jobs(maker, &f);
	sum_racks(maker, &f);
	sort_items(maker->jobs.items, maker->jobs.n, compare_jobs);
	f.jobs = maker->jobs.items;
	f.n_jobs_listed = maker->jobs.n;
	memset(&maker->jobs, 0, sizeof maker->jobs);
	maker->parts.n = 0;
	maker->n_unknown = 0;
	*ret_fragmentation = f;
}

/* ---- A workload ------------------------------------------------------------------ */

int
fragmentation_of_workload(const struct workload *workload, struct topo *topo,
			  struct routes *routes, uint64_t seed,
			  struct fragmentation *ret_fragmentation)
{
	const struct advise_opts opts = { .policy = ADVISE_FAIR, .seed = seed };
	struct workload placed = { .jobs = xcalloc(workload->n + 1,
						   sizeof *placed.jobs) };
	struct fragmentation_maker *maker;
	struct advice_set *set;
	int r;

	for (size_t j = 0; j < workload->n; j++)
		if (workload->jobs[j].hosts)
			placed.jobs[placed.n++] = workload->jobs[j]; /* Shallow. */
	r = advise(&placed, topo, routes, &opts, &set);
	if (r < 0) {
		free(placed.jobs);
		return r;
	}
	maker = fragmentation_maker_new(topo, routes);
	for (size_t j = 0; j < placed.n && r == 0; j++)
		r = fragmentation_add(maker, &placed.jobs[j],
				      set->items[j].slowdown_before);
	if (r == 0)
		fragmentation_take(maker, ret_fragmentation);
	fragmentation_maker_free(maker);
	advice_set_free(set);
	free(placed.jobs);
	return r;
}
