/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.h - the one loop of a daemon: sockets, descriptors, timers and signals.
 *
 * Over zmq_poll(), as that can wait for ZeroMQ sockets and plain descriptors
 * alike.  Callbacks run one after another on the one thread.  Timers are kept on
 * the grid of their period: one that is late is called once, with how many periods
 * went by, and never bursts.
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

/* Calls back when 'fd' is readable. Returns a handle for loop_remove(). */
struct loop_item *loop_fd(struct loop *loop, int fd, void (*ready)(void *ctx),
			  void *ctx);
/* Calls back while 'fd' takes what is written: remove it with nothing left to write. */
struct loop_item *loop_fd_out(struct loop *loop, int fd, void (*ready)(void *ctx),
			      void *ctx);
/* As loop_fd() for a ZeroMQ socket. */
struct loop_item *loop_socket(struct loop *loop, void *zmq_socket,
			      void (*ready)(void *ctx), void *ctx);
/* Calls back each 'period_ns'; 'missed' periods went by unserved since the last. */
struct loop_item *loop_every(struct loop *loop, int64_t period_ns,
			     void (*due)(void *ctx, int64_t now_ns, int64_t missed),
			     void *ctx);
/* Calls back in the loop, not in the handler, when the signal has come. */
struct loop_item *loop_signal(struct loop *loop, int signal,
			      void (*caught)(void *ctx, int signal), void *ctx);
/* May be called from a callback, of itself too. */
void loop_remove(struct loop *loop, struct loop_item *item);

/* Runs until loop_stop(); returns the status given there. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop, int status);

/*
 * What is done from here on, in the callback that runs, is of that part of the program:
 * 'name' is static text.  Accepts NULL.
 */
void loop_part(struct loop *loop, const char *name);
/* What the pass that runs has taken so far, of the processor's time. */
int64_t loop_pass_cpu_ns(const struct loop *loop);
/* What its passes took so far (passes.h). */
const struct passes *loop_passes(const struct loop *loop);

#endif
