/* SPDX-License-Identifier: Apache-2.0 */
/* test_connect_ports.c - ports for new connections, against a model of the kernel */
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "collector/paths/connect_ports.h"
#include "lib/base/rng.h"
#include "tests/unit/test.h"

#define SECOND  INT64_C(1000000000)
#define FIRST   61750
#define N_PORTS 50
#define MAX_IN  4096

/* The kernel: what is offered there, and which ports sockets have. */
struct world {
	struct connect_ports *ports;
	int64_t now_ns;

	struct {
		struct connect_key key;
		uint16_t port; /* Host's order; 0: none. */
	} in[MAX_IN];

	size_t n_in;
	unsigned n_sockets[N_PORTS];
};

static size_t
find(const struct world *w, const struct connect_key *key)
{
	size_t i = 0;

	while (i < w->n_in &&
	       (!w->in[i].port || memcmp(&w->in[i].key, key, sizeof *key) != 0))
		i++;
	return i;
}

static int
put(void *ctx, const struct connect_key *key, uint16_t port)
{
	struct world *w = ctx;

	assert_int_equal(find(w, key), w->n_in);
	assert_true(w->n_in < MAX_IN);
	/* No port for a destination is there twice, and none that a socket has. */
	for (size_t i = 0; i < w->n_in; i++)
		assert_false(w->in[i].port == ntohs(port) &&
			     !memcmp(&w->in[i].key.to, &key->to, sizeof key->to));
	assert_int_equal(w->n_sockets[ntohs(port) - FIRST], 0);
	w->in[w->n_in].key = *key;
	w->in[w->n_in++].port = ntohs(port);
	return 0;
}

static void
take_back(void *ctx, const struct connect_key *key)
{
	struct world *w = ctx;
	size_t i = find(w, key);

	if (i < w->n_in)
		w->in[i].port = 0;
}

static bool
has(void *ctx, const struct connect_key *key)
{
	const struct world *w = ctx;

	return find(w, key) < w->n_in;
}

static bool
is_port_used(void *ctx, uint16_t port)
{
	const struct world *w = ctx;

	return w->n_sockets[ntohs(port) - FIRST] > 0;
}

static void
world_init(struct world *w)
{
	const struct connect_ports_io io = { w, put, take_back, has, is_port_used };
	const struct port_range range = { FIRST, FIRST + N_PORTS - 1 };

	memset(w, 0, sizeof *w);
	w->now_ns = SECOND;
	w->ports = connect_ports_new(&io, &range);
}

static struct connect_message
make_message(const char *job, unsigned destination, size_t n_ports, unsigned first)
{
	struct connect_message message = { .destination_port = htons(5001),
					   .n_ports = n_ports };

	snprintf(message.job, sizeof message.job, "%s", job);
	message.source[15] = 1;
	message.destination[15] = (uint8_t)destination;
	for (size_t i = 0; i < n_ports; i++)
		message.ports[i] = htons((uint16_t)(FIRST + (first + i) % N_PORTS));
	return message;
}

static int
take(struct world *w, const char *job, unsigned destination, size_t n_ports,
     unsigned first)
{
	struct connect_message message = make_message(job, destination, n_ports, first);

	return connect_ports_take(w->ports, w->now_ns, &message);
}

static void
tick(struct world *w)
{
	w->now_ns += SECOND;
	connect_ports_tick(w->ports, w->now_ns);
}

/* connect(), as bpf/connect_port.bpf.c does it: the port, or 0. */
static uint16_t
connect_to(struct world *w, const char *job, unsigned destination)
{
	struct connect_key key = { .job = connect_ports_job(w->ports, job) };

	key.to.address[15] = (uint8_t)destination;
	key.to.port = htons(5001);
	for (; key.job && key.index < CONNECT_MAX_PORTS; key.index++) {
		size_t i = find(w, &key);
		uint16_t port = i < w->n_in ? w->in[i].port : 0;

		if (!port)
			continue;
		w->in[i].port = 0;
		/* bind() fails if a socket has it. */
		if (w->n_sockets[port - FIRST])
			continue;
		w->n_sockets[port - FIRST]++;
		return port;
	}
	return 0;
}

static void
connections_get_the_ports_in_order(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	assert_int_equal(take(&w, "7", 1, 2, 10), 0);
	tick(&w);
	assert_int_equal(connect_to(&w, "8", 1), 0);
	assert_int_equal(connect_to(&w, "7", 2), 0);
	assert_int_equal(connect_to(&w, "7", 1), FIRST + 10);
	assert_int_equal(connect_to(&w, "7", 1), FIRST + 11);
	assert_int_equal(connect_to(&w, "7", 1), 0);
	tick(&w);
	/* Free again when the socket is gone; seen twice, so that bind() is over. */
	w.n_sockets[10] = 0;
	assert_int_equal(connect_to(&w, "7", 1), 0);
	tick(&w);
	assert_int_equal(connect_to(&w, "7", 1), FIRST + 10);
	w.n_sockets[10] = 0;
	tick(&w);
	assert_int_equal(connect_to(&w, "7", 1), 0);
	connect_ports_free(w.ports);
}

