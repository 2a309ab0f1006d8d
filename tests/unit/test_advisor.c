/* SPDX-License-Identifier: Apache-2.0 */
/* test_advisor.c - advice that is updated job by job */
#include <errno.h>
#include <stdio.h>

#include "scheduler/core/advisor/advisor.h"
#include "scheduler/k8s/rank.h"
#include "tests/unit/advisor_lab.h"
#include "tests/unit/jobs_fixture.h"
#include "tests/unit/test.h"

/* Two leaves of four hosts, one uplink of 50 Gb/s each, shared by all crossing jobs. */
static void
lab(struct fixture *f)
{
	fixture_init(f, 2, 4, 1, 50e9);
}

static struct advisor_view
view_of(const struct advisor *advisor, uint32_t job)
{
	struct advisor_view view;

	assert_true(advisor_view(advisor, job, &view));
	return view;
}

static void
two_jobs_that_collide_are_set_apart(void **state)
{
	struct advisor *advisor;
	struct advisor_view a, b;
	struct fixture f;
	uint32_t one, two;

	(void)state;
	lab(&f);
	advisor = advisor_new(f.topo, NULL);
	ON(fixture_job(&f, "one", 2, 100000, 0.3, 50e9), 0, 4);
	one = lab_put(advisor, &f, true);
	assert_int_equal(advisor_job(advisor, one)->hosts[1], 4);
	lab_solve(advisor);
	a = view_of(advisor, one);
	assert_int_equal(a.reason, REASON_ISOLATED);
	assert_int_equal(a.mode, STEER_FREE);
	assert_int_equal(a.n_constraints, 0);

	ON(fixture_job(&f, "two", 2, 100000, 0.3, 50e9), 1, 5);
	two = lab_put(advisor, &f, true);
	assert_false(view_of(advisor, one).is_solved);
	lab_solve(advisor);
	a = view_of(advisor, one);
	b = view_of(advisor, two);
	assert_true(a.is_solved && b.is_solved);
	assert_true(a.mode != STEER_FREE && b.mode != STEER_FREE);
	assert_int_equal(a.component, b.component);
	assert_true(a.slowdown_before > 1.02);
	assert_true(a.slowdown_after < a.slowdown_before);
	assert_true(a.score_after > a.score_before);
	assert_int_equal(a.n_constraints, 1);
	assert_int_equal(b.n_constraints, 1);
	assert_int_equal(a.constraints[0].a + a.constraints[0].b, one + two);
	assert_true(a.constraints[0].modulus_us > 0);
	assert_true(a.n_links > 0);
	/* When one job leaves, the other is isolated again. */
	advisor_remove(advisor, "one");
	lab_solve(advisor);
	assert_int_equal(view_of(advisor, two).reason, REASON_ISOLATED);
	assert_int_equal(view_of(advisor, two).n_constraints, 0);
	assert_false(advisor_view(advisor, one, &a));
	assert_int_equal(advisor_find(advisor, "one"), UINT32_MAX);
	assert_null(advisor_job(advisor, one));
	assert_null(advisor_job(advisor, 1000));
	advisor_free(advisor);
	fixture_fini(&f);
}

/* More jobs than are solved at once: each gets its turn and its answer. */
static void
of_very_many_on_one_link_each_is_told_something(void **state)
{
	enum {
		N = 24
	};
	struct advisor *advisor;
	struct fixture f;
	uint32_t jobs[N];

	(void)state;
	lab(&f);
	advisor = advisor_new(f.topo, NULL);
	for (uint32_t i = 0; i < N; i++) {
		char name[16];

		snprintf(name, sizeof name, "job%u", i);
		ON(fixture_job(&f, name, 2, 100000, 0.3, 50e9), i % 4, 4 + i / 4 % 4);
		jobs[i] = lab_put(advisor, &f, false);
	}
	lab_solve(advisor);
	for (uint32_t i = 0; i < N; i++)
		assert_true(view_of(advisor, jobs[i]).is_solved);
	advisor_free(advisor);
	fixture_fini(&f);
}

