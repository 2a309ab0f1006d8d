/* SPDX-License-Identifier: Apache-2.0 */
/* test_path_ports.c - probed ports of the scheduler, against hosts that answer */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/address.h"
#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "lib/wire/port_text.h"
#include "lib/wire/probe_text.h"
#include "scheduler/daemon/path_ports.h"
#include "tests/unit/test.h"
#include "topology/topo.h"

#define SECOND   INT64_C(1000000000)
#define N_SPINES 4

struct fixture {
	struct path_ports *ports;
	struct topo *topo;
	uint32_t leaves[2], spines[N_SPINES];
	struct port_range range;    /* 0: not known. */
	struct probe_message order; /* The last one. */
	size_t n_orders;
	int64_t now_ns;
};

static void
announce(void *ctx, const char *topic, const char *text)
{
	struct fixture *f = ctx;
	char expected[PROBE_TOPIC_BYTES];

	assert_int_equal(probe_text_parse(text, strlen(text), &f->order, NULL), 0);
	probe_text_topic_of(f->order.source, expected);
	assert_string_equal(topic, expected);
	f->n_orders++;
}

static bool
range_of(void *ctx, const uint8_t address[16], struct port_range *ret_range)
{
	const struct fixture *f = ctx;

	(void)address;
	*ret_range = f->range;
	return f->range.first;
}

static void
add_address(struct topo_builder *b, uint32_t node, const char *text)
{
	uint8_t address[16];

	assert_int_equal(address_parse(text, address), 0);
	assert_int_equal(topo_builder_address(b, node, address), 0);
}

static struct topo *
make_topo(struct fixture *f, bool has_addresses)
{
	struct topo_builder *b = topo_builder_new("lab");
	char name[32];

	for (uint32_t i = 0; i < 2; i++) {
		snprintf(name, sizeof name, "leaf%u", i);
		assert_int_equal(topo_builder_switch(b, name, 1, &f->leaves[i]), 0);
	}
	for (uint32_t i = 0; i < N_SPINES; i++) {
		snprintf(name, sizeof name, "spine%u", i);
		assert_int_equal(topo_builder_switch(b, name, 2, &f->spines[i]), 0);
		snprintf(name, sizeof name, "10.79.%u.1", i);
		if (has_addresses)
			add_address(b, f->spines[i], name);
	}
	return topo_builder_finish(b);
}

static void
fixture_init(struct fixture *f)
{
	struct path_ports_options options = { range_of, announce, NULL };

	*f = (struct fixture){ .n_orders = 0 };
	options.ctx = f;
	f->range = (struct port_range){ 61000, 61999 };
	f->ports = path_ports_new(&options);
	f->topo = make_topo(f, true);
	path_ports_forget(f->ports, f->topo);
}

static void
fixture_fini(struct fixture *f)
{
	path_ports_free(f->ports);
	topo_unref(f->topo);
}

static struct port_flow
make_flow(const char *source, const char *destination)
{
	struct port_flow flow;

	assert_int_equal(port_text_end(source, flow.source, &flow.source_port), 0);
	assert_int_equal(
		port_text_end(destination, flow.destination, &flow.destination_port),
		0);
	return flow;
}

/* The spine that the fabric's hash takes. */
static unsigned
spine_of(const uint8_t destination[16], uint16_t port)
{
	return (unsigned)(rng_mix(((uint64_t)destination[15] << 32) | port) % N_SPINES);
}

static int
find(struct fixture *f, const struct port_flow *flow, unsigned spine,
     uint16_t *ret_port)
{
	const uint32_t switches[] = { f->leaves[0], f->spines[spine], f->leaves[1] };

	return path_ports_find(f->ports, f->now_ns, flow, switches, 3, ret_port);
}

static void
take(struct fixture *f, const struct probe_message *answer)
{
	char *text = probe_text_write(answer);

	assert_int_equal(path_ports_take(f->ports, f->now_ns, text, strlen(text), NULL),
			 0);
	free(text);
}

