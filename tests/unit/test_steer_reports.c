/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_steer_reports.c - the control loop with reports by hand: clocks set back,
 * duplicate and late reports, and a pacer that had orders before
 */
#include <stdlib.h>

#include "lib/base/rng.h"
#include "scheduler/core/control/steer.h"
#include "scheduler/core/control/steer_sim.h"
#include "scheduler/core/profile/profile.h"
#include "tests/unit/test.h"

#define MS        INT64_C(1000000)
#define PERIOD_NS (100 * MS)
#define BURST_US  30000
#define T0_NS     (INT64_C(1700000000000) * MS)

/* Two jobs whose bursts may not overlap, with a clock of their own. */
struct hand {
	struct steer *steer;
	struct rng rng;
	int64_t set_back_ns; /* Offset of their clock from true time. */
	int64_t enter_ns[2]; /* Next iteration, in true time. */
	uint64_t n_done[2];
	uint32_t last_order[2];
	struct steer_order order[2]; /* Number 0: none. */
	uint64_t n_orders;
	uint32_t first_number;
	int n_copies;      /* Copies of each report. */
	int64_t longer_ns; /* Extra length of the second job's iterations. */
	int64_t slow_ns;   /* Extra delay when it wakes after an order. */
	int repeats_edges; /* Gives the edges again after this many reports. */
};

static void
set_edges(struct steer *steer, size_t n_times)
{
	const struct steer_constraint edge = { .a = 0,
					       .b = 1,
					       .modulus_us = PERIOD_NS / 1000,
					       .lo_us = BURST_US,
					       .hi_us = PERIOD_NS / 1000 - BURST_US };
	const uint32_t jobs[2] = { 0, 1 };
	const struct steer_constraint twice[2] = { edge, edge };

	steer_set_constraints(steer, jobs, 2, twice, n_times);
}

static void
hand_open(struct hand *h, enum steer_mode mode)
{
	struct profile_phase phase = { 0, BURST_US, 1e9 };
	struct profile profile = { .period_us = PERIOD_NS / 1000,
				   .jitter_us = 500,
				   .n_phases = 1,
				   .phases = &phase };
	const struct steer_job what = { .mode = mode, .profile = &profile };

	*h = (struct hand){ .steer = steer_new(NULL),
			    .enter_ns = { T0_NS, T0_NS + 40 * MS },
			    .n_copies = 1 };
	rng_init(&h->rng, 1);
	for (uint32_t j = 0; j < 2; j++)
		steer_set_job(h->steer, j, &what);
	set_edges(h->steer, 1);
}

static void
take_orders(struct hand *h, const struct steer_order *orders, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		assert_true(orders[i].number > 0);
		if (!h->n_orders++)
			h->first_number = orders[i].number;
		if (orders[i].number == h->last_order[orders[i].job])
			continue;
		h->last_order[orders[i].job] = orders[i].number;
		h->order[orders[i].job] = orders[i];
	}
}

/* Runs the next iteration of the job that is due next. */
static void
hand_step(struct hand *h)
{
	uint32_t j = h->enter_ns[1] < h->enter_ns[0];
	int64_t enter_ns = h->enter_ns[j] - h->set_back_ns;
	struct steer_report report = { .number = h->n_done[j]++,
				       .enter_ns = enter_ns,
				       .begin_ns = enter_ns,
				       .comm_ns = BURST_US * 1000,
				       .order = h->last_order[j] };
	struct steer_order orders[16];

	if (h->order[j].number && h->order[j].expires_ns >= enter_ns &&
	    h->order[j].not_before_ns > enter_ns)
		report.begin_ns +=
			h->slow_ns +
			(h->order[j].not_before_ns - enter_ns < h->order[j].max_ns
				 ? h->order[j].not_before_ns - enter_ns
				 : h->order[j].max_ns);
	h->order[j].number = 0;
	if (h->repeats_edges &&
	    (h->n_done[0] + h->n_done[1]) % (uint64_t)h->repeats_edges == 0)
		set_edges(h->steer, 2);
	for (int i = 0; i < h->n_copies; i++)
		take_orders(h, orders, steer_report(h->steer, j, &report, orders, 16));
	h->enter_ns[j] += report.begin_ns - enter_ns + PERIOD_NS +
			  (j ? h->longer_ns : 0) + (int64_t)(rng_normal(&h->rng) * MS);
}

