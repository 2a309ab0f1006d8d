/* SPDX-License-Identifier: Apache-2.0 */
/* test_metrics.c - Prometheus metrics: the text, and promtool's verdict */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cli.h"
#include "lib/daemon/metrics.h"
#include "tests/unit/test.h"

static void
a_family_has_its_help_its_type_and_its_samples(void **state)
{
	struct strbuf out = STRBUF_EMPTY;
	struct metrics m;

	(void)state;
	metrics_init(&m, &out);
	metrics_family(&m, "antiphase_gaps_total", METRICS_COUNTER, "Frames missing.");
	metrics_sample(&m, 3, "host", "n1", NULL);
	metrics_sample_u64(&m, UINT64_C(18446744073709551615), "host", "n2", "kind",
			   "raw", NULL);
	metrics_family(&m, "antiphase_age_seconds", METRICS_GAUGE, "Age.");
	metrics_sample(&m, 0.1, NULL);
	metrics_sample(&m, NAN, NULL);
	metrics_sample(&m, -INFINITY, NULL);
	assert_string_equal(
		out.text,
		"# HELP antiphase_gaps_total Frames missing.\n"
		"# TYPE antiphase_gaps_total counter\n"
		"antiphase_gaps_total{host=\"n1\"} 3\n"
		"antiphase_gaps_total{host=\"n2\",kind=\"raw\"} 18446744073709551615\n"
		"# HELP antiphase_age_seconds Age.\n"
		"# TYPE antiphase_age_seconds gauge\n"
		"antiphase_age_seconds 0.1\n"
		"antiphase_age_seconds NaN\n"
		"antiphase_age_seconds -Inf\n");
	strbuf_free(&out);
}

static void
openmetrics_has_the_suffix_at_the_sample_and_an_end(void **state)
{
	struct strbuf out = STRBUF_EMPTY;
	struct metrics m;

	(void)state;
	metrics_init_as(&m, &out, METRICS_OPEN);
	metrics_family(&m, "antiphase_gaps_total", METRICS_COUNTER, "\"Frames\".");
	metrics_sample(&m, 3, "host", "n1", NULL);
	metrics_family(&m, "antiphase_age_seconds", METRICS_GAUGE, "Age.");
	metrics_sample(&m, 0.1, NULL);
	metrics_finish(&m);
	assert_string_equal(out.text, "# HELP antiphase_gaps \\\"Frames\\\".\n"
				      "# TYPE antiphase_gaps counter\n"
				      "antiphase_gaps_total{host=\"n1\"} 3\n"
				      "# HELP antiphase_age_seconds Age.\n"
				      "# TYPE antiphase_age_seconds gauge\n"
				      "antiphase_age_seconds 0.1\n"
				      "# EOF\n");
	strbuf_free(&out);
}

static void
names_from_outside_cannot_break_out_of_their_quotes(void **state)
{
	struct strbuf out = STRBUF_EMPTY;
	struct metrics m;

	(void)state;
	metrics_init(&m, &out);
	metrics_family(&m, "x", METRICS_GAUGE, "back\\slash\nand \"quotes\"");
	strbuf_clear(&out);
	metrics_family(&m, "x", METRICS_GAUGE, "a\\b\n\"c\"");
	metrics_sample(&m, 1, "job", "\"} 9\nx{a=\"\\", "host", "caf\xc3\xa9 \xff",
		       NULL);
	assert_string_equal(out.text,
			    "# HELP x a\\\\b\\n\"c\"\n"
			    "# TYPE x gauge\n"
			    "x{job=\"\\\"} 9\\nx{a=\\\"\\\\\",host=\"caf\xc3\xa9 "
			    "\xef\xbf\xbd\"} 1\n");
	strbuf_free(&out);
}

