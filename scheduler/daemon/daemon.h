/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon.h - antiphase-scheduler: the modules of this folder, connected and run.
 *
 * Each module owns its state behind an opaque struct; its header says what it borrows
 * at creation. Where a module would need one above it, it has a callback, which
 * daemon_open.c connects; daemon_ports.c those about flows. From below:
 *
 *	settings, config    the table of settings; their values as typed members
 *	fabric_source       the fabric, from a file or antiphase-topology
 *	telemetry           frames, and scans of all links; with link_counters
 *	refresh             new profiles of all jobs, in steps
 *	persist, history    the store: changes, profiles and paths; traffic of links
 *	decide, modes       which actions to request, and why (pure)
 *	actions             requests them; guard takes pins back after a kill
 *	move_log            past moves of running jobs, and the limit on them
 *	jobs                the state and advice of each job
 *	pace                orders for pacers; with pacer_profile (pure)
 *	outcomes            the results of advice; with outcome (pure)
 *	fragmentation_watch what it costs that running jobs are scattered
 *	pods                shifts as annotations of pods, at Kubernetes' API server
 *	flow_table          TCP flows of jobs, as hosts report them (pure)
 *	path_ports          which wire port takes which path, by probes (pure)
 *	path_orders         orders that put flows on the chosen paths (pure)
 *	connect_offers      source ports for the next connections (pure)
 *	port_relay          carries them, and messages between hosts (pure)
 *	metrics             for Prometheus; with metrics_flows
 *	api, k8s, commands  HTTP: the API, kube-scheduler's extender; commands at a socket
 *	tick_schedule       the work of each second, spread over it (pure)
 *	daemon              start, callbacks, loop and end
 */
#ifndef SCHEDULER_DAEMON_DAEMON_H
#define SCHEDULER_DAEMON_DAEMON_H

struct settings;

/* Takes ownership of the settings; runs, and returns the exit status. */
int daemon_run(struct settings *settings, const char *config_file);

#endif
