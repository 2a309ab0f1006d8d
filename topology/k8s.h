/* SPDX-License-Identifier: Apache-2.0 */
/*
 * k8s.h - the fabric in Kubernetes: labels of Nodes, and Volcano's HyperNodes
 *
 * Both are trees of proximity without ports or speeds: capacities are those of
 * topo_read_opts, as for every plain tree.  The value of a label names a switch; keys are
 * given from the closest switch up, as a list with commas, in which a last "*" stands for
 * 0, 1, 2 and so on:
 *
 *	fabric.topograph.run/tier-*
 *	network.topology.nvidia.com/leaf,network.topology.nvidia.com/spine
 *
 * Labels of NVLink domains (accelerator, gpu.clique) do not apply: these are not cables of
 * the network.
 */
#ifndef TOPOLOGY_K8S_H
#define TOPOLOGY_K8S_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct err;
struct strbuf;
struct topo;

#define K8S_LABEL_KEYS   "fabric.topograph.run/tier-*" /* Of topograph from 1.0. */
#define K8S_GPU_RESOURCE "nvidia.com/gpu"
/* Of a HyperNode: the name of the switch, where Kubernetes could not have it. */
#define K8S_SWITCH "antiphase.io/switch"

/* What only the readers of this file need; of topo_read_opts.  All may be NULL or 0. */
struct topo_k8s_opts {
	/* NULL: of all the lists that are known, the one that most Nodes have. */
	const char *label_keys;
	/* Names hold only within the switch above, and become "spine1/leaf1". */
	bool is_nested;
	/* A switch above all that have none above them; NULL: none. */
	const char *root;
	const char *gpu_resource; /* In status.allocatable; K8S_GPU_RESOURCE. */
	/* Of HyperNodes: the Nodes, as 'kubectl get nodes -o json' prints them. */
	const char *nodes_file, *nodes_text;
	size_t n_nodes_text;
};

/*
 * Checks a list of label keys.  Returns 0, or -EINVAL with what is wrong of it.
 */
int k8s_label_keys_check(const char *keys, struct err *err);
/* Appends the key of the switch 'n' tiers above the closest; false if there is none. */
bool k8s_label_key(const char *keys, unsigned n, struct strbuf *out);

/* Names that Kubernetes takes: of objects, and as the value of a label. */
bool k8s_name_is_valid(const char *name);
bool k8s_label_is_valid(const char *value);
/* As topograph has it for values that are none: "x" and 16 digits of their FNV-1a. */
void k8s_label_hash(const char *value, struct strbuf *out);

/*
 * The writers.  What several switches of a tier serve together is one domain (domains.h),
 * and named after the first of them.  They return 0, or -EINVAL with 'err' filled
 * if a host has a name that no Node has, and then nothing is written.
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
