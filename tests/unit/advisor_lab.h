/* SPDX-License-Identifier: Apache-2.0 */
/* advisor_lab.h - an advisor with jobs from jobs_fixture.h */
#ifndef TESTS_UNIT_ADVISOR_LAB_H
#define TESTS_UNIT_ADVISOR_LAB_H

#include "scheduler/core/advisor/advisor.h"
#include "tests/unit/jobs_fixture.h"
#include "tests/unit/test.h"

/* Gives the advisor the fixture's last job; returns the job's number. */
static inline uint32_t
lab_put(struct advisor *advisor, struct fixture *f, bool is_shiftable)
{
	uint32_t number = 0;

	assert_int_equal(advisor_put(advisor, &f->workload.jobs[f->workload.n - 1],
				     is_shiftable, &number),
			 0);
	return number;
}

/* Steps the advisor until nothing is left to solve; fails after 1000 steps. */
static inline void
lab_solve(struct advisor *advisor)
{
	for (int i = 0; advisor_step(advisor, 1) > 0; i++)
		assert_true(i < 1000);
}

#endif
