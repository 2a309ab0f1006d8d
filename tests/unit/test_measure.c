/* SPDX-License-Identifier: Apache-2.0 */
/* test_measure.c - statistics of links and jobs, and estimates of marks and queues */
#include "engine/ecn.h"
#include "tests/unit/sim_lab.h"
#include "tests/unit/test.h"

/*
 * Packet-level runs (DCTCP, K = 150 KB, 50 Gb/s): share of marked packets when N flows
 * overlap fully.  The fit is within 2 points up to N = 16.
 */
static const struct {
	uint32_t n;
	double marked_frac;
} PACKET_LEVEL[] = { { 1, 0 },     { 2, 0.091 }, { 3, 0.128 },
		     { 4, 0.163 }, { 8, 0.293 }, { 16, 0.506 } };

#define N_PACKET_LEVEL (sizeof PACKET_LEVEL / sizeof *PACKET_LEVEL)

static void
the_marked_share_is_within_two_points_of_packet_level(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_PACKET_LEVEL; i++)
		assert_near(ecn_marked_frac(PACKET_LEVEL[i].n),
			    PACKET_LEVEL[i].marked_frac, 0.0201);
	assert_near(ecn_marked_frac(32), 1, 0.03);
	assert_near(ecn_marked_frac(1000), 1, 0);
	assert_near(ecn_marked_frac(0), 0, 0);
}

static void
the_queue_stays_near_k_for_few_flows_and_grows_beyond(void **state)
{
	(void)state;
	assert_near(ecn_queue_bytes(1), 0, 0);
	for (uint32_t n = 2; n <= 8; n++)
		assert_near(ecn_queue_bytes(n), 310e3, 50.1e3); /* 260 to 360. */
	assert_near(ecn_queue_bytes(16), 720e3, 1);
	assert_near(ecn_queue_bytes(32), 1.48e6, 0.05e6);
}

static void
flows_that_overlap_fully_are_marked_as_the_table_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_PACKET_LEVEL; i++) {
		uint32_t n = PACKET_LEVEL[i].n;
		struct lab lab;
		struct engine_config config = lab_config(&lab, ONE_LINK, 1);
		struct engine_link_stats link;
		struct engine_job_stats job;
		struct lab_job j;

		config.measure_links = true;
		lab_open(&lab, &config);
		lab_job_init(&j, 0, PATH, 1, 125e6);
		j.job.max_iterations = 1;
		for (uint32_t k = 0; k < n; k++)
			lab_add(&lab, &j);
		engine_run(lab.engine, ENGINE_NEVER);
		assert_near(lab_iteration_ns(&lab, 0, 0), 20e6 * n, 1e-2);
		engine_link_stats(lab.engine, 0, &link);
		engine_job_stats(lab.engine, 0, &job);
		assert_near(link.packets, 31250.0 * n, 1e-3);
		assert_near(job.packets, 31250, 1e-3);
		assert_near(link.ecn_packets / link.packets,
			    PACKET_LEVEL[i].marked_frac, 0.0201);
		assert_near(job.ecn_packets * n, link.ecn_packets, 1e-3);
		assert_near(link.max_queue_bytes, ecn_queue_bytes(n), 0);
		lab_close(&lab);
	}
}

/* Two jobs of 20 ms in 45, one 10 ms after the other. */
static void
a_link_adds_up_what_it_saw(void **state)
{
	struct lab lab;
	struct engine_config config = lab_config(&lab, ONE_LINK, 1);
	struct engine_link_stats link;
	struct lab_job j;

	(void)state;
	config.measure_links = true;
	config.mtu_bytes = 1000;
	lab_open(&lab, &config);
	lab_job_init(&j, 25 * MS, PATH, 1, 125e6);
	j.job.max_iterations = 1;
	lab_add(&lab, &j);
	j.job.shift_ns = 10 * MS;
	lab_add(&lab, &j);
	/* Alone from 25 to 35, both until 55, alone until 65. */
	engine_run(lab.engine, 45 * MS);
	engine_link_stats(lab.engine, 0, &link);
	assert_near(link.bytes, 125e6, 1);
	assert_near(link.over_ns, 10e6, 1e-2);
	engine_run(lab.engine, ENGINE_NEVER);
	engine_link_stats(lab.engine, 0, &link);
	assert_near(link.bytes, 250e6, 1);
	assert_near(link.packets, 250e3, 1e-2);
	assert_near(link.busy_ns, 40e6, 1e-2);
	assert_near(link.over_ns, 20e6, 1e-2);
	assert_near(link.job_ns, 60e6, 1e-2);
	assert_int_equal(link.max_jobs, 2);
	assert_near(link.peak_bps, 50e9, 1);
	/* Half of the bytes were sent while two shared. */
	assert_near(link.ecn_packets, 125e3 * ecn_marked_frac(2), 1e-2);
	lab_close(&lab);
}

