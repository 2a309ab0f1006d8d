/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective_phases.h - collective operations as phases that follow each other
 *
 * A phase is a set of flows that start together; the next phase starts when the last of
 * them has ended.  A step whose flows load the same links as the step before it is not
 * a phase of its own: a ring is one phase.  For a group of W ranks and a message of S
 * bytes:
 *
 *	operation      algorithm         phases                          steps
 *	allreduce      ring              1: rank i to i+1, 2 (W-1)/W S   2 (W-1)
 *	               tree              2 L: binomial, S each edge      2 L
 *	               halving-doubling  2 L: i to i xor 2^k, S/2^(k+1)  2 L
 *	               hierarchical      3: rings in the leaves, ring    2 (m-1) +
 *	                                 over one leader of each leaf,   2 (l-1) +
 *	                                 chains in the leaves            m-1
 *	reducescatter  ring              1: rank i to i+1, (W-1)/W S     W-1
 *	               halving-doubling  L: the first half of the above  L
 *	allgather      ring              1: rank i to i+1, (W-1)/W S     W-1
 *	               halving-doubling  L: the second half              L
 *	broadcast      ring              1: rank i to i+1, S (a chain)   W-1
 *	               tree              L: binomial, from rank 0        L
 *	alltoall                         1: each to each other, S/W      1
 *	send                             1: rank i to i+1, S (a chain)   1
 *
 * with L = log2 W rounded up, l leaves, and m ranks in the largest of them.  S is the
 * whole message: what each rank reduces, has gathered at the end, or has to scatter at
 * the start.
 *
 * Sources.  Ring: Patarasuk and Yuan 2009.  Binomial tree: Thakur, Rabenseifner and
 * Gropp 2005, "Optimization of Collective Communication Operations in MPICH", sections
 * on broadcast and reduce.  Halving-doubling: Rabenseifner 2004, "Optimization of
 * Collective Reduction Operations": vectors are halved while distances double, then the
 * reverse.  For W = 2^k + r, r > 0, ranks 0, 2, ... 2 r - 2 first send their
 * vector to the next rank, take no part, and get the result at the end: two more phases
 * of S and two more steps (Thakur et al. 2005, all-reduce).  Hierarchical: as
 * collective.h has it, its parts one after another.
 *
 * All groups run at the same time, so flows between the same two hosts are one flow
 * with the sum of their bytes.  Ranks of one host exchange no flows.
 */
#ifndef TOPOLOGY_COLLECTIVE_PHASES_H
#define TOPOLOGY_COLLECTIVE_PHASES_H

#include <stddef.h>
#include <stdint.h>

#include "topology/collective.h"

enum collective_op {
	COLLECTIVE_OP_NONE, /* No operation; not in the names. */
	COLLECTIVE_ALLREDUCE,
	COLLECTIVE_REDUCESCATTER,
	COLLECTIVE_ALLGATHER,
	COLLECTIVE_BROADCAST,
	COLLECTIVE_ALLTOALL,
	COLLECTIVE_SEND,
	N_COLLECTIVE_OPS,
};

enum collective_algorithm {
	COLLECTIVE_BY_RING, /* The default; the only one of alltoall and send. */
	COLLECTIVE_BY_TREE,
	COLLECTIVE_BY_HALVING_DOUBLING,
	COLLECTIVE_BY_HIERARCHY,
	N_COLLECTIVE_ALGORITHMS,
};

/* NULL-terminated.  Name i of the operations is that of number i + 1. */
extern const char *const collective_op_names[N_COLLECTIVE_OPS];
extern const char *const collective_algorithm_names[N_COLLECTIVE_ALGORITHMS + 1];

/* NULL, or why groups of 'n_ranks' cannot run it; static. */
const char *collective_op_fault(enum collective_op op,
				enum collective_algorithm algorithm, size_t n_ranks);

struct collective_phase {
	struct collective_flow *flows; /* Owned.  No pair of hosts twice. */
	size_t n;                      /* 0: all of it is within hosts. */
	double nic_bytes;              /* As in collective_flows. */
	uint32_t n_steps;
};

struct collective_phases {
	struct collective_phase *items; /* Owned. */
	size_t n;
	/* Interfaces of each host, over which flows are to be split; at least 1. */
	uint32_t n_rails;
};

/*
 * Makes the phases of one operation.  'hosts' has the host node id of each rank, those
 * of the first group first: n_groups * n_ranks of them; a host may be there several
 * times.  The number of phases depends on 'op', 'algorithm' and 'n_ranks' only; some may have no
 * flows.  Release with collective_phases_fini().  Returns 0, -EINVAL for what is no
 * host, a message that is not above 0 or what collective_op_fault() tells, or -E2BIG
 * for more than COLLECTIVE_MAX_FLOWS.  O(flows of all groups); groups on the same hosts
 * as the group before cost nothing.
 */
int collective_phases_make(const struct topo *topo, enum collective_op op,
			   enum collective_algorithm algorithm, const uint32_t *hosts,
			   size_t n_groups, size_t n_ranks, double message_bytes,
			   struct collective_phases *ret_phases);
void collective_phases_fini(struct collective_phases *phases);

#endif
