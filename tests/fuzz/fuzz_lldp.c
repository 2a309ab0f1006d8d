/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_lldp.c - lldpcli's json0, our JSON of reports, and the fabric of both */
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "tests/fuzz/fuzz.h"
#include "topology/from_reports.h"
#include "topology/in_lldp.h"
#include "topology/observed.h"
#include "topology/observed_json.h"

/* A fabric of all reports has cables, and hosts among its nodes. */
static void
make_fabric(const struct observed *seen)
{
	size_t n = observed_n_nodes(seen);
	struct topo_report *reports = xcalloc(n + 1, sizeof *reports);
	struct err err = { .text = "" };
	struct topo *topo;

	for (size_t i = 0; i < n; i++)
		reports[i] = (struct topo_report){ "fuzz", observed_node(seen, i) };
	if (topo_from_reports(reports, n, NULL, NULL, &topo, &err) == 0) {
		BUG_ON(!topo_n_hosts(topo) || !topo_n_links(topo));
		topo_unref(topo);
	} else {
		BUG_ON(!err.text[0]);
	}
	free(reports);
}

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
	make_fabric(seen);
	observed_free(seen);
	free(text);
	return 0;
}
