/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_registry.h - jobs registered by hand, kept over a restart
 *
 * cgroups.h maps control groups to jobs; this file stores the registrations
 * ('antiphase-collector job add'), one line each, so that a restarted collector knows
 * the same jobs.
 */
#ifndef COLLECTOR_JOBS_JOB_REGISTRY_H
#define COLLECTOR_JOBS_JOB_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/strbuf.h"

struct cgroups;
struct err;
struct job_registry;

/*
 * Registers the jobs in 'file' with 'cgroups' (borrowed); skips and counts control
 * groups that no longer exist.  A missing file is an empty one.
 */
int job_registry_open(const char *file, struct cgroups *cgroups,
		      struct job_registry **ret_registry, struct err *err);
void job_registry_close(struct job_registry *registry); /* Accepts NULL. */

/*
 * As cgroups_register() and cgroups_unregister(), and stored in the file. What cannot be
 * stored is not added; what is removed stays removed until a restart, as 'err' says.
 */
int job_registry_add(struct job_registry *registry, const char *name, const char *path,
		     struct err *err);
int job_registry_remove(struct job_registry *registry, const char *name, size_t *ret_n,
			struct err *err);

/* Checks which control groups have gone; calls back for each that existed before. */
void job_registry_check(struct job_registry *registry,
			void (*gone)(void *ctx, const char *name, const char *path),
			void *ctx);
size_t job_registry_n_gone(const struct job_registry *registry);

/* {"schema":"antiphase.collector_jobs/2","jobs":[...]}, or lines for people. */
void job_registry_write(const struct job_registry *registry, bool is_json,
			struct strbuf *out);

#endif
