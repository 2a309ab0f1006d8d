#include "scheduler/core/joint.h"

#include <math.h>
#include <string.h>

#include "scheduler/core/canon.h"
#include "scheduler/core/improve.h"
#include "scheduler/core/link.h"
#include "scheduler/core/model.h"
#include "scheduler/core/peel.h"
#include "scheduler/core/profile.h"
#include "scheduler/core/search.h"

#define DEFAULT_RESTARTS 8
/* Bends to look at in the rounds on one component's core. */
#define MAX_CORE_WORK UINT64_C(20000000)
/* The same where jobs already run: an answer is wanted at once. */
#define MAX_WARM_WORK UINT64_C(60000)
/* Passes that move jobs into the middle of their plateaus. */
#define N_CENTRE_PASSES 6

/* One run of joint_solve(). */
struct solve {
	const struct joint_problem *problem;
	const struct joint_opts *opts;
	size_t n_restarts;
	bool is_warm;
	uint32_t *order;   /* Problem's number of a model job. */
	uint64_t *hash;    /* By the problem's number. */
	int64_t *start_us; /* By the model's number. */
	struct model model;
	struct peeled peeled;
	struct search search;
};

static bool
is_well_formed_profile(const struct profile *profile)
{
	int64_t end_us = 0;

	if (!profile || profile->period_us < 1 ||
	    profile->period_us > PROFILE_MAX_PERIOD_US)
		return false;
	for (size_t i = 0; i < profile->n_phases; i++) {
		const struct profile_phase *phase = &profile->phases[i];

		if (phase->start_us < end_us || phase->duration_us < 1 ||
		    phase->duration_us > profile->period_us - phase->start_us ||
		    !(phase->rate_bps >= 0 && phase->rate_bps <= PROFILE_MAX_BPS))
			return false;
		end_us = phase->start_us + phase->duration_us;
	}
	return true;
}

static bool
is_well_formed(const struct joint_problem *problem)
{
	size_t *last_link = xcalloc(problem->n_jobs + 1, sizeof *last_link);
	bool is_good = problem->n_jobs < UINT32_MAX && problem->n_links < UINT32_MAX;

	for (size_t j = 0; j < problem->n_jobs && is_good; j++)
		is_good = is_well_formed_profile(problem->profiles[j]);
	for (size_t l = 0; l < problem->n_links && is_good; l++) {
		const struct joint_link *link = &problem->links[l];

		is_good = link->capacity_bps > 0 && isfinite(link->capacity_bps) &&
			  link->weight >= 0 && isfinite(link->weight);
		for (uint32_t i = 0; i < link->n_loads && is_good; i++) {
			const struct joint_load *load =
				&problem->loads[link->first_load + i];

			is_good = load->job < problem->n_jobs && load->factor > 0 &&
				  isfinite(load->factor) &&
				  last_link[load->job] != l + 1;
			if (is_good)
				last_link[load->job] = l + 1;
		}
	}
	free(last_link);
	return is_good;
}

/* Cost of all links of a component. */
static double
component_cost(struct solve *solve, const struct peel_component *c)
{
	double sum = 0;

	for (uint32_t i = 0; i < c->n_links; i++)
		sum += search_link_cost(&solve->search,
					solve->peeled.link_list[c->first_link + i]);
	return sum;
}

static void
set_links_off(struct solve *solve, const struct peel_component *c, bool is_off)
{
	for (uint32_t i = 0; i < c->n_links; i++)
		solve->search.is_off[solve->peeled.link_list[c->first_link + i]] =
			is_off;
}

static void
push_jobs(struct solve *solve, const struct peel_component *c)
{
	for (uint32_t i = 0; i < c->n_jobs; i++)
		search_push(&solve->search, solve->peeled.job_list[c->first_job + i]);
}

/* Descends from where the jobs are, and improves by rounds over 'links'. */
static void
descend_and_improve(struct solve *solve, const struct peel_component *c,
		    const uint32_t *links, size_t n_links, struct rng *rng)
{
	struct search *search = &solve->search;
	struct improve_opts opts = {
		.n_rounds = solve->n_restarts * c->n_jobs,
		.max_work =
			search->work + (solve->is_warm ? MAX_WARM_WORK : MAX_CORE_WORK),
		.accepts_equal = !solve->is_warm,
	};

	push_jobs(solve, c);
	search_descend(search);
	(void)improve_links(search, links, n_links, &opts, rng);
}

