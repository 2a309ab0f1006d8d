/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.h - the input of a scheduling policy: a cluster, its jobs, and their speeds.
 *
 * Borrowed and read-only during a call.  Times are seconds on the clock of the trace,
 * as doubles: what is exact in a trace stays exact.
 */
#ifndef POLICIES_VIEW_H
#define POLICIES_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policies/needs.h"

#define POL_NONE UINT32_MAX

struct pol_inside;

/* Nodes of GPUs in racks.  Types of GPUs are numbered from 0, the reference first. */
struct pol_cluster {
	uint32_t n_nodes, n_racks, n_types;
	const uint32_t *n_gpus;          /* [n_nodes] Of each node. */
	const uint32_t *rack_of;         /* [n_nodes] */
	const uint32_t *type_of;         /* [n_nodes] */
	uint32_t n_all_gpus;             /* Their sum. */
	const struct needs *capacity;    /* [n_types] NULL: without limit. */
	const struct pol_inside *inside; /* Of the nodes (inside.h); NULL: all alike. */
	const bool *is_away; /* [n_nodes] Nodes that no job may use now; NULL: none. */
};

/* GPUs of a node that jobs may use now. */
static inline uint32_t
pol_node_gpus(const struct pol_cluster *cluster, uint32_t node)
{
	return cluster->is_away && cluster->is_away[node] ? 0 : cluster->n_gpus[node];
}

/*
 * Some GPUs of one node.  A job's pieces ascend by node.  A policy that knows how the
 * GPUs of a node are connected says which ones: a bit for each; 0: any.
 */
struct pol_piece {
	uint32_t node, n_gpus;
	uint64_t gpus;
};

struct pol_job {
	uint32_t id; /* In order of the trace: the last tie-breaker. */
	/* As it was submitted. */
	double submit_s;
	uint32_t n_gpus, max_gpus; /* max_gpus above n_gpus: it is elastic. */
	uint32_t user, vc, model;  /* Numbers of names; POL_NONE: unknown. */
	int32_t priority;          /* Higher goes first, where a policy uses it. */
	double duration_s;         /* Isolated, with its request: an oracle. */
	double predicted_s;        /* By a user or a model; NAN: unknown. */
	double iteration_s;        /* Isolated; NAN: unknown. */
	double stage_s[3];         /* Its loading, GPU and network time; or NAN. */
	double skew;        /* Largest tensor's share of the parameters; 0: unknown. */
	struct needs needs; /* On each of n_gpus. */
	uint32_t measured_model; /* In interference.h; 0: none. */
	/* Its state. */
	/* Wall time on GPUs, without restart_s; work counts charge restarts. */
	double executed_s;
	double attained_s;  /* GPU seconds. */
	double remaining_s; /* Of duration_s: an oracle. */
	double first_s;     /* First start; NAN: not yet. */
	double since_s;     /* Begin of its present state and place. */
	double works_s;     /* End of its last start: it works from then on. */
	uint32_t n_starts, n_preempted;
	/* Its place; n_pieces 0: it waits. */
	const struct pol_piece *pieces;
	uint32_t n_pieces, n_held_gpus;
	uint32_t group; /* The first job on its GPUs; itself if it shares none. */
	bool is_opportunistic; /* It uses what other jobs leave of their GPUs. */
	struct needs given;    /* Other than its needs, as in pol_grant. */
	uint32_t n_ranks;      /* On each GPU, as in pol_grant. */
};

struct pol_view;

/*
 * Speeds.  'speed' returns the seconds of 'duration_s' that pass in one second on
 * 'n_gpus' GPUs of 'type' on 'n_nodes' nodes, without contention on the network, and
 * with one rank on each GPU; 0: the job cannot run there.  'mates' are the jobs on the
 * same GPUs; for an opportunistic job, its owners.
 */
struct pol_speed {
	void *ctx;
	double (*speed)(void *ctx, const struct pol_job *job, uint32_t n_gpus,
			uint32_t n_nodes, uint32_t type,
			const struct pol_job *const *mates, uint32_t n_mates);
};

struct goodput;
struct regimes;

/*
 * What jobs report, NULL: nothing.  'goodput' is for jobs that choose their batch size:
 * it fills the job's model, fitted to its measurements, and returns the largest number
 * of GPUs it has measured; 0: none yet, and nothing is filled; POL_NONE: the job never
 * reports.  'regimes' fills the batch sizes of a job (regimes.h), with durations as those
 * of duration_s; returns false if its batch size stays.
 */
struct pol_report {
	void *ctx;
	uint32_t (*goodput)(void *ctx, const struct pol_job *job,
			    struct goodput *ret_goodput);
	bool (*regimes)(void *ctx, const struct pol_job *job,
			struct regimes *ret_regimes);
};

struct pol_view {
	double now_s;
	const struct pol_cluster *cluster;
	const uint32_t *ids; /* Jobs that are submitted and not done, ascending. */
	uint32_t n_jobs;
	const struct pol_job *jobs; /* By id; only those in 'ids' are valid. */
	uint32_t n_ids;             /* One more than the largest id of the run. */
	struct pol_speed speed;
	struct pol_report report; /* NULL: no job reports. */
};

#endif
