/* SPDX-License-Identifier: Apache-2.0 */
/* test_slurm_text.c - output of Slurm's commands from 22.05 to 26.05, and malformed */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "scheduler/slurm/slurm_text.h"
#include "tests/unit/test.h"

#define MARK   "~q0123456789abcdef~"
#define AT_US  1795222800000000 /* 2026-11-21T01:00:00Z */
#define FIELDS 19

/* A row as squeue writes it, of fields in the order of SQUEUE_FORMAT2. */
struct row {
	const char *id, *local_id, *state, *n_nodes, *nodes, *reason, *priority,
		*required, *preferred, *partition, *user, *eligible, *start, *restarts,
		*requeue, *features, *record, *comment, *name;
};

static const struct row plain = {
	.id = "4711",
	.local_id = "4711",
	.state = "PENDING",
	.n_nodes = "2",
	.nodes = "",
	.reason = "None",
	.priority = "4294901755",
	.required = "",
	.preferred = "(null)",
	.partition = "train",
	.user = "alice",
	.eligible = "N/A",
	.start = "N/A",
	.restarts = "0",
	.requeue = "1",
	.features = "(null)",
	.record = "(null)",
	.comment = "(null)",
	.name = "name",
};

static void
add_row(struct strbuf *text, const struct row *row)
{
	const char *const fields[FIELDS] = {
		row->id,        row->local_id,  row->state,    row->n_nodes,
		row->nodes,     row->reason,    row->priority, row->required,
		row->preferred, row->partition, row->user,     row->eligible,
		row->start,     row->restarts,  row->requeue,  row->features,
		row->record,    row->comment,   row->name,
	};

	for (int i = 0; i < FIELDS; i++)
		strbuf_printf(text, "%s" MARK, fields[i]);
	strbuf_putc(text, '\n');
}

/* Parses the only job of a snapshot. */
static struct sched_snapshot
look_at(const struct row *row)
{
	struct sched_snapshot snapshot = { .at_us = AT_US };
	struct strbuf text = STRBUF_EMPTY;
	struct err err = { .line = 0 };

	add_row(&text, row);
	assert_int_equal(slurm_read_jobs(text.text, text.length, MARK, &snapshot, &err),
			 0);
	strbuf_free(&text);
	return snapshot;
}

static void
the_format_has_a_field_a_column(void **state)
{
	struct strbuf format = STRBUF_EMPTY;
	size_t n = 0;

	(void)state;
	slurm_jobs_format(MARK, &format);
	for (const char *at = format.text; (at = strstr(at, ":" MARK)) != NULL; at++)
		n++;
	assert_int_equal(n, FIELDS);
	strbuf_free(&format);
}

static void
a_running_job_is_read(void **state)
{
	struct row row = plain;
	struct sched_snapshot snapshot;
	const struct sched_job *job;

	(void)state;
	row.state = "RUNNING";
	row.nodes = "n[01-02]";
	row.start = "2026-11-21T00:44:33";
	row.eligible = "2026-11-21T00:44:32";
	row.restarts = "3";
	row.record = "antiphase:v1;shift_us=32000";
	row.comment = "antiphase: iter_us=255000 comm_us=102000";
	snapshot = look_at(&row);
	job = sched_find_job(&snapshot, "4711");
	assert_non_null(job);
	assert_null(sched_find_job(&snapshot, "471"));
	assert_int_equal(job->state, SCHED_RUNNING);
	assert_int_equal(job->n_nodes, 2);
	assert_string_equal(job->nodes, "n[01-02]");
	assert_string_equal(job->required, "");
	assert_string_equal(job->reason, "");
	assert_int_equal(job->start_us, 1795221873000000);
	assert_int_equal(job->eligible_us, 1795221872000000);
	assert_int_equal(job->n_restarts, 3);
	assert_int_equal(job->priority, 4294901755);
	assert_string_equal(job->record, "antiphase:v1;shift_us=32000");
	assert_string_equal(job->comment, row.comment);
	assert_false(job->is_gated || job->is_pinned);
	sched_snapshot_fini(&snapshot);
	sched_snapshot_fini(&snapshot);
}

