/* SPDX-License-Identifier: Apache-2.0 */
#include "topology/rank_groups.h"

#include <stddef.h>

const char *const rank_group_names[N_RANK_GROUPS + 1] = { "tp", "dp", "ep", "pp",
							  NULL };

uint64_t
rank_layout_n_ranks(const struct rank_layout *layout)
{
	return (uint64_t)layout->size[RANK_GROUP_TP] * layout->size[RANK_GROUP_DP] *
	       layout->size[RANK_GROUP_PP];
}

static uint32_t
distance_of(const struct rank_layout *layout, enum rank_group kind)
{
	uint32_t tp = layout->size[RANK_GROUP_TP];

	if (kind == RANK_GROUP_TP)
		return 1;
	return kind == RANK_GROUP_PP ? tp * layout->size[RANK_GROUP_DP] : tp;
}

uint32_t
rank_group_member(const struct rank_layout *layout, enum rank_group kind,
		  uint32_t group, uint32_t member)
{
	uint32_t distance = distance_of(layout, kind);
	uint32_t block = group / distance, offset = group % distance;

	return (block * layout->size[kind] + member) * distance + offset;
}
