/* SPDX-License-Identifier: Apache-2.0 */
/* sink.h - a sink for tests of sources: a binner, and all reported names as text */
#ifndef TESTS_UNIT_SINK_H
#define TESTS_UNIT_SINK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/series/binner.h"
#include "collector/sources/source.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "lib/wire/tele.h"

struct test_sink {
	struct source_sink sink; /* Passed to the source. */
	struct binner *binner;
	struct strtab *interfaces, *jobs;
	VEC(struct tele_interface) seen; /* By number, as last reported. */
	int n_gone;
	uint64_t n_lost, n_counters, n_bins;
	int64_t complete_ms, last_counter_ns;
};

static inline uint32_t
test_sink_interface(void *ctx, const struct tele_interface *interface)
{
	struct test_sink *t = ctx;
	uint32_t number = strtab_intern(t->interfaces, interface->name);

	if (number == t->seen.n)
		vec_push(&t->seen, *interface);
	t->seen.items[number] = *interface;
	binner_set_capacity(t->binner, number, interface->capacity_bps);
	return number;
}

static inline uint32_t
test_sink_job(void *ctx, const char *name)
{
	return strtab_intern(((struct test_sink *)ctx)->jobs, name);
}

static inline void
test_sink_counter(void *ctx, const struct source_key *key, int64_t time_ns,
		  uint64_t bytes, unsigned bits, const struct source_extra *extra)
{
	struct test_sink *t = ctx;

	t->n_counters++;
	t->last_counter_ns = time_ns;
	binner_counter(t->binner, key, time_ns, bytes, bits, extra);
}

static inline void
test_sink_bins(void *ctx, const struct source_key *key, int64_t first_ms,
	       const uint32_t *bytes, size_t n, const struct source_extra *extra)
{
	struct test_sink *t = ctx;

	t->n_bins += n;
	binner_bins(t->binner, key, first_ms, bytes, n, extra);
}

static inline void
test_sink_complete(void *ctx, uint32_t interface, int64_t until_ms)
{
	struct test_sink *t = ctx;

	t->complete_ms = until_ms;
	binner_complete(t->binner, interface, until_ms);
}

static inline void
test_sink_gone(void *ctx, uint32_t interface)
{
	struct test_sink *t = ctx;

	t->n_gone++;
	binner_gone(t->binner, interface);
}

static inline void
test_sink_lost(void *ctx, uint64_t n)
{
	((struct test_sink *)ctx)->n_lost += n;
}

static inline void
test_sink_init(struct test_sink *t)
{
	memset(t, 0, sizeof *t);
	t->binner = binner_new();
	t->interfaces = strtab_new();
	t->jobs = strtab_new();
	t->sink = (struct source_sink){
		.ctx = t,
		.interface = test_sink_interface,
		.job = test_sink_job,
		.counter = test_sink_counter,
		.bins = test_sink_bins,
		.complete = test_sink_complete,
		.gone = test_sink_gone,
		.lost = test_sink_lost,
	};
}

static inline void
test_sink_fini(struct test_sink *t)
{
	binner_free(t->binner);
	strtab_free(t->interfaces);
	strtab_free(t->jobs);
	vec_free(&t->seen);
}

/* Totals of an interface and job ("": the whole interface); false if there are none. */
static inline bool
test_sink_total(const struct test_sink *t, const char *interface, const char *job,
		enum tele_direction direction, uint64_t *ret_bytes,
		struct source_extra *ret_extra)
{
	uint32_t number = strtab_find(t->interfaces, interface);
	uint32_t want = !strcmp(job, "")        ? TELE_LINK
			: !strcmp(job, "other") ? TELE_OTHER
						: strtab_find(t->jobs, job);

	for (size_t i = 0; i < binner_n_series(t->binner); i++) {
		struct source_key key;

		if (binner_total(t->binner, i, &key, ret_bytes, ret_extra) &&
		    key.interface == number && key.job == want &&
		    key.direction == direction && key.measure == TELE_WIRE)
			return true;
	}
	return false;
}

#endif
