/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/path_ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "lib/base/vec.h"
#include "lib/wire/probe_text.h"
#include "topology/topo.h"
#define uthash_fatal(msg) BUG("uthash: %s", msg)
#include <uthash.h>

/* Chosen: enough for 1,000 hosts with 64 peers each; 16 ports of them are 40 MB. */
/* Chosen: 16,384 hosts with 4 destinations each. */
#define MAX_PAIRS 65536
#define MAX_TRIES 3

_Static_assert(PATH_PORTS_BATCH <= PROBE_MAX_PORTS, "an order has room for a batch");

/* A port that was or is being probed. */
struct known_port {
	uint16_t port; /* Network's order. */
	bool is_asked; /* The answer is missing. */
	bool is_known; /* 'switches' has a node for each hop. */
	uint32_t switches[PROBE_MAX_HOPS];
};

/* What ports are for. */
enum port_use {
	USE_WIRE,
	USE_CONNECT,
	N_USES,
};

/* Source address, destination address and destination port, with their ports. */
struct pair {
	UT_hash_handle hh;
	struct port_flow key; /* Its source port is an enum port_use. */
	size_t n_switches;    /* Of the paths that are looked for. */
	uint8_t hops[PROBE_MAX_HOPS];
	size_t n_hops;
	VEC(struct known_port) ports;
	unsigned n_passed;  /* Ports of the range that were asked for. */
	int64_t since_ns;   /* Of its creation. */
	uint64_t number;    /* Of the last order. */
	unsigned n_tries;   /* Orders sent with this number; 0: none waits. */
	int64_t sent_ns;    /* Of the last of them. */
	int64_t useless_ns; /* When probing was found to be of no use... */
	bool is_useless;    /* ...which is the case until PATH_PORTS_RETRY_NS later. */
};

/* A host that has orders. */
struct asked_host {
	UT_hash_handle hh;
	uint8_t address[16];
	unsigned n_orders;
};

/* A wire port that a flow has. */
struct given_port {
	UT_hash_handle hh, hh_wire;
	struct port_flow flow; /* True ports. */
	struct port_flow wire; /* As on the wire. */
	unsigned n_asked;      /* Orders for this port alone. */
};

struct path_ports {
	struct path_ports_options options;
	struct topo *topo;        /* A reference, or NULL. */
	struct pair *pairs;       /* Owned, as the following. */
	struct asked_host *hosts; /* With at least one order. */
	struct given_port *given; /* By flow. */
	struct given_port *wires; /* The same, by flow on the wire. */
	uint64_t last_number;
	struct path_ports_counts counts;
};

struct path_ports *
path_ports_new(const struct path_ports_options *options)
{
	struct path_ports *ports = xcalloc(1, sizeof *ports);

	ports->options = *options;
	return ports;
}

/* ---- Hosts that have orders ------------------------------------------------------ */

static struct asked_host *
find_host(const struct path_ports *ports, const struct pair *pair)
{
	struct asked_host *host;

	HASH_FIND(hh, ports->hosts, pair->key.source, sizeof host->address, host);
	return host;
}

static void
begin_wait(struct path_ports *ports, const struct pair *pair)
{
	struct asked_host *host = find_host(ports, pair);

	if (!host) {
		host = xcalloc(1, sizeof *host);
		memcpy(host->address, pair->key.source, sizeof host->address);
		HASH_ADD(hh, ports->hosts, address, sizeof host->address, host);
	}
	host->n_orders++;
}

/* The pair's order, if it has one, is over. */
static void
end_wait(struct path_ports *ports, struct pair *pair)
{
	struct asked_host *host = pair->n_tries ? find_host(ports, pair) : NULL;

	pair->n_tries = 0;
	if (!host || --host->n_orders)
		return;
	HASH_DEL(ports->hosts, host);
	free(host);
}

static bool
is_busy(const struct path_ports *ports, const struct pair *pair)
{
	const struct asked_host *host = find_host(ports, pair);

	return host && host->n_orders >= PATH_PORTS_ORDERS_A_HOST;
}

static void
drop_pair(struct path_ports *ports, struct pair *pair)
{
	end_wait(ports, pair);
	HASH_DEL(ports->pairs, pair);
	vec_free(&pair->ports);
	free(pair);
}

static void
drop_given(struct path_ports *ports, struct given_port *given)
{
	HASH_DEL(ports->given, given);
	HASH_DELETE(hh_wire, ports->wires, given);
	free(given);
}

