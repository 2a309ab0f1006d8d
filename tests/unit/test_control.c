/* SPDX-License-Identifier: Apache-2.0 */
/* test_control.c - requests over the control socket; the client is a child process */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/cli.h"
#include "lib/base/err.h"
#include "lib/daemon/control.h"
#include "lib/daemon/http.h"
#include "lib/daemon/loop.h"
#include "tests/unit/capture.h"
#include "tests/unit/test.h"

static char path[64];

static int
run_echo(void *ctx, size_t n, char **args, struct strbuf *reply, struct err *err)
{
	(void)ctx;
	(void)err;
	for (size_t i = 0; i < n; i++)
		strbuf_printf(reply, "<%s>", args[i]);
	return 0;
}

static int
run_much(void *ctx, size_t n, char **args, struct strbuf *reply, struct err *err)
{
	(void)ctx;
	(void)n;
	(void)err;
	for (int i = atoi(args[0]); i > 0; i--)
		strbuf_putc(reply, 'x');
	return 0;
}

static int
run_fail(void *ctx, size_t n, char **args, struct strbuf *reply, struct err *err)
{
	(void)ctx;
	(void)n;
	(void)args;
	strbuf_puts(reply, "half a reply");
	err_set(err, NULL, 0, 0, "there is no job 'x'");
	return -ENOENT;
}

/* Fails with the given errno. */
static int
run_errno(void *ctx, size_t n, char **args, struct strbuf *reply, struct err *err)
{
	(void)ctx;
	(void)n;
	(void)reply;
	err_set(err, NULL, 0, 0, "as told");
	return -atoi(args[0]);
}

static const struct control_command commands[] = {
	{ "echo", "[WORD...]", 0, 12, false, run_echo },
	{ "much", "N", 1, 1, false, run_much },
	{ "job add", "NAME [CGROUP]", 1, 2, true, run_echo },
	{ "job list", "", 0, 0, false, run_fail },
	{ "errno", "N", 1, 1, false, run_errno },
	{ NULL, NULL, 0, 0, false, NULL },
};

struct daemon_end {
	struct loop *loop;
	int pipe;
};

static void
on_end(void *ctx)
{
	struct daemon_end *end = ctx;

	loop_stop(end->loop, 0);
}

