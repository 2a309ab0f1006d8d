/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * flow.bpf.c - how many bytes each link and each job carried, in every millisecond.
 *
 *	antiphase_rx	tc, ingress: what came in
 *	antiphase_tx	tp_btf/net_dev_start_xmit: what was handed to the device.  The
 *			programs of tc's egress see a packet before the host's queue
 *			and would show a burst of 10 Gb/s on a link of 1.
 *	antiphase_offer	tc, egress: what was handed to that queue, and what of it had
 *			been sent before
 *
 * The tracepoint fires for every device of every network namespace; an interface
 * is known by its namespace and number.
 *
 * The job of a packet is that of its socket's control group (version 2), which is
 * kept with the socket.  A label is good for one generation of the table of jobs;
 * after that it is looked up again, from the control group's id, which never changes
 * for a socket.  What came in is given to the socket that it is for, found by its
 * addresses; and if there is none in this namespace, to the one that sent it, which
 * is still known when a pod's packet comes out of the host's end of its cable.
 */
/* clang-format off: the types have to come before the helpers. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
/* clang-format on */

#include "bpf/events.h"
#include "bpf/kernel.h"
#include "bpf/parse.h"

/* TC_ACT_UNSPEC and TCX_NEXT: the other programs of the hook are still to run. */
#define GO_ON -1

/* Set before loading. */
const volatile __u32 n_cpus = 1;
const volatile __u32 n_links = 1;
const volatile __u32 bucket_shift = 8;
const volatile __u32 netns_inum = 0;
const volatile bool with_jobs = false;
const volatile __u64 hash_seed = 0;

/* Written by user space. */
struct flow_link_cell link_cells[FLOW_LINK_CELLS];
__u16 slot_of[FLOW_MAX_LINKS][FLOW_MAX_JOBS];
__u32 generation = 1;

/* Written here, taken by user space. */
__u64 asked[FLOW_ASK_CELLS];
__u8 wanted[FLOW_MAX_LINKS][FLOW_MAX_JOBS];

/* The namespace's address, once a device of it was seen; it stays as long as we do. */
__u64 our_net;

/* FLOW_MEMORY_WORD() each. */
__u64 memory[FLOW_MEMORY_CELLS];

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} buckets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct flow_totals);
} totals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FLOW_MAX_CGROUPS);
	__type(key, __u64);
	__type(value, __u32);
} cgroup_jobs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow_label);
} labels SEC(".maps");

/* One packet, or the segments that it stands for. */
struct amount {
	__u64 now_ms;
	__u32 bytes;
	__u32 packets;
	__u32 hash; /* Of the flow; 0: unknown. */
	__u32 ce;
};

static __always_inline bool
find_link(__u32 ifindex, __u32 *ret_link)
{
	__u32 at = FLOW_LINK_HASH(ifindex);

#pragma unroll
	for (int i = 0; i < FLOW_LINK_PROBES; i++) {
		struct flow_link_cell *cell = &link_cells[(at + i) % FLOW_LINK_CELLS];

		if (cell->ifindex == ifindex) {
			*ret_link = cell->link % FLOW_MAX_LINKS;
			return true;
		}
		if (!cell->ifindex)
			return false;
	}
	return false;
}

/* This CPU's place in a ring. */
static __always_inline __u32
place_of(__u32 ring)
{
	return ring * n_cpus + bpf_get_smp_processor_id();
}

static __always_inline void
count(__u32 ring, const struct amount *a)
{
	__u32 place = place_of(ring);
	struct flow_totals *sum = bpf_map_lookup_elem(&totals, &place);
	__u64 word;

	if (!sum)
		return;
	word = sum->current;
	if (FLOW_BUCKET_MS(word) != (__u32)a->now_ms) {
		__u32 at = (place << bucket_shift) +
			   (FLOW_BUCKET_MS(word) & ((1u << bucket_shift) - 1));
		__u64 *bucket = bpf_map_lookup_elem(&buckets, &at);

		if (bucket)
			*(volatile __u64 *)bucket = word;
		word = FLOW_BUCKET(a->now_ms, 0);
	}
	*(volatile __u64 *)&sum->current = word + a->bytes;
	*(volatile __u64 *)&sum->bytes = sum->bytes + a->bytes;
	sum->packets += a->packets;
	if (a->ce)
		sum->ce += a->ce;
	if (a->hash) {
		__u64 window = a->now_ms >> FLOW_SKETCH_SHIFT;

		if (sum->sketch_window != window) {
			sum->sketch_window = window;
			sum->sketch[0] = sum->sketch[1] = 0;
		}
		sum->sketch[a->hash >> 6 & 1] |= 1ull << (a->hash & 63);
	}
}

static __always_inline __u32
slot_ring(__u32 slot, __u32 direction)
{
	return n_links * FLOW_LINK_RINGS + slot * FLOW_SLOT_RINGS + direction;
}

