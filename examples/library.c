/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.c - an example of libantiphase: two rings over one link between two racks, as
 * in two-jobs.ini.  It routes them, finds the shift that keeps their bursts apart, and
 * simulates both, without and with it:
 *
 *	cc library.c $(pkg-config --cflags --libs antiphase) -o library && ./library
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine/engine.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "scheduler/core/profile/profile.h"
#include "scheduler/core/solve/pair.h"
#include "topology/collective.h"
#include "topology/gen.h"
#include "topology/route.h"

#define COMPUTE_MS 25
#define BYTES      125e6 /* That a host sends in an iteration. */
#define ITERATIONS 100

/* The ring of one job: its flows, each with its path. */
struct ring {
	struct collective_flows flows;
	uint32_t (*paths)[ROUTE_MAX_HOPS];
	struct engine_flow *sent; /* Points into 'paths'. */
};

static void
die(const char *what)
{
	fprintf(stderr, "library: %s\n", what);
	exit(EXIT_FAILURE);
}

static void
ring_init(struct ring *ring, const struct topo *topo, struct routes *routes,
	  const uint32_t hosts[2])
{
	/* An all-reduce on two hosts sends as much as its message out of each. */
	if (collective_make(topo, COLLECTIVE_RING, hosts, 2, BYTES, &ring->flows) < 0)
		die("no ring");
	ring->paths = calloc(ring->flows.n, sizeof(*ring->paths));
	ring->sent = calloc(ring->flows.n, sizeof(*ring->sent));
	if (!ring->paths || !ring->sent)
		die("out of memory");
	for (size_t i = 0; i < ring->flows.n; i++) {
		const struct collective_flow *flow = &ring->flows.flows[i];
		size_t n_links;

		if (routes_path(routes, flow->source, flow->destination, (uint16_t)i,
				ring->paths[i], &n_links) < 0)
			die("no path");
		ring->sent[i] = (struct engine_flow){ .links = ring->paths[i],
						      .n_links = (uint32_t)n_links,
						      .bytes = flow->bytes,
						      .weight = 1 };
	}
}

static void
ring_fini(struct ring *ring)
{
	free(ring->sent);
	free(ring->paths);
	collective_flows_fini(&ring->flows);
}

/* The mean iteration time of the first job if the second is later by 'shift_us'. */
static double
simulate_ms(const struct topo *topo, const struct ring rings[2], int64_t shift_us)
{
	double *capacity_bps = calloc(topo_n_links(topo), sizeof(*capacity_bps));
	struct engine_config config = { .capacity_bps = capacity_bps,
					.n_links = topo_n_links(topo) };
	struct engine_job_stats stats;
	struct engine *engine;

	if (!capacity_bps)
		die("out of memory");
	for (uint32_t i = 0; i < config.n_links; i++)
		capacity_bps[i] = topo_link(topo, i)->capacity_bps;
	engine = engine_new(&config);
	for (int j = 0; j < 2; j++) {
		struct engine_segment segments[2] = {
			{ .compute_ns = COMPUTE_MS * INT64_C(1000000) },
			{ .flows = rings[j].sent,
			  .n_flows = (uint32_t)rings[j].flows.n },
		};
		struct engine_job job = { .segments = segments,
					  .n_segments = 2,
					  .shift_ns = j ? shift_us * 1000 : 0,
					  .stop_ns = ENGINE_NEVER,
					  .max_iterations = ITERATIONS };
		uint32_t number;

		if (engine_add_job(engine, &job, &number) < 0)
			die("the engine refuses a job");
	}
	engine_run(engine, ENGINE_NEVER);
	engine_job_stats(engine, 0, &stats);
	engine_free(engine);
	free(capacity_bps);
	return stats.end_ns / 1e6 / (double)stats.n_iterations;
}

int
main(void)
{
	static const struct gen_leaf_spine fabric = {
		.n_leaves = 2, .hosts_per_leaf = 2, .n_spines = 1, .host_bps = 50e9
	};
	static const char *const names[2][2] = { { "h0", "h2" }, { "h1", "h3" } };
	struct profile_phase burst = { .start_us = COMPUTE_MS * 1000,
				       .duration_us = 20000,
				       .rate_bps = 50e9 };
	struct profile profile = { .period_us = (COMPUTE_MS + 20) * 1000,
				   .n_phases = 1,
				   .phases = &burst };
	struct pair_job pair = { .profile = &profile, .factor = 1 };
	struct strbuf link = STRBUF_EMPTY;
	struct pair_optimum optimum;
	struct ring rings[2];
	struct routes *routes;
	struct topo *topo;
	struct err err;

	if (gen_leaf_spine(&fabric, &topo, &err) < 0) {
		err_print(&err, stderr);
		return EXIT_FAILURE;
	}
	routes = routes_new(topo, 0);
	for (int j = 0; j < 2; j++) {
		uint32_t hosts[2];

		for (int k = 0; k < 2; k++)
			hosts[k] = topo_find_node(topo, names[j][k]);
		ring_init(&rings[j], topo, routes, hosts);
	}
	topo_link_name(topo, rings[0].paths[0][1], &link);
	if (pair_optimize(&pair, &pair, 50e9, &optimum) < 0)
		die("no shift");
	printf("shared link       %s\n", link.text);
	printf("shift             %.3f ms, +- %.3f ms\n",
	       (double)optimum.shift_us / 1e3, (double)optimum.slack_us / 1e3);
	printf("iteration         %.2f ms, shifted %.2f ms\n",
	       simulate_ms(topo, rings, 0), simulate_ms(topo, rings, optimum.shift_us));

	strbuf_free(&link);
	for (int j = 0; j < 2; j++)
		ring_fini(&rings[j]);
	routes_free(routes);
	topo_unref(topo);
	return EXIT_SUCCESS;
}
