/* SPDX-License-Identifier: Apache-2.0 */
/*
 * links_netlink.h - state and speed of this host's own interfaces
 *
 * State comes from the kernel as it changes (rtnetlink, through libnl-route).  No
 * message has the speed, so the driver is queried for it (ethtool).  Interfaces without
 * a device of their own (bridges, VLANs, bonds, tunnels, lo) are left out: no cable
 * ends there.
 */
#ifndef TOPOLOGY_LINKS_NETLINK_H
#define TOPOLOGY_LINKS_NETLINK_H

struct err;
struct links;
struct observed_node;

/* Opens the sockets.  0, or -errno with 'err' filled. */
int links_open(struct links **ret_links, struct err *err);
void links_close(struct links *links); /* Accepts NULL. */

/* Readable after a change. */
int links_fd(const struct links *links);
/* Reads notifications: 1 if links_report() may have changed, else 0. */
int links_receive(struct links *links);
/* Adds ports with state and speed to 'report' and sets 'has_links'.  0 or -errno. */
int links_report(struct links *links, struct observed_node *report);

#endif
