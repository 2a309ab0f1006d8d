/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bus_subscriptions.h - the prefixes that each peer of an XPUB socket subscribes to, and
 * their size
 *
 * ZeroMQ's trie holds the connections of each prefix, without any limit.  When a
 * connection ends, ZeroMQ reports each of its prefixes once, but not whose it was.  These
 * tables follow the trie exactly: an unsubscription counts only if the same peer has
 * subscribed, since otherwise a peer could cancel the subscriptions of others.
 *
 * bus_subscriptions_excess() names a peer above a limit, and the caller ends its connection;
 * until then all its subscriptions count, as they do in ZeroMQ's trie.  Pure: no I/O.
 */
#ifndef LIB_WIRE_BUS_SUBSCRIPTIONS_H
#define LIB_WIRE_BUS_SUBSCRIPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct bus_subscriptions;
struct bus_subscriber;

/* Charged for a subscription besides its bytes: nodes and sets of ZeroMQ, and ours. */
#define BUS_SUBSCRIPTIONS_OVERHEAD 24

/*
 * Limits in charged bytes, of one peer and of all.  Measured: libzmq 4.3.4 and these
 * tables take up to 40 bytes of memory for each.
 */
struct bus_subscriptions *bus_subscriptions_new(size_t peer_bytes, size_t all_bytes);
/* Accepts NULL; also frees its subscribers. */
void bus_subscriptions_free(struct bus_subscriptions *subscriptions);

struct bus_subscriber *
bus_subscriptions_connect(struct bus_subscriptions *subscriptions);
/* Its connection has ended; ZeroMQ then reports its prefixes: bus_subscriptions_drop(). */
void bus_subscriptions_disconnect(struct bus_subscriptions *subscriptions,
				  struct bus_subscriber *peer);

/* True if the prefix had no subscriber, or has none now: to be passed on by a proxy. */
bool bus_subscriptions_add(struct bus_subscriptions *subscriptions,
			   struct bus_subscriber *peer, const char *prefix, size_t n);
bool bus_subscriptions_remove(struct bus_subscriptions *subscriptions,
			      struct bus_subscriber *peer, const char *prefix,
			      size_t n);
/* The end of a connection took one subscriber from the prefix. */
bool bus_subscriptions_drop(struct bus_subscriptions *subscriptions, const char *prefix,
			    size_t n);
/* The peer sent something that is no subscription of ours. */
void bus_subscriptions_misuse(struct bus_subscriptions *subscriptions,
			      struct bus_subscriber *peer);

/* To be called once a second: peers may unsubscribe only so often in one. */
void bus_subscriptions_second(struct bus_subscriptions *subscriptions);

/*
 * The next peer that exceeds a limit, with the reason; NULL: none.  Each is named once.
 * If all together ask for too much, it is the one that asks for most.
 */
struct bus_subscriber *bus_subscriptions_excess(struct bus_subscriptions *subscriptions,
						const char **ret_why);

/* True if some peer subscribes to a prefix of this topic. */
bool bus_subscriptions_match(const struct bus_subscriptions *subscriptions,
			     const char *topic, size_t n);
bool bus_subscriptions_any(const struct bus_subscriptions *subscriptions);
/* Charged at present. */
size_t bus_subscriptions_bytes(const struct bus_subscriptions *subscriptions);

#endif
