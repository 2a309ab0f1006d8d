/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_slurm_driver.c - the Slurm driver with scripts in place of Slurm's commands
 *
 * The order of commands, refusals, and commands that hang, fail or print garbage.  The
 * test with a real Slurm is tests/net/slurm_driver.sh.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/loop.h"
#include "scheduler/slurm/slurm.h"
#include "tests/unit/slurm_scripts.h"

#define MS ((int64_t)1000000)

/* Both scripts log their calls; sinfo prints the file "nodes". */
#define SINFO_OF_NODES \
	"#!/bin/sh\necho sinfo \"$@\" >>\"${0%/*}/log\"; cat \"${0%/*}/nodes\"\n"
#define SCONTROL_LOGS                           \
	"#!/bin/sh\n"                           \
	"case $1 in -V) echo slurm 24.11.5;;\n" \
	"*) echo \"$@\" >>\"${0%/*}/log\";;\n"  \
	"esac\n"

#define WAITS(id, n, required, prefer, record)                  \
	id "@" id "@PENDING@" n "@@None@1@" required "@" prefer \
	   "@train@u@N/A@N/A@0@1@(null)@" record "@@name@\n"
/* The end of the gate, 2099-01-01T00:00:00. */
#define GATE "antiphase:v1;gate;until=4070908800"
#define WAITS_UNTIL(eligible, required, record)                              \
	"17@17@PENDING@2@@BeginTime@1@" required "@(null)@train@u@" eligible \
	"@N/A@0@1@(null)@" record "@@name@\n"
#define JOBS                                                                               \
	WAITS("11", "2", "", "(null)", "(null)")                                           \
	WAITS("12", "2", "n[1-2]", "(null)", "(null)")                                     \
	WAITS("13", "2", "n[1-2]", "(null)", "antiphase:v1;shift_us=1;pinned")             \
	WAITS("14", "2", "", "AP14", "antiphase:v1;preferred")                             \
	WAITS("15", "2", "", "theirs", "(null)")                                           \
	"16@16@RUNNING@2@n[3-4]@None@1@@(null)@train@u@N/A@N/A@0@1@(null)@(null)@@name@\n" \
	"17@17@PENDING@2@@BeginTime@1@@(null)@train@u@2099-01-01T00:00:00@N/A@0@1@(null)@" \
	"antiphase:v1;gate@@name@\n"                                                       \
	"18+1@19@RUNNING@2@n[3-4]@None@1@@(null)@train@u@N/A@N/A@0@1@(null)@(null)@@name@\n"
#define NODES                                                      \
	"n1|idle|train|4|fast|fast|\nn2|idle|train|4|fast|fast|\n" \
	"n3|allocated|train|4|||\nn4|down*|train|4|||\n"

struct lab {
	char dir[64];
	struct loop *loop;
	struct sched_driver *driver;
	size_t n_jobs, n_looks, n_none, n_done;
	size_t looks_wanted, done_wanted; /* The loop ends at these counts. */
	int rc;
	char why[512];
	int64_t ticks;
};

static void
put(const struct lab *lab, const char *name, const char *text)
{
	scripts_put(lab->dir, name, text);
}

static void
on_snapshot(void *ctx, const struct sched_snapshot *snapshot, const char *why)
{
	struct lab *lab = ctx;

	lab->n_looks++;
	if (snapshot) {
		lab->n_jobs = snapshot->n_jobs;
	} else {
		lab->n_none++;
		snprintf(lab->why, sizeof lab->why, "%s", why);
	}
	if (lab->looks_wanted && lab->n_looks >= lab->looks_wanted)
		loop_stop(lab->loop, 0);
}

static void
on_done(void *ctx, uint64_t ticket, int rc, const char *why)
{
	struct lab *lab = ctx;

	lab->n_done++;
	assert_int_equal(ticket, lab->n_done);
	lab->rc = rc;
	if (rc < 0)
		snprintf(lab->why, sizeof lab->why, "%s", why);
	if (lab->done_wanted && lab->n_done >= lab->done_wanted)
		loop_stop(lab->loop, 0);
}

