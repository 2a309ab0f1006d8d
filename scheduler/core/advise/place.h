/*
 * place.h - who is where, what each link carries, and where a job could go.
 *
 * A 'struct place' is a fabric with some jobs of a workload put on it: free
 * slots a host, loads a link.  It packs a waiting job as a scheduler without
 * us would (place_pack), and searches for places that lose less
 * (place_search).  The search ranks by a cheap bound; predict.h then judges
 * the best few in full (interleaving, "rank in two stages").
 *
 * The bound of a link l with the jobs J on it, phases left to chance having
 * the mean excess mu (chance.h) and G the most that shifting the new job
 * against each of the others can gain:
 *
 *	e_l = max(0, load - 1, (mu - G) / C) + 0.1 mu / C
 *
 * (shifts work out only so well, hence the last term), and a job is slowed by
 * its worst link: slowdown_j ~ 1 + max over its links of e_l.  The loss of a
 * candidate is what it takes off the goodput, the sum of weight / slowdown.
 *
 * Groups for packing are what hangs together without the higher tiers: the
 * hosts of a leaf, of a pod, and so on; no naming of levels is assumed.
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

/* One job's part on one link. */
struct place_load {
	uint32_t job;
	double factor;
};

/* Borrows all three.  Free with place_free(). */
struct place *place_new(struct topo *topo, struct routes *routes,
			const struct workload *workload);
void place_free(struct place *place); /* Accepts NULL. */

/*
 * Puts 'job' on the hosts (copied; n_hosts_wanted of them).  Slots may be
 * overdrawn: what is placed already is taken as it is.  Returns 0 or
 * -EHOSTUNREACH.  A job already put is a BUG.
 */
int place_put(struct place *place, uint32_t job, const uint32_t *hosts);
void place_remove(struct place *place, uint32_t job);

/*
 * The workload's entry of 'job', which may be beyond those there were, is another one
 * now.  Not while the job is put.
 */
void place_renew(struct place *place, uint32_t job);

/* Free slots of a host, less those overdrawn; and as somebody else knows better. */
int64_t place_free_slots(const struct place *place, uint32_t host);
void place_set_free_slots(struct place *place, uint32_t host, int64_t n_slots);

/* NULL if it is not put; borrowed until place_remove(). */
const uint32_t *place_hosts(const struct place *place, uint32_t job);
const struct routed_job *place_laid(const struct place *place, uint32_t job);

/* The jobs on a link, in no order that means anything; borrowed. */
const struct place_load *place_loads(const struct place *place, uint32_t link,
				     size_t *ret_n);
/* Whether all peaks on a link together exceed it. */
bool place_is_exceedable(const struct place *place, uint32_t link);
/* Mean excess of a link over its jobs' phases, bits per second. */
double place_excess_bps(const struct place *place, uint32_t link);

/*
 * Packs 'job' into the smallest group that has room: best fit there, most
 * free first where it takes several.  Writes n_hosts_wanted ascending
 * host ids and returns 0, or returns -ENOSPC.
 */
int place_pack(const struct place *place, uint32_t job, uint32_t *ret_hosts);

/*
 * As place_pack(), but among groups that will do any may be taken: the equally
 * good candidates of a scheduler that knows no links.
 */
int place_pack_varied(const struct place *place, uint32_t job, struct rng *rng,
		      uint32_t *ret_hosts);

struct place_candidate {
	uint32_t *hosts;      /* Owned.  Ascending. */
	double loss;          /* Of goodput; the less, the better. */
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
 * Up to 'n_max' candidates for 'job', found by packing and a seeded local search
 * of about 'n_tries' moves, of which only the links touched are evaluated.
 * Returns 0, -ENOSPC or -EHOSTUNREACH.
 */
int place_search(const struct place *place, uint32_t job, uint64_t seed, size_t n_tries,
		 size_t n_max, struct place_candidates *ret_candidates);
void place_candidates_fini(struct place_candidates *candidates);

#endif
