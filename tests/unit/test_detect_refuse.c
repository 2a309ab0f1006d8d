/* SPDX-License-Identifier: Apache-2.0 */
/* test_detect_refuse.c - the detector must refuse traffic without iterations */
#include <errno.h>
#include <string.h>

#include "lib/base/err.h"
#include "scheduler/core/profile/detect.h"
#include "tests/unit/test.h"
#include "tests/unit/traffic.h"

#define N_BUCKETS 10000
#define N_SEEDS   10

enum kind {
	NOISE_EACH,  /* Uniform, independent per interface. */
	NOISE_SAME,  /* Uniform, all interfaces the same. */
	NOISE_HEAVY, /* Log-normal, the same. */
	CONSTANT,    /* Exactly. */
	CONSTANT_NOISY,
	PACKETS, /* Constant packets per second, which beat with the buckets. */
	ONE_BURST,
	TWO_BURSTS,
	THREE_BURSTS,
	RANDOM_BURSTS, /* Of 30 ms, with exponential gaps. */
	ON_OFF,        /* Both durations exponential. */
	RAMP,
	WALK, /* A random walk. */
	STARTS_AND_STOPS,
	N_KINDS,
};

static double
exponential(struct rng *rng, double mean)
{
	return -mean * log(1 - rng_uniform(rng));
}

static void
burst(float *x, double from, double length)
{
	for (double t = from; t < from + length && t < N_BUCKETS; t++)
		x[(size_t)t] = 1e5f;
}

static void
fill_bursts(enum kind kind, struct rng *rng, float *x)
{
	static const double lengths[] = { 70, 1500, 4000 };
	unsigned n = kind == ONE_BURST ? 1 : kind == TWO_BURSTS ? 2 : 3;
	double t = 0;

	switch (kind) {
	case ONE_BURST:
	case TWO_BURSTS:
	case THREE_BURSTS:
		for (unsigned i = 0; i < n; i++)
			burst(x, rng_uniform(rng) * 0.6 * N_BUCKETS,
			      n == 1 ? lengths[rng_below(rng, 3)] : 200);
		break;
	case RANDOM_BURSTS:
		for (; t < N_BUCKETS; t += exponential(rng, 300))
			burst(x, t, 30);
		break;
	default:
		while (t < N_BUCKETS) {
			double length = exponential(rng, 100);

			burst(x, t, length);
			t += length + exponential(rng, 200);
		}
	}
}

static void
fill_series(enum kind kind, struct rng *rng, float *x)
{
	double level = 5e4, gap = 0.3 + 1.5 * rng_uniform(rng);

	if (kind >= ONE_BURST && kind <= ON_OFF) {
		fill_bursts(kind, rng, x);
		return;
	}
	for (double t = 0; kind == PACKETS && t < N_BUCKETS; t += gap)
		x[(size_t)t] += 1514;
	for (size_t t = 0; kind != PACKETS && t < N_BUCKETS; t++) {
		double noise = rng_uniform(rng);

		level = fmax(level + 2000 * rng_normal(rng), 0);
		x[t] = (float)(kind == NOISE_HEAVY      ? 1e4 * exp(2 * rng_normal(rng))
			       : kind == CONSTANT       ? 1e5
			       : kind == CONSTANT_NOISY ? 1e5 + 1e4 * noise
			       : kind == RAMP           ? 10.0 * (double)t + 1e3 * noise
			       : kind == WALK           ? level
			       : kind == STARTS_AND_STOPS
				       ? (t > 3000 && t < 7000 ? 1e5 + 1e4 * noise : 0)
				       : 1e5 * noise);
	}
}

static void
check_refused(enum kind kind, const char *name)
{
	for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
		struct detection found;
		struct series_set set;
		struct err err = { 0 };
		struct rng rng;

		rng_init_stream(&rng, seed, kind);
		series_init(&set, 4, N_BUCKETS);
		for (size_t s = 0; s < 4; s++) {
			set.ids[s] = (struct series_id){ (uint32_t)s / 2, s % 2 == 1 };
			if (s == 0 || kind == NOISE_EACH)
				fill_series(kind, &rng, series_row(&set, s));
			else
				memcpy(series_row(&set, s), series_row(&set, 0),
				       N_BUCKETS * sizeof(float));
		}
		if (detect_profile(&set, "x.csv", "7", &found, &err) != -ENODATA)
			fail_msg("%s, seed %llu: found a period of %lld us, confidence "
				 "%.2f, explained %.2f",
				 name, (unsigned long long)seed,
				 (long long)found.profile.period_us,
				 found.profile.confidence, found.explained);
		assert_string_equal(err.file, "x.csv");
		assert_non_null(strstr(err.text, "job '7': no profile: "));
		/* Also read where other options, or none, choose the traffic. */
		assert_null(strstr(err.text, "--"));
		series_fini(&set);
	}
}

static void
white_noise_is_refused(void **state)
{
	(void)state;
	check_refused(NOISE_EACH, "noise of each interface");
	check_refused(NOISE_SAME, "noise of all interfaces");
	check_refused(NOISE_HEAVY, "heavy-tailed noise");
}

static void
constant_rates_are_refused(void **state)
{
	(void)state;
	check_refused(CONSTANT, "constant");
	check_refused(CONSTANT_NOISY, "constant with noise");
	check_refused(PACKETS, "constant packets");
}

static void
single_bursts_are_refused(void **state)
{
	(void)state;
	check_refused(ONE_BURST, "one burst");
	check_refused(TWO_BURSTS, "two bursts");
	check_refused(THREE_BURSTS, "three bursts");
}

static void
random_bursts_are_refused(void **state)
{
	(void)state;
	check_refused(RANDOM_BURSTS, "random bursts");
	check_refused(ON_OFF, "random on and off");
}

static void
drifts_are_refused(void **state)
{
	(void)state;
	check_refused(RAMP, "ramp");
	check_refused(WALK, "random walk");
	check_refused(STARTS_AND_STOPS, "start and stop");
}

static void
too_little_is_refused(void **state)
{
	struct traffic_job job = { 400, 0, 0.4, 1, 2, 0, 20, 3 };
	struct traffic *traffic = xcalloc(1, sizeof *traffic);

	(void)state;
	traffic_init(traffic, &job);
	for (size_t n = 0; n < 1300; n += n < 100 ? 1 : 100) {
		struct detection found;
		struct series_set set;

		series_init(&set, 4, n);
		memcpy(set.ids, traffic->set.ids, 4 * sizeof *set.ids);
		for (size_t s = 0; s < 4; s++)
			memcpy(series_row(&set, s), series_row(&traffic->set, s),
			       n * sizeof(float));
		assert_int_equal(detect_profile(&set, NULL, "job", &found, NULL),
				 -ENODATA);
		series_fini(&set);
	}
	traffic_fini(traffic);
	free(traffic);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(white_noise_is_refused),
		cmocka_unit_test(constant_rates_are_refused),
		cmocka_unit_test(single_bursts_are_refused),
		cmocka_unit_test(random_bursts_are_refused),
		cmocka_unit_test(drifts_are_refused),
		cmocka_unit_test(too_little_is_refused),
	};

	return cmocka_run_group_tests_name("detect_refuse", tests, NULL, NULL);
}
