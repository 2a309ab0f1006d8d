/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "tests/unit/test.h"
#include "topology/diff.h"
#include "topology/gen.h"
#include "topology/observed.h"
#include "topology/topo.h"

/* The real cables, which a test may change. */
struct truth {
	struct diff_cable cables[256];
	bool is_down[256];
	size_t n;
};

static struct topo *
make_plan(void)
{
	const struct gen_leaf_spine options = {
		.n_leaves = 4, .hosts_per_leaf = 3, .n_spines = 2, .host_bps = 1e11
	};
	struct topo *topo;

	assert_int_equal(gen_leaf_spine(&options, &topo, NULL), 0);
	return topo;
}

static void
as_planned(const struct topo *plan, struct truth *truth)
{
	truth->n = 0;
	for (uint32_t i = 0; i < topo_n_links(plan); i++) {
		const struct topo_link *link = topo_link(plan, i);
		struct diff_cable *c = &truth->cables[truth->n];

		if (link->reverse < i)
			continue;
		memset(c, 0, sizeof *c);
		strcpy(c->a.node, topo_node(plan, link->from)->name);
		strcpy(c->a.port, link->from_port);
		strcpy(c->b.node, topo_node(plan, link->to)->name);
		strcpy(c->b.port, link->to_port);
		c->bps = link->capacity_bps;
		truth->is_down[truth->n++] = false;
	}
}

/* The initial state of each test: a plan, matching cables, no differences. */
struct fixture {
	struct topo *plan;
	struct truth truth;
	struct diff diff;
};

static int
set_up(void **state)
{
	struct fixture *f = xcalloc(1, sizeof *f);

	f->plan = make_plan();
	as_planned(f->plan, &f->truth);
	*state = f;
	return 0;
}

static int
tear_down(void **state)
{
	struct fixture *f = *state;

	diff_fini(&f->diff);
	topo_unref(f->plan);
	free(f);
	return 0;
}

static void
report_end(const struct truth *truth, size_t i, const struct diff_end *mine,
	   const struct diff_end *peer, struct observed_node *report)
{
	struct observed_port *port = observed_node_port(report, mine->port);

	port->state = truth->is_down[i] ? OBSERVED_STATE_DOWN : OBSERVED_STATE_UP;
	port->bps = truth->is_down[i] ? 0 : truth->cables[i].bps;
	if (truth->is_down[i])
		return;
	/* Every other port is an address with its name as the description. */
	if (i % 2)
		assert_int_equal(observed_port_add(port, peer->node,
						   "02:00:00:00:00:01", peer->port, 0,
						   OBSERVED_ROLE_UNKNOWN),
				 0);
	else
		assert_int_equal(observed_port_add(port, peer->node, peer->port, NULL,
						   0, OBSERVED_ROLE_UNKNOWN),
				 0);
}

/* Reports one node's true neighbors. */
static void
report(const struct truth *truth, const char *node, struct observed *seen)
{
	struct observed_node r;

	observed_node_init(&r, node);
	r.has_links = r.has_neighbours = true;
	r.heard_us = 1000000;
	for (size_t i = 0; i < truth->n; i++) {
		const struct diff_cable *c = &truth->cables[i];

		if (strcmp(c->a.node, node) == 0)
			report_end(truth, i, &c->a, &c->b, &r);
		if (strcmp(c->b.node, node) == 0)
			report_end(truth, i, &c->b, &c->a, &r);
	}
	assert_int_equal(observed_update(seen, &r, NULL, NULL), 0);
	observed_node_fini(&r);
}

/* Compares after the nodes of this kind (all: -1) have reported. */
static void
compare(struct fixture *f, int kind)
{
	const struct diff_opts opts = { .now_us = 1000000 };
	struct observed *seen = observed_new();

	for (uint32_t i = 0; i < topo_n_nodes(f->plan); i++) {
		const struct topo_node *node = topo_node(f->plan, i);

		if (kind < 0 || (int)node->kind == kind)
			report(&f->truth, node->name, seen);
	}
	diff_fini(&f->diff);
	diff_make(f->plan, seen, &opts, &f->diff);
	observed_free(seen);
}

static void
swap_ends(struct diff_end *a, struct diff_end *b)
{
	struct diff_end was = *a;

	*a = *b;
	*b = was;
}

static void
what_is_as_planned_has_no_differences(void **state)
{
	struct fixture *f = *state;

	compare(f, -1);
	assert_int_equal(f->diff.findings.n, 0);
	assert_int_equal(f->diff.n_cables, 4 * 3 + 4 * 2);
	assert_int_equal(f->diff.n_compared, f->diff.n_cables);
	assert_int_equal(f->diff.n_heard, topo_n_nodes(f->plan));
	assert_int_equal(f->diff.n_renamed, 0);
}

