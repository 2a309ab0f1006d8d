/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile_json.c - profile files: round trip, optional parts, refusals */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "scheduler/core/profile/profile_json.h"
#include "tests/unit/test.h"

#define HEAD         "{\"schema\": \"antiphase.profiles/1\", \"profiles\": ["
#define TAIL         "]}"
#define JOB(fields)  HEAD "{\"job\": \"a\", \"period_us\": 1000" fields "}" TAIL
#define PHASES(list) JOB(", \"phases\": [" list "]")

static void
random_profile(struct rng *rng, unsigned number, struct profile *ret_profile)
{
	struct profile p = { .job = xasprintf("job \"%u\" \u00e9", number) };
	int64_t at = 0;

	p.period_us = 1 + (int64_t)rng_below(rng, PROFILE_MAX_PERIOD_US);
	p.period_error_us = (int64_t)rng_below(rng, 3);
	p.jitter_us = (int64_t)rng_below(rng, 1000000);
	p.n_iterations = (int64_t)rng_below(rng, 1000);
	p.confidence = rng_uniform(rng);
	p.phases = xcalloc(PROFILE_MAX_PHASES, sizeof *p.phases);
	while (p.n_phases < PROFILE_MAX_PHASES && at < p.period_us) {
		int64_t room = p.period_us - at;
		struct profile_phase *phase = &p.phases[p.n_phases++];

		phase->start_us = at;
		phase->duration_us = 1 + (int64_t)rng_below(rng, (uint64_t)room);
		phase->rate_bps = exp(30 * rng_uniform(rng));
		at += phase->duration_us + (int64_t)rng_below(rng, 1000);
	}
	assert_int_equal(profile_normalize(&p, NULL), 0);
	*ret_profile = p;
}

static void
check_same(const struct profile *a, const struct profile *b)
{
	assert_string_equal(a->job, b->job);
	assert_int_equal(a->period_us, b->period_us);
	assert_int_equal(a->period_error_us, b->period_error_us);
	assert_int_equal(a->jitter_us, b->jitter_us);
	assert_int_equal(a->n_iterations, b->n_iterations);
	assert_near(a->confidence, b->confidence, 0);
	assert_near(a->bytes_per_iteration, b->bytes_per_iteration, 0);
	assert_int_equal(a->n_phases, b->n_phases);
	for (size_t i = 0; i < a->n_phases; i++) {
		assert_int_equal(a->phases[i].start_us, b->phases[i].start_us);
		assert_int_equal(a->phases[i].duration_us, b->phases[i].duration_us);
		/* Gb/s in the file: one rounding each way. */
		assert_near(a->phases[i].rate_bps / b->phases[i].rate_bps, 1, 1e-15);
	}
}

static void
what_is_written_reads_back_the_same(void **state)
{
	struct profile_list list = { 0 }, back = { 0 };
	struct rng rng;
	struct err err;
	size_t length;
	char *text;

	(void)state;
	rng_init(&rng, 1);
	for (unsigned i = 0; i < 100; i++) {
		struct profile p;

		random_profile(&rng, i, &p);
		profile_list_take(&list, &p);
		assert_null(p.job);
	}
	text = profile_json_text(&list, &length);
	assert_int_equal(strlen(text), length);
	if (profile_json_parse("x.json", text, length, &back, &err) < 0)
		fail_msg("%u: %s", err.line, err.text);
	assert_int_equal(back.n, list.n);
	for (size_t i = 0; i < list.n; i++)
		check_same(&list.items[i], &back.items[i]);
	assert_ptr_equal(profile_list_find(&back, list.items[7].job), &back.items[7]);
	assert_null(profile_list_find(&back, "nobody"));
	free(text);
	profile_list_fini(&list);
	profile_list_fini(&back);
}

static void
people_may_leave_out_what_only_a_capture_knows(void **state)
{
	const char *text =
		PHASES("{\"start_us\": 500, \"duration_us\": 100, \"gbps\": 8},"
		       "{\"start_us\": 0, \"duration_us\": 100, \"gbps\": 1.6}");
	struct profile_list list;

	(void)state;
	assert_int_equal(profile_json_parse("x", text, strlen(text), &list, NULL), 0);
	assert_int_equal(list.items[0].period_error_us, 0);
	assert_int_equal(list.items[0].jitter_us, 0);
	assert_int_equal(list.items[0].n_iterations, 0);
	assert_int_equal(list.items[0].phases[0].start_us, 0);
	assert_near(list.items[0].bytes_per_iteration, 100e3 + 20e3, 1e-6);
	profile_list_fini(&list);

	text = HEAD TAIL;
	assert_int_equal(profile_json_parse("x", text, strlen(text), &list, NULL), 0);
	assert_int_equal(list.n, 0);
	profile_list_fini(&list);
}

