/* SPDX-License-Identifier: Apache-2.0 */
/* test_connect_offers.c - ports for new connections are offered as the plan has paths */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/wire/port_text.h"
#include "scheduler/daemon/connect_offers.h"
#include "scheduler/daemon/flow_table.h"
#include "tests/unit/test.h"

#define SECOND  INT64_C(1000000000)
#define FIRST   61750
#define N_PORTS 64
#define N_PATHS 4

/* A port takes the path (its number - FIRST) mod N_PATHS. */
struct world {
	struct connect_offers *offers;
	struct flow_table *flows;
	int64_t now_ns;
	enum path_wish wish;
	uint64_t revision;
	uint32_t paths[CONNECT_MAX_PORTS]; /* Of the plan. */
	size_t n_paths;
	size_t n_known; /* Ports from FIRST on that were probed. */
	bool is_settled, is_opened, is_closed;

	struct connect_message said; /* The last message. */
	size_t n_said;
};

static struct path_wishes
wishes(void *ctx, const char *job)
{
	const struct world *w = ctx;

	assert_string_equal(job, "7");
	return (struct path_wishes){ .wish = w->wish, .revision = w->revision };
}

static bool
is_settled(void *ctx, const struct port_flow *flow)
{
	assert_int_equal(flow->source_port, htons(41000));
	return ((const struct world *)ctx)->is_settled;
}

static size_t
paths_of(void *ctx, int64_t now_ns, const char *host, const struct flow_row *row,
	 struct path_switches *ret_paths, size_t max)
{
	const struct world *w = ctx;

	assert_true(now_ns == w->now_ns);
	assert_string_equal(host, "n1");
	assert_string_equal(row->job, "7");
	for (size_t i = 0; i < w->n_paths && i < max; i++)
		ret_paths[i] =
			(struct path_switches){ .switches = { w->paths[i] }, .n = 1 };
	return w->n_paths < max ? w->n_paths : max;
}

static size_t
find_ports(void *ctx, int64_t now_ns, const struct port_flow *flow,
	   const struct path_switches *path, uint16_t *ret_ports, size_t max)
{
	const struct world *w = ctx;
	size_t n = 0;

	assert_true(now_ns == w->now_ns);
	assert_int_equal(flow->destination_port, htons(5001));
	for (size_t i = 0; i < w->n_known && n < max; i++)
		if (i % N_PATHS == path->switches[0])
			ret_ports[n++] = htons((uint16_t)(FIRST + i));
	return n;
}

static void
announce(void *ctx, const char *topic, const char *text)
{
	struct world *w = ctx;

	assert_string_equal(topic, "connect/10.0.0.1/");
	assert_int_equal(connect_text_parse(text, strlen(text), &w->said, NULL), 0);
	assert_int_equal(w->said.destination_port, htons(5001));
	w->n_said++;
}

static void
world_init(struct world *w)
{
	*w = (struct world){ .now_ns = SECOND,
			     .wish = PATH_WISH_CHOSEN,
			     .revision = 1,
			     .paths = { 2 },
			     .n_paths = 1,
			     .n_known = N_PORTS,
			     .is_settled = true,
			     .is_opened = true };
	w->flows = flow_table_new();
	w->offers = connect_offers_new(
		&(struct connect_offers_opts){ .wishes = wishes,
					       .is_settled = is_settled,
					       .paths = paths_of,
					       .find_ports = find_ports,
					       .announce = announce,
					       .ctx = w });
}

static void
world_fini(struct world *w)
{
	connect_offers_free(w->offers);
	flow_table_free(w->flows);
}

static void
report(struct world *w)
{
	struct flow_rows rows = { .host = "n1", .range = { 61000, 61999 } };
	struct flow_row row = { .job = "7",
				.port = htons(41000),
				.is_opened = w->is_opened };
	char *text;

	port_text_end("10.0.0.1:41000", row.flow.source, &row.flow.source_port);
	port_text_end("10.0.1.1:5001", row.flow.destination,
		      &row.flow.destination_port);
	if (!w->is_closed)
		vec_push(&rows.rows, row);
	text = flow_text_write(&rows);
	assert_int_equal(flow_table_take(w->flows, w->now_ns, text, strlen(text), NULL),
			 0);
	free(text);
	flow_rows_fini(&rows);
}

static void
pass(struct world *w, int seconds)
{
	for (int i = 0; i < seconds; i++) {
		report(w);
		connect_offers_tick(w->offers, w->now_ns, w->flows);
		w->now_ns += SECOND;
	}
}

static uint32_t
path_of(const struct world *w, size_t i)
{
	return (uint32_t)(ntohs(w->said.ports[i]) - FIRST) % N_PATHS;
}

static void
a_destination_gets_ports_of_its_path(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	pass(&w, 1);
	assert_int_equal(w.n_said, 1);
	assert_string_equal(w.said.job, "7");
	assert_int_equal(w.said.n_ports, CONNECT_OFFERS_PORTS);
	for (size_t i = 0; i < w.said.n_ports; i++)
		assert_int_equal(path_of(&w, i), 2);
	assert_int_equal(connect_offers_counts(w.offers).n_offers, 1);
	assert_int_equal(connect_offers_counts(w.offers).n_ports, CONNECT_OFFERS_PORTS);
	/* Repeated, so that it does not end. */
	pass(&w, 60);
	assert_int_equal(w.n_said, 1 + 60 * SECOND / CONNECT_REPEAT_NS);
	world_fini(&w);
}

