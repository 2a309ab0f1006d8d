#include "lib/daemon/http_ask.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"

socklen_t
http_ask_address(const char *text, struct sockaddr_storage *ret_address)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret_address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret_address;
	const char *colon = strrchr(text, ':');
	char host[64], *end;
	unsigned long port;

	if (!colon || colon == text || (size_t)(colon - text) >= sizeof host)
		return 0;
	port = strtoul(colon + 1, &end, 10);
	if (!colon[1] || *end || port == 0 || port > 65535)
		return 0;
	memset(ret_address, 0, sizeof *ret_address);
	if (text[0] == '[' && colon[-1] == ']') {
		snprintf(host, sizeof host, "%.*s", (int)(colon - text) - 2, text + 1);
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)port);
		return inet_pton(AF_INET6, host, &v6->sin6_addr) == 1 ? sizeof *v6 : 0;
	}
	snprintf(host, sizeof host, "%.*s", (int)(colon - text), text);
	v4->sin_family = AF_INET;
	v4->sin_port = htons((uint16_t)port);
	return inet_pton(AF_INET, host, &v4->sin_addr) == 1 ? sizeof *v4 : 0;
}

/* Until the socket is ready for 'events'; 0 or -ETIMEDOUT. */
static int
wait_for(int fd, short events, int64_t until_ns)
{
	for (;;) {
		struct pollfd item = { .fd = fd, .events = events };
		int64_t left_ns = until_ns - clk_monotonic_ns();
		int n;

		if (left_ns <= 0)
			return -ETIMEDOUT;
		n = poll(&item, 1, (int)(left_ns / 1000000) + 1);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
}

static int
connect_to(int fd, const struct sockaddr_storage *address, socklen_t size,
	   int64_t until_ns)
{
	int r, error = 0;
	socklen_t n = sizeof error;

	if (connect(fd, (const struct sockaddr *)address, size) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	r = wait_for(fd, POLLOUT, until_ns);
	if (r < 0)
		return r;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) < 0)
		return -errno;
	return -error;
}

static int
send_all(int fd, const char *text, size_t n, int64_t until_ns)
{
	while (n > 0) {
		ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);
		int r;

		if (sent < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (sent > 0) {
			text += sent;
			n -= (size_t)sent;
			continue;
		}
		r = wait_for(fd, POLLOUT, until_ns);
		if (r < 0)
			return r;
	}
	return 0;
}

/* All until the server closes. */
static int
receive_all(int fd, struct strbuf *reply, int64_t until_ns)
{
	char bytes[65536];

	for (;;) {
		int r = wait_for(fd, POLLIN, until_ns);
		ssize_t n;

		if (r < 0)
			return r;
		n = recv(fd, bytes, sizeof bytes, 0);
		if (n == 0)
			return 0;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n > 0 && reply->length + (size_t)n > HTTP_ASK_MAX_BYTES)
			return -EFBIG;
		if (n > 0)
			strbuf_add(reply, bytes, (size_t)n);
	}
}

int
http_ask_status(const struct strbuf *reply, const char **ret_body)
{
	const char *end = strstr(reply->text, "\r\n\r\n");
	int status;

	if (!end || sscanf(reply->text, "HTTP/1.%*1[01] %3d", &status) != 1 ||
	    status < 100)
		return -EPROTO;
	*ret_body = end + 4;
	return status;
}

int
http_ask(const char *address, const char *path, int64_t timeout_ns, struct strbuf *body,
	 struct err *err)
{
	/* By HTTP/1.0 there are no chunks, and the end of the reply is that of the
	 * connection. */
	char *question =
		xasprintf("GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", path, address);
	int64_t until_ns = clk_monotonic_ns() + timeout_ns;
	struct strbuf reply = STRBUF_EMPTY;
	struct sockaddr_storage to;
	const char *begin = "";
	socklen_t size = http_ask_address(address, &to);
	int fd = -1, r = -EINVAL;

	if (size)
		fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			    0);
	if (size && fd < 0)
		r = -errno;
	if (fd >= 0)
		r = connect_to(fd, &to, size, until_ns);
	if (r == 0)
		r = send_all(fd, question, strlen(question), until_ns);
	if (r == 0)
		r = receive_all(fd, &reply, until_ns);
	if (r == 0)
		r = http_ask_status(&reply, &begin);
	if (r > 0)
		strbuf_add(body, begin, reply.length - (size_t)(begin - reply.text));
	if (!size)
		err_set(err, NULL, 0, 0, "'%.64s' is not ADDRESS:PORT", address);
	else if (r < 0)
		err_set(err, NULL, 0, 0, "%s: %s", address,
			r == -EPROTO ? "this is no HTTP server" : strerror(-r));
	if (fd >= 0)
		close(fd);
	strbuf_free(&reply);
	free(question);
	return r;
}
