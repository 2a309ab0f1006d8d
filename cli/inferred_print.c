/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/inferred_print.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "cli/screen.h"
#include "cli/topology_io.h"
#include "lib/base/err.h"
#include "lib/base/jsonw.h"
#include "lib/base/table.h"
#include "scheduler/live/flow_paths.h"
#include "scheduler/live/live.h"
#include "topology/route.h"
#include "topology/topo.h"

struct inferred {
	const struct screen *screen;
	uint32_t source, destination;
	VEC(const struct flow_path *) flows; /* Borrowed. */
};

static bool
is_known(const struct flow_path *flow)
{
	return flow->reason == PATH_INFERENCE_KNOWN;
}

/* The only path there is needs no inference. */
static const char *
basis_of(const struct flow_path *flow)
{
	if (!is_known(flow))
		return "not known";
	return flow->n_paths == 1 ? "computed" : "inferred";
}

static const char *
via_of(const struct inferred *found, const struct flow_path *flow)
{
	const struct screen *screen = found->screen;
	uint32_t node = TOPO_NONE;

	if (flow->n_links)
		node = routes_top_switch(screen->routes,
					 screen->opts.paths->links.items + flow->first,
					 flow->n_links);
	return node == TOPO_NONE ? NULL : topo_node(screen->topo, node)->name;
}

/* Finds the flows.  Returns 0, or -EINVAL with 'err' filled for an unknown host. */
static int
find_flows(struct inferred *found, char **hosts, struct err *err)
{
	const struct flow_paths *paths = found->screen->opts.paths;

	found->source = topology_find_host(found->screen->topo, hosts[0], err);
	if (found->source == TOPO_NONE)
		return -EINVAL;
	found->destination = topology_find_host(found->screen->topo, hosts[1], err);
	if (found->destination == TOPO_NONE)
		return -EINVAL;
	for (size_t i = 0; paths && i < paths->flows.n; i++)
		if (paths->flows.items[i].source == found->source &&
		    paths->flows.items[i].destination == found->destination)
			vec_push(&found->flows, &paths->flows.items[i]);
	return 0;
}

static void
json_flow(const struct inferred *found, const struct flow_path *flow, struct jsonw *w)
{
	const struct screen *screen = found->screen;
	bool is_inferred = is_known(flow) && flow->n_links > 0;

	jsonw_object(w, NULL);
	jsonw_str(w, "job", live_job_name(screen->live, flow->job));
	jsonw_int(w, "rail", flow->rail);
	jsonw_str(w, "basis", basis_of(flow));
	jsonw_str(w, "why",
		  is_known(flow) ? NULL : path_inference_reason_texts[flow->reason]);
	jsonw_int(w, "equal_paths", flow->n_paths);
	jsonw_str(w, "via", via_of(found, flow));
	if (is_inferred && isfinite(flow->margin))
		jsonw_rounded(w, "margin", flow->margin, 1);
	else
		jsonw_null(w, "margin");
	jsonw_int(w, "bin_us", (int64_t)flow->bin_ms * 1000);
	jsonw_int(w, "bins", flow->n_bins);
	jsonw_array(w, "links");
	for (uint32_t i = 0; i < flow->n_links; i++) {
		topology_json_link(w, screen->topo,
				   screen->opts.paths->links.items[flow->first + i]);
		jsonw_end(w);
	}
	jsonw_end(w);
	jsonw_end(w);
}

static void
print_json(const struct inferred *found)
{
	const struct topo *topo = found->screen->topo;
	struct jsonw w;

	jsonw_document(&w, stdout, "antiphase.path_inference/2");
	jsonw_str(&w, "source", topo_node(topo, found->source)->name);
	jsonw_str(&w, "destination", topo_node(topo, found->destination)->name);
	jsonw_array(&w, "flows");
	for (size_t i = 0; i < found->flows.n; i++)
		json_flow(found, found->flows.items[i], &w);
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
}

static void
table_basis(struct table *t, const struct flow_path *flow)
{
	if (!is_known(flow))
		table_cell(t, "not known: %s",
			   path_inference_reason_texts[flow->reason]);
	else if (flow->n_paths == 1)
		table_cell(t, "computed: the only path");
	else
		table_cell(t, "inferred: fits %.1f standard errors better, %u x %u ms",
			   flow->margin, flow->n_bins, flow->bin_ms);
}

static void
print_text(const struct inferred *found)
{
	const struct topo *topo = found->screen->topo;
	struct table t;

	printf("%s to %s, running flows\n\n", topo_node(topo, found->source)->name,
	       topo_node(topo, found->destination)->name);
	table_init(&t, (const char *const[]){ "JOB", "%PATHS", "VIA", "BASIS", NULL });
	for (size_t i = 0; i < found->flows.n; i++) {
		const struct flow_path *flow = found->flows.items[i];
		const char *via = via_of(found, flow);

		table_cell(&t, "%s", live_job_name(found->screen->live, flow->job));
		table_cell(&t, "%u", flow->n_paths);
		table_cell(&t, "%s", via ? via : "-");
		table_basis(&t, flow);
	}
	table_print(&t, stdout);
	table_fini(&t);
}

int
inferred_show(struct screen *screen, char **hosts, bool json)
{
	struct inferred found = { .screen = screen, .flows = VEC_EMPTY };
	struct err err = { 0 };
	int status = CLI_OK, r;

	screen_infer(screen);
	r = find_flows(&found, hosts, &err);
	if (r < 0)
		return cli_fail(r, &err);
	for (size_t i = 0; i < found.flows.n; i++)
		if (!is_known(found.flows.items[i]))
			status = CLI_NO;
	if (json)
		print_json(&found);
	else if (found.flows.n)
		print_text(&found);
	else
		fprintf(stderr,
			"antiphase: nothing is known of flows from %s to %s: no switch "
			"reports counters, or no\njob's ring goes there; run 'antiphase "
			"links' with the same sources\n",
			hosts[0], hosts[1]);
	if (!found.flows.n)
		status = CLI_NO;
	vec_free(&found.flows);
	return status;
}
