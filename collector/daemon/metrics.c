/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.c - the metrics of the collector for Prometheus.  docs/metrics.md lists them;
 * tests/metrics.sh compares the two.
 */
#include "lib/daemon/metrics.h"

#include <stdio.h>

#include "collector/daemon/daemon.h"
#include "collector/jobs/cgroups.h"
#include "collector/jobs/event_socket.h"
#include "collector/jobs/job_registry.h"
#include "collector/jobs/pacer_socket.h"
#include "collector/paths/connect_host.h"
#include "collector/paths/path_probe.h"
#include "collector/paths/port_host.h"
#include "collector/series/binner.h"
#include "collector/series/ingest.h"
#include "collector/series/peak_rates.h"
#include "collector/series/top_jobs.h"
#include "collector/sources/bpf/src_bpf.h"
#include "collector/sources/source.h"
#include "collector/sources/sources.h"
#include "lib/base/cli.h"
#include "lib/base/clk.h"
#include "lib/wire/bus.h"

static const char *const kind_words[] = {
	[TELE_SUMMARY] = "summary",
	[TELE_RAW] = "raw",
	[TELE_EVENTS] = "events",
	[TELE_PACE] = "pace",
};

/* ---- Interfaces ------------------------------------------------------------------ */

enum total {
	TOTAL_BYTES,
	TOTAL_PACKETS,
	TOTAL_CE,
	TOTAL_RETRANSMITS,
};

static uint64_t
total_of(const struct tele_traffic *row, enum total which)
{
	switch (which) {
	case TOTAL_BYTES:
		return row->total_bytes;
	case TOTAL_PACKETS:
		return row->total_packets;
	case TOTAL_CE:
		return row->total_ce;
	default:
		return row->total_retransmits;
	}
}

static void
write_totals(const struct tele_frame *frame, struct metrics *m)
{
	static const struct {
		const char *name, *help;
		enum total which;
		uint8_t direction;
	} families[] = {
		{ "antiphase_collector_interface_transmit_bytes_total",
		  "Wire bytes sent, with headers, once for each segment.", TOTAL_BYTES,
		  TELE_TX },
		{ "antiphase_collector_interface_receive_bytes_total",
		  "Wire bytes received, with headers, once for each segment.",
		  TOTAL_BYTES, TELE_RX },
		{ "antiphase_collector_interface_transmit_packets_total",
		  "Packets sent.", TOTAL_PACKETS, TELE_TX },
		{ "antiphase_collector_interface_receive_packets_total",
		  "Packets received.", TOTAL_PACKETS, TELE_RX },
		{ "antiphase_collector_interface_receive_ce_packets_total",
		  "Packets received with the congestion mark (ECN CE).", TOTAL_CE,
		  TELE_RX },
		{ "antiphase_collector_interface_transmit_retransmits_total",
		  "TCP segments sent again.", TOTAL_RETRANSMITS, TELE_TX },
	};

	for (size_t k = 0; k < sizeof families / sizeof families[0]; k++) {
		metrics_family(m, families[k].name, METRICS_COUNTER, families[k].help);
		for (size_t i = 0; i < frame->traffic.n; i++) {
			const struct tele_traffic *row = &frame->traffic.items[i];

			if (row->job == TELE_LINK && row->measure == TELE_WIRE &&
			    row->direction == families[k].direction)
				metrics_sample_u64(
					m, total_of(row, families[k].which),
					"interface",
					frame->interfaces.items[row->interface].name,
					NULL);
		}
	}
}

static void
write_states(const struct collector *c, const struct tele_frame *frame,
	     struct metrics *m)
{
	metrics_family(m, "antiphase_collector_interface_up", METRICS_GAUGE,
		       "1 if the interface exists and is up.");
	for (uint32_t i = 0; i < ingest_n_interfaces(c->ingest); i++) {
		const struct ingest_interface *interface =
			ingest_interface(c->ingest, i);

		metrics_sample(m, interface->is_present && interface->info.is_up,
			       "interface", interface->info.name, NULL);
	}
	metrics_family(m, "antiphase_collector_interface_capacity_bytes_per_second",
		       METRICS_GAUGE, "Speed of the interface; absent if unknown.");
	for (size_t i = 0; i < frame->interfaces.n; i++) {
		const struct tele_interface *interface = &frame->interfaces.items[i];

		if (interface->capacity_bps > 0)
			metrics_sample(m, interface->capacity_bps / 8, "interface",
				       interface->name, NULL);
	}
}

