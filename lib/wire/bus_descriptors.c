/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/wire/bus_descriptors.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "lib/base/alloc.h"
#include "lib/base/vec.h"

/*
 * Descriptors that are left to others: a quarter, at most what 1024 pacers, 80 HTTP
 * connections and some files take.
 */
#define RESERVED_PART 4
#define RESERVED_MOST 1152

/* Descriptors of a daemon without any peer; measured: 29. */
#define OWN_DESCRIPTORS 32

/* Time for a handshake before its connection may be ended for another one. */
#define GRACE_NS INT64_C(100000000)

/* Connections looked at for each one accepted; under attack most are silent. */
#define MAX_LOOKS 64

/*
 * Bytes that a peer sends before it is known: a greeting, and with keys also HELLO; what
 * follows makes it more (RFC 23, RFC 26).
 */
#define GREETING_BYTES 64
#define HELLO_BYTES    (64 + 202)

struct accepted {
	ino_t inode; /* 0: none of ours. */
	int64_t since_ns;
};

struct bus_descriptors {
	VEC(struct accepted) peers; /* By descriptor. */
	size_t next;                /* The next to be looked at. */
	int n_open;                 /* Accepted and not closed, as ZeroMQ reports it. */
	uint64_t unknown_bytes;
};

struct bus_descriptors *
bus_descriptors_new(bool has_keys)
{
	struct bus_descriptors *descriptors = xcalloc(1, sizeof *descriptors);

	descriptors->unknown_bytes = has_keys ? HELLO_BYTES : GREETING_BYTES;
	return descriptors;
}

void
bus_descriptors_free(struct bus_descriptors *descriptors)
{
	if (!descriptors)
		return;
	vec_free(&descriptors->peers);
	free(descriptors);
}

static int
max_descriptor(void)
{
	struct rlimit limit;
	rlim_t reserved;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > INT32_MAX)
		return INT32_MAX;
	reserved = limit.rlim_cur / RESERVED_PART;
	if (reserved > RESERVED_MOST)
		reserved = RESERVED_MOST;
	return (int)(limit.rlim_cur - reserved);
}

ino_t
bus_descriptors_inode(int fd)
{
	struct stat info;

	return fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode) ? info.st_ino : 0;
}

/* Over a Unix socket the number of bytes is unknown. */
static bool
is_silent(const struct bus_descriptors *descriptors, int fd)
{
	struct tcp_info info = { 0 };
	socklen_t size = sizeof info;

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
	       size > offsetof(struct tcp_info, tcpi_bytes_received) &&
	       info.tcpi_bytes_received <= descriptors->unknown_bytes;
}

/* A connection that has been silent for a while, or -1. */
static int
find_silent(struct bus_descriptors *descriptors, int64_t now_ns)
{
	for (unsigned i = 0; i < MAX_LOOKS && i < descriptors->peers.n; i++) {
		int fd = (int)(descriptors->next++ % descriptors->peers.n);
		struct accepted *peer = &descriptors->peers.items[fd];

		if (!peer->inode || now_ns - peer->since_ns < GRACE_NS)
			continue;
		if (bus_descriptors_inode(fd) != peer->inode)
			peer->inode = 0;
		else if (is_silent(descriptors, fd))
			return fd;
	}
	return -1;
}

bool
bus_descriptors_opened(struct bus_descriptors *descriptors, int fd, int64_t now_ns)
{
	ino_t inode = bus_descriptors_inode(fd);
	int silent;

	descriptors->n_open++;
	/* It may have ended already. */
	if (!inode || fd < 0)
		return false;
	while (descriptors->peers.n <= (size_t)fd)
		vec_push(&descriptors->peers, (struct accepted){ 0 });
	descriptors->peers.items[fd] = (struct accepted){ inode, now_ns };
	/* Where low numbers are free again, the number alone would tell too little. */
	if (fd < max_descriptor() &&
	    descriptors->n_open + OWN_DESCRIPTORS < max_descriptor())
		return false;
	silent = find_silent(descriptors, now_ns);
	fd = silent >= 0 ? silent : fd;
	descriptors->peers.items[fd].inode = 0;
	shutdown(fd, SHUT_RDWR);
	return true;
}

void
bus_descriptors_closed(struct bus_descriptors *descriptors)
{
	descriptors->n_open--;
}
