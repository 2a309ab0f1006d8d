/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owners.h - the jobs and users behind the connections of a local socket
 *
 * What one sends in a second is limited for all its connections together, since a limit
 * of each connection would grow with their number.  An owner is a user's processes of
 * one job, or of none.
 */
#ifndef COLLECTOR_JOBS_OWNERS_H
#define COLLECTOR_JOBS_OWNERS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/vec.h"
#include "lib/wire/tele.h"

struct owner {
	uid_t uid;
	char job[TELE_MAX_NAME + 1]; /* "": none. */
	uint32_t n_connections;      /* Kept by the caller. */
	uint32_t n_read; /* Packets in this second; counted by the caller. */
};

struct owners {
	VEC(struct owner *) items; /* Owned. */
};

/* Creates it if new.  Valid until it has no connections at owners_second(). */
struct owner *owners_get(struct owners *owners, uid_t uid, const char *job);
/* Connections of owners without a job. */
size_t owners_n_of_none(const struct owners *owners);
/* To be called each second: counts begin anew, owners without connections go. */
void owners_second(struct owners *owners);
void owners_fini(struct owners *owners);

#endif
