/*
 * src_bpf_qdisc.h - what the kernel's queues say they have sent.
 *
 * A packet that the tracing program was not run for is in no bucket.  Kernels leave
 * such programs out within themselves, and some in tasks that are not to be traced.
 * The queue in front of the device has counted it all the same.
 */
#ifndef COLLECTOR_SOURCES_BPF_SRC_BPF_QDISC_H
#define COLLECTOR_SOURCES_BPF_SRC_BPF_QDISC_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_qdisc {
	int ifindex;
	uint64_t sent_bytes; /* With the headers of all segments; no VLAN tags. */
	/* Not so where hardware does the counting, or a size table adds to it. */
	bool is_comparable;
};

/*
 * Calls back for each interface of this network namespace that has a queue, "noqueue"
 * being none.  Returns 0 or -errno.
 */
int bpf_qdisc_each(void (*found)(void *ctx, const struct bpf_qdisc *qdisc), void *ctx);

#endif
