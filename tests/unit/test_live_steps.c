/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_live_steps.c - steps of wall clocks: how long until the live state is healthy
 * again.  Prints the seconds for each step, and how many hosts it meets.
 */
#include <unistd.h>

#include "scheduler/daemon/link_counters.h"
#include "scheduler/live/live.h"
#include "scheduler/live/status.h"
#include "tests/unit/daemon_parts.h"
#include "tests/unit/frames.h"
#include "tests/unit/test.h"

#define N_HOSTS     10
#define MS          INT64_C(1000000)
#define SECOND_NS   (1000 * MS)
#define T0_MS       INT64_C(1800000000000) /* Wall clock ms of the begin. */
#define RAW_MS      100                    /* A raw frame each. */
#define STEP_AT_MS  10000
#define MAX_MS      60000
#define MAX_SICK_MS 10000

struct cluster {
	struct live *live;
	bool is_received; /* live_receive(), as the daemon; else live_frame(). */
	unsigned n_stepped;
	int64_t step_ns;
};

static uint32_t
steady(const void *ctx, int64_t ms)
{
	(void)ctx;
	(void)ms;
	return 1000;
}

/* Each host's CLOCK_MONOTONIC began at another time. */
static int64_t
mono_ms(unsigned host, int64_t ms)
{
	return 1000000 * (host + 1) + ms;
}

static void
make_frame(const struct cluster *cluster, unsigned host, enum tele_kind kind,
	   int64_t ms, int64_t window_ms, struct tele_frame *ret_frame)
{
	bool is_stepped = ms > STEP_AT_MS && host < cluster->n_stepped;
	int64_t end_ms = mono_ms(host, ms);
	char name[16];

	snprintf(name, sizeof name, "h%u", host);
	/* On the host's own clock; the offset follows. */
	frames_begin(ret_frame, kind, name, end_ms - window_ms, end_ms, 0,
		     (uint64_t)(ms / window_ms));
	if (kind == TELE_RAW)
		frames_add(ret_frame, "e0", 1e9, "a", TELE_TX, steady, NULL);
	ret_frame->wall_offset_ns =
		(T0_MS - mono_ms(host, 0)) * MS + (is_stepped ? cluster->step_ns : 0);
}

/* A raw frame for the daemon. */
static void
take(const struct cluster *cluster, struct telemetry *telemetry, unsigned host,
     int64_t ms)
{
	struct tele_frame frame = { 0 };

	make_frame(cluster, host, TELE_RAW, ms, RAW_MS, &frame);
	telemetry_take_frame(telemetry, &frame);
	tele_fini(&frame);
}

static void
add_bytes(void *ctx, const char *link, const char *job, uint64_t bytes)
{
	uint64_t *sum = ctx;

	(void)link;
	(void)job;
	*sum += bytes;
}

static void
send(const struct cluster *cluster, unsigned host, enum tele_kind kind, int64_t ms,
     int64_t window_ms)
{
	struct tele_frame frame = { 0 };

	make_frame(cluster, host, kind, ms, window_ms, &frame);
	if (cluster->is_received)
		live_receive(cluster->live, &frame, ms * MS + host);
	else
		live_frame(cluster->live, &frame);
	tele_fini(&frame);
}

/* The time of the telemetry is that of most hosts; with both halves, of either. */
static bool
is_now_right(const struct cluster *cluster, int64_t ms)
{
	int64_t wall_ns = (T0_MS + ms) * MS, now_ns = live_now_ns(cluster->live);
	int64_t stepped_ns = wall_ns + cluster->step_ns;
	bool is_old =
		now_ns - wall_ns <= LIVE_OFF_NS && wall_ns - now_ns <= LIVE_OFF_NS;
	bool is_new = now_ns - stepped_ns <= LIVE_OFF_NS &&
		      stepped_ns - now_ns <= LIVE_OFF_NS;

	return (is_old && (ms <= STEP_AT_MS || 2 * cluster->n_stepped <= N_HOSTS)) ||
	       (is_new && 2 * cluster->n_stepped >= N_HOSTS);
}

