/* SPDX-License-Identifier: Apache-2.0 */
/* daemon_open.c - the modules of the daemon, made, connected by callbacks, and opened. */
#include <string.h>

#include "lib/base/clk.h"
#include "lib/base/descriptors.h"
#include "lib/base/err.h"
#include "lib/daemon/loop.h"
#include "lib/wire/bus.h"
#include "scheduler/core/advise/advise.h"
#include "scheduler/daemon/actions.h"
#include "scheduler/daemon/api.h"
#include "scheduler/daemon/commands.h"
#include "scheduler/daemon/daemon_priv.h"
#include "scheduler/daemon/fabric_source.h"
#include "scheduler/daemon/fragmentation_watch.h"
#include "scheduler/daemon/history.h"
#include "scheduler/daemon/jobs.h"
#include "scheduler/daemon/metrics.h"
#include "scheduler/daemon/move_log.h"
#include "scheduler/daemon/outcomes.h"
#include "scheduler/daemon/pace.h"
#include "scheduler/daemon/persist.h"
#include "scheduler/daemon/pods.h"
#include "scheduler/daemon/refresh.h"
#include "scheduler/daemon/telemetry.h"
#include "scheduler/slurm/slurm.h"
#include "scheduler/store/store.h"

/* ---- Callbacks ----------------------------------------------------------------------- */

/* The fabric was replaced: drops results that refer to the old one. */
static void
on_fabric(void *ctx)
{
	struct daemon *d = ctx;

	telemetry_forget_links(d->telemetry);
	history_restart(d->history);
	refresh_restart(d->refresh);
	jobs_set_fabric(d->jobs);
	fragmentation_watch_restart(d->fragmentation);
	daemon_ports_on_fabric(d);
}

/* Of telemetry: a new scan. */
static void
on_scan(void *ctx)
{
	struct daemon *d = ctx;

	history_restart(d->history);
	jobs_stop_taking(d->jobs);
}

/* Of refresh: the work beside a round. */
static bool
side_step(void *ctx)
{
	struct daemon *d = ctx;

	loop_part(d->loop, "history");
	if (d->store &&
	    history_step(d->history, d->store, telemetry_links(d->telemetry),
			 telemetry_live(d->telemetry)))
		return true;
	loop_part(d->loop, "events");
	if (api_step(d->api))
		return true;
	loop_part(d->loop, "fragmentation");
	if (fragmentation_watch_step(d->fragmentation))
		return true;
	loop_part(d->loop, "moves");
	if (jobs_seek_move(d->jobs))
		return true;
	loop_part(d->loop, "scan");
	return telemetry_step_scan(d->telemetry);
}

static void
on_job(void *ctx, const struct live_workload *running, const struct profiled_job *seen)
{
	struct daemon *d = ctx;

	jobs_take_running(d->jobs, running, seen);
}

static void
on_forget(void *ctx)
{
	struct daemon *d = ctx;

	jobs_stop_taking(d->jobs);
}

/* Of actions. */
static void
advice(void *ctx, const struct sched_job *job, struct decide_advice *ret_advice)
{
	struct daemon *d = ctx;

	jobs_advice(d->jobs, job, ret_advice);
}

/* Of actions: a job is about to be moved. */
static void
on_move(void *ctx, const char *job, double payback_s)
{
	struct daemon *d = ctx;

	move_log_add(d->moves, job, clk_wall_us(), payback_s);
	jobs_drop_move(d->jobs, job);
}

static void
on_move_refused(void *ctx, const char *job)
{
	struct daemon *d = ctx;

	move_log_drop(d->moves, job);
}

/* Runs one part after another, as all at once would take too long. */
static void
on_snapshot(void *ctx)
{
	struct daemon *d = ctx;

	d->is_hurried = true;
	d->next_hurried = 0;
}

/* ---- Opening and closing --------------------------------------------------------------- */

/* Makes the modules that open nothing. */
static void
make_modules(struct daemon *d)
{
	d->fabric =
		fabric_source_new(&(struct fabric_source_opts){ .loop = d->loop,
								.config = &d->config,
								.keys = d->keys,
								.on_change = on_fabric,
								.ctx = d });
	d->telemetry = telemetry_new(&(struct telemetry_opts){ .loop = d->loop,
							       .config = &d->config,
							       .fabric = d->fabric,
							       .on_replace = on_scan,
							       .ctx = d });
	d->refresh = refresh_new(&(struct refresh_opts){ .loop = d->loop,
							 .telemetry = d->telemetry,
							 .fabric = d->fabric,
							 .side_step = side_step,
							 .on_job = on_job,
							 .on_forget = on_forget,
							 .ctx = d });
	d->history = history_new();
	daemon_make_ports(d);
}

/* Makes those that need the store, and the cluster's scheduler. */
static void
make_job_modules(struct daemon *d, unsigned levers)
{
	const struct sched_snapshot *snapshot = actions_snapshot(d->actions);

	d->jobs = jobs_new(&(struct jobs_opts){ .loop = d->loop,
						.config = &d->config,
						.fabric = d->fabric,
						.telemetry = d->telemetry,
						.store = d->store,
						.moves = d->moves,
						.snapshot = snapshot,
						.modes = actions_modes(d->actions),
						.levers = levers,
						.is_movable = daemon_is_movable,
						.add_split = daemon_add_split,
						.announce = daemon_announce,
						.ctx = d });
	d->pace = pace_new(&(struct pace_opts){ .config = &d->config,
						.telemetry = d->telemetry,
						.jobs = d->jobs,
						.snapshot = snapshot,
						.modes = actions_modes(d->actions),
						.announce = daemon_announce,
						.ctx = d });
	d->outcomes = outcomes_new(&(struct outcomes_opts){ .telemetry = d->telemetry,
							    .jobs = d->jobs,
							    .pace = d->pace,
							    .snapshot = snapshot,
							    .store = d->store });
	d->fragmentation = fragmentation_watch_new(d->fabric, d->jobs);
}