/* What the hosts answer to the last order. */
static struct probe_message
make_answer(const struct fixture *f, enum probe_state state)
{
	struct probe_message answer = f->order;
	char text[32];

	answer.is_answer = true;
	for (size_t i = 0; i < answer.n_ports; i++) {
		struct probe_port *port = &answer.ports[i];

		port->state = state;
		if (state != PROBE_FOUND)
			continue;
		port->n_addresses = 1;
		snprintf(text, sizeof text, "10.79.%u.1",
			 spine_of(answer.destination, port->port));
		assert_int_equal(address_parse(text, port->addresses[0]), 0);
	}
	return answer;
}

static void
answer_with(struct fixture *f, enum probe_state state)
{
	struct probe_message answer = make_answer(f, state);

	take(f, &answer);
}

static void
a_port_is_found_by_probes(void **state)
{
	struct fixture f;
	struct port_flow flow = make_flow("10.0.0.1:41000", "10.0.1.1:5001");
	uint16_t port, again;

	(void)state;
	fixture_init(&f);
	assert_int_equal(find(&f, &flow, 2, &port), -EAGAIN);
	assert_int_equal(f.n_orders, 1);
	/* Leaves are not asked. */
	assert_int_equal(f.order.n_hops, 1);
	assert_int_equal(f.order.hops[0], 2);
	assert_int_equal(f.order.n_ports, PATH_PORTS_BATCH);
	assert_int_equal(f.order.ports[0].port, htons(61000));
	assert_int_equal(f.order.destination_port, htons(5001));
	assert_int_equal(find(&f, &flow, 2, &port), -EAGAIN);
	assert_int_equal(f.n_orders, 1);
	answer_with(&f, PROBE_FOUND);
	assert_int_equal(find(&f, &flow, 2, &port), 0);
	assert_int_equal(spine_of(flow.destination, port), 2);
	assert_int_equal(find(&f, &flow, 2, &again), 0);
	assert_int_equal(again, port);
	assert_int_equal(path_ports_counts(f.ports).n_given, 1);
	assert_int_equal(path_ports_counts(f.ports).n_probed, PATH_PORTS_BATCH);
	fixture_fini(&f);
}

static void
a_port_has_one_flow(void **state)
{
	struct fixture f;
	struct port_flow a = make_flow("10.0.0.1:41000", "10.0.1.1:5001");
	struct port_flow b = make_flow("10.0.0.1:41001", "10.0.1.1:5001");
	struct port_flow c = make_flow("10.0.0.1:41001", "10.0.1.1:5002");
	uint16_t ports[3];

	(void)state;
	fixture_init(&f);
	assert_int_equal(find(&f, &a, 1, &ports[0]), -EAGAIN);
	answer_with(&f, PROBE_FOUND);
	assert_int_equal(find(&f, &a, 1, &ports[0]), 0);
	assert_int_equal(find(&f, &b, 1, &ports[1]), 0);
	assert_int_not_equal(ports[0], ports[1]);
	path_ports_release(f.ports, &a);
	path_ports_release(f.ports, &a);
	assert_int_equal(find(&f, &a, 1, &ports[2]), 0);
	assert_int_equal(ports[2], ports[0]);
	/* Another path instead: the port of before is free. */
	assert_int_equal(find(&f, &a, 2, &ports[2]), 0);
	path_ports_release(f.ports, &b);
	assert_int_equal(find(&f, &b, 1, &ports[1]), 0);
	assert_int_equal(ports[1], ports[0]);
	/* Another destination port has probes of its own. */
	assert_int_equal(find(&f, &c, 1, &ports[1]), -EAGAIN);
	assert_int_equal(path_ports_counts(f.ports).n_given, 2);
	fixture_fini(&f);
}

