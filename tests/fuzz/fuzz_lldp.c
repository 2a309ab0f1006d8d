/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_lldp.c - lldpcli's json0, and our JSON of reports */
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "tests/fuzz/fuzz.h"
#include "topology/in_lldp.h"
#include "topology/observed.h"
#include "topology/observed_json.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct observed *seen = observed_new();
	struct observed_node report;
	struct err err = { .text = "" };

	observed_node_init(&report, "h0");
	if (lldp_read("fuzz", text, strlen(text), &report, &err) == 0) {
		BUG_ON(!report.has_neighbours);
		BUG_ON(observed_update(seen, &report, NULL, NULL) < 0);
	} else {
		BUG_ON(!err.text[0]);
	}
	observed_node_fini(&report);
	err.text[0] = '\0';
	if (observed_json_read("fuzz", text, strlen(text), "h1", 1, seen, &err) < 0)
		BUG_ON(!err.text[0]);
	for (size_t i = 0; i < observed_n_nodes(seen); i++) {
		const struct observed_node *node = observed_node(seen, i);

		BUG_ON(!node->name[0]);
		for (size_t k = 1; k < node->ports.n; k++)
			BUG_ON(strcmp(node->ports.items[k - 1].name,
				      node->ports.items[k].name) >= 0);
	}
	observed_free(seen);
	free(text);
	return 0;
}
