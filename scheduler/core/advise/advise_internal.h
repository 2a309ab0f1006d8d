/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advise_internal.h - declarations shared by advise_*.c.
 *
 *	advise.c           the policies
 *	advise_plan.c      plans: a placement with its components and prediction
 *	advise_place.c     where waiting jobs go
 *	advise_move.c      which jobs move
 *	advise_repair.c    other paths where a plan slows jobs beyond the cap
 *	advise_shift.c     shifts and pacing of one component, by prediction
 *	advise_variants.c  variants for one component, and their prediction
 *	advise_cassini.c   CASSINI's placement and shifts
 *	advise_evidence.c  from plans to advice
 */
#ifndef SCHEDULER_CORE_ADVISE_ADVISE_INTERNAL_H
#define SCHEDULER_CORE_ADVISE_ADVISE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/advise/advise.h"
#include "scheduler/core/advise/moves.h"
#include "scheduler/core/advise/place.h"
#include "scheduler/core/advise/predict.h"
#include "scheduler/core/solve/joint.h"

struct work_job;

struct plan;

/* One call of advise(), with the inputs that all its steps share. */
struct advise_ctx {
	const struct workload *workload; /* Borrowed. */
	struct topo *topo;               /* Borrowed. */
	struct routes *routes;           /* Borrowed. */
	struct advise_opts opts;         /* Defaults filled in. */
	uint32_t n_seeds;                /* Runs of each prediction that is kept. */
	uint32_t n_iterations;           /* Iterations of those runs. */
	enum place_paths paths;          /* Of plans that are begun from now on. */
	bool is_shifting;                /* Jobs may be shifted, now or later. */
	const struct plan
		*reference; /* No job may be worse off than in this plan; or NULL. */
};

/*
 * Jobs connected by links that they can exceed, directly or through others, and those
 * links.  A job whose own flows can exceed a link is a component by itself.
 */
struct component {
	uint32_t *jobs; /* Owned.  Ascending. */
	size_t n_jobs;
	uint32_t *links; /* Owned.  Ascending. */
	size_t n_links;
};

/* The links that connect jobs. */
enum component_tie {
	TIE_EXCEEDABLE, /* Links that all peaks together exceed. */
	TIE_SHARED,     /* Links that two jobs share, as in CASSINI's affinity graph. */
};

struct components {
	struct component *items; /* Owned. */
	size_t n;
};

/* The step of moves_search.h that moved a job. */
struct plan_move {
	uint32_t n_workers; /* 0: it is not moved. */
	uint32_t with;      /* The other job of the step; TOPO_NONE: none. */
	double lost_s;
	struct moves_bill bill;
};

/* Places, phases and pacing, with their prediction. */
struct plan {
	struct place *place; /* Owned. */
	int64_t *phase_us;   /* Owned.  By job: its start on the workload's clock. */
	int64_t *slack_us;   /* Owned.  By job: half width of its phase's optimum. */
	bool *is_phased;     /* Owned.  By job; otherwise its phase is random. */
	enum engine_pacing *pacing; /* Owned.  By job. */
	double *slowdown;           /* Owned.  Job j in run s: [j * n_seeds + s]. */
	double *excess_bps;         /* Owned.  By link, at those phases. */
	enum reason *why;           /* Owned.  By contended job; else N_REASONS. */
	struct plan_move *moves;    /* Owned.  By job, those that run. */
	struct components components;
	bool has_loop;
};

/* ---- advise_plan.c ---- */

/* Starts a plan with the jobs that have hosts, none of them phased. */
int plan_init(struct plan *plan, const struct advise_ctx *ctx);
/* Starts a plan without jobs. */
void plan_begin(struct plan *plan, const struct advise_ctx *ctx);
void plan_fini(struct plan *plan); /* Accepts a zeroed one. */

/* The component of one job, limited to its nearest 'n_max' jobs. */
void component_around(const struct place *place, const struct advise_ctx *ctx,
		      uint32_t job, size_t n_max, struct component *ret_component);
void component_fini(struct component *component);

/* A joint problem of one component; jobs are numbered as in component->jobs. */
struct component_problem {
	struct joint_problem problem;
	const struct profile **profiles; /* Owned array. */
	struct joint_link *links;        /* Owned. */
	struct joint_load *loads;        /* Owned. */
};

void component_problem_make(const struct component *component,
			    const struct place *place, const struct advise_ctx *ctx,
			    struct component_problem *ret_problem);
void component_problem_fini(struct component_problem *problem);

/* A component's jobs for predict(), all with random phases and free. */
struct predict_job *component_predict_jobs(const struct component *component,
					   const struct place *place,
					   const struct advise_ctx *ctx);

