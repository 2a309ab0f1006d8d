/* SPDX-License-Identifier: Apache-2.0 */
/*
 * joint.h - one time shift for each job, over all links at once.
 *
 * Job j has the periodic demand D_j(t) of its profile.  On link l it puts
 * factor_jl * D_j(t - d_j), where d_j is its time-shift.  With
 *
 *	E_l(d) = lim 1/P * integral over P of max(0, sum_j factor_jl D_j(t - d_j) - C_l) dt
 *
 * the mean excess of link l in bits per second, the solver looks for the
 * shifts that minimize F(d) = sum_l weight_l * E_l(d) / C_l.  One link's
 * compatibility score is 1 - E_l / C_l, as in CASSINI (NSDI 2024), Table 1,
 * in the limit of an infinitely fine circle.  Periods that are one but for the error of
 * their measurement count as one: same_period.h.
 *
 * All functions are pure and deterministic for a seed.
 */
#ifndef SCHEDULER_CORE_SOLVE_JOINT_H
#define SCHEDULER_CORE_SOLVE_JOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

/* The load of one job on one link. */
struct joint_load {
	uint32_t job;  /* Index into 'profiles'. */
	double factor; /* Demand on the link / the profile's rate; above 0. */
};

struct joint_link {
	uint32_t id;         /* Chosen by the caller, e.g. a topology link. */
	uint32_t first_load; /* Its loads are loads[first_load .. + n_loads). */
	uint32_t n_loads;
	double capacity_bps; /* Above 0. */
	double weight;       /* In the objective; usually 1. */
};

struct joint_problem {
	size_t n_jobs;
	const struct profile *const *profiles; /* Borrowed; one a job. */
	size_t n_links;
	const struct joint_link *links; /* Borrowed. */
	const struct joint_load *loads; /* Borrowed. */
};

struct joint_opts {
	uint64_t seed;
	unsigned n_restarts;            /* After the first descent; default 8. */
	const int64_t *start_shifts_us; /* Borrowed; NULL: none.  A warm start. */
	const bool *movable;            /* Borrowed; NULL: all may be shifted. */
	const double *start_excess_bps; /* Borrowed; NULL: not known.  A link's mean
					   * excess at the start shifts, from an
					   * earlier result; NAN: not known. */
};

/* How a job's shift was found; see also reason.h. */
enum joint_method {
	JOINT_FREE,  /* Shares no link that can be exceeded: shift 0. */
	JOINT_TREE,  /* Its links form a tree: per-link optima, stitched. */
	JOINT_LOOP,  /* In a loop: coordinate descent. */
	JOINT_FIXED, /* Not movable. */
};

struct joint_result {
	size_t n_jobs, n_links;
	int64_t *shift_us; /* In [0, period), of the joined periods. */
	int64_t *slack_us; /* Half width: shift +- slack is equivalent. */
	enum joint_method *method;
	double *excess_before_bps; /* By link; at the start shifts (or zero). */
	double *excess_after_bps;  /* By link; at 'shift_us'. */
	double objective_before, objective_after;
	bool has_loop; /* The affinity graph after pruning has one. */
	bool gave_up;  /* CASSINI only: loop, so no shifts at all. */
};

/*
 * Solves 'problem': see solver.h.  Prunes links that can never be exceeded and pairs of
 * jobs that no shift can help (joint_model.h), merges and drops links (presolve.h),
 * peels trees off the affinity graph and stitches exact link optima
 * (core_decomposition.h, link.h; CASSINI, Algorithm 1), then descends coordinate by
 * coordinate with an exact line search, and out of local minima, on the loops
 * (search.h, ruin_recreate.h).  At the end each job is in the middle of its plateau.
 *
 * Without start shifts the first job of each component has shift 0; with them,
 * each job has the shift that delays it least against its start.  The objective
 * is never above that of the start.  Jobs that are not movable stay, and links
 * without a movable job cost next to nothing: after an arrival, let only the new
 * job and those that share a link with it move.
 *
 * Takes no ownership.  Returns a new result to be freed with
 * joint_result_free(), or NULL if the problem is malformed (job out of range, a
 * job twice on a link, capacity or factor not positive, weight negative, a
 * profile that profile_normalize() would refuse).
 */
struct joint_result *joint_solve(const struct joint_problem *problem,
				 const struct joint_opts *opts);

/* Accepts NULL. */
void joint_result_free(struct joint_result *result);

/*
 * Mean excess of each link at the given shifts; 'ret_excess_bps' has room for
 * n_links.  Exact on links with at most two different periods (overlap.h), and
 * where the sum of all but one period's jobs repeats within JOINT_MODEL_EXACT_PIECES
 * pieces.  Beyond that, jobs whose periods have so little in common are assumed to
 * take every relative phase (joint_model.h).
 */
void joint_excess(const struct joint_problem *problem, const int64_t *shift_us,
		  double *ret_excess_bps);

/* F for the links' mean excess: sum over l of weight_l * excess_l / C_l. */
double joint_objective(const struct joint_problem *problem, const double *excess_bps);

#endif
