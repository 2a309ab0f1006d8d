/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_segment_names.c - names of segments and what they need: in a scenario's text, and
 * as the engine gets it
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "scheduler/core/workload/workload_ini.h"
#include "tests/unit/test.h"

#define HEAD "[job a]\nnodes = 2\n"

static const struct scenario_io no_io = { NULL, NULL };

static struct scenario *
parse(const char *text)
{
	struct scenario *scenario;
	struct err err;

	if (scenario_parse("s.ini", text, strlen(text), &no_io, &scenario, &err) < 0) {
		err_print(&err, stderr);
		fail();
	}
	return scenario;
}

static void
assert_refused(const char *text, const char *expect)
{
	struct scenario *scenario = NULL;
	struct err err = { .text = "accepted" };
	struct strbuf said = STRBUF_EMPTY;

	assert_int_equal(
		scenario_parse("s.ini", text, strlen(text), &no_io, &scenario, &err),
		-EINVAL);
	strbuf_printf(&said, "%s:%u: %s", err.file, err.line, err.text);
	assert_string_equal(said.text, expect);
	strbuf_free(&said);
}

static void
assert_needs(const struct work_job *job, const uint32_t (*pairs)[2], size_t n)
{
	assert_int_equal(job->n_needs, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(job->needs[i].segment, pairs[i][0]);
		assert_int_equal(job->needs[i].after, pairs[i][1]);
	}
}

static void
segments_need_others_by_name(void **state)
{
	static const uint32_t pairs[][2] = { { 2, 0 }, { 4, 1 }, { 4, 3 } };
	struct scenario *s =
		parse(HEAD "segment = back1: compute 10 ms\n"
			   "segment = send.1:send 50 MB at 10 Gb/s\n"
			   "segment = compute 10 ms + send 1 MB needs back1\n"
			   "segment = two: send 50 MB needs start\n"
			   "segment = compute 1 ms needs send.1 ,\ttwo \n");
	const struct work_job *job = &s->workload.jobs[0];

	(void)state;
	assert_int_equal(job->n_segments, 5);
	assert_needs(job, pairs, 3);
	assert_near(job->segments[1].cap_bps, 10e9, 0);
	assert_true(job->segments[3].from_start);
	assert_false(job->segments[2].from_start);
	assert_true(work_job_overlaps(job));
	scenario_free(s);
}

static void
names_alone_change_nothing(void **state)
{
	struct scenario *s = parse(HEAD "segment = a: compute 10 ms needs start\n"
					"segment = b: send 1 MB needs a\n"
					"segment = compute 1 ms\n");

	(void)state;
	assert_false(work_job_overlaps(&s->workload.jobs[0]));
	scenario_free(s);
}

static void
wrong_names_are_refused_with_their_line(void **state)
{
	(void)state;
	assert_refused(HEAD "segment = a: compute 1 ms\nsegment = send 1 MB needs b\n",
		       "s.ini:4: the job has no segment 'b'; a segment gets a name by "
		       "'segment = NAME: ...'");
	assert_refused(HEAD "segment = a: compute 1 ms\nsegment = a: send 1 MB\n",
		       "s.ini:4: there is a segment 'a' already, on line 3");
	assert_refused(HEAD "segment = compute 1 ms needs b\nsegment = b: send 1 MB\n",
		       "s.ini:3: segment 'b' comes later, on line 4; a segment can "
		       "need earlier ones only");
	assert_refused(HEAD "segment = a: compute 1 ms needs a\n",
		       "s.ini:3: segment 'a' needs itself");
	assert_refused(HEAD "segment = a: compute 1 ms\n"
			    "segment = send 1 MB needs a, a\n",
		       "s.ini:4: 'a' is here twice after 'needs'");
	assert_refused(HEAD "segment = start: compute 1 ms\n",
		       "s.ini:3: no segment can have the name 'start': it is the start "
		       "of the iteration");
	assert_refused(HEAD "segment = : compute 1 ms\n",
		       "s.ini:3: a segment's name has up to 63 letters, digits or "
		       "'._-'; '' has not");
	assert_refused(HEAD "segment = a/b: compute 1 ms\n",
		       "s.ini:3: a segment's name has up to 63 letters, digits or "
		       "'._-'; 'a/b' has not");
}

static void
wrong_lists_are_refused(void **state)
{
	static const char *const lists[] = { "", " ,a", " a,", " a,,a", " a a" };

	(void)state;
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		char text[128];

		snprintf(text, sizeof text,
			 HEAD "segment = a: compute 1 ms\n"
			      "segment = send 1 MB needs%s\n",
			 lists[i]);
		assert_refused(text, "s.ini:4: expected names of segments with commas "
				     "between them, or 'start', after 'needs'");
	}
	assert_refused(HEAD "segment = a: compute 1 ms\n"
			    "segment = send 1 MB needs a, start\n",
		       "s.ini:4: expected 'start' alone after 'needs': every segment "
		       "comes after it");
	/* What is left must be a segment. */
	assert_refused(HEAD "segment = a:\n",
		       "s.ini:3: expected 'compute TIME', 'send SIZE' or "
		       "'allreduce SIZE' at the end");
}

/* Each job of a section has its own needs. */
static void
copies_have_what_the_section_has(void **state)
{
	static const uint32_t pairs[][2] = { { 2, 0 } };
	struct scenario *s =
		parse(HEAD "count = 3\nsegment = a: compute 1 ms\n"
			   "segment = send 1 MB\nsegment = compute 1 ms needs a\n");

	(void)state;
	assert_int_equal(s->workload.n, 3);
	for (size_t j = 0; j < 3; j++)
		assert_needs(&s->workload.jobs[j], pairs, 1);
	scenario_free(s);
}

static void
the_engine_gets_what_segments_need(void **state)
{
	struct work_segment segments[4] = { [3] = { .from_start = true } };
	struct work_need needs[] = { { 1, 0 }, { 2, 0 }, { 2, 1 } };
	const struct work_job job = {
		.segments = segments, .n_segments = 4, .needs = needs, .n_needs = 3
	};
	struct engine_segment out[4] = { { 0 } };
	uint32_t *after = work_needs_fill(&job, out);

	(void)state;
	assert_int_equal(out[0].n_after, 0);
	assert_int_equal(out[1].n_after, 1);
	assert_int_equal(out[2].n_after, 2);
	assert_int_equal(out[2].after[0], 0);
	assert_int_equal(out[2].after[1], 1);
	assert_int_equal(out[3].n_after, 0);
	assert_true(out[3].from_start);
	free(after);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments_need_others_by_name),
		cmocka_unit_test(names_alone_change_nothing),
		cmocka_unit_test(wrong_names_are_refused_with_their_line),
		cmocka_unit_test(wrong_lists_are_refused),
		cmocka_unit_test(copies_have_what_the_section_has),
		cmocka_unit_test(the_engine_gets_what_segments_need),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
