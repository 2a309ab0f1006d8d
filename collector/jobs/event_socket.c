/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/jobs/event_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "collector/jobs/local_socket.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/vec.h"
#include "lib/wire/coll_event.h"

/* Datagrams taken in one event_socket_read(). */
#define MAX_READ 4096
/* Receive buffer: some ten thousand events. */
#define RECEIVE_BYTES (4 << 20)
/* Senders whose losses are tracked; further ones are not. */
#define MAX_SENDERS 4096

/* A process and its job, cached for one frame: pids are reused. */
struct process {
	uint32_t pid, job;
};

struct sender {
	uint32_t pid;
	uint64_t lost; /* As last reported. */
};

struct event_socket {
	int fd;
	char path[COLL_EVENT_MAX_PATH];
	char *sysroot; /* Owned. */
	process_job_fn *job_of;
	void *ctx;
	struct tele_frame waiting; /* Jobs and events for the next frame. */
	VEC(struct process) processes;
	VEC(struct sender) senders;
	struct event_socket_counts counts;
};

/* ---- The socket ----------------------------------------------------------------- */

static int
bind_socket(const char *path, int *ret_fd, struct err *err)
{
	int fd = -1, yes = 1, bytes = RECEIVE_BYTES;
	int error = local_socket_bind(path, SOCK_DGRAM, &fd, err);

	if (error < 0)
		return error;
	/* Best effort; the default size works too. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) < 0) {
		error = err_set_errno(err, path, errno,
				      "cannot identify senders (SO_PASSCRED)");
		unlink(path);
		close(fd);
		return error;
	}
	*ret_fd = fd;
	return 0;
}

int
event_socket_open(const char *path, const char *sysroot, process_job_fn *job_of,
		  void *ctx, struct event_socket **ret_events, struct err *err)
{
	struct event_socket *m;
	int fd = -1, error = bind_socket(path, &fd, err);

	if (error < 0)
		return error;
	m = xcalloc(1, sizeof *m);
	m->fd = fd;
	strcpy(m->path, path);
	m->sysroot = xstrdup(sysroot ? sysroot : "");
	m->job_of = job_of;
	m->ctx = ctx;
	*ret_events = m;
	return 0;
}

void
event_socket_close(struct event_socket *m)
{
	if (!m)
		return;
	unlink(m->path);
	close(m->fd);
	free(m->sysroot);
	tele_fini(&m->waiting);
	vec_free(&m->processes);
	vec_free(&m->senders);
	free(m);
}

int
event_socket_fd(const struct event_socket *m)
{
	return m->fd;
}

const struct event_socket_counts *
event_socket_counts(const struct event_socket *m)
{
	return &m->counts;
}

/* ---- Job of a sender ------------------------------------------------------------ */

/* The job's index in 'waiting', or TELE_OTHER. */
static uint32_t
find_job(struct event_socket *m, uint32_t pid)
{
	char name[TELE_MAX_NAME + 1];

	if (!process_job_name(m->sysroot, pid, m->job_of, m->ctx, name))
		return TELE_OTHER;
	/* One second may have events of more jobs than a frame can hold. */
	if (m->waiting.jobs.n >= TELE_MAX_JOBS)
		return TELE_OTHER;
	return tele_add_job(&m->waiting, name);
}

/* As find_job(), with one look-up per process and frame.  O(processes with events). */
static uint32_t
job_of_process(struct event_socket *m, uint32_t pid)
{
	uint32_t job;

	for (size_t i = m->processes.n; i-- > 0;)
		if (m->processes.items[i].pid == pid)
			return m->processes.items[i].job;
	job = find_job(m, pid);
	vec_push(&m->processes, ((struct process){ pid, job }));
	return job;
}

static void
note_lost(struct event_socket *m, uint32_t pid, uint64_t lost)
{
	struct sender *sender = NULL;

	for (size_t i = 0; i < m->senders.n && !sender; i++)
		if (m->senders.items[i].pid == pid)
			sender = &m->senders.items[i];
	if (!sender && !lost)
		return;
	if (!sender) {
		if (m->senders.n >= MAX_SENDERS)
			return;
		vec_push(&m->senders, ((struct sender){ pid, 0 }));
		sender = &m->senders.items[m->senders.n - 1];
	}
	/* Less than before: the pid was reused. */
	m->counts.lost += lost >= sender->lost ? lost - sender->lost : lost;
	sender->lost = lost;
}

/* ---- Reading -------------------------------------------------------------------- */

static void
take(struct event_socket *m, const uint8_t *bytes, size_t n, const struct ucred *from)
{
	bool is_trusted = from->uid == 0 || from->uid == geteuid();
	struct coll_event event;
	uint32_t pid, job;

	if (coll_event_decode(bytes, n, &event) < 0) {
		m->counts.refused++;
		return;
	}
	note_lost(m, (uint32_t)from->pid, event.lost);
	if (m->waiting.events.n >= EVENT_SOCKET_MAX) {
		m->counts.dropped++;
		return;
	}
	pid = event.pid && is_trusted ? event.pid : (uint32_t)from->pid;
	job = job_of_process(m, pid);
	m->counts.events++;
	m->counts.unknown_job += job == TELE_OTHER;
	vec_push(&m->waiting.events, ((struct tele_event){
					     .job = job,
					     .source = event.source,
					     .is_launch = event.is_launch,
					     .pid = pid,
					     .begin_ns = event.begin_ns,
					     .end_ns = event.end_ns,
					     .bytes = event.bytes,
				     }));
}

static const struct ucred *
credentials(struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS &&
		    c->cmsg_len >= CMSG_LEN(sizeof(struct ucred)))
			return (const struct ucred *)CMSG_DATA(c);
	return NULL;
}

/* Any process may pass descriptors along; close them. */
static void
close_descriptors(struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c;
	     c = CMSG_NXTHDR(message, c)) {
		size_t n = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i + sizeof(int) <= n; i += sizeof(int)) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i, sizeof fd);
			close(fd);
		}
	}
}

void
event_socket_read(struct event_socket *m)
{
	for (int i = 0; i < MAX_READ; i++) {
		uint8_t bytes[COLL_EVENT_BYTES + 1];

		union {
			struct cmsghdr align;
			char bytes[CMSG_SPACE(sizeof(struct ucred))];
		} control;
		struct iovec piece = { bytes, sizeof bytes };
		struct msghdr message = {
			.msg_iov = &piece,
			.msg_iovlen = 1,
			.msg_control = &control,
			.msg_controllen = sizeof control,
		};
		ssize_t n = recvmsg(m->fd, &message, MSG_CMSG_CLOEXEC);
		const struct ucred *from;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return;
		close_descriptors(&message);
		from = credentials(&message);
		if (from)
			take(m, bytes, (size_t)n, from);
		else
			m->counts.refused++;
	}
}

bool
event_socket_fill(struct event_socket *m, struct tele_frame *frame)
{
	bool is_any = m->waiting.events.n > 0;

	for (size_t i = 0; i < m->waiting.events.n; i++) {
		struct tele_event event = m->waiting.events.items[i];

		if (event.job != TELE_OTHER)
			event.job = tele_add_job(frame,
						 m->waiting.jobs.items[event.job].name);
		vec_push(&frame->events, event);
	}
	tele_clear(&m->waiting);
	m->processes.n = 0;
	return is_any;
}
