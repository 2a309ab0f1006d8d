/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup_path.h - the job that the path of a control group names
 *
 * Batch systems and container managers name the control groups that they create:
 *
 *	/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0	Slurm, "4711"
 *	/slurm/uid_1000/job_4711/step_batch				Slurm, "4711"
 *	/kubepods/burstable/pod6e1a.../3f0c...				Kubernetes,
 *	/kubepods.slice/kubepods-burstable.slice/			"pod-6e1a..."
 *		kubepods-burstable-pod6e1a....slice/cri-containerd-3f0c....scope
 *	/system.slice/train.service					systemd, if configured
 *
 * A path that matches none of these belongs to no job.  Pure.
 */
#ifndef COLLECTOR_JOBS_CGROUP_PATH_H
#define COLLECTOR_JOBS_CGROUP_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/wire/tele.h"

#define CGROUP_MAX_PATH 4096

/*
 * Stores the job's name in 'name' and returns true, or returns false if the path is
 * that of no job.  'services': shell patterns by comma of systemd's units that are jobs
 * ("train-*.service,*.scope"); NULL: none are.  Of several, the innermost.
 */
bool cgroup_job_name(const char *path, const char *services,
		     char name[TELE_MAX_NAME + 1]);

/*
 * Finds the mount point of cgroup v2 in the text of /proc/PID/mountinfo, which may be
 * untrusted.  Of several, the one that shows the whole tree.  Returns false if there is
 * none, or if its path has 'size' bytes or more.
 */
bool cgroup_find_mount(const char *mountinfo, size_t length, char *path, size_t size);

/* Whether 'path' is 'prefix' or below; both absolute, without a '/' at the end. */
bool cgroup_is_below(const char *path, const char *prefix);

#endif
