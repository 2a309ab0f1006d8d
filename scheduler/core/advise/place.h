/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.h - jobs on hosts, loads on links, and places for another job.
 *
 * A 'struct place' is a fabric with some jobs of a workload on it: free slots by host,
 * loads by link.  It packs a waiting job as a scheduler without network knowledge would
 * (place_pack), and searches for places that lose less (place_search).  The search
 * ranks by a cheap bound; predict.h then judges the best few.
 *
 * The bound of a link l, with mu the mean excess of the jobs on it at random phases
 * (random_phase.h) and G the most that shifting the new job against each of the others
 * can gain:
 *
 *	e_l = max(0, load - 1, (mu - G) / C) + PLACE_RESIDUE_FRAC mu / C
 *
 * (the last term because shifts never remove all), and a job is slowed by its worst
 * link: slowdown_j ~ 1 + max over its links of e_l.  The loss of a candidate is the
 * decrease of the goodput, the sum of weight / slowdown.
 *
 * Groups for packing are the hosts that stay connected without the higher tiers: those
 * of a leaf, of a pod, and so on; no names of tiers are assumed.
 */
#ifndef SCHEDULER_CORE_ADVISE_PLACE_H
#define SCHEDULER_CORE_ADVISE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct routed_job;
struct place;
struct rng;
struct routes;
struct topo;
struct workload;

/* A link counts as one that can be exceeded above this share of its capacity. */
#define PLACE_FULL_FRAC 1.01

/* The load of one job on one link. */
struct place_load {
	uint32_t job;
	double factor;
};

/* Borrows all three.  Free with place_free(). */
struct place *place_new(struct topo *topo, struct routes *routes,
			const struct workload *workload);
void place_free(struct place *place); /* Accepts NULL. */

/*
 * Places 'job' on the hosts (copied; n_hosts_wanted of them).  Slots may be overdrawn,
 * since running jobs are taken as they are.  Returns 0 or -EHOSTUNREACH.  It is a BUG
 * if the job is placed already.
 */
int place_put(struct place *place, uint32_t job, const uint32_t *hosts);
void place_remove(struct place *place, uint32_t job);

/* Takes the changed or new entry of 'job' in the workload; the job is not placed. */
void place_renew(struct place *place, uint32_t job);

/* Free slots of a host, negative if overdrawn; and set, as the scheduler reports. */
int64_t place_free_slots(const struct place *place, uint32_t host);
void place_set_free_slots(struct place *place, uint32_t host, int64_t n_slots);

/* NULL if it is not placed; borrowed until place_remove(). */
const uint32_t *place_hosts(const struct place *place, uint32_t job);
const struct routed_job *place_routed_job(const struct place *place, uint32_t job);

/* The jobs on a link, in arbitrary order; borrowed. */
const struct place_load *place_loads(const struct place *place, uint32_t link,
				     size_t *ret_n);
/* True if all peaks on the link together exceed its capacity. */
bool place_is_exceedable(const struct place *place, uint32_t link);
/* Mean excess of a link over its jobs' phases, bits per second. */
double place_excess_bps(const struct place *place, uint32_t link);

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
