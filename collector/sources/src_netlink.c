/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/sources/src_netlink.h"

#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "collector/sources/source.h"
#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/vec.h"
#include "lib/daemon/link_speed.h"

#define MS                  INT64_C(1000000)
#define DEFAULT_INTERVAL_NS (10 * MS)
/* Interval of checks for a queue on interfaces without one. */
#define QUEUE_RETRY_NS (1000 * MS)
#define REPLY_BYTES    32768

struct watched {
	char name[IFNAMSIZ];
	int ifindex; /* 0: absent. */
	uint32_t number;
	bool is_known;     /* The sink has it under that number. */
	bool is_announced; /* The sink has its present state. */
	bool is_up;
	int64_t queue_after_ns; /* Next check for a queue. */
};

struct netlink_source {
	struct source source;
	struct nl_sock *requests, *events;
	int ioctl_fd;
	bool takes_all;
	int64_t interval_ns, next_ns;
	VEC(struct watched) watched;
	VEC(uint32_t) gone; /* Numbers to report as gone. */
	bool must_list;     /* Events were lost. */
	uint8_t *reply;     /* Owned.  REPLY_BYTES. */
};

/* ---- Messages ------------------------------------------------------------------ */

/* Called with each message of a reply. */
typedef void message_fn(struct netlink_source *s, struct nlmsghdr *message, void *arg);

/* Reads until the request is answered: 0 or the kernel's error. */
static int
read_reply(struct netlink_source *s, unsigned sequence, message_fn *fn, void *arg)
{
	for (;;) {
		ssize_t got =
			recv(nl_socket_get_fd(s->requests), s->reply, REPLY_BYTES, 0);
		struct nlmsghdr *m = (struct nlmsghdr *)s->reply;
		int left = (int)got;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		for (; nlmsg_ok(m, left); m = nlmsg_next(m, &left)) {
			if (m->nlmsg_seq != sequence)
				continue;
			if (m->nlmsg_type == NLMSG_DONE)
				return 0;
			if (m->nlmsg_type == NLMSG_ERROR)
				return nlmsg_datalen(m) >= (int)sizeof(int)
					       ? *(int *)nlmsg_data(m)
					       : -EBADMSG;
			fn(s, m, arg);
		}
	}
}

/* Sends a request of 'size' bytes at 'body' and parses the reply. */
static int
request(struct netlink_source *s, int type, int flags, const void *body, size_t size,
	message_fn *fn, void *arg)
{
	struct {
		struct nlmsghdr header;
		uint8_t body[64];
	} message = { 0 };

	unsigned sequence = nl_socket_use_seq(s->requests);

	BUG_ON(size > sizeof message.body);
	message.header.nlmsg_len = (uint32_t)NLMSG_LENGTH(size);
	message.header.nlmsg_type = (uint16_t)type;
	message.header.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	message.header.nlmsg_seq = sequence;
	memcpy(message.body, body, size);
	if (send(nl_socket_get_fd(s->requests), &message, message.header.nlmsg_len, 0) <
	    0)
		return -errno;
	return read_reply(s, sequence, fn, arg);
}

/* ---- Links ---------------------------------------------------------------------- */

static struct watched *
find_index(struct netlink_source *s, int ifindex)
{
	for (size_t i = 0; i < s->watched.n; i++)
		if (s->watched.items[i].ifindex == ifindex)
			return &s->watched.items[i];
	return NULL;
}

static struct watched *
find_name(struct netlink_source *s, const char *name)
{
	for (size_t i = 0; i < s->watched.n; i++)
		if (!strcmp(s->watched.items[i].name, name))
			return &s->watched.items[i];
	return NULL;
}

static void
lose_link(struct netlink_source *s, struct watched *w)
{
	if (w->is_known)
		vec_push(&s->gone, w->number);
	w->ifindex = 0;
	w->is_known = w->is_announced = false;
}

/* A new or changed link. */
static void
see_link(struct netlink_source *s, int ifindex, const char *name, bool is_up)
{
	struct watched *w = find_index(s, ifindex);

	if (w && strcmp(w->name, name) != 0) {
		lose_link(s, w); /* Renamed: the old name is gone. */
		w = NULL;
	}
	if (!w) {
		w = find_name(s, name);
		if (!w && !s->takes_all)
			return;
		if (!w && s->watched.n >= TELE_MAX_INTERFACES)
			return;
		if (!w) {
			vec_push(&s->watched, (struct watched){ 0 });
			w = &s->watched.items[s->watched.n - 1];
			snprintf(w->name, sizeof w->name, "%s", name);
		}
		if (w->ifindex && w->ifindex != ifindex)
			lose_link(s, w); /* Another interface with the same name. */
		w->ifindex = ifindex;
		w->is_announced = false;
		w->queue_after_ns = 0;
	}
	if (w->is_up != is_up)
		w->is_announced = false;
	w->is_up = is_up;
}