static int
takes(struct fixture *f, const struct port_flow *flow, unsigned spine)
{
	const uint32_t switches[] = { f->leaves[0], f->spines[spine], f->leaves[1] };

	return path_ports_takes_wire(f->ports, f->now_ns, flow, switches, 3);
}

static void
the_path_of_a_given_port_is_found(void **state)
{
	struct port_flow flow = make_flow("10.0.0.1:41000", "10.0.1.1:5001");
	uint16_t port = htons(61500), other;
	struct fixture f;

	(void)state;
	fixture_init(&f);
	assert_int_equal(takes(&f, &flow, 0), -ENOENT);
	assert_int_equal(f.n_orders, 0);
	path_ports_give(f.ports, &flow, port);
	assert_int_equal(takes(&f, &flow, 0), -EAGAIN);
	assert_int_equal(f.order.ports[0].port, port);
	assert_int_equal(takes(&f, &flow, 1), -EAGAIN);
	assert_int_equal(f.n_orders, 1);
	answer_with(&f, PROBE_FOUND);
	for (unsigned spine = 0; spine < N_SPINES; spine++)
		assert_int_equal(takes(&f, &flow, spine),
				 spine_of(flow.destination, port) == spine);
	/* Asking gives no other port to the flow. */
	assert_int_equal(find(&f, &flow, spine_of(flow.destination, port), &other), 0);
	assert_int_equal(other, port);
	fixture_fini(&f);
	fixture_init(&f);
	path_ports_give(f.ports, &flow, port);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(takes(&f, &flow, 0), -EAGAIN);
		assert_int_equal(f.order.n_ports, 1);
		answer_with(&f, PROBE_SILENT);
	}
	assert_int_equal(takes(&f, &flow, 0), -ENOENT);
	assert_int_equal(path_ports_takes_wire(f.ports, 0, &flow, NULL, 0), -EINVAL);
	fixture_fini(&f);
}

static void
more_ports_are_probed_until_it_is_enough(void **state)
{
	struct fixture f;
	struct port_flow flow = make_flow("10.0.0.1:41000", "10.0.1.1:5001");
	const uint32_t other[3] = { 0, 1, 1 };
	uint16_t port;
	int rc;

	(void)state;
	fixture_init(&f);
	while ((rc = path_ports_find(f.ports, 0, &flow, other, 3, &port)) == -EAGAIN)
		answer_with(&f, PROBE_FOUND);
	assert_int_equal(rc, -ENOENT);
	assert_int_equal(f.n_orders, PATH_PORTS_MAX_PROBED / PATH_PORTS_BATCH);
	/* What is known is still used. */
	assert_int_equal(find(&f, &flow, 3, &port), 0);
	fixture_fini(&f);
	fixture_init(&f);
	/* A fifth port of the range is for new connections. */
	f.range.last = 61004;
	assert_int_equal(path_ports_find(f.ports, 0, &flow, other, 3, &port), -EAGAIN);
	assert_int_equal(f.order.n_ports, 4);
	answer_with(&f, PROBE_FOUND);
	assert_int_equal(path_ports_find(f.ports, 0, &flow, other, 3, &port), -ENOENT);
	fixture_fini(&f);
}

