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

#define REPLY_BYTES 8192
#define LIST_BYTES  65536

/* States of the kernel; its headers with names exclude each other. */
#define ESTABLISHED 1
#define LISTEN      10

struct port_sockets {
	int fd;
	uint32_t sequence;
};

int
port_sockets_open(struct port_sockets **ret_sockets, struct err *err)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	struct port_sockets *sockets;

	if (fd < 0)
		return err_set_errno(err, NULL, errno, "cannot list TCP sockets");
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

/* ---- One connection -------------------------------------------------------------- */

static bool
is_ipv4(const uint8_t address[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(address, mapped, sizeof mapped);
}

static void
fill_socket(struct inet_diag_req_v2 *request, const struct port_flow *flow,
	    bool is_sender)
{
	const uint8_t *local = is_sender ? flow->source : flow->destination;
	const uint8_t *remote = is_sender ? flow->destination : flow->source;
	size_t from = is_ipv4(local) ? 12 : 0;

	request->sdiag_family = from ? AF_INET : AF_INET6;
	request->sdiag_protocol = IPPROTO_TCP;
	request->idiag_states = UINT32_MAX;
	memcpy(request->id.idiag_src, local + from, 16 - from);
	memcpy(request->id.idiag_dst, remote + from, 16 - from);
	request->id.idiag_sport =
		is_sender ? flow->source_port : flow->destination_port;
	request->id.idiag_dport =
		is_sender ? flow->destination_port : flow->source_port;
	request->id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
	request->id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
}

static uint64_t
read_cgroup(const struct rtattr *attribute)
{
	uint64_t cgroup = 0;

	if (RTA_PAYLOAD(attribute) == sizeof cgroup)
		memcpy(&cgroup, RTA_DATA(attribute), sizeof cgroup);
	return cgroup;
}

/* Without a connection the kernel answers with the socket that listens on the port. */
static int
read_socket(const struct nlmsghdr *header, uint64_t *ret_cgroup)
{
	const struct inet_diag_msg *found = NLMSG_DATA(header);
	int left = (int)header->nlmsg_len - (int)NLMSG_LENGTH(sizeof *found);
	const struct rtattr *attribute = (const void *)(found + 1);

	if (left < 0)
		return -EPROTO;
	if (found->idiag_state == LISTEN)
		return 0;
	*ret_cgroup = 0;
	for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
		if (attribute->rta_type == INET_DIAG_CGROUP_ID)
			*ret_cgroup = read_cgroup(attribute);
	return 1;
}

static int
read_reply(const struct nlmsghdr *header, size_t n, uint32_t sequence,
	   uint64_t *ret_cgroup)
{
	const struct nlmsgerr *error;

	if (!NLMSG_OK(header, n) || header->nlmsg_seq != sequence)
		return -EPROTO;
	if (header->nlmsg_type == SOCK_DIAG_BY_FAMILY)
		return read_socket(header, ret_cgroup);
	if (header->nlmsg_type != NLMSG_ERROR ||
	    header->nlmsg_len < NLMSG_LENGTH(sizeof *error))
		return -EPROTO;
	error = NLMSG_DATA(header);
	return error->error == -ENOENT || !error->error ? 0 : error->error;
}

int
port_sockets_find(struct port_sockets *sockets, const struct port_flow *flow,
		  bool is_sender, uint64_t *ret_cgroup)
{
	struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 body;
	} request = { .header = { .nlmsg_len = sizeof request,
				  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
				  .nlmsg_flags = NLM_F_REQUEST,
				  .nlmsg_seq = ++sockets->sequence } };

	char reply[REPLY_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
	ssize_t n;

	fill_socket(&request.body, flow, is_sender);
	if (send(sockets->fd, &request, sizeof request, 0) < 0)
		return -errno;
	/* Parts of a list that was not read to its end may come first. */
	do
		n = recv(sockets->fd, reply, sizeof reply, 0);
	while ((n < 0 && errno == EINTR) ||
	       (n >= (ssize_t)sizeof(struct nlmsghdr) &&
		((const struct nlmsghdr *)(const void *)reply)->nlmsg_seq !=
			sockets->sequence));
	if (n < 0)
		return -errno;
	return read_reply((const void *)reply, (size_t)n, sockets->sequence,
			  ret_cgroup);
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
