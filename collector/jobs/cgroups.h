/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroups.h - the control groups of this host and their jobs
 *
 * The kernel identifies a control group by its id, the inode of its directory.  A walk
 * of the tree (bounded in number and depth) finds the ids; job names come from
 * registrations, the longest path first, then from cgroup_path.h: if the directories
 * down to the job's belong to root and only root may write to them, because a user who
 * may write to a directory names the groups in it.
 *
 * No clock: the caller decides how often to walk.
 */
#ifndef COLLECTOR_JOBS_CGROUPS_H
#define COLLECTOR_JOBS_CGROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/tele.h"

struct cgroup_rules;
struct cgroups;
struct err;

#define CGROUPS_MAX            65536
#define CGROUPS_MAX_DEPTH      32
#define CGROUPS_MAX_REGISTERED 4096

/*
 * 'root' is the mount point of cgroup v2, NULL: find it.  In a tree that is no cgroup
 * file system the owner of 'root' takes the place of root.  'rules' as in
 * cgroup_job_name(), copied; NULL: none.  Returns 0, -ENOENT with 'err' if there is no
 * cgroup v2, or -EINVAL for 'rules'.
 */
int cgroups_open(const char *root, const struct cgroup_rules *rules,
		 struct cgroups **ret_cgroups, struct err *err);
void cgroups_close(struct cgroups *cgroups); /* Accepts NULL. */

const char *cgroups_root(const struct cgroups *cgroups);

/*
 * Makes 'path' and everything below it the job 'name'.  The path starts at the root of
 * the tree or at that of the file system, and must exist.  A name may have several
 * paths.  0, -ENOENT, -EEXIST (the path has another name), -EINVAL or -E2BIG, with
 * 'err'.
 */
int cgroups_register(struct cgroups *cgroups, const char *name, const char *path,
		     struct err *err);
/* Removes all paths of that name; returns their number. */
size_t cgroups_unregister(struct cgroups *cgroups, const char *name);
/* The same of one path, as cgroups_registered() tells it. */
size_t cgroups_unregister_path(struct cgroups *cgroups, const char *path);

/* Registrations, in the order they were made; false after the last. */
struct cgroups_registration {
	const char *name, *path; /* Borrowed until the next change. */
};

size_t cgroups_n_registered(const struct cgroups *cgroups);
struct cgroups_registration cgroups_registered(const struct cgroups *cgroups, size_t i);

/* Changes with each change of the registrations. */
uint64_t cgroups_generation(const struct cgroups *cgroups);

/* Walks the tree. Returns the number of control groups, or -errno. */
int cgroups_scan(struct cgroups *cgroups);

/* New groups in walks so far that were named as a job's, but not made by root. */
uint64_t cgroups_n_refused(const struct cgroups *cgroups);

/*
 * As of the last walk: the job's name, "" if it belongs to none, NULL for an unknown
 * control group.  Borrowed until the next walk or change.
 */
const char *cgroups_job(const struct cgroups *cgroups, uint64_t id);

/*
 * The same for a path ("/system.slice/...", from the root of the tree), without a walk,
 * so also for a new control group.  False if it belongs to no job.
 */
bool cgroups_job_of_path(const struct cgroups *cgroups, const char *path,
			 char ret_name[TELE_MAX_NAME + 1]);

/* Calls back for each control group that belongs to a job, in arbitrary order. */
void cgroups_each_job(const struct cgroups *cgroups,
		      void (*found)(void *ctx, uint64_t id, const char *name),
		      void *ctx);

#endif
