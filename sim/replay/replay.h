/* SPDX-License-Identifier: Apache-2.0 */
/* replay.h - one policy over the jobs of a trace, and the results. */
#ifndef SIM_REPLAY_REPLAY_H
#define SIM_REPLAY_REPLAY_H

#include "sim/apps/app.h"
#include "sim/cluster/fabric.h"
#include "sim/jobs/joblist.h"
#include "sim/jobs/model_catalog.h"
#include "sim/replay/fairness.h"
#include "sim/replay/replay_cluster.h"

struct err;

/* Published simulators to emulate; see antiphase-sim(1). */
enum replay_semantics {
	REPLAY_PLAIN,
	REPLAY_TIRESIAS,
	REPLAY_MURI,
	REPLAY_SIA,
};

extern const char *const replay_semantics_names[]; /* "plain", ...; ends with NULL. */

struct replay_opts {
	struct pol_cluster cluster;
	enum replay_semantics semantics;
	struct policy_opts policy; /* The user's values override the semantics. */
	double until_s;
	const struct replay_speeds *speeds; /* By type of GPUs; NULL: equal. */
	/* NULL: fixed speeds.  Else jobs have models of the catalog, by 'model_of'. */
	struct topo *topo;
	const struct model_catalog *catalog;
	const uint32_t *model_of;
	struct fabric_opts fabric;
	/*
	 * NULL: durations of the trace.  Else jobs train these applications: n_apps, or
	 * n_apps for each type of GPUs.
	 */
	const struct app *apps;
	size_t n_apps;
	bool apps_by_type;
	bool check; /* Check each plan; for tests. */
	void *ctx;
	bool (*go_on)(void *ctx, double share); /* May be NULL. */
};

/* Over all iterations; NAN: none. */
struct replay_times {
	double n, mean_s, p99_s;
	double slowdown_mean, slowdown_p99; /* Over isolated iteration times. */
	double ecn_packets;                 /* Per iteration, estimated. */
};

struct replay {
	const struct policy_spec *spec;
	const char *place;
	struct cluster_result *results; /* By job; owned. */
	struct cluster_counts counts;
	const char *augment;  /* NULL: no fabric. */
	bool was_interrupted; /* Results cover the jobs that had ended. */
	struct fabric_counts fabric;
	struct replay_times times; /* With opts.fabric.measure. */
	struct fairness fairness;  /* If jobs have users. */
	uint64_t n_done, n_begun;
	/* Of ended jobs; NAN: none. p99: the sorted value at int(0.99 n). */
	double mean_s, median_s, p99_s, max_s, wait_mean_s;
	double makespan_s; /* The last end. */
	double gpu_share;  /* Of GPU time until then, or until opts.until_s; or NAN. */
	double wall_s;     /* Of the simulation itself. */
};

#define REPLAY_MODULES 5

/* A mechanism and its slot: "order". */
struct replay_module {
	const char *slot;
	const struct pol_module *module;
};

/*
 * Lists the mechanisms of a policy, with the placement 'place' if not NULL; returns
 * how many.
 */
size_t replay_modules(const struct policy_spec *spec, const char *place,
		      struct replay_module *ret_modules);
/* Whether it has the parameter of "NAME=VALUE". */
bool replay_has_param(const struct policy_spec *spec, const char *place,
		      const char *set);

/* Whether a stop of jobs, or a move, happened and cost nothing. */
bool replay_restarts_freely(const struct replay *replay,
			    const struct replay_opts *opts);

/*
 * Runs a policy; ignores parameters that it does not have.  If go_on() returns false,
 * the results are those so far.  Returns 0, or -errno with 'err' filled.
 */
int replay_run(const struct joblist *list, const struct policy_spec *spec,
	       const struct replay_opts *opts, struct replay *ret_replaying,
	       struct err *err);
void replay_fini(struct replay *replay);

#endif
