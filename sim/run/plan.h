/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h - places and pacing of the jobs of an experiment: as in the scenario, or as a
 * policy advises.
 */
#ifndef SIM_RUN_PLAN_H
#define SIM_RUN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/advise/advise.h"
#include "scheduler/core/workload/workload_ini.h"
#include "sim/baselines/baseline.h"

struct err;

enum {
	SIM_POLICY_NONE,
	SIM_POLICY_ADVISE, /* Number i + this: advise.h's i. */
	SIM_POLICY_SPRAY = SIM_POLICY_ADVISE + N_ADVISE_POLICIES,
	SIM_POLICY_BASELINE, /* Number i + this: baseline.h's i. */
	N_SIM_POLICIES = SIM_POLICY_BASELINE + N_BASELINES,
};

/*
 * "none", the names of advise.h, and those of systems that leave places to "fair" and
 * change the network: "spray", perfect balance over all equally short paths, and those of
 * baseline.h.  NULL-terminated.
 */
extern const char *const sim_policy_names[N_SIM_POLICIES + 1];

struct sim_plan_job {
	bool is_placed;
	struct routed_job routed; /* Owned.  Zeroed if not placed. */
	uint32_t *hosts;          /* Owned. */
	int64_t shift_ns;
	enum engine_pacing pacing;
	uint8_t priority; /* As in work_job. */
	bool is_aligned;  /* It starts on its grid; see experiment.h. */
	bool has_paths;   /* Chosen by the policy. */
	/* Of the advice; REASON_ISOLATED for policies that give none. */
	enum reason reason;
	/* Time that it loses by a move to its hosts, which is not simulated; 0: none. */
	double move_lost_s;
};

struct sim_plan {
	struct sim_plan_job *jobs; /* Owned.  One a job of the workload. */
	size_t n;
	const struct mltcp *mltcp; /* Weights of flows; NULL: they do not change. */
	int64_t solve_ns;          /* CPU time of the policy. */
	bool has_reasons;          /* The policy is one of advise.h. */
};

/*
 * Makes the plan of policy number 'policy' of sim_policy_names for a bound scenario.
 * 'levers' are those of struct advise_opts.  'pacing' overrides the scenario and the
 * policy, unless it is UNSET.  A job without a place is left out; a job without hosts
 * under "none" is an error.  Returns 0 or a negative errno with 'err' filled.  Release
 * with sim_plan_fini().
 */
int sim_plan_make(const struct scenario *scenario, struct topo *topo,
		  struct routes *routes, int policy, unsigned levers,
		  enum scenario_pacing pacing, struct sim_plan *ret_plan,
		  struct err *err);
void sim_plan_fini(struct sim_plan *plan); /* Accepts a zeroed one. */

/*
 * True if the jobs of 'workload' run on the same hosts, shifted and paced alike, and no
 * plan chooses paths; both plans are of policies of advise.h.
 */
bool sim_plan_is_same(const struct sim_plan *a, const struct sim_plan *b,
		      const struct workload *workload);

/* Prints the bill of each move to stderr, as the figures of a run leave it out. */
void sim_plan_report_moves(const struct sim_plan *plan, const struct scenario *scenario,
			   const char *policy);

#endif
