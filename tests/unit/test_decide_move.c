/* SPDX-License-Identifier: Apache-2.0 */
/* test_decide_move.c - moves of running jobs: which may move, and each step of a move */
#include <errno.h>

#include "lib/base/alloc.h"
#include "tests/unit/decide_cluster.h"

/* The job 10 runs on n0 and n4, and should go on on n0 and n1. */
static struct sched_job *
set_up_move(struct cluster *c, const char *mode)
{
	struct err err;
	struct sched_job *job;

	set_up(c, mode);
	assert_int_equal(modes_read_movers(&c->modes, "p,", &err), 0);
	job = add_job(c);
	job->state = SCHED_RUNNING;
	job->nodes = (char *)"n[0,4]";
	job->reason = (char *)"";
	job->eligible_us = 0;
	job->is_gated = false;
	job->is_movable = job->can_requeue = true;
	c->nodes[0].state = c->nodes[4].state = SCHED_NODE_TAKEN;
	c->advice[0] = (struct decide_advice){ .answer = DECIDE_ANYWHERE,
					       .valid_until_us = NOW + 300 * S,
					       .move_nodes = "n[0-1]",
					       .move_payback_s = 60 };
	return job;
}

/* Slurm has stopped it: it waits for its delay, and its nodes are free. */
static void
stop(struct cluster *c, struct sched_job *job)
{
	job->state = SCHED_WAITING;
	job->nodes = (char *)"";
	job->n_restarts++;
	job->eligible_us = c->view.now_us + 121 * S;
	c->nodes[0].state = c->nodes[4].state = SCHED_NODE_FREE;
}

static enum decide_kind
kind_of(struct cluster *c)
{
	assert_non_null(decide_find(&c->changes, "10"));
	return decide_find(&c->changes, "10")->kind;
}

/* ---- Which jobs may move --------------------------------------------------------- */

