/* SPDX-License-Identifier: Apache-2.0 */
/* test_path_inference.c - paths inferred from counters are right, or not known */
#include "scheduler/core/paths/path_inference.h"
#include "tests/unit/inference_lab.h"
#include "tests/unit/test.h"

/* ---- Simulated jobs ----------------------------------------------------------------- */

#define N_SEEDS 3

struct expectation {
	struct inference_view view;
	double least_known; /* Of all flows with a choice. */
};

/* Other traffic, gaps, other bytes, and jobs that do not report: in all but the first. */
#define FAULTS .gain = 1.01, .background = 0.01, .hidden_frac = 0.1, .gap_frac = 0.01

static const struct expectation expectations[] = {
	{ { .bin_ms = 1000, .n_bins = 120, .n_parts = 20, .gain = 1 }, 0.8 },
	{ { .bin_ms = 100, .n_bins = 100, .n_parts = 10, .clock_frac = 0.5, FAULTS },
	  0.8 },
	/* Read each second, by clocks half a second and a second off. */
	{ { .bin_ms = 1000,
	    .n_bins = 120,
	    .n_parts = 20,
	    .read_ms = 1000,
	    .clock_frac = 0.5,
	    FAULTS },
	  0.7 },
	{ { .bin_ms = 1000,
	    .n_bins = 120,
	    .n_parts = 20,
	    .read_ms = 1000,
	    .clock_frac = 1,
	    .sampling = 1000,
	    FAULTS },
	  0.6 },
	/* Bins that are finer than the counters: few answers, or none. */
	{ { .bin_ms = 100,
	    .n_bins = 300,
	    .n_parts = 10,
	    .read_ms = 1000,
	    .clock_frac = 0.5,
	    FAULTS },
	  0 },
	/* Half of all bins are missing. */
	{ { .bin_ms = 100, .n_bins = 300, .n_parts = 10, .gain = 1, .gap_frac = 0.5 },
	  0.8 },
};

static void
less_than_one_answer_in_100_is_wrong(void **state)
{
	enum {
		N = sizeof expectations / sizeof *expectations
	};
	struct inference_score scores[N] = { 0 };

	(void)state;
	for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
		const struct inference_lab_opts opts = { .n_leaves = 16,
							 .hosts_per_leaf = 8,
							 .n_spines = 8,
							 .n_jobs = 14,
							 .duration_s = 125,
							 .seed = 100 + seed };
		struct inference_lab lab;

		inference_lab_init(&lab, &opts);
		for (size_t i = 0; i < N; i++) {
			struct inference_view view = expectations[i].view;

			view.seed = seed;
			inference_lab_see(&lab, &view);
			inference_lab_score(&lab, &scores[i]);
		}
		inference_lab_fini(&lab);
	}
	for (size_t i = 0; i < N; i++) {
		assert_true(scores[i].n > 150);
		assert_true(100 * scores[i].n_wrong <= scores[i].n_known);
		if ((double)scores[i].n_known <
		    expectations[i].least_known * (double)scores[i].n)
			fail_msg("row %zu: %zu of %zu flows have an answer", i,
				 scores[i].n_known, scores[i].n);
	}
}

/* ---- By hand ------------------------------------------------------------------------ */

#define N_BINS  200
#define N_LINKS 4
#define N_FLOWS 3

/* Flows from one leaf to another over two spines: path p has links p and 2 + p. */
struct pair {
	float flows[N_FLOWS][N_BINS];
	float links[N_LINKS][N_BINS];
	bool is_counted[N_LINKS];
	uint32_t n_flows, n_bins;
	struct path_inference_answer answers[N_FLOWS];
};

/* Bursts of 40 to 100 bytes, in about half of all bins. */
static void
pair_init(struct pair *pair, uint32_t n_flows)
{
	struct rng rng;

	*pair = (struct pair){ .n_flows = n_flows, .n_bins = N_BINS };
	rng_init(&rng, 7);
	for (uint32_t f = 0; f < n_flows; f++)
		for (size_t t = 0; t < N_BINS; t++)
			pair->flows[f][t] =
				rng_below(&rng, 2)
					? (float)(40 + rng_below(&rng, 60)) * 1e4f
					: 0;
	for (size_t l = 0; l < N_LINKS; l++)
		pair->is_counted[l] = true;
}