static void
interleaved_jobs_are_never_marked(void **state)
{
	struct lab lab;
	struct engine_config config = lab_config(&lab, ONE_LINK, 1);
	struct engine_link_stats link;
	struct lab_job j;

	(void)state;
	config.measure_links = true;
	lab_open(&lab, &config);
	lab_job_init(&j, 25 * MS, PATH, 1, 125e6);
	j.job.max_iterations = 20;
	lab_add(&lab, &j);
	j.job.shift_ns = 22 * MS;
	lab_add(&lab, &j);
	engine_run(lab.engine, ENGINE_NEVER);
	engine_link_stats(lab.engine, 0, &link);
	assert_near(link.ecn_packets, 0, 0);
	assert_near(link.over_ns, 0, 0);
	assert_near(link.max_queue_bytes, 0, 0);
	assert_int_equal(link.max_jobs, 1);
	lab_close(&lab);
}

/* A flow has its bottleneck here, squeezed by a flow with its bottleneck elsewhere. */
static void
a_flow_squeezed_by_another_is_marked_on_its_bottleneck(void **state)
{
	static const double capacity_bps[] = { 50e9, 10e9 };
	static const uint32_t both[] = { 0, 1 };
	struct lab lab;
	struct engine_config config = lab_config(&lab, capacity_bps, 2);
	struct engine_link_stats link;
	struct lab_job j;

	(void)state;
	config.measure_links = true;
	lab_open(&lab, &config);
	lab_job_init(&j, 0, both, 2, 10e6); /* 10 Gb/s: 8 ms. */
	j.job.max_iterations = 1;
	lab_add(&lab, &j);
	lab_job_init(&j, 0, PATH, 1, 40e6); /* The other 40: 8 ms. */
	j.job.max_iterations = 1;
	lab_add(&lab, &j);
	engine_run(lab.engine, ENGINE_NEVER);
	assert_near(lab_iteration_ns(&lab, 1, 0), 8e6, 1e-2);
	engine_link_stats(lab.engine, 0, &link);
	assert_near(link.over_ns, 8e6, 1e-2);
	assert_near(link.ecn_packets, 12500 * ecn_marked_frac(2), 1e-3);
	engine_link_stats(lab.engine, 1, &link);
	assert_near(link.bytes, 10e6, 1e-3);
	assert_near(link.ecn_packets, 0, 0); /* The link carries its whole demand. */
	lab_close(&lab);
}

/* The fluid model rounds caps up to whole bits per second; this is no contention. */
static void
a_flow_alone_on_a_link_of_an_odd_speed_is_not_over_it(void **state)
{
	static const double capacity_bps[] = { 200e9 / 3 };
	static const uint32_t path[] = { 0 };
	struct lab lab;
	struct engine_config config = lab_config(&lab, capacity_bps, 1);
	struct engine_link_stats link;
	struct lab_job j;

	(void)state;
	config.measure_links = true;
	lab_open(&lab, &config);
	lab_job_init(&j, 5 * MS, path, 1, 125e6);
	j.job.max_iterations = 2;
	lab_add(&lab, &j);
	engine_run(lab.engine, ENGINE_NEVER);
	engine_link_stats(lab.engine, 0, &link);
	assert_near(link.busy_ns, 30e6, 1);
	assert_near(link.over_ns, 0, 0);
	assert_near(link.ecn_packets, 0, 0);
	lab_close(&lab);
}

static void
nothing_is_measured_unless_asked_for(void **state)
{
	struct lab lab;
	struct engine_link_stats link;
	struct engine_job_stats job;
	struct lab_job j;

	(void)state;
	lab_open_link(&lab);
	lab_job_init(&j, 0, PATH, 1, 125e6);
	j.job.max_iterations = 1;
	lab_add(&lab, &j);
	engine_run(lab.engine, ENGINE_NEVER);
	engine_link_stats(lab.engine, 0, &link);
	engine_job_stats(lab.engine, 0, &job);
	assert_near(link.bytes, 0, 0);
	assert_near(job.packets, 0, 0);
	lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_marked_share_is_within_two_points_of_packet_level),
		cmocka_unit_test(the_queue_stays_near_k_for_few_flows_and_grows_beyond),
		cmocka_unit_test(flows_that_overlap_fully_are_marked_as_the_table_says),
		cmocka_unit_test(a_link_adds_up_what_it_saw),
		cmocka_unit_test(interleaved_jobs_are_never_marked),
		cmocka_unit_test(
			a_flow_squeezed_by_another_is_marked_on_its_bottleneck),
		cmocka_unit_test(a_flow_alone_on_a_link_of_an_odd_speed_is_not_over_it),
		cmocka_unit_test(nothing_is_measured_unless_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
