/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_limits.c - senders that invent hosts, interfaces, jobs, series and flows: how much
 * memory they can make antiphase-scheduler use (docs/limits.md).  Prints the peak.
 */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "scheduler/daemon/flow_table.h"
#include "scheduler/live/live.h"
#include "tests/unit/daemon_parts.h"
#include "tests/unit/frames.h"
#include "tests/unit/test.h"

/* Items beside the rings, which may be the last ones that fit. */
#define LIVE_ITEM_ROOM (1u << 20)

#define SECOND_NS INT64_C(1000000000)
#define T0_MS     INT64_C(1800000000000)
/* As in the attack that was found: 250 frames of 2,560 jobs. */
#define N_FRAMES 250
#define N_JOBS   2560
/* Sanitizers keep what is freed, and more: only numbers are tested with them. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MAX_PEAK_KB (4 << 20)
#else
#define MAX_PEAK_KB (200 << 10)
#endif

/* Kilobytes of a line of /proc/self/status, such as "VmHWM:". */
static long
status_kb(const char *key)
{
	FILE *in = fopen("/proc/self/status", "r");
	char line[256];
	long kb = -1;

	assert_non_null(in);
	while (fgets(line, sizeof line, in))
		if (strncmp(line, key, strlen(key)) == 0)
			sscanf(line + strlen(key), "%ld", &kb);
	fclose(in);
	return kb;
}

/* Starts the count of the peak anew, without memory that earlier tests have left. */
static long
reset_peak(void)
{
	FILE *out;

	malloc_trim(0);
	out = fopen("/proc/self/clear_refs", "w");
	if (out) {
		fputs("5", out);
		fclose(out);
	}
	return status_kb("VmRSS:");
}

struct attack {
	struct daemon_parts d;
	long before_kb;
	uint64_t sequence;
};

static void
open_attack(struct attack *a)
{
	*a = (struct attack){ .before_kb = 0 };
	parts_open(&a->d, "leaf-spine --leaves 2 --hosts-per-leaf 2 --spines 2");
	a->before_kb = reset_peak();
}

static void
close_attack(struct attack *a, const char *name, long max_kb)
{
	const struct live *live = telemetry_live(a->d.telemetry);
	struct jobs_counts counts;
	long peak_kb = status_kb("VmHWM:") - a->before_kb;

	parts_update_jobs(&a->d);
	telemetry_begin_scan(a->d.telemetry);
	while (telemetry_step_scan(a->d.telemetry))
		continue;
	counts = jobs_counts(a->d.jobs);
	if (status_kb("VmHWM:") - a->before_kb > peak_kb)
		peak_kb = status_kb("VmHWM:") - a->before_kb;
	printf("%-44s %5u hosts %6u jobs %6u interfaces %6u series: peak %4ld MB\n",
	       name, live_n_hosts(live), counts.n_jobs, live_n_interfaces(live),
	       live_n_series(live), peak_kb >> 10);
	assert_in_range(peak_kb, 0, max_kb);
	parts_close(&a->d);
}

static void
begin_frame(struct attack *a, struct tele_frame *frame, enum tele_kind kind,
	    const char *host)
{
	int64_t ms = T0_MS + (int64_t)a->sequence;

	frames_begin(frame, kind, host, ms - 100, ms, T0_MS * 1000000 - SECOND_NS * 100,
		     a->sequence++);
}

static uint32_t
add_new_job(struct tele_frame *frame, unsigned number)
{
	struct tele_job job;

	/* Not by tele_add_job(), which searches. */
	snprintf(job.name, sizeof job.name, "invented-job-with-a-long-name-%u", number);
	vec_push(&frame->jobs, job);
	return (uint32_t)frame->jobs.n - 1;
}

/* N_JOBS iterations of jobs from 'first' on. */
static void
send_iterations(struct attack *a, const char *host, unsigned first)
{
	struct tele_frame frame = { 0 };

	begin_frame(a, &frame, TELE_PACE, host);
	for (unsigned i = 0; i < N_JOBS; i++)
		vec_push(
			&frame.iterations,
			((struct tele_iteration){ .job = add_new_job(&frame, first + i),
						  .pid = 1,
						  .number = 1,
						  .enter_ns = frame.time_ns,
						  .begin_ns = frame.time_ns }));
	telemetry_take_frame(a->d.telemetry, &frame);
	tele_fini(&frame);
}

static void
one_host_that_invents_jobs_takes_little(void **state)
{
	struct attack a;

	(void)state;
	open_attack(&a);
	for (unsigned i = 0; i < N_FRAMES; i++)
		send_iterations(&a, "evil", i * N_JOBS);
	assert_int_equal(jobs_counts(a.d.jobs).n_jobs, LIVE_MAX_HOST_JOBS);
	close_attack(&a, "jobs of one host, iterations", MAX_PEAK_KB);
}

