/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup_path.h - the job that the path of a control group names
 *
 * Batch systems and container managers name the control groups that they create:
 *
 *	/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0	Slurm, "4711"
 *	/system.slice/NODE_slurmstepd.scope/job_4711			the same, one of
 *									several slurmd
 *	/slurm/uid_1000/job_4711/step_batch				Slurm, "4711"
 *	/slurm_NODE/uid_1000/job_4711					(layout of v1)
 *	/kubepods/burstable/pod6e1a.../3f0c...				Kubernetes,
 *	/kubepods.slice/kubepods-burstable.slice/			"pod-6e1a..."
 *		kubepods-burstable-pod6e1a....slice/cri-containerd-3f0c....scope
 *	/kubelet.slice/kubelet-kubepods.slice/...			the same in kind
 *	/system.slice/train.service					systemd, if configured
 *
 * A path that matches none of these from its first component on belongs to no job: users
 * may be given subtrees of their own, and name the groups in them as they like.  For the
 * same reason nothing below "user.slice" is a job, and a directory names a job only if
 * root made it (see 'rooted').  Pure.
 */
#ifndef COLLECTOR_JOBS_CGROUP_PATH_H
#define COLLECTOR_JOBS_CGROUP_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/tele.h"

struct err;

#define CGROUP_MAX_PATH 4096

/* All of a path belongs to root. */
#define CGROUP_ALL_ROOTED SIZE_MAX

struct cgroup_rules {
	/*
	 * Shell patterns by comma of systemd's units that are jobs
	 * ("train-*.service,*.scope"); NULL: none are.  Of several, the innermost.
	 */
	const char *services;
	/*
	 * Control groups by comma ("/kubelet,/lab"), below which the layouts above hold
	 * as they do below the root of the tree.  Only the user who starts the collector
	 * may name them.  NULL: none.
	 */
	const char *roots;
};

/*
 * Stores the job's name in 'name' and returns true, or returns false if the path is
 * that of no job.  'rooted': the length of the leading part of 'path' whose directories
 * all belong to root, who alone could make the ones in them.  The directory of a job of
 * Slurm or Kubernetes must be in that part, a unit of systemd at most just behind it
 * (systemd gives a unit's own directory away, with Delegate= and User=).
 */
bool cgroup_job_name(const char *path, size_t rooted, const struct cgroup_rules *rules,
		     char name[TELE_MAX_NAME + 1]);

/* Checks cgroup_rules.roots: 0, or -EINVAL with 'err'. */
int cgroup_check_roots(const char *roots, struct err *err);

/*
 * Finds the mount point of cgroup v2 in the text of /proc/PID/mountinfo, which may be
 * untrusted.  Of several, the one that shows the whole tree.  Returns false if there is
 * none, or if its path has 'size' bytes or more.
 */
bool cgroup_find_mount(const char *mountinfo, size_t length, char *path, size_t size);

/* Whether 'path' is 'prefix' or below; both absolute, without a '/' at the end. */
bool cgroup_is_below(const char *path, const char *prefix);

#endif
