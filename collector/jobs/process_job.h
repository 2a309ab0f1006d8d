/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_job.h - the job of a process, from the control group that the kernel reports
 */
#ifndef COLLECTOR_JOBS_PROCESS_JOB_H
#define COLLECTOR_JOBS_PROCESS_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/wire/tele.h"

/*
 * Stores the name of the job whose cgroup 'path' ("/system.slice/...", as in
 * /proc/PID/cgroup) is in, and returns true; or false for no known job.
 */
typedef bool process_job_fn(void *ctx, const char *path,
			    char ret_name[TELE_MAX_NAME + 1]);

/*
 * The job of the process, by the line of the unified hierarchy in
 * SYSROOT/proc/PID/cgroup; false for no known job, and for a process that is gone.
 */
bool process_job_name(const char *sysroot, uint32_t pid, process_job_fn *job_of,
		      void *ctx, char ret_name[TELE_MAX_NAME + 1]);

#endif
