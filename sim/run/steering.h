/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steering.h - jobs of a plan under the control loop (scheduler/core/control).
 *
 * Traffic on shared links becomes phase constraints of the loop, and pacers hold jobs
 * as it orders.
 */
#ifndef SIM_RUN_STEERING_H
#define SIM_RUN_STEERING_H

#include "sim/run/plan.h"

struct steer_sim;

/*
 * Makes the loop for the steered jobs of a plan; the engine numbers jobs as the
 * workload does.  Returns NULL if there are none.  Release with steered_free().
 */
struct steer_sim *steering_make(const struct workload *workload,
				const struct sim_plan *plan, const struct topo *topo,
				uint64_t seed);

#endif
