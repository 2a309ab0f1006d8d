/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/metrics_flows.h"

#include "lib/daemon/metrics.h"
#include "scheduler/daemon/connect_offers.h"
#include "scheduler/daemon/flow_table.h"
#include "scheduler/daemon/metrics.h"
#include "scheduler/daemon/outcomes.h"
#include "scheduler/daemon/path_orders.h"
#include "scheduler/daemon/path_ports.h"
#include "scheduler/daemon/port_relay.h"
#include "scheduler/daemon/telemetry.h"
#include "scheduler/live/live.h"

static void
write_orders(const struct scheduler_metrics_opts *opts, struct metrics *m)
{
	struct port_relay_counts relay = port_relay_counts(opts->port_relay);
	struct path_orders_counts orders = path_orders_counts(opts->path_orders);

	metrics_gauge(m, "antiphase_scheduler_flows", (double)flow_table_n(opts->flows),
		      "TCP flows of jobs, as their hosts report.");
	metrics_gauge(m, "antiphase_scheduler_moved_flows", (double)relay.n_flows,
		      "TCP flows that have a wire port, as their hosts report.");
	metrics_counter(m, "antiphase_scheduler_flow_orders_total", relay.n_orders,
			"Orders to flows to take a source port on the wire.");
	metrics_counter(m, "antiphase_scheduler_flow_orders_failed_total",
			relay.n_failed,
			"Orders to flows that were refused, or had no answer.");
	metrics_counter(m, "antiphase_scheduler_port_messages_total", relay.n_passed,
			"Messages about wire ports passed on between hosts.");
	metrics_counter(m, "antiphase_scheduler_port_messages_refused_total",
			relay.n_refused + relay.n_withheld,
			"Messages about wire ports that were malformed, or of jobs "
			"whose mode is not enforce.");
	metrics_gauge(m, "antiphase_scheduler_flows_wanted", (double)orders.n_wanted,
		      "TCP flows for which advice has chosen a path.");
	metrics_gauge(m, "antiphase_scheduler_flows_settled", (double)orders.n_settled,
		      "TCP flows that are on their chosen path.");
	metrics_counter(m, "antiphase_scheduler_path_orders_total", orders.n_orders,
			"Orders to flows to take their chosen path.");
	metrics_counter(m, "antiphase_scheduler_path_orders_undone_total",
			orders.n_undone,
			"Orders to flows to take their own ports again.");
	metrics_counter(m, "antiphase_scheduler_path_orders_failed_total",
			orders.n_failed, "Orders of both kinds without effect.");
	metrics_counter(m, "antiphase_scheduler_path_ports_missing_total",
			orders.n_unknown,
			"Times that no wire port was found for a chosen path.");
}

static void
write_path_ports(const struct scheduler_metrics_opts *opts, struct metrics *m)
{
	struct path_ports_counts counts = path_ports_counts(opts->path_ports);

	metrics_gauge(m, "antiphase_scheduler_probed_ports", (double)counts.n_probed,
		      "Source ports whose path is known from probes.");
	metrics_gauge(m, "antiphase_scheduler_given_ports", (double)counts.n_given,
		      "Wire ports that are kept for flows.");
	metrics_counter(m, "antiphase_scheduler_probe_orders_total", counts.n_orders,
			"Orders to hosts to probe paths.");
	metrics_counter(m, "antiphase_scheduler_ports_silent_total", counts.n_silent,
			"Probed ports for which a switch did not answer.");
	metrics_counter(m, "antiphase_scheduler_ports_unnamed_total", counts.n_unnamed,
			"Probed ports for which a switch answered with an address that "
			"the fabric does not have.");
}

static void
write_connect(const struct scheduler_metrics_opts *opts, struct metrics *m)
{
	struct connect_offers_counts counts =
		connect_offers_counts(opts->connect_offers);

	metrics_gauge(m, "antiphase_scheduler_connect_offers", (double)counts.n_offers,
		      "Destinations for which new connections of a job are offered "
		      "source ports.");
	metrics_gauge(m, "antiphase_scheduler_connect_ports", (double)counts.n_ports,
		      "Source ports that are offered to new connections.");
}

void
metrics_write_flows(const struct scheduler_metrics_opts *opts, struct metrics *m)
{
	write_orders(opts, m);
	write_path_ports(opts, m);
	write_connect(opts, m);
}

void
metrics_write_limits(const struct scheduler_metrics_opts *opts, struct metrics *m)
{
	const struct live_counts *live = live_counts(telemetry_live(opts->telemetry));

	const struct {
		const char *limit;
		uint64_t n;
	} others[] = {
		{ "clocks", telemetry_n_unclocked(opts->telemetry) },
		{ "flow_reports", flow_table_n_refused(opts->flows) },
		{ "moved_flows", port_relay_counts(opts->port_relay).n_full },
		{ "path_pairs", path_ports_counts(opts->path_ports).n_full },
		{ "iterations", outcomes_n_full(opts->outcomes) },
		{ "connect_offers",
		  connect_offers_counts(opts->connect_offers).n_full },
	};

	metrics_family(m, "antiphase_scheduler_limit_hits_total", METRICS_COUNTER,
		       "What was ignored because a table was full, by limit.");
	for (int i = 0; i < LIVE_N_LIMITS; i++)
		metrics_sample_u64(m, live->over[i], "limit", live_limit_names[i],
				   NULL);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		metrics_sample_u64(m, others[i].n, "limit", others[i].limit, NULL);
}
