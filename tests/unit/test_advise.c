/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "scheduler/core/advise/advise.h"
#include "scheduler/core/advise/moves.h"
#include "tests/unit/jobs_fixture.h"
#include "tests/unit/test.h"

static struct advice_set *
ask(struct fixture *f, enum advise_policy policy)
{
	struct advise_opts opts = { .policy = policy, .seed = 1 };
	struct advice_set *set = NULL;

	assert_int_equal(advise(&f->workload, f->topo, f->routes, &opts, &set), 0);
	assert_int_equal(set->n, f->workload.n);
	return set;
}

static void
assert_reason(const struct advice_set *set, size_t job, enum reason reason)
{
	assert_string_equal(reason_name(set->items[job].reason), reason_name(reason));
}

/* Two jobs of two hosts each, both over the one uplink of two leaves. */
static void
two_jobs(struct fixture *f, int64_t period_a_us, double duty_a, int64_t period_b_us,
	 double duty_b)
{
	fixture_init(f, 2, 2, 1, 50e9);
	ON(fixture_job(f, "a", 2, period_a_us, duty_a, 50e9), 0, 2);
	ON(fixture_job(f, "b", 2, period_b_us, duty_b, 50e9), 1, 3);
}

/* ---- Each reason ---------------------------------------------------------------- */

static void
a_job_by_itself_is_alone(void **state)
{
	struct fixture f;
	struct advice_set *set;

	(void)state;
	fixture_init(&f, 2, 2, 1, 50e9);
	ON(fixture_job(&f, "a", 2, 100000, 0.4, 50e9), 0, 1);
	ON(fixture_job(&f, "b", 2, 100000, 0.4, 50e9), 2, 3);
	set = ask(&f, ADVISE_ANTIPHASE);
	assert_reason(set, 0, REASON_ISOLATED);
	assert_int_equal(set->items[0].shift_us, 0);
	assert_near(set->items[0].score_before, 1, 0);
	assert_near(set->goodput_before, 1, 0);
	advice_set_free(set);
	fixture_fini(&f);
}

static void
jobs_whose_peaks_fit_together_are_left_alone(void **state)
{
	struct fixture f;
	struct advice_set *set;

	(void)state;
	fixture_init(&f, 2, 2, 1, 50e9);
	ON(fixture_job(&f, "a", 2, 100000, 0.4, 25e9), 0, 2);
	ON(fixture_job(&f, "b", 2, 100000, 0.4, 25e9), 1, 3);
	set = ask(&f, ADVISE_ANTIPHASE);
	assert_reason(set, 0, REASON_FITS);
	assert_reason(set, 1, REASON_FITS);
	assert_int_equal(set->items[1].pacing, ENGINE_PACE_FREE);
	advice_set_free(set);
	fixture_fini(&f);
}

static void
equal_periods_are_interleaved_against_a_reference(void **state)
{
	struct fixture f;
	struct advice_set *set;
	const struct advice *a, *b;

	(void)state;
	two_jobs(&f, 100000, 0.4, 100000, 0.4);
	set = ask(&f, ADVISE_ANTIPHASE);
	a = &set->items[0];
	b = &set->items[1];
	if (a->shift_us) {
		a = &set->items[1];
		b = &set->items[0];
	}
	assert_reason(set, a->job, REASON_REFERENCE);
	assert_reason(set, b->job, REASON_INTERLEAVED);
	/* The center of the plateau from 40 to 60 ms. */
	assert_int_equal(b->shift_us, 50000);
	assert_int_equal(b->slack_us, 10000);
	/* Without jitter one delay is enough; no corrections are needed. */
	assert_int_equal(b->pacing, ENGINE_PACE_FREE);
	/* At random phases both send for 0.4 * 0.4 of the time. */
	assert_near(b->score_before, 1 - 0.16, 1e-9);
	assert_near(b->score_after, 1, 1e-9);
	assert_true(b->slowdown_before > 1.05);
	assert_near(b->slowdown_after, 1, 1e-3);
	assert_true(b->gain_high > 0.1 && b->gain_low <= b->gain_high);
	assert_int_equal(b->n_links, 4);
	assert_int_equal(b->links[0].n_jobs, 2);
	assert_near(b->links[0].excess_before_bps, 8e9, 1);
	assert_near(b->links[0].excess_after_bps, 0, 1);
	advice_set_free(set);
	fixture_fini(&f);
}

