/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_slurm_priv.h - shared by in_slurm.c, which reads the lines of topology.conf, and
 * in_slurm_build.c, which builds a fabric from its switches
 */
#ifndef TOPOLOGY_IN_SLURM_PRIV_H
#define TOPOLOGY_IN_SLURM_PRIV_H

#include <stdint.h>

#include "lib/base/vec.h"
#include "topology/read_priv.h"

struct err;
struct strtab;
struct topo;

enum slurm_key {
	SLURM_KEY_SWITCH_NAME,
	SLURM_KEY_SWITCHES,
	SLURM_KEY_NODES,
	SLURM_KEY_LINK_SPEED,
	SLURM_KEY_LEVEL, /* Only in 'scontrol show topology'. */
	N_SLURM_KEYS,
};

/* One line about a switch. */
struct slurm_switch {
	char *values[N_SLURM_KEYS];   /* Owned; NULL: not given. */
	unsigned lines[N_SLURM_KEYS]; /* Line of each value. */
	uint32_t tier;                /* 0: not known yet. */
	uint32_t n_open;              /* Children whose tier is not known yet. */
	uint32_t last_parent;         /* Plus one: the last parent that named it. */
	uint32_t n_parents;
	double down_bps; /* Of the cables to its members. */
	uint32_t node;   /* Id in the builder. */
	double bps;
};

/* A switch and one of its members, by number of host or switch. */
struct slurm_edge {
	uint32_t parent, child;
};

struct slurm {
	const char *file;
	const char *at, *end; /* The rest of the text. */
	unsigned line;
	double default_bps, uplink_bps, oversubscription;
	uint32_t n_slots, max_names;
	topo_slots_fn *slots_of; /* NULL: n_slots. */
	void *slots_ctx;
	VEC(struct slurm_switch) switches;
	struct strtab *switch_names;     /* Number: index of 'switches'. */
	struct strtab *host_names;       /* Number: node id of the host. */
	VEC(uint32_t) host_lines;        /* By host: the last parent, plus one. */
	VEC(struct slurm_edge) to_hosts; /* By parent. */
	VEC(struct slurm_edge) to_switches;
	uint32_t *n_ports; /* Owned.  Ports used so far, by node id. */
	struct err *err;
};

/* "SwitchName", ...; NULL-terminated. */
extern const char *const slurm_key_names[];

/* Expands the names of the switches, and makes the fabric.  0, or -errno. */
int slurm_build(struct slurm *s, const char *name, struct topo **ret_topo);

#endif
