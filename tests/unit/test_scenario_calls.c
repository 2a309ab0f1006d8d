/* SPDX-License-Identifier: Apache-2.0 */
/* test_scenario_calls.c - collectives over groups of ranks in scenarios */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "scheduler/core/workload/segment_text.h"
#include "scheduler/core/workload/workload_ini.h"
#include "tests/unit/test.h"
#include "topology/route.h"
#include "topology/topo.h"

#define FABRIC                                                                      \
	"[fabric]\ngenerate = leaf-spine --leaves 2 --hosts-per-leaf 8 --spines 2 " \
	"--slots 8 --gbps 100 --uplink-gbps 400\n"

/* ---- Texts of segments ----------------------------------------------------------- */

static struct work_segment
segment_of(const char *text)
{
	struct work_segment segment;
	struct err err = { .text = "" };
	bool is_message;

	if (segment_text_parse("x", 1, text, &segment, &is_message, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	assert_true(is_message || segment.call.op == COLLECTIVE_OP_NONE);
	return segment;
}

static void
a_segment_may_name_operation_group_and_algorithm(void **state)
{
	struct work_segment s = segment_of("allreduce 2 GB over dp tree at 40 Gb/s");

	(void)state;
	assert_int_equal(s.call.op, COLLECTIVE_ALLREDUCE);
	assert_int_equal(s.call.algorithm, COLLECTIVE_BY_TREE);
	assert_int_equal(s.call.over, RANK_GROUP_DP);
	assert_near(s.nic_bytes, 2e9, 0);
	assert_near(s.cap_bps, 40e9, 0);
	s = segment_of("compute 1 ms + alltoall 64MB after 2 ms over ep");
	assert_int_equal(s.call.op, COLLECTIVE_ALLTOALL);
	assert_int_equal(s.call.over, RANK_GROUP_EP);
	assert_int_equal(s.compute_ns, 1000000);
	assert_int_equal(s.send_offset_ns, 2000000);
	s = segment_of("send 50 MB 3->12");
	assert_int_equal(s.call.op, COLLECTIVE_SEND);
	assert_int_equal(s.call.over, WORK_OVER_PAIR);
	assert_int_equal(s.call.from, 3);
	assert_int_equal(s.call.to, 12);
	s = segment_of("send 50 MB over pp");
	assert_int_equal(s.call.over, RANK_GROUP_PP);
	s = segment_of("allreduce 1 GB over 4-12/4 tree");
	assert_int_equal(s.call.over, WORK_OVER_RANGE);
	assert_int_equal(s.call.from, 4);
	assert_int_equal(s.call.to, 12);
	assert_int_equal(s.call.step, 4);
	assert_int_equal(segment_of("allgather 1 GB over 0-3").call.step, 1);
	s = segment_of("broadcast 1 GB");
	assert_int_equal(s.call.op, COLLECTIVE_BROADCAST);
	assert_int_equal(s.call.over, WORK_OVER_HOSTS);
	s = segment_of("allreduce 1 GB halving-doubling");
	assert_int_equal(s.call.algorithm, COLLECTIVE_BY_HALVING_DOUBLING);
	/* What needs no group or algorithm is what it always was. */
	assert_int_equal(segment_of("allreduce 1 GB").call.op, COLLECTIVE_OP_NONE);
	assert_int_equal(segment_of("send 1 GB at 1 Gb/s").call.op, COLLECTIVE_OP_NONE);
	assert_int_equal(segment_of("compute 1 s").call.op, COLLECTIVE_OP_NONE);
}

static void
assert_segment_refused(const char *text, const char *expect)
{
	struct work_segment segment;
	struct err err = { .text = "accepted" };
	bool is_message;

	assert_int_equal(segment_text_parse("x", 1, text, &segment, &is_message, &err),
			 -EINVAL);
	assert_string_equal(err.text, expect);
}

static void
bad_calls_are_refused(void **state)
{
	(void)state;
	assert_segment_refused(
		"allreduce 1 GB over pd",
		"expected tp, dp, ep or pp, or ranks such as 0-3, after 'over', not 'pd' (did "
		"you mean 'dp'?)");
	assert_segment_refused(
		"allreduce 1 GB over",
		"expected tp, dp, ep or pp, or ranks such as 0-3, after 'over', not ''");
	assert_segment_refused(
		"allreduce 1 GB over dp fast",
		"expected tp, dp, ep or pp, or ranks such as 0-3, after 'over', not 'dp fast'");
	assert_segment_refused("allreduce 1 GB over 3-0",
			       "'over 3-0': expected at least two ranks, the lower one "
			       "first");
	assert_segment_refused("allreduce 1 GB over 0-5/2",
			       "'over 0-5/2': steps of 2 do not lead from rank 0 to "
			       "rank 5");
	assert_segment_refused("allreduce 1 GB over 0-5/0",
			       "'over 0-5/0': steps of 0 do not lead from rank 0 to "
			       "rank 5");
	assert_segment_refused("allreduce 1 GB over 0,5",
			       "expected ranks such as 0-3, or 0-12/4 for each fourth, "
			       "after 'over', not '0,5'");
	assert_segment_refused(
		"send 1 GB over 0-5",
		"'send' goes over pp, to the next stage, or from rank to "
		"rank as in 'send 50 MB 0->8'; not over a range of "
		"ranks");
	assert_segment_refused("allreduce 1 GB tree 5",
			       "expected nothing after 'tree', not '5'");
	assert_segment_refused("allreduce 1 GB ring tree",
			       "'tree' is here twice in one segment");
	assert_segment_refused("allreduce over dp",
			       "expected a size such as '125 MB' (B, kB, MB, GB, TB, "
			       "KiB, MiB, GiB) after 'allreduce'");
	assert_segment_refused("over dp allreduce 1 GB",
			       "'over' belongs to 'send' or 'allreduce', and has to "
			       "follow it");
	assert_segment_refused("alltoall 1 GB ring",
			       "'alltoall' has no choice of algorithms");
	assert_segment_refused("send 1 GB tree", "'send' has no choice of algorithms");
	assert_segment_refused("allgather 1 GB tree",
			       "'allgather' has no algorithm 'tree'; expected ring or "
			       "halving-doubling");
	assert_segment_refused("broadcast 1 GB hierarchical",
			       "'broadcast' has no algorithm 'hierarchical'; expected "
			       "ring or tree");
	assert_segment_refused("send 1 GB over dp",
			       "'send' goes over pp, to the next stage, or from rank "
			       "to rank as in 'send 50 MB 0->8'; not over dp");
	assert_segment_refused("send 1 GB 0->1 over pp",
			       "expected either 'over GROUP' or two ranks, not both");
	assert_segment_refused("allreduce 1 GB 0->1",
			       "'0->1' belongs to 'send', not to 'allreduce'");
	assert_segment_refused("send 1 GB 7->7", "rank 7 cannot send to itself");
	assert_segment_refused("send 1 GB 0->",
			       "expected the numbers of two ranks such as 0->8, not "
			       "'0->'");
	assert_segment_refused("send 1 GB 0->1234567890",
			       "expected the numbers of two ranks such as 0->8, not "
			       "'0->1234567890'");
	assert_segment_refused("send 1 GB -1->2",
			       "expected the numbers of two ranks such as 0->8, not "
			       "'-1->2'");
	assert_segment_refused("compute 1 ms + allreduce 1 GB tree",
			       "no '+' with 'tree': it has several phases, and only "
			       "the first would overlap with the computing");
	assert_segment_refused("allgahter 1 GB",
			       "expected 'compute TIME', 'send SIZE' or 'allreduce "
			       "SIZE', not 'allgahter' (did you mean 'allgather'?)");
}

/* ---- Jobs ------------------------------------------------------------------------ */

static struct scenario *
parse(const char *job, struct err *err)
{
	char text[2048];
	struct scenario *scenario;

	snprintf(text, sizeof text, FABRIC "[job llm]\n%s\n", job);
	if (scenario_parse("s.ini", text, strlen(text), NULL, &scenario, err) < 0)
		return NULL;
	return scenario;
}

static void
assert_refused(const char *job, unsigned line, const char *expect)
{
	struct err err = { .text = "accepted" };
	struct scenario *scenario = parse(job, &err);
	struct topo *topo;

	if (scenario) {
		assert_int_equal(scenario_fabric(scenario, NULL, &topo, &err), 0);
		assert_int_equal(scenario_bind(scenario, topo, &err), -EINVAL);
		topo_unref(topo);
		scenario_free(scenario);
	}
	assert_string_equal(err.text, expect);
	assert_string_equal(err.file, "s.ini");
	assert_int_equal(err.line, line);
}

#define HOSTS "hosts = h[0-15]\nslots = 8\n" /* Lines 4 and 5. */

static void
impossible_groups_are_refused_with_their_numbers(void **state)
{
	(void)state;
	assert_refused(HOSTS "tp = 8\npp = 4\ndp = 3\nsegment = allreduce 1 GB over dp",
		       3,
		       "job 'llm': tp 8 x pp 4 x dp 3 are 96 ranks, and 16 hosts of 8 "
		       "slots have 128");
	assert_refused(HOSTS "tp = 7\nsegment = allreduce 1 GB over tp", 3,
		       "job 'llm': tp 7 x pp 1 x dp 18 are 126 ranks, and 16 hosts of "
		       "8 slots have 128");
	assert_refused(HOSTS "tp = 1000000\npp = 1000000\nsegment = compute 1 s", 3,
		       "job 'llm': tp 1000000 x pp 1000000 x dp 1 are 1000000000000 "
		       "ranks, and 16 hosts of 8 slots have 128");
	assert_refused(HOSTS "tp = 8\nep = 3\nsegment = alltoall 1 GB over ep", 3,
		       "job 'llm': ep 3 does not divide dp 16, so expert groups do not "
		       "fit into data groups");
	assert_refused(HOSTS "segment = compute 1 s\nsegment = allreduce 1 GB over dp",
		       7,
		       "'over dp' needs the sizes of the job's groups; expected 'tp = "
		       "N', 'pp = N' or 'dp = N'");
	assert_refused(HOSTS "tp = 8\nsegment = alltoall 1 GB over ep", 7,
		       "'over ep' needs 'ep = N' in the job");
	assert_refused(HOSTS "segment = send 1 GB 0->128", 6,
		       "there is no rank 128: job 'llm' has ranks 0 to 127");
	assert_refused(HOSTS "tp = 0\nsegment = compute 1 s", 6,
		       "expected a whole number from 1 to 1000000, not '0'");
	assert_refused("hosts = h[0-11]\nsegment = allgather 1 GB halving-doubling", 5,
		       "'allgather halving-doubling' over 12 ranks: halving and "
		       "doubling alone need a power of two; expected ring");
	assert_refused("nodes = 4\nsegment = allreduce 1 GB hierarchical", 3,
		       "job 'llm': what a hierarchical all-reduce sends depends on its "
		       "hosts; expected 'hosts', or 'send' instead of 'allreduce'");
	assert_refused("hosts = h[0-3]\nmovable = yes\nsegment = allreduce 1 GB "
		       "hierarchical",
		       6,
		       "what a hierarchical all-reduce sends depends on its hosts, and "
		       "job 'llm' is movable");
	assert_refused(HOSTS "tp = 8\nsegment = allreduce 1 GB over tp", 3,
		       "job 'llm': an iteration takes less than a microsecond");
	assert_refused("hosts = h0\nlatency = 2 s\nsegment = compute 1 s", 5,
		       "expected at most 1 s, not '2 s'");
}

/* ---- Phases and flows ------------------------------------------------------------ */

struct lab {
	struct scenario *scenario;
	struct topo *topo;
	struct routes *routes;
	struct work_job *job;
	struct routed_job routed;
};

static struct lab
make_lab(const char *job)
{
	struct err err = { .text = "" };
	struct lab lab = { .scenario = parse(job, &err) };

	if (!lab.scenario || scenario_fabric(lab.scenario, NULL, &lab.topo, &err) < 0 ||
	    scenario_bind(lab.scenario, lab.topo, &err) < 0)
		fail_msg("%s", err.text);
	lab.job = &lab.scenario->workload.jobs[0];
	lab.routes = routes_new(lab.topo, 1);
	assert_int_equal(routed_job_make(lab.job, lab.job->hosts, lab.topo, lab.routes,
					 &lab.routed),
			 0);
	return lab;
}

static void
lab_fini(struct lab *lab)
{
	routed_job_fini(&lab->routed);
	routes_free(lab->routes);
	topo_unref(lab->topo);
	scenario_free(lab->scenario);
}

static void
phases_follow_each_other_as_segments(void **state)
{
	struct lab lab = make_lab("hosts = h[0-15]\nlatency = 1 us\n"
				  "segment = compute 5 ms\n"
				  "segment = reducescatter 16 MB halving-doubling "
				  "after 1 ms\n"
				  "segment = allreduce 16 MB");
	static const double bytes[] = { 0, 8e6, 4e6, 2e6, 1e6, 30e6 };
	static const int64_t latencies[] = { 0, 1000, 1000, 1000, 1000, 30000 };

	(void)state;
	assert_int_equal(lab.job->n_segments, 6);
	for (size_t i = 0; i < 6; i++) {
		const struct work_segment *s = &lab.job->segments[i];

		assert_near(s->nic_bytes, bytes[i], 1e-6);
		assert_int_equal(s->send_offset_ns, i == 1 ? 1000000 : 0);
		assert_int_equal(s->latency_ns, latencies[i]);
		assert_int_equal(s->continues, i > 1 && i < 5);
	}
	/* In the profile the four phases are one, of all their bytes. */
	assert_int_equal(lab.job->profile.n_phases, 2);
	assert_int_equal(lab.job->profile.phases[0].start_us, 6001);
	assert_int_equal(lab.job->profile.phases[0].duration_us, 1203);
	assert_near(lab.job->profile.phases[0].rate_bps, 15e6 * 8e6 / 1203, 1);
	assert_near(lab.job->profile.bytes_per_iteration, 45e6, 1e-3);
	lab_fini(&lab);
}

static void
a_segment_waits_for_the_last_phase_of_another(void **state)
{
	struct lab lab = make_lab("hosts = h[0-3]\n"
				  "segment = a: compute 5 ms\n"
				  "segment = b: allreduce 16 MB halving-doubling\n"
				  "segment = compute 9 ms needs a\n"
				  "segment = d: allreduce 16 MB tree needs start\n"
				  "segment = compute 1 ms needs b, d");
	/* a, four phases of b, the computing, four phases of d, the last computing. */
	static const struct work_need needs[] = { { 5, 0 }, { 10, 4 }, { 10, 9 } };

	(void)state;
	assert_int_equal(lab.job->n_segments, 11);
	for (size_t i = 0; i < 11; i++)
		assert_int_equal(lab.job->segments[i].from_start, i == 6);
	assert_int_equal(lab.job->n_needs, 3);
	for (size_t k = 0; k < 3; k++) {
		assert_int_equal(lab.job->needs[k].segment, needs[k].segment);
		assert_int_equal(lab.job->needs[k].after, needs[k].after);
	}
	lab_fini(&lab);
}

static void
segments_share_the_connections_of_two_hosts(void **state)
{
	/* The ring's neighbors are also those of the chain and of some exchanges. */
	struct lab lab = make_lab("hosts = h[0-15]\nconnections = 2\n"
				  "segment = allgather 16 MB\n"
				  "segment = broadcast 5 MB\n"
				  "segment = allreduce 16 MB halving-doubling");
	double sums[2] = { 0 };

	(void)state;
	assert_int_equal(lab.job->n_segments, 2 + 8);
	/* 16 of the ring, and exchanges over 1, 2, 4 and 8, without 8 of the ring. */
	assert_int_equal(lab.routed.flows.n, 2 * (16 + 4 * 16 - 8));
	assert_int_equal(lab.routed.n_patterns, 2 + 8);
	for (size_t i = 0; i < lab.job->n_segments; i++) {
		const struct routed_pattern *pattern =
			routed_job_pattern(lab.job, &lab.routed, i);
		double out[16] = { 0 };

		assert_int_equal(pattern->n, 2 * (i == 1 ? 15 : 16));
		for (size_t k = 0; k < pattern->n; k++) {
			uint32_t f = pattern->flows[k];

			out[topo_host_number(lab.topo,
					     lab.routed.flows.flows[f].source)] +=
				pattern->shares[k];
		}
		/* The busiest interface sends all bytes of the segment. */
		assert_near(out[0], 1, 1e-12);
		sums[0] += lab.job->segments[i].nic_bytes * (double)(i == 1 ? 15 : 16);
	}
	for (size_t f = 0; f < lab.routed.flows.n; f++)
		sums[1] += lab.routed.flows.flows[f].bytes *
			   lab.job->profile.bytes_per_iteration;
	assert_near(sums[0], sums[1], 1e-3);
	/* The engine counts the flows of all segments. */
	assert_int_equal(routed_job_flow(lab.job, &lab.routed, 31),
			 routed_job_pattern(lab.job, &lab.routed, 0)->flows[31]);
	assert_int_equal(routed_job_flow(lab.job, &lab.routed, 32),
			 routed_job_pattern(lab.job, &lab.routed, 1)->flows[0]);
	assert_int_equal(routed_job_flow(lab.job, &lab.routed, 32 + 30 + 31),
			 routed_job_pattern(lab.job, &lab.routed, 2)->flows[31]);
	lab_fini(&lab);
}

static double
bytes_on_uplinks(const struct lab *lab, size_t segment)
{
	struct footprint footprint;
	double bytes = 0;

	routed_job_segment_footprint(lab->job, &lab->routed, segment, lab->topo,
				     &footprint);
	for (size_t i = 0; i < footprint.n; i++) {
		const struct topo_link *link =
			topo_link(lab->topo, footprint.entries[i].link);

		if (topo_node(lab->topo, link->from)->kind == TOPO_SWITCH &&
		    topo_node(lab->topo, link->from)->tier == 1 &&
		    topo_node(lab->topo, link->to)->kind == TOPO_SWITCH)
			bytes += footprint.entries[i].factor *
				 lab->job->segments[segment].nic_bytes;
	}
	footprint_fini(&footprint);
	return bytes;
}

static void
each_segment_loads_the_links_of_its_own_flows(void **state)
{
	struct lab lab = make_lab("hosts = h[0-15]\nsegment = compute 1 ms\n"
				  "segment = allreduce 16 MB halving-doubling\n"
				  "segment = allreduce 16 MB");

	(void)state;
	/* Distances 1, 2, 4, 8, 8, 4, 2, 1: only 8 crosses, 1 MB of each of 16 hosts. */
	for (size_t i = 1; i <= 8; i++)
		assert_near(bytes_on_uplinks(&lab, i), i == 4 || i == 5 ? 16e6 : 0,
			    1e-3);
	/* The ring has one flow out of each leaf. */
	assert_near(bytes_on_uplinks(&lab, 9), 60e6, 1e-3);
	/* For the advisor, a link has the load of the segment that loads it most. */
	for (size_t i = 0; i < lab.routed.footprint.n; i++) {
		const struct footprint_entry *e = &lab.routed.footprint.entries[i];
		double most = 0;

		for (size_t k = 1; k < lab.job->n_segments; k++) {
			const struct footprint_entry *own;
			struct footprint footprint;

			routed_job_segment_footprint(lab.job, &lab.routed, k, lab.topo,
						     &footprint);
			own = footprint_find(&footprint, e->link);
			most = own ? fmax(most, own->factor) : most;
			footprint_fini(&footprint);
		}
		assert_true(most > 0);
		assert_near(e->factor, most, 1e-12);
	}
	lab_fini(&lab);
}

static void
sizes_of_groups_that_are_left_out_follow_from_the_others(void **state)
{
	struct lab lab = make_lab(HOSTS "tp = 4\npp = 2\nsegment = compute 1 s\n"
					"segment = allreduce 1 GB over dp");

	(void)state;
	assert_int_equal(lab.job->ranks.size[RANK_GROUP_DP], 16);
	assert_int_equal(lab.job->ranks.size[RANK_GROUP_EP], 1);
	/* 8 hosts a stage, two ranks of a group on each: every second one crosses. */
	assert_near(lab.job->segments[1].nic_bytes, 4 * 2 * 15 / 16.0 * 1e9, 1);
	assert_int_equal(lab.routed.flows.n, 16);
	lab_fini(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_segment_may_name_operation_group_and_algorithm),
		cmocka_unit_test(bad_calls_are_refused),
		cmocka_unit_test(impossible_groups_are_refused_with_their_numbers),
		cmocka_unit_test(phases_follow_each_other_as_segments),
		cmocka_unit_test(a_segment_waits_for_the_last_phase_of_another),
		cmocka_unit_test(segments_share_the_connections_of_two_hosts),
		cmocka_unit_test(each_segment_loads_the_links_of_its_own_flows),
		cmocka_unit_test(
			sizes_of_groups_that_are_left_out_follow_from_the_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
