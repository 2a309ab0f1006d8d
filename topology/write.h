/* SPDX-License-Identifier: Apache-2.0 */
/* write.h - writers of fabrics as text, to a stream */
#ifndef TOPOLOGY_WRITE_H
#define TOPOLOGY_WRITE_H

#include <stdio.h>

struct topo;

/* The native JSON, which topo_json_read() reads; see docs/json.md. */
void topo_json_write(const struct topo *topo, FILE *out);

/* Graphviz: a rank for each tier, highest on top; one edge for each cable. */
void topo_dot_write(const struct topo *topo, FILE *out);

#endif