static void
jitter_asks_for_a_gate_beside_the_shift(void **state)
{
	struct fixture f;
	struct advice_set *set;

	(void)state;
	two_jobs(&f, 100000, 0.45, 100000, 0.45);
	f.workload.jobs[0].jitter_frac = f.workload.jobs[1].jitter_frac = 0.02;
	set = ask(&f, ADVISE_ANTIPHASE);
	assert_int_equal(set->items[0].pacing, ENGINE_PACE_GATE);
	assert_int_equal(set->items[1].pacing, ENGINE_PACE_GATE);
	assert_int_equal(set->items[0].shift_us + set->items[1].shift_us, 50000);
	assert_true(set->goodput_after > 0.98);
	advice_set_free(set);
	fixture_fini(&f);
}

static void
bursts_that_fit_only_in_part_are_reduced(void **state)
{
	struct fixture f;
	struct advice_set *set;

	(void)state;
	two_jobs(&f, 100000, 0.6, 100000, 0.6);
	set = ask(&f, ADVISE_ANTIPHASE);
	assert_true(set->items[0].reason == REASON_REDUCED ||
		    set->items[1].reason == REASON_REDUCED);
	assert_true(set->goodput_after > set->goodput_before);
	advice_set_free(set);
	fixture_fini(&f);
}

static void
unrelated_periods_are_named_as_such(void **state)
{
	struct fixture f;
	struct advice_set *set;

	(void)state;
	two_jobs(&f, 100003, 0.4, 257001, 0.4);
	set = ask(&f, ADVISE_ANTIPHASE);
	for (int j = 0; j < 2; j++) {
		assert_reason(set, (size_t)j, REASON_PERIODS_UNRELATED);
		assert_int_equal(set->items[j].shift_us, 0);
		assert_false(set->items[j].is_phased);
	}
	assert_true(set->goodput_after >= set->goodput_before);
	advice_set_free(set);
	fixture_fini(&f);
}

static void
periods_measured_apart_are_interleaved_within_their_errors(void **state)
{
	static const int64_t errors_us[] = { 5, 1, 0 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct fixture f;
		struct advice_set *set;

		two_jobs(&f, 45013, 0.4, 45026, 0.4);
		for (int j = 0; j < 2; j++)
			f.workload.jobs[j].profile.period_error_us = errors_us[i];
		set = ask(&f, ADVISE_ANTIPHASE);
		if (errors_us[i] == 5) {
			bool is_first = set->items[0].shift_us > 0;

			assert_reason(set, is_first ? 1 : 0, REASON_REFERENCE);
			assert_reason(set, is_first ? 0 : 1, REASON_INTERLEAVED);
			assert_true(set->goodput_after > 0.99);
		} else {
			assert_reason(set, 0, REASON_PERIODS_UNRELATED);
			assert_reason(set, 1, REASON_PERIODS_UNRELATED);
		}
		advice_set_free(set);
		fixture_fini(&f);
	}
}

static void
a_full_link_has_no_room(void **state)
{
	struct fixture f;
	struct advice_set *set;

	(void)state;
	two_jobs(&f, 100000, 0.97, 100000, 0.97);
	set = ask(&f, ADVISE_ANTIPHASE);
	assert_reason(set, 0, REASON_NO_ROOM);
	assert_reason(set, 1, REASON_NO_ROOM);
	assert_int_equal(set->items[1].shift_us, 0);
	advice_set_free(set);
	fixture_fini(&f);
}

/*
 * A job that ends after one iteration gains less from a shift by half a period than the
 * shift costs.  Turns at a gate cost nothing in advance.
 */
static void
a_shift_that_costs_more_than_it_gains_gives_way_to_turns(void **state)
{
	struct fixture f;
	struct advice_set *set;

	(void)state;
	two_jobs(&f, 100000, 0.4, 100000, 0.4);
	f.workload.jobs[0].max_iterations = f.workload.jobs[1].max_iterations = 1;
	set = ask(&f, ADVISE_ANTIPHASE);
	assert_reason(set, 0, REASON_TAKES_TURNS);
	assert_int_equal(set->items[0].shift_us, 0);
	assert_int_equal(set->items[1].shift_us, 0);
	assert_int_equal(set->items[0].pacing, ENGINE_PACE_GATE);
	advice_set_free(set);
	fixture_fini(&f);
}

