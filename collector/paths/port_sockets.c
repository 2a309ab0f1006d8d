/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/paths/port_sockets.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/daemon/tcp_diag.h"

#define LIST_BYTES 65536

/* A state of the kernel; its headers with names exclude each other. */
#define ESTABLISHED 1

struct port_sockets {
	int fd;
	uint32_t sequence;
};

int
port_sockets_open(struct port_sockets **ret_sockets, struct err *err)
{
	int fd = tcp_diag_open();
	struct port_sockets *sockets;

	if (fd < 0)
		return err_set_errno(err, NULL, -fd, "cannot list TCP sockets");
	sockets = xcalloc(1, sizeof *sockets);
	sockets->fd = fd;
	*ret_sockets = sockets;
	return 0;
}

void
port_sockets_close(struct port_sockets *sockets)
{
	if (!sockets)
		return;
	close(sockets->fd);
	free(sockets);
}

int
port_sockets_find(struct port_sockets *sockets, const struct port_flow *flow,
		  bool is_sender, uint64_t *ret_cgroup)
{
	struct tcp_diag_ends ends = {
		.local_port = is_sender ? flow->source_port : flow->destination_port,
		.remote_port = is_sender ? flow->destination_port : flow->source_port,
	};
	struct tcp_diag_socket found;
	int r;

	memcpy(ends.local, is_sender ? flow->source : flow->destination, 16);
	memcpy(ends.remote, is_sender ? flow->destination : flow->source, 16);
	r = tcp_diag_find(sockets->fd, ++sockets->sequence, &ends, &found);
	if (r > 0)
		*ret_cgroup = found.cgroup;
	return r;
}

/* ---- All connections ------------------------------------------------------------- */

static void
fill_address(uint8_t ret_address[16], uint8_t family, const uint32_t address[4])
{
	memset(ret_address, 0, 16);
	if (family == AF_INET)
		memset(ret_address + 10, 0xff, 2);
	memcpy(ret_address + (family == AF_INET ? 12 : 0), address,
	       family == AF_INET ? 4 : 16);
}

static uint64_t
read_cgroup(const struct rtattr *attribute)
{
	uint64_t cgroup = 0;

	if (RTA_PAYLOAD(attribute) == sizeof cgroup)
		memcpy(&cgroup, RTA_DATA(attribute), sizeof cgroup);
	return cgroup;
}

/* The kernel's tcp_info may be shorter or longer than that of our headers. */
static uint64_t
read_bytes(const struct rtattr *attribute)
{
	size_t at = offsetof(struct tcp_info, tcpi_bytes_acked);
	uint64_t bytes = 0;

	if (RTA_PAYLOAD(attribute) >= at + sizeof bytes)
		memcpy(&bytes, (const char *)RTA_DATA(attribute) + at, sizeof bytes);
	return bytes;
}

static bool
read_listed(const struct nlmsghdr *header, struct port_socket *ret_socket)
{
	const struct inet_diag_msg *found = NLMSG_DATA(header);
	int left = (int)header->nlmsg_len - (int)NLMSG_LENGTH(sizeof *found);
	const struct rtattr *attribute = (const void *)(found + 1);

	if (left < 0)
		return false;
	*ret_socket =
		(struct port_socket){ .flow = { .source_port = found->id.idiag_sport,
						.destination_port =
							found->id.idiag_dport } };
	fill_address(ret_socket->flow.source, found->idiag_family, found->id.idiag_src);
	fill_address(ret_socket->flow.destination, found->idiag_family,
		     found->id.idiag_dst);
	for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
		if (attribute->rta_type == INET_DIAG_CGROUP_ID)
			ret_socket->cgroup = read_cgroup(attribute);
		else if (attribute->rta_type == INET_DIAG_INFO)
			ret_socket->bytes = read_bytes(attribute);
	}
	return true;
}

/* Reads a part of a list: 1 if more follow, 0 at the end, -errno. */
static int
read_part(const struct nlmsghdr *header, size_t n, uint32_t sequence,
	  void (*found)(void *ctx, const struct port_socket *socket), void *ctx)
{
	for (; NLMSG_OK(header, n); header = NLMSG_NEXT(header, n)) {
		struct port_socket socket;

		if (header->nlmsg_seq != sequence)
			continue;
		if (header->nlmsg_type == NLMSG_DONE)
			return 0;
		if (header->nlmsg_type == NLMSG_ERROR)
			return -EIO;
		if (header->nlmsg_type == SOCK_DIAG_BY_FAMILY &&
		    read_listed(header, &socket))
			found(ctx, &socket);
	}
	return 1;
}

static int
list_family(struct port_sockets *sockets, uint8_t family,
	    void (*found)(void *ctx, const struct port_socket *socket), void *ctx)
{
	struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 body;
	} request = { .header = { .nlmsg_len = sizeof request,
				  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
				  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
				  .nlmsg_seq = ++sockets->sequence },
		      .body = { .sdiag_family = family,
				.sdiag_protocol = IPPROTO_TCP,
				.idiag_ext = 1 << (INET_DIAG_INFO - 1),
				.idiag_states = 1 << ESTABLISHED } };

	char reply[LIST_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
	int rc = 1;

	if (send(sockets->fd, &request, sizeof request, 0) < 0)
		return -errno;
	while (rc == 1) {
		ssize_t n = recv(sockets->fd, reply, sizeof reply, 0);

		if (n < 0 && errno == EINTR)
			continue;
		rc = n <= 0 ? -EIO
			    : read_part((const void *)reply, (size_t)n,
					sockets->sequence, found, ctx);
	}
	return rc;
}

int
port_sockets_each(struct port_sockets *sockets,
		  void (*found)(void *ctx, const struct port_socket *socket), void *ctx)
{
	int rc = list_family(sockets, AF_INET, found, ctx);

	return rc < 0 ? rc : list_family(sockets, AF_INET6, found, ctx);
}

/* ---- One port -------------------------------------------------------------------- */

/* Whether a socket can be bound to the port at all addresses; -errno if not. */
static int
try_port(const struct sockaddr *address, socklen_t length)
{
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), rc = 0;

	if (fd < 0)
		return -errno;
	if (bind(fd, address, length) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

bool
port_sockets_has_port(uint16_t port)
{
	const struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = port };
	const struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = port };
	int rc = try_port((const void *)&six, sizeof six);

	/* A host without IPv6. */
	if (rc == -EAFNOSUPPORT || rc == -EADDRNOTAVAIL)
		rc = try_port((const void *)&four, sizeof four);
	return rc < 0;
}
