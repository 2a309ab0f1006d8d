/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regimes.h - jobs whose batch size changes while they train, and the prediction of
 * their remaining time (Shockwave, NSDI 2023).
 *
 * A regime is a batch size of a job.  The duration of an epoch in each regime is known;
 * how many epochs each will last is not.  These parts are taken as drawn from a Dirichlet
 * distribution, at first the same for each regime, with the weight of a whole job: what
 * remains is predicted by the mean of its posterior, given the epochs that were seen.
 */
#ifndef POLICIES_REGIMES_H
#define POLICIES_REGIMES_H

#include <stdint.h>

#define REGIMES_MAX 16

struct regimes {
	uint32_t n, now;             /* Of them; the present one. */
	double n_epochs;             /* Of the job, in all. */
	double epoch_s[REGIMES_MAX]; /* An epoch of each. */
	double n_done[REGIMES_MAX];  /* Ended epochs of each. */
};

/* One regime: the batch size stays. */
struct regimes regimes_static(double duration_s, double left_s);

double regimes_done(const struct regimes *regimes);   /* Part of the job, 0 to 1. */
double regimes_done_s(const struct regimes *regimes); /* Time of the ended epochs. */
/* The mean time of an epoch so far, with the present one. */
double regimes_epoch_s(const struct regimes *regimes);
/* The predicted remaining time. */
double regimes_left_s(const struct regimes *regimes);

#endif
