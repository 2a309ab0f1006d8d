/* Asking a daemon over its socket: the daemon's loop here, who asks in a child. */
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
#include "lib/daemon/ctl.h"
#include "lib/daemon/ctl_words.h"
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

static const struct ctl_verb verbs[] = {
	{ "echo", 0, 12, false, run_echo },  { "much", 1, 1, false, run_much },
	{ "job add", 1, 2, true, run_echo }, { "job list", 0, 0, false, run_fail },
	{ NULL, 0, 0, false, NULL },
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

/* Runs the daemon for as long as 'work' takes in a child; its exit status. */
static int
with_daemon(int (*work)(void))
{
	struct daemon_end end = { .loop = loop_new() };
	struct err err = { 0 };
	struct ctl *ctl;
	int ends[2], status;
	pid_t child;

	assert_int_equal(ctl_open(end.loop, path, 0600, verbs, NULL, &ctl, &err), 0);
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
	ctl_close(ctl);
	loop_free(end.loop);
	assert_int_equal(access(path, F_OK), -1);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

#define SECOND INT64_C(1000000000)

/* True if the words are answered by 'expected'. */
static bool
is_answered(const char *const *words, const char *expected)
{
	struct strbuf reply = STRBUF_EMPTY;
	struct err err = { 0 };
	bool same = ctl_ask(path, words, 10 * SECOND, &reply, &err) == 0 &&
		    strcmp(reply.text, expected) == 0;

	if (!same)
		fprintf(stderr, "'%s' %s\n", reply.text, err.text);
	strbuf_free(&reply);
	return same;
}

/* True if the words are refused with 'error' and a text that has 'part' in it. */
static bool
is_refused(const char *const *words, int error, const char *part)
{
	struct strbuf reply = STRBUF_EMPTY;
	struct err err = { 0 };
	int rc = ctl_ask(path, words, 10 * SECOND, &reply, &err);
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
	/* Far more than a socket takes at once. */
	if (ctl_ask(path, WORDS("much", "8388608"), 10 * SECOND, &reply, &err) < 0 ||
	    reply.length != 8388608)
		return 3;
	strbuf_free(&reply);
	return lstat(path, &info) == 0 && (info.st_mode & 0777) == 0600 ? 0 : 4;
}

static void
words_go_there_and_a_document_comes_back(void **state)
{
	(void)state;
	assert_int_equal(with_daemon(ask_several), 0);
}

/* True if that comes on stdout, or else on stderr, with the exit status. */
static bool
is_printed(const char *const *words, int status, const char *out, const char *part)
{
	struct capture for_out, for_talk;
	char *printed, *talk, daemon[32];
	bool is_so;

	snprintf(daemon, sizeof daemon, "ap-ctl-%d", (int)getppid());
	capture_begin(&for_out, STDOUT_FILENO);
	capture_begin(&for_talk, STDERR_FILENO);
	is_so = ctl_ask_print("/tmp", daemon, words) == status;
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
	return ctl_ask_print("/nowhere", "none", WORDS("x")) == CLI_UNREACHABLE ? 0 : 2;
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

/* What comes back for raw bytes; true if it begins with 'start'. */
static bool
is_raw_answer(const char *bytes, size_t n, const char *start)
{
	char text[256];
	int fd = connect_to_it();
	ssize_t got;

	if (send(fd, bytes, n, MSG_NOSIGNAL) < 0 && errno != EPIPE)
		return false;
	got = recv(fd, text, sizeof text - 1, 0);
	text[got > 0 ? got : 0] = '\0';
	close(fd);
	if (strncmp(text, start, strlen(start)) == 0)
		return true;
	fprintf(stderr, "'%s'\n", text);
	return false;
}

static int
ask_badly(void)
{
	static char endless[2 * CTL_MAX_REQUEST];
	char busy[] = "echo 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n";
	char nul[] = "echo a\0b\n";

	memset(endless, 'e', sizeof endless);
	if (!is_raw_answer(busy, strlen(busy), "error 22 more than 16 words") ||
	    !is_raw_answer("\n", 1, "error 22 an empty request") ||
	    !is_raw_answer("   \n", 4, "error 22 an empty request") ||
	    !is_raw_answer("echo %4\n", 8, "error 22 word 2 is not encoded well") ||
	    !is_raw_answer("echo %00\n", 9, "error 22 word 2 is not encoded well") ||
	    !is_raw_answer(nul, sizeof nul - 1, "ok\n<a>") ||
	    !is_raw_answer(endless, sizeof endless, "error "))
		return 1;
	/* It lives on. */
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
	/* Those who say nothing, or never read, take all the places. */
	for (int i = 0; i < CTL_MAX_CONNECTIONS; i++) {
		int fd = connect_to_it();

		if (fd < 0 || (i & 1 && send(fd, "much 8000000\n", 13, 0) < 0))
			return 1;
	}
	usleep(100000);
	if (!is_refused(WORDS("echo", "x"), -EBUSY, "too many ask"))
		return 2;
	/* And are let go. */
	for (int i = 0; i < 80; i++) {
		struct strbuf reply = STRBUF_EMPTY;
		struct err err = { 0 };
		int rc;

		usleep(100000);
		rc = ctl_ask(path, WORDS("echo", "x"), SECOND, &reply, &err);
		strbuf_free(&reply);
		if (rc == 0)
			return 0;
	}
	return 3;
}

static void
the_silent_are_let_go_after_a_while(void **state)
{
	(void)state;
	assert_int_equal(with_daemon(crowd_in), 0);
}

static int
ask_as_nobody(void)
{
	/* Past the mode of the socket, so that the kernel's word is what counts. */
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
	assert_int_equal(ctl_ask(path, WORDS("x"), SECOND, &reply, &err),
			 -ECONNREFUSED);
	assert_non_null(strstr(err.text, "no daemon answers there"));
	strcpy(a.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	assert_int_equal(ctl_ask(path, WORDS("x"), SECOND, &reply, &err),
			 -ECONNREFUSED);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(ctl_ask(path, WORDS("x"), SECOND / 20, &reply, &err),
			 -ETIMEDOUT);
	close(fd);
	unlink(path);
	assert_int_equal(ctl_exit_status(-ECONNREFUSED), CLI_UNREACHABLE);
	assert_int_equal(ctl_exit_status(-ENOENT), CLI_NO);
	assert_int_equal(ctl_exit_status(-EPERM), CLI_DENIED);
}

static void
a_socket_left_behind_is_replaced_and_one_in_use_is_not(void **state)
{
	struct loop *loop = loop_new();
	struct ctl *first, *second;
	struct err err = { 0 };
	char longest[200], aside[80];
	FILE *file;

	(void)state;
	snprintf(aside, sizeof aside, "%s-aside", path);
	assert_int_equal(ctl_open(loop, path, 0600, verbs, NULL, &first, &err), 0);
	assert_int_equal(ctl_open(loop, path, 0600, verbs, NULL, &second, &err),
			 -EADDRINUSE);
	assert_non_null(strstr(err.text, "another daemon"));
	assert_int_equal(access(path, F_OK), 0);
	/* As after SIGKILL: the name is there, nobody listens. */
	assert_int_equal(rename(path, aside), 0);
	ctl_close(first);
	assert_int_equal(rename(aside, path), 0);
	assert_int_equal(ctl_open(loop, path, 0660, verbs, NULL, &second, &err), 0);
	ctl_close(second);
	assert_int_equal(access(path, F_OK), -1);

	file = fopen(path, "w");
	fclose(file);
	assert_int_equal(ctl_open(loop, path, 0600, verbs, NULL, &second, &err),
			 -EEXIST);
	unlink(path);
	memset(longest, 'a', sizeof longest);
	longest[0] = '/';
	longest[sizeof longest - 1] = '\0';
	assert_int_equal(ctl_open(loop, longest, 0600, verbs, NULL, &second, &err),
			 -EINVAL);
	assert_int_equal(
		ctl_open(loop, "/no/such/dir/s", 0600, verbs, NULL, &second, &err),
		-ENOENT);
	loop_free(loop);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_go_there_and_a_document_comes_back),
		cmocka_unit_test(a_command_line_prints_the_answer_or_what_is_wrong),
		cmocka_unit_test(what_is_no_request_is_refused),
		cmocka_unit_test(the_silent_are_let_go_after_a_while),
		cmocka_unit_test(changes_are_for_root_and_the_daemons_user),
		cmocka_unit_test(nobody_there_is_told_from_a_daemon_that_is_silent),
		cmocka_unit_test(
			a_socket_left_behind_is_replaced_and_one_in_use_is_not),
	};

	signal(SIGPIPE, SIG_IGN);
	snprintf(path, sizeof path, "/tmp/ap-ctl-%d.sock", (int)getpid());
	return cmocka_run_group_tests_name("ctl", tests, NULL, NULL);
}
