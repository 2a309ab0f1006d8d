/* test_http_call.c - requests from a loop: to a server of ours, and to worse ones. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/daemon/http.h"
#include "lib/daemon/http_call.h"
#include "lib/daemon/loop.h"
#include "tests/unit/test.h"

#define SECOND_NS INT64_C(1000000000)

/* More than a socket takes at once. */
static void
much(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	(void)ctx;
	(void)request;
	for (int i = 0; i < 400000; i++)
		strbuf_puts(&reply->body, "0123456789");
}

static void
echo(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	(void)ctx;
	reply->status = 201;
	strbuf_add(&reply->body, request->body, request->n_body);
}

static pid_t
start_server(char address[32])
{
	static const struct http_route routes[] = {
		{ "GET", "/much", false, 0, much },
		{ "PUT", "/echo", false, HTTP_MAX_BODY, echo },
	};
	struct loop *loop = loop_new();
	struct http *http;
	pid_t pid;

	assert_int_equal(http_open(loop, "127.0.0.1:0", NULL, 0, &http, NULL), 0);
	http_add_routes(http, routes, 2, NULL);
	snprintf(address, 32, "127.0.0.1:%u", http_port(http));
	pid = fork();
	if (pid == 0) {
		alarm(20);
		loop_run(loop);
		_exit(0);
	}
	http_close(http);
	loop_free(loop);
	return pid;
}

/* One at a socket's path that takes a connection, says 'reply', and stays or goes. */
static pid_t
start_rogue(char path[64], const char *reply, bool stays)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	pid_t pid;

	snprintf(path, 64, "/tmp/antiphase-call-%d.sock", (int)getpid());
	unlink(path);
	snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	assert_int_equal(listen(fd, 1), 0);
	pid = fork();
	if (pid == 0) {
		int peer = accept(fd, NULL, NULL);
		char question[512];

		alarm(20);
		if (read(peer, question, sizeof question) < 0 ||
		    write(peer, reply, strlen(reply)) < 0)
			_exit(1);
		if (stays)
			pause();
		_exit(0);
	}
	close(fd);
	return pid;
}

static void
stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ---- One call ------------------------------------------------------------------------ */

struct answer {
	struct loop *loop;
	int n, status;
	char *body;
	size_t length;
};

static void
on_done(void *ctx, int status, const char *body, size_t n)
{
	struct answer *answer = ctx;

	answer->n++;
	answer->status = status;
	assert_int_equal(body[n], '\0');
	answer->body = xmemdup(body, n + 1, 1);
	answer->length = n;
	loop_stop(answer->loop, 0);
}

static struct answer
ask(const struct http_call_opts *opts)
{
	struct answer answer = { .loop = loop_new() };
	struct http_call *call;
	struct err err = { .line = 0 };

	if (http_call(answer.loop, opts, on_done, &answer, &call, &err) < 0)
		fail_msg("%s", err.text);
	loop_run(answer.loop);
	assert_int_equal(answer.n, 1);
	loop_free(answer.loop);
	return answer;
}

static void
a_server_of_ours_answers(void **state)
{
	char address[32];
	pid_t pid = start_server(address);
	struct http_call_opts opts = { .address = address,
				       .method = "GET",
				       .path = "/much",
				       .timeout_ns = 10 * SECOND_NS,
				       .max_bytes = 5000000 };
	struct answer answer = ask(&opts);

	(void)state;
	assert_int_equal(answer.status, 200);
	assert_int_equal(answer.length, 4000000);
	assert_memory_equal(answer.body, "0123456789", 10);
	free(answer.body);
	opts.max_bytes = 100000;
	answer = ask(&opts);
	assert_int_equal(answer.status, -EFBIG);
	free(answer.body);
	opts.method = "PUT";
	opts.path = "/echo";
	opts.type = "application/json";
	opts.body = "{\"a\":1}";
	answer = ask(&opts);
	assert_int_equal(answer.status, 201);
	assert_string_equal(answer.body, "{\"a\":1}");
	free(answer.body);
	stop(pid);
}

