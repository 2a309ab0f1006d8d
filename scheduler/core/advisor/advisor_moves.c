/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advisor_moves.c - other hosts of a running job: the best steps by the bound, and the
 * best of these by prediction.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/advise/moves_search.h"
#include "scheduler/core/advise/predict.h"
#include "scheduler/core/advisor/advisor_priv.h"
#include "scheduler/core/paths/link_loads.h"

/* Jobs in a prediction around one place, iterations of a run, and limit of flows. */
#define MAX_JOBS   12
#define ITERATIONS 15
#define MAX_COST   40000.0

/* Paths that jobs have of their own, taken off while they may get other hosts. */
struct set_aside {
	uint32_t job;
	uint32_t *paths; /* Owned by the workload. */
};

/* A search for one job. */
struct mover {
	struct advisor *advisor;
	struct moves_job *jobs; /* Owned.  By number. */
	size_t n;               /* Of the workload. */
	VEC(struct set_aside) aside;
	double *before, *after; /* Owned.  Slowdowns by job; 0: not predicted. */
	uint32_t *n_workers;    /* Owned.  By job, zero between steps. */
};

/* ---- Preparing ------------------------------------------------------------------- */

/*
 * The paths of a running job belong to its hosts: without them it gets new ones, chosen
 * or hashed as for a job that starts.
 */
static void
set_paths_aside(struct mover *m, uint32_t job)
{
	struct work_job *entry = &m->advisor->workload.jobs[job];
	bool may_choose = m->advisor->is_choosing &&
			  m->advisor->jobs.items[job]->paths.may_choose;

	vec_push(&m->aside, ((struct set_aside){ job, entry->paths }));
	entry->paths = NULL;
	place_set_paths(m->advisor->place, job,
			may_choose ? PLACE_CHOSEN : PLACE_HASHED);
}

static void
return_paths(struct mover *m)
{
	for (size_t i = 0; i < m->aside.n; i++) {
		uint32_t job = m->aside.items[i].job;

		m->advisor->workload.jobs[job].paths = m->aside.items[i].paths;
		place_set_paths(m->advisor->place, job, PLACE_HASHED);
	}
}

static void
mover_init(struct mover *m, struct advisor *advisor, const struct moves_job *jobs,
	   size_t n_jobs)
{
	size_t n = advisor->workload.n;

	*m = (struct mover){
		.advisor = advisor,
		.jobs = xcalloc(n + 1, sizeof *m->jobs),
		.n = n,
		.before = xcalloc(n + 1, sizeof *m->before),
		.after = xcalloc(n + 1, sizeof *m->after),
		.n_workers = xcalloc(n + 1, sizeof *m->n_workers),
	};
	/* Entries of the workload that were never used have no place. */
	for (uint32_t j = 0; j < advisor->jobs.n && j < n_jobs; j++) {
		m->jobs[j] = jobs[j];
		m->jobs[j].is_movable &= place_routed_job(advisor->place, j) != NULL;
		if (m->jobs[j].is_movable)
			set_paths_aside(m, j);
	}
}

static void
mover_fini(struct mover *m)
{
	return_paths(m);
	vec_free(&m->aside);
	free(m->jobs);
	free(m->before);
	free(m->after);
	free(m->n_workers);
}

/* ---- The bill -------------------------------------------------------------------- */

static void
add_around(const struct mover *m, uint32_t job, bool *is_in)
{
	struct advise_ctx ctx = advisor_ctx(m->advisor);
	struct component component;

	component_around(m->advisor->place, &ctx, job, MAX_JOBS, &component);
	for (size_t i = 0; i < component.n_jobs; i++)
		is_in[component.jobs[i]] = true;
	component_fini(&component);
}

/* Predicts the jobs 'all' where they are now; false: that costs too much. */
static bool
predict_all(const struct mover *m, const struct component *all, double *ret_slowdowns)
{
	struct predict_opts opts = { m->advisor->opts.seed, FORECAST_RUNS, ITERATIONS };
	struct advise_ctx ctx = advisor_ctx(m->advisor);
	struct predict_job *jobs = component_predict_jobs(all, m->advisor->place, &ctx);
	struct prediction prediction = { 0 };
	bool is_cheap = predict_cost(jobs, all->n_jobs, ITERATIONS) <= MAX_COST;

	if (is_cheap)
		predict(jobs, all->n_jobs, m->advisor->topo, &opts, &prediction);
	for (size_t i = 0; is_cheap && i < all->n_jobs; i++)
		ret_slowdowns[all->jobs[i]] = prediction_mean(&prediction, i);
	prediction_fini(&prediction);
	free(jobs);
	return is_cheap;
}

/* No slower than the advice leaves it. */
static void
respect_advice(const struct mover *m, const struct component *all, double *slowdowns)
{
	for (size_t i = 0; i < all->n_jobs; i++) {
		uint32_t job = all->jobs[i];
		const struct advisor_view *view = &m->advisor->jobs.items[job]->view;

		if (view->slowdown_after > 0)
			slowdowns[job] = fmin(slowdowns[job], view->slowdown_after);
	}
}

/* Puts the jobs of the step on their new hosts; they are nowhere if that fails. */
static int
put_step(const struct mover *m, const struct moves_step *step,
	 struct place_lifted **ret_lifted)
{
	struct place *place = m->advisor->place;
	uint32_t n = 0;
	int r = 0;

