/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "lib/base/rng.h"
#include "scheduler/core/paths/random_phase.h"
#include "scheduler/core/profile/profile.h"
#include "tests/unit/test.h"

#define MAX_PHASES 4

/* A profile in automatic storage. */
struct made {
	struct profile profile;
	struct profile_phase phases[MAX_PHASES];
};

static void
make_random(struct made *made, struct rng *rng)
{
	int64_t at_us = 0;

	*made = (struct made){ .profile = { .period_us = 1000 } };
	made->profile.phases = made->phases;
	made->profile.n_phases = 1 + rng_below(rng, MAX_PHASES);
	for (size_t i = 0; i < made->profile.n_phases; i++) {
		at_us += (int64_t)rng_below(rng, 100);
		made->phases[i].start_us = at_us;
		made->phases[i].duration_us = 1 + (int64_t)rng_below(rng, 140);
		made->phases[i].rate_bps = 1e9 * (double)(1 + rng_below(rng, 50));
		at_us += made->phases[i].duration_us;
	}
}

static double
rate_at(const struct profile *p, int64_t t_us)
{
	for (size_t i = 0; i < p->n_phases; i++)
		if (t_us >= p->phases[i].start_us &&
		    t_us < p->phases[i].start_us + p->phases[i].duration_us)
			return p->phases[i].rate_bps;
	return 0;
}

/* Mean of max(0, sum - C) over all phases of two profiles, by brute force. */
static double
brute_pair(const struct profile *a, const struct profile *b, double c_bps)
{
	double sum = 0;

	for (int64_t t = 0; t < a->period_us; t++)
		for (int64_t u = 0; u < b->period_us; u++)
			sum += fmax(0, rate_at(a, t) + rate_at(b, u) - c_bps);
	return sum / ((double)a->period_us * (double)b->period_us);
}

static void
pairs_agree_with_brute_force_over_all_phases(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (int i = 0; i < 20; i++) {
		struct made a, b;
		struct random_phase chance;
		double want_bps, c_bps = 1e9 * (double)(20 + rng_below(&rng, 60));

		make_random(&a, &rng);
		make_random(&b, &rng);
		want_bps = brute_pair(&a.profile, &b.profile, c_bps);
		random_phase_init(&chance, c_bps);
		random_phase_add(&chance, &a.profile, 1);
		assert_near(random_phase_excess_with_bps(&chance, &b.profile, 1),
			    want_bps, 1e-9 * c_bps);
		random_phase_add(&chance, &b.profile, 1);
		assert_near(random_phase_excess_bps(&chance), want_bps, 1e-9 * c_bps);
		random_phase_fini(&chance);
	}
}

/* Twenty jobs with up to four levels have far more sums than there are bins. */
static void
many_jobs_agree_with_random_phases(void **state)
{
	enum {
		N = 20,
		DRAWS = 400000
	};
	struct made jobs[N];
	struct random_phase chance;
	struct rng rng;
	double sum_bps = 0, c_bps = 150e9;

	(void)state;
	rng_init(&rng, 7);
	random_phase_init(&chance, c_bps);
	for (int j = 0; j < N; j++) {
		make_random(&jobs[j], &rng);
		random_phase_add(&chance, &jobs[j].profile, 1);
	}
	for (int i = 0; i < DRAWS; i++) {
		double total_bps = 0;

		for (int j = 0; j < N; j++)
			total_bps += rate_at(&jobs[j].profile,
					     (int64_t)rng_below(&rng, 1000));
		sum_bps += fmax(0, total_bps - c_bps);
	}
	assert_near(random_phase_excess_bps(&chance) / c_bps, sum_bps / DRAWS / c_bps,
		    0.003);
	random_phase_fini(&chance);
}

static void
excess_does_not_depend_on_the_order_of_jobs(void **state)
{
	struct made jobs[6];
	struct random_phase forth, back;
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	random_phase_init(&forth, 60e9);
	random_phase_init(&back, 60e9);
	for (int j = 0; j < 6; j++)
		make_random(&jobs[j], &rng);
	for (int j = 0; j < 6; j++) {
		random_phase_add(&forth, &jobs[j].profile, 1);
		random_phase_add(&back, &jobs[5 - j].profile, 1);
	}
	assert_near(random_phase_excess_bps(&forth) / 60e9,
		    random_phase_excess_bps(&back) / 60e9, 2e-3);
	random_phase_fini(&forth);
	random_phase_fini(&back);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_agree_with_brute_force_over_all_phases),
		cmocka_unit_test(many_jobs_agree_with_random_phases),
		cmocka_unit_test(excess_does_not_depend_on_the_order_of_jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
