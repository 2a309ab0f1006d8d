/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon.h - antiphase-scheduler as a whole: made of the modules of this folder, and run.
 *
 * Each module owns its state behind an opaque struct; its header says what it borrows at
 * creation.  A module that would need one above it has a callback instead, which daemon.c
 * connects.  From below:
 *
 *	settings, config    the table of settings; their values as typed members
 *	fabric_source       the fabric, from a file or antiphase-topology
 *	telemetry           frames, and scans of all links; with link_counters
 *	refresh             profiles of all jobs, found anew in steps
 *	persist, history    what the store has: changes, profiles; traffic of links
 *	decide, modes       what is to be done at the cluster's scheduler, and why (pure)
 *	actions             that, done; guard takes pins back if this process is killed
 *	jobs                what is known of each job, and what is advised for it
 *	pace                orders for pacers; pacer_profile: a job by its pacer (pure)
 *	outcomes            what became of advice; by outcome (pure)
 *	pods                shifts as annotations of pods, at Kubernetes' API server
 *	metrics             for Prometheus
 *	api, k8s, commands  HTTP: the API, kube-scheduler's extender; commands at a socket
 *	tick_schedule       the work of each second, spread over it (pure)
 *	daemon              start, callbacks, loop and end
 */
#ifndef SCHEDULER_DAEMON_DAEMON_H
#define SCHEDULER_DAEMON_DAEMON_H

struct settings;

/* Runs with the settings, which are taken; returns the exit status. */
int daemon_run(struct settings *settings, const char *config_file);

#endif
