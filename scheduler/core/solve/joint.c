/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/solve/joint.h"

#include <math.h>
#include <string.h>

#include "scheduler/core/profile/profile.h"
#include "scheduler/core/profile/same_period.h"
#include "scheduler/core/solve/canonical_order.h"
#include "scheduler/core/solve/joint_model.h"
#include "scheduler/core/solve/solver.h"

#define DEFAULT_RESTARTS 8

/* One run of joint_solve(). */
struct joint_run {
	const struct joint_problem *problem;
	uint32_t *order;                /* Problem's number of a model job. */
	uint64_t *hash;                 /* By the model's number. */
	int64_t *start_us;              /* By the model's number. */
	const double *start_excess_bps; /* joint_opts */
	struct joint_model model;
	struct solver solver;
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

/* A problem in which jobs of one period (same_period.h) have equal ones. */
struct joined {
	struct joint_problem problem;
	struct profile *profiles;    /* Owned.  NULL: the problem's own. */
	const struct profile **list; /* Owned. */
};

static void
joined_init(struct joined *joined, const struct joint_problem *problem)
{
	*joined = (struct joined){ .problem = *problem };
	joined->profiles = same_period_join(problem->profiles, problem->n_jobs);
	if (!joined->profiles)
		return;
	joined->list = xcalloc(problem->n_jobs, sizeof *joined->list);
	for (size_t j = 0; j < problem->n_jobs; j++)
		joined->list[j] = &joined->profiles[j];
	joined->problem.profiles = joined->list;
}

static void
joined_fini(struct joined *joined)
{
	free(joined->profiles);
	free(joined->list);
}

/*
 * Shifts that differ by a job's turn are equivalent (search.h): takes the one that
 * delays it least against its present shift.  Without start shifts, all jobs of a
 * component may also be delayed alike: then the first in the problem's order is the
 * reference, with shift 0.
 */
static void
normalize_shifts(struct solver *solver)
{
	struct search *search = &solver->search;
	const struct joint_model *model = solver->model;
	const struct core_decomposition *peeled = &solver->peeled;

	for (size_t i = 0; i < peeled->n_components; i++) {
		const struct core_component *c = &peeled->components[i];
		const uint32_t *jobs = &peeled->job_list[c->first_job];
		bool is_anchored = solver->is_warm || c->has_fixed;
		uint32_t first = jobs[0];
		int64_t by_us;

		for (uint32_t k = 1; k < c->n_jobs; k++)
			if (model->jobs[jobs[k]].job < model->jobs[first].job)
				first = jobs[k];
		by_us = is_anchored ? 0 : search->shift_us[first];
		for (uint32_t k = 0; k < c->n_jobs; k++) {
			uint32_t j = jobs[k];
			int64_t start_us = is_anchored ? solver->start_us[j] : 0;
			int64_t delay_us = search->shift_us[j] - by_us - start_us;

			delay_us = period_mod(delay_us, search_turn_us(search, j));
			search->shift_us[j] = period_mod(start_us + delay_us,
							 model->jobs[j].period_us);
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

double
joint_objective(const struct joint_problem *problem, const double *excess_bps)
{
	double sum = 0;

	for (size_t l = 0; l < problem->n_links; l++)
		sum += problem->links[l].weight * excess_bps[l] /
		       problem->links[l].capacity_bps;
	return sum;
}

static void
excess_at_start(const struct joint_problem *problem, const double *known_bps,
		const int64_t *start_us, double *ret_excess_bps)
{
	struct joint_model_room *room = joint_model_room_new();

	for (uint32_t l = 0; l < problem->n_links; l++)
		ret_excess_bps[l] =
			known_bps && !isnan(known_bps[l])
				? known_bps[l]
				: joint_model_exact_excess(problem, l, start_us, room);
	joint_model_room_free(room);
}

/* Fills 'excess_after_bps'; links without moved jobs keep their excess. */
static void
excess_of_moved(const struct joint_problem *problem, const int64_t *start_us,
		struct joint_result *result)
{
	struct joint_model_room *room = joint_model_room_new();

	for (uint32_t l = 0; l < problem->n_links; l++) {
		const struct joint_link *link = &problem->links[l];
		bool has_moved = false;

		for (uint32_t i = 0; i < link->n_loads && !has_moved; i++) {
			uint32_t j = problem->loads[link->first_load + i].job;

			has_moved = start_us[j] != result->shift_us[j];
		}
		result->excess_after_bps[l] =
			has_moved ? joint_model_exact_excess(problem, l,
							     result->shift_us, room)
				  : result->excess_before_bps[l];
	}
	joint_model_room_free(room);
}

/* The slack of a model's job at its present shift. */
static int64_t
slack_of(struct solver *solver, uint32_t j)
{
	const struct joint_model_job *job = &solver->model->jobs[j];
	struct search *search = &solver->search;

	if (solver->has_slack && job->is_movable && job->n_uses > 0)
		return solver->slack_us[j];
	search_line(search, j);
	return search->line.bends.n > 0 ? piecewise_linear_slack(&search->line)
					: job->period_us / 2;
}

/* Writes the search's result, or the start if that is no worse. */
static void
write_result(struct joint_run *run, struct joint_result *result)
{
	const struct joint_problem *problem = run->problem;
	struct search *search = &run->solver.search;
	const struct core_decomposition *peeled = &run->solver.peeled;
	const struct joint_model *model = &run->model;
	int64_t *start_us = xcalloc(problem->n_jobs + 1, sizeof *start_us);

	for (uint32_t j = 0; j < model->n_jobs; j++) {
		start_us[run->order[j]] = run->start_us[j];
		result->shift_us[run->order[j]] = search->shift_us[j];
	}
	excess_at_start(problem, run->start_excess_bps, start_us,
			result->excess_before_bps);
	excess_of_moved(problem, start_us, result);
	result->objective_before = joint_objective(problem, result->excess_before_bps);
	result->objective_after = joint_objective(problem, result->excess_after_bps);
	if (result->objective_after > result->objective_before) {
		memcpy(result->shift_us, start_us, problem->n_jobs * sizeof *start_us);
		memcpy(search->shift_us, run->start_us,
		       problem->n_jobs * sizeof *start_us);
		memcpy(result->excess_after_bps, result->excess_before_bps,
		       problem->n_links * sizeof *result->excess_after_bps);
		result->objective_after = result->objective_before;
		run->solver.has_slack = false;
	}
	for (size_t i = 0; i < peeled->n_components; i++)
		result->has_loop |= peeled->components[i].n_core_links > 0;
	for (uint32_t j = 0; j < model->n_jobs; j++) {
		uint32_t job = run->order[j];

		result->slack_us[job] = slack_of(&run->solver, j);
		result->method[job] = !model->jobs[j].is_movable ? JOINT_FIXED
				      : peeled->is_core_job[j]   ? JOINT_LOOP
				      : peeled->component_of[j] == CORE_NONE
					      ? JOINT_FREE
					      : JOINT_TREE;
	}
	free(start_us);
}

struct joint_result *
joint_solve(const struct joint_problem *problem, const struct joint_opts *opts)
{
	static const struct joint_opts no_opts;
	struct joint_run run = { 0 };
	struct solver *solver = &run.solver;
	struct joint_result *result;
	size_t n = problem->n_jobs;
	struct joined joined;

	if (!is_well_formed(problem))
		return NULL;
	joined_init(&joined, problem);
	problem = run.problem = &joined.problem;
	if (!opts)
		opts = &no_opts;
	run.order = xcalloc(n + 1, sizeof *run.order);
	run.hash = xcalloc(n + 1, sizeof *run.hash);
	run.start_us = xcalloc(n + 1, sizeof *run.start_us);
	canonical_order(problem, opts->movable, run.order, run.hash);
	for (size_t j = 0; j < n && opts->start_shifts_us; j++)
		run.start_us[j] =
			period_mod(opts->start_shifts_us[run.order[j]],
				   problem->profiles[run.order[j]]->period_us);
	run.start_excess_bps = opts->start_excess_bps;
	joint_model_make(problem, run.order, opts->movable, &run.model);
	solver_init(solver, &run.model, run.start_us);
	solver->hash = run.hash;
	solver->seed = opts->seed;
	solver->effort = opts->n_restarts ? opts->n_restarts : DEFAULT_RESTARTS;
	solver->is_warm = opts->start_shifts_us != NULL;
	solver_run(solver);
	normalize_shifts(solver);

	result = result_new(problem);
	write_result(&run, result);
	solver_fini(solver);
	joint_model_fini(&run.model);
	free(run.order);
	free(run.hash);
	free(run.start_us);
	joined_fini(&joined);
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
	struct joint_model_room *room = joint_model_room_new();
	struct joined joined;

	joined_init(&joined, problem);
	for (uint32_t l = 0; l < problem->n_links; l++)
		ret_excess_bps[l] =
			joint_model_exact_excess(&joined.problem, l, shift_us, room);
	joined_fini(&joined);
	joint_model_room_free(room);
}
