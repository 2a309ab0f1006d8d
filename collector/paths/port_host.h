/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_host.h - moving the TCP flows of this host: programs, maps, sockets, both ends
 *
 * Joins port_maps, port_sockets, port_sender and port_receiver.  Takes messages of the
 * scheduler and of other hosts as texts (port_text.h), and hands its own to a callback.
 *
 * The maps outlive the process (port_maps.h).  After a start the entries are taken over
 * from them, so a killed collector strands no flow and forgets none.
 *
 * One thread.  Calls that take messages ask the kernel about single sockets.
 */
#ifndef COLLECTOR_PATHS_PORT_HOST_H
#define COLLECTOR_PATHS_PORT_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/paths/port_receiver.h"
#include "collector/paths/port_sender.h"
#include "lib/base/strbuf.h"
#include "lib/wire/port_range.h"
#include "lib/wire/probe_text.h"

struct err;
struct port_host;

struct port_host_options {
	const char *directory; /* Of pins (port_maps.h). */
	/*
	 * Shell patterns of interface names; none: those with a device.  All interfaces
	 * over which flows of the fabric may arrive.
	 */
	const char *const *interfaces;
	size_t n_interfaces;
	struct port_range range; /* With the part for new connections. */
	int64_t wall_offset_ns;  /* Wall clock minus CLOCK_MONOTONIC. */
	void (*send)(void *ctx, const char *topic, const char *text);
	/* The name of the job that a control group belongs to, or false. */
	bool (*job_of)(void *ctx, uint64_t cgroup, char ret_name[TELE_MAX_NAME + 1]);
	/* The port is that of a probe, which other sockets could not have. */
	bool (*is_probed)(void *ctx, uint16_t port);
	/* As connect_host_is_opened(). */
	bool (*is_opened)(void *ctx, const struct port_flow *flow);
	void *ctx;
};

/* To be called in this interval. */
#define PORT_HOST_TICK_NS PORT_SENDER_RETRY_NS

/*
 * Checks the range against net.ipv4.ip_local_reserved_ports, loads and attaches the
 * programs, and takes over the entries.  Copies 'options', but borrows their strings.
 * Returns 0 or -errno with 'err' filled, as port_range_check() and port_maps_open().
 */
int port_host_open(const struct port_host_options *options, int64_t now_ns,
		   struct port_host **ret_host, struct err *err);
/* Translated flows stay translated.  Accepts NULL. */
void port_host_close(struct port_host *host);

/* Takes a text, terminated, of 'n' bytes.  0, or -EINVAL with 'err' filled. */
int port_host_take(struct port_host *host, int64_t now_ns, const char *text, size_t n,
		   struct err *err);
void port_host_tick(struct port_host *host, int64_t now_ns);
/* Gives all flows of this host their own ports back. */
void port_host_release(struct port_host *host, int64_t now_ns);

/*
 * The paths of these ports may be probed: all are of the range, and this host has a
 * connection of a job with these addresses and this destination port.
 */
bool port_host_may_probe(const struct port_host *host,
			 const struct probe_message *order);

/*
 * The flows that this host sends and whose control group is of a job, as flow_text.h:
 * those with at least PORT_HOST_MIN_BYTES, the largest first.  Free with free(); NULL if
 * the kernel does not list sockets.
 */
#define PORT_HOST_MIN_BYTES (1 << 20) /* Chosen: less is no traffic of a job. */
char *port_host_report(const struct port_host *host, const char *name);

/* A line for each entry: "out 10.0.0.1:41000 > 10.0.1.1:5001 port 61007 job 4711". */
void port_host_write(const struct port_host *host, struct strbuf *out);

struct port_host_stats {
	struct port_sender_stats sender;
	struct port_receiver_stats receiver;
	uint64_t n_refused_orders; /* Of the scheduler. */
	size_t n_interfaces;       /* With programs. */
};

void port_host_stats(const struct port_host *host, struct port_host_stats *ret_stats);

#endif
