/* SPDX-License-Identifier: Apache-2.0 */
/*
 * baseline.h - paths and priorities of placed jobs, as published systems choose them.
 *
 *	crux        paths and priorities (crux.h)
 *	crux-paths  its paths alone, the form in which MonkeyTree's paper compares with it
 *	mltcp       weights of flows (mltcp.h) of its authors' code; nothing to choose
 *	mltcp-text  the same with the parameters of the paper's text
 *	monkeytree  paths by edge coloring (monkeytree_paths.h); its moves are in
 *	            sim/cluster, which knows when jobs may move
 *
 * All jobs that are there are given at once, and all of them choose again, as these
 * systems do at each arrival and completion.  A change of path costs nothing here.
 *
 * Where the fabric sprays there is no path to choose, and paths stay as they are; so do
 * those of jobs with more than BASELINE_MAX_FLOWS flows, which spread by themselves.
 *
 * Pure; deterministic for a seed.
 */
#ifndef SIM_BASELINES_BASELINE_H
#define SIM_BASELINES_BASELINE_H

#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/workload/workload.h"

struct routes;
struct topo;

#define BASELINE_MAX_FLOWS 4096 /* As antiphase's own paths. */

enum baseline {
	BASELINE_CRUX,
	BASELINE_CRUX_PATHS,
	BASELINE_MONKEYTREE,
	BASELINE_MLTCP,
	BASELINE_MLTCP_TEXT,
	N_BASELINES,
};

/* A job on hosts, which count instead of those of 'work'.  Borrows all. */
struct baseline_job {
	const struct work_job *work;
	const uint32_t *hosts;
	struct routed_job *routed; /* Its present paths; replaced by new ones. */
	double n_gpus;
	uint8_t priority;   /* Result: higher ones send first. */
	uint32_t n_changed; /* Result: flows with another path than before. */
};

/*
 * Chooses.  Returns 0; -EHOSTUNREACH; or -ENOTSUP: MonkeyTree, and a flow has a choice on
 * a path of other than four links, so the fabric has not two tiers of switches.
 */
int baseline_route(enum baseline baseline, struct baseline_job *jobs, size_t n,
		   const struct topo *topo, struct routes *routes, uint64_t seed);

struct mltcp;

/* The weights of a system's flows; NULL: they do not change. */
const struct mltcp *baseline_mltcp(enum baseline baseline);

/* ------ Between the files ------ */

/* The links of a flow of a job; '*ret_n' of them. */
static inline const uint32_t *
baseline_links(const struct baseline_job *job, size_t flow, size_t *ret_n)
{
	const struct routed_job *routed = job->routed;

	*ret_n = routed->path_first[flow + 1] - routed->path_first[flow];
	return routed->path_links + routed->path_first[flow];
}

/*
 * The number of paths among which a flow can choose; 1: none.  Returns as
 * routes_numbered_path().
 */
int baseline_n_paths(const struct baseline_job *job, size_t flow, struct routes *routes,
		     uint32_t *ret_n_paths);

/* Path 'number' of a flow; as routes_numbered_path(). */
int baseline_path(const struct baseline_job *job, size_t flow, uint32_t number,
		  struct routes *routes, uint32_t *ret_links, size_t *ret_n);

/* Gives a job the paths with these numbers, by flow, and sets 'n_changed'. */
int baseline_set_paths(struct baseline_job *job, const uint32_t *numbers,
		       const struct topo *topo, struct routes *routes);

#endif
