/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/jobs/pacer_socket.h"

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
#include "lib/base/log.h"
#include "lib/base/vec.h"

/* Limits of one pacer_socket_read(): events, and packets of each. */
#define MAX_EVENTS  64
#define MAX_ACCEPT  64
#define MAX_PACKETS 16
#define BACKLOG     128
#define SECOND_NS   INT64_C(1000000000)
/* A process without a job is looked up again after this time. */
#define LOOK_AGAIN_NS SECOND_NS
/* Number of past connections whose losses are remembered. */
#define N_GONE 64

struct pacer {
	int fd;
	struct peer from;
	struct owner *owner;
	int64_t since_ns, looked_ns;
	bool has_said_hello, has_told, has_job, is_claimed, is_paused;
	struct pace_hello hello;
	char job[TELE_MAX_NAME + 1];
	struct pace_iteration last; /* Zeroed: none yet. */
};

struct pacer_socket {
	int fd, epoll_fd;
	int spare_fd; /* Closed when descriptors run out, to refuse a connection. */
	char path[LOCAL_SOCKET_MAX_PATH];
	char *sysroot; /* Owned. */
	struct pacer_socket_options options;
	VEC(struct pacer *) peers; /* Owned. */
	struct owners owners;
	struct tele_frame waiting; /* Jobs and iterations for the next frame. */

	/* A pacer that reconnects reports its losses since its start; this part was counted. */
	struct gone {
		uint32_t pid, lost;
	} gone[N_GONE];

	uint32_t n_gone; /* The last is at (n_gone - 1) % N_GONE. */
	struct pacer_socket_counts counts;
	struct log_limit said;
};

/* ---- The socket ------------------------------------------------------------------ */

static int
watch(const struct pacer_socket *p, int fd, void *what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };

	return epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int
pacer_socket_open(const char *path, const struct pacer_socket_options *options,
		  struct pacer_socket **ret_pacers, struct err *err)
{
	struct pacer_socket *p;
	int fd = -1, error = local_socket_bind(path, SOCK_SEQPACKET, &fd, err);

	if (error < 0)
		return error;
	p = xcalloc(1, sizeof *p);
	p->fd = fd;
	strcpy(p->path, path);
	p->options = *options;
	p->sysroot = xstrdup(options->sysroot ? options->sysroot : "");
	p->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	p->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (p->epoll_fd < 0 || p->spare_fd < 0)
		error = -errno;
	if (error == 0 && listen(fd, BACKLOG) < 0)
		error = -errno;
	if (error == 0)
		error = watch(p, fd, NULL);
	if (error < 0) {
		err_set_errno(err, path, -error, "cannot listen");
		pacer_socket_close(p);
		return error;
	}
	*ret_pacers = p;
	return 0;
}

void
pacer_socket_close(struct pacer_socket *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->peers.n; i++) {
		close(p->peers.items[i]->fd);
		free(p->peers.items[i]);
	}
	vec_free(&p->peers);
	owners_fini(&p->owners);
	unlink(p->path);
	close(p->fd);
	if (p->epoll_fd >= 0)
		close(p->epoll_fd);
	if (p->spare_fd >= 0)
		close(p->spare_fd);
	free(p->sysroot);
	tele_fini(&p->waiting);
	free(p);
}

int
pacer_socket_fd(const struct pacer_socket *p)
{
	return p->epoll_fd;
}

const struct pacer_socket_counts *
pacer_socket_counts(const struct pacer_socket *p)
{
	return &p->counts;
}

size_t
pacer_socket_n(const struct pacer_socket *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->peers.n; i++)
		n += p->peers.items[i]->has_said_hello;
	return n;
}

/* ---- Job of a pacer -------------------------------------------------------------- */

/* A claimed job is not an owner: a user could claim any number of them. */
static void
set_owner(struct pacer_socket *p, struct pacer *peer)
{
	bool is_of_job = peer->has_job && !peer->is_claimed;

	if (peer->owner)
		peer->owner->n_connections--;
	peer->owner =
		owners_get(&p->owners, peer->from.uid, is_of_job ? peer->job : "");
	peer->owner->n_connections++;
}