static void
write_peaks(const struct collector *c, const struct tele_frame *frame,
	    struct metrics *m)
{
	char help[160];

	for (uint8_t d = TELE_TX; d <= TELE_RX; d++) {
		snprintf(help, sizeof help,
			 "Rate of the busiest millisecond of the last %lld s, %s.",
			 (long long)c->config.window_s,
			 d == TELE_TX ? "sent" : "received");
		metrics_family(
			m,
			d == TELE_TX
				? "antiphase_collector_interface_transmit_peak_bytes_per_second"
				: "antiphase_collector_interface_receive_peak_bytes_per_second",
			METRICS_GAUGE, help);
		for (size_t i = 0; i < frame->interfaces.n; i++) {
			const char *name = frame->interfaces.items[i].name;

			metrics_sample(
				m, peak_rates_bytes(c->peak_rates, name, d) * 1000.0,
				"interface", name, NULL);
		}
	}
	snprintf(help, sizeof help,
		 "Largest backlog of the host's queue in front of the interface in the "
		 "last %lld s.",
		 (long long)c->config.window_s);
	metrics_family(m, "antiphase_collector_interface_queue_peak_bytes",
		       METRICS_GAUGE, help);
	for (size_t i = 0; i < frame->interfaces.n; i++) {
		const char *name = frame->interfaces.items[i].name;

		metrics_sample(m, peak_rates_queue_bytes(c->peak_rates, name),
			       "interface", name, NULL);
	}
}

static void
write_jobs(const struct collector *c, struct metrics *m)
{
	static const char *const names[] = {
		[TELE_TX] = "antiphase_collector_job_transmit_bytes_total",
		[TELE_RX] = "antiphase_collector_job_receive_bytes_total",
	};
	static const char *const helps[] = {
		[TELE_TX] = "Wire bytes sent by a job; \"other\": all jobs without "
			    "series of their own.",
		[TELE_RX] = "Wire bytes received by a job; \"other\": all jobs without "
			    "series of their own.",
	};
	size_t n;
	const struct top_jobs_row *rows = top_jobs_rows(c->top, &n);

	for (uint8_t d = TELE_TX; d <= TELE_RX; d++) {
		metrics_family(m, names[d], METRICS_COUNTER, helps[d]);
		for (size_t i = 0; i < n; i++) {
			if (rows[i].direction == d)
				metrics_sample_u64(m, rows[i].bytes, "interface",
						   rows[i].interface, "job",
						   rows[i].job, NULL);
		}
	}
	metrics_gauge(m, "antiphase_collector_jobs", (double)top_jobs_n_seen(c->top),
		      "Jobs with traffic in the last summaries.");
	metrics_gauge(m, "antiphase_collector_jobs_registered",
		      c->cgroups ? (double)cgroups_n_registered(c->cgroups) : 0,
		      "Control groups registered as jobs by hand.");
	metrics_gauge(m, "antiphase_collector_jobs_gone",
		      c->registry ? (double)job_registry_n_gone(c->registry) : 0,
		      "Registered control groups that no longer exist.");
}

/* ---- The collector itself -------------------------------------------------------- */

static void
write_sources(const struct collector *c, struct metrics *m)
{
#define EACH_SOURCE(value)                                                     \
	for (size_t i = 0; i < sources_n(c->sources); i++) {                   \
		const struct source_status *f = sources_status(c->sources, i); \
                                                                               \
		metrics_sample(m, (double)(value), "source", f->name, NULL);   \
	}
	metrics_family(m, "antiphase_collector_polls_total", METRICS_COUNTER,
		       "Readings of a source.");
	EACH_SOURCE(f->polls)
	metrics_family(m, "antiphase_collector_poll_errors_total", METRICS_COUNTER,
		       "Failed readings of a source.");
	EACH_SOURCE(f->errors)
	metrics_family(
		m, "antiphase_collector_polls_missed_total", METRICS_COUNTER,
		"Readings of a source that were skipped because the collector was late.");
	EACH_SOURCE(f->missed)
	metrics_family(m, "antiphase_collector_poll_seconds_total", METRICS_COUNTER,
		       "Wall time spent reading a source.");
	EACH_SOURCE((double)f->busy_ns * 1e-9)
	metrics_family(m, "antiphase_collector_interval_seconds", METRICS_GAUGE,
		       "Mean interval between readings of a source since the start.");
	EACH_SOURCE(f->polls > 1 ? (double)f->sum_ns * 1e-9 / (double)(f->polls - 1)
				 : 0)
	metrics_family(m, "antiphase_collector_interval_longest_seconds", METRICS_GAUGE,
		       "Longest interval between readings since the start.");
	EACH_SOURCE((double)f->longest_ns * 1e-9)
#undef EACH_SOURCE
}

