/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_queue.h - the event queue: for every job, the time of its next event.
 *
 * An indexed 4-ary heap with at most one entry per job.  A key may be a lower bound of
 * the true time: the owner then checks the job, finds nothing due, and sets the true
 * time.  Setting a key is O(log n) with a small constant; a key that does not move its
 * entry costs one comparison.
 */
#ifndef ENGINE_EVENT_QUEUE_H
#define ENGINE_EVENT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

struct event_queue_entry {
	double key_ns;
	uint32_t id;
};

struct event_queue {
	struct event_queue_entry *heap; /* Owned.  heap[0] is the earliest. */
	uint32_t n;                     /* Entries in use. */
	uint32_t *place;   /* Owned.  Index in 'heap' by id, or EVENT_QUEUE_ABSENT. */
	uint32_t capacity; /* Ids from 0 to capacity - 1 may be queued. */
};

#define EVENT_QUEUE_ABSENT UINT32_MAX

void event_queue_init(struct event_queue *q);
void event_queue_fini(struct event_queue *q);

/* Makes room for the ids 0 to n_ids - 1. */
void event_queue_reserve(struct event_queue *q, uint32_t n_ids);

/* Inserts 'id' or moves it, earlier or later. */
void event_queue_set(struct event_queue *q, uint32_t id, double key_ns);

/* Takes 'id' out if it is in. */
void event_queue_remove(struct event_queue *q, uint32_t id);

/* Moves 'id', which is queued, if 'key_ns' is before its key. */
void event_queue_lower__(struct event_queue *q, uint32_t place, double key_ns);

static inline void
event_queue_lower(struct event_queue *q, uint32_t id, double key_ns)
{
	uint32_t place = q->place[id];

	if (key_ns < q->heap[place].key_ns)
		event_queue_lower__(q, place, key_ns);
}

/* True if an entry besides heap[0], which must be, is at or before 'limit_ns'. */
static inline bool
event_queue_has_second(const struct event_queue *q, double limit_ns)
{
	uint32_t n = q->n < 5 ? q->n : 5;

	for (uint32_t i = 1; i < n; i++)
		if (q->heap[i].key_ns <= limit_ns)
			return true;
	return false;
}

#endif
