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
/* plan_topo_aware.c: each job on the GPUs of largest utility (BSC and IBM). */
extern const struct pol_planner planner_topo_aware;
/* plan_synergy.c: in order, with as many CPUs as jobs can use (Synergy). */
extern const struct pol_planner planner_synergy;
/* plan_iadeep.c: jobs of one GPU join those that interfere least (IADeep). */
extern const struct pol_planner planner_iadeep;
/* plan_knots.c: jobs of one GPU that do not peak together share it (Kube-Knots). */
extern const struct pol_planner planner_knots;
/* plan_goodput.c: numbers of GPUs that maximize the fair mean of goodputs (Pollux). */
extern const struct pol_planner planner_goodput;
/* plan_sia.c: types and numbers of GPUs with the largest fair sum of goodputs (Sia). */
extern const struct pol_planner planner_sia;
/*
 * plan_heet.c: types and numbers of GPUs by prices of waiting and of scaling (Heet).
 */
extern const struct pol_planner planner_heet;
/* plan_lyra.c: training on its own servers and on those that inference lends (Lyra). */
extern const struct pol_planner planner_lyra;
/*
 * plan_hived.c: jobs in cells of their virtual clusters; opportunistic jobs on any
 * other GPUs (HiveD).
 */
extern const struct pol_planner planner_hived;
/*
 * plan_mast.c: by priority and quota, each job in the best cluster of the region that
 * has its data (MAST).
 */
extern const struct pol_planner planner_mast;

#endif