static void
on_tick(void *ctx, int64_t now_ns, int64_t missed)
{
	struct lab *lab = ctx;

	(void)now_ns;
	(void)missed;
	lab->ticks++;
}

static void
on_limit(void *ctx, int64_t now_ns, int64_t missed)
{
	struct lab *lab = ctx;

	(void)now_ns;
	(void)missed;
	loop_stop(lab->loop, -1);
}

static void
open_lab(struct lab *lab, int64_t poll_ms, int64_t timeout_ms)
{
	const struct sched_observer observer = { lab, on_snapshot, on_done };
	const struct slurm_opts opts = { lab->dir, poll_ms, timeout_ms };
	struct err err;

	*lab = (struct lab){ .loop = loop_new() };
	snprintf(lab->dir, sizeof lab->dir, "/tmp/apslurm-XXXXXX");
	assert_non_null(mkdtemp(lab->dir));
	put(lab, "squeue", SCRIPTS_SQUEUE);
	put(lab, "sinfo", SINFO_OF_NODES);
	put(lab, "scontrol", SCONTROL_LOGS);
	put(lab, "jobs", JOBS);
	put(lab, "nodes", NODES);
	assert_int_equal(slurm_open(lab->loop, &opts, &observer, &lab->driver, &err),
			 0);
	loop_every(lab->loop, 5 * MS, on_tick, lab);
	loop_every(lab->loop, 10000 * MS, on_limit, lab);
}

static void
run_until_looks(struct lab *lab, size_t n)
{
	lab->looks_wanted = n;
	assert_int_equal(loop_run(lab->loop), 0);
	lab->looks_wanted = 0;
}

static void
run_until_done(struct lab *lab, size_t n)
{
	lab->done_wanted = n;
	assert_int_equal(loop_run(lab->loop), 0);
	lab->done_wanted = 0;
}

static void
close_lab(struct lab *lab)
{
	sched_close(lab->driver);
	loop_free(lab->loop);
	scripts_remove(lab->dir);
}

static int
act(struct lab *lab, enum sched_action_kind kind, const char *job, const char *nodes,
    const char *record)
{
	const struct sched_action action = { kind, job, nodes, record, false };
	struct err err = { .line = 0 };
	uint64_t ticket;
	int r = sched_act(lab->driver, &action, &ticket, &err);

	if (r < 0)
		assert_true(err.text[0]);
	return r;
}

/*
 * Compares the 'scontrol' calls and the query for PREFER.  Snapshots in between depend
 * on the speed of the machine and are ignored.
 */
static void
assert_sent(const struct lab *lab, const char *expected)
{
	static const char look[] = "sinfo -h -a -N -o %N|%T|%R|%c|%f|%b|\n";
	char *text = scripts_sent(lab->dir);
	struct strbuf kept = STRBUF_EMPTY;
	const char *rest = text, *at;

	for (; (at = strstr(rest, look)); rest = at + strlen(look))
		strbuf_add(&kept, rest, (size_t)(at - rest));
	strbuf_puts(&kept, rest);
	assert_non_null(strstr(kept.text, expected));
	strbuf_free(&kept);
	free(text);
}

static void
a_look_is_taken_at_once_and_then_at_each_poll(void **state)
{
	struct lab lab;

	(void)state;
	open_lab(&lab, 50, 0);
	assert_string_equal(sched_kind(lab.driver), "slurm");
	assert_int_equal(slurm_driver_version(lab.driver), 2411);
	assert_int_equal(act(&lab, SCHED_PLACE, "11", "n1", NULL), -EAGAIN);
	run_until_looks(&lab, 3);
	assert_int_equal(lab.n_none, 0);
	assert_int_equal(lab.n_jobs, 8);
	close_lab(&lab);
}

