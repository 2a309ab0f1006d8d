/*
 * marks_pair.h - entries and returns of collectives, put together to marks.
 *
 * A thread's return belongs to its last entry into a function of the same kind; so
 * of collectives within each other the inner one is told.  What has no counterpart,
 * because a record was lost or a thread ended amid a collective, is counted.
 *
 * Pure.  A table of fixed size: where it is full, the oldest entry goes.  O(1).
 */
#ifndef COLLECTOR_MARKS_PAIR_H
#define COLLECTOR_MARKS_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/marks.h"
#include "lib/wire/mark.h"

struct marks_pair;

struct marks_pair *marks_pair_new(void);
void marks_pair_free(struct marks_pair *pair); /* Accepts NULL. */

/*
 * Takes a record; returns true, with the mark, if it ends a collective.  The mark is
 * of the process that the record names; its 'lost' is 0.
 */
bool marks_pair_event(struct marks_pair *pair, const struct marks_event *event,
		      struct mark *ret_mark);

/* Entries and returns without a counterpart so far. */
uint64_t marks_pair_unpaired(const struct marks_pair *pair);

#endif
