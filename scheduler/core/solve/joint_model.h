/* SPDX-License-Identifier: Apache-2.0 */
/*
 * joint_model.h - a joint problem, prepared for search.
 *
 * What stays of a link after pruning:
 *
 *  - links whose jobs cannot exceed them together even if all their peaks coincide
 *    are left out, constant demands are taken off the capacity;
 *  - the jobs of a link are put into groups whose demands repeat together
 *    within JOINT_MODEL_GROUP_PIECES pieces.  Within a group shifts matter and the
 *    excess is exact.  Between groups every relative phase occurs, and only
 *    the distribution of the levels counts (demand_levels.h).  What is lost by not
 *    joining two jobs is at most the gain bound of pair.h: either the bound is
 *    below JOINT_MODEL_MIN_GAIN of the capacity, or their gcd is small against the
 *    common period that would have to be walked;
 *  - two jobs alone on a link always are a group: overlap.h needs no common
 *    period;
 *  - links whose groups have one job each do not depend on shifts.
 *
 * Jobs are renumbered in an order that depends on what they are and not on
 * how they are numbered (canonical_order.h), and so is everything after that.
 */
#ifndef SCHEDULER_CORE_SOLVE_JOINT_MODEL_H
#define SCHEDULER_CORE_SOLVE_JOINT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/solve/demand_levels.h"
#include "scheduler/core/solve/joint.h"
#include "scheduler/core/solve/step_function.h"

/* Longest sum of demands in the search, and in a final evaluation. */
#define JOINT_MODEL_GROUP_PIECES 1024
#define JOINT_MODEL_EXACT_PIECES 4096
/* Bends of two jobs with a small gcd, over the period of one. */
#define JOINT_MODEL_PAIR_BENDS 16384
/* Smaller gains, as a fraction of the capacity, are ignored. */
#define JOINT_MODEL_MIN_GAIN 1e-4

struct joint_model_load {
	uint32_t job;
	uint32_t group;
	uint32_t link;
	double factor;
	struct step_function step;
	int64_t others_us; /* Common period of the others in its group. */
	int64_t turn_us;   /* gcd of that and its own period. */
};

struct joint_model_group {
	uint32_t first_load, n_loads;
	int64_t period_us; /* Common period; 0 for two jobs that are not walked. */
};

struct joint_model_link {
	uint32_t link;                /* Index in the problem. */
	uint32_t first_load, n_loads; /* Loads of a group stand together. */
	uint32_t first_group, n_groups;
	uint32_t n_large_groups; /* Groups of more than one job. */
	int64_t capacity;
	double unit_bps;
	double weight;              /* Objective per unit of mean excess. */
	struct demand_levels alone; /* All groups of one job; n 0: none. */
	double capacity_bps;        /* As in the problem. */
	uint32_t n_constant;        /* Jobs of constant demand, off the capacity. */
	bool is_merged;             /* See presolve.h. */
	bool is_dominated;
};

struct joint_model_use {
	uint32_t link, load;
};

struct joint_model_job {
	uint32_t job;               /* Index in the problem. */
	uint32_t first_use, n_uses; /* Only in large groups. */
	int64_t period_us;
	bool is_movable;
};

struct joint_model {
	size_t n_jobs, n_links, n_loads, n_groups, n_uses;
	double max_weight; /* Of the problem's links: 1 in the model. */
	struct joint_model_job *jobs;
	struct joint_model_link *links;
	struct joint_model_load *loads;
	struct joint_model_group *groups;
	struct joint_model_use *uses;
	int64_t *pieces; /* Owned.  The memory of all steps. */
};

/*
 * Makes a model of a well-formed problem.  'order' lists the jobs in their new order.
 * Links without a movable job are left out ('movable' NULL: all jobs are).
 */
void joint_model_make(const struct joint_problem *problem, const uint32_t *order,
		      const bool *movable, struct joint_model *ret_model);
void joint_model_fini(struct joint_model *model); /* Accepts a zeroed one. */

/* Room for evaluations. */
struct joint_model_room;
struct joint_model_room *joint_model_room_new(void);
void joint_model_room_free(struct joint_model_room *room); /* Accepts NULL. */

/*
 * Mean excess in bits per second of link 'l' at the given shifts (by model job); exact
 * for at most two groups.
 */
double joint_model_link_excess(const struct joint_model *model, uint32_t l,
			       const int64_t *shift_us, struct joint_model_room *room);

/*
 * The same for a link of the problem, with grouping limited by
 * JOINT_MODEL_EXACT_PIECES; 'shift_us' is by the problem's job.
 */
double joint_model_exact_excess(const struct joint_problem *problem, uint32_t l,
				const int64_t *shift_us, struct joint_model_room *room);

#endif
