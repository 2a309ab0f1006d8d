/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/sources/bpf/src_bpf_qdisc.h"

#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "collector/sources/bpf/tc_dump.h"

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

struct handler {
	void (*found)(void *ctx, const struct bpf_qdisc *qdisc);
	void *ctx;
};

static void
on_message(void *ctx, const struct nlmsghdr *message)
{
	const struct handler *handler = ctx;
	struct bpf_qdisc qdisc;

	if (read_qdisc(message, &qdisc))
		handler->found(handler->ctx, &qdisc);
}

int
bpf_qdisc_each(void (*found)(void *ctx, const struct bpf_qdisc *qdisc), void *ctx)
{
	return tc_dump(RTM_GETQDISC, &(struct tcmsg){ .tcm_family = AF_UNSPEC },
		       on_message, &(struct handler){ found, ctx });
}
