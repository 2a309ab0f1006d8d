/*
 * src_rdma.h - bytes that an RDMA device sends and receives past the kernel's stack.
 *
 * Bytes come from /sys/class/infiniband/DEV/ports/N/counters/port_{xmit,rcv}_data,
 * which ask the device each time; never from hw_counters/, which are cached.  The
 * unit of those files depends on the driver: rdma_units.h.  Marked packets and
 * those out of sequence come over NETLINK_RDMA (rdma_nl.h), when the kernel has it.
 * Interfaces are named "mlx5_0/1".
 *
 * A read may be a command to the device's firmware.  When one takes longer than
 * RDMA_SLOW_NS the interval is doubled, up to RDMA_MAX_INTERVAL_NS, and halved
 * again after a while of quick ones.
 */
#ifndef COLLECTOR_SRC_RDMA_H
#define COLLECTOR_SRC_RDMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct source;

#define RDMA_SLOW_NS         INT64_C(200000)
#define RDMA_MAX_INTERVAL_NS INT64_C(100000000)

struct rdma_options {
	const char *const *names; /* "mlx5_0" or "mlx5_0/1"; borrowed until opened. */
	size_t n_names;           /* 0: all devices and ports. */
	const char *sysroot;      /* In front of /sys; NULL: none. */
	int64_t interval_ns;      /* 0: 2 ms. */
	/*
	 * Names the job of a process, for counters bound to processes; returns false
	 * if it belongs to none.  NULL: no jobs.
	 */
	bool (*job_of_pid)(void *ctx, uint32_t pid, char *ret_name, size_t size);
	void *ctx;
};

/* -ENODEV if there is no RDMA device, or none of those named. */
int src_rdma_open(const struct rdma_options *options, struct source **ret_source,
		  struct err *err);

/* The interval at which it is read just now, and the longest read so far. */
struct rdma_status {
	int64_t interval_ns, slowest_read_ns;
	uint64_t n_reads, n_slow;
	uint64_t n_saturated; /* Readings that stood at the end of the counter. */
};

void src_rdma_status(const struct source *source, struct rdma_status *ret_status);

#endif
