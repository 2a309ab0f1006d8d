/* SPDX-License-Identifier: Apache-2.0 */
/* test_live.c - the state that scheduler/live/live.h builds from frames */
#include "scheduler/live/live.h"
#include "tests/unit/frames.h"
#include "tests/unit/test.h"

#define T0 INT64_C(1000000) /* Wall clock ms of the first frame. */

static uint32_t
count_up(const void *ctx, int64_t ms)
{
	(void)ctx;
	return (uint32_t)(ms - T0 + 1);
}

static uint32_t
gap_in_the_middle(const void *ctx, int64_t ms)
{
	return ms - T0 >= 40 && ms - T0 < 60 ? TELE_GAP : count_up(ctx, ms);
}

/* Sends host "h0", interface "e0", job "a", TX, with increasing values. */
static void
send(struct live *live, const char *host, int64_t from_ms, int64_t to_ms,
     int64_t offset_ns, uint64_t sequence, frames_bytes *bytes)
{
	struct tele_frame frame = { 0 };

	frames_begin(&frame, TELE_RAW, host, T0 + from_ms, T0 + to_ms, offset_ns,
		     sequence);
	frames_add(&frame, "e0", 1e9, "a", TELE_TX, bytes, NULL);
	live_frame(live, &frame);
	tele_fini(&frame);
}

static void
bins_come_back_where_they_were(void **state)
{
	struct live *live = live_new(NULL);
	uint32_t bins[120];

	(void)state;
	send(live, "h0", 0, 50, 0, 0, count_up);
	send(live, "h0", 50, 100, 0, 1, count_up);
	assert_int_equal(live_complete_ms(live), T0 + 100);
	assert_int_equal(live_span_ms(live), 100);
	live_bins(live, 0, T0 - 10, 120, bins);
	for (int i = 0; i < 120; i++)
		assert_int_equal(bins[i],
				 i < 10 || i >= 110 ? TELE_GAP : (uint32_t)(i - 9));
	assert_string_equal(live_job_name(live, live_series(live, 0)->job), "a");
	live_free(live);
}

static void
what_no_frame_told_is_a_gap_and_not_zero(void **state)
{
	struct live *live = live_new(NULL);
	uint32_t bins[200];

	(void)state;
	send(live, "h0", 0, 100, 0, 0, gap_in_the_middle);
	send(live, "h0", 150, 200, 0, 2, count_up);
	live_bins(live, 0, T0, 200, bins);
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(bins[i], (i >= 40 && i < 60) || (i >= 100 && i < 150)
						  ? TELE_GAP
						  : i + 1);
	assert_int_equal(live_host(live, 0)->gaps, 1);
	live_free(live);
}

static void
a_series_left_out_of_a_frame_of_its_interface_is_silent(void **state)
{
	struct live *live = live_new(NULL);
	struct tele_frame frame = { 0 };
	uint32_t bins[150];

	(void)state;
	send(live, "h0", 0, 50, 0, 0, count_up);
	frames_begin(&frame, TELE_RAW, "h0", T0 + 50, T0 + 100, 0, 1);
	tele_add_interface(&frame, "e0");
	live_frame(live, &frame);
	frames_begin(&frame, TELE_RAW, "h0", T0 + 100, T0 + 150, 0, 2);
	live_frame(live, &frame); /* The frame does not list the interface: a gap. */
	tele_fini(&frame);
	live_bins(live, 0, T0, 150, bins);
	for (uint32_t i = 0; i < 150; i++)
		assert_int_equal(bins[i], i < 50 ? i + 1 : i < 100 ? 0 : TELE_GAP);
	live_free(live);
}

static void
hosts_with_other_clocks_are_laid_on_one(void **state)
{
	struct live *live = live_new(NULL);
	uint32_t bins[2][100];

	(void)state;
	send(live, "h0", 0, 100, 0, 0, count_up);
	send(live, "h1", 0, 100, INT64_C(123456789000000), 0, count_up);
	for (uint32_t s = 0; s < 2; s++)
		live_bins(live, s, T0, 100, bins[s]);
	assert_memory_equal(bins[0], bins[1], sizeof bins[0]);
	assert_int_equal(bins[0][99], 100);
	live_free(live);
}