/* Counts the orders of a minute after the clock was set back. */
static uint64_t
orders_after_ns(enum steer_mode mode, int64_t set_back_ns)
{
	uint64_t n_before;
	struct hand h;

	hand_open(&h, mode);
	/* Until one of the two has a pending order. */
	while (h.n_orders < 20)
		hand_step(&h);
	n_before = h.n_orders;
	h.set_back_ns = set_back_ns;
	for (int i = 0; i < 1200; i++)
		hand_step(&h);
	steer_free(h.steer);
	return h.n_orders - n_before;
}

static void
a_clock_that_is_set_back_holds_up_no_orders(void **state)
{
	static const enum steer_mode modes[] = { STEER_SHIFT, STEER_GATE };

	(void)state;
	for (size_t m = 0; m < 2; m++) {
		uint64_t usual = orders_after_ns(modes[m], 0);
		uint64_t n = orders_after_ns(modes[m], 3600000 * MS);

		assert_true(usual > 3 && n * 4 >= usual * 3);
	}
}

/* Field by field: the bytes between fields may be anything. */
static void
assert_same_state(const struct steer_state *a, const struct steer_state *b)
{
	const struct steer_learned *x = &a->learned, *y = &b->learned;

	assert_int_equal(a->is_tracked, b->is_tracked);
	assert_int_equal(a->is_settled, b->is_settled);
	assert_int_equal(a->has_changed, b->has_changed);
	assert_int_equal(a->n_iterations, b->n_iterations);
	assert_int_equal(a->period_us, b->period_us);
	assert_int_equal(a->jitter_us, b->jitter_us);
	assert_int_equal(a->burst_us, b->burst_us);
	assert_int_equal(a->error_us, b->error_us);
	assert_int_equal(a->last_begin_ns, b->last_begin_ns);
	assert_memory_equal(a->n_orders, b->n_orders, sizeof a->n_orders);
	assert_int_equal(a->delayed_ns, b->delayed_ns);
	assert_int_equal(a->first_shift_ns, b->first_shift_ns);
	assert_int_equal(a->settled_ns, b->settled_ns);
	assert_int_equal(x->takes_turns, y->takes_turns);
	assert_true(x->predicted_share == y->predicted_share &&
		    x->predicted_turns == y->predicted_turns);
	assert_true(x->share == y->share && x->turns == y->turns);
	assert_int_equal(x->n_share, y->n_share);
	assert_int_equal(x->n_turns, y->n_turns);
}

static void
reports_that_come_twice_change_nothing(void **state)
{
	struct steer_state once[2], twice[2];
	struct hand h;

	(void)state;
	for (int copies = 1; copies <= 2; copies++) {
		hand_open(&h, STEER_SHIFT);
		h.n_copies = copies;
		for (int i = 0; i < 600; i++)
			hand_step(&h);
		for (uint32_t j = 0; j < 2; j++)
			steer_state(h.steer, j, copies == 1 ? &once[j] : &twice[j]);
		steer_free(h.steer);
	}
	for (uint32_t j = 0; j < 2; j++) {
		assert_true(once[j].is_tracked);
		assert_same_state(&once[j], &twice[j]);
	}
}

/* The daemon gives the edges at each refresh, and turns are learned meanwhile. */
static void
edges_that_are_given_again_change_nothing(void **state)
{
	struct steer_state once[2], again[2];
	struct hand h;

	(void)state;
	for (int repeats = 0; repeats <= 100; repeats += 100) {
		hand_open(&h, STEER_GATE);
		h.repeats_edges = repeats;
		h.longer_ns = MS;
		h.slow_ns = 80 * MS; /* Turns do not pay and are given up. */
		for (int i = 0; i < 2000; i++)
			hand_step(&h);
		for (uint32_t j = 0; j < 2; j++)
			steer_state(h.steer, j, repeats ? &again[j] : &once[j]);
		steer_free(h.steer);
	}
	assert_true(once[0].n_orders[STEER_WHY_TURN] +
			    once[1].n_orders[STEER_WHY_TURN] >
		    3);
	for (uint32_t j = 0; j < 2; j++)
		assert_same_state(&once[j], &again[j]);
}

