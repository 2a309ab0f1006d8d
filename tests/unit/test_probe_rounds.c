/* SPDX-License-Identifier: Apache-2.0 */
/* test_probe_rounds.c - the probes of one order against switches that limit answers */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "collector/paths/probe_rounds.h"
#include "lib/base/rng.h"
#include "tests/unit/test.h"

#define SECOND INT64_C(1000000000)
#define MS     INT64_C(1000000)

/* Switches answer with the address HOP.PORT-NUMBER. */
struct world {
	struct probe_rounds rounds;
	int64_t now_ns;
	double tokens[PROBE_MAX_HOP + 1]; /* By hop: answers that it may give now. */
	double burst, a_second;
	unsigned silent_hop;           /* Never answers; 0: none. */
	unsigned distance;             /* The destination is beyond this hop. */
	uint8_t sent[PROBE_MAX_PORTS]; /* Hop of the packet on its way; 0: none. */
	int failing;                   /* Port number that cannot be sent; -1: none. */
	size_t n_sent;
	unsigned highest;
};

static int
on_send(void *ctx, size_t i, const struct probe_message *message, uint8_t hop)
{
	struct world *w = ctx;

	assert_int_equal(w->sent[i], 0);
	assert_int_equal(message->ports[i].state, PROBE_ASKED);
	if ((int)i == w->failing)
		return -EADDRINUSE;
	w->sent[i] = hop;
	w->n_sent++;
	if (hop > w->highest)
		w->highest = hop;
	return 0;
}

static void
on_end(void *ctx, size_t i)
{
	struct world *w = ctx;

	assert_true(w->sent[i]);
	w->sent[i] = 0;
}

static void
begin(struct world *w, size_t n_ports, uint8_t first, uint8_t last)
{
	const struct probe_rounds_io io = { w, on_send, on_end };
	struct probe_message order = { .number = 5 };

	for (uint8_t hop = first; hop <= last; hop++)
		order.hops[order.n_hops++] = hop;
	for (size_t i = 0; i < n_ports; i++)
		order.ports[order.n_ports++].port = htons((uint16_t)(61000 + i));
	for (size_t i = 0; i <= PROBE_MAX_HOP; i++)
		w->tokens[i] = w->burst;
	probe_rounds_begin(&w->rounds, w->now_ns, &io, &order);
}

/* One packet that is on its way gets its answer, if it gets one. */
static bool
answer(struct world *w, size_t i)
{
	uint8_t address[16] = { 0xfd }, hop = w->sent[i];

	if (hop > w->distance) {
		probe_rounds_reached(&w->rounds, i);
		return true;
	}
	if (hop == w->silent_hop || w->tokens[hop] < 1)
		return false;
	w->tokens[hop] -= 1;
	address[14] = hop;
	address[15] = (uint8_t)i;
	probe_rounds_hop(&w->rounds, w->now_ns, i, address);
	return true;
}

static void
run(struct world *w, int64_t most_ns)
{
	int64_t until_ns = w->now_ns + most_ns;

	while (!probe_rounds_are_over(&w->rounds)) {
		bool is_on;

		do {
			is_on = false;
			for (size_t i = 0; i < w->rounds.message.n_ports; i++)
				is_on |= w->sent[i] && answer(w, i);
		} while (is_on);
		w->now_ns += 50 * MS;
		assert_true(w->now_ns <= until_ns);
		for (size_t hop = 0; hop <= PROBE_MAX_HOP; hop++) {
			w->tokens[hop] += 0.05 * w->a_second;
			if (w->tokens[hop] > w->burst)
				w->tokens[hop] = w->burst;
		}
		probe_rounds_tick(&w->rounds, w->now_ns);
	}
	for (size_t i = 0; i < w->rounds.message.n_ports; i++)
		assert_int_equal(w->sent[i], 0);
}

static void
check_found(const struct world *w, size_t i)
{
	const struct probe_message *m = &w->rounds.message;

	assert_int_equal(m->ports[i].state, PROBE_FOUND);
	assert_int_equal(m->ports[i].n_addresses, m->n_hops);
	for (size_t k = 0; k < m->n_hops; k++) {
		assert_int_equal(m->ports[i].addresses[k][14], m->hops[k]);
		assert_int_equal(m->ports[i].addresses[k][15], i);
	}
}

