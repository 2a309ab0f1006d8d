/* SPDX-License-Identifier: Apache-2.0 */
/* moves_try.c - drafts of steps: hosts for their workers, their bill, the best of them. */
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "scheduler/core/advise/moves_internal.h"

/* ---- Drafts ---------------------------------------------------------------------- */

void
moves_draft_add(const struct moves_state *s, struct moves_draft *draft, uint32_t job)
{
	uint32_t i = draft->n_jobs++;

	draft->jobs[i] = job;
	draft->want[i] = xmemdup(moves_counts_of(s, job), s->n_racks, sizeof(uint32_t));
	draft->hosts[i] =
		xcalloc(moves_work_of(s, job)->n_hosts_wanted, sizeof(uint32_t));
}

void
moves_draft_fini(struct moves_draft *draft)
{
	for (uint32_t i = 0; i < draft->n_jobs; i++) {
		free(draft->want[i]);
		free(draft->hosts[i]);
	}
	*draft = (struct moves_draft){ 0 };
}

static void
reserve(struct moves_state *s, struct moves_draft *draft, uint32_t i, uint32_t host)
{
	draft->hosts[i][draft->n[i]++] = host;
	draft->want[i][s->place->leaf_group[host]]--;
	s->reserved[host] += moves_work_of(s, draft->jobs[i])->slots_per_host;
}

/* Keeps workers that may stay, then finds hosts for the others; false: no room. */
static bool
find_hosts(struct moves_state *s, struct moves_draft *draft, uint32_t *const *old)
{
	const struct place *place = s->place;
	const uint32_t *first = place->levels[0].first;

	for (uint32_t i = 0; i < draft->n_jobs; i++)
		for (uint32_t k = 0;
		     k < moves_work_of(s, draft->jobs[i])->n_hosts_wanted; k++)
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
				    moves_has_room(s, draft->jobs[i], place->order[k]))
					reserve(s, draft, i, place->order[k]);
		if (draft->n[i] < moves_work_of(s, draft->jobs[i])->n_hosts_wanted)
			return false;
	}
	return true;
}

static void
unreserve(struct moves_state *s, const struct moves_draft *draft)
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
drop(struct moves_state *s, size_t at)
{
	for (uint32_t i = 0; i < s->pool.items[at].n_jobs; i++)
		free(s->pool.items[at].hosts[i]);
	s->pool.n--;
	for (size_t i = at; i < s->pool.n; i++)
		s->pool.items[i] = s->pool.items[i + 1];
}

/* Keeps a step among the best, one a job; takes over its hosts. */
static void
keep(struct moves_state *s, const struct moves_step *step)
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
bill(struct moves_state *s, const struct moves_draft *draft, const uint32_t *n_workers)
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
		step.hosts[i] =
			xmemdup(place_hosts(s->place, draft->jobs[i]),
				moves_work_of(s, draft->jobs[i])->n_hosts_wanted,
				sizeof(uint32_t));
	}
	keep(s, &step);
}

/* Racks of sorted or unsorted hosts. */
static uint32_t
count_racks(struct moves_state *s, const uint32_t *hosts, uint32_t n)
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
is_allowed(struct moves_state *s, const struct moves_draft *draft, uint32_t *const *old,
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

void
moves_draft_try(struct moves_state *s, struct moves_draft *draft)
{
	struct place_lifted *lifted[MOVES_STEP_JOBS];
	uint32_t *old[MOVES_STEP_JOBS], n_workers[MOVES_STEP_JOBS] = { 0 }, n_put = 0;
	bool fits;

	if (s->n_left == 0) {
		moves_draft_fini(draft);
		return;
	}
	s->n_left--;
	for (uint32_t i = 0; i < draft->n_jobs; i++) {
		uint32_t n = moves_work_of(s, draft->jobs[i])->n_hosts_wanted;

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
	moves_draft_fini(draft);
}
