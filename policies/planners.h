/* SPDX-License-Identifier: Apache-2.0 */
/*
 * planners.h - the planners: mechanisms that decide order, grouping and placement at
 * once.
 */
#ifndef POLICIES_PLANNERS_H
#define POLICIES_PLANNERS_H

#include "policies/mechanism.h"

/*
 * plan_muri.c: jobs of equal size whose stages interleave well share GPUs (Muri), by
 * least remaining or least attained GPU time.
 */
extern const struct pol_planner planner_muri_srsf, planner_muri_las;
/*
 * plan_gandiva.c: time slices, and random pairs that share GPUs profitably (Gandiva).
 */
extern const struct pol_planner planner_gandiva;
/*
 * plan_antman.c: guaranteed jobs; opportunistic jobs on the capacity they leave
 * (AntMan).
 */
extern const struct pol_planner planner_antman;
/* plan_lucid.c: profile each job, then shortest first, in pairs (Lucid). */
extern const struct pol_planner planner_lucid;
/* plan_synergy.c: in order, with as many CPUs as jobs can use (Synergy). */
extern const struct pol_planner planner_synergy;
/* plan_goodput.c: numbers of GPUs that maximize the fair mean of goodputs (Pollux). */
extern const struct pol_planner planner_goodput;

#endif