static void
ports_are_probed_hop_by_hop(void **state)
{
	struct world w = { .burst = 1e9, .distance = 3, .failing = -1 };

	(void)state;
	begin(&w, 16, 1, 3);
	run(&w, SECOND);
	for (size_t i = 0; i < 16; i++)
		check_found(&w, i);
	assert_int_equal(w.n_sent, 48);
	assert_int_equal(w.rounds.n_packets, 48);
	assert_true(w.rounds.message.is_answer);
	assert_int_equal(w.rounds.message.number, 5);
}

/* As Linux: 6 at once, then one a second. */
static void
a_limit_of_answers_is_waited_for(void **state)
{
	struct world w = { .burst = 6, .a_second = 1, .distance = 3, .failing = -1 };

	(void)state;
	begin(&w, 16, 1, 1);
	run(&w, 12 * SECOND);
	for (size_t i = 0; i < 16; i++)
		check_found(&w, i);
}

static void
a_switch_that_does_not_answer_is_given_up(void **state)
{
	struct world w = {
		.burst = 1e9, .distance = 4, .silent_hop = 2, .failing = -1
	};

	(void)state;
	begin(&w, 8, 1, 4);
	run(&w, 6 * SECOND);
	for (size_t i = 0; i < 8; i++) {
		assert_int_equal(w.rounds.message.ports[i].state, PROBE_SILENT);
		assert_int_equal(w.rounds.message.ports[i].n_addresses, 1);
	}
	/* Nothing is sent beyond it. */
	assert_int_equal(w.highest, 2);
	assert_int_equal(w.n_sent, 8 + 8 * (PROBE_MAX_IDLE + 1));
}

static void
a_packet_that_arrives_ends_everything(void **state)
{
	struct world w = { .burst = 1e9, .distance = 1, .failing = -1 };
	size_t n_reached = 0;

	(void)state;
	begin(&w, 8, 1, 3);
	run(&w, SECOND);
	for (size_t i = 0; i < 8; i++)
		n_reached += w.rounds.message.ports[i].state == PROBE_REACHED;
	assert_int_equal(n_reached, 8);
	assert_true(w.highest <= 2);
}

static void
a_port_that_cannot_be_sent_has_failed(void **state)
{
	struct world w = { .burst = 1e9, .distance = 3, .failing = 2 };

	(void)state;
	begin(&w, 4, 2, 2);
	run(&w, SECOND);
	for (size_t i = 0; i < 4; i++)
		if (i == 2)
			assert_int_equal(w.rounds.message.ports[i].state, PROBE_FAILED);
		else
			check_found(&w, i);
	begin(&w, 4, 2, 2);
	probe_rounds_failed(&w.rounds, 0);
	probe_rounds_stop(&w.rounds);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(w.rounds.message.ports[i].state, PROBE_FAILED);
		assert_int_equal(w.sent[i], 0);
	}
}

static void
random_worlds_end(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 4);
	for (int round = 0; round < 300; round++) {
		struct world w = { .burst = (double)(1 + rng_below(&rng, 20)),
				   .a_second = (double)(1 + rng_below(&rng, 5)),
				   .distance = 1 + (unsigned)rng_below(&rng, 8),
				   .failing = (int)rng_below(&rng, 20) };
		uint8_t first = (uint8_t)(1 + rng_below(&rng, w.distance));
		uint8_t last =
			(uint8_t)(first + rng_below(&rng, w.distance - first + 1));
		size_t n = 1 + rng_below(&rng, 40);

		begin(&w, n, first, last);
		run(&w, (60 + (int64_t)n) * 5 * SECOND);
		for (size_t i = 0; i < n; i++)
			if ((int)i != w.failing)
				check_found(&w, i);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_are_probed_hop_by_hop),
		cmocka_unit_test(a_limit_of_answers_is_waited_for),
		cmocka_unit_test(a_switch_that_does_not_answer_is_given_up),
		cmocka_unit_test(a_packet_that_arrives_ends_everything),
		cmocka_unit_test(a_port_that_cannot_be_sent_has_failed),
		cmocka_unit_test(random_worlds_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
