/* SPDX-License-Identifier: Apache-2.0 */
/* test_emit.c - the telemetry of a simulation agrees with the engine */
#include "engine/engine.h"
#include "scheduler/core/profile/detect.h"
#include "sim/telemetry/emit.h"
#include "tests/unit/experiment_fixture.h"

#define SECOND INT64_C(1000000000)

/* Two jobs that contend, with jitter, and a third one with its own rates. */
static const char SCENARIO[] =
	"[sim]\nduration = 12 s\nwarmup_iterations = 0\nseed = 7\n" LAB_JOB(
		"A", "a0,b0", "25", "125", "jitter = 3 %\n")
		LAB_JOB("B", "a1,b1", "31.7", "60",
			"segment = send 10.123457 MB at 7 Gb/s\n")
			LAB_JOB("C", "a2,b2,a3", "110", "3.3", "jitter = 2 %\n");

/* All frames of a run, encoded and decoded. */
struct heard {
	struct lab lab;
	struct sim_plan plan;
	struct experiment experiment;
	struct emit *emit;
	struct tele_frame frame;
	struct tele_buffer bytes;
	VEC(size_t) ends; /* End of each frame in 'bytes'. */
};

static void
on_sent(void *ctx, uint32_t job, uint32_t flow, double start_ns, double end_ns,
	double rate_bps, double ecn_packets)
{
	struct heard *heard = ctx;

	emit_sent(heard->emit, job, flow, start_ns, end_ns, rate_bps, ecn_packets);
}

static void
on_flows(void *ctx, uint32_t job, uint32_t segment, double start_ns, double end_ns)
{
	struct heard *heard = ctx;

	emit_flows(heard->emit, job, segment, start_ns, end_ns);
}

static bool
on_tick(void *ctx, int64_t now_ns)
{
	struct heard *heard = ctx;

	emit_window(heard->emit, now_ns);
	for (size_t i = 0; i < emit_n_senders(heard->emit); i++)
		for (int kind = TELE_SUMMARY; kind <= TELE_EVENTS; kind++)
			if (emit_frame(heard->emit, i, (enum tele_kind)kind,
				       &heard->frame)) {
				tele_encode(&heard->frame, &heard->bytes);
				vec_push(&heard->ends, heard->bytes.n);
			}
	return true;
}

static void
hear(struct heard *heard, const char *text, const struct emit_opts *emit_opts)
{
	struct experiment_opts opts;

	*heard = (struct heard){ .lab = lab_make(text) };
	heard->plan = lab_plan(&heard->lab, "none");
	experiment_opts_init(&opts, heard->lab.scenario, SIM_POLICY_NONE);
	heard->emit =
		emit_new(heard->lab.topo, heard->lab.scenario, &heard->plan, emit_opts);
	opts.ctx = heard;
	opts.on_sent = on_sent;
	opts.on_flows = on_flows;
	opts.on_tick = on_tick;
	opts.tick_ns = SECOND;
	assert_int_equal(experiment_run(heard->lab.scenario, &heard->plan,
					heard->lab.topo, &opts, &heard->experiment),
			 0);
}

static void
stop_hearing(struct heard *heard)
{
	emit_free(heard->emit);
	experiment_fini(&heard->experiment);
	sim_plan_fini(&heard->plan);
	lab_fini(&heard->lab);
	tele_fini(&heard->frame);
	tele_buffer_fini(&heard->bytes);
	vec_free(&heard->ends);
}

/* Decodes frame number 'i' of a run into heard->frame. */
static const struct tele_frame *
frame_of(struct heard *heard, size_t i)
{
	size_t first = i ? heard->ends.items[i - 1] : 0;
	struct err err = { 0 };

	if (tele_decode(heard->bytes.bytes + first, heard->ends.items[i] - first,
			&heard->frame, &err) < 0) {
		err_print(&err, stderr);
		fail();
	}
	return &heard->frame;
}

