/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bus_subscriptions.h - what the peers of an XPUB socket subscribe to, and how much of it
 *
 * ZeroMQ's trie holds one set of pipes for each prefix, without any limit, and tells of
 * each end of a connection once per prefix, without telling whose.  These tables follow
 * that trie exactly: an unsubscription counts only if it is of a peer that subscribed,
 * since otherwise any peer could unsubscribe the others.
 *
 * A peer that asks for too much is named, for the caller to end its connection; what it
 * asks for until then is still counted, as it is in ZeroMQ's trie.  Pure: no I/O.
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
void bus_subscriptions_free(
	struct bus_subscriptions *subscriptions); /* Accepts NULL; also frees peers. */

struct bus_subscriber *
bus_subscriptions_connect(struct bus_subscriptions *subscriptions);
/* The peer's connection has ended; ZeroMQ reports its prefixes to bus_subscriptions_drop(). */
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

/* True if some peer subscriptions topics that begin like this one, or this one. */
bool bus_subscriptions_match(const struct bus_subscriptions *subscriptions,
			     const char *topic, size_t n);
bool bus_subscriptions_any(const struct bus_subscriptions *subscriptions);
/* Charged at present. */
size_t bus_subscriptions_bytes(const struct bus_subscriptions *subscriptions);

#endif
