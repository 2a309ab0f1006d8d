/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect_text.h - source ports for the next connections of a job, as JSON
 *
 *	{"schema":"antiphase.connect/1","job":"4711","source":"10.0.0.1",
 *	 "destination":"10.0.1.1","destination_port":5001,"ports":[61750,61753]}
 *
 * The scheduler sends it to the host of the source address, under "connect/SOURCE/": the
 * next TCP connections that processes of the job open there to this destination are to
 * have these source ports, because they take the paths that are wanted for them, the first
 * one first.  It replaces what was sent before for the same job and destination; without
 * ports it withdraws that.  What is not repeated for CONNECT_KEEP_NS ends by itself.
 *
 * The ports are of port_range_connect().  Pure.
 */
#ifndef LIB_WIRE_CONNECT_TEXT_H
#define LIB_WIRE_CONNECT_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/connect_port.h"
#include "lib/wire/tele.h"

struct err;

#define CONNECT_TOPIC "connect/"
/* "connect/ADDRESS/", with its terminator. */
#define CONNECT_TOPIC_BYTES 56

/* Chosen: four repetitions are missing. */
#define CONNECT_KEEP_NS   INT64_C(60000000000)
#define CONNECT_REPEAT_NS INT64_C(15000000000)

struct connect_message {
	char job[TELE_MAX_NAME + 1];
	uint8_t source[16], destination[16];
	uint16_t destination_port;         /* Network's order, as the following. */
	uint16_t ports[CONNECT_MAX_PORTS]; /* All different. */
	size_t n_ports;
};

/* The message as one line of JSON.  Free with free(). */
char *connect_text_write(const struct connect_message *message);

/*
 * Reads 'text', terminated, of 'n' bytes.  Returns 0, or -EINVAL with 'err' filled for
 * what is no such message: unknown keys, addresses of two families, more than
 * CONNECT_MAX_PORTS ports, a port twice.
 */
int connect_text_parse(const char *text, size_t n, struct connect_message *ret_message,
		       struct err *err);

/* The topic of a host's address. */
void connect_text_topic_of(const uint8_t source[16],
			   char ret_topic[CONNECT_TOPIC_BYTES]);

#endif
