/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/solve/solver.h"

#include <string.h>

#include "scheduler/core/solve/link.h"
#include "scheduler/core/solve/presolve.h"
#include "scheduler/core/solve/ruin_recreate.h"

/* Bends to evaluate in the rounds on all cores, per unit of effort. */
#define CORE_WORK UINT64_C(1200000)
/* The same if some jobs must stay: the answer is needed quickly. */
#define PART_WORK UINT64_C(6000)
/* Passes that move jobs into the middle of their plateaus. */
#define N_CENTER_PASSES 6
/* Lower costs count as none. */
#define MIN_COST (2 * SEARCH_MIN_GAIN)

/* Jobs from which trees are grown. */
struct id_queue {
	uint32_t *items; /* Owned. */
	size_t n, capacity;
};

void
solver_init(struct solver *solver, struct joint_model *model, const int64_t *start_us)
{
	memset(solver, 0, sizeof *solver);
	solver->model = model;
	solver->start_us = start_us;
	search_init(&solver->search, model, start_us);
	solver->is_left_out = xcalloc(model->n_links + 1, sizeof *solver->is_left_out);
	solver->is_placed = xcalloc(model->n_jobs + 1, sizeof *solver->is_placed);
	solver->is_done = xcalloc(model->n_links + 1, sizeof *solver->is_done);
	solver->slack_us = xcalloc(model->n_jobs + 1, sizeof *solver->slack_us);
}

void
solver_fini(struct solver *solver)
{
	search_fini(&solver->search);
	core_decomposition_fini(&solver->peeled);
	free(solver->is_left_out);
	free(solver->is_placed);
	free(solver->is_done);
	free(solver->slack_us);
}

/* ---- One component ------------------------------------------------------------- */

static double
component_cost(struct solver *solver, const struct core_component *c)
{
	double sum = 0;

	for (uint32_t i = 0; i < c->n_links; i++)
		sum += search_link_cost(&solver->search,
					solver->peeled.link_list[c->first_link + i]);
	return sum;
}

static void
set_links_off(struct solver *solver, const struct core_component *c, bool is_off)
{
	for (uint32_t i = 0; i < c->n_links; i++)
		solver->search.is_off[solver->peeled.link_list[c->first_link + i]] =
			is_off;
}

/* Copies the shifts of a component's jobs from one array to the other. */
static void
copy_shifts(const struct solver *solver, const struct core_component *c,
	    const int64_t *from_us, int64_t *to_us)
{
	for (uint32_t i = 0; i < c->n_jobs; i++) {
		uint32_t j = solver->peeled.job_list[c->first_job + i];

		to_us[j] = from_us[j];
	}
}

/* The component's share of the total budget: by its links. */
static uint64_t
share_of_work(const struct solver *solver, const struct core_component *c)
{
	uint64_t work = solver->is_part ? PART_WORK : CORE_WORK;
	const struct core_decomposition *peeled = &solver->peeled;
	size_t n_links = 0;

	for (size_t i = 0; i < peeled->n_components; i++)
		n_links += peeled->components[i].n_links;
	BUG_ON(!n_links); /* The links of 'c' are included. */
	return work * solver->effort * c->n_links / n_links;
}

/* Descends from the present shifts, and improves by rounds over 'links'. */
static void
descend_and_improve(struct solver *solver, const struct core_component *c,
		    const uint32_t *links, size_t n_links, struct rng *rng)
{
	struct search *search = &solver->search;
	struct ruin_recreate_opts opts = { 0 };

	for (uint32_t i = 0; i < c->n_jobs; i++)
		search_push(search, solver->peeled.job_list[c->first_job + i]);
	search_descend(search);
	opts.n_rounds = solver->effort * c->n_jobs;
	opts.max_work = search->work + share_of_work(solver, c);
	opts.accepts_equal = !solver->is_warm;
	(void)ruin_recreate_links(search, links, n_links, &opts, rng);
}