static void
find_job(struct pacer_socket *p, struct pacer *peer, int64_t now_ns)
{
	peer->looked_ns = now_ns;
	if (peer_job_name(peer->fd, &peer->from, p->sysroot, p->options.job_of,
			  p->options.ctx, peer->job)) {
		peer->has_job = true;
		peer->is_claimed = false;
	} else if (p->options.is_claim_believed && peer->hello.job[0]) {
		tele_set_name(peer->job, peer->hello.job);
		peer->has_job = peer->is_claimed = true;
	}
	set_owner(p, peer);
}

/* ---- Rows ------------------------------------------------------------------------ */

static void
add_row(struct pacer_socket *p, const struct pacer *peer, bool is_over)
{
	const struct pace_iteration *it = &peer->last;
	uint32_t job = TELE_OTHER;

	if (p->waiting.iterations.n >= TELE_MAX_ITERATIONS) {
		p->counts.dropped++;
		return;
	}
	/* One frame may have jobs of many short connections. */
	if (peer->has_job && p->waiting.jobs.n < TELE_MAX_JOBS)
		job = tele_add_job(&p->waiting, peer->job);
	vec_push(&p->waiting.iterations,
		 ((struct tele_iteration){
			 .job = job,
			 .source = peer->hello.source,
			 .is_claimed = peer->is_claimed,
			 .is_observing = peer->hello.is_observing,
			 .is_over = is_over,
			 .pid = peer->from.pid,
			 .rank = peer->hello.rank,
			 .number = it->number,
			 .enter_ns = it->enter_ns,
			 .begin_ns = it->begin_ns,
			 .comm_ns = it->comm_ns,
			 .bytes = it->bytes,
			 .n_collectives = it->n_collectives,
			 .gap_us = it->gap_us,
			 .order = it->order,
			 .lost = it->lost,
		 }));
}

bool
pacer_socket_fill(struct pacer_socket *p, struct tele_frame *frame)
{
	bool is_any = p->waiting.iterations.n > 0;

	for (size_t i = 0; i < p->waiting.iterations.n; i++) {
		struct tele_iteration row = p->waiting.iterations.items[i];

		if (row.job != TELE_OTHER)
			row.job = tele_add_job(frame,
					       p->waiting.jobs.items[row.job].name);
		vec_push(&frame->iterations, row);
	}
	tele_clear(&p->waiting);
	return is_any;
}

/* ---- Connections ----------------------------------------------------------------- */

static void
remember(struct pacer_socket *p, const struct pacer *peer)
{
	p->gone[p->n_gone++ % N_GONE] =
		(struct gone){ peer->from.pid, peer->last.lost };
}

/* 0 if unknown; drops an entry whose pid was reused. */
static uint32_t
lost_before(struct pacer_socket *p, uint32_t pid, uint32_t lost)
{
	for (uint32_t i = 1; i <= N_GONE; i++) {
		struct gone *gone = &p->gone[(p->n_gone - i) % N_GONE];

		if (gone->pid == pid)
			return gone->lost <= lost ? gone->lost : 0;
	}
	return 0;
}

/* Ends a connection; 'why' NULL: the peer ended it. */
static void
let_go(struct pacer_socket *p, struct pacer *peer, const char *why, int64_t now_ns)
{
	if (why) {
		p->counts.refused++;
		log_limited(&p->said, now_ns, LOG_LEVEL_WARN, "pacer",
			    "process %u of user %u is disconnected: %s", peer->from.pid,
			    (unsigned)peer->from.uid, why);
	}
	if (peer->has_said_hello) {
		add_row(p, peer, true);
		if (peer->has_told)
			remember(p, peer);
	}
	for (size_t i = 0; i < p->peers.n; i++) {
		if (p->peers.items[i] != peer)
			continue;
		p->peers.items[i] = p->peers.items[--p->peers.n];
		break;
	}
	peer->owner->n_connections--;
	close(peer->fd); /* This also ends the watch. */
	free(peer);
}

/*
 * Why 'peer' may not stay beside the others; NULL: it may.  A job has a few rank 0s at
 * most; what belongs to none shares a part of the places, so that it leaves the rest.
 */
