/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_priv.h - shared by the readers of plain trees
 *
 *	in_slurm.c        a topology.conf; the other forms are converted to it
 *	in_topograph.c    topology.yaml, models and graphs
 *	in_k8s_nodes.c    Nodes and their labels
 *	in_hypernodes.c   HyperNodes; k8s_match.c matches their selectors
 *	in_lingjun.c      topo.csv of the Lingjun dataset
 */
#ifndef TOPOLOGY_READ_PRIV_H
#define TOPOLOGY_READ_PRIV_H

#include <stdbool.h>

#include "lib/base/vec.h"
#include "topology/k8s.h"
#include "topology/read.h"

struct json;
struct json_doc;
struct strtab;

typedef uint32_t topo_slots_fn(void *ctx, const char *host);

struct topo_tree_opts {
	const char *name;        /* Of the fabric. */
	topo_slots_fn *slots_of; /* At most TOPO_MAX_SLOTS; NULL: as in 'opts'. */
	void *ctx;
};

/* topo_slurm_read(), with slots by host. */
int topo_tree_read(const char *file, const char *text, size_t length,
		   const struct topo_read_opts *opts, const struct topo_tree_opts *tree,
		   struct topo **ret_topo, struct err *err);

/* ---- Kubernetes ------------------------------------------------------------------ */

struct k8s_node {
	const char *name;           /* Borrowed from the document. */
	const struct json *labels;  /* Likewise; NULL: none. */
	const struct json *element; /* The Node, for messages. */
	uint32_t n_slots;
};

/* The Nodes of a list. */
struct k8s_nodes {
	struct json_doc *doc; /* Owned. */
	struct strtab *names; /* Owned; numbers are indexes in 'list'. */
	VEC(struct k8s_node) list;
	bool has_gpus;          /* Of any Node; without any, slots are unknown. */
	uint32_t default_slots; /* Slots then, and of hosts that are not Nodes. */
};

/*
 * Reads Nodes; 'opts' may be NULL.  Borrows 'file' and 'text'.  Returns 0 or -EINVAL;
 * release with k8s_nodes_fini() in both cases.
 */
int k8s_nodes_parse(const char *file, const char *text, size_t length,
		    const struct topo_read_opts *opts, struct k8s_nodes *nodes,
		    struct err *err);
void k8s_nodes_fini(struct k8s_nodes *nodes);
uint32_t k8s_nodes_slots(void *ctx, const char *host); /* 'ctx' is the nodes. */
/* The text of a label, or NULL. */
const char *k8s_node_label(const struct k8s_nodes *nodes, const struct k8s_node *node,
			   const char *key);

/* NULL if POSIX and Go read the regular expression alike, or else why not. */
const char *k8s_pattern_why_not(const char *pattern);

/*
 * Calls 'found' with the numbers of all 'names', in order, in which a selector's
 * regexMatch.pattern has a match.  Returns 0, or -EINVAL with 'err' filled.
 */
int k8s_match_pattern(const struct json_doc *doc, const struct json *pattern,
		      const struct strtab *names,
		      void (*found)(void *ctx, uint32_t number), void *ctx,
		      struct err *err);
/* The same for all Nodes for which a selector's labelMatch is true. */
int k8s_match_labels(const struct json_doc *doc, const struct json *selector,
		     const struct k8s_nodes *nodes,
		     void (*found)(void *ctx, uint32_t number), void *ctx,
		     struct err *err);

/* Passes a note on, if the caller accepts notes. */
void topo_note(const struct topo_read_opts *opts, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
