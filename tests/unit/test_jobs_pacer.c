/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_jobs_pacer.c - what antiphase-scheduler learns about jobs from their pacers
 * alone, before it looks at their traffic for the first time
 */
#include <stdio.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"
#include "scheduler/live/live_workload.h"
#include "tests/unit/daemon_parts.h"
#include "tests/unit/frames.h"
#include "tests/unit/test.h"

#define T0        INT64_C(8000000)
#define MS        INT64_C(1000000)
#define FULL      6250000u /* Bytes per millisecond at 50 Gb/s. */
#define SEND_MS   80       /* Of an isolated job. */
#define MAX_HOSTS 4

/* A job of two hosts with its pacer. */
struct run {
	const char *name;
	int hosts[2];
	uint32_t pid;
	uint32_t bytes_per_ms;
	int64_t compute_ms, comm_ms;
	int64_t begin_ms[64]; /* Begins of its iterations. */
	uint64_t n;           /* Number of reported iterations. */
	uint64_t n_odd; /* The first ones, which report a third of their sending. */
};

struct lab {
	struct daemon_parts d;
	struct run runs[2];
	size_t n_runs;
	int64_t now_ms; /* Reported up to this time. */
	uint64_t sequence, pace_sequence;
};

static void
lab_open(struct lab *lab)
{
	struct daemon_parts *d = &lab->d;

	*lab = (struct lab){ .now_ms = T0 };
	parts_open(d, "leaf-spine --leaves 2 --hosts-per-leaf 2 --spines 1 "
		      "--gbps 50 --uplink-gbps 50");
	jobs_set_fabric(d->jobs);
	lab->runs[0] =
		(struct run){ "4711", { 0, 2 }, 71, FULL, 120, SEND_MS, { 0 }, 0, 0 };
	lab->runs[1] =
		(struct run){ "4712", { 1, 3 }, 72, FULL, 120, SEND_MS, { 0 }, 0, 0 };
	lab->n_runs = 1;
}

static void
lab_close(struct lab *lab)
{
	parts_close(&lab->d);
}

/* Rank 0 begins an iteration; 'comm_ms' belongs to the previous one. */
static void
tell_row(struct lab *lab, const char *job, int host, uint32_t pid, uint64_t number,
	 int64_t begin_ms, int64_t comm_ms, bool is_over)
{
	struct tele_frame frame = { 0 };
	char name[16];
	uint32_t id;

	snprintf(name, sizeof name, "h%d", host);
	frames_begin(&frame, TELE_PACE, name, begin_ms, begin_ms, 0,
		     lab->pace_sequence++);
	id = tele_add_job(&frame, job);
	vec_push(&frame.iterations,
		 ((struct tele_iteration){ .job = id,
					   .pid = pid,
					   .is_over = is_over,
					   .number = number,
					   .enter_ns = begin_ms * MS,
					   .begin_ns = begin_ms * MS,
					   .comm_ns = comm_ms * MS }));
	telemetry_take_frame(lab->d.telemetry, &frame);
	tele_fini(&frame);
}

static uint32_t
bytes_of(const void *ctx, int64_t ms)
{
	const struct run *run = ctx;
	uint64_t k = run->n;

	while (k && run->begin_ms[k - 1] > ms)
		k--;
	return k && ms - run->begin_ms[k - 1] < run->comm_ms ? run->bytes_per_ms : 0;
}

/* Reports what each host sent in the last 100 ms. */
static void
tell_traffic(struct lab *lab)
{
	struct tele_frame frame = { 0 };

	for (size_t r = 0; r < lab->n_runs; r++) {
		for (int h = 0; h < 2; h++) {
			char name[16];

			snprintf(name, sizeof name, "h%d", lab->runs[r].hosts[h]);
			frames_begin(&frame, TELE_RAW, name, lab->now_ms - 100,
				     lab->now_ms, 0, lab->sequence);
			for (int d = TELE_TX; d <= TELE_RX; d++)
				frames_add(&frame, "p0", 50e9, lab->runs[r].name,
					   (enum tele_direction)d, bytes_of,
					   &lab->runs[r]);
			telemetry_take_frame(lab->d.telemetry, &frame);
		}
	}
	lab->sequence++;
	tele_fini(&frame);
}

static void
scan_links(struct lab *lab)
{
	jobs_stop_taking(lab->d.jobs);
	telemetry_forget_links(lab->d.telemetry);
	assert_true(telemetry_begin_scan(lab->d.telemetry));
	while (telemetry_step_scan(lab->d.telemetry))
		continue;
}