static void
each_change_is_one_call(void **state)
{
	struct lab lab;

	(void)state;
	open_lab(&lab, 100000, 0);
	run_until_looks(&lab, 1);
	put(&lab, "log", "");
	assert_int_equal(act(&lab, SCHED_PLACE, "11", "n[1-2]", "antiphase:v1;a=b c"),
			 0);
	assert_int_equal(act(&lab, SCHED_PLACE, "17", "n2", NULL), 0);
	assert_int_equal(act(&lab, SCHED_UNPIN, "13", NULL, NULL), 0);
	assert_int_equal(act(&lab, SCHED_UNPIN, "14", NULL, "antiphase:v1;x"), 0);
	assert_int_equal(act(&lab, SCHED_RECORD, "16", NULL, "antiphase:v1;y"), 0);
	/* Only this component of a heterogeneous job. */
	assert_int_equal(act(&lab, SCHED_RECORD, "18+1", NULL, "antiphase:v1;z"), 0);
	run_until_done(&lab, 6);
	assert_int_equal(lab.rc, 0);
	assert_sent(
		&lab,
		"update jobid=11 ReqNodeList=n[1-2] "
		"AdminComment=antiphase:v1;a=b c;pinned\n"
		"update jobid=17 ReqNodeList=n2 StartTime=now "
		"AdminComment=antiphase:v1;pinned\n"
		"update jobid=13 ReqNodeList= AdminComment=antiphase:v1;shift_us=1\n"
		"update jobid=14 Prefer= AdminComment=antiphase:v1;x\n"
		"update jobid=16 AdminComment=antiphase:v1;y\n"
		"update jobid=18+1 AdminComment=antiphase:v1;z\n");
	close_lab(&lab);
}

static void
let_go_opens_the_gate_and_nothing_else(void **state)
{
	struct lab lab;

	(void)state;
	open_lab(&lab, 100000, 0);
	run_until_looks(&lab, 1);
	put(&lab, "log", "");
	assert_int_equal(act(&lab, SCHED_LET_GO, "17", NULL, NULL), 0);
	run_until_done(&lab, 1);
	assert_sent(&lab, "update jobid=17 StartTime=now\n");
	assert_int_equal(act(&lab, SCHED_LET_GO, "11", NULL, NULL), -EALREADY);
	close_lab(&lab);
}

/* The last snapshot may be a second old. */
static void
what_its_user_asked_for_since_the_last_look_stands(void **state)
{
	static const struct {
		enum sched_action_kind kind;
		const char *job;
		int rc;
		const char *why;
	} cases[] = {
		{ SCHED_PLACE, WAITS_UNTIL("2099-01-01T00:05:00", "", GATE), -ESTALE,
		  "not held back" },
		{ SCHED_LET_GO, WAITS_UNTIL("2099-01-01T00:05:00", "", GATE), -EALREADY,
		  "not held back" },
		{ SCHED_PREFER, WAITS_UNTIL("N/A", "", GATE), -ESTALE,
		  "not held back" },
		{ SCHED_PLACE, WAITS_UNTIL("2099-01-01T00:00:00", "n1", GATE), -ESTALE,
		  "asked for nodes n1" },
		{ SCHED_PLACE,
		  "17@17@RUNNING@2@n[3-4]@None@1@@(null)@train@u@N/A@N/A@0@1@(null)@" GATE
		  "@@name@\n",
		  -ESTALE, "begun meanwhile" },
		{ SCHED_PLACE, "", -ENOENT, "no job 17" },
		{ SCHED_PLACE, "nonsense\n", -EINVAL, "squeue printed" },
	};
	struct lab lab;
	char *text;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		open_lab(&lab, 100000, 0);
		put(&lab, "jobs", WAITS_UNTIL("2099-01-01T00:00:00", "", GATE));
		run_until_looks(&lab, 1);
		put(&lab, "jobs", cases[i].job);
		put(&lab, "log", "");
		assert_int_equal(act(&lab, cases[i].kind, "17",
				     cases[i].kind == SCHED_LET_GO ? NULL : "n1", NULL),
				 0);
		run_until_done(&lab, 1);
		assert_int_equal(lab.rc, cases[i].rc);
		assert_non_null(strstr(lab.why, cases[i].why));
		text = scripts_sent(lab.dir);
		assert_null(strstr(text, "update"));
		free(text);
		close_lab(&lab);
	}
}

