/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ports.c - wire ports, ports of new connections, and their paths: joins collector/paths
 * to the bus, the loop and the jobs.
 *
 * Messages go out as texts at the collector's own endpoint, and come in from the
 * scheduler's, which passes on those of other hosts.  The collector subscribes to the
 * topics of its own addresses.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/daemon/daemon.h"
#include "collector/jobs/cgroups.h"
#include "collector/paths/connect_host.h"
#include "collector/paths/path_probe.h"
#include "collector/paths/port_host.h"
#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/vec.h"
#include "lib/base/words.h"
#include "lib/daemon/loop.h"
#include "lib/daemon/settings.h"
#include "lib/wire/bus.h"
#include "lib/wire/connect_text.h"
#include "lib/wire/flow_text.h"
#include "lib/wire/port_text.h"
#include "lib/wire/probe_text.h"

/* Chosen: between walks of the control groups, and looks at the addresses. */
#define WALK_NS      INT64_C(1000000000)
#define ADDRESSES_NS INT64_C(5000000000)

/* Chosen: a job's connections are made at its start, and stay. */
#define REPORT_NS INT64_C(5000000000)

/* A topic that is of no address: what all collectors get. */
#define TOPIC_OF_ALL PORT_TOPIC "/"

_Static_assert(PROBE_TOPIC_BYTES <= PORT_TOPIC_BYTES &&
		       CONNECT_TOPIC_BYTES <= PORT_TOPIC_BYTES,
	       "a topic has room for all");

struct topic {
	char text[PORT_TOPIC_BYTES];
	bool is_there;
};

struct collector_ports {
	struct port_host *host;       /* Owned. */
	struct path_probe *probe;     /* Owned. */
	struct connect_host *connect; /* Owned; NULL: new connections get no ports. */
	struct words interfaces;      /* Borrowed by 'host'. */
	struct bus_sub *sub;          /* Owned. */
	struct loop_item *probe_item;
	VEC(struct topic) topics;
	int64_t walked_ns, addresses_ns, reported_ns;
	struct log_limit limit;
	uint64_t n_malformed, n_refused_probes;
};

/* ---- Callbacks ------------------------------------------------------------------- */

static void
send_text(void *ctx, const char *topic, const char *text)
{
	const struct collector *c = ctx;

	if (c->bus)
		bus_pub_text(c->bus, topic, text);
}

/* A job may have begun since the last walk. */
static bool
job_of(void *ctx, uint64_t cgroup, char ret_name[TELE_MAX_NAME + 1])
{
	const struct collector *c = ctx;
	int64_t now_ns = clk_monotonic_ns();
	const char *name;

	if (!c->cgroups)
		return false;
	name = cgroups_job(c->cgroups, cgroup);
	if (!name && now_ns - c->ports->walked_ns >= WALK_NS) {
		c->ports->walked_ns = now_ns;
		cgroups_scan(c->cgroups);
		name = cgroups_job(c->cgroups, cgroup);
	}
	if (!name || !*name)
		return false;
	strcpy(ret_name, name);
	return true;
}

static bool
is_probed(void *ctx, uint16_t port)
{
	const struct collector *c = ctx;

	return c->ports->probe && path_probe_has_port(c->ports->probe, port);
}

static bool
is_opened(void *ctx, const struct port_flow *flow)
{
	const struct collector *c = ctx;

	return c->ports->connect && connect_host_is_opened(c->ports->connect, flow);
}

static void
each_group(void *ctx, void (*found)(void *arg, uint64_t cgroup, const char *job),
	   void *arg)
{
	const struct collector *c = ctx;

	cgroups_scan(c->cgroups);
	cgroups_each_job(c->cgroups, found, arg);
}

/* ---- Messages -------------------------------------------------------------------- */

static void
send_answer(void *ctx, const struct probe_message *answer)
{
	char topic[PROBE_TOPIC_BYTES], *text = probe_text_write(answer);

	probe_text_topic_of(answer->source, topic);
	send_text(ctx, topic, text);
	free(text);
}

static void
refuse_probes(void *ctx, struct probe_message *order)
{
	order->is_answer = true;
	for (size_t i = 0; i < order->n_ports; i++)
		order->ports[i].state = PROBE_FAILED;
	send_answer(ctx, order);
}

/* An order that is being carried out needs no second answer. */
static int
take_probes(struct collector *c, int64_t now_ns, const char *text, size_t n,
	    struct err *err)
{
	struct probe_message order;

