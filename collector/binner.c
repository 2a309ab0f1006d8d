#include "collector/binner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "lib/base/vec.h"

#define NS_PER_MS INT64_C(1000000)
#define NONE      UINT32_MAX
#define N_HOLES   4

/* What is remembered of one key. */
struct series {
	struct source_key key;
	bool is_used;
	bool is_counter; /* Known as far as it was read, not as the source says. */
	bool has_reading;
	uint32_t silent; /* Summaries since the last traffic. */
	int64_t last_ns; /* Of the last reading, its value, and what came with it. */
	uint64_t last_bytes;
	struct source_extra last_extra;
	int64_t known_from_ms, known_until_ms; /* Counters only. */
	uint64_t total_bytes;
	struct source_extra total; /* Flows and queue: the largest of the window. */
	uint64_t reported_bytes;   /* total_bytes at the last summary. */
	struct ring *ring;         /* Owned; NULL: nothing in it. */
};

struct interface {
	double capacity_bps;
	bool has_bins; /* It is known from known_from_ms to complete_ms. */
	bool is_gone;
	int64_t known_from_ms, complete_ms;

	/* Unknown all the same: the last times that it was gone, latest first. */
	struct hole {
		int64_t from_ms, to_ms;
	} holes[N_HOLES];
};

struct binner {
	VEC(struct series) series;
	uint32_t *table; /* Owned.  Open addressing: indexes of series, or NONE. */
	size_t n_slots;  /* A power of two. */
	size_t n_used;
	VEC(uint32_t) vacant; /* Indexes of series not in use. */
	VEC(struct interface) interfaces;
	struct ring_pool pool;
	bool may_evict; /* Not again before the next summary. */
	struct binner_counts counts;
	uint32_t scratch[BINNER_BINS];
};

struct binner *
binner_new(void)
{
	struct binner *binner = xcalloc(1, sizeof *binner);

	binner->n_slots = 64;
	binner->table = xreallocarray(NULL, binner->n_slots, sizeof *binner->table);
	memset(binner->table, 0xff, binner->n_slots * sizeof *binner->table);
	ring_pool_init(&binner->pool, BINNER_MAX_CHUNKS);
	binner->may_evict = true;
	return binner;
}

static void
drop_ring(struct binner *binner, struct series *s)
{
	if (!s->ring)
		return;
	ring_fini(s->ring, &binner->pool);
	free(s->ring);
	s->ring = NULL;
}

void
binner_free(struct binner *binner)
{
	if (!binner)
		return;
	for (size_t i = 0; i < binner->series.n; i++)
		drop_ring(binner, &binner->series.items[i]);
	ring_pool_fini(&binner->pool);
	vec_free(&binner->series);
	vec_free(&binner->vacant);
	vec_free(&binner->interfaces);
	free(binner->table);
	free(binner);
}

/* ---- Keys ------------------------------------------------------------------- */

static size_t
hash_slot(const struct binner *binner, const struct source_key *key)
{
	uint64_t hash = rng_mix((uint64_t)key->interface << 32 | key->job);

	return (size_t)(rng_mix(hash ^ (uint64_t)key->direction << 8 ^ key->measure) &
			(binner->n_slots - 1));
}

static bool
same_key(const struct source_key *a, const struct source_key *b)
{
	return a->interface == b->interface && a->job == b->job &&
	       a->direction == b->direction && a->measure == b->measure;
}

/* Returns where the key is in the table, or the empty place where it belongs. */
static size_t
find_slot(const struct binner *binner, const struct source_key *key)
{
	size_t slot = hash_slot(binner, key);

	while (binner->table[slot] != NONE &&
	       !same_key(&binner->series.items[binner->table[slot]].key, key))
		slot = (slot + 1) & (binner->n_slots - 1);
	return slot;
}

/* Fills a table of 'n_slots' with the series in use. */
static void
rebuild_table(struct binner *binner, size_t n_slots)
{
	binner->n_slots = n_slots;
	binner->table = xreallocarray(binner->table, n_slots, sizeof *binner->table);
	memset(binner->table, 0xff, n_slots * sizeof *binner->table);
	for (uint32_t i = 0; i < binner->series.n; i++)
		if (binner->series.items[i].is_used)
			binner->table[find_slot(binner, &binner->series.items[i].key)] =
				i;
}

