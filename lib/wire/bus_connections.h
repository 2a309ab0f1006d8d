/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bus_connections.h - the connections that messages came on; for lib/wire/bus*.c
 *
 * ZeroMQ does not say which connection a message came on.  Descriptors are reused; the
 * address of the metadata that ZeroMQ attaches to all messages of a connection is not, as
 * long as one of them is kept.
 */
#ifndef LIB_WIRE_BUS_CONNECTIONS_H
#define LIB_WIRE_BUS_CONNECTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/vec.h"
#include "lib/wire/bus_keys.h"
#include "lib/wire/bus_socket.h"

struct bus_connection {
	struct bus_part first; /* Its first message, which keeps the metadata. */
	const char *metadata;  /* In there: the address of the peer. */
	uint64_t id;           /* Never used again. */
	int fd;
	ino_t inode;                 /* Of the socket; 0: it was closed already. */
	char key[BUS_Z85_CHARS + 1]; /* Of a client; empty: of a server, or none. */
	void *of;                    /* What the user of these keeps for it. */
};

struct bus_connections {
	VEC(struct bus_connection *) by_fd; /* NULL: none. */
	/* Called before one is freed. */
	void (*forget)(void *ctx, struct bus_connection *connection);
	void *ctx;
	uint64_t n_ever;
	int64_t swept_ns;
	uint64_t generation; /* Of the keys, when clients were last looked up. */
};

void bus_connections_init(struct bus_connections *connections,
			  void (*forget)(void *ctx, struct bus_connection *connection),
			  void *ctx);
void bus_connections_fini(struct bus_connections *connections);

/*
 * The connection of a message, whose member 'of' is NULL if it is a new one.  'is_bound':
 * the socket is, so that its peers are clients.  NULL: ZeroMQ itself sent the message.
 */
struct bus_connection *bus_connections_of(struct bus_connections *connections,
					  struct bus_part *part, bool is_bound);

/*
 * Once a second: forgets those that have ended, and ends those of clients whose key is
 * allowed no longer ('keys' may be NULL).  True if a second had passed.
 */
bool bus_connections_serve(struct bus_connections *connections,
			   const struct bus_keys *keys, int64_t now_ns);

/* True while the socket 'fd' is the one that had this inode. */
bool bus_connection_stands(int fd, ino_t inode);
/* Shuts it down, so that ZeroMQ closes it; false if it has ended already. */
bool bus_connection_end(const struct bus_connection *connection);

#endif
