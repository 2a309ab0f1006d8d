/*
 * work_epochs.h - jobs of measured applications: how they get on, whatever they are given.
 *
 * As the simulator of Pollux (OSDI 2021) has it.  Time goes in ticks; in a tick a job works
 * with one batch until an epoch is over, which is at a whole second.  A job that is given
 * other GPUs does nothing for restart_s, the first time, too.  Those who decide do so at
 * ticks: policies in rounds of tick_s, whose own restart_s is 0, and jobs that are submitted
 * at a tick.
 *
 * Jobs that adapt measure how long their iterations take, fit their goodput to that
 * (policies/goodput.h), tell policies of it, and take the batch of the best goodput
 * after each tick and epoch; but for those that train on one GPU, which keep their user's.
 */
#ifndef SIM_APPS_WORK_EPOCHS_H
#define SIM_APPS_WORK_EPOCHS_H

#include "sim/apps/app.h"
#include "sim/cluster/cluster.h"

struct epochs;

struct epochs_job {
	const struct app *app;
	double submit_s;
	uint32_t n_gpus, batch; /* What its user asked for. */
};

struct epochs_opts {
	double tick_s, restart_s;
	bool adapts;
};

/*
 * 'jobs' in order of submission; they are kept as a copy.  Fills what cluster_run() wants:
 * they are seen at the first tick from their submission on, and a job's duration is that of
 * its measured iterations on what it asked for.  0; -EINVAL for one that cannot be, by
 * '*ret_bad'.
 */
int epochs_new(const struct epochs_job *jobs, size_t n, const struct epochs_opts *opts,
	       struct epochs **ret_epochs, struct cluster_job *ret_jobs,
	       size_t *ret_bad);
void epochs_free(struct epochs *epochs); /* Accepts NULL. */
struct cluster_work epochs_work(struct epochs *epochs);

#endif
