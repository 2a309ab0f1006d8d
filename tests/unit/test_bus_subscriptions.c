/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "lib/base/rng.h"
#include "lib/wire/bus_subscriptions.h"
#include "tests/unit/test.h"

#define N_PEERS    4
#define N_PREFIXES 40

static void
tables_follow_a_naive_model(void **state)
{
	struct bus_subscriptions *wants = bus_subscriptions_new(1 << 20, 1 << 20);
	struct bus_subscriber *peers[N_PEERS];
	bool held[N_PEERS][N_PREFIXES] = { { false } };
	struct rng rng;

	(void)state;
	rng_init(&rng, 7);
	for (size_t i = 0; i < N_PEERS; i++)
		peers[i] = bus_subscriptions_connect(wants);
	for (size_t step = 0; step < 20000; step++) {
		size_t i = rng_below(&rng, N_PEERS), k = rng_below(&rng, N_PREFIXES);
		size_t n_holders = 0, n_held = 0;
		char prefix[16];
		size_t n = (size_t)snprintf(prefix, sizeof prefix, "r/%zu/", k);
		bool is_changed;

		for (size_t j = 0; j < N_PEERS; j++)
			n_holders += held[j][k];
		if (rng_below(&rng, 50) == 0) {
			/* The end of a connection, in ZeroMQ's words. */
			for (size_t p = 0; p < N_PREFIXES; p++) {
				n = (size_t)snprintf(prefix, sizeof prefix, "r/%zu/",
						     p);
				if (held[i][p])
					bus_subscriptions_drop(wants, prefix, n);
				held[i][p] = false;
			}
			bus_subscriptions_disconnect(wants, peers[i]);
			peers[i] = bus_subscriptions_connect(wants);
		} else if (rng_below(&rng, 2)) {
			is_changed = bus_subscriptions_add(wants, peers[i], prefix, n);
			assert_int_equal(is_changed, n_holders == 0);
			held[i][k] = true;
		} else {
			is_changed =
				bus_subscriptions_remove(wants, peers[i], prefix, n);
			assert_int_equal(is_changed, held[i][k] && n_holders == 1);
			held[i][k] = false;
		}
		n_holders = 0;
		for (size_t p = 0; p < N_PREFIXES; p++) {
			bool is_held = false;

			for (size_t j = 0; j < N_PEERS; j++) {
				is_held |= held[j][p];
				n_held += held[j][p];
			}
			n_holders += is_held;
			n = (size_t)snprintf(prefix, sizeof prefix, "r/%zu/x", p);
			assert_int_equal(bus_subscriptions_match(wants, prefix, n),
					 is_held);
		}
		assert_int_equal(bus_subscriptions_any(wants), n_holders > 0);
		assert_in_range(bus_subscriptions_bytes(wants),
				n_held * BUS_SUBSCRIPTIONS_OVERHEAD,
				n_held * (BUS_SUBSCRIPTIONS_OVERHEAD + 5));
	}
	bus_subscriptions_free(wants);
}

static void
a_peer_above_its_limit_is_named_once(void **state)
{
	struct bus_subscriptions *wants = bus_subscriptions_new(200, 100000);
	struct bus_subscriber *one = bus_subscriptions_connect(wants),
			      *two = bus_subscriptions_connect(wants);
	const char *why = NULL;
	char prefix[8];

	(void)state;
	bus_subscriptions_add(wants, two, "s/", 2);
	for (int i = 0; i < 6; i++) {
		snprintf(prefix, sizeof prefix, "r/%04d/", i);
		bus_subscriptions_add(wants, one, prefix, 7);
		assert_null(bus_subscriptions_excess(wants, &why));
	}
	bus_subscriptions_add(wants, one, "more", 4);
	assert_ptr_equal(bus_subscriptions_excess(wants, &why), one);
	assert_non_null(why);
	assert_null(bus_subscriptions_excess(wants, &why));
	bus_subscriptions_free(wants);
}

static void
of_all_together_the_one_that_asks_for_most_is_named(void **state)
{
	struct bus_subscriptions *wants = bus_subscriptions_new(10000, 300);
	struct bus_subscriber *one = bus_subscriptions_connect(wants),
			      *two = bus_subscriptions_connect(wants);
	const char *why;
	char prefix[8];

	(void)state;
	for (int i = 0; i < 10; i++) {
		snprintf(prefix, sizeof prefix, "r/%04d/", i);
		bus_subscriptions_add(wants, two, prefix, 7);
	}
	assert_ptr_equal(bus_subscriptions_excess(wants, &why), two);
	/* Until the connection of 'two' ends, the others have room. */
	bus_subscriptions_add(wants, one, "s/", 2);
	assert_null(bus_subscriptions_excess(wants, &why));
	bus_subscriptions_free(wants);
}

static void
misuse_is_named(void **state)
{
	struct bus_subscriptions *wants = bus_subscriptions_new(4800, 100000);
	struct bus_subscriber *one = bus_subscriptions_connect(wants),
			      *two = bus_subscriptions_connect(wants);
	const char *why;

	(void)state;
	bus_subscriptions_add(wants, one, "s/", 2);
	for (int i = 0; i < 256; i++)
		bus_subscriptions_add(wants, one, "s/", 2);
	assert_null(bus_subscriptions_excess(wants, &why));
	bus_subscriptions_remove(wants, one, "x", 1);
	assert_ptr_equal(bus_subscriptions_excess(wants, &why), one);

	/* On and off: as often as the peer may hold topics, in a second. */
	for (int i = 0; i < 401; i++) {
		bus_subscriptions_add(wants, two, "s/", 2);
		bus_subscriptions_remove(wants, two, "s/", 2);
		if (i == 199)
			bus_subscriptions_second(wants);
		assert_int_equal(bus_subscriptions_excess(wants, &why) == two,
				 i == 400);
	}
	bus_subscriptions_free(wants);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_follow_a_naive_model),
		cmocka_unit_test(a_peer_above_its_limit_is_named_once),
		cmocka_unit_test(of_all_together_the_one_that_asks_for_most_is_named),
		cmocka_unit_test(misuse_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
