/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/paths/port_host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fnmatch.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/paths/port_maps.h"
#include "collector/paths/port_sockets.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/log.h"
#include "lib/base/sort.h"
#include "lib/base/vec.h"
#include "lib/wire/flow_text.h"
#include "lib/wire/port_text.h"

#define RESERVED_PORTS "/proc/sys/net/ipv4/ip_local_reserved_ports"

/* Chosen: interfaces and closed connections may be noticed late. */
#define LOOK_NS INT64_C(5000000000)

struct port_host {
	struct port_host_options options;
	struct port_maps *maps; /* Owned, as the following. */
	struct port_sockets *sockets;
	struct port_sender *sender;
	struct port_receiver *receiver;
	VEC(unsigned) attached; /* Interface numbers. */
	/* An interface of ours has no programs: what others translate for us is lost. */
	bool is_incomplete;
	int64_t looked_ns;
	uint64_t n_refused_orders;
};

/* ---- I/O of the two ends --------------------------------------------------------- */

static int
put_out(void *ctx, const struct port_flow *flow, const struct port_entry *entry)
{
	return port_maps_put(((struct port_host *)ctx)->maps, PORT_OUT, flow, entry);
}

static void
remove_out(void *ctx, const struct port_flow *flow)
{
	(void)port_maps_remove(((struct port_host *)ctx)->maps, PORT_OUT, flow);
}

/* Refuses while packets could arrive at an interface without programs. */
static int
put_in(void *ctx, const struct port_flow *flow, const struct port_entry *entry)
{
	struct port_host *host = ctx;

	if (host->is_incomplete && !entry->retire_ns)
		return -ENODEV;
	return port_maps_put(host->maps, PORT_IN, flow, entry);
}

static void
remove_in(void *ctx, const struct port_flow *flow)
{
	(void)port_maps_remove(((struct port_host *)ctx)->maps, PORT_IN, flow);
}

static void
send_message(void *ctx, const struct port_message *message)
{
	const struct port_host *host = ctx;
	char topic[PORT_TOPIC_BYTES], *text = port_text_write(message);

	port_text_topic(message, topic);
	host->options.send(host->options.ctx, topic, text);
	free(text);
}

/* If the kernel does not answer, a flow that exists is kept, and no other accepted. */
static bool
is_open(const struct port_host *host, const struct port_flow *flow, bool is_sender,
	const char *job)
{
	char name[TELE_MAX_NAME + 1];
	uint64_t cgroup;
	int rc = port_sockets_find(host->sockets, flow, is_sender, &cgroup);

	if (!*job)
		return rc != 0;
	return rc == 1 && cgroup &&
	       host->options.job_of(host->options.ctx, cgroup, name) &&
	       !strcmp(name, job);
}

static bool
is_open_out(void *ctx, const struct port_flow *flow, const char *job)
{
	return is_open(ctx, flow, true, job);
}

static bool
is_open_in(void *ctx, const struct port_flow *flow, const char *job)
{
	return is_open(ctx, flow, false, job);
}

static bool
is_port_used(void *ctx, uint16_t port)
{
	const struct port_host *host = ctx;

	return !host->options.is_probed(host->options.ctx, port) &&
	       port_sockets_has_port(port);
}

/* ---- Interfaces ------------------------------------------------------------------ */

static bool
is_wanted(const struct port_host *host, const char *name)
{
	char path[64 + IF_NAMESIZE];

	for (size_t i = 0; i < host->options.n_interfaces; i++)
		if (!fnmatch(host->options.interfaces[i], name, 0))
			return true;
	if (host->options.n_interfaces)
		return false;
	snprintf(path, sizeof path, "/sys/class/net/%s/device", name);
	return access(path, F_OK) == 0;
}

static bool
is_attached(const struct port_host *host, unsigned number)
{
	for (size_t i = 0; i < host->attached.n; i++)
		if (host->attached.items[i] == number)
			return true;
	return false;
}

/* The kernel detaches programs from an interface that goes. */
static void
forget_gone(struct port_host *host, const struct if_nameindex *list)
{
	size_t n = 0;

	for (size_t i = 0; i < host->attached.n; i++) {
		const struct if_nameindex *one = list;

		while (one->if_index && one->if_index != host->attached.items[i])
			one++;
		if (one->if_index)
			host->attached.items[n++] = host->attached.items[i];
	}
	host->attached.n = n;
}

/* Attaches the programs to interfaces that are new.  0, or the last error. */
static int
attach_all(struct port_host *host, struct err *err)
{
	struct if_nameindex *list = if_nameindex();
	int rc = 0;

	if (!list)
		return err_set_errno(err, NULL, errno, "cannot list interfaces");
	forget_gone(host, list);
	for (const struct if_nameindex *one = list; one->if_index; one++) {
		int failed;

		if (is_attached(host, one->if_index) || !is_wanted(host, one->if_name))
			continue;
		failed = port_maps_attach(host->maps, one->if_name, err);
		if (failed < 0)
			rc = failed;
		else
			vec_push(&host->attached, one->if_index);
	}
	if_freenameindex(list);
	if (!host->attached.n && rc == 0) {
		err_set(err, NULL, 0, 0, "no interface for wire ports on this host");
		rc = -ENODEV;
	}
	return rc;
}

