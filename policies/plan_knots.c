/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_knots.c - jobs of one GPU share it if their use of it does not rise and fall
 * together, or if a peak is not near (Kube-Knots, CLUSTER 2019).
 *
 * The series of a job follow from its iteration: it uses the GPU in its GPU stage only;
 * its memory is at its peak then, and at a share of that otherwise.  A job that waits is
 * taken to begin now.  Jobs are resized to the 90th percentile of their memory.
 */
#include <math.h>
#include <string.h>

#include "lib/base/stats.h"
#include "policies/math/series.h"
#include "policies/packer.h"
#include "policies/planners.h"
#include "policies/stages.h"

#define N_SAMPLES  250 /* The last 5 s, by 20 ms. */
#define SAMPLE_S   0.02
#define LAG        50 /* 1 s. */
#define PERCENTILE 0.9

enum {
	PREDICT,
	MAX_CORRELATION,
	MEMORY,
	BASE,
	N_PARAMS,
};

/* Of a GPU: shares, by time. */
struct series {
	double used[N_SAMPLES], memory[N_SAMPLES];
};

/* A job on GPUs of a type. */
struct load {
	bool is_known;        /* Its stages are. */
	double size;          /* Share of the memory, resized. */
	struct series series; /* If its stages are known. */
};

/* A slot of the packer. */
struct sum {
	bool is_known;        /* The stages of all its jobs are. */
	double room;          /* The share of its memory that its jobs leave. */
	struct series series; /* Of its jobs. */
};

struct state {
	struct packer packer; /* First: order_list_on_event(). */
	double params[N_PARAMS];
	VEC(uint32_t) ids;    /* Waiting jobs, the largest memory first. */
	VEC(struct sum) sums; /* Of the first slots: those that were looked at. */
};

static void
init(void *state, const double *values, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;

	(void)rng;
	for (int i = 0; i < N_PARAMS; i++)
		s->params[i] = values[i];
	packer_init(&s->packer, cluster);
}

static void
fini(void *state)
{
	struct state *s = state;

	packer_fini(&s->packer);
	vec_free(&s->ids);
	vec_free(&s->sums);
}

/* ---- Series ---------------------------------------------------------------------- */

/* A job's peak as a share of a GPU's memory. */
static double
peak(const struct state *s, const struct pol_view *view, const struct pol_job *job,
     uint32_t type)
{
	double all = pol_cluster_capacity(view->cluster, type).of[NEED_GPU_MEMORY];
	double memory = job->needs.of[NEED_GPU_MEMORY];

	return all > 0 && memory > 0 ? memory / all : s->params[MEMORY];
}

static void
make_series(const struct state *s, const struct pol_view *view,
	    const struct pol_job *job, double most, struct series *ret)
{
	double load_s = job->stage_s[0];
	double cycle_s = load_s + job->stage_s[1] + job->stage_s[2];
	double ran_s = job->n_pieces ? view->now_s - job->since_s : 0;

	for (int i = 0; i < N_SAMPLES; i++) {
		double at_s = fmod(ran_s - (N_SAMPLES - i) * SAMPLE_S, cycle_s);
		bool computes;

		at_s += at_s < 0 ? cycle_s : 0;
		computes = at_s >= load_s && at_s < load_s + job->stage_s[1];
		ret->used[i] = computes;
		ret->memory[i] = computes ? most : most * s->params[BASE];
	}
}

/* The 90th percentile of a job's memory. */
static double
resized(const struct series *series)
{
	double sorted[N_SAMPLES];

	memcpy(sorted, series->memory, sizeof sorted);
	stats_sort(sorted, N_SAMPLES);
	return stats_quantile(sorted, N_SAMPLES, PERCENTILE);
}

static void
make_load(const struct state *s, const struct pol_view *view, const struct pol_job *job,
	  uint32_t type, struct load *ret)
{
	ret->is_known = stages_are_known(job);
	ret->size = peak(s, view, job, type);
	if (!ret->is_known)
		return;
	make_series(s, view, job, ret->size, &ret->series);
	ret->size = resized(&ret->series);
}

static void
add_load(struct sum *sum, const struct load *load)
{
	sum->is_known &= load->is_known;
	sum->room -= load->size;
	for (int i = 0; sum->is_known && i < N_SAMPLES; i++) {
		sum->series.used[i] += load->series.used[i];
		sum->series.memory[i] += load->series.memory[i];
	}
}

/* Sums up the slots that are new since the last call for this plan. */
static void
sum_up(struct state *s, const struct pol_view *view)
{
	while (s->sums.n < s->packer.slots.n) {
		const struct packer_slot *slot = &s->packer.slots.items[s->sums.n];
		struct sum sum = { .is_known = true, .room = 1 };
		struct load load;

		for (uint32_t i = 0; i < slot->n; i++) {
			make_load(s, view, &view->jobs[slot->ids[i]],
				  view->cluster->type_of[slot->node], &load);
			add_load(&sum, &load);
		}
		vec_push(&s->sums, sum);
	}
}

