/* SPDX-License-Identifier: Apache-2.0 */
/*
 * src_rdma_priv.h - shared by src_rdma.c (polling), src_rdma_ports.c (ports in sysfs) and
 * src_rdma_query.c (netlink)
 */
#ifndef COLLECTOR_SOURCES_RDMA_SRC_RDMA_PRIV_H
#define COLLECTOR_SOURCES_RDMA_SRC_RDMA_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/sources/rdma/rdma_units.h"
#include "collector/sources/rdma/src_rdma.h"
#include "collector/sources/source.h"
#include "lib/base/vec.h"

#define RDMA_REPLY_BYTES 262144

/* The files of counters/ that are read, in the order of their descriptors. */
enum port_file {
	XMIT_DATA,
	RCV_DATA,
	XMIT_PACKETS,
	RCV_PACKETS,
	N_FILES
};

struct port {
	char device[32], name[TELE_MAX_NAME + 1];
	uint32_t port, index; /* Of the device over netlink; UINT32_MAX: unknown. */
	unsigned unit_bytes;
	int fds[N_FILES]; /* -1: none. */
	struct rdma_counter counters[N_FILES];
	bool was_seen; /* By the scan going on. */
	bool is_announced, is_useless;
	bool is_up;
	double rate_bps;
	uint32_t number;
	uint64_t ce, retransmits; /* As last told by netlink. */
	uint64_t events;          /* Added up while a reply is taken apart. */
};

/* Bytes of one counter bound to a process, and those of a job. */
struct bound {
	uint32_t device, port, pid, id;
	uint8_t direction;
	uint64_t last;
};

struct job_bytes {
	struct source_key key;
	uint64_t total;
};

struct rdma_source {
	struct source source;
	struct rdma_options options;
	char *sysroot, *units; /* Owned. */
	VEC(char *) names;     /* Owned. */
	VEC(struct port) ports;
	VEC(struct bound) bound;
	VEC(struct job_bytes) jobs;
	struct rdma_pace pace;
	int64_t next_ns, events_ns, scan_ns;
	struct rdma_status status;
	int netlink_fd;
	bool has_netlink;
	uint32_t sequence;
	uint8_t *reply;                 /* Owned.  RDMA_REPLY_BYTES. */
	const struct source_sink *sink; /* While polling. */
};

/* ---- Ports, in sysfs ------------------------------------------------------------ */

/*
 * Looks through all devices, opens the counters of new ports and says 'gone' of those
 * that are not there any more.  -errno if there is no directory of devices.
 */
int rdma_scan(struct rdma_source *s);
/* Closes its files and, if it was announced, says 'gone'. */
void rdma_lose_port(struct rdma_source *s, struct port *port);
/* Closes its files. */
void rdma_close_port(struct port *port);
/* The value of a counter's file; -ENODATA for texts such as "N/A (no PMA)". */
int rdma_read_counter(int fd, uint64_t *ret_value);

/* ---- What the kernel says over netlink ------------------------------------------ */

/* Without NETLINK_RDMA there is nothing to ask: that is logged, and no error. */
void rdma_open_netlink(struct rdma_source *s);
/* Notes the ports' 'index'. */
void rdma_query_devices(struct rdma_source *s);
/* Notes a port's congestion marks and retransmits. */
void rdma_query_port(struct rdma_source *s, struct port *port);
/* Tells the sink the bytes of jobs. */
void rdma_read_jobs(struct rdma_source *s);

#endif
