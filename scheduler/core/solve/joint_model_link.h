/* SPDX-License-Identifier: Apache-2.0 */
/*
 * joint_model_link.h - step functions and groups of one link of a joint model.
 */
#ifndef SCHEDULER_CORE_SOLVE_JOINT_MODEL_LINK_H
#define SCHEDULER_CORE_SOLVE_JOINT_MODEL_LINK_H

#include "scheduler/core/solve/joint_model.h"

struct group_limits {
	size_t max_pieces; /* Of a group. */
	double min_gain;   /* As a fraction of the capacity. */
	double max_pair_bends;
	uint32_t enough_groups; /* Joining stops at this number of groups. */
};

/* Two loads that could be joined. */
struct group_pair {
	double gain; /* Bound of what their shift can gain, in units. */
	uint32_t a, b;
};

/* Memory for grouping, reused from link to link. */
struct group_room {
	VEC(struct group_pair) pairs;
	VEC(struct joint_model_load) sorted;
};

void joint_model_group_room_fini(struct group_room *room); /* Accepts a zeroed one. */

/*
 * Divides the 'n' loads of a link into groups: sets their 'group' (from 0), 'others_us'
 * and 'turn_us', and appends to 'groups', whose first_load counts from 'loads'.
 * Returns the number of groups.
 */
uint32_t joint_model_group_loads(struct joint_model_load *loads, uint32_t n,
				 int64_t capacity, const struct group_limits *limits,
				 struct group_room *room,
				 struct joint_model_group *groups);

#endif