/* The slot of a job on a link, or that of what belongs to none. */
static __always_inline __u32
find_slot(__u32 link, __u32 job)
{
	__u32 slot = slot_of[link % FLOW_MAX_LINKS][job % FLOW_MAX_JOBS];

	if (slot)
		return slot;
	if (!wanted[link % FLOW_MAX_LINKS][job % FLOW_MAX_JOBS])
		wanted[link % FLOW_MAX_LINKS][job % FLOW_MAX_JOBS] = 1;
	return slot_of[link % FLOW_MAX_LINKS][0];
}

static __always_inline __u64
cgroup_id_of(void *sk, bool is_traced)
{
	struct sock *from = sk;

	if (!bpf_core_field_exists(from->sk_cgrp_data.cgroup))
		return 0;
	/* The verifier lets tc programs read no member of a socket that it does not
	 * know; an address that was read from the stack is just a number. */
	if (!is_traced && bpf_probe_read_kernel(&from, sizeof from, &sk) < 0)
		return 0;
	return BPF_CORE_READ(from, sk_cgrp_data.cgroup, kn, id);
}

/*
 * The job of a socket whose label is missing or old.  An id that user space has not
 * heard of is left where it is looked for; if that place is taken, the label stays
 * old so that the next packet asks again.
 */
static __noinline __u32
look_up_job(__u64 cgroup_id, __u32 *ret_generation)
{
	__u32 now = generation;
	__u32 *job = bpf_map_lookup_elem(&cgroup_jobs, &cgroup_id);
	__u64 was;

	if (!ret_generation)
		return 0;
	*ret_generation = now;
	if (job)
		return *job;
	if (cgroup_id) {
		was = __sync_val_compare_and_swap(
			&asked[FLOW_ASK_HASH(cgroup_id) % FLOW_ASK_CELLS], 0,
			cgroup_id);
		if (was && was != cgroup_id)
			*ret_generation = now - 1;
	}
	return 0;
}

static __always_inline __u32
find_job(void *sk, bool is_traced)
{
	struct flow_label *label = bpf_sk_storage_get(&labels, sk, NULL, 0);
	struct flow_label fresh = { 0 };

	if (label && label->generation == generation)
		return label->job;
	fresh.cgroup_id = label ? label->cgroup_id : cgroup_id_of(sk, is_traced);
	fresh.job = look_up_job(fresh.cgroup_id, &fresh.generation);
	if (!label)
		label = bpf_sk_storage_get(&labels, sk, NULL,
					   BPF_SK_STORAGE_GET_F_CREATE);
	if (label)
		*label = fresh;
	return fresh.job;
}

/* ---- Going out, behind the queue ----------------------------------------------- */

/* Of a packet that the device, or what is before it, will cut into segments. */
struct gso {
	__u32 size, segments, type;
};

/*
 * What follows is in memory of which the verifier knows nothing.  Where the kernel has
 * casts these are plain loads; a helper that copies takes 20 ns, also for each packet
 * that the kernel has cut from a large one.
 */
static __always_inline bool
read_gso(struct sk_buff *skb, bool has_cast, struct gso *ret_gso)
{
	struct skb_shared_info *info = (void *)(skb->head + skb->end);

	if (has_cast) {
		info = bpf_rdonly_cast(info,
				       bpf_core_type_id_kernel(struct skb_shared_info));
		ret_gso->size = info->gso_size;
		ret_gso->segments = info->gso_segs;
		ret_gso->type = info->gso_type;
	} else {
		ret_gso->size = BPF_CORE_READ(info, gso_size);
		if (!ret_gso->size)
			return false;
		ret_gso->segments = BPF_CORE_READ(info, gso_segs);
		ret_gso->type = BPF_CORE_READ(info, gso_type);
	}
	return ret_gso->size && ret_gso->segments > 1;
}

static __always_inline __u32
read_tcp_header_bytes(void *header, bool has_cast)
{
	struct tcphdr *tcp = header;

	if (!has_cast)
		return BPF_CORE_READ_BITFIELD_PROBED(tcp, doff) * 4;
	tcp = bpf_rdonly_cast(header, bpf_core_type_id_kernel(struct tcphdr));
	return BPF_CORE_READ_BITFIELD(tcp, doff) * 4;
}

/*
 * What a large packet is when the device has cut it: headers for each segment.  The
 * queue has reckoned that already; but its figure stays with each of the pieces when
 * the packet was cut on the way, and is of no meaning if it passed no queue.
 */
static __always_inline void
wire_size(struct sk_buff *skb, bool has_cast, __u32 queue_bytes, struct amount *a)
{
	__u32 header_bytes, at;
	struct gso gso;

	if (!read_gso(skb, has_cast, &gso))
		return;
	a->packets = gso.segments;
	if (queue_bytes > a->bytes &&
	    queue_bytes - a->bytes <= gso.segments * PARSE_MAX_HEADERS) {
		a->bytes = queue_bytes;
		return;
	}
	at = skb->encapsulation ? skb->inner_transport_header : skb->transport_header;
	if (gso.type & (FLOW_GSO_TCPV4 | FLOW_GSO_TCPV6))
		header_bytes = read_tcp_header_bytes(skb->head + at, has_cast);
	else if (gso.type & FLOW_GSO_UDP_L4)
		header_bytes = 8;
	else
		return;
	header_bytes += at - skb->mac_header;
	if (header_bytes <= PARSE_MAX_HEADERS)
		a->bytes += (gso.segments - 1) * header_bytes;
}

