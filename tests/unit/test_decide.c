/* SPDX-License-Identifier: Apache-2.0 */
/* test_decide.c - decisions about gated and running jobs, case by case */
#include <errno.h>
#include <stdio.h>

#include "tests/unit/decide_cluster.h"

/* ---- Jobs at the gate ------------------------------------------------------------ */

enum tweak {
	PLAIN,
	ONE_NODE,
	USER_PINNED,
	NODE_DOWN,
	NODE_TAKEN,
	NODE_MIXED,
	NODE_TAKEN_AT_THE_END,
	NODE_UNKNOWN,
	TOO_FEW_NODES,
	BAD_LIST,
	AT_THE_END,
	OLD_ADVICE,
	NOT_GATED,
	OLD_LOOK,
	LOOK_NOT_NEW,
	NO_LOOK,
	SWITCHED_OFF,
	ENDING,
};

static void
apply(struct cluster *c, struct sched_job *job, enum tweak tweak)
{
	switch (tweak) {
	case ONE_NODE:
		job->n_nodes = 1;
		break;
	case USER_PINNED:
		job->required = (char *)"n[6-7]";
		break;
	case NODE_DOWN:
		c->nodes[1].state = SCHED_NODE_DOWN;
		break;
	case NODE_TAKEN_AT_THE_END:
		job->eligible_us = NOW + S;
		c->nodes[1].state = SCHED_NODE_TAKEN;
		break;
	case NODE_TAKEN:
		c->nodes[1].state = SCHED_NODE_TAKEN;
		break;
	case NODE_MIXED:
		c->nodes[1].state = SCHED_NODE_MIXED;
		break;
	case NODE_UNKNOWN:
		c->advice[0].nodes = "n[0,9]";
		break;
	case TOO_FEW_NODES:
		c->advice[0].nodes = "n0";
		break;
	case BAD_LIST:
		c->advice[0].nodes = "n[0-";
		break;
	case AT_THE_END:
		job->eligible_us = NOW + S;
		break;
	case OLD_ADVICE:
		c->advice[0].valid_until_us = NOW;
		break;
	case NOT_GATED:
		job->is_gated = false;
		break;
	case OLD_LOOK:
		c->host.at_us = NOW - DECIDE_MAX_SNAPSHOT_AGE - 1;
		break;
	case LOOK_NOT_NEW:
		c->host.at_us = NOW - DECIDE_PLACE_US;
		break;
	case NO_LOOK:
		c->view.snapshot = NULL;
		break;
	case SWITCHED_OFF:
		c->modes.is_stopped = true;
		break;
	case ENDING:
		c->view.is_ending = true;
		break;
	default:
		break;
	}
}