/* The peaks exceed the link by one part in a hundred. */
static void
nothing_is_advised_if_nothing_pays(void **state)
{
	struct fixture f;
	struct advice_set *set;

	(void)state;
	fixture_init(&f, 2, 2, 1, 50e9);
	ON(fixture_job(&f, "a", 2, 100000, 0.1, 25.4e9), 0, 2);
	ON(fixture_job(&f, "b", 2, 100000, 0.1, 25.4e9), 1, 3);
	set = ask(&f, ADVISE_ANTIPHASE);
	for (int j = 0; j < 2; j++) {
		assert_reason(set, (size_t)j, REASON_DOES_NOT_PAY);
		assert_int_equal(set->items[j].shift_us, 0);
		assert_int_equal(set->items[j].pacing, ENGINE_PACE_FREE);
		assert_near(set->items[j].gain_low, 0, 0);
		assert_near(set->items[j].gain_high, 0, 0);
	}
	assert_near(set->goodput_after, set->goodput_before, 0);
	advice_set_free(set);
	fixture_fini(&f);
}

/* Turns would suit the heavy job, but delay the light job beyond the cap. */
static void
the_cap_protects_a_light_job(void **state)
{
	struct fixture f;
	struct advice_set *set;
	struct advise_opts opts = { .policy = ADVISE_ANTIPHASE,
				    .seed = 1,
				    .max_slowdown = 1.3 };

	(void)state;
	two_jobs(&f, 100000, 0.4, 150000, 0.4);
	f.workload.jobs[0].weight = 1;
	f.workload.jobs[1].weight = 50;
	/* No shift would last. */
	f.workload.jobs[0].jitter_frac = f.workload.jobs[1].jitter_frac = 0.03;
	assert_int_equal(advise(&f.workload, f.topo, f.routes, &opts, &set), 0);
	assert_reason(set, 0, REASON_CAP);
	assert_true(set->items[0].slowdown_after <= 1.3);
	advice_set_free(set);
	opts.max_slowdown = 2;
	assert_int_equal(advise(&f.workload, f.topo, f.routes, &opts, &set), 0);
	assert_true(set->items[0].slowdown_after > 1.3);
	assert_true(set->items[1].slowdown_after < 1.05);
	advice_set_free(set);
	fixture_fini(&f);
}

/* a and b share leaf 0, b and c leaf 1, c and a leaf 2. */
static void
three_jobs_in_a_triangle(struct fixture *f)
{
	fixture_init(f, 3, 2, 1, 50e9);
	ON(fixture_job(f, "a", 2, 100000, 0.3, 50e9), 0, 4);
	ON(fixture_job(f, "b", 2, 100000, 0.3, 50e9), 1, 2);
	ON(fixture_job(f, "c", 2, 100000, 0.3, 50e9), 3, 5);
}

static void
cassini_gives_up_where_antiphase_solves_the_loop(void **state)
{
	struct fixture f;
	struct advice_set *cassini, *ours;

	(void)state;
	three_jobs_in_a_triangle(&f);
	cassini = ask(&f, ADVISE_CASSINI);
	ours = ask(&f, ADVISE_ANTIPHASE);
	assert_true(cassini->has_loop);
	assert_true(ours->has_loop);
	for (size_t j = 0; j < 3; j++) {
		assert_reason(cassini, j, REASON_LOOP_GIVEN_UP);
		assert_int_equal(cassini->items[j].shift_us, 0);
		assert_near(ours->items[j].score_after, 1, 1e-6);
		assert_near(ours->items[j].slowdown_after, 1, 5e-3);
	}
	assert_near(cassini->goodput_after, cassini->goodput_before, 1e-12);
	assert_true(ours->goodput_after > cassini->goodput_after * 1.03);
	advice_set_free(cassini);
	advice_set_free(ours);
	fixture_fini(&f);
}