/* Total over all raw frames of the series of one host and job. */
struct total {
	const char *host, *job; /* Job "(all)": the whole link. */
	int direction;
	uint64_t series_bytes, row_bytes, windows_bytes, packets;
};

static void
sum_up(struct heard *heard, struct total *total)
{
	for (size_t i = 0; i < heard->ends.n; i++) {
		const struct tele_frame *frame = frame_of(heard, i);

		if (strcmp(frame->host, total->host))
			continue;
		for (size_t k = 0; k < frame->series.n; k++) {
			const struct tele_series *s = &frame->series.items[k];

			if (s->direction == total->direction &&
			    !strcmp(tele_job_name(frame, s->job), total->job))
				for (uint32_t b = 0; b < s->n_bins; b++)
					total->series_bytes += tele_bins(frame, s)[b];
		}
		for (size_t k = 0; k < frame->traffic.n; k++) {
			const struct tele_traffic *row = &frame->traffic.items[k];

			if (row->direction != total->direction ||
			    strcmp(tele_job_name(frame, row->job), total->job))
				continue;
			total->row_bytes = row->total_bytes;
			total->packets = row->total_packets;
			total->windows_bytes += row->window_bytes;
		}
	}
}

static double
engine_bytes(const struct heard *heard, const char *host, int direction)
{
	for (size_t i = 0; i < heard->experiment.n_links; i++) {
		const struct experiment_link *seen = &heard->experiment.links[i];
		const struct topo_link *link = topo_link(heard->lab.topo, seen->link);
		uint32_t node = direction == TELE_TX ? link->from : link->to;

		if (!strcmp(topo_node(heard->lab.topo, node)->name, host))
			return seen->stats.bytes;
	}
	return 0;
}

static void
bins_rows_and_windows_add_up_to_the_engines_own_totals(void **state)
{
	static const char *const hosts[] = { "a0", "b0", "a1", "b1",
					     "a2", "b2", "a3", "b3" };
	const struct emit_opts opts = { .seed = 7 };
	struct heard heard;

	(void)state;
	hear(&heard, SCENARIO, &opts);
	for (size_t h = 0; h < 8; h++)
		for (int direction = TELE_TX; direction <= TELE_RX; direction++) {
			struct total total = {
				hosts[h], "(all)", direction, 0, 0, 0, 0
			};
			double want = engine_bytes(&heard, hosts[h], direction);

			sum_up(&heard, &total);
			assert_near((double)total.series_bytes, want, 1.0);
			assert_int_equal(total.row_bytes, total.series_bytes);
			assert_int_equal(total.windows_bytes, total.series_bytes);
			assert_near((double)total.packets, want / 4000, 1.0);
			assert_int_equal(want > 0, strcmp(hosts[h], "b3") != 0);
		}
	stop_hearing(&heard);
}

static void
a_job_sends_its_bytes_in_each_iteration(void **state)
{
	/* Alone: 100 ms and 50 MB at 50 Gb/s, 8 ms; the tenth ends at 1080 ms. */
	static const char text[] =
		"[sim]\niterations = 10\nwarmup_iterations = 0\n" LAB_JOB(
			"A", "a0,b0", "100", "50", "");
	const struct emit_opts opts = { .seed = 1 };
	struct heard heard;
	struct total total = { "a0", "A", TELE_TX, 0, 0, 0, 0 };
	const struct tele_frame *frame;
	const struct tele_series *s;

	(void)state;
	hear(&heard, text, &opts);
	sum_up(&heard, &total);
	assert_int_equal(total.series_bytes, 10 * 50000000);
	assert_int_equal(total.row_bytes, 10 * 50000000);
	for (size_t i = 0;; i++) {
		frame = frame_of(&heard, i);
		if (frame->kind == TELE_RAW && !strcmp(frame->host, "a0"))
			break;
	}
	assert_int_equal(frame->flags, TELE_SIMULATED);
	assert_int_equal(frame->time_ns, SECOND);
	assert_int_equal(frame->window_ns, SECOND);
	assert_string_equal(frame->interfaces.items[0].name, "p0");
	s = &frame->series.items[0];
	assert_string_equal(tele_job_name(frame, s->job), "A");
	assert_int_equal(s->n_bins, 1000);
	for (uint32_t b = 0; b < 1000; b++)
		assert_int_equal(tele_bins(frame, s)[b], b % 108 >= 100 ? 6250000 : 0);
	/* The last window ends with the run. */
	frame = frame_of(&heard, heard.ends.n - 1);
	assert_int_equal(frame->time_ns, 1080 * 1000000);
	assert_int_equal(frame->window_ns, 80 * 1000000);
	stop_hearing(&heard);
}

