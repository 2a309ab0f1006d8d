#include "sim/apps/work_epochs.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/base/alloc.h"

#define NODE_GPUS 4    /* Of the nodes that were measured. */
#define ROUND_UP  1e-8 /* What is above a whole number by less is not. */

/* How the batch is made: so much a GPU, and as many times before gradients are exchanged. */
struct made {
	uint32_t local, n_more;
};

struct train {
	double progress;
	uint32_t epoch;
	double restart_s; /* Left of it. */
	struct made made;
	uint32_t counts[APP_MAX_NODES], n_nodes, n_gpus;
	double done_s; /* In its tick; NAN: not in it. */
};

struct work {
	struct epochs_job in;
	double first_s; /* An iteration on what it asked for. */
	struct train now;
	double in_tick_s; /* Since it was as in 'now'. */
	double ends_s;    /* In this tick; NAN: it does not. */
	bool is_ahead;    /* 'ends_s' was found. */
	uint32_t n_starts;
};

struct epochs {
	struct epochs_opts opts;
	struct work *works; /* By id. */
	size_t n;
};

/* ---- Batches -------------------------------------------------------------------------------- */

static uint32_t
ceil_of(double x)
{
	return (uint32_t)fmax(1, ceil(x - ROUND_UP));
}

/* On one GPU it is made of two, as noise is measured between them. */
static struct made
make_batch(const struct app *app, double batch, uint32_t n_gpus)
{
	uint32_t local = ceil_of(batch / n_gpus);
	uint32_t n_more = ceil_of((double)local / app->max_local) - 1, most;
	struct made made;

	if (n_gpus == 1 && batch > app->first_batch && !n_more)
		n_more = 1;
	most = app->max_batch / (n_gpus * (n_more + 1));
	made.local = ceil_of((double)local / (n_more + 1));
	made.local = made.local < most ? made.local : most;
	made.n_more = n_more;
	return made;
}

/* Of an iteration; INFINITY: unknown. */
static double
iteration_s(const struct app *app, const uint32_t *counts, uint32_t n_nodes,
	    struct made made)
{
	struct app_step step;

	if (!made.local || !app_step(app, counts, n_nodes, made.local, &step))
		return INFINITY;
	return step.step_s + (step.step_s - step.sync_s) * made.n_more;
}

/* On full nodes, and the rest on one more. */
static double
packed_iteration_s(const struct app *app, double batch, uint32_t n_gpus)
{
	uint32_t counts[APP_MAX_NODES], n_nodes = 0, left = n_gpus;

	for (; left && n_nodes < APP_MAX_NODES; n_nodes++) {
		counts[n_nodes] = left < NODE_GPUS ? left : NODE_GPUS;
		left -= counts[n_nodes];
	}
	if (left)
		return INFINITY;
	return iteration_s(app, counts, n_nodes, make_batch(app, batch, n_gpus));
}

/* ---- A tick ----------------------------------------------------------------------------------- */

/* Progress a second, as it is. */
static double
rate_of(const struct work *work, const struct train *t)
{
	const struct app *app = work->in.app;
	double batch = (double)t->n_gpus * t->made.local * (t->made.n_more + 1);
	double sqr, var, scale = batch / app->first_batch;

	app_noise(app, batch, t->epoch, &sqr, &var);
	return (var + sqr) / (var / scale + sqr) /
	       iteration_s(app, t->counts, t->n_nodes, t->made);
}

/* An epoch is over at a whole second, and may be over at once. */
static void
step(const struct work *work, struct train *t, double tick_s)
{
	const struct app *app = work->in.app;
	double left_s, at_s = fmin(t->restart_s, tick_s);

	t->restart_s -= at_s;
	left_s = tick_s - at_s;
	while (left_s > 0 && isnan(t->done_s)) {
		double rate = rate_of(work, t);
		double next = app_progress(app, t->epoch + 1), took_s;

		if (t->progress + rate * left_s < next) {
			t->progress += rate * left_s;
			break;
		}
		took_s = fmin(left_s, nearbyint((next - t->progress) / rate));
		t->progress = next;
		if (++t->epoch == app->n_epochs)
			t->done_s = at_s + took_s;
		at_s += took_s;
		left_s -= took_s;
	}
}

