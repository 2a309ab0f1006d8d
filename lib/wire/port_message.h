/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_message.h - messages between the two ends of a flow about its wire port
 *
 *	sender					receiver
 *	  PREPARE port, number  ---------------->  installs it
 *	  installs it  <------------------------  READY, or REFUSED
 *	  USING port, number  ------------------>  retires the entries with smaller
 *						   numbers; removes them later
 *	  <-------------------------------------  SETTLED
 *
 * The channel may lose, repeat, delay and reorder messages: each one is repeated until
 * its answer arrives, and numbers, which grow with each order for a flow, tell old
 * messages from new ones.
 *
 * Why no flow is stranded: the sender uses a port only after READY of its number; the
 * receiver retires an entry only after USING of a greater number, which the sender
 * sends only after its programs have stopped using the smaller one; and packets that
 * are in flight at that time arrive before the retired entry is removed.  Both ends
 * keep their entries in maps that survive a killed process, with the numbers, and begin
 * with what is in them.
 */
#ifndef LIB_WIRE_PORT_MESSAGE_H
#define LIB_WIRE_PORT_MESSAGE_H

#include <stdint.h>

#include "bpf/port_translate.h"
#include "lib/wire/tele.h"

enum port_verb {
	PORT_MOVE,    /* From the scheduler to the sender: take this port. */
	PORT_PREPARE, /* To the receiver: I want to use this port. */
	PORT_READY,   /* To the sender: you may. */
	PORT_REFUSED, /* To the sender: you may not; I have no such entry.  From the
			 sender, with number 0: I do not carry out PORT_MOVE. */
	PORT_USING,   /* To the receiver: I use this port, and none before it. */
	PORT_SETTLED, /* To the sender: understood. */
};

struct port_message {
	enum port_verb verb;
	struct port_flow flow; /* As both stacks see it, with its true ports. */
	uint16_t port;         /* Network's order; the flow's own: no translation. */
	uint64_t number;       /* 0 in PORT_MOVE. */
	char job[TELE_MAX_NAME + 1]; /* In PREPARE and USING. */
};

#endif
