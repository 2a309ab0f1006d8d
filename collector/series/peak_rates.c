/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/series/peak_rates.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"

/* Kinds of values per interface: both directions, and the queue. */
enum {
	QUEUE = TELE_RX + 1,
	N_KINDS
};

struct peak_rates {
	unsigned n_windows, at; /* 'at': place of the last summary. */
	struct strtab *names;
	VEC(uint32_t) rings; /* By interface, kind and window. */
};

struct peak_rates *
peak_rates_new(unsigned n_windows)
{
	struct peak_rates *peaks = xcalloc(1, sizeof *peaks);

	BUG_ON(!n_windows);
	peaks->n_windows = n_windows;
	peaks->names = strtab_new();
	return peaks;
}

void
peak_rates_free(struct peak_rates *peaks)
{
	if (!peaks)
		return;
	strtab_free(peaks->names);
	vec_free(&peaks->rings);
	free(peaks);
}

static uint32_t *
ring_of(const struct peak_rates *peaks, uint32_t number, unsigned kind)
{
	return peaks->rings.items +
	       ((size_t)number * N_KINDS + kind) * peaks->n_windows;
}

/* The ring of an interface, added if new. */
static uint32_t
number_of(struct peak_rates *peaks, const char *name)
{
	uint32_t number = strtab_intern(peaks->names, name);
	size_t n = (size_t)(number + 1) * N_KINDS * peaks->n_windows;

	if (n > peaks->rings.n) {
		size_t more = n - peaks->rings.n;

		vec_reserve(&peaks->rings, more);
		memset(peaks->rings.items + peaks->rings.n, 0,
		       more * sizeof peaks->rings.items[0]);
		peaks->rings.n = n;
	}
	return number;
}

void
peak_rates_update(struct peak_rates *peaks, const struct tele_frame *summary)
{
	peaks->at = (peaks->at + 1) % peaks->n_windows;
	for (uint32_t i = 0; i < strtab_n(peaks->names); i++) {
		for (unsigned kind = 0; kind < N_KINDS; kind++)
			ring_of(peaks, i, kind)[peaks->at] = 0;
	}
	for (size_t i = 0; i < summary->traffic.n; i++) {
		const struct tele_traffic *row = &summary->traffic.items[i];
		uint32_t number;

		if (row->job != TELE_LINK)
			continue;
		number = number_of(peaks,
				   summary->interfaces.items[row->interface].name);
		if (row->measure == TELE_WIRE)
			ring_of(peaks, number, row->direction)[peaks->at] =
				row->peak_bytes;
		if (row->direction == TELE_TX &&
		    row->queue_bytes > ring_of(peaks, number, QUEUE)[peaks->at])
			ring_of(peaks, number, QUEUE)[peaks->at] = row->queue_bytes;
	}
}

static uint32_t
most(const struct peak_rates *peaks, const char *interface, unsigned kind)
{
	uint32_t number = strtab_find(peaks->names, interface), max = 0;

	for (unsigned i = 0; number != STRTAB_NONE && i < peaks->n_windows; i++) {
		uint32_t value = ring_of(peaks, number, kind)[i];

		if (value > max)
			max = value;
	}
	return max;
}

uint32_t
peak_rates_bytes(const struct peak_rates *peaks, const char *interface,
		 enum tele_direction direction)
{
	return most(peaks, interface, direction);
}

uint32_t
peak_rates_queue_bytes(const struct peak_rates *peaks, const char *interface)
{
	return most(peaks, interface, QUEUE);
}
