/* SPDX-License-Identifier: Apache-2.0 */
/*
 * links_netlink.c - interfaces of this network namespace, by libnl-route and ethtool.
 *
 * Each change triggers a new dump of all links: a message may have been lost (ENOBUFS),
 * and a dump of a few dozen links is cheap.
 */
#include "topology/links_netlink.h"

#include <errno.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <netlink/netlink.h>
#include <netlink/route/link.h>
#include <netlink/socket.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/daemon/link_speed.h"
#include "topology/observed.h"

/* Operational states of RFC 2863 as the kernel numbers them. */
enum oper_state {
	OPER_UNKNOWN = 0,
	OPER_TESTING = 4,
	OPER_DORMANT = 5,
	OPER_UP = 6,
};

struct links {
	struct nl_sock *dump;   /* Owned.  For requests. */
	struct nl_sock *notify; /* Owned.  For notifications of the kernel. */
	int ioctl_fd;           /* Owned.  For ethtool. */
	bool is_changed;
};

static int
on_message(struct nl_msg *message, void *ctx)
{
	struct links *links = ctx;

	(void)message;
	links->is_changed = true;
	return NL_OK;
}

int
links_open(struct links **ret_links, struct err *err)
{
	struct links *links = xcalloc(1, sizeof *links);
	int r;

	links->ioctl_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	links->dump = nl_socket_alloc();
	links->notify = nl_socket_alloc();
	BUG_ON(!links->dump || !links->notify);
	nl_socket_disable_seq_check(links->notify);
	nl_socket_modify_cb(links->notify, NL_CB_VALID, NL_CB_CUSTOM, on_message,
			    links);
	r = nl_connect(links->dump, NETLINK_ROUTE);
	if (r == 0)
		r = nl_connect(links->notify, NETLINK_ROUTE);
	if (r == 0)
		r = nl_socket_add_membership(links->notify, RTNLGRP_LINK);
	if (r == 0)
		r = nl_socket_set_nonblocking(links->notify);
	if (r < 0) {
		err_set(err, NULL, 0, 0, "cannot watch the kernel's links: %s",
			nl_geterror(r));
		links_close(links);
		return -EIO;
	}
	*ret_links = links;
	return 0;
}

void
links_close(struct links *links)
{
	if (!links)
		return;
	nl_socket_free(links->dump);
	nl_socket_free(links->notify);
	if (links->ioctl_fd >= 0)
		close(links->ioctl_fd);
	free(links);
}

int
links_fd(const struct links *links)
{
	return nl_socket_get_fd(links->notify);
}

int
links_receive(struct links *links)
{
	int r = 0;

	links->is_changed = false;
	for (int i = 0; i < 64 && r == 0; i++)
		r = nl_recvmsgs_default(links->notify);
	/* Messages that were lost are changes, too. */
	return links->is_changed || (r < 0 && r != -NLE_AGAIN);
}

/* True if it may have a cable: Ethernet or InfiniBand, but not a software interface. */
static bool
is_port(struct rtnl_link *link)
{
	const char *type = rtnl_link_get_type(link);
	unsigned arp_type = rtnl_link_get_arptype(link);

	if (arp_type != ARPHRD_ETHER && arp_type != ARPHRD_INFINIBAND)
		return false;
	/* Between namespaces, a veth is the cable. */
	return !type || strcmp(type, "veth") == 0;
}

static enum observed_state
state_of(struct rtnl_link *link)
{
	switch (rtnl_link_get_operstate(link)) {
	case OPER_UP:
		return OBSERVED_STATE_UP;
	case OPER_UNKNOWN: /* For drivers without an operational state: the carrier. */
		if (!(rtnl_link_get_flags(link) & IFF_UP))
			return OBSERVED_STATE_DOWN;
		return rtnl_link_get_carrier(link) ? OBSERVED_STATE_UP
						   : OBSERVED_STATE_DOWN;
	case OPER_DORMANT:
	case OPER_TESTING:
		return OBSERVED_STATE_UNKNOWN;
	default:
		return OBSERVED_STATE_DOWN;
	}
}

int
links_report(struct links *links, struct observed_node *report)
{
	struct nl_cache *cache;
	int r = rtnl_link_alloc_cache(links->dump, AF_UNSPEC, &cache);

	if (r < 0)
		return -EIO;
	for (struct nl_object *o = nl_cache_get_first(cache); o;
	     o = nl_cache_get_next(o)) {
		struct rtnl_link *link = (struct rtnl_link *)o;
		const char *name = rtnl_link_get_name(link);
		struct observed_port *port;

		if (!name || !is_port(link))
			continue;
		port = observed_node_port(report, name);
		if (!port)
			break;
		port->state = state_of(link);
		if (port->state == OBSERVED_STATE_UP)
			port->bps = link_speed_bps(links->ioctl_fd, name);
	}
	nl_cache_free(cache);
	report->has_links = true;
	return 0;
}
