/* SPDX-License-Identifier: Apache-2.0 */
/* test_http.c - the HTTP server in a daemon's loop, with clients in child processes */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/daemon/http.h"
#include "lib/daemon/loop.h"
#include "tests/unit/test.h"

static void
write_metrics(void *ctx, struct strbuf *out)
{
	strbuf_printf(out, "asked %d\n", ++*(int *)ctx);
}

/* More than a socket buffer takes at once. */
static void
write_much(void *ctx, struct strbuf *out)
{
	(void)ctx;
	for (int i = 0; i < 400000; i++)
		strbuf_puts(out, "0123456789");
}

struct asked {
	struct loop *loop;
	int pipe;
	struct strbuf text;
};

static void
on_text(void *ctx)
{
	struct asked *asked = ctx;
	char chunk[65536];
	ssize_t n = read(asked->pipe, chunk, sizeof chunk);

	if (n > 0)
		strbuf_add(&asked->text, chunk, (size_t)n);
	else
		loop_stop(asked->loop, 0);
}

/* Sends 'request' to the port; copies the reply to 'out'. */
static void
ask(unsigned port, const char *request, int out)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port) };
	char chunk[65536];
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	ssize_t n;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(fd, (struct sockaddr *)&a, sizeof a) < 0)
		_exit(1);
	if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0)
		_exit(2);
	while ((n = recv(fd, chunk, sizeof chunk, 0)) > 0) {
		for (ssize_t at = 0; at < n;) {
			ssize_t m = write(out, chunk + at, (size_t)(n - at));

			if (m < 0)
				_exit(3);
			at += m;
		}
	}
	_exit(0);
}

/* Long pieces with empty ones between them. */
static bool
write_pieces(void *ctx, struct http_place *place, struct strbuf *out)
{
	unsigned piece = place->part++;

	(void)ctx;
	for (int i = 0; i < 20000 && piece % 2 == 0; i++)
		strbuf_printf(out, "%u", piece);
	return piece < 7;
}

/* The server's answer; free with free(). */
static char *
answer(const char *request)
{
	int count = 6, ends[2];
	struct http_page pages[] = {
		{ "/metrics", "text/open", write_metrics, &count, "text/open", NULL },
		{ "/metrics", "text/plain; version=0.0.4", write_metrics, &count, NULL,
		  NULL },
		{ "/much", "text/plain", write_much, NULL, NULL, NULL },
		{ "/pieces", "text/plain", NULL, &count, NULL, write_pieces },
	};
	struct asked asked = { .loop = loop_new(), .text = STRBUF_EMPTY };
	struct loop_item *item;
	struct http *http;
	struct err err = { 0 };
	pid_t child;

	assert_int_equal(http_open(asked.loop, "127.0.0.1:0", pages, 4, &http, &err),
			 0);
	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(ends[0]);
		ask(http_port(http), request, ends[1]);
	}
	close(ends[1]);
	asked.pipe = ends[0];
	item = loop_fd(asked.loop, ends[0], on_text, &asked);
	assert_int_equal(loop_run(asked.loop), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	loop_remove(asked.loop, item);
	close(ends[0]);
	http_close(http);
	loop_free(asked.loop);
	return strbuf_steal(&asked.text);
}

static void
begins_with(const char *text, const char *start)
{
	if (strncmp(text, start, strlen(start)) != 0)
		fail_msg("expected '%s', not '%.60s'", start, text);
}

static void
a_page_is_written_when_it_is_asked_for(void **state)
{
	char *text = answer(
		"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");

	(void)state;
	begins_with(text, "HTTP/1.1 200 ");
	assert_non_null(strstr(text, "Content-Type: text/plain; version=0.0.4\r\n"));
	assert_non_null(strstr(text, "\r\n\r\nasked 7\n"));
	free(text);
}

static void
who_accepts_another_type_gets_it(void **state)
{
	char *text =
		answer("GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: text/html, "
		       "text/open;q=0.8, */*\r\nConnection: close\r\n\r\n");

	(void)state;
	assert_non_null(strstr(text, "Content-Type: text/open\r\n"));
	free(text);
	text = answer("GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n"
		      "Connection: close\r\n\r\n");
	assert_non_null(strstr(text, "Content-Type: text/plain; version=0.0.4\r\n"));
	free(text);
}

