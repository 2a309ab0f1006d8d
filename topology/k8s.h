/* SPDX-License-Identifier: Apache-2.0 */
/*
 * k8s.h - the fabric in Kubernetes: labels of Nodes, and Volcano's HyperNodes
 *
 * Both are trees of proximity without ports or speeds: capacities are those of
 * topo_read_opts, as for every plain tree.  The value of a label names a switch; keys
 * are given from the closest switch up, as a list with commas, in which a last "*"
 * stands for 0, 1, 2 and so on:
 *
 *	fabric.topograph.run/tier-*
 *	network.topology.nvidia.com/leaf,network.topology.nvidia.com/spine
 *
 * Labels of NVLink domains (accelerator, gpu.clique) do not apply: these are not cables
 * of the network.
 */
#ifndef TOPOLOGY_K8S_H
#define TOPOLOGY_K8S_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct err;
struct strbuf;
struct topo;

#define K8S_LABEL_KEYS   "fabric.topograph.run/tier-*" /* Topograph 1.0 and later. */
#define K8S_GPU_RESOURCE "nvidia.com/gpu"
/* On a HyperNode: the switch's name, if it is not valid in Kubernetes. */
#define K8S_SWITCH "antiphase.io/switch"

/* Options for Kubernetes only; part of topo_read_opts.  All may be NULL or 0. */
struct topo_k8s_opts {
	/* NULL: the known list that most Nodes have. */
	const char *label_keys;
	/* Names are unique only within the upper switch, and become "spine1/leaf1". */
	bool is_nested;
	/* A switch above all those without a parent; NULL: none. */
	const char *root;
	const char *gpu_resource; /* In status.allocatable; K8S_GPU_RESOURCE. */
	/* For HyperNodes: the Nodes, as 'kubectl get nodes -o json' prints them. */
	const char *nodes_file, *nodes_text;
	size_t n_nodes_text;
};

/* Checks a list of label keys.  Returns 0, or -EINVAL with 'err' filled. */
int k8s_label_keys_check(const char *keys, struct err *err);
/* Appends the key of the switch 'n' tiers above the closest; false if there is none. */
bool k8s_label_key(const char *keys, unsigned n, struct strbuf *out);

/* Whether names are valid in Kubernetes: of objects, and as values of labels. */
bool k8s_name_is_valid(const char *name);
bool k8s_label_is_valid(const char *value);
/* A valid value for an invalid one, as topograph does: "x" and 16 digits of FNV-1a. */
void k8s_label_hash(const char *value, struct strbuf *out);

/*
 * The writers.  What several switches of a tier serve together is one domain
 * (domains.h), and named after the first of them.  They return 0, or -EINVAL with 'err'
 * filled if a host has a name that no Node has, and then nothing is written.
 */

/* HyperNodes as YAML, closest tier first; what topo_hypernodes_read() reads. */
int topo_hypernodes_write(const struct topo *topo, FILE *out, struct err *err);
/* Nodes with their labels for 'kubectl apply --server-side'; a JSON List. */
int topo_k8s_nodes_write(const struct topo *topo, const char *keys, FILE *out,
			 struct err *err);
/* "kubectl label" lines, one a node. */
int topo_k8s_labels_write(const struct topo *topo, const char *keys, FILE *out,
			  struct err *err);

#endif
