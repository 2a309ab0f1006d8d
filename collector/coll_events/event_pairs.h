/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_pairs.h - collective events from the entries and returns of functions
 *
 * A thread's return belongs to its last entry into a function of the same kind, so of
 * nested collectives the inner one is reported.  Entries and returns without a
 * counterpart (a lost record, a thread that ended inside a collective) are counted.
 *
 * Pure.  The table has a fixed size; when it is full, the oldest entry is dropped.
 * O(1).
 */
#ifndef COLLECTOR_COLL_EVENTS_EVENT_PAIRS_H
#define COLLECTOR_COLL_EVENTS_EVENT_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/coll_events.h"
#include "lib/wire/coll_event.h"

struct event_pairs;

struct event_pairs *event_pairs_new(void);
void event_pairs_free(struct event_pairs *pair); /* Accepts NULL. */

/*
 * Takes a record; returns true and fills the event if it ends a collective.  The event
 * is of the record's process; its 'lost' is 0.
 */
bool event_pairs_add(struct event_pairs *pair, const struct coll_record *record,
		     struct coll_event *ret_event);

/* Entries and returns without a counterpart so far. */
uint64_t event_pairs_unpaired(const struct event_pairs *pair);

#endif
