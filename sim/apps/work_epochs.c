/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/apps/work_epochs.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/base/vec.h"
#include "policies/goodput.h"

#define NODE_GPUS 4    /* GPUs of a measured node. */
#define RESTART_S 30   /* As in Pollux's simulator. */
#define ROUND_UP  1e-8 /* Tolerance above a whole number. */

/* The batch: per GPU, and accumulation steps before gradients are exchanged. */
struct made {
	uint32_t local, n_more;
};

struct train {
	double progress;
	uint32_t epoch;
	double restart_s; /* Remaining iterations of the epoch. */
	struct made made;
	uint32_t counts[APP_MAX_NODES], n_nodes, n_gpus, type;
	double done_s; /* Time in its tick; NAN: not in a tick. */
};

/* What an adapting job knows of a type of GPUs. */
struct known {
	VEC(struct goodput_sample)
	samples;                /* No two of the same placement and batch. */
	struct goodput goodput; /* Fitted to these samples. */
	uint32_t n_most_gpus;
};

struct work {
	struct epochs_job in;
	double first_s; /* Iteration time on the requested GPUs. */
	struct train now, ahead;
	double in_tick_s; /* Time since the state 'now'. */
	bool is_ahead;    /* 'ahead' is its state at the end of the tick. */
	bool adapts;
	size_t stride;
	struct known *known; /* By type; NULL: it does not adapt. */
	uint32_t n_starts, n_preempted;
	VEC(uint32_t) shape; /* GPUs of each node. */
};

struct epochs {
	struct epochs_opts opts;
	uint32_t n_types;
	uint32_t *node_gpus; /* By type. */
	struct work *works;  /* By id. */
	size_t n;
};

/* The application on a type of GPUs. */
static const struct app *
app_of(const struct work *work, uint32_t type)
{
	return work->in.app + type * work->stride;
}

/* ---- Batches --------------------------------------------------------------------- */

static uint32_t
ceil_of(double x)
{
	return (uint32_t)fmax(1, ceil(x - ROUND_UP));
}

/* On one GPU a batch has two steps, between which noise is measured. */
static struct made
make_batch(const struct app *app, double batch, const uint32_t *counts,
	   uint32_t n_nodes, uint32_t n_gpus)
{
	uint32_t local = ceil_of(batch / n_gpus);
	uint32_t max_local = app_max_local(app, counts, n_nodes);
	uint32_t n_more = ceil_of((double)local / max_local) - 1, most;
	struct made made;

	if (n_gpus == 1 && batch > app->first_batch && !n_more)
		n_more = 1;
	most = app->max_batch / (n_gpus * (n_more + 1));
	made.local = ceil_of((double)local / (n_more + 1));
	made.local = made.local < most ? made.local : most;
	made.n_more = n_more;
	return made;
}

/* Iteration time; INFINITY: unknown. */
static double
iteration_s(const struct app *app, const uint32_t *counts, uint32_t n_nodes,
	    struct made made)
{
	struct app_step step;

	if (!made.local || !app_step(app, counts, n_nodes, made.local, &step))
		return INFINITY;
	return (step.step_s + (step.step_s - step.sync_s) * made.n_more) *
	       app->slowdown;
}

/* Full nodes, and the rest on one more; returns how many, or 0: too many. */
static uint32_t
pack(uint32_t n_gpus, uint32_t node_gpus, uint32_t *ret_counts)
{
	uint32_t n_nodes = 0;

	for (; n_gpus && node_gpus && n_nodes < APP_MAX_NODES; n_nodes++) {
		ret_counts[n_nodes] = n_gpus < node_gpus ? n_gpus : node_gpus;
		n_gpus -= ret_counts[n_nodes];
	}
	return n_gpus ? 0 : n_nodes;
}

static double
packed_iteration_s(const struct app *app, double batch, uint32_t n_gpus,
		   uint32_t node_gpus)
{
	uint32_t counts[APP_MAX_NODES], n_nodes = pack(n_gpus, node_gpus, counts);

	if (!n_nodes)
		return INFINITY;
	return iteration_s(app, counts, n_nodes,
			   make_batch(app, batch, counts, n_nodes, n_gpus));
}

/* ---- Adapting -------------------------------------------------------------------- */

static struct goodput_sample *
find_sample(struct known *known, const struct train *t)
{
	for (size_t i = 0; i < known->samples.n; i++) {
		struct goodput_sample *s = &known->samples.items[i];

		if (s->n_nodes == t->n_nodes && s->n_gpus == t->n_gpus &&
		    s->local == t->made.local)
			return s;
	}
	return NULL;
}

