/*
 * replay_cluster.h - the cluster of a replay as it is told on a command line, and how fast
 * jobs are on its types of GPUs.
 */
#ifndef SIM_REPLAY_REPLAY_CLUSTER_H
#define SIM_REPLAY_REPLAY_CLUSTER_H

#include "sim/cluster/cluster.h"
#include "sim/jobs/joblist.h"
#include "sim/replay/throughputs.h"

#define REPLAY_MOST_TYPES 16

struct replay_cluster {
	struct pol_cluster cluster;
	struct strtab *types; /* Names of types of GPUs; none: they have no names. */
};

/*
 * NODESxGPUS[/NODES_OF_A_RACK][:TYPE], several of them with commas between; types all have
 * names or none has.  "8x8", "64x8/16", "2x4:v100,2x4:k80"; the first type is the one that
 * durations are of.  0 or -EINVAL with 'err' filled.
 */
int replay_cluster_parse(const char *text, struct replay_cluster *ret_cluster,
			 struct err *err);
/* GPUs of the type of which there are most: what a job can have. */
uint32_t replay_cluster_most(const struct replay_cluster *cluster);
void replay_cluster_fini(struct replay_cluster *cluster); /* Accepts a zeroed one. */

/* How much faster each job is on each type than on the first: [jobs x types]. */
struct replay_speeds {
	uint32_t n_types;
	double *items;    /* Owned. */
	size_t n_dropped; /* Jobs that were left out. */
};

/*
 * Of the list's jobs, by a table of throughputs: those whose duration is not known take
 * their iterations on the first type.  Jobs that cannot be on each type, by what was
 * measured, or have neither, are taken out of the list.  -EINVAL with 'err' filled if
 * the table lacks a type.
 */
int replay_speeds_find(const struct throughputs *table,
		       const struct replay_cluster *cluster, struct joblist *list,
		       struct replay_speeds *ret_speeds, struct err *err);
void replay_speeds_fini(struct replay_speeds *speeds); /* Accepts a zeroed one. */

/* What a replay works with; borrows 'speeds'. */
struct cluster_work replay_speeds_work(const struct replay_speeds *speeds);

#endif
