/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_distance.h - how many switches are between this host and another one
 *
 * UDP datagrams to a port that nothing listens on, with a hop limit of 1, 2, ...: each
 * switch answers "time exceeded", and the destination "port unreachable".  So the number
 * is known before packets of a TCP flow are sent, none of which should arrive.
 */
#ifndef COLLECTOR_PATHS_PROBE_DISTANCE_H
#define COLLECTOR_PATHS_PROBE_DISTANCE_H

#include <stdint.h>

/*
 * Returns the number of switches that answered in a row, at most 'max'; 0 if the first
 * does not answer, or if there is none; or -errno.  Blocks, 3 s at most for each switch
 * that does not answer at once.
 */
int probe_distance(const uint8_t destination[16], unsigned max);

#endif
