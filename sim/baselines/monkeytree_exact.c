/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monkeytree_exact.c - the fewest moves, by branch and bound.
 *
 * Jobs are decided one after the other, those with fragments first, and a job's workers
 * rack by rack, starting with as many as now.  With a budget of moves left, a branch is
 * given up if
 *
 *	- the jobs not yet decided have more workers in racks than is free there, by more
 *	  than the budget: each move mends one;
 *	- a rack's load, of decided jobs and of the others as they are, is above lambda by
 *	  x, and ceil(x / largest ring) fragments cannot go within the budget: a fragment of
 *	  w of the N workers of a job goes by min(w, N - w) moves at least.
 */
#include <errno.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/vec.h"
#include "sim/baselines/monkeytree.h"

struct exact {
	const struct monkeytree *mt;
	uint32_t *workers; /* Of decided jobs. */
	uint32_t *order;   /* Jobs, as they are decided. */
	uint32_t *totals;  /* By job. */
	uint32_t *n_in;    /* By job: racks with its workers now. */
	uint32_t *room;    /* By rack: left by decided jobs. */
	uint32_t *load;    /* By rack: of decided jobs. */
	uint32_t *rest;    /* By rack: workers, now, of jobs not decided. */
	uint32_t max_ring;
	uint64_t n_nodes, max_nodes;
};

/* The workers of the job that is being decided. */
struct choice {
	uint32_t at;   /* In 'order'. */
	uint32_t rack; /* The next one. */
	uint32_t left; /* Not yet placed. */
	uint32_t n_in; /* Racks with workers so far. */
	uint32_t removed, added, budget;
};

static bool decide_job(struct exact *x, uint32_t at, uint32_t budget);

static const uint32_t *
now_of(const struct exact *x, uint32_t job)
{
	return x->mt->workers + (size_t)job * x->mt->n_racks;
}

/* Whether enough fragments of jobs not decided can leave the rack. */
static bool
can_unload(const struct exact *x, uint32_t at, uint32_t rack, uint32_t budget)
{
	uint32_t load = x->load[rack], least = UINT32_MAX, n_needed;

	for (uint32_t i = at; i < x->mt->n_jobs; i++) {
		uint32_t job = x->order[i], w = now_of(x, job)[rack], cost;

		if (!w || x->n_in[job] < 2)
			continue;
		load += x->mt->rings[job];
		cost = w < x->totals[job] - w ? w : x->totals[job] - w;
		if (cost < least)
			least = cost;
	}
	if (load <= x->mt->lambda)
		return true;
	n_needed = (load - x->mt->lambda + x->max_ring - 1) / x->max_ring;
	return least != UINT32_MAX && (uint64_t)n_needed * least <= budget;
}

static bool
is_hopeless(const struct exact *x, uint32_t at, uint32_t budget)
{
	uint32_t too_many = 0;

	for (uint32_t r = 0; r < x->mt->n_racks; r++) {
		if (x->rest[r] > x->room[r])
			too_many += x->rest[r] - x->room[r];
		if (too_many > budget || !can_unload(x, at, r, budget))
			return true;
	}
	return false;
}

/* All workers of the job are placed: goes on with the next job. */
static bool
end_job(struct exact *x, const struct choice *c)
{
	const uint32_t job = x->order[c->at], n = x->mt->n_racks;
	const uint32_t *row = x->workers + (size_t)job * n, *now = now_of(x, job);
	const uint32_t ring = c->n_in > 1 ? x->mt->rings[job] : 0;
	bool fits = true, found;

	for (uint32_t r = 0; r < n; r++) {
		x->room[r] -= row[r];
		x->rest[r] -= now[r];
		x->load[r] += row[r] ? ring : 0;
		fits &= x->load[r] <= x->mt->lambda;
	}
	found = fits && decide_job(x, c->at + 1, c->budget - c->added);
	for (uint32_t r = 0; !found && r < n; r++) {
		x->room[r] += row[r];
		x->rest[r] += now[r];
		x->load[r] -= row[r] ? ring : 0;
	}
	return found;
}

