/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_reply.h - replies of antiphase-topology: validation, and the plan in one.
 * Pure; the texts come from another process and are untrusted until checked.
 */
#ifndef TOPOLOGY_SERVICE_REPLY_H
#define TOPOLOGY_SERVICE_REPLY_H

#include <stddef.h>

struct err;
struct topo;

/* More than any reply has. */
#define TOPO_MAX_REPLY_BYTES ((size_t)256 << 20)

/*
 * Checks a reply (terminated) with status 200.  'from' is its origin, for messages.  0,
 * or -EINVAL with 'err' filled.
 */
int topo_reply_check(const char *from, const char *reply, size_t n, struct err *err);

/* The plan in the reply of /api/v1/snapshot, as a new reference; 0 or as above. */
int topo_reply_plan(const char *from, const char *reply, size_t n,
		    struct topo **ret_topo, struct err *err);

#endif