	if (probe_text_parse(text, n, &order, err) < 0)
		return -EINVAL;
	if (order.is_answer)
		return err_set(err, NULL, 0, 0, "an answer about paths, not an order");
	if (!port_host_may_probe(c->ports->host, &order) ||
	    path_probe_take(c->ports->probe, now_ns, &order) == -E2BIG) {
		c->ports->n_refused_probes++;
		refuse_probes(c, &order);
	}
	return 0;
}

static void
on_probe(void *ctx)
{
	path_probe_step(((struct collector *)ctx)->ports->probe, clk_monotonic_ns());
}

static void
on_texts(void *ctx)
{
	struct collector *c = ctx;
	struct collector_ports *ports = c->ports;
	const char *topic;
	const uint8_t *bytes;
	size_t n;

	while (bus_sub_message(ports->sub, &topic, &bytes, &n) == 1) {
		int64_t now_ns = clk_monotonic_ns();
		const char *text = (const char *)bytes;
		struct err err = { 0 };
		int rc;

		if (!strncmp(topic, PROBE_TOPIC, strlen(PROBE_TOPIC)))
			rc = take_probes(c, now_ns, text, n, &err);
		else if (ports->connect &&
			 !strncmp(topic, CONNECT_TOPIC, strlen(CONNECT_TOPIC)))
			rc = connect_host_take(ports->connect, now_ns, text, n, &err);
		else
			rc = port_host_take(ports->host, now_ns, text, n, &err);
		if (rc == 0)
			continue;
		ports->n_malformed++;
		log_limited(&ports->limit, now_ns, LOG_LEVEL_WARN, "ports",
			    "message from %s refused: %s", c->config.orders, err.text);
	}
}

/* ---- Addresses ------------------------------------------------------------------- */

static bool
address_of(const struct ifaddrs *one, uint8_t ret_address[16])
{
	uint8_t address[16] = { [10] = 0xff, [11] = 0xff };

	if (!one->ifa_addr || one->ifa_flags & IFF_LOOPBACK)
		return false;
	if (one->ifa_addr->sa_family == AF_INET)
		memcpy(address + 12,
		       &((const struct sockaddr_in *)(const void *)one->ifa_addr)
				->sin_addr,
		       4);
	else if (one->ifa_addr->sa_family == AF_INET6)
		memcpy(address,
		       &((const struct sockaddr_in6 *)(const void *)one->ifa_addr)
				->sin6_addr,
		       16);
	else
		return false;
	memcpy(ret_address, address, sizeof address);
	return true;
}

static void
want_topic(struct collector_ports *ports, const char *text)
{
	struct topic topic = { .is_there = true };

	for (size_t i = 0; i < ports->topics.n; i++)
		if (!strcmp(ports->topics.items[i].text, text)) {
			ports->topics.items[i].is_there = true;
			return;
		}
	strcpy(topic.text, text);
	vec_push(&ports->topics, topic);
	bus_sub_want_texts(ports->sub, text, true);
}

/* Subscribes to the topics of this host's addresses as they are now. */
static void
follow_addresses(struct collector_ports *ports, int64_t now_ns)
{
	struct ifaddrs *list;
	size_t n = 0;

	ports->addresses_ns = now_ns;
	if (getifaddrs(&list) < 0)
		return;
	for (size_t i = 0; i < ports->topics.n; i++)
		ports->topics.items[i].is_there = false;
	for (const struct ifaddrs *one = list; one; one = one->ifa_next) {
		char text[PORT_TOPIC_BYTES];
		uint8_t address[16];

		if (!address_of(one, address))
			continue;
		port_text_topic_of(address, text);
		want_topic(ports, text);
		probe_text_topic_of(address, text);
		want_topic(ports, text);
		connect_text_topic_of(address, text);
		if (ports->connect)
			want_topic(ports, text);
	}
	freeifaddrs(list);
	for (size_t i = 0; i < ports->topics.n; i++) {
		if (ports->topics.items[i].is_there)
			ports->topics.items[n++] = ports->topics.items[i];
		else
			bus_sub_want_texts(ports->sub, ports->topics.items[i].text,
					   false);
	}
	ports->topics.n = n;
}

static void
report(struct collector *c, int64_t now_ns)
{
	char topic[TELE_MAX_NAME + 8],
		*text = port_host_report(c->ports->host, c->host);

	c->ports->reported_ns = now_ns;
	snprintf(topic, sizeof topic, FLOW_TOPIC "%s/", c->host);
	if (text)
		send_text(c, topic, text);
	free(text);
}