static void
to_prefer_asks_first_and_appends_to_the_site_s_features(void **state)
{
	struct lab lab;

	(void)state;
	open_lab(&lab, 100000, 0);
	run_until_looks(&lab, 1);
	put(&lab, "log", "");
	put(&lab, "nodes",
	    "n1|idle|train|4|fast|fast|\nn2|idle|train|4|fast,ib|fast|\n");
	assert_int_equal(act(&lab, SCHED_PREFER, "17", "n[1-2]", NULL), 0);
	run_until_done(&lab, 1);
	assert_sent(&lab, "sinfo -h -a -N -n n[1-2] -o %N|%T|%R|%c|%f|%b|\n"
			  "update nodename=n1 AvailableFeatures=fast,AP17 "
			  "ActiveFeatures=fast,AP17\n"
			  "update nodename=n2 AvailableFeatures=fast,ib,AP17 "
			  "ActiveFeatures=fast,AP17\n"
			  "update jobid=17 Prefer=AP17 StartTime=now "
			  "AdminComment=antiphase:v1;preferred\n");
	close_lab(&lab);
}

static void
features_that_no_job_waits_for_are_taken_away(void **state)
{
	struct lab lab;

	(void)state;
	open_lab(&lab, 50, 0);
	/* 14 waits and prefers; 16 runs; 99 does not exist; 11 prefers nothing. */
	put(&lab, "nodes",
	    "n1|idle|train|4|fast,AP14,AP16|fast,AP14,AP16|\n"
	    "n2|idle|train|4|AP99|AP99|\nn3|idle|train|4|AP11,APU|APU|\n");
	run_until_looks(&lab, 4);
	assert_sent(&lab, "update nodename=n1 AvailableFeatures=fast,AP14 "
			  "ActiveFeatures=fast,AP14\n");
	assert_sent(&lab, "update nodename=n2 AvailableFeatures= ActiveFeatures=\n");
	assert_sent(&lab,
		    "update nodename=n3 AvailableFeatures=APU ActiveFeatures=APU\n");
	close_lab(&lab);
}

/* A running job of two nodes, and a requeued one, by what matters for moves. */
#define RUNS(id, required, requeue, record, comment)                         \
	id "@" id "@RUNNING@2@n[3-4]@None@1@" required "@(null)@train@u@N/A" \
	   "@N/A@0@" requeue "@(null)@" record "@" comment "@name@\n"
#define REQUEUED(eligible, restarts, required)                               \
	"19@19@PENDING@2@@BeginTime@1@" required "@(null)@train@u@" eligible \
	"@N/A@" restarts "@1@(null)@(null)@antiphase: movable@name@\n"
#define MOVABLE "antiphase: movable"

static int
act_requeued(struct lab *lab, enum sched_action_kind kind, const char *nodes)
{
	const struct sched_action action = { kind, "19", nodes,
					     nodes ? "antiphase:v1;moved" : NULL,
					     true };
	struct err err = { .line = 0 };
	uint64_t ticket;

	return sched_act(lab->driver, &action, &ticket, &err);
}

static void
a_movable_job_is_requeued_by_one_call(void **state)
{
	struct lab lab;

	(void)state;
	open_lab(&lab, 100000, 0);
	put(&lab, "jobs",
	    RUNS("19", "", "1", "(null)", MOVABLE)
		    RUNS("20", "n[3-4]", "1", "antiphase:v1;pinned", MOVABLE));
	run_until_looks(&lab, 1);
	put(&lab, "log", "");
	assert_int_equal(act(&lab, SCHED_REQUEUE, "19", "n[1-2]", NULL), 0);
	assert_int_equal(act(&lab, SCHED_REQUEUE, "20", "n[1-2]", NULL), 0);
	run_until_done(&lab, 2);
	assert_int_equal(lab.rc, 0);
	assert_sent(&lab, "requeue 19\nrequeue 20\n");
	close_lab(&lab);
}