static void
what_is_done_about_a_job_at_the_gate(void **state)
{
	static const struct {
		const char *mode;
		enum decide_answer answer;
		enum tweak tweak;
		const char *wanted;
	} cases[] = {
		{ "enforce", DECIDE_AT, PLAIN, "place 10 n[0-1] placed" },
		{ "enforce", DECIDE_REFUSED, PLAIN, "let_go 10 - thin" },
		{ "enforce", DECIDE_ANYWHERE, PLAIN, "let_go 10 - no_place" },
		{ "enforce", DECIDE_NO_ANSWER, PLAIN, "" },
		{ "enforce", DECIDE_NO_ANSWER, AT_THE_END, "let_go 10 - nothing_told" },
		{ "enforce", DECIDE_AT, AT_THE_END, "place 10 n[0-1] placed" },
		{ "enforce", DECIDE_AT, ONE_NODE, "let_go 10 - one_node" },
		{ "enforce", DECIDE_AT, USER_PINNED, "let_go 10 - user_pinned" },
		{ "enforce", DECIDE_AT, NODE_DOWN, "let_go 10 - no_place" },
		{ "enforce", DECIDE_AT, NODE_TAKEN, "" },
		{ "enforce", DECIDE_AT, NODE_MIXED, "" },
		{ "enforce", DECIDE_AT, NODE_TAKEN_AT_THE_END, "let_go 10 - no_place" },
		{ "enforce", DECIDE_AT, NODE_UNKNOWN, "let_go 10 - no_place" },
		{ "enforce", DECIDE_AT, TOO_FEW_NODES, "let_go 10 - no_place" },
		{ "enforce", DECIDE_AT, BAD_LIST, "let_go 10 - no_place" },
		{ "enforce", DECIDE_AT, OLD_ADVICE, "" },
		{ "enforce", DECIDE_AT, NOT_GATED, "" },
		{ "enforce", DECIDE_AT, OLD_LOOK, "" },
		{ "enforce", DECIDE_AT, LOOK_NOT_NEW, "" },
		{ "enforce", DECIDE_REFUSED, LOOK_NOT_NEW, "let_go 10 - thin" },
		{ "enforce", DECIDE_AT, NO_LOOK, "" },
		{ "enforce", DECIDE_AT, SWITCHED_OFF, "" },
		{ "enforce", DECIDE_AT, ENDING, "" },
		{ "advise", DECIDE_AT, PLAIN, "let_go 10 - advising" },
		{ "advise", DECIDE_NO_ANSWER, PLAIN, "let_go 10 - advising" },
		{ "advise", DECIDE_REFUSED, ONE_NODE, "let_go 10 - one_node" },
		{ "advise", DECIDE_AT, SWITCHED_OFF, "" },
		{ "observe", DECIDE_AT, PLAIN, "" },
		{ "observe", DECIDE_NO_ANSWER, AT_THE_END, "" },
		{ "observe", DECIDE_REFUSED, PLAIN, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cluster c;
		struct sched_job *job;
		char *text;

		set_up(&c, cases[i].mode);
		job = add_job(&c);
		advise_at(&c, job, "n[0-1]");
		c.advice[0].answer = cases[i].answer;
		apply(&c, job, cases[i].tweak);
		run(&c);
		text = text_of(&c.actions);
		if (strcmp(text, cases[i].wanted) != 0)
			fail_msg("case %zu: expected '%s', not '%s'", i,
				 cases[i].wanted, text);
		free(text);
		tear_down(&c);
	}
}

static void
partitions_have_their_own_modes(void **state)
{
	struct cluster c;
	struct sched_job *job;

	(void)state;
	set_up(&c, "observe");
	assert_int_equal(modes_change(&c.modes, "q", MODE_ENFORCE), 0);
	advise_at(&c, add_job(&c), "n[0-1]");
	job = add_job(&c);
	job->partition = (char *)"q";
	advise_at(&c, job, "n[2-3]");
	run(&c);
	expect(&c, "place 11 n[2-3] placed");
	tear_down(&c);
}

static void
two_jobs_are_not_sent_to_one_node(void **state)
{
	struct cluster c;
	struct sched_job *second;

	(void)state;
	set_up(&c, "enforce");
	advise_at(&c, add_job(&c), "n[0-1]");
	second = add_job(&c);
	second->priority = 5;
	advise_at(&c, second, "n[1-2]");
	run_and_do(&c);
	expect(&c, "place 11 n[1-2] placed");
	/* The job still waits, and its nodes stay reserved. */
	go_on(&c, 3 * S);
	run(&c);
	expect(&c, "");
	tear_down(&c);
}

static void
what_is_under_way_is_not_asked_for_again(void **state)
{
	struct cluster c;
	struct decide_actions first;

	(void)state;
	set_up(&c, "enforce");
	advise_at(&c, add_job(&c), "n[0-1]");
	run(&c);
	first = c.actions;
	c.actions = (struct decide_actions){ .items = VEC_EMPTY };
	decide_note(&c.changes, &first.items.items[0], "", NOW);
	run(&c);
	expect(&c, "");
	/* The scheduler refuses: the job is let go. */
	decide_done(&c.changes, &first.items.items[0], -EINVAL, NOW);
	go_on(&c, DECIDE_SETTLE_US);
	run(&c);
	expect(&c, "let_go 10 - nothing_told");
	decide_actions_fini(&first);
	tear_down(&c);
}

static void
a_job_that_cannot_be_changed_is_left_alone_after_a_few_attempts(void **state)
{
	struct cluster c;
	unsigned n_asked = 0;

	(void)state;
	set_up(&c, "enforce");
	advise_at(&c, add_job(&c), "n[0-1]");
	c.jobs[0].eligible_us = NOW + 3600 * S;
	for (int round = 0; round < 20; round++) {
		run(&c);
		for (size_t i = 0; i < c.actions.items.n; i++, n_asked++) {
			decide_note(&c.changes, &c.actions.items.items[i], "",
				    c.view.now_us);
			decide_done(&c.changes, &c.actions.items.items[i], -EPERM,
				    c.view.now_us);
		}
		go_on(&c, 2 * S);
	}
	assert_int_equal(n_asked, 3);
	tear_down(&c);
}

/* Slurm has not started the job yet, and the snapshot is older than our action. */
static void
a_place_is_given_away_before_it_is_seen_to_be(void **state)
{
	struct cluster c;

	(void)state;
	set_up(&c, "enforce");
	advise_at(&c, add_job(&c), "n[0-1]");
	run(&c);
	expect(&c, "place 10 n[0-1] placed");
	decide_note(&c.changes, &c.actions.items.items[0], "", NOW);
	/* Requested; then done but not settled; then pinned. */
	advise_at(&c, add_job(&c), "n[1-2]");
	run(&c);
	expect(&c, "");
	decide_done(&c.changes,
		    &(struct decide_action){ .kind = SCHED_PLACE, .job = ids[0] }, 0,
		    NOW + S / 2);
	go_on(&c, S);
	run(&c);
	expect(&c, "");
	c.jobs[0].is_gated = false;
	c.jobs[0].is_pinned = true;
	go_on(&c, 2 * S);
	run(&c);
	expect(&c, "");
	/* The job runs elsewhere after all. */
	c.jobs[0].state = SCHED_RUNNING;
	run(&c);
	expect(&c, "place 11 n[1-2] placed");
	tear_down(&c);
}

/* ---- Records --------------------------------------------------------------------- */

static void
records_of_running_jobs_are_written_now_and_then_and_taken_back(void **state)
{
	struct cluster c;
	struct sched_job *job;

	(void)state;
	set_up(&c, "advise");
	job = add_job(&c);
	job->state = SCHED_RUNNING;
	job->is_gated = false;
	job->record = (char *)"site:note";
	c.advice[0] = (struct decide_advice){ .answer = DECIDE_ANYWHERE,
					      .record = "antiphase:v1;shift_us=1",
					      .valid_until_us = NOW + 300 * S };
	run_and_do(&c);
	expect(&c, "record 10 - told");
	assert_string_equal(c.actions.items.items[0].record, "antiphase:v1;shift_us=1");
	go_on(&c, 2 * S);
	run_and_do(&c);
	expect(&c, "");
	/* A new record soon after waits for its turn. */
	c.advice[0].record = "antiphase:v1;shift_us=2";
	run_and_do(&c);
	expect(&c, "");
	go_on(&c, DECIDE_RECORD_US);
	run_and_do(&c);
	expect(&c, "record 10 - told");
	/* A missing advice is not recorded. */
	c.advice[0].answer = DECIDE_REFUSED;
	c.advice[0].record = "antiphase:v1;skipped=stale";
	go_on(&c, DECIDE_RECORD_US);
	run_and_do(&c);
	expect(&c, "");
	/* The original value comes back. */
	c.modes.is_stopped = true;
	go_on(&c, 2 * S);
	run_and_do(&c);
	expect(&c, "record 10 - stopped");
	assert_string_equal(c.actions.items.items[0].record, "site:note");
	assert_null(decide_find(&c.changes, "10"));
	go_on(&c, 3600 * S);
	run(&c);
	expect(&c, "");
	tear_down(&c);
}

static void
give_record(void *ctx, const struct sched_job *job, struct decide_advice *ret_advice)
{
	(void)ctx;
	(void)job;
	*ret_advice = (struct decide_advice){ .answer = DECIDE_ANYWHERE,
					      .record = "antiphase:v1;shift_us=7",
					      .valid_until_us = NOW + 300 * S };
}

static void
many_actions_are_spread_over_rounds(void **state)
{
	static struct sched_job jobs[100];
	static char text[100][8];
	struct cluster c;
	size_t n_done = 0;

	(void)state;
	set_up(&c, "enforce");
	for (size_t i = 0; i < 100; i++) {
		snprintf(text[i], sizeof text[i], "%zu", i + 100);
		jobs[i] = *add_job(&c);
		c.host.n_jobs = 0;
		jobs[i].id = text[i];
		jobs[i].n_nodes = 1;
	}
	c.host.jobs = jobs;
	c.host.n_jobs = 100;
	for (int round = 0; round < 4; round++) {
		run_and_do(&c);
		n_done += c.actions.items.n;
		assert_true(c.actions.items.n <= DECIDE_MAX_AT_ONCE);
		assert_int_equal(c.actions.n_left, 100 - n_done);
		go_on(&c, 2 * S);
	}
	assert_int_equal(n_done, 100);
	tear_down(&c);
}

static void
records_of_many_running_jobs_do_not_keep_others_waiting(void **state)
{
	static struct sched_job jobs[100];
	static char text[100][8];
	struct cluster c;

	(void)state;
	set_up(&c, "enforce");
	for (size_t i = 0; i < 100; i++) {
		snprintf(text[i], sizeof text[i], "%zu", i + 100);
		jobs[i] = *add_job(&c);
		c.host.n_jobs = 0;
		jobs[i].id = text[i];
		jobs[i].state = SCHED_RUNNING;
		jobs[i].is_gated = false;
	}
	jobs[99].state = SCHED_WAITING;
	jobs[99].is_gated = true;
	jobs[99].n_nodes = 1;
	c.host.jobs = jobs;
	c.host.n_jobs = 100;
	/* The same for all. */
	c.view.advice = give_record;
	run(&c);
	assert_int_equal(c.actions.items.n, 1 + DECIDE_MAX_RECORDS);
	assert_int_equal(c.actions.n_left, 99 - DECIDE_MAX_RECORDS);
	assert_string_equal(c.actions.items.items[0].job, text[99]);
	assert_int_equal(c.actions.items.items[0].kind, SCHED_LET_GO);
	tear_down(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_done_about_a_job_at_the_gate),
		cmocka_unit_test(partitions_have_their_own_modes),
		cmocka_unit_test(two_jobs_are_not_sent_to_one_node),
		cmocka_unit_test(a_place_is_given_away_before_it_is_seen_to_be),
		cmocka_unit_test(what_is_under_way_is_not_asked_for_again),
		cmocka_unit_test(
			a_job_that_cannot_be_changed_is_left_alone_after_a_few_attempts),
		cmocka_unit_test(
			records_of_running_jobs_are_written_now_and_then_and_taken_back),
		cmocka_unit_test(many_actions_are_spread_over_rounds),
		cmocka_unit_test(
			records_of_many_running_jobs_do_not_keep_others_waiting),
	};

	return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
