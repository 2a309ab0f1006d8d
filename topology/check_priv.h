/* SPDX-License-Identifier: Apache-2.0 */
/* check_priv.h - the longer checks of topo_check(); for check*.c */
#ifndef TOPOLOGY_CHECK_PRIV_H
#define TOPOLOGY_CHECK_PRIV_H

struct topo;
struct topo_faults;
struct routes;

/*
 * Adds TOPO_FAULT_UNREACHABLE for hosts without an up-down path.  The group that
 * reaches most hosts is the reference; each host that it does not reach, or that does
 * not reach it, is one fault, and so is each other pair of groups without a path.
 */
void topo_check_reach(const struct topo *topo, struct routes *routes,
		      struct topo_faults *faults);

/*
 * Adds TOPO_FAULT_PARALLEL for pairs of switches with an unusual number of cables:
 * unlike most other pairs of the lower or of the upper switch, unless the number is
 * usual for the other of the two.  So a leaf with one cable to each spine beside leaves
 * with two is no fault.
 */
void topo_check_parallel(const struct topo *topo, struct topo_faults *faults);

#endif
