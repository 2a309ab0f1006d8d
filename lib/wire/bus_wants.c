/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/wire/bus_wants.h"

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

struct bus_wants_peer {
	prefix_list held; /* Borrowed from 'all'. */
	size_t bytes;
	unsigned n_misuses, n_removes;
	bool is_named; /* By bus_wants_excess(). */
	bool is_over;
};

struct bus_wants {
	prefix_list all; /* Owned. */
	VEC(struct bus_wants_peer *) peers;
	size_t bytes, n_wanted, max_peer_bytes, max_bytes;
	size_t n_over;      /* Peers above their own limit that are not named yet. */
	size_t named_bytes; /* Of peers that are named, whose connections are to end. */
};

static size_t
charge(size_t n)
{
	return n + BUS_WANTS_OVERHEAD;
}

/* In a second a peer may unsubscribe as much as it may hold, for a proxy that loses all. */
static size_t
max_removes(const struct bus_wants *wants)
{
	return wants->max_peer_bytes / BUS_WANTS_OVERHEAD;
}

struct bus_wants *
bus_wants_new(size_t peer_bytes, size_t all_bytes)
{
	struct bus_wants *wants = xcalloc(1, sizeof *wants);

	wants->max_peer_bytes = peer_bytes;
	wants->max_bytes = all_bytes;
	return wants;
}