/* Solves the core of a component: first inserts its jobs link by link. */
static void
solve_core(struct solver *solver, const struct core_component *c, struct rng *rng)
{
	struct search *search = &solver->search;
	const struct joint_model *model = solver->model;
	const struct core_decomposition *peeled = &solver->peeled;
	VEC(uint32_t) links = VEC_EMPTY;
	VEC(uint32_t) jobs = VEC_EMPTY;

	for (uint32_t i = 0; i < c->n_links; i++) {
		uint32_t l = peeled->link_list[c->first_link + i];
		const struct joint_model_link *link = &model->links[l];

		if (!peeled->is_core_link[l])
			continue;
		search->is_off[l] = false;
		vec_push(&links, l);
		for (uint32_t k = 0; k < link->n_loads; k++) {
			uint32_t j = model->loads[link->first_load + k].job;

			if (search->is_absent[j])
				continue;
			search->is_absent[j] = true;
			vec_push(&jobs, j);
		}
	}
	ruin_recreate_insert(search, jobs.items, jobs.n);
	descend_and_improve(solver, c, links.items, links.n, rng);
	vec_free(&jobs);
	vec_free(&links);
}

/* Places the jobs of link 'l' with job 'j' already placed; appends the others. */
static void
stitch_link(struct solver *solver, uint32_t l, uint32_t j, struct rng *rng,
	    struct id_queue *queue)
{
	struct search *search = &solver->search;
	const struct joint_model *model = solver->model;
	const struct joint_model_link *link = &model->links[l];
	int64_t by_us = search->shift_us[j];

	search->is_off[l] = false;
	link_solve(search, l, solver->is_part ? 1 : solver->effort, rng);
	search->is_off[l] = true;
	by_us -= search->shift_us[j];
	for (uint32_t i = 0; i < link->n_loads; i++) {
		const struct joint_model_load *load =
			&model->loads[link->first_load + i];
		uint32_t k = load->job;

		if (model->groups[load->group].n_loads < 2)
			continue;
		search->shift_us[k] =
			period_mod(search->shift_us[k] + by_us, load->step.period_us);
		if (!solver->is_placed[k])
			vec_push(queue, k);
		solver->is_placed[k] = true;
	}
}

/*
 * Stitches the optima of the links outside the core, CASSINI's Algorithm 1:
 * t_k = (t_j - t_j^l + t_k^l) mod T_k for all k on a link l that was reached
 * through job j.
 */
static void
solve_trees(struct solver *solver, const struct core_component *c, struct rng *rng)
{
	const struct joint_model *model = solver->model;
	const struct core_decomposition *peeled = &solver->peeled;
	struct id_queue queue = VEC_EMPTY;

	for (uint32_t i = 0; i < c->n_jobs; i++) {
		uint32_t j = peeled->job_list[c->first_job + i];

		if (!peeled->is_core_job[j] && (c->n_core_links > 0 || i > 0))
			continue;
		solver->is_placed[j] = true;
		vec_push(&queue, j);
	}
	for (size_t head = 0; head < queue.n; head++) {
		const struct joint_model_job *job = &model->jobs[queue.items[head]];

		for (uint32_t u = 0; u < job->n_uses; u++) {
			uint32_t l = model->uses[job->first_use + u].link;

			if (peeled->is_core_link[l] || solver->is_done[l] ||
			    solver->is_left_out[l])
				continue;
			solver->is_done[l] = true;
			stitch_link(solver, l, queue.items[head], rng, &queue);
		}
	}
	vec_free(&queue);
}

static void
solve_cold(struct solver *solver, const struct core_component *c, struct rng *rng)
{
	set_links_off(solver, c, true);
	if (c->n_core_links > 0)
		solve_core(solver, c, rng);
	set_links_off(solver, c, true);
	solve_trees(solver, c, rng);
	set_links_off(solver, c, false);
}

static void
solve_component(struct solver *solver, const struct core_component *c,
		int64_t *spare_us)
{
	struct search *search = &solver->search;
	const uint32_t *links = &solver->peeled.link_list[c->first_link];
	double cost;
	struct rng rng;

	rng_init_stream(&rng, solver->seed,
			solver->hash[solver->peeled.job_list[c->first_job]]);
	if (solver->is_warm || c->has_fixed)
		descend_and_improve(solver, c, links, c->n_links, &rng);
	cost = component_cost(solver, c);
	if (c->has_fixed || cost <= MIN_COST)
		return;
	copy_shifts(solver, c, search->shift_us, spare_us);
	solve_cold(solver, c, &rng);
	if (component_cost(solver, c) > cost - (solver->is_warm ? MIN_COST : 0))
		copy_shifts(solver, c, spare_us, search->shift_us);
}

