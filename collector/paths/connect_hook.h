/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect_hook.h - the programs that give new connections a source port, in the kernel
 *
 * Loads bpf/connect_port.bpf.c and attaches it at the root of the control groups.  What
 * is attached ends with the process, for any reason; then connect() is as without it.
 *
 * Needs CAP_BPF and CAP_NET_ADMIN, and cgroup v2.
 */
#ifndef COLLECTOR_PATHS_CONNECT_HOOK_H
#define COLLECTOR_PATHS_CONNECT_HOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/connect_port.h"

struct connect_hook;
struct err;

/*
 * 'root' is the mount point of cgroup v2.  The programs act in the network namespace of
 * the process.  Returns 0, or -errno with 'err' filled.
 */
int connect_hook_open(const char *root, struct connect_hook **ret_hook,
		      struct err *err);
void connect_hook_close(struct connect_hook *hook); /* Accepts NULL. */

/* A port that is not there yet.  0 or -errno: -EEXIST if there is one, -E2BIG. */
int connect_hook_put(struct connect_hook *hook, const struct connect_key *key,
		     uint16_t port);
void connect_hook_remove(struct connect_hook *hook, const struct connect_key *key);
/* Whether the port is still there: no connection has taken it. */
bool connect_hook_has(struct connect_hook *hook, const struct connect_key *key);

/* The control group is of this job; 0: of none.  0 or -errno. */
int connect_hook_set_job(struct connect_hook *hook, uint64_t cgroup, uint32_t job);
/* Calls back for each control group of a job; it may remove that one. */
void connect_hook_each_group(struct connect_hook *hook,
			     void (*found)(void *ctx, uint64_t cgroup, uint32_t job),
			     void *ctx);

/* A process of the namespace has connected to it, with a socket without a port. */
bool connect_hook_has_seen(struct connect_hook *hook, const struct connect_end *to);

void connect_hook_counts(const struct connect_hook *hook,
			 struct connect_counts *ret_counts);

#endif