/* Handles RTM_NEWLINK and RTM_DELLINK, from a list or as events. */
static void
on_link(struct netlink_source *s, struct nlmsghdr *message, void *arg)
{
	struct nlattr *attrs[IFLA_MAX + 1];
	const struct ifinfomsg *info = nlmsg_data(message);
	char name[IFNAMSIZ];
	unsigned up = IFF_UP | IFF_RUNNING;

	(void)arg;
	if ((message->nlmsg_type != RTM_NEWLINK &&
	     message->nlmsg_type != RTM_DELLINK) ||
	    nlmsg_parse(message, sizeof *info, attrs, IFLA_MAX, NULL) < 0 ||
	    info->ifi_family == AF_BRIDGE || !attrs[IFLA_IFNAME])
		return;
	if (message->nlmsg_type == RTM_DELLINK) {
		struct watched *w = find_index(s, info->ifi_index);

		if (w)
			lose_link(s, w);
		return;
	}
	nla_strlcpy(name, attrs[IFLA_IFNAME], sizeof name);
	if ((info->ifi_flags & IFF_LOOPBACK) && s->takes_all)
		return;
	see_link(s, info->ifi_index, name, (info->ifi_flags & up) == up);
}

static int
list_links(struct netlink_source *s)
{
	struct ifinfomsg all = { .ifi_family = AF_UNSPEC };

	s->must_list = false;
	return request(s, RTM_GETLINK, NLM_F_DUMP, &all, sizeof all, on_link, NULL);
}

static void
read_events(struct netlink_source *s)
{
	for (;;) {
		ssize_t got = recv(nl_socket_get_fd(s->events), s->reply, REPLY_BYTES,
				   MSG_DONTWAIT);
		struct nlmsghdr *m = (struct nlmsghdr *)s->reply;
		int left = (int)got;

		if (got < 0 && errno == ENOBUFS) {
			s->must_list = true;
			continue;
		}
		if (got <= 0)
			return;
		for (; nlmsg_ok(m, left); m = nlmsg_next(m, &left))
			on_link(s, m, NULL);
	}
}

/* After lost events: interfaces missing from the list are gone. */
static void
list_again(struct netlink_source *s)
{
	for (size_t i = 0; i < s->watched.n; i++) {
		struct watched *w = &s->watched.items[i];
		char name[IFNAMSIZ];

		if (w->ifindex && !if_indextoname((unsigned)w->ifindex, name))
			lose_link(s, w);
	}
	list_links(s);
}

static void
announce(struct netlink_source *s, struct watched *w, const struct source_sink *sink)
{
	struct tele_interface interface = { .is_up = w->is_up };

	snprintf(interface.name, sizeof interface.name, "%s", w->name);
	interface.capacity_bps = link_speed_bps(s->ioctl_fd, w->name);
	w->number = sink->interface(sink->ctx, &interface);
	w->is_known = w->is_announced = true;
}

/* ---- Counters -------------------------------------------------------------------- */

struct reading {
	struct rtnl_link_stats64 stats;
	bool has_stats;
	uint32_t backlog_bytes;
	bool has_queue;
};

static void
on_stats(struct netlink_source *s, struct nlmsghdr *message, void *arg)
{
	struct nlattr *attrs[IFLA_STATS_MAX + 1];
	struct reading *reading = arg;
	size_t size;

	(void)s;
	if (message->nlmsg_type != RTM_NEWSTATS ||
	    nlmsg_parse(message, sizeof(struct if_stats_msg), attrs, IFLA_STATS_MAX,
			NULL) < 0 ||
	    !attrs[IFLA_STATS_LINK_64])
		return;
	/* The size differs between kernels, at the end of the struct. */
	size = (size_t)nla_len(attrs[IFLA_STATS_LINK_64]);
	if (size > sizeof reading->stats)
		size = sizeof reading->stats;
	memset(&reading->stats, 0, sizeof reading->stats);
	memcpy(&reading->stats, nla_data(attrs[IFLA_STATS_LINK_64]), size);
	reading->has_stats = size >= 4 * sizeof(uint64_t);
}

