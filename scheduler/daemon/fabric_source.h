/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fabric_source.h - the source of the fabric: its current state, and its routes.
 *
 * It reads a file, or asks antiphase-topology, again after each announced change.
 * Without a fabric the links are those of the hosts alone. A fabric is never changed
 * but replaced: 'on_change' is called once the new one is readable, and the old one
 * stays valid until that returns, so that callers can release what refers to it.
 */
#ifndef SCHEDULER_DAEMON_FABRIC_SOURCE_H
#define SCHEDULER_DAEMON_FABRIC_SOURCE_H

#include <stdint.h>

struct bus_keys;
struct err;
struct fabric_source;
struct loop;
struct routes;
struct scheduler_config;
struct topo;

struct fabric_source_opts {
	struct loop *loop; /* Borrowed, as all here. */
	const struct scheduler_config *config;
	const struct bus_keys *keys; /* NULL: none. */
	void (*on_change)(void *ctx);
	void *ctx;
};

/* Without a fabric; fabric_source_open() looks for one. */
struct fabric_source *fabric_source_new(const struct fabric_source_opts *opts);
void fabric_source_free(struct fabric_source *fabric); /* Accepts NULL. */
/* Reads the file, or sends a first request: 0, or -errno with 'err' filled. */
int fabric_source_open(struct fabric_source *fabric, struct err *err);
/* Once a second: asks the service again if that is due. */
void fabric_source_tick(struct fabric_source *fabric);
/* Reads the file again, or asks the service at the next tick. */
void fabric_source_reload(struct fabric_source *fabric);
/* Takes over the reference to 'topo'. */
void fabric_source_replace(struct fabric_source *fabric, struct topo *topo);

/* NULL while there is none; valid until the next one replaces it. */
struct topo *fabric_source_topo(const struct fabric_source *fabric);
struct routes *fabric_source_routes(const struct fabric_source *fabric);
/* When this fabric was loaded, wall clock; 0: never. */
int64_t fabric_source_since_us(const struct fabric_source *fabric);
/* Why there is no fabric, or no newer one; NULL: no error. */
const char *fabric_source_error(const struct fabric_source *fabric);

#endif
