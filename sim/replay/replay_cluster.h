/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_cluster.h - the cluster of a replay, as given on the command line, and speeds
 * of jobs on its types of GPUs.
 */
#ifndef SIM_REPLAY_REPLAY_CLUSTER_H
#define SIM_REPLAY_REPLAY_CLUSTER_H

#include "sim/cluster/cluster.h"
#include "sim/jobs/joblist.h"
#include "sim/replay/replay_batches.h"
#include "sim/replay/throughputs.h"

#define REPLAY_MOST_TYPES 16

struct replay_cluster {
	struct pol_cluster cluster;
	struct strtab *types; /* Names of types of GPUs; empty: unnamed. */
};

/*
 * Reads NODESxGPUS[/NODES_PER_RACK][:TYPE], or several separated by commas; all types
 * have names or none has: "8x8", "64x8/16", "2x4:v100,2x4:k80". Durations are those on
 * the first type.  Returns 0 or -EINVAL with 'err' filled.
 */
int replay_cluster_parse(const char *text, struct replay_cluster *ret_cluster,
			 struct err *err);
/*
 * Sets the memory of GPUs, and of nodes for each of their GPUs, in GiB: "80", "80/128",
 * or one of these for each type, separated by commas.  Returns 0 or -EINVAL with 'err'
 * filled.
 */
int replay_cluster_set_memory(struct replay_cluster *cluster, const char *text,
			      struct err *err);
/*
 * Multiplies the GPU memory of the list's jobs by 'factor'.  A job that does not fit
 * into the memory of its GPUs, on the type with the least, gets the least number that
 * holds it.  Returns how many jobs did.
 */
size_t replay_cluster_fit(const struct replay_cluster *cluster, double factor,
			  struct joblist *list);
/* GPUs of the most frequent type: the most that a job can have. */
uint32_t replay_cluster_most(const struct replay_cluster *cluster);
void replay_cluster_fini(struct replay_cluster *cluster); /* Accepts a zeroed one. */

/*
 * Speed of each job on each type, relative to the first: [jobs x types].  Where the
 * batch size changes, it is that of the first batch size.
 */
struct replay_speeds {
	uint32_t n_types;
	double *items; /* Owned. */
	struct replay_batches batches;
	size_t n_dropped; /* Jobs left out. */
};

/*
 * Speeds of the list's jobs, by a table of throughputs.  Jobs of unknown duration take
 * their iterations on the first type; so do jobs whose batch size changes.  Jobs that were not measured on each type, or
 * have neither, are removed from the list.  Returns -EINVAL with 'err' filled if the
 * table lacks a type.
 */
int replay_speeds_find(const struct throughputs *table,
		       const struct replay_cluster *cluster, struct joblist *list,
		       struct replay_speeds *ret_speeds, struct err *err);
void replay_speeds_fini(struct replay_speeds *speeds); /* Accepts a zeroed one. */

/* As input of a cluster; borrows 'speeds'. */
struct cluster_work replay_speeds_work(const struct replay_speeds *speeds);

#endif