static void
on_qdisc(struct netlink_source *s, struct nlmsghdr *message, void *arg)
{
	struct nlattr *attrs[TCA_MAX + 1], *stats[TCA_STATS_MAX + 1];
	struct reading *reading = arg;
	struct gnet_stats_queue queue;

	(void)s;
	if (message->nlmsg_type != RTM_NEWQDISC ||
	    nlmsg_parse(message, sizeof(struct tcmsg), attrs, TCA_MAX, NULL) < 0 ||
	    !attrs[TCA_STATS2] ||
	    nla_parse_nested(stats, TCA_STATS_MAX, attrs[TCA_STATS2], NULL) < 0 ||
	    !stats[TCA_STATS_QUEUE] ||
	    nla_len(stats[TCA_STATS_QUEUE]) < (int)sizeof queue)
		return;
	memcpy(&queue, nla_data(stats[TCA_STATS_QUEUE]), sizeof queue);
	reading->backlog_bytes = queue.backlog;
	reading->has_queue = true;
}

/* The root queue's backlog, if the interface has a queue. */
static void
read_queue(struct netlink_source *s, struct watched *w, int64_t now_ns,
	   struct reading *reading)
{
	struct tcmsg root = {
		.tcm_family = AF_UNSPEC,
		.tcm_ifindex = w->ifindex,
		.tcm_parent = TC_H_ROOT,
	};

	if (now_ns < w->queue_after_ns)
		return;
	/* Kernels before 6.1 answer this only if asked to echo. */
	request(s, RTM_GETQDISC, NLM_F_ACK | NLM_F_ECHO, &root, sizeof root, on_qdisc,
		reading);
	if (!reading->has_queue)
		w->queue_after_ns = now_ns + QUEUE_RETRY_NS;
}

static void
emit(const struct watched *w, int64_t time_ns, const struct reading *reading,
     const struct source_sink *sink)
{
	struct source_key key = { w->number, TELE_LINK, TELE_TX, TELE_WIRE };
	struct source_extra extra = { .packets = reading->stats.tx_packets,
				      .queue_bytes = reading->backlog_bytes };

	sink->counter(sink->ctx, &key, time_ns, reading->stats.tx_bytes, 64, &extra);
	key.direction = TELE_RX;
	extra = (struct source_extra){ .packets = reading->stats.rx_packets };
	sink->counter(sink->ctx, &key, time_ns, reading->stats.rx_bytes, 64, &extra);
	sink->complete(sink->ctx, w->number, time_ns / MS);
}

static int
read_link(struct netlink_source *s, struct watched *w, const struct source_sink *sink)
{
	struct if_stats_msg query = {
		.ifindex = (uint32_t)w->ifindex,
		.filter_mask = IFLA_STATS_FILTER_BIT(IFLA_STATS_LINK_64),
	};
	struct reading reading = { 0 };
	int64_t before_ns = clk_monotonic_ns(), after_ns;
	int error = request(s, RTM_GETSTATS, NLM_F_ACK, &query, sizeof query, on_stats,
			    &reading);

	after_ns = clk_monotonic_ns();
	if (error == -ENODEV) {
		lose_link(s, w);
		return 0;
	}
	if (error < 0)
		return error;
	if (!reading.has_stats)
		return -ENODATA;
	read_queue(s, w, after_ns, &reading);
	emit(w, before_ns + (after_ns - before_ns) / 2, &reading, sink);
	return 0;
}

/* ---- The source ------------------------------------------------------------------ */

static struct netlink_source *
from_source(const struct source *source)
{
	return (struct netlink_source *)source;
}

static void
tell_gone(struct netlink_source *s, const struct source_sink *sink)
{
	for (size_t i = 0; i < s->gone.n; i++)
		sink->gone(sink->ctx, s->gone.items[i]);
	s->gone.n = 0;
}

static int
netlink_poll(struct source *source, int64_t now_ns, const struct source_sink *sink,
	     struct err *err)
{
	struct netlink_source *s = from_source(source);

