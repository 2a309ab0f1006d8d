/* SPDX-License-Identifier: Apache-2.0 */
/* steer_mix.h - random jobs on one link, to compare the control loop with no control */
#ifndef TESTS_UNIT_STEER_MIX_H
#define TESTS_UNIT_STEER_MIX_H

#include "tests/unit/steer_lab.h"

enum mix_kind {
	MIX_UNLIKE, /* Unrelated periods. */
	MIX_RATIO,  /* Periods in small ratios. */
	MIX_NEAR,   /* Periods a few per cent apart. */
	MIX_CHANGE, /* Equal periods; one job computes 30 % longer for a minute. */
	MIX_N_KINDS,
};

static const char *const mix_names[] = { "unlike", "ratio", "near", "change" };

struct mix {
	struct steer_lab_job jobs[STEER_LAB_MAX_JOBS];
	struct steer_lab_opts opts;
	double free, steered; /* Mean slowdown over time and jobs. */
};

static inline double
mix_period_ms(enum mix_kind kind, struct rng *rng, double base_ms)
{
	static const double ratios[] = { 1, 1, 2, 2, 3, 1.5 };

	switch (kind) {
	case MIX_UNLIKE:
		return base_ms * pow(3, rng_uniform(rng));
	case MIX_RATIO:
		return base_ms * ratios[rng_below(rng, 6)];
	case MIX_NEAR:
		return base_ms * (1 + 0.1 * rng_uniform(rng));
	default:
		return base_ms;
	}
}

/* Draws 2 to 6 jobs that load the link to 40 to 95 %. */
static inline void
mix_make(enum mix_kind kind, uint64_t seed, struct mix *ret_mix)
{
	static const double latencies_ms[] = { 5, 20, 20, 50, 100 };
	double share[STEER_LAB_MAX_JOBS], sum = 0, base_ms, load;
	struct mix *m = ret_mix;
	struct rng rng;
	uint32_t n;

	*m = (struct mix){ .free = 0 };
	rng_init_stream(&rng, seed, 0x6d6978 + kind);
	n = 2 + (uint32_t)rng_below(&rng, 5);
	base_ms = 120 + 200 * rng_uniform(&rng);
	load = 0.4 + 0.55 * rng_uniform(&rng);
	for (uint32_t j = 0; j < n; j++)
		sum += share[j] = 0.5 + rng_uniform(&rng);
	for (uint32_t j = 0; j < n; j++) {
		double period_ms = mix_period_ms(kind, &rng, base_ms);
		double duty = fmin(load * share[j] / sum, 0.45);

		m->jobs[j] = (struct steer_lab_job){
			.compute_ms = period_ms * (1 - duty),
			.comm_ms = period_ms * duty,
		};
	}
	if (kind == MIX_CHANGE) {
		m->jobs[0].more_ms = 0.3 * m->jobs[0].compute_ms;
		m->jobs[0].more_from_s = 30;
		m->jobs[0].more_until_s = 90;
	}
	m->opts = (struct steer_lab_opts){
		.n_jobs = n,
		.mode = STEER_GATE,
		.jitter_frac = 0.005 * pow(16, rng_uniform(&rng)),
		.seconds = 120,
		.seed = seed,
		.steered = { .seed = seed },
	};
	m->opts.steered.latency_ns = (int64_t)(latencies_ms[rng_below(&rng, 5)] * MS);
	if (rng_below(&rng, 4) == 0) {
		m->opts.steered.lost_order_frac = 0.1;
		m->opts.steered.lost_report_frac = 0.05;
	}
}

/* Mean slowdown from the first iteration on, including all learning. */
static inline double
mix_slowdown(const struct mix *m, bool is_steered)
{
	struct steer_lab_opts opts = m->opts;
	struct steer_lab l;
	double mean;

	opts.jobs = m->jobs;
	opts.is_steered = is_steered;
	steer_lab_run(&l, &opts);
	mean = steer_lab_mean_slowdown(&l, 2, opts.seconds);
	steer_lab_close(&l);
	return mean;
}

static inline void
mix_play(struct mix *m)
{
	m->free = mix_slowdown(m, false);
	m->steered = mix_slowdown(m, true);
}

#endif
