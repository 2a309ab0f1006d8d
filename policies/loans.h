/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loans.h - servers that inference lends to training, by a daily curve of its load.
 *
 * The last nodes of a cluster belong to inference.  At a time it wants, rounded, this
 * share of them:
 *
 *	load = least + (1 - least) (1 + cos(2 pi (hour - peak hour) / 24)) / 2
 *
 * known every five minutes; time 0 is midnight.  The others are lent.  reclaim.h says
 * which ones are returned when it wants more.
 */
#ifndef POLICIES_LOANS_H
#define POLICIES_LOANS_H

#include "policies/reclaim.h"

#define LOANS_STEP_S  300
#define LOANS_N_STEPS (86400 / LOANS_STEP_S)

struct loans {
	uint32_t first, n;                /* Nodes that belong to inference. */
	uint32_t n_wanted[LOANS_N_STEPS]; /* How many of them it wants. */
	VEC(bool) is_lent;                /* By node; of training servers, always. */
	struct reclaim reclaim;
};

/* The share is below 1: at least one node is training's. */
void loans_init(struct loans *loans, const struct pol_cluster *cluster, double share,
		double peak_hour, double least);
void loans_fini(struct loans *loans); /* Accepts a zeroed one. */
/* Returns servers, or lends more, the first of those that are not lent. */
void loans_follow(struct loans *loans, const struct pol_view *view);
/*
 * The next time at which inference wants another number of servers; INFINITY if no job
 * runs, and none would fit when most servers are lent.
 */
double loans_next_s(const struct loans *loans, const struct pol_view *view);

#endif