static void
look_at_interfaces(struct port_host *host)
{
	struct err err = { 0 };
	bool was_incomplete = host->is_incomplete;

	host->is_incomplete = attach_all(host, &err) < 0;
	if (host->is_incomplete && !was_incomplete)
		log_warn("ports", "%s%s%s; no more flows are moved", err.file,
			 *err.file ? ": " : "", err.text);
	else if (was_incomplete && !host->is_incomplete)
		log_info("ports", "programs are attached to all interfaces again");
}

/* ---- Opening --------------------------------------------------------------------- */

static int
check_reserved(const struct port_range *range, struct err *err)
{
	char *text;
	size_t length;
	int rc = file_read(RESERVED_PORTS, 1 << 20, &text, &length, err);

	if (rc < 0)
		return rc;
	rc = port_range_check(range, text, err);
	free(text);
	return rc;
}

struct taking {
	struct port_host *host;
	int64_t now_ns;
};

static void
take_out(void *ctx, const struct port_flow *flow, const struct port_entry *entry)
{
	const struct taking *taking = ctx;
	const struct port_host *host = taking->host;
	char job[TELE_MAX_NAME + 1] = "";
	uint64_t cgroup;

	if (port_sockets_find(host->sockets, flow, true, &cgroup) != 1 || !cgroup ||
	    !host->options.job_of(host->options.ctx, cgroup, job))
		*job = '\0';
	port_sender_restore(host->sender, taking->now_ns, job, flow, entry);
}

static void
take_in(void *ctx, const struct port_flow *flow, const struct port_entry *entry)
{
	const struct taking *taking = ctx;

	port_receiver_restore(taking->host->receiver, taking->now_ns, flow, entry);
}

static int
make_ends(struct port_host *host, int64_t now_ns, struct err *err)
{
	const struct port_sender_io out = { host,         put_out,     remove_out,
					    send_message, is_open_out, is_port_used };
	const struct port_receiver_io in = { host, put_in, remove_in, send_message,
					     is_open_in };
	struct port_range range = port_range_wire(&host->options.range);
	struct port_sender_options sender = { .range = range,
					      .wall_offset_ns =
						      host->options.wall_offset_ns };
	struct port_receiver_options receiver = { .range = range };
	struct taking taking = { host, now_ns };
	int rc;

	host->sender = port_sender_new(&out, &sender);
	host->receiver = port_receiver_new(&in, &receiver);
	rc = port_maps_each(host->maps, PORT_OUT, take_out, &taking);
	if (rc == 0)
		rc = port_maps_each(host->maps, PORT_IN, take_in, &taking);
	return rc < 0 ? err_set_errno(err, host->options.directory, rc,
				      "cannot read the maps")
		      : 0;
}

int
port_host_open(const struct port_host_options *options, int64_t now_ns,
	       struct port_host **ret_host, struct err *err)
{
	struct port_host *host;
	int rc = check_reserved(&options->range, err);

	if (rc < 0)
		return rc;
	host = xcalloc(1, sizeof *host);
	host->options = *options;
	host->looked_ns = now_ns;
	rc = port_sockets_open(&host->sockets, err);
	if (rc == 0)
		rc = port_maps_open(options->directory, &host->maps, err);
	if (rc == 0)
		rc = make_ends(host, now_ns, err);
	if (rc == 0)
		rc = attach_all(host, err);
	if (rc < 0) {
		port_host_close(host);
		return rc;
	}
	*ret_host = host;
	return 0;
}

void
port_host_close(struct port_host *host)
{
	if (!host)
		return;
	port_sender_free(host->sender);
	port_receiver_free(host->receiver);
	port_maps_close(host->maps);
	port_sockets_close(host->sockets);
	vec_free(&host->attached);
	free(host);
}

/* ---- Messages -------------------------------------------------------------------- */

/* The scheduler learns of a refusal; a move it sees in PORT_USING. */
static void
take_order(struct port_host *host, int64_t now_ns, const struct port_message *order)
{
	int rc = port_sender_order(host->sender, now_ns, order->job, &order->flow,
				   order->port);
	char text[PORT_TEXT_FLOW_BYTES];

	log_dbg("ports", "job %s: %s: order for port %u: %s", order->job,
		port_text_flow(&order->flow, text), ntohs(order->port),
		rc < 0 ? strerror(-rc) : "accepted");
	if (rc < 0) {
		struct port_message reply = *order;

		reply.verb = PORT_REFUSED;
		reply.number = 0;
		host->n_refused_orders++;
		send_message(host, &reply);
	}
}

