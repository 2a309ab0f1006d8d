/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon.h - the running collector and its parts, shared by the files of this folder
 */
#ifndef COLLECTOR_DAEMON_DAEMON_H
#define COLLECTOR_DAEMON_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/config.h"
#include "collector/series/boot.h"
#include "collector/series/publish.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"

struct binner;
struct bus_keys;
struct bus_pub;
struct bus_sub;
struct cgroups;
struct collector;
struct collector_ports;
struct connect_host;
struct control;
struct err;
struct sources;
struct http;
struct ingest;
struct loop;
struct event_socket;
struct pacer_socket;
struct path_probe_stats;
struct port_host;
struct peak_rates;
struct rec_writer;
struct job_registry;
struct tele_buffer;
struct tele_frame;
struct top_jobs;
struct saved_totals;

struct collector {
	struct config config;
	const char *config_file; /* Borrowed; NULL: the default one. */
	char host[TELE_MAX_NAME + 1];
	uint8_t boot_id[16];
	struct loop *loop;
	struct binner *binner;
	struct ingest *ingest;
	struct saved_totals *saved_totals;
	struct cgroups *cgroups;       /* NULL: no cgroup v2. */
	struct job_registry *registry; /* NULL as cgroups. */
	struct sources *sources;
	struct publisher *publisher;
	struct bus_keys *keys;
	struct bus_pub *bus;       /* NULL: not published. */
	struct rec_writer *output; /* NULL: not recorded. */
	struct event_socket *events;
	struct pacer_socket *pacers;   /* NULL: no pacer socket. */
	struct bus_sub *orders;        /* NULL: none. */
	struct collector_ports *ports; /* NULL: no flows are moved. */
	struct control *control;
	struct http *http;
	struct peak_rates *peak_rates;
	struct top_jobs *top;

	struct wall wall;
	int64_t clock_error_ns;
	bool is_stepped; /* Set until a frame reports it. */
	int64_t started_ns;
	uint64_t unsaved_totals; /* Series that did not fit the file of totals. */
	uint64_t unplaced_jobs;  /* Counted as other because a table was full. */
	uint64_t gone_cgroups;   /* Control groups of jobs, so far. */
	uint64_t refused_orders; /* Malformed messages. */
	uint64_t refused_cgroups, paused_events, refused_events; /* As last logged. */
	struct log_limit orders_log_limit, cgroups_log_limit, events_log_limit;
	int64_t saved_ns; /* Time of the last write of totals. */
	int status;       /* Exit status. */
};

/* metrics.c: all metrics, in the Prometheus text format. */
void collector_write_metrics(void *collector, struct strbuf *out);
/* The same as OpenMetrics. */
void collector_write_openmetrics(void *collector, struct strbuf *out);
/* "ok" and the open sources: the page for liveness checks. */
void collector_write_health(void *collector, struct strbuf *out);

/* control.c: opens the control socket in the runtime directory. */
int collector_open_control(struct collector *collector, struct err *err);

/*
 * inputs.c: the sockets of collective events and pacers, and the subscription to
 * orders. collector_inputs_second() is called each second; close before the publisher.
 */
int collector_open_inputs(struct collector *collector, struct err *err);
void collector_inputs_second(struct collector *collector, int64_t now_ns,
			     const struct publish_state *state);
void collector_close_inputs(struct collector *collector);

/*
 * ports.c: moving flows to other paths, if the settings say so.  collector_open_ports()
 * needs the privileges, collector_join_ports() the bus.  What this host does not support
 * is logged; errors are of the settings.
 */
int collector_open_ports(struct collector *collector, struct err *err);
int collector_join_ports(struct collector *collector, struct err *err);
void collector_close_ports(struct collector *collector); /* Before the bus. */
struct port_host *collector_port_host(const struct collector *collector);
/* NULL: new connections get no ports. */
const struct connect_host *collector_connect_host(const struct collector *collector);
uint64_t collector_malformed_ports(const struct collector *collector);
/* Probes of paths, and orders for probes that were refused; false: none are made. */
bool collector_probe_stats(const struct collector *collector,
			   struct path_probe_stats *ret_stats, uint64_t *ret_n_refused);

/* frames.c: callbacks of the publisher. */
bool collector_is_wanted(void *collector, uint8_t kind);
void collector_send(void *collector, const struct tele_frame *frame,
		    const struct tele_buffer *bytes);
/* Callback of the sources, after a poll. */
void collector_polled(void *collector, bool is_end);
/* The host's state for frames.  Reports a step of the clock once. */
struct publish_state collector_state(struct collector *collector);
/* Bins before this millisecond are complete. */
int64_t collector_complete_ms(const struct collector *collector, int64_t now_ns);
void collector_check_clock(struct collector *collector);
void collector_publish(struct collector *collector, int64_t now_ns);
/* Ends the loop; the program exits with 'status'. */
void collector_stop(struct collector *collector, int status);

/*
 * open.c: opens everything, then drops privileges: 0, or -errno with 'err' filled.  The
 * caller closes in both cases.
 */
int collector_open(struct collector *collector, struct err *err);
void collector_close(struct collector *collector);

/* daemon.c: opens, runs until stopped, closes.  Returns the exit status. */
int collector_run(struct collector *collector);

#endif