static const char *
why_not(const struct pacer_socket *p, const struct pacer *peer)
{
	bool is_of_job = peer->has_job && !peer->is_claimed;
	size_t n_of_job = 0, n_of_none = 0, n_of_user = 0, n = 0;

	for (size_t i = 0; i < p->peers.n; i++) {
		const struct pacer *other = p->peers.items[i];

		if (other == peer)
			continue;
		n++;
		n_of_user += other->from.uid == peer->from.uid;
		if (!other->has_job || other->is_claimed)
			n_of_none++;
		else if (is_of_job)
			n_of_job += !strcmp(other->job, peer->job);
	}
	if (n >= PACER_SOCKET_CONNECTIONS)
		return "there are too many connections";
	if (is_of_job && n_of_job >= PACER_SOCKET_OF_JOB)
		return "its job has too many connections";
	if (!is_of_job && n_of_none >= PACER_SOCKET_OF_NONE)
		return "there are too many connections of no job";
	/* Those of root in containers are counted by job. */
	if (n_of_user >= PACER_SOCKET_OF_USER && (peer->from.uid != 0 || !is_of_job))
		return "its user has too many connections";
	return NULL;
}

static void
accept_one(struct pacer_socket *p, int fd, int64_t now_ns)
{
	struct pacer *peer;
	struct peer from;
	const char *why;

	if (peer_read(fd, &from) < 0) {
		close(fd);
		p->counts.refused++;
		return;
	}
	p->counts.connections++;
	peer = xcalloc(1, sizeof *peer);
	peer->fd = fd;
	peer->from = from;
	peer->since_ns = now_ns;
	find_job(p, peer, now_ns);
	why = why_not(p, peer);
	if (!why && watch(p, fd, peer) < 0)
		why = "it cannot be watched";
	if (why)
		let_go(p, peer, why, now_ns);
	else
		vec_push(&p->peers, peer);
}

/* Out of descriptors: refuses the next connection, which would stay pending. */
static bool
refuse_one(struct pacer_socket *p, int64_t now_ns)
{
	int fd;

	log_limited(&p->said, now_ns, LOG_LEVEL_WARN, "pacer",
		    "out of file descriptors for pacers; raise LimitNOFILE");
	p->counts.refused++;
	close(p->spare_fd);
	fd = accept(p->fd, NULL, NULL);
	if (fd >= 0)
		close(fd);
	p->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return fd >= 0;
}

static void
accept_all(struct pacer_socket *p, int64_t now_ns)
{
	for (int i = 0; i < MAX_ACCEPT; i++) {
		int fd = accept4(p->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			accept_one(p, fd, now_ns);
			continue;
		}
		if (errno == ECONNABORTED || errno == EINTR)
			continue;
		if ((errno != EMFILE && errno != ENFILE) || !refuse_one(p, now_ns))
			return;
	}
}

/* ---- Packets --------------------------------------------------------------------- */

/* Returns the reason to end the connection, or NULL. */
static const char *
take(struct pacer_socket *p, struct pacer *peer, const uint8_t *bytes, size_t n,
     int64_t now_ns)
{
	struct pace_packet packet;
	int error = pace_decode(bytes, n, &packet);
	uint32_t lost;

	if (error == -EPROTONOSUPPORT)
		return "its pacer is of another version";
	if (error < 0)
		return "what it sends is not a packet of a pacer";
	if (packet.kind == PACE_HELLO && !peer->has_said_hello) {
		peer->hello = packet.hello;
		peer->has_said_hello = true;
		if (!peer->has_job)
			find_job(p, peer, now_ns);
		return why_not(p, peer);
	}
	if (packet.kind != PACE_ITERATION || !peer->has_said_hello)
		return "it sends packets out of turn";
	if (!peer->has_job && now_ns - peer->looked_ns >= LOOK_AGAIN_NS) {
		const char *why;

		find_job(p, peer, now_ns);
		why = peer->has_job ? why_not(p, peer) : NULL;
		if (why)
			return why;
	}
	p->counts.iterations++;
	p->counts.unknown_job += !peer->has_job;
	lost = peer->has_told ? peer->last.lost
			      : lost_before(p, peer->from.pid, packet.iteration.lost);
	if (packet.iteration.lost > lost)
		p->counts.lost += packet.iteration.lost - lost;
	peer->last = packet.iteration;
	peer->has_told = true;
	add_row(p, peer, false);
	return NULL;
}