	for (uint32_t i = 0; i < step->n_jobs; i++)
		ret_lifted[i] = place_lift(place, step->jobs[i]);
	while (n < step->n_jobs && r == 0) {
		r = place_put(place, step->jobs[n], step->hosts[n]);
		n += r == 0;
	}
	while (r < 0 && n > 0)
		place_remove(place, step->jobs[--n]);
	return r;
}

static void
take_back(const struct mover *m, const struct moves_step *step, bool is_put,
	  struct place_lifted **lifted)
{
	for (uint32_t i = 0; is_put && i < step->n_jobs; i++)
		place_remove(m->advisor->place, step->jobs[i]);
	for (uint32_t i = step->n_jobs; i-- > 0;)
		place_return(m->advisor->place, step->jobs[i], lifted[i]);
}

static struct component
list_of(const bool *is_in, size_t n)
{
	VEC(uint32_t) jobs = VEC_EMPTY;

	for (uint32_t j = 0; j < n; j++)
		if (is_in[j])
			vec_push(&jobs, j);
	return (struct component){ .jobs = jobs.items, .n_jobs = jobs.n };
}

/* Bills the step by prediction; false: it cannot be predicted. */
static bool
bill_step(struct mover *m, struct moves_step *step)
{
	struct place_lifted *lifted[MOVES_STEP_JOBS];
	bool *is_in = xcalloc(m->n + 1, sizeof *is_in), is_known;
	struct component all = { 0 };

	for (uint32_t i = 0; i < step->n_jobs; i++) {
		add_around(m, step->jobs[i], is_in);
		m->n_workers[step->jobs[i]] = step->n_workers[i];
	}
	is_known = put_step(m, step, lifted) == 0;
	if (is_known) {
		for (uint32_t i = 0; i < step->n_jobs; i++)
			add_around(m, step->jobs[i], is_in);
		all = list_of(is_in, m->n);
		is_known = predict_all(m, &all, m->after);
		take_back(m, step, true, lifted);
	} else {
		take_back(m, step, false, lifted);
	}
	is_known = is_known && predict_all(m, &all, m->before);
	if (is_known) {
		respect_advice(m, &all, m->before);
		moves_bill(m->jobs, m->n, m->before, m->after, m->n_workers,
			   &step->bill);
	}
	for (size_t i = 0; i < all.n_jobs; i++)
		m->before[all.jobs[i]] = m->after[all.jobs[i]] = 0;
	for (uint32_t i = 0; i < step->n_jobs; i++)
		m->n_workers[step->jobs[i]] = 0;
	component_fini(&all);
	free(is_in);
	return is_known;
}

/* ---- The search ------------------------------------------------------------------ */

/* Takes the best step that pays out of 'steps'; false: none does. */
static bool
take_best(struct mover *m, struct moves_steps *steps, struct moves_step *ret_step)
{
	struct moves_step *best = NULL;

	for (size_t i = 0; i < steps->n; i++) {
		struct moves_step *step = &steps->items[i];

		if (!bill_step(m, step) || !step->bill.pays)
			continue;
		if (!best || step->bill.gain - step->bill.cost >
				     best->bill.gain - best->bill.cost)
			best = step;
	}
	if (!best)
		return false;
	*ret_step = *best;
	*best = (struct moves_step){ .n_jobs = 0 };
	return true;
}

/* A try takes time in proportion to the loads on the links of the job. */
static size_t
tries_for(const struct advisor *advisor, uint32_t job)
{
	const struct routed_job *routed = place_routed_job(advisor->place, job);
	size_t n_loads = 1, n_tries;

	for (size_t i = 0; i < routed->footprint.n; i++) {
		size_t n;

		(void)link_loads_of(place_link_loads(advisor->place),
				    routed->footprint.entries[i].link, &n);
		n_loads += n;
	}
	n_tries = MOVES_ONLINE_LOADS / n_loads;
	if (n_tries > MOVES_ONLINE_TRIES)
		return MOVES_ONLINE_TRIES;
	return n_tries < MOVES_ONLINE_MIN_TRIES ? MOVES_ONLINE_MIN_TRIES : n_tries;
}

int
advisor_find_move(struct advisor *advisor, uint32_t job, const struct moves_job *jobs,
		  size_t n_jobs, const bool *allowed, uint32_t n_allowed,
		  struct moves_step *ret_step)
{
	struct moves_opts opts = { .seed = advisor->opts.seed,
				   .n_allowed = n_allowed,
				   .n_max = MOVES_PREDICTED,
				   .job = &job };
	struct moves_steps steps = { 0 };
	int64_t *were;
	struct mover m;
	bool is_found;

	if (job >= advisor->jobs.n || !advisor->jobs.items[job]->name ||
	    !place_routed_job(advisor->place, job))
		return -ENOENT;
	opts.n_tries = tries_for(advisor, job);
	mover_init(&m, advisor, jobs, n_jobs);
	were = advisor_set_slots(advisor, allowed);
	moves_search(advisor->place, m.jobs, &opts, &steps);
	advisor_reset_slots(advisor, were);
	is_found = take_best(&m, &steps, ret_step);
	moves_steps_fini(&steps);
	mover_fini(&m);
	return is_found;
}