static void
drop_pairs(struct path_ports *ports)
{
	struct pair *pair, *next;

	HASH_ITER(hh, ports->pairs, pair, next)
	drop_pair(ports, pair);
}

void
path_ports_free(struct path_ports *ports)
{
	struct given_port *given, *next;

	if (!ports)
		return;
	drop_pairs(ports);
	HASH_ITER(hh, ports->given, given, next)
	drop_given(ports, given);
	topo_unref(ports->topo);
	free(ports);
}

/* ---- Ports that flows have ------------------------------------------------------- */

static struct given_port *
find_given(const struct path_ports *ports, const struct port_flow *flow)
{
	struct given_port *given;

	HASH_FIND(hh, ports->given, flow, sizeof *flow, given);
	return given;
}

static struct port_flow
wire_of(const struct port_flow *flow, uint16_t port)
{
	struct port_flow wire = *flow;

	wire.source_port = port;
	return wire;
}

/* No flow has the port. */
static bool
is_free(const struct path_ports *ports, const struct port_flow *flow, uint16_t port)
{
	struct port_flow wire = wire_of(flow, port);
	struct given_port *given;

	HASH_FIND(hh_wire, ports->wires, &wire, sizeof wire, given);
	return !given;
}

static void
give(struct path_ports *ports, const struct port_flow *flow, uint16_t port)
{
	struct given_port *given = xcalloc(1, sizeof *given);

	given->flow = *flow;
	given->wire = wire_of(flow, port);
	HASH_ADD(hh, ports->given, flow, sizeof given->flow, given);
	HASH_ADD(hh_wire, ports->wires, wire, sizeof given->wire, given);
}

void
path_ports_release(struct path_ports *ports, const struct port_flow *flow)
{
	struct given_port *given = find_given(ports, flow);

	if (given)
		drop_given(ports, given);
}

void
path_ports_give(struct path_ports *ports, const struct port_flow *flow, uint16_t port)
{
	if (!find_given(ports, flow) && is_free(ports, flow, port))
		give(ports, flow, port);
}

/* ---- Pairs ----------------------------------------------------------------------- */

static struct pair *
find_pair(const struct path_ports *ports, const struct port_flow *key)
{
	struct pair *pair;

	HASH_FIND(hh, ports->pairs, key, sizeof *key, pair);
	return pair;
}

static struct port_flow
key_of(const struct port_flow *flow, enum port_use use)
{
	return wire_of(flow, (uint16_t)use);
}

static struct known_port *
find_port(const struct pair *pair, uint16_t port)
{
	for (size_t i = 0; i < pair->ports.n; i++)
		if (pair->ports.items[i].port == port)
			return &pair->ports.items[i];
	return NULL;
}

/*
 * The hops where paths between the same two hosts can differ: all but the first and the
 * last, which are the leaves of the two hosts.  So leaves have to answer to nothing.
 */
static void
set_hops(struct pair *pair, size_t n_switches)
{
	size_t first = n_switches > 2 ? 2 : 1;
	size_t last = n_switches > 2 ? n_switches - 1 : n_switches;

	pair->n_switches = n_switches;
	pair->n_hops = 0;
	for (size_t hop = first; hop <= last; hop++)
		pair->hops[pair->n_hops++] = (uint8_t)hop;
}

static struct pair *
make_pair(struct path_ports *ports, int64_t now_ns, const struct port_flow *key,
	  size_t n_switches)
{
	struct pair *pair = xcalloc(1, sizeof *pair);

	pair->key = *key;
	pair->since_ns = now_ns;
	set_hops(pair, n_switches);
	HASH_ADD(hh, ports->pairs, key, sizeof pair->key, pair);
	return pair;
}

static bool
takes(const struct pair *pair, const struct known_port *port, const uint32_t *switches)
{
	if (!port->is_known)
		return false;
	for (size_t i = 0; i < pair->n_hops; i++)
		if (port->switches[i] != switches[pair->hops[i] - 1])
			return false;
	return true;
}

/* ---- Orders ---------------------------------------------------------------------- */