static bool
is_healthy(const struct cluster *cluster, int64_t ms)
{
	const struct status status = { .live = cluster->live };
	int64_t complete_ms = live_complete_ms(cluster->live);
	struct status_census census;
	unsigned n_other = cluster->n_stepped < N_HOSTS / 2
				   ? cluster->n_stepped
				   : N_HOSTS - cluster->n_stepped;

	status_census(&status, &census);
	return census.n_hosts == N_HOSTS && census.n_fresh == N_HOSTS &&
	       census.n_off <= n_other && is_now_right(cluster, ms) &&
	       complete_ms != LIVE_NEVER &&
	       live_now_ns(cluster->live) - complete_ms * MS <= 2 * LIVE_OFF_NS &&
	       live_span_ms(cluster->live) >= 5000;
}

/* Seconds from the step to the last moment without health; -1: it never got well. */
static double
seconds_sick(bool is_received, unsigned n_stepped, int64_t step_ns)
{
	struct cluster cluster = { live_new(NULL), is_received, n_stepped, step_ns };
	int64_t sick_ms = STEP_AT_MS;

	for (int64_t ms = RAW_MS; ms <= STEP_AT_MS + MAX_MS; ms += RAW_MS) {
		for (unsigned host = 0; host < N_HOSTS; host++) {
			send(&cluster, host, TELE_RAW, ms, RAW_MS);
			if (ms % 1000 == 0)
				send(&cluster, host, TELE_SUMMARY, ms, 1000);
		}
		if (ms == STEP_AT_MS)
			assert_true(is_healthy(&cluster, ms));
		if (ms > STEP_AT_MS && !is_healthy(&cluster, ms))
			sick_ms = ms;
	}
	assert_int_equal(live_counts(cluster.live)->steps, n_stepped);
	assert_int_equal(live_counts(cluster.live)->rebases,
			 2 * n_stepped > N_HOSTS &&
				 (step_ns > LIVE_OFF_NS || step_ns < -LIVE_OFF_NS));
	if (live_counts(cluster.live)->rebases)
		assert_in_range(live_counts(cluster.live)->last_rebase_ns - step_ns +
					SECOND_NS,
				0, 2 * SECOND_NS);
	live_free(cluster.live);
	return sick_ms == STEP_AT_MS + MAX_MS ? -1
					      : (double)(sick_ms - STEP_AT_MS) / 1000;
}

static void
after_a_step_of_any_clocks_the_state_is_healthy_soon(void **state)
{
	static const struct {
		const char *name;
		int64_t s;
	} steps[] = {
		{ "1 s", 1 },       { "4 s", 4 },           { "6 s", 6 },
		{ "20 s", 20 },     { "120 s", 120 },       { "1 h", 3600 },
		{ "1 day", 86400 }, { "1 year", 31536000 },
	};

	static const unsigned n_stepped[] = { 1, N_HOSTS / 2, N_HOSTS };

	(void)state;
	printf("seconds until healthy, of %d hosts\n"
	       "%-10s | received: one  half   all | recorded: one  half   all\n",
	       N_HOSTS, "step");
	for (size_t i = 0; i < 2 * (sizeof steps / sizeof *steps); i++) {
		int sign = i % 2 ? 1 : -1;

		printf("%c%-9s |", sign < 0 ? '-' : '+', steps[i / 2].name);
		for (int k = 0; k < 6; k++) {
			double sick_s = seconds_sick(k < 3, n_stepped[k % 3],
						     sign * steps[i / 2].s * SECOND_NS);

			printf("%s%*.1f", k == 3 ? " |" : "", k % 3 ? 6 : 14, sick_s);
			assert_true(sick_s >= 0 && sick_s * 1000 < MAX_SICK_MS);
		}
		printf("\n");
	}
}

/* The first host decides alone at first, and not when others contradict. */
static void
a_wrong_clock_that_is_heard_first_does_not_last(void **state)
{
	static const int64_t steps_s[] = { -31536000, 31536000 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct cluster cluster = { live_new(NULL), true, 1,
					   steps_s[i] * SECOND_NS };

		for (int64_t ms = STEP_AT_MS + RAW_MS; ms <= 2 * STEP_AT_MS;
		     ms += RAW_MS)
			for (unsigned host = 0; host < 3; host++)
				send(&cluster, host, TELE_RAW, ms, RAW_MS);
		assert_true(is_now_right(&cluster, 2 * STEP_AT_MS));
		assert_true(live_is_off(cluster.live, 0));
		assert_false(live_is_off(cluster.live, 1));
		assert_false(live_is_silent(cluster.live, 0));
		live_free(cluster.live);
	}
}