/* Forgets a series; rebuild_table() is to follow. */
static void
vacate(struct binner *binner, uint32_t index)
{
	struct series *s = &binner->series.items[index];

	drop_ring(binner, s);
	*s = (struct series){ 0 };
	vec_push(&binner->vacant, index);
	binner->n_used--;
}

static bool
is_whole_interface(const struct series *s)
{
	return s->key.job == TELE_LINK || s->key.job == TELE_OTHER;
}

/* Makes room by giving up the jobs that are silent for long. */
static void
evict_forgotten(struct binner *binner)
{
	if (!binner->may_evict)
		return;
	binner->may_evict = false;
	for (uint32_t i = 0; i < binner->series.n; i++) {
		const struct series *s = &binner->series.items[i];

		if (!s->is_used || is_whole_interface(s) || s->silent < BINNER_FORGET)
			continue;
		vacate(binner, i);
		binner->counts.evicted_keys++;
	}
	rebuild_table(binner, binner->n_slots);
}

static struct interface *
get_interface(struct binner *binner, uint32_t interface)
{
	if (interface >= TELE_MAX_INTERFACES)
		return NULL;
	while (binner->interfaces.n <= interface)
		vec_push(&binner->interfaces, (struct interface){ 0 });
	return &binner->interfaces.items[interface];
}

/* Returns the series of the key, made if need be, or NULL if there is no room. */
static struct series *
get_series(struct binner *binner, const struct source_key *key)
{
	size_t slot = find_slot(binner, key);
	struct series fresh = { .key = *key, .is_used = true };
	uint32_t index;

	if (binner->table[slot] != NONE)
		return &binner->series.items[binner->table[slot]];
	if (binner->n_used >= BINNER_MAX_SERIES)
		evict_forgotten(binner);
	if (binner->n_used >= BINNER_MAX_SERIES) {
		binner->counts.refused_keys++;
		return NULL;
	}
	if (binner->vacant.n > 0) {
		index = binner->vacant.items[--binner->vacant.n];
		binner->series.items[index] = fresh;
	} else {
		index = (uint32_t)binner->series.n;
		vec_push(&binner->series, fresh);
	}
	if (++binner->n_used * 2 > binner->n_slots)
		rebuild_table(binner, binner->n_slots * 2);
	else
		binner->table[find_slot(binner, key)] = index;
	return &binner->series.items[index];
}

static struct ring *
get_ring(struct series *s)
{
	if (!s->ring) {
		s->ring = xcalloc(1, sizeof *s->ring);
		ring_init(s->ring);
	}
	return s->ring;
}

/* ---- Counters ---------------------------------------------------------------- */

static int64_t
floor_ms(int64_t ns)
{
	return ns / NS_PER_MS - (ns % NS_PER_MS < 0);
}

static int64_t
ceil_ms(int64_t ns)
{
	return floor_ms(ns + NS_PER_MS - 1);
}

/*
 * Spreads 'bytes' evenly over [from_ns, to_ns), at most BINNER_MAX_SPREAD_NS long.
 * Bin k gets floor(k's share + what the bins before left over), as Bresenham's
 * line does; the last gets the rest.
 */
static void
spread(struct binner *binner, struct series *s, int64_t from_ns, int64_t to_ns,
       uint64_t bytes)
{
	int64_t first_ms = floor_ms(from_ns);
	size_t n = (size_t)(ceil_ms(to_ns) - first_ms);
	uint64_t length_ns = (uint64_t)(to_ns - from_ns);
	uint64_t head_ns = (uint64_t)((first_ms + 1) * NS_PER_MS - from_ns);
	unsigned __int128 head = (unsigned __int128)bytes * head_ns;
	unsigned __int128 whole = (unsigned __int128)bytes * NS_PER_MS;
	uint64_t each = (uint64_t)(whole / length_ns);
	uint64_t each_rest = (uint64_t)(whole % length_ns);
	uint64_t rest = (uint64_t)(head % length_ns), left = bytes;
	uint32_t *bins = binner->scratch;

	for (size_t i = 0; i < n; i++) {
		uint64_t share = i == 0 ? (uint64_t)(head / length_ns) : each;

		if (i > 0)
			rest += each_rest;
		if (rest >= length_ns) {
			rest -= length_ns;
			share++;
		}
		if (i + 1 == n)
			share = left;
		left -= share;
		bins[i] = share < TELE_GAP ? (uint32_t)share : TELE_GAP - 1;
	}
	ring_add(get_ring(s), &binner->pool, first_ms, bins, n);
}

