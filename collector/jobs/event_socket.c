/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/jobs/event_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collector/jobs/local_socket.h"
#include "collector/jobs/owners.h"
#include "collector/jobs/peer.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/vec.h"
#include "lib/wire/coll_event.h"

/* Limits of one event_socket_read(): events of epoll, new connections, packets of each. */
#define MAX_EVENTS  64
#define MAX_ACCEPT  16
#define MAX_PACKETS 64
#define BACKLOG     128
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

struct connection {
	int fd;
	struct peer peer;
	bool is_of_host, is_paused;
	struct owner *owner;
};

struct event_socket {
	int fd, epoll_fd;
	int spare_fd; /* Closed when descriptors run out, to refuse a connection. */
	char path[LOCAL_SOCKET_MAX_PATH];
	char *sysroot; /* Owned. */
	process_job_fn *job_of;
	void *ctx;
	struct tele_frame waiting;            /* Jobs and events for the next frame. */
	VEC(struct connection *) connections; /* Owned. */
	struct owners owners;
	uint32_t n_new;        /* Connections in this second. */
	bool is_closed_to_new; /* Until the next second. */
	VEC(struct process) processes;
	VEC(struct sender) senders;
	struct event_socket_counts counts;
};

/* ---- The socket ----------------------------------------------------------------- */