/* Measures gradient noise and iteration time during training. */
static void
measure(struct work *work, const struct train *t)
{
	const struct app *app = app_of(work, t->type);
	struct known *known = &work->known[t->type];
	double batch = (double)t->n_gpus * t->made.local * (t->made.n_more + 1);
	struct app_step step;

	if (!t->made.local ||
	    !app_step(app, t->counts, t->n_nodes, t->made.local, &step) ||
	    !(step.step_s > step.sync_s))
		return;
	app_noise(app, batch, t->epoch, &known->goodput.grad_sqr,
		  &known->goodput.grad_var);
	if (find_sample(known, t))
		return;
	vec_push(&known->samples,
		 ((struct goodput_sample){ .n_nodes = t->n_nodes,
					   .n_gpus = t->n_gpus,
					   .local = t->made.local,
					   .grad_s = step.step_s - step.sync_s,
					   .iter_s = step.step_s }));
	if (t->n_gpus > known->n_most_gpus)
		known->n_most_gpus = t->n_gpus;
	goodput_fit(known->samples.items, known->samples.n, known->goodput.params);
}

/* Until there are measurements, the smallest batch for the GPUs. */
static struct made
choose_batch(const struct work *work, const struct train *t)
{
	const struct app *app = app_of(work, t->type);
	struct goodput_batch best = { 0 };
	uint32_t most;

	if (!work->adapts || app->max_gpus == 1)
		return make_batch(app, work->in.batch, t->counts, t->n_nodes,
				  t->n_gpus);
	if (work->known[t->type].samples.n) {
		struct goodput goodput = work->known[t->type].goodput;

		goodput.max_local = app_max_local(app, t->counts, t->n_nodes);
		goodput_best(&goodput, t->n_nodes, t->n_gpus, &best);
	}
	if (!best.local)
		return make_batch(
			app, fmax(app->first_batch, (double)app->min_local * t->n_gpus),
			t->counts, t->n_nodes, t->n_gpus);
	most = app->max_batch / (t->n_gpus * (best.n_more + 1));
	return (struct made){ .local = best.local < most ? best.local : most,
			      .n_more = best.n_more };
}

static uint32_t
report(void *ctx, const struct pol_job *job, struct goodput *ret_goodput)
{
	const struct epochs *e = ctx;
	const struct work *work = &e->works[job->id];
	const struct known *known = &work->known[work->now.type];

	if (known->n_most_gpus)
		*ret_goodput = known->goodput;
	return known->n_most_gpus;
}

/* ---- A tick ---------------------------------------------------------------------- */

/* Present progress per second. */
static double
rate_of(const struct work *work, const struct train *t)
{
	const struct app *app = app_of(work, t->type);
	double batch = (double)t->n_gpus * t->made.local * (t->made.n_more + 1);
	double sqr, var, scale = batch / app->first_batch;

	app_noise(app, batch, t->epoch, &sqr, &var);
	return (var + sqr) / (var / scale + sqr) /
	       iteration_s(app, t->counts, t->n_nodes, t->made);
}

/* An epoch ends at a whole second, perhaps at once. */
static void
step(struct work *work, struct train *t, double tick_s)
{
	const struct app *app = work->in.app;
	double left_s, at_s = fmin(t->restart_s, tick_s);

	t->restart_s -= at_s;
	left_s = tick_s - at_s;
	while (left_s > 0 && isnan(t->done_s)) {
		double rate = rate_of(work, t);
		double next = app_progress(app, t->epoch + 1), took_s = left_s;

		if (work->adapts)
			measure(work, t);
		if (t->progress + rate * left_s < next) {
			t->progress += rate * left_s;
		} else {
			took_s = fmin(left_s, nearbyint((next - t->progress) / rate));
			t->progress = next;
			if (++t->epoch == app->n_epochs)
				t->done_s = at_s + took_s;
		}
		at_s += took_s;
		left_s -= took_s;
		if (work->adapts)
			t->made = choose_batch(work, t);
	}
}

/* Computes its state at the end of the tick. */
static void
look_ahead(const struct epochs *e, struct work *work)
{
	if (work->is_ahead)
		return;
	work->ahead = work->now;
	step(work, &work->ahead, e->opts.tick_s);
	work->is_ahead = true;
}

/* ---- For the cluster ------------------------------------------------------------- */

static double
remaining_s(const struct work *work)
{
	const struct app *app = work->in.app;
	uint32_t last = app->n_epochs - 1, epoch = work->now.epoch;
	double left = 1; /* The job is near its end in the last epoch. */

	if (epoch < last)
		left = app_iterations(app, work->in.batch, last) -
		       app_iterations(app, work->in.batch, epoch);
	return left * work->first_s;
}

