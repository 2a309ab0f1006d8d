/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/solve/link.h"

#include <math.h>

#include "scheduler/core/solve/ruin_recreate.h"
#include "scheduler/core/solve/slot_search.h"

/* Tolerance of costs equal to the lower bound. */
#define EQUAL_COST SEARCH_MIN_GAIN
/* The common period is at most this many of the shortest. */
#define SLOT_SEARCH_MAX_PERIODS 4

/* The mean demand of a job of the link. */
struct volume {
	double mean; /* Units. */
	uint32_t job;
};

static int
compare_volumes(const void *a_, const void *b_)
{
	const struct volume *a = a_, *b = b_;

	if (a->mean != b->mean)
		return a->mean > b->mean ? -1 : 1;
	return a->job < b->job ? -1 : a->job > b->job;
}

/* Lists the jobs whose shifts matter, largest first, and the lower bound of E. */
static size_t
list_jobs(const struct joint_model *model, const struct joint_model_link *link,
	  uint32_t *jobs, double *ret_bound)
{
	struct volume *volumes = xcalloc(link->n_loads, sizeof *volumes);
	double sum = 0;
	size_t n = 0;

	for (uint32_t i = 0; i < link->n_loads; i++) {
		const struct joint_model_load *load =
			&model->loads[link->first_load + i];
		double mean = step_function_mean(&load->step);

		sum += mean;
		if (model->groups[load->group].n_loads > 1)
			volumes[n++] = (struct volume){ mean, load->job };
	}
	qsort(volumes, n, sizeof *volumes, compare_volumes);
	for (size_t i = 0; i < n; i++)
		jobs[i] = volumes[i].job;
	free(volumes);
	*ret_bound = link->weight * fmax(0, sum - (double)link->capacity);
	return n;
}

/* The best solution of a search over three jobs so far. */
struct best3 {
	double cost, bound;
	int64_t shift_us[3];
};

static void
note_best(struct search *search, uint32_t l, const uint32_t jobs[3], struct best3 *best)
{
	double cost = search_link_cost(search, l);

	if (cost >= best->cost)
		return;
	best->cost = cost;
	for (int i = 0; i < 3; i++)
		best->shift_us[i] = search->shift_us[jobs[i]];
}

static const struct step_function *
step_of(const struct joint_model *model, uint32_t l, uint32_t j, int64_t *ret_turn_us)
{
	const struct joint_model_load *load = &model->loads[model->links[l].first_load];

	while (load->job != j)
		load++;
	*ret_turn_us = load->turn_us;
	return &load->step;
}

/* The number of meetings of 'second' with 'first'. */
static double
n_meetings(const struct search *search, uint32_t l, uint32_t first, uint32_t second)
{
	int64_t turn_us, unused_us;
	const struct step_function *a = step_of(search->model, l, first, &unused_us);
	const struct step_function *b = step_of(search->model, l, second, &turn_us);

	return (double)a->n * (double)b->n *
	       (double)(turn_us / period_gcd(a->period_us, b->period_us));
}

/* Finds the best third shift for every meeting of jobs[second] with jobs[0]. */
static void
try_meetings(struct search *search, uint32_t l, const uint32_t jobs[3], int second,
	     struct best3 *best)
{
	int64_t turn_us, unused_us;
	const struct step_function *a = step_of(search->model, l, jobs[0], &unused_us);
	const struct step_function *b =
		step_of(search->model, l, jobs[second], &turn_us);
	int64_t g_us = period_gcd(a->period_us, b->period_us);
	uint32_t third = jobs[3 - second];
	struct piecewise_linear_minimum minimum;

	for (size_t i = 0; i < a->n * b->n; i++) {
		int64_t by_us =
			period_mod(a->from_us[i / b->n] - b->from_us[i % b->n], g_us);

		for (; by_us < turn_us; by_us += g_us) {
			search->shift_us[jobs[second]] = period_mod(
				search->shift_us[jobs[0]] + by_us, b->period_us);
			search_line(search, third);
			piecewise_linear_minimize(&search->line, &minimum);
			search->shift_us[third] =
				period_mod(search->shift_us[third] + minimum.at_us,
					   search->model->jobs[third].period_us);
			note_best(search, l, jobs, best);
			if (best->cost <= best->bound + EQUAL_COST)
				return;
		}
	}
}

static void
solve_three(struct search *search, uint32_t l, const uint32_t jobs[3], double bound)
{
	struct best3 best = { .cost = INFINITY, .bound = bound };

	note_best(search, l, jobs, &best);
	for (int second = 1; second <= 2; second++)
		if (best.cost > bound + EQUAL_COST)
			try_meetings(search, l, jobs, second, &best);
	for (int i = 0; i < 3; i++)
		search->shift_us[jobs[i]] = best.shift_us[i];
}

/* Whether the exact search of three jobs is affordable. */
static bool
is_small(const struct search *search, uint32_t l, const uint32_t jobs[3])
{
	const struct joint_model *model = search->model;
	double pieces = 0, meetings = n_meetings(search, l, jobs[0], jobs[1]) +
				      n_meetings(search, l, jobs[0], jobs[2]);
	const struct joint_model_group *group = NULL;

	for (int i = 0; i < 3; i++) {
		int64_t turn_us;
		const struct step_function *step = step_of(model, l, jobs[i], &turn_us);

		group = &model->groups[model->loads[model->links[l].first_load].group];
		pieces += (double)step->n *
			  ((double)group->period_us / (double)step->period_us);
	}
	return group->n_loads == 3 && meetings * pieces * pieces / 4 <= LINK_MAX_WORK;
}

