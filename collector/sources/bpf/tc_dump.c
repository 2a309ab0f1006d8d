/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/sources/bpf/tc_dump.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define REPLY_BYTES 32768

/* One part of the reply: 1 at its end, 0 if there is more, or -errno. */
static int
read_part(const char *reply, size_t length,
	  void (*found)(void *ctx, const struct nlmsghdr *message), void *ctx)
{
	const struct nlmsghdr *message = (const void *)reply;

	for (; NLMSG_OK(message, length); message = NLMSG_NEXT(message, length)) {
		if (message->nlmsg_type == NLMSG_DONE)
			return 1;
		if (message->nlmsg_type == NLMSG_ERROR)
			return -EIO;
		found(ctx, message);
	}
	return 0;
}

int
tc_dump(uint16_t type, const struct tcmsg *request,
	void (*found)(void *ctx, const struct nlmsghdr *message), void *ctx)
{
	struct {
		struct nlmsghdr header;
		struct tcmsg tc;
	} message = { .header = { .nlmsg_len = sizeof message,
				  .nlmsg_type = type,
				  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		      .tc = *request };

	char reply[REPLY_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (send(fd, &message, sizeof message, 0) < 0)
		rc = -errno;
	while (rc == 0) {
		ssize_t n = recv(fd, reply, sizeof reply, 0);

		rc = n <= 0 ? -EIO : read_part(reply, (size_t)n, found, ctx);
	}
	close(fd);
	return rc < 0 ? rc : 0;
}
