/* SPDX-License-Identifier: Apache-2.0 */
/* test_ratios.c - ratios of sweep cells: pairs by seed, jackknife by hand, refusals */
#include <math.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "sim/sweep/ratios.h"
#include "tests/unit/test.h"

#define CELL(policy, jobs, seed, value)                                             \
	"{\"cell\": 1, \"version\": \"v\", \"command\": \"c\", \"seed\": " #seed    \
	", \"axes\": [{\"axis\": \"policy\", \"value\": \"" policy                  \
	"\"}, {\"axis\": \"jobs\", \"value\": \"" jobs                              \
	"\"}], \"metrics\": [{\"of\": \"\", \"metric\": \"other\", \"value\": 9}, " \
	"{\"of\": \"x\", \"metric\": \"mean\", \"value\": " #value "}]}"
#define SWEEP(cells) SWEEP_OF("sim_sweep/2", cells)
#define SWEEP_OF(schema, cells)                                                      \
	"{\"schema\": \"antiphase." schema "\", \"sweep\": \"x.ini\", "              \
	"\"version\": \"v\", \"command\": \"c\", \"n_cells\": 8, \"cells\": [" cells \
	"]}"

/* One per line. */
/* clang-format off */
static const char sweep[] = SWEEP(
	CELL("none", "8", 1, 4) ","
	CELL("none", "8", 2, 6) ","
	CELL("none", "8", 3, 8) ","
	CELL("good", "8", 1, 2) ","
	CELL("good", "8", 2, 3) ","
	CELL("good", "8", 3, 5) ","
	CELL("none", "9", 1, 3) ","
	CELL("good", "9", 1, 0) ","
	CELL("none", "10", 1, 3) ","
	CELL("none", "10", 2, 3) ","
	CELL("good", "10", 1, 2) ","
	CELL("good", "10", 2, 1e-9));

/* clang-format on */

static int
make(const char *text, const char *base, const char *metric, struct json_doc **ret_doc,
     struct ratios *ret_ratios)
{
	struct err err = { 0 };
	int r = json_parse("sweep.json", text, strlen(text), ret_doc, &err);

	assert_int_equal(r, 0);
	r = ratios_make(*ret_doc, &base, 1, &metric, 1, ret_ratios, &err);
	assert_true(r == 0 || err.text[0]);
	return r;
}

static void
ratios_are_of_pairs_of_the_same_seed(void **state)
{
	struct json_doc *doc;
	struct ratios ratios;
	const struct ratios_value *value;
	double left[3] = { 14.0 / 8, 12.0 / 7, 10.0 / 5 }, pseudo[3], mean = 0, sd = 0;

	(void)state;
	assert_int_equal(make(sweep, "policy=none", "mean", &doc, &ratios), 0);
	assert_int_equal(ratios.n_rows, 6);
	assert_int_equal(ratios.n_axes, 2);
	assert_string_equal(ratios.axes[0], "policy");
	assert_true(ratios_varies(&ratios, 0) && ratios_varies(&ratios, 1));
	assert_int_equal(ratios.min_seed, 1);
	assert_int_equal(ratios.max_seed, 3);
	/* The base compared with itself. */
	assert_true(ratios.rows[0].metrics[0].ratio == 1);
	assert_near(ratios.rows[0].metrics[0].ci95, 0, 1e-12);
	/* 18 over 10; leaving out one seed as above. */
	assert_string_equal(ratios.rows[1].values[0], "good");
	assert_int_equal(ratios.rows[1].n_seeds, 3);
	value = &ratios.rows[1].metrics[0];
	assert_near(value->base, 6, 1e-12);
	assert_near(value->mean, 10.0 / 3, 1e-12);
	assert_near(value->ratio, 1.8, 1e-12);
	for (int i = 0; i < 3; i++)
		mean += (pseudo[i] = 3 * 1.8 - 2 * left[i]) / 3;
	for (int i = 0; i < 3; i++)
		sd += (pseudo[i] - mean) * (pseudo[i] - mean) / 2;
	/* Student's t of two degrees of freedom: 4.3027. */
	assert_near(value->ci95, 4.30265 * sqrt(sd / 3), 1e-4);
	/* A zero denominator gives no value; a single seed no interval. */
	assert_true(isnan(ratios.rows[3].metrics[0].ratio));
	assert_true(isnan(ratios.rows[2].metrics[0].ci95));
	/* Everything in one seed: no interval, either. */
	assert_near(ratios.rows[5].metrics[0].ratio, 3, 1e-6);
	assert_true(isnan(ratios.rows[5].metrics[0].ci95));
	ratios_fini(&ratios);
	json_doc_free(doc);
}

static void
a_sweep_of_a_former_version_is_read(void **state)
{
	static const char former[] = SWEEP_OF("sim-sweep/1", CELL("none", "8", 1, 4));
	struct json_doc *doc;
	struct ratios ratios;

	(void)state;
	assert_int_equal(make(former, "policy=none", "mean", &doc, &ratios), 0);
	assert_int_equal(ratios.n_rows, 1);
	ratios_fini(&ratios);
	json_doc_free(doc);
}

static void
what_is_not_there_is_refused(void **state)
{
	static const struct {
		const char *text, *base, *metric;
	} bad[] = {
		{ sweep, "policy", "mean" },
		{ sweep, "polity=none", "mean" },
		{ sweep, "policy=bad", "mean" },
		{ sweep, "policy=none", "mode" },
		{ "{\"schema\": \"antiphase.sim_run/2\"}", "policy=none", "mean" },
		{ "{\"schema\": \"antiphase.sim_sweep/2\", \"sweep\": \"x\", "
		  "\"version\": \"v\", \"cells\": [3]}",
		  "policy=none", "mean" },
		{ "{\"schema\": \"antiphase.sim_sweep/2\", \"sweep\": \"x\", "
		  "\"version\": \"v\", \"cells\": [{\"seed\": 1, \"axes\": [3], "
		  "\"metrics\": []}]}",
		  "policy=none", "mean" },
		{ "{\"schema\": \"antiphase.sim_sweep/2\", \"sweep\": \"x\", "
		  "\"version\": \"v\", \"cells\": [{\"seed\": 1, \"axes\": [], "
		  "\"metrics\": [{\"metric\": \"mean\", \"value\": 1}, "
		  "{\"metric\": \"mean\", \"value\": 1}]}]}",
		  "policy=none", "mean" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct json_doc *doc;
		struct ratios ratios;

		if (make(bad[i].text, bad[i].base, bad[i].metric, &doc, &ratios) == 0)
			fail_msg("taken: %zu", i);
		json_doc_free(doc);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ratios_are_of_pairs_of_the_same_seed),
		cmocka_unit_test(a_sweep_of_a_former_version_is_read),
		cmocka_unit_test(what_is_not_there_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
