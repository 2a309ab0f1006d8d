/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/solve/joint_model.h"

#include <math.h>
#include <string.h>

#include "lib/base/sort.h"
#include "scheduler/core/profile/profile.h"
#include "scheduler/core/solve/joint_model_link.h"
#include "scheduler/core/solve/overlap.h"

struct joint_model_room {
	struct step_function_room sum, other_sum;
	struct overlap_room overlap;
	VEC(struct step_function_term) terms;
	/* For single links of a problem. */
	struct group_room grouping;
	VEC(struct joint_model_load) loads;
	VEC(struct joint_model_group) groups;
	VEC(int64_t) pieces;
	VEC(int64_t) shifts;
};

static double
sum_of_peaks(const struct joint_problem *problem, const struct joint_link *link)
{
	double sum_bps = 0;

	for (uint32_t i = 0; i < link->n_loads; i++) {
		const struct joint_load *load = &problem->loads[link->first_load + i];

		sum_bps +=
			load->factor * profile_peak_bps(problem->profiles[load->job]);
	}
	return sum_bps;
}

/* Room needed by the steps of a link. */
static size_t
link_pieces(const struct joint_problem *problem, const struct joint_link *link)
{
	size_t n = 0;

	for (uint32_t i = 0; i < link->n_loads; i++)
		n += 2 * step_function_max_pieces(
				 problem->profiles[problem->loads[link->first_load + i]
							   .job]);
	return n;
}

/*
 * Makes the steps of a link's loads, with the problem's numbers of jobs.  Constant
 * loads only reduce the capacity.  Returns the number of remaining loads.
 */
static uint32_t
make_steps(const struct joint_problem *problem, const struct joint_link *link,
	   double unit_bps, int64_t *pieces, struct joint_model_load *loads,
	   int64_t *ret_capacity)
{
	int64_t capacity = llround(link->capacity_bps / unit_bps);
	uint32_t n = 0;

	for (uint32_t i = 0; i < link->n_loads; i++) {
		const struct joint_load *in = &problem->loads[link->first_load + i];
		const struct profile *profile = problem->profiles[in->job];
		size_t room = step_function_max_pieces(profile);
		struct joint_model_load *load = &loads[n];

		memset(load, 0, sizeof *load);
		load->job = in->job;
		load->factor = in->factor;
		load->step.from_us = pieces;
		load->step.level = pieces + room;
		step_function_from_profile(profile, in->factor, unit_bps, &load->step);
		if (load->step.n < 2) {
			capacity -= load->step.level[0];
			continue;
		}
		pieces += 2 * room;
		n++;
	}
	*ret_capacity = capacity;
	return n;
}

static int
by_job(const void *a, const void *b)
{
	const struct joint_model_load *x = a, *y = b;

	return (x->job > y->job) - (x->job < y->job);
}

static const struct group_limits search_limits = {
	.max_pieces = JOINT_MODEL_GROUP_PIECES,
	.min_gain = JOINT_MODEL_MIN_GAIN,
	.max_pair_bends = JOINT_MODEL_PAIR_BENDS,
	.enough_groups = 1,
};

/* Two groups are exact whatever their periods are: overlap.h. */
static const struct group_limits exact_limits = {
	.max_pieces = JOINT_MODEL_EXACT_PIECES,
	.min_gain = 0,
	.max_pair_bends = 0,
	.enough_groups = 2,
};

/* Adds link 'l' of the problem to the model, unless shifts do not matter on it. */
static void
add_link(const struct joint_problem *problem, uint32_t l, const uint32_t *number_of,
	 const bool *movable, int64_t **pieces, struct group_room *grouping,
	 struct joint_model *model)
{
	const struct joint_link *in = &problem->links[l];
	struct joint_model_link *link = &model->links[model->n_links];
	struct joint_model_load *loads = &model->loads[model->n_loads];
	struct joint_model_group *groups = &model->groups[model->n_groups];
	double peaks_bps = sum_of_peaks(problem, in);
	bool has_movable = !movable;

	for (uint32_t i = 0; i < in->n_loads && !has_movable; i++)
		has_movable = movable[problem->loads[in->first_load + i].job];
	if (!has_movable || peaks_bps <= in->capacity_bps)
		return;
	memset(link, 0, sizeof *link);
	link->link = l;
	link->unit_bps = step_function_unit_bps(fmax(peaks_bps, in->capacity_bps));
	link->weight =
		in->weight / model->max_weight * link->unit_bps / in->capacity_bps;
	link->n_loads = make_steps(problem, in, link->unit_bps, *pieces, loads,
				   &link->capacity);
	if (link->n_loads < 2)
		return;
	link->capacity_bps = in->capacity_bps;
	link->n_constant = in->n_loads - link->n_loads;
	for (uint32_t i = 0; i < link->n_loads; i++)
		loads[i].job = number_of[loads[i].job];
	sort_items(loads, link->n_loads, by_job);
	link->n_groups = joint_model_group_loads(loads, link->n_loads, link->capacity,
						 &search_limits, grouping, groups);
	for (uint32_t g = 0; g < link->n_groups; g++)
		link->n_large_groups += groups[g].n_loads > 1;
	if (link->n_large_groups == 0)
		return;

