/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bus_wants.h - what the peers of an XPUB socket subscribe to, and how much of it
 *
 * ZeroMQ's trie holds one set of pipes for each prefix, without any limit, and tells of
 * each end of a connection once per prefix, without telling whose.  These tables follow
 * that trie exactly: an unsubscription counts only if it is of a peer that subscribed,
 * since otherwise any peer could unsubscribe the others.
 *
 * A peer that asks for too much is named, for the caller to end its connection; what it
 * asks for until then is still counted, as it is in ZeroMQ's trie.  Pure: no I/O.
 */
#ifndef LIB_WIRE_BUS_WANTS_H
#define LIB_WIRE_BUS_WANTS_H

#include <stdbool.h>
#include <stddef.h>

struct bus_wants;
struct bus_wants_peer;

/* Charged for a subscription besides its bytes: nodes and sets of ZeroMQ, and ours. */
#define BUS_WANTS_OVERHEAD 24

/*
 * Limits in charged bytes, of one peer and of all.  Measured: libzmq 4.3.4 and these
 * tables take up to 40 bytes of memory for each.
 */
struct bus_wants *bus_wants_new(size_t peer_bytes, size_t all_bytes);
void bus_wants_free(struct bus_wants *wants); /* Accepts NULL; also frees peers. */

struct bus_wants_peer *bus_wants_meet(struct bus_wants *wants);
/* The peer's connection has ended; ZeroMQ reports its prefixes to bus_wants_gone(). */
void bus_wants_forget(struct bus_wants *wants, struct bus_wants_peer *peer);

/* True if the prefix had no subscriber, or has none now: to be passed on by a proxy. */
bool bus_wants_add(struct bus_wants *wants, struct bus_wants_peer *peer,
		   const char *prefix, size_t n);
bool bus_wants_remove(struct bus_wants *wants, struct bus_wants_peer *peer,
		      const char *prefix, size_t n);
/* The end of a connection took one subscriber from the prefix. */
bool bus_wants_gone(struct bus_wants *wants, const char *prefix, size_t n);
/* The peer sent something that is no subscription of ours. */
void bus_wants_misuse(struct bus_wants *wants, struct bus_wants_peer *peer);

/* To be called once a second: peers may unsubscribe only so often in one. */
void bus_wants_second(struct bus_wants *wants);

/*
 * The next peer that exceeds a limit, with the reason; NULL: none.  Each is named once.
 * If all together ask for too much, it is the one that asks for most.
 */
struct bus_wants_peer *bus_wants_excess(struct bus_wants *wants, const char **ret_why);

/* True if some peer wants topics that begin like this one, or this one. */
bool bus_wants_match(const struct bus_wants *wants, const char *topic, size_t n);
bool bus_wants_any(const struct bus_wants *wants);
/* Charged at present. */
size_t bus_wants_bytes(const struct bus_wants *wants);

#endif
