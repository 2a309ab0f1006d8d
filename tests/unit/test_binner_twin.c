/* SPDX-License-Identifier: Apache-2.0 */
/* test_binner_twin.c - the binner against a naive twin with all bins of a minute */
#include <stdlib.h>

#include "collector/series/binner.h"
#include "lib/base/rng.h"
#include "lib/wire/tele.h"
#include "tests/unit/binner_bins.h"
#include "tests/unit/test.h"

#define MS        INT64_C(1000000)
#define TWIN_KEYS 6
#define TWIN_MS   60000
#define TWIN_OPS  6000

struct twin_key {
	bool has_reading, was_read;
	int64_t last_ns;
	uint64_t last, total;
	uint64_t bins[TWIN_MS];
	bool unknown[TWIN_MS]; /* Reported so, or within a gap. */
	int64_t from_ms, until_ms;
	int64_t newest_ms;
};

struct twin {
	struct twin_key keys[TWIN_KEYS]; /* The first half are counters. */
	bool known[TWIN_MS];             /* Bins: in a complete interval. */
	int64_t from_ms, complete_ms;
	bool has_bins;
};

static struct source_key
twin_key(size_t i)
{
	return (struct source_key){ 3, i % 3 == 0 ? TELE_LINK : (uint32_t)i,
				    i < TWIN_KEYS / 2 ? TELE_RX : TELE_TX, TELE_WIRE };
}

/* By definition: the value at the end of each bin less that at its begin. */
static void
twin_counter(struct twin_key *k, int64_t time_ns, uint64_t value, double capacity_bps)
{
	int64_t first = k->last_ns / MS, end = (time_ns + MS - 1) / MS;
	uint64_t step = value - k->last;
	bool is_gap = false;

	if (!k->has_reading) {
		for (int64_t ms = k->until_ms; k->was_read && ms < end; ms++)
			k->unknown[ms] = true;
		if (!k->was_read)
			k->from_ms = end;
	} else {
		if (time_ns <= k->last_ns)
			return;
		if (value < k->last &&
		    !((double)step * 8 <=
		      capacity_bps * 2 * (double)(time_ns - k->last_ns) / 1e9)) {
			step = value;
			is_gap = true;
		}
		is_gap = is_gap || time_ns - k->last_ns > BINNER_MAX_SPREAD_NS;
		k->total += step;
		for (int64_t ms = first; ms < end; ms++) {
			int64_t a = ms * MS < k->last_ns ? k->last_ns : ms * MS;
			int64_t b = (ms + 1) * MS > time_ns ? time_ns : (ms + 1) * MS;
			unsigned __int128 bytes = step;
			uint64_t length = (uint64_t)(time_ns - k->last_ns);

			if (is_gap)
				k->unknown[ms] = true;
			else
				k->bins[ms] +=
					(uint64_t)(bytes * (uint64_t)(b - k->last_ns) /
							   length -
						   bytes * (uint64_t)(a - k->last_ns) /
							   length);
		}
	}
	k->has_reading = k->was_read = true;
	k->last = value;
	k->last_ns = time_ns;
	k->until_ms = time_ns / MS;
}

static void
twin_begin(struct twin *t, int64_t from_ms)
{
	if (!t->has_bins && from_ms > t->complete_ms)
		t->complete_ms = from_ms;
	t->has_bins = true;
}

static void
twin_complete(struct twin *t, int64_t until_ms)
{
	twin_begin(t, until_ms);
	for (; t->complete_ms < until_ms; t->complete_ms++)
		t->known[t->complete_ms] = true;
}

/* The expected bin of a key. */
static uint32_t
twin_bin(const struct twin *t, size_t i, int64_t ms)
{
	const struct twin_key *k = &t->keys[i];
	bool known =
		i < TWIN_KEYS / 2 ? ms >= k->from_ms && ms < k->until_ms : t->known[ms];

	return known && !k->unknown[ms] ? (uint32_t)k->bins[ms] : TELE_GAP;
}

static void
compare(struct binner *binner, const struct twin *t, int64_t now_ms)
{
	static uint32_t got[BINNER_BINS];
	int64_t from_ms = now_ms < 3000 ? 0 : now_ms - 3000;

	for (size_t i = 0; i < TWIN_KEYS; i++) {
		struct source_key key = twin_key(i);

		if (!binner_raw_bins(binner, &key, from_ms, now_ms + 5, got))
			continue;
		for (int64_t ms = from_ms; ms < now_ms + 5; ms++)
			if (got[ms - from_ms] != twin_bin(t, i, ms))
				fail_msg("key %zu, bin %lld is %u, not %u", i,
					 (long long)ms, got[ms - from_ms],
					 twin_bin(t, i, ms));
	}
}

