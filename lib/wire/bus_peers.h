/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bus_peers.h - the subscribers of an XPUB socket, ended when they ask for too much;
 * for lib/wire/bus*.c
 *
 * ZeroMQ has no limit on subscriptions, and manual mode keeps refused ones too.  So every
 * one is reported here (ZMQ_XPUB_VERBOSER), counted by the connection that it came on,
 * and a connection that asks for too much is shut down, or, with keys, for what is for hosts
 * that its key does not speak for (bus_speakers.h).
 */
#ifndef LIB_WIRE_BUS_PEERS_H
#define LIB_WIRE_BUS_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bus_part;
struct bus_peers;
struct bus_socket;

/*
 * Charged bytes (bus_subscriptions.h) of the subscriptions to one host's publisher, or to a
 * cluster's: 10,000 collectors with 7 topics each charge 3.5 MB.  One connection may
 * ask for a quarter.  Memory is not all: at each end of a connection ZeroMQ walks the
 * whole trie, so a host's publisher has room for what its few subscribers need.
 */
#define BUS_PEERS_HOST_BYTES    (64 << 10)
#define BUS_PEERS_CLUSTER_BYTES (4 << 20)

/* Before 's' is bound or connected; borrows it. */
struct bus_peers *bus_peers_new(struct bus_socket *s, size_t max_bytes);
void bus_peers_free(struct bus_peers *peers); /* Accepts NULL; before the socket. */
/* With keys, clients may also subscribe to frames of their own hosts only. */
void bus_peers_be_strict(struct bus_peers *peers);

/*
 * Takes the next subscription.  1: it changes what is wanted, and 'part' is the message
 * for the other side of a proxy; 0: it does not; -EAGAIN: there is none.
 */
int bus_peers_take(struct bus_peers *peers, struct bus_part *part);
/* Ends connections above a limit, and forgets those that have ended. */
void bus_peers_serve(struct bus_peers *peers);

bool bus_peers_want(const struct bus_peers *peers, const char *topic, size_t n);
bool bus_peers_want_any(const struct bus_peers *peers);
/* Connections ended for what they asked for, or for how much. */
uint64_t bus_peers_ended(const struct bus_peers *peers);

#endif
