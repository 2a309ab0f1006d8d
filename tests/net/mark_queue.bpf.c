/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * mark_queue.bpf.c - ECN marks above a queue length, at egress of a link that tbf shapes
 *
 * A classifier cannot see the backlog of the qdisc behind it, so this keeps a virtual
 * queue: it fills with each packet, drains at BYTES_PER_S, and marks while it holds more
 * than MARK_BYTES.  tbf lets BURST_BYTES pass at once after a pause; they are part of the
 * virtual queue, not of the real one, so they are allowed for.  bench_tcp.sh compiles
 * it with the values of its links.
 */
/* clang-format off: the types have to come before the helpers. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>
/* clang-format on */

#ifndef BYTES_PER_S
#define BYTES_PER_S 25000000
#endif
#ifndef MARK_BYTES
#define MARK_BYTES 20000
#endif
#ifndef BURST_BYTES
#define BURST_BYTES 16384
#endif
#define NS_PER_S 1000000000ull

struct queue {
	struct bpf_spin_lock lock;
	__u64 empty_ns; /* When it will be empty, on the monotonic clock. */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct queue);
} ap_mark_queue SEC(".maps");

SEC("tc")

int
ap_mark_above(struct __sk_buff *skb)
{
	__u32 key = 0;
	__u64 now = bpf_ktime_get_ns(), held_ns;
	struct queue *queue = bpf_map_lookup_elem(&ap_mark_queue, &key);

	if (!queue)
		return -1;
	bpf_spin_lock(&queue->lock);
	if (queue->empty_ns < now)
		queue->empty_ns = now;
	held_ns = queue->empty_ns - now;
	queue->empty_ns += skb->len * NS_PER_S / BYTES_PER_S;
	bpf_spin_unlock(&queue->lock);
	if (held_ns > (MARK_BYTES + BURST_BYTES) * NS_PER_S / BYTES_PER_S)
		bpf_skb_ecn_set_ce(skb);
	return -1;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