static void
cassini_interleaves_what_has_no_loop(void **state)
{
	struct fixture f;
	struct advice_set *set;

	(void)state;
	two_jobs(&f, 100000, 0.4, 100000, 0.4);
	set = ask(&f, ADVISE_CASSINI);
	assert_false(set->has_loop);
	assert_true(set->items[0].is_phased && set->items[1].is_phased);
	assert_int_equal(set->items[0].pacing, ENGINE_PACE_REALIGN);
	assert_true(set->items[0].score_after > 0.98);
	assert_near(set->goodput_after, 1, 0.01);
	advice_set_free(set);
	fixture_fini(&f);
}

static void
fair_sharing_changes_nothing(void **state)
{
	struct fixture f;
	struct advice_set *set;

	(void)state;
	two_jobs(&f, 100000, 0.4, 100000, 0.4);
	set = ask(&f, ADVISE_FAIR);
	assert_reason(set, 0, REASON_FAIR_SHARING);
	assert_int_equal(set->items[0].shift_us + set->items[1].shift_us, 0);
	assert_near(set->goodput_after, set->goodput_before, 0);
	advice_set_free(set);
	fixture_fini(&f);
}

/* ---- Placement ------------------------------------------------------------------- */

/*
 * The new job must span two leaves.  Packing would use a leaf whose uplink is busy; two
 * other leaves have only local work.
 */
static void
a_waiting_job_is_placed_apart(void **state)
{
	struct fixture f;
	struct advice_set *fair, *ours;

	(void)state;
	fixture_init(&f, 4, 4, 1, 50e9);
	ON(fixture_job(&f, "a", 2, 100000, 0.5, 50e9), 0, 4);
	ON(fixture_job(&f, "x", 1, 100000, 0.5, 1e9), 8);
	ON(fixture_job(&f, "y", 1, 100000, 0.5, 1e9), 12);
	fixture_job(&f, "b", 4, 97003, 0.5, 50e9);
	fair = ask(&f, ADVISE_FAIR);
	assert_reason(fair, 3, REASON_FAIR_SHARING);
	ours = ask(&f, ADVISE_ANTIPHASE);
	assert_reason(ours, 3, REASON_PLACED_APART);
	assert_true(ours->items[3].placed_by_us);
	for (int i = 0; i < 4; i++)
		assert_true(ours->items[3].hosts[i] >= 8);
	/* The links that the advice avoids. */
	assert_true(ours->items[3].n_links > 0);
	assert_true(ours->items[3].links[0].score_before < 1);
	assert_near(ours->goodput_after, 1, 1e-6);
	assert_true(ours->goodput_after > fair->goodput_after);
	advice_set_free(fair);
	advice_set_free(ours);
	fixture_fini(&f);
}

/* ---- Moves ----------------------------------------------------------------------- */

static struct advice_set *
ask_moves(struct fixture *f, const struct moves_past *past, size_t n_past, double now_s)
{
	struct advise_opts opts = { .policy = ADVISE_ANTIPHASE,
				    .seed = 1,
				    .moves_per_hour = 0.5,
				    .past_moves = past,
				    .n_past_moves = n_past,
				    .now_s = now_s };
	struct advice_set *set = NULL;

	assert_int_equal(advise(&f->workload, f->topo, f->routes, &opts, &set), 0);
	return set;
}

/* Two full leaves with a job across both: b has to give way to a, or nothing helps. */
static void
two_crossing_jobs(struct fixture *f, bool are_movable, int64_t left_s)
{
	fixture_init(f, 3, 4, 1, 50e9);
	ON(fixture_job(f, "a", 4, 100000, 0.7, 50e9), 0, 1, 4, 5);
	ON(fixture_job(f, "b", 4, 97003, 0.7, 50e9), 2, 3, 6, 7);
	for (size_t j = 0; j < 2; j++) {
		f->workload.jobs[j].is_movable = are_movable;
		f->workload.jobs[j].left_ns = left_s * 1000000000;
	}
}

