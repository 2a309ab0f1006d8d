/* SPDX-License-Identifier: Apache-2.0 */
/* test_advisor_events.c - advice over many events: repeatable, consistent, bounded */
#include <stdio.h>

#include "lib/base/rng.h"
#include "scheduler/core/advisor/advisor.h"
#include "scheduler/core/advisor/advisor_priv.h"
#include "tests/unit/advisor_lab.h"
#include "tests/unit/jobs_fixture.h"
#include "tests/unit/test.h"

static void
random_job(struct fixture *f, struct rng *rng, bool has_hosts)
{
	uint32_t hosts[32], n = 2 + (uint32_t)rng_below(rng, 3), all = 32;
	struct work_job *job;
	char name[16];

	snprintf(name, sizeof name, "j%u", (unsigned)rng_below(rng, 20));
	job = fixture_job(f, name, n, 100000 + 10000 * (int64_t)rng_below(rng, 3),
			  0.1 + 0.2 * rng_uniform(rng), 50e9);
	if (!has_hosts)
		return;
	for (uint32_t i = 0; i < all; i++)
		hosts[i] = i;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = i + (uint32_t)rng_below(rng, all - i), swap = hosts[i];

		hosts[i] = hosts[k];
		hosts[k] = swap;
	}
	fixture_on(job, hosts);
}

/* Every edge is listed at both ends, and both jobs exist. */
static void
check_edges(const struct advisor *advisor, uint32_t n)
{
	for (uint32_t j = 0; j < n; j++) {
		struct advisor_view view;

		if (!advisor_view(advisor, j, &view))
			continue;
		for (size_t i = 0; i < view.n_constraints; i++) {
			uint32_t other = view.constraints[i].a == j
						 ? view.constraints[i].b
						 : view.constraints[i].a;
			struct advisor_view theirs;
			bool is_known = false;

			assert_true(view.constraints[i].a == j ||
				    view.constraints[i].b == j);
			assert_true(advisor_view(advisor, other, &theirs));
			for (size_t k = 0; k < theirs.n_constraints; k++)
				is_known |= theirs.constraints[k].a ==
						    view.constraints[i].a &&
					    theirs.constraints[k].b ==
						    view.constraints[i].b;
			assert_true(is_known);
		}
	}
}

static void
the_same_events_give_the_same_advice_and_it_stays_whole(void **state)
{
	uint64_t revisions[2] = { 0 };

	(void)state;
	for (int run = 0; run < 2; run++) {
		struct advisor_ranking ranking;
		struct advisor *advisor;
		struct fixture f;
		struct rng rng;

		fixture_init(&f, 8, 4, 2, 50e9);
		advisor = advisor_new(f.topo,
				      &(struct advisor_opts){ .n_iterations = 10 });
		rng_init(&rng, 5);
		for (int i = 0; i < 60; i++) {
			uint32_t number;

			random_job(&f, &rng, i % 5 != 0);
			if (i % 7 == 6) {
				advisor_remove(advisor,
					       f.workload.jobs[f.workload.n - 1].name);
				continue;
			}
			number = lab_put(advisor, &f, true);
			if (i % 5 == 0 &&
			    advisor_rank(advisor, number, NULL, &ranking) == 0)
				advisor_ranking_fini(&ranking);
			if (i % 3 == 0) {
				lab_solve(advisor);
				check_edges(advisor, 20);
			}
		}
		lab_solve(advisor);
		check_edges(advisor, 20);
		for (uint32_t j = 0; j < 20; j++) {
			struct advisor_view view;

			if (advisor_view(advisor, j, &view))
				revisions[run] = revisions[run] * 31 + view.revision +
						 (uint64_t)view.shift_us;
		}
		advisor_free(advisor);
		fixture_fini(&f);
	}
	assert_int_equal(revisions[0], revisions[1]);
}

/* As on a busy cluster: jobs come and go, and some wait. */
static void
events_without_end_take_no_more_room(void **state)
{
	struct advisor *advisor;
	struct fixture f;
	uint32_t number;

	(void)state;
	fixture_init(&f, 2, 4, 1, 50e9);
	advisor = advisor_new(f.topo, NULL);
	ON(fixture_job(&f, "one", 2, 100000, 0.3, 50e9), 0, 4);
	ON(fixture_job(&f, "two", 2, 100000, 0.3, 50e9), 1, 5);
	ON(fixture_job(&f, "three", 2, 100000, 0.1, 10e9), 2, 3);
	for (int i = 0; i < 300; i++) {
		for (size_t k = 0; k < 3; k++) {
			struct work_job *job = &f.workload.jobs[k];

			advisor_remove(advisor, job->name);
			assert_int_equal(advisor_put(advisor, job, true, &number), 0);
			assert_true(number < 4);
		}
		/* There is always one more job than is solved. */
		assert_true(advisor_step(advisor, 1) > 0);
	}
	assert_true(advisor->touched.n < 16 && advisor->jobs.n <= 4 &&
		    advisor->free_numbers.n <= 4);
	advisor_free(advisor);
	fixture_fini(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_same_events_give_the_same_advice_and_it_stays_whole),
		cmocka_unit_test(events_without_end_take_no_more_room),
	};

	return cmocka_run_group_tests_name("advisor events", tests, NULL, NULL);
}
