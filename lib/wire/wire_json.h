/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_json.h - addresses and ports in the JSON of messages
 *
 * Each function returns 0, or -EINVAL with the place of the fault in 'err'.  Ports are in
 * the network's byte order.
 */
#ifndef LIB_WIRE_WIRE_JSON_H
#define LIB_WIRE_WIRE_JSON_H

#include <stdint.h>

#include "lib/base/json.h"

/* JSON holds integers below 2^53. */
#define WIRE_JSON_MAX_NUMBER ((INT64_C(1) << 53) - 1)

/* A string that is an address of IPv4 or IPv6. */
int wire_json_address(const struct json_doc *doc, const struct json *value,
		      uint8_t ret_address[16], struct err *err);

/* The members 'source' and 'destination' of an object: addresses of one family. */
int wire_json_ends(const struct json_doc *doc, const struct json *object,
		   uint8_t ret_source[16], uint8_t ret_destination[16],
		   struct err *err);

/* Member 'key' of an object: a port, 1 to 65535. */
int wire_json_port(const struct json_doc *doc, const struct json *object,
		   const char *key, uint16_t *ret_port, struct err *err);

/* An element of an array: an integer of 1 to 'max'. */
int wire_json_element(const struct json_doc *doc, const struct json *value, int max,
		      unsigned *ret_number, struct err *err);

#endif