	link->first_load = (uint32_t)model->n_loads;
	link->first_group = (uint32_t)model->n_groups;
	for (uint32_t g = 0; g < link->n_groups; g++)
		groups[g].first_load += link->first_load;
	for (uint32_t i = 0; i < link->n_loads; i++) {
		loads[i].group += link->first_group;
		loads[i].link = (uint32_t)model->n_links;
	}
	*pieces += link_pieces(problem, in);
	model->n_loads += link->n_loads;
	model->n_groups += link->n_groups;
	model->n_links++;
}

/* Adds up the levels of the jobs that are alone in their groups. */
static void
add_levels_alone(struct joint_model *model, struct joint_model_link *link)
{
	for (uint32_t g = 0; g < link->n_groups; g++) {
		const struct joint_model_group *group =
			&model->groups[link->first_group + g];
		struct demand_levels levels;

		if (group->n_loads > 1)
			continue;
		demand_levels_of_step(&model->loads[group->first_load].step, &levels);
		if (link->alone.n == 0) {
			link->alone = levels;
			continue;
		}
		demand_levels_add(&link->alone, &levels);
		demand_levels_fini(&levels);
	}
}

/* Lists for each job its groups with other jobs. */
static void
add_uses(struct joint_model *model)
{
	uint32_t first = 0;

	for (size_t x = 0; x < model->n_loads; x++)
		if (model->groups[model->loads[x].group].n_loads > 1)
			model->jobs[model->loads[x].job].n_uses++;
	for (size_t j = 0; j < model->n_jobs; j++) {
		model->jobs[j].first_use = first;
		first += model->jobs[j].n_uses;
		model->jobs[j].n_uses = 0;
	}
	model->n_uses = first;
	model->uses = xcalloc(first + 1, sizeof *model->uses);
	for (uint32_t x = 0; x < model->n_loads; x++) {
		struct joint_model_job *job = &model->jobs[model->loads[x].job];

		if (model->groups[model->loads[x].group].n_loads > 1)
			model->uses[job->first_use + job->n_uses++] =
				(struct joint_model_use){ model->loads[x].link, x };
	}
}

void
joint_model_make(const struct joint_problem *problem, const uint32_t *order,
		 const bool *movable, struct joint_model *ret_model)
{
	struct joint_model *model = ret_model;
	uint32_t *number_of = xcalloc(problem->n_jobs + 1, sizeof *number_of);
	struct group_room grouping = { 0 };
	size_t n_loads = 1, n_pieces = 1;
	int64_t *pieces;

	memset(model, 0, sizeof *model);
	for (size_t l = 0; l < problem->n_links; l++) {
		model->max_weight = fmax(model->max_weight, problem->links[l].weight);
		n_loads += problem->links[l].n_loads;
		n_pieces += link_pieces(problem, &problem->links[l]);
	}
	if (!(model->max_weight > 0))
		model->max_weight = 1;
	model->n_jobs = problem->n_jobs;
	model->jobs = xcalloc(problem->n_jobs + 1, sizeof *model->jobs);
	model->links = xcalloc(problem->n_links + 1, sizeof *model->links);
	model->loads = xreallocarray(NULL, n_loads, sizeof *model->loads);
	model->groups = xreallocarray(NULL, n_loads, sizeof *model->groups);
	model->pieces = xreallocarray(NULL, n_pieces, sizeof *model->pieces);
	for (uint32_t j = 0; j < problem->n_jobs; j++) {
		struct joint_model_job *job = &model->jobs[j];

		number_of[order[j]] = j;
		job->job = order[j];
		job->period_us = problem->profiles[order[j]]->period_us;
		job->is_movable = !movable || movable[order[j]];
	}
	pieces = model->pieces;
	for (uint32_t l = 0; l < problem->n_links; l++)
		add_link(problem, l, number_of, movable, &pieces, &grouping, model);
	for (size_t l = 0; l < model->n_links; l++)
		add_levels_alone(model, &model->links[l]);
	add_uses(model);
	joint_model_group_room_fini(&grouping);
	free(number_of);
}

void
joint_model_fini(struct joint_model *model)
{
	for (size_t l = 0; l < model->n_links; l++)
		demand_levels_fini(&model->links[l].alone);
	free(model->jobs);
	free(model->links);
	free(model->loads);
	free(model->groups);
	free(model->uses);
	free(model->pieces);
	memset(model, 0, sizeof *model);
}

/* ---- Evaluation --------------------------------------------------------------- */

struct joint_model_room *
joint_model_room_new(void)
{
	return xcalloc(1, sizeof(struct joint_model_room));
}