/* As many jobs as a host may name, with more iterations than are kept of each. */
static void
iterations_that_are_kept_take_little(void **state)
{
	struct attack a;

	(void)state;
	open_attack(&a);
	for (unsigned i = 0; i <= OUTCOME_N_KEPT + 8; i++) {
		struct tele_frame frame = { 0 };

		begin_frame(&a, &frame, TELE_PACE, "evil");
		for (unsigned k = 0; k < LIVE_MAX_HOST_JOBS; k++)
			vec_push(
				&frame.iterations,
				((struct tele_iteration){ .job = add_new_job(&frame, k),
							  .pid = 1,
							  .number = i,
							  .enter_ns = frame.time_ns,
							  .begin_ns = frame.time_ns }));
		telemetry_take_frame(a.d.telemetry, &frame);
		tele_fini(&frame);
	}
	close_attack(&a, "jobs of one host, all the iterations kept", MAX_PEAK_KB);
}

/* As many hosts as frames: only the limit on all jobs is left. */
static void
hosts_that_are_invented_take_little(void **state)
{
	struct attack a;
	char host[32];

	(void)state;
	open_attack(&a);
	for (unsigned i = 0; i < N_FRAMES; i++) {
		snprintf(host, sizeof host, "evil%u", i);
		send_iterations(&a, host, i * N_JOBS);
	}
	assert_int_equal(live_n_known_jobs(telemetry_live(a.d.telemetry)),
			 LIVE_MAX_JOBS);
	assert_true(live_counts(telemetry_live(a.d.telemetry))->over[LIVE_LIMIT_JOBS] >
		    0);
	close_attack(&a, "jobs of 250 hosts, iterations", MAX_PEAK_KB);
}

/* Summaries of 16 interfaces of each of very many hosts, which scans make links of. */
static void
interfaces_that_are_invented_take_little(void **state)
{
	struct attack a;
	char host[32], interface[32];

	(void)state;
	open_attack(&a);
	for (unsigned i = 0; i < LIVE_MAX_HOSTS + 1000; i++) {
		struct tele_frame frame = { 0 };

		snprintf(host, sizeof host, "evil%u", i);
		begin_frame(&a, &frame, TELE_SUMMARY, host);
		for (unsigned k = 0; k < 16; k++) {
			struct tele_traffic row = { .job = TELE_LINK,
						    .window_bytes = 1000 };

			snprintf(interface, sizeof interface, "e%u", k);
			row.interface = tele_add_interface(&frame, interface);
			vec_push(&frame.traffic, row);
		}
		telemetry_take_frame(a.d.telemetry, &frame);
		tele_fini(&frame);
	}
	assert_int_equal(live_n_hosts(telemetry_live(a.d.telemetry)), LIVE_MAX_HOSTS);
	assert_int_equal(live_n_interfaces(telemetry_live(a.d.telemetry)),
			 LIVE_MAX_INTERFACES);
	close_attack(&a, "interfaces of 17,384 hosts, summaries", MAX_PEAK_KB);
}

/* Raw series of one host: its share of memory_mb. */
static void
one_host_that_invents_series_takes_its_share(void **state)
{
	const uint32_t bin = 1000;
	const struct live_counts *counts;
	struct attack a;

	(void)state;
	open_attack(&a);
	counts = live_counts(telemetry_live(a.d.telemetry));
	for (unsigned i = 0; i < 40; i++) {
		struct tele_frame frame = { 0 };
		char interface[32];

		begin_frame(&a, &frame, TELE_RAW, "evil");
		snprintf(interface, sizeof interface, "e%u", i);
		tele_add_interface(&frame, interface);
		for (unsigned k = 0; k < 1000; k++)
			tele_add_series(&frame, 0, add_new_job(&frame, k), TELE_TX,
					TELE_WIRE, frame.time_ns / 1000000 - 1, &bin,
					1);
		telemetry_take_frame(a.d.telemetry, &frame);
		tele_fini(&frame);
	}
	assert_true(counts->over[LIVE_LIMIT_HOST_BYTES] > 0);
	assert_int_equal(counts->over[LIVE_LIMIT_BYTES], 0);
	assert_string_equal(counts->last_refused, "evil");
	assert_true(live_bytes(telemetry_live(a.d.telemetry)) <=
		    ((size_t)a.d.config.memory_mb << 20) / LIVE_HOST_SHARE +
			    LIVE_ITEM_ROOM);
	close_attack(&a, "raw series of one host", MAX_PEAK_KB);
}

/* What an attack leaves is forgotten, and does not keep others out for long. */
static void
names_that_are_invented_are_forgotten_soon(void **state)
{
	struct live *live = live_new(NULL);
	struct tele_frame frame = { 0 };
	char host[32];
	int64_t now_ns = SECOND_NS;

	(void)state;
	for (unsigned i = 0; i < LIVE_MAX_HOSTS + 1; i++) {
		snprintf(host, sizeof host, "evil%u", i);
		frames_begin(&frame, TELE_SUMMARY, host, T0_MS, T0_MS, 0, 0);
		for (unsigned k = 0; k < 2; k++)
			add_new_job(&frame, 2 * i + k);
		live_receive(live, &frame, now_ns);
	}
	assert_int_equal(live_n_hosts(live), LIVE_MAX_HOSTS);
	assert_int_equal(live_counts(live)->over[LIVE_LIMIT_HOSTS], 1);
	assert_int_equal(live_n_known_jobs(live), LIVE_MAX_JOBS);
	now_ns += LIVE_FORGET_CROWDED_NS + SECOND_NS;
	frames_begin(&frame, TELE_SUMMARY, "evil0", T0_MS, T0_MS, 0, 1);
	live_receive(live, &frame, now_ns);
	live_forget(live, NULL, NULL);
	assert_int_equal(live_n_hosts(live), 1);
	assert_int_equal(live_n_known_jobs(live), 0);
	frames_begin(&frame, TELE_SUMMARY, "new", T0_MS, T0_MS, 0, 1);
	add_new_job(&frame, 1);
	live_receive(live, &frame, now_ns);
	assert_int_equal(live_n_hosts(live), 2);
	assert_int_equal(live_n_known_jobs(live), 1);
	tele_fini(&frame);
	live_free(live);
}