/* Solves the core of a component: first inserts its jobs link by link. */
static void
solve_core(struct solve *solve, const struct peel_component *c, struct rng *rng)
{
	struct search *search = &solve->search;
	const struct model *model = &solve->model;
	const struct peeled *peeled = &solve->peeled;
	VEC(uint32_t) links = VEC_EMPTY;
	VEC(uint32_t) jobs = VEC_EMPTY;

	for (uint32_t i = 0; i < c->n_jobs; i++)
		search->is_absent[peeled->job_list[c->first_job + i]] = true;
	for (uint32_t i = 0; i < c->n_links; i++) {
		uint32_t l = peeled->link_list[c->first_link + i];
		const struct model_link *link = &model->links[l];

		if (!peeled->is_core_link[l])
			continue;
		search->is_off[l] = false;
		vec_push(&links, l);
		for (uint32_t k = 0; k < link->n_loads; k++) {
			uint32_t j = model->loads[link->first_load + k].job;

			if (!search->is_absent[j])
				continue;
			search->is_absent[j] = false;
			vec_push(&jobs, j);
		}
	}
	for (size_t i = 0; i < jobs.n; i++)
		search->is_absent[jobs.items[i]] = true;
	improve_insert(search, jobs.items, jobs.n);
	for (uint32_t i = 0; i < c->n_jobs; i++)
		search->is_absent[peeled->job_list[c->first_job + i]] = false;
	descend_and_improve(solve, c, links.items, links.n, rng);
	vec_free(&jobs);
	vec_free(&links);
}

/*
 * Stitches the optima of the links outside the core, CASSINI's Algorithm 1:
 * t_k = (t_j - t_j^l + t_k^l) mod T_k for all k on a link l that was reached
 * through job j.
 */
static void
solve_trees(struct solve *solve, const struct peel_component *c, struct rng *rng)
{
	struct search *search = &solve->search;
	const struct model *model = &solve->model;
	const struct peeled *peeled = &solve->peeled;
	bool *is_placed = xcalloc(model->n_jobs + 1, sizeof *is_placed);
	bool *is_done = xcalloc(model->n_links + 1, sizeof *is_done);
	VEC(uint32_t) queue = VEC_EMPTY;

	for (uint32_t i = 0; i < c->n_jobs; i++) {
		uint32_t j = peeled->job_list[c->first_job + i];

		if (!peeled->is_core_job[j] && (c->n_core_links > 0 || i > 0))
			continue;
		is_placed[j] = true;
		vec_push(&queue, j);
	}
	for (size_t head = 0; head < queue.n; head++) {
		uint32_t j = queue.items[head];

		for (uint32_t u = 0; u < model->jobs[j].n_uses; u++) {
			uint32_t l = model->uses[model->jobs[j].first_use + u].link;
			const struct model_link *link = &model->links[l];
			int64_t at_us = search->shift_us[j];

			if (peeled->is_core_link[l] || is_done[l])
				continue;
			is_done[l] = true;
			search->is_off[l] = false;
			link_solve(search, l, solve->n_restarts, rng);
			search->is_off[l] = true;
			at_us -= search->shift_us[j];
			for (uint32_t i = 0; i < link->n_loads; i++) {
				const struct model_load *load =
					&model->loads[link->first_load + i];
				uint32_t k = load->job;

				if (model->groups[load->group].n_loads < 2)
					continue;
				search->shift_us[k] =
					period_mod(search->shift_us[k] + at_us,
						   load->step.period_us);
				if (!is_placed[k])
					vec_push(&queue, k);
				is_placed[k] = true;
			}
		}
	}
	vec_free(&queue);
	free(is_placed);
	free(is_done);
}

/* Puts the jobs of a component back to where they were. */
static void
restore(struct solve *solve, const struct peel_component *c, const int64_t *shift_us)
{
	for (uint32_t i = 0; i < c->n_jobs; i++) {
		uint32_t j = solve->peeled.job_list[c->first_job + i];

		solve->search.shift_us[j] = shift_us[j];
	}
}

