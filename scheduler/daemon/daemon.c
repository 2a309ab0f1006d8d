/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon.c - the life of antiphase-scheduler: opens everything, runs the loop until a
 * signal ends it, undoes its changes at the cluster's scheduler, and closes.
 */
#include "scheduler/daemon/daemon.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cli.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/words.h"
#include "lib/daemon/loop.h"
#include "lib/daemon/notify.h"
#include "lib/daemon/settings.h"
#include "scheduler/daemon/actions.h"
#include "scheduler/daemon/api.h"
#include "scheduler/daemon/daemon_priv.h"
#include "scheduler/daemon/fabric_source.h"
#include "scheduler/daemon/jobs.h"
#include "scheduler/daemon/outcomes.h"
#include "scheduler/daemon/pace.h"
#include "scheduler/daemon/persist.h"
#include "scheduler/daemon/pods.h"
#include "scheduler/daemon/refresh.h"
#include "scheduler/daemon/telemetry.h"
#include "scheduler/live/live.h"
#include "scheduler/store/store.h"

#define SECOND_NS INT64_C(1000000000)
/* Changes at the cluster's scheduler are undone within this time, or by guard.h. */
#define END_NS      (5 * SECOND_NS)
#define END_TICK_NS (SECOND_NS / 10)
/* The time between two passes of the loop. */
#define PASS_EVERY_NS (SECOND_NS / 100)
/*
 * After this much processor time a pass leaves deferrable work to the next one, for
 * PUT_OFF_NS at most.
 */
#define PASS_NS    (SECOND_NS / 100)
#define PUT_OFF_NS (SECOND_NS / 20)
/* After this much time no further part begins in a pass. */
#define PARTS_NS (SECOND_NS / 500)
/*
 * Rows that the store looks at in a pass to delete old ones: under a millisecond, and
 * with a pass every PUT_OFF_NS more than HISTORY_ROWS a second.
 */
#define TIDY_ROWS 250

/* ---- Each second --------------------------------------------------------------------- */

static bool
is_switched_off(const struct daemon *d)
{
	struct stat status;

	return stat(d->config.kill_switch, &status) == 0;
}

static void
check_switch(struct daemon *d)
{
	bool is_off = is_switched_off(d);

	if (actions_set_stopped(d->actions, is_off))
		log_warn("scheduler", "%s %s: %s", d->config.kill_switch,
			 is_off ? "is there" : "is gone",
			 is_off ? "what was done is undone, and nothing more is done"
				: "modes are as they were set");
}

static void
tick_fabric(struct daemon *d)
{
	check_switch(d);
	fabric_source_tick(d->fabric);
}

static void
tick_scan(struct daemon *d)
{
	if (telemetry_begin_scan(d->telemetry))
		refresh_step(d->refresh);
}

static void
tick_silent(struct daemon *d)
{
	jobs_mark_silent(d->jobs);
}

static void
tick_running(struct daemon *d)
{
	jobs_mark_running(d->jobs);
	jobs_mark_movable(d->jobs);
}

static void
tick_ages(struct daemon *d)
{
	jobs_check_ages(d->jobs);
}

static void
tick_waiting(struct daemon *d)
{
	jobs_take_nodes(d->jobs);
	jobs_take_waiting(d->jobs);
}

static void
tick_advice(struct daemon *d)
{
	jobs_follow_modes(d->jobs);
	jobs_solve(d->jobs);
}

static void
tick_gone(struct daemon *d)
{
	jobs_drop_gone(d->jobs);
}

static void
tick_outcomes(struct daemon *d)
{
	outcomes_tick(d->outcomes);
}

/* Some actions are due to time alone: a gate ends, an advice is too old. */
static void
tick_actions(struct daemon *d)
{
	actions_decide(d->actions);
}

static void
tick_ports(struct daemon *d)
{
	daemon_tick_ports(d);
}

static void
tick_pods(struct daemon *d)
{
	pods_tick(d->pods);
}

static void
tick_store(struct daemon *d)
{
	struct err err;

	d->is_tidying = true;
	if (d->store && store_commit(d->store, &err) < 0)
		log_limited(&d->store_limit, clk_monotonic_ns(), LOG_LEVEL_ERR, "store",
			    "%s; the last second is lost", err.text);
}

static void
tick_events(struct daemon *d)
{
	api_tick(d->api);
}

static void
tick_status(struct daemon *d)
{
	const struct live *live = telemetry_live(d->telemetry);

	notify_status("%u host%s, %u job%s, %s%s", live_n_hosts(live),
		      words_plural(live_n_hosts(live)), live_n_known_jobs(live),
		      words_plural(live_n_known_jobs(live)),
		      fabric_source_topo(d->fabric) ? "fabric known" : "no fabric",
		      actions_modes(d->actions)->is_stopped ? ", kill switch is on"
							    : "");
}

/*
 * The work of each second, in parts spread over it, as all at once would take too long.
 * Parts with 'is_of_snapshot' also run soon after a new snapshot.
 */
static const struct {
	const char *name;
	void (*tick)(struct daemon *d);
	bool is_of_snapshot;
} parts[] = {
	/* clang-format off */
	{ "fabric", tick_fabric, false },
	{ "scan", tick_scan, false },
	{ "silent", tick_silent, true },
	{ "running", tick_running, true },
	{ "ages", tick_ages, true },
	{ "waiting", tick_waiting, true },
	{ "advice", tick_advice, true },
	{ "gone", tick_gone, true },
	{ "outcomes", tick_outcomes, false },
	{ "actions", tick_actions, true },
	{ "ports", tick_ports, false },
	{ "pods", tick_pods, false },
	{ "store", tick_store, false },
	{ "events", tick_events, false },
	{ "status", tick_status, false },
	/* clang-format on */
};