static void
who_does_not_answer_is_given_up_in_time(void **state)
{
	char path[64];
	pid_t pid = start_rogue(path, "HTTP/1.0 200 OK\r\n\r\nhalf", true);
	int64_t start_ns = clk_monotonic_ns();
	struct answer answer =
		ask(&(struct http_call_opts){ .address = path,
					      .method = "GET",
					      .path = "/",
					      .timeout_ns = SECOND_NS / 5,
					      .max_bytes = 1000 });

	(void)state;
	assert_int_equal(answer.status, -ETIMEDOUT);
	assert_non_null(strstr(answer.body, path));
	assert_true(clk_monotonic_ns() - start_ns < 10 * SECOND_NS);
	free(answer.body);
	stop(pid);
	unlink(path);
}

static void
replies_are_checked(void **state)
{
	static const struct {
		const char *reply;
		int status;
		const char *body;
	} cases[] = {
		{ "HTTP/1.0 403 Forbidden\r\nA: b\r\n\r\nno", 403, "no" },
		{ "HTTP/1.1 200 OK\r\n\r\n", 200, "" },
		{ "", -EPROTO, NULL },
		{ "SSH-2.0-OpenSSH\r\n\r\n", -EPROTO, NULL },
		{ "HTTP/1.1 200 OK\r\n", -EPROTO, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char path[64];
		pid_t pid = start_rogue(path, cases[i].reply, false);
		struct answer answer =
			ask(&(struct http_call_opts){ .address = path,
						      .method = "GET",
						      .path = "/",
						      .timeout_ns = 10 * SECOND_NS,
						      .max_bytes = 1000 });

		assert_int_equal(answer.status, cases[i].status);
		if (cases[i].body)
			assert_string_equal(answer.body, cases[i].body);
		free(answer.body);
		stop(pid);
		unlink(path);
	}
}

static void
one_that_is_given_up_is_not_heard_of(void **state)
{
	char path[64];
	pid_t pid = start_rogue(path, "HTTP/1.0 200 OK\r\n\r\n", true);
	struct answer answer = { .loop = loop_new() };
	struct http_call *call;

	(void)state;
	assert_int_equal(http_call(answer.loop,
				   &(struct http_call_opts){ .address = path,
							     .method = "GET",
							     .path = "/",
							     .timeout_ns = SECOND_NS,
							     .max_bytes = 10 },
				   on_done, &answer, &call, NULL),
			 0);
	http_call_cancel(call);
	http_call_cancel(NULL);
	loop_free(answer.loop);
	assert_int_equal(answer.n, 0);
	stop(pid);
	unlink(path);
}

static void
only_this_host_is_called(void **state)
{
	static const char *const bad[] = { "", "x", "127.0.0.1", "localhost:80",
					   "127.0.0.1:0" };
	char path[200];
	struct err err;
	struct http_call *call;
	struct http_call_opts opts = { .address = "/tmp/antiphase-nobody.sock",
				       .method = "GET",
				       .path = "/",
				       .timeout_ns = SECOND_NS,
				       .max_bytes = 10 };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(http_call_check(bad[i], &err), -EINVAL);
	memset(path, '/', sizeof path - 1);
	path[sizeof path - 1] = '\0';
	assert_int_equal(http_call_check(path, &err), -EINVAL);
	assert_int_equal(http_call_check("192.0.2.1:80", &err), -EACCES);
	assert_int_equal(http_call_check("[2001:db8::1]:80", &err), -EACCES);
	assert_int_equal(http_call_check("127.0.0.1:8001", &err), 0);
	assert_int_equal(http_call_check("[::1]:8001", &err), 0);
	assert_int_equal(http_call_check("/run/x.sock", &err), 0);
	assert_int_equal(http_call(NULL, &opts, on_done, NULL, &call, &err), -ENOENT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_of_ours_answers),
		cmocka_unit_test(who_does_not_answer_is_given_up_in_time),
		cmocka_unit_test(replies_are_checked),
		cmocka_unit_test(one_that_is_given_up_is_not_heard_of),
		cmocka_unit_test(only_this_host_is_called),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
