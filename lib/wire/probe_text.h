/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_text.h - orders to find out which path a source port takes, and answers, as JSON
 *
 *	{"schema":"antiphase.probe/1","kind":"order","number":7,"source":"10.0.0.1",
 *	 "destination":"10.0.1.1","destination_port":5001,"hops":[2],
 *	 "ports":[61000,61001]}
 *	{"schema":"antiphase.probe/1","kind":"answer","number":7,"source":"10.0.0.1",
 *	 "destination":"10.0.1.1","destination_port":5001,"hops":[2],
 *	 "ports":[{"port":61000,"state":"found","addresses":["10.79.0.1"]},
 *	          {"port":61001,"state":"silent","addresses":[]}]}
 *
 * An order asks the host of the source address which switches packets with these ports
 * pass.  'hops' are the hop counts to probe, ascending: switch 1 is next to the source.
 * 'addresses' are those of the switches that answered, in the order of 'hops', up to the
 * first that did not.
 *
 * The topic of both is "probe/SOURCE/".  Pure.
 */
#ifndef LIB_WIRE_PROBE_TEXT_H
#define LIB_WIRE_PROBE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define PROBE_TOPIC "probe/"
/* "probe/ADDRESS/", with its terminator. */
#define PROBE_TOPIC_BYTES 56

#define PROBE_MAX_HOPS  8   /* Chosen: a fat tree of three tiers has 5 switches. */
#define PROBE_MAX_HOP   16  /* Chosen. */
#define PROBE_MAX_PORTS 128 /* Chosen: of an order. */

enum probe_state {
	PROBE_ASKED,   /* Not known yet; in orders. */
	PROBE_FOUND,   /* All hops answered. */
	PROBE_SILENT,  /* A hop did not answer, though asked several times. */
	PROBE_REACHED, /* A packet arrived at the destination: it has fewer hops. */
	PROBE_FAILED,  /* The host does not probe this port, or cannot. */
};

struct probe_port {
	uint16_t port; /* Network's order. */
	enum probe_state state;
	uint8_t n_addresses;
	uint8_t addresses[PROBE_MAX_HOPS][16]; /* lib/base/address.h */
};

struct probe_message {
	bool is_answer;
	uint64_t number; /* Of the order; below 2^53. */
	uint8_t source[16], destination[16];
	uint16_t destination_port; /* Network's order. */
	uint8_t hops[PROBE_MAX_HOPS];
	size_t n_hops;
	struct probe_port ports[PROBE_MAX_PORTS];
	size_t n_ports;
};

/* The message as one line of JSON.  Free with free(). */
char *probe_text_write(const struct probe_message *message);

/*
 * Reads 'text', terminated, of 'n' bytes.  Returns 0, or -EINVAL with 'err' filled for
 * what is no such message: unknown keys, kinds or states, addresses of two families, no
 * hops or ports, hops that do not ascend, a port twice, numbers of addresses that do not
 * fit the state.
 */
int probe_text_parse(const char *text, size_t n, struct probe_message *ret_message,
		     struct err *err);

/* The topic of a host's address. */
void probe_text_topic_of(const uint8_t source[16], char ret_topic[PROBE_TOPIC_BYTES]);

#endif
