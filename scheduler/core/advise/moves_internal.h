/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moves_internal.h - declarations shared by moves_search.c, which makes drafts of steps,
 * and moves_try.c, which tries them and keeps the best.
 */
#ifndef SCHEDULER_CORE_ADVISE_MOVES_INTERNAL_H
#define SCHEDULER_CORE_ADVISE_MOVES_INTERNAL_H

#include "lib/base/vec.h"
#include "scheduler/core/advise/moves_search.h"
#include "scheduler/core/advise/place_internal.h"

/* A movable job, hottest first. */
struct moves_hot {
	uint32_t job;
	double loss;
};

/* A rack as a target of a job. */
struct moves_target {
	uint32_t rack, n_own, room;
};

struct moves_state {
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
	VEC(struct moves_hot) hot;
	VEC(struct moves_target) targets;
	VEC(uint32_t) own;
	VEC(struct moves_step) pool;
};

/* A step to be tried: the wanted workers by rack. */
struct moves_draft {
	uint32_t jobs[MOVES_STEP_JOBS];
	uint32_t *want[MOVES_STEP_JOBS];  /* Owned. */
	uint32_t *hosts[MOVES_STEP_JOBS]; /* Owned; filled by a try. */
	uint32_t n[MOVES_STEP_JOBS];
	uint32_t n_jobs;
};

static inline const struct work_job *
moves_work_of(const struct moves_state *s, uint32_t job)
{
	return &s->place->workload->jobs[job];
}

static inline uint32_t *
moves_counts_of(const struct moves_state *s, uint32_t job)
{
	return s->counts + (size_t)job * s->n_racks;
}

static inline bool
moves_has_room(const struct moves_state *s, uint32_t job, uint32_t host)
{
	return s->place->free_slots[host] - s->reserved[host] >=
	       (int64_t)moves_work_of(s, job)->slots_per_host;
}

/* Hosts of a rack with room for another worker. */
static inline uint32_t
moves_room_in(const struct moves_state *s, uint32_t job, uint32_t rack)
{
	const struct place *place = s->place;
	const uint32_t *first = place->levels[0].first;
	uint32_t n = 0;

	for (uint32_t i = first[rack]; i < first[rack + 1]; i++)
		n += moves_has_room(s, job, place->order[i]);
	return n;
}

/* Adds a job with its present workers by rack. */
void moves_draft_add(const struct moves_state *s, struct moves_draft *draft,
		     uint32_t job);
void moves_draft_fini(struct moves_draft *draft);
/* Tries the draft, keeps it if it is among the best steps, and ends it. */
void moves_draft_try(struct moves_state *s, struct moves_draft *draft);

#endif
