/*
 * reach.h - which hosts cannot talk to each other.  For check.c.
 */
#ifndef TOPOLOGY_REACH_H
#define TOPOLOGY_REACH_H

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

#endif
