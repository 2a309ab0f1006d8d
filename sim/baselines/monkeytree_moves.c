/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monkeytree_moves.c - a plan with few moves, at any size.
 *
 * 1. While racks are above lambda: the fragments in them are tried in turn.  A fragment
 *    joins another one of its job (or goes to a rack with room), or all workers of its
 *    job gather in one of its racks; where there is no room, workers of another job take
 *    the places that become free.  The step is taken that removes most excess per moved
 *    worker; if none does, the one that removes most fragments.
 * 2. If that ends above lambda: the jobs are packed one after the other into racks in
 *    order.  At most two jobs of a rack are then in other racks, too, so this succeeds
 *    if lambda is at least twice the largest ring.
 * 3. Workers go back where that keeps all racks within lambda.
 *
 * Excess is the sum over racks of what the load is above lambda.
 */
#include <errno.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/vec.h"
#include "sim/baselines/monkeytree.h"

struct plan {
	const struct monkeytree *mt;
	uint32_t *workers; /* Owned by the caller. */
	uint32_t *n_in;    /* By job: racks with its workers. */
	uint32_t *load, *room;
	uint64_t excess, sum_load;
	int64_t moved; /* Workers that are elsewhere than now. */
};

/* A shift of workers, so that it can be undone. */
struct shift {
	uint32_t job, from, to, n;
};

/* A sequence of shifts. */
struct step {
	VEC(struct shift) shifts;
	uint32_t n_workers;
};

/* What a step changes. */
struct gain {
	int64_t excess, fragments; /* Less than before. */
	uint32_t n_workers;
};

static uint32_t *
at(const struct plan *plan, uint32_t job, uint32_t rack)
{
	return &plan->workers[(size_t)job * plan->mt->n_racks + rack];
}

static uint32_t
now_at(const struct plan *plan, uint32_t job, uint32_t rack)
{
	return plan->mt->workers[(size_t)job * plan->mt->n_racks + rack];
}

