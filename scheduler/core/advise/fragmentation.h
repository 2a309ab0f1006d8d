/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fragmentation.h - the goodput that a cluster loses because its jobs are scattered.
 *
 * For each placed job j with weight w_j (its GPUs, unless its scenario says otherwise),
 * s_j is the predicted slowdown where it runs now, among the others, with random
 * phases; p_j is the predicted slowdown if it ran alone on the fabric in the fewest
 * racks that hold it (racks.h), and where it runs now, alone, if it spans no more than
 * those.  Then
 *
 *	lost   = 1 - (sum of w_j / s_j) / (sum of w_j / p_j)
 *	lost_j = (w_j / p_j - w_j / s_j) / (sum of w_i / p_i)
 *
 * so the shares of all jobs add up to 'lost'.  A rack's share is that of its jobs, each
 * in proportion to the workers in the rack; these add up to 'lost', too.
 *
 * A fragment is a job in a rack with part of its workers (MonkeyTree, arXiv
 * 2602.08296): a job that spans k racks has k fragments, and none if k is 1.  Extra
 * fragments are those beyond the ones that it has in the fewest racks.
 *
 * Limits of the figure:
 *  - It estimates the most that moves can gain: each job is packed as if alone, and not
 *    all jobs may fit into their fewest racks at once.
 *  - A share is counted at the job that is slowed down, not at the one in its way.  A
 *    job in few racks can lose because scattered jobs use its uplinks, and a scattered
 *    job can lose nothing.
 *  - Collisions of a job's own flows in its fewest racks are not counted as lost.
 *  - Shifts and turns by antiphase are not counted: phases are random.
 *  - It is negative where jobs gain by being spread, over more uplinks for example.
 *  - Both slowdowns are simulated, with sampling noise of about one percent.
 *
 * Pure and deterministic.  One call of fragmentation_add() is bounded work, so that a
 * daemon can make the figure in steps.
 */
#ifndef SCHEDULER_CORE_ADVISE_FRAGMENTATION_H
#define SCHEDULER_CORE_ADVISE_FRAGMENTATION_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct fragmentation_maker;
struct jsonw;
struct routes;
struct topo;
struct work_job;
struct workload;

#define FRAGMENTATION_SCHEMA "antiphase.fragmentation/1"

struct fragmentation_job {
	char *name; /* Owned. */
	double weight;
	uint32_t n_hosts;
	uint32_t n_racks, n_racks_needed;
	uint32_t n_extra_fragments;
	double slowdown, slowdown_packed; /* s_j and p_j; above 0. */
	double lost_frac;                 /* lost_j. */
};

/* A rack with at least one job. */
struct fragmentation_rack {
	char *name; /* Owned. */
	uint32_t n_jobs;
	uint32_t n_fragments; /* Jobs with further workers in other racks. */
	double lost_frac;
};

struct fragmentation {
	int64_t at_us;                  /* Wall clock; 0: not of a running cluster. */
	double lost_frac;               /* NAN without jobs. */
	double goodput, goodput_packed; /* Over the sum of weights; NAN without jobs. */
	uint32_t n_jobs;                /* Placed, with a known slowdown. */
	uint32_t n_fragmented;          /* Of these, in more racks than needed. */
	uint32_t n_unknown;             /* Placed, without a known slowdown. */
	/* Owned.  Those that lose most first; if read from JSON, maybe not all. */
	struct fragmentation_job *jobs;
	size_t n_jobs_listed;
	struct fragmentation_rack *racks;
	size_t n_racks_listed;
	size_t n_jobs_left_out, n_racks_left_out; /* Not listed. */
};

void fragmentation_fini(struct fragmentation *fragmentation); /* Accepts zeros. */

/*
 * The fragmentation of a workload's placed jobs; predicts their slowdowns as advise.h
 * does without advice.  Waiting jobs are ignored.  Returns 0, or -EHOSTUNREACH if two
 * hosts of a job cannot reach each other.
 */
int fragmentation_of_workload(const struct workload *workload, struct topo *topo,
			      struct routes *routes, uint64_t seed,
			      struct fragmentation *ret_fragmentation);

/* ---- In steps ------------------------------------------------------------------ */

/* Borrows both.  O(fabric). */
struct fragmentation_maker *fragmentation_maker_new(struct topo *topo,
						    struct routes *routes);
void fragmentation_maker_free(struct fragmentation_maker *maker); /* Accepts NULL. */

/*
 * Adds a placed job with its predicted slowdown s_j, above 0.  Copies what it needs.
 * Returns 0, or, for hosts that routed_job_make() refuses, -EHOSTUNREACH or -EINVAL:
 * then the job counts as unknown.  O(racks), and, where the job's own flows can exceed
 * a link, a simulation of at most about FRAGMENTATION_FLOWS flows.
 */
int fragmentation_add(struct fragmentation_maker *maker, const struct work_job *job,
		      double slowdown);
/* Counts a placed job whose slowdown is not known. */
void fragmentation_add_unknown(struct fragmentation_maker *maker);

/* The figure of all jobs so far; the maker begins again without jobs. */
void fragmentation_take(struct fragmentation_maker *maker,
			struct fragmentation *ret_fragmentation);

/* ---- JSON: fragmentation_json.c ------------------------------------------------ */

/*
 * Writes the keys of antiphase.fragmentation/1 (docs/json.md) into the open object 'w',
 * all but "schema", with at most 'n_max' jobs and racks.
 */
void fragmentation_json_put(const struct fragmentation *fragmentation, size_t n_max,
			    struct jsonw *w);
/*
 * Reads the terminated 'text'; 'file' is its name for messages.  Unknown keys are
 * ignored, as the writer may be newer.  Returns 0, or -EINVAL with 'err' filled and
 * '*ret_fragmentation' unchanged.
 */
int fragmentation_json_parse(const char *file, const char *text, size_t length,
			     struct fragmentation *ret_fragmentation, struct err *err);

#endif