static void
a_job_that_may_not_move_is_not_requeued(void **state)
{
	static const struct {
		const char *job, *id, *nodes, *why;
	} cases[] = {
		{ RUNS("19", "", "1", "(null)", "(null)"), "19", "n[1-2]",
		  "not marked" },
		{ RUNS("19", "", "0", "(null)", MOVABLE), "19", "n[1-2]",
		  "cannot be requeued" },
		{ RUNS("19", "n[3-4]", "1", "(null)", MOVABLE), "19", "n[1-2]",
		  "its user asked for" },
		{ RUNS("19_1", "", "1", "(null)", MOVABLE), "19_1", "n[1-2]",
		  "a task of an array" },
		{ REQUEUED("N/A", "0", ""), "19", "n[1-2]", "does not run" },
		{ RUNS("19", "", "1", "(null)", MOVABLE), "19", "n[1,9]", "no node" },
		{ RUNS("19", "", "1", "(null)", MOVABLE), "19", "n[1-3]", "wants 2" },
	};
	struct lab lab;
	char *text;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct sched_action action = { SCHED_REQUEUE, cases[i].id,
						     cases[i].nodes, NULL, false };
		struct err err = { .line = 0 };
		uint64_t ticket;

		open_lab(&lab, 100000, 0);
		put(&lab, "jobs", cases[i].job);
		run_until_looks(&lab, 1);
		put(&lab, "log", "");
		assert_int_equal(sched_act(lab.driver, &action, &ticket, &err),
				 -EINVAL);
		assert_non_null(strstr(err.text, cases[i].why));
		text = scripts_sent(lab.dir);
		assert_null(strstr(text, "requeue"));
		free(text);
		close_lab(&lab);
	}
}

/* Its user took the mark away after the last poll. */
static void
a_job_is_asked_once_more_before_it_is_requeued(void **state)
{
	struct lab lab;
	char *text;

	(void)state;
	open_lab(&lab, 100000, 0);
	put(&lab, "jobs", RUNS("19", "", "1", "(null)", MOVABLE));
	run_until_looks(&lab, 1);
	put(&lab, "jobs", RUNS("19", "", "1", "(null)", "(null)"));
	put(&lab, "log", "");
	assert_int_equal(act(&lab, SCHED_REQUEUE, "19", "n[1-2]", NULL), 0);
	run_until_done(&lab, 1);
	assert_int_equal(lab.rc, -ESTALE);
	assert_non_null(strstr(lab.why, "not marked movable"));
	text = scripts_sent(lab.dir);
	assert_null(strstr(text, "requeue"));
	free(text);
	close_lab(&lab);
}

/* "2026-11-21T00:46:12" so many seconds from now, UTC. */
static const char *
time_in(int seconds)
{
	static char text[2][32];
	static unsigned next;
	time_t at = time(NULL) + seconds;
	char *out = text[next++ % 2];

	strftime(out, sizeof text[0], "%Y-%m-%dT%H:%M:%S", gmtime(&at));
	return out;
}

static void
put_requeued(const struct lab *lab, const char *eligible, const char *restarts,
	     const char *required)
{
	char row[256];

	snprintf(row, sizeof row, REQUEUED("%s", "%s", "%s"), required, eligible,
		 restarts);
	put(lab, "jobs", row);
}

