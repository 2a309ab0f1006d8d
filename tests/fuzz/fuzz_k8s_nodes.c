/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_k8s_nodes.c - Kubernetes Nodes and their labels as a fabric */
#include "tests/fuzz/fuzz_fabric.h"
#include "topology/k8s.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct topo_k8s_opts nested = { .is_nested = true, .root = "top" };
	struct topo_read_opts opts = { .format = TOPO_FORMAT_K8S_NODES,
				       .max_names = 10000 };

	fuzz_fabric(&opts, data, size);
	opts.k8s = &nested;
	fuzz_fabric(&opts, data, size);
	return 0;
}