static void
send_order(struct path_ports *ports, int64_t now_ns, struct pair *pair)
{
	struct probe_message order = { .number = pair->number,
				       .destination_port = pair->key.destination_port,
				       .n_hops = pair->n_hops };
	char topic[PROBE_TOPIC_BYTES], *text;

	memcpy(order.source, pair->key.source, sizeof order.source);
	memcpy(order.destination, pair->key.destination, sizeof order.destination);
	memcpy(order.hops, pair->hops, sizeof order.hops);
	for (size_t i = 0; i < pair->ports.n; i++)
		if (pair->ports.items[i].is_asked)
			order.ports[order.n_ports++].port = pair->ports.items[i].port;
	pair->n_tries++;
	pair->sent_ns = now_ns;
	ports->counts.n_orders++;
	text = probe_text_write(&order);
	probe_text_topic_of(order.source, topic);
	ports->options.announce(ports->options.ctx, topic, text);
	free(text);
}

static void
add_port(struct pair *pair, uint16_t port)
{
	vec_push(&pair->ports, ((struct known_port){ .port = port, .is_asked = true }));
}

/* Probes are of no use now. */
static bool
is_resting(struct pair *pair, int64_t now_ns)
{
	if (pair->is_useless && now_ns - pair->useless_ns < PATH_PORTS_RETRY_NS)
		return true;
	pair->is_useless = false;
	return false;
}

static void
begin_order(struct path_ports *ports, int64_t now_ns, struct pair *pair)
{
	pair->number = ++ports->last_number;
	begin_wait(ports, pair);
	send_order(ports, now_ns, pair);
}

/*
 * Sockets of one host share its ports, so connections to different destinations are to
 * have different ones.
 */
static unsigned
begin_of(const struct pair *pair)
{
	uint64_t word;

	memcpy(&word, pair->key.destination + 8, sizeof word);
	return (unsigned)(rng_mix(word ^ pair->key.destination_port) >> 32);
}

/*
 * Orders the port that a flow has to be probed, alone, so that no limit of answers hides
 * its path: the flow would be moved for nothing.  0: its path is known, or cannot be
 * found out; -EAGAIN; -ENOENT.
 */
static int
probe_given(struct path_ports *ports, int64_t now_ns, struct pair *pair,
	    struct given_port *given)
{
	struct known_port *port = find_port(pair, given->wire.source_port);
	struct port_range range;

	if (port && port->is_known)
		given->n_asked = 0;
	if ((port && port->is_known) || given->n_asked >= MAX_TRIES)
		return 0;
	if (pair->n_tries || is_busy(ports, pair) ||
	    !ports->options.range_of(ports->options.ctx, pair->key.source, &range))
		return -EAGAIN;
	if (is_resting(pair, now_ns))
		return -ENOENT;
	if (!port_range_has(&range, given->wire.source_port))
		return 0;
	given->n_asked++;
	if (port)
		port->is_asked = true;
	else
		add_port(pair, given->wire.source_port);
	begin_order(ports, now_ns, pair);
	return -EAGAIN;
}

/*
 * Orders the next ports of the range to be probed.  Returns -EAGAIN, or -ENOENT if there
 * are no more.
 */
static int
probe_more(struct path_ports *ports, int64_t now_ns, struct pair *pair)
{
	struct port_range range;
	size_t before = pair->ports.n;
	bool is_wire = pair->key.source_port == USE_WIRE;
	unsigned begin, n_ports;

	if (before >= PATH_PORTS_MAX_PROBED)
		return -ENOENT;
	if (is_busy(ports, pair) ||
	    !ports->options.range_of(ports->options.ctx, pair->key.source, &range))
		return -EAGAIN;
	range = is_wire ? port_range_wire(&range) : port_range_connect(&range);
	n_ports = range.last + 1u - range.first; /* 0 if there are none. */
	begin = is_wire ? 0 : begin_of(pair);
	for (; pair->n_passed < n_ports && pair->ports.n - before < PATH_PORTS_BATCH;
	     pair->n_passed++) {
		unsigned at = (begin + pair->n_passed) % n_ports;
		uint16_t port = htons((uint16_t)(range.first + at));

		if (!find_port(pair, port))
			add_port(pair, port);
	}
	if (pair->ports.n == before)
		return -ENOENT;
	begin_order(ports, now_ns, pair);
	return -EAGAIN;
}

/* Forgets ports without a known path, so that they can be probed again. */
static void
keep_known(struct pair *pair)
{
	size_t n = 0;

	for (size_t i = 0; i < pair->ports.n; i++)
		if (pair->ports.items[i].is_known)
			pair->ports.items[n++] = pair->ports.items[i];
	pair->ports.n = n;
	pair->n_passed = 0;
}

/* Probes are of no use until PATH_PORTS_RETRY_NS after this time. */
static void
give_up(struct path_ports *ports, struct pair *pair, int64_t since_ns)
{
	keep_known(pair);
	end_wait(ports, pair);
	pair->is_useless = true;
	pair->useless_ns = since_ns;
}

