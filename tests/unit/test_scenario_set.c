/* SPDX-License-Identifier: Apache-2.0 */
/* test_scenario_set.c - options that override the values of a scenario file */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/vec.h"
#include "scheduler/core/workload/workload_ini.h"
#include "tests/unit/test.h"

#define A_JOB    "[job a]\nnodes = 2\nsegment = send 1 MB\njitter = 1 %\n"
#define B_JOB    "[job b.2]\nnodes = 3\nsegment = send 2 MB\n"
#define MAX_SETS 4

static int
read_none(void *ctx, const char *path, size_t max_bytes, char **ret_text,
	  size_t *ret_length, struct err *err)
{
	(void)ctx;
	(void)max_bytes;
	(void)ret_text;
	(void)ret_length;
	return err_set_errno(err, path, ENOENT, "open");
}

static const struct scenario_io io = { NULL, read_none };

static int
read_with(const char *text, const char *const *sets, struct scenario **ret_scenario,
	  struct err *err)
{
	size_t n = 0;

	while (n < MAX_SETS && sets[n])
		n++;
	return scenario_parse_set("dir/s.ini", text, strlen(text), &io, sets, n,
				  ret_scenario, err);
}

static struct scenario *
with(const char *text, const char *const *sets)
{
	struct scenario *scenario = NULL;
	struct err err = { 0 };

	if (read_with(text, sets, &scenario, &err) < 0)
		fail_msg("%u: %s", err.line, err.text);
	return scenario;
}

static void
a_setting_goes_before_the_file(void **state)
{
	static const char *const sets[MAX_SETS] = { "sim.seed=7", "job.a.jitter=4 %",
						    "job.b.2.nodes=5" };
	struct scenario *s =
		with("[sim]\nseed = 3\niterations = 20\n" A_JOB B_JOB, sets);

	(void)state;
	assert_int_equal(s->sim.seed, 7);
	assert_int_equal(s->sim.iterations, 20);
	assert_near(s->workload.jobs[0].jitter_frac, 0.04, 1e-15);
	assert_near(s->workload.jobs[1].jitter_frac, 0, 0);
	assert_int_equal(s->workload.jobs[1].n_hosts_wanted, 5);
	scenario_free(s);
}

static void
what_the_file_has_not_is_added(void **state)
{
	static const char *const sets[MAX_SETS] = { "sim.phases=random",
						    "fabric.file=f.json",
						    "jobs.weight=2.5" };
	struct scenario *s = with(A_JOB "[sim]\nseed = 3\n" B_JOB, sets);

	(void)state;
	assert_int_equal(s->sim.phases, SCENARIO_PHASES_RANDOM);
	assert_string_equal(s->fabric.file, "dir/f.json");
	assert_near(s->workload.jobs[0].weight, 2.5, 0);
	assert_near(s->workload.jobs[1].weight, 2.5, 0);
	scenario_free(s);
}

static void
the_last_of_several_counts(void **state)
{
	static const char *const sets[MAX_SETS] = { "jobs.jitter=2%", "job.a.jitter=3%",
						    "fabric.spines=1",
						    "fabric.spines=2" };
	struct scenario *s =
		with("[fabric]\ngenerate = leaf-spine --leaves 2\n" A_JOB B_JOB, sets);

	(void)state;
	assert_near(s->workload.jobs[0].jitter_frac, 0.03, 1e-15);
	assert_near(s->workload.jobs[1].jitter_frac, 0.02, 1e-15);
	assert_string_equal(s->fabric.generate, "leaf-spine --leaves 2 --spines 2");
	scenario_free(s);
}

static void
an_option_of_the_generator_takes_the_place_of_its_own(void **state)
{
	static const struct {
		const char *generate, *set, *want;
	} cases[] = {
		{ "leaf-spine --leaves 2 --oversubscription 1 --slots 8",
		  "fabric.oversubscription=4",
		  "leaf-spine --leaves 2 --slots 8 --oversubscription 4" },
		{ "leaf-spine --leaves=2 --slots=8", "fabric.leaves=3",
		  "leaf-spine --slots=8 --leaves 3" },
		/* Not an option with the same prefix. */
		{ "rail --rails 4 --rail 1", "fabric.rail=2",
		  "rail --rails 4 --rail 2" },
		{ "fat-tree --k", "fabric.k=4", "fat-tree --k 4" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *const sets[MAX_SETS] = { cases[i].set };
		struct scenario *s;
		char text[256];

		snprintf(text, sizeof text, "[fabric]\ngenerate = %s\n%s",
			 cases[i].generate, A_JOB);
		s = with(text, sets);
		assert_string_equal(s->fabric.generate, cases[i].want);
		scenario_free(s);
	}
}

static void
another_fabric_takes_the_place_of_the_files(void **state)
{
	static const char *const file[MAX_SETS] = { "fabric.file=g.json" };
	static const char *const generate[MAX_SETS] = { "fabric.generate=rail --k 1" };
	struct scenario *s =
		with("[fabric]\ngenerate = x\necmp_seed = 2\n" A_JOB, file);

	(void)state;
	assert_string_equal(s->fabric.file, "dir/g.json");
	assert_null(s->fabric.generate);
	assert_int_equal(s->fabric.ecmp_seed, 2);
	scenario_free(s);
	s = with("[fabric]\nfile = f.json\n" A_JOB, generate);
	assert_string_equal(s->fabric.generate, "rail --k 1");
	assert_null(s->fabric.file);
	scenario_free(s);
}

static void
what_does_not_apply_is_refused(void **state)
{
	static const struct {
		const char *set, *says;
		unsigned line;
	} cases[] = {
		{ "seed=1", "expected SECTION.KEY=VALUE", 0 },
		{ "sim.seed", "expected SECTION.KEY=VALUE", 0 },
		{ "sim.=1", "expected SECTION.KEY=VALUE", 0 },
		{ "job.=1", "expected SECTION.KEY=VALUE", 0 },
		{ "house.key=1", "expected SECTION.KEY=VALUE", 0 },
		{ "job.c.jitter=1%", "there is no such job or event; as '--set job.c.",
		  0 },
		{ "sim.sede=1", "there is no key 'sede'; as '--set sim.sede=1' says",
		  0 },
		{ "jobs.segment=send 1 MB", "and cannot be set", 5 },
		{ "sim.seed=many", "expected a whole number", 2 },
		{ "sim.mtu=1", "expected a size", 0 },
		{ "fabric.spines=2", "there is no key 'spines'", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *const sets[MAX_SETS] = { cases[i].set };
		struct scenario *s = NULL;
		struct err err = { 0 };

		assert_int_equal(read_with("[sim]\nseed = 3\n" A_JOB, sets, &s, &err),
				 -EINVAL);
		if (!strstr(err.text, cases[i].says) || err.line != cases[i].line)
			fail_msg("%s: %u: %s", cases[i].set, err.line, err.text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_setting_goes_before_the_file),
		cmocka_unit_test(what_the_file_has_not_is_added),
		cmocka_unit_test(the_last_of_several_counts),
		cmocka_unit_test(an_option_of_the_generator_takes_the_place_of_its_own),
		cmocka_unit_test(another_fabric_takes_the_place_of_the_files),
		cmocka_unit_test(what_does_not_apply_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