/* Cost is ignored here: the lab has its own clock. */
static void
pass(struct lab *lab)
{
	lab->d.jobs->taking_cost_ns = 0;
	do {
		lab->d.jobs->rest_until_ns = 0;
		jobs_step(lab->d.jobs);
	} while (lab->d.jobs->taking.running || lab->d.jobs->next_view);
}

/* Runs the daemon's passes, ten per second. */
static void
lab_run(struct lab *lab, int64_t n_ms)
{
	for (int64_t to_ms = lab->now_ms + n_ms; lab->now_ms < to_ms;) {
		lab->now_ms += 100;
		for (size_t r = 0; r < lab->n_runs; r++) {
			struct run *run = &lab->runs[r];
			int64_t next_ms = run->n ? run->begin_ms[run->n - 1] +
							   run->comm_ms +
							   run->compute_ms
						 : lab->now_ms - 50;

			if (next_ms >= lab->now_ms)
				continue;
			assert_true(run->n < 64);
			run->begin_ms[run->n] = next_ms;
			tell_row(lab, run->name, run->hosts[0], run->pid, run->n,
				 next_ms,
				 !run->n                ? 0
				 : run->n <= run->n_odd ? run->comm_ms / 3
							: run->comm_ms,
				 false);
			run->n++;
		}
		tell_traffic(lab);
		if (lab->now_ms % 1000 == 0)
			scan_links(lab);
		pass(lab);
	}
}

static const struct job *
known(const struct lab *lab, const char *name)
{
	const struct job *job = jobs_find(lab->d.jobs, name);

	return job && job->number != UINT32_MAX ? job : NULL;
}

static void
a_job_is_known_after_four_iterations(void **state)
{
	struct steer_state followed;
	const struct job *job;
	struct lab lab;

	(void)state;
	lab_open(&lab);
	lab_run(&lab, 800);
	assert_int_equal(lab.runs[0].n, 4); /* Three are complete. */
	assert_null(known(&lab, "4711"));
	lab_run(&lab, 400);
	job = known(&lab, "4711");
	assert_non_null(job);
	assert_int_equal(job->refusal, JOBS_ADVISED);
	assert_int_equal(job->profile.period_us, 200000);
	assert_int_equal(job->profile.phases[0].duration_us, 80000);
	assert_near(job->profile.bytes_per_iteration, 80.0 * FULL, FULL);
	assert_int_equal(job->n_hosts, 2);
	assert_true(job->is_by_pacer && job->is_shiftable);
	assert_non_null(strstr(job->doc, "\"source\": \"pacer\""));
	assert_non_null(strstr(job->doc, "\"iterations\": 4"));
	/* Its next onset is already predicted. */
	pace_state(lab.d.pace, job, &followed);
	assert_true(followed.is_tracked);
	assert_int_equal(followed.period_us, 200000);
	assert_int_equal(followed.last_begin_ns,
			 lab.runs[0].begin_ms[lab.runs[0].n - 1] * MS);
	/* The profile stays although the traffic shows nothing. */
	parts_update_jobs(&lab.d);
	assert_non_null(known(&lab, "4711"));
	lab_close(&lab);
}

/* They keep sending at once, so at least one of them is ordered to wait. */
static void
orders_are_kept_beside_the_iterations(void **state)
{
	struct pace_counts counts;
	uint64_t n_orders = 0, n_kept = 0;
	struct lab lab;

	(void)state;
	lab_open(&lab);
	lab.d.modes.usual = MODE_ENFORCE;
	lab.n_runs = 2;
	lab_run(&lab, 8000);
	counts = pace_counts(lab.d.pace);
	for (int i = 0; i < STEER_N_WHYS; i++)
		n_orders += counts.orders[i];
	for (size_t r = 0; r < lab.n_runs; r++) {
		const struct run *run = &lab.runs[r];
		const struct outcome *outcome =
			outcomes_find(lab.d.outcomes, run->name);

		assert_non_null(outcome);
		assert_int_equal(outcome_n_iterations(outcome), run->n - 1);
		for (size_t i = 0; i < outcome_n_orders(outcome); i++) {
			const struct outcome_order order = outcome_order_at(outcome, i);

			assert_in_range(order.at_ns / MS, T0, lab.now_ms);
			assert_true(order.why < STEER_N_WHYS && order.max_us > 0);
		}
		n_kept += outcome_n_orders(outcome);
	}
	assert_true(n_orders > 0);
	assert_int_equal(n_kept, n_orders);
	assert_null(outcomes_find(lab.d.outcomes, "4713"));
	lab_close(&lab);
}

