/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bus_keys.h - a directory of CURVE keys, and the hosts that each key speaks for; for
 * lib/wire/bus*.c and programs that list keys
 *
 * A key has one name.  It speaks for the host of that name, or for the hosts that a file
 * beside it lists: 'allow/n1.pub' for n1, or for what 'allow/n1.hosts' says.
 */
#ifndef LIB_WIRE_BUS_KEYS_H
#define LIB_WIRE_BUS_KEYS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "lib/base/log.h"
#include "lib/base/vec.h"

struct err;

#define BUS_Z85_CHARS 40 /* Of a key as text. */
#define BUS_KEY_BYTES 32
#define BUS_KEY_NAME  63 /* Characters of the name of a key. */
#define BUS_KEYS_EACH 2  /* Keys of one name: an old one and a new one. */

/* A key of another side.  One with two keys has two of these, next to each other. */
struct bus_known {
	char name[BUS_KEY_NAME + 1]; /* Empty: that of server.pub. */
	char z85[BUS_Z85_CHARS + 1];
	int number;  /* Of the key in its file, from 0: the old one first. */
	char *hosts; /* Owned.  Patterns, divided by blanks; NULL: the name alone. */
};

typedef VEC(struct bus_known) bus_known_list;
typedef VEC(const struct bus_known *) bus_known_order;

struct bus_keys {
	char *directory; /* Owned. */
	char secret[BUS_Z85_CHARS + 1], public[BUS_Z85_CHARS + 1];
	bus_known_list allowed;     /* Clients, sorted by name. */
	bus_known_list servers;     /* Likewise; that of server.pub is the first. */
	bus_known_order by_key;     /* Those of 'allowed', sorted by key. */
	uint64_t generation;        /* Grows when a list changes. */
	struct timespec changed[2]; /* Of the folders, when they were read. */
	struct log_limit said;
};

/* 0, or -EINVAL for what is no key. */
int bus_key_check(const char *z85);
/* Names are file names: letters, digits, inner dots, dashes and underscores. */
bool bus_key_is_name(const char *name);

/*
 * Reads the one to BUS_KEYS_EACH keys of a file, one a line, or the only one if it is
 * secret.  Returns their number, or -errno with 'err' filled.
 */
int bus_keys_read(const char *path, bool is_secret,
		  char ret_z85[BUS_KEYS_EACH][BUS_Z85_CHARS + 1], struct err *err);
/* Rereads both lists; 0, or -errno with 'err' filled, and the lists are unchanged. */
int bus_keys_reload(struct bus_keys *keys, struct err *err);
/* The same if files were added, replaced or removed; a failure is logged. */
void bus_keys_refresh(struct bus_keys *keys);
/* Free with bus_keys_free(). */
struct bus_keys *bus_keys_copy(const struct bus_keys *keys);

/* The client with this public key, or NULL; borrowed until the lists are reread. */
const struct bus_known *bus_keys_client(const struct bus_keys *keys, const char *z85);
/*
 * Under which name the key of the server at 'endpoint' is known: the host in it, if
 * 'servers/HOST.pub' is there, or else "", for server.pub.
 */
void bus_keys_server_name(const struct bus_keys *keys, const char *endpoint,
			  char ret_name[BUS_KEY_NAME + 1]);
/* Its keys are numbered from 0, and then from 0 again; NULL: it has none.  Borrowed. */
const struct bus_known *bus_keys_server_key(const struct bus_keys *keys,
					    const char *name, unsigned number);

/* True if the key may name this host, or with NULL every host. */
bool bus_known_speaks_for(const struct bus_known *known, const char *host);

#endif