/* The cost per packet; only the kernel measures it. */
static void
write_bpf(const struct collector *c, struct metrics *m)
{
	struct source *source = sources_source(c->sources, "bpf");
	struct src_bpf_stats stats = { 0 };

	if (!source)
		return;
	src_bpf_stats(source, &stats);
	metrics_family(
		m, "antiphase_collector_bpf_runs_total", METRICS_COUNTER,
		"Runs of an eBPF program, one per packet; 0 unless timing is on.");
	for (int i = 0; i < SRC_BPF_N_PROGRAMS; i++) {
		if (stats.programs[i].name)
			metrics_sample_u64(m, stats.programs[i].run_count, "program",
					   stats.programs[i].name, NULL);
	}
	metrics_family(m, "antiphase_collector_bpf_seconds_total", METRICS_COUNTER,
		       "CPU time of an eBPF program; 0 unless timing is on.");
	for (int i = 0; i < SRC_BPF_N_PROGRAMS; i++) {
		if (stats.programs[i].name)
			metrics_sample(m, (double)stats.programs[i].run_time_ns * 1e-9,
				       "program", stats.programs[i].name, NULL);
	}
	metrics_gauge(m, "antiphase_collector_bpf_links", stats.n_links,
		      "Interfaces with eBPF programs attached.");
	metrics_gauge(m, "antiphase_collector_bpf_map_bytes",
		      (double)stats.mapped_bytes,
		      "Memory of the rings that the programs write to.");
	metrics_gauge(m, "antiphase_collector_bpf_slots", stats.n_slots,
		      "Pairs of job and interface that can be counted separately.");
	metrics_gauge(m, "antiphase_collector_bpf_slots_used", stats.n_slots_used,
		      "Pairs of job and interface in use.");
	metrics_counter(
		m, "antiphase_collector_map_full_total",
		stats.unplaced_jobs + stats.unplaced_cgroups,
		"Jobs and control groups counted as \"other\" because a table was full.");
	metrics_counter(m, "antiphase_collector_lost_buckets_total", stats.lost_buckets,
			"Milliseconds overwritten before they were read.");
}

static void
write_losses(const struct collector *c, struct metrics *m)
{
	const struct ingest_counts *ingest = ingest_counts(c->ingest);
	const struct binner_counts *binner = binner_counts(c->binner);

	metrics_counter(m, "antiphase_collector_lost_total", ingest->lost,
			"Packets, samples or records that a source lost.");
	metrics_counter(m, "antiphase_collector_gap_bins_total", binner->gap_bins,
			"Milliseconds of summaries without data.");
	metrics_counter(m, "antiphase_collector_late_bins_total", binner->late_bins,
			"Milliseconds that arrived too late for their series.");
	metrics_counter(m, "antiphase_collector_wraps_total", binner->wraps,
			"Wraps of interface counters.");
	metrics_counter(m, "antiphase_collector_resets_total", binner->resets,
			"Resets of interface counters.");
	metrics_counter(m, "antiphase_collector_refused_total",
			ingest->refused_counts + ingest->refused_interfaces +
				binner->unsent,
			"Counts dropped because a table was full.");
	metrics_counter(m, "antiphase_collector_doubled_total", ingest->doubled,
			"Counts dropped because another source counts the interface.");
	metrics_counter(m, "antiphase_collector_skipped_seconds_total",
			publisher_counts(c->publisher)->skipped_ms / 1000,
			"Seconds never published because the collector was late.");
	metrics_counter(m, "antiphase_collector_unsaved_series_total",
			c->unsaved_totals,
			"Series whose totals will not continue after a restart.");
	metrics_counter(m, "antiphase_collector_interfaces_gone_total", ingest->gone,
			"Interfaces that disappeared.");
	metrics_counter(m, "antiphase_collector_cgroups_gone_total", c->gone_cgroups,
			"Registered control groups that disappeared.");
	metrics_counter(m, "antiphase_collector_cgroups_refused_total",
			c->cgroups ? cgroups_n_refused(c->cgroups) : 0,
			"Control groups named as a job's that root did not make.");
}