_Static_assert(BINNER_MAX_SPREAD_NS / NS_PER_MS + 2 <= BINNER_BINS,
	       "an interval that is spread fits in 'scratch'");

/* Whether a counter of 'bits' that moved by 'step' modulo 2^bits has wrapped. */
static bool
is_wrap(uint64_t step, unsigned bits, int64_t interval_ns, double capacity_bps)
{
	uint64_t quarter = bits == 32 ? UINT64_C(1) << 30 : UINT64_C(1) << 62;

	if (capacity_bps > 0)
		return (double)step * 8e9 <= 2 * capacity_bps * (double)interval_ns;
	return step < quarter;
}

/* Whether it can have gone round once more in that time. */
static bool
is_ambiguous(unsigned bits, int64_t interval_ns, double capacity_bps)
{
	return bits == 32 && capacity_bps * (double)interval_ns / 8e9 >= 4294967296.0;
}

/* The difference of two of the other counts, which have no width of their own. */
static uint64_t
extra_step(uint64_t last, uint64_t now, bool is_reset, unsigned bits)
{
	if (is_reset)
		return now;
	if (now >= last)
		return now - last;
	return bits == 32 && last <= UINT32_MAX ? (now - last) & UINT32_MAX : now;
}

static void
take_extra(struct series *s, const struct source_extra *extra, bool is_reset,
	   unsigned bits)
{
	struct source_extra *last = &s->last_extra;

	s->total.packets += extra_step(last->packets, extra->packets, is_reset, bits);
	s->total.ce += extra_step(last->ce, extra->ce, is_reset, bits);
	s->total.retransmits +=
		extra_step(last->retransmits, extra->retransmits, is_reset, bits);
}

static void
take_levels(struct series *s, const struct source_extra *extra)
{
	if (extra->flows > s->total.flows)
		s->total.flows = extra->flows;
	if (extra->queue_bytes > s->total.queue_bytes)
		s->total.queue_bytes = extra->queue_bytes;
}

/* The first reading of a series, or the first after the interface was gone. */
static void
begin_counter(struct binner *binner, struct series *s, int64_t time_ns)
{
	if (s->is_counter)
		ring_gap(get_ring(s), &binner->pool, s->known_until_ms,
			 ceil_ms(time_ns));
	else
		s->known_from_ms = ceil_ms(time_ns);
	s->is_counter = s->has_reading = true;
}

/* Takes a reading that is newer than the last one. */
static void
step_counter(struct binner *binner, struct series *s, int64_t time_ns, uint64_t bytes,
	     unsigned bits, const struct source_extra *extra)
{
	double capacity_bps = binner->interfaces.items[s->key.interface].capacity_bps;
	int64_t interval_ns = time_ns - s->last_ns;
	uint64_t mask = bits == 32 ? UINT32_MAX : UINT64_MAX;
	uint64_t step = (bytes - s->last_bytes) & mask;
	bool is_reset = false;

	if (bytes < s->last_bytes) {
		is_reset = !is_wrap(step, bits, interval_ns, capacity_bps);
		if (is_reset)
			step = bytes;
		binner->counts.wraps += !is_reset;
		binner->counts.resets += is_reset;
	}
	s->total_bytes += step;
	if (extra)
		take_extra(s, extra, is_reset, bits);
	if (is_reset || interval_ns > BINNER_MAX_SPREAD_NS ||
	    is_ambiguous(bits, interval_ns, capacity_bps))
		ring_gap(get_ring(s), &binner->pool, floor_ms(s->last_ns),
			 ceil_ms(time_ns));
	else if (step > 0)
		spread(binner, s, s->last_ns, time_ns, step);
}

int
binner_counter(struct binner *binner, const struct source_key *key, int64_t time_ns,
	       uint64_t bytes, unsigned bits, const struct source_extra *extra)
{
	struct interface *interface = get_interface(binner, key->interface);
	struct series *s = interface ? get_series(binner, key) : NULL;

	if (!s)
		return interface ? -E2BIG : -EINVAL;
	interface->is_gone = false;
	if (s->has_reading && time_ns <= s->last_ns) {
		binner->counts.backward++;
		return 0;
	}
	if (bits != 32 || bytes > UINT32_MAX)
		bits = 64;
	if (s->has_reading)
		step_counter(binner, s, time_ns, bytes, bits, extra);
	else
		begin_counter(binner, s, time_ns);
	s->last_ns = time_ns;
	s->last_bytes = bytes;
	s->known_until_ms = floor_ms(time_ns);
	if (extra) {
		s->last_extra = *extra;
		take_levels(s, extra);
	}
	return 0;
}