static void
several_flows_have_several_paths(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	w.paths[0] = 3;
	w.paths[1] = 1;
	w.paths[2] = 3;
	w.n_paths = 3;
	pass(&w, 1);
	assert_int_equal(w.said.n_ports, 4);
	assert_int_equal(path_of(&w, 0), 3);
	assert_int_equal(path_of(&w, 1), 1);
	assert_int_equal(path_of(&w, 2), 3);
	assert_int_equal(path_of(&w, 3), 3);
	for (size_t i = 0; i < 4; i++)
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(w.said.ports[i], w.said.ports[k]);
	/* The number of ports is limited. */
	w.n_paths = CONNECT_MAX_PORTS;
	w.revision++;
	pass(&w, 1);
	assert_int_equal(w.said.n_ports, CONNECT_MAX_PORTS);
	world_fini(&w);
}

static void
ports_come_as_they_are_found(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	w.n_known = 0;
	pass(&w, 20);
	assert_int_equal(w.n_said, 0);
	w.n_known = 8;
	pass(&w, 1);
	assert_int_equal(w.said.n_ports, 2);
	w.n_known = 16;
	pass(&w, 1);
	assert_int_equal(w.said.n_ports, 4);
	/* Forgotten, for instance with another fabric. */
	w.n_known = 0;
	w.revision++;
	pass(&w, 1);
	assert_int_equal(w.said.n_ports, 0);
	world_fini(&w);
}

static void
only_settled_connections_that_a_host_opened(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	w.is_opened = false;
	pass(&w, 5);
	w.is_opened = true;
	w.is_settled = false;
	pass(&w, 5);
	w.is_settled = true;
	w.wish = PATH_WISH_WAIT;
	pass(&w, 5);
	w.wish = PATH_WISH_OFF;
	pass(&w, 5);
	assert_int_equal(w.n_said, 0);
	assert_int_equal(connect_offers_counts(w.offers).n_offers, 0);
	world_fini(&w);
}

static void
an_offer_outlives_the_connection(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	pass(&w, 1);
	w.is_closed = true;
	pass(&w, 600);
	assert_int_equal(w.said.n_ports, 4);
	assert_int_equal(w.n_said, 1 + 600 * SECOND / CONNECT_REPEAT_NS);
	/* Not for ever. */
	w.now_ns += CONNECT_OFFERS_KEEP_NS;
	pass(&w, 5);
	assert_int_equal(w.said.n_ports, 0);
	assert_int_equal(connect_offers_counts(w.offers).n_offers, 0);
	world_fini(&w);
}

static void
another_plan_needs_other_ports(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	pass(&w, 1);
	w.paths[0] = 1;
	w.revision++;
	pass(&w, 1);
	assert_int_equal(w.said.n_ports, 4);
	assert_int_equal(path_of(&w, 0), 1);
	/* The connection is closed: which paths the new plan has is not known. */
	w.is_closed = true;
	w.revision++;
	pass(&w, 59);
	assert_int_equal(w.said.n_ports, 4);
	pass(&w, 5);
	assert_int_equal(w.said.n_ports, 0);
	/* The plan has no path for it. */
	w.is_closed = false;
	pass(&w, 1);
	assert_int_equal(w.said.n_ports, 4);
	w.n_paths = 0;
	w.revision++;
	pass(&w, 1);
	assert_int_equal(w.said.n_ports, 0);
	world_fini(&w);
}

static void
offers_are_withdrawn(void **state)
{
	static const enum path_wish over[] = { PATH_WISH_OFF, PATH_WISH_NONE };
	struct world w;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		world_init(&w);
		pass(&w, 1);
		w.wish = over[i];
		pass(&w, 1);
		assert_int_equal(w.said.n_ports, 0);
		/* Some times, as a message may be lost; then no more. */
		pass(&w, 100);
		assert_int_equal(w.n_said, 4);
		assert_int_equal(connect_offers_counts(w.offers).n_offers, 0);
		w.wish = PATH_WISH_CHOSEN;
		pass(&w, 1);
		assert_int_equal(w.said.n_ports, 4);
		/* Back before the withdrawal is over. */
		w.wish = over[i];
		pass(&w, 1);
		w.wish = PATH_WISH_CHOSEN;
		pass(&w, 1);
		assert_int_equal(w.said.n_ports, 4);
		pass(&w, 14);
		assert_int_equal(w.said.n_ports, 4);
		world_fini(&w);
	}
	/* Nothing is known of the job: a while as before, then no more. */
	world_init(&w);
	pass(&w, 1);
	w.wish = PATH_WISH_WAIT;
	w.is_closed = true;
	pass(&w, 59);
	assert_int_equal(w.said.n_ports, 4);
	pass(&w, 5);
	assert_int_equal(w.said.n_ports, 0);
	world_fini(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_destination_gets_ports_of_its_path),
		cmocka_unit_test(several_flows_have_several_paths),
		cmocka_unit_test(ports_come_as_they_are_found),
		cmocka_unit_test(only_settled_connections_that_a_host_opened),
		cmocka_unit_test(an_offer_outlives_the_connection),
		cmocka_unit_test(another_plan_needs_other_ports),
		cmocka_unit_test(offers_are_withdrawn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