#define N_PARTS (sizeof parts / sizeof *parts)

/* The next part that a new snapshot requires; false: none is left. */
static bool
next_hurried(struct daemon *d, size_t *ret_part)
{
	while (d->next_hurried < N_PARTS && !parts[d->next_hurried].is_of_snapshot)
		d->next_hurried++;
	d->is_hurried &= d->next_hurried < N_PARTS;
	if (d->is_hurried)
		*ret_part = d->next_hurried++;
	return d->is_hurried;
}

/* Runs the parts that are due while this pass has time. */
static void
do_parts(struct daemon *d, int64_t now_ns)
{
	size_t part;

	do {
		if (!tick_schedule_next(&d->schedule, now_ns, &part) &&
		    !(d->is_hurried && next_hurried(d, &part)))
			return;
		loop_part(d->loop, parts[part].name);
		parts[part].tick(d);
	} while (loop_pass_cpu_ns(d->loop) < PARTS_NS);
}

/* Deletes old rows until none is left in this second. */
static void
tidy_step(struct daemon *d)
{
	if (d->is_tidying)
		d->is_tidying =
			d->store && store_tidy(d->store, clk_wall_us(), TIDY_ROWS) > 0;
}

static void
on_pass(void *ctx, int64_t now_ns, int64_t missed)
{
	struct daemon *d = ctx;
	bool is_late = now_ns - d->refreshed_ns >= PUT_OFF_NS;

	(void)missed;
	if (loop_pass_cpu_ns(d->loop) >= PASS_NS && !is_late)
		return;
	do_parts(d, now_ns);
	jobs_step(d->jobs);
	if (loop_pass_cpu_ns(d->loop) >= PASS_NS && !is_late)
		return;
	refresh_step(d->refresh);
	tidy_step(d);
	d->refreshed_ns = now_ns;
}

/* ---- Signals ------------------------------------------------------------------------- */

/* Undoes everything, at both schedulers at once. True: it is done. */
static bool
undo_all(struct daemon *d)
{
	bool is_over = actions_end(d->actions);

	return pods_end(d->pods) && is_over;
}

static void
on_ending(void *ctx, int64_t now_ns, int64_t missed)
{
	struct daemon *d = ctx;

	(void)missed;
	if (undo_all(d)) {
		loop_stop(d->loop, d->status);
	} else if (now_ns - d->ending_ns > END_NS) {
		log_warn(
			"scheduler",
			"not all changes at the cluster's scheduler could be undone in "
			"time; the guardian undoes pins, and the next start the rest");
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
	pace_end(d->pace);
	if (undo_all(d))
		loop_stop(d->loop, d->status);
	else
		loop_every(d->loop, END_TICK_NS, on_ending, d);
}

/* Applies the settings that settings_reload() has changed. */
static void
take_up(struct daemon *d)
{
	const struct settings *settings = d->config.settings;
	struct err err;

	scheduler_config_follow(&d->config);
	persist_follow(d->store, &d->config);
	if (settings_has_changed(settings, "scheduler", "log"))
		log_set_level_word(d->config.log);
	/* Modes set by a command stay, unless the settings have other ones now. */
	if ((settings_has_changed(settings, "scheduler", "mode") ||
	     settings_has_changed(settings, "scheduler", "partition_modes") ||
	     settings_has_named_changed(settings)) &&
	    actions_read_modes(d->actions, &err) < 0)
		log_err("scheduler", "%s; the modes stay as they were", err.text);
}

static void
on_hangup(void *ctx, int number)
{
	struct daemon *d = ctx;

	(void)number;
	notify_send("RELOADING=1");
	if (settings_reload(d->config.settings, d->config_file, "scheduler") >= 0)
		take_up(d);
	fabric_source_reload(d->fabric);
	notify_send("READY=1");
}

/* ---- Start and end --------------------------------------------------------------------- */

static void
catch_signals(struct daemon *d)
{
	signal(SIGPIPE, SIG_IGN);
	loop_signal(d->loop, SIGTERM, on_end_signal, d);
	loop_signal(d->loop, SIGINT, on_end_signal, d);
	loop_signal(d->loop, SIGHUP, on_hangup, d);
	notify_watchdog_join(d->loop);
}

/* The exit status after a failed opening. */
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
log_start(const struct daemon *d)
{
	if (d->config.http)
		log_info("scheduler", "listening to %s; API at http://%s",
			 d->config.bus, d->config.http);
	else
		log_info("scheduler", "listening to %s; no API", d->config.bus);
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
	r = daemon_open_modules(&d, &err);
	if (r < 0) {
		err_print(&err, stderr);
		r = status_of(r);
	} else {
		catch_signals(&d);
		actions_set_stopped(d.actions, is_switched_off(&d));
		d.schedule = (struct tick_schedule){
			.n = N_PARTS,
			.step_ns = SECOND_NS / (int64_t)N_PARTS,
			.period_ns = SECOND_NS,
			.begin_ns = clk_monotonic_ns() + SECOND_NS,
		};
		loop_every(d.loop, PASS_EVERY_NS, on_pass, &d);
		log_start(&d);
		notify_send("READY=1");
		r = loop_run(d.loop);
		if (r < 0)
			r = CLI_BUG;
	}
	daemon_close_modules(&d);
	loop_free(d.loop);
	scheduler_config_fini(&d.config);
	return r;
}