static void
a_movable_job_moves_if_that_pays(void **state)
{
	struct fixture f;
	struct advice_set *set;
	size_t n_moved = 0;

	(void)state;
	two_crossing_jobs(&f, true, 7200);
	set = ask_moves(&f, NULL, 0, 0);
	for (size_t j = 0; j < 2; j++) {
		const struct advice *advice = &set->items[j];

		if (!advice->move)
			continue;
		n_moved++;
		assert_reason(set, j, REASON_MOVED);
		/* The third leaf is empty. */
		assert_int_equal(advice->hosts[0], 8);
		assert_int_equal(advice->hosts[3], 11);
		assert_int_equal(advice->move->from[0], j == 0 ? 0 : 2);
		assert_int_equal(advice->move->n_workers, 4);
		assert_int_equal(advice->move->with, TOPO_NONE);
		assert_near(advice->move->lost_s, 70, 1e-9);
		assert_near(advice->move->cost, 280, 1e-9);
		assert_true(advice->move->gain > 560);
		assert_true(advice->move->payback_s < 3600);
	}
	assert_int_equal(n_moved, 1);
	assert_near(set->goodput_after, 1, 0.01);
	advice_set_free(set);
	fixture_fini(&f);
}

static void
no_job_moves_that_may_not(void **state)
{
	const struct moves_past past[] = { { 0, 0, 1e6 }, { 1, 0, 1e6 } };

	(void)state;
	for (int why = 0; why < 4; why++) {
		struct fixture f;
		struct advice_set *set;

		/* Not movable, about to end, just moved, more than the share. */
		two_crossing_jobs(&f, why != 0, why == 1 ? 100 : 7200);
		set = ask_moves(&f, past,
				why == 2   ? 2
				: why == 3 ? 1
					   : 0,
				why == 2 ? 9000 : 10);
		for (size_t j = 0; j < 2; j++) {
			assert_null(set->items[j].move);
			assert_int_equal(set->items[j].hosts[0],
					 f.workload.jobs[j].hosts[0]);
		}
		advice_set_free(set);
		fixture_fini(&f);
	}
}

static void
levers_are_read_from_a_list(void **state)
{
	struct err err = { .text = "" };
	unsigned levers = 99;

	(void)state;
	assert_int_equal(advise_levers_read("path,move", &levers, &err), 0);
	assert_int_equal(levers, ADVISE_PATH | ADVISE_MOVE);
	assert_true(advise_levers_read("path,mve", &levers, &err) < 0);
	assert_non_null(strstr(err.text, "did you mean 'move'?"));
	assert_int_equal(levers, ADVISE_PATH | ADVISE_MOVE);
}

/* Running jobs that collide, of which one may move, and one that waits. */
static void
jobs_for_all_levers(struct fixture *f, uint64_t seed)
{
	uint32_t order[16];
	struct rng rng;

	rng_init(&rng, seed);
	fixture_init(f, 4, 4, 2, 50e9);
	for (uint32_t i = 0; i < 16; i++)
		order[i] = i;
	rng_shuffle(&rng, order, 16);
	for (uint32_t j = 0; j < 4; j++) {
		struct work_job *job =
			fixture_job(f, (const char[]){ (char)('a' + j), 0 }, 3,
				    j < 2 ? 100000 : 97003, 0.45, 50e9);

		job->first_port = (uint16_t)rng_below(&rng, 60000);
		job->is_movable = j == 3;
		job->left_ns = (int64_t)7200 * 1000000000;
		fixture_on(job, order + (size_t)3 * j);
	}
	fixture_job(f, "w", 2, 100000, 0.45, 50e9);
}

/* Counts in 'n_used' which levers the advice uses. */
static void
count_levers(const struct fixture *f, const struct advice_set *set,
	     const struct advice_set *fair, size_t *n_used)
{
	for (size_t j = 0; j < set->n; j++) {
		const struct advice *advice = &set->items[j];
		size_t bytes = advice->n_hosts * sizeof *advice->hosts;
		bool is_elsewhere =
			memcmp(advice->hosts, fair->items[j].hosts, bytes) != 0;

		n_used[0] += !f->workload.jobs[j].hosts && is_elsewhere;
		n_used[1] += advice->paths != NULL;
		n_used[2] += advice->is_phased || advice->pacing != ENGINE_PACE_FREE;
		n_used[3] += advice->move != NULL;
		if (f->workload.jobs[j].hosts)
			assert_int_equal(is_elsewhere, advice->move != NULL);
	}
}

