/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bus_inputs.h - the sockets of a receiver; for lib/wire/bus*.c
 *
 * One socket for each key of a server: ZeroMQ does not say which server a message of a
 * connecting socket came from.  A receiver that is bound, or knows one server.pub only, has
 * one.  Also checks, with keys, who speaks for which host (bus_speakers.h).
 */
#ifndef LIB_WIRE_BUS_INPUTS_H
#define LIB_WIRE_BUS_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/wire/bus_keys.h"
#include "lib/wire/bus_socket.h"

struct bus_input {
	struct bus_socket socket;
	char server[BUS_KEY_NAME + 1]; /* The name of its key (bus_keys.h). */
	bool is_bound;
};

struct bus_inputs {
	struct bus_context *context;   /* Borrowed. */
	struct bus_speakers *speakers; /* Owned.  NULL: every connection is believed. */
	VEC(struct bus_input *) sockets; /* Owned; one at least. */
	size_t at;                       /* The one that the last part came from. */
	bool is_amid;                    /* More parts of its message are there. */
};

/* What is to be opened. */
struct bus_inputs_opts {
	int type;         /* ZMQ_SUB or ZMQ_XSUB. */
	unsigned room;    /* Messages that may wait, of each peer. */
	size_t max_bytes; /* Of a message; 0: of a frame. */
	bool is_bound;
	bool has_frames; /* Whose hosts are checked, with keys. */
};

/*
 * Binds or connects to all endpoints.  Returns 0; errors of bus_socket_attach(); -EINVAL
 * for a server.pub of frames without a list of hosts.
 */
int bus_inputs_open(struct bus_inputs *inputs, struct bus_context *context,
		    const struct bus_inputs_opts *opts, const char *const *endpoints,
		    size_t n, struct err *err);
void bus_inputs_close(struct bus_inputs *inputs); /* Accepts a zeroed one. */

/* As bus_part_take(), from the sockets in turn, one message after the other. */
int bus_inputs_take(struct bus_inputs *inputs, struct bus_part *part,
		    bool *ret_has_more);
/* Of the last part: the name of the server's key, or NULL for a client's. */
const char *bus_inputs_server(const struct bus_inputs *inputs);

/* Subscribes (ZMQ_SUBSCRIBE), or no longer.  0 or -errno. */
int bus_inputs_want(struct bus_inputs *inputs, const char *prefix, bool is_wanted);
/* Passes a subscription on to all publishers; for ZMQ_XSUB. */
void bus_inputs_pass(struct bus_inputs *inputs, struct bus_part *part);

/* As bus_socket_serve() and bus_sockets_wait(). */
void bus_inputs_serve(struct bus_inputs *inputs);
int bus_inputs_wait(struct bus_inputs *inputs, int64_t timeout_ns);
/* As bus_watch_socket(). */
void bus_inputs_watch(struct bus_inputs *inputs, struct bus_watch *watch,
		      void (*ready)(void *ctx), void *ctx);
const char *bus_inputs_endpoint(const struct bus_inputs *inputs); /* Of the first. */

struct bus_inputs_counts {
	uint64_t reconnects, refused, crowded, misnamed, duplicates;
	uint32_t connections;
};
struct bus_inputs_counts bus_inputs_counts(const struct bus_inputs *inputs);

#endif
