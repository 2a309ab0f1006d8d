/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_socket.h - sockets in the runtime directory that every process of the host may
 * write to, from any network namespace
 */
#ifndef COLLECTOR_JOBS_LOCAL_SOCKET_H
#define COLLECTOR_JOBS_LOCAL_SOCKET_H

#define LOCAL_SOCKET_MAX_PATH 108 /* With its terminator; the kernel's limit. */

struct err;

/*
 * Binds a Unix socket of 'type' (SOCK_DGRAM, SOCK_SEQPACKET) to 'path', mode 0666,
 * non-blocking and not yet listening.  Replaces a socket left by a collector that has
 * ended, but nothing else.  Returns 0, -EADDRINUSE if another collector listens there,
 * or -errno, with 'err' filled.
 */
int local_socket_bind(const char *path, int type, int *ret_fd, struct err *err);

#endif
