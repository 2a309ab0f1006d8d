/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_rounds.h - the probes of one order, round by round
 *
 * Each port is probed hop by hop.  In a round all ports whose path is not known are
 * probed at once: a hop that answers is followed by the next one, and a port whose hop
 * does not answer within PROBE_WAIT_NS waits for the next round.
 *
 * Why rounds: a switch limits its answers.  Linux sends a host 6 at once and then one a
 * second (net.ipv4.icmp_ratelimit), so a missing answer may be the limit, and the next
 * round, a second later, gets at least one more.  Ports are given up after
 * PROBE_MAX_IDLE rounds in a row without any answer.  N ports through one switch take
 * about N - 6 s on Linux, less on most switches.
 *
 * No port is probed beyond a hop that did not answer, so a packet can arrive at the
 * destination only if the order names a hop that is not there.  Then all probing ends.
 *
 * Pure: time is an argument, I/O callbacks are handed in.
 */
#ifndef COLLECTOR_PATHS_PROBE_ROUNDS_H
#define COLLECTOR_PATHS_PROBE_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/probe_text.h"

/* Less than a second, after which TCP would send again. */
#define PROBE_WAIT_NS  INT64_C(500000000)
#define PROBE_ROUND_NS INT64_C(1100000000) /* Above Linux's second. */
#define PROBE_MAX_IDLE 3                   /* Chosen. */

struct probe_rounds_io {
	void *ctx;
	/* Sends a packet of port number 'i' of the order.  0, or -errno. */
	int (*send)(void *ctx, size_t i, const struct probe_message *message,
		    uint8_t hop);
	/* The answer, or the wait for it, is over. */
	void (*end)(void *ctx, size_t i);
};

struct probe_rounds {
	struct probe_rounds_io io;
	struct probe_message message;  /* The answer, as far as it is known. */
	bool is_sent[PROBE_MAX_PORTS]; /* Waits for the answer of a hop. */
	int64_t sent_ns[PROBE_MAX_PORTS];
	size_t n_sent;
	int64_t round_ns; /* Of the current round's begin. */
	unsigned n_idle;  /* Rounds without an answer in a row. */
	bool is_progress; /* This round had an answer. */
	uint64_t n_packets;
};

/* Begins the first round. */
void probe_rounds_begin(struct probe_rounds *rounds, int64_t now_ns,
			const struct probe_rounds_io *io,
			const struct probe_message *order);

/* What became of the packet of port number 'i'. */
void probe_rounds_hop(struct probe_rounds *rounds, int64_t now_ns, size_t i,
		      const uint8_t address[16]);
void probe_rounds_reached(struct probe_rounds *rounds, size_t i);
void probe_rounds_failed(struct probe_rounds *rounds, size_t i);

/* Ends waits and begins rounds that are due; does nothing before that. */
void probe_rounds_tick(struct probe_rounds *rounds, int64_t now_ns);

/* All ports have a state; 'message' is the answer. */
bool probe_rounds_are_over(const struct probe_rounds *rounds);

/* Ends all waits. */
void probe_rounds_stop(struct probe_rounds *rounds);

#endif
