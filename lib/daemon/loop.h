/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.h - event loop of a daemon: sockets, descriptors, timers and signals.
 *
 * It uses zmq_poll(), which waits for ZeroMQ sockets and plain descriptors alike.
 * Callbacks run one after another on one thread.  Timers are due at multiples of their
 * period: a late timer is called once, with the number of missed periods.
 *
 *	struct loop *loop = loop_new();
 *
 *	loop_every(loop, 100 * 1000000, on_drain, collector);
 *	loop_signal(loop, SIGTERM, on_stop, collector);
 *	rc = loop_run(loop);
 *	loop_free(loop);
 */
#ifndef LIB_DAEMON_LOOP_H
#define LIB_DAEMON_LOOP_H

#include <stdint.h>

struct loop;
struct loop_item;
struct passes;

struct loop *loop_new(void);
void loop_free(struct loop *loop); /* Accepts NULL. */

/* Calls back while 'fd' is readable.  Returns a handle for loop_remove(). */
struct loop_item *loop_fd(struct loop *loop, int fd, void (*ready)(void *ctx),
			  void *ctx);
/* Calls back while 'fd' is writable: remove it when there is nothing left to write. */
struct loop_item *loop_fd_out(struct loop *loop, int fd, void (*ready)(void *ctx),
			      void *ctx);
/* As loop_fd() for a ZeroMQ socket. */
struct loop_item *loop_socket(struct loop *loop, void *zmq_socket,
			      void (*ready)(void *ctx), void *ctx);
/* Calls back every 'period_ns'; 'missed': periods without a call since the last one. */
struct loop_item *loop_every(struct loop *loop, int64_t period_ns,
			     void (*due)(void *ctx, int64_t now_ns, int64_t missed),
			     void *ctx);
/* Calls back after the signal, from the loop, not from the handler. */
struct loop_item *loop_signal(struct loop *loop, int signal,
			      void (*caught)(void *ctx, int signal), void *ctx);
/* May be called from any callback, also from the item's own. */
void loop_remove(struct loop *loop, struct loop_item *item);

/* Runs until loop_stop(); returns the status given there. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop, int status);

/*
 * Attributes the time from now to the end of the running callback, or the next call, to
 * a part of the program; 'name' is static text.  Accepts NULL.
 */
void loop_part(struct loop *loop, const char *name);
/* CPU time of the current pass so far. */
int64_t loop_pass_cpu_ns(const struct loop *loop);
/* The durations of the loop's passes (passes.h). */
const struct passes *loop_passes(const struct loop *loop);

#endif
