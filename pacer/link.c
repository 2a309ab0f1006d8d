/* SPDX-License-Identifier: Apache-2.0 */
#include "pacer/link.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* A high number, for programs that close low descriptors. */
#define LOWEST_FD 200

void
link_init(struct link *link, const char *path, const struct pace_hello *hello)
{
	*link = (struct link){ .fd = -1, .hello = *hello };
	if (strlen(path) < sizeof link->path)
		strcpy(link->path, path);
}

/* Whether the descriptor is still our socket. */
static bool
is_ours(const struct link *link)
{
	struct stat st;

	return link->fd >= 0 && fstat(link->fd, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       st.st_dev == link->device && st.st_ino == link->inode;
}

void
link_close(struct link *link)
{
	if (is_ours(link))
		close(link->fd);
	link->fd = -1;
}

static int
open_socket(struct link *link)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int higher = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_FD);
	struct stat st;

	if (higher >= 0) {
		close(fd);
		fd = higher;
	}
	if (fd >= 0 && fstat(fd, &st) == 0) {
		link->device = st.st_dev;
		link->inode = st.st_ino;
	}
	return fd;
}

static bool
send_packet(struct link *link, const struct pace_packet *packet)
{
	uint8_t bytes[PACE_MAX_BYTES];
	size_t n = pace_encode(packet, bytes);

	if (is_ours(link)) {
		if (send(link->fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL) ==
		    (ssize_t)n) {
			link->sent++;
			return true;
		}
		if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR &&
		    errno != ENOBUFS && errno != ENOMEM)
			link_close(link);
	} else {
		link->fd = -1;
	}
	link->lost++;
	return false;
}

/* After an attempt: the earliest time of the next. */
static void
plan_retry(struct link *link, int64_t now_ns)
{
	if (!link->retry_ns ||
	    (link->up_at_ns && now_ns - link->up_at_ns >= LINK_STEADY_NS))
		link->retry_ns = LINK_RETRY_NS;
	else if (link->retry_ns < LINK_MAX_RETRY_NS / 2)
		link->retry_ns *= 2;
	else
		link->retry_ns = LINK_MAX_RETRY_NS;
	link->retry_at_ns = now_ns + link->retry_ns;
	link->up_at_ns = 0;
}

bool
link_open(struct link *link, int64_t now_ns)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const struct pace_packet hello = { .kind = PACE_HELLO, .hello = link->hello };

	if (link->fd >= 0 || now_ns < link->retry_at_ns || !link->path[0])
		return false;
	plan_retry(link, now_ns);
	link->fd = open_socket(link);
	if (link->fd < 0)
		return false;
	strcpy(to.sun_path, link->path);
	if (connect(link->fd, (const struct sockaddr *)&to, sizeof to) < 0) {
		link_close(link);
		return false;
	}
	link->n_connected++;
	link->n_bad_now = 0;
	/* Without the HELLO the collector could not attribute the rest. */
	if (!send_packet(link, &hello))
		link_close(link);
	if (link->fd >= 0)
		link->up_at_ns = now_ns;
	return link->fd >= 0;
}

void
link_receive(struct link *link, void (*take)(void *ctx, const struct pace_order *order),
	     void *ctx)
{
	if (link->fd >= 0 && !is_ours(link))
		link->fd = -1;
	for (int i = 0; i < LINK_MAX_ORDERS && link->fd >= 0; i++) {
		uint8_t bytes[PACE_MAX_BYTES];
		struct pace_packet packet;
		ssize_t n =
			recv(link->fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_TRUNC);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		/* An empty read is the end, because no packet is empty. */
		if (n <= 0) {
			link_close(link);
			return;
		}
		if (n <= (ssize_t)sizeof bytes &&
		    pace_decode(bytes, (size_t)n, &packet) == 0 &&
		    packet.kind == PACE_ORDER) {
			take(ctx, &packet.order);
			continue;
		}
		link->n_bad++;
		if (++link->n_bad_now >= LINK_MAX_BAD)
			link_close(link);
	}
}

void
link_send(struct link *link, struct pace_iteration *iteration)
{
	struct pace_packet packet = { .kind = PACE_ITERATION };

	iteration->lost = link->lost;
	packet.iteration = *iteration;
	(void)send_packet(link, &packet);
}
