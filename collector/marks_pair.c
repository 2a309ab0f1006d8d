#include "collector/marks_pair.h"

#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"

/* Threads amid a collective, at most; a power of two. */
#define N_PLACES 16384
/* A thread is at one of so many places from where its hash says. */
#define N_PROBES 8

struct entry {
	uint64_t ns, bytes;
	uint32_t tid;
	uint8_t source;
	bool is_used;
};

struct marks_pair {
	struct entry entries[N_PLACES];
	uint64_t n_unpaired;
};

struct marks_pair *
marks_pair_new(void)
{
	return xcalloc(1, sizeof(struct marks_pair));
}

void
marks_pair_free(struct marks_pair *pair)
{
	free(pair);
}

uint64_t
marks_pair_unpaired(const struct marks_pair *pair)
{
	return pair->n_unpaired;
}

/* The thread's entry; or, if it has none, a free place or that of the oldest. */
static struct entry *
find_entry(struct marks_pair *pair, uint32_t tid, uint8_t source)
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
marks_pair_event(struct marks_pair *pair, const struct marks_event *event,
		 struct mark *ret_mark)
{
	struct entry *e = find_entry(pair, event->tid, event->source);
	bool is_its = e->is_used && e->tid == event->tid && e->source == event->source;

	if (!event->is_exit) {
		pair->n_unpaired += e->is_used;
		*e = (struct entry){ event->ns, event->bytes, event->tid, event->source,
				     true };
		return false;
	}
	if (!is_its || event->ns < e->ns) {
		pair->n_unpaired++;
		return false;
	}
	*ret_mark = (struct mark){
		.source = event->source,
		.is_launch = event->source == MARKS_NCCL,
		.pid = event->pid,
		.begin_ns = (int64_t)e->ns,
		.end_ns = (int64_t)event->ns,
		.bytes = e->bytes,
	};
	e->is_used = false;
	return true;
}