static void
on_tick(void *ctx, int64_t now_ns, int64_t missed)
{
	struct collector *c = ctx;
	struct collector_ports *ports = c->ports;

	(void)missed;
	port_host_tick(ports->host, now_ns);
	if (ports->connect)
		connect_host_tick(ports->connect, now_ns);
	if (now_ns - ports->addresses_ns >= ADDRESSES_NS)
		follow_addresses(ports, now_ns);
	if (now_ns - ports->reported_ns >= REPORT_NS)
		report(c, now_ns);
}

/* ---- Interface ------------------------------------------------------------------- */

/* Without it flows are moved as soon as they run. */
static void
open_connect(struct collector *c, const struct port_range *range)
{
	struct connect_host_options options = {
		.range = *range,
		.job_of = job_of,
		.each_group = each_group,
		.is_probed = is_probed,
		.ctx = c,
	};
	struct err err = { 0 };

	if (!c->cgroups)
		return;
	options.root = cgroups_root(c->cgroups);
	if (connect_host_open(&options, &c->ports->connect, &err) < 0)
		log_warn("ports", "new connections get no ports: %s%s%s", err.file,
			 *err.file ? ": " : "", err.text);
}

static int
open_host(struct collector *c, struct err *err)
{
	struct collector_ports *ports = c->ports;
	struct port_host_options options = {
		.directory = c->config.wire_ports_dir,
		.wall_offset_ns = c->wall.offset_ns,
		.send = send_text,
		.job_of = job_of,
		.is_probed = is_probed,
		.is_opened = is_opened,
		.ctx = c,
	};
	int rc;

	words_split(&ports->interfaces, c->config.interfaces, ", ");
	options.interfaces = ports->interfaces.items.items;
	options.n_interfaces = ports->interfaces.items.n;
	rc = port_range_parse(c->config.wire_ports, &options.range, err);
	if (rc < 0)
		return rc;
	if (settings_is_none(c->config.orders) || settings_is_none(c->config.endpoint))
		return err_set(err, NULL, 0, 0,
			       "[paths] wire_ports needs [pacer] orders and [bus] "
			       "endpoint, to reach the scheduler");
	rc = port_host_open(&options, clk_monotonic_ns(), &ports->host, err);
	/* Counting goes on, as do flows that were moved. */
	if (rc == 0)
		rc = path_probe_open(send_answer, c, &ports->probe, err);
	if (rc == 0)
		open_connect(c, &options.range);
	if (rc < 0)
		log_warn("ports", "no flows are moved: %s%s%s", err->file,
			 *err->file ? ": " : "", err->text);
	return 0;
}

int
collector_open_ports(struct collector *c, struct err *err)
{
	int rc;

	if (settings_is_none(c->config.wire_ports))
		return 0;
	c->ports = xcalloc(1, sizeof *c->ports);
	collector_check_clock(c);
	rc = open_host(c, err);
	if (rc < 0 || !c->ports->probe)
		collector_close_ports(c);
	return rc;
}

int
collector_join_ports(struct collector *c, struct err *err)
{
	struct collector_ports *ports = c->ports;
	int rc;

	if (!ports)
		return 0;
	rc = bus_sub_open_texts(c->config.orders, c->keys, TOPIC_OF_ALL, &ports->sub,
				err);
	if (rc < 0)
		return rc;
	follow_addresses(ports, clk_monotonic_ns());
	bus_sub_join(ports->sub, c->loop, on_texts, c);
	ports->probe_item = loop_fd(c->loop, path_probe_fd(ports->probe), on_probe, c);
	loop_every(c->loop, PORT_HOST_TICK_NS, on_tick, c);
	return 0;
}

void
collector_close_ports(struct collector *c)
{
	struct collector_ports *ports = c->ports;

	if (!ports)
		return;
	bus_sub_close(ports->sub);
	if (ports->probe_item)
		loop_remove(c->loop, ports->probe_item);
	connect_host_close(ports->connect);
	path_probe_close(ports->probe);
	port_host_close(ports->host);
	words_fini(&ports->interfaces);
	vec_free(&ports->topics);
	free(ports);
	c->ports = NULL;
}

struct port_host *
collector_port_host(const struct collector *c)
{
	return c->ports ? c->ports->host : NULL;
}

const struct connect_host *
collector_connect_host(const struct collector *c)
{
	return c->ports ? c->ports->connect : NULL;
}

bool
collector_probe_stats(const struct collector *c, struct path_probe_stats *ret_stats,
		      uint64_t *ret_n_refused)
{
	if (!c->ports)
		return false;
	path_probe_stats(c->ports->probe, ret_stats);
	*ret_n_refused = c->ports->n_refused_probes;
	return true;
}

uint64_t
collector_malformed_ports(const struct collector *c)
{
	return c->ports ? c->ports->n_malformed : 0;
}