void
joint_model_room_free(struct joint_model_room *room)
{
	if (!room)
		return;
	step_function_room_fini(&room->sum);
	step_function_room_fini(&room->other_sum);
	overlap_room_fini(&room->overlap);
	vec_free(&room->terms);
	joint_model_group_room_fini(&room->grouping);
	vec_free(&room->loads);
	vec_free(&room->groups);
	vec_free(&room->pieces);
	vec_free(&room->shifts);
	free(room);
}

/* Sums one group; loads' 'job' indexes 'shift_us'. */
static const struct step_function *
sum_group(const struct joint_model_load *loads, const struct joint_model_group *group,
	  const int64_t *shift_us, struct joint_model_room *room,
	  struct step_function_room *sum)
{
	room->terms.n = 0;
	for (uint32_t i = 0; i < group->n_loads; i++) {
		const struct joint_model_load *load = &loads[group->first_load + i];
		struct step_function_term term = { &load->step, shift_us[load->job] };

		vec_push(&room->terms, term);
	}
	step_function_sum(room->terms.items, room->terms.n, group->period_us, sum);
	return &sum->step;
}

/*
 * Mean excess in units.  The groups' first_load counts from 'loads'.  Two groups are
 * exact by overlap.h; of more, all but the largest enter by their levels.
 */
static double
groups_excess(const struct joint_model_load *loads,
	      const struct joint_model_group *groups, uint32_t n_groups,
	      int64_t capacity, const int64_t *shift_us, struct joint_model_room *room)
{
	struct overlap_cost cost = { .capacity = capacity };
	struct demand_levels rest = { 0 };
	const struct step_function *main_sum, *other;
	uint32_t largest = 0;
	double excess;

	if (n_groups == 1 && groups[0].n_loads == 2) {
		const struct joint_model_load *a = &loads[groups[0].first_load],
					      *b = a + 1;

		return overlap_excess(&a->step, &b->step,
				      shift_us[b->job] - shift_us[a->job], &cost,
				      &room->overlap);
	}
	for (uint32_t g = 1; g < n_groups; g++)
		if (groups[g].n_loads > groups[largest].n_loads)
			largest = g;
	if (n_groups == 2) {
		main_sum = sum_group(loads, &groups[0], shift_us, room, &room->sum);
		other = sum_group(loads, &groups[1], shift_us, room, &room->other_sum);
		if (main_sum->n * other->n <= 64 * JOINT_MODEL_EXACT_PIECES)
			return overlap_excess(main_sum, other, 0, &cost,
					      &room->overlap);
	}
	for (uint32_t g = 0; g < n_groups; g++) {
		struct demand_levels levels;

		if (g == largest)
			continue;
		other = sum_group(loads, &groups[g], shift_us, room, &room->other_sum);
		demand_levels_of_step(other, &levels);
		if (rest.n == 0) {
			rest = levels;
			continue;
		}
		demand_levels_add(&rest, &levels);
		demand_levels_fini(&levels);
	}
	if (rest.n > 0)
		cost.rest = &rest;
	main_sum = sum_group(loads, &groups[largest], shift_us, room, &room->sum);
	excess = overlap_excess_alone(main_sum, &cost);
	demand_levels_fini(&rest);
	return excess;
}

double
joint_model_link_excess(const struct joint_model *model, uint32_t l,
			const int64_t *shift_us, struct joint_model_room *room)
{
	const struct joint_model_link *link = &model->links[l];

	return link->unit_bps *
	       groups_excess(model->loads, &model->groups[link->first_group],
			     link->n_groups, link->capacity, shift_us, room);
}

double
joint_model_exact_excess(const struct joint_problem *problem, uint32_t l,
			 const int64_t *shift_us, struct joint_model_room *room)
{
	const struct joint_link *link = &problem->links[l];
	double peaks_bps = sum_of_peaks(problem, link), unit_bps;
	int64_t capacity;
	uint32_t n, n_groups;

	if (peaks_bps <= link->capacity_bps)
		return 0;
	unit_bps = step_function_unit_bps(peaks_bps);
	room->pieces.n = room->loads.n = room->groups.n = 0;
	vec_reserve(&room->pieces, link_pieces(problem, link));
	vec_reserve(&room->loads, link->n_loads);
	vec_reserve(&room->groups, link->n_loads);
	n = make_steps(problem, link, unit_bps, room->pieces.items, room->loads.items,
		       &capacity);
	if (n == 0)
		return capacity < 0 ? -(double)capacity * unit_bps : 0;
	if (n == 1) {
		struct overlap_cost cost = { .capacity = capacity };

		return unit_bps *
		       overlap_excess_alone(&room->loads.items[0].step, &cost);
	}
	n_groups =
		joint_model_group_loads(room->loads.items, n, capacity, &exact_limits,
					&room->grouping, room->groups.items);
	return unit_bps * groups_excess(room->loads.items, room->groups.items, n_groups,
					capacity, shift_us, room);
}
