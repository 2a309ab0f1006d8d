/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/advise/moves_search.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/advise/moves_internal.h"
#include "topology/topo.h"

/* Bounds above 1 by less than this are rounding. */
#define COLD 1e-6

/* ---- Steps of one job ------------------------------------------------------------ */

/*
 * Moves 'n' workers of 'other' out of a rack, one by one to the rack with room in which
 * it has most; room is also what the first job of the draft leaves.  False: no room.
 */
static bool
push_out(struct moves_state *s, struct moves_draft *draft, uint32_t other,
	 uint32_t rack, uint32_t n)
{
	uint32_t job = draft->jobs[0], *want;

	moves_draft_add(s, draft, other);
	want = draft->want[1];
	while (n-- > 0) {
		uint32_t best = UINT32_MAX;

		for (uint32_t r = 0; r < s->n_racks; r++) {
			uint32_t left = moves_counts_of(s, job)[r] - draft->want[0][r];
			uint32_t come = want[r] - moves_counts_of(s, other)[r];

			if (r == rack ||
			    draft->want[0][r] > moves_counts_of(s, job)[r] ||
			    (best != UINT32_MAX && want[r] <= want[best]))
				continue;
			if (left > come || moves_room_in(s, other, r) + left > come)
				best = r;
		}
		if (best == UINT32_MAX)
			return false;
		want[best]++;
		want[rack]--;
	}
	return true;
}

/* Moves 'n' workers of 'job' to a rack, those of the racks in 'from' in this order. */
static void
move_to(struct moves_state *s, uint32_t job, const struct moves_target *to,
	const uint32_t *from, size_t n_from, uint32_t n, uint32_t other, uint32_t n_out)
{
	struct moves_draft draft = { 0 };

	moves_draft_add(s, &draft, job);
	for (size_t i = 0; i < n_from && n > 0; i++)
		while (from[i] != to->rack && draft.want[0][from[i]] > 0 && n > 0) {
			draft.want[0][from[i]]--;
			draft.want[0][to->rack]++;
			n--;
		}
	if (n_out == 0 || push_out(s, &draft, other, to->rack, n_out))
		moves_draft_try(s, &draft);
	else
		moves_draft_fini(&draft);
}

/* The same for 'n' of its workers, as many as have room, and with room made. */
static void
move_some(struct moves_state *s, uint32_t job, const struct moves_target *to,
	  const uint32_t *from, size_t n_from, uint32_t n)
{
	if (to->room >= n) {
		move_to(s, job, to, from, n_from, n, 0, 0);
		return;
	}
	if (to->room > 0)
		move_to(s, job, to, from, n_from, to->room, 0, 0);
	for (uint32_t k = 0; k < s->n_jobs && s->n_left > 0; k++) {
		uint32_t n_there, n_out = n - to->room;

		if (k == job || !s->jobs[k].is_movable || !(s->before[k] > 0))
			continue;
		n_there = moves_counts_of(s, k)[to->rack];
		if (n_there < n_out)
			continue;
		move_to(s, job, to, from, n_from, n, k, n_out);
		if (n_there > n_out)
			move_to(s, job, to, from, n_from, n, k, n_there);
	}
}

/* Tries the places that a start of the job would be offered. */
static void
place_anew(struct moves_state *s, uint32_t job)
{
	struct place_candidates candidates = { 0 };
	struct place_lifted *lifted = place_lift(s->place, job);
	int r = place_search(s->place, job, s->opts->seed, MOVES_PLACE_TRIES,
			     MOVES_PLACES, &candidates);

	place_return(s->place, job, lifted);
	for (size_t i = 0; r == 0 && i < candidates.n; i++) {
		struct moves_draft draft = { 0 };

		moves_draft_add(s, &draft, job);
		memset(draft.want[0], 0, s->n_racks * sizeof(uint32_t));
		for (uint32_t k = 0; k < moves_work_of(s, job)->n_hosts_wanted; k++)
			draft.want[0][s->place->leaf_group[candidates.items[i]
								   .hosts[k]]]++;
		moves_draft_try(s, &draft);
	}
	place_candidates_fini(&candidates);
}

/* Exchanges all hosts with another job of the same size. */
static void
trade(struct moves_state *s, uint32_t job, uint32_t other)
{
	size_t bytes = s->n_racks * sizeof(uint32_t);
	struct moves_draft draft = { 0 };

	moves_draft_add(s, &draft, job);
	moves_draft_add(s, &draft, other);
	memcpy(draft.want[0], moves_counts_of(s, other), bytes);
	memcpy(draft.want[1], moves_counts_of(s, job), bytes);
	moves_draft_try(s, &draft);
}

static int
compare_targets(const void *a, const void *b)
{
	const struct moves_target *x = a, *y = b;

	if (x->n_own != y->n_own)
		return x->n_own > y->n_own ? -1 : 1;
	if (x->room != y->room)
		return x->room > y->room ? -1 : 1;
	return (x->rack > y->rack) - (x->rack < y->rack);
}

/*
 * Racks to move to, those that it has, then those with most room; and its own racks,
 * those with fewest workers first.
 */
