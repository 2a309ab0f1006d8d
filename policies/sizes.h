/*
 * sizes.h - the ways of sizing that there are.
 *
 * Elastic jobs (max_gpus above n_gpus) have any number of GPUs up to max_gpus, others
 * n_gpus or none.
 */
#ifndef POLICIES_SIZES_H
#define POLICIES_SIZES_H

#include "policies/mechanism.h"

/*
 * size_marginal.c: one GPU each, in the order of service; then the next one goes to whom
 * it is worth most, until it is worth nothing to anybody.  Places go to the smallest first.
 */
extern const struct pol_size size_time; /* By remaining time (Optimus). */
extern const struct pol_size size_loss; /* By the loss of the training (SLAQ). */

#endif
