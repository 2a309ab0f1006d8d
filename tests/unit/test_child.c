/* SPDX-License-Identifier: Apache-2.0 */
/* test_child.c - child programs that hang, flood, fail, fork or do not exist */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/child.h"
#include "lib/daemon/loop.h"
#include "tests/unit/test.h"

#define MS ((int64_t)1000000)

struct lab {
	struct loop *loop;
	struct child *child;
	struct strbuf text, said;
	size_t n;
	struct err why;
	bool is_well;
	int status, n_done;
	int64_t n_ticks;
};

static void
on_done(void *ctx, const struct child_result *result)
{
	struct lab *lab = ctx;

	lab->n_done++;
	lab->n = result->n;
	strbuf_add(&lab->text, result->text, result->n);
	strbuf_puts(&lab->said, result->said);
	lab->status = result->status;
	lab->is_well = !result->why;
	if (result->why)
		lab->why = *result->why;
	assert_int_equal(result->text[result->n], '\0');
	if (lab->loop)
		loop_stop(lab->loop, 0);
}

static struct child_opts
shell(struct lab *lab, const char *argv[4], const char *script)
{
	*lab = (struct lab){ .text = STRBUF_EMPTY, .said = STRBUF_EMPTY, .status = -9 };
	argv[0] = "sh";
	argv[1] = "-c";
	argv[2] = script;
	argv[3] = NULL;
	return (struct child_opts){ .argv = argv,
				    .timeout_ns = 5000 * MS,
				    .max_bytes = 1 << 20,
				    .done = on_done,
				    .ctx = lab };
}

static void
lab_fini(struct lab *lab)
{
	strbuf_free(&lab->text);
	strbuf_free(&lab->said);
	if (lab->loop)
		loop_free(lab->loop);
}

/* Runs in a loop; 'tick' stands for a daemon's own work. */
static void
on_tick(void *ctx, int64_t now_ns, int64_t missed)
{
	struct lab *lab = ctx;

	(void)now_ns;
	(void)missed;
	lab->n_ticks++;
}

static void
run_in_loop(struct lab *lab, const struct child_opts *opts)
{
	lab->loop = loop_new();
	loop_every(lab->loop, 5 * MS, on_tick, lab);
	assert_int_equal(child_start(lab->loop, opts, &lab->child, NULL), 0);
	loop_run(lab->loop);
	assert_int_equal(lab->n_done, 1);
}

static void
output_and_status_are_told(void **state)
{
	const char *argv[4];
	struct lab lab;
	struct child_opts opts = shell(&lab, argv, "echo out; echo talk >&2");

	(void)state;
	run_in_loop(&lab, &opts);
	assert_true(lab.is_well);
	assert_int_equal(lab.status, 0);
	assert_string_equal(lab.text.text, "out\n");
	assert_string_equal(lab.said.text, "talk\n");
	lab_fini(&lab);
}

static void
the_same_is_told_without_a_loop(void **state)
{
	const char *argv[4];
	struct lab lab;
	struct child_opts opts =
		shell(&lab, argv, "echo out; echo no such job >&2; exit 3");

	(void)state;
	assert_int_equal(child_run(&opts, NULL), 0);
	assert_int_equal(lab.n_done, 1);
	assert_false(lab.is_well);
	assert_int_equal(lab.status, 3);
	assert_string_equal(lab.why.text, "sh failed with status 3: no such job");
	lab_fini(&lab);
}

static void
zeros_in_the_output_are_kept(void **state)
{
	const char *argv[4];
	struct lab lab;
	struct child_opts opts = shell(&lab, argv, "printf 'a\\000b'");

	(void)state;
	run_in_loop(&lab, &opts);
	assert_int_equal(lab.n, 3);
	assert_memory_equal(lab.text.text, "a\0b", 3);
	lab_fini(&lab);
}

static void
a_program_that_is_not_there_is_an_error_at_once(void **state)
{
	const char *argv[] = { "antiphase-no-such-program", NULL };
	struct lab lab = { .text = STRBUF_EMPTY };
	struct child_opts opts = {
		.argv = argv, .timeout_ns = MS, .done = on_done, .ctx = &lab
	};
	struct err err;
	struct loop *loop = loop_new();

	(void)state;
	assert_int_equal(child_start(loop, &opts, &lab.child, &err), -ENOENT);
	assert_non_null(strstr(err.text, "antiphase-no-such-program"));
	assert_non_null(strstr(err.text, "is it installed?"));
	assert_int_equal(child_run(&opts, &err), -ENOENT);
	assert_int_equal(lab.n_done, 0);
	loop_free(loop);
}

