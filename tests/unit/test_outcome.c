/* SPDX-License-Identifier: Apache-2.0 */
/* test_outcome.c - whether an advice was followed, and its gain */
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "scheduler/daemon/outcome.h"
#include "tests/unit/test.h"

#define MS     INT64_C(1000000)
#define SECOND (1000 * MS)

/* Iterations, one in four 2 % longer; returns their end. */
static int64_t
run(struct outcome *outcome, int64_t from_ns, uint64_t *number, int n, int64_t took_ms)
{
	for (int i = 0; i < n; i++) {
		outcome_begin(outcome, (*number)++, from_ns);
		from_ns += took_ms * MS + (i % 4 == 0 ? took_ms * MS / 50 : 0);
	}
	return from_ns;
}

static const struct case_of_shift {
	const char *what;
	int n_before, n_after;
	int64_t before_ms, after_ms;
	bool is_steered;
	double gain_low, gain_high;
	enum outcome_followed followed;
	enum outcome_verdict verdict;
	double gain;
} cases[] = {
	{ "as foretold", 60, 60, 200, 160, true, 0.15, 0.25, OUTCOME_FOLLOWED,
	  OUTCOME_AS_ADVISED, 0.2 },
	{ "less than foretold", 60, 60, 200, 190, true, 0.15, 0.25, OUTCOME_FOLLOWED,
	  OUTCOME_LESS, 0.05 },
	{ "worse than before", 60, 60, 200, 250, true, 0, 0.25, OUTCOME_FOLLOWED,
	  OUTCOME_LESS, -0.25 },
	{ "more than foretold", 60, 60, 200, 120, true, 0.15, 0.25, OUTCOME_FOLLOWED,
	  OUTCOME_MORE, 0.4 },
	{ "steered from its start on", 5, 60, 200, 160, true, 0.15, 0.25,
	  OUTCOME_FOLLOWED, OUTCOME_NO_BEFORE, 0 },
	{ "just now", 60, 5, 200, 160, true, 0.15, 0.25, OUTCOME_FOLLOWED,
	  OUTCOME_TOO_EARLY, 0 },
	{ "nobody steers it", 60, 60, 200, 200, false, 0.15, 0.25, OUTCOME_NOT_FOLLOWED,
	  OUTCOME_UNHEEDED, 0 },
	{ "nobody steers it yet", 60, 5, 200, 200, false, 0.15, 0.25, OUTCOME_NOT_KNOWN,
	  OUTCOME_TOO_EARLY, 0 },
};

static void
a_shift_is_held_against_what_was_before(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct case_of_shift *c = &cases[i];
		struct outcome outcome = { .kept = NULL };
		struct outcome_steered steered = { .is_advised = true,
						   .is_steered = c->is_steered,
						   .gain_low = c->gain_low,
						   .gain_high = c->gain_high };
		uint64_t number = 7;
		int64_t now_ns = 5000 * SECOND;

		now_ns = run(&outcome, now_ns, &number, c->n_before + 1, c->before_ms);
		/* The current iteration is not complete. */
		assert_true(outcome_step(&outcome, now_ns, &steered));
		steered.begun_ns = c->is_steered ? now_ns : 0;
		now_ns = run(&outcome, now_ns, &number, c->n_after + 1, c->after_ms);
		outcome_step(&outcome, now_ns, &steered);
		if (outcome.followed != c->followed || outcome.verdict != c->verdict ||
		    fabs(outcome.gain - c->gain) > 0.005)
			fail_msg("%s: followed %d, %s, gain %g", c->what,
				 outcome.followed,
				 outcome_verdict_names[outcome.verdict], outcome.gain);
		assert_int_equal(outcome.n_followed, c->is_steered);
		assert_false(outcome_step(&outcome, now_ns, &steered));
		outcome_fini(&outcome);
	}
}

static void
before_and_since_are_a_minute_each(void **state)
{
	struct outcome outcome = { .kept = NULL };
	struct outcome_steered steered = { .is_advised = true, .is_steered = true };
	uint64_t number = 0;
	int64_t now_ns = 100 * SECOND;

	(void)state;
	/* Two minutes of 500 ms, the first with 1 s; then two of 250 ms. */
	now_ns = run(&outcome, now_ns, &number, 60, 1000);
	now_ns = run(&outcome, now_ns, &number, 120, 500);
	steered.begun_ns = now_ns;
	outcome_step(&outcome, now_ns, &steered);
	assert_in_range(outcome.before.n, 117, 120);
	assert_in_range(outcome.before.p50_us, 500000, 500000);
	assert_in_range(outcome.before.p99_us, 509000, 510000);
	assert_in_range(outcome.before.mean_us, 502000, 503000);
	now_ns = run(&outcome, now_ns, &number, 240, 400);
	now_ns = run(&outcome, now_ns, &number, 240, 250);
	outcome_step(&outcome, now_ns, &steered);
	assert_in_range(outcome.after.n, 230, 240);
	assert_in_range(outcome.after.p50_us, 250000, 250000);
	assert_in_range(outcome.before.p50_us, 500000, 500000);
	outcome_fini(&outcome);
}