static void
where_nobody_reports_nothing_is_missing(void **state)
{
	struct fixture *f = *state;

	compare(f, TOPO_HOST);
	assert_int_equal(f->diff.findings.n, 0);
	assert_int_equal(f->diff.n_compared, 12);
	assert_int_equal(f->diff.n_cables, 20);
}

static void
two_cables_crossed_are_one_finding(void **state)
{
	struct fixture *f = *state;

	swap_ends(&f->truth.cables[0].b, &f->truth.cables[1].b);
	for (int kind = -1; kind <= TOPO_HOST; kind++) {
		compare(f, kind);
		assert_int_equal(f->diff.findings.n, 1);
		assert_int_equal(f->diff.findings.items[0].kind, DIFF_SWAPPED);
		assert_int_equal(f->diff.findings.items[0].n_plan, 2);
		assert_int_equal(f->diff.findings.items[0].n_seen, 2);
		assert_string_equal(f->diff.findings.items[0].plan[0].a.node, "h0");
		assert_string_equal(f->diff.findings.items[0].plan[1].a.node, "h1");
	}
}

static void
three_in_a_ring_are_moved_each(void **state)
{
	struct fixture *f = *state;

	swap_ends(&f->truth.cables[0].b, &f->truth.cables[1].b);
	swap_ends(&f->truth.cables[1].b, &f->truth.cables[2].b);
	compare(f, -1);
	assert_int_equal(f->diff.findings.n, 3);
	for (size_t i = 0; i < f->diff.findings.n; i++)
		assert_int_equal(f->diff.findings.items[i].kind, DIFF_MOVED);
	assert_int_equal(f->diff.findings.items[2].n_plan, 1);
}

static void
a_cable_in_a_free_port_is_moved(void **state)
{
	struct fixture *f = *state;

	strcpy(f->truth.cables[4].b.port, "p77");
	compare(f, -1);
	assert_int_equal(f->diff.findings.n, 1);
	assert_int_equal(f->diff.findings.items[0].kind, DIFF_MOVED);
	assert_int_equal(f->diff.findings.items[0].n_plan, 1);
	assert_string_equal(f->diff.findings.items[0].seen[0].b.port, "p77");
}

static void
a_port_without_link_is_down_not_missing(void **state)
{
	struct fixture *f = *state;

	f->truth.is_down[5] = true;
	compare(f, TOPO_HOST);
	assert_int_equal(f->diff.findings.n, 1);
	assert_int_equal(f->diff.findings.items[0].kind, DIFF_DOWN);
	assert_string_equal(f->diff.findings.items[0].down.node, "h5");
}

static void
another_speed_is_told_but_not_an_encoding(void **state)
{
	struct fixture *f = *state;

	f->truth.cables[3].bps = 25e9;
	f->truth.cables[4].bps *= 0.97;
	compare(f, TOPO_SWITCH);
	assert_int_equal(f->diff.findings.n, 1);
	assert_int_equal(f->diff.findings.items[0].kind, DIFF_SPEED);
	assert_near(f->diff.findings.items[0].plan[0].bps, 1e11, 1);
	assert_near(f->diff.findings.items[0].seen[0].bps, 25e9, 1);
}

static void
another_network_is_outside(void **state)
{
	struct fixture *f = *state;

	f->truth.cables[f->truth.n++] =
		(struct diff_cable){ { "h0", "eno1" }, { "office", "1/7" }, 1e9 };
	f->truth.is_down[f->truth.n - 1] = false;
	compare(f, -1);
	assert_int_equal(f->diff.findings.n, 0);
	assert_int_equal(f->diff.n_outside, 1);
}

static void
numbered_ports_match_by_their_neighbours(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < f->truth.n; i++) {
		snprintf(f->truth.cables[i].a.port, TOPO_MAX_NAME, "eth%zu", i);
		snprintf(f->truth.cables[i].b.port, TOPO_MAX_NAME, "Ethernet%zu", i);
	}
	compare(f, -1);
	assert_int_equal(f->diff.findings.n, 0);
	assert_int_equal(f->diff.n_renamed, 20);
	/* A host on another leaf is wrong under any name. */
	swap_ends(&f->truth.cables[0].b, &f->truth.cables[3].b);
	compare(f, -1);
	assert_true(f->diff.findings.n > 0);
	assert_int_equal(f->diff.n_renamed, 18);
}