/* ---- All components ------------------------------------------------------------- */

/*
 * Solves again the components in which a link that was left out is exceeded, now with
 * all of their links.
 */
static void
take_up_again(struct solver *solver)
{
	struct search *search = &solver->search;
	const struct joint_model *model = solver->model;
	struct core_decomposition *peeled = &solver->peeled;
	bool *is_wrong = xcalloc(peeled->n_components + 1, sizeof *is_wrong);
	bool has_wrong = false;
	struct rng rng;

	for (uint32_t l = 0; l < model->n_links; l++) {
		if (!model->links[l].is_dominated || !solver->is_left_out[l] ||
		    search_link_cost(search, l) <= MIN_COST)
			continue;
		is_wrong[core_component_of_link(peeled, model, l)] = true;
		has_wrong = true;
	}
	for (uint32_t l = 0; l < model->n_links && has_wrong; l++) {
		if (model->links[l].is_merged ||
		    !is_wrong[core_component_of_link(peeled, model, l)])
			continue;
		solver->is_left_out[l] = search->is_off[l] = false;
	}
	if (has_wrong) {
		core_decomposition_fini(peeled);
		core_decomposition_make(model, solver->is_left_out, peeled);
		/* The same components in the same order: no link joins new jobs. */
		for (size_t i = 0; i < peeled->n_components; i++) {
			const struct core_component *c = &peeled->components[i];

			if (!is_wrong[i])
				continue;
			rng_init_stream(&rng, ~solver->seed,
					solver->hash[peeled->job_list[c->first_job]]);
			descend_and_improve(solver, c,
					    &peeled->link_list[c->first_link],
					    c->n_links, &rng);
		}
	}
	free(is_wrong);
}

/*
 * Moves every job into the middle of its plateau, so that it tolerates the largest
 * deviation.  Moving one narrows another's plateau: a few passes.
 */
static void
center_jobs(struct solver *solver)
{
	struct search *search = &solver->search;
	const struct joint_model *model = solver->model;
	struct piecewise_linear_minimum minimum;

	for (int pass = 0; pass < N_CENTER_PASSES; pass++) {
		bool has_moved = false;

		for (uint32_t j = 0; j < model->n_jobs; j++) {
			if (model->jobs[j].n_uses == 0 || !model->jobs[j].is_movable)
				continue;
			search_line(search, j);
			piecewise_linear_minimize(&search->line, &minimum);
			solver->slack_us[j] =
				search->line.bends.n > 0
					? piecewise_linear_slack(&search->line)
					: model->jobs[j].period_us / 2;
			if (minimum.slack_us <= solver->slack_us[j])
				continue;
			search_move(search, j, minimum.at_us);
			has_moved = true;
		}
		solver->has_slack = !has_moved;
		if (!has_moved)
			break;
	}
}

void
solver_run(struct solver *solver)
{
	struct search *search = &solver->search;
	struct joint_model *model = solver->model;
	int64_t *spare_us = xcalloc(model->n_jobs + 1, sizeof *spare_us);

	for (size_t j = 0; j < model->n_jobs; j++)
		solver->is_part |= !model->jobs[j].is_movable;
	presolve_links(model);
	for (size_t l = 0; l < model->n_links; l++) {
		const struct joint_model_link *link = &model->links[l];

		solver->is_left_out[l] = link->is_merged || link->is_dominated;
		search->is_off[l] = solver->is_left_out[l];
	}
	core_decomposition_make(model, solver->is_left_out, &solver->peeled);
	for (size_t i = 0; i < solver->peeled.n_components; i++)
		solve_component(solver, &solver->peeled.components[i], spare_us);
	take_up_again(solver);
	/* From here on, redundant links count too. */
	for (size_t l = 0; l < model->n_links; l++)
		search->is_off[l] = model->links[l].is_merged;
	center_jobs(solver);
	free(spare_us);
}