static void
a_requeued_job_gets_its_place_and_slurm_s_delay_ends(void **state)
{
	struct lab lab;

	(void)state;
	open_lab(&lab, 100000, 0);
	put_requeued(&lab, time_in(121), "1", "");
	run_until_looks(&lab, 1);
	put(&lab, "log", "");
	assert_int_equal(act_requeued(&lab, SCHED_PLACE, "n[1-2]"), 0);
	run_until_done(&lab, 1);
	assert_int_equal(lab.rc, 0);
	assert_sent(&lab, "update jobid=19 ReqNodeList=n[1-2] StartTime=now "
			  "AdminComment=antiphase:v1;moved;pinned\n");
	close_lab(&lab);
	open_lab(&lab, 100000, 0);
	put_requeued(&lab, time_in(121), "1", "");
	run_until_looks(&lab, 1);
	put(&lab, "log", "");
	assert_int_equal(act_requeued(&lab, SCHED_LET_GO, NULL), 0);
	run_until_done(&lab, 1);
	assert_int_equal(lab.rc, 0);
	assert_sent(&lab, "update jobid=19 StartTime=now\n");
	close_lab(&lab);
}

static void
a_later_start_or_nodes_of_its_user_stand_after_a_requeue(void **state)
{
	static const struct {
		int seconds;
		const char *required, *why;
	} cases[] = {
		{ 600, "", "not held back" },
		{ 121, "n1", "asked for nodes n1" },
	};
	struct lab lab;
	char *text;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		open_lab(&lab, 100000, 0);
		put_requeued(&lab, time_in(121), "1", "");
		run_until_looks(&lab, 1);
		put_requeued(&lab, time_in(cases[i].seconds), "1", cases[i].required);
		put(&lab, "log", "");
		assert_int_equal(act_requeued(&lab, SCHED_PLACE, "n[1-2]"), 0);
		run_until_done(&lab, 1);
		assert_int_equal(lab.rc, -ESTALE);
		assert_non_null(strstr(lab.why, cases[i].why));
		text = scripts_sent(lab.dir);
		assert_null(strstr(text, "update"));
		free(text);
		close_lab(&lab);
	}
	/* A job that was never requeued is not ours to hurry. */
	open_lab(&lab, 100000, 0);
	put_requeued(&lab, time_in(121), "0", "");
	run_until_looks(&lab, 1);
	assert_int_equal(act_requeued(&lab, SCHED_LET_GO, NULL), -EINVAL);
	close_lab(&lab);
}

static void
what_cannot_be_is_refused_before_it_is_sent(void **state)
{
	static const struct {
		enum sched_action_kind kind;
		const char *job, *nodes, *record;
		int error;
	} cases[] = {
		{ SCHED_PLACE, "11", "n[1-3]", NULL, -EINVAL }, /* Two nodes wanted. */
		{ SCHED_PLACE, "11", "n[1,9]", NULL, -EINVAL },
		{ SCHED_PLACE, "11", "n[1", NULL, -EINVAL },
		{ SCHED_PLACE, "11", "", NULL, -EINVAL },
		{ SCHED_PLACE, "11", NULL, NULL, -EINVAL },
		{ SCHED_PLACE, "11", "n[1-999999999]", NULL, -EINVAL },
		{ SCHED_PLACE, "99", "n1", NULL, -ENOENT },
		{ SCHED_PLACE, "11 jobid=12", "n1", NULL, -EINVAL },
		{ SCHED_PLACE, "18+1", "n1", NULL, -EINVAL },
		{ SCHED_LET_GO, "18+1", NULL, NULL, -EINVAL },
		{ SCHED_PLACE, "12", "n1", NULL, -EINVAL }, /* The user's nodes. */
		{ SCHED_UNPIN, "12", NULL, NULL, -EALREADY },
		{ SCHED_PREFER, "15", "n1", NULL, -EINVAL }, /* The user's features. */
		{ SCHED_PLACE, "16", "n1", NULL, -EINVAL },  /* The job runs. */
		{ SCHED_UNPIN, "16", NULL, NULL, -EINVAL },
		{ SCHED_LET_GO, "16", NULL, NULL, -EINVAL },
		{ SCHED_RECORD, "16", NULL, "a\nb", -EINVAL },
		{ SCHED_RECORD, "16", NULL, "\xc3\xa9", -EINVAL },
	};
	struct lab lab;
	char *text;

	(void)state;
	open_lab(&lab, 100000, 0);
	run_until_looks(&lab, 1);
	put(&lab, "log", "");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(act(&lab, cases[i].kind, cases[i].job, cases[i].nodes,
				     cases[i].record),
				 cases[i].error);
	text = scripts_sent(lab.dir);
	assert_string_equal(text, "");
	free(text);
	close_lab(&lab);
}