/* Whether the coarse search resolves what the exact one does. */
static bool
is_coarse(const struct joint_model *model, const struct joint_model_link *link,
	  const uint32_t *jobs, size_t n)
{
	const struct joint_model_group *group = &model->groups[link->first_group];

	if (link->n_groups > 1 || n > SLOT_SEARCH_MAX_JOBS)
		return false;
	for (size_t i = 0; i < n; i++)
		if (group->period_us >
		    SLOT_SEARCH_MAX_PERIODS * model->jobs[jobs[i]].period_us)
			return false;
	return true;
}

static void
take_shifts(const struct search *search, const uint32_t *jobs, size_t n,
	    int64_t *shift_us)
{
	for (size_t i = 0; i < n; i++)
		shift_us[i] = search->shift_us[jobs[i]];
}

static void
give_shifts(struct search *search, const uint32_t *jobs, size_t n,
	    const int64_t *shift_us)
{
	for (size_t i = 0; i < n; i++)
		search->shift_us[jobs[i]] =
			period_mod(shift_us[i], search->model->jobs[jobs[i]].period_us);
}

/* A coarse solution with its exact cost. */
struct candidate {
	double cost;
	int64_t shift_us[SLOT_SEARCH_MAX_JOBS];
};

/* Finds solutions in slots, and sorts them by their exact cost. */
static size_t
list_candidates(struct search *search, uint32_t l, const uint32_t *jobs, size_t n,
		size_t effort, struct rng *rng,
		struct candidate ret_candidates[SLOT_SEARCH_SOLUTIONS])
{
	const struct joint_model *model = search->model;
	const struct joint_model_link *link = &model->links[l];
	int64_t period_us = model->groups[link->first_group].period_us, unused_us;
	struct slot_solution solutions[SLOT_SEARCH_SOLUTIONS];
	const struct step_function *steps[SLOT_SEARCH_MAX_JOBS];
	size_t n_solutions;

	for (size_t i = 0; i < n; i++)
		steps[i] = step_of(model, l, jobs[i], &unused_us);
	n_solutions =
		slot_search_solve(steps, n, period_us, link->capacity,
				  (uint64_t)LINK_SLOT_WORK * effort, rng, solutions);
	for (size_t k = 0; k < n_solutions; k++) {
		struct candidate this;
		size_t at = k;

		for (size_t i = 0; i < n; i++)
			this.shift_us[i] =
				(int64_t)((__int128)period_us * solutions[k].slot[i] /
					  SLOT_SEARCH_SLOTS);
		give_shifts(search, jobs, n, this.shift_us);
		this.cost = search_link_cost(search, l);
		for (; at > 0 && ret_candidates[at - 1].cost > this.cost; at--)
			ret_candidates[at] = ret_candidates[at - 1];
		ret_candidates[at] = this;
	}
	return n_solutions;
}

/* Descends from the coarse solutions, best first; keeps the best of all. */
static void
descend_from_coarse(struct search *search, uint32_t l, const uint32_t *jobs, size_t n,
		    size_t effort, const struct ruin_recreate_opts *opts,
		    struct rng *rng)
{
	struct candidate candidates[SLOT_SEARCH_SOLUTIONS];
	int64_t best_us[SLOT_SEARCH_MAX_JOBS];
	uint64_t first_work = search->work + LINK_DESCENT_WORK;
	double best = INFINITY;
	size_t n_candidates;

	n_candidates = list_candidates(search, l, jobs, n, effort, rng, candidates);
	for (size_t k = 0; k < n_candidates && best > opts->target; k++) {
		double cost;

		if (k > 0 && search->work >= opts->max_work)
			break;
		for (size_t i = 0; i < n; i++)
			search_push(search, jobs[i]);
		give_shifts(search, jobs, n, candidates[k].shift_us);
		search->max_work = opts->max_work;
		if (search->max_work < first_work)
			search->max_work = first_work;
		search_descend(search);
		cost = search_link_cost(search, l);
		if (cost >= best)
			continue;
		best = cost;
		take_shifts(search, jobs, n, best_us);
	}
	give_shifts(search, jobs, n, best_us);
}

void
link_solve(struct search *search, uint32_t l, size_t effort, struct rng *rng)
{
	const struct joint_model *model = search->model;
	const struct joint_model_link *link = &model->links[l];
	struct ruin_recreate_opts opts = { .accepts_equal = true };
	uint32_t *jobs = xcalloc(link->n_loads, sizeof *jobs);
	double bound, cost;
	size_t n = list_jobs(model, link, jobs, &bound);

	opts.target = bound + EQUAL_COST;
	opts.max_work = search->work + (uint64_t)LINK_WORK * effort;
	if (n > 3 && is_coarse(model, link, jobs, n)) {
		descend_from_coarse(search, l, jobs, n, effort, &opts, rng);
	} else {
		for (size_t i = 0; i < n; i++)
			search->is_absent[jobs[i]] = true;
		ruin_recreate_insert(search, jobs, n);
		for (size_t i = 0; i < n && n > 2; i++)
			search_push(search, jobs[i]);
		search_descend(search);
	}
	search->max_work = opts.max_work;
	if (n > 2) {
		opts.n_rounds = n == 3 ? 4 : 4 * n * effort;
		cost = ruin_recreate_links(search, &l, 1, &opts, rng);
		if (n == 3 && cost > opts.target && is_small(search, l, jobs))
			solve_three(search, l, jobs, bound);
	}
	search->max_work = UINT64_MAX;
	free(jobs);
}
