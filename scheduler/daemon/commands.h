/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands.h - the commands of the running daemon, at its Unix socket
 * (lib/daemon/control.h):
 *
 *	stats				all metrics
 *	ping
 *	modes				the mode of each partition
 *	mode MODE [PARTITION]		sets a mode until the next start
 *	poke				polls the cluster's scheduler
 *	flow list			flows of jobs, as their hosts report them, and
 *					whether they are on their chosen paths
 *	flow moved			flows that have a wire port
 *	flow move JOB SOURCE DESTINATION PORT
 *					orders a flow to take a source port on the
 *					wire; its own: no longer to be translated
 *	flow port SOURCE DESTINATION SWITCHES
 *					finds a source port whose packets pass these
 *					switches, and keeps it for the flow
 */
#ifndef SCHEDULER_DAEMON_COMMANDS_H
#define SCHEDULER_DAEMON_COMMANDS_H

struct actions;
struct commands;
struct err;
struct fabric_source;
struct flow_table;
struct loop;
struct path_orders;
struct path_ports;
struct port_relay;
struct scheduler_config;
struct scheduler_metrics;
struct telemetry;

/* All borrowed. */
struct commands_opts {
	struct loop *loop;
	const struct scheduler_config *config;
	const struct telemetry *telemetry;
	const struct fabric_source *fabric;
	struct actions *actions;
	struct port_relay *port_relay;
	const struct flow_table *flows;
	const struct path_orders *path_orders;
	struct path_ports *path_ports;
	struct scheduler_metrics *metrics;
};

/* Serves at config->socket; makes its runtime directory. */
int commands_open(const struct commands_opts *opts, struct commands **ret_commands,
		  struct err *err);
void commands_close(struct commands *commands); /* Accepts NULL. */

#endif
