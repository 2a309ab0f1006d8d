/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.h - comparison of the plan with the nodes' reports
 *
 * Every difference is one finding, however many nodes noticed it:
 *
 *	swapped  two cables crossed: a-b and c-d are planned, a-d and c-b are found
 *	moved    a cable that begins as planned and ends elsewhere
 *	missing  planned; a node at one of its ends reports, and nothing is there
 *	extra    between two nodes of the plan, at ports without a planned cable
 *	speed    as planned, but at another speed (by more than 5 %: encodings)
 *	down     planned, and the port at one end reports no link
 *
 * A cable that no node reports on is not judged: between two silent nodes it is counted
 * as unseen, not missing.  Cables to nodes or ports that the plan does not have (a
 * management network) are ignored, not extra.
 *
 * Plans from Slurm number their ports (p0, p1, ...), because the file names none.  At a
 * node of such a plan where no port name has ever matched, a cable to the right
 * neighbor is the right cable whatever its port is called; these are counted as
 * renamed.
 */
#ifndef TOPOLOGY_DIFF_H
#define TOPOLOGY_DIFF_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "topology/topo.h"

struct observed;

enum diff_kind {
	DIFF_SWAPPED,
	DIFF_MOVED,
	DIFF_MISSING,
	DIFF_EXTRA,
	DIFF_SPEED,
	DIFF_DOWN,
	N_DIFFS,
};

/* "swapped", "moved", ...; stable in JSON and metrics; NULL-terminated. */
extern const char *const diff_kind_names[N_DIFFS + 1];

/* One end: "leaf0:p3". */
struct diff_end {
	char node[TOPO_MAX_NAME + 1];
	char port[TOPO_MAX_NAME + 1];
};

struct diff_cable {
	struct diff_end a, b;
	double bps; /* 0: not known. */
};

struct diff_finding {
	enum diff_kind kind;
	uint32_t n_plan, n_seen;
	struct diff_cable plan[2];
	struct diff_cable seen[2];
	struct diff_end down; /* DIFF_DOWN: the port that has no link. */
};

struct diff {
	VEC(struct diff_finding) findings; /* By kind, then in the plan's order. */
	uint32_t n_of_kind[N_DIFFS];
	uint32_t n_cables;   /* In the plan. */
	uint32_t n_compared; /* Of these: seen, or one of the findings. */
	uint32_t n_renamed;  /* Of these: at ports with another name. */
	uint32_t n_outside;  /* Seen, but with an end outside the plan. */
	uint32_t n_heard;    /* Nodes that reported their neighbors. */
	uint32_t n_old;      /* Nodes whose last report is too old: not used. */
	uint32_t n_strange;  /* Nodes that reported and are not in the plan. */
};

struct diff_opts {
	int64_t now_us;
	int64_t max_age_us; /* Of a report, to be used; 0: any. */
};

/* Compares.  Release with diff_fini().  O(n log n) in cables planned and seen. */
void diff_make(const struct topo *plan, const struct observed *seen,
	       const struct diff_opts *opts, struct diff *ret_diff);
void diff_fini(struct diff *diff);

#endif
