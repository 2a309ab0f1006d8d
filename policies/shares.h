/*
 * shares.h - which shares of the time jobs are to have, by the rules that there are.
 *
 * A rule answers with a number from 0 to 1 for each job; order_deficit.c makes rounds out
 * of those.  It has a state of its own, zeroed when it begins.
 */
#ifndef POLICIES_SHARES_H
#define POLICIES_SHARES_H

#include "policies/view.h"

struct share_rule {
	size_t state_size;
	/* Both may be NULL.  'params': values of those that are the rule's own. */
	void (*init)(void *state, const double *params);
	void (*fini)(void *state);
	/*
	 * 'n' above 0; 'ids' in the order in which they came; [n x types of GPUs], of
	 * which those of a job are 1 in all at most.
	 */
	void (*shares)(void *state, const struct pol_view *view, const uint32_t *ids,
		       uint32_t n, double *ret_shares);
};

/* share_rules.c: what the shares of the GPUs, the time, the work are to be. */
extern const struct share_rule share_equal;      /* The same time for each. */
extern const struct share_rule share_max_min;    /* The same GPU time for each. */
extern const struct share_rule share_makespan;   /* All are done as early as can be. */
extern const struct share_rule share_throughput; /* Most work of all. */

/* share_finish.c: the same delay against a cluster of one's own (finish-time fairness). */
extern const struct share_rule share_finish_time;

/* share_assign.c: on which type each is next, by the best assignment (AlloX). */
extern const struct share_rule share_assigned;

#endif
