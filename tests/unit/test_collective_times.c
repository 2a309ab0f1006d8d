/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_collective_times.c - the time of collectives in the engine, against closed forms
 *
 * The fabrics have no collisions, so the closed forms are exact: a star (one leaf), and
 * two leaves of 8 hosts over one spine, 2:1 oversubscribed.  With W ranks, a message
 * of S bytes and interfaces of B bytes a second, S / B is one second here.  Sources:
 *
 *	ring            2 (W-1)/W S/B: Patarasuk and Yuan 2009, "Bandwidth optimal
 *	                all-reduce algorithms for clusters of workstations"; half of it
 *	                for reduce-scatter and for all-gather
 *	binomial tree   L S/B a broadcast or reduce, L = log2 W rounded up: Thakur,
 *	                Rabenseifner and Gropp 2005, "Optimization of Collective
 *	                Communication Operations in MPICH"
 *	halving and     2 (W-1)/W S/B, and 2 S/B more if W is no power of two: the same,
 *	doubling        and Rabenseifner 2004
 *	all-to-all      (W-1)/W S/B: the same, pairwise exchange
 *	hierarchical    2 (m-1)/m S/B + 2 (l-1)/l S/B + S/B: the sum of its parts (the idea: Jia
 *	                et al. 2018, "Highly Scalable Deep Learning Training System with
 *	                Mixed-Precision")
 *
 * On two leaves a step in which all m hosts of a leaf send to the other one takes o = 2
 * times as long, as o hosts share the uplinks that one could fill.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "scheduler/core/workload/workload_ini.h"
#include "tests/unit/test.h"
#include "topology/route.h"
#include "topology/topo.h"

#define STAR "leaf-spine --leaves 1 --hosts-per-leaf 16 --spines 1 --slots 8 --gbps 100"
#define TWO_LEAVES                                                                  \
	"leaf-spine --leaves 2 --hosts-per-leaf 8 --spines 1 --slots 8 --gbps 100 " \
	"--uplink-gbps 400"
#define S "12500 MB"

static void
note_end(void *ctx, uint32_t job, uint64_t iteration, double start_ns, double end_ns)
{
	(void)job;
	(void)iteration;
	*(double *)ctx = end_ns - start_ns;
}

/* Seconds of one iteration of a job with these lines. */
static double
seconds_of(const char *fabric, const char *lines)
{
	char text[1024];
	struct scenario *scenario;
	struct topo *topo = NULL;
	struct routes *routes;
	struct routed_job routed;
	struct work_job *job;
	struct engine *engine;
	double *capacity_bps, ns = 0;
	struct engine_config config = { .observer = { .ctx = &ns,
						      .on_iteration = note_end } };
	struct err err;
	uint32_t id;

	snprintf(text, sizeof text, "[fabric]\ngenerate = %s\n[job j]\n%s\n", fabric,
		 lines);
	if (scenario_parse("s.ini", text, strlen(text), NULL, &scenario, &err) < 0 ||
	    scenario_fabric(scenario, NULL, &topo, &err) < 0 ||
	    scenario_bind(scenario, topo, &err) < 0) {
		err_print(&err, stderr);
		fail();
	}
	job = &scenario->workload.jobs[0];
	job->max_iterations = 1;
	routes = routes_new(topo, 1);
	capacity_bps = xcalloc(topo_n_links(topo), sizeof *capacity_bps);
	for (uint32_t i = 0; i < topo_n_links(topo); i++)
		capacity_bps[i] = topo_link(topo, i)->capacity_bps;
	config.capacity_bps = capacity_bps;
	config.n_links = topo_n_links(topo);
	engine = engine_new(&config);
	assert_int_equal(routed_job_make(job, job->hosts, topo, routes, &routed), 0);
	assert_int_equal(routed_job_add(job, &routed, engine, 0, ENGINE_PACE_FREE, &id),
			 0);
	engine_run(engine, ENGINE_NEVER);
	assert_true(ns > 0);
	engine_free(engine);
	routed_job_fini(&routed);
	free(capacity_bps);
	routes_free(routes);
	topo_unref(topo);
	scenario_free(scenario);
	return ns / 1e9;
}

static void
assert_takes(const char *fabric, const char *lines, double want_s)
{
	double s = seconds_of(fabric, lines);

	if (!(fabs(s - want_s) <= 1e-9 * want_s)) {
		fprintf(stderr, "%s\n%s\ntakes %.12g s, not %.12g\n", fabric, lines, s,
			want_s);
		fail();
	}
}

static void
collectives_on_a_star_take_what_the_textbooks_say(void **state)
{
	static const struct {
		const char *segment;
		unsigned w;
		double want_s;
	} cases[] = {
		{ "allreduce " S, 16, 2 * 15 / 16.0 },
		{ "allreduce " S " ring", 16, 2 * 15 / 16.0 },
		{ "allreduce " S " ring", 5, 2 * 4 / 5.0 },
		{ "allreduce " S " tree", 16, 2 * 4 },
		{ "allreduce " S " tree", 11, 2 * 4 },
		{ "allreduce " S " halving-doubling", 16, 2 * 15 / 16.0 },
		{ "allreduce " S " halving-doubling", 2, 2 * 1 / 2.0 },
		{ "allreduce " S " halving-doubling", 12, 2 * 7 / 8.0 + 2 },
		{ "allreduce " S " hierarchical", 16, 2 * 15 / 16.0 },
		{ "reducescatter " S, 16, 15 / 16.0 },
		{ "reducescatter " S, 7, 6 / 7.0 },
		{ "reducescatter " S " halving-doubling", 8, 7 / 8.0 },
		{ "allgather " S, 16, 15 / 16.0 },
		{ "allgather " S " halving-doubling", 16, 15 / 16.0 },
		{ "alltoall " S, 16, 15 / 16.0 },
		{ "alltoall " S, 3, 2 / 3.0 },
		{ "broadcast " S, 16, 1 },
		{ "broadcast " S " tree", 16, 4 },
		{ "broadcast " S " tree", 9, 4 },
		{ "send " S " 3->1", 16, 1 },
		{ "send " S " 3->1 at 50 Gb/s", 16, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char lines[256];

		snprintf(lines, sizeof lines, "hosts = h[0-%u]\nsegment = %s",
			 cases[i].w - 1, cases[i].segment);
		assert_takes(STAR, lines, cases[i].want_s);
	}
}

static void
collectives_on_two_leaves_take_longer_where_all_hosts_cross(void **state)
{
	static const struct {
		const char *segment;
		double want_s;
	} cases[] = {
		{ "allreduce " S, 2 * 15 / 16.0 },
		{ "allreduce " S " tree", 2 * 4 },
		/* Only the step over 8 hosts, of S/16, crosses: (o-1) S/16 twice. */
		{ "allreduce " S " halving-doubling", 2 * 15 / 16.0 + 2 / 16.0 },
		{ "allreduce " S " hierarchical", 2 * 7 / 8.0 + 2 * 1 / 2.0 + 1 },
		{ "reducescatter " S, 15 / 16.0 },
		{ "reducescatter " S " halving-doubling", 15 / 16.0 + 1 / 16.0 },
		{ "allgather " S, 15 / 16.0 },
		{ "allgather " S " halving-doubling", 15 / 16.0 + 1 / 16.0 },
		/* Half of each host's message crosses: o (W-m)/W. */
		{ "alltoall " S, 2 * 8 / 16.0 },
		{ "broadcast " S, 1 },
		{ "broadcast " S " tree", 4 },
		{ "send " S " 0->15", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char lines[256];

		snprintf(lines, sizeof lines, "hosts = h[0-15]\nsegment = %s",
			 cases[i].segment);
		assert_takes(TWO_LEAVES, lines, cases[i].want_s);
	}
}

/* 16 hosts of 8 ranks: tp within hosts, dp of 8 over the hosts of a leaf, 2 stages. */
#define LLM "hosts = h[0-15]\nslots = 8\ntp = 8\npp = 2\ndp = 8\nep = 4\nsegment = "

static void
groups_of_one_kind_run_at_the_same_time(void **state)
{
	(void)state;
	/* 8 rings on the same hosts. */
	assert_takes(TWO_LEAVES, LLM "allreduce " S " over dp", 8 * 2 * 7 / 8.0);
	assert_takes(TWO_LEAVES, LLM "reducescatter " S " over dp halving-doubling",
		     8 * 7 / 8.0);
	assert_takes(TWO_LEAVES, LLM "alltoall " S " over ep", 8 * 3 / 4.0);
	/* The first leaf is the first stage: all its hosts cross. */
	assert_takes(TWO_LEAVES, LLM "send " S " over pp", 8 * 2);
	/* Without a group: one rank a host. */
	assert_takes(TWO_LEAVES, LLM "allgather " S, 15 / 16.0);
	/* Within the hosts it takes no time. */
	assert_takes(TWO_LEAVES,
		     LLM "allreduce " S " over tp\nsegment = send " S " 0->8", 1);
	assert_takes(TWO_LEAVES, LLM "send " S " 0->7\nsegment = compute 1 s", 1);
}

/* Ranks of two hosts each: dp neighbors share hosts, and every second flow crosses. */
static void
neighbors_on_a_host_send_nothing_over_the_fabric(void **state)
{
	(void)state;
	assert_takes(STAR,
		     "hosts = h[0-3]\nslots = 2\ndp = 8\nsegment = allreduce " S
		     " over dp",
		     2 * 7 / 8.0);
	/* Halving: 1/2 within hosts, then 1/4 and 1/8 of both ranks of each host. */
	assert_takes(STAR,
		     "hosts = h[0-3]\nslots = 2\ndp = 8\nsegment = reducescatter " S
		     " over dp halving-doubling",
		     2 * (1 / 4.0 + 1 / 8.0));
	/* Each rank sends S/8 to each of the 6 on other hosts. */
	assert_takes(STAR,
		     "hosts = h[0-3]\nslots = 2\ndp = 8\nsegment = alltoall " S
		     " over dp",
		     2 * 6 / 8.0);
}

static void
each_step_of_a_collective_costs_the_latency(void **state)
{
	static const struct {
		const char *segment;
		double want_s; /* Of 16 hosts on two leaves, 100 ms a step. */
	} cases[] = {
		{ "allreduce " S, 2 * 15 / 16.0 + 3 },
		{ "allreduce " S " ring", 2 * 15 / 16.0 + 3 },
		{ "allreduce " S " tree", 8 + 0.8 },
		{ "allreduce " S " halving-doubling", 2 + 0.8 },
		{ "allreduce " S " hierarchical", 3.75 + 1.4 + 0.2 + 0.7 },
		{ "reducescatter " S, 15 / 16.0 + 1.5 },
		{ "alltoall " S, 1 + 0.1 },
		{ "broadcast " S, 1 + 1.5 },
		{ "send " S " 0->1", 1 + 0.1 },
		{ "send " S " 0->1 after 50 ms", 1 + 0.15 },
		{ "compute 3 s + send " S " 0->1", 3 },
		{ "compute 3 s", 3 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char lines[256];

		snprintf(lines, sizeof lines,
			 "hosts = h[0-15]\nlatency = 100 ms\nsegment = %s",
			 cases[i].segment);
		assert_takes(TWO_LEAVES, lines, cases[i].want_s);
	}
	/* The collective of the job. */
	assert_takes(TWO_LEAVES,
		     "hosts = h[0-15]\nlatency = 100 ms\ncollective = hierarchical\n"
		     "segment = send " S,
		     seconds_of(TWO_LEAVES,
				"hosts = h[0-15]\ncollective = hierarchical\n"
				"segment = send " S) +
			     2.3);
	assert_takes(STAR,
		     "hosts = h[0-10]\nlatency = 100 ms\ncollective = tree\nsegment = "
		     "send " S,
		     1 + 0.6);
	assert_takes(STAR,
		     "hosts = h[0-10]\nlatency = 100 ms\ncollective = all-to-all\n"
		     "segment = allreduce " S,
		     10 / 11.0 + 0.1);
}

/* Rails and connections split flows and change nothing where there are no collisions. */
static void
rails_and_connections_share_the_bytes_of_a_flow(void **state)
{
	(void)state;
	assert_takes(STAR,
		     "hosts = h[0-15]\nconnections = 4\nsegment = allreduce " S
		     " halving-doubling",
		     2 * 15 / 16.0);
	assert_takes("rail-optimized --hosts-per-group 8 --rails 2 --gbps 100",
		     "hosts = h[0-7]\nconnections = 2\nsegment = allreduce " S
		     " halving-doubling\nsegment = alltoall " S,
		     7 / 8.0 + 7 / 16.0);
	/* Sprayed over four spines of 100 Gb/s as over one of 400. */
	assert_takes("leaf-spine --leaves 2 --hosts-per-leaf 8 --spines 4 --gbps 100 "
		     "--uplink-gbps 100 --balance spray",
		     "hosts = h[0-15]\nsegment = allreduce " S " halving-doubling\n"
		     "segment = alltoall " S,
		     2 + 1);
}

/* "send" and "allreduce" of the job's collective keep their meaning beside calls. */
static void
plain_segments_beside_calls_take_what_they_take_alone(void **state)
{
	static const char *const kinds[] = { "ring", "tree", "all-to-all",
					     "hierarchical" };

	(void)state;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		char lines[256];
		double alone_s;

		snprintf(lines, sizeof lines,
			 "hosts = h[0-15]\ncollective = %s\nsegment = allreduce " S,
			 kinds[i]);
		alone_s = seconds_of(TWO_LEAVES, lines);
		strcat(lines, "\nsegment = allreduce " S " tree");
		assert_takes(TWO_LEAVES, lines, alone_s + 8);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(collectives_on_a_star_take_what_the_textbooks_say),
		cmocka_unit_test(
			collectives_on_two_leaves_take_longer_where_all_hosts_cross),
		cmocka_unit_test(groups_of_one_kind_run_at_the_same_time),
		cmocka_unit_test(neighbors_on_a_host_send_nothing_over_the_fabric),
		cmocka_unit_test(each_step_of_a_collective_costs_the_latency),
		cmocka_unit_test(rails_and_connections_share_the_bytes_of_a_flow),
		cmocka_unit_test(plain_segments_beside_calls_take_what_they_take_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
