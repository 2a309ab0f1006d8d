/* test_http_ask.c - one question over HTTP: to a server of ours, and to worse ones. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/daemon/http.h"
#include "lib/daemon/http_ask.h"
#include "lib/daemon/loop.h"
#include "tests/unit/test.h"

#define SECOND_NS INT64_C(1000000000)

/* More than a socket takes at once. */
static void
write_much(void *ctx, struct strbuf *out)
{
	(void)ctx;
	for (int i = 0; i < 400000; i++)
		strbuf_puts(out, "0123456789");
}

/* Another process with our server; its address in 'address'. */
static pid_t
start_server(char address[32])
{
	static const struct http_page page = { .path = "/much",
					       .content_type = "text/plain",
					       .write = write_much };
	struct loop *loop = loop_new();
	struct http *http;
	pid_t pid;

	assert_int_equal(http_open(loop, "127.0.0.1:0", &page, 1, &http, NULL), 0);
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

/* One that takes a connection, says 'reply', and then keeps silent or goes. */
static pid_t
start_rogue(char address[32], const char *reply, bool stays)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	pid_t pid;

	assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	snprintf(address, 32, "127.0.0.1:%u", ntohs(a.sin_port));
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

static void
a_server_of_ours_answers(void **state)
{
	struct strbuf body = STRBUF_EMPTY;
	char address[32];
	pid_t pid = start_server(address);

	(void)state;
	assert_int_equal(http_ask(address, "/much", 10 * SECOND_NS, &body, NULL), 200);
	assert_int_equal(body.length, 4000000);
	assert_memory_equal(body.text, "0123456789", 10);
	strbuf_clear(&body);
	assert_int_equal(http_ask(address, "/none", 10 * SECOND_NS, &body, NULL), 404);
	strbuf_free(&body);
	stop(pid);
}

static void
who_does_not_answer_is_given_up_in_time(void **state)
{
	struct strbuf body = STRBUF_EMPTY;
	int64_t start_ns = clk_monotonic_ns();
	struct err err = { .line = 0 };
	char address[32];
	pid_t pid = start_rogue(address, "HTTP/1.1 200 OK\r\n\r\nhalf", true);

	(void)state;
	assert_int_equal(http_ask(address, "/", SECOND_NS / 5, &body, &err),
			 -ETIMEDOUT);
	assert_true(clk_monotonic_ns() - start_ns < 5 * SECOND_NS);
	assert_int_equal(body.length, 0);
	assert_non_null(strstr(err.text, address));
	strbuf_free(&body);
	stop(pid);
}

static void
what_is_no_http_is_refused(void **state)
{
	static const char *const replies[] = { "", "SSH-2.0-OpenSSH\r\n\r\n",
					       "HTTP/1.1 200 OK\r\n",
					       "HTTP/1.1 two\r\n\r\n" };
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
		struct strbuf body = STRBUF_EMPTY;
		char address[32];
		pid_t pid = start_rogue(address, replies[i], false);

		assert_int_equal(http_ask(address, "/", 5 * SECOND_NS, &body, &err),
				 -EPROTO);
		strbuf_free(&body);
		stop(pid);
	}
}

static void
addresses_that_are_none_are_refused(void **state)
{
	static const char *const addresses[] = {
		"",           "127.0.0.1",   ":80",
		"127.0.0.1:", "127.0.0.1:0", "127.0.0.1:99999",
		"x:1",        "[::1:1",      "127.0.0.1:1x",
	};
	struct strbuf body = STRBUF_EMPTY;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
		assert_int_equal(http_ask(addresses[i], "/", SECOND_NS, &body, &err),
				 -EINVAL);
	assert_int_equal(http_ask("127.0.0.1:1", "/", SECOND_NS, &body, &err),
			 -ECONNREFUSED);
	strbuf_free(&body);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_of_ours_answers),
		cmocka_unit_test(who_does_not_answer_is_given_up_in_time),
		cmocka_unit_test(what_is_no_http_is_refused),
		cmocka_unit_test(addresses_that_are_none_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