/* ---- Sharing --------------------------------------------------------------------- */

static bool
may_join(const struct state *s, uint32_t slot, const struct load *load)
{
	const struct sum *sum = &s->sums.items[slot];
	const struct series *there = &sum->series;

	if (s->packer.slots.items[slot].n == PACKER_MAX_JOBS ||
	    load->size > sum->room || !load->is_known || !sum->is_known)
		return false;
	if (series_correlation(there->used, load->series.used, N_SAMPLES) <
	    s->params[MAX_CORRELATION])
		return true;
	return s->params[PREDICT] > 0 &&
	       series_autocorrelation(there->memory, N_SAMPLES, LAG) > 0 &&
	       1 - series_forecast(there->memory, N_SAMPLES, LAG) >= load->size;
}

/* Lets a job join the slot with most memory left that it may join; false: there is none. */
static bool
join(struct state *s, const struct pol_view *view, const struct pol_job *job)
{
	uint32_t best = POL_NONE, type = POL_NONE;
	double most = -INFINITY;
	struct load load, best_load;

	sum_up(s, view);
	for (uint32_t i = 0; i < s->sums.n; i++) {
		uint32_t node = s->packer.slots.items[i].node;

		if (s->sums.items[i].room <= most)
			continue;
		if (view->cluster->type_of[node] != type) {
			type = view->cluster->type_of[node];
			make_load(s, view, job, type, &load);
		}
		if (may_join(s, i, &load)) {
			most = s->sums.items[i].room;
			best = i;
			best_load = load;
		}
	}
	if (best == POL_NONE)
		return false;
	packer_join(&s->packer, best, job);
	add_load(&s->sums.items[best], &best_load);
	return true;
}

/* ---- The plan -------------------------------------------------------------------- */

static void
list_waiting(struct state *s, const struct pol_view *view)
{
	struct order_list *list = &s->packer.list;
	double *keys = order_list_keys(list, view);

	s->ids.n = 0;
	for (size_t i = 0; i < list->ids.n; i++) {
		const struct pol_job *job = &view->jobs[list->ids.items[i]];

		keys[job->id] = -peak(s, view, job, 0);
		if (!job->n_pieces)
			vec_push(&s->ids, job->id);
	}
	order_list_sort_ids(list, s->ids.items, (uint32_t)s->ids.n);
}

/* States what resized jobs get of memory whose size is known. */
static void
resize(const struct state *s, const struct pol_view *view, struct pol_plan *plan)
{
	for (size_t i = 0; i < plan->grants.n; i++) {
		struct pol_grant *grant = &plan->grants.items[i];
		const struct pol_job *job = &view->jobs[grant->job];
		uint32_t node = plan->pieces.items[grant->first_piece].node;
		uint32_t type = view->cluster->type_of[node];
		double all =
			pol_cluster_capacity(view->cluster, type).of[NEED_GPU_MEMORY];
		struct load load;

		if (grant->n_gpus != 1 || all <= 0)
			continue;
		make_load(s, view, job, type, &load);
		grant->given.of[NEED_GPU_MEMORY] = load.size * all;
	}
}

static uint32_t
plan(void *state, const struct pol_view *view, struct pol_plan *plans, uint32_t n_max)
{
	struct state *s = state;

	(void)n_max;
	packer_begin(&s->packer, view, &plans[0]);
	s->sums.n = 0;
	list_waiting(s, view);
	for (size_t i = 0; i < s->ids.n; i++) {
		const struct pol_job *job = &view->jobs[s->ids.items[i]];

		if (job->n_gpus != 1 || !join(s, view, job))
			packer_place(&s->packer, view, job, &plans[0]);
	}
	packer_end(&s->packer, &plans[0]);
	resize(s, view, &plans[0]);
	return 1;
}

static const struct pol_param params[] = {
	[PREDICT] =
		POL_SWITCH("kube-knots.predict_peaks",
			   "1: a GPU whose peak is not near may be shared, too (PP); "
			   "0: not (CBP)",
			   1),
	[MAX_CORRELATION] = { "kube-knots.max_correlation",
			      "correlation below which jobs share a GPU (Kube-Knots)",
			      0.5, -1, 1, false },
	[MEMORY] = { "kube-knots.memory",
		     "share of a GPU's memory that a job of unknown memory needs "
		     "(assumed)",
		     0.4, 0, 1, false },
	[BASE] = { "kube-knots.base_memory",
		   "memory outside the GPU stage, as a share of the peak (assumed)",
		   0.5, 0, 1, false },
	[N_PARAMS] = { 0 },
};

const struct pol_planner planner_knots = {
	.module = { .name = "kube-knots",
		    .text = "a GPU in use whose jobs do not peak together, else an idle "
			    "one",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini,
		    .on_event = order_list_on_event },
	.plan = plan,
};
