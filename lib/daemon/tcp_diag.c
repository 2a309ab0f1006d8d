/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/daemon/tcp_diag.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/address.h"

#define REPLY_BYTES 8192

/* A state of the kernel; its headers with names exclude each other. */
#define LISTEN 10

int
tcp_diag_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	return fd < 0 ? -errno : fd;
}

static void
fill_body(struct inet_diag_req_v2 *body, const struct tcp_diag_ends *ends)
{
	size_t from = address_is_ipv4(ends->local) ? 12 : 0;

	*body = (struct inet_diag_req_v2){
		.sdiag_family = from ? AF_INET : AF_INET6,
		.sdiag_protocol = IPPROTO_TCP,
		.idiag_states = UINT32_MAX,
		.id = { .idiag_sport = ends->local_port,
			.idiag_dport = ends->remote_port,
			.idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } },
	};
	memcpy(body->id.idiag_src, ends->local + from, 16 - from);
	memcpy(body->id.idiag_dst, ends->remote + from, 16 - from);
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
read_socket(const struct nlmsghdr *header, struct tcp_diag_socket *ret_socket)
{
	const struct inet_diag_msg *found = NLMSG_DATA(header);
	int left = (int)header->nlmsg_len - (int)NLMSG_LENGTH(sizeof *found);
	const struct rtattr *attribute = (const void *)(found + 1);

	if (left < 0)
		return -EPROTO;
	if (found->idiag_state == LISTEN)
		return 0;
	*ret_socket = (struct tcp_diag_socket){ .user = found->idiag_uid,
						.inode = found->idiag_inode };
	for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
		if (attribute->rta_type == INET_DIAG_CGROUP_ID)
			ret_socket->cgroup = read_cgroup(attribute);
	return 1;
}

static int
read_reply(const struct nlmsghdr *header, size_t n, uint32_t sequence,
	   struct tcp_diag_socket *ret_socket)
{
	const struct nlmsgerr *error;

	if (!NLMSG_OK(header, n) || header->nlmsg_seq != sequence)
		return -EPROTO;
	if (header->nlmsg_type == SOCK_DIAG_BY_FAMILY)
		return read_socket(header, ret_socket);
	if (header->nlmsg_type != NLMSG_ERROR ||
	    header->nlmsg_len < NLMSG_LENGTH(sizeof *error))
		return -EPROTO;
	error = NLMSG_DATA(header);
	return error->error == -ENOENT || !error->error ? 0 : error->error;
}

int
tcp_diag_find(int fd, uint32_t sequence, const struct tcp_diag_ends *ends,
	      struct tcp_diag_socket *ret_socket)
{
	struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 body;
	} request = { .header = { .nlmsg_len = sizeof request,
				  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
				  .nlmsg_flags = NLM_F_REQUEST,
				  .nlmsg_seq = sequence } };

	char reply[REPLY_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
	ssize_t n;

	fill_body(&request.body, ends);
	if (send(fd, &request, sizeof request, 0) < 0)
		return -errno;
	/* Parts of a list that was not read to its end may come first. */
	do
		n = recv(fd, reply, sizeof reply, 0);
	while ((n < 0 && errno == EINTR) ||
	       (n >= (ssize_t)sizeof(struct nlmsghdr) &&
		((const struct nlmsghdr *)(const void *)reply)->nlmsg_seq != sequence));
	if (n < 0)
		return -errno;
	return read_reply((const void *)reply, (size_t)n, sequence, ret_socket);
}