static void
the_same_seed_says_the_same_bytes(void **state)
{
	const struct emit_opts opts = { .seed = 7, .with_events = true },
			       others = { .seed = 8, .with_events = true };
	struct heard a, b, c;

	(void)state;
	hear(&a, SCENARIO, &opts);
	hear(&b, SCENARIO, &opts);
	hear(&c, SCENARIO, &others);
	assert_int_equal(a.bytes.n, b.bytes.n);
	assert_memory_equal(a.bytes.bytes, b.bytes.bytes, a.bytes.n);
	frame_of(&a, 0);
	frame_of(&b, 1);
	frame_of(&c, 0);
	assert_int_equal(a.frame.start_id, b.frame.start_id);
	assert_memory_equal(a.frame.boot_id, b.frame.boot_id, 16);
	assert_int_not_equal(a.frame.start_id, c.frame.start_id);
	assert_memory_not_equal(a.frame.boot_id, c.frame.boot_id, 16);
	stop_hearing(&a);
	stop_hearing(&b);
	stop_hearing(&c);
}

static void
sequences_count_from_zero_for_each_host_and_kind(void **state)
{
	const struct emit_opts opts = { .seed = 7 };
	struct heard heard;
	uint64_t next[2] = { 0 };

	(void)state;
	hear(&heard, SCENARIO, &opts);
	for (size_t i = 0; i < heard.ends.n; i++) {
		const struct tele_frame *frame = frame_of(&heard, i);

		if (!strcmp(frame->host, "b1"))
			assert_int_equal(frame->sequence,
					 next[frame->kind == TELE_RAW]++);
	}
	assert_int_equal(next[0], 12);
	assert_int_equal(next[1], 12);
	stop_hearing(&heard);
}

static void
switches_know_loads_but_not_whose(void **state)
{
	const struct emit_opts opts = { .seed = 7, .with_switches = true };
	struct heard heard;
	struct total all = { "leafa", "(all)", TELE_TX, 0, 0, 0, 0 };
	struct total job = { "leafa", "A", TELE_TX, 0, 0, 0, 0 };
	double want = 0;

	(void)state;
	hear(&heard, SCENARIO, &opts);
	assert_int_equal(emit_n_senders(heard.emit), 10);
	sum_up(&heard, &all);
	sum_up(&heard, &job);
	for (size_t i = 0; i < heard.experiment.n_links; i++) {
		const struct experiment_link *seen = &heard.experiment.links[i];
		uint32_t from = topo_link(heard.lab.topo, seen->link)->from;

		if (!strcmp(topo_node(heard.lab.topo, from)->name, "leafa"))
			want += seen->stats.bytes;
	}
	assert_true(want > 0);
	assert_near((double)all.series_bytes, want, 10.0);
	assert_int_equal(job.series_bytes + job.row_bytes, 0);
	stop_hearing(&heard);
}

