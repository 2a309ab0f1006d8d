/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kernel.h - members of kernel structs that the programs read.
 *
 * CO-RE sets the offsets at load time from the running kernel's type information, so
 * these structs need be neither complete nor in order.
 */
#ifndef BPF_KERNEL_H
#define BPF_KERNEL_H

#include <linux/types.h>

#ifdef __bpf__
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#endif

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct net_device {
	int ifindex;
	possible_net_t nd_net;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

/* Since Linux 5.15; a union without this member before. */
struct sock_cgroup_data {
	struct cgroup *cgroup;
};

struct sock {
	struct sock_cgroup_data sk_cgrp_data;
};

struct tcphdr {
	__u16 ignored : 12, doff : 4;
};

struct skb_shared_info {
	unsigned short gso_size;
	unsigned short gso_segs;
	unsigned int gso_type;
};

struct qdisc_skb_cb {
	struct {
		unsigned int pkt_len;
	};
};

struct sk_buff {
	struct sock *sk;
	char cb[48];
	unsigned int len;
	__u32 hash;
	__u32 vlan_all; /* Not before Linux 6.2. */
	__u16 transport_header;
	__u16 mac_header;
	__u16 inner_transport_header;
	__u8 encapsulation : 1;
	unsigned int end; /* An offset from 'head' where pointers have 64 bits. */
	unsigned char *head;
};

#ifdef __bpf__
#pragma clang attribute pop

/* Since Linux 6.2: casts an address to a type whose members can be read. */
extern void *bpf_rdonly_cast(const void *address, __u32 btf_id) __ksym __weak;
#endif

/* skb_shared_info.gso_type. */
#define FLOW_GSO_TCPV4  (1u << 0)
#define FLOW_GSO_TCPV6  (1u << 4)
#define FLOW_GSO_UDP_L4 (1u << 17)

#endif
