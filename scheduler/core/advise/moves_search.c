/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/advise/moves_search.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "lib/base/vec.h"
#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/advise/place_internal.h"
#include "topology/topo.h"

/* Bounds above 1 by less than this are rounding. */
#define COLD 1e-6

/* A movable job, hottest first. */
struct hot {
	uint32_t job;
	double loss;
};

/* A rack as a target of a job. */
struct target {
	uint32_t rack, n_own, room;
};

struct search {
	struct place *place;
	const struct moves_job *jobs;
	const struct moves_opts *opts;
	size_t n_jobs, n_left; /* Tries left. */
	uint32_t n_racks;
	uint32_t *counts;  /* Owned.  Workers: [job * n_racks + rack]. */
	int64_t *reserved; /* Owned.  By node: slots of the draft. */
	uint32_t *mine;    /* Owned.  By node: the last turn in which a job took it. */
	uint32_t *seen;    /* Owned.  By rack: the last turn in which it was seen. */
	uint32_t turn;
	double *before, *after; /* Owned.  Bounds by job. */
	uint32_t *n_workers;    /* Owned.  By job, zero between tries. */
	VEC(struct hot) hot;
	VEC(struct target) targets;
	VEC(uint32_t) own;
	VEC(struct moves_step) pool;
};

/* A step to be tried: the wanted workers by rack. */
struct draft {
	uint32_t jobs[MOVES_STEP_JOBS];
	uint32_t *want[MOVES_STEP_JOBS];  /* Owned. */
	uint32_t *hosts[MOVES_STEP_JOBS]; /* Owned; filled by a try. */
	uint32_t n[MOVES_STEP_JOBS];
	uint32_t n_jobs;
};

/* ---- Jobs and racks -------------------------------------------------------------- */

static const struct work_job *
work_of(const struct search *s, uint32_t job)
{
	return &s->place->workload->jobs[job];
}

static uint32_t *
counts_of(const struct search *s, uint32_t job)
{
	return s->counts + (size_t)job * s->n_racks;
}

static bool
has_room(const struct search *s, uint32_t job, uint32_t host)
{
	return s->place->free_slots[host] - s->reserved[host] >=
	       (int64_t)work_of(s, job)->slots_per_host;
}

/* Hosts of a rack with room for another worker. */
static uint32_t
room_in(const struct search *s, uint32_t job, uint32_t rack)
{
	const struct place *place = s->place;
	const uint32_t *first = place->levels[0].first;
	uint32_t n = 0;

	for (uint32_t i = first[rack]; i < first[rack + 1]; i++)
		n += has_room(s, job, place->order[i]);
	return n;
}

/* ---- Drafts ---------------------------------------------------------------------- */

static void
draft_add(const struct search *s, struct draft *draft, uint32_t job)
{
	uint32_t i = draft->n_jobs++;

	draft->jobs[i] = job;
	draft->want[i] = xmemdup(counts_of(s, job), s->n_racks, sizeof(uint32_t));
	draft->hosts[i] = xcalloc(work_of(s, job)->n_hosts_wanted, sizeof(uint32_t));
}

static void
draft_fini(struct draft *draft)
{
	for (uint32_t i = 0; i < draft->n_jobs; i++) {
		free(draft->want[i]);
		free(draft->hosts[i]);
	}
	*draft = (struct draft){ 0 };
}

static void
reserve(struct search *s, struct draft *draft, uint32_t i, uint32_t host)
{
	draft->hosts[i][draft->n[i]++] = host;
	draft->want[i][s->place->leaf_group[host]]--;
	s->reserved[host] += work_of(s, draft->jobs[i])->slots_per_host;
}

/* Keeps workers that may stay, then finds hosts for the others; false: no room. */
static bool
find_hosts(struct search *s, struct draft *draft, uint32_t *const *old)
{
	const struct place *place = s->place;
	const uint32_t *first = place->levels[0].first;

	for (uint32_t i = 0; i < draft->n_jobs; i++)
		for (uint32_t k = 0; k < work_of(s, draft->jobs[i])->n_hosts_wanted;
		     k++)
			if (draft->want[i][place->leaf_group[old[i][k]]] > 0)
				reserve(s, draft, i, old[i][k]);
	for (uint32_t i = 0; i < draft->n_jobs; i++) {
		s->turn++;
		for (uint32_t k = 0; k < draft->n[i]; k++)
			s->mine[draft->hosts[i][k]] = s->turn;
		for (uint32_t r = 0; r < s->n_racks; r++)
			for (uint32_t k = first[r];
			     draft->want[i][r] > 0 && k < first[r + 1]; k++)
				if (s->mine[place->order[k]] != s->turn &&
				    has_room(s, draft->jobs[i], place->order[k]))
					reserve(s, draft, i, place->order[k]);
		if (draft->n[i] < work_of(s, draft->jobs[i])->n_hosts_wanted)
			return false;
	}
	return true;
}