static void
events_are_the_collectives_of_the_hosts_jobs(void **state)
{
	static const char text[] =
		"[sim]\niterations = 10\nwarmup_iterations = 0\n" LAB_JOB(
			"A", "a0,b0", "100", "50", "")
			LAB_JOB("B", "a1,a2", "300", "50", "");
	const struct emit_opts opts = { .seed = 1, .with_events = true };
	struct heard heard;
	size_t n = 0;

	(void)state;
	hear(&heard, text, &opts);
	for (size_t i = 0; i < heard.ends.n; i++) {
		const struct tele_frame *frame = frame_of(&heard, i);

		if (frame->kind != TELE_EVENTS || strcmp(frame->host, "b0"))
			continue;
		assert_true(frame->events.n > 0);
		for (size_t k = 0; k < frame->events.n; k++) {
			const struct tele_event *event = &frame->events.items[k];

			if (n < 10) /* A continues until B is done. */
				assert_int_equal(event->begin_ns,
						 (100 + 108 * (int64_t)n) * 1000000);
			n++;
			assert_string_equal(tele_job_name(frame, event->job), "A");
			assert_near((double)(event->end_ns - event->begin_ns), 8e6, 1);
			assert_int_equal(event->bytes, 50000000);
		}
	}
	assert_true(n >= 10);
	stop_hearing(&heard);
}

/* ---- From frames to the period -------------------------------------------------- */

static void
copy_bins(const struct tele_frame *frame, const char *job, uint32_t rank,
	  struct series_set *set)
{
	for (size_t k = 0; k < frame->series.n; k++) {
		const struct tele_series *s = &frame->series.items[k];
		float *row = series_row(set, 2 * rank + (s->direction == TELE_RX));

		if (strcmp(tele_job_name(frame, s->job), job))
			continue;
		for (uint32_t b = 0; b < s->n_bins; b++)
			if ((size_t)s->start_ms + b < set->n_buckets)
				row[(size_t)s->start_ms + b] =
					(float)tele_bins(frame, s)[b];
	}
}

static double
period_from_frames_ms(struct heard *heard, const char *job, const char *const hosts[2])
{
	struct series_set set = { 0 };
	struct detection found;
	struct err err = { 0 };
	double period_ms;

	series_init(&set, 4, 12000);
	for (uint32_t s = 0; s < 4; s++)
		set.ids[s] = (struct series_id){ s / 2, s % 2 };
	for (size_t i = 0; i < heard->ends.n; i++) {
		const struct tele_frame *frame = frame_of(heard, i);

		for (uint32_t rank = 0; rank < 2; rank++)
			if (!strcmp(frame->host, hosts[rank]))
				copy_bins(frame, job, rank, &set);
	}
	if (detect_profile(&set, "frames", job, &found, &err) < 0) {
		err_print(&err, stderr);
		fail();
	}
	period_ms = (double)found.profile.period_us / 1e3;
	detection_fini(&found);
	series_fini(&set);
	return period_ms;
}

static void
the_period_seen_in_frames_is_the_simulated_one(void **state)
{
	static const char *const hosts[2][2] = { { "a0", "b0" }, { "a1", "b1" } };
	static const char *const names[2] = { "A", "B" };
	const struct emit_opts opts = { .seed = 7 };
	struct heard heard;

	(void)state;
	hear(&heard, SCENARIO, &opts);
	for (size_t j = 0; j < 2; j++) {
		double want_ms = heard.experiment.jobs[j].p50_ns / 1e6;

		assert_near(period_from_frames_ms(&heard, names[j], hosts[j]), want_ms,
			    0.02 * want_ms);
	}
	stop_hearing(&heard);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			bins_rows_and_windows_add_up_to_the_engines_own_totals),
		cmocka_unit_test(a_job_sends_its_bytes_in_each_iteration),
		cmocka_unit_test(the_same_seed_says_the_same_bytes),
		cmocka_unit_test(sequences_count_from_zero_for_each_host_and_kind),
		cmocka_unit_test(switches_know_loads_but_not_whose),
		cmocka_unit_test(events_are_the_collectives_of_the_hosts_jobs),
		cmocka_unit_test(the_period_seen_in_frames_is_the_simulated_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
