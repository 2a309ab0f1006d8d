/* SPDX-License-Identifier: Apache-2.0 */
/* json_routing.h - "routing" of the native JSON (docs/json.md), for in_json.c, out_json.c */
#ifndef TOPOLOGY_JSON_ROUTING_H
#define TOPOLOGY_JSON_ROUTING_H

#include <stdint.h>

struct err;
struct json;
struct json_doc;
struct jsonw;
struct topo_routing;

/*
 * Reads the object 'value' for a fabric with these switches.  Returns 0, or -EINVAL with
 * the line and what was expected in 'err'.
 */
int topo_json_routing_read(const struct json_doc *doc, const struct json *value,
			   uint32_t n_switches, uint32_t n_upper,
			   struct topo_routing *ret_routing, struct err *err);

/* Writes it; nothing for TOPO_UP_DOWN, which is the default. */
void topo_json_routing_write(const struct topo_routing *routing, struct jsonw *w);

#endif
