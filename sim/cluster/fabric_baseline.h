/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fabric_baseline.h - paths and priorities of published systems, on a cluster whose jobs
 * come and go.
 *
 * Whenever the jobs or their places have changed, all jobs choose again
 * (sim/baselines/baseline.h).  MonkeyTree's moves are in fabric_monkeytree.h.
 */
#ifndef SIM_CLUSTER_FABRIC_BASELINE_H
#define SIM_CLUSTER_FABRIC_BASELINE_H

#include <stddef.h>

#include "sim/cluster/fabric.h"

struct fabric_baseline;

struct mltcp;

/* The weights of flows under this augmentation; NULL: they do not change. */
const struct mltcp *fabric_baseline_mltcp(enum fabric_augment augment);

/* NULL: the augmentation chooses no paths as published.  Free with fabric_baseline_free(). */
struct fabric_baseline *fabric_baseline_new(enum fabric_augment augment);
void fabric_baseline_free(struct fabric_baseline *baseline); /* Accepts NULL. */

/* Chooses for the jobs of fabric->there; returns the number of flows with another path. */
size_t fabric_baseline_route(struct fabric_baseline *baseline, struct fabric *fabric);

#endif
