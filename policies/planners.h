/*
 * planners.h - the mechanisms that decide order, grouping and placement at once.
 */
#ifndef POLICIES_PLANNERS_H
#define POLICIES_PLANNERS_H

#include "policies/mechanism.h"

/*
 * plan_interleave.c: jobs of as many GPUs take turns on the same ones, whose stages fit
 * best (Muri): by least remaining, or least attained GPU time.
 */
extern const struct pol_planner planner_interleave_srsf, planner_interleave_las;
/* plan_pack.c: time slices, and random pairs on the same GPUs that pay (Gandiva). */
extern const struct pol_planner planner_pack;
/* plan_guests.c: guaranteed jobs, and guests on what they leave (AntMan). */
extern const struct pol_planner planner_guests;
/* plan_profile.c: jobs are looked at apart, then shortest first and in pairs (Lucid). */
extern const struct pol_planner planner_profile;
/* plan_tune.c: in order, with as many CPUs as jobs can use (Synergy). */
extern const struct pol_planner planner_tune;
/* plan_goodput.c: as many GPUs for each as make all learn best (Pollux). */
extern const struct pol_planner planner_goodput;

#endif
