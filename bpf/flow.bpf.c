/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * flow.bpf.c - counters of the bytes of each link and job per millisecond.
 *
 *	antiphase_rx	tc, ingress: received packets
 *	antiphase_tx	tp_btf/net_dev_start_xmit: packets handed to the device.
 *			Programs at tc egress see a packet before the host's queue, and
 *			would show a burst of 10 Gb/s on a link of 1 Gb/s.
 *	antiphase_offer	tc, egress: packets handed to that queue, and retransmits
 *
 * The tracepoint fires for all devices of all network namespaces, so an interface is
 * identified by namespace and number.  The job of a packet is that of its socket's
 * control group (version 2).
 *
 *	flow_maps.bpf.h		data shared with user space
 *	flow_count.bpf.h	rings of links, and of jobs on them
 *	flow_job.bpf.h		the job of a socket
 *	flow_wire.bpf.h		a large packet's bytes on the wire
 *	flow_headers.bpf.h	retransmits
 *	tc_parse.bpf.h		a packet's headers
 *	flow_receiver.bpf.h	the job of a received packet
 */
/* clang-format off: the types have to come before the helpers. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
/* clang-format on */

#include "bpf/events.h"
#include "bpf/flow_count.bpf.h"
#include "bpf/flow_headers.bpf.h"
#include "bpf/flow_job.bpf.h"
#include "bpf/flow_maps.bpf.h"
#include "bpf/flow_receiver.bpf.h"
#include "bpf/flow_wire.bpf.h"
#include "bpf/kernel.h"
#include "bpf/parse.h"
#include "bpf/tc_parse.bpf.h"

/* TC_ACT_UNSPEC and TCX_NEXT: continue with the hook's other programs. */
#define GO_ON -1

/* ---- Going out, behind the queue ----------------------------------------------- */

static __always_inline bool
is_our_net(struct net_device *dev)
{
	struct net *net = dev->nd_net.net;

	if (target_netns)
		return target_netns == (__u64)net;
	if (net->ns.inum != netns_inum)
		return false;
	target_netns = (__u64)net;
	return true;
}

static __always_inline int
count_sent(struct sk_buff *skb, struct net_device *dev, bool has_cast)
{
	struct amount a;
	struct sock *sk;
	__u32 link, queue_bytes;

	if (!find_link(dev->ifindex, &link) || !is_our_net(dev))
		return 0;
	a.now_ms = bpf_ktime_get_ns() / 1000000;
	a.bytes = skb->len;
	a.packets = 1;
	a.hash = skb->hash;
	a.ce = 0;
	/* The queue's own length counts the headers of all segments. */
	queue_bytes = ((struct qdisc_skb_cb *)skb->cb)->pkt_len;
	if (queue_bytes != a.bytes)
		wire_size(skb, has_cast, queue_bytes, &a);
	if (bpf_core_field_exists(skb->vlan_all) && skb->vlan_all)
		a.bytes += 4 * a.packets;
	count(link * FLOW_LINK_RINGS + FLOW_TX, &a);
	if (!with_jobs)
		return 0;
	sk = skb->sk;
	count(slot_ring(find_slot(link, sk ? find_job(sk, true) : 0), FLOW_TX), &a);
	return 0;
}

SEC("tp_btf/net_dev_start_xmit")

int
BPF_PROG(antiphase_tx, struct sk_buff *skb, struct net_device *dev)
{
	(void)ctx;
	return count_sent(skb, dev, true);
}

/* The same for Linux up to 6.1; user space loads one of the two. */
SEC("?tp_btf/net_dev_start_xmit")

int
BPF_PROG(antiphase_tx_61, struct sk_buff *skb, struct net_device *dev)
{
	(void)ctx;
	return count_sent(skb, dev, false);
}

/* ---- Going out, before the queue ------------------------------------------------ */

SEC("tc")

int
antiphase_offer(struct __sk_buff *skb)
{
	struct bpf_tcp_sock *tcp;
	struct bpf_sock *sk;
	struct amount a;
	__u32 link, n;

	if (!find_link(skb->ifindex, &link))
		return GO_ON;
	a.packets = skb->gso_segs > 1 ? skb->gso_segs : 1;
	a.bytes = skb->wire_len + (skb->vlan_present ? 4 * a.packets : 0);
	if (with_jobs) {
		a.now_ms = bpf_ktime_get_ns() / 1000000;
		a.hash = 0;
		a.ce = 0;
		count(link * FLOW_LINK_RINGS + FLOW_OFFERED, &a);
	} else {
		count_offered(link, &a);
	}
	sk = skb->sk;
	if (!sk)
		return GO_ON;
	tcp = bpf_tcp_sock(sk);
	if (!tcp || is_surely_new(skb, tcp->snd_nxt))
		return GO_ON;
	n = retransmits_of(skb, tcp->snd_nxt);
	if (!n)
		return GO_ON;
	count_retransmits(link * FLOW_LINK_RINGS + FLOW_TX, n);
	if (!with_jobs)
		return GO_ON;
	sk = bpf_sk_fullsock(sk);
	if (sk)
		count_retransmits(
			slot_ring(find_slot(link, find_job(sk, false)), FLOW_TX), n);
	return GO_ON;
}

/* ---- Coming in ------------------------------------------------------------------- */

SEC("tc")

int
antiphase_rx(struct __sk_buff *skb)
{
	struct parse_packet p;
	struct amount a;
	__u32 link, job;
	bool is_plain;

	if (!find_link(skb->ifindex, &link))
		return GO_ON;
	a.now_ms = bpf_ktime_get_ns() / 1000000;
	a.bytes = skb->len;
	a.packets = 1;
	a.hash = skb->hash;
	a.ce = 0;
	/* For a single packet without jobs, only the ECN bits are needed. */
	is_plain = !with_jobs && skb->gso_segs <= 1 &&
		   parse_ecn((void *)(long)skb->data, (void *)(long)skb->data_end,
			     &p.ecn) == PARSE_OK;
	if (!is_plain && parse(skb, &p) == PARSE_OK && skb->gso_segs > 1) {
		a.packets = skb->gso_segs;
		a.bytes += (a.packets - 1) * p.header_bytes;
	}
	if (skb->vlan_present)
		a.bytes += 4 * a.packets;
	if (p.ecn == 3)
		a.ce = a.packets;
	count(link * FLOW_LINK_RINGS + FLOW_RX, &a);
	if (!with_jobs)
		return GO_ON;
	job = receiver_job(skb, &p, a.now_ms);
	count(slot_ring(find_slot(link, job), FLOW_RX), &a);
	return GO_ON;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