/* The first two iterations are not usable, nor is a mean that includes them. */
static void
a_job_whose_first_iterations_are_odd_is_known_soon_after(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab);
	lab.runs[0].n_odd = 2;
	lab_run(&lab, 1200);
	assert_int_equal(lab.runs[0].n, 6); /* Five are complete. */
	assert_null(known(&lab, "4711"));
	lab_run(&lab, 400);
	assert_int_equal(lab.runs[0].n, 8);
	assert_non_null(known(&lab, "4711"));
	lab_close(&lab);
}

/* An estimate of its traffic over so many iterations. */
static void
take_estimate(struct lab *lab, uint32_t n_iterations)
{
	struct telemetry *telemetry = lab->d.telemetry;
	const struct live *live = telemetry_live(telemetry);
	struct live_workload *running;
	struct profiled_job seen = { .job = live_find_job(live, "4711"),
				     .has_estimate = true,
				     .at_ns = lab->now_ms * MS,
				     .window_ms = 400 };

	profile_of_burst(200000, 80000, 50e9, &seen.detection.profile);
	seen.detection.profile.n_iterations = n_iterations;
	scan_links(lab);
	running = live_workload_begin(live, fabric_source_topo(lab->d.fabric),
				      telemetry_links(telemetry));
	while (!live_workload_step(running))
		continue;
	jobs_take_running(lab->d.jobs, running, &seen);
	live_workload_free(running);
	profile_fini(&seen.detection.profile);
}

static void
a_restored_job_is_kept_while_its_new_estimate_is_thin(void **state)
{
	struct profile profile;
	struct work_job work;
	struct lab lab;
	struct job *job;

	(void)state;
	lab_open(&lab);
	lab_run(&lab, 400);
	assert_null(known(&lab, "4711"));
	/* As from the store. */
	profile_of_burst(200000, 70000, 50e9, &profile);
	jobs_make_work("4711", 2, &profile, &work);
	work.hosts = xcalloc(2, sizeof *work.hosts);
	work.hosts[0] = topo_find_node(fabric_source_topo(lab.d.fabric), "h0");
	work.hosts[1] = topo_find_node(fabric_source_topo(lab.d.fabric), "h2");
	job = jobs_make(lab.d.jobs, "4711");
	job->is_restored = true;
	job->restored_us = clk_wall_us();
	jobs_put(lab.d.jobs, job, &work, false);
	take_estimate(&lab, 1);
	assert_non_null(known(&lab, "4711"));
	assert_true(job->is_restored);
	take_estimate(&lab, 100);
	assert_non_null(known(&lab, "4711"));
	assert_false(job->is_restored);
	/* Now it is as any other job. */
	take_estimate(&lab, 1);
	assert_null(known(&lab, "4711"));
	assert_int_equal(job->refusal, JOBS_THIN);
	/* Nor is a job restored any more whose profile is too old. */
	job->is_restored = true;
	job->restored_us = clk_wall_us() - lab.d.config.max_age_us - 1;
	jobs_mark_running(lab.d.jobs);
	assert_false(job->is_restored);
	work_job_fini(&work);
	profile_fini(&profile);
	lab_close(&lab);
}

/* Both send at once from the first iteration on, at half the rate for twice as long. */
static void
jobs_that_contend_from_the_begin_are_known_as_they_are_alone(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab);
	lab.n_runs = 2;
	for (size_t r = 0; r < 2; r++) {
		lab.runs[r].bytes_per_ms = FULL / 2;
		lab.runs[r].comm_ms = 2 * SEND_MS;
	}
	lab_run(&lab, 2000);
	for (size_t r = 0; r < 2; r++) {
		const struct job *job = known(&lab, lab.runs[r].name);

		assert_non_null(job);
		assert_in_range(job->profile.period_us, 198000, 202000);
		assert_near(job->profile.bytes_per_iteration, 80.0 * FULL, FULL);
		assert_true(job->profile.n_iterations <= 6);
		assert_non_null(strstr(job->doc, "spine0"));
	}
	lab_close(&lab);
}