static void
who_hangs_is_killed_with_all_its_group_and_the_loop_goes_on(void **state)
{
	const char *argv[4];
	struct lab lab;
	/* The inner process ignores signals and holds the output open. */
	struct child_opts opts = shell(
		&lab, argv, "trap '' TERM HUP; sleep 100 & echo $!; wait; sleep 100");
	int64_t start_ns = clk_monotonic_ns();
	pid_t inner;

	(void)state;
	opts.timeout_ns = 200 * MS;
	run_in_loop(&lab, &opts);
	assert_false(lab.is_well);
	assert_int_equal(lab.status, -1);
	assert_string_equal(lab.why.text, "sh did not end within 0.2 s");
	assert_true(clk_monotonic_ns() - start_ns < 3000 * MS);
	assert_true(lab.n_ticks >= 10);
	inner = (pid_t)atol(lab.text.text);
	assert_true(inner > 0);
	/* Gone, or a zombie not yet reaped by its new parent. */
	for (int i = 0; i < 100 && kill(inner, 0) == 0; i++) {
		char path[64], text[128] = "";
		FILE *in;

		snprintf(path, sizeof path, "/proc/%d/stat", (int)inner);
		in = fopen(path, "re");
		if (!in)
			break;
		if (!fgets(text, sizeof text, in))
			text[0] = '\0';
		fclose(in);
		if (strstr(text, ") Z "))
			break;
		usleep(10000);
		assert_int_not_equal(i, 99);
	}
	lab_fini(&lab);
}

static void
who_floods_is_killed_at_the_limit(void **state)
{
	const char *argv[4];
	struct lab lab;
	struct child_opts opts = shell(&lab, argv, "exec yes");

	(void)state;
	run_in_loop(&lab, &opts);
	assert_false(lab.is_well);
	assert_string_equal(lab.why.text, "sh printed more than 1 MiB");
	assert_true(lab.text.length <= 1 << 20);
	lab_fini(&lab);
}

static void
of_much_talk_the_first_is_kept(void **state)
{
	const char *argv[4];
	struct lab lab;
	struct child_opts opts = shell(
		&lab, argv, "head -c 1000000 /dev/zero | tr '\\0' x >&2; echo out");

	(void)state;
	run_in_loop(&lab, &opts);
	assert_true(lab.is_well);
	assert_int_equal(lab.said.length, CHILD_MAX_SAID);
	assert_string_equal(lab.text.text, "out\n");
	lab_fini(&lab);
}

static void
who_leaves_a_process_behind_is_not_waited_for(void **state)
{
	const char *argv[4];
	struct lab lab;
	struct child_opts opts = shell(&lab, argv, "sleep 100 & echo done");
	int64_t start_ns = clk_monotonic_ns();

	(void)state;
	run_in_loop(&lab, &opts);
	assert_true(lab.is_well);
	assert_string_equal(lab.text.text, "done\n");
	assert_true(clk_monotonic_ns() - start_ns < 3000 * MS);
	lab_fini(&lab);
}

static void
who_is_killed_by_others_is_told_so(void **state)
{
	const char *argv[4];
	struct lab lab;
	struct child_opts opts = shell(&lab, argv, "echo half; kill -SEGV $$");

	(void)state;
	run_in_loop(&lab, &opts);
	assert_false(lab.is_well);
	assert_int_equal(lab.status, -1);
	assert_string_equal(lab.why.text, "sh was killed by signal 11");
	lab_fini(&lab);
}

static void
who_is_given_up_is_killed_and_never_heard_of(void **state)
{
	const char *argv[4];
	struct lab lab;
	struct child_opts opts = shell(&lab, argv, "sleep 100");
	int64_t start_ns = clk_monotonic_ns();
	struct loop *loop = loop_new();

	(void)state;
	assert_int_equal(child_start(loop, &opts, &lab.child, NULL), 0);
	child_free(lab.child);
	child_free(NULL);
	assert_int_equal(lab.n_done, 0);
	assert_true(clk_monotonic_ns() - start_ns < 3000 * MS);
	loop_free(loop);
	lab_fini(&lab);
}

static void
it_gets_no_input_no_descriptor_and_the_environment_and_folder_given(void **state)
{
	static const char *const envp[] = { "PATH=/usr/bin:/bin", "ONLY=this", NULL };
	const char *argv[4];
	struct lab lab;
	struct child_opts opts =
		shell(&lab, argv,
		      "cat; ls /proc/self/fd | wc -l | tr -d ' '; env | grep ONLY; "
		      "pwd");
	int fd = dup(0); /* Without close-on-exec. */

	(void)state;
	opts.envp = envp;
	opts.dir = "/";
	run_in_loop(&lab, &opts);
	assert_true(lab.is_well);
	/* 0, 1, 2 and the descriptor of the folder itself. */
	assert_string_equal(lab.text.text, "4\nONLY=this\n/\n");
	close(fd);
	lab_fini(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(output_and_status_are_told),
		cmocka_unit_test(the_same_is_told_without_a_loop),
		cmocka_unit_test(zeros_in_the_output_are_kept),
		cmocka_unit_test(a_program_that_is_not_there_is_an_error_at_once),
		cmocka_unit_test(
			who_hangs_is_killed_with_all_its_group_and_the_loop_goes_on),
		cmocka_unit_test(who_floods_is_killed_at_the_limit),
		cmocka_unit_test(of_much_talk_the_first_is_kept),
		cmocka_unit_test(who_leaves_a_process_behind_is_not_waited_for),
		cmocka_unit_test(who_is_killed_by_others_is_told_so),
		cmocka_unit_test(who_is_given_up_is_killed_and_never_heard_of),
		cmocka_unit_test(
			it_gets_no_input_no_descriptor_and_the_environment_and_folder_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