static void
solve_component(struct solve *solve, const struct peel_component *c)
{
	uint32_t first = solve->peeled.job_list[c->first_job];
	double cost = component_cost(solve, c);
	struct rng rng;

	rng_init_stream(&rng, solve->opts ? solve->opts->seed : 0,
			solve->hash[solve->order[first]]);
	if (c->has_fixed || solve->is_warm) {
		set_links_off(solve, c, false);
		descend_and_improve(solve, c, &solve->peeled.link_list[c->first_link],
				    c->n_links, &rng);
		return;
	}
	set_links_off(solve, c, true);
	if (c->n_core_links > 0)
		solve_core(solve, c, &rng);
	set_links_off(solve, c, true);
	solve_trees(solve, c, &rng);
	set_links_off(solve, c, false);
	if (component_cost(solve, c) > cost)
		restore(solve, c, solve->start_us);
}

/*
 * Moves every job into the middle of its plateau, so that it may be early or
 * late by as much as possible.  Moving one narrows another's: a few passes.
 */
static void
centre_jobs(struct solve *solve)
{
	struct search *search = &solve->search;
	const struct model *model = &solve->model;
	struct bend_minimum minimum;

	for (int pass = 0; pass < N_CENTRE_PASSES; pass++) {
		bool has_moved = false;

		for (uint32_t j = 0; j < model->n_jobs; j++) {
			if (model->jobs[j].n_uses == 0 || !model->jobs[j].is_movable)
				continue;
			search_line(search, j);
			bend_function_minimize(&search->line, &minimum);
			if (minimum.slack_us <= bend_function_slack(&search->line))
				continue;
			search_move(search, j, minimum.at_us);
			has_moved = true;
		}
		if (!has_moved)
			break;
	}
}

/*
 * A cold solution is as good if all jobs of a component are later by the same:
 * its first job in the problem's order becomes the reference, with shift 0.
 * Then every job takes the least of the shifts that are the same for it.
 */
static void
normalize_shifts(struct solve *solve)
{
	struct search *search = &solve->search;
	const struct model *model = &solve->model;
	const struct peeled *peeled = &solve->peeled;

	for (size_t i = 0; i < peeled->n_components; i++) {
		const struct peel_component *c = &peeled->components[i];
		const uint32_t *jobs = &peeled->job_list[c->first_job];
		uint32_t reference = jobs[0];

		if (solve->is_warm || c->has_fixed)
			continue;
		for (uint32_t k = 1; k < c->n_jobs; k++)
			if (model->jobs[jobs[k]].job < model->jobs[reference].job)
				reference = jobs[k];
		int64_t by_us = search->shift_us[reference];

		for (uint32_t k = 0; k < c->n_jobs; k++) {
			search_line(search, jobs[k]);
			search->shift_us[jobs[k]] =
				period_mod(search->shift_us[jobs[k]] - by_us,
					   search->line.turn_us);
		}
	}
}

static struct joint_result *
result_new(const struct joint_problem *problem)
{
	struct joint_result *result = xcalloc(1, sizeof *result);

	result->n_jobs = problem->n_jobs;
	result->n_links = problem->n_links;
	result->shift_us = xcalloc(problem->n_jobs + 1, sizeof *result->shift_us);
	result->slack_us = xcalloc(problem->n_jobs + 1, sizeof *result->slack_us);
	result->method = xcalloc(problem->n_jobs + 1, sizeof *result->method);
	result->excess_before_bps =
		xcalloc(problem->n_links + 1, sizeof *result->excess_before_bps);
	result->excess_after_bps =
		xcalloc(problem->n_links + 1, sizeof *result->excess_after_bps);
	return result;
}

static double
objective(const struct joint_problem *problem, const double *excess_bps)
{
	double sum = 0;

	for (size_t l = 0; l < problem->n_links; l++)
		sum += problem->links[l].weight * excess_bps[l] /
		       problem->links[l].capacity_bps;
	return sum;
}

/* Fills 'excess_after_bps': where nothing has moved it is as it was. */
static void
excess_of_moved(const struct joint_problem *problem, const int64_t *start_us,
		struct joint_result *result)
{
	struct model_room *room = model_room_new();

	for (uint32_t l = 0; l < problem->n_links; l++) {
		const struct joint_link *link = &problem->links[l];
		bool has_moved = false;

		for (uint32_t i = 0; i < link->n_loads && !has_moved; i++) {
			uint32_t j = problem->loads[link->first_load + i].job;

			has_moved = start_us[j] != result->shift_us[j];
		}
		result->excess_after_bps[l] =
			has_moved
				? model_exact_excess(problem, l, result->shift_us, room)
				: result->excess_before_bps[l];
	}
	model_room_free(room);
}

