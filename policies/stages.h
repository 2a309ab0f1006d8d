/*
 * stages.h - jobs that take turns on the same GPUs: while one computes, another one loads
 * its data, and a third one is on the network (Muri, SIGCOMM 2022).
 *
 * In a cycle each has one iteration.  Its stages - loading, GPU, network - follow one
 * another, and a stage begins when the job before has left it; the order of jobs is the
 * best there is.  What sharing costs beyond that is Muri's, as measured: factors of 1.33,
 * 1.5 and 1.37 for two, three and four jobs, where one alone has 1.015.
 */
#ifndef POLICIES_STAGES_H
#define POLICIES_STAGES_H

#include "policies/view.h"

#define STAGES_MAX_JOBS 4
#define STAGES_N        3 /* Loading, GPU, network. */
/* Of an iteration, alone: over what its trace says. */
#define STAGES_ALONE 1.015

/* Whether what they take is known. */
bool stages_are_known(const struct pol_job *job);

/*
 * Seconds of a cycle of up to STAGES_MAX_JOBS jobs whose stages are known; of one,
 * STAGES_ALONE of its iterations.
 */
double stages_cycle_s(const struct pol_job *const *jobs, uint32_t n);

/*
 * How long a job loads over what else an iteration takes, as it does beside loading the
 * next one's data; 1 if that is not known.  So many even shares of CPUs would make both as
 * long.
 */
double stages_loading(const struct pol_job *job);

/*
 * How many of its iterations a host has done by the time its guest has done one: a stage of
 * the guest goes on while the host is in another one, and what is left over of a gap may
 * be begun on by the guest's next stage.  As Muri's simulator has AntMan's; INFINITY where
 * the host leaves no gap.
 */
double stages_guest_turns(const struct pol_job *guest, const struct pol_job *host);

/*
 * A struct pol_speed: 1 alone, more or less where a job has other than its even share of
 * CPUs and loading is longer than the rest; with mates, what is left of it in a cycle of them all, or
 * an equal share of the time where stages are not known, or are too many.  A guest has as
 * many iterations as the slowest of its hosts leaves it; half its speed where that is not
 * known, or none.
 */
double stages_speed(void *ctx, const struct pol_job *job, uint32_t n_gpus,
		    uint32_t n_nodes, uint32_t type, const struct pol_job *const *mates,
		    uint32_t n_mates);

#endif
