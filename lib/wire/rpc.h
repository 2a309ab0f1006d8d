/*
 * rpc.h - questions and answers in JSON over ZeroMQ, and announcements.
 *
 * A server answers one request after another, from its daemon's loop; a client asks
 * one question and waits for the answer, but not for ever.  An announcer tells
 * what changes to whoever listens.  What the texts mean is left to others: to
 * topology/service.h, for one.
 *
 * Without keys only loopback and ipc are bound.  Texts longer than the limits are
 * not received at all.
 */
#ifndef LIB_WIRE_RPC_H
#define LIB_WIRE_RPC_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/strbuf.h"

struct bus_keys;
struct err;
struct loop;

#define RPC_MAX_REQUEST_BYTES (8 << 20)
#define RPC_MAX_REPLY_BYTES   (256 << 20)

/* ---- Server ----------------------------------------------------------------------- */

struct rpc_server;

/* Fills 'reply' for the request, which is terminated. */
typedef void rpc_answer_fn(void *ctx, const char *request, size_t n,
			   struct strbuf *reply);

/*
 * Binds to 'endpoint'.  'keys' is borrowed or NULL.  Returns 0; -EACCES for an
 * endpoint beyond loopback without keys; another -errno, with 'err' filled.
 */
int rpc_server_open(const char *endpoint, const struct bus_keys *keys,
		    rpc_answer_fn *answer, void *ctx, struct rpc_server **ret_server,
		    struct err *err);
void rpc_server_close(struct rpc_server *server); /* Accepts NULL. */

/* Has the loop call rpc_server_serve() whenever there is something. */
void rpc_server_join(struct rpc_server *server, struct loop *loop);
/* Lets in who may, and answers what has come, at most 64 requests at once. */
void rpc_server_serve(void *server);

/* ---- Client ----------------------------------------------------------------------- */

/*
 * Sends 'request' and waits for the reply, a new terminated text that the caller
 * frees.  Returns 0; -ECONNREFUSED if nobody listens there; -EACCES for a wrong key, on
 * either side; -ETIMEDOUT if no reply came in time; or another -errno, with 'err' filled.
 */
int rpc_call(const char *endpoint, const struct bus_keys *keys, const char *request,
	     int64_t timeout_ns, char **ret_reply, size_t *ret_n, struct err *err);

/* ---- Client of a daemon -------------------------------------------------------------- */

struct rpc_question;

/*
 * The same from a loop, without waiting for it: 'done' is called once, with the reply
 * (terminated, borrowed), or NULL and the reason in 'why'; the question is gone then.
 * Returns 0, or -errno with 'err' filled, and 'done' is not called.  'keys' is borrowed
 * until then.
 */
int rpc_ask(struct loop *loop, const char *endpoint, const struct bus_keys *keys,
	    const char *request, int64_t timeout_ns,
	    void (*done)(void *ctx, const char *reply, size_t n, const struct err *why),
	    void *ctx, struct rpc_question **ret_question, struct err *err);
/* Gives it up: 'done' is not called any more.  Accepts NULL. */
void rpc_forget(struct rpc_question *question);

/* ---- Announcements ---------------------------------------------------------------- */

struct rpc_announcer;
struct rpc_listener;

/* As rpc_server_open(). */
int rpc_announcer_open(const char *endpoint, const struct bus_keys *keys,
		       struct rpc_announcer **ret_announcer, struct err *err);
void rpc_announcer_close(struct rpc_announcer *announcer); /* Accepts NULL. */
/* With keys, listeners are let in from the loop. */
void rpc_announcer_join(struct rpc_announcer *announcer, struct loop *loop);

/* Sends a text under a topic; who is too slow to take it misses it. */
void rpc_announce(struct rpc_announcer *announcer, const char *topic, const char *text);

/* Listens to the topics that begin with 'prefix'. */
int rpc_listener_open(const char *endpoint, const struct bus_keys *keys,
		      const char *prefix, struct rpc_listener **ret_listener,
		      struct err *err);
void rpc_listener_close(struct rpc_listener *listener); /* Accepts NULL. */

/*
 * Has the loop call 'heard' with each text, terminated and 'n' bytes long, borrowed for
 * the call; whoever announces may come and go.
 */
typedef void rpc_heard_fn(void *ctx, const char *text, size_t n);
void rpc_listener_join(struct rpc_listener *listener, struct loop *loop,
		       rpc_heard_fn *heard, void *ctx);

/*
 * Waits for the next one: 1 with a new text, which the caller frees; 0 after
 * 'timeout_ns' (negative: never) without one; or -errno, -EINTR for a signal.
 */
int rpc_listen(struct rpc_listener *listener, int64_t timeout_ns, char **ret_text);

#endif
