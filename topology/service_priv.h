/* SPDX-License-Identifier: Apache-2.0 */
/* service_priv.h - the service's state; for service*.c */
#ifndef TOPOLOGY_SERVICE_PRIV_H
#define TOPOLOGY_SERVICE_PRIV_H

#include <stdbool.h>

#include "topology/diff.h"
#include "topology/observed.h"
#include "topology/service.h"

enum service_op {
	SERVICE_OP_HEALTH,
	SERVICE_OP_SNAPSHOT,
	SERVICE_OP_LOOKUP,
	SERVICE_OP_DIFF,
	SERVICE_OP_SEEN,
	N_SERVICE_OPS,
};

extern const char *const service_op_names[N_SERVICE_OPS + 1];

/* Kinds of announcements: those of observed.h, and two more. */
enum {
	SERVICE_CHANGE_PLAN = N_OBSERVED_CHANGES,
	SERVICE_CHANGE_DIFFERENCE,
	N_SERVICE_CHANGES,
};

extern const char *const service_change_names[N_SERVICE_CHANGES + 1];

struct service {
	struct service_opts opts;
	struct topo *plan;     /* NULL: none. */
	char *plan_file;       /* Owned. */
	int64_t plan_us;       /* Time at which it was read. */
	struct observed *seen; /* Owned. */
	enum service_lldp lldp;
	uint64_t generation; /* Of 'seen', when 'diff' was computed. */
	bool is_dirty;       /* Something changed since 'diff' was computed. */
	bool is_untold;      /* 'diff' is newer than 'found'. */
	int64_t diff_us;     /* Time of 'diff'. */
	struct diff diff;
	struct strtab *found; /* Owned.  The last announced differences as JSON. */
	int64_t now_us;       /* Time of the current call. */
	uint64_t n_requests[N_SERVICE_OPS];
	uint64_t n_errors;
	uint64_t n_changes[N_SERVICE_CHANGES];
};

/* Computes 'diff' again if it is outdated. */
void service_compare(struct service *service);

#endif