static void
a_head_has_the_length_and_no_text(void **state)
{
	char *text = answer(
		"HEAD /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");

	(void)state;
	begins_with(text, "HTTP/1.1 200 ");
	assert_non_null(strstr(text, "Content-Length: 8\r\n"));
	assert_null(strstr(text, "asked"));
	free(text);
}

static void
a_long_page_comes_whole(void **state)
{
	char *text = answer(
		"GET /much HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	const char *body = strstr(text, "\r\n\r\n");

	(void)state;
	assert_non_null(body);
	assert_int_equal(strlen(body + 4), 4000000);
	free(text);
}

static void
a_page_in_pieces_comes_whole_and_in_order(void **state)
{
	char *text = answer(
		"GET /pieces HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	const char *body = strstr(text, "\r\n\r\n");

	(void)state;
	begins_with(text, "HTTP/1.");
	assert_non_null(body);
	body += 4;
	assert_int_equal(strlen(body), 4 * 20000);
	for (size_t i = 0; i < 4 * 20000; i++)
		assert_int_equal(body[i], "0246"[i / 20000]);
	free(text);
}

static void
other_methods_and_pages_are_refused(void **state)
{
	char *text = answer(
		"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
		"Connection: close\r\n\r\nhi");

	(void)state;
	begins_with(text, "HTTP/1.1 405 ");
	assert_non_null(strstr(text, "Allow: GET, HEAD\r\n"));
	assert_null(strstr(text, "asked"));
	free(text);
	text = answer(
		"GET /etc/passwd HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	begins_with(text, "HTTP/1.1 404 ");
	assert_non_null(strstr(text, "\n/metrics\n"));
	free(text);
}

static void
nonsense_gets_no_page(void **state)
{
	char *text = answer("\001\002\003 nonsense\r\n\r\n");

	(void)state;
	assert_null(strstr(text, "asked"));
	free(text);
}

static void
only_loopback_may_be_listened_at(void **state)
{
	static const char *const beyond[] = { "0.0.0.0:0", "192.0.2.1:0", "[::]:0",
					      "[2001:db8::1]:0" };
	static const char *const bad[] = {
		"",       "127.0.0.1",       "127.0.0.1:",
		":9471",  "127.0.0.1:65536", "127.0.0.1:x",
		"[::1:1", "localhost:1",     "127.0.0.1:1x"
	};
	struct loop *loop = loop_new();
	struct http *http, *second;
	struct err err = { 0 };
	char address[32];

	(void)state;
	for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
		assert_int_equal(http_open(loop, beyond[i], NULL, 0, &http, &err),
				 -EACCES);
		assert_non_null(strstr(err.text, "beyond loopback"));
	}
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(http_open(loop, bad[i], NULL, 0, &http, &err),
				 -EINVAL);
	assert_int_equal(http_open(loop, "[::1]:0", NULL, 0, &http, &err), 0);
	http_close(http);
	assert_int_equal(http_open(loop, "127.1.2.3:0", NULL, 0, &http, &err), 0);
	snprintf(address, sizeof address, "127.1.2.3:%u", http_port(http));
	assert_int_equal(http_open(loop, address, NULL, 0, &second, &err), -EADDRINUSE);
	assert_non_null(strstr(err.file, address));
	assert_non_null(
		strstr(err.text, "run 'ss -ltnp' to see which program uses it"));
	http_close(http);
	http_close(NULL);
	loop_free(loop);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_is_written_when_it_is_asked_for),
		cmocka_unit_test(who_accepts_another_type_gets_it),
		cmocka_unit_test(a_head_has_the_length_and_no_text),
		cmocka_unit_test(a_long_page_comes_whole),
		cmocka_unit_test(a_page_in_pieces_comes_whole_and_in_order),
		cmocka_unit_test(other_methods_and_pages_are_refused),
		cmocka_unit_test(nonsense_gets_no_page),
		cmocka_unit_test(only_loopback_may_be_listened_at),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
