/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/paths/probe_socket.h"

#include <errno.h>
/* In this order, which linux/errqueue.h needs: */
/* clang-format off */
#include <time.h>
#include <linux/errqueue.h>
/* clang-format on */
#include <linux/icmpv6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/address.h"

/* An address and port, in network's order, as the kernel takes it. */
struct end {
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	};

	socklen_t length;
};

static struct end
make_end(const uint8_t address[16], uint16_t port)
{
	struct end end = { .length = 0 };

	if (address_is_ipv4(address)) {
		end.four.sin_family = AF_INET;
		end.four.sin_port = port;
		memcpy(&end.four.sin_addr, address + 12, 4);
		end.length = sizeof end.four;
	} else {
		end.six.sin6_family = AF_INET6;
		end.six.sin6_port = port;
		memcpy(&end.six.sin6_addr, address, 16);
		end.length = sizeof end.six;
	}
	return end;
}

static void
read_end(const struct sockaddr *any, uint8_t ret_address[16])
{
	memset(ret_address, 0, 16);
	if (any->sa_family == AF_INET) {
		memset(ret_address + 10, 0xff, 2);
		memcpy(ret_address + 12,
		       &((const struct sockaddr_in *)(const void *)any)->sin_addr, 4);
	} else if (any->sa_family == AF_INET6) {
		memcpy(ret_address,
		       &((const struct sockaddr_in6 *)(const void *)any)->sin6_addr,
		       16);
	}
}

/* ---- Sending --------------------------------------------------------------------- */

static int
set_option(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof value) < 0 ? -errno : 0;
}

static int
set_up(int fd, const struct end *from, uint8_t hop)
{
	bool is_four = from->any.sa_family == AF_INET;
	int rc = is_four ? set_option(fd, IPPROTO_IP, IP_TTL, hop)
			 : set_option(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, hop);

	if (rc == 0)
		rc = is_four ? set_option(fd, IPPROTO_IP, IP_RECVERR, 1)
			     : set_option(fd, IPPROTO_IPV6, IPV6_RECVERR, 1);
	if (rc == 0)
		rc = set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (rc == 0 && bind(fd, &from->any, from->length) < 0)
		rc = -errno;
	return rc;
}

/* A socket that is bound and connected, or has begun to connect; or -errno. */
static int
open_socket(const struct port_flow *flow, int type, uint8_t hop)
{
	struct end from = make_end(flow->source, flow->source_port);
	struct end to = make_end(flow->destination, flow->destination_port);
	int fd = socket(from.any.sa_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return -errno;
	rc = set_up(fd, &from, hop);
	if (rc == 0 && connect(fd, &to.any, to.length) < 0 && errno != EINPROGRESS &&
	    errno != EHOSTUNREACH)
		rc = -errno;
	if (rc < 0) {
		close(fd);
		return rc;
	}
	return fd;
}

int
probe_socket_send(const struct port_flow *flow, uint8_t hop)
{
	return open_socket(flow, SOCK_STREAM, hop);
}

int
probe_socket_datagram(const struct port_flow *flow, uint8_t hop)
{
	int fd = open_socket(flow, SOCK_DGRAM, hop);

	if (fd >= 0 && send(fd, "", 1, 0) < 0) {
		int error = errno;

		close(fd);
		return -error;
	}
	return fd;
}

/* ---- Answers --------------------------------------------------------------------- */

/* 1 with the sender of a "time exceeded in transit"; another error as -errno; or 0. */
static int
read_error(struct msghdr *message, uint8_t ret_address[16])
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c;
	     c = CMSG_NXTHDR(message, c)) {
		const struct sock_extended_err *e = (const void *)CMSG_DATA(c);
		bool is_four =
			c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR;
		bool is_six =
			c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR;

		if (!is_four && !is_six)
			continue;
		if ((e->ee_origin == SO_EE_ORIGIN_ICMP &&
		     e->ee_type == ICMP_TIME_EXCEEDED && e->ee_code == ICMP_EXC_TTL) ||
		    (e->ee_origin == SO_EE_ORIGIN_ICMP6 &&
		     e->ee_type == ICMPV6_TIME_EXCEED &&
		     e->ee_code == ICMPV6_EXC_HOPLIMIT)) {
			read_end(SO_EE_OFFENDER(e), ret_address);
			return 1;
		}
		return -(int)e->ee_errno;
	}
	return 0;
}

static bool
is_stream(int fd)
{
	int type = 0;
	socklen_t length = sizeof type;

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 &&
	       type == SOCK_STREAM;
}

int
probe_socket_read(int fd, uint8_t ret_address[16])
{
	union {
		struct cmsghdr header;
		char bytes[512];
	} control;

	char packet[256];
	struct iovec part = { packet, sizeof packet };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof control };
	int error = 0, rc = 0;
	socklen_t length = sizeof error;
	struct end peer = { .length = sizeof peer.six };

	if (recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0)
		rc = read_error(&message, ret_address);
	if (rc != 0)
		return rc == -ECONNREFUSED ? -EISCONN : rc;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
		return -errno;
	if (error)
		return error == ECONNREFUSED ? -EISCONN : -error;
	/* A stream has a peer only when it is connected, a datagram socket always. */
	return is_stream(fd) && getpeername(fd, &peer.any, &peer.length) == 0 ? -EISCONN
									      : 0;
}

void
probe_socket_close(int fd)
{
	const struct linger at_once = { .l_onoff = 1 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
	close(fd);
}

int
probe_socket_source(const uint8_t destination[16], uint16_t destination_port,
		    uint8_t ret_source[16])
{
	struct end to = make_end(destination, destination_port), from;
	int fd = socket(to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc = 0;

	if (fd < 0)
		return -errno;
	from.length = sizeof from.six;
	if (connect(fd, &to.any, to.length) < 0 ||
	    getsockname(fd, &from.any, &from.length) < 0)
		rc = -errno;
	close(fd);
	if (rc == 0)
		read_end(&from.any, ret_source);
	return rc;
}
