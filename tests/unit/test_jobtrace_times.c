/* SPDX-License-Identifier: Apache-2.0 */
/* test_jobtrace_times.c - times that a trace may have, and malformed ones */
#include <string.h>

#include "sim/trace/columns.h"
#include "sim/trace/jobtrace.h"
#include "tests/unit/jobtraces.h"
#include "tests/unit/memory_file.h"
#include "tests/unit/test.h"

/* The text being read. */
static struct memory_file file;

/* The second row of three is malformed for this reason. */
static void
expect_fault(const char *text, const char *says)
{
	struct jobtrace *trace = jobtraces_open(&file, text, strlen(text));

	assert_string_equal(jobtraces_next(trace)->id, "a");
	assert_string_equal(jobtraces_next(trace)->id, "c");
	assert_null(jobtraces_next(trace));
	assert_int_equal(jobtrace_counts(trace).malformed, 1);
	if (!strstr(jobtrace_fault(trace, 0), says))
		fail_msg("%s", jobtrace_fault(trace, 0));
	jobtrace_close(trace);
}

static void
zones_have_hours(void **state)
{
	static const struct {
		const char *zone;
		double behind_s; /* NAN: no job. */
	} cases[] = {
		{ "", 0 },          { "Z", 0 },           { "+08:00", 28800 },
		{ "+08", 28800 },   { "-03:30", -12600 }, { "+", NAN },
		{ "-", NAN },       { "+ 3", NAN },       { "+-3", NAN },
		{ "+:30", NAN },    { "+15", NAN },       { "+08:60", NAN },
		{ "+08:00x", NAN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[64];
		double at_s;

		snprintf(text, sizeof text, "2020-02-29 00:00:00%s", cases[i].zone);
		if (columns_time(text, &at_s) == isnan(cases[i].behind_s))
			fail_msg("%s", text);
		if (!isnan(cases[i].behind_s))
			assert_near(at_s, 1582934400 - cases[i].behind_s, 0);
	}
}

/* Otherwise the written value could not be read again. */
static void
durations_that_are_counted_are_not_longer_than_those_that_are_told(void **state)
{
	(void)state;
	expect_fault("job_id,submit_s,num_gpus,start_s,end_s\n"
		     "a,0,1,0,1e12\nb,0,1,-1e12,1e12\nc,0,1,-5e11,5e11\n",
		     ":3: its duration is too large");
#define JOB(id, attempts) \
	"{\"jobid\":\"" id "\",\"submitted_time\":\"0\",\"attempts\":[" attempts "]}\n"
#define ATTEMPT                                                \
	"{\"start_time\":\"0\",\"end_time\":\"600000000000\"," \
	"\"detail\":[{\"gpus\":[\"g\"]}]}"
	expect_fault(JOB("a", ATTEMPT) JOB("b", ATTEMPT "," ATTEMPT) JOB("c", ATTEMPT),
		     ":2: its attempts take too long");
#undef ATTEMPT
#undef JOB
}

static void
no_stage_takes_less_than_no_time(void **state)
{
	(void)state;
	expect_fault("job_id,submit_s,num_gpus,duration_s,load_s,gpu_s,network_s\n"
		     "a,0,1,5,0,1,2\nb,0,1,5,1,1,-2\nc,0,1,5,,,\n",
		     ":3: a negative stage time");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zones_have_hours),
		cmocka_unit_test(
			durations_that_are_counted_are_not_longer_than_those_that_are_told),
		cmocka_unit_test(no_stage_takes_less_than_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
