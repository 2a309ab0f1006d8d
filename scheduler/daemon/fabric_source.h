/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fabric_source.h - the source of the fabric: what is known of it now, and its routes.
 *
 * It is read from a file, or asked of antiphase-topology and asked again when a change is
 * announced.  While there is none, links are those of the hosts alone.  A fabric is never
 * changed: another one replaces it, and 'on_change' is called once the new one is
 * readable; the one before stays valid until that returns, so that callers can let go of
 * what refers to it.
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
/* Reads the file, or begins to ask the service: 0, or -errno with 'err' filled. */
int fabric_source_open(struct fabric_source *fabric, struct err *err);
/* Once a second: asks the service again when that is due. */
void fabric_source_tick(struct fabric_source *fabric);
/* Reads the file anew, or asks the service at the next tick. */
void fabric_source_reload(struct fabric_source *fabric);
/* Takes the reference to 'topo'. */
void fabric_source_replace(struct fabric_source *fabric, struct topo *topo);

/* NULL while there is none; valid until the next one replaces it. */
struct topo *fabric_source_topo(const struct fabric_source *fabric);
struct routes *fabric_source_routes(const struct fabric_source *fabric);
/* When it was taken up, wall clock; 0: never. */
int64_t fabric_source_since_us(const struct fabric_source *fabric);
/* Why there is none, or none newer; NULL: all is well. */
const char *fabric_source_error(const struct fabric_source *fabric);

#endif
