/* SPDX-License-Identifier: Apache-2.0 */
/* write.h - writers of fabrics as text, to a stream */
#ifndef TOPOLOGY_WRITE_H
#define TOPOLOGY_WRITE_H

#include <stdio.h>

struct err;
struct topo;

/* The native JSON, which topo_json_read() reads; see docs/json.md. */
void topo_json_write(const struct topo *topo, FILE *out);

/*
 * Slurm's topology.yaml, for 25.05 and later, with one topology of the fabric's name;
 * and topology.conf, for any version.  Switches that serve the same hosts together are
 * one (domains.h): Slurm takes trees only.  Neither file has capacities.  Both return
 * 0, or -EINVAL with 'err' filled where Slurm's limits do not allow the fabric, and
 * then nothing is written.
 */
int topo_slurm_yaml_write(const struct topo *topo, FILE *out, struct err *err);
int topo_slurm_conf_write(const struct topo *topo, FILE *out, struct err *err);

/* Graphviz: a rank for each tier, highest on top; one edge for each cable. */
void topo_dot_write(const struct topo *topo, FILE *out);

#endif
