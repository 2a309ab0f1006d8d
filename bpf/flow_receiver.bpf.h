/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * flow_receiver.bpf.h - the job of a received packet.
 *
 * It is the job of the socket with the packet's addresses.  If this namespace has none,
 * it is the job of the sending socket, which is still known when a pod's packet leaves
 * the host's end of its veth pair.  Results are cached for a short time, because a
 * look-up costs more than all the rest.
 */
#ifndef BPF_FLOW_RECEIVER_BPF_H
#define BPF_FLOW_RECEIVER_BPF_H

/* clang-format off: the types have to come before the helpers. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
/* clang-format on */

#include <stdbool.h>

#include "bpf/events.h"
#include "bpf/flow_job.bpf.h"
#include "bpf/flow_maps.bpf.h"
#include "bpf/parse.h"

static __always_inline bool
read_tuple(struct __sk_buff *skb, const struct parse_packet *p,
	   struct bpf_sock_tuple *ret_tuple)
{
	const void *end = (void *)(long)skb->data_end;

	if (p->ip == PARSE_IPV4) {
		if ((const void *)(p->addresses + 8) > end)
			return false;
		__builtin_memcpy(&ret_tuple->ipv4.saddr, p->addresses, 8);
		ret_tuple->ipv4.sport = p->ports[0];
		ret_tuple->ipv4.dport = p->ports[1];
	} else {
		if ((const void *)(p->addresses + 32) > end)
			return false;
		__builtin_memcpy(&ret_tuple->ipv6.saddr, p->addresses, 32);
		ret_tuple->ipv6.sport = p->ports[0];
		ret_tuple->ipv6.dport = p->ports[1];
	}
	return true;
}

static __always_inline __u64
mix(__u64 x)
{
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
	return x ^ x >> 32;
}

/* Seeded, so that senders cannot choose flows that collide. */
static __always_inline __u64
hash_of(const struct bpf_sock_tuple *tuple, const struct parse_packet *p)
{
	__u64 h = hash_seed +
		  ((__u64)p->l4 << 32 | (__u32)p->ports[0] << 16 | p->ports[1]);

	if (p->ip == PARSE_IPV4)
		return mix(mix(h) ^
			   ((__u64)tuple->ipv4.saddr << 32 | tuple->ipv4.daddr));
#pragma unroll
	for (int i = 0; i < 4; i++)
		h = mix(h) ^ ((__u64)tuple->ipv6.saddr[i] << 32 | tuple->ipv6.daddr[i]);
	return mix(h);
}

/* The job of the receiving socket; false if this namespace has none. */
static __always_inline bool
look_up_receiver(struct __sk_buff *skb, const struct parse_packet *p,
		 struct bpf_sock_tuple *tuple, __u32 *ret_job)
{
	__u32 length = p->ip == PARSE_IPV4 ? sizeof tuple->ipv4 : sizeof tuple->ipv6;
	struct bpf_sock *sk;

	if (p->l4 == PARSE_TCP)
		sk = bpf_sk_lookup_tcp(skb, tuple, length, BPF_F_CURRENT_NETNS, 0);
	else
		sk = bpf_sk_lookup_udp(skb, tuple, length, BPF_F_CURRENT_NETNS, 0);
	if (!sk)
		return false;
	*ret_job = find_job(sk, false);
	bpf_sk_release(sk);
	return true;
}

static __always_inline __u32
sender_job(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;

	if (!sk)
		return 0;
	sk = bpf_sk_fullsock(sk);
	return sk ? find_job(sk, false) : 0;
}

/* FIN, SYN and RST: another socket may use these addresses from now on. */
#define TCP_FLAGS_CHANGE 7

static __always_inline __u32
receiver_job(struct __sk_buff *skb, const struct parse_packet *p, __u64 now_ms)
{
	struct bpf_sock_tuple tuple = { 0 };
	__u64 hash, *cell, was, is;
	__u32 job = 0;

	if (p->l4 == PARSE_OTHER_L4 || !read_tuple(skb, p, &tuple))
		return sender_job(skb);
	hash = hash_of(&tuple, p);
	cell = &scratch[hash % FLOW_SCRATCH_CELLS];
	was = *(volatile __u64 *)cell;
	is = FLOW_SCRATCH_WORD(hash >> 32, now_ms, generation, 0);
	if (was - FLOW_SCRATCH_JOB(was) == is && !(p->tcp_flags & TCP_FLAGS_CHANGE))
		return FLOW_SCRATCH_JOB(was);
	if (!look_up_receiver(skb, p, &tuple, &job))
		job = sender_job(skb);
	job %= FLOW_MAX_JOBS;
	*(volatile __u64 *)cell = p->tcp_flags & TCP_FLAGS_CHANGE ? 0 : is + job;
	return job;
}

#endif
