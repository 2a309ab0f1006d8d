/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/daemon/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <zmq.h>

#include "lib/base/clk.h"
#include "lib/base/log.h"
#include "lib/base/vec.h"
#include "lib/daemon/passes.h"

enum item_kind {
	ITEM_FD,
	ITEM_SOCKET,
	ITEM_TIMER,
	ITEM_SIGNAL,
};

struct loop_item {
	enum item_kind kind;
	bool is_removed; /* Freed when no callback is running. */
	int fd;
	short events; /* For a descriptor or socket. */
	void *socket;
	int64_t period_ns, due_ns;
	int signal;
	struct sigaction before; /* Restored at the end. */
	void (*ready)(void *ctx);
	void (*due)(void *ctx, int64_t now_ns, int64_t missed);
	void (*caught)(void *ctx, int signal);
	void *ctx;
};

struct loop {
	VEC(struct loop_item *) items;  /* Owned. */
	VEC(zmq_pollitem_t) polls;      /* Rebuilt when items change. */
	VEC(struct loop_item *) polled; /* The item of each of 'polls'. */
	struct loop_item *pipe_item;    /* In 'items'; NULL without signals. */
	bool is_changed, is_stopped;
	int status;
	struct passes passes;
};

/*
 * A pipe that carries the numbers of signals into the loop; global because signal
 * handlers use it.  A signalfd would need blocked signals, which stay blocked in
 * programs that we start.
 */
static int signal_pipe[2] = { -1, -1 };

struct loop *
loop_new(void)
{
	struct loop *loop = xcalloc(1, sizeof *loop);

	loop->passes.span_ns = clk_monotonic_ns();
	return loop;
}

static struct loop_item *
add_item(struct loop *loop, const struct loop_item *item)
{
	struct loop_item *copy = xmemdup(item, 1, sizeof *item);

	vec_push(&loop->items, copy);
	loop->is_changed = true;
	return copy;
}

struct loop_item *
loop_fd(struct loop *loop, int fd, void (*ready)(void *ctx), void *ctx)
{
	BUG_ON(fd < 0);
	return add_item(loop, &(struct loop_item){ .kind = ITEM_FD,
						   .fd = fd,
						   .events = ZMQ_POLLIN,
						   .ready = ready,
						   .ctx = ctx });
}

struct loop_item *
loop_fd_out(struct loop *loop, int fd, void (*ready)(void *ctx), void *ctx)
{
	BUG_ON(fd < 0);
	return add_item(loop, &(struct loop_item){ .kind = ITEM_FD,
						   .fd = fd,
						   .events = ZMQ_POLLOUT,
						   .ready = ready,
						   .ctx = ctx });
}

struct loop_item *
loop_socket(struct loop *loop, void *zmq_socket, void (*ready)(void *ctx), void *ctx)
{
	BUG_ON(!zmq_socket);
	return add_item(loop, &(struct loop_item){ .kind = ITEM_SOCKET,
						   .socket = zmq_socket,
						   .events = ZMQ_POLLIN,
						   .ready = ready,
						   .ctx = ctx });
}

struct loop_item *
loop_every(struct loop *loop, int64_t period_ns,
	   void (*due)(void *ctx, int64_t now_ns, int64_t missed), void *ctx)
{
	BUG_ON(period_ns <= 0);
	return add_item(loop,
			&(struct loop_item){ .kind = ITEM_TIMER,
					     .period_ns = period_ns,
					     .due_ns = clk_monotonic_ns() + period_ns,
					     .due = due,
					     .ctx = ctx });
}

/* ---- Signals --------------------------------------------------------------------- */

static void
on_signal(int signal)
{
	unsigned char byte = (unsigned char)signal;
	int error = errno;

	/* A full pipe wakes the loop anyway. */
	if (write(signal_pipe[1], &byte, 1) < 0)
		errno = error;
	errno = error;
}

/* Passes the signals in the pipe to their callbacks. */
static void
on_pipe(void *ctx)
{
	struct loop *loop = ctx;
	unsigned char bytes[64];
	ssize_t n = read(signal_pipe[0], bytes, sizeof bytes);

	for (ssize_t i = 0; i < n; i++) {
		for (size_t k = 0; k < loop->items.n; k++) {
			struct loop_item *item = loop->items.items[k];

			if (item->kind == ITEM_SIGNAL && !item->is_removed &&
			    item->signal == bytes[i])
				item->caught(item->ctx, item->signal);
		}
	}
}

struct loop_item *
loop_signal(struct loop *loop, int signal, void (*caught)(void *ctx, int signal),
	    void *ctx)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct loop_item item = {
		.kind = ITEM_SIGNAL, .signal = signal, .caught = caught, .ctx = ctx
	};

	if (!loop->pipe_item) {
		if (signal_pipe[0] >= 0)
			BUG("two loops with signals in one process");
		if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
			BUG("no pipe for signals: %s", strerror(errno));
		loop->pipe_item = loop_fd(loop, signal_pipe[0], on_pipe, loop);
	}
	if (sigaction(signal, &action, &item.before) < 0)
		BUG("signal %d cannot be caught", signal);
	return add_item(loop, &item);
}

