/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core_decomposition.h - loops and trees of the affinity graph.
 *
 * Vertices are the jobs and links of a model, edges join a job to the links on
 * which its shift matters (CASSINI, NSDI 2024, section 4).  Taking away vertices
 * of degree 1 again and again leaves the 2-core: empty if there is no loop.
 * On the trees outside, the best shifts of every link by itself can be stitched
 * together without loss (CASSINI, Theorem 1).  O(edges).
 */
#ifndef SCHEDULER_CORE_SOLVE_CORE_DECOMPOSITION_H
#define SCHEDULER_CORE_SOLVE_CORE_DECOMPOSITION_H

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/core/solve/joint_model.h"

#define CORE_NONE UINT32_MAX

/* Connected jobs and links. */
struct core_component {
	uint32_t first_job, n_jobs;   /* In 'job_list', ascending. */
	uint32_t first_link, n_links; /* In 'link_list', ascending. */
	uint32_t n_core_links;
	bool has_fixed; /* It has a job that may not be moved. */
};

struct core_decomposition {
	size_t n_components;
	struct core_component *components; /* Owned.  By lowest job. */
	uint32_t *job_list;                /* Owned. */
	uint32_t *link_list;               /* Owned. */
	uint32_t *component_of;            /* Owned.  By job; CORE_NONE: no link. */
	bool *is_core_link;                /* Owned. */
	bool *is_core_job;                 /* Owned.  The job is on a core link. */
};

/* Links for which is_off (NULL: none) is set connect nothing. */
void core_decomposition_make(const struct joint_model *model, const bool *is_off,
			     struct core_decomposition *ret_peeled);
void core_decomposition_fini(struct core_decomposition *peeled);

/* The component of the jobs of link 'l', even if it was off. */
uint32_t core_component_of_link(const struct core_decomposition *peeled,
				const struct joint_model *model, uint32_t l);

#endif
