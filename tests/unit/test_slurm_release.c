/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_slurm_release.c - removal of our changes without the daemon, with scripts in
 * place of Slurm's commands; tests/net/slurm_release.sh uses a real Slurm
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "scheduler/slurm/slurm_release.h"
#include "tests/unit/slurm_scripts.h"

#define WAITS(id, own, required, eligible, record)                                    \
	id "@" own "@PENDING@2@@None@1@" required "@(null)@train@u@" eligible "@N/A@" \
	   "0@1@(null)@" record "@@name@\n"
#define LATE "2099-01-01T00:00:00"
#define GATE "antiphase:v1;gate"
#define JOBS                                                                         \
	WAITS("11", "11", "", LATE, "(null)")                                        \
	WAITS("12", "12", "n[1-2]", "N/A", "(null)")                                 \
	WAITS("13", "13", "n[1-2]", "N/A", "antiphase:v1;shift_us=1;pinned")         \
	WAITS("15", "15", "", LATE, GATE)                                            \
	"16@16@RUNNING@2@n[3-4]@None@1@n[3-4]@(null)@train@u@N/A@N/A@0@1@(null)@"    \
	"antiphase:v1;pinned@@name@\n" WAITS("17", "17", "n1", LATE, GATE ";pinned") \
		WAITS("20_1", "20", "", LATE, GATE)                                  \
			WAITS("20_2", "20", "", LATE, GATE)

struct lab {
	char dir[64];
	struct slurm_releases releases;
	struct err err;
};

static void
put(const struct lab *lab, const char *name, const char *text)
{
	scripts_put(lab->dir, name, text);
}

static void
assert_sent(const struct lab *lab, const char *wanted)
{
	char *text = scripts_sent(lab->dir);

	assert_string_equal(text, wanted);
	free(text);
}

static void
set_up(struct lab *lab)
{
	*lab = (struct lab){ .err = { .line = 0 } };
	snprintf(lab->dir, sizeof lab->dir, "/tmp/aprelease-XXXXXX");
	assert_non_null(mkdtemp(lab->dir));
	put(lab, "squeue", SCRIPTS_SQUEUE);
	put(lab, "sinfo", SCRIPTS_SINFO_ONE_NODE);
	put(lab, "scontrol", SCRIPTS_SCONTROL_STARTS);
	put(lab, "jobs", JOBS);
}

static void
tear_down(struct lab *lab)
{
	slurm_releases_fini(&lab->releases);
	scripts_remove(lab->dir);
}

static int
release(struct lab *lab, bool is_dry, bool keeps_gates, int64_t limit_ms)
{
	const struct slurm_release_opts opts = {
		.slurm = { .bindir = lab->dir, .poll_ms = 100 },
		.is_dry = is_dry,
		.keeps_gates = keeps_gates,
		.limit_ms = limit_ms,
	};

	slurm_releases_fini(&lab->releases);
	return slurm_release(&opts, &lab->releases, &lab->err);
}

static void
what_is_ours_is_taken_back_and_nothing_else(void **state)
{
	struct lab lab;

	(void)state;
	set_up(&lab);
	assert_int_equal(release(&lab, false, false, 60000), 0);
	/* Task by task; a job that is pinned and gated takes one step or two. */
	assert_sent(&lab,
		    "update jobid=13 ReqNodeList= AdminComment=antiphase:v1;released\n"
		    "update jobid=15 StartTime=now AdminComment=antiphase:v1;released\n"
		    "update jobid=17 ReqNodeList= AdminComment=antiphase:v1;released\n"
		    "update jobid=20_1 StartTime=now "
		    "AdminComment=antiphase:v1;released\n"
		    "update jobid=20_2 StartTime=now "
		    "AdminComment=antiphase:v1;released\n");
	assert_int_equal(lab.releases.items.n, 5);
	assert_string_equal(lab.releases.items.items[0].job, "13");
	assert_int_equal(lab.releases.items.items[0].kind, SCHED_UNPIN);
	for (size_t i = 0; i < 5; i++)
		assert_null(lab.releases.items.items[i].why);
	/* A second run does nothing. */
	assert_int_equal(release(&lab, false, false, 60000), 0);
	assert_int_equal(lab.releases.items.n, 0);
	tear_down(&lab);
}

static void
pins_alone_if_that_is_wanted(void **state)
{
	struct lab lab;

	(void)state;
	set_up(&lab);
	assert_int_equal(release(&lab, false, true, 60000), 0);
	assert_sent(
		&lab,
		"update jobid=13 ReqNodeList= AdminComment=antiphase:v1;released\n"
		"update jobid=17 ReqNodeList= AdminComment=antiphase:v1;released\n");
	tear_down(&lab);
}

/* A command of the daemon that outlives it. */
static void
what_comes_just_after_the_first_look_is_taken_back_too(void **state)
{
	struct lab lab;

	(void)state;
	set_up(&lab);
	put(&lab, "jobs", "");
	put(&lab, "late", WAITS("13", "13", "n[1-2]", "N/A", "antiphase:v1;pinned"));
	put(&lab, "squeue",
	    SCRIPTS_SQUEUE "[ ! -e \"${0%/*}/late\" ] || mv \"${0%/*}/late\" "
			   "\"${0%/*}/jobs\"\n");
	assert_int_equal(release(&lab, false, true, 60000), 0);
	assert_sent(
		&lab,
		"update jobid=13 ReqNodeList= AdminComment=antiphase:v1;released\n");
	tear_down(&lab);
}

