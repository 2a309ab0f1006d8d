/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pace_steer.c - a stand-in for the scheduler: prints the iterations from a collector's
 * bus, and orders delays
 *
 *	pace_steer BUS ANNOUNCE HOST [NUMBER:DELAY_MS]...
 *
 * When iteration NUMBER begins, the next iteration of its job is ordered to be delayed.
 * Prints a line for each row: "JOB PID NUMBER ENTER_S BEGIN_S COMM_S BYTES COLLECTIVES
 * GAP_US ORDER LOST CLAIMED OVER AGE_US", where AGE is the time from begin to arrival
 * here, and times are CLOCK_MONOTONIC.  Ends on SIGTERM.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/loop.h"
#include "lib/wire/bus.h"
#include "lib/wire/tele.h"

#define MAX_ORDERS 64

struct steer {
	struct loop *loop;
	struct bus_sub *sub;
	struct bus_pub *announcer;
	struct tele_frame frame;
	char topic[TELE_MAX_NAME + 8];
	size_t n_orders;
	uint64_t numbers[MAX_ORDERS];
	double delays_ms[MAX_ORDERS];
};

static void
order(struct steer *s, const struct tele_iteration *row, size_t i)
{
	struct strbuf text = STRBUF_EMPTY;

	strbuf_printf(&text,
		      "{\"schema\":\"antiphase.orders/1\",\"orders\":[{\"job\":\"%s\","
		      "\"pid\":%u,\"number\":%zu,\"delay_us\":%.0f,\"not_before_us\":0,"
		      "\"expires_us\":%lld,\"max_us\":3600000000}]}",
		      tele_job_name(&s->frame, row->job), row->pid, i + 1,
		      s->delays_ms[i] * 1000, (long long)clk_wall_us() + 10000000);
	bus_pub_text(s->announcer, s->topic, text.text);
	strbuf_free(&text);
}

static void
take_row(struct steer *s, const struct tele_iteration *row)
{
	printf("%s %u %llu %.6f %.6f %.6f %llu %u %u %u %u %d %d %.0f\n",
	       tele_job_name(&s->frame, row->job), row->pid,
	       (unsigned long long)row->number, (double)row->enter_ns * 1e-9,
	       (double)row->begin_ns * 1e-9, (double)row->comm_ns * 1e-9,
	       (unsigned long long)row->bytes, row->n_collectives, row->gap_us,
	       row->order, row->lost, row->is_claimed, row->is_over,
	       (double)(clk_monotonic_ns() - row->begin_ns) * 1e-3);
	for (size_t i = 0; i < s->n_orders; i++)
		if (s->numbers[i] == row->number && !row->is_over &&
		    row->job < TELE_OTHER)
			order(s, row, i);
}

static void
on_frames(void *ctx)
{
	struct steer *s = ctx;

	while (bus_sub_frame(s->sub, &s->frame, NULL, NULL) == 1)
		for (size_t i = 0; i < s->frame.iterations.n; i++)
			take_row(s, &s->frame.iterations.items[i]);
	fflush(stdout);
}

static void
on_end(void *ctx, int number)
{
	(void)number;
	loop_stop(((struct steer *)ctx)->loop, 0);
}

int
main(int argc, char **argv)
{
	struct steer s = { .n_orders = 0 };
	struct err err = { 0 };

	if (argc < 4 || argc - 4 > MAX_ORDERS)
		return 2;
	for (int i = 4; i < argc; i++) {
		char *colon = strchr(argv[i], ':');

		if (!colon)
			return 2;
		s.numbers[s.n_orders] = strtoull(argv[i], NULL, 10);
		s.delays_ms[s.n_orders++] = atof(colon + 1);
	}
	snprintf(s.topic, sizeof s.topic, "pace/%.63s/", argv[3]);
	s.loop = loop_new();
	if (bus_sub_open((const char *const *)&argv[1], 1, false, NULL, &s.sub, &err) <
		    0 ||
	    bus_sub_want(s.sub, TELE_PACE, NULL, true) < 0 ||
	    bus_pub_open(argv[2], true, NULL, &s.announcer, &err) < 0) {
		err_print(&err, stderr);
		return 1;
	}
	bus_sub_join(s.sub, s.loop, on_frames, &s);
	bus_pub_join(s.announcer, s.loop);
	loop_signal(s.loop, SIGTERM, on_end, &s);
	loop_run(s.loop);
	bus_pub_close(s.announcer);
	bus_sub_close(s.sub);
	tele_fini(&s.frame);
	loop_free(s.loop);
	return 0;
}
