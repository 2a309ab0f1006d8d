/* SPDX-License-Identifier: Apache-2.0 */
/*
 * src_rdma.h - bytes that RDMA devices send and receive past the kernel's stack
 *
 * Bytes come from /sys/class/infiniband/DEV/ports/N/counters/port_{xmit,rcv}_data,
 * which query the device on each read; never from hw_counters/, which are cached.
 * Their unit depends on the driver (rdma_units.h).  ECN-marked and out-of-sequence
 * packets come over NETLINK_RDMA (rdma_nl.h), if the kernel has it.  Interfaces are
 * named "mlx5_0/1".
 *
 * A read may be a command to the device's firmware.  If one takes longer than
 * RDMA_SLOW_NS the interval is doubled, up to RDMA_MAX_INTERVAL_NS, and halved again
 * after RDMA_QUICK_READS quick ones.
 *
 * Jobs: if the kernel counts bytes by process (optional counters rdma_tx_bytes and
 * rdma_rx_bytes, bound by 'rdma statistic qp set link DEV/PORT auto pid on
 * optional-counters on', kernel 6.15), they are summed by the job of the process.
 *
 * CE of RX is np_ecn_marked_roce_packets; retransmits of TX are the events that make a
 * sender repeat (packet_seq_err, local_ack_timeout_err, rnr_nak_retry_err).
 */
#ifndef COLLECTOR_SOURCES_RDMA_SRC_RDMA_H
#define COLLECTOR_SOURCES_RDMA_SRC_RDMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/wire/tele.h"

struct err;
struct source;

#define RDMA_SLOW_NS         INT64_C(200000)
#define RDMA_MAX_INTERVAL_NS INT64_C(100000000)

struct rdma_options {
	const char *const *names; /* "mlx5_0" or "mlx5_0/1"; borrowed until opened. */
	size_t n_names;           /* 0: all devices and ports. */
	const char *sysroot;      /* In front of /sys; NULL: none. */
	const char *units;        /* See 'override' in rdma_units.h; NULL: none. */
	int64_t interval_ns;      /* 0: 2 ms. */
	/*
	 * Names the job of a process, for counters bound to processes; returns false if
	 * it belongs to none.  NULL: no jobs.
	 */
	bool (*job_of_pid)(void *ctx, uint32_t pid, char ret_name[TELE_MAX_NAME + 1]);
	/*
	 * Sends a NETLINK_RDMA request and stores the whole reply; returns its length
	 * or a negative errno.  NULL: to the kernel, unless there is a sysroot.  For
	 * recorded replies.
	 */
	ssize_t (*exchange)(void *ctx, const uint8_t *request, size_t n, uint8_t *reply,
			    size_t size);
	void *ctx; /* For both callbacks. */
};

/* -ENODEV if there is no RDMA device, or none of those named. */
int src_rdma_open(const struct rdma_options *options, struct source **ret_source,
		  struct err *err);

/* The present interval of readings, and the longest reading so far. */
struct rdma_status {
	int64_t interval_ns, slowest_read_ns;
	uint64_t n_reads, n_slow;
	uint64_t n_saturated; /* Readings at the end of the counter. */
};

void src_rdma_status(const struct source *source, struct rdma_status *ret_status);

#endif
