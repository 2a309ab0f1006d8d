/*
 * view.h - what a scheduling policy sees: a cluster, the jobs in it, and how fast each
 * would be on what.
 *
 * The same for simulated jobs (sim/cluster) at both levels.  Borrowed and read-only for as
 * long as a call takes.  Times are seconds on the clock of the trace, in double: what is
 * exact in a trace stays exact.
 */
#ifndef POLICIES_VIEW_H
#define POLICIES_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POL_NONE UINT32_MAX

/* Nodes of GPUs in racks.  Types of GPUs are numbered from 0, the reference first. */
struct pol_cluster {
	uint32_t n_nodes, n_racks, n_types;
	const uint32_t *n_gpus;  /* [n_nodes] Of each node. */
	const uint32_t *rack_of; /* [n_nodes] */
	const uint32_t *type_of; /* [n_nodes] */
	uint32_t n_all_gpus;     /* Their sum. */
};

/* So many GPUs of one node.  A job's pieces are in ascending order of nodes. */
struct pol_piece {
	uint32_t node, n_gpus;
};

struct pol_job {
	uint32_t id; /* In order of the trace: what ties go by in the end. */
	/* As it was submitted. */
	double submit_s;
	uint32_t n_gpus, max_gpus; /* max_gpus above n_gpus: it is elastic. */
	uint32_t user, vc, model;  /* Numbers of names; POL_NONE: unknown. */
	int32_t priority;          /* Higher goes first, where that counts. */
	double duration_s;         /* Alone, as it asked: what an oracle knows. */
	double predicted_s;        /* What a user or a model foretold; NAN: nothing. */
	double iteration_s;        /* Of its iterations, alone; NAN: not known. */
	double stage_s[3];         /* Of that loading, GPU and network; or NAN. */
	double skew; /* Share of its model's parameters in one tensor; 0: not known. */
	/* What became of it. */
	/* Wall time on GPUs, without restart_s: restarts that its work charges itself count. */
	double executed_s;
	double attained_s;  /* GPU seconds. */
	double remaining_s; /* Of duration_s; what an oracle knows. */
	double first_s;     /* First started; NAN: not yet. */
	double since_s;     /* In its present state, and place, since. */
	uint32_t n_starts, n_preempted;
	/* Where it runs now; n_pieces 0: it waits. */
	const struct pol_piece *pieces;
	uint32_t n_pieces, n_held_gpus;
	uint32_t group; /* The first job of those it shares GPUs with; itself: alone. */
	bool is_guest;  /* It has but what its mates leave of some of its GPUs. */
	double cpus;    /* For each GPU, in even shares of its node's; 0: one. */
};

struct pol_view;

/*
 * How fast jobs are; see perf.h for those there are.  'speed' is seconds of 'duration_s'
 * that pass in a second on 'n_gpus' GPUs of 'type' spread over 'n_nodes' nodes, alone and
 * with nobody in the way on the network; 0: it cannot run there.  'mates' are the jobs
 * that would be on the same GPUs; of a guest, those whose GPUs they are and who feel
 * nothing of it.
 */
struct pol_speed {
	void *ctx;
	double (*speed)(void *ctx, const struct pol_job *job, uint32_t n_gpus,
			uint32_t n_nodes, uint32_t type,
			const struct pol_job *const *mates, uint32_t n_mates);
};

struct goodput;

/*
 * What jobs that choose their batch tell of themselves: 'goodput' fills how fast one learns,
 * as fitted to what it has measured so far, and returns the most GPUs that it has measured;
 * 0: none yet, and nothing is filled.  POL_NONE: it never tells.
 */
struct pol_report {
	void *ctx;
	uint32_t (*goodput)(void *ctx, const struct pol_job *job,
			    struct goodput *ret_goodput);
};

struct pol_view {
	double now_s;
	const struct pol_cluster *cluster;
	const uint32_t *ids; /* Of jobs that are submitted and not done, ascending. */
	uint32_t n_jobs;
	const struct pol_job *jobs; /* By id; only those in 'ids' mean anything. */
	uint32_t n_ids;             /* One more than the largest id there will be. */
	struct pol_speed speed;
	struct pol_report report; /* NULL: nobody tells. */
};

#endif
