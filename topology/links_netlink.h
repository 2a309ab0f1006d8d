/*
 * links_netlink.h - the state and the speed of this host's own interfaces.
 *
 * State comes from the kernel as it changes (rtnetlink, by libnl-route); the speed
 * is asked of the driver (ethtool), as it is in no message.  Interfaces without a
 * device of their own (bridges, VLANs, bonds, tunnels, lo) are left out: no cable ends
 * there.
 */
#ifndef TOPOLOGY_LINKS_NETLINK_H
#define TOPOLOGY_LINKS_NETLINK_H

struct err;
struct links;
struct seen_node;

/* Opens the sockets.  0, or -errno with 'err' filled. */
int links_open(struct links **ret_links, struct err *err);
void links_close(struct links *links); /* Accepts NULL. */

/* Readable when something has changed. */
int links_fd(const struct links *links);
/* Takes what has come: 1 if links_report() may say something new, else 0. */
int links_receive(struct links *links);
/* Adds the ports with state and speed to 'report' and sets 'has_links'.  0 or -errno. */
int links_report(struct links *links, struct seen_node *report);

#endif
