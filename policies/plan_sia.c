/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_sia.c - the type and the number of GPUs of each job, for the largest fair sum of
 * goodputs (Sia, SOSP 2023, section 3).
 *
 * The value of a configuration c for job j is its goodput over the job's least one,
 * times the restart factor of the job unless it has c now.  Each round chooses at most
 * one configuration X_jc of each job:
 *
 *	minimize   sum A_jc X_jc + waiting_cost (jobs - sum X_jc),   A_jc = value^power
 *	such that  the chosen GPUs of each type are there
 *
 * which is a multiple-choice knapsack (math/knapsack.h) with the value waiting_cost -
 * A_jc, and solved exactly.
 *
 * A job reports its goodput on the type of GPUs that it uses; the last report for each
 * type is kept.  On a type that it has not tried, its goodput is that on another one,
 * times the ratio of its speeds on one GPU.  A job without any report gets one GPU.  A
 * job that is not elastic gets its number of GPUs of any type, or none; of one that never
 * reports, speeds are used.
 */
#include <math.h>
#include <string.h>

#include "policies/configs.h"
#include "policies/goodput.h"
#include "policies/math/knapsack.h"
#include "policies/planners.h"

#define MAX_COST 3000 /* As in Sia's code. */

enum {
	POWER,
	WAITING,
	GROWTH,
	MAX_GPUS,
	RESTART_S,
	N_PARAMS,
};

/* The last report of a job on a type. */
struct model {
	bool is_known;
	struct goodput goodput;
};

struct state {
	double params[N_PARAMS];
	struct configs configs;
	VEC(struct model) models;   /* By job and type. */
	VEC(uint32_t) n_seen;       /* By job: most GPUs measured; as in pol_report. */
	VEC(uint32_t) last;         /* By job: the type of its last GPUs. */
	VEC(struct config) options; /* Of a job. */
	VEC(double) goodputs;       /* Of these. */
	VEC(struct knapsack_choice) choices;
	VEC(struct config) chosen; /* By choice. */
	VEC(uint32_t) taken;       /* By job of the view. */
	VEC(uint32_t) capacities;  /* By type. */
	VEC(struct pol_want) wants;
	const struct pol_view *view;
};

static void
init(void *state, const double *params, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;

	(void)rng;
	memcpy(s->params, params, sizeof s->params);
	configs_init(&s->configs, cluster);
}

static void
fini(void *state)
{
	struct state *s = state;

	configs_fini(&s->configs);
	vec_free(&s->models);
	vec_free(&s->n_seen);
	vec_free(&s->last);
	vec_free(&s->options);
	vec_free(&s->goodputs);
	vec_free(&s->choices);
	vec_free(&s->chosen);
	vec_free(&s->taken);
	vec_free(&s->capacities);
	vec_free(&s->wants);
}

/* ---- Reports --------------------------------------------------------------------- */

static struct model *
model_of(const struct state *s, uint32_t id, uint32_t type)
{
	return &s->models.items[(size_t)id * s->view->cluster->n_types + type];
}

static void
make_room(struct state *s)
{
	size_t n = (size_t)s->view->n_ids * s->view->cluster->n_types;

	while (s->last.n < s->view->n_ids) {
		vec_push(&s->last, POL_NONE);
		vec_push(&s->n_seen, POL_NONE);
	}
	while (s->view->report.goodput && s->models.n < n)
		vec_push(&s->models, (struct model){ 0 });
}

static void
ask(struct state *s, const struct pol_job *job)
{
	const struct pol_report *report = &s->view->report;
	struct config now = configs_now(s->view->cluster, job);
	struct goodput goodput;
	uint32_t n_seen;

	if (now.n_gpus)
		s->last.items[job->id] = now.type;
	if (!report->goodput)
		return;
	n_seen = report->goodput(report->ctx, job, &goodput);
	if (n_seen && n_seen != POL_NONE && s->last.items[job->id] != POL_NONE)
		*model_of(s, job->id, s->last.items[job->id]) =
			(struct model){ true, goodput };
	/* On a new type it reports nothing at first. */
	if (s->n_seen.items[job->id] == POL_NONE || n_seen > s->n_seen.items[job->id])
		s->n_seen.items[job->id] = n_seen;
}