static void
dry_it_changes_nothing(void **state)
{
	struct lab lab;

	(void)state;
	set_up(&lab);
	assert_int_equal(release(&lab, true, false, 60000), 0);
	assert_sent(&lab, "");
	assert_int_equal(lab.releases.items.n, 4);
	tear_down(&lab);
}

static void
what_slurm_refuses_is_told_after_a_second_attempt(void **state)
{
	struct lab lab;

	(void)state;
	set_up(&lab);
	put(&lab, "scontrol",
	    "#!/bin/sh\ncase $1 in -V) echo slurm 22.05.8; exit;; esac\n"
	    "echo \"$2\" >>\"${0%/*}/log\"\n"
	    "echo 'slurm_update error: Access/permission denied' >&2; exit 1\n");
	assert_int_equal(release(&lab, false, true, 60000), 0);
	assert_sent(&lab, "jobid=13\njobid=17\njobid=13\njobid=17\n");
	assert_int_equal(lab.releases.items.n, 2);
	assert_int_equal(lab.releases.items.items[0].rc, -EACCES);
	assert_non_null(strstr(lab.releases.items.items[1].why, "permission denied"));
	tear_down(&lab);
}

static void
without_an_answer_it_gives_up(void **state)
{
	struct lab lab;
	char *path;

	(void)state;
	set_up(&lab);
	put(&lab, "squeue", "#!/bin/sh\necho 'nobody there' >&2; exit 1\n");
	assert_int_equal(release(&lab, false, false, 500), -ETIMEDOUT);
	assert_non_null(strstr(lab.err.text, "Slurm does not answer"));
	assert_non_null(strstr(lab.err.text, "nobody there"));
	/* Nor does it wait for a hanging command. */
	put(&lab, "squeue", SCRIPTS_SQUEUE);
	put(&lab, "scontrol",
	    "#!/bin/sh\ncase $1 in -V) echo slurm 22.05.8; exit;; esac\nsleep 100\n");
	assert_int_equal(release(&lab, false, true, 1500), -ETIMEDOUT);
	assert_non_null(strstr(lab.err.text, "not all was taken back"));
	assert_int_equal(lab.releases.items.items[0].rc, -ETIMEDOUT);
	/* Without Slurm it does not wait. */
	path = xasprintf("%s/scontrol", lab.dir);
	unlink(path);
	free(path);
	assert_int_equal(release(&lab, false, false, 60000), -ENOENT);
	tear_down(&lab);
}

static void
without_an_answer_it_may_give_up_sooner(void **state)
{
	struct slurm_release_opts opts = { .limit_ms = 60000, .silent_ms = 300 };
	struct lab lab;

	(void)state;
	set_up(&lab);
	put(&lab, "squeue", "#!/bin/sh\necho 'nobody there' >&2; exit 1\n");
	opts.slurm = (struct slurm_opts){ .bindir = lab.dir, .poll_ms = 100 };
	assert_int_equal(slurm_release(&opts, &lab.releases, &lab.err), -ETIMEDOUT);
	assert_non_null(strstr(lab.err.text, "Slurm does not answer"));
	tear_down(&lab);
}

struct takeover {
	const char *dir, *when_sent; /* NULL: at once. */
};

static bool
is_taken_over(void *ctx)
{
	const struct takeover *takeover = ctx;
	char *text = scripts_sent(takeover->dir);
	bool is = !takeover->when_sent || strstr(text, takeover->when_sent);

	free(text);
	return is;
}

static void
it_ends_where_somebody_else_takes_over(void **state)
{
	struct slurm_release_opts opts = { .keeps_gates = true,
					   .limit_ms = 60000,
					   .is_taken_over = is_taken_over };
	struct takeover takeover;
	struct lab lab;

	(void)state;
	set_up(&lab);
	opts.slurm = (struct slurm_opts){ .bindir = lab.dir, .poll_ms = 100 };
	takeover = (struct takeover){ lab.dir, NULL };
	opts.ctx = &takeover;
	assert_int_equal(slurm_release(&opts, &lab.releases, &lab.err), -ECANCELED);
	assert_string_equal(lab.err.text, "a daemon is running and does it");
	assert_sent(&lab, "");
	/* Later changes are not its task, though time is left. */
	takeover.when_sent = "jobid=17";
	put(&lab, "late", WAITS("14", "14", "n[1-2]", "N/A", "antiphase:v1;pinned"));
	put(&lab, "squeue",
	    SCRIPTS_SQUEUE "[ ! -e \"${0%/*}/late\" ] || cat \"${0%/*}/late\" "
			   ">>\"${0%/*}/jobs\"\nrm -f \"${0%/*}/late\"\n");
	assert_int_equal(slurm_release(&opts, &lab.releases, &lab.err), -ECANCELED);
	assert_sent(
		&lab,
		"update jobid=13 ReqNodeList= AdminComment=antiphase:v1;released\n"
		"update jobid=17 ReqNodeList= AdminComment=antiphase:v1;released\n");
	tear_down(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_ours_is_taken_back_and_nothing_else),
		cmocka_unit_test(pins_alone_if_that_is_wanted),
		cmocka_unit_test(
			what_comes_just_after_the_first_look_is_taken_back_too),
		cmocka_unit_test(dry_it_changes_nothing),
		cmocka_unit_test(what_slurm_refuses_is_told_after_a_second_attempt),
		cmocka_unit_test(without_an_answer_it_gives_up),
		cmocka_unit_test(without_an_answer_it_may_give_up_sooner),
		cmocka_unit_test(it_ends_where_somebody_else_takes_over),
	};

	return cmocka_run_group_tests_name("slurm_release", tests, NULL, NULL);
}
