/* What is to be done at the cluster's scheduler, case by case and over time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "lib/base/strbuf.h"
#include "scheduler/daemon/decide.h"
#include "tests/unit/test.h"

#define NOW INT64_C(1000000000000)
#define S   INT64_C(1000000)

/* ---- A cluster of nodes n0 to n7 with at most a few jobs ----------------------------- */

struct cluster {
	struct host_node nodes[8];
	struct host_job jobs[8];
	struct host_snapshot host;
	struct modes modes;
	struct decide_advice advice[8]; /* Of the jobs, in their order. */
	struct decide_changes changes;
	struct decide_actions actions;
	struct decide_view view;
};

static char *const names[] = { "n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7" };
static char *const ids[] = { "10", "11", "12", "13", "14", "15", "16", "17" };

static void
give_advice(void *ctx, const struct host_job *job, struct decide_advice *ret_advice)
{
	const struct cluster *c = ctx;

	*ret_advice = c->advice[job - c->jobs];
}

static void
give_record(void *ctx, const struct host_job *job, struct decide_advice *ret_advice)
{
	(void)ctx;
	(void)job;
	*ret_advice = (struct decide_advice){ .answer = DECIDE_ANYWHERE,
					      .record = "antiphase:v1;shift_us=7",
					      .valid_until_us = NOW + 300 * S };
}

static void
set_up(struct cluster *c, const char *mode)
{
	struct err err;

	*c = (struct cluster){ .changes = { .items = VEC_EMPTY } };
	assert_int_equal(modes_parse(mode, "", &c->modes, &err), 0);
	for (size_t i = 0; i < 8; i++)
		c->nodes[i] =
			(struct host_node){ .name = names[i], .state = HOST_NODE_FREE };
	c->host = (struct host_snapshot){
		.at_us = NOW, .jobs = c->jobs, .nodes = c->nodes, .n_nodes = 8
	};
	c->view = (struct decide_view){ .now_us = NOW,
					.modes = &c->modes,
					.host = &c->host,
					.advice = give_advice,
					.ctx = c,
					.pin_wait_us = 60 * S };
}

static void
tear_down(struct cluster *c)
{
	decide_actions_fini(&c->actions);
	decide_changes_fini(&c->changes);
	modes_fini(&c->modes);
}

/* Another job: gated for 10 s, two nodes wide, as most here. */
static struct host_job *
add_job(struct cluster *c)
{
	size_t i = c->host.n_jobs++;

	c->jobs[i] = (struct host_job){
		.id = ids[i],
		.name = (char *)"train",
		.user = (char *)"u",
		.partition = (char *)"p",
		.state = HOST_WAITING,
		.n_nodes = 2,
		.nodes = (char *)"",
		.required = (char *)"",
		.excluded = (char *)"",
		.preferred = (char *)"",
		.reason = (char *)"BeginTime",
		.comment = (char *)"",
		.record = (char *)"",
		.eligible_us = NOW + 10 * S,
		.is_gated = true,
	};
	c->advice[i] = (struct decide_advice){ .answer = DECIDE_NO_ANSWER };
	return &c->jobs[i];
}

static void
advise_at(struct cluster *c, const struct host_job *job, const char *nodes)
{
	c->advice[job - c->jobs] = (struct decide_advice){
		.answer = DECIDE_AT,
		.nodes = nodes,
		.record = "antiphase:v1;placed",
		.valid_until_us = NOW + 300 * S,
	};
}

static void
run(struct cluster *c)
{
	decide_actions_fini(&c->actions);
	decide(&c->view, &c->changes, &c->actions);
}

/* Time goes on, and the look with it. */
static void
go_on(struct cluster *c, int64_t us)
{
	c->view.now_us += us;
	c->host.at_us += us;
}

/* "place 10 n[0-1] placed; let_go 11 - thin" */
static char *
text_of(const struct decide_actions *actions)
{
	static const char *const kinds[] = {
		[HOST_PLACE] = "place",   [HOST_PREFER] = "prefer",
		[HOST_LET_GO] = "let_go", [HOST_UNPIN] = "unpin",
		[HOST_RECORD] = "record",
	};
	struct strbuf out = STRBUF_EMPTY;

	for (size_t i = 0; i < actions->items.n; i++) {
		const struct decide_action *a = &actions->items.items[i];

		strbuf_printf(&out, "%s%s %s %s %s", i ? "; " : "", kinds[a->kind],
			      a->job, a->nodes ? a->nodes : "-",
			      decide_why_names[a->why]);
	}
	return strbuf_steal(&out);
}