/* ---- Bins --------------------------------------------------------------------- */

/*
 * From here on the interface is known.  If it was known before and gone, what lies
 * between is a hole; of too many in the ring's time the earliest become one.
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
	struct interface *interface = get_interface(binner, key->interface);
	struct series *s = interface ? get_series(binner, key) : NULL;

	if (!s)
		return interface ? -E2BIG : -EINVAL;
	if (!interface->has_bins)
		begin_bins(interface, first_ms);
	for (size_t i = 0; i < n; i++)
		s->total_bytes += bytes[i] == TELE_GAP ? 0 : bytes[i];
	if (n > 0)
		binner->counts.late_bins +=
			ring_add(get_ring(s), &binner->pool, first_ms, bytes, n);
	if (extra) {
		s->total.packets += extra->packets;
		s->total.ce += extra->ce;
		s->total.retransmits += extra->retransmits;
		take_levels(s, extra);
	}
	return 0;
}

void
binner_complete(struct binner *binner, uint32_t number, int64_t until_ms)
{
	struct interface *interface = get_interface(binner, number);

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
	struct interface *interface = get_interface(binner, number);

	if (!interface)
		return;
	interface->has_bins = false;
	interface->is_gone = true;
	for (size_t i = 0; i < binner->series.n; i++)
		if (binner->series.items[i].key.interface == number)
			binner->series.items[i].has_reading = false;
}

void
binner_job_gone(struct binner *binner, uint32_t job)
{
	bool any = false;

	for (uint32_t i = 0; i < binner->series.n; i++) {
		const struct series *s = &binner->series.items[i];

		if (!s->is_used || s->key.job != job || is_whole_interface(s))
			continue;
		vacate(binner, i);
		any = true;
	}
	if (any)
		rebuild_table(binner, binner->n_slots);
}

void
binner_set_capacity(struct binner *binner, uint32_t number, double capacity_bps)
{
	struct interface *interface = get_interface(binner, number);

	if (interface)
		interface->capacity_bps = capacity_bps > 0 ? capacity_bps : 0;
}

int
binner_resume(struct binner *binner, const struct source_key *key, uint64_t bytes,
	      const struct source_extra *extra)
{
	struct series *s;

	if (!get_interface(binner, key->interface))
		return -EINVAL;
	s = get_series(binner, key);
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

/* ---- Frames -------------------------------------------------------------------- */

