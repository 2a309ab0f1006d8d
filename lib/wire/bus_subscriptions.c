/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/wire/bus_subscriptions.h"

#include <stdint.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/vec.h"

/*
 * Messages of a peer that change nothing: a subscriber that is not malicious sends none,
 * except a proxy that is subscribed to twice.
 */
#define MAX_MISUSES 256

/* Sorted arrays, not a hash table: peers choose the prefixes, and could make them meet. */
struct prefix {
	uint32_t n_wanting; /* Connections, as ZeroMQ has them. */
	uint32_t n_refs;    /* Peers that hold it, the ended ones included. */
	size_t n;
	char bytes[];
};

typedef VEC(struct prefix *) prefix_list;

struct bus_subscriber {
	prefix_list held; /* Borrowed from 'all'. */
	size_t bytes;
	unsigned n_misuses, n_removes;
	bool is_named; /* By bus_subscriptions_excess(). */
	bool is_over;
};

struct bus_subscriptions {
	prefix_list all; /* Owned. */
	VEC(struct bus_subscriber *) peers;
	size_t bytes, n_wanted, max_peer_bytes, max_bytes;
	size_t n_over;      /* Peers above their own limit that are not named yet. */
	size_t named_bytes; /* Of peers that are named, whose connections are to end. */
};

static size_t
charge(size_t n)
{
	return n + BUS_SUBSCRIPTIONS_OVERHEAD;
}

/* In a second a peer may unsubscribe as much as it may hold, for a proxy that loses all. */
static size_t
max_removes(const struct bus_subscriptions *subscriptions)
{
	return subscriptions->max_peer_bytes / BUS_SUBSCRIPTIONS_OVERHEAD;
}

struct bus_subscriptions *
bus_subscriptions_new(size_t peer_bytes, size_t all_bytes)
{
	struct bus_subscriptions *subscriptions = xcalloc(1, sizeof *subscriptions);

	subscriptions->max_peer_bytes = peer_bytes;
	subscriptions->max_bytes = all_bytes;
	return subscriptions;
}

void
bus_subscriptions_free(struct bus_subscriptions *subscriptions)
{
	if (!subscriptions)
		return;
	while (subscriptions->peers.n)
		bus_subscriptions_disconnect(subscriptions,
					     subscriptions->peers.items[0]);
	for (size_t i = 0; i < subscriptions->all.n; i++)
		free(subscriptions->all.items[i]);
	vec_free(&subscriptions->all);
	vec_free(&subscriptions->peers);
	free(subscriptions);
}

/* ---- Sorted lists ---------------------------------------------------------------- */

static int
compare(const struct prefix *prefix, const char *bytes, size_t n)
{
	int order = memcmp(prefix->bytes, bytes, prefix->n < n ? prefix->n : n);

	return order ? order : (prefix->n > n) - (prefix->n < n);
}

/* The index of the prefix, or where to insert it. */
static size_t
find(const prefix_list *list, const char *bytes, size_t n, bool *ret_found)
{
	size_t low = 0, high = list->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(list->items[middle], bytes, n) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_found = low < list->n && compare(list->items[low], bytes, n) == 0;
	return low;
}

static void
insert(prefix_list *list, size_t at, struct prefix *prefix)
{
	vec_push(list, prefix);
	memmove(list->items + at + 1, list->items + at,
		(list->n - 1 - at) * sizeof *list->items);
	list->items[at] = prefix;
}

static void
take_out(prefix_list *list, size_t at)
{
	list->n--;
	memmove(list->items + at, list->items + at + 1,
		(list->n - at) * sizeof *list->items);
}

static void
free_if_unused(struct bus_subscriptions *subscriptions, struct prefix *prefix)
{
	bool is_found;
	size_t at;

	if (prefix->n_wanting || prefix->n_refs)
		return;
	at = find(&subscriptions->all, prefix->bytes, prefix->n, &is_found);
	take_out(&subscriptions->all, at);
	free(prefix);
}

/* One subscriber less; true if it was the last. */
static bool
drop_one(struct bus_subscriptions *subscriptions, struct prefix *prefix)
{
	bool is_last = --prefix->n_wanting == 0;

	subscriptions->bytes -= charge(prefix->n);
	subscriptions->n_wanted -= is_last;
	free_if_unused(subscriptions, prefix);
	return is_last;
}

/* ---- Peers ----------------------------------------------------------------------- */

struct bus_subscriber *
bus_subscriptions_connect(struct bus_subscriptions *subscriptions)
{
	struct bus_subscriber *peer = xcalloc(1, sizeof *peer);

	vec_push(&subscriptions->peers, peer);
	return peer;
}

void
bus_subscriptions_disconnect(struct bus_subscriptions *subscriptions,
			     struct bus_subscriber *peer)
{
	for (size_t i = 0; i < subscriptions->peers.n; i++)
		if (subscriptions->peers.items[i] == peer) {
			subscriptions->peers.items[i] =
				subscriptions->peers.items[--subscriptions->peers.n];
			break;
		}
	for (size_t i = 0; i < peer->held.n; i++) {
		peer->held.items[i]->n_refs--;
		free_if_unused(subscriptions, peer->held.items[i]);
	}
	subscriptions->n_over -= peer->is_over && !peer->is_named;
	if (peer->is_named)
		subscriptions->named_bytes -= peer->bytes;
	vec_free(&peer->held);
	free(peer);
}

