/*
 * marks_in.h - the collector's end of the marks: a Unix datagram socket on which
 * antiphase-marks and the NCCL plugins of jobs say when collectives began and ended.
 *
 * Anybody on the host may send; so nothing is believed that the kernel does not
 * vouch for.  A mark is of the process that sent it (SO_PASSCRED), whatever it
 * says, unless the sender is root or runs as the collector does: that is
 * antiphase-marks, which speaks for the processes that it watches.  Whose job the
 * process is follows from its cgroup (/proc/PID/cgroup, the line of the unified
 * hierarchy), by a callback; a process that is gone by then counts as other.
 *
 * Marks wait in a queue of at most MARKS_IN_MAX for the next frame; more are dropped
 * and counted.
 *
 *	marks_in_open(path, NULL, job_of_cgroup, collector, &marks, &err);
 *	loop_fd(loop, marks_in_fd(marks), on_marks, ...);  calls marks_in_read()
 *	each second:
 *		if (marks_in_fill(marks, &frame))  adds jobs and marks
 *			publish
 */
#ifndef COLLECTOR_MARKS_IN_H
#define COLLECTOR_MARKS_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/process_job.h"
#include "lib/wire/tele.h"

struct err;
struct marks_in;

#define MARKS_IN_MAX TELE_MAX_MARKS

/*
 * Binds 'path', which everybody may write to; a socket that was left there by a
 * collector that is no more is replaced, anything else is not.  'sysroot' goes
 * before /proc; NULL: nothing.  Returns 0, -EADDRINUSE if another collector listens
 * there, or -errno, with 'err' filled.
 */
int marks_in_open(const char *path, const char *sysroot, process_job_fn *job_of,
		  void *ctx, struct marks_in **ret_marks, struct err *err);
/* Removes the socket, too.  Accepts NULL. */
void marks_in_close(struct marks_in *marks);

int marks_in_fd(const struct marks_in *marks);

/* Reads what has come, but not for ever: call again while readable. */
void marks_in_read(struct marks_in *marks);

/*
 * Moves what waits into 'frame': its jobs and marks, in order of arrival.  The rest
 * of the frame is the caller's.  Returns false if there was nothing.
 */
bool marks_in_fill(struct marks_in *marks, struct tele_frame *frame);

struct marks_in_counts {
	uint64_t marks;       /* Taken. */
	uint64_t refused;     /* Datagrams that were no marks. */
	uint64_t dropped;     /* Marks for which the queue was full. */
	uint64_t lost;        /* Marks that senders say they could not send. */
	uint64_t unknown_job; /* Marks of no known job. */
};
const struct marks_in_counts *marks_in_counts(const struct marks_in *marks);

#endif