/* ---- Goodputs -------------------------------------------------------------------- */

static double
speed_of(const struct state *s, const struct pol_job *job, struct config config)
{
	const struct pol_speed *speed = &s->view->speed;

	if (!speed->speed)
		return 1;
	return speed->speed(speed->ctx, job, config.n_gpus, config.n_nodes, config.type,
			    NULL, 0);
}

/* By the model of its type, or by that of the first type that has one. */
static double
reported_goodput(const struct state *s, const struct pol_job *job, struct config config)
{
	const struct model *model = model_of(s, job->id, config.type);
	struct goodput_batch batch;
	struct config other;
	uint32_t type = 0;
	double ratio;

	if (model->is_known)
		return goodput_best(&model->goodput, config.n_nodes, config.n_gpus,
				    &batch);
	while (!model_of(s, job->id, type)->is_known)
		type++;
	other = configs_of(&s->configs, type, config.n_gpus);
	ratio = speed_of(s, job, (struct config){ config.type, 1, 1 }) /
		speed_of(s, job, (struct config){ type, 1, 1 });
	return isfinite(ratio)
		       ? ratio * goodput_best(&model_of(s, job->id, type)->goodput,
					      other.n_nodes, other.n_gpus, &batch)
		       : 0;
}

static double
goodput_of(const struct state *s, const struct pol_job *job, struct config config)
{
	uint32_t n_seen = s->n_seen.items[job->id];

	if (n_seen == POL_NONE || job->max_gpus <= job->n_gpus)
		return speed_of(s, job, config);
	return n_seen ? reported_goodput(s, job, config) : 1;
}

/* The most GPUs of an elastic job. */
static uint32_t
most_gpus(const struct state *s, const struct pol_job *job)
{
	uint32_t n_seen = s->n_seen.items[job->id];
	double most = fmin(job->max_gpus, s->params[MAX_GPUS]);

	if (n_seen != POL_NONE)
		most = fmin(most, fmax(1, s->params[GROWTH] * n_seen));
	return (uint32_t)fmax(1, most);
}

static void
add_option(struct state *s, const struct pol_job *job, struct config config)
{
	double goodput;

	if (config.n_gpus > s->configs.n_gpus.items[config.type])
		return;
	goodput = goodput_of(s, job, config);
	if (!(goodput > 0) || isinf(goodput))
		return;
	vec_push(&s->options, config);
	vec_push(&s->goodputs, goodput);
}

/* Fills the options of a job; their goodputs are relative to the least. */
static void
find_options(struct state *s, const struct pol_job *job)
{
	bool is_elastic = job->max_gpus > job->n_gpus;
	uint32_t most = most_gpus(s, job);
	double least = INFINITY;

	s->options.n = s->goodputs.n = 0;
	for (size_t i = 0; is_elastic && i < s->configs.all.n; i++)
		if (s->configs.all.items[i].n_gpus <= most)
			add_option(s, job, s->configs.all.items[i]);
	for (uint32_t type = 0; !is_elastic && type < s->view->cluster->n_types; type++)
		add_option(s, job, configs_of(&s->configs, type, job->n_gpus));
	for (size_t i = 0; i < s->goodputs.n; i++)
		least = fmin(least, s->goodputs.items[i]);
	/* That of a whole gang on the slowest type is its number of GPUs. */
	for (size_t i = 0; i < s->goodputs.n; i++)
		s->goodputs.items[i] *= (is_elastic ? 1 : job->n_gpus) / least;
}

/* The share of a job's age that restarts leave, with one more. */
static double
restart_factor(const struct state *s, const struct pol_job *job)
{
	double restart_s = s->params[RESTART_S];
	double age_s = s->view->now_s - job->submit_s;
	double n_restarts = job->n_starts ? job->n_starts - 1 : 0;

	if (age_s < restart_s || age_s <= 0)
		return 1;
	return fmax(age_s - n_restarts * restart_s, 0) / (age_s + restart_s);
}

