/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.h - the process at the other end of a connected Unix socket, and whether it
 * speaks for this host
 *
 * A user id says little: root in a container is 0, too.  A process speaks for the host
 * if its user is root or the collector's, and it is in no container and no job, as far
 * as /proc shows to everybody: its user namespace is the collector's (the same uid_map),
 * its process namespace likewise (one number in NSpid), and its control group belongs to
 * no job.  What /proc does not show counts against it.  A process that is root, in the
 * namespaces of the host, is trusted: it could replace the collector.
 */
#ifndef COLLECTOR_JOBS_PEER_H
#define COLLECTOR_JOBS_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/jobs/process_job.h"

struct peer {
	uint32_t pid; /* As the kernel reports it; 0: not of this process namespace. */
	uid_t uid;
};

/* Of the process that connected 'fd'.  0 or -errno. */
int peer_read(int fd, struct peer *ret_peer);

/*
 * The job of the process, as process_job_name(); false also if the process has ended:
 * another one may have its number then.  Before Linux 6.5 the kernel does not tell.
 */
bool peer_job_name(int fd, const struct peer *peer, const char *sysroot,
		   process_job_fn *job_of, void *ctx, char ret_name[TELE_MAX_NAME + 1]);

/* Whether it speaks for the host.  Arguments as above. */
bool peer_is_of_host(int fd, const struct peer *peer, const char *sysroot,
		     process_job_fn *job_of, void *ctx);

#endif
