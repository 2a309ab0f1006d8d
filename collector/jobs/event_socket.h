/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_socket.h - the collector's socket for collective events
 *
 * antiphase-events and the NCCL plug-ins of jobs send the begin and end of collectives
 * as Unix datagrams.  Any process on the host may send, so only what the kernel vouches
 * for counts: an event belongs to the process that sent it (SO_PASSCRED), whatever it
 * claims, unless the sender is root or has the collector's user id.  Such a sender is
 * antiphase-events, which reports for the processes that it watches.  The job follows
 * from the process's cgroup (/proc/PID/cgroup, the line of the unified hierarchy) by a
 * callback; a process that has ended by then counts as other.
 *
 * Up to EVENT_SOCKET_MAX events wait for the next frame; further ones are dropped and
 * counted.
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
 * Binds 'path', writable for all users.  Replaces a socket left by a collector that has
 * ended, but nothing else.  'sysroot' is prepended to /proc; NULL: nothing.  Returns 0,
 * -EADDRINUSE if another collector listens there, or -errno, with 'err' filled.
 */
int event_socket_open(const char *path, const char *sysroot, process_job_fn *job_of,
		      void *ctx, struct event_socket **ret_events, struct err *err);
/* Removes the socket, too.  Accepts NULL. */
void event_socket_close(struct event_socket *events);

int event_socket_fd(const struct event_socket *events);

/* Reads a bounded number of datagrams: call again while readable. */
void event_socket_read(struct event_socket *events);

/*
 * Moves the waiting jobs and events into 'frame', in order of arrival; the caller fills
 * the rest of the frame.  Returns false if there were none.
 */
bool event_socket_fill(struct event_socket *events, struct tele_frame *frame);

struct event_socket_counts {
	uint64_t events;      /* Accepted. */
	uint64_t refused;     /* Datagrams that were no events. */
	uint64_t dropped;     /* Events for which the queue was full. */
	uint64_t lost;        /* Events that senders report as not sent. */
	uint64_t unknown_job; /* Events without a known job. */
};
const struct event_socket_counts *
event_socket_counts(const struct event_socket *events);

#endif
