/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_queue.c - an indexed 4-ary heap; the children of i are 4i+1 to 4i+4.
 */
#include "engine/event_queue.h"

#include <stdlib.h>

#include "lib/base/alloc.h"

static void sift_up(struct event_queue *q, uint32_t place,
		    struct event_queue_entry entry);
static void sift_down(struct event_queue *q, uint32_t place,
		      struct event_queue_entry entry);

void
event_queue_init(struct event_queue *q)
{
	*q = (struct event_queue){ 0 };
}

void
event_queue_fini(struct event_queue *q)
{
	free(q->heap);
	free(q->place);
	*q = (struct event_queue){ 0 };
}

void
event_queue_reserve(struct event_queue *q, uint32_t n_ids)
{
	uint32_t capacity = q->capacity;

	if (n_ids <= capacity)
		return;
	while (capacity < n_ids)
		capacity = capacity * 2 + 8;
	q->heap = xreallocarray(q->heap, capacity, sizeof *q->heap);
	q->place = xreallocarray(q->place, capacity, sizeof *q->place);
	for (uint32_t id = q->capacity; id < capacity; id++)
		q->place[id] = EVENT_QUEUE_ABSENT;
	q->capacity = capacity;
}

void
event_queue_set(struct event_queue *q, uint32_t id, double key_ns)
{
	struct event_queue_entry entry = { key_ns, id };
	uint32_t place = q->place[id];

	if (place == EVENT_QUEUE_ABSENT)
		sift_up(q, q->n++, entry);
	else if (key_ns < q->heap[place].key_ns)
		sift_up(q, place, entry);
	else
		sift_down(q, place, entry);
}

void
event_queue_remove(struct event_queue *q, uint32_t id)
{
	uint32_t place = q->place[id];
	struct event_queue_entry last;

	if (place == EVENT_QUEUE_ABSENT)
		return;
	q->place[id] = EVENT_QUEUE_ABSENT;
	last = q->heap[--q->n];
	if (place == q->n)
		return;
	if (last.key_ns < q->heap[place].key_ns)
		sift_up(q, place, last);
	else
		sift_down(q, place, last);
}

void
event_queue_lower__(struct event_queue *q, uint32_t place, double key_ns)
{
	sift_up(q, place, (struct event_queue_entry){ key_ns, q->heap[place].id });
}

/* Puts 'entry' at 'place' or above it; the hole at 'place' is free. */
static void
sift_up(struct event_queue *q, uint32_t place, struct event_queue_entry entry)
{
	while (place) {
		uint32_t parent = (place - 1) / 4;

		if (!(entry.key_ns < q->heap[parent].key_ns))
			break;
		q->heap[place] = q->heap[parent];
		q->place[q->heap[place].id] = place;
		place = parent;
	}
	q->heap[place] = entry;
	q->place[entry.id] = place;
}

/* Puts 'entry' at 'place' or below it; the hole at 'place' is free. */
static void
sift_down(struct event_queue *q, uint32_t place, struct event_queue_entry entry)
{
	struct event_queue_entry *heap = q->heap;
	uint32_t n = q->n;

	for (;;) {
		uint32_t first = place * 4 + 1, best = first, end;
		double best_ns;

		if (first >= n)
			break;
		end = first + 4 < n ? first + 4 : n;
		best_ns = heap[first].key_ns;
		for (uint32_t i = first + 1; i < end; i++) {
			double key_ns = heap[i].key_ns;

			best = key_ns < best_ns ? i : best;
			best_ns = key_ns < best_ns ? key_ns : best_ns;
		}
		if (!(best_ns < entry.key_ns))
			break;
		heap[place] = heap[best];
		q->place[heap[place].id] = place;
		place = best;
	}
	heap[place] = entry;
	q->place[entry.id] = place;
}