/* Five iterations that another job stretched, reported when the job is set. */
static void
reports_of_before_are_remembered(void **state)
{
	struct profile_phase phase = { 0, BURST_US, 1e9 };
	struct profile profile = { .period_us = PERIOD_NS / 1000,
				   .jitter_us = 500,
				   .n_phases = 1,
				   .phases = &phase };
	const struct steer_job what = { .mode = STEER_GATE, .profile = &profile };
	struct steer *steer = steer_new(NULL);
	struct steer_report reports[6];
	struct steer_state now;

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		int64_t begin_ns = T0_NS + (int64_t)i * (PERIOD_NS + 25 * MS);

		reports[i] =
			(struct steer_report){ .number = 40 + i,
					       .enter_ns = begin_ns,
					       .begin_ns = begin_ns,
					       .comm_ns = BURST_US * 1000 + 25 * MS };
	}
	/* An unknown job: nothing happens. */
	steer_remember(steer, 3, reports, 6);
	steer_state(steer, 3, &now);
	assert_false(now.is_tracked);
	assert_true(steer_set_job(steer, 3, &what));
	steer_remember(steer, 3, reports, 6);
	steer_state(steer, 3, &now);
	assert_true(now.is_tracked);
	assert_int_equal(now.period_us, PERIOD_NS / 1000);
	assert_int_equal(now.last_begin_ns, reports[5].begin_ns);
	assert_int_equal(now.first_shift_ns, 0);
	assert_false(steer_set_job(steer, 3, &what));
	/* A duplicate is refused, as always. */
	steer_remember(steer, 3, reports + 5, 1);
	steer_state(steer, 3, &now);
	assert_int_equal(now.n_iterations, 6);
	steer_free(steer);
}

static void
an_order_never_has_the_number_that_its_pacer_has_last(void **state)
{
	for (uint32_t last = 0; last < 3; last++) {
		struct hand h;

		(void)state;
		hand_open(&h, STEER_SHIFT);
		h.last_order[0] = h.last_order[1] = last;
		while (!h.n_orders)
			hand_step(&h);
		assert_int_not_equal(h.first_number, last);
		steer_free(h.steer);
	}
}

/* The job is only watched, and shares a link with one of two that take turns. */
static void
a_job_that_is_left_alone_holds_up_no_turns(void **state)
{
	struct profile_phase phase = { 0, BURST_US, 1e9 };
	struct profile profile = { .period_us = PERIOD_NS / 1000,
				   .jitter_us = 500,
				   .n_phases = 1,
				   .phases = &phase };
	const uint32_t jobs[3] = { 0, 1, 2 };
	struct steer *steer = steer_new(NULL);
	struct steer_constraint edges[2];
	size_t n_orders = 0;

	(void)state;
	for (uint32_t j = 0; j < 3; j++) {
		const struct steer_job what = { .mode = j < 2 ? STEER_GATE : STEER_FREE,
						.profile = &profile };

		steer_set_job(steer, j, &what);
	}
	for (uint32_t e = 0; e < 2; e++)
		edges[e] = (struct steer_constraint){ .a = e,
						      .b = e + 1,
						      .modulus_us = PERIOD_NS / 1000,
						      .lo_us = BURST_US,
						      .hi_us = PERIOD_NS / 1000 -
							       BURST_US };
	steer_set_constraints(steer, jobs, 3, edges, 2);
	for (uint64_t i = 0; i < 90; i++) {
		int64_t now_ns = T0_NS + (int64_t)(i / 3) * PERIOD_NS +
				 (int64_t)(i % 3) * 10 * MS;
		const struct steer_report report = { .number = i / 3,
						     .enter_ns = now_ns,
						     .begin_ns = now_ns,
						     .comm_ns = BURST_US * 1500 };
		struct steer_order orders[8];
		size_t n = steer_report(steer, (uint32_t)(i % 3), &report, orders, 8);

		n_orders += n;
		for (size_t k = 0; k < n; k++)
			assert_int_not_equal(orders[k].job, 2);
	}
	assert_true(n_orders > 3);
	steer_free(steer);
}

/* Unknown jobs may send at the same time: their cost must not count as the period. */
static void
what_unknown_others_cost_is_not_the_jobs_period(void **state)
{
	const int64_t more_ns = BURST_US * 500;
	struct steer_state told;
	struct steer_order order;
	struct hand h;

	(void)state;
	hand_open(&h, STEER_GATE);
	steer_remove_job(h.steer, 1);
	for (uint64_t i = 0; i < 20; i++) {
		int64_t begin_ns = T0_NS + (int64_t)i * (PERIOD_NS + more_ns);
		const struct steer_report report = {
			.number = i,
			.enter_ns = begin_ns,
			.begin_ns = begin_ns,
			.comm_ns = i ? BURST_US * 1000 + more_ns : 0,
		};

		steer_report(h.steer, 0, &report, &order, 1);
	}
	steer_state(h.steer, 0, &told);
	assert_true(llabs(told.period_us - PERIOD_NS / 1000) < 1000);
	steer_free(h.steer);
}