static void
unreserve(struct search *s, const struct draft *draft)
{
	for (uint32_t i = 0; i < draft->n_jobs; i++)
		for (uint32_t k = 0; k < draft->n[i]; k++)
			s->reserved[draft->hosts[i][k]] = 0;
}

/* How many of the sorted hosts 'a' are not among 'b'. */
static uint32_t
count_changed(const uint32_t *a, const uint32_t *b, uint32_t n)
{
	uint32_t changed = 0;

	for (uint32_t i = 0, k = 0; i < n; i++) {
		while (k < n && b[k] < a[i])
			k++;
		changed += k == n || b[k] != a[i];
	}
	return changed;
}

/* ---- Tries ----------------------------------------------------------------------- */

static double
net_of(const struct moves_step *step)
{
	return step->bill.gain - step->bill.cost;
}

static void
drop(struct search *s, size_t at)
{
	for (uint32_t i = 0; i < s->pool.items[at].n_jobs; i++)
		free(s->pool.items[at].hosts[i]);
	s->pool.n--;
	for (size_t i = at; i < s->pool.n; i++)
		s->pool.items[i] = s->pool.items[i + 1];
}

/* Keeps a step among the best, one a job; takes over its hosts. */
static void
keep(struct search *s, const struct moves_step *step)
{
	size_t n_max = s->opts->n_max ? s->opts->n_max : 1, at = s->pool.n;

	while (at > 0 && net_of(step) > net_of(&s->pool.items[at - 1]))
		at--;
	vec_push(&s->pool, *step);
	for (size_t i = s->pool.n - 1; i > at; i--)
		s->pool.items[i] = s->pool.items[i - 1];
	s->pool.items[at] = *step;
	/* The worse one of two of the same job. */
	for (size_t i = 0, n_same = 0; i < s->pool.n; i++)
		if (s->pool.items[i].jobs[0] == step->jobs[0] && n_same++ > 0)
			drop(s, i--);
	if (s->pool.n > n_max)
		drop(s, n_max);
}

/* Bills the step whose jobs are at their new hosts. */
static void
bill(struct search *s, const struct draft *draft, const uint32_t *n_workers)
{
	struct moves_step step = { .n_jobs = draft->n_jobs };

	for (uint32_t i = 0; i < draft->n_jobs; i++)
		s->n_workers[draft->jobs[i]] = n_workers[i];
	for (uint32_t j = 0; j < s->n_jobs; j++)
		s->after[j] = s->before[j] > 0 ? place_bound(s->place, j) : 0;
	moves_bill(s->jobs, s->n_jobs, s->before, s->after, s->n_workers, &step.bill);
	for (uint32_t i = 0; i < draft->n_jobs; i++)
		s->n_workers[draft->jobs[i]] = 0;
	if (!step.bill.pays)
		return;
	for (uint32_t i = 0; i < draft->n_jobs; i++) {
		step.jobs[i] = draft->jobs[i];
		step.n_workers[i] = n_workers[i];
		step.hosts[i] = xmemdup(place_hosts(s->place, draft->jobs[i]),
					work_of(s, draft->jobs[i])->n_hosts_wanted,
					sizeof(uint32_t));
	}
	keep(s, &step);
}

/* Racks of sorted or unsorted hosts. */
static uint32_t
count_racks(struct search *s, const uint32_t *hosts, uint32_t n)
{
	uint32_t n_racks = 0;

	s->turn++;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t rack = s->place->leaf_group[hosts[i]];

		n_racks += s->seen[rack] != s->turn;
		s->seen[rack] = s->turn;
	}
	return n_racks;
}

/*
 * Whether the draft is a step: each of its jobs gets other hosts, no more running jobs
 * than allowed, and together they span no more racks than before.
 */
