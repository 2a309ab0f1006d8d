/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_inside.h - speeds of jobs that depend on which GPUs of a server they have.
 *
 * A job's GPUs pass data round a ring, which is as fast as its slowest link.  The
 * network's stage of its iteration was measured on the best ring that as many GPUs of
 * the server can form, and takes longer in proportion on a slower one.  Jobs of unknown
 * stages, or whose GPUs are not named, run at the same speed anywhere.
 */
#ifndef SIM_CLUSTER_WORK_INSIDE_H
#define SIM_CLUSTER_WORK_INSIDE_H

#include "sim/cluster/cluster.h"

struct work_inside;

struct work_inside *work_inside_new(const struct pol_inside *inside);
void work_inside_free(struct work_inside *work); /* Accepts NULL. */
/* Adds it to 'work', which has no 'ctx' and no 'rates' yet. */
void work_inside_add(struct work_inside *inside, struct cluster_work *work);

#endif