/*
 * Three jobs that share links in pairs can each be stretched beyond twice their bursts.
 * A job that reports a long send was present for all of it.
 */
static void
who_sent_for_long_was_met(void **state)
{
	const int64_t more_ns = BURST_US * 500;
	const int64_t period_ns = PERIOD_NS + more_ns;
	struct steer_state told;
	struct steer_order orders[4];
	struct hand h;

	(void)state;
	hand_open(&h, STEER_FREE);
	for (uint64_t i = 0; i < 20; i++) {
		/* The first job begins during the 95 ms in which the second sends. */
		for (uint32_t j = 2; j-- > 0;) {
			int64_t begin_ns =
				T0_NS + (int64_t)i * period_ns + (j ? 0 : 65 * MS);
			const struct steer_report report = {
				.number = i,
				.enter_ns = begin_ns,
				.begin_ns = begin_ns,
				.comm_ns = !i  ? 0
					   : j ? 95 * MS
					       : BURST_US * 1000 + more_ns,
			};

			steer_report(h.steer, j, &report, orders, 4);
		}
	}
	steer_state(h.steer, 0, &told);
	assert_true(llabs(told.period_us - PERIOD_NS / 1000) < 1000);
	steer_free(h.steer);
}

/*
 * Jobs that become known one by one take turns as soon as all are known, although the
 * first ones chose without the last.
 */
static void
turns_do_not_wait_for_who_chose_before(void **state)
{
	struct hand h;
	int n = 0;

	(void)state;
	hand_open(&h, STEER_GATE);
	steer_set_constraints(h.steer, (const uint32_t[]){ 0, 1 }, 2, NULL, 0);
	h.enter_ns[1] = T0_NS + 5 * MS;
	for (; n < 20; n++)
		hand_step(&h);
	assert_int_equal(h.n_orders, 0);
	/* They choose; then new edges make the choice useless. */
	set_edges(h.steer, 1);
	for (; h.n_orders == 0 && n < 40; n++)
		hand_step(&h);
	steer_set_constraints(h.steer, (const uint32_t[]){ 0, 1 }, 2, NULL, 0);
	set_edges(h.steer, 1);
	h.n_orders = 0;
	for (n = 0; h.n_orders == 0 && n < 40; n++)
		hand_step(&h);
	/* Ten iterations of both take a second. */
	assert_true(n <= 6);
	steer_free(h.steer);
}

/*
 * Two jobs that always begin together: the cost of contention was counted as their own.
 * When their profiles are refined, the tracked values follow.
 */
static void
a_refined_profile_corrects_what_is_tracked(void **state)
{
	struct profile_phase phase = { 0, 2 * BURST_US, 1e9 };
	struct profile profile = { .period_us = PERIOD_NS / 1000 + BURST_US,
				   .n_phases = 1,
				   .phases = &phase };
	const struct steer_job what = { .mode = STEER_GATE, .profile = &profile };
	struct steer *steer = steer_new(NULL);
	struct steer_state told;

	(void)state;
	for (uint32_t j = 0; j < 2; j++)
		steer_set_job(steer, j, &what);
	for (uint64_t i = 0; i < 28; i++) {
		int64_t now_ns = T0_NS + (int64_t)(i / 2) * profile.period_us * 1000;
		const struct steer_report report = { i / 2, now_ns, now_ns,
						     2000 * BURST_US, 0 };
		struct steer_order orders[8];

		steer_report(steer, (uint32_t)i % 2, &report, orders, 8);
	}
	steer_state(steer, 0, &told);
	assert_int_equal(told.burst_us, 2 * BURST_US);
	assert_true(llabs(told.period_us - PERIOD_NS / 1000 - BURST_US) < 1000);
	phase.duration_us = BURST_US;
	profile.period_us = PERIOD_NS / 1000;
	for (uint32_t j = 0; j < 2; j++)
		steer_set_job(steer, j, &what);
	steer_state(steer, 0, &told);
	assert_int_equal(told.burst_us, BURST_US);
	assert_true(llabs(told.period_us - PERIOD_NS / 1000) < 1000);
	steer_free(steer);
}