/* Ports of new connections: 61750 to 61999. */
static void
ports_of_new_connections_are_probed_apart(void **state)
{
	struct fixture f;
	struct port_flow flow = make_flow("10.0.0.1:41000", "10.0.1.1:5001");
	uint32_t switches[3];
	uint16_t ports[4], port;
	size_t n, n_orders = 0;

	(void)state;
	fixture_init(&f);
	switches[0] = f.leaves[0];
	switches[1] = f.spines[2];
	switches[2] = f.leaves[1];
	/* Probes of running flows come first. */
	assert_int_equal(find(&f, &flow, 0, &port), -EAGAIN);
	assert_int_equal(path_ports_connect(f.ports, 0, &flow, switches, 3, ports, 4),
			 0);
	assert_int_equal(f.n_orders, 1);
	answer_with(&f, PROBE_FOUND);
	while ((n = path_ports_connect(f.ports, 0, &flow, switches, 3, ports, 4)) < 4) {
		for (size_t i = 0; i < f.order.n_ports; i++)
			assert_in_range(ntohs(f.order.ports[i].port), 61750, 61999);
		assert_true(++n_orders < 10);
		answer_with(&f, PROBE_FOUND);
	}
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(spine_of(flow.destination, ports[i]), 2);
		flow.source_port = ports[i];
		assert_true(path_ports_takes_own(f.ports, &flow, switches, 3));
		assert_false(path_ports_takes_own(f.ports, &flow, switches, 2));
	}
	switches[1] = f.spines[1];
	assert_false(path_ports_takes_own(f.ports, &flow, switches, 3));
	/* None is a wire port, and they are given to none. */
	while (find(&f, &flow, 1, &port) == -EAGAIN)
		answer_with(&f, PROBE_FOUND);
	assert_in_range(ntohs(port), 61000, 61749);
	assert_int_equal(path_ports_counts(f.ports).n_given, 1);
	/* Without a fabric, or with a range that is too small, there are none. */
	f.range.last = 61002;
	flow = make_flow("10.0.0.1:41000", "10.0.1.1:5002");
	n_orders = f.n_orders;
	assert_int_equal(path_ports_connect(f.ports, 0, &flow, switches, 3, ports, 4),
			 0);
	assert_int_equal(f.n_orders, n_orders);
	path_ports_forget(f.ports, NULL);
	assert_int_equal(path_ports_connect(f.ports, 0, &flow, switches, 3, ports, 4),
			 0);
	fixture_fini(&f);
}

static void
silence_is_no_path(void **state)
{
	static const enum probe_state states[] = { PROBE_SILENT, PROBE_FAILED,
						   PROBE_REACHED };
	struct port_flow flow = make_flow("10.0.0.1:41000", "10.0.1.1:5001");
	struct fixture f;
	uint16_t port;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		fixture_init(&f);
		assert_int_equal(find(&f, &flow, 0, &port), -EAGAIN);
		answer_with(&f, states[i]);
		assert_int_equal(find(&f, &flow, 0, &port), -ENOENT);
		f.now_ns += PATH_PORTS_RETRY_NS - 1;
		assert_int_equal(find(&f, &flow, 0, &port), -ENOENT);
		f.now_ns++;
		/* Where a packet arrived, none is sent again. */
		assert_int_equal(find(&f, &flow, 0, &port),
				 states[i] == PROBE_REACHED ? -ENOENT : -EAGAIN);
		assert_int_equal(f.n_orders, states[i] == PROBE_REACHED ? 1 : 2);
		assert_true(path_ports_counts(f.ports).n_silent > 0);
		fixture_fini(&f);
	}
}

static void
an_order_without_an_answer_is_repeated(void **state)
{
	struct port_flow flow = make_flow("10.0.0.1:41000", "10.0.1.1:5001");
	struct probe_message first;
	struct fixture f;
	uint16_t port;

	(void)state;
	fixture_init(&f);
	assert_int_equal(find(&f, &flow, 0, &port), -EAGAIN);
	first = f.order;
	for (size_t i = 1; i < 3; i++) {
		f.now_ns += PATH_PORTS_WAIT_NS - 1;
		path_ports_tick(f.ports, f.now_ns);
		assert_int_equal(f.n_orders, i);
		f.now_ns++;
		path_ports_tick(f.ports, f.now_ns);
		assert_int_equal(f.n_orders, i + 1);
		assert_int_equal(f.order.number, first.number);
		assert_int_equal(f.order.n_ports, first.n_ports);
		assert_int_equal(find(&f, &flow, 0, &port), -EAGAIN);
	}
	f.now_ns += PATH_PORTS_WAIT_NS;
	path_ports_tick(f.ports, f.now_ns);
	assert_int_equal(f.n_orders, 3);
	assert_int_equal(find(&f, &flow, 0, &port), -ENOENT);
	f.now_ns += PATH_PORTS_RETRY_NS;
	assert_int_equal(find(&f, &flow, 0, &port), -EAGAIN);
	/* The answer to an earlier order is too late. */
	f.order.number--;
	answer_with(&f, PROBE_FOUND);
	assert_int_equal(find(&f, &flow, 0, &port), -EAGAIN);
	f.order.number++;
	answer_with(&f, PROBE_FOUND);
	assert_int_equal(find(&f, &flow, 0, &port), 0);
	assert_int_equal(path_ports_counts(f.ports).n_waiting, 0);
	fixture_fini(&f);
}