static void
what_slurm_refuses_is_told_in_its_words(void **state)
{
	struct lab lab;

	(void)state;
	open_lab(&lab, 100000, 0);
	run_until_looks(&lab, 1);
	put(&lab, "scontrol",
	    "#!/bin/sh\necho 'slurm_update error: Access/permission denied' >&2; exit 1\n");
	assert_int_equal(act(&lab, SCHED_PLACE, "11", "n1", NULL), 0);
	run_until_done(&lab, 1);
	assert_int_equal(lab.rc, -EACCES);
	assert_non_null(strstr(lab.why, "Access/permission denied"));
	/* The job is not pinned. */
	assert_int_equal(act(&lab, SCHED_UNPIN, "11", NULL, NULL), -EALREADY);
	put(&lab, "scontrol",
	    "#!/bin/sh\necho 'Invalid job id specified for job 11' >&2; exit 1\n");
	assert_int_equal(act(&lab, SCHED_PLACE, "11", "n1", NULL), 0);
	run_until_done(&lab, 2);
	assert_int_equal(lab.rc, -ENOENT);
	close_lab(&lab);
}

static void
a_pin_of_a_job_that_has_begun_meanwhile_is_nothing_to_take_back(void **state)
{
	struct lab lab;

	(void)state;
	open_lab(&lab, 100000, 0);
	run_until_looks(&lab, 1);
	assert_int_equal(act(&lab, SCHED_PLACE, "11", "n1", NULL), 0);
	run_until_done(&lab, 1);
	assert_int_equal(lab.rc, 0);
	put(&lab, "scontrol",
	    "#!/bin/sh\necho 'Invalid node name specified for job 11' >&2; exit 1\n");
	assert_int_equal(act(&lab, SCHED_UNPIN, "11", NULL, NULL), 0);
	run_until_done(&lab, 2);
	assert_int_equal(lab.rc, -EALREADY);
	/* A node that Slurm does not know is a different error. */
	assert_int_equal(act(&lab, SCHED_PLACE, "11", "n1", NULL), 0);
	run_until_done(&lab, 3);
	assert_int_equal(lab.rc, -EIO);
	close_lab(&lab);
}

static void
commands_that_hang_block_nothing_and_are_told(void **state)
{
	struct lab lab;
	int64_t ticks;

	(void)state;
	open_lab(&lab, 50, 200);
	run_until_looks(&lab, 1);
	put(&lab, "squeue", "#!/bin/sh\nexec sleep 100\n");
	put(&lab, "scontrol", "#!/bin/sh\nexec sleep 100\n");
	assert_int_equal(act(&lab, SCHED_PLACE, "11", "n1", NULL), 0);
	ticks = lab.ticks;
	run_until_done(&lab, 1);
	assert_int_equal(lab.rc, -ETIMEDOUT);
	run_until_looks(&lab, lab.n_looks + 2);
	assert_true(lab.n_none >= 1);
	assert_non_null(strstr(lab.why, "did not end within 0.2 s"));
	assert_true(lab.ticks - ticks > 20);
	/* When squeue works again, snapshots continue. */
	put(&lab, "squeue", SCRIPTS_SQUEUE);
	lab.n_none = 0;
	run_until_looks(&lab, lab.n_looks + 2);
	assert_true(lab.n_none <= 1);
	close_lab(&lab);
}

