/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shares.h - the rules for shares of time.
 *
 * A rule returns a number from 0 to 1 for each job; order_deficit.c makes rounds out of
 * them.  A rule has its own state, which starts zeroed.
 */
#ifndef POLICIES_SHARES_H
#define POLICIES_SHARES_H

#include "policies/view.h"

struct share_rule {
	size_t state_size;
	/* Both may be NULL.  'params': values of the rule's own parameters. */
	void (*init)(void *state, const double *params);
	void (*fini)(void *state);
	/*
	 * 'n' above 0; 'ids' in order of arrival; ret_shares is [n x types of GPUs],
	 * and the shares of a job sum to at most 1.
	 */
	void (*shares)(void *state, const struct pol_view *view, const uint32_t *ids,
		       uint32_t n, double *ret_shares);
};

/* share_rules.c */
extern const struct share_rule share_equal;      /* The same time for each job. */
extern const struct share_rule share_max_min;    /* The same GPU time for each job. */
extern const struct share_rule share_makespan;   /* The earliest end of all jobs. */
extern const struct share_rule share_throughput; /* The most work per second. */

/* share_finish.c: equal delay against an isolated share (finish-time fairness). */
extern const struct share_rule share_finish_time;

/* share_assign.c: the type of each next job, by optimal assignment (AlloX). */
extern const struct share_rule share_assigned;

#endif