static void
pair_put(struct pair *pair, uint32_t flow, uint32_t path, float share)
{
	for (size_t t = 0; t < N_BINS; t++) {
		pair->links[path][t] += share * pair->flows[flow][t];
		pair->links[2 + path][t] += share * pair->flows[flow][t];
	}
}

static void
pair_infer(struct pair *pair)
{
	static const uint32_t ends[] = { 2, 4 }, path_links[] = { 0, 2, 1, 3 };
	struct path_inference_flow flows[N_FLOWS];
	struct path_inference_link links[N_LINKS];

	for (uint32_t f = 0; f < pair->n_flows; f++)
		flows[f] = (struct path_inference_flow){ pair->flows[f], 2, ends,
							 path_links };
	for (uint32_t l = 0; l < N_LINKS; l++)
		links[l] = (struct path_inference_link){
			pair->is_counted[l] ? pair->links[l] : NULL, l / 2
		};
	path_inference_run(
		&(const struct path_inference_problem){ pair->n_bins, 1, pair->n_flows,
							N_LINKS, flows, links },
		pair->answers);
}

static void
assert_known(const struct pair *pair, uint32_t flow, uint32_t path)
{
	assert_int_equal(pair->answers[flow].reason, PATH_INFERENCE_KNOWN);
	assert_int_equal(pair->answers[flow].path, path);
	assert_true(pair->answers[flow].margin >= PATH_INFERENCE_MARGIN);
}

static void
flows_that_vary_by_themselves_are_found(void **state)
{
	struct pair pair;

	(void)state;
	for (uint32_t paths = 0; paths < 8; paths++) {
		pair_init(&pair, 3);
		for (uint32_t f = 0; f < 3; f++)
			pair_put(&pair, f, paths >> f & 1, 1);
		pair_infer(&pair);
		for (uint32_t f = 0; f < 3; f++)
			assert_known(&pair, f, paths >> f & 1);
	}
}

static void
proportional_flows_are_not_told_apart(void **state)
{
	/* By as much, too, as counts of bytes differ. */
	static const float factors[] = { 1, 1.02f, 0.9f };
	struct pair pair;

	(void)state;
	for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
		pair_init(&pair, 3);
		for (size_t t = 0; t < N_BINS; t++)
			pair.flows[1][t] = factors[i] * pair.flows[0][t];
		pair_put(&pair, 0, 0, 1);
		pair_put(&pair, 1, 1, 1);
		pair_put(&pair, 2, 1, 1);
		pair_infer(&pair);
		assert_int_equal(pair.answers[0].reason, PATH_INFERENCE_UNCLEAR);
		assert_int_equal(pair.answers[1].reason, PATH_INFERENCE_UNCLEAR);
		assert_known(&pair, 2, 1);
	}
	/* On one link they need not be told apart. */
	pair_init(&pair, 2);
	memcpy(pair.flows[1], pair.flows[0], sizeof pair.flows[0]);
	pair_put(&pair, 0, 0, 1);
	pair_put(&pair, 1, 0, 1);
	pair_infer(&pair);
	assert_known(&pair, 0, 0);
	assert_known(&pair, 1, 0);
}

static void
constant_traffic_says_nothing(void **state)
{
	struct pair pair;

	(void)state;
	pair_init(&pair, 2);
	for (size_t t = 0; t < N_BINS; t++)
		pair.flows[0][t] = 5e5f;
	pair_put(&pair, 0, 0, 1);
	pair_put(&pair, 1, 0, 1);
	pair_infer(&pair);
	assert_int_equal(pair.answers[0].reason, PATH_INFERENCE_NO_TRAFFIC);
	assert_known(&pair, 1, 0);
}

