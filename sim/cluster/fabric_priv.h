/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fabric_priv.h - declarations shared by fabric*.c.
 *
 *	fabric.c         places of jobs, components
 *	fabric_solve.c   speeds of a component's jobs
 *	fabric_choose.c  the choice among plans, and the interface to the cluster
 *	fabric_paths.c   paths of the jobs' flows
 *	fabric_move.c    moves of running jobs
 *	fabric_baseline.c, fabric_monkeytree.c
 *	                 paths, priorities and moves of published systems
 */
#ifndef SIM_CLUSTER_FABRIC_PRIV_H
#define SIM_CLUSTER_FABRIC_PRIV_H

#include "lib/base/vec.h"
#include "scheduler/core/advise/advise.h"
#include "scheduler/core/advise/moves.h"
#include "sim/cluster/fabric.h"
#include "sim/cluster/fabric_baseline.h"
#include "sim/cluster/fabric_monkeytree.h"
#include "sim/cluster/fabric_paths.h"
#include "sim/cluster/steady.h"
#include "sim/cluster/window.h"

/*
 * Above this many jobs in a component, a run per plan costs too much, and shifts gain
 * little.
 */
#define FABRIC_MANY 16

struct known;

/* A job on several hosts. */
struct placed {
	bool is_there, is_seen;
	bool is_on_links, is_wanted, has_paths; /* See fabric_paths.h. */
	uint32_t id, n_gpus;
	double phase; /* Fraction of an iteration; where phases are random. */
	double isolated_ns, peak_bps; /* isolated_ns: 0 before fabric_isolate(). */
	struct work_job job;
	struct routed_job routed;
	struct steady_seen isolated, now; /* If measured. */
	struct window_past past;          /* Above FABRIC_MANY jobs. */
};

struct fabric {
	struct fabric_opts opts;
	const struct work_model *models;
	const uint32_t *model_of;
	size_t n_jobs;
	struct topo *topo;
	struct routes *routes;
	const uint32_t *hosts;
	struct fabric_paths *paths;           /* NULL: antiphase chooses no paths. */
	struct fabric_baseline *baseline;     /* NULL: no published system does. */
	struct fabric_monkeytree *monkeytree; /* NULL: no racks are kept by moves. */
	const struct mltcp *mltcp;            /* Weights; NULL: they do not change. */
	struct placed *placed;                /* By job. */
	VEC(struct placed *) tried; /* Places that plans would give jobs; owned. */
	VEC(struct placed *) there; /* By id; of the view, or a plan. */
	VEC(uint32_t) parents;      /* By position in 'there', as the next. */
	VEC(double) speeds;
	double *sum_bps;     /* By link: peaks of all. */
	uint32_t *first;     /* By link: the first job there, plus one. */
	VEC(uint32_t) links; /* Links with jobs. */
	uint32_t *rack_of;   /* By node of the cluster: its leaf, or itself. */
	uint32_t *seen_by;   /* By rack: the last value of 'seen' there. */
	uint32_t seen;
	VEC(uint32_t) key; /* Scratch, as the next. */
	VEC(struct placed *) members;
	VEC(uint32_t) ids; /* Jobs of the last view. */
	struct known *known;
	VEC(struct moves_past) moves; /* By id; those that count. */
	double look_s;                /* When moves are sought again. */
	struct fabric_counts counts;
	struct fabric_times times;
};

/* Speeds of a component's jobs, and its score by CASSINI. */
struct fabric_known {
	/*
	 * Of 'members', borrowed until the next call; squares: mean squared slowdown
	 * of iterations; seen: if measured.
	 */
	const double *speeds, *squares;
	const struct steady_seen *seen;
	double score;   /* Mean over 'n_links'. */
	size_t n_links; /* Links that CASSINI scores. */
	bool has_loop;
};

/* Whether antiphase augments, and with that lever. */
bool fabric_pulls(const struct fabric *fabric, enum advise_lever lever);

/* Limits of a run of 'n_jobs' jobs. */
struct steady_limits fabric_limits(const struct fabric *fabric, size_t n_jobs);

/* Speeds of the members.  The score alone costs less. */
struct fabric_known fabric_recall(struct fabric *fabric);
struct fabric_known fabric_score(struct fabric *fabric);
void fabric_forget_all(struct fabric *fabric);

/*
 * The place that pieces would give a job; NULL if its model is unknown or cannot run
 * there.
 */
struct placed *fabric_try(struct fabric *fabric, const struct pol_job *job,
			  const struct pol_piece *pieces, uint32_t n_pieces,
			  uint32_t n_gpus);
/* Runs a job alone, hashed, if it was not yet.  Returns as steady_run(). */
int fabric_isolate(struct fabric *fabric, struct placed *placed);
/*
 * Calls 'each' for each component of two or more jobs of 'there': its jobs are in
 * 'members', at positions 'at' of 'there'.
 */
void fabric_components(struct fabric *fabric,
		       void (*each)(struct fabric *fabric, const uint32_t *at,
				    void *ctx),
		       void *ctx);

/* Fills 'there' with the jobs of a plan on several hosts; to run them if 'is_run'. */
void fabric_place_plan(struct fabric *fabric, const struct pol_view *view,
		       const struct pol_plan *plan, bool is_run);

/*
 * Expected overlap of the jobs of 'there' with random phases: the sum over jobs and
 * links of GPUs times the share of time that the job sends, times the share that
 * others need of the link.  No run, so cheap for any number of jobs.
 */
double fabric_overlap(struct fabric *fabric);

/* How many of the running jobs may be moved now. */
uint32_t fabric_moves_allowed(const struct fabric *fabric, double now_s,
			      uint32_t n_running);

/* The callbacks of struct cluster_work. */
void fabric_rates(void *fabric, const struct pol_view *view, double *speeds);
void fabric_worked(void *fabric, const struct pol_job *job, double dt_s);

#endif