static void
offers_end(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	take(&w, "7", 1, 2, 0);
	take(&w, "7", 2, 2, 2);
	tick(&w);
	assert_int_equal(connect_ports_n(w.ports), 2);
	/* Withdrawn. */
	take(&w, "7", 1, 0, 0);
	assert_int_equal(connect_to(&w, "7", 1), 0);
	/* Repeated, and not repeated. */
	w.now_ns += CONNECT_KEEP_NS - 3 * SECOND;
	tick(&w);
	assert_int_equal(connect_to(&w, "7", 2), FIRST + 2);
	take(&w, "7", 2, 2, 2);
	w.now_ns += CONNECT_KEEP_NS - 2 * SECOND;
	tick(&w);
	assert_int_equal(connect_ports_n(w.ports), 1);
	tick(&w);
	assert_int_equal(connect_ports_n(w.ports), 0);
	assert_int_equal(connect_to(&w, "7", 2), 0);
	assert_int_equal(connect_ports_job(w.ports, "7"), 0);
	connect_ports_free(w.ports);
}

static void
what_cannot_be_is_refused(void **state)
{
	struct connect_message message = make_message("7", 1, 1, 0);
	struct world w;

	(void)state;
	world_init(&w);
	message.ports[0] = htons(FIRST - 1);
	assert_int_equal(connect_ports_take(w.ports, w.now_ns, &message), -ERANGE);
	message.ports[0] = htons(FIRST + N_PORTS);
	assert_int_equal(connect_ports_take(w.ports, w.now_ns, &message), -ERANGE);
	message.ports[0] = htons(FIRST);
	for (unsigned i = 0; i < CONNECT_MAX_OFFERS; i++) {
		message.destination_port = htons((uint16_t)(i + 1));
		assert_int_equal(connect_ports_take(w.ports, w.now_ns, &message), 0);
	}
	message.destination_port = htons(CONNECT_MAX_OFFERS + 1);
	assert_int_equal(connect_ports_take(w.ports, w.now_ns, &message), -E2BIG);
	assert_int_equal(connect_ports_n(w.ports), CONNECT_MAX_OFFERS);
	connect_ports_free(w.ports);
}

static void
two_jobs_share_no_port_for_a_destination(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	take(&w, "7", 1, 2, 0);
	take(&w, "8", 1, 3, 0);
	tick(&w);
	/* Only the third port is not of both. */
	assert_int_equal(connect_to(&w, "8", 1), FIRST + 2);
	assert_int_equal(connect_to(&w, "8", 1), 0);
	connect_ports_free(w.ports);
}

struct left {
	char job[TELE_MAX_NAME + 1];
	size_t n_ports;
};

static void
count_left(void *ctx, const struct connect_message *offer)
{
	struct left *left = ctx;

	snprintf(left->job, sizeof left->job, "%s", offer->job);
	left->n_ports = offer->n_ports;
}

static void
offers_are_listed_with_what_is_left(void **state)
{
	struct left left = { .n_ports = 0 };
	struct world w;

	(void)state;
	world_init(&w);
	take(&w, "7", 1, 3, 0);
	tick(&w);
	connect_to(&w, "7", 1);
	connect_ports_each(w.ports, count_left, &left);
	assert_string_equal(left.job, "7");
	assert_int_equal(left.n_ports, 2);
	connect_ports_free(w.ports);
}

/* put() checks that no port is given twice. */
static void
random_offers_keep_the_rules(void **state)
{
	static const char *const jobs[] = { "a", "b", "c" };
	struct rng rng;

	(void)state;
	rng_init(&rng, 8);
	for (int round = 0; round < 20; round++) {
		struct world w;

		world_init(&w);
		for (int i = 0; i < 300; i++) {
			const char *job = jobs[rng_below(&rng, 3)];
			unsigned destination = (unsigned)rng_below(&rng, 3);
			unsigned port = (unsigned)rng_below(&rng, N_PORTS);

			switch (rng_below(&rng, 5)) {
			case 0:
				take(&w, job, destination, rng_below(&rng, 17), port);
				break;
			case 1:
				connect_to(&w, job, destination);
				break;
			case 2:
				w.n_sockets[port] = 0;
				break;
			case 3:
				/* A program that binds it on purpose. */
				w.n_sockets[port]++;
				break;
			default:
				tick(&w);
			}
		}
		connect_ports_free(w.ports);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connections_get_the_ports_in_order),
		cmocka_unit_test(offers_end),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(two_jobs_share_no_port_for_a_destination),
		cmocka_unit_test(offers_are_listed_with_what_is_left),
		cmocka_unit_test(random_offers_keep_the_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
