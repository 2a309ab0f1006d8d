/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_loads.h - which jobs load which links, and what that costs them
 *
 * A job puts 'factor' times its profile on a link.  The cost of link l bounds by how
 * much the jobs on it are slowed, with mu the mean excess over the capacity C at random
 * phases (random_phase.h) and G the most that shifting the jobs against each other can
 * gain (pair_gain_bound_bps() of each pair):
 *
 *	e_l = max(0, load - C, mu - G) / C + LINK_RESIDUE_FRAC mu / C
 *
 * (the last term because shifts never remove all).  A job is slowed by its worst link:
 * slowdown_j ~ 1 + max over its links of e_l.  A link whose jobs' peaks together do not
 * exceed the capacity costs nothing.
 *
 * Pure.  Adding is O(levels of the link's demand), removing and costs are that times
 * the jobs on the link.
 */
#ifndef SCHEDULER_CORE_PATHS_LINK_LOADS_H
#define SCHEDULER_CORE_PATHS_LINK_LOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct link_loads;
struct profile;
struct topo;

/* A link counts as one that can be exceeded above this share of its capacity. */
#define LINK_FULL_FRAC 1.01
/* The share of the mean excess that remains after shifting. */
#define LINK_RESIDUE_FRAC 0.1

/* The load of one job on one link. */
struct link_load {
	uint32_t job;
	double factor;
};

/* Borrows 'topo'.  Free with link_loads_free(). */
struct link_loads *link_loads_new(const struct topo *topo);
void link_loads_free(struct link_loads *loads); /* Accepts NULL. */

/*
 * Says whether the jobs will be shifted; at first they will.  If not, G is 0.
 * O(links), if that changes.
 */
void link_loads_set_shifting(struct link_loads *loads, bool is_shifting);

/*
 * Sets the demand of a job, which is on no link, and its weight in link_loads_harm().
 * The profile is copied.
 */
void link_loads_set_job(struct link_loads *loads, uint32_t job,
			const struct profile *profile, double weight);

/*
 * Adds 'factor' to what the job puts on the link, or takes it away; what is left of it
 * by rounding is nothing.
 */
void link_loads_add(struct link_loads *loads, uint32_t link, uint32_t job,
		    double factor);
void link_loads_take(struct link_loads *loads, uint32_t link, uint32_t job,
		     double factor);

/* The jobs on a link, in arbitrary order; borrowed until the next change of it. */
const struct link_load *link_loads_of(const struct link_loads *loads, uint32_t link,
				      size_t *ret_n);
/* True if all peaks on the link together exceed its capacity. */
bool link_loads_is_exceedable(const struct link_loads *loads, uint32_t link);
/* Sum of the jobs' mean rates over the capacity. */
double link_loads_mean(const struct link_loads *loads, uint32_t link);
/* Mean excess of a link over its jobs' phases, bits per second. */
double link_loads_excess_bps(const struct link_loads *loads, uint32_t link);

/* e_l now, and with 'factor' more of 'job'. */
double link_loads_cost(const struct link_loads *loads, uint32_t link);
double link_loads_cost_with(const struct link_loads *loads, uint32_t link, uint32_t job,
			    double factor);
/* The first one times the weights of the jobs on the link. */
double link_loads_harm(const struct link_loads *loads, uint32_t link);
/*
 * How much that rises with 'factor' more of 'job'.  It is remembered until the link
 * changes, since a search for paths asks again and again.
 */
double link_loads_added_harm(struct link_loads *loads, uint32_t link, uint32_t job,
			     double factor);
/* The harm of all links.  O(links). */
double link_loads_total_harm(const struct link_loads *loads);

#endif
