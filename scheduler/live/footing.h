/*
 * footing.h - where the series of the live state stand on a fabric: which of them
 * add up to what a link carries.  For contention.h and online.h.  Pure.
 */
#ifndef SCHEDULER_LIVE_FOOTING_H
#define SCHEDULER_LIVE_FOOTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"

struct live;
struct routes;
struct topo;

/* What a series puts on a link: 'share' of it, as traffic of 'job'. */
struct footing_part {
	uint32_t link; /* Of the fabric; of a plain one: 2 * interface + direction. */
	uint32_t job;  /* TELE_LINK: the link's total; TELE_OTHER. */
	uint32_t series;
	bool is_measured;
	double share;
};

struct footing {
	VEC(struct footing_part) parts; /* By link, job and series. */
	uint32_t n_unattached, n_unplaced;
};

/*
 * Finds the parts of all links.  Without a fabric 'topo' and 'routes' are NULL.
 * Release with footing_fini().
 */
void footing_find(const struct live *live, struct topo *topo, struct routes *routes,
		  struct footing *ret_footing);
void footing_fini(struct footing *footing);

/* What the series carried, to ask for the hosts of many jobs. */
struct footing_traffic;

struct footing_traffic *footing_traffic_new(const struct live *live);
void footing_traffic_free(struct footing_traffic *traffic); /* Accepts NULL. */

/*
 * The hosts of a job, as far as the fabric has them: those that told of traffic of
 * it, in ascending order of node, in a new array of '*ret_n'.  Free with free().
 */
uint32_t *footing_job_hosts(const struct live *live, const struct topo *topo,
			    const struct footing_traffic *traffic, uint32_t job,
			    size_t *ret_n);

/* The source port assumed for the first flow of each job; new array [jobs]. */
uint16_t *footing_first_ports(const struct live *live);

#endif