static void
what_is_no_iteration_is_left_out(void **state)
{
	struct outcome outcome = { .kept = NULL };

	(void)state;
	outcome_begin(&outcome, 1, SECOND);
	outcome_begin(&outcome, 2, 2 * SECOND);
	assert_int_equal(outcome.n, 1);
	outcome_begin(&outcome, 4, 3 * SECOND);    /* One was lost. */
	outcome_begin(&outcome, 5, 2 * SECOND);    /* Out of order. */
	outcome_begin(&outcome, 6, 5000 * SECOND); /* The job did something else. */
	outcome_begin(&outcome, UINT64_MAX, 5001 * SECOND);
	outcome_begin(&outcome, 0, 5002 * SECOND);
	assert_int_equal(outcome.n, 2);
	/* The pacer's value takes precedence over the traffic. */
	outcome_estimate(&outcome, 5003 * SECOND, 1000000);
	assert_int_equal(outcome.n, 2);
	assert_int_equal(outcome.histogram[5], 2);
	assert_near(outcome.sum_s, 2, 1e-9);
	outcome_fini(&outcome);
}

static void
what_is_not_advised_any_more_stays_as_it_was_found(void **state)
{
	struct outcome outcome = { .kept = NULL };
	struct outcome_steered steered = { .is_advised = true,
					   .is_steered = true,
					   .gain_high = 0.5 };
	uint64_t number = 0;
	int64_t now_ns = run(&outcome, SECOND, &number, 50, 300);

	(void)state;
	steered.begun_ns = now_ns;
	outcome_step(&outcome, now_ns, &steered);
	now_ns = run(&outcome, now_ns, &number, 50, 200);
	assert_true(outcome_step(&outcome, now_ns, &steered));
	assert_int_equal(outcome.verdict, OUTCOME_AS_ADVISED);
	steered.is_advised = false;
	now_ns = run(&outcome, now_ns, &number, 50, 900);
	assert_false(outcome_step(&outcome, now_ns, &steered));
	assert_true(outcome.has_ended);
	assert_int_equal(outcome.verdict, OUTCOME_AS_ADVISED);
	/* A new advice starts anew. */
	steered = (struct outcome_steered){ .is_advised = true };
	assert_true(outcome_step(&outcome, now_ns, &steered));
	assert_int_equal(outcome.verdict, OUTCOME_TOO_EARLY);
	assert_int_equal(outcome.n_followed, 1);
	outcome_fini(&outcome);
}

