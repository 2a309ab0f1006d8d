/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sizes.h - the sizing mechanisms.
 *
 * Elastic jobs (max_gpus above n_gpus) get any number of GPUs up to max_gpus; others
 * get n_gpus or none.
 */
#ifndef POLICIES_SIZES_H
#define POLICIES_SIZES_H

#include "policies/mechanism.h"

/*
 * size_marginal.c: one GPU for each elastic job, in the order of service; then each
 * further GPU goes to the job with the largest marginal gain, while there is a gain.
 * The smallest jobs are placed first.
 */
extern const struct pol_size size_time; /* Gain in remaining time (Optimus). */
extern const struct pol_size size_loss; /* Gain in training loss (SLAQ). */

/*
 * size_ranks.c: a job may have several ranks on each of fewer GPUs; the last ones are
 * shrunk first (Singularity).
 */
extern const struct pol_size size_ranks;

#endif