static double
speed(void *ctx, const struct pol_job *job, uint32_t n_gpus, uint32_t n_nodes,
      uint32_t type, const struct pol_job *const *mates, uint32_t n_mates)
{
	const struct epochs *e = ctx;
	const struct work *work = &e->works[job->id];

	(void)n_nodes;
	(void)mates;
	(void)n_mates;
	return work->first_s / packed_iteration_s(app_of(work, type), work->in.batch,
						  n_gpus, e->node_gpus[type]);
}

static void
advance(void *ctx, struct pol_job *job, double speed_now, double from_s, double to_s)
{
	double dt_s = to_s - from_s;
	struct epochs *e = ctx;
	struct work *work = &e->works[job->id];

	(void)speed_now;
	job->executed_s += dt_s;
	work->in_tick_s += dt_s;
	if (work->in_tick_s < e->opts.tick_s)
		return;
	look_ahead(e, work);
	work->now = work->ahead;
	work->in_tick_s = 0;
	work->is_ahead = false;
	job->remaining_s = remaining_s(work);
}

/* The type of most of the job's GPUs, and how many they are. */
static uint32_t
main_type(const struct epochs *e, const struct pol_job *job, uint32_t *ret_n)
{
	uint32_t n_of[APP_MAX_TYPES] = { 0 }, best = 0;

	for (uint32_t i = 0; i < job->n_pieces; i++) {
		uint32_t node = job->pieces[i].node;

		n_of[e->opts.stride ? e->opts.cluster->type_of[node] : 0] +=
			job->pieces[i].n_gpus;
	}
	for (uint32_t type = 1; type < e->n_types; type++)
		if (n_of[type] > n_of[best])
			best = type;
	*ret_n = n_of[best];
	return best;
}

/* Whether a running job has moved to as many GPUs of each node, of the same type. */
static bool
keeps_shape(struct work *work, const struct pol_job *job, uint32_t type)
{
	bool keeps = work->n_starts && work->n_preempted == job->n_preempted &&
		     work->now.type == type && work->shape.n == job->n_pieces;

	for (uint32_t i = 0; keeps && i < job->n_pieces; i++)
		keeps = work->shape.items[i] == job->pieces[i].n_gpus;
	work->shape.n = 0;
	for (uint32_t i = 0; i < job->n_pieces; i++)
		vec_push(&work->shape, job->pieces[i].n_gpus);
	work->n_preempted = job->n_preempted;
	return keeps;
}

/*
 * Nodes with more GPUs first.  Where that was not measured, the job is as fast as on full
 * nodes.
 */
static void
begin(struct epochs *e, struct work *work, const struct pol_job *job)
{
	struct train *t = &work->now;
	const struct app *app;
	uint32_t type = main_type(e, job, &t->n_gpus);
	bool keeps = keeps_shape(work, job, type);

	t->n_nodes = 0;
	t->type = type;
	app = app_of(work, t->type);
	for (uint32_t i = 0; i < job->n_pieces && t->n_nodes < APP_MAX_NODES; i++) {
		uint32_t at = t->n_nodes;

		if (e->opts.stride &&
		    e->opts.cluster->type_of[job->pieces[i].node] != t->type)
			continue;
		t->n_nodes++;
		for (; at && t->counts[at - 1] < job->pieces[i].n_gpus; at--)
			t->counts[at] = t->counts[at - 1];
		t->counts[at] = job->pieces[i].n_gpus;
	}
	t->made = choose_batch(work, t);
	if (isinf(iteration_s(app, t->counts, t->n_nodes, t->made))) {
		t->n_nodes = pack(t->n_gpus, e->node_gpus[t->type], t->counts);
		t->made = choose_batch(work, t);
	}
	if (!keeps || !e->opts.moves_are_free)
		t->restart_s = !isnan(e->opts.restart_s) ? e->opts.restart_s
			       : !isnan(app->restart_s)  ? app->restart_s
							 : RESTART_S;
	work->n_starts = job->n_starts;
	work->in_tick_s = 0;
	work->is_ahead = false;
}

/* The speed with which the job ends at that time, not after it. */
static double
speed_until(double now_s, double remaining, double end_s)
{
	double v = remaining / (end_s - now_s);

	while (isfinite(v) && now_s + remaining / v > end_s)
		v = nextafter(v, INFINITY);
	return v;
}