static void
a_stepped_wall_clock_moves_the_whole_series(void **state)
{
	struct live *live = live_new(NULL);
	struct tele_frame frame = { 0 };
	uint32_t bins[100];

	(void)state;
	send(live, "h0", 0, 50, 0, 0, count_up);
	/* The monotonic clock continues; the wall clock jumps by 1 s. */
	frames_begin(&frame, TELE_RAW, "h0", T0 + 50, T0 + 100, 0, 1);
	frame.wall_offset_ns = 1000000000;
	frame.flags = TELE_CLOCK_STEPPED;
	tele_add_interface(&frame, "e0");
	live_frame(live, &frame);
	tele_fini(&frame);
	assert_int_equal(live_complete_ms(live), T0 + 1100);
	live_bins(live, 0, T0 + 1000, 100, bins);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(bins[i], i < 50 ? i + 1 : 0);
	assert_int_equal(live_host(live, 0)->steps, 1);
	live_free(live);
}

static void
a_host_that_says_nothing_is_silent_and_holds_nobody_up(void **state)
{
	struct live *live = live_new(NULL);

	(void)state;
	send(live, "h0", 0, 100, 0, 0, count_up);
	send(live, "h1", 0, 100, 0, 0, count_up);
	assert_false(live_is_silent(live, 1));
	for (int i = 1; i < 50; i++)
		send(live, "h0", 100 * i, 100 * (i + 1), 0, (uint64_t)i, count_up);
	assert_false(live_is_silent(live, 0));
	assert_true(live_is_silent(live, 1));
	assert_int_equal(live_age_ns(live, 1), INT64_C(4900000000));
	assert_int_equal(live_complete_ms(live), T0 + 5000);
	live_free(live);
}

static void
a_restarted_sender_and_a_reboot_begin_anew(void **state)
{
	struct live *live = live_new(NULL);
	struct tele_frame frame = { 0 };
	uint32_t bins[50];

	(void)state;
	send(live, "h0", 0, 50, 0, 7, count_up);
	frames_begin(&frame, TELE_RAW, "h0", T0 + 50, T0 + 60, 0, 0);
	frame.start_id = 2;
	live_frame(live, &frame);
	assert_int_equal(live_host(live, 0)->restarts, 1);
	assert_int_equal(live_host(live, 0)->gaps, 0);
	live_bins(live, 0, T0, 50, bins);
	assert_int_equal(bins[49], 50);
	memset(frame.boot_id, 2, sizeof frame.boot_id);
	frame.time_ns = 1000000;
	live_frame(live, &frame);
	live_bins(live, 0, T0, 50, bins);
	assert_int_equal(bins[49], TELE_GAP);
	assert_int_equal(live_counts(live)->reboots, 1);
	tele_fini(&frame);
	live_free(live);
}

static void
memory_has_an_end_and_what_is_refused_is_counted(void **state)
{
	struct live_opts opts = { .keep_ms = 1000, .max_bytes = 64 << 10 };
	struct live *live = live_new(&opts);
	char host[32];

	(void)state;
	for (int i = 0; i < 100; i++) {
		snprintf(host, sizeof host, "h%d", i);
		send(live, host, 0, 100, 0, 0, count_up);
	}
	assert_in_range(live_n_hosts(live), 5, 99);
	assert_true(live_counts(live)->refused > 0);
	live_free(live);
}

