/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.h - the metrics of antiphase-scheduler, for Prometheus: docs/api.md lists all
 * of them, and a test compares the two.
 *
 * They are written in pieces of a few milliseconds, so that the loop waits for one
 * piece at most. Links, jobs and hosts are numbered, and a number keeps its meaning
 * between pieces, so that no sample is written twice.
 */
#ifndef SCHEDULER_DAEMON_METRICS_H
#define SCHEDULER_DAEMON_METRICS_H

#include <stdbool.h>

struct actions;
struct connect_offers;
struct fabric_source;
struct fragmentation_watch;
struct flow_table;
struct history;
struct http;
struct http_place;
struct jobs;
struct loop;
struct move_log;
struct outcomes;
struct pace;
struct path_orders;
struct path_ports;
struct pods;
struct port_relay;
struct scheduler_metrics;
struct store;
struct strbuf;
struct telemetry;

/* Sources of the metrics; all borrowed. */
struct scheduler_metrics_opts {
	struct loop *loop;
	const struct fabric_source *fabric;
	const struct telemetry *telemetry;
	const struct jobs *jobs;
	const struct actions *actions;
	const struct pods *pods; /* NULL: none. */
	const struct pace *pace;
	const struct port_relay *port_relay;
	const struct flow_table *flows;
	const struct path_orders *path_orders;
	const struct path_ports *path_ports;
	const struct connect_offers *connect_offers;
	const struct outcomes *outcomes;
	const struct fragmentation_watch *fragmentation;
	const struct move_log *moves;
	const struct store *store; /* NULL: none. */
	const struct history *history;
};

struct scheduler_metrics *
scheduler_metrics_new(const struct scheduler_metrics_opts *opts);
void scheduler_metrics_free(struct scheduler_metrics *metrics); /* Accepts NULL. */
/* Adds the metrics of the HTTP server, which is borrowed. */
void scheduler_metrics_add_http(struct scheduler_metrics *metrics, struct http *http);

/* All of them. */
void scheduler_metrics_write(struct scheduler_metrics *metrics, struct strbuf *out);
/* The same in pieces (http.h), as Prometheus's text and as OpenMetrics. */
bool scheduler_metrics_write_text(void *metrics, struct http_place *place,
				  struct strbuf *out);
bool scheduler_metrics_write_open(void *metrics, struct http_place *place,
				  struct strbuf *out);

#endif
