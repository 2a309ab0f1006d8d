/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_socket.h - the collector's socket for collective events (SOCK_SEQPACKET)
 *
 * antiphase-events and the NCCL plug-ins of jobs send the begin and end of collectives.
 * Any process on the host may connect, so only what the kernel vouches for counts: an
 * event belongs to the process that connected, whatever it claims, unless that process
 * speaks for the host (peer.h), as antiphase-events does, which reports for the processes
 * that it watches.  The job follows from the process's cgroup (/proc/PID/cgroup, the line
 * of the unified hierarchy) by a callback; a process that has ended by then counts as
 * other.
 *
 * Each connection has a queue of its own in the kernel, and all get turns, so that a
 * flood fills no queue but its own.  Its sender is not read any more once its job (its
 * user, without one) has sent EVENT_SOCKET_OF_SENDER events within a second, and learns
 * of the full queue from the kernel, at no cost here.
 *
 * Up to EVENT_SOCKET_MAX events wait for the next frame; further ones are dropped and
 * counted.  What is no event ends its connection.
 *
 *	event_socket_open(path, NULL, job_of_cgroup, collector, &events, &err);
 *	loop_fd(loop, event_socket_fd(events), on_events, ...);  calls event_socket_read()
 *	each second:
 *		if (event_socket_fill(events, &frame))  adds jobs and events
 *			publish
 */
#ifndef COLLECTOR_JOBS_EVENT_SOCKET_H
#define COLLECTOR_JOBS_EVENT_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/jobs/process_job.h"
#include "lib/wire/tele.h"

struct err;
struct event_socket;

#define EVENT_SOCKET_MAX TELE_MAX_EVENTS
/*
 * Events that are read from one second to the next of one job and user, or of one user's
 * processes of no job: sixteen processes that do 500 collectives a second.  What speaks
 * for the host has no such limit.
 */
#define EVENT_SOCKET_OF_SENDER (EVENT_SOCKET_MAX / 8)
/* Connections: in all, of one job and user, and of all processes of no job. */
#define EVENT_SOCKET_CONNECTIONS 1024
#define EVENT_SOCKET_OF_JOB      128
#define EVENT_SOCKET_OF_NONE     256
/* New connections in a second; further ones wait. */
#define EVENT_SOCKET_NEW 512

/*
 * Binds 'path', writable for all users.  Replaces a socket left by a collector that has
 * ended, but nothing else.  'sysroot' is prepended to /proc; NULL: nothing.  Returns 0,
 * -EADDRINUSE if another collector listens there, or -errno, with 'err' filled.
 */
int event_socket_open(const char *path, const char *sysroot, process_job_fn *job_of,
		      void *ctx, struct event_socket **ret_events, struct err *err);
/* Removes the socket, too.  Accepts NULL. */
void event_socket_close(struct event_socket *events);

int event_socket_fd(const struct event_socket *events);

/* Accepts and reads a bounded number of packets: call again while readable. */
void event_socket_read(struct event_socket *events);

/*
 * Moves the waiting jobs and events into 'frame', in order of arrival; the caller fills
 * the rest of the frame.  Returns false if there were none.  Call each second: the limits
 * of a second begin anew.
 */
bool event_socket_fill(struct event_socket *events, struct tele_frame *frame);

struct event_socket_counts {
	uint64_t events;  /* Accepted. */
	uint64_t refused; /* Packets that were no events, connections over a limit. */
	uint64_t paused;  /* Times that a connection was over its limit. */
	uint64_t dropped; /* Events for which the queue was full. */
	uint64_t lost;    /* Events that senders report as not sent. */
	uint64_t unknown_job; /* Events without a known job. */
};
const struct event_socket_counts *
event_socket_counts(const struct event_socket *events);

#endif
