/*
 * evq.h - the event queue: for every job, when it next wants attention.
 *
 * An indexed 4-ary heap with at most one entry a job.  A key may be a lower
 * bound of the true time: the owner of the queue then looks at the job, finds
 * nothing to do, and sets the true time.  Setting a key is O(log n) with a
 * small constant; a key that does not move its entry costs one comparison.
 */
#ifndef ENGINE_EVQ_H
#define ENGINE_EVQ_H

#include <stdbool.h>
#include <stdint.h>

struct evq_entry {
	double key_ns;
	uint32_t id;
};

struct evq {
	struct evq_entry *heap; /* Owned.  heap[0] is the earliest. */
	uint32_t n;             /* Entries in use. */
	uint32_t *place;        /* Owned.  Index in 'heap' by id, or EVQ_ABSENT. */
	uint32_t capacity;      /* Ids from 0 to capacity - 1 may be queued. */
};

#define EVQ_ABSENT UINT32_MAX

void evq_init(struct evq *q);
void evq_fini(struct evq *q);

/* Makes room for the ids 0 to n_ids - 1. */
void evq_reserve(struct evq *q, uint32_t n_ids);

/* Inserts 'id' or moves it, earlier or later. */
void evq_set(struct evq *q, uint32_t id, double key_ns);

/* Takes 'id' out if it is in. */
void evq_remove(struct evq *q, uint32_t id);

/* Moves 'id', which is queued, if 'key_ns' is before its key. */
void evq_lower__(struct evq *q, uint32_t place, double key_ns);

static inline void
evq_lower(struct evq *q, uint32_t id, double key_ns)
{
	uint32_t place = q->place[id];

	if (key_ns < q->heap[place].key_ns)
		evq_lower__(q, place, key_ns);
}

/* True if more than one entry is at or before 'limit_ns'; heap[0] being so. */
static inline bool
evq_has_second(const struct evq *q, double limit_ns)
{
	uint32_t n = q->n < 5 ? q->n : 5;

	for (uint32_t i = 1; i < n; i++)
		if (q->heap[i].key_ns <= limit_ns)
			return true;
	return false;
}

#endif