static void
a_place_is_followed_by_who_runs_on_it(void **state)
{
	static const struct {
		const char *advised, *actual;
		bool is_told;
		enum outcome_followed followed;
	} places[] = {
		{ "h[0-3]", "h[0-3]", true, OUTCOME_FOLLOWED },
		{ "h[0-3]", "h3,h1,h[0,2]", true, OUTCOME_FOLLOWED },
		{ "h[0-3]", "h[0-2,4]", true, OUTCOME_NOT_FOLLOWED },
		{ "h[0-3]", "h[0-4]", true, OUTCOME_NOT_FOLLOWED },
		{ "h[0-3]", "h[0-", false, OUTCOME_NOT_KNOWN },
		{ "h[0-3]", "", false, OUTCOME_NOT_KNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		struct outcome outcome = { .kept = NULL };
		uint64_t number = 0;

		assert_false(outcome_runs_on(&outcome, places[i].actual));
		outcome_place(&outcome, places[i].advised, 17, 1.1, 200000);
		assert_int_equal(outcome_runs_on(&outcome, places[i].actual),
				 places[i].is_told);
		assert_int_equal(outcome.place_followed, places[i].followed);
		assert_int_equal(outcome.n_followed,
				 places[i].followed == OUTCOME_FOLLOWED);
		/* Reported once. */
		if (places[i].is_told)
			assert_false(outcome_runs_on(&outcome, places[i].actual));
		assert_near(outcome_slowdown(&outcome, SECOND), 0, 0);
		run(&outcome, SECOND, &number, 20, 220);
		assert_near(outcome_slowdown(&outcome, 6 * SECOND), 1.1, 0.01);
		outcome_fini(&outcome);
	}
}

/* Writes, reads and writes again; NULL if refused. */
static char *
over_a_restart(const char *text)
{
	struct json_doc *doc;
	struct outcome outcome = { .kept = NULL };
	struct err err;
	struct jsonw w;
	char *again = NULL;
	size_t n;
	FILE *out;

	if (json_parse("test", text, strlen(text), &doc, &err) < 0)
		return NULL;
	if (outcome_state_read(doc, json_find(json_root(doc), "state"), &outcome) ==
	    0) {
		out = open_memstream(&again, &n);
		jsonw_init(&w, out);
		jsonw_object(&w, NULL);
		outcome_state_write(&outcome, &w);
		jsonw_end(&w);
		fclose(out);
	}
	outcome_fini(&outcome);
	json_doc_free(doc);
	return again;
}

static void
it_is_the_same_after_a_restart(void **state)
{
	struct outcome outcome = { .kept = NULL };
	struct outcome_steered steered = { .is_advised = true,
					   .is_steered = true,
					   .gain_low = 0.1,
					   .gain_high = 0.2 };
	uint64_t number = 1;
	int64_t now_ns = run(&outcome, 5000 * SECOND, &number, 60, 200);
	struct jsonw w;
	char *text = NULL, *again;
	size_t n;
	FILE *out;

	(void)state;
	outcome_place(&outcome, "n[1-4]", 17, 1.25, 180000);
	assert_true(outcome_runs_on(&outcome, "n[1-4]"));
	outcome_step(&outcome, now_ns, &steered);
	steered.begun_ns = now_ns;
	now_ns = run(&outcome, now_ns, &number, 60, 160);
	outcome_step(&outcome, now_ns, &steered);
	out = open_memstream(&text, &n);
	jsonw_init(&w, out);
	jsonw_object(&w, NULL);
	outcome_state_write(&outcome, &w);
	jsonw_end(&w);
	fclose(out);
	again = over_a_restart(text);
	assert_non_null(again);
	assert_string_equal(text, again);
	assert_non_null(strstr(text, "n[1-4]"));
	free(again);
	/* A file may contain anything: cuts at each byte and changes each digit. */
	for (size_t i = 0; i < n; i += 3) {
		char kept = text[i];

		text[i] = kept >= '0' && kept <= '9' ? 'x' : '9';
		free(over_a_restart(text));
		text[i] = kept;
	}
	free(text);
	outcome_fini(&outcome);
	assert_null(over_a_restart("{\"state\":{\"shift\":{}}}"));
	assert_null(over_a_restart("{\"state\":{\"place\":{\"nodes\":7}}}"));
	again = over_a_restart("{\"state\":{}}");
	assert_non_null(again);
	free(again);
}

/* The ring has the last iterations and orders, oldest first, and nothing else. */
static void
the_last_iterations_and_orders_are_kept(void **state)
{
	struct outcome outcome = { .kept = NULL };
	uint64_t number = 1;

	(void)state;
	assert_int_equal(outcome_n_iterations(&outcome), 0);
	assert_int_equal(outcome_n_orders(&outcome), 0);
	outcome_estimate(&outcome, 7 * SECOND, 1234);
	assert_int_equal(outcome_n_iterations(&outcome), 1);
	assert_int_equal(outcome_iteration_at(&outcome, 0).took_us, 1234);
	/* Reports of a pacer take the place of estimates. */
	for (int i = 0; i <= 3 * OUTCOME_N_KEPT + 5; i++) {
		size_t n = i < OUTCOME_N_KEPT ? (size_t)i : OUTCOME_N_KEPT;

		outcome_begin(&outcome, number++, i * SECOND);
		assert_int_equal(outcome_n_iterations(&outcome), n);
		for (size_t k = 0; k<n; k += n> 9 ? n / 9 : 1) {
			const struct outcome_iteration iteration =
				outcome_iteration_at(&outcome, k);

			assert_true(iteration.begin_ns ==
				    (i - (int64_t)(n - k)) * SECOND);
			assert_int_equal(iteration.took_us, 1000000);
		}
	}
	for (int i = 0; i < 2 * OUTCOME_N_ORDERS + 3; i++) {
		size_t n = i < OUTCOME_N_ORDERS ? (size_t)i + 1 : OUTCOME_N_ORDERS;

		outcome_order(&outcome,
			      &(struct outcome_order){ .at_ns = i * MS,
						       .max_us = 7,
						       .why = STEER_WHY_TURN });
		assert_int_equal(outcome_n_orders(&outcome), n);
		for (size_t k = 0; k < n; k++)
			assert_true(outcome_order_at(&outcome, k).at_ns ==
				    (i + 1 - (int64_t)(n - k)) * MS);
	}
	outcome_fini(&outcome);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_shift_is_held_against_what_was_before),
		cmocka_unit_test(before_and_since_are_a_minute_each),
		cmocka_unit_test(what_is_no_iteration_is_left_out),
		cmocka_unit_test(what_is_not_advised_any_more_stays_as_it_was_found),
		cmocka_unit_test(a_place_is_followed_by_who_runs_on_it),
		cmocka_unit_test(it_is_the_same_after_a_restart),
		cmocka_unit_test(the_last_iterations_and_orders_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
