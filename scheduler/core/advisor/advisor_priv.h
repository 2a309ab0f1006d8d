/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advisor_priv.h - declarations shared by the advisor's files.
 *
 *	advisor.c        jobs, and the components that they affect
 *	advisor_solve.c  one component solved again with advise.h, and its views
 *	advisor_rank.c   places of a waiting job
 */
#ifndef SCHEDULER_CORE_ADVISOR_ADVISOR_PRIV_H
#define SCHEDULER_CORE_ADVISOR_ADVISOR_PRIV_H

#define uthash_fatal(msg) BUG("uthash: %s", msg)
#include <uthash.h>

#include "lib/base/vec.h"
#include "scheduler/core/advise/advise_internal.h"
#include "scheduler/core/advisor/advisor.h"
#include "scheduler/core/workload/workload.h"

struct routes;

/* A job; its entry in the workload has the same number. */
struct advisor_job {
	char *name; /* Owned; NULL: the number is free. */
	uint32_t number;
	bool is_shiftable;
	bool is_touched;                      /* Changed since it was solved. */
	bool is_queued;                       /* In the queue, solved since or not. */
	struct advisor_view view;             /* Its arrays are the members below. */
	struct advisor_link *links;           /* Owned. */
	struct steer_constraint *constraints; /* Owned. */
	UT_hash_handle hh;
};

struct advisor {
	struct topo *topo; /* A reference. */
	struct routes *routes;
	struct advisor_opts opts;
	struct workload workload; /* By number; free entries are zeroed. */
	struct place *place; /* Of the workload; ranking changes and restores it. */
	VEC(struct advisor_job *) jobs; /* Owned.  By number. */
	struct advisor_job *by_name;
	VEC(uint32_t) free_numbers;
	VEC(uint32_t) touched; /* A queue, from 'first_touched' on. */
	size_t first_touched;
	int64_t *given_slots; /* Owned.  By node: the scheduler's number; -1: none. */
	uint64_t revision;
	uint32_t n_components;
};

/* For the functions of advise_internal.h. */
struct advise_ctx advisor_ctx(const struct advisor *advisor);

/* Solves the component of 'job', which is placed, and stores its views. */
void advisor_solve(struct advisor *advisor, uint32_t job);

#endif
