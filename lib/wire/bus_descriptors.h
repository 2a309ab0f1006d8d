/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bus_descriptors.h - the descriptors that connections of a bound socket may take
 *
 * libzmq accepts until the process has no descriptor left, and then spins: it has no limit.
 * The kernel gives each new connection the lowest free number, so a high number means that
 * many descriptors are in use.  Above the limit one connection is shut down: one that has
 * not finished its handshake, or else the new one.  The other descriptors are left to
 * metrics, pacers, HTTP and files.
 */
#ifndef LIB_WIRE_BUS_DESCRIPTORS_H
#define LIB_WIRE_BUS_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct bus_descriptors;

struct bus_descriptors *bus_descriptors_new(bool has_keys);
void bus_descriptors_free(struct bus_descriptors *descriptors); /* Accepts NULL. */
/* ZeroMQ accepted 'fd'.  True if some connection was shut down. */
bool bus_descriptors_opened(struct bus_descriptors *descriptors, int fd,
			    int64_t now_ns);
/* A connection that was accepted is closed. */
void bus_descriptors_closed(struct bus_descriptors *descriptors);

/* The inode of a socket, which tells whether 'fd' is still the same one; 0: none. */
ino_t bus_descriptors_inode(int fd);

#endif
