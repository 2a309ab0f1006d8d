/* SPDX-License-Identifier: Apache-2.0 */
/*
 * from_reports.h - a fabric from the neighbors that hosts and switches report
 *
 * A cable that only one end reports is taken; reports that contradict each other are
 * errors.  Nothing in LLDP says reliably what is a host (one with containers calls itself a
 * bridge), so hosts are named, or else are the nodes with one neighbor and those that say
 * that they do not bridge where others do.
 */
#ifndef TOPOLOGY_FROM_REPORTS_H
#define TOPOLOGY_FROM_REPORTS_H

#include <stddef.h>

struct err;
struct observed_node;
struct topo;
struct topo_read_opts;

struct topo_report {
	const char *file; /* Borrowed; for messages. */
	const struct observed_node *node;
};

/*
 * Makes a fabric of the reports.  'hosts' is a list such as "h[0-3]", or NULL.  Tiers
 * are the distances from hosts, as for ibnetdiscover.  A reported name with a domain is
 * the node of the first label, if that one reports.  Of the two rates of a cable, the
 * lower one holds.  Of 'opts', which may be NULL, default_bps, n_slots and on_note count.
 * Returns 0 and a new snapshot, or -EINVAL with 'err' filled.  Linear, except for a
 * sort.
 */
int topo_from_reports(const struct topo_report *reports, size_t n, const char *hosts,
		      const struct topo_read_opts *opts, struct topo **ret_topo,
		      struct err *err);

#endif