/*
 * Leaves what a peer has too much of in its own queue until the next second: the kernel
 * tells it of the full queue, at no cost here.
 */
static void
pause_peer(struct pacer_socket *p, struct pacer *peer, int64_t now_ns)
{
	(void)epoll_ctl(p->epoll_fd, EPOLL_CTL_DEL, peer->fd, NULL);
	peer->is_paused = true;
	p->counts.paused++;
	log_limited(
		&p->said, now_ns, LOG_LEVEL_WARN, "pacer",
		"process %u of user %u has to wait: it sends more than %d packets a "
		"second, with others of its job",
		peer->from.pid, (unsigned)peer->from.uid, PACER_SOCKET_PACKETS);
}

static void
read_peer(struct pacer_socket *p, struct pacer *peer, int64_t now_ns)
{
	for (int i = 0; i < MAX_PACKETS; i++) {
		uint8_t bytes[PACE_MAX_BYTES];
		const char *why = NULL;
		ssize_t n;

		if (peer->owner->n_read >= PACER_SOCKET_PACKETS) {
			pause_peer(p, peer, now_ns);
			return;
		}
		n = recv(peer->fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_TRUNC);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		/* An empty read means that the peer has gone. */
		if (n <= 0) {
			let_go(p, peer, NULL, now_ns);
			return;
		}
		peer->owner->n_read++;
		if (n > (ssize_t)sizeof bytes)
			why = "what it sends is not a packet of a pacer";
		else
			why = take(p, peer, bytes, (size_t)n, now_ns);
		if (why) {
			let_go(p, peer, why, now_ns);
			return;
		}
	}
}

void
pacer_socket_read(struct pacer_socket *p, int64_t now_ns)
{
	struct epoll_event events[MAX_EVENTS];
	int n = epoll_wait(p->epoll_fd, events, MAX_EVENTS, 0);

	for (int i = 0; i < n; i++) {
		if (events[i].data.ptr)
			read_peer(p, events[i].data.ptr, now_ns);
	}
	/* Last, because a new connection may reuse the place of one that ended. */
	for (int i = 0; i < n; i++) {
		if (!events[i].data.ptr)
			accept_all(p, now_ns);
	}
}

void
pacer_socket_tick(struct pacer_socket *p, int64_t now_ns)
{
	owners_second(&p->owners);
	for (size_t i = p->peers.n; i-- > 0;) {
		struct pacer *peer = p->peers.items[i];
		bool is_paused = peer->is_paused;

		peer->is_paused = false;
		if (is_paused && watch(p, peer->fd, peer) < 0)
			let_go(p, peer, "it cannot be watched", now_ns);
		else if (!peer->has_said_hello &&
			 now_ns - peer->since_ns > PACER_SOCKET_HELLO_NS)
			let_go(p, peer, "it sent no HELLO", now_ns);
	}
}

/* ---- Orders ---------------------------------------------------------------------- */

int
pacer_socket_order(struct pacer_socket *p, const char *job, uint32_t pid,
		   const struct pace_order *order)
{
	const struct pace_packet packet = { .kind = PACE_ORDER, .order = *order };
	uint8_t bytes[PACE_MAX_BYTES];
	size_t n = pace_encode(&packet, bytes);

	for (size_t i = 0; i < p->peers.n; i++) {
		const struct pacer *peer = p->peers.items[i];

		if (peer->from.pid != pid || !peer->has_job ||
		    strcmp(peer->job, job) != 0)
			continue;
		if (send(peer->fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL) ==
		    (ssize_t)n) {
			p->counts.orders++;
			return 0;
		}
		p->counts.unsent++;
		return -errno;
	}
	p->counts.strays++;
	return -ESRCH;
}