/* Each of the 15 sets uses its levers only, does no harm, and each lever is of use. */
static void
only_levers_that_are_on_are_used(void **state)
{
	size_t n_all[4] = { 0 };

	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct advice_set *fair;
		struct fixture f;

		jobs_for_all_levers(&f, seed);
		fair = ask(&f, ADVISE_FAIR);
		for (unsigned levers = 1; levers <= ADVISE_ALL_LEVERS; levers++) {
			struct advise_opts opts = { .policy = ADVISE_ANTIPHASE,
						    .seed = 1,
						    .levers = levers,
						    .moves_per_hour = 0.5,
						    .effort_flows = 2e5 };
			struct advice_set *set;
			size_t n_used[4] = { 0 };

			assert_int_equal(
				advise(&f.workload, f.topo, f.routes, &opts, &set), 0);
			count_levers(&f, set, fair, n_used);
			for (int i = 0; i < 4; i++) {
				assert_true(n_used[i] == 0 || levers & 1u << i);
				n_all[i] += n_used[i];
			}
			assert_true(set->goodput_after >= set->goodput_before - 1e-9);
			advice_set_free(set);
		}
		advice_set_free(fair);
		fixture_fini(&f);
	}
	for (int i = 0; i < 4; i++)
		assert_true(n_all[i] > 0);
}

static void
a_job_that_fits_nowhere_waits(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f, 2, 2, 1, 50e9);
	ON(fixture_job(&f, "a", 2, 100000, 0.5, 50e9), 0, 1);
	fixture_job(&f, "b", 3, 100000, 0.5, 50e9);
	for (int policy = 0; policy < N_ADVISE_POLICIES; policy++) {
		struct advice_set *set = ask(&f, (enum advise_policy)policy);

		assert_null(set->items[1].hosts);
		assert_int_equal(set->items[1].n_hosts, 0);
		assert_reason(set, 1, REASON_NO_HOSTS);
		assert_near(set->items[1].slowdown_after, 0, 0);
		advice_set_free(set);
	}
	fixture_fini(&f);
}

/* Two racks without a cable between them. */
static void
a_job_is_never_placed_on_hosts_that_cannot_reach_each_other(void **state)
{
	struct topo_builder *b = topo_builder_new("islands");
	struct fixture f = { 0 };
	uint32_t leaf[2], host[4];

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		char name[] = { 'h', (char)('0' + i), '\0' };

		assert_int_equal(topo_builder_host(b, name, 1, &host[i]), 0);
	}
	assert_int_equal(topo_builder_switch(b, "leaf0", 1, &leaf[0]), 0);
	assert_int_equal(topo_builder_switch(b, "leaf1", 1, &leaf[1]), 0);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(topo_builder_cable(b, host[i], "p0", leaf[i / 2],
						    i % 2 ? "p1" : "p0", 50e9, 50e9),
				 0);
	f.topo = topo_builder_finish(b);
	f.routes = routes_new(f.topo, 1);
	fixture_job(&f, "a", 3, 100000, 0.4, 50e9);
	fixture_job(&f, "b", 2, 100000, 0.4, 50e9);
	fixture_job(&f, "c", 2, 100000, 0.4, 50e9);
	for (int policy = 0; policy < N_ADVISE_POLICIES; policy++) {
		struct advice_set *set = ask(&f, (enum advise_policy)policy);

		assert_reason(set, 0, REASON_NO_HOSTS);
		for (int j = 1; j < 3; j++) {
			assert_int_equal(set->items[j].n_hosts, 2);
			assert_int_equal(set->items[j].hosts[0] / 2,
					 set->items[j].hosts[1] / 2);
		}
		advice_set_free(set);
	}
	fixture_fini(&f);
}