static void
compare_totals(const struct binner *binner, const struct twin *t)
{
	for (size_t at = 0; at < binner_n_series(binner); at++) {
		struct source_key key, want;
		struct source_extra extra;
		uint64_t bytes;

		assert_true(binner_total(binner, at, &key, &bytes, &extra));
		for (size_t i = 0; i < TWIN_KEYS; i++) {
			want = twin_key(i);
			if (key.job == want.job && key.direction == want.direction)
				assert_true(bytes == t->keys[i].total);
		}
	}
}

static void
random_bins(struct binner *binner, struct twin *t, size_t i, int64_t now_ms,
	    struct rng *rng)
{
	struct source_key key = twin_key(i);
	int64_t first_ms = now_ms - (int64_t)rng_below(rng, 40);
	size_t n = rng_below(rng, 20);
	uint32_t bytes[20];

	if (first_ms < t->complete_ms && !t->has_bins)
		first_ms = t->complete_ms;
	if (first_ms < 0)
		first_ms = 0;
	twin_begin(t, first_ms);
	for (size_t j = 0; j < n; j++) {
		bytes[j] = rng_below(rng, 30) ? (uint32_t)rng_below(rng, 1 << 20)
					      : TELE_GAP;
		if (bytes[j] == TELE_GAP) {
			t->keys[i].unknown[first_ms + (int64_t)j] = true;
		} else {
			t->keys[i].bins[first_ms + (int64_t)j] += bytes[j];
			t->keys[i].total += bytes[j];
		}
	}
	assert_int_equal(binner_bins(binner, &key, first_ms, bytes, n, NULL), 0);
}

static void
random_counter(struct binner *binner, struct twin *t, size_t i, int64_t now_ns,
	       double capacity_bps, struct rng *rng)
{
	struct source_key key = twin_key(i);
	uint64_t value = t->keys[i].last + rng_below(rng, 1 << 24);
	int64_t time_ns = now_ns - (int64_t)rng_below(rng, 3 * MS);

	if (rng_below(rng, 40) == 0)
		value = rng_below(rng, 1000); /* A reset. */
	if (i == 1 && !t->keys[i].was_read)
		value = UINT64_MAX - rng_below(rng, 1 << 28); /* It will wrap. */
	twin_counter(&t->keys[i], time_ns, value, capacity_bps);
	assert_int_equal(binner_counter(binner, &key, time_ns, value, 64, NULL), 0);
}

static void
random_operations_agree_with_a_twin_that_keeps_every_bin(void **state)
{
	struct twin *t = calloc(1, sizeof *t);
	struct binner *binner = binner_new();
	int64_t now_ns = 5 * MS;
	struct rng rng;

	(void)state;
	rng_init(&rng, 11);
	binner_set_capacity(binner, 3, 1e11);
	for (int op = 0; op < TWIN_OPS && now_ns < 50000 * MS; op++) {
		size_t i = rng_below(&rng, TWIN_KEYS);

		now_ns += (int64_t)rng_below(&rng, rng_below(&rng, 300) ? 12 * MS
									: 2500 * MS);
		if (rng_below(&rng, 600) == 0) {
			binner_gone(binner, 3);
			t->has_bins = false;
			for (i = 0; i < TWIN_KEYS; i++)
				t->keys[i].has_reading = false;
		} else if (rng_below(&rng, 4) == 0) {
			binner_complete(binner, 3, now_ns / MS - 30);
			twin_complete(t, now_ns / MS - 30);
		} else if (i >= TWIN_KEYS / 2) {
			random_bins(binner, t, i, now_ns / MS, &rng);
		} else {
			random_counter(binner, t, i, now_ns, 1e11, &rng);
		}
		if (op % 8 == 0)
			compare(binner, t, now_ns / MS);
		compare_totals(binner, t);
	}
	assert_true(binner_counts(binner)->resets > 10);
	assert_int_equal(binner_counts(binner)->wraps, 1);
	free(t);
	binner_free(binner);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			random_operations_agree_with_a_twin_that_keeps_every_bin),
	};

	return cmocka_run_group_tests_name("binner_twin", tests, NULL, NULL);
}
