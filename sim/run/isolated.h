/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isolated.h - isolated iteration times of jobs, without the others.
 *
 * One engine runs all jobs, each on a private copy of the links that it uses.  Jobs
 * have the same numbers as in the experiment, so they have the same draws of jitter,
 * but nothing in common.
 */
#ifndef SIM_RUN_ISOLATED_H
#define SIM_RUN_ISOLATED_H

#include "sim/run/experiment.h"

/*
 * Fills isolated_ns and slowdown of each job of 'experiment' that has iterations.
 * Returns 0 or -EINVAL as experiment_run().
 */
int isolated_fill(const struct scenario *scenario, const struct sim_plan *plan,
		  const struct topo *topo, const struct experiment_opts *opts,
		  struct experiment *experiment);

/*
 * Adds a job that ends at once, in place of one without a place: it keeps the numbers
 * of the others.
 */
int isolated_add_placeholder(struct engine *engine);

#endif