static __always_inline bool
is_our_net(struct net_device *dev)
{
	struct net *net = dev->nd_net.net;

	if (our_net)
		return our_net == (__u64)net;
	if (net->ns.inum != netns_inum)
		return false;
	our_net = (__u64)net;
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
	/* The queue's own notion of its length counts the headers of all segments. */
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

/* The same for Linux up to 6.1; user space loads one of them. */
SEC("?tp_btf/net_dev_start_xmit")

int
BPF_PROG(antiphase_tx_61, struct sk_buff *skb, struct net_device *dev)
{
	(void)ctx;
	return count_sent(skb, dev, false);
}

/* ---- Going out, before the queue ------------------------------------------------ */

static __always_inline enum parse_result
parse(struct __sk_buff *skb, struct parse_packet *p)
{
	enum parse_result result;

	result = parse_packet((void *)(long)skb->data, (void *)(long)skb->data_end, p);
	if (result == PARSE_OK)
		return result;
	/* The headers may be there, but not where they can be read. */
	if (skb->len <= skb->data_end - skb->data ||
	    bpf_skb_pull_data(skb, skb->len < 128 ? skb->len : 128) < 0)
		return result;
	return parse_packet((void *)(long)skb->data, (void *)(long)skb->data_end, p);
}

/*
 * Whether it is a TCP segment that was not sent before, by a look at where most have
 * their sequence number.  If not that is still to be found out.  (That the connection
 * has sent nothing twice is where hardly anything looks, and so not in the cache.)
 */
static __always_inline bool
is_surely_new(struct __sk_buff *skb, __u32 snd_nxt)
{
	const __u8 *at = (void *)(long)skb->data;
	__u32 seq;

	if (at + 14 + 40 + 8 > (const __u8 *)(long)skb->data_end)
		return false;
	if (parse_be16(at + 12) == 0x0800 && at[14] == 0x45 && at[14 + 9] == PARSE_TCP)
		seq = parse_be32(at + 14 + 20 + 4);
	else if (parse_be16(at + 12) == 0x86dd && at[14 + 6] == PARSE_TCP)
		seq = parse_be32(at + 14 + 40 + 4);
	else
		return false;
	/* snd_nxt moves after a new segment was handed on. */
	return (__s32)(seq - snd_nxt) >= 0;
}

/*
 * Segments of this packet that were sent before.  By itself, so that what hardly any
 * packet needs does not lie amid what each runs through.
 */
static __noinline __u32
retransmits_of(struct __sk_buff *skb, __u32 snd_nxt)
{
	struct parse_packet p;

	if (parse(skb, &p) != PARSE_OK || p.l4 != PARSE_TCP ||
	    skb->len <= p.header_bytes)
		return 0;
	if ((__s32)(p.seq - snd_nxt) >= 0)
		return 0;
	return skb->gso_segs > 1 ? skb->gso_segs : 1;
}

static __always_inline void
count_retransmits(__u32 ring, __u32 n)
{
	__u32 place = place_of(ring);
	struct flow_totals *sum = bpf_map_lookup_elem(&totals, &place);

	if (sum)
		sum->retransmits += n;
}

/* Without a look at the clock, which is dearer than the rest. */
static __always_inline void
count_offered(__u32 link, const struct amount *a)
{
	__u32 place = place_of(link * FLOW_LINK_RINGS + FLOW_OFFERED);
	struct flow_totals *sum = bpf_map_lookup_elem(&totals, &place);

	if (!sum)
		return;
	*(volatile __u64 *)&sum->bytes = sum->bytes + a->bytes;
	sum->packets += a->packets;
}

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

/* Seeded, so that nobody who sends packets can choose two that fall together. */
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

/* The job of the socket that the packet is for; false if there is none here. */
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

/* FIN, SYN and RST: another socket may have these addresses from now on. */
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
	cell = &memory[hash % FLOW_MEMORY_CELLS];
	was = *(volatile __u64 *)cell;
	is = FLOW_MEMORY_WORD(hash >> 32, now_ms, generation, 0);
	if (was - FLOW_MEMORY_JOB(was) == is && !(p->tcp_flags & TCP_FLAGS_CHANGE))
		return FLOW_MEMORY_JOB(was);
	if (!look_up_receiver(skb, p, &tuple, &job))
		job = sender_job(skb);
	job %= FLOW_MAX_JOBS;
	*(volatile __u64 *)cell = p->tcp_flags & TCP_FLAGS_CHANGE ? 0 : is + job;
	return job;
}

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
	/* Of a packet by itself the marks alone are asked for, where jobs are not. */
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