/* A receiver that was stopped hears of no step: time has passed. */
static void
a_pause_is_no_step(void **state)
{
	(void)state;
	for (int is_received = 0; is_received < 2; is_received++) {
		struct cluster cluster = { live_new(NULL), is_received, 0, 0 };

		for (int64_t ms = RAW_MS; ms <= 100000;
		     ms += ms == STEP_AT_MS ? 60000 : RAW_MS)
			for (unsigned host = 0; host < N_HOSTS; host++)
				send(&cluster, host, TELE_RAW, ms, RAW_MS);
		assert_true(is_healthy(&cluster, 100000));
		assert_int_equal(live_counts(cluster.live)->steps, 0);
		assert_int_equal(live_counts(cluster.live)->rebases, 0);
		live_free(cluster.live);
	}
}

static void
who_falls_silent_after_a_step_is_silent(void **state)
{
	struct cluster cluster = { live_new(NULL), true, N_HOSTS, -120 * SECOND_NS };

	(void)state;
	for (int64_t ms = RAW_MS; ms <= 2 * STEP_AT_MS; ms += RAW_MS)
		for (unsigned host = 0; host < N_HOSTS; host++)
			if (host || ms < 2 * STEP_AT_MS - 4000)
				send(&cluster, host, TELE_RAW, ms, RAW_MS);
	assert_true(live_is_silent(cluster.live, 0));
	assert_false(live_is_off(cluster.live, 0));
	assert_false(live_is_silent(cluster.live, 1));
	live_free(cluster.live);
}

/* The daemon's own view: who is silent, and bytes that go on to be counted. */
static void
the_daemon_goes_on_after_a_step(void **state)
{
	static const int64_t steps_s[] = { -120, 120, -31536000, 31536000 };

	(void)state;
	for (size_t i = 0; i < sizeof steps_s / sizeof *steps_s; i++) {
		struct cluster cluster = { NULL, true, N_HOSTS,
					   steps_s[i] * SECOND_NS };
		struct daemon_parts d = { .store = NULL };
		struct status_census census;
		struct status status;
		uint64_t bytes[3] = { 0 };

		scheduler_config_init(&d.config, settings_new(&settings_scheduler));
		d.config.link_jobs = 4;
		d.fabric = fabric_source_new(
			&(struct fabric_source_opts){ .config = &d.config });
		d.telemetry = telemetry_new(&(struct telemetry_opts){
			.config = &d.config, .fabric = d.fabric });
		for (int part = 0; part < 3; part++) {
			int64_t from_ms = STEP_AT_MS + (part - 1) * 5000;

			for (int64_t ms = from_ms + RAW_MS; ms <= from_ms + 5000;
			     ms += RAW_MS)
				for (unsigned host = 0; host < N_HOSTS; host++)
					take(&cluster, d.telemetry, host, ms);
			/* It rests after each. */
			while (!telemetry_begin_scan(d.telemetry))
				usleep(1000);
			while (telemetry_step_scan(d.telemetry))
				continue;
			link_counters_each(telemetry_counters(d.telemetry), add_bytes,
					   &bytes[part]);
		}
		status = telemetry_status(d.telemetry);
		status_census(&status, &census);
		assert_int_equal(census.n_fresh, N_HOSTS);
		assert_int_equal(census.n_off, 0);
		assert_int_equal(live_counts(telemetry_live(d.telemetry))->steps,
				 N_HOSTS);
		/* The scan after the step begins to count, and the next one goes on. */
		assert_true(bytes[2] > bytes[1]);
		telemetry_free(d.telemetry);
		fabric_source_free(d.fabric);
		scheduler_config_fini(&d.config);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(after_a_step_of_any_clocks_the_state_is_healthy_soon),
		cmocka_unit_test(a_wrong_clock_that_is_heard_first_does_not_last),
		cmocka_unit_test(a_pause_is_no_step),
		cmocka_unit_test(who_falls_silent_after_a_step_is_silent),
		cmocka_unit_test(the_daemon_goes_on_after_a_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
