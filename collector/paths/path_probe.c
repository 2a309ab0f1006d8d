/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/paths/path_probe.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "collector/paths/probe_rounds.h"
#include "collector/paths/probe_socket.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"

#define TICK_NS     50000000 /* While probes are on their way. */
#define TIMER       UINT64_MAX
#define EVENTS_READ 32

struct path_probe {
	void (*done)(void *ctx, const struct probe_message *answer);
	void *ctx;
	int epoll_fd, timer_fd;
	int fds[PROBE_MAX_PORTS]; /* By port of the order; -1: none. */
	bool is_busy;             /* 'rounds' is in use. */
	struct probe_rounds rounds;
	struct probe_message *waiting[PATH_PROBE_MAX_ORDERS]; /* Owned. */
	size_t n_waiting;
	struct path_probe_stats stats;
};

/* ---- Sockets --------------------------------------------------------------------- */

static int
send_probe(void *ctx, size_t i, const struct probe_message *message, uint8_t hop)
{
	struct path_probe *probe = ctx;
	struct port_flow flow = { .source_port = message->ports[i].port,
				  .destination_port = message->destination_port };
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT, .data.u64 = i };
	int fd;

	memcpy(flow.source, message->source, sizeof flow.source);
	memcpy(flow.destination, message->destination, sizeof flow.destination);
	fd = probe_socket_send(&flow, hop);
	if (fd < 0)
		return fd;
	if (epoll_ctl(probe->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
		int error = errno;

		probe_socket_close(fd);
		return -error;
	}
	probe->fds[i] = fd;
	return 0;
}

static void
end_probe(void *ctx, size_t i)
{
	struct path_probe *probe = ctx;

	probe_socket_close(probe->fds[i]);
	probe->fds[i] = -1;
}

static void
set_timer(const struct path_probe *probe)
{
	long every_ns = probe->is_busy ? TICK_NS : 0;
	const struct itimerspec spec = { .it_interval.tv_nsec = every_ns,
					 .it_value.tv_nsec = every_ns };

	(void)timerfd_settime(probe->timer_fd, 0, &spec, NULL);
}

/* ---- Opening --------------------------------------------------------------------- */

int
path_probe_open(void (*done)(void *ctx, const struct probe_message *answer), void *ctx,
		struct path_probe **ret_probe, struct err *err)
{
	struct path_probe *probe = xcalloc(1, sizeof *probe);
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = TIMER };

	probe->done = done;
	probe->ctx = ctx;
	memset(probe->fds, 0xff, sizeof probe->fds);
	probe->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	probe->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (probe->epoll_fd < 0 || probe->timer_fd < 0 ||
	    epoll_ctl(probe->epoll_fd, EPOLL_CTL_ADD, probe->timer_fd, &event) < 0) {
		int error = errno;

		path_probe_close(probe);
		return err_set_errno(err, NULL, error, "cannot probe paths");
	}
	*ret_probe = probe;
	return 0;
}

void
path_probe_close(struct path_probe *probe)
{
	if (!probe)
		return;
	if (probe->is_busy)
		probe_rounds_stop(&probe->rounds);
	for (size_t i = 0; i < probe->n_waiting; i++)
		free(probe->waiting[i]);
	if (probe->timer_fd >= 0)
		close(probe->timer_fd);
	if (probe->epoll_fd >= 0)
		close(probe->epoll_fd);
	free(probe);
}

/* ---- Orders ---------------------------------------------------------------------- */

/* Hands out the answer of the order that is over. */
static void
finish(struct path_probe *probe)
{
	const struct probe_message *answer = &probe->rounds.message;

	probe->is_busy = false;
	probe->stats.n_packets += probe->rounds.n_packets;
	for (size_t i = 0; i < answer->n_ports; i++) {
		bool is_found = answer->ports[i].state == PROBE_FOUND;

		probe->stats.n_found += is_found;
		probe->stats.n_unknown += !is_found;
	}
	probe->done(probe->ctx, answer);
}

/* Begins orders until one has to wait for an answer. */
static void
begin_next(struct path_probe *probe, int64_t now_ns)
{
	const struct probe_rounds_io io = { probe, send_probe, end_probe };

	while (!probe->is_busy && probe->n_waiting) {
		struct probe_message *order = probe->waiting[0];

		probe->n_waiting--;
		memmove(probe->waiting, probe->waiting + 1,
			probe->n_waiting * sizeof *probe->waiting);
		probe->is_busy = true;
		probe_rounds_begin(&probe->rounds, now_ns, &io, order);
		free(order);
		if (probe_rounds_are_over(&probe->rounds))
			finish(probe);
	}
	set_timer(probe);
}

static bool
is_same(const struct probe_message *a, const struct probe_message *b)
{
	return a->number == b->number && a->destination_port == b->destination_port &&
	       !memcmp(a->source, b->source, sizeof a->source) &&
	       !memcmp(a->destination, b->destination, sizeof a->destination);
}

int
path_probe_take(struct path_probe *probe, int64_t now_ns,
		const struct probe_message *order)
{
	if (probe->is_busy && is_same(&probe->rounds.message, order))
		return -EALREADY;
	for (size_t i = 0; i < probe->n_waiting; i++)
		if (is_same(probe->waiting[i], order))
			return -EALREADY;
	if (probe->n_waiting == PATH_PROBE_MAX_ORDERS)
		return -E2BIG;
	probe->waiting[probe->n_waiting++] = xmemdup(order, 1, sizeof *order);
	begin_next(probe, now_ns);
	return 0;
}

/* ---- Answers --------------------------------------------------------------------- */

int
path_probe_fd(const struct path_probe *probe)
{
	return probe->epoll_fd;
}

static void
read_answer(struct path_probe *probe, int64_t now_ns, size_t i)
{
	uint8_t address[16];
	int rc;

	/* Closed by an event before this one. */
	if (!probe->is_busy || probe->fds[i] < 0)
		return;
	rc = probe_socket_read(probe->fds[i], address);
	if (rc == 1)
		probe_rounds_hop(&probe->rounds, now_ns, i, address);
	else if (rc == -EISCONN)
		probe_rounds_reached(&probe->rounds, i);
	else if (rc < 0)
		probe_rounds_failed(&probe->rounds, i);
}

void
path_probe_step(struct path_probe *probe, int64_t now_ns)
{
	struct epoll_event events[EVENTS_READ];
	int n = epoll_wait(probe->epoll_fd, events, EVENTS_READ, 0);
	uint64_t ticks;

	for (int i = 0; i < n; i++) {
		if (events[i].data.u64 == TIMER)
			(void)!read(probe->timer_fd, &ticks, sizeof ticks);
		else
			read_answer(probe, now_ns, events[i].data.u64);
	}
	if (!probe->is_busy)
		return;
	probe_rounds_tick(&probe->rounds, now_ns);
	if (probe_rounds_are_over(&probe->rounds)) {
		finish(probe);
		begin_next(probe, now_ns);
	}
}

bool
path_probe_has_port(const struct path_probe *probe, uint16_t port)
{
	for (size_t i = 0; probe->is_busy && i < probe->rounds.message.n_ports; i++)
		if (probe->fds[i] >= 0 && probe->rounds.message.ports[i].port == port)
			return true;
	return false;
}

void
path_probe_stats(const struct path_probe *probe, struct path_probe_stats *ret_stats)
{
	*ret_stats = probe->stats;
	ret_stats->n_waiting = probe->n_waiting + probe->is_busy;
}
