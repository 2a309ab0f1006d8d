/* SPDX-License-Identifier: Apache-2.0 */
/* bus_fixture.h - publishers and subscribers in one thread, each on its own port */
#ifndef TESTS_UNIT_BUS_FIXTURE_H
#define TESTS_UNIT_BUS_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/wire/bus.h"
#include "lib/wire/tele.h"
#include "tests/unit/test.h"

#define MS       INT64_C(1000000)
#define ANY_PORT "tcp://127.0.0.1:*"
#define PATIENCE (10000 * MS) /* Time before a test gives up. */

/* Runs 'step' until 'condition' holds. */
#define until(condition, step)                                                 \
	do {                                                                   \
		int64_t end__ = clk_monotonic_ns() + PATIENCE;                 \
                                                                               \
		while (!(condition)) {                                         \
			step;                                                  \
			if (clk_monotonic_ns() > end__)                        \
				fail_msg("%s did not come about", #condition); \
		}                                                              \
	} while (0)

static inline void
frame_of(struct tele_frame *frame, const char *host, uint8_t kind, uint64_t sequence)
{
	tele_clear(frame);
	frame->kind = kind;
	frame->start_id = 1;
	frame->sequence = sequence;
	frame->time_ns = (int64_t)sequence * 1000 * MS;
	frame->window_ns = 1000 * MS;
	tele_set_name(frame->host, host);
}

static inline void
publish(struct bus_pub *pub, const char *host, uint8_t kind, uint64_t sequence)
{
	struct tele_frame frame = { 0 };

	frame_of(&frame, host, kind, sequence);
	assert_int_equal(bus_pub_frame(pub, &frame), 0);
	tele_fini(&frame);
}

static inline struct bus_pub *
open_pub(const char *endpoint, const struct bus_keys *keys)
{
	struct bus_pub *pub;
	struct err err = { 0 };

	if (bus_pub_open(endpoint, true, keys, &pub, &err) < 0)
		fail_msg("%s", err.text);
	return pub;
}

static inline struct bus_sub *
open_sub(const char *endpoint, const struct bus_keys *keys)
{
	struct bus_sub *sub;
	struct err err = { 0 };

	if (bus_sub_open(&endpoint, 1, false, keys, &sub, &err) < 0)
		fail_msg("%s", err.text);
	return sub;
}

/* Takes the next frame and compares it with the expected one. */
static inline void
expect_frame(struct bus_pub *pub, struct bus_sub *sub, const char *host, uint8_t kind,
	     uint64_t sequence)
{
	struct tele_frame frame = { 0 };

	until(bus_sub_frame(sub, &frame, NULL, NULL) == 1,
	      (pub ? bus_pub_serve(pub) : (void)0, bus_sub_wait(sub, 10 * MS)));
	assert_string_equal(frame.host, host);
	assert_int_equal(frame.kind, kind);
	assert_int_equal(frame.sequence, sequence);
	tele_fini(&frame);
}

#endif
