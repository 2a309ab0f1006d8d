/*
 * daemon.c - the life of antiphase-scheduler: opens everything, runs its loop until it is
 * told to end, undoes what it did at the cluster's scheduler, and closes.
 */
#include "scheduler/daemon/daemon.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cli.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/daemon/control.h"
#include "lib/daemon/loop.h"
#include "lib/daemon/notify.h"
#include "lib/daemon/settings.h"
#include "lib/wire/bus.h"
#include "scheduler/daemon/outcomes.h"
#include "scheduler/daemon/pace.h"
#include "scheduler/daemon/pods.h"
#include "scheduler/live/live.h"
#include "topology/topo.h"

/* What was done at the cluster's scheduler is undone within so long, or by guard.h. */
#define END_NS      (5 * DAEMON_SECOND_NS)
#define END_TICK_NS (DAEMON_SECOND_NS / 10)

/*
 * A pass of the loop that has taken so long, of the processor's time, ends before what can
 * as well be done in the next one; but nothing is put off for longer than that.
 */
#define PASS_NS    (DAEMON_SECOND_NS / 100)
#define PUT_OFF_NS (DAEMON_SECOND_NS / 20)
/* Where a pass has taken so long, no further turn begins in it. */
#define TURNS_NS (DAEMON_SECOND_NS / 500)

/* ---- Ticks --------------------------------------------------------------------------- */

static bool
is_switched_off(const struct daemon *d)
{
	struct stat status;

	return stat(d->config.kill_switch, &status) == 0;
}

static void
look_at_switch(struct daemon *d)
{
	bool is_off = is_switched_off(d);

	if (is_off == d->deeds.modes.is_stopped)
		return;
	d->deeds.modes.is_stopped = is_off;
	log_warn("scheduler", "%s %s: %s", d->config.kill_switch,
		 is_off ? "is there" : "is gone",
		 is_off ? "what was done is undone, and nothing more is done"
			: "modes are as they were set");
}

static void
tell_status(struct daemon *d)
{
	notify_status("%u hosts, %u jobs, %s%s", live_n_hosts(d->now.live),
		      live_n_known_jobs(d->now.live),
		      fabric_source_topo(d->fabric) ? "fabric known" : "no fabric",
		      d->deeds.modes.is_stopped ? ", kill switch is on" : "");
}

static void
fabric_turn(struct daemon *d)
{
	look_at_switch(d);
	fabric_source_tick(d->fabric);
}

static void
waiting_turn(struct daemon *d)
{
	jobs_take_nodes(d);
	jobs_take_waiting(d);
}

/*
 * What is done once a second; not in one go, as others would wait for all of it.  Parts
 * that a new look at the cluster's scheduler calls for are done soon after it, too.
 */
static const struct {
	const char *name;
	void (*tick)(struct daemon *d);
	bool is_of_look;
} parts[] = {
	/* clang-format off */
	{ "fabric", fabric_turn, false },
	{ "look", telemetry_scan, false },
	{ "silent", jobs_mark_silent, true },
	{ "running", jobs_mark_running, true },
	{ "ages", jobs_look_again, true },
	{ "waiting", waiting_turn, true },
	{ "advice", jobs_solve, true },
	{ "gone", jobs_drop_gone, true },
	{ "outcomes", outcomes_tick, false },
	{ "deeds", actions_tick, true },
	{ "pods", pods_tick, false },
	{ "store", persist_tick, false },
	{ "events", api_tick, false },
	{ "status", tell_status, false },
	/* clang-format on */
};

#define N_PARTS (sizeof parts / sizeof *parts)

/* A part of what is hurried; false: there is none. */
static bool
next_hurried(struct daemon *d, size_t *ret_part)
{
	while (d->next_hurried < N_PARTS && !parts[d->next_hurried].is_of_look)
		d->next_hurried++;
	d->is_hurried &= d->next_hurried < N_PARTS;
	if (d->is_hurried)
		*ret_part = d->next_hurried++;
	return d->is_hurried;
}

/* Those whose turn it is, one after another, as long as there is time in this pass. */
static void
take_turns(struct daemon *d, int64_t now_ns)
{
	size_t part;

	do {
		if (!tick_schedule_next(&d->turns, now_ns, &part) &&
		    !(d->is_hurried && next_hurried(d, &part)))
			return;
		loop_part(d->loop, parts[part].name);
		parts[part].tick(d);
	} while (loop_pass_cpu_ns(d->loop) < TURNS_NS);
}

static void
on_hundredth(void *ctx, int64_t now_ns, int64_t missed)
{
	struct daemon *d = ctx;
	bool is_late = now_ns - d->rounds_ns >= PUT_OFF_NS;

	(void)missed;
	if (loop_pass_cpu_ns(d->loop) >= PASS_NS && !is_late)
		return;
	take_turns(d, now_ns);
	jobs_go_on(d);
	if (loop_pass_cpu_ns(d->loop) >= PASS_NS && !is_late)
		return;
	refresh_step(d);
	d->rounds_ns = now_ns;
}

/* ---- Signals ------------------------------------------------------------------------- */

/* Both are begun at once. */
static bool
end_deeds(struct daemon *d)
{
	bool is_over = actions_end(d);

	return pods_end(d) && is_over;
}

static void
on_ending(void *ctx, int64_t now_ns, int64_t missed)
{
	struct daemon *d = ctx;

	(void)missed;
	if (end_deeds(d)) {
		loop_stop(d->loop, d->status);
	} else if (now_ns - d->ending_ns > END_NS) {
		log_warn("scheduler",
			 "not all that was done at the cluster's scheduler could be "
			 "undone in time; pins are for the guardian, and the rest is "
			 "found again at the next start");
		loop_stop(d->loop, d->status);
	}
}

