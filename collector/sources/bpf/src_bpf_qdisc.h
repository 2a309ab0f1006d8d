/* SPDX-License-Identifier: Apache-2.0 */
/*
 * src_bpf_qdisc.h - bytes sent, by the counters of the kernel's queues
 *
 * The buckets lack packets for which the kernel did not run the tracing program: it
 * skips such programs when they would nest, and in tasks that must not be traced.  The
 * queue in front of the device counts these packets too.
 */
#ifndef COLLECTOR_SOURCES_BPF_SRC_BPF_QDISC_H
#define COLLECTOR_SOURCES_BPF_SRC_BPF_QDISC_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_qdisc {
	int ifindex;
	uint64_t sent_bytes; /* With the headers of all segments; no VLAN tags. */
	/* False if hardware counts, or a size table adds to it. */
	bool is_comparable;
};

/*
 * Calls back for each interface of this network namespace that has a queue; "noqueue"
 * does not count.  Returns 0 or -errno.
 */
int bpf_qdisc_each(void (*found)(void *ctx, const struct bpf_qdisc *qdisc), void *ctx);

#endif
