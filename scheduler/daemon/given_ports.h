/* SPDX-License-Identifier: Apache-2.0 */
/*
 * given_ports.h - wire ports that flows have, each of them one flow's only
 *
 * A flow is known by its true ports.  Flows between the same addresses, to the same
 * destination port, have different wire ports.  Each call O(1).
 */
#ifndef SCHEDULER_DAEMON_GIVEN_PORTS_H
#define SCHEDULER_DAEMON_GIVEN_PORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/port_message.h"

struct given_entry;

struct given_port {
	uint16_t port;    /* Network's order. */
	unsigned n_asked; /* For the caller; 0 at first. */
};

/* All zero: none is given. */
struct given_ports {
	struct given_entry *by_flow; /* Owned. */
	struct given_entry *by_wire; /* The same. */
};

void given_ports_free(struct given_ports *given); /* What it has, not 'given'. */

/* The flow's port, until it is taken back; NULL: it has none. */
struct given_port *given_ports_find(const struct given_ports *given,
				    const struct port_flow *flow);

/* No flow between the flow's two ends has the port. */
bool given_ports_is_free(const struct given_ports *given, const struct port_flow *flow,
			 uint16_t port);

/* Gives a port that is free to a flow that has none. */
void given_ports_give(struct given_ports *given, const struct port_flow *flow,
		      uint16_t port);

/* Nothing if the flow has none. */
void given_ports_take_back(struct given_ports *given, const struct port_flow *flow);

size_t given_ports_count(const struct given_ports *given);

#endif