static void
rates(void *ctx, const struct pol_view *view, double *ret_speeds)
{
	struct epochs *e = ctx;

	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];
		struct work *work = &e->works[job->id];
		double end_s;

		ret_speeds[i] = 0;
		if (!job->n_pieces)
			continue;
		if (work->n_starts != job->n_starts)
			begin(e, work, job);
		look_ahead(e, work);
		/* A job that does not end is updated at the next tick. */
		end_s = isnan(work->ahead.done_s) ? 2 * e->opts.tick_s
						  : work->ahead.done_s;
		ret_speeds[i] = speed_until(view->now_s, job->remaining_s,
					    view->now_s - work->in_tick_s + end_s);
	}
}

/* What is known before any measurement. */
static struct known *
new_known(const struct work *work, uint32_t n_types)
{
	struct known *known = xcalloc(n_types, sizeof *known);

	for (uint32_t type = 0; type < n_types; type++) {
		const struct app *app = app_of(work, type);

		known[type].goodput = (struct goodput){
			.first_batch = app->first_batch,
			.max_batch = app->max_batch,
			.min_local = app->min_local,
			.max_local = app->max_local,
		};
	}
	return known;
}

/* Returns false if the job is impossible. */
static bool
add_work(struct epochs *e, size_t i, const struct epochs_job *in)
{
	struct work *work = &e->works[i];

	work->in = *in;
	work->stride = e->opts.stride;
	work->adapts = e->opts.adapts;
	if (work->adapts)
		work->known = new_known(work, e->n_types);
	work->now.done_s = NAN;
	if (!in->n_gpus || in->batch < in->app->first_batch ||
	    in->batch > in->app->max_batch)
		return false;
	work->first_s =
		packed_iteration_s(in->app, in->batch, in->n_gpus, e->node_gpus[0]);
	return isfinite(work->first_s);
}

static void
find_types(struct epochs *e)
{
	const struct pol_cluster *cluster = e->opts.cluster;

	e->n_types = e->opts.stride ? cluster->n_types : 1;
	e->node_gpus = xcalloc(e->n_types, sizeof *e->node_gpus);
	e->node_gpus[0] = NODE_GPUS;
	if (!e->opts.stride)
		return;
	e->node_gpus[0] = 0;
	for (uint32_t i = 0; i < cluster->n_nodes; i++) {
		uint32_t *n = &e->node_gpus[cluster->type_of[i]];

		*n = cluster->n_gpus[i] > *n ? cluster->n_gpus[i] : *n;
	}
}

int
epochs_new(const struct epochs_job *jobs, size_t n, const struct epochs_opts *opts,
	   struct epochs **ret_epochs, struct cluster_job *ret_jobs, size_t *ret_bad)
{
	struct epochs *e = xcalloc(1, sizeof *e);

	e->opts = *opts;
	e->works = xcalloc(n + 1, sizeof *e->works);
	e->n = n;
	find_types(e);
	for (size_t i = 0; i < n; i++) {
		const struct epochs_job *in = &jobs[i];
		uint32_t batch = opts->adapts ? in->app->max_batch : in->batch;
		uint32_t most = batch / in->app->min_local;
		double tick = fmax(1, ceil(in->submit_s / opts->tick_s));

		if (!add_work(e, i, in)) {
			*ret_bad = i;
			epochs_free(e);
			return -EINVAL;
		}
		ret_jobs[i] = (struct cluster_job){
			.submit_s = tick * opts->tick_s,
			.duration_s = remaining_s(&e->works[i]),
			.n_gpus = in->n_gpus,
			.max_gpus = most < in->app->max_gpus ? most : in->app->max_gpus,
			.user = POL_NONE,
			.vc = POL_NONE,
			.model = POL_NONE,
			.predicted_s = NAN,
			.iterations = NAN,
			.iteration_s = e->works[i].first_s,
		};
	}
	*ret_epochs = e;
	return 0;
}

void
epochs_free(struct epochs *epochs)
{
	if (!epochs)
		return;
	for (size_t i = 0; i < epochs->n; i++) {
		struct known *known = epochs->works[i].known;

		for (uint32_t type = 0; known && type < epochs->n_types; type++)
			vec_free(&known[type].samples);
		free(known);
		vec_free(&epochs->works[i].shape);
	}
	free(epochs->works);
	free(epochs->node_gpus);
	free(epochs);
}

struct cluster_work
epochs_work(struct epochs *epochs)
{
	const struct pol_report reports = { .ctx = epochs, .goodput = report };

	return (struct cluster_work){ .ctx = epochs,
				      .speed = { .ctx = epochs, .speed = speed },
				      .report = epochs->opts.adapts
							? reports
							: (struct pol_report){ 0 },
				      .advance = advance,
				      .rates = rates };
}
