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
	VEC(struct footing_part) parts; /* By link. */
	uint32_t n_unattached, n_unplaced;
};

/*
 * Finds the parts of all links, in steps of about a millisecond, as there may be very
 * many.  Without a fabric 'topo' and 'routes' are NULL.  Between two steps frames may
 * come, but nothing may be forgotten (live_forget()), and the fabric stays.
 */
struct footing_finder;

struct footing_finder *footing_begin(const struct live *live, struct topo *topo,
				     struct routes *routes);
bool footing_step(struct footing_finder *finder); /* True: all are found. */
/* Moves out what was found, and ends it; NULL: it is not wanted any more. */
void footing_end(struct footing_finder *finder, struct footing *ret_footing);
void footing_fini(struct footing *footing);

/*
 * Of the n parts of one link: one for each thing measured, by job and series; the number
 * that is left.
 */
size_t footing_thin(const struct live *live, struct footing_part *parts, size_t n);

/* What the series carried, to ask for the hosts of many jobs. */
struct footing_traffic;

struct footing_traffic *footing_traffic_new(const struct live *live);
/* The same in steps, as footing_step(): true when all is there. */
struct footing_traffic *footing_traffic_begin(const struct live *live);
bool footing_traffic_step(struct footing_traffic *traffic);
void footing_traffic_free(struct footing_traffic *traffic); /* Accepts NULL. */

/*
 * The hosts of a job, as far as the fabric has them: those that told of traffic of
 * it, in ascending order of node, in a new array of '*ret_n'.  Free with free().
 */
uint32_t *footing_job_hosts(const struct live *live, const struct topo *topo,
			    const struct footing_traffic *traffic, uint32_t job,
			    size_t *ret_n);

/* The series of a job, '*ret_n' of them; borrowed. */
const uint32_t *footing_job_series(const struct footing_traffic *traffic, uint32_t job,
				   size_t *ret_n);

/* The source port assumed for the first flow of each job; new array [jobs]. */
uint16_t *footing_first_ports(const struct live *live);

/* The same in steps, as footing_step(). */
struct footing_ports;

struct footing_ports *footing_ports_begin(const struct live *live);
bool footing_ports_step(struct footing_ports *ports);
/* Moves them out, and ends it; accepts NULL. */
uint16_t *footing_ports_end(struct footing_ports *ports);

#endif
