/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/solve/ruin_recreate.h"

/* Links with a lower cost are not worth a round. */
#define MIN_COST (2 * SEARCH_MIN_GAIN)
/* Tolerance for sums of the same costs in another order. */
#define EQUAL_COST 1e-12
#define MAX_RUINED 3

struct improve {
	struct search *search;
	struct rng *rng;
	VEC(uint32_t) hot;     /* Links worth a round. */
	VEC(uint32_t) touched; /* Links that the round may have changed. */
	VEC(uint32_t) jobs;    /* Movable ones on the link of the round. */
};

static void
move_to_best(struct search *search, uint32_t j)
{
	struct piecewise_linear_minimum minimum;

	search_line(search, j);
	piecewise_linear_minimize(&search->line, &minimum);
	search_move(search, j, minimum.at_us);
}

void
ruin_recreate_insert(struct search *search, const uint32_t *jobs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		search->is_absent[jobs[i]] = false;
		if (search->model->jobs[jobs[i]].is_movable)
			move_to_best(search, jobs[i]);
	}
}

static void
list_hot_links(struct improve *improve, const uint32_t *links, size_t n_links)
{
	improve->hot.n = 0;
	for (size_t i = 0; i < n_links; i++)
		if (improve->search->cost[links[i]] > MIN_COST)
			vec_push(&improve->hot, links[i]);
}

/* Removes some jobs of link 'l' and reinserts them.  Returns false if none can move. */
static bool
ruin_and_recreate(struct improve *improve, uint32_t l)
{
	struct search *search = improve->search;
	const struct joint_model *model = search->model;
	const struct joint_model_link *link = &model->links[l];
	size_t n = MAX_RUINED - 1 + rng_below(improve->rng, 2);

	improve->jobs.n = 0;
	for (uint32_t i = 0; i < link->n_loads; i++) {
		const struct joint_model_load *load =
			&model->loads[link->first_load + i];

		if (model->groups[load->group].n_loads > 1 &&
		    model->jobs[load->job].is_movable)
			vec_push(&improve->jobs, load->job);
	}
	if (improve->jobs.n == 0)
		return false;
	if (n > improve->jobs.n)
		n = improve->jobs.n;
	for (size_t i = 0; i < n; i++) { /* Draw n of them, in random order. */
		size_t k = i + rng_below(improve->rng, improve->jobs.n - i);
		uint32_t j = improve->jobs.items[k];

		improve->jobs.items[k] = improve->jobs.items[i];
		improve->jobs.items[i] = j;
		search->is_absent[j] = true;
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t j = improve->jobs.items[i];

		search->is_absent[j] = false;
		if (i == 0) {
			search_line(search, j);
			search_move(search, j,
				    piecewise_linear_draw_minimum(&search->line,
								  improve->rng));
		} else {
			move_to_best(search, j);
		}
		search_push(search, j);
		search_push_neighbors(search, j);
	}
	return true;
}

/* Lists the links of all jobs in the journal, each once. */
static void
list_touched_links(struct improve *improve)
{
	struct search *search = improve->search;
	const struct joint_model *model = search->model;

	improve->touched.n = 0;
	search->stamp++;
	for (size_t i = 0; i < search->journal.n; i++) {
		const struct joint_model_job *job =
			&model->jobs[search->journal.items[i].job];

		for (uint32_t k = 0; k < job->n_uses; k++) {
			uint32_t l = model->uses[job->first_use + k].link;

			if (search->is_off[l] || search->seen[l] == search->stamp)
				continue;
			search->seen[l] = search->stamp;
			vec_push(&improve->touched, l);
		}
	}
}

/* Keeps a round and returns its change of the cost, or undoes it. */
static bool
settle(struct improve *improve, bool accepts_equal, double *total)
{
	struct search *search = improve->search;
	double before = 0, after = 0;

	list_touched_links(improve);
	for (size_t i = 0; i < improve->touched.n; i++) {
		before += search->cost[improve->touched.items[i]];
		after += search_link_cost(search, improve->touched.items[i]);
	}
	if (after > before + (accepts_equal ? EQUAL_COST : -EQUAL_COST)) {
		search_undo(search);
		return false;
	}
	for (size_t i = 0; i < improve->touched.n; i++) {
		uint32_t l = improve->touched.items[i];

		search->cost[l] = search_link_cost(search, l);
	}
	search->journal.n = 0;
	*total += after - before;
	return true;
}

double
ruin_recreate_links(struct search *search, const uint32_t *links, size_t n_links,
		    const struct ruin_recreate_opts *opts, struct rng *rng)
{
	struct improve improve = { .search = search, .rng = rng };
	double total = 0;

	for (size_t i = 0; i < n_links; i++)
		total += search->cost[links[i]] = search_link_cost(search, links[i]);
	list_hot_links(&improve, links, n_links);
	search->journal.n = 0;
	for (size_t i = 0; i < opts->n_rounds; i++) {
		if (improve.hot.n == 0 || total <= opts->target ||
		    search->work >= opts->max_work)
			break;
		if (!ruin_and_recreate(
			    &improve, improve.hot.items[rng_below(rng, improve.hot.n)]))
			continue;
		search_descend(search);
		if (settle(&improve, opts->accepts_equal, &total))
			list_hot_links(&improve, links, n_links);
	}
	vec_free(&improve.hot);
	vec_free(&improve.touched);
	vec_free(&improve.jobs);
	return total;
}
