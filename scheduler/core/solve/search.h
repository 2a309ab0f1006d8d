/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.h - exact line searches and descent, one job at a time.
 *
 * With the other jobs fixed, the objective F as a function of job j's shift is
 * a sum over j's links of functions as in overlap.h, with A the sum of the
 * others in j's group and B job j.  The line search is exact: it looks at every
 * bend.  Descent takes jobs from a queue until none can gain by moving alone;
 * a job that moves puts its neighbors into the queue again.  It ends, because
 * each move gains at least SEARCH_MIN_GAIN and F is at least 0.
 *
 * The line of job j repeats with its turn, lcm over its links of gcd(T_j, lcm of
 * the others' T): shifts that differ by a turn are the same.
 *
 * A line search costs O(B log B) with B = sum over links of n_j N_l bends.
 */
#ifndef SCHEDULER_CORE_SOLVE_SEARCH_H
#define SCHEDULER_CORE_SOLVE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/core/solve/joint_model.h"
#include "scheduler/core/solve/overlap.h"
#include "scheduler/core/solve/piecewise_linear.h"

/* In the unit of F; a microsecond's overlap in 20 minutes. */
#define SEARCH_MIN_GAIN 1e-9

struct search_move {
	uint32_t job;
	int64_t shift_us; /* Before the move. */
};

struct search {
	const struct joint_model *model; /* Borrowed. */
	int64_t *shift_us;               /* Owned.  One a job, in [0, period). */
	bool *is_off;                    /* Owned.  Links ignored at present. */
	bool *is_absent;                 /* Owned.  Jobs removed at present. */
	struct piecewise_linear line;    /* Of the last search_line(). */
	uint64_t work;                   /* Bends evaluated so far. */
	uint64_t max_work;               /* Limit of a descent; initially none. */
	double *cost;   /* Owned.  By link, as last seen by ruin_recreate.h. */
	uint32_t *seen; /* Owned.  By link: its last 'stamp'. */
	uint32_t stamp;
	VEC(struct search_move) journal; /* Moves since it was emptied. */

	uint32_t *queue; /* Owned.  A ring; each job is in it at most once. */
	size_t queue_head, queue_length;
	bool *is_queued; /* Owned. */
	VEC(struct step_function_term) terms;
	struct step_function_room sum, rest_sum;
	struct overlap_room overlap;
	struct joint_model_room *room;
};

/* Starts at 'shift_us', by model job. */
void search_init(struct search *search, const struct joint_model *model,
		 const int64_t *shift_us);
void search_fini(struct search *search);

/* The turn after which job j's line repeats. */
int64_t search_turn_us(const struct search *search, uint32_t j);

/* Makes 'search->line' the objective as a function of job j's further shift. */
void search_line(struct search *search, uint32_t j);

/* Moves a job and records it in the journal. */
void search_move(struct search *search, uint32_t j, int64_t by_us);
/* Undoes the moves in the journal and empties it. */
void search_undo(struct search *search);

/* Appends a job, or all that share a group with it, to the queue. */
void search_push(struct search *search, uint32_t j);
void search_push_neighbors(struct search *search, uint32_t j);

/* Moves jobs until the queue is empty, or 'max_work' is reached; then empties it. */
void search_descend(struct search *search);

/* weight * E / C of link 'l' at the present shifts. */
double search_link_cost(struct search *search, uint32_t l);

#endif
