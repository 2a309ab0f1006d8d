/* SPDX-License-Identifier: Apache-2.0 */
/* test_advise_random.c - properties of advice on random workloads */
#include <stdio.h>
#include <string.h>

#include "lib/base/rng.h"
#include "scheduler/core/advise/advice_doc.h"
#include "scheduler/core/advise/advise.h"
#include "tests/unit/jobs_fixture.h"
#include "tests/unit/test.h"

static void
random_workload(struct fixture *f, struct rng *rng, const char *prefix)
{
	uint32_t n_leaves = 3 + (uint32_t)rng_below(rng, 3), at = 0, order[32];
	uint32_t n_hosts = n_leaves * 4;
	static const int64_t periods_us[] = { 50000, 75000, 100000, 100000, 91003 };

	fixture_init(f, n_leaves, 4, 1 + (uint32_t)rng_below(rng, 2), 50e9);
	for (uint32_t i = 0; i < n_hosts; i++)
		order[i] = i;
	for (uint32_t i = n_hosts - 1; i > 0; i--) {
		uint32_t k = (uint32_t)rng_below(rng, i + 1), swap = order[i];

		order[i] = order[k];
		order[k] = swap;
	}
	for (uint32_t j = 0; j < 5; j++) {
		uint32_t n = 2 + (uint32_t)rng_below(rng, 3);
		char name[16];
		struct work_job *job;

		if (at + n > n_hosts)
			break;
		snprintf(name, sizeof name, "%s%u", prefix, j);
		job = fixture_job(f, name, n, periods_us[rng_below(rng, 5)],
				  0.1 + 0.4 * rng_uniform(rng), 50e9);
		job->jitter_frac = 0.02 * (double)rng_below(rng, 2);
		job->weight = (double)(1 + rng_below(rng, 4));
		if (rng_below(rng, 3))
			fixture_on(job, order + at);
		at += n;
	}
}

static void
is_never_predicted_worse_than_fair_nor_beyond_the_cap(void **state)
{
	struct rng rng;
	size_t n_better = 0;

	(void)state;
	rng_init(&rng, 1);
	for (int round = 0; round < 200; round++) {
		struct fixture f;
		struct advise_opts opts = { .policy = ADVISE_ANTIPHASE,
					    .seed = (uint64_t)round,

					    .n_iterations = 8 };
		struct advice_set *set;

		random_workload(&f, &rng, "j");
		assert_int_equal(advise(&f.workload, f.topo, f.routes, &opts, &set), 0);
		assert_true(set->goodput_after >= set->goodput_before - 1e-12);
		n_better += set->goodput_after > set->goodput_before * 1.01;
		for (size_t j = 0; j < set->n; j++) {
			const struct advice *a = &set->items[j];

			assert_true(a->slowdown_after <=
				    fmax(1.5, a->slowdown_before * 1.0101));
			assert_true(a->shift_us >= 0 &&
				    a->shift_us < f.workload.jobs[j].profile.period_us);
			assert_true(a->gain_low <= a->gain_high);
			for (size_t i = 1; i < a->n_links; i++)
				assert_true(a->links[i - 1].score_before <=
					    a->links[i].score_before);
		}
		advice_set_free(set);
		fixture_fini(&f);
	}
	/* Most of these workloads can be improved. */
	assert_true(n_better > 100);
}

/* Placing jobs one by one is shortsighted; CASSINI's ten places may be luckier. */
static void
is_no_worse_than_cassini(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 7);
	for (int round = 0; round < 100; round++) {
		struct advise_opts opts = { .policy = ADVISE_CASSINI,
					    .n_iterations = 8 };
		struct advice_set *cassini, *ours;
		struct fixture f;

		random_workload(&f, &rng, "j");
		for (size_t j = 0; j < f.workload.n; j++)
			if (rng_below(&rng, 2)) {
				free(f.workload.jobs[j].hosts);
				f.workload.jobs[j].hosts = NULL;
			}
		assert_int_equal(advise(&f.workload, f.topo, f.routes, &opts, &cassini),
				 0);
		opts.policy = ADVISE_ANTIPHASE;
		assert_int_equal(advise(&f.workload, f.topo, f.routes, &opts, &ours),
				 0);
		if (!(ours->goodput_after >= 0.995 * cassini->goodput_after))
			fail_msg("round %d: %.4f, CASSINI %.4f", round,
				 ours->goodput_after, cassini->goodput_after);
		advice_set_free(cassini);
		advice_set_free(ours);
		fixture_fini(&f);
	}
}