/* More jobs than learn together, in one long row that breaks and is joined again. */
static void
jobs_come_and_go_by_the_hundred(void **state)
{
	enum {
		N = 200
	};
	struct profile_phase phase = { 0, BURST_US, 1e9 };
	struct profile profile = { .period_us = PERIOD_NS / 1000,
				   .jitter_us = 500,
				   .n_phases = 1,
				   .phases = &phase };
	const struct steer_job what = { .mode = STEER_GATE, .profile = &profile };
	struct steer *steer = steer_new(NULL);
	uint64_t n_done[N] = { 0 }, n_orders = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (int i = 0; i < 20000; i++) {
		uint32_t j = (uint32_t)(i % N);
		int64_t now_ns = T0_NS + i / N * PERIOD_NS +
				 (int64_t)(rng_uniform(&rng) * MS) + j * MS / 10;
		const struct steer_report report = { .number = n_done[j]++,
						     .enter_ns = now_ns,
						     .begin_ns = now_ns,
						     .comm_ns = BURST_US * 1000 };
		const struct steer_constraint edge = { .a = j,
						       .b = j + 1,
						       .modulus_us = PERIOD_NS / 1000,
						       .lo_us = BURST_US,
						       .hi_us = PERIOD_NS / 1000 -
								BURST_US };
		struct steer_order orders[8];

		/* With an end that is not listed and may not exist. */
		if (i < N || rng_below(&rng, 40) == 0) {
			steer_set_job(steer, j, &what);
			steer_set_constraints(steer, &j, 1, &edge, 1);
		} else if (rng_below(&rng, 60) == 0) {
			steer_remove_job(steer, j);
			n_done[j] = 0;
		}
		n_orders += steer_report(steer, j, &report, orders, 8);
	}
	assert_true(n_orders > 100);
	steer_free(steer);
}

static void
keep_report(void *ctx, uint32_t job, const struct steer_report *report)
{
	(void)job;
	*(struct steer_report *)ctx = *report;
}

/* Flows come in the order of their ends; those at the same time count once. */
static void
flows_that_overlap_count_once(void **state)
{
	static const double flows_ms[][2] = { { 1, 2 },   { 4, 5 },    { 6, 7 },
					      { 4.5, 9 }, { 9, 10 },   { 14, 15 },
					      { 12, 16 }, { 15.5, 17 } };
	struct steer_report report = { 0 };
	const struct steer_sim_opts opts = { .on_report = keep_report, .ctx = &report };
	struct steer_sim *sim = steer_sim_new(&opts);

	(void)state;
	steer_sim_add(sim, 0, 3, NULL);
	assert_near(steer_sim_wait_ns(sim, 0, 0, 3, 0), 0, 0);
	for (size_t i = 0; i < sizeof flows_ms / sizeof *flows_ms; i++)
		steer_sim_on_flows(sim, 0, (uint32_t)i, flows_ms[i][0] * MS,
				   flows_ms[i][1] * MS);
	/* 1 to 2, 4 to 10, 12 to 17 ms. */
	assert_near(steer_sim_wait_ns(sim, 0, 1, 3, 100.0 * MS), 0, 0);
	assert_int_equal(report.comm_ns, 12 * MS);
	steer_sim_on_flows(sim, 0, 3, 101.0 * MS, 103.0 * MS);
	assert_near(steer_sim_wait_ns(sim, 0, 2, 3, 200.0 * MS), 0, 0);
	assert_int_equal(report.comm_ns, 2 * MS);
	steer_sim_free(sim);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows_that_overlap_count_once),
		cmocka_unit_test(a_clock_that_is_set_back_holds_up_no_orders),
		cmocka_unit_test(reports_that_come_twice_change_nothing),
		cmocka_unit_test(edges_that_are_given_again_change_nothing),
		cmocka_unit_test(reports_of_before_are_remembered),
		cmocka_unit_test(an_order_never_has_the_number_that_its_pacer_has_last),
		cmocka_unit_test(a_job_that_is_left_alone_holds_up_no_turns),
		cmocka_unit_test(what_unknown_others_cost_is_not_the_jobs_period),
		cmocka_unit_test(who_sent_for_long_was_met),
		cmocka_unit_test(turns_do_not_wait_for_who_chose_before),
		cmocka_unit_test(a_refined_profile_corrects_what_is_tracked),
		cmocka_unit_test(jobs_come_and_go_by_the_hundred),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