static void
another_compute_time_is_taken_up_at_once(void **state)
{
	const struct job *job;
	struct lab lab;
	uint32_t number;

	(void)state;
	lab_open(&lab);
	lab_run(&lab, 3000);
	job = known(&lab, "4711");
	assert_non_null(job);
	number = job->number;
	lab.runs[0].compute_ms = 220;
	lab_run(&lab, 5 * 300 + 500);
	job = known(&lab, "4711");
	assert_non_null(job);
	assert_int_equal(job->number, number);
	assert_int_equal(job->profile.period_us, 300000);
	assert_int_equal(job->profile.n_iterations, 5);
	assert_false(job->has_changed);
	lab_close(&lab);
}

/* Rank 0 is in collectives for 40 ms of 80 ms of sending, or for 190 ms with 80 ms. */
static void
spread_collectives_are_left_to_the_traffic(void **state)
{
	static const int64_t said_ms[] = { 40, 190 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct lab lab;

		lab_open(&lab);
		for (int k = 0; k < 12; k++) {
			lab.runs[0].begin_ms[k] = T0 + 200 * k;
			lab.runs[0].n++;
		}
		for (int k = 0; k < 24; k++) {
			lab.now_ms += 100;
			tell_traffic(&lab);
			if (k % 2 == 0)
				tell_row(&lab, "4711", 0, 71, (uint64_t)k / 2,
					 lab.now_ms - 100, said_ms[i], false);
			pass(&lab);
		}
		assert_non_null(jobs_find(lab.d.jobs, "4711"));
		assert_null(known(&lab, "4711"));
		lab_close(&lab);
	}
}

static void
the_first_of_two_rank_0s_has_the_job(void **state)
{
	const struct job *job;
	struct lab lab;

	(void)state;
	lab_open(&lab);
	lab_run(&lab, 400);
	for (int k = 0; k < 12; k++) {
		tell_row(&lab, "4711", 2, 99, 1000 + (uint64_t)k,
			 lab.now_ms + k % 2 * 30, 10, false);
		lab_run(&lab, 100);
	}
	job = known(&lab, "4711");
	assert_non_null(job);
	assert_int_equal(job->profile.period_us, 200000);
	assert_int_equal(job->pacer.pid, 71);
	assert_int_equal(pace_counts(lab.d.pace).others, 12);
	/* The end of the other run says nothing about the first, */
	tell_row(&lab, "4711", 2, 99, 0, 0, 0, true);
	assert_true(job->report_ns != 0);
	assert_int_equal(job->pacer.pid, 71);
	/* but after the first has ended, the job belongs to the other. */
	tell_row(&lab, "4711", 0, 71, 0, 0, 0, true);
	assert_int_equal(job->report_ns, 0);
	tell_row(&lab, "4711", 2, 99, 2000, lab.now_ms, 10, false);
	assert_int_equal(job->pacer.pid, 99);
	assert_string_equal(job->pacer.host, "h2");
	assert_int_equal(job->pacer_profile.n, 0);
	lab_close(&lab);
}

/* Somebody on h3 poses as the job on h0 and h2, and is heard first. */
static void
a_pacer_on_a_node_of_the_job_goes_before_others(void **state)
{
	static uint32_t first;
	struct sched_job known_job = { .id = (char *)"4711",
				       .local_id = (char *)"4711",
				       .name = (char *)"train",
				       .user = (char *)"ann",
				       .partition = (char *)"p",
				       .state = SCHED_RUNNING,
				       .n_nodes = 2,
				       .nodes = (char *)"h[0,2]",
				       .comment = (char *)"" };
	const struct sched_snapshot snapshot = {
		.at_us = 1, .jobs = &known_job, .by_local_id = &first, .n_jobs = 1
	};
	const struct job *job;
	struct lab lab;

	(void)state;
	for (int is_told_late = 0; is_told_late < 2; is_told_late++) {
		lab_open(&lab);
		if (!is_told_late)
			lab.d.snapshot = snapshot;
		tell_row(&lab, "4711", 3, 99, 1, lab.now_ms, 10, false);
		job = jobs_find(lab.d.jobs, "4711");
		assert_string_equal(job->pacer.host, "h3");
		/* While the scheduler has not told, the first one has the job. */
		if (is_told_late) {
			tell_row(&lab, "4711", 0, 71, 1, lab.now_ms, 10, false);
			assert_string_equal(job->pacer.host, "h3");
			lab.d.snapshot = snapshot;
		}
		tell_row(&lab, "4711", 1, 98, 1, lab.now_ms, 10, false);
		tell_row(&lab, "4711", 2, 0, 0, 0, 0, true);
		assert_string_equal(job->pacer.host, "h3");
		tell_row(&lab, "4711", 0, 71, 2, lab.now_ms, 10, false);
		assert_string_equal(job->pacer.host, "h0");
		assert_int_equal(job->pacer.pid, 71);
		for (int host = 1; host < 4; host++)
			tell_row(&lab, "4711", host, 99, 3, lab.now_ms, 10, false);
		assert_string_equal(job->pacer.host, "h0");
		assert_int_equal(pace_counts(lab.d.pace).replaced, 1);
		/* The end of the one that was replaced is not the job's. */
		tell_row(&lab, "4711", 3, 99, 0, 0, 0, true);
		assert_true(job->report_ns != 0);
		lab.d.snapshot = (struct sched_snapshot){ 0 };
		lab_close(&lab);
	}
}

