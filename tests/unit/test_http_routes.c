/* Routes, tokens, bodies and streams over HTTP: a server in a process of its own. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/http.h"
#include "lib/daemon/loop.h"
#include "tests/unit/test.h"

#define TOKEN "0123456789abcdef"

static struct http *served; /* In the server's process. */

/* ---- The server ------------------------------------------------------------------ */

static void
answer_echo(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	const char *name = http_query(request, "name");
	const char *flag = http_query(request, "flag");

	(void)ctx;
	reply->content_type = "text/plain";
	strbuf_printf(&reply->body, "%s [%s] [%s] [%s] [%s] %zu\n", request->method,
		      request->rest, name ? name : "(none)", flag ? flag : "(none)",
		      request->n_body < 100 ? request->body : "(long)",
		      request->n_body);
}

static void
answer_tagged(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	(void)ctx;
	(void)request;
	snprintf(reply->etag, sizeof reply->etag, "\"v7\"");
	strbuf_puts(&reply->body, "{}\n");
}

static void
answer_counts(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	struct http_counts counts = http_counts(served);

	(void)ctx;
	(void)request;
	strbuf_printf(&reply->body, "refused %llu cut %llu listeners %u\n",
		      (unsigned long long)counts.refused,
		      (unsigned long long)counts.cut, counts.listeners);
}

/* An event of some length to all that listen. */
static void
answer_tell(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	struct strbuf data = STRBUF_EMPTY;

	(void)ctx;
	strbuf_puts(&data, "\"");
	for (int i = 0; i < atoi(request->rest); i++)
		strbuf_putc(&data, 'x');
	strbuf_puts(&data, "\"");
	http_stream_send(served, "/events", "tick", data.text);
	strbuf_free(&data);
	strbuf_puts(&reply->body, "told\n");
}

static void
write_hello(void *ctx, struct strbuf *data)
{
	(void)ctx;
	strbuf_puts(data, "{\"n\":1}");
}

static const struct http_route routes[] = {
	{ "GET", "/echo/*", false, 0, answer_echo },
	{ "POST", "/echo/*", false, 1000, answer_echo },
	{ "POST", "/large", false, HTTP_MAX_BODY, answer_echo },
	{ "POST", "/change", true, 1000, answer_echo },
	{ "GET", "/tagged", false, 0, answer_tagged },
	{ "GET", "/counts", false, 0, answer_counts },
	{ "POST", "/tell/*", false, 0, answer_tell },
};

static void
on_term(void *ctx, int number)
{
	(void)number;
	loop_stop(ctx, 0);
}

static void
serve(int port_pipe, const char *token)
{
	struct loop *loop = loop_new();
	struct err err = { 0 };
	unsigned port;

	if (http_open(loop, "127.0.0.1:0", NULL, 0, &served, &err) < 0)
		exit(1);
	http_add_routes(served, routes, sizeof routes / sizeof *routes, NULL);
	http_add_stream(served, "/events", write_hello, NULL);
	http_set_token(served, token);
	http_set_patience(served, INT64_C(1000000000));
	loop_signal(loop, SIGTERM, on_term, loop);
	port = http_port(served);
	if (write(port_pipe, &port, sizeof port) != sizeof port)
		exit(1);
	loop_run(loop);
	http_close(served);
	loop_free(loop);
	exit(0);
}

struct server {
	pid_t pid;
	unsigned port;
	int said; /* Its standard error. */
};

