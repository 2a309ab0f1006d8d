/* SPDX-License-Identifier: Apache-2.0 */
/*
 * src_netlink.h - interface counters of the kernel, read over netlink
 *
 * Reads the 64-bit counters of each interface (RTM_GETSTATS), each with its own time,
 * and the backlog of its root queue (RTM_GETQDISC) as queue_bytes of TX.  Follows links
 * that appear, disappear, or change name, state or speed.  Counts everything that the
 * kernel's stack sends, but no jobs, and no RDMA traffic (src_rdma.h).  Needs no
 * privilege.
 */
#ifndef COLLECTOR_SOURCES_SRC_NETLINK_H
#define COLLECTOR_SOURCES_SRC_NETLINK_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct source;

struct netlink_options {
	const char *const *names; /* Borrowed until open returns. */
	size_t n_names;           /* 0: every interface but loopback. */
	int64_t interval_ns;      /* Between readings; 0: 10 ms. */
};

/*
 * Opens the source in the caller's network namespace.  Waits for missing interfaces,
 * with a warning.  Close by its class.
 */
int src_netlink_open(const struct netlink_options *options, struct source **ret_source,
		     struct err *err);

#endif
