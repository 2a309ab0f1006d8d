/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bus_speakers.h - which connection may name which host, and does; for lib/wire/bus*.c
 *
 * With keys, a publisher may name only the hosts that its key speaks for.  Where
 * publishers connect, the gate has told ZeroMQ the key of each connection; where they are
 * connected to, each key has a socket of its own (bus_inputs.h).  Topics say who speaks:
 *
 *	topic                                 may be sent by a key that speaks for
 *	s/HOST/ and other frames, flow/HOST/,
 *	pace/HOST/                            this host
 *	port/ADDRESS/, probe/ADDRESS/         any host
 *	all others                            every host ("*")
 *
 * And a host has one sender: while one connection sends frames of a host, another one with
 * frames of it, of a different start, is a second host of the same name, and is
 * refused.  The connections of two proxies that pass on the same sender are not.
 *
 * Subscribers of a bound socket are likewise bound: to "pace/HOST/" of their own hosts.
 */
#ifndef LIB_WIRE_BUS_SPEAKERS_H
#define LIB_WIRE_BUS_SPEAKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bus_context;
struct bus_known;
struct bus_part;
struct bus_speakers;

/* After this time without a frame, a host may come from another connection. */
#define BUS_SPEAKER_HOLD_NS INT64_C(5000000000)

/* 'context' is borrowed and has keys. */
struct bus_speakers *bus_speakers_new(struct bus_context *context);
void bus_speakers_free(struct bus_speakers *speakers); /* Accepts NULL. */
/* About once a second. */
void bus_speakers_serve(struct bus_speakers *speakers);

/*
 * True if the sender of a message may use its topic.  'part' is any part of the message.
 * 'server': the name under which the key of the server is known (bus_keys.h); NULL: the
 * socket is bound.
 */
bool bus_speakers_may_send(struct bus_speakers *speakers, struct bus_part *part,
			   const char *server, const char *topic, size_t n);
/*
 * Then, for a frame: true if no other connection speaks for the host.  'start_id' is that
 * of the sender, or 0 if it is unknown.
 */
bool bus_speakers_claim(struct bus_speakers *speakers, struct bus_part *part,
			const char *server, const char *host, uint64_t start_id);

struct bus_speakers_counts {
	uint64_t misnamed;   /* Messages with topics that their sender may not use. */
	uint64_t duplicates; /* Frames of a second sender of a host. */
};
const struct bus_speakers_counts *
bus_speakers_counts(const struct bus_speakers *speakers);

/*
 * True if a client may subscribe to this prefix: to orders for its own hosts, and to all
 * that is for no host.  'is_strict': and to frames of its own hosts only.
 */
bool bus_may_hear(const struct bus_known *known, const char *prefix, size_t n,
		  bool is_strict);

#endif