static bool
is_allowed(struct search *s, const struct draft *draft, uint32_t *const *old,
	   const uint32_t *n_workers)
{
	uint32_t n_moved = 0, n_racks = 0, n_racks_before = 0;

	for (uint32_t i = 0; i < draft->n_jobs; i++) {
		if (n_workers[i] == 0)
			return false;
		n_moved += !s->jobs[draft->jobs[i]].is_waiting;
		n_racks += count_racks(s, draft->hosts[i], draft->n[i]);
		n_racks_before += count_racks(s, old[i], draft->n[i]);
	}
	if (draft->n_jobs == 1 && n_moved == 0)
		return false;
	return n_moved <= s->opts->n_allowed && n_racks <= n_racks_before;
}

/* Tries the draft, and ends it. */
static void
try_draft(struct search *s, struct draft *draft)
{
	struct place_lifted *lifted[MOVES_STEP_JOBS];
	uint32_t *old[MOVES_STEP_JOBS], n_workers[MOVES_STEP_JOBS] = { 0 }, n_put = 0;
	bool fits;

	if (s->n_left == 0) {
		draft_fini(draft);
		return;
	}
	s->n_left--;
	for (uint32_t i = 0; i < draft->n_jobs; i++) {
		uint32_t n = work_of(s, draft->jobs[i])->n_hosts_wanted;

		old[i] = xmemdup(place_hosts(s->place, draft->jobs[i]), n,
				 sizeof(uint32_t));
		lifted[i] = place_lift(s->place, draft->jobs[i]);
	}
	fits = find_hosts(s, draft, old);
	unreserve(s, draft);
	for (uint32_t i = 0; fits && i < draft->n_jobs; i++) {
		sort_items(draft->hosts[i], draft->n[i], sort_by_u32);
		n_workers[i] = count_changed(draft->hosts[i], old[i], draft->n[i]);
	}
	fits = fits && is_allowed(s, draft, old, n_workers);
	while (fits && n_put < draft->n_jobs &&
	       place_put(s->place, draft->jobs[n_put], draft->hosts[n_put]) == 0)
		n_put++;
	if (n_put == draft->n_jobs)
		bill(s, draft, n_workers);
	while (n_put > 0)
		place_remove(s->place, draft->jobs[--n_put]);
	for (uint32_t i = draft->n_jobs; i-- > 0;) {
		place_return(s->place, draft->jobs[i], lifted[i]);
		free(old[i]);
	}
	draft_fini(draft);
}

/* ---- Steps of one job ------------------------------------------------------------ */

/*
 * Moves 'n' workers of 'other' out of a rack, one by one to the rack with room in which
 * it has most; room is also what the first job of the draft leaves.  False: no room.
 */