static uint32_t
least_of(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* ------ Shifts ------ */

static void
add_load(struct plan *plan, uint32_t rack, uint32_t job, int sign)
{
	const uint32_t lambda = plan->mt->lambda, ring = plan->mt->rings[job];
	uint32_t *load = &plan->load[rack];

	plan->excess -= *load > lambda ? *load - lambda : 0;
	*load = sign > 0 ? *load + ring : *load - ring;
	plan->excess += *load > lambda ? *load - lambda : 0;
	plan->sum_load = sign > 0 ? plan->sum_load + ring : plan->sum_load - ring;
}

/* Sets a job's workers in a rack, and counts those that are new there. */
static void
set_workers(struct plan *plan, uint32_t job, uint32_t rack, uint32_t n)
{
	uint32_t *w = at(plan, job, rack), now = now_at(plan, job, rack);

	plan->moved -= *w > now ? *w - now : 0;
	plan->moved += n > now ? n - now : 0;
	plan->room[rack] += *w;
	plan->room[rack] -= n;
	*w = n;
}

/* Shifts workers; 'room' may wrap for a moment while two jobs change places. */
static void
shift(struct plan *plan, struct shift s)
{
	const bool leaves = *at(plan, s.job, s.from) == s.n;
	const bool enters = !*at(plan, s.job, s.to);
	uint32_t *n_in = &plan->n_in[s.job];
	const bool was_split = *n_in > 1;

	*n_in = *n_in - leaves + enters;
	if (was_split && leaves)
		add_load(plan, s.from, s.job, -1);
	if (was_split && enters)
		add_load(plan, s.to, s.job, 1);
	if (was_split && *n_in == 1)
		add_load(plan, s.to, s.job, -1);
	if (!was_split && *n_in > 1) {
		add_load(plan, s.from, s.job, 1);
		add_load(plan, s.to, s.job, 1);
	}
	set_workers(plan, s.job, s.from, *at(plan, s.job, s.from) - s.n);
	set_workers(plan, s.job, s.to, *at(plan, s.job, s.to) + s.n);
}

static void
take(struct plan *plan, struct step *step, struct shift s)
{
	shift(plan, s);
	vec_push(&step->shifts, s);
	step->n_workers += s.n;
}

static void
undo(struct plan *plan, struct step *step)
{
	while (step->shifts.n) {
		struct shift s = step->shifts.items[--step->shifts.n];

		shift(plan, (struct shift){ s.job, s.to, s.from, s.n });
	}
	step->n_workers = 0;
}

/* ------ Steps ------ */

/*
 * The best job to make room for 'n' workers in 'rack' by going to 'to': the one whose
 * own shift leaves the least excess, then the fewest fragments.  False if no job has as
 * many there.
 */
static bool
find_partner(struct plan *plan, uint32_t job, uint32_t rack, uint32_t to, uint32_t n,
	     struct shift *ret_shift)
{
	uint64_t least = UINT64_MAX, least_load = UINT64_MAX;

	for (uint32_t i = 0; i < plan->mt->n_jobs; i++) {
		struct shift s = { i, rack, to, n };

		if (i == job || *at(plan, i, rack) < n)
			continue;
		shift(plan, s);
		if (plan->excess < least ||
		    (plan->excess == least && plan->sum_load < least_load)) {
			least = plan->excess;
			least_load = plan->sum_load;
			*ret_shift = s;
		}
		shift(plan, (struct shift){ i, to, rack, n });
	}
	return least < UINT64_MAX;
}

/* All workers of a job in a rack go to another one.  False if that cannot be. */
static bool
join(struct plan *plan, struct step *step, uint32_t job, uint32_t from, uint32_t to)
{
	const uint32_t n = *at(plan, job, from), room = plan->room[to];
	struct shift partner;

	take(plan, step, (struct shift){ job, from, to, n });
	if (n <= room)
		return true;
	if (!find_partner(plan, job, to, from, n - room, &partner))
		return false;
	take(plan, step, partner);
	return true;
}

/* All workers of a job go to one rack. */
static bool
gather(struct plan *plan, struct step *step, uint32_t job, uint32_t to)
{
	for (uint32_t r = 0; r < plan->mt->n_racks; r++)
		if (r != to && *at(plan, job, r) && !join(plan, step, job, r, to))
			return false;
	return true;
}

/* Whether 'a' is better: excess per worker, then fragments per worker. */
static bool
is_better(const struct gain *a, const struct gain *b)
{
	int64_t left = a->excess * b->n_workers, right = b->excess * a->n_workers;

	if (left != right)
		return left > right;
	return a->fragments * b->n_workers > b->fragments * a->n_workers;
}

/* Notes the step that was just taken if it is the best so far, and undoes it. */
static void
consider(struct plan *plan, struct step *step, uint64_t excess, uint64_t sum_load,
	 struct step *best, struct gain *best_gain)
{
	struct gain gain = { .excess = (int64_t)(excess - plan->excess),
			     .fragments = (int64_t)(sum_load - plan->sum_load),
			     .n_workers = step->n_workers };
	bool helps = gain.excess > 0 || (!gain.excess && gain.fragments > 0);

	if (helps && (!best->shifts.n || is_better(&gain, best_gain))) {
		*best_gain = gain;
		best->shifts.n = 0;
		for (size_t i = 0; i < step->shifts.n; i++)
			vec_push(&best->shifts, step->shifts.items[i]);
	}
	undo(plan, step);
}

/* Tries all steps for the fragment of a job in a rack. */
static void
try_fragment(struct plan *plan, uint32_t job, uint32_t rack, struct step *step,
	     struct step *best, struct gain *best_gain)
{
	const uint64_t excess = plan->excess, sum_load = plan->sum_load;
	const uint32_t n = *at(plan, job, rack);

	for (uint32_t to = 0; to < plan->mt->n_racks; to++) {
		if (to == rack || (!*at(plan, job, to) && plan->room[to] < n))
			continue;
		if (join(plan, step, job, rack, to))
			consider(plan, step, excess, sum_load, best, best_gain);
		else
			undo(plan, step);
	}
	for (uint32_t to = 0; plan->n_in[job] > 2 && to < plan->mt->n_racks; to++) {
		if (!*at(plan, job, to))
			continue;
		if (gather(plan, step, job, to))
			consider(plan, step, excess, sum_load, best, best_gain);
		else
			undo(plan, step);
	}
	if (plan->n_in[job] == 2 && gather(plan, step, job, rack))
		consider(plan, step, excess, sum_load, best, best_gain);
	else
		undo(plan, step);
}

/* Takes the best step; false if none helps. */
static bool
improve(struct plan *plan, struct step *step, struct step *best)
{
	struct gain best_gain = { 0 };

	best->shifts.n = 0;
	for (uint32_t r = 0; r < plan->mt->n_racks; r++)
		for (uint32_t j = 0;
		     plan->load[r] > plan->mt->lambda && j < plan->mt->n_jobs; j++)
			if (*at(plan, j, r) && plan->n_in[j] > 1)
				try_fragment(plan, j, r, step, best, &best_gain);
	for (size_t i = 0; i < best->shifts.n; i++)
		shift(plan, best->shifts.items[i]);
	return best->shifts.n > 0;
}

/* ------ Packing all jobs anew, and going back ------ */

/* Counts everything from 'workers'. */
static void
count_all(struct plan *plan)
{
	const struct monkeytree *mt = plan->mt;

	plan->excess = plan->sum_load = 0;
	plan->moved = monkeytree_moved(mt, plan->workers);
	monkeytree_loads(mt, plan->workers, plan->load);
	memcpy(plan->room, mt->capacity, mt->n_racks * sizeof *plan->room);
	for (uint32_t j = 0; j < mt->n_jobs; j++) {
		plan->n_in[j] = 0;
		for (uint32_t r = 0; r < mt->n_racks; r++) {
			plan->n_in[j] += *at(plan, j, r) > 0;
			plan->room[r] -= *at(plan, j, r);
		}
	}
	for (uint32_t r = 0; r < mt->n_racks; r++) {
		plan->sum_load += plan->load[r];
		if (plan->load[r] > mt->lambda)
			plan->excess += plan->load[r] - mt->lambda;
	}
}

static void
pack_anew(struct plan *plan)
{
	const struct monkeytree *mt = plan->mt;
	uint32_t rack = 0, room = mt->n_racks ? mt->capacity[0] : 0;

	memset(plan->workers, 0,
	       (size_t)mt->n_jobs * mt->n_racks * sizeof *plan->workers);
	for (uint32_t j = 0; j < mt->n_jobs; j++) {
		uint32_t left = 0;

		for (uint32_t r = 0; r < mt->n_racks; r++)
			left += now_at(plan, j, r);
		while (left) {
			uint32_t n = least_of(left, room);

			*at(plan, j, rack) += n;
			left -= n;
			room -= n;
			if (left)
				room = mt->capacity[++rack];
		}
	}
	count_all(plan);
}

/* Tries to bring workers of a job from 'from' back to 'to'. */
static bool
try_back(struct plan *plan, struct step *step, uint32_t job, uint32_t from, uint32_t to)
{
	uint32_t n = least_of(*at(plan, job, from) - now_at(plan, job, from),
			      now_at(plan, job, to) - *at(plan, job, to));
	const int64_t moved = plan->moved;

	for (uint32_t i = 0; i <= plan->mt->n_jobs; i++) {
		uint32_t m = n;

		/* First into free places, then in exchange with job i - 1. */
		if (!i)
			m = least_of(n, plan->room[to]);
		else if (i - 1 != job)
			m = least_of(n, *at(plan, i - 1, to));
		else
			continue;
		if (!m)
			continue;
		take(plan, step, (struct shift){ job, from, to, m });
		if (i)
			take(plan, step, (struct shift){ i - 1, to, from, m });
		if (!plan->excess && plan->moved < moved) {
			step->shifts.n = 0;
			step->n_workers = 0;
			return true;
		}
		undo(plan, step);
	}
	return false;
}

/* Returns whether a worker went back. */
static bool
go_back(struct plan *plan, struct step *step)
{
	const uint32_t n = plan->mt->n_racks;
	bool any = false;

	for (uint32_t j = 0; j < plan->mt->n_jobs; j++)
		for (uint32_t q = 0; q < n; q++)
			for (uint32_t r = 0; r < n; r++)
				while (*at(plan, j, q) > now_at(plan, j, q) &&
				       *at(plan, j, r) < now_at(plan, j, r) &&
				       try_back(plan, step, j, q, r))
					any = true;
	return any;
}

int
monkeytree_moves(const struct monkeytree *mt, uint32_t *ret_workers)
{
	const size_t size = (size_t)mt->n_jobs * mt->n_racks * sizeof *ret_workers;
	struct plan plan = { .mt = mt, .workers = ret_workers };
	struct step step = { .n_workers = 0 }, best = { .n_workers = 0 };
	uint32_t *kept;

	plan.n_in = xcalloc(mt->n_jobs, sizeof *plan.n_in);
	plan.load = xcalloc(mt->n_racks, sizeof *plan.load);
	plan.room = xcalloc(mt->n_racks, sizeof *plan.room);
	memcpy(ret_workers, mt->workers, size);
	count_all(&plan);
	while (plan.excess && improve(&plan, &step, &best))
		continue;
	if (plan.excess) {
		uint64_t excess = plan.excess;

		kept = xmemdup(ret_workers, (size_t)mt->n_jobs * mt->n_racks,
			       sizeof *kept);
		pack_anew(&plan);
		if (plan.excess && plan.excess >= excess) {
			memcpy(ret_workers, kept, size);
			count_all(&plan);
		}
		free(kept);
	}
	while (!plan.excess && go_back(&plan, &step))
		continue;
	vec_free(&step.shifts);
	vec_free(&best.shifts);
	free(plan.n_in);
	free(plan.load);
	free(plan.room);
	return plan.excess ? -ENOSPC : 0;
}
