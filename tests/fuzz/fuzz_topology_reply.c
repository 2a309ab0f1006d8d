/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_topology_reply.c - texts as replies of antiphase-topology, and the plan in them */
#include <stdlib.h>

#include "lib/base/err.h"
#include "tests/fuzz/fuzz.h"
#include "topology/service_reply.h"
#include "topology/topo.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct topo *topo = NULL;
	struct err err = { 0 };
	size_t n_hosts;

	if (topo_reply_plan("fuzz", text, size, &topo, &err) == 0) {
		BUG_ON(topo_reply_check("fuzz", text, size, &err) < 0);
		(void)topo_hosts(topo, &n_hosts);
		BUG_ON(n_hosts > topo_n_nodes(topo));
		topo_unref(topo);
	} else {
		BUG_ON(topo || !err.text[0]);
	}
	free(text);
	return 0;
}