static bool
push_out(struct search *s, struct draft *draft, uint32_t other, uint32_t rack,
	 uint32_t n)
{
	uint32_t job = draft->jobs[0], *want;

	draft_add(s, draft, other);
	want = draft->want[1];
	while (n-- > 0) {
		uint32_t best = UINT32_MAX;

		for (uint32_t r = 0; r < s->n_racks; r++) {
			uint32_t left = counts_of(s, job)[r] - draft->want[0][r];
			uint32_t come = want[r] - counts_of(s, other)[r];

			if (r == rack || draft->want[0][r] > counts_of(s, job)[r] ||
			    (best != UINT32_MAX && want[r] <= want[best]))
				continue;
			if (left > come || room_in(s, other, r) + left > come)
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
move_to(struct search *s, uint32_t job, const struct target *to, const uint32_t *from,
	size_t n_from, uint32_t n, uint32_t other, uint32_t n_out)
{
	struct draft draft = { 0 };

	draft_add(s, &draft, job);
	for (size_t i = 0; i < n_from && n > 0; i++)
		while (from[i] != to->rack && draft.want[0][from[i]] > 0 && n > 0) {
			draft.want[0][from[i]]--;
			draft.want[0][to->rack]++;
			n--;
		}
	if (n_out == 0 || push_out(s, &draft, other, to->rack, n_out))
		try_draft(s, &draft);
	else
		draft_fini(&draft);
}

/* The same for 'n' of its workers, as many as have room, and with room made. */
static void
move_some(struct search *s, uint32_t job, const struct target *to, const uint32_t *from,
	  size_t n_from, uint32_t n)
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
		n_there = counts_of(s, k)[to->rack];
		if (n_there < n_out)
			continue;
		move_to(s, job, to, from, n_from, n, k, n_out);
		if (n_there > n_out)
			move_to(s, job, to, from, n_from, n, k, n_there);
	}
}

/* Tries the places that a start of the job would be offered. */
static void
place_anew(struct search *s, uint32_t job)
{
	struct place_candidates candidates = { 0 };
	struct place_lifted *lifted = place_lift(s->place, job);
	int r = place_search(s->place, job, s->opts->seed, MOVES_PLACE_TRIES,
			     MOVES_PLACES, &candidates);

	place_return(s->place, job, lifted);
	for (size_t i = 0; r == 0 && i < candidates.n; i++) {
		struct draft draft = { 0 };

		draft_add(s, &draft, job);
		memset(draft.want[0], 0, s->n_racks * sizeof(uint32_t));
		for (uint32_t k = 0; k < work_of(s, job)->n_hosts_wanted; k++)
			draft.want[0][s->place->leaf_group[candidates.items[i]
								   .hosts[k]]]++;
		try_draft(s, &draft);
	}
	place_candidates_fini(&candidates);
}

/* Exchanges all hosts with another job of the same size. */
static void
trade(struct search *s, uint32_t job, uint32_t other)
{
	size_t bytes = s->n_racks * sizeof(uint32_t);
	struct draft draft = { 0 };

	draft_add(s, &draft, job);
	draft_add(s, &draft, other);
	memcpy(draft.want[0], counts_of(s, other), bytes);
	memcpy(draft.want[1], counts_of(s, job), bytes);
	try_draft(s, &draft);
}

static int
compare_targets(const void *a, const void *b)
{
	const struct target *x = a, *y = b;

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
find_targets(struct search *s, uint32_t job)
{
	s->targets.n = s->own.n = 0;
	for (uint32_t r = 0; r < s->n_racks; r++)
		vec_push(&s->targets, ((struct target){ r, counts_of(s, job)[r],
							room_in(s, job, r) }));
	sort_items(s->targets.items, s->targets.n, compare_targets);
	for (size_t i = s->targets.n; i-- > 0;)
		if (s->targets.items[i].n_own > 0)
			vec_push(&s->own, s->targets.items[i].rack);
	if (s->targets.n > MOVES_MAX_RACKS)
		s->targets.n = MOVES_MAX_RACKS;
}

static void
try_job(struct search *s, uint32_t job)
{
	place_anew(s, job);
	find_targets(s, job);
	for (size_t i = 0; i < s->targets.n; i++) {
		const struct target *to = &s->targets.items[i];

		move_some(s, job, to, s->own.items, s->own.n,
			  work_of(s, job)->n_hosts_wanted - to->n_own);
		for (size_t k = 0; s->own.n > 2 - (to->n_own == 0) && k < s->own.n; k++)
			if (s->own.items[k] != to->rack)
				move_some(s, job, to, &s->own.items[k], 1,
					  counts_of(s, job)[s->own.items[k]]);
	}
	for (uint32_t k = 0; k < s->n_jobs && s->n_left > 0; k++)
		if (k != job && s->jobs[k].is_movable && s->before[k] > 0 &&
		    work_of(s, k)->n_hosts_wanted == work_of(s, job)->n_hosts_wanted)
			trade(s, job, k);
}

/* ---- The search ------------------------------------------------------------------ */

static int
compare_hot(const void *a, const void *b)
{
	const struct hot *x = a, *y = b;

	if (x->loss < y->loss || x->loss > y->loss)
		return x->loss > y->loss ? -1 : 1;
	return (x->job > y->job) - (x->job < y->job);
}

static void
search_init(struct search *s, struct place *place, const struct moves_job *jobs,
	    const struct moves_opts *opts)
{
	size_t n = place->workload->n, n_nodes = topo_n_nodes(place->topo);

	*s = (struct search){
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
		for (uint32_t i = 0; i < work_of(s, j)->n_hosts_wanted; i++)
			counts_of(s, j)[place->leaf_group[hosts[i]]]++;
		s->before[j] = place_bound(place, j);
		if (jobs[j].is_movable && s->before[j] > 1 + COLD)
			vec_push(&s->hot,
				 ((struct hot){ j, jobs[j].weight *
							   (1 - 1 / s->before[j]) }));
	}
	sort_items(s->hot.items, s->hot.n, compare_hot);
}

static void
search_fini(struct search *s)
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
	struct search s;
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
moves_steps_fini(struct moves_steps *steps)
{
	for (size_t i = 0; i < steps->n; i++)
		for (uint32_t k = 0; k < steps->items[i].n_jobs; k++)
			free(steps->items[i].hosts[k]);
	free(steps->items);
	*steps = (struct moves_steps){ 0 };
}