static void
another_fabric_needs_other_probes(void **state)
{
	struct port_flow flow = make_flow("10.0.0.1:41000", "10.0.1.1:5001");
	struct fixture f;
	struct topo *bare;
	uint16_t port, again;

	(void)state;
	fixture_init(&f);
	assert_int_equal(find(&f, &flow, 1, &port), -EAGAIN);
	answer_with(&f, PROBE_FOUND);
	assert_int_equal(find(&f, &flow, 1, &port), 0);
	path_ports_forget(f.ports, f.topo);
	assert_int_equal(find(&f, &flow, 1, &again), 0);
	path_ports_forget(f.ports, NULL);
	path_ports_forget(f.ports, f.topo);
	assert_int_equal(find(&f, &flow, 1, &again), -EAGAIN);
	/* Its own port comes first, so that it can stay. */
	assert_int_equal(f.order.ports[0].port, port);
	answer_with(&f, PROBE_FOUND);
	assert_int_equal(find(&f, &flow, 1, &again), 0);
	assert_int_equal(again, port);
	/* No fabric; and one that does not name addresses. */
	path_ports_forget(f.ports, NULL);
	assert_int_equal(find(&f, &flow, 1, &again), -ENOENT);
	bare = make_topo(&f, false);
	path_ports_forget(f.ports, bare);
	topo_unref(bare);
	/* Its own port again, three times, and then others. */
	for (int i = 0; i < 4; i++) {
		assert_int_equal(find(&f, &flow, 1, &again), -EAGAIN);
		assert_int_equal(f.order.n_ports, i < 3 ? 1 : PATH_PORTS_BATCH);
		answer_with(&f, PROBE_FOUND);
	}
	assert_int_equal(find(&f, &flow, 1, &again), -ENOENT);
	assert_int_equal(path_ports_counts(f.ports).n_unnamed, 3 + PATH_PORTS_BATCH);
	fixture_fini(&f);
}

static void
answers_do_not_last_forever(void **state)
{
	struct port_flow flow = make_flow("10.0.0.1:41000", "10.0.1.1:5001");
	struct fixture f;
	uint16_t port;

	(void)state;
	fixture_init(&f);
	assert_int_equal(find(&f, &flow, 1, &port), -EAGAIN);
	answer_with(&f, PROBE_FOUND);
	path_ports_tick(f.ports, PATH_PORTS_KEEP_NS - 1);
	assert_int_equal(path_ports_counts(f.ports).n_pairs, 1);
	path_ports_tick(f.ports, PATH_PORTS_KEEP_NS);
	assert_int_equal(path_ports_counts(f.ports).n_pairs, 0);
	fixture_fini(&f);
}

