/* SPDX-License-Identifier: Apache-2.0 */
/* key_lab.h - a folder with the key directories of some hosts, for tests of the bus */
#ifndef TESTS_UNIT_KEY_LAB_H
#define TESTS_UNIT_KEY_LAB_H

#include <stdlib.h>
#include <unistd.h>

#include "lib/wire/bus_keys.h"
#include "tests/unit/bus_fixture.h"

struct key_lab {
	char root[40];
};

static inline void
key_lab_open(struct key_lab *lab)
{
	strcpy(lab->root, "/tmp/antiphase-names-XXXXXX");
	assert_non_null(mkdtemp(lab->root));
}

static inline void
key_lab_close(struct key_lab *lab)
{
	char command[64];

	snprintf(command, sizeof command, "rm -r %s", lab->root);
	assert_int_equal(system(command), 0);
}

/* The directory of a host, in one of some buffers. */
static inline const char *
key_lab_dir(const struct key_lab *lab, const char *host)
{
	static char paths[4][80];
	static unsigned n;
	char *path = paths[n++ % 4];

	snprintf(path, sizeof paths[0], "%s/%s", lab->root, host);
	return path;
}

static inline struct bus_keys *
key_lab_load(const struct key_lab *lab, const char *host)
{
	struct bus_keys *keys;
	struct err err = { 0 };

	if (bus_keys_load(key_lab_dir(lab, host), &keys, &err) < 0)
		fail_msg("%s: %s", err.file, err.text);
	return keys;
}

static inline void
key_lab_public(const struct key_lab *lab, const char *host,
	       char ret_z85[BUS_Z85_CHARS + 1])
{
	struct bus_keys *keys = key_lab_load(lab, host);

	strcpy(ret_z85, keys->public);
	bus_keys_free(keys);
}

/* 'who' may connect to 'where', and speaks for 'hosts' (NULL: itself). */
static inline void
key_lab_allow(const struct key_lab *lab, const char *where, const char *who,
	      const char *hosts)
{
	char z85[BUS_Z85_CHARS + 1];

	key_lab_public(lab, who, z85);
	assert_int_equal(bus_keys_allow(key_lab_dir(lab, where), who, z85, hosts,
					BUS_KEYS_FIRST, NULL),
			 0);
}

/* 'who' finds 'server' at endpoints with this host (NULL: all), and believes it. */
static inline void
key_lab_trust(const struct key_lab *lab, const char *who, const char *server,
	      const char *host, const char *hosts)
{
	char z85[BUS_Z85_CHARS + 1];

	key_lab_public(lab, server, z85);
	assert_int_equal(bus_keys_server(key_lab_dir(lab, who), host, z85, hosts,
					 BUS_KEYS_FIRST, NULL),
			 0);
}

static inline void
key_lab_make(const struct key_lab *lab, const char *host)
{
	assert_int_equal(bus_keys_new(key_lab_dir(lab, host), NULL), 0);
}

#endif
