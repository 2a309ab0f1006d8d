/* SPDX-License-Identifier: Apache-2.0 */
/* test_experiment_forms.c - runs against closed forms for sharing and marks */
#include "tests/unit/experiment_fixture.h"

/*
 * Two jobs with C ms of traffic in a period of T that start s ms apart: each takes half
 * of the link while both send, so all iterations take T + max(0, C - s); the offset is
 * neutrally stable.
 */
static void
two_equal_jobs_are_late_by_what_overlaps(void **state)
{
	static const struct {
		const char *shift;
		double iteration_ms;
	} cases[] = {
		{ "0 ms", 65 },     { "2500 us", 62.5 }, { "5 ms", 60 },
		{ "10 ms", 55 },    { "15 ms", 50 },     { "20 ms", 45 },
		{ "22500 us", 45 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char *text = xasprintf(
			"[sim]\niterations = 60\nwarmup_iterations = 2\n" LAB_JOB(
				"A", "a0,b0", "25", "125", "")
				LAB_JOB("B", "a1,b1", "25", "125", "shift = %s\n"),
			cases[i].shift);
		struct lab lab = lab_make(text);
		struct experiment x = lab_run(&lab);

		for (int j = 0; j < 2; j++) {
			assert_int_equal(x.jobs[j].n, 58);
			assert_near(x.jobs[j].mean_ns / 1e6, cases[i].iteration_ms,
				    1e-6);
			assert_near(x.jobs[j].p99_ns / 1e6, cases[i].iteration_ms,
				    1e-6);
			assert_near(x.jobs[j].isolated_ns / 1e6, 45, 1e-6);
			assert_near(x.jobs[j].slowdown, cases[i].iteration_ms / 45,
				    1e-9);
		}
		experiment_fini(&x);
		lab_fini(&lab);
		free(text);
	}
}

/* P2, P3 and P6 of the tables. */
static void
unequal_and_three_jobs_share_as_the_fluid_model_says(void **state)
{
	static const struct {
		const char *text;
		double first_ms;
	} cases[] = {
		{ LAB_JOB("A", "a0,b0", "25", "125", "")
			  LAB_JOB("B", "a1,b1", "35", "62.5", ""),
		  55 },
		{ LAB_JOB("A", "a0,b0", "25", "125", "")
			  LAB_JOB("B", "a1,b1", "35", "62.5", "shift = 20 ms\n"),
		  45 },
		{ LAB_JOB("A", "a0,b0", "20", "187.5", "")
			  LAB_JOB("B", "a1,b1", "20", "187.5", ""),
		  80 },
		{ LAB_JOB("A", "a0,b0", "30", "93.75", "")
			  LAB_JOB("B", "a1,b1", "30", "93.75", "")
				  LAB_JOB("C", "a2,b2", "30", "93.75", ""),
		  75 },
		{ LAB_JOB("A", "a0,b0", "30", "93.75",
			  "") LAB_JOB("B", "a1,b1", "30", "93.75", "shift = 15 ms\n")
			  LAB_JOB("C", "a2,b2", "30", "93.75", "shift = 30 ms\n"),
		  45 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct lab lab = lab_make(cases[i].text);
		struct experiment x = lab_run(&lab);

		for (size_t j = 0; j < x.n_jobs; j++)
			assert_near(x.jobs[j].iteration_ns[0] / 1e6, cases[i].first_ms,
				    1e-6);
		experiment_fini(&x);
		lab_fini(&lab);
	}
}

static void
marks_and_time_above_capacity_come_from_overlap_alone(void **state)
{
	struct lab lab = lab_make(LAB_JOB("A", "a0,b0", "25", "125", "")
					  LAB_JOB("B", "a1,b1", "25", "125", ""));
	struct experiment x = lab_run(&lab);
	size_t n_over = 0;

	(void)state;
	/* 40 of 65 ms with two flows on the link, 9.2 % of the packets marked. */
	assert_near(x.jobs[0].ecn_packets / x.jobs[0].packets, 0.092, 1e-6);
	assert_near(x.jobs[0].packets, 2 * 200 * 125e6 / 4000, 1); /* Two flows. */
	for (size_t i = 0; i < x.n_links; i++) {
		if (!(x.links[i].stats.over_ns > 0))
			continue;
		n_over++;
		assert_int_equal(x.links[i].n_jobs, 2);
		assert_int_equal(x.links[i].stats.max_jobs, 2);
		assert_near(x.links[i].stats.over_ns / x.simulated_ns, 40.0 / 65, 1e-9);
		assert_near(x.links[i].stats.bytes, 2 * 200 * 125e6, 1);
	}
	assert_int_equal(n_over, 2); /* Both directions. */
	experiment_fini(&x);
	lab_fini(&lab);

	lab = lab_make(LAB_JOB("A", "a0,b0", "25", "125", "")
			       LAB_JOB("B", "a1,b1", "25", "125", "shift = 22 ms\n"));
	x = lab_run(&lab);
	assert_near(x.jobs[0].ecn_packets, 0, 0);
	for (size_t i = 0; i < x.n_links; i++)
		assert_near(x.links[i].stats.over_ns, 0, 0);
	experiment_fini(&x);
	lab_fini(&lab);
}

/* A tree's root sends to two and receives from two: only the switch marks. */
static void
a_hosts_own_interface_marks_nothing(void **state)
{
	struct lab lab = lab_make(
		"[job T]\nhosts = a[0-2]\ncollective = tree\nsegment = send 125 MB\n");
	struct experiment x = lab_run(&lab);
	size_t n_full_out = 0, n_full_in = 0;

	(void)state;
	for (size_t i = 0; i < x.n_links; i++) {
		const struct topo_link *link = topo_link(lab.topo, x.links[i].link);
		const struct engine_link_stats *stats = &x.links[i].stats;

		if (!(stats->over_ns > 0))
			continue;
		if (topo_node(lab.topo, link->from)->kind == TOPO_HOST) {
			n_full_out++;
			assert_near(stats->ecn_packets, 0, 0);
			assert_near(stats->max_queue_bytes, 0, 0);
		} else {
			n_full_in++;
			assert_near(stats->ecn_packets / stats->packets, 0.092, 1e-6);
		}
	}
	assert_int_equal(n_full_out, 1);
	assert_int_equal(n_full_in, 1);
	experiment_fini(&x);
	lab_fini(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_equal_jobs_are_late_by_what_overlaps),
		cmocka_unit_test(unequal_and_three_jobs_share_as_the_fluid_model_says),
		cmocka_unit_test(marks_and_time_above_capacity_come_from_overlap_alone),
		cmocka_unit_test(a_hosts_own_interface_marks_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
