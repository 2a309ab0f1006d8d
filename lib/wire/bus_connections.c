/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/wire/bus_connections.h"

#include <string.h>
#include <sys/socket.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/wire/bus_descriptors.h"

/* Ended connections are looked for this often. */
#define SWEEP_NS INT64_C(1000000000)

void
bus_connections_init(struct bus_connections *connections,
		     void (*forget)(void *ctx, struct bus_connection *connection),
		     void *ctx)
{
	*connections = (struct bus_connections){ .forget = forget, .ctx = ctx };
}

static void
forget(struct bus_connections *connections, struct bus_connection *connection)
{
	connections->by_fd.items[connection->fd] = NULL;
	connections->forget(connections->ctx, connection);
	bus_part_fini(&connection->first);
	free(connection);
}

void
bus_connections_fini(struct bus_connections *connections)
{
	for (size_t i = 0; i < connections->by_fd.n; i++)
		if (connections->by_fd.items[i])
			forget(connections, connections->by_fd.items[i]);
	vec_free(&connections->by_fd);
}

struct bus_connection *
bus_connections_of(struct bus_connections *connections, struct bus_part *part,
		   bool is_bound)
{
	const char *metadata = bus_part_metadata(part), *key;
	int fd = bus_part_fd(part);
	struct bus_connection *connection;

	if (!metadata || fd < 0)
		return NULL;
	while (connections->by_fd.n <= (size_t)fd)
		vec_push(&connections->by_fd, NULL);
	connection = connections->by_fd.items[fd];
	if (connection && connection->metadata == metadata)
		return connection;
	if (connection)
		forget(connections, connection);
	connection = xcalloc(1, sizeof *connection);
	bus_part_init(&connection->first);
	bus_part_copy(&connection->first, part);
	connection->metadata = metadata;
	connection->id = ++connections->n_ever;
	connection->fd = fd;
	connection->inode = bus_descriptors_inode(fd);
	/* A server could choose this property itself. */
	key = is_bound ? bus_part_client_key(part) : NULL;
	if (key && strlen(key) == BUS_Z85_CHARS)
		memcpy(connection->key, key, sizeof connection->key);
	connections->by_fd.items[fd] = connection;
	return connection;
}

bool
bus_connection_stands(int fd, ino_t inode)
{
	return inode && bus_descriptors_inode(fd) == inode;
}

bool
bus_connection_end(const struct bus_connection *connection)
{
	/* The inode shows that the descriptor is still that of this connection. */
	if (!bus_connection_stands(connection->fd, connection->inode))
		return false;
	shutdown(connection->fd, SHUT_RDWR);
	return true;
}

bool
bus_connections_serve(struct bus_connections *connections, const struct bus_keys *keys,
		      int64_t now_ns)
{
	bool is_changed = keys && keys->generation != connections->generation;

	if (now_ns - connections->swept_ns < SWEEP_NS)
		return false;
	connections->swept_ns = now_ns;
	for (size_t i = 0; i < connections->by_fd.n; i++) {
		struct bus_connection *connection = connections->by_fd.items[i];

		if (!connection)
			continue;
		if (!bus_connection_stands(connection->fd, connection->inode))
			forget(connections, connection);
		else if (is_changed && connection->key[0] &&
			 !bus_keys_client(keys, connection->key))
			bus_connection_end(connection);
	}
	if (keys)
		connections->generation = keys->generation;
	return true;
}
