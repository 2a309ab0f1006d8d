/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * connect_port.bpf.c - gives new TCP connections of jobs a source port
 *
 *	antiphase_connect4, antiphase_connect6	cgroup/connect4 and connect6, at the root
 *						of the control groups
 *
 * connect_port.h explains the scheme.
 */
/* clang-format off: the types have to come before the helpers. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
/* clang-format on */

#include <stdbool.h>

#include "bpf/connect_port.h"

/* Of the kernel's headers, which do not go with linux/bpf.h alone. */
#define INET4  2
#define INET6  10
#define STREAM 1
#define TCP    6
#define GO_ON  1

/* Set before loading: the network namespace of the collector. */
const volatile __u64 netns_cookie = 0;

struct connect_counts counts;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, CONNECT_MAX_CGROUPS);
	__type(key, __u64);
	__type(value, __u32);
} jobs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, CONNECT_MAX_OFFERS *CONNECT_MAX_PORTS);
	__type(key, struct connect_key);
	__type(value, __be16);
} offers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, CONNECT_MAX_SEEN);
	__type(key, struct connect_end);
	__type(value, __u8);
} seen SEC(".maps");

struct address4 {
	__u16 family;
	__be16 port;
	__u8 zero[12];
};

struct address6 {
	__u16 family;
	__be16 port;
	__u8 zero[24];
};

static __always_inline int
bind_port(struct bpf_sock_addr *ctx, __be16 port)
{
	struct address4 four = { INET4, port, { 0 } };
	struct address6 six = { INET6, port, { 0 } };

	if (ctx->family == INET4)
		return (int)bpf_bind(ctx, (void *)&four, sizeof four);
	return (int)bpf_bind(ctx, (void *)&six, sizeof six);
}

/* A TCP socket of our network namespace that has no port yet. */
static __always_inline bool
may_have_port(struct bpf_sock_addr *ctx)
{
	struct bpf_sock *sk = ctx->sk;

	return ctx->type == STREAM && ctx->protocol == TCP && sk && sk->src_port == 0 &&
	       bpf_get_netns_cookie(ctx) == netns_cookie;
}

/* The job of the innermost control group that has one; 0: none. */
static __always_inline __u32
find_job(void)
{
	__u32 found = 0;

#pragma unroll
	for (int level = 1; level <= CONNECT_MAX_DEPTH; level++) {
		__u64 id = bpf_get_current_ancestor_cgroup_id(level);
		const __u32 *job;

		if (id == 0)
			break;
		job = bpf_map_lookup_elem(&jobs, &id);
		if (job)
			found = *job;
	}
	return found;
}

static __always_inline void
give_port(struct bpf_sock_addr *ctx, struct connect_key *key)
{
	unsigned n_tries = 0;

	for (__u32 i = 0; i < CONNECT_MAX_PORTS && n_tries < CONNECT_MAX_TRIES; i++) {
		const __be16 *offer;
		__be16 port;

		key->index = i;
		offer = bpf_map_lookup_elem(&offers, key);
		if (!offer)
			continue;
		port = *offer;
		/* Of two that try, one removes it. */
		if (bpf_map_delete_elem(&offers, key) != 0)
			continue;
		if (bind_port(ctx, port) == 0) {
			__sync_fetch_and_add(&counts.n_given, 1);
			return;
		}
		__sync_fetch_and_add(&counts.n_in_use, 1);
		n_tries++;
	}
}

static __always_inline int
connect_to(struct bpf_sock_addr *ctx, struct connect_key *key)
{
	const __u8 yes = 1;

	key->to.port = (__be16)ctx->user_port;
	if (!may_have_port(ctx))
		return GO_ON;
	bpf_map_update_elem(&seen, &key->to, &yes, BPF_ANY);
	key->job = find_job();
	if (key->job)
		give_port(ctx, key);
	return GO_ON;
}

SEC("cgroup/connect4")

int
antiphase_connect4(struct bpf_sock_addr *ctx)
{
	struct connect_key key = { 0 };
	__u32 address = ctx->user_ip4;

	key.to.address[10] = key.to.address[11] = 0xff;
	__builtin_memcpy(key.to.address + 12, &address, sizeof address);
	return connect_to(ctx, &key);
}

SEC("cgroup/connect6")

int
antiphase_connect6(struct bpf_sock_addr *ctx)
{
	struct connect_key key = { 0 };
	__u32 address[4] = { ctx->user_ip6[0], ctx->user_ip6[1], ctx->user_ip6[2],
			     ctx->user_ip6[3] };

	__builtin_memcpy(key.to.address, address, sizeof address);
	return connect_to(ctx, &key);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
