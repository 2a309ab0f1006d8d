/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon_parts.h - the job modules of antiphase-scheduler, connected as in the daemon
 * but without its loop, bus and sockets
 */
#ifndef TESTS_UNIT_DAEMON_PARTS_H
#define TESTS_UNIT_DAEMON_PARTS_H

#include "lib/daemon/settings.h"
#include "scheduler/daemon/config.h"
#include "scheduler/daemon/fabric_source.h"
#include "scheduler/daemon/jobs_priv.h"
#include "scheduler/daemon/modes.h"
#include "scheduler/daemon/outcomes.h"
#include "scheduler/daemon/pace.h"
#include "scheduler/daemon/settings.h"
#include "scheduler/daemon/telemetry.h"
#include "scheduler/store/store.h"
#include "topology/gen_table.h"
#include "topology/topo.h"

struct daemon_parts {
	struct scheduler_config config;
	struct fabric_source *fabric;
	struct telemetry *telemetry;
	struct store *store;            /* Owned by the test; NULL: none. */
	struct move_log *moves;         /* Likewise. */
	struct sched_snapshot snapshot; /* Owned by the test. */
	struct modes modes;
	struct jobs *jobs;
	struct pace *pace;
	struct outcomes *outcomes;
};

static inline void
parts_announce(void *ctx, const char *topic, const char *text)
{
	(void)ctx;
	(void)topic;
	(void)text;
}

/* 'parts->store' is set by the test; 'plan' is text for gen_text(). */
static inline void
parts_open(struct daemon_parts *parts, const char *plan)
{
	struct topo *topo;

	scheduler_config_init(&parts->config, settings_new(&settings_scheduler));
	parts->fabric = fabric_source_new(
		&(struct fabric_source_opts){ .config = &parts->config });
	BUG_ON(gen_text(plan, &topo, NULL) != 0);
	fabric_source_replace(parts->fabric, topo);
	parts->telemetry = telemetry_new(&(struct telemetry_opts){
		.config = &parts->config, .fabric = parts->fabric });
	parts->jobs = jobs_new(&(struct jobs_opts){ .config = &parts->config,
						    .fabric = parts->fabric,
						    .telemetry = parts->telemetry,
						    .store = parts->store,
						    .moves = parts->moves,
						    .snapshot = &parts->snapshot,
						    .modes = &parts->modes,
						    .announce = parts_announce,
						    .ctx = parts });
	parts->pace = pace_new(&(struct pace_opts){ .config = &parts->config,
						    .telemetry = parts->telemetry,
						    .jobs = parts->jobs,
						    .snapshot = &parts->snapshot,
						    .modes = &parts->modes,
						    .announce = parts_announce,
						    .ctx = parts });
	parts->outcomes =
		outcomes_new(&(struct outcomes_opts){ .telemetry = parts->telemetry,
						      .jobs = parts->jobs,
						      .pace = parts->pace,
						      .snapshot = &parts->snapshot,
						      .store = parts->store });
}

static inline void
parts_close(struct daemon_parts *parts)
{
	outcomes_free(parts->outcomes);
	pace_free(parts->pace);
	jobs_free(parts->jobs);
	telemetry_free(parts->telemetry);
	fabric_source_free(parts->fabric);
	scheduler_config_fini(&parts->config);
}

/* What the daemon does with jobs each second. */
static inline void
parts_update_jobs(struct daemon_parts *parts)
{
	jobs_mark_silent(parts->jobs);
	jobs_mark_running(parts->jobs);
	jobs_check_ages(parts->jobs);
	jobs_take_nodes(parts->jobs);
	jobs_take_waiting(parts->jobs);
	jobs_follow_modes(parts->jobs);
	jobs_solve(parts->jobs);
	jobs_drop_gone(parts->jobs);
}

#endif
