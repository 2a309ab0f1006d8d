/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_internal.h - declarations shared by place.c, place_pack.c and place_search.c.
 */
#ifndef SCHEDULER_CORE_ADVISE_PLACE_INTERNAL_H
#define SCHEDULER_CORE_ADVISE_PLACE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "scheduler/core/advise/place.h"
#include "scheduler/core/workload/workload.h"

struct place_job {
	bool is_put;
	enum place_paths paths; /* Of the next place_put(). */
	uint32_t *hosts;        /* Owned.  Ascending; NULL if not placed. */
	struct routed_job routed;
	double worst; /* Largest e_l of its links; see link_loads.h. */
};

/* The groups of one level: consecutive ranges of 'order'. */
struct place_level {
	uint32_t *first;       /* Owned.  Group g is order[first[g] .. first[g + 1]). */
	uint32_t *first_child; /* Owned.  First subgroup, by group; n_groups + 1. */
	uint32_t n_groups;
};

struct place {
	struct topo *topo;               /* Borrowed. */
	struct routes *routes;           /* Borrowed. */
	const struct workload *workload; /* Borrowed. */
	int64_t *free_slots;             /* Owned.  By node; may be overdrawn. */
	uint32_t *n_guests;              /* Owned.  By node: jobs on the host. */
	struct link_loads *loads;        /* Owned. */
	enum place_paths paths;          /* Of new jobs. */
	struct place_job *jobs;          /* Owned. */
	size_t n_jobs;                   /* Of 'jobs'; the workload may have more. */
	uint32_t n_hosts;
	uint32_t *order;            /* Owned.  Hosts, groups together. */
	uint32_t *leaf_group;       /* Owned.  By node: its group of level 0. */
	uint32_t n_levels;          /* Level 0 has the smallest groups. */
	struct place_level *levels; /* Owned. */
};

void place_groups_init(struct place *place);
void place_groups_fini(struct place *place);

/* True if one more worker of 'job' fits on 'host'. */
bool place_has_room(const struct place *place, uint32_t job, uint32_t host);

/*
 * Routes 'job' on the hosts and puts its flows on their links.  Returns 0,
 * -EHOSTUNREACH or -EINVAL, then with nothing changed.
 */
int place_route(const struct place *place, uint32_t job, const uint32_t *hosts,
		struct routed_job *ret_routed);
/* Takes those flows off their links. */
void place_unroute(const struct place *place, uint32_t job, struct routed_job *routed);

#endif
