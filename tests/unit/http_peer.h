/* SPDX-License-Identifier: Apache-2.0 */
/* http_peer.h - HTTP servers in a child process: our own, and misbehaving ones */
#ifndef TESTS_UNIT_HTTP_PEER_H
#define TESTS_UNIT_HTTP_PEER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/daemon/http.h"
#include "lib/daemon/loop.h"
#include "tests/unit/test.h"

#define HTTP_PEER_LIFE_S 20 /* Lifetime if no test ends the process. */

struct http_peer {
	char address[64]; /* "HOST:PORT", or the path of a socket. */
	pid_t pid;
};

/* Appends 4,000,000 bytes: more than a socket buffer takes at once. */
static inline void
http_peer_put_much(struct strbuf *out)
{
	for (int i = 0; i < 400000; i++)
		strbuf_puts(out, "0123456789");
}

/* Starts our own server with these pages and routes; either may be NULL. */
static inline struct http_peer
http_peer_ours_at(const char *address, const struct http_page *pages, size_t n_pages,
		  const struct http_route *routes, size_t n_routes)
{
	struct http_peer peer;
	unsigned port;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	peer.pid = fork();
	if (peer.pid == 0) {
		struct loop *loop = loop_new();
		struct http *http;

		alarm(HTTP_PEER_LIFE_S);
		if (http_open(loop, address, pages, n_pages, &http, NULL) < 0)
			_exit(1);
		if (n_routes)
			http_add_routes(http, routes, n_routes, NULL);
		port = http_port(http);
		if (write(ends[1], &port, sizeof port) != sizeof port)
			_exit(1);
		loop_run(loop);
		_exit(0);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &port, sizeof port), sizeof port);
	close(ends[0]);
	if (*address == '/')
		snprintf(peer.address, sizeof peer.address, "%s", address);
	else
		snprintf(peer.address, sizeof peer.address, "127.0.0.1:%u", port);
	return peer;
}

static inline struct http_peer
http_peer_ours(const struct http_page *pages, size_t n_pages,
	       const struct http_route *routes, size_t n_routes)
{
	return http_peer_ours_at("127.0.0.1:0", pages, n_pages, routes, n_routes);
}

/* Takes one connection at 'fd', sends 'reply', then stays silent or closes. */
static inline pid_t
http_peer_reply(int fd, const char *reply, bool stays)
{
	pid_t pid = fork();

	if (pid == 0) {
		int client = accept(fd, NULL, NULL);
		char question[512];

		alarm(HTTP_PEER_LIFE_S);
		if (read(client, question, sizeof question) < 0 ||
		    write(client, reply, strlen(reply)) < 0)
			_exit(1);
		if (stays)
			pause();
		_exit(0);
	}
	close(fd);
	return pid;
}

static inline struct http_peer
http_peer_at_port(const char *reply, bool stays)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct http_peer peer;

	assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	snprintf(peer.address, sizeof peer.address, "127.0.0.1:%u", ntohs(a.sin_port));
	peer.pid = http_peer_reply(fd, reply, stays);
	return peer;
}

static inline struct http_peer
http_peer_at_path(const char *reply, bool stays)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct http_peer peer;

	snprintf(peer.address, sizeof peer.address, "/tmp/antiphase-peer-%d.sock",
		 (int)getpid());
	unlink(peer.address);
	snprintf(a.sun_path, sizeof a.sun_path, "%s", peer.address);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	assert_int_equal(listen(fd, 1), 0);
	peer.pid = http_peer_reply(fd, reply, stays);
	return peer;
}

static inline void
http_peer_stop(const struct http_peer *peer)
{
	kill(peer->pid, SIGKILL);
	waitpid(peer->pid, NULL, 0);
	if (*peer->address == '/')
		unlink(peer->address);
}

#endif
