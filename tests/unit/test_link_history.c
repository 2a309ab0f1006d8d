/* SPDX-License-Identifier: Apache-2.0 */
/* test_link_history.c - the course of links in a recording, against a naive mean */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/link_history.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/base/rng.h"
#include "scheduler/live/contention.h"
#include "tests/unit/test.h"

#define T0 INT64_C(1795227470000)

/* Adds a second in which link 'name' used 'share' of 100 bit/s; < 0: unknown. */
static void
add(struct link_history *history, int64_t at_ms, char *name, double share, bool is_over)
{
	struct contention_link link = { .name = name,
					.capacity_bps = 100,
					.now_bps = share < 0 ? -1 : 100 * share,
					.over_ms = is_over };
	const struct contention found = { .to_ms = at_ms,
					  .links = &link,
					  .n_links = 1 };

	link_history_add(history, &found);
}

static char *
text_of(const struct link_history *history)
{
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	struct jsonw w;

	jsonw_document(&w, out, "antiphase.link_history/2");
	link_history_json(history, &w);
	jsonw_end(&w);
	jsonw_finish(&w);
	fclose(out);
	return text;
}

/* The number of steps of the first link in the text. */
static int
steps_of(const char *text)
{
	int n = 1;

	for (const char *at = strstr(text, "\"permille\": ["); *at != ']'; at++)
		n += *at == ',';
	return n;
}

static void
shares_are_written_by_step_and_gaps_are_null(void **state)
{
	struct link_history *history = link_history_new();
	char *text;

	(void)state;
	add(history, T0, "a", 0.5, false);
	add(history, T0 + 1000, "a", -1, false);
	add(history, T0 + 3000, "a", 0.25, false);
	add(history, T0 - 5000, "a", 0.9, false); /* Before the first. */
	text = text_of(history);
	assert_non_null(strstr(text, "\"from_us\": 1795227470000000,"));
	assert_non_null(strstr(text, "\"step_us\": 1000000,"));
	assert_non_null(strstr(text, "\"permille\": [500, null, null, 250]"));
	free(text);
	link_history_free(history);
}

static void
contended_links_come_first_then_those_that_carried_most(void **state)
{
	struct link_history *history = link_history_new();
	char *text;
	const char *a, *b, *c;

	(void)state;
	add(history, T0, "much", 0.9, false);
	add(history, T0, "little", 0.1, false);
	add(history, T0, "contended", 0.2, true);
	text = text_of(history);
	a = strstr(text, "\"contended\"");
	b = strstr(text, "\"much\"");
	c = strstr(text, "\"little\"");
	assert_true(a && b && c && a < b && b < c);
	free(text);
	link_history_free(history);
}

/* However long it is, a step has the mean of its seconds. */
static void
a_long_recording_has_longer_steps(void **state)
{
	static const int n = 3 * LINK_HISTORY_MAX_COLUMNS + 7;
	struct link_history *history = link_history_new();
	struct rng rng;
	double *shares = calloc((size_t)n, sizeof *shares);
	const char *at;
	char *text;

	(void)state;
	rng_init(&rng, 1);
	for (int i = 0; i < n; i++) {
		shares[i] = rng_uniform(&rng);
		add(history, T0 + 1000 * i, "a", shares[i], false);
	}
	text = text_of(history);
	assert_int_equal(steps_of(text), (n + 3) / 4);
	assert_non_null(strstr(text, "\"step_us\": 4000000,"));
	at = strstr(text, "\"permille\": [") + strlen("\"permille\": [");
	for (int k = 0; k < (n + 3) / 4; k++) {
		double sum = 0;
		int m = 0;
		char *end;

		for (int i = 4 * k; i < n && i < 4 * k + 4; i++, m++)
			sum += shares[i];
		assert_near((double)strtol(at, &end, 10), 1000 * sum / m, 0.51);
		at = end + 2;
	}
	free(text);
	free(shares);
	link_history_free(history);
}

static void
a_clock_that_leaps_does_not_cost_memory(void **state)
{
	struct link_history *history = link_history_new();
	char *text;

	(void)state;
	add(history, T0, "a", 0.5, false);
	add(history, T0 + INT64_C(100) * 365 * 86400 * 1000, "a", 0.5, false);
	text = text_of(history);
	assert_true(steps_of(text) <= LINK_HISTORY_MAX_COLUMNS);
	free(text);
	link_history_free(history);
}

static void
links_beyond_the_limit_are_left_out(void **state)
{
	struct link_history *history = link_history_new();
	struct json_doc *doc;
	const struct json *links;
	char name[32], *text;
	struct err *none = NULL;
	size_t n;

	(void)state;
	for (int i = 0; i < LINK_HISTORY_MAX_LINKS + 10; i++) {
		snprintf(name, sizeof name, "link%d", i);
		add(history, T0, name, 0.5, false);
	}
	text = text_of(history);
	assert_int_equal(json_parse("text", text, strlen(text), &doc, none), 0);
	assert_int_equal(json_get_array(doc, json_root(doc), "links", &links, &n, none),
			 0);
	assert_int_equal(n, LINK_HISTORY_MAX_WRITTEN);
	assert_non_null(strstr(text, "\"left_out\": 1948,"));
	json_doc_free(doc);
	free(text);
	link_history_free(history);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_are_written_by_step_and_gaps_are_null),
		cmocka_unit_test(
			contended_links_come_first_then_those_that_carried_most),
		cmocka_unit_test(a_long_recording_has_longer_steps),
		cmocka_unit_test(a_clock_that_leaps_does_not_cost_memory),
		cmocka_unit_test(links_beyond_the_limit_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