static int64_t
max_ms(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Copies out the bins [from_ms, to_ms) of a series, gaps where it is not known. */
static void
read_bins(const struct binner *binner, const struct series *s, int64_t from_ms,
	  int64_t to_ms, uint32_t *ret_bytes)
{
	const struct interface *interface = &binner->interfaces.items[s->key.interface];
	int64_t known_from_ms =
		s->is_counter ? s->known_from_ms : interface->known_from_ms;
	int64_t until_ms = s->is_counter ? s->known_until_ms : interface->complete_ms;

	if (s->ring)
		ring_read(s->ring, from_ms, ret_bytes, (size_t)(to_ms - from_ms));
	else
		memset(ret_bytes, 0, (size_t)(to_ms - from_ms) * sizeof *ret_bytes);
	for (int64_t ms = from_ms; ms < to_ms && ms < known_from_ms; ms++)
		ret_bytes[ms - from_ms] = TELE_GAP;
	for (int64_t ms = max_ms(from_ms, until_ms); ms < to_ms; ms++)
		ret_bytes[ms - from_ms] = TELE_GAP;
	if (s->is_counter)
		return;
	for (const struct hole *hole = interface->holes;
	     hole < interface->holes + N_HOLES; hole++)
		for (int64_t ms = max_ms(from_ms, hole->from_ms);
		     ms < to_ms && ms < hole->to_ms; ms++)
			ret_bytes[ms - from_ms] = TELE_GAP;
}

/* Whether a series has nothing more to say: its interface went before the window. */
static bool
is_over(const struct binner *binner, const struct series *s, int64_t from_ms)
{
	const struct interface *interface = &binner->interfaces.items[s->key.interface];

	return interface->is_gone &&
	       from_ms >= (s->is_counter ? s->known_until_ms : interface->complete_ms);
}

static void
sum_bins(const uint32_t *bins, size_t n, struct tele_traffic *row)
{
	for (size_t i = 0; i < n; i++) {
		if (bins[i] == TELE_GAP) {
			row->gap_bins++;
			continue;
		}
		row->window_bytes += bins[i];
		row->busy_bins += bins[i] > 0;
		if (bins[i] > row->peak_bytes)
			row->peak_bytes = bins[i];
	}
}

static void
add_row(struct binner *binner, struct series *s, int64_t from_ms, int64_t to_ms,
	struct tele_frame *frame)
{
	struct tele_traffic row = {
		.interface = s->key.interface,
		.job = s->key.job,
		.direction = s->key.direction,
		.measure = s->key.measure,
		.total_bytes = s->total_bytes,
		.total_packets = s->total.packets,
		.total_ce = s->total.ce,
		.total_retransmits = s->total.retransmits,
		.flows = s->total.flows,
		.queue_bytes = s->total.queue_bytes,
	};

	read_bins(binner, s, from_ms, to_ms, binner->scratch);
	sum_bins(binner->scratch, (size_t)(to_ms - from_ms), &row);
	s->silent = row.window_bytes > 0 || s->total_bytes != s->reported_bytes
			    ? 0
			    : s->silent + (s->silent < BINNER_FORGET);
	s->reported_bytes = s->total_bytes;
	s->total.flows = s->total.queue_bytes = 0;
	if (s->ring)
		ring_expire(s->ring, &binner->pool, to_ms - BINNER_BINS);
	if (is_over(binner, s, from_ms) ||
	    (s->silent >= BINNER_FORGET && !is_whole_interface(s))) {
		drop_ring(binner, s);
		return;
	}
	binner->counts.gap_bins += row.gap_bins;
	if (frame->traffic.n >= TELE_MAX_TRAFFIC)
		binner->counts.unsent++;
	else
		vec_push(&frame->traffic, row);
}

/* Calls add(), of the series of whole interfaces first. */
static void
each_series(struct binner *binner, int64_t from_ms, int64_t to_ms,
	    struct tele_frame *frame,
	    void (*add)(struct binner *, struct series *, int64_t, int64_t,
			struct tele_frame *))
{
	if (to_ms <= from_ms)
		return;
	BUG_ON(to_ms - from_ms > BINNER_BINS);
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < binner->series.n; i++) {
			struct series *s = &binner->series.items[i];

			if (s->is_used && is_whole_interface(s) == (pass == 0))
				add(binner, s, from_ms, to_ms, frame);
		}
}

void
binner_summary(struct binner *binner, int64_t from_ms, int64_t to_ms,
	       struct tele_frame *frame)
{
	binner->may_evict = true;
	each_series(binner, from_ms, to_ms, frame, add_row);
}

static void
add_raw(struct binner *binner, struct series *s, int64_t from_ms, int64_t to_ms,
	struct tele_frame *frame)
{
	size_t n = (size_t)(to_ms - from_ms);
	struct tele_series series = {
		.interface = s->key.interface,
		.job = s->key.job,
		.direction = s->key.direction,
		.measure = s->key.measure,
		.start_ms = from_ms,
		.n_bins = (uint32_t)n,
		.bins_at = (uint32_t)frame->bins.n,
	};

	if (is_over(binner, s, from_ms) || (!s->ring && !is_whole_interface(s)))
		return;
	if (frame->series.n >= TELE_MAX_SERIES ||
	    frame->bins.n + n > TELE_MAX_FRAME_BINS) {
		binner->counts.unsent++;
		return;
	}
	vec_reserve(&frame->bins, n);
	read_bins(binner, s, from_ms, to_ms, frame->bins.items + frame->bins.n);
	frame->bins.n += n;
	vec_push(&frame->series, series);
}

void
binner_raw(struct binner *binner, int64_t from_ms, int64_t to_ms,
	   struct tele_frame *frame)
{
	each_series(binner, from_ms, to_ms, frame, add_raw);
}

/* ---- The rest ------------------------------------------------------------------- */

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
	/* Not kept in two places: the pool counts it. */
	((struct binner *)binner)->counts.starved_bins = binner->pool.n_starved;
	return &binner->counts;
}
