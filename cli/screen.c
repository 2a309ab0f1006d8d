/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bus_opts.h"
#include "cli/topology_io.h"
#include "cli/topology_service.h"
#include "cli/topology_verbs.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/units.h"
#include "lib/base/vec.h"
#include "scheduler/live/feed.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"
#include "scheduler/live/path_watch.h"
#include "scheduler/live/status.h"
#include "topology/route.h"

#define NS_PER_S INT64_C(1000000000)

#define DEFAULT_WINDOW_MS 10000
#define BUS_WINDOW_MS     3000
#define MIN_WINDOW_MS     100
#define MIN_SEEN_MS       500 /* Shorter series are not enough. */
#define MAX_HISTORY_MS    5000
#define MAX_NAMED         6 /* Silent hosts named in a footer. */

static volatile sig_atomic_t interrupted;

static void
on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

void
screen_catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

bool
screen_is_interrupted(void)
{
	return interrupted;
}

/* ---- Opening ------------------------------------------------------------------- */

static int
set_window(struct screen *screen, const struct screen_opts *opts, bool is_watched)
{
	int64_t window_ns;

	screen->opts.window_ms = DEFAULT_WINDOW_MS;
	screen->wanted_ms = is_watched ? MIN_SEEN_MS : BUS_WINDOW_MS;
	screen->opts.over_frac = opts->over / 100;
	if (!opts->window)
		return CLI_OK;
	if (units_parse_ns(opts->window, &window_ns) < 0 ||
	    window_ns < MIN_WINDOW_MS * NS_PER_S / 1000 ||
	    window_ns > JOB_PROFILER_MAX_WINDOW_MS * NS_PER_S / 1000)
		return cli_usage_error(screen->verb,
				       "--window is '%s', expected 100 ms to 30 s",
				       opts->window);
	screen->opts.window_ms = (uint32_t)(window_ns / 1000000);
	if (!is_watched)
		screen->wanted_ms = screen->opts.window_ms;
	return CLI_OK;
}

/*
 * Loads the plan of a file or a service.  A bus without that option uses the service on
 * this host, if it answers.
 */
static int
load_fabric(struct screen *screen, const char *fabric, int64_t ecmp_seed)
{
	struct err err;
	int error = 0;

	if (fabric && topology_is_service(fabric)) {
		error = topology_ask_plan(fabric, &screen->topo, &err);
		if (error < 0)
			return topology_fail(error, &err);
	} else if (fabric) {
		error = topology_load(fabric, NULL, &screen->topo, &err);
		if (error < 0)
			return cli_fail(error, &err);
	} else if (screen->is_live) {
		(void)topology_ask_plan(TOPOLOGY_SERVICE, &screen->topo, &err);
	}
	if (screen->topo)
		screen->routes = routes_new(screen->topo, (uint64_t)ecmp_seed);
	screen->ecmp_seed = ecmp_seed;
	screen->opts.topo = screen->topo;
	screen->opts.routes = screen->routes;
	return CLI_OK;
}

int
screen_open(struct screen *screen, const struct cli_verb *verb,
	    const struct screen_opts *opts, bool is_watched)
{
	struct err err;
	int error, status;

	*screen = (struct screen){ .verb = verb,
				   .inferred_ms = LIVE_NEVER,
				   .skipped_ns = INT64_MIN };
	status = set_window(screen, opts, is_watched);
	if (status != CLI_OK)
		return status;
	error = feed_open(opts->from.items, opts->from.n, opts->keys, &screen->feed,
			  &err);
	if (error < 0)
		return bus_opts_fail(error, &err);
	screen->is_live = feed_is_live(screen->feed);
	status = load_fabric(screen, opts->fabric,
			     opts->ecmp_seed ? opts->ecmp_seed : SCREEN_ECMP_SEED);
	if (status != CLI_OK)
		return status;
	screen->live = live_new(NULL);
	if (screen->topo)
		screen->paths =
			path_watch_new(screen->live, screen->topo, screen->routes);
	screen->profiler = job_profiler_new();
	screen->since = contention_starts_new();
	screen->heard_at_ns = screen->read_at_ns = clk_monotonic_ns();
	if (screen->is_live)
		screen_catch_signals();
	return CLI_OK;
}

void
screen_close(struct screen *screen)
{
	feed_close(screen->feed);
	job_profiler_free(screen->profiler);
	path_watch_free(screen->paths);
	live_free(screen->live);
	routes_free(screen->routes);
	topo_unref(screen->topo);
	contention_starts_free(screen->since);
	*screen = (struct screen){ 0 };
}

int
screen_unknown_job(const struct screen *screen, const char *name)
{
	VEC(const char *) names = VEC_EMPTY;
	struct err err;
	size_t n;
	const struct profiled_job *const *jobs =
		job_profiler_jobs(screen->profiler, &n);

	err_set(&err, NULL, 0, 0, "no job '%s' among the %zu that have traffic", name,
		n);
	for (size_t i = 0; i < n; i++)
		vec_push(&names, live_job_name(screen->live, jobs[i]->job));
	vec_push(&names, NULL);
	err_suggest(&err, name, names.items);
	vec_free(&names);
	return cli_fail(-EINVAL, &err);
}

/* ---- Finding ------------------------------------------------------------------- */

