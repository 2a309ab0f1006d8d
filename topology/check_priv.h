/* SPDX-License-Identifier: Apache-2.0 */
/* check_priv.h - the longer checks of topo_check(); for check*.c */
#ifndef TOPOLOGY_CHECK_PRIV_H
#define TOPOLOGY_CHECK_PRIV_H

struct topo;
struct topo_faults;
struct routes;

/*
 * Adds TOPO_FAULT_UNREACHABLE for hosts without an up-down path.  The group that
 * reaches most hosts is the reference; a host that it does not reach, or that does
 * not reach it, is one fault, and so is each other pair of groups.
 */
void topo_check_reach(const struct topo *topo, struct routes *routes,
		      struct topo_faults *faults);

/*
 * Adds TOPO_FAULT_PARALLEL for pairs of switches with more, or fewer, cables than
 * usual: than most other pairs of the lower switch have, or most other pairs of
 * the upper one, unless the other of the two has just so many to most.  A leaf with
 * one cable to each spine beside leaves with two is hence no fault.
 */
void topo_check_parallel(const struct topo *topo, struct topo_faults *faults);

#endif
