/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/solve/search.h"

#include <string.h>

void
search_init(struct search *search, const struct joint_model *model,
	    const int64_t *shift_us)
{
	memset(search, 0, sizeof *search);
	search->model = model;
	search->max_work = UINT64_MAX;
	search->shift_us = xcalloc(model->n_jobs + 1, sizeof *search->shift_us);
	search->is_off = xcalloc(model->n_links + 1, sizeof *search->is_off);
	search->is_absent = xcalloc(model->n_jobs + 1, sizeof *search->is_absent);
	search->queue = xcalloc(model->n_jobs + 1, sizeof *search->queue);
	search->is_queued = xcalloc(model->n_jobs + 1, sizeof *search->is_queued);
	search->cost = xcalloc(model->n_links + 1, sizeof *search->cost);
	search->seen = xcalloc(model->n_links + 1, sizeof *search->seen);
	search->room = joint_model_room_new();
	for (size_t j = 0; j < model->n_jobs; j++)
		search->shift_us[j] = period_mod(shift_us[j], model->jobs[j].period_us);
}

void
search_fini(struct search *search)
{
	free(search->shift_us);
	free(search->is_off);
	free(search->is_absent);
	piecewise_linear_fini(&search->line);
	vec_free(&search->journal);
	free(search->cost);
	free(search->seen);
	free(search->queue);
	free(search->is_queued);
	vec_free(&search->terms);
	step_function_room_fini(&search->sum);
	step_function_room_fini(&search->rest_sum);
	overlap_room_fini(&search->overlap);
	joint_model_room_free(search->room);
}

/* Sums the present jobs of a group but 'skip'; NULL if there are none. */
static const struct step_function *
sum_others(struct search *search, const struct joint_model_group *group, uint32_t skip,
	   int64_t period_us, struct step_function_room *room)
{
	const struct joint_model_load *load = &search->model->loads[group->first_load];

	search->terms.n = 0;
	for (uint32_t i = 0; i < group->n_loads; i++, load++) {
		struct step_function_term term = { &load->step,
						   search->shift_us[load->job] };

		if (load->job != skip && !search->is_absent[load->job])
			vec_push(&search->terms, term);
	}
	if (search->terms.n == 0)
		return NULL;
	step_function_sum(search->terms.items, search->terms.n, period_us, room);
	return &room->step;
}

/*
 * The levels of all groups of a link but one.  Returns false if there are none; the
 * caller releases '*ret_levels' if '*ret_is_new'.
 */
static bool
rest_of_link(struct search *search, const struct joint_model_link *link,
	     uint32_t own_group, struct demand_levels *ret_levels, bool *ret_is_new)
{
	const struct joint_model *model = search->model;
	struct demand_levels one = { 0 };

	*ret_is_new = false;
	*ret_levels = link->alone;
	if (link->n_large_groups < 2)
		return link->alone.n > 0;
	memset(ret_levels, 0, sizeof *ret_levels);
	for (uint32_t g = link->first_group; g < link->first_group + link->n_groups;
	     g++) {
		const struct joint_model_group *group = &model->groups[g];
		const struct step_function *sum;

		if (g == own_group || group->n_loads < 2)
			continue;
		sum = sum_others(search, group, UINT32_MAX, group->period_us,
				 &search->rest_sum);
		if (!sum)
			continue;
		demand_levels_of_step(sum, &one);
		if (ret_levels->n > 0) {
			demand_levels_add(ret_levels, &one);
			demand_levels_fini(&one);
		} else {
			*ret_levels = one;
		}
		*ret_is_new = true;
	}
	if (*ret_is_new && link->alone.n > 0)
		demand_levels_add(ret_levels, &link->alone);
	else if (link->alone.n > 0)
		*ret_levels = link->alone;
	return ret_levels->n > 0;
}