/* Writes what the search has found, or the start if that is no worse. */
static void
write_result(struct solve *solve, struct joint_result *result)
{
	const struct joint_problem *problem = solve->problem;
	struct search *search = &solve->search;
	const struct model *model = &solve->model;
	int64_t *start_us = xcalloc(problem->n_jobs + 1, sizeof *start_us);

	for (uint32_t j = 0; j < model->n_jobs; j++) {
		start_us[solve->order[j]] = solve->start_us[j];
		result->shift_us[solve->order[j]] = search->shift_us[j];
	}
	joint_excess(problem, start_us, result->excess_before_bps);
	excess_of_moved(problem, start_us, result);
	result->objective_before = objective(problem, result->excess_before_bps);
	result->objective_after = objective(problem, result->excess_after_bps);
	if (result->objective_after > result->objective_before) {
		memcpy(result->shift_us, start_us, problem->n_jobs * sizeof *start_us);
		memcpy(search->shift_us, solve->start_us,
		       problem->n_jobs * sizeof *start_us);
		memcpy(result->excess_after_bps, result->excess_before_bps,
		       problem->n_links * sizeof *result->excess_after_bps);
		result->objective_after = result->objective_before;
	}
	for (uint32_t j = 0; j < model->n_jobs; j++) {
		uint32_t job = solve->order[j];

		search_line(search, j);
		result->slack_us[job] = search->line.bends.n > 0
						? bend_function_slack(&search->line)
						: model->jobs[j].period_us / 2;
		result->method[job] = !model->jobs[j].is_movable     ? JOINT_FIXED
				      : solve->peeled.is_core_job[j] ? JOINT_LOOP
				      : solve->peeled.component_of[j] == PEEL_NONE
					      ? JOINT_FREE
					      : JOINT_TREE;
	}
	free(start_us);
}

struct joint_result *
joint_solve(const struct joint_problem *problem, const struct joint_opts *opts)
{
	struct solve solve = { .problem = problem, .opts = opts };
	const bool *movable = opts ? opts->movable : NULL;
	struct joint_result *result;
	size_t n = problem->n_jobs;

	if (!is_well_formed(problem))
		return NULL;
	solve.n_restarts =
		opts && opts->n_restarts ? opts->n_restarts : DEFAULT_RESTARTS;
	solve.is_warm = opts && opts->start_shifts_us;
	solve.order = xcalloc(n + 1, sizeof *solve.order);
	solve.hash = xcalloc(n + 1, sizeof *solve.hash);
	solve.start_us = xcalloc(n + 1, sizeof *solve.start_us);
	canon_order(problem, movable, solve.order, solve.hash);
	for (size_t j = 0; j < n && solve.is_warm; j++)
		solve.start_us[j] =
			period_mod(opts->start_shifts_us[solve.order[j]],
				   problem->profiles[solve.order[j]]->period_us);
	model_make(problem, solve.order, movable, &solve.model);
	peel_make(&solve.model, NULL, &solve.peeled);
	search_init(&solve.search, &solve.model, solve.start_us);

	result = result_new(problem);
	for (size_t i = 0; i < solve.peeled.n_components; i++) {
		solve_component(&solve, &solve.peeled.components[i]);
		if (solve.peeled.components[i].n_core_links > 0)
			result->has_loop = true;
	}
	centre_jobs(&solve);
	normalize_shifts(&solve);
	write_result(&solve, result);

	search_fini(&solve.search);
	peel_fini(&solve.peeled);
	model_fini(&solve.model);
	free(solve.order);
	free(solve.hash);
	free(solve.start_us);
	return result;
}

void
joint_result_free(struct joint_result *result)
{
	if (!result)
		return;
	free(result->shift_us);
	free(result->slack_us);
	free(result->method);
	free(result->excess_before_bps);
	free(result->excess_after_bps);
	free(result);
}

void
joint_excess(const struct joint_problem *problem, const int64_t *shift_us,
	     double *ret_excess_bps)
{
	struct model_room *room = model_room_new();

	for (uint32_t l = 0; l < problem->n_links; l++)
		ret_excess_bps[l] = model_exact_excess(problem, l, shift_us, room);
	model_room_free(room);
}