/*
 * Finds the plan's components, and predicts the effect of its phases and pacing.  Jobs
 * outside of all components have slowdown 1.
 */
void plan_find_components(struct plan *plan, const struct advise_ctx *ctx,
			  enum component_tie tie);
void plan_predict(struct plan *plan, const struct advise_ctx *ctx);
/* The same for a plan with the places, paths and phases of a predicted one. */
void plan_predict_as(struct plan *plan, const struct plan *same,
		     const struct advise_ctx *ctx);
void plan_predict_component(struct plan *plan, const struct advise_ctx *ctx,
			    const struct component *component);

/* Mean slowdown of a job; 0 if it is not placed. */
double plan_slowdown(const struct plan *plan, const struct advise_ctx *ctx,
		     uint32_t job);
/* Sum of weight / slowdown over all placed jobs, over the sum of weights. */
double plan_goodput(const struct plan *plan, const struct advise_ctx *ctx);

/* Undoes shifts and pacing; places and paths stay. */
void plan_unshift(struct plan *plan, const struct advise_ctx *ctx);

/*
 * The noise (predict.h) of predicted slowdowns where the effort allows only some of the
 * runs, else 0: that many runs are taken as they are.
 */
double cap_noise(const struct advise_ctx *ctx, const double *slowdown, size_t n_jobs);
/* True if slowdown 'after' is surely above the cap, given 'before' in the baseline. */
bool cap_is_broken(const struct advise_ctx *ctx, double before, double after,
		   double noise);
/* True if a plan slows a job beyond the cap, and 'base' does not. */
bool plan_breaks_cap(const struct plan *plan, const struct plan *base,
		     const struct advise_ctx *ctx);

/* ---- advise.c ---- */

/*
 * Completes a plan whose jobs are placed: paths, then shifts and pacing as the levers
 * say, with their prediction.  Returns 0 or -EHOSTUNREACH.
 */
int plan_complete(struct plan *plan, const struct advise_ctx *ctx);

/* ---- advise_move.c ---- */

/*
 * Moves jobs of a complete plan, whose paths are as in 'ctx', while that pays, and jobs
 * that wait while that gains.  Returns 0 or -EHOSTUNREACH.
 */
int plan_move_jobs(struct plan *plan, const struct advise_ctx *ctx);

/* ---- advise_repair.c ---- */

/*
 * While a complete plan with chosen paths slows jobs beyond the cap, which the reference
 * of 'ctx' does not: chooses paths again that spare these jobs, and predicts again, up
 * to ADVISE_REPAIRS times.  Returns 0 or -EHOSTUNREACH.
 */
int plan_repair(struct plan *plan, const struct advise_ctx *ctx);

/* ---- advise_place.c ---- */

/* The waiting jobs in order of arrival; '*ret_n' of them.  Owned by the caller. */
uint32_t *waiting_jobs(const struct advise_ctx *ctx, size_t *ret_n);

/* Place every waiting job that fits. */
void place_waiting_packed(struct plan *plan, const struct advise_ctx *ctx);
void place_waiting_predicted(struct plan *plan, const struct advise_ctx *ctx);
void place_waiting_largest_first(struct plan *plan, const struct advise_ctx *ctx);

/* ---- advise_shift.c ---- */

/*
 * Decides shifts and pacing of every component by prediction, and completes the plan.
 */
void shift_by_prediction(struct plan *plan, const struct advise_ctx *ctx);
/* The same for a plan without shifts whose components are found and predicted. */
void shift_predicted(struct plan *plan, const struct advise_ctx *ctx);

/* The delay after a job's arrival that gives its start this phase. */
int64_t advise_delay_us(const struct work_job *job, int64_t phase_us);

/* ---- advise_cassini.c ---- */

/* CASSINI's placement; and its shifts and pacing, see advise_cassini.c. */
void place_waiting_cassini(struct plan *plan, const struct advise_ctx *ctx);
void shift_by_cassini(struct plan *plan, const struct advise_ctx *ctx);

/* ---- advise_evidence.c ---- */

/* Makes the advice from the plan and the plan without antiphase ('before'). */
struct advice_set *advice_from(const struct plan *before, const struct plan *plan,
			       const struct advise_ctx *ctx);

/* ---- advise_paths.c ---- */

/* True if the plan chooses a path of the job. */
bool advice_has_paths(const struct plan *plan, uint32_t job);
/* Fills in the paths of a placed job, unless all are left to hashing. */
void advice_fill_paths(const struct plan *before, const struct plan *plan,
		       const struct advise_ctx *ctx, uint32_t job,
		       struct advice *advice);

#endif