static void
check_error(const char *text, const char *message)
{
	struct profile_list list = { (void *)1, 1 };
	struct err err = { 0 };

	assert_int_equal(profile_json_parse("x.json", text, strlen(text), &list, &err),
			 -EINVAL);
	assert_int_equal(list.n, 1);
	assert_string_equal(err.file, "x.json");
	assert_int_equal(err.line, *text ? 1 : 0);
	if (!strstr(err.text, message))
		fail_msg("'%s' does not say '%s'", err.text, message);
}

static void
faulty_files_are_refused_with_a_reason(void **state)
{
	(void)state;
	check_error("", "is empty");
	check_error("[]", "object");
	check_error("{\"schema\": \"antiphase.compat/1\"}", "antiphase.profiles");
	check_error("{\"schema\": \"antiphase.profiles/2\", \"profiles\": []}",
		    "antiphase.profiles/1");
	check_error("{\"schema\": \"antiphase.profiles/1\"}", "profiles");
	check_error("{\"schema\": \"antiphase.profiles/1\", \"profile\": []}",
		    "did you mean 'profiles'");
	check_error(HEAD "7" TAIL, "object");
	check_error(HEAD "{}" TAIL, "job");
	check_error(JOB(""), "phases");
	check_error(JOB(", \"periodus\": 1"), "did you mean 'period_us'");
	check_error(JOB(", \"confidence\": 1.5, \"phases\": []"), "confidence");
	check_error(JOB(", \"bytes_per_iteration\": 5, \"phases\": []"),
		    "the phases carry 0");
	check_error(HEAD "{\"job\": \"\", \"period_us\": 1, \"phases\": []}" TAIL,
		    "1 to 255 bytes");
	check_error(HEAD "{\"job\": \"a\\n\", \"period_us\": 1, \"phases\": []}" TAIL,
		    "control");
	/* U+009B begins a sequence like ESC [. */
	check_error(HEAD
		    "{\"job\": \"a\\u009b\", \"period_us\": 1, \"phases\": []}" TAIL,
		    "control");
	check_error(HEAD "{\"job\": \"a\", \"period_us\": 0, \"phases\": []}" TAIL,
		    "period_us");
	check_error(HEAD "{\"job\": \"a\", \"period_us\": 1, \"phases\": []},"
			 "{\"job\": \"a\", \"period_us\": 1, \"phases\": []}" TAIL,
		    "second profile of job 'a'");
}

static void
faulty_phases_are_refused_with_a_reason(void **state)
{
	(void)state;
	check_error(PHASES("{\"start_us\": 0, \"duraton_us\": 1, \"gbps\": 1}"),
		    "did you mean 'duration_us'");
	check_error(PHASES("{\"start_us\": 1000, \"duration_us\": 1, \"gbps\": 1}"),
		    "start_us");
	check_error(PHASES("{\"start_us\": 999, \"duration_us\": 2, \"gbps\": 1}"),
		    "ends after the period of 1000 us");
	check_error(PHASES("{\"start_us\": 0, \"duration_us\": 1, \"gbps\": 0}"),
		    "above 0");
	check_error(PHASES("{\"start_us\": 0, \"duration_us\": 1, \"gbps\": 1e7}"),
		    "gbps");
	check_error(PHASES("{\"start_us\": 0, \"duration_us\": 5, \"gbps\": 1},"
			   "{\"start_us\": 4, \"duration_us\": 5, \"gbps\": 1}"),
		    "overlap");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_reads_back_the_same),
		cmocka_unit_test(people_may_leave_out_what_only_a_capture_knows),
		cmocka_unit_test(faulty_files_are_refused_with_a_reason),
		cmocka_unit_test(faulty_phases_are_refused_with_a_reason),
	};

	return cmocka_run_group_tests_name("profile_json", tests, NULL, NULL);
}