static void
a_host_has_few_orders_at_a_time(void **state)
{
	struct fixture f;
	struct probe_message first;
	struct port_flow flow;
	char destination[32];
	uint16_t port;

	(void)state;
	fixture_init(&f);
	for (unsigned i = 0; i < 5; i++) {
		snprintf(destination, sizeof destination, "10.0.1.%u:5001", i + 1);
		flow = make_flow("10.0.0.1:41000", destination);
		assert_int_equal(find(&f, &flow, 0, &port), -EAGAIN);
		if (i == 0)
			first = f.order;
	}
	assert_int_equal(f.n_orders, PATH_PORTS_ORDERS_A_HOST);
	assert_int_equal(path_ports_counts(f.ports).n_waiting,
			 PATH_PORTS_ORDERS_A_HOST);
	f.order = first;
	answer_with(&f, PROBE_FOUND);
	assert_int_equal(find(&f, &flow, 0, &port), -EAGAIN);
	assert_int_equal(f.n_orders, PATH_PORTS_ORDERS_A_HOST + 1);
	/* Other hosts do not wait for it. */
	flow = make_flow("10.0.0.2:41000", "10.0.1.1:5001");
	assert_int_equal(find(&f, &flow, 0, &port), -EAGAIN);
	assert_int_equal(f.n_orders, PATH_PORTS_ORDERS_A_HOST + 2);
	/* Without answers they make room, too. */
	for (int i = 0; i < 3; i++) {
		f.now_ns += PATH_PORTS_WAIT_NS;
		path_ports_tick(f.ports, f.now_ns);
	}
	assert_int_equal(path_ports_counts(f.ports).n_waiting, 0);
	flow = make_flow("10.0.0.1:41000", "10.0.1.9:5001");
	f.n_orders = 0;
	assert_int_equal(find(&f, &flow, 0, &port), -EAGAIN);
	assert_int_equal(f.n_orders, 1);
	fixture_fini(&f);
}

static void
ports_of_a_start_before_are_kept(void **state)
{
	struct port_flow a = make_flow("10.0.0.1:41000", "10.0.1.1:5001");
	struct port_flow b = make_flow("10.0.0.1:41001", "10.0.1.1:5001");
	struct fixture f;
	uint16_t port;

	(void)state;
	fixture_init(&f);
	path_ports_give(f.ports, &a, htons(61005));
	path_ports_give(f.ports, &a, htons(61006));
	path_ports_give(f.ports, &b, htons(61005));
	assert_int_equal(path_ports_counts(f.ports).n_given, 1);
	assert_int_equal(find(&f, &b, spine_of(a.destination, htons(61005)), &port),
			 -EAGAIN);
	answer_with(&f, PROBE_FOUND);
	assert_int_equal(find(&f, &a, spine_of(a.destination, htons(61005)), &port), 0);
	assert_int_equal(port, htons(61005));
	fixture_fini(&f);
}

/* One answer is lost; other ports take the path as well. */
static void
a_flow_keeps_its_port_although_an_answer_is_lost(void **state)
{
	struct port_flow a = make_flow("10.0.0.1:41000", "10.0.1.1:5001");
	struct port_flow b = make_flow("10.0.0.1:41001", "10.0.1.1:5001");
	unsigned spine = spine_of(a.destination, htons(61500));
	struct fixture f;
	uint16_t port;

	(void)state;
	fixture_init(&f);
	assert_int_equal(find(&f, &b, spine, &port), -EAGAIN);
	answer_with(&f, PROBE_FOUND);
	path_ports_give(f.ports, &a, htons(61500));
	assert_int_equal(find(&f, &a, spine, &port), -EAGAIN);
	assert_int_equal(f.order.n_ports, 1);
	answer_with(&f, PROBE_SILENT);
	assert_int_equal(find(&f, &a, spine, &port), -EAGAIN);
	answer_with(&f, PROBE_FOUND);
	assert_int_equal(find(&f, &a, spine, &port), 0);
	assert_int_equal(port, htons(61500));
	fixture_fini(&f);
}

