/*
 * replay.h - one policy over the jobs of a trace, and what came of it.
 */
#ifndef SIM_REPLAY_REPLAY_H
#define SIM_REPLAY_REPLAY_H

#include "sim/apps/app.h"
#include "sim/cluster/fabric.h"
#include "sim/jobs/joblist.h"
#include "sim/jobs/model_catalog.h"
#include "sim/replay/replay_cluster.h"

struct err;

/* Whose simulator's emulations are followed; see antiphase-sim(1). */
enum replay_semantics {
	REPLAY_PLAIN,
	REPLAY_TIRESIAS,
	REPLAY_MURI,
};

extern const char *const replay_semantics_names[]; /* "plain", ...; ends with NULL. */

struct replay_opts {
	struct pol_cluster cluster;
	enum replay_semantics semantics;
	struct policy_opts policy; /* What the user set goes before the semantics. */
	double until_s;
	const struct replay_speeds *speeds; /* By type of GPUs; NULL: all are alike. */
	/* NULL: rates are fixed.  Else jobs have models of the catalog, by 'model_of'. */
	struct topo *topo;
	const struct model_catalog *catalog;
	const uint32_t *model_of;
	struct fabric_opts fabric;
	/* NULL: jobs take as long as the trace says.  Else they are these applications. */
	const struct app *apps;
	size_t n_apps;
	bool check; /* Each plan; for tests. */
	void *ctx;
	bool (*go_on)(void *ctx, double share); /* May be NULL. */
};

/* Of all iterations; NAN for none. */
struct replay_times {
	double n, mean_s, p99_s;
	double slowdown_mean, slowdown_p99; /* Over those of each job alone. */
	double ecn_packets;                 /* An iteration, by estimate. */
};

struct replay {
	const struct policy_spec *spec;
	const char *place;
	struct cluster_result *results; /* Of each job of the list; owned. */
	struct cluster_counts counts;
	bool has_fabric;
	struct fabric_counts fabric;
	struct replay_times times; /* If opts.fabric.measure. */
	uint64_t n_done, n_begun;
	/* Of those that are done; NAN for none.  p99: the sorted one at int(0.99 n). */
	double mean_s, median_s, p99_s, max_s, wait_mean_s;
	double makespan_s; /* The last end. */
	double gpu_share;  /* Of the GPUs' time until then, or until opts.until_s. */
	double wall_s;     /* Ours. */
};

#define REPLAY_MODULES 5

/* A mechanism, and what it is in a policy: "order". */
struct replay_module {
	const char *slot;
	const struct pol_module *module;
};

/* Of a policy, with another placement if 'place' names one; how many there are. */
size_t replay_modules(const struct policy_spec *spec, const char *place,
		      struct replay_module *ret_modules);
/* Whether it has the parameter of "NAME=VALUE". */
bool replay_has_param(const struct policy_spec *spec, const char *place,
		      const char *set);

/* Parameters that it does not have are not for it.  0, or -errno with 'err' filled: -ECANCELED if go_on said so. */
int replay_run(const struct joblist *list, const struct policy_spec *spec,
	       const struct replay_opts *opts, struct replay *ret_replaying,
	       struct err *err);
void replay_fini(struct replay *replay);

#endif
