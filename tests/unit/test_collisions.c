/* SPDX-License-Identifier: Apache-2.0 */
/* test_collisions.c - which flows meet on a link, and where else there is room */
#include <math.h>

#include "scheduler/live/collisions.h"
#include "scheduler/live/contention.h"
#include "scheduler/live/live.h"
#include "tests/unit/frames.h"
#include "tests/unit/test.h"
#include "topology/gen.h"
#include "topology/route.h"
#include "topology/topo.h"

#define T0     INT64_C(5000000)
#define N_JOBS 3

/* Job j is on hosts j and 3 + j, one of each leaf, and sends in its part of 100 ms. */
static const struct frames_square jobs[N_JOBS] = {
	{ 100, 0, 50, FRAMES_GBPS * 6 / 10 },
	{ 100, 30, 40, FRAMES_GBPS * 4 / 10 },
	{ 100, 20, 50, FRAMES_GBPS * 5 / 10 },
};

struct lab {
	struct topo *topo;
	struct routes *routes;
	struct live *live;
	struct contention found;
};

static void
lab_init(struct lab *lab, uint32_t n_spines, enum topo_balance balance, uint64_t seed)
{
	const struct gen_leaf_spine options = { .n_leaves = 2,
						.hosts_per_leaf = N_JOBS,
						.n_spines = n_spines,
						.host_bps = 1e9,
						.uplink_bps = 1e9,
						.balance = { 1, { balance } } };
	struct contention_opts opts = { .window_ms = 1000 };
	struct tele_frame frame = { 0 };

	assert_int_equal(gen_leaf_spine(&options, &lab->topo, NULL), 0);
	lab->routes = routes_new(lab->topo, seed);
	lab->live = live_new(NULL);
	for (int i = 0; i < 20; i++) {
		for (int h = 0; h < 2 * N_JOBS; h++) {
			const struct frames_square *job = &jobs[h % N_JOBS];
			char host[16], name[16];

			snprintf(host, sizeof host, "h%d", h);
			snprintf(name, sizeof name, "j%d", h % N_JOBS);
			frames_begin(&frame, TELE_RAW, host, T0 + 100 * i,
				     T0 + 100 * (i + 1), 0, (uint64_t)i);
			frames_add(&frame, "p0", 1e9, name, TELE_TX, frames_square,
				   job);
			frames_add(&frame, "p0", 1e9, name, TELE_RX, frames_square,
				   job);
			live_frame(lab->live, &frame);
		}
	}
	tele_fini(&frame);
	opts.topo = lab->topo;
	opts.routes = lab->routes;
	contention_find(lab->live, &opts, &lab->found);
}

static void
lab_fini(struct lab *lab)
{
	contention_fini(&lab->found);
	live_free(lab->live);
	routes_free(lab->routes);
	topo_unref(lab->topo);
}

static double
peak_of(const struct lab *lab, uint32_t link)
{
	for (size_t i = 0; i < lab->found.n_links; i++)
		if (lab->found.links[i].link == link)
			return lab->found.links[i].peak_bps;
	return 0;
}

/* The uplink of leaf 0 that a source port takes. */
static uint32_t
uplink_of(const struct lab *lab, const struct collision_flow *flow, uint16_t port)
{
	uint32_t links[ROUTE_MAX_HOPS];
	size_t n;

	assert_int_equal(routes_path(lab->routes, flow->source, flow->destination, port,
				     links, &n),
			 0);
	assert_int_equal(n, 4);
	return links[1];
}

/*
 * Looks for room by hand: the spine whose two links are least used has room if the
 * fuller one and the job's peak are within 1 Gb/s.
 */
static void
check_room(const struct lab *lab, const struct contention_link *link,
	   const struct collision_flow *flow, double job_bps)
{
	uint32_t links[ROUTE_MAX_HOPS], n_paths, here;
	double least = 1e300;
	size_t n;

	here = uplink_of(lab, flow, flow->port);
	for (uint32_t i = 0; i < flow->n_paths; i++) {
		double peak;

		assert_int_equal(routes_numbered_path(lab->routes, flow->source,
						      flow->destination, flow->port, i,
						      links, &n, &n_paths),
				 0);
		if (links[1] == here)
			continue;
		peak = fmax(peak_of(lab, links[1]), peak_of(lab, links[2]));
		least = fmin(least, peak);
	}
	assert_true(link->n_jobs >= 2);
	if (least + job_bps > 1e9 + 1) {
		assert_int_equal(flow->room_via, TOPO_NONE);
		assert_int_equal(flow->room_port, 0);
		return;
	}
	assert_int_not_equal(flow->room_via, TOPO_NONE);
	assert_int_not_equal(flow->room_via, flow->via);
	assert_int_equal(
		topo_link(lab->topo, uplink_of(lab, flow, flow->room_port))->to,
		flow->room_via);
}

static void
flows_that_meet_are_named_with_a_path_that_has_room(void **state)
{
	size_t n_met = 0, n_room = 0, n_full = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint32_t n_spines = 1 + (uint32_t)(seed % 3);
		struct lab lab;

		lab_init(&lab, n_spines, TOPO_BALANCE_HASH, seed);
		for (size_t i = 0; i < lab.found.n_links; i++) {
			const struct contention_link *link = &lab.found.links[i];
			struct collisions meeting;

			collisions_find(lab.live, lab.topo, lab.routes, NULL,
					&lab.found, link, &meeting);
			if (link->from_tier == 0 || link->to_tier == 0 ||
			    link->n_jobs < 2) {
				assert_int_equal(meeting.n, 0);
				continue;
			}
			/* Each ring crosses a link between switches once. */
			assert_int_equal(meeting.n, link->n_jobs);
			n_met++;
			for (size_t k = 0; k < meeting.n; k++) {
				const struct collision_flow *flow = &meeting.flows[k];

				assert_int_equal(flow->job, link->jobs[k].job);
				assert_int_equal(flow->n_paths, n_spines);
				check_room(&lab, link, flow, link->jobs[k].peak_bps);
				n_room += flow->room_via != TOPO_NONE;
				n_full += flow->room_via == TOPO_NONE;
			}
			collisions_fini(&meeting);
		}
		lab_fini(&lab);
	}
	assert_true(n_met > 20 && n_room > 10 && n_full > 10);
}

static void
nothing_collides_where_switches_spray(void **state)
{
	struct lab lab;

	(void)state;
	lab_init(&lab, 2, TOPO_BALANCE_SPRAY, 1);
	for (size_t i = 0; i < lab.found.n_links; i++) {
		struct collisions meeting;

		collisions_find(lab.live, lab.topo, lab.routes, NULL, &lab.found,
				&lab.found.links[i], &meeting);
		assert_int_equal(meeting.n, 0);
	}
	lab_fini(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows_that_meet_are_named_with_a_path_that_has_room),
		cmocka_unit_test(nothing_collides_where_switches_spray),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
