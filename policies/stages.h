/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stages.h - speeds of jobs that share GPUs: while one computes, another loads its
 * data, and a third is on the network (Muri, SIGCOMM 2022).
 *
 * In a cycle each job does one iteration.  Its stages (loading, GPU, network) follow
 * one another, and a stage begins when the job before has left it; the best order of
 * jobs is taken.  Beyond that, sharing costs factors that Muri measured: 1.33, 1.5 and
 * 1.37 for two, three and four jobs; a single job has 1.015.
 */
#ifndef POLICIES_STAGES_H
#define POLICIES_STAGES_H

#include "policies/view.h"

#define STAGES_MAX_JOBS 4
#define STAGES_N        3 /* Loading, GPU, network. */
/* An isolated job's iteration time over that of its trace. */
#define STAGES_ISOLATED 1.015

/* Whether the stage times of a job are known. */
bool stages_are_known(const struct pol_job *job);

/*
 * Seconds of a cycle of up to STAGES_MAX_JOBS jobs with known stages; for one job,
 * STAGES_ISOLATED times its iteration.
 */
double stages_cycle_s(const struct pol_job *const *jobs, uint32_t n);

/*
 * Loading time over the rest of an iteration; 1 if unknown.  Data are loaded while the
 * iteration before computes: with this many even shares of CPUs both take equally long.
 */
double stages_loading(const struct pol_job *job);

/*
 * Iterations that an owner does while an opportunistic job on its GPUs does one.  A
 * stage of the opportunistic job runs while the owner is in another stage; its next
 * stage may begin in what is left of a gap.  As Muri's simulator models AntMan;
 * INFINITY if the owner leaves no gap.
 */
double stages_owner_turns(const struct pol_job *job, const struct pol_job *owner);

/*
 * A struct pol_speed.  1 for an isolated job; more or less if it has other than its
 * even share of CPUs and loading takes longer than the rest.  With mates, its part of
 * their common cycle, or an equal share of time if stages are unknown or there are too
 * many jobs.  An opportunistic job does as many iterations as its slowest owner leaves
 * it; half its speed if that is unknown or none.
 */
double stages_speed(void *ctx, const struct pol_job *job, uint32_t n_gpus,
		    uint32_t n_nodes, uint32_t type, const struct pol_job *const *mates,
		    uint32_t n_mates);

#endif
