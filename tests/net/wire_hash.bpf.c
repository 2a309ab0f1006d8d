/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * wire_hash.bpf.c - makes a veth like a wire: a packet that leaves its host forgets the
 * hash of its socket
 *
 * A veth pair hands skb->hash to the next namespace, where ECMP would take it instead of
 * the packet's ports.  Attached at egress of the hosts of a lab (path_lab.sh).
 */
/* clang-format off: the types have to come before the helpers. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>
/* clang-format on */

SEC("tc")

int
ap_wire_hash(struct __sk_buff *skb)
{
	bpf_set_hash_invalid(skb);
	return -1;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