/* ---- The plan -------------------------------------------------------------------- */

/* A job that is starting keeps its GPUs: a stop would waste the start. */
static bool
is_starting(const struct state *s, const struct pol_job *job)
{
	return job->n_pieces && s->view->now_s - job->since_s < s->params[RESTART_S];
}

static void
want(struct state *s, const struct pol_job *job, struct config config)
{
	vec_push(&s->wants, ((struct pol_want){ .job = job->id,
						.n_gpus = config.n_gpus,
						.type = config.type,
						.n_held = job->n_held_gpus }));
}

static void
add_choices(struct state *s, uint32_t class, const struct pol_job *job)
{
	struct config now = configs_now(s->view->cluster, job);
	double factor = now.n_gpus ? restart_factor(s, job) : 1;

	find_options(s, job);
	for (size_t i = 0; i < s->options.n; i++) {
		struct config config = s->options.items[i];
		bool is_now = config.type == now.type && config.n_gpus == now.n_gpus;
		double value = s->goodputs.items[i] * (is_now ? 1 : factor);
		double cost = fmin(pow(value, s->params[POWER]), MAX_COST);

		if (cost >= s->params[WAITING])
			continue;
		vec_push(&s->choices,
			 ((struct knapsack_choice){ class, config.type, config.n_gpus,
						    s->params[WAITING] - cost }));
		vec_push(&s->chosen, config);
	}
}

static void
choose(struct state *s)
{
	const struct pol_view *view = s->view;

	s->choices.n = s->chosen.n = s->wants.n = s->capacities.n = s->taken.n = 0;
	for (uint32_t type = 0; type < view->cluster->n_types; type++)
		vec_push(&s->capacities, s->configs.n_gpus.items[type]);
	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];
		struct config now = configs_now(view->cluster, job);

		ask(s, job);
		vec_push(&s->taken, KNAPSACK_NONE);
		if (is_starting(s, job)) {
			s->capacities.items[now.type] -= now.n_gpus;
			want(s, job, now);
		} else {
			add_choices(s, i, job);
		}
	}
	/* A problem that is too large is solved approximately. */
	(void)knapsack_solve(s->choices.items, (uint32_t)s->choices.n, view->n_jobs,
			     s->capacities.items, view->cluster->n_types,
			     s->taken.items);
}

static uint32_t
plan(void *state, const struct pol_view *view, struct pol_plan *plans, uint32_t n_max)
{
	struct state *s = state;
	double score = 0;

	(void)n_max;
	s->view = view;
	configs_count(&s->configs, view->cluster);
	make_room(s);
	choose(s);
	for (uint32_t i = 0; i < view->n_jobs; i++) {
		uint32_t at = s->taken.items[i];

		if (at == KNAPSACK_NONE)
			continue;
		score += s->choices.items[at].value;
		want(s, &view->jobs[view->ids[i]], s->chosen.items[at]);
	}
	configs_place(&s->configs, view, s->wants.items, (uint32_t)s->wants.n, plans);
	plans->score = score;
	return 1;
}

static const struct pol_param params[] = {
	[POWER] = { "sia.power", "exponent of relative goodputs; lower is fairer", -0.5,
		    -16, -0.01, false },
	[WAITING] = { "sia.waiting_cost",
		      "cost of a job without GPUs; one with the least goodput costs 1",
		      1.1, 0, 3000, false },
	[GROWTH] = { "sia.growth",
		     "most GPUs of a job, as a multiple of what it has measured", 2, 1,
		     1e6, false },
	[MAX_GPUS] = { "sia.max_gpus", "most GPUs of an elastic job", 64, 1, 65535,
		       true },
	[RESTART_S] = { "sia.restart_s", "assumed cost of a restart, s", 30, 0, 1e6,
			false },
	[N_PARAMS] = { 0 },
};

const struct pol_planner planner_sia = {
	.module = { .name = "sia",
		    .text = "types and numbers of GPUs by the fair sum of goodputs",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini },
	.plan = plan,
	.by_type = true,
};