static void
a_histogram_is_cumulated_and_ends_at_infinity(void **state)
{
	static const double bounds[] = { 0.25, 1 };
	static const uint64_t counts[] = { 2, 3, 4 };
	struct strbuf out = STRBUF_EMPTY;
	struct metrics m;

	(void)state;
	metrics_init(&m, &out);
	metrics_family(&m, "antiphase_scheduler_solve_duration_seconds",
		       METRICS_HISTOGRAM, "H.");
	strbuf_clear(&out);
	metrics_histogram(&m, bounds, counts, 2, 7.5, NULL, NULL);
	metrics_histogram(&m, bounds, counts, 1, 7.5, "job", "a");
	assert_string_equal(
		out.text,
		"antiphase_scheduler_solve_duration_seconds_bucket{le=\"0.25\"} 2\n"
		"antiphase_scheduler_solve_duration_seconds_bucket{le=\"1\"} 5\n"
		"antiphase_scheduler_solve_duration_seconds_bucket{le=\"+Inf\"} 9\n"
		"antiphase_scheduler_solve_duration_seconds_sum 7.5\n"
		"antiphase_scheduler_solve_duration_seconds_count 9\n"
		"antiphase_scheduler_solve_duration_seconds_bucket{job=\"a\",le=\"0.25\"} 2\n"
		"antiphase_scheduler_solve_duration_seconds_bucket{job=\"a\",le=\"+Inf\"} 5\n"
		"antiphase_scheduler_solve_duration_seconds_sum{job=\"a\"} 7.5\n"
		"antiphase_scheduler_solve_duration_seconds_count{job=\"a\"} 5\n");
	strbuf_free(&out);
}

static double
figure(const char *text, const char *name)
{
	const char *at = text;
	size_t n = strlen(name);

	for (; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, name, n) == 0 && at[n] == ' ')
			return strtod(at + n, NULL);
	}
	fail_msg("there is no %s", name);
	return 0;
}

static void
a_process_says_its_version_cpu_and_memory(void **state)
{
	struct strbuf out = STRBUF_EMPTY;
	struct metrics m;
	char *ballast = calloc(32, 1 << 20);
	double before_bytes;

	(void)state;
	metrics_init(&m, &out);
	metrics_process(&m, "antiphase-x 1.2.3 (abc def)");
	assert_non_null(strstr(
		out.text, "antiphase_build_info{program=\"antiphase-x\",version=\"1."
			  "2.3\",revision=\"abc def\",libbpf=\"\"} 1\n"));
	strbuf_clear(&out);
	cli_set_libbpf("v1.1");
	metrics_process(&m, "antiphase-x 1.2.3 (abc def)");
	assert_non_null(strstr(out.text, ",revision=\"abc def\",libbpf=\"v1.1\"} 1\n"));
	before_bytes = figure(out.text, "process_resident_memory_bytes");
	assert_true(before_bytes > 100000);
	assert_true(figure(out.text, "process_cpu_seconds_total") >= 0);
	assert_true(figure(out.text, "process_open_fds") >= 3);
	assert_true(figure(out.text, "process_start_time_seconds") > 1577836800);
	memset(ballast, 1, 32 << 20);
	strbuf_clear(&out);
	metrics_process(&m, cli_version());
	/* Sanitizers add an eighth of their own. */
	assert_near(figure(out.text, "process_resident_memory_bytes") - before_bytes,
		    32 << 20, 8 << 20);
	free(ballast);
	strbuf_free(&out);
}

static void
promtool_has_nothing_to_say_against_it(void **state)
{
	static const double bounds[] = { 0.25, 1 };
	static const uint64_t counts[] = { 2, 3, 4 };
	struct strbuf out = STRBUF_EMPTY;
	struct metrics m;
	FILE *promtool;

	(void)state;
	if (system("command -v promtool >/dev/null") != 0)
		skip();
	metrics_init(&m, &out);
	metrics_process(&m, cli_version());
	metrics_family(&m, "antiphase_gaps_total", METRICS_COUNTER, "Frames missing.");
	metrics_sample(&m, 3, "host", "\"\n\\\xff", NULL);
	metrics_family(&m, "antiphase_duration_seconds", METRICS_HISTOGRAM, "H.");
	metrics_histogram(&m, bounds, counts, 2, 7.5, NULL, NULL);
	promtool = popen("promtool check metrics", "w");
	assert_non_null(promtool);
	assert_int_equal(fwrite(out.text, 1, out.length, promtool), out.length);
	assert_int_equal(pclose(promtool), 0);
	strbuf_free(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_family_has_its_help_its_type_and_its_samples),
		cmocka_unit_test(openmetrics_has_the_suffix_at_the_sample_and_an_end),
		cmocka_unit_test(names_from_outside_cannot_break_out_of_their_quotes),
		cmocka_unit_test(a_histogram_is_cumulated_and_ends_at_infinity),
		cmocka_unit_test(a_process_says_its_version_cpu_and_memory),
		cmocka_unit_test(promtool_has_nothing_to_say_against_it),
	};

	return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