static void
expect(const struct cluster *c, const char *wanted)
{
	char *text = text_of(&c->actions);

	assert_string_equal(text, wanted);
	free(text);
}

/* Runs, asks for everything, and it is done as asked. */
static void
run_and_do(struct cluster *c)
{
	run(c);
	for (size_t i = 0; i < c->actions.items.n; i++) {
		const struct decide_action *a = &c->actions.items.items[i];
		struct host_job *job =
			(struct host_job *)host_find_job(&c->host, a->job);

		decide_note(&c->changes, a, job->record, c->view.now_us);
		decide_done(&c->changes, a, 0, c->view.now_us);
		if (a->kind == HOST_PLACE) {
			job->is_pinned = true;
			job->is_gated = false;
		}
		if (a->kind == HOST_UNPIN)
			job->is_pinned = false;
		if (a->kind == HOST_LET_GO)
			job->is_gated = false;
	}
}

/* ---- Jobs at the gate ------------------------------------------------------------------ */

enum tweak {
	PLAIN,
	ONE_NODE,
	USER_PINNED,
	NODE_DOWN,
	NODE_TAKEN,
	NODE_TAKEN_AT_THE_END,
	NODE_UNKNOWN,
	TOO_FEW_NODES,
	BAD_LIST,
	AT_THE_END,
	OLD_ADVICE,
	NOT_GATED,
	OLD_LOOK,
	NO_LOOK,
	SWITCHED_OFF,
	ENDING,
};

