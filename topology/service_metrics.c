/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_metrics.c - the metrics of antiphase-topology for Prometheus.
 */
#include <stdio.h>

#include "lib/base/strbuf.h"
#include "lib/daemon/metrics.h"
#include "topology/service_priv.h"

/* A plan with more links than this has no series by link. */
#define MAX_LISTED_LINKS 20000

/* The tier of the upper of a link's ends: 1 between hosts and leaves. */
static uint32_t
link_tier(const struct topo *plan, const struct topo_link *link)
{
	uint32_t from = topo_node(plan, link->from)->tier;
	uint32_t to = topo_node(plan, link->to)->tier;

	return from > to ? from : to;
}

static void
links(const struct service *s, struct metrics *m)
{
	uint32_t n = s->plan ? topo_n_links(s->plan) : 0;
	struct strbuf name = STRBUF_EMPTY;
	char tier[16];

	metrics_family(m, "antiphase_topology_links", METRICS_GAUGE,
		       "Directed links of the plan.");
	metrics_sample(m, n, NULL);
	if (!n || n > MAX_LISTED_LINKS)
		return;
	metrics_family(m, "antiphase_topology_link_capacity_bytes_per_second",
		       METRICS_GAUGE,
		       "Capacity of a directed link, as planned; left out for plans of "
		       "more than 20000 links.");
	for (uint32_t i = 0; i < n; i++) {
		const struct topo_link *link = topo_link(s->plan, i);

		strbuf_clear(&name);
		topo_link_name(s->plan, i, &name);
		snprintf(tier, sizeof tier, "%u", link_tier(s->plan, link));
		metrics_sample(m, link->capacity_bps / 8, "link", name.text, "tier",
			       tier, NULL);
	}
	strbuf_free(&name);
}

static void
plan(const struct service *s, struct metrics *m)
{
	uint32_t n_hosts = s->plan ? topo_n_hosts(s->plan) : 0;
	uint32_t n_nodes = s->plan ? topo_n_nodes(s->plan) : 0;

	metrics_family(m, "antiphase_topology_nodes", METRICS_GAUGE,
		       "Nodes of the plan.");
	metrics_sample(m, n_hosts, "kind", "host", NULL);
	metrics_sample(m, n_nodes - n_hosts, "kind", "switch", NULL);
	if (!s->plan)
		return;
	metrics_family(m, "antiphase_topology_plan_age_seconds", METRICS_GAUGE,
		       "Time since the plan was read.");
	metrics_sample(m, (double)(s->now_us - s->plan_us) / 1e6, NULL);
	metrics_family(m, "antiphase_topology_differences", METRICS_GAUGE,
		       "Differences between the plan and the reports of nodes.");
	for (int i = 0; i < N_DIFFS; i++)
		metrics_sample(m, s->diff.n_of_kind[i], "kind", diff_kind_names[i],
			       NULL);
	metrics_family(m, "antiphase_topology_cables", METRICS_GAUGE,
		       "Cables of the plan, with and without a report.");
	metrics_sample(m, s->diff.n_compared, "state", "compared", NULL);
	metrics_sample(m, s->diff.n_cables - s->diff.n_compared, "state", "unseen",
		       NULL);
}

static void
reports(const struct service *s, struct metrics *m)
{
	size_t n_nodes = observed_n_nodes(s->seen), n_neighbours = 0, n_old = 0;

	for (size_t i = 0; i < n_nodes; i++) {
		const struct observed_node *node = observed_node(s->seen, i);

		n_neighbours += node->has_neighbours;
		n_old += s->opts.max_age_us &&
			 s->now_us - node->heard_us > s->opts.max_age_us;
	}
	metrics_family(
		m, "antiphase_topology_nodes_reporting", METRICS_GAUGE,
		"Nodes that ever reported; of these, with neighbors; with a last "
		"report that is too old.");
	metrics_sample(m, (double)n_nodes, "state", "ever", NULL);
	metrics_sample(m, (double)n_neighbours, "state", "neighbours", NULL);
	metrics_sample(m, (double)n_old, "state", "old", NULL);
	metrics_family(m, "antiphase_topology_lldp_up", METRICS_GAUGE,
		       "1 if this host's lldpd answered the last query.");
	metrics_sample(m, s->lldp == SERVICE_LLDP_OK, NULL);
}

static void
work(const struct service *s, struct metrics *m)
{
	metrics_family(m, "antiphase_topology_requests_total", METRICS_COUNTER,
		       "Requests, by operation.");
	for (int i = 0; i < N_SERVICE_OPS; i++)
		metrics_sample_u64(m, s->n_requests[i], "op", service_op_names[i],
				   NULL);
	metrics_family(m, "antiphase_topology_request_errors_total", METRICS_COUNTER,
		       "Requests answered with an error.");
	metrics_sample_u64(m, s->n_errors, NULL);
	metrics_family(m, "antiphase_topology_changes_total", METRICS_COUNTER,
		       "Changes announced, by kind.");
	for (int i = 0; i < N_SERVICE_CHANGES; i++)
		metrics_sample_u64(m, s->n_changes[i], "kind", service_change_names[i],
				   NULL);
}

void
service_metrics(struct service *s, int64_t now_us, struct metrics *m)
{
	s->now_us = now_us;
	service_compare(s);
	plan(s, m);
	links(s, m);
	reports(s, m);
	work(s, m);
}
