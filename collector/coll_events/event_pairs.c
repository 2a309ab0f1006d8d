/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/coll_events/event_pairs.h"

#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"

/* Most threads inside a collective; a power of two. */
#define N_PLACES 16384
/* A thread is within this many places after its hash. */
#define N_PROBES 8

struct entry {
	uint64_t ns, bytes;
	uint32_t tid;
	uint8_t source;
	bool is_used;
};

struct event_pairs {
	struct entry entries[N_PLACES];
	uint64_t n_unpaired;
};

struct event_pairs *
event_pairs_new(void)
{
	return xcalloc(1, sizeof(struct event_pairs));
}

void
event_pairs_free(struct event_pairs *pair)
{
	free(pair);
}

uint64_t
event_pairs_unpaired(const struct event_pairs *pair)
{
	return pair->n_unpaired;
}

/* The thread's entry; without one, a free place or the one with the oldest entry. */
static struct entry *
find_entry(struct event_pairs *pair, uint32_t tid, uint8_t source)
{
	uint64_t hash = rng_mix((uint64_t)tid << 8 | source);
	struct entry *best = NULL;

	for (uint64_t i = 0; i < N_PROBES; i++) {
		struct entry *e = &pair->entries[(hash + i) % N_PLACES];

		if (e->is_used && e->tid == tid && e->source == source)
			return e;
		if (!best || (best->is_used && (!e->is_used || e->ns < best->ns)))
			best = e;
	}
	return best;
}

bool
event_pairs_add(struct event_pairs *pair, const struct coll_record *record,
		struct coll_event *ret_event)
{
	struct entry *e = find_entry(pair, record->tid, record->source);
	bool is_its =
		e->is_used && e->tid == record->tid && e->source == record->source;

	if (!record->is_exit) {
		pair->n_unpaired += e->is_used;
		*e = (struct entry){ record->ns, record->bytes, record->tid,
				     record->source, true };
		return false;
	}
	if (!is_its || record->ns < e->ns) {
		pair->n_unpaired++;
		return false;
	}
	*ret_event = (struct coll_event){
		.source = record->source,
		.is_launch = record->source == COLL_NCCL,
		.pid = record->pid,
		.begin_ns = (int64_t)e->ns,
		.end_ns = (int64_t)record->ns,
		.bytes = e->bytes,
	};
	e->is_used = false;
	return true;
}
