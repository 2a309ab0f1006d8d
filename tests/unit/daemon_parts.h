/*
 * daemon_parts.h - the modules of antiphase-scheduler that know of jobs, connected as the
 * daemon does, without its loop, bus and sockets.
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
	struct store *store;            /* The test's; NULL: none. */
	struct sched_snapshot snapshot; /* Likewise. */
	struct modes modes;
	struct jobs *jobs;
	struct pace *pace;
	struct outcomes *outcomes;
};

static inline bool
parts_is_steered(void *ctx, const struct job *job)
{
	return pace_is_steered(((struct daemon_parts *)ctx)->pace, job);
}

static inline void
parts_on_view(void *ctx, struct job *job, const struct advisor_view *view)
{
	pace_take(((struct daemon_parts *)ctx)->pace, job, view);
}

static inline void
parts_on_component(void *ctx, const uint32_t *numbers, size_t n)
{
	pace_take_component(((struct daemon_parts *)ctx)->pace, numbers, n);
}

static inline void
parts_on_remove(void *ctx, uint32_t number)
{
	pace_remove(((struct daemon_parts *)ctx)->pace, number);
}

static inline void
parts_on_place(void *ctx, const struct job *job, double slowdown)
{
	outcomes_place(((struct daemon_parts *)ctx)->outcomes, job, slowdown);
}

static inline void
parts_put_outcome(void *ctx, const char *job, struct jsonw *w)
{
	outcomes_put(((struct daemon_parts *)ctx)->outcomes, job, w);
}

static inline void
parts_on_iteration(void *ctx, const char *job, uint64_t number, int64_t begin_ns)
{
	outcomes_begin(((struct daemon_parts *)ctx)->outcomes, job, number, begin_ns);
}

static inline void
parts_announce(void *ctx, const char *topic, const char *text)
{
	(void)ctx;
	(void)topic;
	(void)text;
}

/* 'parts->store' is there already; 'plan' as gen_text() takes it. */
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
						    .snapshot = &parts->snapshot,
						    .is_steered = parts_is_steered,
						    .on_view = parts_on_view,
						    .on_component = parts_on_component,
						    .on_remove = parts_on_remove,
						    .on_place = parts_on_place,
						    .put_outcome = parts_put_outcome,
						    .announce = parts_announce,
						    .ctx = parts });
	parts->pace = pace_new(&(struct pace_opts){ .config = &parts->config,
						    .telemetry = parts->telemetry,
						    .jobs = parts->jobs,
						    .snapshot = &parts->snapshot,
						    .modes = &parts->modes,
						    .announce = parts_announce,
						    .on_iteration = parts_on_iteration,
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

/* All that the daemon does with jobs in a second. */
static inline void
parts_update_jobs(struct daemon_parts *parts)
{
	jobs_mark_silent(parts->jobs);
	jobs_mark_running(parts->jobs);
	jobs_check_ages(parts->jobs);
	jobs_take_nodes(parts->jobs);
	jobs_take_waiting(parts->jobs);
	jobs_solve(parts->jobs);
	jobs_drop_gone(parts->jobs);
}

#endif
