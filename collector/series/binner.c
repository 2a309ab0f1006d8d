/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/series/binner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/series/binner_priv.h"

struct binner *
binner_new(void)
{
	struct binner *binner = xcalloc(1, sizeof *binner);

	binner_rebuild(binner, 64);
	ring_pool_init(&binner->pool, BINNER_MAX_CHUNKS);
	binner->may_evict = true;
	return binner;
}

void
binner_free(struct binner *binner)
{
	if (!binner)
		return;
	for (size_t i = 0; i < binner->series.n; i++)
		binner_drop_ring(binner, &binner->series.items[i]);
	ring_pool_fini(&binner->pool);
	vec_free(&binner->series);
	vec_free(&binner->vacant);
	vec_free(&binner->interfaces);
	free(binner->table);
	free(binner);
}

/* ---- Rings and levels ------------------------------------------------------------ */

struct ring *
binner_ring(struct series *s)
{
	if (!s->ring) {
		s->ring = xcalloc(1, sizeof *s->ring);
		ring_init(s->ring);
	}
	return s->ring;
}

void
binner_take_levels(struct series *s, const struct source_extra *extra)
{
	if (extra->flows > s->total.flows)
		s->total.flows = extra->flows;
	if (extra->queue_bytes > s->total.queue_bytes)
		s->total.queue_bytes = extra->queue_bytes;
}

/* ---- Bins --------------------------------------------------------------------- */

/*
 * The interface is known from 'from_ms' on.  If it was known before and gone, the time
 * between is a hole; with too many holes within the ring, the earliest are merged.
 */
static void
begin_bins(struct interface *interface, int64_t from_ms)
{
	struct hole *holes = interface->holes;

	if (interface->complete_ms <= interface->known_from_ms) {
		interface->known_from_ms = interface->complete_ms = from_ms;
	} else if (from_ms > interface->complete_ms) {
		struct hole *last = &holes[N_HOLES - 1];

		if (last->to_ms > from_ms - BINNER_BINS)
			holes[N_HOLES - 2].from_ms = last->from_ms;
		memmove(holes + 1, holes, (N_HOLES - 1) * sizeof *holes);
		holes[0] = (struct hole){ interface->complete_ms, from_ms };
		interface->complete_ms = from_ms;
	}
	interface->has_bins = true;
	interface->is_gone = false;
}

int
binner_bins(struct binner *binner, const struct source_key *key, int64_t first_ms,
	    const uint32_t *bytes, size_t n, const struct source_extra *extra)
{
	struct interface *interface = binner_interface(binner, key->interface);
	struct series *s = interface ? binner_series(binner, key) : NULL;

	if (!s)
		return interface ? -E2BIG : -EINVAL;
	if (!interface->has_bins)
		begin_bins(interface, first_ms);
	for (size_t i = 0; i < n; i++)
		s->total_bytes += bytes[i] == TELE_GAP ? 0 : bytes[i];
	if (n > 0)
		binner->counts.late_bins +=
			ring_add(binner_ring(s), &binner->pool, first_ms, bytes, n);
	if (extra) {
		s->total.packets += extra->packets;
		s->total.ce += extra->ce;
		s->total.retransmits += extra->retransmits;
		binner_take_levels(s, extra);
	}
	return 0;
}

void
binner_complete(struct binner *binner, uint32_t number, int64_t until_ms)
{
	struct interface *interface = binner_interface(binner, number);

	if (!interface)
		return;
	if (!interface->has_bins)
		begin_bins(interface, until_ms);
	if (until_ms > interface->complete_ms)
		interface->complete_ms = until_ms;
}

void
binner_gone(struct binner *binner, uint32_t number)
{
	struct interface *interface = binner_interface(binner, number);

	if (!interface)
		return;
	interface->has_bins = false;
	interface->is_gone = true;
	for (size_t i = 0; i < binner->series.n; i++)
		if (binner->series.items[i].key.interface == number)
			binner->series.items[i].has_reading = false;
}

void
binner_set_capacity(struct binner *binner, uint32_t number, double capacity_bps)
{
	struct interface *interface = binner_interface(binner, number);

	if (interface)
		interface->capacity_bps = capacity_bps > 0 ? capacity_bps : 0;
}

int
binner_resume(struct binner *binner, const struct source_key *key, uint64_t bytes,
	      const struct source_extra *extra)
{
	struct series *s;

	if (!binner_interface(binner, key->interface))
		return -EINVAL;
	s = binner_series(binner, key);
	if (!s)
		return -E2BIG;
	s->total_bytes += bytes;
	s->reported_bytes += bytes;
	if (extra) {
		s->total.packets += extra->packets;
		s->total.ce += extra->ce;
		s->total.retransmits += extra->retransmits;
	}
	return 0;
}

/* ---- Opening and status ---------------------------------------------------------- */

size_t
binner_n_series(const struct binner *binner)
{
	return binner->series.n;
}

bool
binner_total(const struct binner *binner, size_t i, struct source_key *ret_key,
	     uint64_t *ret_bytes, struct source_extra *ret_extra)
{
	const struct series *s = &binner->series.items[i];

	if (!s->is_used)
		return false;
	*ret_key = s->key;
	*ret_bytes = s->total_bytes;
	*ret_extra = s->total;
	return true;
}

const struct binner_counts *
binner_counts(const struct binner *binner)
{
	/* The pool counts these. */
	((struct binner *)binner)->counts.starved_bins = binner->pool.n_starved;
	return &binner->counts;
}