static void
on_end_signal(void *ctx, int number)
{
	struct daemon *d = ctx;

	d->status = number == SIGINT ? CLI_INTERRUPTED : CLI_OK;
	if (d->ending_ns) {
		loop_stop(d->loop, d->status);
		return;
	}
	notify_send("STOPPING=1");
	d->ending_ns = clk_monotonic_ns();
	if (end_deeds(d))
		loop_stop(d->loop, d->status);
	else
		loop_every(d->loop, END_TICK_NS, on_ending, d);
}

static void
on_hangup(void *ctx, int number)
{
	struct daemon *d = ctx;
	struct err err;

	(void)number;
	notify_send("RELOADING=1");
	if (settings_reload(d->config.settings, d->config_file, "scheduler") >= 0) {
		scheduler_config_follow(&d->config);
		log_set_level_word(d->config.log);
		if (actions_take_modes(d, &err) < 0)
			log_err("scheduler", "%s; the modes stay as they were",
				err.text);
	}
	fabric_source_reload(d->fabric);
	notify_send("READY=1");
}

/* ---- Start and end --------------------------------------------------------------------- */

/* What was found refers to the fabric before. */
static void
on_fabric(void *ctx)
{
	struct daemon *d = ctx;

	telemetry_stop_scan(d);
	history_give_up(d);
	contention_fini(&d->now.found);
	refresh_restart(d);
	jobs_set_fabric(d);
}

static int
open_all(struct daemon *d, struct err *err)
{
	int r = 0;

	if (d->config.keys)
		r = bus_keys_load(d->config.keys, &d->keys, err);
	d->fabric =
		fabric_source_new(&(struct fabric_source_opts){ .loop = d->loop,
								.config = &d->config,
								.keys = d->keys,
								.on_change = on_fabric,
								.ctx = d });
	if (r == 0)
		r = telemetry_open(d, err);
	if (r == 0)
		r = persist_open(d, err);
	if (r == 0)
		r = actions_open(d, err);
	if (r == 0)
		r = pods_open(d, err);
	if (r == 0)
		pace_open(d);
	if (r == 0)
		r = fabric_source_open(d->fabric, err);
	if (r == 0 && d->config.announce) {
		r = bus_pub_open_room(d->config.announce, true, d->keys,
				      BUS_ROOM_TOPICS, &d->announcer, err);
		if (r == 0)
			bus_pub_join(d->announcer, d->loop);
	}
	if (r == 0)
		r = api_open(d, err);
	if (r == 0) {
		actions_guard(d);
		r = daemon_open_control(d, err);
	}
	return r;
}

static void
catch_signals(struct daemon *d)
{
	signal(SIGPIPE, SIG_IGN);
	loop_signal(d->loop, SIGTERM, on_end_signal, d);
	loop_signal(d->loop, SIGINT, on_end_signal, d);
	loop_signal(d->loop, SIGHUP, on_hangup, d);
	notify_watchdog_join(d->loop);
}

/* The exit status for what could not be opened. */
static int
status_of(int error)
{
	switch (error) {
	case -EACCES:
	case -EPERM:
		return CLI_DENIED;
	case -EINVAL:
	case -ENOENT:
		return CLI_USAGE;
	default:
		return CLI_UNREACHABLE;
	}
}

static void
daemon_close(struct daemon *d)
{
	control_close(d->control);
	api_close(d);
	figures_close(d);
	pace_close(d);
	pods_close(d);
	actions_close(d);
	jobs_free(d->jobs);
	outcomes_free(d->outcomes);
	refresh_free(d->rounds);
	history_free(d->history);
	fabric_source_free(d->fabric);
	persist_close(d);
	telemetry_close(d);
	bus_pub_close(d->announcer);
	bus_keys_free(d->keys);
	loop_free(d->loop);
	scheduler_config_fini(&d->config);
}

int
daemon_run(struct settings *settings, const char *config_file)
{
	struct daemon d = { .config_file = config_file };
	struct err err = { .line = 0 };
	int r;

	scheduler_config_init(&d.config, settings);
	log_set_level_word(d.config.log);
	d.loop = loop_new();
	d.started_us = clk_wall_us();
	d.rounds = refresh_new();
	d.history = history_new();
	d.jobs = jobs_new();
	d.outcomes = outcomes_new();
	r = open_all(&d, &err);
	if (r < 0) {
		err_print(&err, stderr);
		r = status_of(r);
	} else {
		catch_signals(&d);
		d.deeds.modes.is_stopped = is_switched_off(&d);
		d.turns = (struct tick_schedule){
			.n = N_PARTS,
			.step_ns = DAEMON_SECOND_NS / (int64_t)N_PARTS,
			.period_ns = DAEMON_SECOND_NS,
			.begin_ns = clk_monotonic_ns() + DAEMON_SECOND_NS,
		};
		loop_every(d.loop, DAEMON_SECOND_NS / 100, on_hundredth, &d);
		log_info("scheduler", "listening to %s; API at %s%s", d.config.bus,
			 d.config.http ? "http://" : "",
			 d.config.http ? d.config.http : "none");
		notify_send("READY=1");
		r = loop_run(d.loop);
		if (r < 0)
			r = CLI_BUG;
	}
	daemon_close(&d);
	return r;
}