static void
a_job_is_requeued_only_where_user_and_partition_allow_it(void **state)
{
	enum world {
		NOTHING,
		OBSERVE,
		ADVISE,
		OFF,
		PARTITION,
		UNMARKED,
		NO_REQUEUE,
		FEATURES,
		HIS_NODES,
		OUR_NODES,
		TASK,
		NO_ADVICE,
		OLD_ADVICE,
		OLD_SNAPSHOT,
		TAKEN,
		DOWN,
		TOO_FEW,
		SAME,
		QUEUE,
		GATED,
		DELAYED,
		OTHER_MOVES,
	};

	static const struct {
		enum world world;
		const char *wanted;
	} cases[] = {
		{ NOTHING, "requeue 10 n[0-1] pays" },
		{ OBSERVE, "" },
		{ ADVISE, "" },
		{ OFF, "" },
		{ PARTITION, "" },
		{ UNMARKED, "" },
		{ NO_REQUEUE, "" },
		{ FEATURES, "" },
		{ HIS_NODES, "" },
		{ OUR_NODES, "requeue 10 n[0-1] pays" },
		{ TASK, "" },
		{ NO_ADVICE, "" },
		{ OLD_ADVICE, "" },
		{ OLD_SNAPSHOT, "" },
		{ TAKEN, "" },
		{ DOWN, "" },
		{ TOO_FEW, "" },
		{ SAME, "" },
		{ QUEUE, "" },
		{ GATED, "" },
		{ DELAYED, "requeue 10 n[0-1] pays" },
		{ OTHER_MOVES, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		enum world world = cases[i].world;
		struct decide_change *other;
		struct cluster c;
		struct sched_job *job = set_up_move(&c, world == OBSERVE  ? "observe"
							: world == ADVISE ? "advise"
									  : "enforce");

		switch (world) {
		case OFF:
			c.modes.is_stopped = true;
			break;
		case PARTITION:
			job->partition = (char *)"other";
			break;
		case UNMARKED:
			job->is_movable = false;
			break;
		case NO_REQUEUE:
			job->can_requeue = false;
			break;
		case FEATURES:
			job->features = (char *)"fast";
			break;
		case HIS_NODES:
		case OUR_NODES:
			job->required = (char *)"n[0,4]";
			job->is_pinned = world == OUR_NODES;
			break;
		case TASK:
			job->id = (char *)"10_1";
			break;
		case NO_ADVICE:
			c.advice[0].move_nodes = NULL;
			break;
		case OLD_ADVICE:
			c.advice[0].valid_until_us = NOW;
			break;
		case OLD_SNAPSHOT:
			c.view.now_us += DECIDE_PLACE_US;
			break;
		case TAKEN:
			c.nodes[1].state = SCHED_NODE_MIXED;
			break;
		case DOWN:
			c.nodes[1].state = SCHED_NODE_DOWN;
			break;
		case TOO_FEW:
			c.advice[0].move_nodes = "n1";
			break;
		case SAME:
			c.advice[0].move_nodes = "n4,n0";
			break;
		case QUEUE:
			add_job(&c)->is_gated = false;
			c.jobs[1].is_queued = true;
			break;
		case GATED:
			add_job(&c);
			break;
		case DELAYED:
			add_job(&c)->is_gated = false;
			break;
		case OTHER_MOVES:
			add_job(&c)->is_gated = false;
			other = decide_add(&c.changes, "11");
			other->kind = DECIDE_MOVE;
			other->is_under_way = true;
			break;
		default:
			break;
		}
		run(&c);
		expect(&c, cases[i].wanted);
		if (c.actions.items.n) {
			assert_near(c.actions.items.items[0].payback_s, 60, 0);
			assert_false(c.actions.items.items[0].is_requeued);
		}
		tear_down(&c);
	}
}

static void
one_job_moves_at_a_time(void **state)
{
	struct sched_job *second;
	struct cluster c;

	(void)state;
	set_up_move(&c, "enforce");
	second = add_job(&c);
	*second = c.jobs[0];
	second->id = ids[1];
	second->nodes = (char *)"n[2,5]";
	c.nodes[2].state = c.nodes[5].state = SCHED_NODE_TAKEN;
	c.advice[1] = c.advice[0];
	c.advice[1].move_nodes = "n[2-3]";
	run(&c);
	expect(&c, "requeue 10 n[0-1] pays");
	tear_down(&c);
}

/* ---- A move ---------------------------------------------------------------------- */

static void
a_requeued_job_gets_its_place_when_its_nodes_are_free(void **state)
{
	struct cluster c;
	struct sched_job *job = set_up_move(&c, "enforce");

	(void)state;
	run_and_do(&c);
	expect(&c, "requeue 10 n[0-1] pays");
	assert_int_equal(kind_of(&c), DECIDE_MOVE);
	/* Its processes end. */
	go_on(&c, 2 * S);
	run_and_do(&c);
	expect(&c, "");
	job->state = SCHED_ENDING;
	job->n_restarts++;
	go_on(&c, 2 * S);
	run_and_do(&c);
	expect(&c, "");
	job->n_restarts--;
	stop(&c, job);
	c.nodes[0].state = SCHED_NODE_TAKEN;
	go_on(&c, S);
	run_and_do(&c);
	expect(&c, "");
	c.nodes[0].state = SCHED_NODE_FREE;
	run_and_do(&c);
	expect(&c, "place 10 n[0-1] pays");
	assert_true(c.actions.items.items[0].is_requeued);
	assert_string_equal(c.actions.items.items[0].record, "antiphase:v1;moved");
	assert_int_equal(kind_of(&c), DECIDE_PIN);
	/* Its requeue is no reason to take the pin back. */
	job->required = (char *)"n[0-1]";
	go_on(&c, 2 * S);
	run_and_do(&c);
	expect(&c, "");
	job->state = SCHED_RUNNING;
	job->nodes = (char *)"n[0-1]";
	c.advice[0].move_nodes = NULL;
	go_on(&c, 2 * S);
	run_and_do(&c);
	expect(&c, "");
	assert_int_equal(kind_of(&c), DECIDE_RECORDED);
	tear_down(&c);
}

/* Slurm refuses a start on a node where the old run ended in the same second. */
static void
a_requeued_job_does_not_start_at_once(void **state)
{
	struct cluster c;
	struct sched_job *job = set_up_move(&c, "enforce");

	(void)state;
	run_and_do(&c);
	stop(&c, job);
	go_on(&c, DECIDE_STOPPED_US - S / 10);
	run_and_do(&c);
	expect(&c, "");
	go_on(&c, S / 10);
	run_and_do(&c);
	expect(&c, "place 10 n[0-1] pays");
	tear_down(&c);
}

static void
a_requeued_job_is_let_go_where_its_place_is_lost(void **state)
{
	enum world {
		DOWN,
		BUSY,
		OFF,
		MODE,
		END,
		ASKED,
	};

	static const struct {
		enum world world;
		const char *wanted;
	} cases[] = {
		{ DOWN, "let_go 10 - node_down" }, { BUSY, "let_go 10 - busy" },
		{ OFF, "let_go 10 - stopped" },    { MODE, "let_go 10 - stopped" },
		{ END, "let_go 10 - stopped" },    { ASKED, "let_go 10 - asked" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cluster c;
		struct sched_job *job = set_up_move(&c, "enforce");

		run_and_do(&c);
		stop(&c, job);
		go_on(&c, 2 * S);
		switch (cases[i].world) {
		case DOWN:
			c.nodes[1].state = SCHED_NODE_DOWN;
			break;
		case BUSY:
			c.nodes[1].state = SCHED_NODE_TAKEN;
			run_and_do(&c);
			expect(&c, "");
			go_on(&c, DECIDE_MOVE_WAIT_US);
			break;
		case OFF:
			c.modes.is_stopped = true;
			break;
		case MODE:
			c.modes.usual = MODE_ADVISE;
			break;
		case END:
			c.view.is_ending = true;
			break;
		case ASKED:
			decide_find(&c.changes, "10")->is_unwanted = true;
			break;
		}
		run_and_do(&c);
		expect(&c, cases[i].wanted);
		assert_true(c.actions.items.items[0].is_requeued);
		assert_int_equal(kind_of(&c), DECIDE_OVER);
		go_on(&c, 2 * S);
		run_and_do(&c);
		expect(&c, "");
		tear_down(&c);
	}
}

static void
a_job_that_is_not_stopped_or_starts_by_itself_is_left_alone(void **state)
{
	struct cluster c;
	struct sched_job *job = set_up_move(&c, "enforce");

	(void)state;
	run_and_do(&c);
	c.advice[0].move_nodes = NULL;
	go_on(&c, DECIDE_MOVE_WAIT_US);
	run_and_do(&c);
	expect(&c, "");
	assert_int_equal(kind_of(&c), DECIDE_OVER);
	tear_down(&c);
	job = set_up_move(&c, "enforce");
	run_and_do(&c);
	stop(&c, job);
	job->state = SCHED_RUNNING;
	job->nodes = (char *)"n[5-6]";
	c.advice[0].move_nodes = NULL;
	go_on(&c, 2 * S);
	run_and_do(&c);
	expect(&c, "");
	assert_int_equal(kind_of(&c), DECIDE_OVER);
	tear_down(&c);
}

static void
a_refused_requeue_is_tried_three_times(void **state)
{
	struct cluster c;
	int n = 0;

	(void)state;
	set_up_move(&c, "enforce");
	for (int i = 0; i < 10; i++) {
		run(&c);
		for (size_t k = 0; k < c.actions.items.n; k++) {
			const struct decide_action *a = &c.actions.items.items[k];

			assert_int_equal(a->kind, SCHED_REQUEUE);
			decide_note(&c.changes, a, "", c.view.now_us);
			decide_done(&c.changes, a, -EIO, c.view.now_us);
			assert_int_equal(kind_of(&c), DECIDE_OVER);
			n++;
		}
		go_on(&c, DECIDE_RECORD_US);
		c.advice[0].valid_until_us += DECIDE_RECORD_US;
	}
	assert_int_equal(n, 3);
	tear_down(&c);
}

/* ---- Restarts -------------------------------------------------------------------- */

static void
a_daemon_started_again_lets_the_requeued_job_go(void **state)
{
	struct cluster c;
	struct sched_job *job = set_up_move(&c, "enforce");

	(void)state;
	run_and_do(&c);
	stop(&c, job);
	go_on(&c, 2 * S);
	c.view.started_us = c.view.now_us;
	c.view.is_first = true;
	decide_find(&c.changes, "10")->done_us = 0;
	run_and_do(&c);
	expect(&c, "let_go 10 - left");
	tear_down(&c);
	/* The pin of the run before is taken back first. */
	job = set_up_move(&c, "enforce");
	job->required = (char *)"n[0,4]";
	job->is_pinned = true;
	run_and_do(&c);
	expect(&c, "requeue 10 n[0-1] pays");
	stop(&c, job);
	go_on(&c, 2 * S);
	run_and_do(&c);
	expect(&c, "");
	c.view.started_us = c.view.now_us;
	c.view.is_first = true;
	decide_find(&c.changes, "10")->done_us = 0;
	run_and_do(&c);
	expect(&c, "unpin 10 - left");
	tear_down(&c);
	/* It was killed before it asked. */
	set_up_move(&c, "enforce");
	run_and_do(&c);
	go_on(&c, 2 * S);
	c.view.started_us = c.view.now_us;
	decide_find(&c.changes, "10")->done_us = 0;
	c.advice[0].move_nodes = NULL;
	run_and_do(&c);
	expect(&c, "");
	assert_int_equal(kind_of(&c), DECIDE_OVER);
	tear_down(&c);
}

static void
a_moved_job_that_is_requeued_again_loses_its_pin(void **state)
{
	struct cluster c;
	struct sched_job *job = set_up_move(&c, "enforce");

	(void)state;
	run_and_do(&c);
	stop(&c, job);
	go_on(&c, 4 * S);
	run_and_do(&c);
	expect(&c, "place 10 n[0-1] pays");
	job->required = (char *)"n[0-1]";
	job->n_restarts++;
	go_on(&c, 2 * S);
	run_and_do(&c);
	expect(&c, "unpin 10 - left");
	tear_down(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_job_is_requeued_only_where_user_and_partition_allow_it),
		cmocka_unit_test(one_job_moves_at_a_time),
		cmocka_unit_test(a_requeued_job_gets_its_place_when_its_nodes_are_free),
		cmocka_unit_test(a_requeued_job_does_not_start_at_once),
		cmocka_unit_test(a_requeued_job_is_let_go_where_its_place_is_lost),
		cmocka_unit_test(
			a_job_that_is_not_stopped_or_starts_by_itself_is_left_alone),
		cmocka_unit_test(a_refused_requeue_is_tried_three_times),
		cmocka_unit_test(a_daemon_started_again_lets_the_requeued_job_go),
		cmocka_unit_test(a_moved_job_that_is_requeued_again_loses_its_pin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
