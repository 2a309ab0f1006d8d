/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_epochs.h - progress of jobs that train measured applications, on any GPUs and
 * batch size.
 *
 * As in the simulator of Pollux (OSDI 2021). Time goes in ticks; within a tick a job
 * uses one batch size until an epoch ends, which is at a whole second.  A job that
 * gets other GPUs makes no progress for restart_s, at its first start, too.  Decisions
 * are made at ticks: policies have rounds of tick_s and a restart_s of 0, and jobs are
 * submitted at ticks.
 *
 * Jobs that adapt measure their iteration times, fit their goodput
 * (policies/goodput.h), report it to policies, and use the batch size of the best
 * goodput after each tick and epoch; jobs on one GPU keep their user's.
 *
 * On several types of GPUs, a job measures and fits each type that it uses, and reports
 * the one that it used last.  One whose GPUs are of several types uses those of the type
 * of which it has most, as in Sia's simulator (SOSP 2023).
 */
#ifndef SIM_APPS_WORK_EPOCHS_H
#define SIM_APPS_WORK_EPOCHS_H

#include "sim/apps/app.h"
#include "sim/cluster/cluster.h"

struct epochs;

struct epochs_job {
	const struct app *app; /* On the first type of GPUs. */
	double submit_s;
	uint32_t n_gpus, batch; /* As requested. */
};

struct epochs_opts {
	double tick_s;
	double restart_s; /* NAN: of each application, if it is known; else 30. */
	bool adapts;
	/*
	 * A running job that moves to as many GPUs of each node, of the same type, goes
	 * on at once, as in Sia's simulator.
	 */
	bool moves_are_free;
	/*
	 * The same application on type t of 'cluster' is app[t * stride]; stride 0: all
	 * GPUs are alike, on nodes of four.
	 */
	const struct pol_cluster *cluster;
	size_t stride;
};

/*
 * Copies 'jobs', which are in order of submission, and fills 'ret_jobs' for
 * cluster_run(): jobs arrive at the first tick from their submission on, with the
 * duration of the measured iterations on the requested GPUs.  Returns 0, or -EINVAL if
 * job '*ret_bad' is impossible.
 */
int epochs_new(const struct epochs_job *jobs, size_t n, const struct epochs_opts *opts,
	       struct epochs **ret_epochs, struct cluster_job *ret_jobs,
	       size_t *ret_bad);
void epochs_free(struct epochs *epochs); /* Accepts NULL. */
struct cluster_work epochs_work(struct epochs *epochs);

#endif
