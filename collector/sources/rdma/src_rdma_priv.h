/* SPDX-License-Identifier: Apache-2.0 */
/*
 * src_rdma_priv.h - shared by src_rdma.c (polling), src_rdma_ports.c (ports in sysfs)
 * and src_rdma_query.c (netlink)
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
	bool was_seen; /* By the current scan. */
	bool is_announced, is_useless;
	bool is_up;
	double rate_bps;
	uint32_t number;
	uint64_t ce, retransmits; /* As last read over netlink. */
	uint64_t events;          /* Sum while a reply is parsed. */
};

/* Bytes of one counter bound to a process, and of its job. */
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
 * Scans all devices, opens the counters of new ports and reports ports that are gone.
 * -errno if there is no directory of devices.
 */
int rdma_scan(struct rdma_source *s);
/* Closes its files and, if it was announced, reports it as gone. */
void rdma_lose_port(struct rdma_source *s, struct port *port);
/* Closes its files. */
void rdma_close_port(struct port *port);
/* The value of a counter's file; -ENODATA for texts such as "N/A (no PMA)". */
int rdma_read_counter(int fd, uint64_t *ret_value);

/* ---- Counters over netlink ------------------------------------------------------ */

/* A kernel without NETLINK_RDMA is logged, but no error. */
void rdma_open_netlink(struct rdma_source *s);
/* Stores the ports' 'index'. */
void rdma_query_devices(struct rdma_source *s);
/* Updates a port's congestion marks and retransmits. */
void rdma_query_port(struct rdma_source *s, struct port *port);
/* Passes the bytes of jobs to the sink. */
void rdma_read_jobs(struct rdma_source *s);

#endif