/* Summaries are still taken when raw series have used all of their share. */
static void
raw_series_leave_room_for_all_else(void **state)
{
	const struct live_opts opts = { .keep_ms = 1000, .max_bytes = 1 << 20 };
	struct live *live = live_new(&opts);
	struct tele_frame frame = { 0 };
	char host[32];

	(void)state;
	for (int i = 0; live_counts(live)->refused == 0; i++) {
		snprintf(host, sizeof host, "r%d", i);
		send(live, host, 0, 100, 0, 0, count_up);
	}
	assert_in_range(live_bytes(live), opts.max_bytes / 2,
			opts.max_bytes * (LIVE_ITEMS_SHARE - 1) / LIVE_ITEMS_SHARE +
				8192);
	for (int i = 0; i < 50; i++) {
		uint32_t n = live_n_hosts(live);

		snprintf(host, sizeof host, "s%d", i);
		frames_begin(&frame, TELE_SUMMARY, host, T0, T0 + 1000, 0, 0);
		frames_add(&frame, "e0", 1e9, host, TELE_TX, count_up, NULL);
		live_frame(live, &frame);
		assert_int_equal(live_n_hosts(live), n + 1);
		assert_int_not_equal(live_find_job(live, host), TELE_LINK);
	}
	tele_fini(&frame);
	live_free(live);
}

static void
times_that_are_none_do_no_harm(void **state)
{
	struct live *live = live_new(NULL);
	struct tele_frame frame = { 0 };
	const uint32_t bin = 5;
	uint32_t bins[4];

	(void)state;
	send(live, "h0", 0, 50, 0, 0, count_up);
	frames_begin(&frame, TELE_RAW, "h0", T0, T0 + 50, 0, 1);
	tele_add_series(&frame, tele_add_interface(&frame, "e0"),
			tele_add_job(&frame, "a"), TELE_TX, TELE_WIRE, INT64_C(1) << 61,
			&bin, 1);
	live_frame(live, &frame);
	assert_int_equal(live_counts(live)->late_bins, 1);
	frame.time_ns = INT64_MAX;
	live_frame(live, &frame);
	assert_int_equal(live_counts(live)->refused, 1);
	live_bins(live, 0, T0, 4, bins);
	assert_int_equal(bins[3], 4);
	tele_fini(&frame);
	live_free(live);
}

/* A raw frame of job "a" with a given boot and start. */
static void
send_as(struct live *live, const char *host, uint8_t boot, uint64_t start_id,
	int64_t from_ms, int64_t to_ms, uint64_t sequence)
{
	struct tele_frame frame = { 0 };

	frames_begin(&frame, TELE_RAW, host, T0 + from_ms, T0 + to_ms, 0, sequence);
	memset(frame.boot_id, boot, sizeof frame.boot_id);
	frame.start_id = start_id;
	frames_add(&frame, "e0", 1e9, "a", TELE_TX, count_up, NULL);
	live_frame(live, &frame);
	tele_fini(&frame);
}

static void
of_two_machines_under_one_name_one_is_believed(void **state)
{
	struct live *live = live_new(NULL);
	uint32_t bins[100];

	(void)state;
	for (int64_t i = 0; i < 10; i++) {
		send_as(live, "h0", 1, 1, 10 * i, 10 * i + 10, (uint64_t)i);
		send_as(live, "h0", 2, 2, 10 * i, 10 * i + 10, (uint64_t)i);
	}
	assert_int_equal(live_counts(live)->reboots, 1);
	assert_int_equal(live_counts(live)->doubled, 9);
	assert_int_equal(live_host(live, 0)->gaps, 0);
	live_bins(live, 0, T0, 100, bins);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(bins[i], i + 1);
	/* When the trusted sender is silent, the other one takes over. */
	send_as(live, "h0", 1, 1, 3200, 3300, 10);
	assert_int_equal(live_counts(live)->doubled, 9);
	assert_int_equal(live_counts(live)->reboots, 2);
	assert_int_equal(live_complete_ms(live), T0 + 3300);
	live_free(live);
}