static void
an_old_report_is_not_used(void **state)
{
	struct fixture *f = *state;
	const struct diff_opts opts = { .now_us = 100000000, .max_age_us = 60000000 };
	struct observed *seen = observed_new();

	f->truth.n = 0;
	report(&f->truth, "h0", seen);
	diff_make(f->plan, seen, &opts, &f->diff);
	assert_int_equal(f->diff.findings.n, 0);
	assert_int_equal(f->diff.n_compared, 0);
	assert_int_equal(f->diff.n_old, 1);
	observed_free(seen);
}

/* Makes random faults at intact cables; exactly these must be found. */
static void
every_fault_made_is_found_once_and_nothing_else(void **state)
{
	struct fixture *f = *state;
	struct rng rng;

	for (uint64_t seed = 0; seed < 300; seed++) {
		uint32_t want[N_DIFFS] = { 0 };
		bool is_used[256] = { false };

		rng_init(&rng, seed);
		as_planned(f->plan, &f->truth);
		for (int k = 0; k < 5; k++) {
			size_t i = rng_below(&rng, 20), j = rng_below(&rng, 20);
			int what = (int)rng_below(&rng, N_DIFFS);

			if (is_used[i] ||
			    (what == DIFF_SWAPPED && (is_used[j] || i == j)))
				continue;
			is_used[i] = true;
			if (what == DIFF_SWAPPED) {
				/* But not so that a cable returns to its own node. */
				if (strcmp(f->truth.cables[i].a.node,
					   f->truth.cables[j].b.node) == 0 ||
				    strcmp(f->truth.cables[j].a.node,
					   f->truth.cables[i].b.node) == 0)
					continue;
				is_used[j] = true;
				swap_ends(&f->truth.cables[i].b, &f->truth.cables[j].b);
			} else if (what == DIFF_MOVED) {
				snprintf(f->truth.cables[i].b.port, TOPO_MAX_NAME,
					 "q%zu", i);
			} else if (what == DIFF_SPEED) {
				f->truth.cables[i].bps /= 2;
			} else if (what == DIFF_DOWN) {
				f->truth.is_down[i] = true;
			} else if (what == DIFF_MISSING) {
				/* Frees its ports without renumbering. */
				strcpy(f->truth.cables[i].a.node, "gone");
				strcpy(f->truth.cables[i].b.node, "gone");
			} else {
				f->truth.is_down[f->truth.n] = false;
				f->truth.cables[f->truth.n] = (struct diff_cable){
					{ "h0", "" }, { "spine1", "" }, 1e9
				};
				snprintf(f->truth.cables[f->truth.n].a.port, 16, "x%d",
					 k);
				snprintf(f->truth.cables[f->truth.n].b.port, 16, "x%d",
					 k);
				f->truth.n++;
			}
			want[what]++;
		}
		compare(f, -1);
		for (int i = 0; i < N_DIFFS; i++) {
			if (f->diff.n_of_kind[i] != want[i])
				fail_msg("seed %d: %u %s instead of %u", (int)seed,
					 f->diff.n_of_kind[i], diff_kind_names[i],
					 want[i]);
		}
		assert_int_equal(f->diff.n_compared, 20);
	}
}

/* Enough ports to reach the limit; repeated reports must not use room. */
static void
reports_take_bounded_room(void **state)
{
	struct observed *seen = observed_new();

	(void)state;
	for (int i = 0; i <= OBSERVED_MAX_ITEMS / (OBSERVED_MAX_PORTS / 2); i++) {
		struct observed_node report;

		observed_node_init(&report, "n0");
		report.has_links = report.has_neighbours = true;
		for (int port = 0; port < OBSERVED_MAX_PORTS / 4; port++) {
			char name[16];

			snprintf(name, sizeof name, "p%04d", port);
			observed_port_add(observed_node_port(&report, name), "n1", name,
					  NULL, 0, OBSERVED_ROLE_UNKNOWN);
		}
		assert_int_equal(observed_update(seen, &report, NULL, NULL), 0);
		observed_node_fini(&report);
	}
	observed_free(seen);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_as_planned_has_no_differences,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(where_nobody_reports_nothing_is_missing,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(two_cables_crossed_are_one_finding,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(three_in_a_ring_are_moved_each, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_cable_in_a_free_port_is_moved, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_port_without_link_is_down_not_missing,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			another_speed_is_told_but_not_an_encoding, set_up, tear_down),
		cmocka_unit_test_setup_teardown(another_network_is_outside, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			numbered_ports_match_by_their_neighbours, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_old_report_is_not_used, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			every_fault_made_is_found_once_and_nothing_else, set_up,
			tear_down),
		cmocka_unit_test(reports_take_bounded_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