/* ---- For the cluster -------------------------------------------------------------------------- */

static double
remaining_s(const struct work *work)
{
	const struct app *app = work->in.app;
	uint32_t last = app->n_epochs - 1, epoch = work->now.epoch;
	double left = 1; /* In the last epoch it is as good as done. */

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
	(void)type;
	(void)mates;
	(void)n_mates;
	return work->first_s / packed_iteration_s(work->in.app, work->in.batch, n_gpus);
}

static void
advance(void *ctx, struct pol_job *job, double speed_now, double dt_s)
{
	struct epochs *e = ctx;
	struct work *work = &e->works[job->id];

	(void)speed_now;
	job->executed_s += dt_s;
	work->in_tick_s += dt_s;
	if (work->in_tick_s < e->opts.tick_s)
		return;
	work->in_tick_s = 0;
	work->is_ahead = false;
	step(work, &work->now, e->opts.tick_s);
	job->remaining_s = remaining_s(work);
}

/* Nodes with more GPUs come first. */
static void
begin(struct epochs *e, struct work *work, const struct pol_job *job)
{
	struct train *t = &work->now;

	t->n_nodes = 0;
	t->n_gpus = job->n_held_gpus;
	for (uint32_t i = 0; i < job->n_pieces && i < APP_MAX_NODES; i++) {
		uint32_t at = t->n_nodes++;

		for (; at && t->counts[at - 1] < job->pieces[i].n_gpus; at--)
			t->counts[at] = t->counts[at - 1];
		t->counts[at] = job->pieces[i].n_gpus;
	}
	t->made = make_batch(work->in.app, work->in.batch, t->n_gpus);
	t->restart_s = e->opts.restart_s;
	work->n_starts = job->n_starts;
	work->in_tick_s = 0;
	work->is_ahead = false;
}

/* So that what remains is over at that time, and not after it. */
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
		if (!work->is_ahead) {
			struct train ahead = work->now;

			step(work, &ahead, e->opts.tick_s);
			work->ends_s = ahead.done_s;
			work->is_ahead = true;
		}
		/* One that does not end is looked at again at the next tick. */
		end_s = isnan(work->ends_s) ? 2 * e->opts.tick_s : work->ends_s;
		ret_speeds[i] = speed_until(view->now_s, job->remaining_s,
					    view->now_s - work->in_tick_s + end_s);
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
	for (size_t i = 0; i < n; i++) {
		const struct epochs_job *in = &jobs[i];
		struct work *work = &e->works[i];
		uint32_t most = in->batch / in->app->min_local;
		double tick = fmax(1, ceil(in->submit_s / opts->tick_s));

		work->in = *in;
		work->now.done_s = NAN;
		work->first_s =
			in->n_gpus && in->batch >= in->app->first_batch &&
					in->batch <= in->app->max_batch
				? packed_iteration_s(in->app, in->batch, in->n_gpus)
				: INFINITY;
		if (!isfinite(work->first_s)) {
			*ret_bad = i;
			epochs_free(e);
			return -EINVAL;
		}
		ret_jobs[i] = (struct cluster_job){
			.submit_s = tick * opts->tick_s,
			.duration_s = remaining_s(work),
			.n_gpus = in->n_gpus,
			.max_gpus = most < in->app->max_gpus ? most : in->app->max_gpus,
			.user = POL_NONE,
			.vc = POL_NONE,
			.model = POL_NONE,
			.predicted_s = NAN,
			.iterations = NAN,
			.iteration_s = NAN,
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
	free(epochs->works);
	free(epochs);
}

struct cluster_work
epochs_work(struct epochs *epochs)
{
	return (struct cluster_work){ .ctx = epochs,
				      .speed = { .ctx = epochs, .speed = speed },
				      .advance = advance,
				      .rates = rates };
}