/* Runs the daemon while 'work' runs in a child; returns the child's exit status. */
static int
with_daemon(int (*work)(void))
{
	struct daemon_end end = { .loop = loop_new() };
	struct err err = { 0 };
	struct control *control;
	int ends[2], status;
	pid_t child;

	assert_int_equal(control_open(end.loop, path, commands, NULL, &control, &err),
			 0);
	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(ends[0]);
		alarm(20);
		_exit(work());
	}
	close(ends[1]);
	end.pipe = ends[0];
	loop_fd(end.loop, ends[0], on_end, &end);
	assert_int_equal(loop_run(end.loop), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	close(ends[0]);
	control_close(control);
	loop_free(end.loop);
	assert_int_equal(access(path, F_OK), -1);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

#define SECOND INT64_C(1000000000)

/* True if the reply is 'expected'. */
static bool
is_answered(const char *const *words, const char *expected)
{
	struct strbuf reply = STRBUF_EMPTY;
	struct err err = { 0 };
	bool same = control_ask(path, words, 10 * SECOND, &reply, &err) == 0 &&
		    strcmp(reply.text, expected) == 0;

	if (!same)
		fprintf(stderr, "'%s' %s\n", reply.text, err.text);
	strbuf_free(&reply);
	return same;
}

/* True if the reply is 'error' with a text that contains 'part'. */
static bool
is_refused(const char *const *words, int error, const char *part)
{
	struct strbuf reply = STRBUF_EMPTY;
	struct err err = { 0 };
	int rc = control_ask(path, words, 10 * SECOND, &reply, &err);
	bool so = rc == error && !reply.length && strstr(err.text, part);

	if (!so)
		fprintf(stderr, "%d '%s'\n", rc, err.text);
	strbuf_free(&reply);
	return so;
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static int
ask_several(void)
{
	struct strbuf reply = STRBUF_EMPTY;
	struct err err = { 0 };
	struct stat info;

	if (!is_answered(WORDS("echo", "a b", "", "%", "tab\tnewline\n", "caf\xc3\xa9"),
			 "<a b><><%><tab\tnewline\n><caf\xc3\xa9>") ||
	    !is_answered(WORDS("echo"), "") ||
	    !is_answered(WORDS("job", "add", "n", "/x y"), "<n></x y>"))
		return 1;
	if (!is_refused(WORDS("job", "list"), -ENOENT, "there is no job 'x'") ||
	    !is_refused(WORDS("job", "add"), -EINVAL, "1 to 2 words") ||
	    !is_refused(WORDS("much"), -EINVAL, "'much' takes 1 word, not 0") ||
	    !is_refused(WORDS("help"), -EINVAL, "; it knows echo, ") ||
	    !is_refused(WORDS("ehco"), -EINVAL, "did you mean 'echo'") ||
	    !is_refused(WORDS("job", "drop"), -EINVAL, "'job drop'") ||
	    !is_refused(WORDS("much", "8388609"), -EFBIG, "longer than"))
		return 2;
	/* More than a socket buffer takes at once. */
	if (control_ask(path, WORDS("much", "8388608"), 10 * SECOND, &reply, &err) <
		    0 ||
	    reply.length != 8388608)
		return 3;
	strbuf_free(&reply);
	return lstat(path, &info) == 0 && (info.st_mode & 0777) == 0660 ? 0 : 4;
}

/* Errors come back unchanged, except those without an HTTP status of their own. */
static int
fail_in_all_ways(void)
{
	static const int errors[] = { EINVAL, EPERM, ENOENT, EEXIST,    EFBIG,
				      E2BIG,  EBUSY, EIO,    EOPNOTSUPP };

	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
		char number[16];

		snprintf(number, sizeof number, "%d", errors[i]);
		if (!is_refused(WORDS("errno", number), -errors[i], "as told"))
			return 1;
	}
	return is_refused(WORDS("errno", "5555"), -EIO, "as told") ? 0 : 2;
}

static void
errors_come_back_as_they_are(void **state)
{
	(void)state;
	assert_int_equal(with_daemon(fail_in_all_ways), 0);
}

static void
words_go_there_and_a_document_comes_back(void **state)
{
	(void)state;
	assert_int_equal(with_daemon(ask_several), 0);
}

/* True if the text comes on stdout, or else on stderr, with the exit status. */
static bool
is_printed(const char *const *words, int status, const char *out, const char *part)
{
	struct capture for_out, for_talk;
	char *printed, *talk, daemon[32];
	bool is_so;

	snprintf(daemon, sizeof daemon, "ap-control-%d", (int)getppid());
	capture_begin(&for_out, STDOUT_FILENO);
	capture_begin(&for_talk, STDERR_FILENO);
	is_so = control_ask_print("/tmp", daemon, words) == status;
	talk = capture_end(&for_talk);
	printed = capture_end(&for_out);
	is_so &= strcmp(printed, out) == 0 && strstr(talk, part) && !*talk == !*part;
	if (!is_so)
		fprintf(stderr, "'%s' '%s'\n", printed, talk);
	free(printed);
	free(talk);
	return is_so;
}

static int
ask_for_a_command_line(void)
{
	if (!is_printed(WORDS("echo", "a"), CLI_OK, "<a>", "") ||
	    !is_printed(WORDS("job", "list"), CLI_NO, "", "there is no job 'x'\n") ||
	    !is_printed(WORDS("much"), CLI_USAGE, "", "takes 1 word"))
		return 1;
	return control_ask_print("/nowhere", "none", WORDS("x")) == CLI_UNREACHABLE ? 0
										    : 2;
}

static void
a_command_line_prints_the_answer_or_what_is_wrong(void **state)
{
	(void)state;
	assert_int_equal(with_daemon(ask_for_a_command_line), 0);
}

static int
connect_to_it(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(a.sun_path, path);
	return connect(fd, (struct sockaddr *)&a, sizeof a) < 0 ? -1 : fd;
}

/* True if the raw reply has the status and contains the text. */
static bool
is_raw_answer(const char *method, const char *target, const char *body,
	      const char *status, const char *part)
{
	struct strbuf request = STRBUF_EMPTY, answer = STRBUF_EMPTY;
	char chunk[4096];
	int fd = connect_to_it();
	bool is_so;
	ssize_t n;

	strbuf_printf(&request, "%s %s HTTP/1.0\r\nContent-Length: %zu\r\n\r\n%s",
		      method, target, strlen(body), body);
	if (send(fd, request.text, request.length, MSG_NOSIGNAL) < 0 && errno != EPIPE)
		return false;
	while ((n = recv(fd, chunk, sizeof chunk, 0)) > 0)
		strbuf_add(&answer, chunk, (size_t)n);
	close(fd);
	is_so = strlen(answer.text) > 12 &&
		strncmp(answer.text + 9, status, strlen(status)) == 0 &&
		strstr(answer.text, part);
	if (!is_so)
		fprintf(stderr, "%s %s: '%s'\n", method, target, answer.text);
	strbuf_free(&request);
	strbuf_free(&answer);
	return is_so;
}

static int
ask_by_hand(void)
{
	if (!is_raw_answer("GET", "/control/echo/a/b", "", "200", "<a><b>") ||
	    !is_raw_answer("POST", "/control/echo/a%20b", "[\"c/d\"]", "200",
			   "<a b><c/d>") ||
	    !is_raw_answer("POST", "/control", "[\"echo\",\"x\"]", "200", "<x>") ||
	    !is_raw_answer("POST", "/control/job/add/n", "", "200", "<n>"))
		return 1;
	if (!is_raw_answer("GET", "/control/commands", "", "200",
			   "{\"name\": \"job add\", \"arguments\": "
			   "\"NAME [CGROUP]\", \"is_change\": true}") ||
	    !is_raw_answer("GET", "/control/commands", "", "200",
			   "\"antiphase.control_commands/1\"") ||
	    !is_raw_answer("POST", "/control/log/warn", "", "200", "log level: warn"))
		return 2;
	/* GET must not change anything. */
	if (!is_raw_answer("GET", "/control/job/add/n", "", "400", "POST it") ||
	    !is_raw_answer("GET", "/control/log/dbg", "", "400", "POST it"))
		return 3;
	return 0;
}

static void
a_request_by_hand_has_its_words_in_the_path_and_in_the_body(void **state)
{
	(void)state;
	assert_int_equal(with_daemon(ask_by_hand), 0);
}

static int
ask_badly(void)
{
	static char endless[2 * CONTROL_MAX_BODY];

	memset(endless, 'e', sizeof endless - 1);
	if (!is_raw_answer("POST", "/control/echo",
			   "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]", "400", "") ||
	    !is_raw_answer("GET",
			   "/control/echo/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16", "",
			   "400", "more than 16 arguments") ||
	    !is_raw_answer("POST", "/control", "", "400", "an empty request") ||
	    !is_raw_answer("POST", "/control", "[]", "400", "an empty request") ||
	    !is_raw_answer("POST", "/control/echo", "{", "400", "bad_request") ||
	    !is_raw_answer("POST", "/control/echo", "{\"a\":1}", "400",
			   "array of arguments") ||
	    !is_raw_answer("POST", "/control/echo", "[\"a\\u0000b\"]", "400", "") ||
	    !is_raw_answer("POST", "/control", endless, "413", "longer than 16384") ||
	    !is_raw_answer("GET", "/control", "", "405", "POST") ||
	    !is_raw_answer("GET", "/", "", "404", "not_found") ||
	    !is_raw_answer("PUT", "/control/echo", "", "405", "GET"))
		return 1;
	/* The daemon still runs. */
	return is_answered(WORDS("echo", "still"), "<still>") ? 0 : 2;
}

static void
what_is_no_request_is_refused(void **state)
{
	(void)state;
	assert_int_equal(with_daemon(ask_badly), 0);
}

static int
crowd_in(void)
{
	/* Clients that send nothing, or never read, take all connections. */
	for (int i = 0; i < HTTP_MAX_CONNECTIONS + 8; i++) {
		static const char much[] = "GET /control/much/8000000 HTTP/1.0\r\n\r\n";
		int fd = connect_to_it();

		if (fd < 0 || (i % 8 == 0 && send(fd, much, sizeof much - 1, 0) < 0))
			return 1;
		/* Lets the daemon accept it. */
		usleep(2000);
	}
	/* The slowest connection is closed to make room. */
	return is_answered(WORDS("echo", "x"), "<x>") ? 0 : 2;
}

static void
the_silent_lock_nobody_out(void **state)
{
	(void)state;
	assert_int_equal(with_daemon(crowd_in), 0);
}

static int
ask_as_nobody(void)
{
	/* Opens the mode of the socket, so that only the peer's credentials count. */
	if (chmod(path, 0666) < 0 || setgid(65534) < 0 || setuid(65534) < 0)
		return 1;
	if (!is_answered(WORDS("echo", "look"), "<look>") ||
	    !is_refused(WORDS("job", "add", "x"), -EPERM, "not for user 65534"))
		return 2;
	return 0;
}

static void
changes_are_for_root_and_the_daemons_user(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(with_daemon(ask_as_nobody), 0);
}

static void
nobody_there_is_told_from_a_daemon_that_is_silent(void **state)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct strbuf reply = STRBUF_EMPTY;
	struct err err = { 0 };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)state;
	assert_int_equal(control_ask(path, WORDS("x"), SECOND, &reply, &err),
			 -ECONNREFUSED);
	assert_non_null(strstr(err.text, "no daemon answers there"));
	strcpy(a.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	assert_int_equal(control_ask(path, WORDS("x"), SECOND, &reply, &err),
			 -ECONNREFUSED);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(control_ask(path, WORDS("x"), SECOND / 20, &reply, &err),
			 -ETIMEDOUT);
	close(fd);
	unlink(path);
	assert_int_equal(control_exit_status(-ECONNREFUSED), CLI_UNREACHABLE);
	assert_int_equal(control_exit_status(-ENOENT), CLI_NO);
	assert_int_equal(control_exit_status(-EPERM), CLI_DENIED);
}

