/* SPDX-License-Identifier: Apache-2.0 */
/*
 * routing.h - what a fabric must be like for its routing method (struct topo_routing)
 *
 * Pure functions of the method and of numbers of switches; route*.c finds the paths.
 */
#ifndef TOPOLOGY_ROUTING_H
#define TOPOLOGY_ROUTING_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/topo.h"

struct err;
struct strbuf;

/*
 * Returns 0 if a fabric of 'n_switches' switches, 'n_upper' of them above tier 1, can
 * have this routing; else -EINVAL with what was expected in 'err' (may be NULL).
 */
int topo_routing_check(const struct topo_routing *routing, uint32_t n_switches,
		       uint32_t n_upper, struct err *err);

/* Whether a cable may connect switches number 'a' and 'b'. */
bool topo_routing_allows(const struct topo_routing *routing, uint32_t a, uint32_t b);

/* Where a switch is in a torus: 'ret_at' has room for TOPO_MAX_DIMS. */
void topo_torus_place(const struct topo_routing *routing, uint32_t number,
		      uint32_t *ret_at);

bool topo_routing_is_same(const struct topo_routing *a, const struct topo_routing *b);
uint64_t topo_routing_mix(const struct topo_routing *routing, uint64_t digest);

/* Appends "up-down", "torus 8x8x4" or "dragonfly of 9 groups, minimal". */
void topo_routing_text(const struct topo_routing *routing, struct strbuf *out);

/* Reads "8", "8x8" or "8x8x4" into a torus.  Returns 0 or -EINVAL. */
int topo_torus_parse(const char *text, struct topo_routing *ret_routing);

#endif