static void
what_cannot_be_is_refused(void **state)
{
	struct port_flow flow = make_flow("10.0.0.1:41000", "10.0.1.1:5001");
	uint32_t switches[PROBE_MAX_HOPS + 1] = { 0 };
	struct err err = { 0 };
	struct fixture f;
	uint16_t port = 7;

	(void)state;
	fixture_init(&f);
	assert_int_equal(path_ports_find(f.ports, 0, &flow, switches, 0, &port),
			 -EINVAL);
	assert_int_equal(
		path_ports_find(f.ports, 0, &flow, switches, PROBE_MAX_HOPS + 1, &port),
		-EINVAL);
	assert_int_equal(path_ports_take(f.ports, 0, "{}", 2, &err), -EINVAL);
	assert_true(*err.text);
	assert_int_equal(path_ports_counts(f.ports).n_refused, 1);
	/* Nobody waits for this one. */
	assert_int_equal(find(&f, &flow, 1, &port), -EAGAIN);
	f.order.destination_port = htons(9);
	answer_with(&f, PROBE_FOUND);
	assert_int_equal(path_ports_counts(f.ports).n_probed, 0);
	/* The hosts did not say yet which ports they have. */
	flow.destination_port = htons(10);
	f.range.first = 0;
	assert_int_equal(find(&f, &flow, 1, &port), -EAGAIN);
	assert_int_equal(f.n_orders, 1);
	assert_int_equal(port, 7);
	fixture_fini(&f);
}

/* Random flows and spines; orders and answers are lost; each port takes its path. */
static void
random_flows_get_their_paths(void **state)
{
	enum {
		N_FLOWS = 24
	};
	struct port_flow flows[N_FLOWS];
	uint16_t has[N_FLOWS] = { 0 };
	struct fixture f;
	struct rng rng;
	size_t n_found = 0;

	(void)state;
	rng_init(&rng, 6);
	fixture_init(&f);
	for (unsigned i = 0; i < N_FLOWS; i++) {
		char source[32], destination[32];

		snprintf(source, sizeof source, "10.0.0.1:%u", 41000 + i);
		snprintf(destination, sizeof destination, "10.0.1.%u:5001", 1 + i % 3);
		flows[i] = make_flow(source, destination);
	}
	for (int step = 0; step < 5000; step++) {
		size_t i = rng_below(&rng, N_FLOWS);
		unsigned spine = (unsigned)rng_below(&rng, N_SPINES);
		size_t n_orders = f.n_orders;
		uint16_t port = 0;

		f.now_ns += SECOND;
		path_ports_tick(f.ports, f.now_ns);
		if (rng_below(&rng, 8) == 0) {
			path_ports_release(f.ports, &flows[i]);
			has[i] = 0;
			continue;
		}
		if (rng_below(&rng, 500) == 0) {
			path_ports_forget(f.ports, NULL);
			path_ports_forget(f.ports, f.topo);
		}
		if (find(&f, &flows[i], spine, &port) == 0) {
			assert_int_equal(spine_of(flows[i].destination, port), spine);
			has[i] = port;
			n_found++;
			for (size_t k = 0; k < N_FLOWS; k++)
				assert_true(k == i || k % 3 != i % 3 || has[k] != port);
		}
		if (f.n_orders > n_orders && rng_below(&rng, 3))
			answer_with(&f,
				    rng_below(&rng, 4) ? PROBE_FOUND : PROBE_SILENT);
	}
	assert_true(n_found > 2000);
	fixture_fini(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_port_is_found_by_probes),
		cmocka_unit_test(a_port_has_one_flow),
		cmocka_unit_test(the_path_of_a_given_port_is_found),
		cmocka_unit_test(more_ports_are_probed_until_it_is_enough),
		cmocka_unit_test(ports_of_new_connections_are_probed_apart),
		cmocka_unit_test(silence_is_no_path),
		cmocka_unit_test(an_order_without_an_answer_is_repeated),
		cmocka_unit_test(another_fabric_needs_other_probes),
		cmocka_unit_test(answers_do_not_last_forever),
		cmocka_unit_test(a_host_has_few_orders_at_a_time),
		cmocka_unit_test(ports_of_a_start_before_are_kept),
		cmocka_unit_test(a_flow_keeps_its_port_although_an_answer_is_lost),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(random_flows_get_their_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
