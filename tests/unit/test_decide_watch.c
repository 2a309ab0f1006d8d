/* SPDX-License-Identifier: Apache-2.0 */
/* test_decide_watch.c - what happens to jobs that antiphase pinned */
#include <errno.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "tests/unit/decide_cluster.h"

/* ---- The watchdog ---------------------------------------------------------------- */

static void
a_pin_that_is_not_right_any_more_is_taken_back(void **state)
{
	enum world {
		NOTHING,
		DOWN,
		GONE,
		TAKEN,
		MIXED,
		SHORTLY_TAKEN,
		LATE,
		OLD,
		OFF,
		MODE,
		END,
		ASKED,
		STARTED,
		RUNS,
		VANISHED,
		HIS,
	};

	static const struct {
		enum world world;
		const char *wanted;
	} cases[] = {
		{ NOTHING, "" },
		{ DOWN, "unpin 10 - node_down" },
		{ GONE, "unpin 10 - node_down" },
		{ TAKEN, "unpin 10 - busy" },
		{ MIXED, "unpin 10 - busy" },
		{ SHORTLY_TAKEN, "" },
		{ LATE, "unpin 10 - waited" },
		{ OLD, "unpin 10 - expired" },
		{ OFF, "unpin 10 - stopped" },
		{ MODE, "unpin 10 - stopped" },
		{ END, "unpin 10 - stopped" },
		{ ASKED, "unpin 10 - asked" },
		{ STARTED, "" },
		{ RUNS, "" },
		{ VANISHED, "" },
		{ HIS, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cluster c;
		struct sched_job *job;
		struct decide_change *change;
		char *text;

		set_up(&c, "enforce");
		job = add_job(&c);
		advise_at(&c, job, "n[0-1]");
		run_and_do(&c);
		expect(&c, "place 10 n[0-1] placed");
		go_on(&c, 2 * S);
		run_and_do(&c);
		expect(&c, "");
		change = decide_find(&c.changes, "10");
		assert_non_null(change);
		assert_int_equal(change->kind, DECIDE_PIN);
		switch (cases[i].world) {
		case DOWN:
			c.nodes[0].state = SCHED_NODE_DOWN;
			break;
		case GONE:
			c.host.nodes = c.nodes + 1;
			c.host.n_nodes = 7;
			break;
		case TAKEN:
		case MIXED:
			c.nodes[0].state = cases[i].world == TAKEN ? SCHED_NODE_TAKEN
								   : SCHED_NODE_MIXED;
			run(&c);
			expect(&c, "");
			go_on(&c, DECIDE_BUSY_US);
			break;
		case SHORTLY_TAKEN:
			c.nodes[0].state = SCHED_NODE_TAKEN;
			run(&c);
			c.nodes[0].state = SCHED_NODE_FREE;
			run(&c);
			c.nodes[0].state = SCHED_NODE_TAKEN;
			go_on(&c, DECIDE_BUSY_US);
			break;
		case LATE:
			go_on(&c, 60 * S);
			break;
		case OLD:
			change->valid_until_us = NOW + S;
			break;
		case OFF:
			c.modes.is_stopped = true;
			break;
		case MODE:
			assert_int_equal(modes_change(&c.modes, "p", MODE_ADVISE), 0);
			break;
		case END:
			c.view.is_ending = true;
			break;
		case ASKED:
			change->is_unwanted = true;
			break;
		case STARTED:
			job->state = SCHED_STARTING;
			job->nodes = (char *)"n[0-1]";
			break;
		case RUNS:
			job->state = SCHED_RUNNING;
			break;
		case VANISHED:
			c.host.n_jobs = 0;
			break;
		case HIS:
			job->is_pinned = false;
			job->required = (char *)"n7";
			break;
		default:
			break;
		}
		run_and_do(&c);
		text = text_of(&c.actions);
		if (strcmp(text, cases[i].wanted) != 0)
			fail_msg("case %zu: expected '%s', not '%s'", i,
				 cases[i].wanted, text);
		free(text);
		/* No later event causes another action for it. */
		c.advice[0].record = NULL;
		c.nodes[0].state = SCHED_NODE_TAKEN;
		go_on(&c, 2 * S);
		if (cases[i].world != NOTHING && cases[i].world != SHORTLY_TAKEN) {
			run(&c);
			expect(&c, "");
			go_on(&c, 3600 * S);
			run(&c);
			expect(&c, "");
		}
		if (cases[i].world == VANISHED)
			assert_null(decide_find(&c.changes, "10"));
		tear_down(&c);
	}
}

static void
a_job_that_is_gone_is_told_to_be_forgotten(void **state)
{
	struct cluster c;

	(void)state;
	set_up(&c, "enforce");
	advise_at(&c, add_job(&c), "n[0-1]");
	run_and_do(&c);
	c.host.n_jobs = 0;
	go_on(&c, 2 * S);
	run(&c);
	assert_int_equal(c.actions.forgotten.n, 1);
	assert_string_equal(c.actions.forgotten.items[0], "10");
	tear_down(&c);
}

static void
an_unpin_that_fails_is_asked_for_again(void **state)
{
	struct cluster c;

	(void)state;
	set_up(&c, "enforce");
	advise_at(&c, add_job(&c), "n[0-1]");
	run_and_do(&c);
	c.modes.is_stopped = true;
	for (int round = 0; round < 5; round++) {
		go_on(&c, 2 * S);
		run(&c);
		expect(&c, "unpin 10 - stopped");
		decide_note(&c.changes, &c.actions.items.items[0], "", c.view.now_us);
		decide_done(&c.changes, &c.actions.items.items[0], -ETIMEDOUT,
			    c.view.now_us);
	}
	go_on(&c, 2 * S);
	run_and_do(&c);
	expect(&c, "unpin 10 - stopped");
	go_on(&c, 2 * S);
	run(&c);
	expect(&c, "");
	tear_down(&c);
}

/* The store may be lost, or the daemon killed before it recorded its action. */
static void
a_pin_that_nothing_is_known_of_is_looked_after(void **state)
{
	struct cluster c;
	struct sched_job *job;
	struct decide_change *change;

	(void)state;
	set_up(&c, "enforce");
	job = add_job(&c);
	job->is_gated = false;
	job->is_pinned = true;
	job->required = (char *)"n[2-3]";
	job->record = (char *)"antiphase:v1;pinned";
	run(&c);
	assert_int_equal(c.actions.items.n, 0);
	assert_int_equal(c.actions.adopted.n, 1);
	assert_string_equal(c.actions.adopted.items[0], job->id);
	change = decide_find(&c.changes, job->id);
	assert_non_null(change);
	assert_int_equal(change->kind, DECIDE_PIN);
	assert_string_equal(change->nodes, "n[2-3]");
	/* Once. */
	run(&c);
	assert_int_equal(c.actions.adopted.n, 0);
	/* Like any other pin, when one of its nodes goes down, */
	c.nodes[3].state = SCHED_NODE_DOWN;
	run(&c);
	assert_int_equal(c.actions.items.n, 1);
	assert_int_equal(c.actions.items.items[0].kind, SCHED_UNPIN);
	assert_int_equal(c.actions.items.items[0].why, DECIDE_NODE_DOWN);
	/* or after a timeout. */
	c.nodes[3].state = SCHED_NODE_FREE;
	go_on(&c, 61 * S);
	run(&c);
	assert_int_equal(c.actions.items.n, 1);
	assert_int_equal(c.actions.items.items[0].kind, SCHED_UNPIN);
	tear_down(&c);

	/* Given up as not ours, but then pinned by our late command. */
	set_up(&c, "enforce");
	job = add_job(&c);
	job->is_gated = false;
	job->is_pinned = true;
	job->required = (char *)"n[2-3]";
	decide_add(&c.changes, job->id)->kind = DECIDE_OVER;
	run(&c);
	assert_int_equal(c.actions.adopted.n, 1);
	assert_int_equal(decide_find(&c.changes, job->id)->kind, DECIDE_PIN);
	/* A running job is no longer pinned. */
	decide_remove(&c.changes, job->id);
	job->state = SCHED_RUNNING;
	run(&c);
	assert_int_equal(c.actions.adopted.n, 0);
	assert_null(decide_find(&c.changes, job->id));
	tear_down(&c);
}

/* Adds a waiting job with a pin of ours. */
static struct sched_job *
add_pinned(struct cluster *c, const char *nodes)
{
	struct sched_job *job = add_job(c);

	job->is_gated = false;
	job->is_pinned = true;
	job->required = (char *)nodes;
	job->record = (char *)"antiphase:v1;pinned";
	return job;
}

/* Nodes that were free when the job was pinned may be busy after a restart. */
static void
pins_of_another_run_are_taken_back_at_once(void **state)
{
	struct cluster c;
	struct decide_change *change;

	(void)state;
	/* First a pin that the store has, then an unknown one. */
	for (int is_known = 0; is_known < 2; is_known++) {
		set_up(&c, "enforce");
		add_pinned(&c, "n[0-1]");
		c.view.started_us = NOW - S;
		c.view.is_first = true;
		if (is_known) {
			change = decide_add(&c.changes, "10");
			change->kind = DECIDE_PIN;
			free(change->nodes);
			change->nodes = xstrdup("n[0-1]");
			change->at_us = NOW - 2 * S;
			change->valid_until_us = NOW + 300 * S;
		}
		run_and_do(&c);
		expect(&c, "unpin 10 - left");
		c.view.is_first = false;
		go_on(&c, 2 * S);
		run(&c);
		expect(&c, "");
		tear_down(&c);
	}
	/* A pin with our mark that appears while we run gets its full time. */
	set_up(&c, "enforce");
	add_pinned(&c, "n[0-1]");
	c.view.started_us = NOW - S;
	run(&c);
	expect(&c, "");
	tear_down(&c);
}

static void
a_requeued_job_is_unpinned_at_once(void **state)
{
	struct cluster c;
	struct sched_job *job;

	(void)state;
	/* With and without a snapshot of the job running. */
	for (int is_seen = 0; is_seen < 2; is_seen++) {
		set_up(&c, "enforce");
		job = add_job(&c);
		advise_at(&c, job, "n[0-1]");
		run_and_do(&c);
		expect(&c, "place 10 n[0-1] placed");
		c.advice[0].record = NULL;
		go_on(&c, 2 * S);
		if (is_seen) {
			job->state = SCHED_RUNNING;
			run_and_do(&c);
			go_on(&c, 20 * S);
			job->state = SCHED_WAITING;
		}
		job->n_restarts = 1;
		job->required = (char *)"n[0-1]";
		run_and_do(&c);
		expect(&c, "unpin 10 - left");
		go_on(&c, 2 * S);
		run(&c);
		expect(&c, "");
		tear_down(&c);
	}
}

static void
a_clock_that_is_set_back_keeps_no_pin(void **state)
{
	struct cluster c;

	(void)state;
	set_up(&c, "enforce");
	advise_at(&c, add_job(&c), "n[0-1]");
	run_and_do(&c);
	expect(&c, "place 10 n[0-1] placed");
	go_on(&c, -3600 * S);
	run_and_do(&c);
	expect(&c, "unpin 10 - waited");
	tear_down(&c);
}

/* The job was read before it started, its nodes after that. */
static void
one_look_makes_no_place_busy(void **state)
{
	struct cluster c;

	(void)state;
	set_up(&c, "enforce");
	advise_at(&c, add_job(&c), "n[0-1]");
	run_and_do(&c);
	go_on(&c, 2 * S);
	c.nodes[0].state = SCHED_NODE_TAKEN;
	for (int i = 0; i < 10; i++) {
		run(&c);
		expect(&c, "");
		c.view.now_us += S;
	}
	c.host.at_us = c.view.now_us;
	run(&c);
	expect(&c, "unpin 10 - busy");
	tear_down(&c);
}

static void
nodes_that_somebody_chose_since_are_his(void **state)
{
	struct cluster c;
	struct sched_job *job;

	(void)state;
	set_up(&c, "enforce");
	job = add_job(&c);
	advise_at(&c, job, "n[0-1]");
	run_and_do(&c);
	/* The same nodes in another notation; then other nodes. */
	job->required = (char *)"n1,n0";
	go_on(&c, 2 * S);
	run(&c);
	expect(&c, "");
	assert_int_equal(decide_find(&c.changes, "10")->kind, DECIDE_PIN);
	job->required = (char *)"n[1-2]";
	for (int i = 0; i < 100; i++) {
		go_on(&c, 2 * S);
		run(&c);
		expect(&c, "");
	}
	tear_down(&c);
}

/* ---- Random worlds --------------------------------------------------------------- */

/* Advances a job as the scheduler would. */
static void
live_on(struct cluster *c, struct sched_job *job, struct rng *rng)
{
	size_t i = (size_t)(job - c->jobs);

	if (job->state == SCHED_WAITING && job->is_gated &&
	    c->view.now_us >= job->eligible_us)
		job->is_gated = false;
	if (job->state == SCHED_WAITING && !job->is_gated && rng_below(rng, 6) == 0)
		job->state = SCHED_RUNNING;
	c->advice[i].answer = (enum decide_answer)rng_below(rng, 4);
	c->advice[i].valid_until_us = c->view.now_us + (int64_t)rng_below(rng, 60) * S;
}

/*
 * In random worlds, we keep no job at the gate, our pins never make two jobs wait for
 * one node, and after the kill switch nothing of ours is left.
 */
static void
nobody_is_stuck_whatever_happens(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct rng rng;
		struct cluster c;

		rng_init(&rng, seed);
		set_up(&c, "enforce");
		for (int i = 0; i < 4; i++)
			advise_at(&c, add_job(&c), i % 2 ? "n[0-1]" : "n[1-2]");
		for (int round = 0; round < 60; round++) {
			for (size_t i = 0; i < c.host.n_jobs; i++)
				live_on(&c, &c.jobs[i], &rng);
			for (size_t i = 0; i < 8; i++)
				if (rng_below(&rng, 10) == 0)
					c.nodes[i].state =
						(enum sched_node_state)rng_below(&rng,
										 4);
			if (rng_below(&rng, 40) == 0)
				c.modes.is_stopped = !c.modes.is_stopped;
			run_and_do(&c);
			for (size_t i = 0; i < c.host.n_jobs; i++) {
				const struct sched_job *job = &c.jobs[i];
				const struct decide_change *change =
					decide_find(&c.changes, job->id);

				if (job->state == SCHED_WAITING && job->is_pinned)
					assert_true(change &&
						    change->kind == DECIDE_PIN &&
						    c.view.now_us - change->at_us <=
							    64 * S);
			}
			go_on(&c, S);
		}
		c.modes.is_stopped = true;
		for (int round = 0; round < 6; round++) {
			run_and_do(&c);
			go_on(&c, S);
		}
		for (size_t i = 0; i < c.host.n_jobs; i++)
			assert_false(c.jobs[i].state == SCHED_WAITING &&
				     c.jobs[i].is_pinned);
		run(&c);
		expect(&c, "");
		tear_down(&c);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pin_that_is_not_right_any_more_is_taken_back),
		cmocka_unit_test(a_job_that_is_gone_is_told_to_be_forgotten),
		cmocka_unit_test(an_unpin_that_fails_is_asked_for_again),
		cmocka_unit_test(a_pin_that_nothing_is_known_of_is_looked_after),
		cmocka_unit_test(pins_of_another_run_are_taken_back_at_once),
		cmocka_unit_test(a_requeued_job_is_unpinned_at_once),
		cmocka_unit_test(a_clock_that_is_set_back_keeps_no_pin),
		cmocka_unit_test(one_look_makes_no_place_busy),
		cmocka_unit_test(nodes_that_somebody_chose_since_are_his),
		cmocka_unit_test(nobody_is_stuck_whatever_happens),
	};

	return cmocka_run_group_tests_name("decide_watch", tests, NULL, NULL);
}
