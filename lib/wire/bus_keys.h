/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bus_keys.h - a directory of CURVE keys; for lib/wire/bus*.c and programs that list keys
 */
#ifndef LIB_WIRE_BUS_KEYS_H
#define LIB_WIRE_BUS_KEYS_H

#include "lib/base/vec.h"

#define BUS_Z85_CHARS 40 /* Of a key as text. */
#define BUS_KEY_BYTES 32
#define BUS_KEY_NAME  63 /* Characters of the name of an allowed key. */

struct bus_allowed {
	char name[BUS_KEY_NAME + 1];
	char z85[BUS_Z85_CHARS + 1];
};

struct bus_keys {
	char *directory; /* Owned. */
	char secret[BUS_Z85_CHARS + 1], public[BUS_Z85_CHARS + 1];
	char server[BUS_Z85_CHARS + 1];  /* Empty: unknown. */
	VEC(struct bus_allowed) allowed; /* Sorted by name. */
};

/* 0, or -EINVAL for what is no key. */
int bus_key_check(const char *z85);
/* Rereads the allow list; 0, or -errno and the list is unchanged. */
int bus_keys_reload(struct bus_keys *keys);
/* The name under which a public key is allowed, or NULL; borrowed. */
const char *bus_keys_name(const struct bus_keys *keys, const char *z85);
/* Free with bus_keys_free(). */
struct bus_keys *bus_keys_copy(const struct bus_keys *keys);

#endif