/* The reason: the job cannot be delayed, or no shift would help anyway. */
static void
a_job_without_a_pacer_is_told_what_is_wrong(void **state)
{
	static const struct {
		int64_t other_period_us, error_us;
		bool is_other_paced;
		enum reason one, other;
	} cases[] = {
		{ 100000, 0, false, REASON_NOT_PACED, REASON_NOT_PACED },
		{ 100000, 0, true, REASON_REFERENCE, REASON_INTERLEAVED },
		{ 100013, 5, true, REASON_REFERENCE, REASON_INTERLEAVED },
		{ 100013, 5, false, REASON_NOT_PACED, REASON_NOT_PACED },
		{ 100013, 1, false, REASON_PERIODS_UNRELATED,
		  REASON_PERIODS_UNRELATED },
		{ 101003, 0, false, REASON_PERIODS_UNRELATED,
		  REASON_PERIODS_UNRELATED },
		{ 101003, 2000, false, REASON_PERIODS_UNSURE, REASON_PERIODS_UNSURE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct fixture f;
		struct advisor *advisor;
		struct work_job *job;
		uint32_t one, other;

		lab(&f);
		advisor = advisor_new(f.topo, NULL);
		job = fixture_job(&f, "one", 2, 100000, 0.3, 50e9);
		job->profile.period_error_us = cases[i].error_us;
		ON(job, 0, 4);
		one = lab_put(advisor, &f, false);
		job = fixture_job(&f, "other", 2, cases[i].other_period_us, 0.3, 50e9);
		job->profile.period_error_us = cases[i].error_us;
		ON(job, 1, 5);
		other = lab_put(advisor, &f, cases[i].is_other_paced);
		lab_solve(advisor);
		assert_int_equal(view_of(advisor, one).reason, cases[i].one);
		assert_int_equal(view_of(advisor, one).mode, STEER_FREE);
		assert_int_equal(view_of(advisor, other).reason, cases[i].other);
		advisor_free(advisor);
		fixture_fini(&f);
	}
}

/* Two bursts per iteration, which rules out one turn per iteration. */
static uint32_t
put_twofold(struct advisor *advisor, struct fixture *f, const char *name,
	    int64_t period_us, uint32_t from, uint32_t to)
{
	struct work_job *job = fixture_job(f, name, 2, period_us, 0.1, 50e9);
	struct profile_phase *phases =
		xreallocarray(job->profile.phases, 2, sizeof *phases);

	phases[1] = (struct profile_phase){ 40000, 10000, 50e9 };
	job->profile.phases = phases;
	job->profile.n_phases = 2;
	job->profile.bytes_per_iteration = 0;
	assert_int_equal(profile_normalize(&job->profile, NULL), 0);
	work_job_segments_from_profile(job);
	ON(job, from, to);
	return lab_put(advisor, f, true);
}

static void
jobs_of_several_bursts_are_given_one_period(void **state)
{
	struct advisor *advisor;
	struct advisor_view a, b;
	struct fixture f;
	uint32_t one, two;

	(void)state;
	lab(&f);
	advisor = advisor_new(f.topo, NULL);
	one = put_twofold(advisor, &f, "one", 100000, 0, 4);
	two = put_twofold(advisor, &f, "two", 101000, 1, 5);
	lab_solve(advisor);
	a = view_of(advisor, one);
	b = view_of(advisor, two);
	assert_int_equal(a.n_constraints, 1);
	assert_int_equal(a.constraints[0].modulus_us, 101000);
	assert_true(a.locked_us == 101000 && b.locked_us == 101000);
	advisor_free(advisor);
	fixture_fini(&f);
}

static void
what_nobody_can_delay_is_never_steered(void **state)
{
	struct advisor *advisor;
	struct fixture f;
	uint32_t one, two;

	(void)state;
	lab(&f);
	advisor = advisor_new(f.topo, NULL);
	ON(fixture_job(&f, "one", 2, 100000, 0.3, 50e9), 0, 4);
	one = lab_put(advisor, &f, false);
	ON(fixture_job(&f, "two", 2, 100000, 0.3, 50e9), 1, 5);
	two = lab_put(advisor, &f, false);
	lab_solve(advisor);
	assert_int_equal(view_of(advisor, one).mode, STEER_FREE);
	assert_int_equal(view_of(advisor, two).mode, STEER_FREE);
	assert_true(view_of(advisor, one).score_before < 1);
	advisor_free(advisor);
	fixture_fini(&f);
}

static void
an_event_touches_its_own_component_alone(void **state)
{
	struct advisor *advisor;
	struct fixture f;
	uint32_t number, far;
	uint64_t revision;

	(void)state;
	fixture_init(&f, 4, 4, 1, 50e9);
	advisor = advisor_new(f.topo, NULL);
	ON(fixture_job(&f, "one", 2, 100000, 0.3, 50e9), 0, 4);
	lab_put(advisor, &f, true);
	ON(fixture_job(&f, "far a", 2, 100000, 0.3, 50e9), 8, 12);
	far = lab_put(advisor, &f, true);
	ON(fixture_job(&f, "far b", 2, 100000, 0.3, 50e9), 9, 13);
	lab_put(advisor, &f, true);
	lab_solve(advisor);
	revision = view_of(advisor, far).revision;
	ON(fixture_job(&f, "two", 2, 100000, 0.3, 50e9), 1, 5);
	number = lab_put(advisor, &f, true);
	assert_true(view_of(advisor, far).is_solved);
	assert_int_equal(advisor_step(advisor, 1), 1); /* Both are solved at once. */
	assert_true(view_of(advisor, number).is_solved);
	lab_solve(advisor); /* The other's turn has no work left. */
	assert_int_equal(view_of(advisor, far).revision, revision);
	/* Nor has an unchanged job. */
	assert_int_equal(lab_put(advisor, &f, true), number);
	assert_true(view_of(advisor, number).is_solved);
	f.workload.jobs[f.workload.n - 1].profile.period_us += 500;
	assert_int_equal(lab_put(advisor, &f, true), number);
	assert_true(view_of(advisor, number).is_solved);
	f.workload.jobs[f.workload.n - 1].profile.period_us += 5000;
	assert_int_equal(lab_put(advisor, &f, true), number);
	assert_false(view_of(advisor, number).is_solved);
	advisor_free(advisor);
	fixture_fini(&f);
}

static void
what_cannot_be_is_refused(void **state)
{
	struct advisor *advisor;
	struct work_job *job;
	struct fixture f;
	uint32_t number;

	(void)state;
	lab(&f);
	advisor = advisor_new(f.topo, NULL);
	job = fixture_job(&f, "one", 2, 100000, 0.3, 50e9);
	ON(job, 0, 0);
	assert_int_equal(advisor_put(advisor, job, true, &number), -EINVAL);
	ON(job, 0, 10000);
	assert_int_equal(advisor_put(advisor, job, true, &number), -EINVAL);
	ON(job, 0, 8); /* A whole leaf. */
	assert_int_equal(advisor_put(advisor, job, true, &number), -EINVAL);
	job->n_hosts_wanted = 0;
	assert_int_equal(advisor_put(advisor, job, true, &number), -EINVAL);
	job->n_hosts_wanted = 2;
	assert_int_equal(advisor_find(advisor, "one"), UINT32_MAX);
	advisor_remove(advisor, "one");
	advisor_free(advisor);
	fixture_fini(&f);
}

/* ---- Places ---------------------------------------------------------------------- */

static void
a_waiting_job_is_kept_from_links_that_are_full(void **state)
{
	struct advisor_ranking ranking;
	struct advisor *advisor;
	struct fixture f;
	uint32_t waiting;

	(void)state;
	lab(&f);
	advisor = advisor_new(f.topo, NULL);
	ON(fixture_job(&f, "one", 2, 100000, 0.6, 50e9), 0, 4);
	lab_put(advisor, &f, true);
	fixture_job(&f, "new", 2, 103000, 0.5, 50e9);
	waiting = lab_put(advisor, &f, true);
	lab_solve(advisor);
	assert_int_equal(advisor_rank(advisor, waiting, NULL, &ranking), 0);
	assert_true(ranking.n > 0);
	assert_int_equal(ranking.items[0].n_contended, 0);
	assert_int_equal(ranking.items[0].n_leaves, 1);
	assert_near(ranking.items[0].slowdown, 1, 1e-6);
	for (size_t i = 1; i < ranking.n; i++)
		assert_true(ranking.items[i].loss >= ranking.items[i - 1].loss);
	advisor_ranking_fini(&ranking);
	/* The allowed hosts are in two leaves: the job must cross. */
	bool allowed[8] = { [1] = true, [5] = true };

	assert_int_equal(advisor_rank(advisor, waiting, allowed, &ranking), 0);
	assert_int_equal(ranking.n, 1);
	assert_int_equal(ranking.items[0].hosts[0], 1);
	assert_int_equal(ranking.items[0].hosts[1], 5);
	assert_true(ranking.items[0].n_contended > 0);
	assert_true(ranking.items[0].slowdown > 1.02);
	assert_int_equal(ranking.items[0].reason, REASON_NO_ROOM);
	advisor_ranking_fini(&ranking);
	allowed[5] = false;
	assert_int_equal(advisor_rank(advisor, waiting, allowed, &ranking), -ENOSPC);
	advisor_free(advisor);
	fixture_fini(&f);
}

static void
what_the_host_scheduler_says_is_free_counts(void **state)
{
	struct advisor_ranking ranking;
	struct advisor *advisor;
	struct fixture f;
	uint32_t waiting;

	(void)state;
	lab(&f);
	advisor = advisor_new(f.topo, NULL);
	fixture_job(&f, "new", 2, 103000, 0.5, 50e9);
	waiting = lab_put(advisor, &f, true);
	for (uint32_t host = 0; host < 8; host++)
		advisor_set_free(advisor, host, host == 2 || host == 7);
	assert_int_equal(advisor_rank(advisor, waiting, NULL, &ranking), 0);
	assert_int_equal(ranking.n, 1);
	assert_int_equal(ranking.items[0].hosts[0], 2);
	assert_int_equal(ranking.items[0].hosts[1], 7);
	advisor_ranking_fini(&ranking);
	advisor_set_free(advisor, 7, 0);
	assert_int_equal(advisor_rank(advisor, waiting, NULL, &ranking), -ENOSPC);
	assert_int_equal(advisor_rank(advisor, 77, NULL, &ranking), -ENOENT);
	advisor_free(advisor);
	fixture_fini(&f);
}

/* The nodes that Kubernetes offers for one request do not apply to another. */
static void
nodes_that_are_offered_are_free_for_that_question_alone(void **state)
{
	const struct extender_job job = {
		.name = "ns/job", .n_nodes = 2, .period_us = 100000, .comm_us = 30000
	};
	struct extender_choice choice = { 0 };
	struct advisor *advisor;
	struct profile profile;
	struct fixture f;
	const char *offered[8];
	const uint32_t *hosts;
	size_t n;

	(void)state;
	lab(&f);
	advisor = advisor_new(f.topo, NULL);
	hosts = topo_hosts(f.topo, &n);
	assert_int_equal(n, 8);
	for (size_t i = 0; i < n; i++)
		offered[i] = topo_node(f.topo, hosts[i])->name;
	assert_int_equal(advisor_set_free(advisor, hosts[3], 0), -1);
	assert_int_equal(k8s_declared(f.topo, &job, &profile), 0);
	assert_int_equal(
		k8s_rank(advisor, f.topo, &job, &profile, offered, n, &choice, NULL),
		0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(advisor_set_free(advisor, hosts[i], -1),
				 i == 3 ? 0 : -1);
	extender_choice_fini(&choice);
	profile_fini(&profile);
	advisor_free(advisor);
	fixture_fini(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_jobs_that_collide_are_set_apart),
		cmocka_unit_test(of_very_many_on_one_link_each_is_told_something),
		cmocka_unit_test(a_job_without_a_pacer_is_told_what_is_wrong),
		cmocka_unit_test(jobs_of_several_bursts_are_given_one_period),
		cmocka_unit_test(what_nobody_can_delay_is_never_steered),
		cmocka_unit_test(an_event_touches_its_own_component_alone),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(a_waiting_job_is_kept_from_links_that_are_full),
		cmocka_unit_test(what_the_host_scheduler_says_is_free_counts),
		cmocka_unit_test(
			nodes_that_are_offered_are_free_for_that_question_alone),
	};

	return cmocka_run_group_tests_name("advisor", tests, NULL, NULL);
}
