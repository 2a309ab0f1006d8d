/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_priv.h - both sides of a comparison, as cables between numbered ends; for
 * diff*.c
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
	char node[TOPO_MAX_NAME + 1]; /* The plan's name of the node, if it has one. */
	char port[TOPO_MAX_NAME + 1];
	uint32_t plan_node; /* TOPO_NONE: not in the plan. */
	uint32_t cable;     /* Planned cable at this end, or TOPO_NONE. */
	uint32_t edge;      /* Reported edge at this end, or TOPO_NONE. */
	enum observed_state state;
	double bps; /* 0: not known. */
};

struct cable {
	uint32_t a, b; /* Ends. */
	double bps;
	uint32_t edge; /* Its partner, or TOPO_NONE. */
	bool is_told;  /* A finding reports it. */
};

/* A reported cable. */
struct edge {
	uint32_t a, b;
	double bps;      /* By LLDP; 0: not known. */
	unsigned n_said; /* Number of its ends that report it: 1 or 2. */
	uint32_t cable;  /* Its partner, or TOPO_NONE. */
	bool is_told;
};

struct differ {
	const struct topo *plan;
	struct diff *diff;
	struct strtab *end_names; /* Owned.  "node port": number of the end. */
	VEC(struct end) ends;
	VEC(struct cable) cables; /* In the order of the plan's links. */
	VEC(struct edge) edges;   /* At most one per end. */
	bool *is_heard;           /* Owned.  By plan node: it reported neighbors. */
	bool *is_named; /* Owned.  By plan node: its ports have their planned names. */
};

/* Fills both sides, and the numbers of reports in 'diff'. */
void differ_init(struct differ *d, const struct topo *plan, const struct observed *seen,
		 const struct diff_opts *opts, struct diff *diff);
void differ_fini(struct differ *d);

#endif
