/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/path_ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/rng.h"
#include "scheduler/daemon/path_ports_priv.h"
#include "topology/topo.h"

struct path_ports *
path_ports_new(const struct path_ports_options *options)
{
	struct path_ports *ports = xcalloc(1, sizeof *ports);

	ports->options = *options;
	return ports;
}

void
path_ports_free(struct path_ports *ports)
{
	if (!ports)
		return;
	path_ports_drop_pairs(ports);
	given_ports_free(&ports->given);
	topo_unref(ports->topo);
	free(ports);
}

void
path_ports_release(struct path_ports *ports, const struct port_flow *flow)
{
	given_ports_take_back(&ports->given, flow);
}

void
path_ports_give(struct path_ports *ports, const struct port_flow *flow, uint16_t port)
{
	if (!given_ports_find(&ports->given, flow) &&
	    given_ports_is_free(&ports->given, flow, port))
		given_ports_give(&ports->given, flow, port);
}

/* ---- Probing --------------------------------------------------------------------- */

static void
add_port(struct pair *pair, uint16_t port)
{
	vec_push(&pair->ports, ((struct known_port){ .port = port, .is_asked = true }));
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
	struct known_port *port = path_ports_find_port(pair, given->port);
	struct port_range range;

	if (port && port->is_known)
		given->n_asked = 0;
	if ((port && port->is_known) || given->n_asked >= PATH_PORTS_MAX_TRIES)
		return 0;
	if (pair->n_tries || path_ports_is_busy(ports, pair) ||
	    !ports->options.range_of(ports->options.ctx, pair->key.source, &range))
		return -EAGAIN;
	if (path_ports_is_resting(pair, now_ns))
		return -ENOENT;
	if (!port_range_has(&range, given->port))
		return 0;
	given->n_asked++;
	if (port)
		port->is_asked = true;
	else
		add_port(pair, given->port);
	path_ports_order(ports, now_ns, pair);
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
	if (path_ports_is_busy(ports, pair) ||
	    !ports->options.range_of(ports->options.ctx, pair->key.source, &range))
		return -EAGAIN;
	range = is_wire ? port_range_wire(&range) : port_range_connect(&range);
	n_ports = range.last + 1u - range.first; /* 0 if there are none. */
	begin = is_wire ? 0 : begin_of(pair);
	for (; pair->n_passed < n_ports && pair->ports.n - before < PATH_PORTS_BATCH;
	     pair->n_passed++) {
		unsigned at = (begin + pair->n_passed) % n_ports;
		uint16_t port = htons((uint16_t)(range.first + at));

		if (!path_ports_find_port(pair, port))
			add_port(pair, port);
	}
	if (pair->ports.n == before)
		return -ENOENT;
	path_ports_order(ports, now_ns, pair);
	return -EAGAIN;
}

/* ---- Finding --------------------------------------------------------------------- */

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

static int
look(struct path_ports *ports, int64_t now_ns, struct pair *pair,
     const struct port_flow *flow, const uint32_t *switches, uint16_t *ret_port)
{
	struct given_port *given = given_ports_find(&ports->given, flow);
	const struct known_port *has;
	int r = given ? probe_given(ports, now_ns, pair, given) : 0;

	if (r < 0)
		return r;
	has = given ? path_ports_find_port(pair, given->port) : NULL;
	if (has && takes(pair, has, switches)) {
		*ret_port = has->port;
		return 0;
	}
	for (size_t i = 0; i < pair->ports.n; i++) {
		const struct known_port *port = &pair->ports.items[i];

		if (!takes(pair, port, switches) ||
		    !given_ports_is_free(&ports->given, flow, port->port))
			continue;
		given_ports_take_back(&ports->given, flow);
		given_ports_give(&ports->given, flow, port->port);
		*ret_port = port->port;
		return 0;
	}
	if (pair->n_tries)
		return -EAGAIN;
	if (path_ports_is_resting(pair, now_ns))
		return -ENOENT;
	return probe_more(ports, now_ns, pair);
}

int
path_ports_find(struct path_ports *ports, int64_t now_ns, const struct port_flow *flow,
		const uint32_t *switches, size_t n_switches, uint16_t *ret_port)
{
	struct pair *pair;
	int r = path_ports_get_pair(ports, now_ns, flow, USE_WIRE, n_switches, &pair);

	return r < 0 ? r : look(ports, now_ns, pair, flow, switches, ret_port);
}

size_t
path_ports_connect(struct path_ports *ports, int64_t now_ns,
		   const struct port_flow *flow, const uint32_t *switches,
		   size_t n_switches, uint16_t *ret_ports, size_t max)
{
	struct pair *pair;
	size_t n = 0;

	if (path_ports_get_pair(ports, now_ns, flow, USE_CONNECT, n_switches, &pair) <
	    0)
		return 0;
	for (size_t i = 0; i < pair->ports.n && n < max; i++)
		if (takes(pair, &pair->ports.items[i], switches))
			ret_ports[n++] = pair->ports.items[i].port;
	if (n < max && !path_ports_is_asked(ports, pair) &&
	    !path_ports_is_resting(pair, now_ns))
		(void)probe_more(ports, now_ns, pair);
	return n;
}

bool
path_ports_takes_own(const struct path_ports *ports, const struct port_flow *flow,
		     const uint32_t *switches, size_t n_switches)
{
	const struct pair *pair = path_ports_find_pair(ports, flow, USE_CONNECT);
	const struct known_port *port =
		pair ? path_ports_find_port(pair, flow->source_port) : NULL;

	return port && pair->n_switches == n_switches && takes(pair, port, switches);
}

int
path_ports_takes_wire(struct path_ports *ports, int64_t now_ns,
		      const struct port_flow *flow, const uint32_t *switches,
		      size_t n_switches)
{
	struct given_port *given = given_ports_find(&ports->given, flow);
	const struct known_port *known;
	struct pair *pair;
	int r = path_ports_get_pair(ports, now_ns, flow, USE_WIRE, n_switches, &pair);

	if (r < 0 || !given)
		return r < 0 ? r : -ENOENT;
	r = probe_given(ports, now_ns, pair, given);
	if (r < 0)
		return r;
	known = path_ports_find_port(pair, given->port);
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
	path_ports_end_order(ports, pair);
	/* The fabric says that there are more switches than there are: probe no more. */
	if (is_reached)
		path_ports_give_up(ports, pair, now_ns + PATH_PORTS_KEEP_NS);
	else if (!n_known && n_asked > 1)
		path_ports_give_up(ports, pair, now_ns);
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
		struct pair *pair = path_ports_find_pair(ports, &flow, use);

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
			path_ports_drop_pair(ports, pair);
		else if (is_late && pair->n_tries < PATH_PORTS_MAX_TRIES)
			path_ports_order_again(ports, now_ns, pair);
		else if (is_late)
			path_ports_give_up(ports, pair, now_ns);
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
		path_ports_drop_pairs(ports);
}

struct path_ports_counts
path_ports_counts(const struct path_ports *ports)
{
	struct path_ports_counts counts = ports->counts;

	counts.n_pairs = HASH_COUNT(ports->pairs);
	counts.n_given = given_ports_count(&ports->given);
	for (const struct pair *pair = ports->pairs; pair; pair = pair->hh.next) {
		counts.n_waiting += pair->n_tries > 0;
		for (size_t i = 0; i < pair->ports.n; i++)
			counts.n_probed += pair->ports.items[i].is_known;
	}
	return counts;
}