/* Adds one link's part of a job's line, over one turn. */
static void
add_link_bends(struct search *search, const struct joint_model_use *use)
{
	const struct joint_model *model = search->model;
	const struct joint_model_load *load = &model->loads[use->load];
	const struct joint_model_link *link = &model->links[use->link];
	const struct joint_model_group *group = &model->groups[load->group];
	struct event_list *bends = &search->line.bends;
	struct overlap_cost cost = { .capacity = link->capacity };
	int64_t shift_us = search->shift_us[load->job];
	const struct step_function *others;
	struct demand_levels rest;
	bool rest_is_new = false;
	size_t first = bends->n, n;
	double scale;

	if (group->n_loads == 2) {
		uint32_t x =
			use->load == group->first_load ? use->load + 1 : use->load - 1;

		if (search->is_absent[model->loads[x].job])
			return;
		others = &model->loads[x].step;
		shift_us -= search->shift_us[model->loads[x].job];
	} else {
		others = sum_others(search, group, load->job, load->others_us,
				    &search->sum);
		if (!others)
			return;
	}
	if (link->n_groups > 1 &&
	    rest_of_link(search, link, load->group, &rest, &rest_is_new))
		cost.rest = &rest;
	overlap_bends(others, &load->step, shift_us, &cost, &search->overlap, bends);
	if (rest_is_new)
		demand_levels_fini(&rest);

	/* Per P, which is others * own / gcd. */
	scale = link->weight * (double)load->turn_us /
		((double)load->others_us * (double)load->step.period_us);
	for (size_t i = first; i < bends->n; i++)
		bends->items[i].slope = scale * (double)bends->items[i].level;
	n = bends->n - first;
	for (int64_t base_us = load->turn_us; base_us < search->line.turn_us;
	     base_us += load->turn_us) {
		event_list_reserve(bends, n);
		for (size_t i = 0; i < n; i++) {
			struct event x = bends->items[first + i];

			x.at_us += base_us;
			bends->items[bends->n++] = x;
		}
	}
}

int64_t
search_turn_us(const struct search *search, uint32_t j)
{
	const struct joint_model *model = search->model;
	const struct joint_model_job *job = &model->jobs[j];
	const struct joint_model_use *uses = &model->uses[job->first_use];
	int64_t turn_us = 1;

	for (uint32_t i = 0; i < job->n_uses; i++)
		if (!search->is_off[uses[i].link])
			turn_us = period_lcm(
				turn_us, model->loads[uses[i].load].turn_us, INT64_MAX);
	return turn_us;
}

void
search_line(struct search *search, uint32_t j)
{
	const struct joint_model_job *job = &search->model->jobs[j];
	const struct joint_model_use *uses = &search->model->uses[job->first_use];

	piecewise_linear_reset(&search->line, search_turn_us(search, j));
	for (uint32_t i = 0; i < job->n_uses; i++)
		if (!search->is_off[uses[i].link])
			add_link_bends(search, &uses[i]);
	search->work += search->line.bends.n + 64;
	piecewise_linear_close(&search->line);
}

void
search_move(struct search *search, uint32_t j, int64_t by_us)
{
	struct search_move move = { j, search->shift_us[j] };

	vec_push(&search->journal, move);
	search->shift_us[j] = period_mod(search->shift_us[j] + by_us,
					 search->model->jobs[j].period_us);
}

void
search_undo(struct search *search)
{
	while (search->journal.n > 0) {
		const struct search_move *move =
			&search->journal.items[--search->journal.n];

		search->shift_us[move->job] = move->shift_us;
	}
}

void
search_push(struct search *search, uint32_t j)
{
	size_t at;

	if (search->is_queued[j] || !search->model->jobs[j].is_movable)
		return;
	at = search->queue_head + search->queue_length++;
	search->queue[at < search->model->n_jobs ? at : at - search->model->n_jobs] = j;
	search->is_queued[j] = true;
}

void
search_push_neighbors(struct search *search, uint32_t j)
{
	const struct joint_model *model = search->model;
	const struct joint_model_job *job = &model->jobs[j];

	for (uint32_t i = 0; i < job->n_uses; i++) {
		const struct joint_model_use *use = &model->uses[job->first_use + i];
		const struct joint_model_link *link = &model->links[use->link];

		if (search->is_off[use->link])
			continue;
		for (uint32_t k = 0; k < link->n_loads; k++) {
			const struct joint_model_load *load =
				&model->loads[link->first_load + k];

			if (load->job != j && model->groups[load->group].n_loads > 1)
				search_push(search, load->job);
		}
	}
}

void
search_descend(struct search *search)
{
	while (search->queue_length > 0) {
		uint32_t j = search->queue[search->queue_head];
		struct piecewise_linear_minimum minimum;

		search->queue_length--;
		if (++search->queue_head == search->model->n_jobs)
			search->queue_head = 0;
		search->is_queued[j] = false;
		if (search->is_absent[j] || search->work >= search->max_work)
			continue;
		search_line(search, j);
		piecewise_linear_minimize(&search->line, &minimum);
		if (minimum.gain <= SEARCH_MIN_GAIN + search->line.tolerance)
			continue;
		search_move(search, j, minimum.at_us);
		search_push_neighbors(search, j);
	}
}

double
search_link_cost(struct search *search, uint32_t l)
{
	const struct joint_model_link *link = &search->model->links[l];

	return link->weight / link->unit_bps *
	       joint_model_link_excess(search->model, l, search->shift_us,
				       search->room);
}
