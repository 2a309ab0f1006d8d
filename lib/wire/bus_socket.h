/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bus_socket.h - a ZeroMQ socket with the bus's options, keys, access control (ZAP, RFC 27)
 * and connection events; for lib/wire/bus*.c
 */
#ifndef LIB_WIRE_BUS_SOCKET_H
#define LIB_WIRE_BUS_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/log.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "lib/wire/bus_keys.h"

struct err;
struct loop;
struct loop_item;

/* A context with its gatekeeper; its sockets share both. */
struct bus_context {
	void *zmq;
	struct bus_keys *keys; /* Owned; NULL: no security. */
	void *gate;            /* Checks clients; NULL without keys. */
	int64_t keys_read_ns, keys_refreshed_ns;
	uint64_t turned_away;
};

/* What is connected to. */
struct bus_peer {
	char *endpoint;                /* Owned; as it was given. */
	int64_t retry_ns;              /* When to connect anew; 0: ZeroMQ sees to it. */
	int64_t wait_ns;               /* Before the next time. */
	char server[BUS_KEY_NAME + 1]; /* The name of its key, and which of its keys. */
	unsigned key;
	struct log_limit refusal_said;
};

struct bus_socket {
	struct bus_context *context; /* Borrowed. */
	void *zmq;
	void *monitor;
	bool is_bound;
	VEC(struct bus_peer) peers; /* Of one that is not bound. */
	struct strtab *names;       /* Peers as events name them. */
	VEC(bool) is_up;            /* By their numbers. */
	uint32_t n_up, n_lost;
	uint64_t reconnects, refused;
	struct log_limit refusal_said;       /* Where no peer is known. */
	struct bus_descriptors *descriptors; /* Owned. */
	uint64_t crowded; /* Connections ended to save descriptors. */
	struct log_limit crowd_said;
	char endpoint[256];
};

int bus_context_init(struct bus_context *context, const struct bus_keys *keys,
		     struct err *err);
void bus_context_fini(struct bus_context *context); /* After its sockets. */

/* 'room' is the high-water mark in messages, either way. */
int bus_socket_init(struct bus_socket *s, struct bus_context *context, int type,
		    unsigned room, struct err *err);
/*
 * Binds or connects.  Returns 0; -EACCES for an endpoint beyond this host without keys;
 * -EINVAL without the server's key; or another -errno.
 */
int bus_socket_attach(struct bus_socket *s, const char *endpoint, bool is_bound,
		      struct err *err);
void bus_socket_fini(struct bus_socket *s); /* Accepts a zeroed one. */

/*
 * Serves the gate, notes connection events, and retries refused connections.
 * Never waits; to be called when there is something, and about once a second.
 */
void bus_context_serve(struct bus_context *context);
void bus_socket_serve(struct bus_socket *s);

/*
 * Waits for something on one of the sockets themselves, of one context, serving the
 * others.  1, 0 after the timeout, -EINTR or another -errno.
 */
int bus_sockets_wait(struct bus_socket *const *sockets, size_t n, int64_t timeout_ns);

#define BUS_SERVE_NS INT64_C(1000000000)

/* Takes the next part if one is there: 0, or -EAGAIN or another -errno. */
struct bus_part {
	_Alignas(void *) unsigned char zmq[64]; /* A zmq_msg_t. */
};

void bus_part_init(struct bus_part *part);
void bus_part_fini(struct bus_part *part);
int bus_part_take(struct bus_socket *s, struct bus_part *part, bool *ret_has_more);
/* Moves a part on to another socket: 0 or -errno. */
int bus_part_pass(struct bus_socket *s, struct bus_part *part, bool has_more);
/* Both then have the content and the metadata. */
void bus_part_copy(struct bus_part *to, struct bus_part *from);
/*
 * The peer's address in what ZeroMQ knows of the connection: at the same address in memory
 * for all of its messages; and its descriptor, or -1.  NULL for ZeroMQ's own messages.
 */
const char *bus_part_metadata(const struct bus_part *part);
int bus_part_fd(const struct bus_part *part);
/* The public key that the gate let in; NULL: none.  Only for bound sockets. */
const char *bus_part_client_key(const struct bus_part *part);
const uint8_t *bus_part_bytes(const struct bus_part *part);
size_t bus_part_size(const struct bus_part *part);

/* What a loop looks after for one end of the bus; zeroed: it has joined none. */
struct bus_watch {
	struct loop *loop; /* Borrowed. */
	VEC(struct loop_item *) items;
	void (*serve)(void *ctx);
	void *ctx;
};

/*
 * Joins a loop, once: serve(ctx), which has bus_context_serve() and bus_socket_serve()
 * called, is called when a client waits at the gate, and each BUS_SERVE_NS.
 */
void bus_watch_join(struct bus_watch *watch, struct loop *loop,
		    struct bus_context *context, void (*serve)(void *ctx), void *ctx);
/* Then: ready(ctx) when the socket can be read; serve(ctx) at an event of it. */
void bus_watch_socket(struct bus_watch *watch, struct bus_socket *s,
		      void (*ready)(void *ctx), void *ctx);
void bus_watch_leave(struct bus_watch *watch);

/* True for ipc, and for tcp at an address of this host alone. */
bool bus_endpoint_is_local(const char *endpoint);

#endif