/* ---- Finding --------------------------------------------------------------------- */

static int
look(struct path_ports *ports, int64_t now_ns, struct pair *pair,
     const struct port_flow *flow, const uint32_t *switches, uint16_t *ret_port)
{
	struct given_port *given = find_given(ports, flow);
	const struct known_port *has;
	int r = given ? probe_given(ports, now_ns, pair, given) : 0;

	if (r < 0)
		return r;
	has = given ? find_port(pair, given->wire.source_port) : NULL;
	if (has && takes(pair, has, switches)) {
		*ret_port = has->port;
		return 0;
	}
	for (size_t i = 0; i < pair->ports.n; i++) {
		const struct known_port *port = &pair->ports.items[i];

		if (!takes(pair, port, switches) || !is_free(ports, flow, port->port))
			continue;
		if (given)
			drop_given(ports, given);
		give(ports, flow, port->port);
		*ret_port = port->port;
		return 0;
	}
	if (pair->n_tries)
		return -EAGAIN;
	if (is_resting(pair, now_ns))
		return -ENOENT;
	return probe_more(ports, now_ns, pair);
}

/* The pair of a flow, which is made if it is not there.  0 or -errno. */
static int
get_pair(struct path_ports *ports, int64_t now_ns, const struct port_flow *flow,
	 enum port_use use, size_t n_switches, struct pair **ret_pair)
{
	struct port_flow key = key_of(flow, use);
	struct pair *pair;

	if (n_switches < 1 || n_switches > PROBE_MAX_HOPS)
		return -EINVAL;
	if (!ports->topo)
		return -ENOENT;
	pair = find_pair(ports, &key);
	if (pair && pair->n_switches != n_switches) {
		drop_pair(ports, pair);
		pair = NULL;
	}
	if (!pair && HASH_COUNT(ports->pairs) >= MAX_PAIRS) {
		ports->counts.n_full++;
		return -E2BIG;
	}
	*ret_pair = pair ? pair : make_pair(ports, now_ns, &key, n_switches);
	return 0;
}

int
path_ports_find(struct path_ports *ports, int64_t now_ns, const struct port_flow *flow,
		const uint32_t *switches, size_t n_switches, uint16_t *ret_port)
{
	struct pair *pair;
	int r = get_pair(ports, now_ns, flow, USE_WIRE, n_switches, &pair);

	return r < 0 ? r : look(ports, now_ns, pair, flow, switches, ret_port);
}

size_t
path_ports_connect(struct path_ports *ports, int64_t now_ns,
		   const struct port_flow *flow, const uint32_t *switches,
		   size_t n_switches, uint16_t *ret_ports, size_t max)
{
	struct pair *pair;
	size_t n = 0;

	if (get_pair(ports, now_ns, flow, USE_CONNECT, n_switches, &pair) < 0)
		return 0;
	for (size_t i = 0; i < pair->ports.n && n < max; i++)
		if (takes(pair, &pair->ports.items[i], switches))
			ret_ports[n++] = pair->ports.items[i].port;
	if (n < max && !find_host(ports, pair) && !is_resting(pair, now_ns))
		(void)probe_more(ports, now_ns, pair);
	return n;
}

bool
path_ports_takes_own(const struct path_ports *ports, const struct port_flow *flow,
		     const uint32_t *switches, size_t n_switches)
{
	struct port_flow key = key_of(flow, USE_CONNECT);
	const struct pair *pair = find_pair(ports, &key);
	const struct known_port *port =
		pair ? find_port(pair, flow->source_port) : NULL;

	return port && pair->n_switches == n_switches && takes(pair, port, switches);
}

int
path_ports_takes_wire(struct path_ports *ports, int64_t now_ns,
		      const struct port_flow *flow, const uint32_t *switches,
		      size_t n_switches)
{
	struct given_port *given = find_given(ports, flow);
	const struct known_port *known;
	struct pair *pair;
	int r = get_pair(ports, now_ns, flow, USE_WIRE, n_switches, &pair);

	if (r < 0 || !given)
		return r < 0 ? r : -ENOENT;
	r = probe_given(ports, now_ns, pair, given);
	if (r < 0)
		return r;
	known = find_port(pair, given->wire.source_port);
	return known && known->is_known ? takes(pair, known, switches) : -ENOENT;
}

/* ---- Answers --------------------------------------------------------------------- */

