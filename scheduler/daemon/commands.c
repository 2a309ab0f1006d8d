/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/commands.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/alloc.h"
#include "lib/base/cli.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/base/words.h"
#include "lib/daemon/control.h"
#include "lib/wire/port_text.h"
#include "lib/wire/probe_text.h"
#include "scheduler/daemon/actions.h"
#include "scheduler/daemon/config.h"
#include "scheduler/daemon/fabric_source.h"
#include "scheduler/daemon/flow_table.h"
#include "scheduler/daemon/metrics.h"
#include "scheduler/daemon/path_orders.h"
#include "scheduler/daemon/path_ports.h"
#include "scheduler/daemon/port_relay.h"
#include "scheduler/daemon/telemetry.h"
#include "scheduler/live/live.h"
#include "topology/topo.h"

struct commands {
	struct commands_opts opts;
	struct control *control; /* Owned. */
};

static int
run_stats(void *ctx, size_t n, char **args, struct strbuf *reply, struct err *err)
{
	const struct commands *commands = ctx;

	(void)n;
	(void)args;
	(void)err;
	scheduler_metrics_write(commands->opts.metrics, reply);
	return 0;
}

static int
run_ping(void *ctx, size_t n, char **args, struct strbuf *reply, struct err *err)
{
	const struct commands *commands = ctx;
	const struct live *live = telemetry_live(commands->opts.telemetry);

	(void)n;
	(void)args;
	(void)err;
	strbuf_printf(reply, "ok\n%s\n%u host%s, %u job%s, %s\n", cli_version(),
		      live_n_hosts(live), words_plural(live_n_hosts(live)),
		      live_n_known_jobs(live), words_plural(live_n_known_jobs(live)),
		      fabric_source_topo(commands->opts.fabric) ? "fabric known"
								: "no fabric");
	return 0;
}

static int
run_modes(void *ctx, size_t n, char **args, struct strbuf *reply, struct err *err)
{
	const struct commands *commands = ctx;
	const struct modes *modes = actions_modes(commands->opts.actions);

	(void)n;
	(void)args;
	(void)err;
	strbuf_printf(reply, "%s\n", mode_names[modes->usual]);
	for (size_t i = 0; i < modes->others.n; i++)
		strbuf_printf(reply, "%s of partition %s\n",
			      mode_names[modes->others.items[i].mode],
			      modes->others.items[i].partition);
	if (modes->is_stopped)
		strbuf_puts(reply, "the kill switch is on: observe everywhere\n");
	return 0;
}

static int
run_mode(void *ctx, size_t n, char **args, struct strbuf *reply, struct err *err)
{
	const struct commands *commands = ctx;
	int mode = words_index(args[0], mode_names);
	const char *partition = n > 1 ? args[1] : "";

	if (mode < 0) {
		err_set(err, NULL, 0, 0,
			"the mode is observe, advise or enforce, not '%s'", args[0]);
		err_suggest(err, args[0], mode_names);
		return -EINVAL;
	}
	if (actions_set_mode(commands->opts.actions, partition, (enum mode)mode) < 0)
		return err_set(err, NULL, 0, 0,
			       "'%s' is not a valid name of a partition", partition);
	log_warn("scheduler", "mode of %s%s is now %s, as requested by a command",
		 *partition ? "partition " : "all others", partition, args[0]);
	return run_modes(ctx, 0, NULL, reply, err);
}

static int
run_poke(void *ctx, size_t n, char **args, struct strbuf *reply, struct err *err)
{
	const struct commands *commands = ctx;
	struct sched_driver *driver = actions_driver(commands->opts.actions);

	(void)n;
	(void)args;
	if (!driver) {
		err_set(err, NULL, 0, 0,
			"there is no scheduler to ask: scheduler = none in "
			"[scheduler]");
		return -EOPNOTSUPP;
	}
	sched_poll(driver);
	strbuf_puts(reply, "looking\n");
	return 0;
}

/* A list of flows, under way. */
struct flow_list {
	const struct path_orders *orders;
	struct strbuf *out;
};

static void
write_flow(void *ctx, const char *host, const struct flow_row *row)
{
	const struct flow_list *list = ctx;
	const char *state = path_orders_state(list->orders, &row->flow);
	char text[PORT_TEXT_FLOW_BYTES];

	strbuf_printf(list->out, "%s %s port %u job %s %llu bytes%s%s\n", host,
		      port_text_flow(&row->flow, text), ntohs(row->port), row->job,
		      (unsigned long long)row->bytes, *state ? " " : "", state);
}

static void
write_moved(void *ctx, const char *job, const struct port_flow *flow, uint16_t port)
{
	char text[PORT_TEXT_FLOW_BYTES];

	strbuf_printf(ctx, "%s port %u job %s\n", port_text_flow(flow, text),
		      ntohs(port), *job ? job : "?");
}

static int
run_flow_list(void *ctx, size_t n, char **args, struct strbuf *reply, struct err *err)
{
	const struct commands *commands = ctx;
	struct flow_list list = { commands->opts.path_orders, reply };

	(void)n;
	(void)args;
	(void)err;
	flow_table_each(commands->opts.flows, write_flow, &list);
	return 0;
}

static int
run_flow_moved(void *ctx, size_t n, char **args, struct strbuf *reply, struct err *err)
{
	const struct commands *commands = ctx;

	(void)n;
	(void)args;
	(void)err;
	port_relay_each(commands->opts.port_relay, write_moved, reply);
	return 0;
}

