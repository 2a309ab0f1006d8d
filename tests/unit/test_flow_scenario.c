/* SPDX-License-Identifier: Apache-2.0 */
/* test_flow_scenario.c - the flow scenario: parsing, refusals, and SimGrid's results */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "sim/run/flow_scenario.h"
#include "tests/unit/test.h"

#define GOOD                                                                       \
	"fabscn 1\nhosts 3\nlinks 2\nL 0 6250000000 h0.up\nL 1 6250000000 h1.dn\n" \
	"jobs 2\nJ 0 10 0 5000000 2\nF 0 1 1000 2 0 1\nF 1 2 0 0\nJ 1 1 7 0 0\n"

#define WITH_RETURNS "fabscn 1\r\nhosts 1\r\nlinks 0\r\njobs 0\r\n"

static void
a_scenario_is_read_as_written(void **state)
{
	struct flow_scenario *scn;
	struct err err;

	(void)state;
	assert_int_equal(flow_scenario_parse("x", GOOD, strlen(GOOD), &scn, &err), 0);
	assert_int_equal(scn->n_hosts, 3);
	assert_int_equal(scn->n_links, 2);
	assert_near(scn->capacity_bps[1], 50e9, 0);
	assert_int_equal(scn->n_jobs, 2);
	assert_int_equal(scn->n_flows, 2);
	assert_int_equal(scn->jobs[0].n_iterations, 10);
	assert_int_equal(scn->jobs[0].compute_ns, 5000000);
	assert_int_equal(scn->jobs[1].shift_ns, 7);
	assert_int_equal(scn->jobs[1].n_flows, 0);
	assert_int_equal(scn->flows[0].bytes, 1000);
	assert_int_equal(scn->flows[0].n_links, 2);
	assert_int_equal(scn->paths[scn->flows[0].first_link + 1], 1);
	assert_int_equal(scn->flows[1].n_links, 0);
	flow_scenario_free(scn);
	/* Without the last newline, and with carriage returns. */
	assert_int_equal(flow_scenario_parse("x", GOOD, strlen(GOOD) - 1, &scn, &err),
			 0);
	flow_scenario_free(scn);
	assert_int_equal(flow_scenario_parse("x", WITH_RETURNS, strlen(WITH_RETURNS),
					     &scn, &err),
			 0);
	flow_scenario_free(scn);
}

struct bad {
	const char *text;
	unsigned line;
	const char *says; /* Part of the message. */
};

static const struct bad BAD[] = {
	{ "", 1, "fabscn 1" },
	{ "fabscn 2\n", 1, "version" },
	{ "fabscn  1\n", 1, "version, a whole number" },
	{ "fabscnx 1\n", 1, "fabscn 1" },
	{ "fabscn 1 \n", 1, "unexpected text" },
	{ "fabscn 1\nhosts 0\n", 2, "out of range" },
	{ "fabscn 1\nhosts -1\n", 2, "whole number" },
	{ "fabscn 1\nhosts 1\nlinks 99999999\n", 3, "too short" },
	{ "fabscn 1\nhosts 1\nlinks 99999999999999999999\n", 3, "out of range" },
	{ "fabscn 1\nhosts 1\nlinks 1\nL 1 5 a\n", 4, "expected 0" },
	{ "fabscn 1\nhosts 1\nlinks 1\nL 0 0 a\n", 4, "out of range" },
	{ "fabscn 1\nhosts 1\nlinks 1\nL 0 5 \nx", 4, "a name" },
	{ "fabscn 1\nhosts 1\nlinks 1\nL 0 5 a b\n", 4, "unexpected text" },
	{ "fabscn 1\nhosts 1\nlinks 0\njobs 1\n", 4, "too short" },
	{ "fabscn 1\nhosts 1\nlinks 0\njobs 1\nF 0 0 0 0 0 0\n", 5, "J id iters" },
	{ "fabscn 1\nhosts 1\nlinks 0\njobs 1\nJ 0 0 0 0 0\n", 5,
	  "iters is out of range" },
	{ "fabscn 1\nhosts 1\nlinks 0\njobs 1\nJ 0 1 0 0 1\n", 5, "too short" },
	{ "fabscn 1\nhosts 1\nlinks 0\njobs 1\nJ 0 1 0 0 1\nF 0 1 0 0\n", 6, "dst" },
	{ "fabscn 1\nhosts 2\nlinks 0\njobs 1\nJ 0 1 0 0 1\nF 0 1 5 1 0\n", 6, "link" },
	{ "fabscn 1\nhosts 2\nlinks 0\njobs 1\nJ 0 1 0 0 1\nF 0 1 5 9\n", 6,
	  "too short" },
	{ "fabscn 1\nhosts 2\nlinks 0\njobs 0\nJ 0 1 0 0 0\n", 5, "end of the file" },
};

static void
what_is_wrong_is_said_with_its_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
		/* A copy of the exact size, so that a sanitizer sees any overrun. */
		size_t length = strlen(BAD[i].text);
		char *text = xmemdup(BAD[i].text, length ? length : 1, 1);
		struct flow_scenario *scn = NULL;
		struct err err;

		assert_int_equal(
			flow_scenario_parse("bad.scn", text, length, &scn, &err),
			-EINVAL);
		assert_null(scn);
		assert_string_equal(err.file, "bad.scn");
		if (err.line != BAD[i].line || !strstr(err.text, BAD[i].says))
			fail_msg("'%s' gave line %u: %s", BAD[i].text, err.line,
				 err.text);
		free(text);
	}
}