/* Tries all numbers of workers in the next rack, those nearest to the present first. */
static bool
decide_rack(struct exact *x, const struct choice *c)
{
	const uint32_t job = x->order[c->at];
	uint32_t *row = x->workers + (size_t)job * x->mt->n_racks;
	uint32_t now, most;

	if (c->rack == x->mt->n_racks)
		return !c->left && end_job(x, c);
	if (++x->n_nodes > x->max_nodes)
		return false;
	now = now_of(x, job)[c->rack];
	most = c->left < x->room[c->rack] ? c->left : x->room[c->rack];
	for (uint32_t off = 0; off <= c->budget; off++)
		for (int sign = -1; sign <= (off ? 1 : -1); sign += 2) {
			struct choice next = *c;
			uint32_t w = sign < 0 ? now - off : now + off;

			if ((sign < 0 && off > now) || w > most)
				continue;
			next.removed += sign < 0 ? off : 0;
			next.added += sign > 0 ? off : 0;
			if (next.removed > c->budget || next.added > c->budget)
				continue;
			next.rack++;
			next.left -= w;
			next.n_in += w > 0;
			row[c->rack] = w;
			if (decide_rack(x, &next))
				return true;
		}
	return false;
}

static bool
decide_job(struct exact *x, uint32_t at, uint32_t budget)
{
	struct choice first = { .at = at, .budget = budget };

	if (at == x->mt->n_jobs)
		return true;
	if (is_hopeless(x, at, budget))
		return false;
	first.left = x->totals[x->order[at]];
	return decide_rack(x, &first);
}

static void
begin(struct exact *x)
{
	const struct monkeytree *mt = x->mt;
	uint32_t n = 0;

	x->workers = xcalloc((size_t)mt->n_jobs * mt->n_racks, sizeof *x->workers);
	x->order = xcalloc(mt->n_jobs, sizeof *x->order);
	x->totals = xcalloc(mt->n_jobs, sizeof *x->totals);
	x->n_in = xcalloc(mt->n_jobs, sizeof *x->n_in);
	x->room = xmemdup(mt->capacity, mt->n_racks, sizeof *x->room);
	x->load = xcalloc(mt->n_racks, sizeof *x->load);
	x->rest = xcalloc(mt->n_racks, sizeof *x->rest);
	for (uint32_t j = 0; j < mt->n_jobs; j++) {
		for (uint32_t r = 0; r < mt->n_racks; r++) {
			uint32_t w = now_of(x, j)[r];

			x->totals[j] += w;
			x->n_in[j] += w > 0;
			x->rest[r] += w;
		}
		if (mt->rings[j] > x->max_ring)
			x->max_ring = mt->rings[j];
	}
	for (int whole = 0; whole < 2; whole++)
		for (uint32_t j = 0; j < mt->n_jobs; j++)
			if ((x->n_in[j] < 2) == whole)
				x->order[n++] = j;
}

static void
end(struct exact *x)
{
	free(x->workers);
	free(x->order);
	free(x->totals);
	free(x->n_in);
	free(x->room);
	free(x->load);
	free(x->rest);
}

int
monkeytree_exact(const struct monkeytree *mt, uint64_t max_nodes, uint32_t *ret_workers)
{
	struct exact x = { .mt = mt, .max_nodes = max_nodes };
	uint64_t most = 0;
	int rc = -ENOSPC;

	begin(&x);
	for (uint32_t j = 0; j < mt->n_jobs; j++)
		most += x.totals[j];
	for (uint32_t budget = 0; budget <= most && rc == -ENOSPC; budget++) {
		if (decide_job(&x, 0, budget)) {
			memcpy(ret_workers, x.workers,
			       (size_t)mt->n_jobs * mt->n_racks * sizeof *ret_workers);
			rc = 0;
		} else if (x.n_nodes > x.max_nodes) {
			rc = -EAGAIN;
		}
	}
	end(&x);
	return rc;
}