static struct server
start(const char *token)
{
	struct server server;
	int ends[2], said[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(pipe(said), 0);
	server.pid = fork();
	assert_true(server.pid >= 0);
	if (server.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(said[1], STDERR_FILENO);
		close(said[0]);
		serve(ends[1], token);
	}
	close(ends[1]);
	close(said[1]);
	server.said = said[0];
	assert_int_equal(read(ends[0], &server.port, sizeof server.port),
			 sizeof server.port);
	close(ends[0]);
	return server;
}

/* Ends it; returns what it said. */
static char *
stop(struct server *server)
{
	struct strbuf said = STRBUF_EMPTY;
	char chunk[4096];
	ssize_t n;
	int status;

	kill(server->pid, SIGTERM);
	while ((n = read(server->said, chunk, sizeof chunk)) > 0)
		strbuf_add(&said, chunk, (size_t)n);
	close(server->said);
	assert_int_equal(waitpid(server->pid, &status, 0), server->pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("the server ended badly: %s", said.text);
	return strbuf_steal(&said);
}

static void
stop_quietly(struct server *server)
{
	free(stop(server));
}

/* ---- Clients ----------------------------------------------------------------------- */

static int
connect_to(const struct server *server)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)server->port) };
	struct timeval patience = { .tv_sec = 8 };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
	return fd;
}

static void
send_text(int fd, const char *text)
{
	size_t n = strlen(text);

	while (n) {
		ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);

		if (sent < 0)
			return;
		text += sent;
		n -= (size_t)sent;
	}
}

/* Reads until the end, or until 'until' has come. */
static char *
receive(int fd, const char *until)
{
	struct strbuf text = STRBUF_EMPTY;
	char chunk[65536];
	ssize_t n;

	while (!(until && strstr(text.text, until)) &&
	       (n = recv(fd, chunk, sizeof chunk, 0)) > 0)
		strbuf_add(&text, chunk, (size_t)n);
	return strbuf_steal(&text);
}

static char *
ask(const struct server *server, const char *first_line, const char *headers,
    const char *body)
{
	struct strbuf request = STRBUF_EMPTY;
	int fd = connect_to(server);
	char *reply;

	strbuf_printf(&request, "%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s",
		      first_line, headers);
	if (body)
		strbuf_printf(&request, "Content-Length: %zu\r\n", strlen(body));
	strbuf_printf(&request, "\r\n%s", body ? body : "");
	send_text(fd, request.text);
	strbuf_free(&request);
	reply = receive(fd, NULL);
	close(fd);
	return reply;
}

static void
expect(const struct server *server, const char *first_line, const char *headers,
       const char *body, unsigned status, const char *part)
{
	char *reply = ask(server, first_line, headers, body);
	char start_[32];

	snprintf(start_, sizeof start_, "HTTP/1.1 %u ", status);
	if (strncmp(reply, start_, strlen(start_)) != 0 ||
	    (part && !strstr(reply, part)))
		fail_msg("%s: expected %u with '%s', not '%.900s'", first_line, status,
			 part ? part : "", reply);
	free(reply);
}

static void
expect_serving(const struct server *server)
{
	expect(server, "GET /echo/", "", NULL, 404, NULL);
	expect(server, "GET /echo/ok", "", NULL, 200, "GET [ok] [(none)]");
}

/* ---- Requests ------------------------------------------------------------------------ */

static void
a_route_gets_what_follows_its_path_its_query_and_its_body(void **state)
{
	struct server s = start(NULL);

	(void)state;
	expect(&s, "GET /echo/a%3Eb?name=x%20y+z&flag", "", NULL, 200,
	       "GET [a>b] [x y z] [] [] 0\n");
	expect(&s, "POST /echo/1", "", "{\"a\":1}", 200,
	       "POST [1] [(none)] [(none)] [{\"a\":1}] 7\n");
	expect(&s, "HEAD /echo/1", "", NULL, 200, "Content-Length: ");
	stop_quietly(&s);
}

static void
what_is_not_there_is_an_error_in_json(void **state)
{
	struct server s = start(NULL);

	(void)state;
	expect(&s, "GET /nothing", "", NULL, 404, "\"code\": \"not_found\"");
	expect(&s, "DELETE /echo/1", "", NULL, 405, "Allow: GET, HEAD, POST\r\n");
	expect(&s, "POST /tagged", "", "", 405, "\"code\": \"method_not_allowed\"");
	expect(&s, "POST /events", "", "", 405, "Allow: GET, HEAD\r\n");
	stop_quietly(&s);
}

