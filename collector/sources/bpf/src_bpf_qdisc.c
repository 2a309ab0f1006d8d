#include "collector/sources/bpf/src_bpf_qdisc.h"

#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct rtattr *
find_attribute(const struct rtattr *at, int length, unsigned short type)
{
	for (; RTA_OK(at, length); at = RTA_NEXT(at, length))
		if ((at->rta_type & NLA_TYPE_MASK) == type)
			return at;
	return NULL;
}

/* False if the message is about no root queue. */
static bool
read_qdisc(const struct nlmsghdr *message, struct bpf_qdisc *ret_qdisc)
{
	const struct tcmsg *tc = NLMSG_DATA(message);
	int length = (int)message->nlmsg_len - (int)NLMSG_LENGTH(sizeof *tc);
	const struct rtattr *kind, *stats, *basic = NULL, *offload;

	if (message->nlmsg_type != RTM_NEWQDISC || length < 0 ||
	    tc->tcm_parent != TC_H_ROOT)
		return false;
	kind = find_attribute(TCA_RTA(tc), length, TCA_KIND);
	stats = find_attribute(TCA_RTA(tc), length, TCA_STATS2);
	offload = find_attribute(TCA_RTA(tc), length, TCA_HW_OFFLOAD);
	if (!kind || !strncmp(RTA_DATA(kind), "noqueue", RTA_PAYLOAD(kind)))
		return false;
	memset(ret_qdisc, 0, sizeof *ret_qdisc);
	ret_qdisc->ifindex = tc->tcm_ifindex;
	if (stats)
		basic = find_attribute(RTA_DATA(stats), (int)RTA_PAYLOAD(stats),
				       TCA_STATS_BASIC);
	if (!basic || RTA_PAYLOAD(basic) < sizeof ret_qdisc->sent_bytes)
		return true;
	memcpy(&ret_qdisc->sent_bytes, RTA_DATA(basic), sizeof ret_qdisc->sent_bytes);
	ret_qdisc->is_comparable = !(offload && RTA_PAYLOAD(offload) &&
				     *(const char *)RTA_DATA(offload)) &&
				   !find_attribute(TCA_RTA(tc), length, TCA_STAB);
	return true;
}

/* One reply of a dump: 1 at its end, 0 if there is more, or -errno. */
static int
read_reply(const char *reply, size_t length,
	   void (*found)(void *ctx, const struct bpf_qdisc *qdisc), void *ctx)
{
	const struct nlmsghdr *message = (const void *)reply;
	struct bpf_qdisc qdisc;

	for (; NLMSG_OK(message, length); message = NLMSG_NEXT(message, length)) {
		if (message->nlmsg_type == NLMSG_DONE)
			return 1;
		if (message->nlmsg_type == NLMSG_ERROR)
			return -EIO;
		if (read_qdisc(message, &qdisc))
			found(ctx, &qdisc);
	}
	return 0;
}

int
bpf_qdisc_each(void (*found)(void *ctx, const struct bpf_qdisc *qdisc), void *ctx)
{
	struct {
		struct nlmsghdr header;
		struct tcmsg tc;
	} request = { .header = { .nlmsg_len = sizeof request,
				  .nlmsg_type = RTM_GETQDISC,
				  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP } };

	char reply[32768] __attribute__((aligned(NLMSG_ALIGNTO)));
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (send(fd, &request, sizeof request, 0) < 0)
		rc = -errno;
	while (rc == 0) {
		ssize_t n = recv(fd, reply, sizeof reply, 0);

		rc = n <= 0 ? -EIO : read_reply(reply, (size_t)n, found, ctx);
	}
	close(fd);
	return rc < 0 ? rc : 0;
}