static void
two_senders_of_one_boot_take_turns(void **state)
{
	struct live *live = live_new(NULL);

	(void)state;
	for (int64_t i = 0; i < 10; i++)
		for (uint64_t start_id = 1; start_id <= 2; start_id++)
			send_as(live, "h0", 1, start_id, 10 * i, 10 * i + 10,
				1000 * start_id + (uint64_t)i);
	assert_int_equal(live_host(live, 0)->restarts, 1);
	assert_int_equal(live_host(live, 0)->gaps, 0);
	assert_int_equal(live_counts(live)->doubled, 0);
	live_free(live);
}

static void
one_clock_that_is_far_ahead_makes_nobody_silent(void **state)
{
	struct live *live = live_new(NULL);
	const int64_t year_ms = INT64_C(31536000000);

	(void)state;
	for (int64_t s = 0; s < 10; s++) {
		int64_t ms = 1000 * s;

		send(live, "h0", ms, ms + 1000, 0, (uint64_t)s, count_up);
		send(live, "h1", ms, ms + 1000, 0, (uint64_t)s, count_up);
		send(live, "bad", ms + year_ms, ms + year_ms + 1000, 0, (uint64_t)s,
		     count_up);
	}
	assert_int_equal(live_now_ns(live), (T0 + 10000) * 1000000);
	assert_false(live_is_silent(live, 0));
	assert_false(live_is_silent(live, 1));
	assert_int_equal(live_complete_ms(live), T0 + 10000);
	/* All other hosts have gone: time follows the one that is left. */
	for (int64_t s = 10; s < 14; s++)
		send(live, "bad", 1000 * s + year_ms, 1000 * s + year_ms + 1000, 0,
		     (uint64_t)s, count_up);
	assert_int_equal(live_now_ns(live), (T0 + year_ms + 14000) * 1000000);
	assert_true(live_is_silent(live, 0));
	live_free(live);
}

/* A minute without a receiver: all hosts are ahead, and none contradicts. */
static void
after_a_pause_of_all_time_goes_on(void **state)
{
	struct live *live = live_new(NULL);

	(void)state;
	for (int64_t s = 0; s < 70; s += s == 1 ? 60 : 1)
		for (char host[] = "h0"; host[1] < '3'; host[1]++)
			send(live, host, 1000 * s, 1000 * s + 1000, 0, (uint64_t)s,
			     count_up);
	assert_int_equal(live_now_ns(live), (T0 + 70000) * 1000000);
	for (uint32_t i = 0; i < 3; i++)
		assert_false(live_is_silent(live, i));
	live_free(live);
}

static void
more_holes_than_are_kept_are_gaps_and_not_zero(void **state)
{
	struct live *live = live_new(NULL);
	uint32_t bins[2000];

	(void)state;
	for (int64_t i = 0; i < 1000; i++) {
		struct tele_frame frame = { 0 };

		frames_begin(&frame, TELE_RAW, "h0", T0 + 2 * i, T0 + 2 * i + 1, 0,
			     (uint64_t)i);
		frames_add(&frame, "e0", 1e9, "a", TELE_TX, count_up, NULL);
		frame.series.n = i == 0; /* Later frames only list the interface. */
		live_frame(live, &frame);
		tele_fini(&frame);
	}
	live_bins(live, 0, T0, 2000, bins);
	assert_int_equal(bins[0], 1);
	assert_int_equal(bins[2], TELE_GAP); /* The ring has wrapped over it. */
	assert_int_equal(bins[1998], 0);
	assert_int_equal(bins[1999], TELE_GAP);
	live_free(live);
}

static void
events_take_memory_that_is_reckoned(void **state)
{
	const struct live_opts opts = {
		.max_bytes = LIVE_MAX_EVENTS * sizeof(struct live_event) * 3 / 2
	};
	struct live *live = live_new(&opts);
	struct tele_frame frame = { 0 };
	size_t n_first, n_second;

	(void)state;
	frames_begin(&frame, TELE_EVENTS, "h0", T0, T0, 0, 0);
	tele_add_job(&frame, "a");
	tele_add_job(&frame, "b");
	for (uint32_t i = 0; i < 10; i++)
		vec_push(&frame.events, ((struct tele_event){ .job = i % 2 }));
	live_frame(live, &frame);
	tele_fini(&frame);
	live_events(live, live_find_job(live, "a"), &n_first);
	live_events(live, live_find_job(live, "b"), &n_second);
	assert_int_equal(n_first, 5);
	assert_int_equal(n_second, 0);
	assert_int_equal(live_counts(live)->refused, 5);
	live_free(live);
}