/* Reads the two ends of a flow. */
static int
read_flow(char **ends, struct port_flow *ret_flow, struct err *err)
{
	for (int i = 0; i < 2; i++)
		if (port_text_end(ends[i],
				  i == 0 ? ret_flow->source : ret_flow->destination,
				  i == 0 ? &ret_flow->source_port
					 : &ret_flow->destination_port) < 0)
			return err_set(err, NULL, 0, 0,
				       "'%s': expected an address with a port, such as "
				       "10.0.0.1:41000 or [fd00::1]:41000",
				       ends[i]);
	return 0;
}

static int
run_flow_move(void *ctx, size_t n, char **args, struct strbuf *reply, struct err *err)
{
	const struct commands *commands = ctx;
	char *end, text[PORT_TEXT_FLOW_BYTES];
	unsigned long port = strtoul(args[3], &end, 10);
	struct port_flow flow;
	int rc = read_flow(args + 1, &flow, err);

	(void)n;
	if (rc < 0)
		return rc;
	if (*end || !port || port > UINT16_MAX)
		return err_set(err, NULL, 0, 0, "'%s' is not a port", args[3]);
	if (port_relay_move(commands->opts.port_relay, clk_monotonic_ns(), args[0],
			    &flow, htons((uint16_t)port)) < 0) {
		err_set(err, NULL, 0, 0,
			"the mode of job %s is not enforce; run 'antiphase ctl mode "
			"enforce'",
			args[0]);
		return -EPERM;
	}
	strbuf_printf(reply, "%s: ordered to take port %lu\n",
		      port_text_flow(&flow, text), port);
	return 0;
}

/* Reads "leaf0,spine1,leaf1". */
static int
read_switches(const struct commands *commands, const char *text,
	      uint32_t ret_switches[PROBE_MAX_HOPS], size_t *ret_n, struct err *err)
{
	const struct topo *topo = fabric_source_topo(commands->opts.fabric);
	struct words names;
	int rc = 0;

	words_split(&names, text, ",");
	if (!topo)
		rc = err_set(err, NULL, 0, 0, "there is no fabric");
	else if (names.items.n < 1 || names.items.n > PROBE_MAX_HOPS)
		rc = err_set(err, NULL, 0, 0, "expected 1 to %d switches",
			     PROBE_MAX_HOPS);
	for (size_t i = 0; rc == 0 && i < names.items.n; i++) {
		ret_switches[i] = topo_find_node(topo, names.items.items[i]);
		if (ret_switches[i] == TOPO_NONE)
			rc = err_set(err, NULL, 0, 0, "there is no switch '%s'",
				     names.items.items[i]);
	}
	*ret_n = names.items.n;
	words_fini(&names);
	return rc;
}

static int
run_flow_port(void *ctx, size_t n, char **args, struct strbuf *reply, struct err *err)
{
	const struct commands *commands = ctx;
	uint32_t switches[PROBE_MAX_HOPS];
	struct port_flow flow;
	size_t n_switches = 0;
	uint16_t port;
	int rc = read_flow(args, &flow, err);

	(void)n;
	if (rc == 0)
		rc = read_switches(commands, args[2], switches, &n_switches, err);
	if (rc < 0)
		return rc;
	rc = path_ports_find(commands->opts.path_ports, clk_monotonic_ns(), &flow,
			     switches, n_switches, &port);
	if (rc == 0)
		strbuf_printf(reply, "port %u, found by probing\n", ntohs(port));
	else if (rc == -EAGAIN)
		strbuf_puts(reply, "not known yet: ports are being probed\n");
	else
		strbuf_puts(reply, "not known: no probed port takes this path, or the "
				   "switches do not answer\n");
	return 0;
}

static const struct control_command table[] = {
	{ "stats", "", 0, 0, false, run_stats },
	{ "ping", "", 0, 0, false, run_ping },
	{ "modes", "", 0, 0, false, run_modes },
	{ "mode", "MODE [PARTITION]", 1, 2, true, run_mode },
	{ "poke", "", 0, 0, false, run_poke },
	{ "flow list", "", 0, 0, false, run_flow_list },
	{ "flow moved", "", 0, 0, false, run_flow_moved },
	{ "flow move", "JOB SOURCE DESTINATION PORT", 4, 4, true, run_flow_move },
	{ "flow port", "SOURCE DESTINATION SWITCHES", 3, 3, true, run_flow_port },
	{ NULL, NULL, 0, 0, false, NULL },
};

int
commands_open(const struct commands_opts *opts, struct commands **ret_commands,
	      struct err *err)
{
	const char *folder = opts->config->runtime_dir;
	struct commands *commands;
	int rc;

	if (mkdir(folder, 0755) < 0 && errno != EEXIST)
		return err_set_errno(err, folder, errno,
				     "cannot make it (--runtime-dir DIR says where "
				     "else)");
	commands = xcalloc(1, sizeof *commands);
	commands->opts = *opts;
	rc = control_open(opts->loop, opts->config->socket, table, commands,
			  &commands->control, err);
	if (rc < 0)
		free(commands);
	else
		*ret_commands = commands;
	return rc;
}

void
commands_close(struct commands *commands)
{
	if (!commands)
		return;
	control_close(commands->control);
	free(commands);
}