static void
nonsense_is_no_snapshot(void **state)
{
	struct lab lab;

	(void)state;
	open_lab(&lab, 50, 0);
	put(&lab, "jobs", "slurm_load_jobs error\n");
	run_until_looks(&lab, 1);
	assert_int_equal(lab.n_none, 1);
	put(&lab, "jobs", JOBS);
	put(&lab, "nodes", "n1\n");
	run_until_looks(&lab, lab.n_looks + 2);
	assert_true(lab.n_none >= 2);
	assert_non_null(strstr(lab.why, "sinfo"));
	put(&lab, "squeue", "#!/bin/sh\nexec yes\n");
	run_until_looks(&lab, lab.n_looks + 2);
	assert_true(lab.n_none >= 4);
	close_lab(&lab);
}

static void
too_many_changes_are_refused(void **state)
{
	struct lab lab;
	int r = 0;

	(void)state;
	open_lab(&lab, 100000, 500);
	run_until_looks(&lab, 1);
	put(&lab, "scontrol", "#!/bin/sh\nexec sleep 100\n");
	for (int i = 0; i < 1000 && r == 0; i++)
		r = act(&lab, SCHED_PLACE, "11", "n1", NULL);
	assert_int_equal(r, -EBUSY);
	/* All pending actions are dropped without a message. */
	close_lab(&lab);
	assert_int_equal(lab.n_done, 0);
}

static void
pokes_do_not_add_up(void **state)
{
	struct lab lab;

	(void)state;
	open_lab(&lab, 100000, 0);
	for (int i = 0; i < 1000; i++)
		sched_poll(lab.driver);
	run_until_looks(&lab, 1);
	for (int i = 0; i < 1000; i++)
		sched_poll(lab.driver);
	run_until_looks(&lab, 2);
	loop_every(lab.loop, 400 * MS, on_limit, &lab);
	assert_int_equal(loop_run(lab.loop), -1);
	assert_true(lab.n_looks <= 3);
	close_lab(&lab);
}

static void
without_slurm_there_is_no_driver(void **state)
{
	const struct sched_observer observer = { NULL, on_snapshot, on_done };
	const struct slurm_opts opts = { .bindir = "/nowhere" };
	struct loop *loop = loop_new();
	struct sched_driver *driver;
	struct err err;

	(void)state;
	assert_int_equal(slurm_open(loop, &opts, &observer, &driver, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nowhere/scontrol"));
	assert_null(sched_kind(NULL));
	sched_close(NULL);
	loop_free(loop);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_look_is_taken_at_once_and_then_at_each_poll),
		cmocka_unit_test(each_change_is_one_call),
		cmocka_unit_test(let_go_opens_the_gate_and_nothing_else),
		cmocka_unit_test(what_its_user_asked_for_since_the_last_look_stands),
		cmocka_unit_test(
			to_prefer_asks_first_and_appends_to_the_site_s_features),
		cmocka_unit_test(features_that_no_job_waits_for_are_taken_away),
		cmocka_unit_test(a_movable_job_is_requeued_by_one_call),
		cmocka_unit_test(a_job_that_may_not_move_is_not_requeued),
		cmocka_unit_test(a_job_is_asked_once_more_before_it_is_requeued),
		cmocka_unit_test(a_requeued_job_gets_its_place_and_slurm_s_delay_ends),
		cmocka_unit_test(
			a_later_start_or_nodes_of_its_user_stand_after_a_requeue),
		cmocka_unit_test(what_cannot_be_is_refused_before_it_is_sent),
		cmocka_unit_test(what_slurm_refuses_is_told_in_its_words),
		cmocka_unit_test(
			a_pin_of_a_job_that_has_begun_meanwhile_is_nothing_to_take_back),
		cmocka_unit_test(commands_that_hang_block_nothing_and_are_told),
		cmocka_unit_test(nonsense_is_no_snapshot),
		cmocka_unit_test(too_many_changes_are_refused),
		cmocka_unit_test(pokes_do_not_add_up),
		cmocka_unit_test(without_slurm_there_is_no_driver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