struct seen_iterations {
	const struct live *live;
	struct live_iteration rows[8];
	size_t n;
};

static void
see_iteration(void *ctx, const struct live_iteration *iteration)
{
	struct seen_iterations *seen = ctx;

	assert_true(seen->n < 8);
	seen->rows[seen->n++] = *iteration;
}

static void
iterations_are_handed_on_once_on_wall_clock_time(void **state)
{
	const int64_t offset_ns = INT64_C(1700000000000000000);
	struct live *live = live_new(NULL);
	struct seen_iterations seen = { .live = live };
	struct tele_frame frame = { 0 };
	uint32_t a;

	(void)state;
	frames_begin(&frame, TELE_PACE, "h0", 1700000000000 + T0, 1700000000000 + T0,
		     offset_ns, 0);
	a = tele_add_job(&frame, "a");
	vec_push(&frame.iterations, ((struct tele_iteration){ .job = a,
							      .pid = 7,
							      .number = 3,
							      .enter_ns = 5000000,
							      .begin_ns = 6000000,
							      .comm_ns = 11,
							      .order = 2 }));
	vec_push(&frame.iterations, ((struct tele_iteration){ .job = TELE_OTHER }));
	/* A time that no clock can have. */
	vec_push(&frame.iterations,
		 ((struct tele_iteration){
			 .job = a, .enter_ns = TELE_MAX_NS, .begin_ns = TELE_MAX_NS }));
	live_frame(live, &frame); /* No subscriber for iterations. */
	live_on_iteration(live, see_iteration, &seen);
	frame.sequence++;
	live_frame(live, &frame);
	assert_int_equal(seen.n, 1);
	assert_string_equal(live_job_name(live, seen.rows[0].job), "a");
	assert_string_equal(live_host(live, seen.rows[0].host)->name, "h0");
	assert_int_equal(seen.rows[0].pid, 7);
	assert_int_equal(seen.rows[0].number, 3);
	assert_true(seen.rows[0].enter_ns == 5000000 + offset_ns);
	assert_true(seen.rows[0].begin_ns == 6000000 + offset_ns);
	assert_int_equal(seen.rows[0].comm_ns, 11);
	assert_int_equal(seen.rows[0].order, 2);
	tele_fini(&frame);
	live_free(live);
}

static uint32_t
churn_bytes(const void *ctx, int64_t ms)
{
	(void)ctx;
	return (uint32_t)(ms % 7);
}

/* A second of a job, as raw frames and an event; hosts come and go with jobs. */
static void
churn(struct live *live, int k, int64_t ms)
{
	struct tele_frame frame = { 0 };
	char job[24], host[24];

	snprintf(job, sizeof job, "job%d", k);
	/* A new host for each thousandth job. */
	snprintf(host, sizeof host, "host%d", k / 1000);
	frames_begin(&frame, TELE_RAW, host, ms, ms + 100, 0, (uint64_t)k);
	frames_add(&frame, "e0", 1e9, job, TELE_TX, churn_bytes, NULL);
	live_frame(live, &frame);
	frames_begin(&frame, TELE_EVENTS, host, ms, ms + 100, 0, (uint64_t)k);
	vec_push(&frame.events, ((struct tele_event){ .job = tele_add_job(&frame, job),
						      .begin_ns = ms * 1000000 }));
	live_frame(live, &frame);
	tele_fini(&frame);
}

static bool
is_first(const void *ctx, uint32_t job)
{
	(void)ctx;
	return job == 0;
}

