/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.h - jobs on hosts, their loads on links, and places for another job.
 *
 * A 'struct place' is a fabric with some jobs of a workload on it: free slots by host,
 * loads by link (link_loads.h).  It packs a waiting job as a scheduler without network
 * knowledge would (place_pack), and searches for places that lose less (place_search).
 * The search ranks by the bound of link_loads.h; predict.h then judges the best few.
 * The loss of a candidate is the decrease of the goodput, the sum of weight / slowdown,
 * of all jobs including the new one.
 *
 * Flows take the paths that hashing gives them, or those that paths.h chooses for each
 * job when it is put; then the search ranks places by the paths that would be chosen.
 *
 * Groups for packing are the hosts that stay connected without the higher tiers: those
 * of a leaf, of a pod, and so on; no names of tiers are assumed.
 */
#ifndef SCHEDULER_CORE_ADVISE_PLACE_H
#define SCHEDULER_CORE_ADVISE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct link_loads;
struct paths_counts;
struct paths_opts;
struct place;
struct routed_job;
struct rng;
struct routes;
struct topo;
struct workload;

enum place_paths {
	PLACE_HASHED, /* As the jobs' own 'paths' say, others by hash. */
	PLACE_CHOSEN, /* Chosen for jobs without 'paths' of their own. */
};

/* Borrows all three.  Free with place_free(). */
struct place *place_new(struct topo *topo, struct routes *routes,
			const struct workload *workload, enum place_paths paths);
void place_free(struct place *place); /* Accepts NULL. */

/* Says whether jobs will be shifted; at first they will (link_loads.h). */
void place_set_shifting(struct place *place, bool is_shifting);

/*
 * Places 'job' on the hosts (copied; n_hosts_wanted of them).  Slots may be overdrawn,
 * since running jobs are taken as they are.  Returns 0 or -EHOSTUNREACH.  It is a BUG
 * if the job is placed already.
 */
int place_put(struct place *place, uint32_t job, const uint32_t *hosts);
/* As place_put() where it is in 'from', another place of the workload, on its paths there. */
int place_put_as(struct place *place, uint32_t job, const struct place *from);
void place_remove(struct place *place, uint32_t job);

/* A job that is taken off its hosts and links for a while. */
struct place_lifted;

/* As place_remove(), but keeps hosts and paths for place_return(). */
struct place_lifted *place_lift(struct place *place, uint32_t job);
/* Puts the job back as it was, and frees 'lifted'. */
void place_return(struct place *place, uint32_t job, struct place_lifted *lifted);

/*
 * Improves the paths of all jobs that are PLACE_CHOSEN together.  Returns 0 or
 * -EHOSTUNREACH.
 */
int place_improve_paths(struct place *place, uint64_t seed);

/*
 * Improves the paths of one placed job, whether the workload names them or not; those of
 * all others stay, and so do flows i with is_flow_fixed[i] (may be NULL).  Returns as
 * paths_improve().
 */
int place_change_paths(struct place *place, uint32_t job, const bool *is_flow_fixed,
		       const struct paths_opts *opts, struct paths_counts *ret_counts);

/*
 * Takes the changed or new entry of 'job' in the workload; the job is not placed.  Its
 * paths are as place_new() was told, or from the next place_put() on as
 * place_set_paths() says.
 */
void place_renew(struct place *place, uint32_t job);
void place_set_paths(struct place *place, uint32_t job, enum place_paths paths);
/* Until then: its weight where paths are improved, in place of that in the workload. */
void place_set_weight(struct place *place, uint32_t job, double weight);

/* Free slots of a host, negative if overdrawn; and set, as the scheduler reports. */
int64_t place_free_slots(const struct place *place, uint32_t host);
void place_set_free_slots(struct place *place, uint32_t host, int64_t n_slots);

/* NULL if it is not placed; borrowed until place_remove(). */
const uint32_t *place_hosts(const struct place *place, uint32_t job);
const struct routed_job *place_routed_job(const struct place *place, uint32_t job);

/* The bound of a placed job's slowdown (link_loads.h). */
double place_bound(const struct place *place, uint32_t job);

/* The loads of all placed jobs; borrowed. */
const struct link_loads *place_link_loads(const struct place *place);

/*
 * Packs 'job' into the smallest group with room: best fit in it, and if the job needs
 * several subgroups, those with most room first.  Writes n_hosts_wanted ascending host
 * ids and returns 0, or returns -ENOSPC.
 */
int place_pack(const struct place *place, uint32_t job, uint32_t *ret_hosts);

/*
 * As place_pack(), but takes any group that fits, among the equivalent candidates of a
 * scheduler without network knowledge.
 */
int place_pack_varied(const struct place *place, uint32_t job, struct rng *rng,
		      uint32_t *ret_hosts);

struct place_candidate {
	uint32_t *hosts;      /* Owned.  Ascending. */
	double loss;          /* Of goodput; lower is better. */
	uint32_t n_contended; /* Links shared that can be exceeded. */
	uint32_t n_leaves;
};

struct place_candidates {
	struct place_candidate *items; /* Owned.  Best first, all different. */
	size_t n;
};

/* The loss of one given placement. */
void place_rate(const struct place *place, uint32_t job, const uint32_t *hosts,
		struct place_candidate *ret_candidate);

/*
 * Finds up to 'n_max' candidates for 'job' by packing and a seeded local search of
 * about 'n_tries' moves, each of which evaluates only the links that it changes.
 * Returns 0, -ENOSPC or -EHOSTUNREACH.
 */
int place_search(const struct place *place, uint32_t job, uint64_t seed, size_t n_tries,
		 size_t n_max, struct place_candidates *ret_candidates);
void place_candidates_fini(struct place_candidates *candidates);

#endif