/* Rings on 24 servers, scattered over 6 racks, as after months of operation. */
static void
scattered_rings_on_24_servers_defeat_cassini_and_not_us(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 24);
	for (int round = 0; round < 5; round++) {
		struct fixture f;
		struct advice_set *cassini, *ours;
		uint32_t order[24], n_given_up = 0;

		fixture_init(&f, 6, 4, 2, 50e9);
		for (uint32_t i = 0; i < 24; i++)
			order[i] = i;
		for (uint32_t i = 23; i > 0; i--) {
			uint32_t k = (uint32_t)rng_below(&rng, i + 1), swap = order[i];

			order[i] = order[k];
			order[k] = swap;
		}
		for (uint32_t j = 0; j < 6; j++) {
			struct work_job *job =
				fixture_job(&f, "j", 4, 100000, 0.2, 50e9);

			job->jitter_frac = 0.02;
			fixture_on(job, order + 4 * j);
		}
		cassini = ask(&f, ADVISE_CASSINI);
		ours = ask(&f, ADVISE_ANTIPHASE);
		assert_true(cassini->has_loop);
		for (size_t j = 0; j < 6; j++)
			n_given_up += cassini->items[j].reason == REASON_LOOP_GIVEN_UP;
		assert_true(n_given_up >= 4);
		assert_true(ours->goodput_after > cassini->goodput_after * 1.05);
		for (size_t j = 0; j < 6; j++)
			assert_true(ours->items[j].slowdown_after < 1.03);
		advice_set_free(cassini);
		advice_set_free(ours);
		fixture_fini(&f);
	}
}

static void
an_empty_workload_gets_an_empty_advice(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f, 2, 2, 1, 50e9);
	for (int policy = 0; policy < N_ADVISE_POLICIES; policy++)
		advice_set_free(ask(&f, (enum advise_policy)policy));
	fixture_fini(&f);
}

/* The shift is relative to the job's arrival; the resulting phase is not. */
static void
shifts_take_arrivals_into_account(void **state)
{
	struct fixture f;
	struct advice_set *set;
	int64_t apart_us;

	(void)state;
	two_jobs(&f, 100000, 0.4, 100000, 0.4);
	f.workload.jobs[1].arrival_ns = 1030000000;
	set = ask(&f, ADVISE_ANTIPHASE);
	apart_us = (1030000 + set->items[1].shift_us - set->items[0].shift_us) % 100000;
	assert_int_equal(apart_us, 50000);
	/* Of the two possible delays the shorter one was taken. */
	assert_int_equal(set->items[0].shift_us + set->items[1].shift_us, 20000);
	advice_set_free(set);
	fixture_fini(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_by_itself_is_alone),
		cmocka_unit_test(jobs_whose_peaks_fit_together_are_left_alone),
		cmocka_unit_test(equal_periods_are_interleaved_against_a_reference),
		cmocka_unit_test(jitter_asks_for_a_gate_beside_the_shift),
		cmocka_unit_test(bursts_that_fit_only_in_part_are_reduced),
		cmocka_unit_test(unrelated_periods_are_named_as_such),
		cmocka_unit_test(
			periods_measured_apart_are_interleaved_within_their_errors),
		cmocka_unit_test(a_full_link_has_no_room),
		cmocka_unit_test(
			a_shift_that_costs_more_than_it_gains_gives_way_to_turns),
		cmocka_unit_test(nothing_is_advised_if_nothing_pays),
		cmocka_unit_test(the_cap_protects_a_light_job),
		cmocka_unit_test(cassini_gives_up_where_antiphase_solves_the_loop),
		cmocka_unit_test(cassini_interleaves_what_has_no_loop),
		cmocka_unit_test(fair_sharing_changes_nothing),
		cmocka_unit_test(a_waiting_job_is_placed_apart),
		cmocka_unit_test(a_movable_job_moves_if_that_pays),
		cmocka_unit_test(no_job_moves_that_may_not),
		cmocka_unit_test(levers_are_read_from_a_list),
		cmocka_unit_test(only_levers_that_are_on_are_used),
		cmocka_unit_test(a_job_that_fits_nowhere_waits),
		cmocka_unit_test(
			a_job_is_never_placed_on_hosts_that_cannot_reach_each_other),
		cmocka_unit_test(
			scattered_rings_on_24_servers_defeat_cassini_and_not_us),
		cmocka_unit_test(an_empty_workload_gets_an_empty_advice),
		cmocka_unit_test(shifts_take_arrivals_into_account),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
