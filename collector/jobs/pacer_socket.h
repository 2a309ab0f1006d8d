/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pacer_socket.h - the collector's socket for pacers (SOCK_SEQPACKET)
 *
 * Rank 0 of each job on this host reports its iterations here and receives orders.  Any
 * process may connect.  The job follows from the peer's process, as the kernel reports
 * it (SO_PEERCRED), and its control group.  A name that the pacer claims is used, and
 * flagged as claimed, only if that group belongs to no job and the caller accepts
 * claims.  An invalid packet, or one out of order, ends its connection.  Of one job and
 * user, or of a user's processes of no job, PACER_SOCKET_PACKETS a second are read; what
 * is beyond them stays in the queues of its connections, so that a flood takes no time
 * from others.  Nothing here waits: an order that a pacer has no room for is lost and
 * counted.
 *
 * When a connection ends, a last row reports it (is_over).
 *
 *	pacer_socket_open(path, &options, &pacers, &err);
 *	loop_fd(loop, pacer_socket_fd(pacers), on_pacers, ...);
 *		pacer_socket_read(pacers, now_ns);
 *		if (pacer_socket_fill(pacers, &frame))  adds jobs and iterations
 *			publish
 *	each second: pacer_socket_tick(pacers, now_ns);
 */
#ifndef COLLECTOR_JOBS_PACER_SOCKET_H
#define COLLECTOR_JOBS_PACER_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/jobs/process_job.h"
#include "lib/wire/pace.h"
#include "lib/wire/tele.h"

struct err;
struct pacer_socket;

#define PACER_SOCKET_CONNECTIONS 1024
/* Of one job: each of its steps has one rank 0 on a host, and one of them is used. */
#define PACER_SOCKET_OF_JOB 16
/* Of no job, all together, so that they leave most places to jobs; claims count here. */
#define PACER_SOCKET_OF_NONE 256
/* Of one user; root's in jobs are counted by job alone, as each container has a root. */
#define PACER_SOCKET_OF_USER 256
#define PACER_SOCKET_PACKETS 500 /* A second, of one job and user or user without. */
/* A connection without HELLO by then is closed. */
#define PACER_SOCKET_HELLO_NS INT64_C(5000000000)

struct pacer_socket_options {
	const char *sysroot; /* In front of /proc; NULL: nothing. */
	bool is_claim_believed;
	process_job_fn *job_of;
	void *ctx;
};

/* As local_socket_bind(). */
int pacer_socket_open(const char *path, const struct pacer_socket_options *options,
		      struct pacer_socket **ret_pacers, struct err *err);
/* Removes the socket, too.  Accepts NULL. */
void pacer_socket_close(struct pacer_socket *pacers);

/* Readable when there is something to read on any connection. */
int pacer_socket_fd(const struct pacer_socket *pacers);
/* Accepts and reads a bounded number of packets: call again while readable. */
void pacer_socket_read(struct pacer_socket *pacers, int64_t now_ns);
/*
 * Call each second: the limits of a second begin anew.  Closes connections that sent no
 * HELLO in time.
 */
void pacer_socket_tick(struct pacer_socket *pacers, int64_t now_ns);

/*
 * Moves the waiting rows into 'frame', a cleared one, in order of arrival, with their
 * jobs; rows have no job if the frame has no room for it.  Returns false if there were
 * none.
 */
bool pacer_socket_fill(struct pacer_socket *pacers, struct tele_frame *frame);

/*
 * Passes an order to the pacer of that job and process.  Returns 0; -ESRCH if there is
 * none; -EAGAIN if it has no room, or -errno.
 */
int pacer_socket_order(struct pacer_socket *pacers, const char *job, uint32_t pid,
		       const struct pace_order *order);

struct pacer_socket_counts {
	uint64_t connections; /* Accepted. */
	uint64_t refused;     /* Connections refused or ended as too many or invalid. */
	uint64_t iterations;  /* Accepted. */
	uint64_t unknown_job; /* Of these, without a known job. */
	uint64_t paused;      /* Times that a connection was over its limit. */
	uint64_t dropped;     /* Packets beyond room in a frame. */
	uint64_t lost;        /* Reported by pacers as not sent. */
	uint64_t orders;      /* Passed on. */
	uint64_t strays;      /* Orders without a pacer on this host. */
	uint64_t unsent;      /* Orders for which the pacer had no room. */
};
const struct pacer_socket_counts *
pacer_socket_counts(const struct pacer_socket *pacers);
/* Connections that have sent HELLO. */
size_t pacer_socket_n(const struct pacer_socket *pacers);

#endif