static void
an_unknown_series_is_not_guessed(void **state)
{
	struct pair pair;

	(void)state;
	pair_init(&pair, 2);
	pair_put(&pair, 0, 0, 1);
	pair_put(&pair, 1, 0, 1);
	for (size_t t = 0; t < N_BINS * 3 / 4; t++)
		pair.flows[0][t] = PATH_INFERENCE_GAP;
	pair_infer(&pair);
	assert_int_equal(pair.answers[0].reason, PATH_INFERENCE_NO_TRAFFIC);
	/* What the other one sends is other traffic for this one. */
	assert_true(pair.answers[1].reason != PATH_INFERENCE_KNOWN ||
		    pair.answers[1].path == 0);
}

static void
without_counters_nothing_is_known(void **state)
{
	struct pair pair;

	(void)state;
	pair_init(&pair, 1);
	pair_put(&pair, 0, 0, 1);
	memset(pair.is_counted, 0, sizeof pair.is_counted);
	pair_infer(&pair);
	assert_int_equal(pair.answers[0].reason, PATH_INFERENCE_NO_COUNTERS);
	/* One switch, or one link of it, is enough. */
	pair.is_counted[0] = pair.is_counted[1] = true;
	pair_infer(&pair);
	assert_known(&pair, 0, 0);
	pair.is_counted[0] = false;
	pair_infer(&pair);
	assert_known(&pair, 0, 0);
}

static void
short_and_missing_counters_are_not_enough(void **state)
{
	struct pair pair;

	(void)state;
	pair_init(&pair, 1);
	pair_put(&pair, 0, 1, 1);
	pair.n_bins = PATH_INFERENCE_MIN_BINS;
	pair_infer(&pair);
	assert_int_equal(pair.answers[0].reason, PATH_INFERENCE_NO_COUNTERS);
	pair.n_bins = 0;
	pair_infer(&pair);
	assert_int_not_equal(pair.answers[0].reason, PATH_INFERENCE_KNOWN);
	pair.n_bins = N_BINS;
	for (size_t l = 0; l < N_LINKS; l++)
		for (size_t t = 20; t < N_BINS; t++)
			pair.links[l][t] = PATH_INFERENCE_GAP;
	pair_infer(&pair);
	assert_int_equal(pair.answers[0].reason, PATH_INFERENCE_NO_COUNTERS);
}

static void
a_counter_that_jumps_gives_no_wrong_answer(void **state)
{
	struct pair pair;

	(void)state;
	for (size_t l = 0; l < N_LINKS; l++) {
		for (size_t t = 3; t < N_BINS; t += 17) {
			pair_init(&pair, 2);
			pair_put(&pair, 0, 0, 1);
			pair_put(&pair, 1, 1, 1);
			pair.links[l][t] = 1e15f;
			pair_infer(&pair);
			for (uint32_t f = 0; f < 2; f++)
				assert_true(pair.answers[f].reason !=
						    PATH_INFERENCE_KNOWN ||
					    pair.answers[f].path == f);
		}
	}
}

static void
a_split_flow_fits_no_single_path(void **state)
{
	struct pair pair;

	(void)state;
	pair_init(&pair, 2);
	pair_put(&pair, 0, 0, 0.5f);
	pair_put(&pair, 0, 1, 0.5f);
	pair_put(&pair, 1, 0, 1);
	pair_infer(&pair);
	assert_int_not_equal(pair.answers[0].reason, PATH_INFERENCE_KNOWN);
	assert_true(pair.answers[1].reason != PATH_INFERENCE_KNOWN ||
		    pair.answers[1].path == 0);
	/* A flow that is elsewhere. */
	pair_init(&pair, 1);
	pair_infer(&pair);
	assert_int_not_equal(pair.answers[0].reason, PATH_INFERENCE_KNOWN);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(less_than_one_answer_in_100_is_wrong),
		cmocka_unit_test(flows_that_vary_by_themselves_are_found),
		cmocka_unit_test(proportional_flows_are_not_told_apart),
		cmocka_unit_test(constant_traffic_says_nothing),
		cmocka_unit_test(an_unknown_series_is_not_guessed),
		cmocka_unit_test(without_counters_nothing_is_known),
		cmocka_unit_test(short_and_missing_counters_are_not_enough),
		cmocka_unit_test(a_counter_that_jumps_gives_no_wrong_answer),
		cmocka_unit_test(a_split_flow_fits_no_single_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