static void
write_frames(const struct collector *c, struct metrics *m)
{
	const struct publish_counts *counts = publisher_counts(c->publisher);

	metrics_family(m, "antiphase_collector_frames_total", METRICS_COUNTER,
		       "Frames made.");
	for (int k = TELE_SUMMARY; k <= TELE_LAST_KIND; k++)
		metrics_sample_u64(m, counts->frames[k], "kind", kind_words[k], NULL);
	metrics_family(m, "antiphase_collector_frame_bytes_total", METRICS_COUNTER,
		       "Bytes of the frames made.");
	for (int k = TELE_SUMMARY; k <= TELE_LAST_KIND; k++)
		metrics_sample_u64(m, counts->bytes[k], "kind", kind_words[k], NULL);
	metrics_counter(m, "antiphase_collector_connections_refused_total",
			c->bus ? bus_pub_counts(c->bus)->refused : 0,
			"Subscribers refused because of a wrong or missing key.");
	metrics_counter(
		m, "antiphase_collector_subscribers_ended_total",
		c->bus ? bus_pub_counts(c->bus)->ended : 0,
		"Subscribers ended: too many subscriptions, or too few descriptors.");
}

static void
write_events(const struct collector *c, struct metrics *m)
{
	static const struct event_socket_counts none;
	const struct event_socket_counts *counts =
		c->events ? event_socket_counts(c->events) : &none;

	metrics_counter(m, "antiphase_collector_collective_events_total",
			counts->events, "Collective events received.");
	metrics_counter(m, "antiphase_collector_collective_events_lost_total",
			counts->dropped + counts->lost,
			"Collective events dropped here or by their senders.");
	metrics_counter(m, "antiphase_collector_collective_events_refused_total",
			counts->refused,
			"Packets that were not collective events, and "
			"connections over a limit.");
	metrics_counter(m, "antiphase_collector_collective_events_paused_total",
			counts->paused,
			"Times that a sender was not read until the next second, for "
			"sending too many events.");
}

static void
write_pacers(const struct collector *c, struct metrics *m)
{
	static const struct pacer_socket_counts none;
	const struct pacer_socket_counts *counts =
		c->pacers ? pacer_socket_counts(c->pacers) : &none;

	metrics_gauge(m, "antiphase_collector_pacers",
		      c->pacers ? (double)pacer_socket_n(c->pacers) : 0,
		      "Connected pacers.");
	metrics_counter(m, "antiphase_collector_pacers_refused_total", counts->refused,
			"Connections of pacers refused or closed by the collector.");
	metrics_counter(m, "antiphase_collector_iterations_total", counts->iterations,
			"Iterations reported by pacers.");
	metrics_counter(m, "antiphase_collector_iterations_unknown_job_total",
			counts->unknown_job, "Reported iterations of unknown jobs.");
	metrics_counter(
		m, "antiphase_collector_iterations_lost_total",
		counts->lost + counts->dropped,
		"Iterations that pacers could not send, or that exceeded the limit.");
	metrics_counter(m, "antiphase_collector_orders_total", counts->orders,
			"Orders passed on to pacers.");
	metrics_counter(m, "antiphase_collector_orders_lost_total",
			counts->strays + counts->unsent,
			"Orders for pacers that are not connected or do not read.");
	metrics_counter(m, "antiphase_collector_orders_refused_total",
			c->refused_orders, "Messages that were not orders.");
}