static void
note_excess(struct bus_subscriptions *subscriptions, struct bus_subscriber *peer)
{
	if (peer->is_over || (peer->bytes <= subscriptions->max_peer_bytes &&
			      peer->n_misuses <= MAX_MISUSES &&
			      peer->n_removes <= max_removes(subscriptions)))
		return;
	peer->is_over = true;
	subscriptions->n_over += !peer->is_named;
}

void
bus_subscriptions_misuse(struct bus_subscriptions *subscriptions,
			 struct bus_subscriber *peer)
{
	peer->n_misuses++;
	note_excess(subscriptions, peer);
}

static void
count_bytes(struct bus_subscriptions *subscriptions, struct bus_subscriber *peer,
	    long bytes)
{
	peer->bytes += (size_t)bytes;
	if (peer->is_named)
		subscriptions->named_bytes += (size_t)bytes;
}

bool
bus_subscriptions_add(struct bus_subscriptions *subscriptions,
		      struct bus_subscriber *peer, const char *prefix, size_t n)
{
	bool is_held, is_known;
	size_t at = find(&peer->held, prefix, n, &is_held), at_all;
	struct prefix *p;

	if (is_held) {
		bus_subscriptions_misuse(subscriptions, peer);
		return false;
	}
	at_all = find(&subscriptions->all, prefix, n, &is_known);
	if (is_known) {
		p = subscriptions->all.items[at_all];
	} else {
		p = xcalloc(1, sizeof *p + n);
		p->n = n;
		memcpy(p->bytes, prefix, n);
		insert(&subscriptions->all, at_all, p);
	}
	insert(&peer->held, at, p);
	p->n_refs++;
	count_bytes(subscriptions, peer, (long)charge(n));
	subscriptions->bytes += charge(n);
	note_excess(subscriptions, peer);
	subscriptions->n_wanted += p->n_wanting == 0;
	return p->n_wanting++ == 0;
}

bool
bus_subscriptions_remove(struct bus_subscriptions *subscriptions,
			 struct bus_subscriber *peer, const char *prefix, size_t n)
{
	bool is_held;
	size_t at = find(&peer->held, prefix, n, &is_held);
	struct prefix *p;

	if (!is_held) {
		bus_subscriptions_misuse(subscriptions, peer);
		return false;
	}
	peer->n_removes++;
	note_excess(subscriptions, peer);
	p = peer->held.items[at];
	take_out(&peer->held, at);
	p->n_refs--;
	count_bytes(subscriptions, peer, -(long)charge(n));
	return drop_one(subscriptions, p);
}

bool
bus_subscriptions_drop(struct bus_subscriptions *subscriptions, const char *prefix,
		       size_t n)
{
	bool is_known;
	size_t at = find(&subscriptions->all, prefix, n, &is_known);

	if (!is_known || !subscriptions->all.items[at]->n_wanting)
		return false;
	return drop_one(subscriptions, subscriptions->all.items[at]);
}

/* ---- Limits ---------------------------------------------------------------------- */

void
bus_subscriptions_second(struct bus_subscriptions *subscriptions)
{
	for (size_t i = 0; i < subscriptions->peers.n; i++)
		subscriptions->peers.items[i]->n_removes = 0;
}

static struct bus_subscriber *
name(struct bus_subscriptions *subscriptions, struct bus_subscriber *peer)
{
	peer->is_named = true;
	subscriptions->named_bytes += peer->bytes;
	subscriptions->n_over -= peer->is_over;
	return peer;
}

struct bus_subscriber *
bus_subscriptions_excess(struct bus_subscriptions *subscriptions, const char **ret_why)
{
	struct bus_subscriber *most = NULL;

	if (!subscriptions->n_over &&
	    subscriptions->bytes <=
		    subscriptions->max_bytes + subscriptions->named_bytes)
		return NULL;
	for (size_t i = 0; i < subscriptions->peers.n; i++) {
		struct bus_subscriber *peer = subscriptions->peers.items[i];

		if (peer->is_named)
			continue;
		if (peer->is_over) {
			*ret_why = peer->n_misuses > MAX_MISUSES
					   ? "it sends what is no subscription"
				   : peer->n_removes > max_removes(subscriptions)
					   ? "it subscribes and unsubscribes too often"
					   : "it subscribes to too much";
			return name(subscriptions, peer);
		}
		if (!most || peer->bytes > most->bytes)
			most = peer;
	}
	if (!most)
		return NULL;
	*ret_why = "all subscribe to too much, and it to most";
	return name(subscriptions, most);
}

/* ---- Questions ------------------------------------------------------------------- */

bool
bus_subscriptions_match(const struct bus_subscriptions *subscriptions,
			const char *topic, size_t n)
{
	for (size_t length = 0; length <= n && subscriptions->n_wanted; length++) {
		bool is_found;
		size_t at = find(&subscriptions->all, topic, length, &is_found);

		if (is_found && subscriptions->all.items[at]->n_wanting)
			return true;
	}
	return false;
}

bool
bus_subscriptions_any(const struct bus_subscriptions *subscriptions)
{
	return subscriptions->n_wanted > 0;
}

size_t
bus_subscriptions_bytes(const struct bus_subscriptions *subscriptions)
{
	return subscriptions->bytes;
}
