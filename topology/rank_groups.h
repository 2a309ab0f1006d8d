/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_groups.h - groups of a job's ranks: tensor, data, expert and pipeline parallelism
 *
 * Ranks are numbered as Megatron-LM does by default (megatron/core/parallel_state.py,
 * order "tp-cp-ep-dp-pp", here without context parallelism): the tensor index varies
 * fastest, then the data index, then the pipeline stage:
 *
 *	rank = tp index + tp * (dp index + dp * stage)
 *
 * Expert groups divide the data groups: 'ep' ranks with consecutive data indices.
 * Every kind of group is therefore ranks at a fixed distance:
 *
 *	kind  size  distance
 *	tp    tp    1
 *	dp    dp    tp
 *	ep    ep    tp
 *	pp    pp    tp * dp
 */
#ifndef TOPOLOGY_RANK_GROUPS_H
#define TOPOLOGY_RANK_GROUPS_H

#include <stdint.h>

enum rank_group {
	RANK_GROUP_TP,
	RANK_GROUP_DP,
	RANK_GROUP_EP,
	RANK_GROUP_PP,
	N_RANK_GROUPS,
};

/* "tp", "dp", "ep", "pp"; NULL-terminated. */
extern const char *const rank_group_names[N_RANK_GROUPS + 1];

/* Sizes by kind of group, each at least 1.  ep divides dp. */
struct rank_layout {
	uint32_t size[N_RANK_GROUPS];
};

/* tp * dp * pp. */
uint64_t rank_layout_n_ranks(const struct rank_layout *layout);

/*
 * Rank number 'member' of group number 'group'; there are n_ranks / size groups.  In
 * groups with consecutive numbers the ranks at the same place are consecutive, too.
 */
uint32_t rank_group_member(const struct rank_layout *layout, enum rank_group kind,
			   uint32_t group, uint32_t member);

#endif
