/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_themis.c - finish-time fairness as in Muri's simulator, on its traces
 *
 * That simulator takes its shares from an interior-point solver, ECOS.  For one trace
 * its result with the optimum by bisection is known, and matched to every digit; the
 * published numbers depend on ECOS.
 */
#include <math.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "sim/replay/replay.h"
#include "tests/unit/test.h"

#define ARCHIVE SHARED_DATA "/traces/muri/muri_traces.tar.xz"
#define TRACE   ARCHIVE ":simulator/trace-data/trace"

static double
mean_s(const char *trace, const char *policy)
{
	struct replay_opts opts = {
		.semantics = REPLAY_MURI,
		.policy = { .seed = 1, .round_s = NAN, .restart_s = NAN },
		.until_s = INFINITY
	};
	struct replay_cluster cluster;
	struct replay replay;
	struct joblist list;
	struct err err = { 0 };
	double mean;

	assert_int_equal(replay_cluster_parse("8x8", &cluster, &err), 0);
	opts.cluster = cluster.cluster;
	assert_int_equal(joblist_load(trace, JOBTRACE_MURI, NULL, &list, &err), 0);
	assert_int_equal(replay_run(&list, policy_find(policy), &opts, &replay, &err),
			 0);
	assert_int_equal(replay.n_done, list.n);
	mean = replay.mean_s;
	print_message("%s: %s %.2f s\n", trace, policy, mean);
	replay_fini(&replay);
	joblist_fini(&list);
	replay_cluster_fini(&cluster);
	return mean;
}

static void
by_bisection_as_its_simulator_with_bisection(void **state)
{
	(void)state;
	if (access(ARCHIVE, R_OK) != 0)
		skip();
	assert_near(mean_s(TRACE "3.csv", "themis-lp"), 402541.46, 0.005);
}

/* As published; where all of trace 3 arrives at once, only with ECOS's shares. */
static void
policies_are_in_the_published_order(void **state)
{
	double themis_s;

	(void)state;
	if (access(ARCHIVE, R_OK) != 0)
		skip();
	themis_s = mean_s(TRACE "1.csv", "themis-lp");
	assert_true(mean_s(TRACE "1.csv", "srsf") < mean_s(TRACE "1.csv", "srtf"));
	assert_true(mean_s(TRACE "1.csv", "srtf") < themis_s);
	assert_true(themis_s < mean_s(TRACE "1.csv", "2d-las"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_bisection_as_its_simulator_with_bisection),
		cmocka_unit_test(policies_are_in_the_published_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