/* Notes the path of a port.  True: it is known. */
static bool
note_port(struct path_ports *ports, struct known_port *port,
	  const struct probe_port *answer)
{
	port->is_asked = false;
	if (answer->state != PROBE_FOUND) {
		ports->counts.n_silent++;
		return false;
	}
	port->is_known = true;
	for (size_t i = 0; i < answer->n_addresses; i++) {
		port->switches[i] =
			topo_find_address(ports->topo, answer->addresses[i]);
		if (port->switches[i] == TOPO_NONE)
			port->is_known = false;
	}
	ports->counts.n_unnamed += !port->is_known;
	return port->is_known;
}

static const struct probe_port *
find_answer(const struct probe_message *answer, uint16_t port)
{
	for (size_t i = 0; i < answer->n_ports; i++)
		if (answer->ports[i].port == port)
			return &answer->ports[i];
	return NULL;
}

static void
take_answer(struct path_ports *ports, int64_t now_ns, struct pair *pair,
	    const struct probe_message *answer)
{
	static const struct probe_port missing = { .state = PROBE_FAILED };
	bool is_reached = false;
	size_t n_known = 0, n_asked = 0;

	for (size_t i = 0; i < answer->n_ports; i++)
		is_reached |= answer->ports[i].state == PROBE_REACHED;
	for (size_t i = 0; i < pair->ports.n; i++) {
		struct known_port *port = &pair->ports.items[i];
		const struct probe_port *found = find_answer(answer, port->port);

		if (!port->is_asked)
			continue;
		n_asked++;
		n_known += note_port(ports, port, found ? found : &missing);
	}
	end_wait(ports, pair);
	/* The fabric says that there are more switches than there are: probe no more. */
	if (is_reached)
		give_up(ports, pair, now_ns + PATH_PORTS_KEEP_NS);
	else if (!n_known && n_asked > 1)
		give_up(ports, pair, now_ns);
}

int
path_ports_take(struct path_ports *ports, int64_t now_ns, const char *text, size_t n,
		struct err *err)
{
	struct port_flow flow = { .source_port = 0 };
	struct probe_message answer;

	if (probe_text_parse(text, n, &answer, err) < 0) {
		ports->counts.n_refused++;
		return -EINVAL;
	}
	if (!answer.is_answer)
		return 0;
	ports->counts.n_answers++;
	memcpy(flow.source, answer.source, sizeof flow.source);
	memcpy(flow.destination, answer.destination, sizeof flow.destination);
	flow.destination_port = answer.destination_port;
	for (unsigned use = 0; use < N_USES; use++) {
		struct port_flow key = key_of(&flow, use);
		struct pair *pair = find_pair(ports, &key);

		if (pair && pair->n_tries && pair->number == answer.number &&
		    pair->n_hops == answer.n_hops &&
		    !memcmp(pair->hops, answer.hops, pair->n_hops))
			take_answer(ports, now_ns, pair, &answer);
	}
	return 0;
}

/* ---- Time ------------------------------------------------------------------------ */

void
path_ports_tick(struct path_ports *ports, int64_t now_ns)
{
	struct pair *pair, *next;

	HASH_ITER(hh, ports->pairs, pair, next)
	{
		bool is_late =
			pair->n_tries && now_ns - pair->sent_ns >= PATH_PORTS_WAIT_NS;

		if (!pair->n_tries && now_ns - pair->since_ns >= PATH_PORTS_KEEP_NS)
			drop_pair(ports, pair);
		else if (is_late && pair->n_tries < MAX_TRIES)
			send_order(ports, now_ns, pair);
		else if (is_late)
			give_up(ports, pair, now_ns);
	}
}

void
path_ports_forget(struct path_ports *ports, struct topo *topo)
{
	bool is_same = topo && ports->topo && topo_is_same(topo, ports->topo);

	if (topo)
		topo_ref(topo);
	topo_unref(ports->topo);
	ports->topo = topo;
	if (!is_same)
		drop_pairs(ports);
}

struct path_ports_counts
path_ports_counts(const struct path_ports *ports)
{
	struct path_ports_counts counts = ports->counts;

	counts.n_pairs = HASH_COUNT(ports->pairs);
	counts.n_given = HASH_COUNT(ports->given);
	for (const struct pair *pair = ports->pairs; pair; pair = pair->hh.next) {
		counts.n_waiting += pair->n_tries > 0;
		for (size_t i = 0; i < pair->ports.n; i++)
			counts.n_probed += pair->ports.items[i].is_known;
	}
	return counts;
}