static void
write_ports(const struct collector *c, struct metrics *m)
{
	struct port_host_stats stats = { .n_interfaces = 0 };
	struct path_probe_stats probes = { .n_waiting = 0 };
	uint64_t n_refused = 0;
	const struct port_host *host = collector_port_host(c);

	if (host)
		port_host_stats(host, &stats);
	(void)collector_probe_stats(c, &probes, &n_refused);
	metrics_gauge(m, "antiphase_collector_moved_flows",
		      (double)stats.sender.n_translated,
		      "TCP flows of this host that have a wire port.");
	metrics_gauge(m, "antiphase_collector_wire_ports",
		      (double)stats.receiver.n_entries,
		      "Wire ports that this host translates back.");
	metrics_gauge(m, "antiphase_collector_wire_port_interfaces",
		      (double)stats.n_interfaces,
		      "Interfaces whose packets are translated.");
	metrics_counter(m, "antiphase_collector_flow_moves_total", stats.sender.n_moves,
			"Changes of the source port that a flow has on the wire.");
	metrics_counter(m, "antiphase_collector_flow_moves_failed_total",
			stats.sender.n_refused + stats.sender.n_given_up +
				stats.sender.n_failed + stats.n_refused_orders,
			"Orders to move a flow that were refused or not carried out.");
	metrics_counter(m, "antiphase_collector_port_messages_refused_total",
			collector_malformed_ports(c),
			"Messages that were not about wire ports.");
	metrics_counter(m, "antiphase_collector_path_probes_total", probes.n_packets,
			"Packets sent to find out which path a source port takes.");
	metrics_counter(m, "antiphase_collector_ports_probed_total",
			probes.n_found + probes.n_unknown,
			"Source ports whose path was probed.");
	metrics_counter(m, "antiphase_collector_ports_silent_total", probes.n_unknown,
			"Probed source ports whose path is not known.");
	metrics_counter(m, "antiphase_collector_probe_orders_refused_total", n_refused,
			"Orders to probe paths that were refused.");
}

static void
write_connect(const struct collector *c, struct metrics *m)
{
	struct connect_host_stats stats = { .n_offers = 0 };

	if (collector_connect_host(c))
		connect_host_stats(collector_connect_host(c), &stats);
	metrics_gauge(m, "antiphase_collector_connect_offers", (double)stats.n_offers,
		      "Destinations for which new connections of a job get a source "
		      "port.");
	metrics_counter(m, "antiphase_collector_connect_ports_total",
			stats.counts.n_given,
			"New connections that got a source port of their chosen path.");
	metrics_counter(m, "antiphase_collector_connect_ports_in_use_total",
			stats.counts.n_in_use,
			"Source ports for new connections that could not be bound.");
}

static void
write_clock(const struct collector *c, struct metrics *m)
{
	metrics_counter(m, "antiphase_collector_clock_steps_total", c->wall.steps,
			"Steps of the wall clock.");
	metrics_gauge(m, "antiphase_collector_clock_synchronized",
		      c->clock_error_ns >= 0,
		      "1 if the kernel reports the wall clock as synchronized.");
	if (c->clock_error_ns >= 0)
		metrics_gauge(m, "antiphase_collector_clock_error_seconds",
			      (double)c->clock_error_ns * 1e-9,
			      "The kernel's bound on the wall clock's error.");
}

static void
write_metrics(const struct collector *c, enum metrics_format format, struct strbuf *out)
{
	const struct tele_frame *frame = publisher_last(c->publisher);
	struct metrics m;

	metrics_init_as(&m, out, format);
	metrics_process(&m, cli_version());
	metrics_family(&m, "antiphase_collector_cpu_seconds_total", METRICS_COUNTER,
		       "CPU time of the collector, without that of eBPF programs.");
	metrics_sample(&m, (double)clk_cpu_ns() * 1e-9, NULL);
	write_totals(frame, &m);
	write_states(c, frame, &m);
	write_peaks(c, frame, &m);
	write_jobs(c, &m);
	write_sources(c, &m);
	write_bpf(c, &m);
	write_losses(c, &m);
	write_frames(c, &m);
	write_events(c, &m);
	write_pacers(c, &m);
	write_ports(c, &m);
	write_connect(c, &m);
	write_clock(c, &m);
	metrics_finish(&m);
}

void
collector_write_metrics(void *collector, struct strbuf *out)
{
	write_metrics(collector, METRICS_TEXT, out);
}

void
collector_write_openmetrics(void *collector, struct strbuf *out)
{
	write_metrics(collector, METRICS_OPEN, out);
}

void
collector_write_health(void *collector, struct strbuf *out)
{
	const struct collector *c = collector;

	strbuf_printf(out, "ok\nhost %s\n", c->host);
	for (size_t i = 0; i < sources_n(c->sources); i++)
		strbuf_printf(out, "source %s\n", sources_status(c->sources, i)->name);
}
