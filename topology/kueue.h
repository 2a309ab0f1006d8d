/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kueue.h - the Nodes that Kueue's topology-aware scheduling assigned to a Workload
 *
 * The Workload is JSON, as 'kubectl get workload NAME -o json' prints it, or a List of
 * one.  In status.admission.podSetAssignments[].topologyAssignment, "levels" has keys of
 * labels of Nodes, highest first.  Two forms follow (apis/kueue in
 * github.com/kubernetes-sigs/kueue):
 *
 *	v1beta1	"domains": [{"values": ["n1"], "count": 4}]
 *	v1beta2	"slices": [{"domainCount": 2, "valuesPerLevel": [{"prefix": "n",
 *		"roots": ["1", "2"]}], "podCounts": [4, 4]}]; one "universalValue"
 *		stands for equal values
 *
 * The lowest level has to be kubernetes.io/hostname: above it, Kueue assigns domains such
 * as racks, and not Nodes.  Numbers of pods are not read.
 */
#ifndef TOPOLOGY_KUEUE_H
#define TOPOLOGY_KUEUE_H

#include <stddef.h>

struct err;

/*
 * Calls 'node' with the name of each Node, once each and in the order of the file, until
 * it returns a negative errno, which is then the result.  Otherwise returns 0, or
 * -EINVAL or -E2BIG (more than 'max_nodes') with 'err' filled.  Pure; 'text' is
 * untrusted.  O(length).
 */
int kueue_nodes_read(const char *file, const char *text, size_t length,
		     size_t max_nodes, int (*node)(void *ctx, const char *name),
		     void *ctx, struct err *err);

#endif