/*
 * Sixteen racks with jobs all over them and a third waiting: one large component, in
 * which some job is always near the cap.  The cap must not keep all other jobs from
 * better places.
 */
static void
one_job_at_the_cap_does_not_veto_better_places(void **state)
{
	static const int64_t periods_us[] = { 100000, 100000, 200000, 150000 };
	struct advise_opts opts = { .policy = ADVISE_ANTIPHASE,
				    .n_iterations = 8,
				    .max_slowdown = 1.25 };
	struct advice_set *set;
	uint32_t order[64];
	struct fixture f;
	struct rng rng;

	(void)state;
	rng_init(&rng, 6);
	fixture_init(&f, 16, 4, 2, 50e9);
	for (uint32_t i = 0; i < 64; i++) {
		uint32_t k = (uint32_t)rng_below(&rng, i + 1);

		order[i] = order[k];
		order[k] = i;
	}
	for (uint32_t at = 0; at + 4 <= 60; at += 4) {
		struct work_job *job =
			fixture_job(&f, "j", 4, periods_us[rng_below(&rng, 4)],
				    0.15 + 0.3 * rng_uniform(&rng), 50e9);

		if (rng_below(&rng, 3))
			fixture_on(job, order + at);
	}
	assert_int_equal(advise(&f.workload, f.topo, f.routes, &opts, &set), 0);
	for (size_t j = 0; j < set->n; j++)
		assert_true(set->items[j].slowdown_after <=
			    fmax(1.25, set->items[j].slowdown_before * 1.0101));
	assert_true(set->goodput_after > 1.02 * set->goodput_before);
	advice_set_free(set);
	fixture_fini(&f);
}

/* The text of the advice on a random workload. */
static char *
random_text(uint64_t seed, const char *prefix, enum advise_policy policy)
{
	struct fixture f;
	struct rng rng;
	struct advise_opts opts = { .policy = policy, .seed = 3, .n_iterations = 8 };
	struct advice_set *set;
	struct advice_doc doc;
	size_t length;
	char *text;

	rng_init(&rng, seed);
	random_workload(&f, &rng, prefix);
	assert_int_equal(advise(&f.workload, f.topo, f.routes, &opts, &set), 0);
	advice_doc_from(set, &f.workload, f.topo, &opts, &doc);
	text = advice_json_text(&doc, &length);
	advice_doc_fini(&doc);
	advice_set_free(set);
	fixture_fini(&f);
	return text;
}

static void
same_question_same_bytes(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 12; seed++) {
		enum advise_policy policy = (enum advise_policy)(seed % 3);
		char *once = random_text(seed, "j", policy);
		char *again = random_text(seed, "j", policy);

		assert_string_equal(once, again);
		free(once);
		free(again);
	}
}

static void
names_of_jobs_change_nothing_but_the_names(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 12; seed++) {
		enum advise_policy policy = (enum advise_policy)(seed % 3);
		char *once = random_text(seed, "j", policy);
		char *other = random_text(seed, "Z", policy);

		/* Names "Z0" to "Z4" appear only in place of "j0" to "j4". */
		for (char *c = other; *c; c++)
			if (*c == 'Z')
				*c = 'j';
		assert_string_equal(once, other);
		free(once);
		free(other);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_never_predicted_worse_than_fair_nor_beyond_the_cap),
		cmocka_unit_test(is_no_worse_than_cassini),
		cmocka_unit_test(one_job_at_the_cap_does_not_veto_better_places),
		cmocka_unit_test(same_question_same_bytes),
		cmocka_unit_test(names_of_jobs_change_nothing_but_the_names),
	};

	return cmocka_run_group_tests_name("advise_random", tests, NULL, NULL);
}
