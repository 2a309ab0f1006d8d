/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_events_day.c [SECONDS] - hours of events for a viewer, accelerated: a scan for each
 * second, of links and jobs that come and go, with the memory in use after a tenth of
 * it and at the end. A day, 86400, takes a minute.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <malloc.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/loop.h"
#include "lib/daemon/settings.h"
#include "scheduler/daemon/api_priv.h"
#include "scheduler/daemon/config.h"
#include "scheduler/daemon/fabric_source.h"
#include "scheduler/daemon/metrics.h"
#include "scheduler/daemon/settings.h"
#include "scheduler/daemon/telemetry.h"
#include "scheduler/live/live.h"
#include "tests/unit/frames.h"
#include "tests/unit/test.h"

#define T0_MS INT64_C(1800000000000)
/*
 * Hosts take turns: N_AT_ONCE of them send, and each second one of these is another. In
 * between, their jobs are forgotten (LIVE_FORGET_JOB_NS).
 */
#define N_HOSTS   400
#define N_AT_ONCE 10
#define FORGET_S  10 /* As refresh.c does. */
#define SHORT_S   4000

static int n_seconds = SHORT_S;

struct day {
	struct loop *loop;
	struct scheduler_config config;
	struct fabric_source *fabric;
	struct telemetry *telemetry;
	struct scheduler_metrics *metrics;
	struct api *api;
	int always; /* A descriptor that is always ready. */
	int viewer; /* A connection that listens. */
	int second;
	uint64_t sequences[N_HOSTS];
	uint64_t n_ticks, n_bytes; /* Received. */
	size_t soon_bytes, end_bytes;
	long soon_kb, end_kb;
};

static long
rss_kb(void)
{
	FILE *in = fopen("/proc/self/statm", "r");
	long size, resident = 0;

	assert_non_null(in);
	assert_int_equal(fscanf(in, "%ld %ld", &size, &resident), 2);
	fclose(in);
	return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* The summary of one second of a host that sends. */
static void
send_summary(struct day *day, int host)
{
	struct tele_frame frame = { 0 };
	int64_t end_ms = T0_MS + day->second * INT64_C(1000);
	char name[32];

	snprintf(name, sizeof name, "h%d", host);
	frames_begin(&frame, TELE_SUMMARY, name, end_ms - 1000, end_ms, 0,
		     day->sequences[host]++);
	for (uint32_t direction = TELE_TX; direction <= TELE_RX; direction++) {
		struct tele_traffic row = { .direction = (uint8_t)direction };

		row.interface = tele_add_interface(&frame, "e0");
		frame.interfaces.items[row.interface].capacity_bps = 1e9;
		snprintf(name, sizeof name, "job-%d", host);
		row.job = tele_add_job(&frame, name);
		row.window_bytes = 100000 + (uint64_t)(day->second * 7 + host) % 1000;
		row.peak_bytes = 1000;
		vec_push(&frame.traffic, row);
	}
	telemetry_take_frame(day->telemetry, &frame);
	tele_fini(&frame);
}

/* Reads what has come, and counts events by the begins of lines. */
static void
read_events(struct day *day)
{
	static const char tick[] = "event: tick\n";
	static char chunk[1 << 18];
	ssize_t n;

	while ((n = recv(day->viewer, chunk, sizeof chunk - 1, MSG_DONTWAIT)) > 0) {
		chunk[n] = '\0';
		day->n_bytes += (uint64_t)n;
		for (char *at = chunk; (at = strstr(at, tick)); at += sizeof tick - 1)
			day->n_ticks++;
	}
	assert_true(n < 0);
}

static void
note_memory(struct day *day)
{
	if (day->second == n_seconds / 10) {
		day->soon_bytes = mallinfo2().uordblks;
		day->soon_kb = rss_kb();
	}
	if (day->second == n_seconds) {
		day->end_bytes = mallinfo2().uordblks;
		day->end_kb = rss_kb();
		loop_stop(day->loop, 0);
	}
}

/* One pass of the loop: a second of the daemon. */
static void
pass(void *ctx)
{
	struct day *day = ctx;

	read_events(day);
	if (!http_stream_listeners(day->api->http, "/api/v1/events"))
		return; /* The viewer's request has yet to be read. */
	day->second++;
	for (int i = 0; i < N_AT_ONCE; i++)
		send_summary(day, (day->second + i) % N_HOSTS);
	/* It rests after a scan, for twice its time. */
	while (!telemetry_begin_scan(day->telemetry))
		continue;
	while (telemetry_step_scan(day->telemetry))
		continue;
	api_tick(day->api);
	while (api_step(day->api))
		continue;
	if (day->second % FORGET_S == 0)
		telemetry_forget_gone(day->telemetry);
	note_memory(day);
}

static void
view(struct day *day)
{
	static const char request[] =
		"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)http_port(day->api->http)),
	};

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	day->viewer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(day->viewer, (struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(send(day->viewer, request, sizeof request - 1, 0),
			 sizeof request - 1);
}

static void
open_day(struct day *day)
{
	struct err err;

	*day = (struct day){ .loop = loop_new() };
	scheduler_config_init(&day->config, settings_new(&settings_scheduler));
	day->config.http = "127.0.0.1:0";
	day->fabric = fabric_source_new(
		&(struct fabric_source_opts){ .config = &day->config });
	day->telemetry = telemetry_new(&(struct telemetry_opts){
		.config = &day->config, .fabric = day->fabric });
	day->metrics = scheduler_metrics_new(&(struct scheduler_metrics_opts){
		.loop = day->loop, .telemetry = day->telemetry });
	if (api_open(&(struct api_opts){ .loop = day->loop,
					 .config = &day->config,
					 .fabric = day->fabric,
					 .telemetry = day->telemetry,
					 .metrics = day->metrics },
		     &day->api, &err) < 0)
		fail_msg("%s", err.text);
	day->always = eventfd(1, EFD_CLOEXEC);
	loop_fd(day->loop, day->always, pass, day);
	view(day);
}

static void
close_day(struct day *day)
{
	close(day->viewer);
	close(day->always);
	api_close(day->api);
	scheduler_metrics_free(day->metrics);
	telemetry_free(day->telemetry);
	fabric_source_free(day->fabric);
	scheduler_config_fini(&day->config);
	loop_free(day->loop);
}

static void
hours_of_events_leak_nothing(void **state)
{
	struct day day;

	(void)state;
	open_day(&day);
	assert_int_equal(loop_run(day.loop), 0);
	printf("%d scans, %llu ticks, %llu MB of events: %zu kB in use and %ld kB "
	       "resident after a tenth, %zu and %ld at the end\n",
	       n_seconds, (unsigned long long)day.n_ticks,
	       (unsigned long long)day.n_bytes / 1000000, day.soon_bytes / 1024,
	       day.soon_kb, day.end_bytes / 1024, day.end_kb);
	/* One at a time, and none is lost: those of the last passes are under way. */
	assert_in_range(day.n_ticks, n_seconds - 100, n_seconds);
	assert_true(day.end_bytes <= day.soon_bytes + (64 << 10));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	assert_in_range(day.end_kb, 0, day.soon_kb + 1024);
#endif
	close_day(&day);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hours_of_events_leak_nothing),
	};

	if (argc > 1)
		n_seconds = atoi(argv[1]);
	/* All names have been there by the first count. */
	BUG_ON(n_seconds < 10 * N_HOSTS);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