static int
watch(const struct event_socket *m, int fd, void *what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };

	return epoll_ctl(m->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* Also not for its end, which is noticed once it is watched again. */
static void
stop_watching(const struct event_socket *m, int fd)
{
	(void)epoll_ctl(m->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

int
event_socket_open(const char *path, const char *sysroot, process_job_fn *job_of,
		  void *ctx, struct event_socket **ret_events, struct err *err)
{
	struct event_socket *m;
	int fd = -1, error = local_socket_bind(path, SOCK_SEQPACKET, &fd, err);

	if (error < 0)
		return error;
	m = xcalloc(1, sizeof *m);
	m->fd = fd;
	strcpy(m->path, path);
	m->sysroot = xstrdup(sysroot ? sysroot : "");
	m->job_of = job_of;
	m->ctx = ctx;
	m->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	m->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (m->epoll_fd < 0 || m->spare_fd < 0 || listen(fd, BACKLOG) < 0)
		error = -errno;
	if (error == 0)
		error = watch(m, fd, NULL);
	if (error < 0) {
		err_set_errno(err, path, -error, "cannot listen");
		event_socket_close(m);
		return error;
	}
	*ret_events = m;
	return 0;
}

void
event_socket_close(struct event_socket *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->connections.n; i++) {
		close(m->connections.items[i]->fd);
		free(m->connections.items[i]);
	}
	vec_free(&m->connections);
	owners_fini(&m->owners);
	unlink(m->path);
	close(m->fd);
	if (m->epoll_fd >= 0)
		close(m->epoll_fd);
	if (m->spare_fd >= 0)
		close(m->spare_fd);
	free(m->sysroot);
	tele_fini(&m->waiting);
	vec_free(&m->processes);
	vec_free(&m->senders);
	free(m);
}

int
event_socket_fd(const struct event_socket *m)
{
	return m->epoll_fd;
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

/* ---- Connections ---------------------------------------------------------------- */

static void
let_go(struct event_socket *m, struct connection *c)
{
	for (size_t i = 0; i < m->connections.n; i++) {
		if (m->connections.items[i] != c)
			continue;
		m->connections.items[i] = m->connections.items[--m->connections.n];
		break;
	}
	c->owner->n_connections--;
	close(c->fd);
	free(c);
}

/* Whether a connection of this owner has a place; what speaks for the host has. */
static bool
has_place(const struct event_socket *m, const struct owner *owner)
{
	if (m->connections.n >= EVENT_SOCKET_CONNECTIONS)
		return false;
	if (*owner->job)
		return owner->n_connections < EVENT_SOCKET_OF_JOB;
	return owners_n_of_none(&m->owners) < EVENT_SOCKET_OF_NONE;
}

static void
accept_one(struct event_socket *m, int fd)
{
	struct connection *c;
	char job[TELE_MAX_NAME + 1];
	struct owner *owner;
	struct peer peer;
	bool is_of_host;

	if (peer_read(fd, &peer) < 0) {
		m->counts.refused++;
		close(fd);
		return;
	}
	if (!peer_job_name(fd, &peer, m->sysroot, m->job_of, m->ctx, job))
		*job = '\0';
	is_of_host = !*job && peer_is_of_host(fd, &peer, m->sysroot, m->job_of, m->ctx);
	owner = owners_get(&m->owners, peer.uid, job);
	if (!is_of_host && !has_place(m, owner)) {
		m->counts.refused++;
		close(fd);
		return;
	}
	c = xcalloc(1, sizeof *c);
	c->fd = fd;
	c->peer = peer;
	c->is_of_host = is_of_host;
	c->owner = owner;
	owner->n_connections++;
	vec_push(&m->connections, c);
	if (watch(m, fd, c) < 0) {
		m->counts.refused++;
		let_go(m, c);
	}
}

/* Out of descriptors: refuses the next connection, which would stay pending. */
static bool
refuse_one(struct event_socket *m)
{
	int fd;

	m->counts.refused++;
	close(m->spare_fd);
	fd = accept(m->fd, NULL, NULL);
	if (fd >= 0)
		close(fd);
	m->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return fd >= 0;
}

static void
accept_some(struct event_socket *m)
{
	for (int i = 0; i < MAX_ACCEPT; i++) {
		int fd = accept4(m->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			accept_one(m, fd);
			if (++m->n_new >= EVENT_SOCKET_NEW) {
				m->is_closed_to_new = true;
				stop_watching(m, m->fd);
				return;
			}
			continue;
		}
		if (errno == ECONNABORTED || errno == EINTR)
			continue;
		if ((errno != EMFILE && errno != ENFILE) || !refuse_one(m))
			return;
	}
}

/* ---- Reading -------------------------------------------------------------------- */

static void
take(struct event_socket *m, const struct connection *c, const struct coll_event *event)
{
	uint32_t pid, job;

	note_lost(m, c->peer.pid, event->lost);
	if (m->waiting.events.n >= EVENT_SOCKET_MAX) {
		m->counts.dropped++;
		return;
	}
	pid = event->pid && c->is_of_host ? event->pid : c->peer.pid;
	job = job_of_process(m, pid);
	m->counts.events++;
	m->counts.unknown_job += job == TELE_OTHER;
	vec_push(&m->waiting.events, ((struct tele_event){
					     .job = job,
					     .source = event->source,
					     .is_launch = event->is_launch,
					     .pid = pid,
					     .begin_ns = event->begin_ns,
					     .end_ns = event->end_ns,
					     .bytes = event->bytes,
				     }));
}

static void
read_connection(struct event_socket *m, struct connection *c)
{
	for (int i = 0; i < MAX_PACKETS; i++) {
		uint8_t bytes[COLL_EVENT_BYTES + 1];
		struct coll_event event;
		ssize_t n;

		if (!c->is_of_host && c->owner->n_read >= EVENT_SOCKET_OF_SENDER) {
			stop_watching(m, c->fd);
			c->is_paused = true;
			m->counts.paused++;
			return;
		}
		/* Without room for descriptors: the kernel closes those sent along. */
		n = recv(c->fd, bytes, sizeof bytes, MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (n > 0 && coll_event_decode(bytes, (size_t)n, &event) == 0) {
			c->owner->n_read++;
			take(m, c, &event);
			continue;
		}
		/* An empty read means that the sender has gone. */
		m->counts.refused += n > 0;
		let_go(m, c);
		return;
	}
}

void
event_socket_read(struct event_socket *m)
{
	struct epoll_event events[MAX_EVENTS];
	int n = epoll_wait(m->epoll_fd, events, MAX_EVENTS, 0);

	for (int i = 0; i < n; i++)
		if (events[i].data.ptr)
			read_connection(m, events[i].data.ptr);
	/* Last, because a new connection may reuse the place of one that ended. */
	for (int i = 0; i < n; i++)
		if (!events[i].data.ptr)
			accept_some(m);
}

/* All may send again. */
static void
begin_second(struct event_socket *m)
{
	owners_second(&m->owners);
	for (size_t i = m->connections.n; i-- > 0;) {
		struct connection *c = m->connections.items[i];

		if (!c->is_paused)
			continue;
		c->is_paused = false;
		if (watch(m, c->fd, c) < 0)
			let_go(m, c);
	}
	m->n_new = 0;
	if (m->is_closed_to_new && watch(m, m->fd, NULL) == 0)
		m->is_closed_to_new = false;
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
	begin_second(m);
	return is_any;
}