void
bus_wants_free(struct bus_wants *wants)
{
	if (!wants)
		return;
	while (wants->peers.n)
		bus_wants_forget(wants, wants->peers.items[0]);
	for (size_t i = 0; i < wants->all.n; i++)
		free(wants->all.items[i]);
	vec_free(&wants->all);
	vec_free(&wants->peers);
	free(wants);
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
free_if_unused(struct bus_wants *wants, struct prefix *prefix)
{
	bool is_found;
	size_t at;

	if (prefix->n_wanting || prefix->n_refs)
		return;
	at = find(&wants->all, prefix->bytes, prefix->n, &is_found);
	take_out(&wants->all, at);
	free(prefix);
}

/* One subscriber less; true if it was the last. */
static bool
want_less(struct bus_wants *wants, struct prefix *prefix)
{
	bool is_last = --prefix->n_wanting == 0;

	wants->bytes -= charge(prefix->n);
	wants->n_wanted -= is_last;
	free_if_unused(wants, prefix);
	return is_last;
}

/* ---- Peers ----------------------------------------------------------------------- */

struct bus_wants_peer *
bus_wants_meet(struct bus_wants *wants)
{
	struct bus_wants_peer *peer = xcalloc(1, sizeof *peer);

	vec_push(&wants->peers, peer);
	return peer;
}

void
bus_wants_forget(struct bus_wants *wants, struct bus_wants_peer *peer)
{
	for (size_t i = 0; i < wants->peers.n; i++)
		if (wants->peers.items[i] == peer) {
			wants->peers.items[i] = wants->peers.items[--wants->peers.n];
			break;
		}
	for (size_t i = 0; i < peer->held.n; i++) {
		peer->held.items[i]->n_refs--;
		free_if_unused(wants, peer->held.items[i]);
	}
	wants->n_over -= peer->is_over && !peer->is_named;
	if (peer->is_named)
		wants->named_bytes -= peer->bytes;
	vec_free(&peer->held);
	free(peer);
}

static void
note_excess(struct bus_wants *wants, struct bus_wants_peer *peer)
{
	if (peer->is_over ||
	    (peer->bytes <= wants->max_peer_bytes && peer->n_misuses <= MAX_MISUSES &&
	     peer->n_removes <= max_removes(wants)))
		return;
	peer->is_over = true;
	wants->n_over += !peer->is_named;
}

void
bus_wants_misuse(struct bus_wants *wants, struct bus_wants_peer *peer)
{
	peer->n_misuses++;
	note_excess(wants, peer);
}

static void
count_bytes(struct bus_wants *wants, struct bus_wants_peer *peer, long bytes)
{
	peer->bytes += (size_t)bytes;
	if (peer->is_named)
		wants->named_bytes += (size_t)bytes;
}

bool
bus_wants_add(struct bus_wants *wants, struct bus_wants_peer *peer, const char *prefix,
	      size_t n)
{
	bool is_held, is_known;
	size_t at = find(&peer->held, prefix, n, &is_held), at_all;
	struct prefix *p;

	if (is_held) {
		bus_wants_misuse(wants, peer);
		return false;
	}
	at_all = find(&wants->all, prefix, n, &is_known);
	if (is_known) {
		p = wants->all.items[at_all];
	} else {
		p = xcalloc(1, sizeof *p + n);
		p->n = n;
		memcpy(p->bytes, prefix, n);
		insert(&wants->all, at_all, p);
	}
	insert(&peer->held, at, p);
	p->n_refs++;
	count_bytes(wants, peer, (long)charge(n));
	wants->bytes += charge(n);
	note_excess(wants, peer);
	wants->n_wanted += p->n_wanting == 0;
	return p->n_wanting++ == 0;
}

bool
bus_wants_remove(struct bus_wants *wants, struct bus_wants_peer *peer,
		 const char *prefix, size_t n)
{
	bool is_held;
	size_t at = find(&peer->held, prefix, n, &is_held);
	struct prefix *p;

	if (!is_held) {
		bus_wants_misuse(wants, peer);
		return false;
	}
	peer->n_removes++;
	note_excess(wants, peer);
	p = peer->held.items[at];
	take_out(&peer->held, at);
	p->n_refs--;
	count_bytes(wants, peer, -(long)charge(n));
	return want_less(wants, p);
}

bool
bus_wants_gone(struct bus_wants *wants, const char *prefix, size_t n)
{
	bool is_known;
	size_t at = find(&wants->all, prefix, n, &is_known);

	if (!is_known || !wants->all.items[at]->n_wanting)
		return false;
	return want_less(wants, wants->all.items[at]);
}

/* ---- Limits ---------------------------------------------------------------------- */

void
bus_wants_second(struct bus_wants *wants)
{
	for (size_t i = 0; i < wants->peers.n; i++)
		wants->peers.items[i]->n_removes = 0;
}

static struct bus_wants_peer *
name(struct bus_wants *wants, struct bus_wants_peer *peer)
{
	peer->is_named = true;
	wants->named_bytes += peer->bytes;
	wants->n_over -= peer->is_over;
	return peer;
}

struct bus_wants_peer *
bus_wants_excess(struct bus_wants *wants, const char **ret_why)
{
	struct bus_wants_peer *most = NULL;

	if (!wants->n_over && wants->bytes <= wants->max_bytes + wants->named_bytes)
		return NULL;
	for (size_t i = 0; i < wants->peers.n; i++) {
		struct bus_wants_peer *peer = wants->peers.items[i];

		if (peer->is_named)
			continue;
		if (peer->is_over) {
			*ret_why = peer->n_misuses > MAX_MISUSES
					   ? "it sends what is no subscription"
				   : peer->n_removes > max_removes(wants)
					   ? "it subscribes and unsubscribes too often"
					   : "it subscribes to too much";
			return name(wants, peer);
		}
		if (!most || peer->bytes > most->bytes)
			most = peer;
	}
	if (!most)
		return NULL;
	*ret_why = "all subscribe to too much, and it to most";
	return name(wants, most);
}

/* ---- Questions ------------------------------------------------------------------- */

bool
bus_wants_match(const struct bus_wants *wants, const char *topic, size_t n)
{
	for (size_t length = 0; length <= n && wants->n_wanted; length++) {
		bool is_found;
		size_t at = find(&wants->all, topic, length, &is_found);

		if (is_found && wants->all.items[at]->n_wanting)
			return true;
	}
	return false;
}

bool
bus_wants_any(const struct bus_wants *wants)
{
	return wants->n_wanted > 0;
}

size_t
bus_wants_bytes(const struct bus_wants *wants)
{
	return wants->bytes;
}
