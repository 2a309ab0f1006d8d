/* SPDX-License-Identifier: Apache-2.0 */
/*
 * racks.h - the racks of a fabric, and the fewest that a job needs.
 *
 * A rack is a smallest group of place.h: the hosts that switches of tier 1 connect.
 * On a rail fabric it is the group of hosts that share their rail switches.
 *
 * The fewest racks are counted on an empty fabric: a host is fit for a job if it has
 * 'slots_per_host' slots in all, used or not.  Among hosts that can reach each other,
 * taking the racks with most fit hosts first is optimal, because only the sum of these
 * counts.  Where several groups of racks need as few, one of the lowest tier is taken
 * (a pod before the whole fabric), so that traffic stays low in the fabric.
 *
 * Pure and deterministic.
 */
#ifndef SCHEDULER_CORE_ADVISE_RACKS_H
#define SCHEDULER_CORE_ADVISE_RACKS_H

#include <stdint.h>

struct place;
struct racks;

/*
 * Borrows 'place' for its fabric; the jobs on it are ignored.  Free with racks_free().
 */
struct racks *racks_new(const struct place *place);
void racks_free(struct racks *racks); /* Accepts NULL. */

uint32_t racks_n(const struct racks *racks);
/* The rack of a host, by node id: 0 to racks_n() - 1. */
uint32_t racks_of(const struct racks *racks, uint32_t host);
/*
 * The name of its leaf, or of its first host if it has none.  Borrowed from the fabric.
 */
const char *racks_name(const struct racks *racks, uint32_t rack);

/*
 * Finds the fewest racks with 'n_hosts' hosts of at least 'slots_per_host' slots, all
 * connected.  Writes these hosts, rack by rack, and the number of racks.  Returns 0, or
 * -ENOSPC if the fabric has too few such hosts.
 *
 * O(tiers * racks), and O(racks log racks) more when 'slots_per_host' differs from that
 * of the last call.
 */
int racks_fewest(struct racks *racks, uint32_t n_hosts, uint32_t slots_per_host,
		 uint32_t *ret_hosts, uint32_t *ret_n_racks);

#endif
