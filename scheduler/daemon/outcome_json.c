/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outcome_json.c - an outcome over a restart. Iterations are not stored: those since an
 * advice was followed come again, and those before it are stored as figures.
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "scheduler/daemon/outcome.h"

#define MAX_US    (INT64_C(1) << 52)
#define MAX_RATIO 1e9

/* ---- Writing -------------------------------------------------------------------------- */

static void
write_times(struct jsonw *w, const char *key, const struct outcome_times *times)
{
	jsonw_object(w, key);
	jsonw_int(w, "n", times->n);
	jsonw_int(w, "mean_us", times->mean_us);
	jsonw_int(w, "p50_us", times->p50_us);
	jsonw_int(w, "p99_us", times->p99_us);
	jsonw_rounded(w, "error_us", times->error_us, 3);
	jsonw_end(w);
}

void
outcome_state_write(const struct outcome *outcome, struct jsonw *w)
{
	jsonw_object(w, "state");
	if (outcome->has_place) {
		jsonw_object(w, "place");
		jsonw_str(w, "nodes", outcome->nodes);
		jsonw_int(w, "at_us", outcome->place_at_us);
		jsonw_rounded(w, "slowdown", outcome->place_slowdown, 6);
		jsonw_int(w, "alone_us", outcome->isolated_us);
		jsonw_int(w, "followed", outcome->place_followed);
		jsonw_end(w);
	}
	if (outcome->has_shift) {
		jsonw_object(w, "shift");
		jsonw_bool(w, "has_ended", outcome->has_ended);
		jsonw_int(w, "since_us", outcome->since_ns / 1000);
		jsonw_int(w, "followed_us", outcome->followed_ns / 1000);
		jsonw_int(w, "followed", outcome->followed);
		jsonw_int(w, "verdict", outcome->verdict);
		jsonw_rounded(w, "gain_low", outcome->gain_low, 6);
		jsonw_rounded(w, "gain_high", outcome->gain_high, 6);
		jsonw_rounded(w, "gain", outcome->gain, 6);
		jsonw_rounded(w, "gain_error", outcome->gain_error, 6);
		write_times(w, "before", &outcome->before);
		write_times(w, "after", &outcome->after);
		jsonw_end(w);
	}
	jsonw_end(w);
}

/* ---- Reading -------------------------------------------------------------------------- */

/* Reads on while all input was valid. */
struct reader {
	const struct json_doc *doc;
	struct err err;
	int r;
};

static int64_t
take_int(struct reader *reader, const struct json *object, const char *key, int64_t max)
{
	int64_t value = 0;

	if (reader->r == 0)
		reader->r = json_get_int(reader->doc, object, key, 0, max, &value,
					 &reader->err);
	return value;
}

static double
take_ratio(struct reader *reader, const struct json *object, const char *key)
{
	double value = 0;

	if (reader->r == 0)
		reader->r = json_get_num(reader->doc, object, key, -MAX_RATIO,
					 MAX_RATIO, &value, &reader->err);
	return value;
}

static struct outcome_times
take_times(struct reader *reader, const struct json *object, const char *key)
{
	const struct json *times = json_find(object, key);

	if (!times) {
		reader->r = -EINVAL;
		return (struct outcome_times){ .n = 0 };
	}
	return (struct outcome_times){
		.n = (uint32_t)take_int(reader, times, "n", OUTCOME_N_KEPT),
		.mean_us = take_int(reader, times, "mean_us", MAX_US),
		.p50_us = take_int(reader, times, "p50_us", MAX_US),
		.p99_us = take_int(reader, times, "p99_us", MAX_US),
		.error_us = take_ratio(reader, times, "error_us"),
	};
}

static void
take_place(struct reader *reader, const struct json *place, struct outcome *outcome)
{
	const char *nodes = NULL;

	reader->r = json_get_str(reader->doc, place, "nodes", &nodes, &reader->err);
	outcome->place_at_us = take_int(reader, place, "at_us", MAX_US);
	outcome->place_slowdown = take_ratio(reader, place, "slowdown");
	outcome->isolated_us = take_int(reader, place, "alone_us", MAX_US);
	outcome->place_followed = (enum outcome_followed)take_int(
		reader, place, "followed", OUTCOME_NOT_FOLLOWED);
	if (reader->r < 0)
		return;
	outcome->has_place = true;
	outcome->nodes = xstrdup(nodes);
}

static void
take_shift(struct reader *reader, const struct json *shift, struct outcome *outcome)
{
	reader->r = json_opt_bool(reader->doc, shift, "has_ended", &outcome->has_ended,
				  &reader->err);
	outcome->since_ns = take_int(reader, shift, "since_us", MAX_US) * 1000;
	outcome->followed_ns = take_int(reader, shift, "followed_us", MAX_US) * 1000;
	outcome->followed = (enum outcome_followed)take_int(reader, shift, "followed",
							    OUTCOME_NOT_FOLLOWED);
	outcome->verdict = (enum outcome_verdict)take_int(reader, shift, "verdict",
							  OUTCOME_N_VERDICTS - 1);
	outcome->gain_low = take_ratio(reader, shift, "gain_low");
	outcome->gain_high = take_ratio(reader, shift, "gain_high");
	outcome->gain = take_ratio(reader, shift, "gain");
	outcome->gain_error = take_ratio(reader, shift, "gain_error");
	outcome->before = take_times(reader, shift, "before");
	outcome->after = take_times(reader, shift, "after");
	outcome->has_shift = true;
}

int
outcome_state_read(const struct json_doc *doc, const struct json *state,
		   struct outcome *ret_outcome)
{
	struct reader reader = { .doc = doc };
	struct outcome outcome = { .kept = NULL };
	const struct json *place = json_find(state, "place");
	const struct json *shift = json_find(state, "shift");

	if (place)
		take_place(&reader, place, &outcome);
	if (shift && reader.r == 0)
		take_shift(&reader, shift, &outcome);
	if (reader.r < 0) {
		outcome_fini(&outcome);
		return -EINVAL;
	}
	*ret_outcome = outcome;
	return 0;
}
