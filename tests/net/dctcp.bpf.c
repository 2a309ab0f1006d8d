/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dctcp.bpf.c - DCTCP (RFC 8257) for kernels that are built without it
 *
 * For tests/bench/tcp_flows.c, whose links drop nothing and whose receivers acknowledge
 * each packet: a loss is treated like a mark, and delayed acknowledgments are not split
 * where the marks begin or end.
 */
/* clang-format off: the types have to come before the helpers. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
/* clang-format on */

/* BPF_PROG declares a context that nothing here reads. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* What is used of the kernel's types; the loader finds the members by name. */
#define FROM_KERNEL __attribute__((preserve_access_index))

struct sock {
} FROM_KERNEL;

struct inet_connection_sock {
	__u64 icsk_ca_priv[13];
} FROM_KERNEL;

struct tcp_sock {
	__u32 snd_cwnd, snd_una, snd_nxt, delivered, delivered_ce;
	__u8 ecn_flags;
} FROM_KERNEL;

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *);
	void (*cong_avoid)(struct sock *, __u32, __u32);
	void (*cwnd_event)(struct sock *, int);
	void (*in_ack_event)(struct sock *, __u32);
	__u32 (*undo_cwnd)(struct sock *);
	char name[16];
	__u32 flags;
	void (*init)(struct sock *);
};

#define TCP_CONG_NEEDS_ECN 2
#define TCP_ECN_DEMAND_CWR 4
#define CA_EVENT_ECN_NO_CE 4
#define CA_EVENT_ECN_IS_CE 5

extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

#define ALPHA_ONE  1024u /* The estimate of the share of marked packets, in 1/1024. */
#define GAIN_SHIFT 4     /* The RFC's g = 1/16. */
#define CWND_MIN   2u

struct dctcp {
	__u32 alpha;
	__u32 window_end; /* The estimate is renewed when this is acknowledged. */
	__u32 delivered, delivered_ce; /* At the window's beginning. */
};

static __always_inline struct dctcp *
state_of(struct sock *sk)
{
	return (struct dctcp *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __always_inline void
begin_window(struct dctcp *state, const struct tcp_sock *tp)
{
	state->window_end = tp->snd_nxt;
	state->delivered = tp->delivered;
	state->delivered_ce = tp->delivered_ce;
}

SEC("struct_ops/ap_dctcp_init")

void
BPF_PROG(ap_dctcp_init, struct sock *sk)
{
	struct dctcp *state = state_of(sk);

	state->alpha = ALPHA_ONE;
	begin_window(state, (struct tcp_sock *)sk);
}

SEC("struct_ops/ap_dctcp_ack")

void
BPF_PROG(ap_dctcp_ack, struct sock *sk, __u32 flags)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dctcp *state = state_of(sk);
	__u32 delivered = tp->delivered - state->delivered, marked,
	      alpha = state->alpha;

	if ((__s32)(tp->snd_una - state->window_end) < 0)
		return;
	marked = tp->delivered_ce - state->delivered_ce;
	/* The smallest step would never reach 0 by the shift alone. */
	alpha -= alpha >> GAIN_SHIFT ? alpha >> GAIN_SHIFT : alpha;
	if (marked && delivered)
		alpha += (__u32)(((__u64)marked * ALPHA_ONE / delivered) >> GAIN_SHIFT);
	state->alpha = alpha < ALPHA_ONE ? alpha : ALPHA_ONE;
	begin_window(state, tp);
}

/* Called once in a window with marks. */
SEC("struct_ops/ap_dctcp_ssthresh")

__u32
BPF_PROG(ap_dctcp_ssthresh, struct sock *sk)
{
	__u32 cwnd = ((struct tcp_sock *)sk)->snd_cwnd;
	__u32 less =
		cwnd - (__u32)((__u64)cwnd * state_of(sk)->alpha / (2 * ALPHA_ONE));

	return less > CWND_MIN ? less : CWND_MIN;
}

/* Of receivers: acknowledgments say of each packet whether it was marked. */
SEC("struct_ops/ap_dctcp_event")

void
BPF_PROG(ap_dctcp_event, struct sock *sk, int event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	if (event == CA_EVENT_ECN_IS_CE)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else if (event == CA_EVENT_ECN_NO_CE)
		tp->ecn_flags &= (__u8)~TCP_ECN_DEMAND_CWR;
}

SEC("struct_ops/ap_dctcp_avoid")

void
BPF_PROG(ap_dctcp_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops/ap_dctcp_undo")

__u32
BPF_PROG(ap_dctcp_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops ap_dctcp = {
	.init = (void *)ap_dctcp_init,
	.in_ack_event = (void *)ap_dctcp_ack,
	.ssthresh = (void *)ap_dctcp_ssthresh,
	.cwnd_event = (void *)ap_dctcp_event,
	.cong_avoid = (void *)ap_dctcp_avoid,
	.undo_cwnd = (void *)ap_dctcp_undo,
	.flags = TCP_CONG_NEEDS_ECN,
	.name = "ap_dctcp",
};

char LICENSE[] SEC("license") = "Dual BSD/GPL";