	read_events(s);
	if (s->must_list)
		list_again(s);
	tell_gone(s, sink);
	if (now_ns < s->next_ns)
		return 0;
	s->next_ns += s->interval_ns;
	if (s->next_ns <= now_ns) /* Missed readings are not repeated. */
		s->next_ns = now_ns + s->interval_ns;
	for (size_t i = 0; i < s->watched.n; i++) {
		struct watched *w = &s->watched.items[i];
		int error;

		if (!w->ifindex)
			continue;
		if (!w->is_announced)
			announce(s, w, sink);
		error = read_link(s, w, sink);
		if (error < 0)
			return err_set_errno(err, w->name, error,
					     "cannot read the counters");
	}
	tell_gone(s, sink);
	return 0;
}

static int64_t
netlink_interval_ns(const struct source *source)
{
	return from_source(source)->interval_ns;
}

static int
netlink_fd(const struct source *source)
{
	return nl_socket_get_fd(from_source(source)->events);
}

static void
netlink_close(struct source *source)
{
	struct netlink_source *s = from_source(source);

	if (!s)
		return;
	nl_socket_free(s->requests);
	nl_socket_free(s->events);
	if (s->ioctl_fd >= 0)
		close(s->ioctl_fd);
	vec_free(&s->watched);
	vec_free(&s->gone);
	free(s->reply);
	free(s);
}

static const struct source_class netlink_class = {
	.name = "netlink",
	.summary = "interface counters of the kernel, no jobs",
	.poll = netlink_poll,
	.interval_ns = netlink_interval_ns,
	.fd = netlink_fd,
	.close = netlink_close,
};

static int
connect_sockets(struct netlink_source *s)
{
	struct timeval patience = { .tv_sec = 1 };
	int error;

	s->requests = nl_socket_alloc();
	s->events = nl_socket_alloc();
	if (!s->requests || !s->events)
		return -ENOMEM;
	error = nl_connect(s->requests, NETLINK_ROUTE);
	if (error == 0)
		error = nl_connect(s->events, NETLINK_ROUTE);
	if (error == 0)
		error = nl_socket_add_memberships(s->events, RTNLGRP_LINK, 0);
	if (error < 0)
		return -EPROTO; /* libnl's error numbers are not errno's. */
	/* A time limit; the kernel normally answers at once. */
	setsockopt(nl_socket_get_fd(s->requests), SOL_SOCKET, SO_RCVTIMEO, &patience,
		   sizeof patience);
	s->ioctl_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return s->ioctl_fd < 0 ? -errno : 0;
}

/* Warns of missing interfaces, with a suggestion. */
static void
warn_missing(const struct netlink_source *s)
{
	struct if_nameindex *all = if_nameindex();
	const char *names[65] = { 0 };
	size_t n = 0;

	for (; all && all[n].if_name && n < 64; n++)
		names[n] = all[n].if_name;
	for (size_t i = 0; i < s->watched.n; i++) {
		const struct watched *w = &s->watched.items[i];
		const char *meant = err_did_you_mean(w->name, names);

		if (!w->ifindex)
			log_warn("netlink",
				 "interface %s does not exist; waiting for it%s%s%s",
				 w->name, meant ? " (did you mean '" : "",
				 meant ? meant : "", meant ? "'?)" : "");
	}
	if (all)
		if_freenameindex(all);
}

int
src_netlink_open(const struct netlink_options *options, struct source **ret_source,
		 struct err *err)
{
	struct netlink_source *s = xcalloc(1, sizeof *s);
	int error;

	s->source.class = &netlink_class;
	s->ioctl_fd = -1;
	s->reply = xcalloc(REPLY_BYTES, 1);
	s->takes_all = options->n_names == 0;
	s->interval_ns =
		options->interval_ns > 0 ? options->interval_ns : DEFAULT_INTERVAL_NS;
	for (size_t i = 0; i < options->n_names; i++) {
		struct watched w = { 0 };
		size_t length = strlen(options->names[i]);

		if (length == 0 || length >= sizeof w.name) {
			err_set(err, NULL, 0, 0,
				"'%s' is not an interface name: expected 1 to 15 "
				"characters",
				options->names[i]);
			error = -EINVAL;
			goto fail;
		}
		memcpy(w.name, options->names[i], length);
		if (!find_name(s, w.name))
			vec_push(&s->watched, w);
	}
	error = connect_sockets(s);
	if (error == 0)
		error = list_links(s);
	if (error < 0) {
		err_set_errno(err, NULL, error, "cannot query the kernel for links");
		goto fail;
	}
	warn_missing(s);
	*ret_source = &s->source;
	return 0;
fail:
	netlink_close(&s->source);
	return error;
}
