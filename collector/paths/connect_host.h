/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect_host.h - source ports for new connections of this host's jobs: offers of the
 * scheduler, programs in the kernel, control groups
 *
 * Joins connect_ports, connect_hook and port_sockets.  One thread.
 */
#ifndef COLLECTOR_PATHS_CONNECT_HOST_H
#define COLLECTOR_PATHS_CONNECT_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/connect_port.h"
#include "bpf/port_translate.h"
#include "lib/base/strbuf.h"
#include "lib/wire/port_range.h"
#include "lib/wire/tele.h"

struct connect_host;
struct err;

struct connect_host_options {
	const char *root;        /* The mount point of cgroup v2. */
	struct port_range range; /* Of wire ports and these. */
	/* The name of the job that a control group belongs to, or false. */
	bool (*job_of)(void *ctx, uint64_t cgroup, char ret_name[TELE_MAX_NAME + 1]);
	/* Calls back for each control group of a job. */
	void (*each_group)(void *ctx,
			   void (*found)(void *arg, uint64_t cgroup, const char *job),
			   void *arg);
	/* The port is that of a probe, which may end at any time. */
	bool (*is_probed)(void *ctx, uint16_t port);
	void *ctx;
};

/* As connect_hook_open(). */
int connect_host_open(const struct connect_host_options *options,
		      struct connect_host **ret_host, struct err *err);
/* New connections get no more ports; those that have one keep it.  Accepts NULL. */
void connect_host_close(struct connect_host *host);

/*
 * Takes a text (connect_text.h), terminated, of 'n' bytes.  0, or -EINVAL with 'err'
 * filled, also for ports that are not for new connections.
 */
int connect_host_take(struct connect_host *host, int64_t now_ns, const char *text,
		      size_t n, struct err *err);
/* To be called at least once a second. */
void connect_host_tick(struct connect_host *host, int64_t now_ns);

/* A new connection to the flow's destination can be given a port (connect_hook.h). */
bool connect_host_is_opened(const struct connect_host *host,
			    const struct port_flow *flow);

/* A line for each offer: "connect 10.0.1.1:5001 ports 61750,61753 job 4711". */
void connect_host_write(const struct connect_host *host, struct strbuf *out);

struct connect_host_stats {
	size_t n_offers;
	struct connect_counts counts;
};

void connect_host_stats(const struct connect_host *host,
			struct connect_host_stats *ret_stats);

#endif