static void
find_targets(struct moves_state *s, uint32_t job)
{
	s->targets.n = s->own.n = 0;
	for (uint32_t r = 0; r < s->n_racks; r++)
		vec_push(&s->targets,
			 ((struct moves_target){ r, moves_counts_of(s, job)[r],
						 moves_room_in(s, job, r) }));
	sort_items(s->targets.items, s->targets.n, compare_targets);
	for (size_t i = s->targets.n; i-- > 0;)
		if (s->targets.items[i].n_own > 0)
			vec_push(&s->own, s->targets.items[i].rack);
	if (s->targets.n > MOVES_MAX_RACKS)
		s->targets.n = MOVES_MAX_RACKS;
}

static void
try_job(struct moves_state *s, uint32_t job)
{
	place_anew(s, job);
	find_targets(s, job);
	for (size_t i = 0; i < s->targets.n; i++) {
		const struct moves_target *to = &s->targets.items[i];

		move_some(s, job, to, s->own.items, s->own.n,
			  moves_work_of(s, job)->n_hosts_wanted - to->n_own);
		for (size_t k = 0; s->own.n > 2 - (to->n_own == 0) && k < s->own.n; k++)
			if (s->own.items[k] != to->rack)
				move_some(s, job, to, &s->own.items[k], 1,
					  moves_counts_of(s, job)[s->own.items[k]]);
	}
	for (uint32_t k = 0; k < s->n_jobs && s->n_left > 0; k++)
		if (k != job && s->jobs[k].is_movable && s->before[k] > 0 &&
		    moves_work_of(s, k)->n_hosts_wanted ==
			    moves_work_of(s, job)->n_hosts_wanted)
			trade(s, job, k);
}

/* ---- The search ------------------------------------------------------------------ */

static int
compare_hot(const void *a, const void *b)
{
	const struct moves_hot *x = a, *y = b;

	if (x->loss < y->loss || x->loss > y->loss)
		return x->loss > y->loss ? -1 : 1;
	return (x->job > y->job) - (x->job < y->job);
}

static void
search_init(struct moves_state *s, struct place *place, const struct moves_job *jobs,
	    const struct moves_opts *opts)
{
	size_t n = place->workload->n, n_nodes = topo_n_nodes(place->topo);

	*s = (struct moves_state){
		.place = place,
		.jobs = jobs,
		.opts = opts,
		.n_jobs = n,
		.n_left = opts->n_tries ? opts->n_tries : MOVES_TRIES,
		.n_racks = place->levels[0].n_groups,
		.reserved = xcalloc(n_nodes + 1, sizeof *s->reserved),
		.mine = xcalloc(n_nodes + 1, sizeof *s->mine),
		.before = xcalloc(n + 1, sizeof *s->before),
		.after = xcalloc(n + 1, sizeof *s->after),
		.n_workers = xcalloc(n + 1, sizeof *s->n_workers),
	};
	s->seen = xcalloc((size_t)s->n_racks + 1, sizeof *s->seen);
	s->counts = xcalloc(n * s->n_racks + 1, sizeof *s->counts);
	for (uint32_t j = 0; j < n; j++) {
		const uint32_t *hosts = place_hosts(place, j);

		if (!hosts)
			continue;
		for (uint32_t i = 0; i < moves_work_of(s, j)->n_hosts_wanted; i++)
			moves_counts_of(s, j)[place->leaf_group[hosts[i]]]++;
		s->before[j] = place_bound(place, j);
		if (jobs[j].is_movable && s->before[j] > 1 + COLD &&
		    (!opts->job || *opts->job == j))
			vec_push(&s->hot,
				 ((struct moves_hot){
					 j, jobs[j].weight * (1 - 1 / s->before[j]) }));
	}
	sort_items(s->hot.items, s->hot.n, compare_hot);
}

static void
search_fini(struct moves_state *s)
{
	free(s->counts);
	free(s->reserved);
	free(s->mine);
	free(s->seen);
	free(s->before);
	free(s->after);
	free(s->n_workers);
	vec_free(&s->hot);
	vec_free(&s->targets);
	vec_free(&s->own);
}

void
moves_search(struct place *place, const struct moves_job *jobs,
	     const struct moves_opts *opts, struct moves_steps *ret_steps)
{
	struct moves_state s;
	size_t n_tries;

	search_init(&s, place, jobs, opts);
	n_tries = s.n_left;
	if (s.hot.n > MOVES_MAX_JOBS)
		s.hot.n = MOVES_MAX_JOBS;
	/* Each job has its share of what is left. */
	for (size_t i = 0; i < s.hot.n; i++) {
		s.n_left = n_tries / (s.hot.n - i);
		n_tries -= s.n_left;
		try_job(&s, s.hot.items[i].job);
		n_tries += s.n_left;
	}
	ret_steps->items = s.pool.items;
	ret_steps->n = s.pool.n;
	search_fini(&s);
}

void
moves_step_fini(struct moves_step *step)
{
	for (uint32_t k = 0; k < step->n_jobs; k++)
		free(step->hosts[k]);
	*step = (struct moves_step){ .n_jobs = 0 };
}

void
moves_steps_fini(struct moves_steps *steps)
{
	for (size_t i = 0; i < steps->n; i++)
		moves_step_fini(&steps->items[i]);
	free(steps->items);
	*steps = (struct moves_steps){ 0 };
}