/* What a job's user and its partition allow. */
static void
a_job_is_movable_if_its_comment_says_so(void **state)
{
	static const struct {
		const char *comment;
		bool is_movable;
	} cases[] = {
		{ "antiphase: movable", true },
		{ "antiphase:movable", true },
		{ "Antiphase: Movable", true },
		{ "antiphase: iter_us=255000 comm_us=102000, movable", true },
		{ "project x; antiphase: movable;iter_us=255000", true },
		{ "movable", false },
		{ "movable antiphase: off", false },
		{ "antiphase: unmovable", false },
		{ "antiphase: movable=no", false },
		{ "antiphase:", false },
		{ "(null)", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct row row = plain;
		struct sched_snapshot snapshot;

		row.comment = cases[i].comment;
		snapshot = look_at(&row);
		assert_int_equal(snapshot.jobs[0].is_movable, cases[i].is_movable);
		sched_snapshot_fini(&snapshot);
	}
}

static void
requeueing_and_required_features_are_read(void **state)
{
	static const struct {
		const char *requeue, *features;
		bool can_requeue;
		const char *expected;
	} cases[] = {
		{ "1", "(null)", true, "" },
		{ "0", "fast&gpu", false, "fast&gpu" },
		{ "", "", false, "" },
		{ "nonsense", "(null)", false, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct row row = plain;
		struct sched_snapshot snapshot;

		row.requeue = cases[i].requeue;
		row.features = cases[i].features;
		snapshot = look_at(&row);
		assert_int_equal(snapshot.jobs[0].can_requeue, cases[i].can_requeue);
		assert_string_equal(snapshot.jobs[0].features, cases[i].expected);
		sched_snapshot_fini(&snapshot);
	}
}

static void
a_job_is_queued_if_it_waits_for_nodes_alone(void **state)
{
	static const struct {
		const char *state, *reason, *eligible;
		bool is_queued;
	} cases[] = {
		{ "PENDING", "None", "N/A", true },
		{ "PENDING", "Resources", "2026-11-21T00:59:59", true },
		{ "PENDING", "Priority", "N/A", true },
		{ "PENDING", "Priority", "2026-11-21T01:00:10", false },
		{ "PENDING", "Dependency", "N/A", false },
		{ "PENDING", "JobHeldUser", "N/A", false },
		{ "RUNNING", "None", "N/A", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct row row = plain;
		struct sched_snapshot snapshot;

		row.state = cases[i].state;
		row.reason = cases[i].reason;
		row.eligible = cases[i].eligible;
		snapshot = look_at(&row);
		assert_int_equal(snapshot.jobs[0].is_queued, cases[i].is_queued);
		sched_snapshot_fini(&snapshot);
	}
}

static void
names_cannot_end_a_field_or_a_row(void **state)
{
	struct row row = plain, second = plain;
	struct sched_snapshot snapshot = { .at_us = AT_US };
	struct strbuf text = STRBUF_EMPTY;

	(void)state;
	row.name = "a|b \"c\" 'd'\n4712"
		   "~q0123456789abcdee~"
		   "RUNNING~q~\n\x01\xff\xc3\xa9";
	row.comment = "(null)|\n\n4711|PENDING|";
	second.id = "4713";
	add_row(&text, &row);
	add_row(&text, &second);
	assert_int_equal(slurm_read_jobs(text.text, text.length, MARK, &snapshot, NULL),
			 0);
	assert_int_equal(snapshot.n_jobs, 2);
	assert_string_equal(
		snapshot.jobs[0].name,
		"a|b \"c\" 'd'?4712~q0123456789abcdee~RUNNING~q~???\xc3\xa9");
	assert_string_equal(snapshot.jobs[0].comment, "(null)|??4711|PENDING|");
	assert_string_equal(snapshot.jobs[1].id, "4713");
	sched_snapshot_fini(&snapshot);
	strbuf_free(&text);
}

static void
what_was_not_asked_for_is_refused_as_a_whole(void **state)
{
	static const char *const texts[] = {
		"slurm_load_jobs error: Unable to contact slurm controller\n",
		"4711" MARK "PENDING" MARK "\n",
		MARK MARK MARK MARK MARK MARK MARK MARK MARK MARK MARK MARK MARK MARK
			MARK MARK MARK "x\n",
		"x" MARK MARK "PENDING" MARK MARK MARK MARK MARK MARK MARK MARK MARK
			MARK MARK MARK MARK MARK MARK "\n",
		"\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct sched_snapshot snapshot = { .at_us = AT_US };
		struct err err = { .line = 0 };

		assert_int_equal(slurm_read_jobs(texts[i], strlen(texts[i]), MARK,
						 &snapshot, &err),
				 -EINVAL);
		assert_int_equal(snapshot.n_jobs, 0);
		assert_true(err.text[0]);
	}
}

static void
no_jobs_are_no_error(void **state)
{
	struct sched_snapshot snapshot = { .at_us = AT_US };

	(void)state;
	assert_int_equal(slurm_read_jobs("", 0, MARK, &snapshot, NULL), 0);
	assert_int_equal(slurm_read_excluded("", 0, &snapshot, NULL), 0);
	assert_int_equal(snapshot.n_jobs, 0);
	assert_null(sched_find_job(&snapshot, "1"));
	assert_null(sched_find_node(&snapshot, "n1"));
	sched_snapshot_fini(&snapshot);
}

static void
ids_of_arrays_and_het_jobs(void **state)
{
	static const char *const ids[][2] = {
		{ "4711", "4711" },
		{ "4711_2", "4711_2" },
		{ "4711_[1-10%2]", "4711_1" },
		{ "4711_[3,5,7-9]", "4711_3" },
		{ "4711_[7]", "4711_7" },
		{ "4711_[12,14,...]", "4711_12" },
		{ "4711+0", "4711+0" },
		{ "4711+1", "4711+1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		struct row row = plain;
		struct sched_snapshot snapshot;

		row.id = ids[i][0];
		snapshot = look_at(&row);
		assert_int_equal(snapshot.n_jobs, 1);
		assert_string_equal(snapshot.jobs[0].id, ids[i][1]);
		sched_snapshot_fini(&snapshot);
	}
	assert_true(slurm_is_job_id("4711"));
	assert_true(slurm_is_job_id("4711_2"));
	assert_false(slurm_is_job_id("4711+0"));
	assert_true(slurm_is_het_id("4711+0"));
	assert_false(slurm_is_het_id("4711") || slurm_is_het_id("4711_2"));
	assert_false(slurm_is_het_id("4711+") || slurm_is_het_id("4711+0 x"));
	assert_false(slurm_is_job_id("4711_[1-2]"));
	assert_false(slurm_is_job_id("4711_"));
	assert_false(slurm_is_job_id(""));
	assert_false(slurm_is_job_id("4711 jobid=1"));
	assert_false(slurm_is_job_id("99999999999"));
}

static void
a_task_of_an_array_is_found_by_the_id_that_its_hosts_know(void **state)
{
	struct row waiting = plain, running = plain;
	struct sched_snapshot snapshot = { .at_us = AT_US };
	struct strbuf text = STRBUF_EMPTY;

	(void)state;
	waiting.id = "4711_[3-10%2]";
	running.state = "RUNNING";
	add_row(&text, &waiting);
	running.id = "4711_1";
	running.local_id = "4712";
	add_row(&text, &running);
	/* The last task to start has the number of the array. */
	running.id = "4711_10";
	running.local_id = "4711";
	add_row(&text, &running);
	assert_int_equal(slurm_read_jobs(text.text, text.length, MARK, &snapshot, NULL),
			 0);
	assert_string_equal(sched_find_local(&snapshot, "4712")->id, "4711_1");
	assert_string_equal(sched_find_local(&snapshot, "4711")->id, "4711_10");
	assert_null(sched_find_local(&snapshot, "4713"));
	assert_null(sched_find_local(&snapshot, "1"));
	sched_snapshot_fini(&snapshot);
	assert_null(sched_find_local(&snapshot, "4711"));
	strbuf_free(&text);
}

static void
tasks_of_an_array_that_nothing_tells_apart_are_one(void **state)
{
	/* As from squeue -r: in any order; 4711_5 was placed. */
	static const char *const ids[][2] = {
		{ "4711_10", "4711" }, { "4711_5", "4714" },  { "4711_9", "4711" },
		{ "4711_4", "4711" },  { "4711_11", "4711" }, { "4712_1", "4712" },
		{ "4713", "4713" },
	};
	struct sched_snapshot snapshot = { .at_us = AT_US };
	struct strbuf text = STRBUF_EMPTY;
	struct row row = plain;

	(void)state;
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		row.id = ids[i][0];
		row.local_id = ids[i][1];
		add_row(&text, &row);
	}
	/* A running task has its own number, except for the last one. */
	row.id = "4711_3";
	row.state = "RUNNING";
	add_row(&text, &row);
	assert_int_equal(slurm_read_jobs(text.text, text.length, MARK, &snapshot, NULL),
			 0);
	assert_int_equal(snapshot.n_jobs, 5);
	assert_string_equal(snapshot.jobs[0].id, "4711_3");
	assert_string_equal(snapshot.jobs[1].id, "4711_4");
	assert_string_equal(snapshot.jobs[2].id, "4711_5");
	assert_string_equal(snapshot.jobs[3].id, "4712_1");
	assert_string_equal(snapshot.jobs[4].id, "4713");
	sched_snapshot_fini(&snapshot);
	strbuf_free(&text);
}

static void
states_of_all_versions(void **state)
{
	static const struct {
		const char *name;
		int state; /* -1: the job is left out. */
	} states[] = {
		{ "PENDING", SCHED_WAITING },
		{ "REQUEUE_HOLD", SCHED_WAITING },
		{ "REQUEUED", SCHED_WAITING },
		{ "SPECIAL_EXIT", SCHED_WAITING },
		{ "RESV_DEL_HOLD", SCHED_WAITING },
		{ "CONFIGURING", SCHED_STARTING },
		{ "POWER_UP_NODE", SCHED_STARTING },
		{ "RUNNING", SCHED_RUNNING },
		{ "SUSPENDED", SCHED_RUNNING },
		{ "STOPPED", SCHED_RUNNING },
		{ "RESIZING", SCHED_RUNNING },
		{ "SIGNALING", SCHED_RUNNING },
		{ "COMPLETING", SCHED_ENDING },
		{ "STAGE_OUT", SCHED_ENDING },
		{ "SOMETHING_NEW", SCHED_ENDING },
		{ "COMPLETED", -1 },
		{ "CANCELLED", -1 },
		{ "FAILED", -1 },
		{ "TIMEOUT", -1 },
		{ "NODE_FAIL", -1 },
		{ "PREEMPTED", -1 },
		{ "BOOT_FAIL", -1 },
		{ "DEADLINE", -1 },
		{ "OUT_OF_MEMORY", -1 },
		{ "REVOKED", -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
		struct row row = plain;
		struct sched_snapshot snapshot;

		row.state = states[i].name;
		snapshot = look_at(&row);
		assert_int_equal(snapshot.n_jobs, states[i].state >= 0);
		if (snapshot.n_jobs)
			assert_int_equal(snapshot.jobs[0].state, states[i].state);
		sched_snapshot_fini(&snapshot);
	}
}

#define GATE(until) SLURM_GATE_RECORD ";until=" until

static void
only_the_gate_s_jobs_are_gated_and_only_while_they_wait_for_us(void **state)
{
	static const struct {
		const char *state, *eligible, *record;
		bool is_gated, is_pinned;
	} cases[] = {
		/* 01:00:10 that day. */
		{ "PENDING", "2026-11-21T01:00:10", GATE("1795222810"), true, false },
		/* Its user wants another time. */
		{ "PENDING", "2026-11-22T01:00:10", GATE("1795222810"), false, false },
		{ "PENDING", "2026-11-21T01:00:10", GATE("1795222830"), false, false },
		{ "PENDING", "2026-11-21T01:00:10", GATE("x"), false, false },
		{ "PENDING", "2026-11-21T01:00:10", GATE("-1"), false, false },
		{ "PENDING", "2026-11-21T01:00:10", SLURM_GATE_RECORD, true, false },
		{ "PENDING", "2026-11-21T00:59:59", SLURM_GATE_RECORD, false, false },
		{ "PENDING", "2026-11-21T01:00:10", "(null)", false, false },
		{ "PENDING", "N/A", SLURM_GATE_RECORD, false, false },
		{ "RUNNING", "2026-11-21T01:00:10", SLURM_GATE_RECORD, false, false },
		{ "PENDING", "N/A", "antiphase:v1;shift_us=1;pinned", false, true },
		{ "PENDING", "N/A", "antiphase:v1;preferred;x", false, true },
		{ "PENDING", "N/A", "antiphase:v1;unpinned", false, false },
		{ "PENDING", "N/A", "other;pinned", false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct row row = plain;
		struct sched_snapshot snapshot;

		row.state = cases[i].state;
		row.eligible = cases[i].eligible;
		row.record = cases[i].record;
		snapshot = look_at(&row);
		assert_int_equal(snapshot.jobs[0].is_gated, cases[i].is_gated);
		assert_int_equal(snapshot.jobs[0].is_pinned, cases[i].is_pinned);
		sched_snapshot_fini(&snapshot);
		/* Slurm itself delays a requeued job. */
		row.restarts = "1";
		snapshot = look_at(&row);
		assert_false(snapshot.jobs[0].is_gated);
		sched_snapshot_fini(&snapshot);
	}
}

static void
excluded_nodes_are_filled_in(void **state)
{
	static const char text[] = "4711_[1-10%2]|n[01-02]|\n4711||\n99|n03|\n";
	struct row row = plain;
	struct sched_snapshot snapshot;

	(void)state;
	row.id = "4711_[1-10%2]";
	snapshot = look_at(&row);
	assert_int_equal(slurm_read_excluded(text, strlen(text), &snapshot, NULL), 0);
	assert_string_equal(snapshot.jobs[0].excluded, "n[01-02]");
	assert_int_equal(slurm_read_excluded("nonsense\n", 9, &snapshot, NULL),
			 -EINVAL);
	sched_snapshot_fini(&snapshot);
}

static void
a_node_of_two_partitions_is_one(void **state)
{
	static const char text[] = "n02|mixed|train|4|fast,AP4711_2,ib|ib,AP12|\n"
				   "n01|idle|train|4|(null)|(null)|\n"
				   "n02|mixed|debug|4|fast,AP4711_2,ib|ib,AP12|\n";
	struct sched_snapshot snapshot = { .at_us = AT_US };
	struct slurm_nodes nodes;

	(void)state;
	assert_int_equal(slurm_read_nodes(text, strlen(text), &nodes, NULL), 0);
	assert_int_equal(nodes.n, 2);
	assert_string_equal(nodes.nodes[0].name, "n01");
	assert_string_equal(nodes.nodes[0].features, "");
	assert_string_equal(nodes.nodes[1].partitions, "train,debug");
	assert_string_equal(nodes.nodes[1].features, "ib");
	assert_int_equal(nodes.nodes[1].n_slots, 4);
	assert_string_equal(nodes.features[1].available, "fast,AP4711_2,ib");
	assert_string_equal(nodes.features[1].active, "ib,AP12");
	slurm_nodes_take(&nodes, &snapshot);
	assert_ptr_equal(sched_find_node(&snapshot, "n02"), &snapshot.nodes[1]);
	assert_null(sched_find_node(&snapshot, "n03"));
	slurm_nodes_fini(&nodes);
	sched_snapshot_fini(&snapshot);
	assert_int_equal(slurm_read_nodes("n01|idle|\n", 10, &nodes, NULL), -EINVAL);
}

static void
nodes_that_no_job_can_start_on_are_down(void **state)
{
	static const struct {
		const char *name;
		enum sched_node_state state;
	} states[] = {
		{ "idle", SCHED_NODE_FREE },
		{ "idle~", SCHED_NODE_FREE },
		{ "idle#", SCHED_NODE_FREE },
		{ "idle-", SCHED_NODE_FREE },
		{ "planned", SCHED_NODE_FREE },
		{ "mixed", SCHED_NODE_MIXED },
		{ "mixed-", SCHED_NODE_MIXED },
		{ "allocated", SCHED_NODE_TAKEN },
		{ "allocated+", SCHED_NODE_TAKEN },
		{ "completing", SCHED_NODE_TAKEN },
		{ "idle*", SCHED_NODE_DOWN },
		{ "down", SCHED_NODE_DOWN },
		{ "down*", SCHED_NODE_DOWN },
		{ "drained", SCHED_NODE_DOWN },
		{ "draining", SCHED_NODE_DOWN },
		{ "draining@", SCHED_NODE_DOWN },
		{ "drained*", SCHED_NODE_DOWN },
		{ "mixed$", SCHED_NODE_DOWN },
		{ "idle$", SCHED_NODE_DOWN },
		{ "maint", SCHED_NODE_DOWN },
		{ "reserved", SCHED_NODE_DOWN },
		{ "inval", SCHED_NODE_DOWN },
		{ "fail", SCHED_NODE_DOWN },
		{ "failing", SCHED_NODE_DOWN },
		{ "reboot^", SCHED_NODE_DOWN },
		{ "idle!", SCHED_NODE_DOWN },
		{ "idle%", SCHED_NODE_DOWN },
		{ "unknown", SCHED_NODE_DOWN },
		{ "blocked", SCHED_NODE_DOWN },
		{ "something_new", SCHED_NODE_DOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
		struct slurm_nodes nodes;
		char text[64];

		snprintf(text, sizeof text, "n1|%s|p|1|||\n", states[i].name);
		assert_int_equal(slurm_read_nodes(text, strlen(text), &nodes, NULL), 0);
		assert_int_equal(nodes.nodes[0].state, states[i].state);
		slurm_nodes_fini(&nodes);
	}
}

static void
switches_become_a_topology_conf(void **state)
{
	static const char text[] =
		"SwitchName=spine1 Level=1 LinkSpeed=1 Nodes=n[01-12] Switches=leaf[1-2]\n"
		"SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[01-04]\n"
		"SwitchName=leaf2 Level=0 LinkSpeed=100 Nodes=n[05-08]\n"
		"SwitchName=spare Level=0 LinkSpeed=1 Nodes=\n";
	struct strbuf conf = STRBUF_EMPTY;
	struct err err = { .line = 0 };

	(void)state;
	assert_int_equal(slurm_topology_conf(text, strlen(text), &conf, &err), 0);
	assert_string_equal(conf.text,
			    "SwitchName=spine1 Switches=leaf[1-2]\n"
			    "SwitchName=leaf1 Nodes=n[01-04]\n"
			    "SwitchName=leaf2 Nodes=n[05-08] LinkSpeed=100\n");
	strbuf_free(&conf);
	assert_int_equal(
		slurm_topology_conf("BlockName=b1 Nodes=n1\n", 22, &conf, &err),
		-ENODATA);
	assert_int_equal(slurm_topology_conf("", 0, &conf, &err), -ENODATA);
	assert_true(err.text[0]);
	strbuf_free(&conf);
}

static void
features_of_ours_come_and_go_and_others_stay(void **state)
{
	struct strbuf out = STRBUF_EMPTY;

	(void)state;
	slurm_features_with("", "AP1", &out);
	assert_string_equal(out.text, "AP1");
	strbuf_clear(&out);
	slurm_features_with("fast,ib", "AP4711_2", &out);
	assert_string_equal(out.text, "fast,ib,AP4711_2");
	strbuf_clear(&out);
	slurm_features_with("fast,AP1,fast", "AP1", &out);
	assert_string_equal(out.text, "fast,AP1");
	strbuf_clear(&out);
	slurm_features_without("AP1,fast,AP12", "AP1", &out);
	assert_string_equal(out.text, "fast,AP12");
	strbuf_clear(&out);
	slurm_features_without("AP1", "AP1", &out);
	assert_string_equal(out.text, "");
	strbuf_free(&out);
	assert_string_equal(slurm_feature_job("AP4711_2"), "4711_2");
	assert_null(slurm_feature_job("APU"));
	assert_null(slurm_feature_job("AP"));
	assert_null(slurm_feature_job("fast"));
}

static void
versions(void **state)
{
	(void)state;
	assert_int_equal(slurm_version("slurm-wlm 22.05.8\n"), 2205);
	assert_int_equal(slurm_version("slurm 26.05.5\n"), 2605);
	assert_int_equal(slurm_version("slurm\n"), 0);
	assert_int_equal(slurm_version(""), 0);
	assert_int_equal(slurm_version("slurm 22\n"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_format_has_a_field_a_column),
		cmocka_unit_test(a_running_job_is_read),
		cmocka_unit_test(a_job_is_movable_if_its_comment_says_so),
		cmocka_unit_test(requeueing_and_required_features_are_read),
		cmocka_unit_test(a_job_is_queued_if_it_waits_for_nodes_alone),
		cmocka_unit_test(names_cannot_end_a_field_or_a_row),
		cmocka_unit_test(what_was_not_asked_for_is_refused_as_a_whole),
		cmocka_unit_test(no_jobs_are_no_error),
		cmocka_unit_test(ids_of_arrays_and_het_jobs),
		cmocka_unit_test(
			a_task_of_an_array_is_found_by_the_id_that_its_hosts_know),
		cmocka_unit_test(tasks_of_an_array_that_nothing_tells_apart_are_one),
		cmocka_unit_test(states_of_all_versions),
		cmocka_unit_test(
			only_the_gate_s_jobs_are_gated_and_only_while_they_wait_for_us),
		cmocka_unit_test(excluded_nodes_are_filled_in),
		cmocka_unit_test(a_node_of_two_partitions_is_one),
		cmocka_unit_test(nodes_that_no_job_can_start_on_are_down),
		cmocka_unit_test(switches_become_a_topology_conf),
		cmocka_unit_test(features_of_ours_come_and_go_and_others_stay),
		cmocka_unit_test(versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
