/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advise.h - advice on a workload: where each job goes, and its shift in time.
 *
 * Three policies answer the same question, so that they can be compared:
 *
 *	fair       the baseline: packed placement, no shifts
 *	cassini    CASSINI (NSDI 2024), see cassini.h and advise_cassini.c
 *	antiphase  placement by predicted goodput (place.h), joint exact shifts (joint.h),
 *	           and no shift that costs more than it saves
 *
 * Pure: workload and fabric in, advice out; deterministic for a seed.
 */
#ifndef SCHEDULER_CORE_ADVISE_ADVISE_H
#define SCHEDULER_CORE_ADVISE_ADVISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"
#include "scheduler/core/advise/advice_path.h"
#include "scheduler/core/advise/reason.h"

struct err;
struct moves_past;
struct workload;
struct topo;
struct routes;

enum advise_policy {
	ADVISE_FAIR,
	ADVISE_CASSINI,
	ADVISE_ANTIPHASE,
	N_ADVISE_POLICIES,
};

/* "fair", "cassini", "antiphase"; NULL-terminated. */
extern const char *const advise_policy_names[N_ADVISE_POLICIES + 1];

/* What antiphase may change; a set of these. */
enum advise_lever {
	ADVISE_PLACE = 1, /* Where waiting jobs go. */
	ADVISE_PATH = 2,  /* Which of the equally short paths a flow takes. */
	ADVISE_TIME = 4,  /* When a job's iterations begin. */
	ADVISE_MOVE = 8,  /* Where running jobs that are movable go on; moves.h. */
	ADVISE_ALL_LEVERS = 15,
};

/*
 * Reads a list such as "place,path".  Returns 0, or -EINVAL with 'err' filled and
 * '*ret_levers' unchanged.
 */
int advise_levers_read(const char *text, unsigned *ret_levers, struct err *err);

struct advise_opts {
	enum advise_policy policy;
	unsigned levers; /* Of ADVISE_ANTIPHASE; 0: all. */
	uint64_t seed;
	double max_slowdown;   /* Cap on any one job; 0: default. */
	uint32_t n_candidates; /* Placements to predict; 0: default. */
	uint32_t n_iterations; /* To predict over; 0: default. */
	unsigned n_restarts;   /* Of the joint solver; 0: default. */
	/* Limit of flows started by all predictions together; 0: default. */
	double effort_flows;
	/* By job, borrowed; NULL: none.  Jobs that cannot be delayed. */
	const bool *is_fixed;
	/* By job, borrowed; NULL: none.  Present shifts, to start from. */
	const int64_t *start_us;
	/* Share of the running jobs that may be moved in an hour; 0: default. */
	double moves_per_hour;
	/* Earlier moves of jobs of the workload, borrowed; and the time now. */
	const struct moves_past *past_moves;
	size_t n_past_moves;
	double now_s;
};

/* Evidence: one contended link. */
struct advice_link {
	uint32_t link; /* Topology link. */
	uint32_t n_jobs;
	double score_before, score_after;
	double excess_before_bps, excess_after_bps;
};

/*
 * The move of a running job, and its bill (moves.h).  Two jobs that make room for each
 * other have one bill.
 */
struct advice_move {
	uint32_t *from;     /* Owned.  Hosts, n_hosts of the advice. */
	uint32_t n_workers; /* That change hosts. */
	uint32_t with;      /* The other job of the bill; TOPO_NONE: none. */
	double lost_s;      /* Time that this job loses. */
	double gain, cost;  /* Of the bill; weight times seconds. */
	double payback_s;
};

struct advice {
	uint32_t job;    /* Index in the workload. */
	uint32_t *hosts; /* Owned.  Present or advised hosts; NULL: none. */
	uint32_t n_hosts;
	bool placed_by_us;        /* It was waiting. */
	struct advice_move *move; /* Owned.  NULL: none. */
	/* Owned.  [n_paths], by flow and connection; NULL: all are left to hashing. */
	struct advice_path *paths;
	size_t n_paths;
	int64_t shift_us; /* 0 unless advised. */
	int64_t slack_us;
	bool is_phased; /* Its phase is advised, even if the shift is 0. */
	enum engine_pacing pacing;
	double score_before, score_after;       /* Of the job's worst link. */
	double slowdown_before, slowdown_after; /* Predicted, over isolated. */
	double gain_low, gain_high;             /* Relative iteration-time saving. */
	enum reason reason;
	struct advice_link *links; /* Owned.  Contended links, worst first. */
	size_t n_links;
};

struct advice_set {
	struct advice *items; /* Owned.  One per job, in workload order. */
	size_t n;
	double goodput_before,
		goodput_after; /* sum of weight / slowdown, over sum of weight. */
	bool has_loop;         /* Of the affinity graph. */
	uint32_t n_runs;       /* Of each prediction: other phases and jitter. */
	uint32_t n_iterations; /* Of each run; approximate. */
};

/*
 * Advises on 'workload', which the caller keeps.  Returns 0 and a set to be freed with
 * advice_set_free(), or -EHOSTUNREACH.  A job that fits nowhere has hosts NULL and a
 * reason.
 */
int advise(const struct workload *workload, struct topo *topo, struct routes *routes,
	   const struct advise_opts *opts, struct advice_set **ret_set);
void advice_set_free(struct advice_set *set); /* Accepts NULL. */

#endif
