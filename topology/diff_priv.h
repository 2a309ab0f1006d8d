/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_priv.h - both sides of a comparison, as cables between numbered ends; for diff*.c
 */
#ifndef TOPOLOGY_DIFF_PRIV_H
#define TOPOLOGY_DIFF_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "topology/observed.h"
#include "topology/topo.h"

struct diff;
struct diff_opts;
struct strtab;

struct end {
	char node[TOPO_MAX_NAME + 1]; /* The plan's name of it, where it has one. */
	char port[TOPO_MAX_NAME + 1];
	uint32_t plan_node; /* TOPO_NONE: not in the plan. */
	uint32_t cable;     /* Planned there, or TOPO_NONE. */
	uint32_t edge;      /* Seen there, or TOPO_NONE. */
	enum observed_state state;
	double bps; /* 0: not known. */
};

struct cable {
	uint32_t a, b; /* Ends. */
	double bps;
	uint32_t edge; /* Its partner, or TOPO_NONE. */
	bool is_told;  /* By a finding. */
};

/* A cable that was seen. */
struct edge {
	uint32_t a, b;
	double bps;      /* By LLDP; 0: not known. */
	unsigned n_said; /* By how many of its ends: 1 or 2. */
	uint32_t cable;  /* Its partner, or TOPO_NONE. */
	bool is_told;
};

struct differ {
	const struct topo *plan;
	struct diff *diff;
	struct strtab *end_names; /* Owned.  "node port": number of the end. */
	VEC(struct end) ends;
	VEC(struct cable) cables; /* In the order of the plan's links. */
	VEC(struct edge) edges;   /* One an end at most. */
	bool *is_heard;           /* Owned.  By plan node: it reported neighbors. */
	bool *is_named; /* Owned.  By plan node: its ports are called as planned. */
};

/* Fills in both sides, and in 'diff' what reports were there. */
void differ_init(struct differ *d, const struct topo *plan, const struct observed *seen,
		 const struct diff_opts *opts, struct diff *diff);
void differ_fini(struct differ *d);

#endif
