/*
 * steering.h - the jobs of a plan under the control loop (scheduler/core/control): what
 * each puts on the links becomes edges, and pacers hold the jobs as it says.
 */
#ifndef SIM_RUN_STEERING_H
#define SIM_RUN_STEERING_H

#include "sim/run/plan.h"

struct steer_sim;

/*
 * Makes the loop for those jobs of the plan that are to be steered; the engine numbers
 * jobs as the workload does.  Returns NULL if there are none.  Release with
 * steer_sim_free().
 */
struct steer_sim *steering_make(const struct workload *workload,
				const struct sim_plan *plan, const struct topo *topo,
				uint64_t seed);

#endif