void
screen_infer(struct screen *screen)
{
	int64_t now_ms = live_complete_ms(screen->live);

	if (!screen->paths || now_ms == LIVE_NEVER ||
	    (screen->inferred_ms != LIVE_NEVER && now_ms >= screen->inferred_ms &&
	     now_ms < screen->inferred_ms + SCREEN_INFER_MS))
		return;
	screen->inferred_ms = now_ms;
	screen->opts.paths = path_watch_infer(screen->paths);
}

void
screen_find(struct screen *screen, enum contention_sort sort,
	    struct contention *ret_found)
{
	size_t n;
	const struct profiled_job *const *jobs =
		job_profiler_jobs(screen->profiler, &n);
	int64_t slowest_us = 0;

	for (size_t i = 0; i < n; i++)
		if (jobs[i]->has_estimate &&
		    jobs[i]->detection.profile.period_us > slowest_us)
			slowest_us = jobs[i]->detection.profile.period_us;
	screen->opts.history_ms = 0;
	if (slowest_us)
		screen->opts.history_ms = slowest_us > MAX_HISTORY_MS * 500
						  ? MAX_HISTORY_MS
						  : (uint32_t)(slowest_us / 500 + 1);
	screen_infer(screen);
	contention_find(screen->live, &screen->opts, ret_found);
	contention_starts_remember(screen->since, ret_found);
	contention_sort(ret_found, sort);
}

/* ---- Age and gaps ---------------------------------------------------------------- */

/* On a bus, time advances even without frames, up to 'at_ns' of this process. */
static int64_t
idle_ns(const struct screen *screen, int64_t at_ns)
{
	return screen->is_live ? at_ns - screen->heard_at_ns : 0;
}

struct status
screen_status(const struct screen *screen)
{
	return (struct status){
		.live = screen->live,
		.profiler = screen->profiler,
		.has_fabric = screen->topo != NULL,
		.idle_ns = idle_ns(screen, clk_monotonic_ns()),
		/*
		 * Frames wait while this process computes, which does not make a host
		 * silent.
		 */
		.heard_idle_ns = idle_ns(screen, screen->read_at_ns),
	};
}

int64_t
screen_age_ns(const struct screen *screen, int64_t to_ms)
{
	const struct status status = screen_status(screen);

	return status_age_ns(&status, to_ms);
}

static void
name_silent(const struct screen *screen, struct strbuf *out)
{
	const struct status status = screen_status(screen);
	unsigned n = 0;

	for (uint32_t i = 0; i < live_n_hosts(screen->live); i++) {
		int64_t age_ns = status_host_age_ns(&status, i);

		if (age_ns <= LIVE_SILENT_NS)
			continue;
		if (n++ < MAX_NAMED)
			strbuf_printf(out, "%s%s (%.0f s)", n > 1 ? ", " : "Silent: ",
				      live_host(screen->live, i)->name,
				      (double)age_ns / 1e9);
	}
	if (n > MAX_NAMED)
		strbuf_printf(out, " and %u more", n - MAX_NAMED);
	if (n)
		strbuf_puts(out, ".\n");
}

/* Appends the losses on the way, if any. */
static void
add_losses(const struct screen *screen, const struct status_census *census,
	   struct strbuf *out)
{
	struct feed_counts feed = feed_counts(screen->feed);
	const struct live_counts *live = live_counts(screen->live);

	const struct {
		uint64_t n;
		const char *what;
	} losses[] = {
		{ census->gaps, "frames missing" },
		{ feed.damaged, "damaged" },
		{ feed.foreign, "of another protocol version" },
		{ feed.skipped_bytes, "bytes skipped" },
		{ census->lost, "records lost by senders" },
		{ census->unplaced, "jobs counted as other" },
		{ live->refused, "refused because memory is full" },
		{ live->doubled, "from hosts with a duplicate name" },
	};

	bool any = false;

	for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
		if (!losses[i].n)
			continue;
		strbuf_printf(out, "%s%llu %s", any ? ", " : "Not complete: ",
			      (unsigned long long)losses[i].n, losses[i].what);
		any = true;
	}
	if (any)
		strbuf_puts(out, ".\n");
}

void
screen_footer(const struct screen *screen, int64_t from_ms, int64_t to_ms,
	      struct strbuf *out)
{
	const struct status status = screen_status(screen);
	struct status_census census;

	status_census(&status, &census);
	if (to_ms > from_ms)
		strbuf_printf(out, "Data %.1f s old, %.1f s of it",
			      (double)screen_age_ns(screen, to_ms) / 1e9,
			      (double)(to_ms - from_ms) / 1e3);
	else
		strbuf_puts(out, "Summaries only");
	if (census.n_hosts || !census.n_switches)
		strbuf_printf(out, ", %u/%u hosts", census.n_fresh, census.n_hosts);
	if (census.n_switches)
		strbuf_printf(out, ", %u switch%s", census.n_switches,
			      census.n_switches > 1 ? "es" : "");
	if (census.worst_clock_ns >= 0)
		strbuf_printf(out, ", clocks to %.1f ms",
			      (double)census.worst_clock_ns / 1e6);
	strbuf_puts(out, census.is_simulated ? ", simulated.\n" : ".\n");
	name_silent(screen, out);
	add_losses(screen, &census, out);
}