/* ------ SimGrid's end times ------ */

struct golden {
	const char *name;
	uint64_t n_iterations; /* To run; the first 20 are compared. */
};

static const struct golden GOLDEN[] = {
	{ "n16-rand", 1000 },    { "n128-mix10", 1000 }, { "n128-rand", 1000 },
	{ "n1024-mix10", 1000 }, { "n1024-rand", 200 },
};

struct ends {
	uint32_t n_jobs;
	double (*first20_ns)[20];
	double sum_ns;
};

static void
keep_end(void *ctx, uint32_t job, uint64_t iteration, double start_ns, double end_ns)
{
	struct ends *ends = ctx;

	if (iteration < 20)
		ends->first20_ns[job][iteration] = end_ns;
	ends->sum_ns += end_ns - start_ns;
}

static struct flow_scenario *
load(const char *name)
{
	char *path = xasprintf(SHARED_DATA "/sim/%s.scn", name), *text;
	struct flow_scenario *scn;
	struct err err;
	size_t length;

	if (file_read(path, (size_t)1 << 26, &text, &length, &err)) {
		free(path);
		return NULL;
	}
	assert_int_equal(flow_scenario_parse(path, text, length, &scn, &err), 0);
	free(text);
	free(path);
	return scn;
}

/* Largest difference from the golden file, in seconds. */
static double
largest_error_s(const char *name, const struct ends *ends)
{
	char *path = xasprintf(SHARED_DATA "/sim/%s.first20.csv", name);
	FILE *in = fopen(path, "r");
	unsigned job, iteration, n = 0;
	double end_s, largest_s = 0;

	assert_non_null(in);
	while (fscanf(in, "%u,%u,%lf", &job, &iteration, &end_s) == 3) {
		assert_true(job < ends->n_jobs && iteration < 20);
		largest_s = fmax(largest_s,
				 fabs(ends->first20_ns[job][iteration] / 1e9 - end_s));
		n++;
	}
	assert_int_equal(n, ends->n_jobs * 20);
	fclose(in);
	free(path);
	return largest_s;
}

static void
end_times_are_those_of_simgrid(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof GOLDEN / sizeof *GOLDEN; i++) {
		struct ends ends = { 0 };
		struct engine_observer observer = { .ctx = &ends,
						    .on_iteration = keep_end };
		struct flow_scenario *scn = load(GOLDEN[i].name);
		struct engine *engine;
		double error_s;

		if (!scn) {
			print_message("no " SHARED_DATA "/sim/%s.scn\n",
				      GOLDEN[i].name);
			skip();
		}
		ends.n_jobs = scn->n_jobs;
		ends.first20_ns = xcalloc(scn->n_jobs, sizeof *ends.first20_ns);
		engine = flow_scenario_new_engine(scn, GOLDEN[i].n_iterations,
						  &observer);
		engine_run(engine, ENGINE_NEVER);
		error_s = largest_error_s(GOLDEN[i].name, &ends);
		print_message("%s: largest error %.1e s\n", GOLDEN[i].name, error_s);
		assert_true(error_s < 1e-6);
		engine_free(engine);
		free(ends.first20_ns);
		flow_scenario_free(scn);
	}
}

static void
sum_marks(void *ctx, uint32_t job, uint32_t flow, double start_ns, double end_ns,
	  double rate_bps, double ecn_packets)
{
	double *marked = ctx;

	(void)job;
	(void)flow;
	(void)start_ns;
	(void)end_ns;
	(void)rate_bps;
	*marked += ecn_packets;
}

/*
 * Returns the marks on two flows of 4 MB, which share either the first link of both
 * paths, link 0, or the last one.
 */
static double
marks_of(uint32_t first_of_second)
{
	double marked = 0;
	struct engine_observer observer = { .ctx = &marked, .on_sent = sum_marks };
	struct flow_scenario *scn;
	struct engine *engine;
	struct err err;
	char text[512];

	snprintf(text, sizeof text,
		 "fabscn 1\nhosts 4\nlinks 4\nL 0 1000000 a\nL 1 1000000 b\n"
		 "L 2 1000000 c\nL 3 1000000 d\njobs 1\nJ 0 1 0 0 2\n"
		 "F 0 2 4000000 2 0 %u\nF 1 3 4000000 2 %u 2\n",
		 first_of_second == 0 ? 3u : 2u, first_of_second);
	assert_int_equal(flow_scenario_parse("x", text, strlen(text), &scn, &err), 0);
	engine = flow_scenario_new_engine(scn, 0, &observer);
	engine_run(engine, ENGINE_NEVER);
	engine_free(engine);
	flow_scenario_free(scn);
	return marked;
}

/* engine/ecn.h: two flows of 1,000 packets each have a share of 0.092 marked. */
static void
links_mark_unless_they_are_a_hosts_own(void **state)
{
	(void)state;
	assert_near(marks_of(1), 2000 * 0.092, 1e-6);
	assert_near(marks_of(0), 0, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_scenario_is_read_as_written),
		cmocka_unit_test(what_is_wrong_is_said_with_its_line),
		cmocka_unit_test(end_times_are_those_of_simgrid),
		cmocka_unit_test(links_mark_unless_they_are_a_hosts_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