static void
apply(struct cluster *c, struct host_job *job, enum tweak tweak)
{
	switch (tweak) {
	case ONE_NODE:
		job->n_nodes = 1;
		break;
	case USER_PINNED:
		job->required = (char *)"n[6-7]";
		break;
	case NODE_DOWN:
		c->nodes[1].state = HOST_NODE_DOWN;
		break;
	case NODE_TAKEN_AT_THE_END:
		job->eligible_us = NOW + S;
		c->nodes[1].state = HOST_NODE_TAKEN;
		break;
	case NODE_TAKEN:
		c->nodes[1].state = HOST_NODE_TAKEN;
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
		c->host.at_us = NOW - DECIDE_MAX_LOOK_AGE - 1;
		break;
	case NO_LOOK:
		c->view.host = NULL;
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
		{ "enforce", DECIDE_AT, NODE_TAKEN_AT_THE_END, "let_go 10 - no_place" },
		{ "enforce", DECIDE_AT, NODE_UNKNOWN, "let_go 10 - no_place" },
		{ "enforce", DECIDE_AT, TOO_FEW_NODES, "let_go 10 - no_place" },
		{ "enforce", DECIDE_AT, BAD_LIST, "let_go 10 - no_place" },
		{ "enforce", DECIDE_AT, OLD_ADVICE, "" },
		{ "enforce", DECIDE_AT, NOT_GATED, "" },
		{ "enforce", DECIDE_AT, OLD_LOOK, "" },
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
		struct host_job *job;
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
	struct host_job *job;

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
	struct host_job *second;

	(void)state;
	set_up(&c, "enforce");
	advise_at(&c, add_job(&c), "n[0-1]");
	second = add_job(&c);
	second->priority = 5;
	advise_at(&c, second, "n[1-2]");
	run_and_do(&c);
	expect(&c, "place 11 n[1-2] placed");
	/* It still waits for its nodes: they stay given away. */
	go_on(&c, 3 * S);
	run(&c);
	expect(&c, "");
	tear_down(&c);
}

/* ---- The watchdog ---------------------------------------------------------------------- */

static void
a_pin_that_is_not_right_any_more_is_taken_back(void **state)
{
	enum world {
		NOTHING,
		DOWN,
		GONE,
		TAKEN,
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
		struct host_job *job;
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
			c.nodes[0].state = HOST_NODE_DOWN;
			break;
		case GONE:
			c.host.nodes = c.nodes + 1;
			c.host.n_nodes = 7;
			break;
		case TAKEN:
			c.nodes[0].state = HOST_NODE_TAKEN;
			run(&c);
			expect(&c, "");
			go_on(&c, DECIDE_BUSY_US);
			break;
		case SHORTLY_TAKEN:
			c.nodes[0].state = HOST_NODE_TAKEN;
			run(&c);
			c.nodes[0].state = HOST_NODE_FREE;
			run(&c);
			c.nodes[0].state = HOST_NODE_TAKEN;
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
			job->state = HOST_STARTING;
			job->nodes = (char *)"n[0-1]";
			break;
		case RUNS:
			job->state = HOST_RUNNING;
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
		/* Nothing more is done to it, whatever happens. */
		c.advice[0].record = NULL;
		c.nodes[0].state = HOST_NODE_TAKEN;
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
	/* The scheduler says no: then it is let go. */
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

/* ---- Records --------------------------------------------------------------------------- */

static void
records_of_running_jobs_are_written_now_and_then_and_taken_back(void **state)
{
	struct cluster c;
	struct host_job *job;

	(void)state;
	set_up(&c, "advise");
	job = add_job(&c);
	job->state = HOST_RUNNING;
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
	/* Another one soon after waits for its turn. */
	c.advice[0].record = "antiphase:v1;shift_us=2";
	run_and_do(&c);
	expect(&c, "");
	go_on(&c, DECIDE_RECORD_US);
	run_and_do(&c);
	expect(&c, "record 10 - told");
	/* That there is no advice any more is no record. */
	c.advice[0].answer = DECIDE_REFUSED;
	c.advice[0].record = "antiphase:v1;skipped=stale";
	go_on(&c, DECIDE_RECORD_US);
	run_and_do(&c);
	expect(&c, "");
	/* What was there before us comes back. */
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
many_actions_are_spread_over_rounds(void **state)
{
	static struct host_job jobs[100];
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
	static struct host_job jobs[100];
	static char text[100][8];
	struct cluster c;

	(void)state;
	set_up(&c, "enforce");
	for (size_t i = 0; i < 100; i++) {
		snprintf(text[i], sizeof text[i], "%zu", i + 100);
		jobs[i] = *add_job(&c);
		c.host.n_jobs = 0;
		jobs[i].id = text[i];
		jobs[i].state = HOST_RUNNING;
		jobs[i].is_gated = false;
	}
	jobs[99].state = HOST_WAITING;
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
	assert_int_equal(c.actions.items.items[0].kind, HOST_LET_GO);
	tear_down(&c);
}

/* ---- Whatever happens ------------------------------------------------------------------ */

/* A job as the scheduler would treat it. */
static void
live_on(struct cluster *c, struct host_job *job, struct rng *rng)
{
	size_t i = (size_t)(job - c->jobs);

	if (job->state == HOST_WAITING && job->is_gated &&
	    c->view.now_us >= job->eligible_us)
		job->is_gated = false;
	if (job->state == HOST_WAITING && !job->is_gated && rng_below(rng, 6) == 0)
		job->state = HOST_RUNNING;
	c->advice[i].answer = (enum decide_answer)rng_below(rng, 4);
	c->advice[i].valid_until_us = c->view.now_us + (int64_t)rng_below(rng, 60) * S;
}

/*
 * Over random worlds: nobody is kept at the gate by us, no two jobs wait for one node by
 * our doing, and after the switch nothing of ours is left.
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
						(enum host_node_state)rng_below(&rng,
										4);
			if (rng_below(&rng, 40) == 0)
				c.modes.is_stopped = !c.modes.is_stopped;
			run_and_do(&c);
			for (size_t i = 0; i < c.host.n_jobs; i++) {
				const struct host_job *job = &c.jobs[i];
				const struct decide_change *change =
					decide_find(&c.changes, job->id);

				if (job->state == HOST_WAITING && job->is_pinned)
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
			assert_false(c.jobs[i].state == HOST_WAITING &&
				     c.jobs[i].is_pinned);
		run(&c);
		expect(&c, "");
		tear_down(&c);
	}
}

/* ---- Modes ------------------------------------------------------------------------------- */

static void
modes_are_read_and_their_faults_told(void **state)
{
	struct modes modes;
	struct err err;

	(void)state;
	assert_int_equal(
		modes_parse("advise", "train=enforce, debug=observe", &modes, &err), 0);
	assert_int_equal(modes_now(&modes, "train"), MODE_ENFORCE);
	assert_int_equal(modes_now(&modes, "debug"), MODE_OBSERVE);
	assert_int_equal(modes_now(&modes, "other"), MODE_ADVISE);
	assert_true(modes_any(&modes, MODE_ENFORCE));
	modes.is_stopped = true;
	assert_int_equal(modes_now(&modes, "train"), MODE_OBSERVE);
	assert_int_equal(modes_set_for(&modes, "train"), MODE_ENFORCE);
	assert_false(modes_any(&modes, MODE_ENFORCE));
	assert_int_equal(modes_change(&modes, "a b", MODE_ADVISE), -EINVAL);
	modes_fini(&modes);
	assert_int_equal(modes_parse("observe", "train:enforce", &modes, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "no PARTITION=MODE"));
	assert_int_equal(modes_parse("observe", "train=enforced", &modes, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "did you mean 'enforce'?"));
	assert_int_equal(modes_parse("observe", "=enforce", &modes, &err), -EINVAL);
}

static void
partitions_that_slurm_does_not_have_are_found(void **state)
{
	struct host_node nodes[] = {
		{ .name = (char *)"n0", .partitions = (char *)"debug" },
		{ .name = (char *)"n1", .partitions = (char *)"debug,train" }
	};
	const struct host_snapshot snapshot = { .nodes = nodes, .n_nodes = 2 };
	struct strbuf out = STRBUF_EMPTY;
	struct modes modes;
	struct err err;

	(void)state;
	assert_int_equal(
		modes_parse("observe", "train=enforce,debug=advise", &modes, &err), 0);
	assert_int_equal(modes_add_unknown(&modes, &snapshot, &out), 0);
	modes_change(&modes, "trian", MODE_ENFORCE);
	modes_change(&modes, "x", MODE_ENFORCE);
	assert_int_equal(modes_add_unknown(&modes, &snapshot, &out), 2);
	assert_string_equal(out.text, "trian (did you mean 'train'?), x");
	strbuf_free(&out);
	modes_fini(&modes);
}

/* The store may be lost, or the daemon killed before it was told of what it did. */
static void
a_pin_that_nothing_is_known_of_is_looked_after(void **state)
{
	struct cluster c;
	struct host_job *job;
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
	/* As any other pin, when a node of it goes, */
	c.nodes[3].state = HOST_NODE_DOWN;
	run(&c);
	assert_int_equal(c.actions.items.n, 1);
	assert_int_equal(c.actions.items.items[0].kind, HOST_UNPIN);
	assert_int_equal(c.actions.items.items[0].why, DECIDE_NODE_DOWN);
	/* or time goes by. */
	c.nodes[3].state = HOST_NODE_FREE;
	go_on(&c, 61 * S);
	run(&c);
	assert_int_equal(c.actions.items.n, 1);
	assert_int_equal(c.actions.items.items[0].kind, HOST_UNPIN);
	tear_down(&c);

	/* What was given up as not ours, and is pinned after all: it came late. */
	set_up(&c, "enforce");
	job = add_job(&c);
	job->is_gated = false;
	job->is_pinned = true;
	job->required = (char *)"n[2-3]";
	decide_add(&c.changes, job->id)->kind = DECIDE_OVER;
	run(&c);
	assert_int_equal(c.actions.adopted.n, 1);
	assert_int_equal(decide_find(&c.changes, job->id)->kind, DECIDE_PIN);
	/* One that runs is not pinned to anything any more. */
	decide_remove(&c.changes, job->id);
	job->state = HOST_RUNNING;
	run(&c);
	assert_int_equal(c.actions.adopted.n, 0);
	assert_null(decide_find(&c.changes, job->id));
	tear_down(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_done_about_a_job_at_the_gate),
		cmocka_unit_test(partitions_have_their_own_modes),
		cmocka_unit_test(two_jobs_are_not_sent_to_one_node),
		cmocka_unit_test(a_pin_that_is_not_right_any_more_is_taken_back),
		cmocka_unit_test(a_job_that_is_gone_is_told_to_be_forgotten),
		cmocka_unit_test(what_is_under_way_is_not_asked_for_again),
		cmocka_unit_test(
			a_job_that_cannot_be_changed_is_left_alone_after_a_few_attempts),
		cmocka_unit_test(an_unpin_that_fails_is_asked_for_again),
		cmocka_unit_test(
			records_of_running_jobs_are_written_now_and_then_and_taken_back),
		cmocka_unit_test(many_actions_are_spread_over_rounds),
		cmocka_unit_test(
			records_of_many_running_jobs_do_not_keep_others_waiting),
		cmocka_unit_test(a_pin_that_nothing_is_known_of_is_looked_after),
		cmocka_unit_test(nobody_is_stuck_whatever_happens),
		cmocka_unit_test(modes_are_read_and_their_faults_told),
		cmocka_unit_test(partitions_that_slurm_does_not_have_are_found),
	};

	return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