/* ---- Removal --------------------------------------------------------------------- */

void
loop_remove(struct loop *loop, struct loop_item *item)
{
	if (item->is_removed)
		return;
	if (item->kind == ITEM_SIGNAL)
		sigaction(item->signal, &item->before, NULL);
	item->is_removed = true;
	loop->is_changed = true;
}

static void
free_removed(struct loop *loop)
{
	size_t kept = 0;

	for (size_t i = 0; i < loop->items.n; i++) {
		if (loop->items.items[i]->is_removed)
			free(loop->items.items[i]);
		else
			loop->items.items[kept++] = loop->items.items[i];
	}
	loop->items.n = kept;
}

void
loop_free(struct loop *loop)
{
	if (!loop)
		return;
	/* In reverse order, to restore the first handler of a signal caught twice. */
	for (size_t i = loop->items.n; i > 0; i--)
		loop_remove(loop, loop->items.items[i - 1]);
	if (loop->pipe_item) {
		close(signal_pipe[0]);
		close(signal_pipe[1]);
		signal_pipe[0] = signal_pipe[1] = -1;
	}
	free_removed(loop);
	vec_free(&loop->items);
	vec_free(&loop->polls);
	vec_free(&loop->polled);
	free(loop);
}

/* ---- Durations ------------------------------------------------------------------- */

static struct passes_time
now_twice(void)
{
	return (struct passes_time){ clk_monotonic_ns(), clk_thread_cpu_ns() };
}

void
loop_part(struct loop *loop, const char *name)
{
	if (loop)
		passes_part(&loop->passes, name, now_twice());
}

int64_t
loop_pass_cpu_ns(const struct loop *loop)
{
	return clk_thread_cpu_ns() - loop->passes.began.cpu_ns;
}

const struct passes *
loop_passes(const struct loop *loop)
{
	return &loop->passes;
}

/* ---- Running --------------------------------------------------------------------- */

static void
list_polls(struct loop *loop)
{
	free_removed(loop);
	loop->polls.n = loop->polled.n = 0;
	for (size_t i = 0; i < loop->items.n; i++) {
		struct loop_item *item = loop->items.items[i];
		zmq_pollitem_t poll = { .events = item->events, .fd = item->fd };

		if (item->kind != ITEM_FD && item->kind != ITEM_SOCKET)
			continue;
		poll.socket = item->kind == ITEM_SOCKET ? item->socket : NULL;
		vec_push(&loop->polls, poll);
		vec_push(&loop->polled, item);
	}
	loop->is_changed = false;
}

/* Milliseconds to the first timer, rounded up; -1 without one. */
static long
timeout_ms(const struct loop *loop)
{
	int64_t now_ns = clk_monotonic_ns(), least_ns = INT64_MAX;

	for (size_t i = 0; i < loop->items.n; i++) {
		const struct loop_item *item = loop->items.items[i];

		if (item->kind == ITEM_TIMER && item->due_ns < least_ns)
			least_ns = item->due_ns;
	}
	if (least_ns == INT64_MAX)
		return -1;
	if (least_ns <= now_ns)
		return 0;
	return (long)((least_ns - now_ns + 999999) / 1000000);
}

static void
serve_timers(struct loop *loop)
{
	/* Items that a callback adds wait for the next pass. */
	size_t n = loop->items.n;

	for (size_t i = 0; i < n && !loop->is_stopped; i++) {
		struct loop_item *item = loop->items.items[i];
		int64_t now_ns, missed;

		if (item->kind != ITEM_TIMER || item->is_removed)
			continue;
		now_ns = clk_monotonic_ns();
		if (now_ns < item->due_ns)
			continue;
		missed = (now_ns - item->due_ns) / item->period_ns;
		item->due_ns += (missed + 1) * item->period_ns;
		loop_part(loop, "other");
		item->due(item->ctx, now_ns, missed);
	}
}

static void
serve_polls(struct loop *loop)
{
	for (size_t i = 0; i < loop->polls.n && !loop->is_stopped; i++) {
		struct loop_item *item = loop->polled.items[i];

		/* Also after errors: the callback gets them as it reads. */
		if (!loop->polls.items[i].revents || item->is_removed)
			continue;
		loop_part(loop, "other");
		item->ready(item->ctx);
	}
}

int
loop_run(struct loop *loop)
{
	loop->is_stopped = false;
	while (!loop->is_stopped) {
		if (loop->is_changed)
			list_polls(loop);
		if (zmq_poll(loop->polls.items, (int)loop->polls.n, timeout_ms(loop)) <
		    0) {
			int error = zmq_errno();

			if (error == EINTR)
				continue;
			log_err("loop", "cannot wait: %s", zmq_strerror(error));
			return -error;
		}
		passes_begin(&loop->passes, now_twice());
		serve_polls(loop);
		serve_timers(loop);
		passes_end(&loop->passes, now_twice());
	}
	return loop->status;
}

void
loop_stop(struct loop *loop, int status)
{
	loop->is_stopped = true;
	loop->status = status;
}