static void
an_answer_that_is_known_is_not_sent_again(void **state)
{
	struct server s = start(NULL);

	(void)state;
	expect(&s, "GET /tagged", "", NULL, 200, "ETag: \"v7\"\r\n");
	expect(&s, "GET /tagged", "If-None-Match: \"v7\"\r\n", NULL, 304, NULL);
	expect(&s, "GET /tagged", "If-None-Match: \"v6\"\r\n", NULL, 200, "{}");
	stop_quietly(&s);
}

static void
requests_in_a_row_are_all_answered(void **state)
{
	struct server s = start(NULL);
	int fd = connect_to(&s);
	char *reply;

	(void)state;
	send_text(fd, "GET /echo/1 HTTP/1.1\r\nHost: x\r\n\r\n"
		      "POST /echo/2 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"
		      "GET /echo/3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	reply = receive(fd, NULL);
	assert_non_null(strstr(reply, "GET [1]"));
	assert_non_null(strstr(reply, "POST [2] [(none)] [(none)] [hi]"));
	assert_non_null(strstr(reply, "GET [3]"));
	free(reply);
	close(fd);
	stop_quietly(&s);
}

/* ---- Who may ------------------------------------------------------------------------- */

static void
without_a_token_nothing_is_changed(void **state)
{
	struct server s = start(NULL);

	(void)state;
	expect(&s, "POST /change", "", "{}", 403, "\"code\": \"no_token\"");
	expect(&s, "POST /change", "Authorization: Bearer \r\n", "{}", 403, NULL);
	stop_quietly(&s);
}

static void
only_the_right_token_changes_anything(void **state)
{
	static const char *const wrong[] = {
		"",
		"Authorization: Bearer \r\n",
		"Authorization: Bearer 0123456789abcde\r\n",
		"Authorization: Bearer 0123456789abcdef0\r\n",
		"Authorization: Bearer " TOKEN TOKEN "\r\n",
		"Authorization: Bearer 0123456789abcdeg\r\n",
		"Authorization: Basic " TOKEN "\r\n",
		"Authorization: " TOKEN "\r\n",
		"X-Authorization: Bearer " TOKEN "\r\n",
	};
	struct server s = start(TOKEN);

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		expect(&s, "POST /change", wrong[i], "{}", 401,
		       "WWW-Authenticate: Bearer\r\n");
	expect(&s, "POST /change", "Authorization: Bearer " TOKEN "\r\n", "{}", 200,
	       "POST []");
	stop_quietly(&s);
}

static void
what_is_refused_is_said_once(void **state)
{
	struct server s = start(TOKEN);
	unsigned n_lines = 0;
	char *said;

	(void)state;
	for (int i = 0; i < 50; i++)
		expect(&s, "POST /change", "Authorization: Bearer x\r\n", "{}", 401,
		       NULL);
	expect(&s, "GET /counts", "", NULL, 200, "refused 50 ");
	said = stop(&s);
	for (const char *c = said; *c; c++)
		n_lines += *c == '\n';
	if (n_lines != 1 || !strstr(said, "/change: answered with 401"))
		fail_msg("expected one line, not '%s'", said);
	assert_null(strstr(said, TOKEN));
	free(said);
}

/* ---- Too much ------------------------------------------------------------------------ */

static char *
of_length(size_t n)
{
	char *text = xcalloc(n + 1, 1);

	memset(text, 'b', n);
	return text;
}

static void
a_body_that_is_too_long_is_refused(void **state)
{
	struct server s = start(NULL);
	char *body = of_length(1001), *large = of_length(HTTP_MAX_BODY);
	struct strbuf chunked = STRBUF_EMPTY;
	int fd;
	char *reply;

	(void)state;
	expect(&s, "POST /echo/1", "", body, 413, "\"code\": \"too_large\"");
	expect(&s, "POST /large", "", body, 200, " 1001\n");
	expect(&s, "POST /large", "", large, 200, "(long)");
	/* One that does not say how long it is. */
	strbuf_puts(&chunked,
		    "POST /echo/1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
		    "Transfer-Encoding: chunked\r\n\r\n");
	for (int i = 0; i < 3; i++)
		strbuf_printf(&chunked, "3e9\r\n%s\r\n", body);
	strbuf_puts(&chunked, "0\r\n\r\n");
	fd = connect_to(&s);
	send_text(fd, chunked.text);
	reply = receive(fd, NULL);
	assert_memory_equal(reply, "HTTP/1.1 413 ", 13);
	free(reply);
	close(fd);
	/* One that says that it is endless. */
	fd = connect_to(&s);
	send_text(fd, "POST /large HTTP/1.1\r\nHost: x\r\n"
		      "Content-Length: 99999999999\r\n\r\nbbb");
	reply = receive(fd, "\r\n\r\n");
	assert_memory_equal(reply, "HTTP/1.1 413 ", 13);
	free(reply);
	close(fd);
	expect_serving(&s);
	strbuf_free(&chunked);
	free(large);
	free(body);
	stop_quietly(&s);
}

static void
headers_that_are_too_long_are_refused(void **state)
{
	struct server s = start(NULL);
	char *junk = of_length(200000);
	struct strbuf request = STRBUF_EMPTY;
	int fd = connect_to(&s);
	char *reply;

	(void)state;
	strbuf_printf(&request, "GET /echo/1 HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n",
		      junk);
	send_text(fd, request.text);
	reply = receive(fd, NULL);
	assert_null(strstr(reply, "GET [1]"));
	free(reply);
	close(fd);
	expect_serving(&s);
	strbuf_free(&request);
	free(junk);
	stop_quietly(&s);
}

/* Sends a byte each 100 ms until the connection is cut; returns after how long. */
static int64_t
trickle(const struct server *server, const char *start_)
{
	int64_t began_ns = clk_monotonic_ns();
	int fd = connect_to(server);
	char byte;

	send_text(fd, start_);
	for (int i = 0; i < 80; i++) {
		if (send(fd, "a", 1, MSG_NOSIGNAL) < 0)
			break;
		usleep(100000);
		if (recv(fd, &byte, 1, MSG_DONTWAIT) == 0 ||
		    (errno != EAGAIN && errno != EWOULDBLOCK))
			break;
		if (i == 5)
			expect_serving(server);
	}
	close(fd);
	return clk_monotonic_ns() - began_ns;
}

static void
who_sends_a_byte_now_and_then_is_cut(void **state)
{
	struct server s = start(NULL);

	(void)state;
	assert_true(trickle(&s, "GET /echo/1 HTTP/1.1\r\nHost: x\r\nX: ") <
		    INT64_C(4000000000));
	assert_true(trickle(&s, "POST /large HTTP/1.1\r\nHost: x\r\n"
				"Content-Length: 1000\r\n\r\n") < INT64_C(4000000000));
	expect(&s, "GET /counts", "", NULL, 200, "cut 2 ");
	stop_quietly(&s);
}

static void
many_connections_that_say_nothing_lock_nobody_out(void **state)
{
	struct server s = start(NULL);
	int fds[3 * HTTP_MAX_CONNECTIONS];
	size_t n = sizeof fds / sizeof *fds;

	(void)state;
	for (size_t i = 0; i < n; i++)
		fds[i] = connect_to(&s);
	expect_serving(&s);
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	expect_serving(&s);
	stop_quietly(&s);
}

/* ---- Streams --------------------------------------------------------------------------- */

#define LISTEN "GET /events HTTP/1.1\r\nHost: x\r\n\r\n"

static void
listeners_hear_events(void **state)
{
	struct server s = start(NULL);
	int fds[2];
	char *reply;

	(void)state;
	for (int i = 0; i < 2; i++) {
		fds[i] = connect_to(&s);
		send_text(fds[i], LISTEN);
		reply = receive(fds[i], "{\"n\":1}\n\n");
		assert_non_null(strstr(reply, "Content-Type: text/event-stream\r\n"));
		assert_non_null(strstr(reply, "event: hello\ndata: {\"n\":1}\n\n"));
		free(reply);
	}
	expect(&s, "POST /tell/3", "", "", 200, "told");
	for (int i = 0; i < 2; i++) {
		reply = receive(fds[i], "xxx\"\n\n");
		assert_non_null(strstr(reply, "event: tick\ndata: \"xxx\"\n\n"));
		free(reply);
	}
	close(fds[0]);
	/* That one is gone shows as something is sent to it. */
	for (int i = 0; i < 3; i++)
		expect(&s, "POST /tell/3", "", "", 200, "told");
	expect(&s, "GET /counts", "", NULL, 200, "listeners 1\n");
	close(fds[1]);
	stop_quietly(&s);
}

static void
a_server_ends_while_somebody_listens(void **state)
{
	struct server s = start(NULL);
	int fd = connect_to(&s);

	(void)state;
	send_text(fd, LISTEN);
	free(receive(fd, "{\"n\":1}\n\n"));
	stop_quietly(&s);
	free(receive(fd, NULL));
	close(fd);
}

static void
a_listener_that_does_not_read_is_let_go(void **state)
{
	struct server s = start(NULL);
	int fd = connect_to(&s);
	char *reply = NULL;

	(void)state;
	send_text(fd, LISTEN);
	free(receive(fd, "{\"n\":1}\n\n"));
	for (int i = 0; i < 40; i++)
		expect(&s, "POST /tell/400000", "", "", 200, "told");
	for (int i = 0; i < 80; i++) {
		reply = ask(&s, "GET /counts", "", NULL);
		if (strstr(reply, "listeners 0\n"))
			break;
		free(reply);
		reply = NULL;
		usleep(100000);
	}
	assert_non_null(reply);
	free(reply);
	close(fd);
	expect_serving(&s);
	stop_quietly(&s);
}

static void
listeners_are_not_without_number(void **state)
{
	struct server s = start(NULL);
	int fds[HTTP_MAX_STREAMS];

	(void)state;
	for (size_t i = 0; i < HTTP_MAX_STREAMS; i++) {
		fds[i] = connect_to(&s);
		send_text(fds[i], LISTEN);
		free(receive(fds[i], "{\"n\":1}\n\n"));
	}
	expect(&s, "GET /events", "", NULL, 503, "too_many_listeners");
	for (size_t i = 0; i < HTTP_MAX_STREAMS; i++)
		close(fds[i]);
	expect_serving(&s);
	stop_quietly(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_route_gets_what_follows_its_path_its_query_and_its_body),
		cmocka_unit_test(what_is_not_there_is_an_error_in_json),
		cmocka_unit_test(an_answer_that_is_known_is_not_sent_again),
		cmocka_unit_test(requests_in_a_row_are_all_answered),
		cmocka_unit_test(without_a_token_nothing_is_changed),
		cmocka_unit_test(only_the_right_token_changes_anything),
		cmocka_unit_test(what_is_refused_is_said_once),
		cmocka_unit_test(a_body_that_is_too_long_is_refused),
		cmocka_unit_test(headers_that_are_too_long_are_refused),
		cmocka_unit_test(who_sends_a_byte_now_and_then_is_cut),
		cmocka_unit_test(many_connections_that_say_nothing_lock_nobody_out),
		cmocka_unit_test(listeners_hear_events),
		cmocka_unit_test(a_server_ends_while_somebody_listens),
		cmocka_unit_test(a_listener_that_does_not_read_is_let_go),
		cmocka_unit_test(listeners_are_not_without_number),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("http_routes", tests, NULL, NULL);
}
