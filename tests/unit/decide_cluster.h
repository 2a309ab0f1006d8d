/* SPDX-License-Identifier: Apache-2.0 */
/* decide_cluster.h - a cluster of eight nodes and a few jobs, for test_decide*.c */
#ifndef TESTS_UNIT_DECIDE_CLUSTER_H
#define TESTS_UNIT_DECIDE_CLUSTER_H

#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "scheduler/daemon/decide.h"
#include "tests/unit/test.h"

#define NOW INT64_C(1000000000000)
#define S   INT64_C(1000000)

/* ---- A cluster of nodes n0 to n7 ------------------------------------------------- */

struct cluster {
	struct sched_node nodes[8];
	struct sched_job jobs[8];
	struct sched_snapshot host;
	struct modes modes;
	struct decide_advice advice[8]; /* One per job, in the order of the jobs. */
	struct decide_changes changes;
	struct decide_actions actions;
	struct decide_view view;
};

static char *const names[] = { "n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7" };
static char *const ids[] = { "10", "11", "12", "13", "14", "15", "16", "17" };

static inline void
give_advice(void *ctx, const struct sched_job *job, struct decide_advice *ret_advice)
{
	const struct cluster *c = ctx;

	*ret_advice = c->advice[job - c->jobs];
}

static inline void
set_up(struct cluster *c, const char *mode)
{
	struct err err;

	*c = (struct cluster){ .changes = { .items = VEC_EMPTY } };
	assert_int_equal(modes_parse(mode, "", &c->modes, &err), 0);
	for (size_t i = 0; i < 8; i++)
		c->nodes[i] = (struct sched_node){ .name = names[i],
						   .state = SCHED_NODE_FREE };
	c->host = (struct sched_snapshot){
		.at_us = NOW, .jobs = c->jobs, .nodes = c->nodes, .n_nodes = 8
	};
	c->view = (struct decide_view){ .now_us = NOW,
					.modes = &c->modes,
					.snapshot = &c->host,
					.advice = give_advice,
					.ctx = c,
					.pin_wait_us = 60 * S };
}

static inline void
tear_down(struct cluster *c)
{
	decide_actions_fini(&c->actions);
	decide_changes_fini(&c->changes);
	modes_fini(&c->modes);
}

/* Adds a job with the usual values: gated for 10 s, two nodes. */
static inline struct sched_job *
add_job(struct cluster *c)
{
	size_t i = c->host.n_jobs++;

	c->jobs[i] = (struct sched_job){
		.id = ids[i],
		.name = (char *)"train",
		.user = (char *)"u",
		.partition = (char *)"p",
		.state = SCHED_WAITING,
		.n_nodes = 2,
		.nodes = (char *)"",
		.required = (char *)"",
		.excluded = (char *)"",
		.preferred = (char *)"",
		.features = (char *)"",
		.reason = (char *)"BeginTime",
		.comment = (char *)"",
		.record = (char *)"",
		.eligible_us = NOW + 10 * S,
		.is_gated = true,
	};
	c->advice[i] = (struct decide_advice){ .answer = DECIDE_NO_ANSWER };
	return &c->jobs[i];
}

static inline void
advise_at(struct cluster *c, const struct sched_job *job, const char *nodes)
{
	c->advice[job - c->jobs] = (struct decide_advice){
		.answer = DECIDE_AT,
		.nodes = nodes,
		.record = "antiphase:v1;placed",
		.valid_until_us = NOW + 300 * S,
	};
}

static inline void
run(struct cluster *c)
{
	decide_actions_fini(&c->actions);
	decide(&c->view, &c->changes, &c->actions);
}

/* Advances the time and the snapshot. */
static inline void
go_on(struct cluster *c, int64_t us)
{
	c->view.now_us += us;
	c->host.at_us += us;
}

/* The actions as text: "place 10 n[0-1] placed; let_go 11 - thin". */
static inline char *
text_of(const struct decide_actions *actions)
{
	static const char *const kinds[] = {
		[SCHED_PLACE] = "place",   [SCHED_PREFER] = "prefer",
		[SCHED_LET_GO] = "let_go", [SCHED_UNPIN] = "unpin",
		[SCHED_RECORD] = "record", [SCHED_REQUEUE] = "requeue",
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

static inline void
expect(const struct cluster *c, const char *wanted)
{
	char *text = text_of(&c->actions);

	assert_string_equal(text, wanted);
	free(text);
}

/* Decides, and carries out all requested actions. */
static inline void
run_and_do(struct cluster *c)
{
	run(c);
	for (size_t i = 0; i < c->actions.items.n; i++) {
		const struct decide_action *a = &c->actions.items.items[i];
		struct sched_job *job =
			(struct sched_job *)sched_find_job(&c->host, a->job);

		decide_note(&c->changes, a, job->record, c->view.now_us);
		decide_done(&c->changes, a, 0, c->view.now_us);
		if (a->kind == SCHED_PLACE) {
			job->is_pinned = true;
			job->is_gated = false;
		}
		if (a->kind == SCHED_UNPIN)
			job->is_pinned = false;
		if (a->kind == SCHED_LET_GO)
			job->is_gated = false;
	}
}

#endif