static void
names_that_come_and_go_leave_nothing_behind(void **state)
{
	enum {
		N = 100000,
		A_S = 4
	};
	const struct live_opts opts = { .keep_ms = 1000, .max_bytes = 1u << 30 };
	struct live *live = live_new(&opts);
	const int64_t t0 = INT64_C(100000000);
	uint32_t most_jobs = 0, most_series = 0, most_hosts = 0;

	(void)state;
	/* 300 s are 1,200 jobs, plus those between two clean-ups. */
	for (int k = 0; k < N; k++) {
		churn(live, k, t0 + INT64_C(1000) * k / A_S);
		if (k % 100)
			continue;
		live_forget(live, is_first, NULL);
		assert_int_equal(live_n_known_jobs(live) <= 1302, 1);
		most_jobs =
			live_n_jobs(live) > most_jobs ? live_n_jobs(live) : most_jobs;
		most_series = live_n_series(live) > most_series ? live_n_series(live)
								: most_series;
		most_hosts = live_n_hosts(live) > most_hosts ? live_n_hosts(live)
							     : most_hosts;
	}
	/* 25,000 s are less than the day for which hosts are kept. */
	assert_int_equal(most_hosts, 100);
	assert_in_range(most_jobs, 1200, 1402);
	assert_in_range(most_series, 1200, 1402);
	assert_int_equal(live_counts(live)->refused, 0);
	/* The held job and the last job are unchanged. */
	assert_string_equal(live_job_name(live, 0), "job0");
	assert_int_not_equal(live_find_job(live, "job99999"), TELE_LINK);
	assert_int_equal(live_find_job(live, "job5000"), TELE_LINK);
	/* A day later, only the host that still sends is left. */
	churn(live, N, t0 + INT64_C(1000) * N / A_S);
	churn(live, N, t0 + INT64_C(1000) * N / A_S + 2 * INT64_C(86400000));
	churn(live, N, t0 + INT64_C(1000) * N / A_S + 2 * INT64_C(86400000) + 5000);
	assert_int_equal(live_forget(live, NULL, NULL) > 1000, 1);
	assert_int_equal(live_n_hosts(live), 1);
	assert_int_equal(live_n_interfaces(live), 1);
	assert_int_equal(live_n_known_jobs(live), 1);
	assert_int_equal(live_n_series(live), 1);
	assert_string_equal(live_host(live, 0)->name, "host100");
	assert_string_equal(live_interface(live, 0)->name, "e0");
	assert_int_equal(
		live_find_series(live, 0, live_find_job(live, "job100000"), TELE_TX),
		0);
	live_free(live);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bins_come_back_where_they_were),
		cmocka_unit_test(what_no_frame_told_is_a_gap_and_not_zero),
		cmocka_unit_test(
			a_series_left_out_of_a_frame_of_its_interface_is_silent),
		cmocka_unit_test(hosts_with_other_clocks_are_laid_on_one),
		cmocka_unit_test(a_stepped_wall_clock_moves_the_whole_series),
		cmocka_unit_test(
			a_host_that_says_nothing_is_silent_and_holds_nobody_up),
		cmocka_unit_test(a_restarted_sender_and_a_reboot_begin_anew),
		cmocka_unit_test(memory_has_an_end_and_what_is_refused_is_counted),
		cmocka_unit_test(raw_series_leave_room_for_all_else),
		cmocka_unit_test(times_that_are_none_do_no_harm),
		cmocka_unit_test(of_two_machines_under_one_name_one_is_believed),
		cmocka_unit_test(two_senders_of_one_boot_take_turns),
		cmocka_unit_test(one_clock_that_is_far_ahead_makes_nobody_silent),
		cmocka_unit_test(after_a_pause_of_all_time_goes_on),
		cmocka_unit_test(more_holes_than_are_kept_are_gaps_and_not_zero),
		cmocka_unit_test(events_take_memory_that_is_reckoned),
		cmocka_unit_test(iterations_are_handed_on_once_on_wall_clock_time),
		cmocka_unit_test(names_that_come_and_go_leave_nothing_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