/* A job that another host goes on to name stays when the host that owns it is gone. */
static void
a_job_outlives_the_host_that_named_it_first(void **state)
{
	struct live *live = live_new(NULL);
	struct tele_frame frame = { 0 };
	int64_t now_ns = SECOND_NS;
	const char *const hosts[] = { "a", "b", "b" };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		frames_begin(&frame, TELE_EVENTS, hosts[i], T0_MS, T0_MS, 0, i);
		vec_push(&frame.events,
			 ((struct tele_event){ .job = add_new_job(&frame, 1) }));
		live_receive(live, &frame, now_ns);
		now_ns += i == 1 ? LIVE_FORGET_HOST_NS : SECOND_NS;
	}
	live_forget(live, NULL, NULL);
	assert_int_equal(live_n_hosts(live), 1);
	assert_int_equal(live_n_known_jobs(live), 1);
	frames_begin(&frame, TELE_SUMMARY, "b", T0_MS, T0_MS, 0, 4);
	live_receive(live, &frame, now_ns + 2 * LIVE_FORGET_JOB_NS);
	live_forget(live, NULL, NULL);
	assert_int_equal(live_n_known_jobs(live), 0);
	tele_fini(&frame);
	live_free(live);
}

/* A report of 'n' flows of a host, as text. */
static int
report_flows(struct flow_table *table, const char *host, uint32_t n, int64_t now_ns)
{
	struct flow_rows rows = { .rows = VEC_EMPTY };
	struct err err;
	char *text;
	int rc;

	snprintf(rows.host, sizeof rows.host, "%s", host);
	for (uint32_t i = 0; i < n; i++) {
		struct flow_row row = { .job = "1" };

		row.flow.source[15] = row.flow.destination[15] = 1;
		row.flow.source[10] = row.flow.destination[10] = 255;
		row.flow.source[11] = row.flow.destination[11] = 255;
		row.flow.destination_port = 1;
		row.port = row.flow.source_port = (uint16_t)(1 + i);
		vec_push(&rows.rows, row);
	}
	text = flow_text_write(&rows);
	rc = flow_table_take(table, now_ns, text, strlen(text), &err);
	free(text);
	flow_rows_fini(&rows);
	return rc;
}

static void
flows_that_are_invented_take_little(void **state)
{
	struct flow_table *table = flow_table_new();
	const unsigned n_full = FLOW_TABLE_MAX_FLOWS / FLOW_MAX;
	long before_kb;
	char host[32];

	(void)state;
	before_kb = reset_peak();
	for (unsigned i = 0; i < n_full + 10; i++) {
		snprintf(host, sizeof host, "evil%u", i);
		assert_int_equal(report_flows(table, host, FLOW_MAX, SECOND_NS),
				 i < n_full ? 0 : -E2BIG);
	}
	printf("%-44s %5u hosts %6zu flows: peak %4ld MB\n", "flows of 74 hosts",
	       n_full, flow_table_n(table), (status_kb("VmHWM:") - before_kb) >> 10);
	assert_in_range(status_kb("VmHWM:") - before_kb, 0, MAX_PEAK_KB);
	assert_int_equal(flow_table_n(table), FLOW_TABLE_MAX_FLOWS);
	assert_int_equal(flow_table_n_refused(table), 10);
	/* A known host may report as many again, or fewer. */
	assert_int_equal(report_flows(table, "evil0", FLOW_MAX, SECOND_NS), 0);
	assert_int_equal(report_flows(table, "evil0", 1, SECOND_NS), 0);
	assert_int_equal(report_flows(table, "new", 1, SECOND_NS), 0);
	flow_table_tick(table, SECOND_NS + FLOW_TABLE_KEEP_NS);
	assert_int_equal(flow_table_n(table), 0);
	flow_table_free(table);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_host_that_invents_jobs_takes_little),
		cmocka_unit_test(iterations_that_are_kept_take_little),
		cmocka_unit_test(hosts_that_are_invented_take_little),
		cmocka_unit_test(interfaces_that_are_invented_take_little),
		cmocka_unit_test(one_host_that_invents_series_takes_its_share),
		cmocka_unit_test(names_that_are_invented_are_forgotten_soon),
		cmocka_unit_test(a_job_outlives_the_host_that_named_it_first),
		cmocka_unit_test(flows_that_are_invented_take_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
