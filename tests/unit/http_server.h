/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_server.h - a server with routes, tokens and a stream in a child process, and
 * clients that write raw bytes
 */
#ifndef TESTS_UNIT_HTTP_SERVER_H
#define TESTS_UNIT_HTTP_SERVER_H

#include <arpa/inet.h>
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

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/http.h"
#include "lib/daemon/loop.h"
#include "tests/unit/test.h"

static struct http *served; /* Valid in the server's process. */

/* ---- The server ------------------------------------------------------------------ */

static inline void
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

static inline void
answer_tagged(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	(void)ctx;
	(void)request;
	snprintf(reply->etag, sizeof reply->etag, "\"v7\"");
	strbuf_puts(&reply->body, "{}\n");
}

static inline void
answer_counts(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	struct http_counts counts = http_counts(served);

	(void)ctx;
	(void)request;
	strbuf_printf(&reply->body, "refused %llu cut %llu listeners %u\n",
		      (unsigned long long)counts.refused,
		      (unsigned long long)counts.cut, counts.listeners);
}

/* Sends a long event to all listeners. */
static inline void
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

static inline void
write_hello(void *ctx, struct strbuf *data)
{
	(void)ctx;
	strbuf_puts(data, "{\"n\":1}");
}

static const struct http_route routes[] = {
	{ "GET", "/echo/*", false, 0, answer_echo, "name flag" },
	{ "POST", "/echo/*", false, 1000, answer_echo, NULL },
	{ "POST", "/large", false, HTTP_MAX_BODY, answer_echo, NULL },
	{ "POST", "/change", true, 1000, answer_echo, NULL },
	{ "GET", "/tagged", false, 0, answer_tagged, NULL },
	{ "GET", "/counts", false, 0, answer_counts, NULL },
	{ "POST", "/tell/*", false, 0, answer_tell, NULL },
};

static inline void
on_term(void *ctx, int number)
{
	(void)number;
	loop_stop(ctx, 0);
}

static inline void
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
	int said; /* The server's standard error. */
};

static inline struct server
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

/* Ends the server; returns what it printed on standard error. */
static inline char *
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

static inline void
stop_quietly(struct server *server)
{
	free(stop(server));
}

/* ---- Clients --------------------------------------------------------------------- */

static inline int
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

static inline void
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

/* Reads to the end, or until 'until' has arrived. */
static inline char *
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

static inline char *
ask(const struct server *server, const char *first_line, const char *headers,
    const char *body)
{
	struct strbuf request = STRBUF_EMPTY;
	int fd = connect_to(server);
	char *reply;

	strbuf_printf(&request, "%s HTTP/1.1\r\nConnection: close\r\n%s%s", first_line,
		      strstr(headers, "Host: ") ? "" : "Host: localhost\r\n", headers);
	if (body)
		strbuf_printf(&request, "Content-Length: %zu\r\n", strlen(body));
	strbuf_printf(&request, "\r\n%s", body ? body : "");
	send_text(fd, request.text);
	strbuf_free(&request);
	reply = receive(fd, NULL);
	close(fd);
	return reply;
}

static inline void
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

static inline void
expect_serving(const struct server *server)
{
	expect(server, "GET /echo/", "", NULL, 404, NULL);
	expect(server, "GET /echo/ok", "", NULL, 200, "GET [ok] [(none)]");
}

#endif