int
port_host_take(struct port_host *host, int64_t now_ns, const char *text, size_t n,
	       struct err *err)
{
	struct port_message message;
	int rc = port_text_parse(text, n, &message, err);

	if (rc < 0)
		return rc;
	if (message.verb == PORT_MOVE)
		take_order(host, now_ns, &message);
	else if (message.verb == PORT_PREPARE || message.verb == PORT_USING)
		port_receiver_message(host->receiver, now_ns, &message);
	else
		port_sender_message(host->sender, now_ns, &message);
	return 0;
}

void
port_host_tick(struct port_host *host, int64_t now_ns)
{
	port_sender_tick(host->sender, now_ns);
	if (now_ns - host->looked_ns < LOOK_NS)
		return;
	host->looked_ns = now_ns;
	port_receiver_tick(host->receiver, now_ns);
	look_at_interfaces(host);
}

void
port_host_release(struct port_host *host, int64_t now_ns)
{
	port_sender_release(host->sender, now_ns);
}

/* ---- Reports --------------------------------------------------------------------- */

struct listing {
	const struct port_host *host;
	struct flow_rows rows;
};

static void
add_row(void *ctx, const struct port_socket *socket)
{
	struct listing *listing = ctx;
	const struct port_host *host = listing->host;
	struct flow_row row = { .flow = socket->flow, .bytes = socket->bytes };

	if (socket->bytes < PORT_HOST_MIN_BYTES || !socket->cgroup ||
	    !host->options.job_of(host->options.ctx, socket->cgroup, row.job))
		return;
	row.port = port_sender_wire_port(host->sender, &row.flow);
	row.is_opened = host->options.is_opened(host->options.ctx, &row.flow);
	vec_push(&listing->rows.rows, row);
}

static int
by_bytes(const void *a, const void *b)
{
	const struct flow_row *one = a, *other = b;

	if (one->bytes != other->bytes)
		return one->bytes > other->bytes ? -1 : 1;
	return memcmp(&one->flow, &other->flow, sizeof one->flow);
}

char *
port_host_report(const struct port_host *host, const char *name)
{
	struct listing listing = { .host = host };
	char *text = NULL;

	tele_set_name(listing.rows.host, name);
	listing.rows.range = host->options.range;
	if (port_sockets_each(host->sockets, add_row, &listing) == 0) {
		sort_items(listing.rows.rows.items, listing.rows.rows.n, by_bytes);
		text = flow_text_write(&listing.rows);
	}
	flow_rows_fini(&listing.rows);
	return text;
}

struct search {
	const struct port_host *host;
	const struct probe_message *order;
	bool is_found;
};

static void
match_order(void *ctx, const struct port_socket *socket)
{
	struct search *search = ctx;
	const struct port_host *host = search->host;
	const struct probe_message *order = search->order;
	const struct port_flow *flow = &socket->flow;
	char job[TELE_MAX_NAME + 1];

	if (search->is_found || !socket->cgroup ||
	    flow->destination_port != order->destination_port ||
	    memcmp(flow->source, order->source, sizeof flow->source) != 0 ||
	    memcmp(flow->destination, order->destination, sizeof flow->destination) !=
		    0)
		return;
	search->is_found = host->options.job_of(host->options.ctx, socket->cgroup, job);
}

bool
port_host_may_probe(const struct port_host *host, const struct probe_message *order)
{
	struct search search = { .host = host, .order = order };

	for (size_t i = 0; i < order->n_ports; i++)
		if (!port_range_has(&host->options.range, order->ports[i].port))
			return false;
	return port_sockets_each(host->sockets, match_order, &search) == 0 &&
	       search.is_found;
}

static void
write_out(void *ctx, const struct port_flow *flow, const char *job, uint16_t port)
{
	char text[PORT_TEXT_FLOW_BYTES];

	strbuf_printf(ctx, "out %s port %u job %s\n", port_text_flow(flow, text),
		      ntohs(port), *job ? job : "?");
}

static void
write_in(void *ctx, const struct port_flow *wire, const struct port_entry *entry)
{
	char text[PORT_TEXT_FLOW_BYTES];
	struct port_flow flow = *wire;

	flow.source_port = entry->port;
	strbuf_printf(ctx, "in %s port %u%s\n", port_text_flow(&flow, text),
		      ntohs(wire->source_port), entry->retire_ns ? " retired" : "");
}

void
port_host_write(const struct port_host *host, struct strbuf *out)
{
	port_sender_each(host->sender, write_out, out);
	port_receiver_each(host->receiver, write_in, out);
}

void
port_host_stats(const struct port_host *host, struct port_host_stats *ret_stats)
{
	port_sender_stats(host->sender, &ret_stats->sender);
	port_receiver_stats(host->receiver, &ret_stats->receiver);
	ret_stats->n_refused_orders = host->n_refused_orders;
	ret_stats->n_interfaces = host->attached.n;
}