static void
a_socket_left_behind_is_replaced_and_one_in_use_is_not(void **state)
{
	struct loop *loop = loop_new();
	struct control *first, *second;
	struct err err = { 0 };
	char longest[200], aside[80];
	FILE *file;

	(void)state;
	snprintf(aside, sizeof aside, "%s-aside", path);
	assert_int_equal(control_open(loop, path, commands, NULL, &first, &err), 0);
	assert_int_equal(control_open(loop, path, commands, NULL, &second, &err),
			 -EADDRINUSE);
	assert_non_null(strstr(err.text, "another daemon"));
	assert_int_equal(access(path, F_OK), 0);
	/* As after SIGKILL: the name exists without a listener. */
	assert_int_equal(rename(path, aside), 0);
	control_close(first);
	assert_int_equal(rename(aside, path), 0);
	assert_int_equal(control_open(loop, path, commands, NULL, &second, &err), 0);
	control_close(second);
	assert_int_equal(access(path, F_OK), -1);

	file = fopen(path, "w");
	fclose(file);
	assert_int_equal(control_open(loop, path, commands, NULL, &second, &err),
			 -EEXIST);
	unlink(path);
	memset(longest, 'a', sizeof longest);
	longest[0] = '/';
	longest[sizeof longest - 1] = '\0';
	assert_int_equal(control_open(loop, longest, commands, NULL, &second, &err),
			 -EINVAL);
	assert_int_equal(
		control_open(loop, "/no/such/dir/s", commands, NULL, &second, &err),
		-ENOENT);
	loop_free(loop);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_go_there_and_a_document_comes_back),
		cmocka_unit_test(errors_come_back_as_they_are),
		cmocka_unit_test(a_command_line_prints_the_answer_or_what_is_wrong),
		cmocka_unit_test(
			a_request_by_hand_has_its_words_in_the_path_and_in_the_body),
		cmocka_unit_test(what_is_no_request_is_refused),
		cmocka_unit_test(the_silent_lock_nobody_out),
		cmocka_unit_test(changes_are_for_root_and_the_daemons_user),
		cmocka_unit_test(nobody_there_is_told_from_a_daemon_that_is_silent),
		cmocka_unit_test(
			a_socket_left_behind_is_replaced_and_one_in_use_is_not),
	};

	signal(SIGPIPE, SIG_IGN);
	snprintf(path, sizeof path, "/tmp/ap-control-%d.sock", (int)getpid());
	return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
