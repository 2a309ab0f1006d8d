/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address.h - IP addresses of both families as 16 bytes
 *
 * An IPv4 address is mapped: ::ffff:a.b.c.d.  So addresses of both families are compared
 * and hashed alike.  Each address has one text; "::ffff:10.0.0.1" is not accepted.
 */
#ifndef LIB_BASE_ADDRESS_H
#define LIB_BASE_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

/* "ffff:...", with its terminator; as INET6_ADDRSTRLEN. */
#define ADDRESS_TEXT_BYTES 46

bool address_is_ipv4(const uint8_t address[16]);

/* Reads "10.0.0.1" or "fd00::1".  0, or -EINVAL. */
int address_parse(const char *text, uint8_t ret_address[16]);

/* Writes the same; returns 'ret_text'. */
const char *address_write(const uint8_t address[16], char ret_text[ADDRESS_TEXT_BYTES]);

#endif
