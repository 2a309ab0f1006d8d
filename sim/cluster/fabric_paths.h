/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fabric_paths.h - paths for the flows of placed jobs, chosen as jobs come and go.
 *
 * A job that is new gets paths given those of the others (paths_choose()); then those
 * of all jobs are improved together.  A flow of a running job leaves its path only if
 * that gains more than FABRIC_CHANGE_COST of a slowdown, as a change sends some
 * segments again.  Plans that are only tried change nothing in the end.
 */
#ifndef SIM_CLUSTER_FABRIC_PATHS_H
#define SIM_CLUSTER_FABRIC_PATHS_H

#include <stddef.h>
#include <stdint.h>

struct fabric_paths;
struct placed;
struct routes;
struct topo;

/*
 * Of a job's time.  Another path costs a TCP flow some segments that are sent again
 * (docs/moving-flows.md), far below 0.1 s of the 50 s in which a change has to pay.
 */
#define FABRIC_CHANGE_COST 0.002

/* Borrows both.  Free with fabric_paths_free(). */
struct fabric_paths *fabric_paths_new(const struct topo *topo, struct routes *routes,
				      uint64_t seed);
void fabric_paths_free(struct fabric_paths *paths); /* Accepts NULL. */

/*
 * Makes jobs[n] the jobs on the links; they are borrowed until they are no longer.
 * Those that were not there get paths, unless they have kept them (placed->has_paths).
 */
void fabric_paths_set(struct fabric_paths *paths, struct placed *const *jobs, size_t n);

/*
 * Improves the paths of all jobs on the links if jobs have come or gone since the last
 * call, and from then on they keep them.  Returns the number of flows with another
 * path.
 */
size_t fabric_paths_improve(struct fabric_paths *paths);

/* The harm of all links (link_loads.h). */
double fabric_paths_harm(const struct fabric_paths *paths);

#endif
