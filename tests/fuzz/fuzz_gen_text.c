/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_gen_text.c - texts as fabrics to make; too large ones are refused before memory */
#include <stdlib.h>

#include "lib/base/err.h"
#include "tests/fuzz/fuzz.h"
#include "topology/gen_table.h"
#include "topology/topo.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct topo *topo;
	struct err err = { 0 };
	size_t n_hosts;

	if (gen_text(text, &topo, &err) == 0) {
		(void)topo_hosts(topo, &n_hosts);
		BUG_ON(n_hosts == 0 || topo_n_links(topo) == 0);
		topo_unref(topo);
	} else {
		BUG_ON(!err.text[0]);
	}
	free(text);
	return 0;
}