static void
a_node_that_nobody_tells_of_is_taken_from_the_scheduler(void **state)
{
	static uint32_t first;
	struct sched_job known_job = { .id = (char *)"4711",
				       .local_id = (char *)"4711",
				       .name = (char *)"train",
				       .user = (char *)"ann",
				       .partition = (char *)"p",
				       .state = SCHED_RUNNING,
				       .n_nodes = 3,
				       .nodes = (char *)"h[0,2-3]",
				       .comment = (char *)"" };
	struct sched_snapshot snapshot = {
		.at_us = 1, .jobs = &known_job, .by_local_id = &first, .n_jobs = 1
	};
	struct lab lab;

	(void)state;
	for (int is_heard = 0; is_heard < 2; is_heard++) {
		lab_open(&lab);
		lab.d.snapshot = snapshot;
		lab.n_runs = is_heard ? 2 : 1; /* h3 belongs to the other job. */
		lab_run(&lab, 100);
		parts_update_jobs(&lab.d);
		lab_run(&lab, 1500);
		assert_non_null(known(&lab, "4711"));
		assert_int_equal(known(&lab, "4711")->n_hosts, is_heard ? 2 : 3);
		lab.d.snapshot = (struct sched_snapshot){ .at_us = 0 };
		lab_close(&lab);
	}
}

/* Iterations are reported before the traffic: the job waits for it, with a limit. */
static void
nothing_is_known_before_hosts_have_told_of_the_traffic(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab);
	for (uint64_t k = 0; k < 8; k++)
		tell_row(&lab, "4711", 0, 71, k, T0 + 200 * (int64_t)k, 80, false);
	for (int i = 0; i < 5; i++)
		pass(&lab);
	assert_null(known(&lab, "4711"));
	assert_int_equal(jobs_find(lab.d.jobs, "4711")->has_report, true);
	assert_int_equal(lab.d.jobs->n_reported, 1);
	lab_close(&lab);
}

/* Jobs come and go, and reports are hostile: the queue stays bounded. */
static void
what_is_told_of_jobs_that_are_gone_is_dropped(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab);
	for (int i = 0; i < 300; i++) {
		char name[16];

		snprintf(name, sizeof name, "job%d", i);
		for (uint64_t k = 0; k < 7; k++)
			tell_row(&lab, name, 0, 71, k, T0 + 200 * (int64_t)k, 80,
				 false);
		tell_row(&lab, name, 0, 71, 0, 0, 0, true);
		parts_update_jobs(&lab.d);
		pass(&lab);
		assert_true(lab.d.jobs->items.n <= 2);
		assert_true(lab.d.jobs->n_reported <= 2);
	}
	assert_int_equal(jobs_counts(lab.d.jobs).n_jobs, 0);
	lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_is_known_after_four_iterations),
		cmocka_unit_test(orders_are_kept_beside_the_iterations),
		cmocka_unit_test(
			a_job_whose_first_iterations_are_odd_is_known_soon_after),
		cmocka_unit_test(
			jobs_that_contend_from_the_begin_are_known_as_they_are_alone),
		cmocka_unit_test(a_restored_job_is_kept_while_its_new_estimate_is_thin),
		cmocka_unit_test(another_compute_time_is_taken_up_at_once),
		cmocka_unit_test(spread_collectives_are_left_to_the_traffic),
		cmocka_unit_test(the_first_of_two_rank_0s_has_the_job),
		cmocka_unit_test(a_pacer_on_a_node_of_the_job_goes_before_others),
		cmocka_unit_test(
			a_node_that_nobody_tells_of_is_taken_from_the_scheduler),
		cmocka_unit_test(
			nothing_is_known_before_hosts_have_told_of_the_traffic),
		cmocka_unit_test(what_is_told_of_jobs_that_are_gone_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
