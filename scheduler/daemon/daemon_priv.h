/* SPDX-License-Identifier: Apache-2.0 */
/* daemon_priv.h - the modules of the daemon, together, for its files alone. */
#ifndef SCHEDULER_DAEMON_DAEMON_PRIV_H
#define SCHEDULER_DAEMON_DAEMON_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/log.h"
#include "scheduler/daemon/config.h"
#include "scheduler/daemon/tick_schedule.h"

struct actions;
struct api;
struct bus_keys;
struct bus_pub;
struct commands;
struct connect_offers;
struct err;
struct fabric_source;
struct fragmentation_watch;
struct flow_split;
struct flow_table;
struct history;
struct jobs;
struct loop;
struct move_log;
struct outcomes;
struct pace;
struct path_orders;
struct path_ports;
struct pods;
struct port_relay;
struct refresh;
struct scheduler_metrics;
struct store;
struct telemetry;

/* All owned, unless said otherwise. */
struct daemon {
	struct scheduler_config config;
	const char *config_file; /* Borrowed; NULL: the default one. */
	struct loop *loop;
	struct bus_keys *keys; /* NULL: none. */
	struct store *store;   /* NULL: none, as the next ones. */
	struct bus_pub *announcer;
	struct fabric_source *fabric;
	struct telemetry *telemetry;
	struct refresh *refresh;
	struct history *history;
	struct actions *actions;
	struct jobs *jobs;
	struct pace *pace;
	struct outcomes *outcomes;
	struct fragmentation_watch *fragmentation;
	struct move_log *moves;
	struct port_relay *port_relay;
	struct flow_table *flows;
	struct path_ports *path_ports;
	struct path_orders *path_orders;
	struct connect_offers *connect_offers;
	struct log_limit text_limit;
	struct pods *pods; /* NULL: there is no API server to ask. */
	struct scheduler_metrics *metrics;
	struct api *api; /* NULL: none. */
	struct commands *commands;

	struct tick_schedule schedule; /* Of the parts of each second. */
	bool is_hurried;               /* A new snapshot requires some parts at once; */
	size_t next_hurried;           /* this one is next. */
	int64_t refreshed_ns;
	bool is_tidying;   /* The store may have more to delete in this second. */
	int64_t ending_ns; /* When a signal ended the daemon; 0: not yet. */
	struct log_limit store_limit;
	int status;
};

/* ---- daemon_ports.c -------------------------------------------------------------- */

/* Publishes a text to collectors; of several modules. */
void daemon_announce(void *ctx, const char *topic, const char *text);
/* Of the jobs: the flows of a host can be moved. */
bool daemon_is_movable(void *ctx, const char *host);
/* Likewise: the flows that a host reports for a job. */
void daemon_add_split(void *ctx, const char *host, const char *job,
		      struct flow_split *split);
/* The modules that move flows; opened when there is an announcer, or not. */
void daemon_make_ports(struct daemon *d);
int daemon_open_ports(struct daemon *d, struct err *err);
void daemon_ports_on_fabric(struct daemon *d);
void daemon_tick_ports(struct daemon *d);
void daemon_free_ports(struct daemon *d);

/* ---- daemon_open.c --------------------------------------------------------------- */

/*
 * Makes and opens all modules from 'config' and 'loop' on, and connects their
 * callbacks: 0, or -errno with 'err' filled.
 */
int daemon_open_modules(struct daemon *d, struct err *err);
/* Accepts modules that are not open, or only in part. */
void daemon_close_modules(struct daemon *d);

#endif