static int
open_actions(struct daemon *d, struct err *err)
{
	const struct actions_opts opts = { .loop = d->loop,
					   .config = &d->config,
					   .store = d->store,
					   .advice = advice,
					   .on_move = on_move,
					   .on_move_refused = on_move_refused,
					   .on_snapshot = on_snapshot,
					   .ctx = d };

	return actions_open(&opts, &d->actions, err);
}

static int
open_driver(struct daemon *d, struct err *err)
{
	const char *bindir = d->config.slurm_bindir;
	const struct slurm_opts opts = { .bindir = *bindir ? bindir : NULL,
					 .poll_ms = d->config.poll_ms };
	const struct sched_observer observer = actions_observer(d->actions);
	struct sched_driver *driver;
	int r;

	if (strcmp(d->config.scheduler, "slurm") != 0)
		return 0;
	r = slurm_open(d->loop, &opts, &observer, &driver, err);
	if (r == 0)
		actions_take_driver(d->actions, driver);
	return r;
}

static int
open_pods(struct daemon *d, struct err *err)
{
	const struct pods_opts opts = { .loop = d->loop,
					.config = &d->config,
					.jobs = d->jobs,
					.modes = actions_modes(d->actions),
					.store = d->store };

	return pods_open(&opts, &d->pods, err);
}

static int
open_announcer(struct daemon *d, struct err *err)
{
	int r;

	if (!d->config.announce)
		return 0;
	r = bus_pub_open_room(d->config.announce, true, d->keys, BUS_ROOM_TOPICS,
			      &d->announcer, err);
	if (r == 0)
		bus_pub_join(d->announcer, d->loop);
	return r;
}

static int
open_api(struct daemon *d, struct err *err)
{
	const struct scheduler_metrics_opts metrics = { .loop = d->loop,
							.fabric = d->fabric,
							.telemetry = d->telemetry,
							.jobs = d->jobs,
							.actions = d->actions,
							.pods = d->pods,
							.pace = d->pace,
							.port_relay = d->port_relay,
							.flows = d->flows,
							.path_orders = d->path_orders,
							.path_ports = d->path_ports,
							.connect_offers =
								d->connect_offers,
							.outcomes = d->outcomes,
							.fragmentation =
								d->fragmentation,
							.moves = d->moves,
							.store = d->store,
							.history = d->history };
	struct api_opts api = { .loop = d->loop,
				.config = &d->config,
				.fabric = d->fabric,
				.telemetry = d->telemetry,
				.jobs = d->jobs,
				.actions = d->actions,
				.outcomes = d->outcomes,
				.fragmentation = d->fragmentation,
				.store = d->store,
				.started_us = clk_wall_us() };

	d->metrics = scheduler_metrics_new(&metrics);
	api.metrics = d->metrics;
	return api_open(&api, &d->api, err);
}

static int
open_commands(struct daemon *d, struct err *err)
{
	const struct commands_opts opts = { .loop = d->loop,
					    .config = &d->config,
					    .telemetry = d->telemetry,
					    .fabric = d->fabric,
					    .actions = d->actions,
					    .port_relay = d->port_relay,
					    .flows = d->flows,
					    .path_orders = d->path_orders,
					    .path_ports = d->path_ports,
					    .metrics = d->metrics };

	/* The guardian starts before the socket is served, and both before any pin. */
	actions_guard(d->actions, d->config.socket);
	return commands_open(&opts, &d->commands, err);
}

int
daemon_open_modules(struct daemon *d, struct err *err)
{
	unsigned levers;
	int r = descriptors_raise(err);

	if (r == 0)
		r = advise_levers_read(d->config.levers, &levers, err);
	if (r == 0 && d->config.keys)
		r = bus_keys_load(d->config.keys, &d->keys, err);
	if (r < 0)
		return r;
	make_modules(d);
	r = telemetry_open(d->telemetry, err);
	if (r == 0)
		r = persist_open(&d->config, &d->store, err);
	if (r == 0)
		r = move_log_open(d->store, &d->moves, err);
	if (r == 0)
		r = open_actions(d, err);
	if (r < 0)
		return r;
	make_job_modules(d, levers);
	r = outcomes_restore(d->outcomes, err);
	if (r == 0)
		r = open_driver(d, err);
	if (r == 0)
		r = open_pods(d, err);
	if (r == 0)
		r = fabric_source_open(d->fabric, err);
	if (r == 0)
		r = open_announcer(d, err);
	if (r == 0)
		r = daemon_open_ports(d, err);
	if (r == 0)
		r = open_api(d, err);
	if (r == 0)
		r = open_commands(d, err);
	return r;
}

void
daemon_close_modules(struct daemon *d)
{
	commands_close(d->commands);
	api_close(d->api);
	scheduler_metrics_free(d->metrics);
	pods_close(d->pods);
	actions_close(d->actions);
	fragmentation_watch_free(d->fragmentation);
	outcomes_free(d->outcomes);
	pace_free(d->pace);
	jobs_free(d->jobs);
	move_log_free(d->moves);
	refresh_free(d->refresh);
	history_free(d->history);
	store_close(d->store);
	telemetry_free(d->telemetry);
	daemon_free_ports(d);
	fabric_source_free(d->fabric);
	bus_pub_close(d->announcer);
	bus_keys_free(d->keys);
}
