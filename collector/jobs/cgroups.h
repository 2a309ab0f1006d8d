/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroups.h - the control groups of this host and their jobs
 *
 * The kernel identifies a control group by its id, the inode of its directory.  A walk of
 * the tree (bounded in number and depth) finds the ids; job names come from registrations,
 * the longest path first, then from cgroup_path.h.
 *
 * No clock: the caller decides how often to walk.
 */
#ifndef COLLECTOR_JOBS_CGROUPS_H
#define COLLECTOR_JOBS_CGROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/tele.h"

struct cgroups;
struct err;

#define CGROUPS_MAX            65536
#define CGROUPS_MAX_DEPTH      32
#define CGROUPS_MAX_REGISTERED 4096

/*
 * 'root' is the mount point of cgroup v2, NULL: find it.  'services' as in
 * cgroup_job_name().  Returns 0, or -ENOENT with 'err' if there is no cgroup v2.
 */
int cgroups_open(const char *root, const char *services, struct cgroups **ret_cgroups,
		 struct err *err);
void cgroups_close(struct cgroups *cgroups); /* Accepts NULL. */

const char *cgroups_root(const struct cgroups *cgroups);

/*
 * What is in 'path' and below is the job 'name' from now on.  The path may be given
 * from the root of the tree or from that of the file system, and has to exist.  A name
 * may be given to several paths.  0, -ENOENT, -EEXIST (the path has another name),
 * -EINVAL or -E2BIG, with 'err'.
 */
int cgroups_register(struct cgroups *cgroups, const char *name, const char *path,
		     struct err *err);
/* Takes all paths of that name away; returns how many there were. */
size_t cgroups_unregister(struct cgroups *cgroups, const char *name);

/* Registrations, in the order they were made; false past the last. */
struct cgroups_registration {
	const char *name, *path; /* Borrowed until the next change. */
};

size_t cgroups_n_registered(const struct cgroups *cgroups);
struct cgroups_registration cgroups_registered(const struct cgroups *cgroups, size_t i);

/* Moves on with each change of the registrations. */
uint64_t cgroups_generation(const struct cgroups *cgroups);

/* Walks the tree. Returns the number of control groups, or -errno. */
int cgroups_scan(struct cgroups *cgroups);

/*
 * As of the last walk: the job's name, "" if it belongs to none, NULL if there is no
 * such control group.  Borrowed until the next walk or change.
 */
const char *cgroups_job(const struct cgroups *cgroups, uint64_t id);

/*
 * The same of a path ("/system.slice/...", from the root of the tree) without a walk, so
 * also of one that was made a moment ago.  False if it belongs to none.
 */
bool cgroups_job_of_path(const struct cgroups *cgroups, const char *path,
			 char ret_name[TELE_MAX_NAME + 1]);

/* Calls back for each control group that belongs to a job, in no certain order. */
void cgroups_each_job(const struct cgroups *cgroups,
		      void (*found)(void *ctx, uint64_t id, const char *name),
		      void *ctx);

#endif
