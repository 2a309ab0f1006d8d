/* SPDX-License-Identifier: Apache-2.0 */
/* binner_bins.h - the bins of one key, for the tests of the binner */
#ifndef TESTS_UNIT_BINNER_BINS_H
#define TESTS_UNIT_BINNER_BINS_H

#include <string.h>

#include "collector/series/binner.h"
#include "lib/base/vec.h"
#include "lib/wire/tele.h"
#include "tests/unit/test.h"

static inline void
binner_release(struct tele_frame *frame)
{
	vec_free(&frame->traffic);
	vec_free(&frame->series);
	vec_free(&frame->bins);
}

/* The bins [from, to) of a key as in a raw frame; false if the binner has none. */
static inline bool
binner_raw_bins(struct binner *binner, const struct source_key *key, int64_t from_ms,
		int64_t to_ms, uint32_t *ret_bins)
{
	struct tele_frame frame = { 0 };
	bool found = false;

	binner_raw(binner, from_ms, to_ms, &frame);
	for (size_t i = 0; i < frame.series.n; i++) {
		const struct tele_series *s = &frame.series.items[i];

		if (s->interface != key->interface || s->job != key->job ||
		    s->direction != key->direction || s->measure != key->measure)
			continue;
		assert_int_equal(s->start_ms, from_ms);
		assert_int_equal(s->n_bins, to_ms - from_ms);
		memcpy(ret_bins, frame.bins.items + s->bins_at,
		       s->n_bins * sizeof *ret_bins);
		found = true;
	}
	binner_release(&frame);
	return found;
}

#endif
