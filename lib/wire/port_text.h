/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_text.h - messages about wire ports as JSON, and their topics
 *
 *	{"schema":"antiphase.port/1","verb":"prepare","job":"4711","source":"10.0.0.1",
 *	 "source_port":41000,"destination":"10.0.1.1","destination_port":5001,
 *	 "port":61007,"number":1763650000000000}
 *
 * The topic is "port/ADDRESS/", with the address of the host that the message is for:
 * the sender's for PORT_MOVE and for answers of the receiver, else the receiver's.  So
 * the scheduler passes messages on between collectors without a table of hosts.  Pure.
 */
#ifndef LIB_WIRE_PORT_TEXT_H
#define LIB_WIRE_PORT_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/wire/port_message.h"

struct err;

#define PORT_TOPIC "port/"
/* "port/ADDRESS/", with its terminator. */
#define PORT_TOPIC_BYTES 56

/* The message as one line of JSON.  Free with free(). */
char *port_text_write(const struct port_message *message);

/* Reads "10.0.0.1:41000" or "[fd00::1]:41000".  0, or -EINVAL. */
int port_text_end(const char *text, uint8_t ret_address[16], uint16_t *ret_port);
/* Writes the same. */
#define PORT_TEXT_END_BYTES 56
const char *port_text_write_end(const uint8_t address[16], uint16_t port,
				char ret_text[PORT_TEXT_END_BYTES]);

/*
 * Reads 'text', terminated, of 'n' bytes.  Returns 0, or -EINVAL with 'err' filled for
 * what is no such message: unknown keys or verbs, addresses of two families, ports of 0.
 */
int port_text_parse(const char *text, size_t n, struct port_message *ret_message,
		    struct err *err);

/* The topic of a host's address, and that of a message. */
void port_text_topic_of(const uint8_t address[16], char ret_topic[PORT_TOPIC_BYTES]);
void port_text_topic(const struct port_message *message,
		     char ret_topic[PORT_TOPIC_BYTES]);

/* "10.0.0.1:41000 > 10.0.1.1:5001", for logs and lists. */
#define PORT_TEXT_FLOW_BYTES 116
const char *port_text_flow(const struct port_flow *flow,
			   char ret_text[PORT_TEXT_FLOW_BYTES]);

#endif
