/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_pace.c - packets from and to pacers */
#include <stdlib.h>
#include <string.h>

#include "lib/wire/pace.h"
#include "tests/fuzz/fuzz.h"

static void
check_order(const struct pace_order *order)
{
	if (!order->number || order->delay_ns < 0 || order->not_before_ns < 0 ||
	    order->expires_ns < 0 || order->max_ns < 0 ||
	    order->delay_ns > PACE_MAX_ORDER_NS || order->max_ns > PACE_MAX_ORDER_NS)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t again[PACE_MAX_BYTES];
	struct pace_packet packet;

	if (pace_decode(data, size, &packet) < 0)
		return 0;
	if (packet.kind == PACE_ORDER)
		check_order(&packet.order);
	if (packet.kind == PACE_ITERATION &&
	    (packet.iteration.enter_ns < 0 ||
	     packet.iteration.begin_ns < packet.iteration.enter_ns))
		abort();
	if (packet.kind == PACE_HELLO &&
	    (packet.hello.source > PACE_API ||
	     strnlen(packet.hello.job, PACE_MAX_NAME + 1) > PACE_MAX_NAME))
		abort();
	if (pace_encode(&packet, again) != size || memcmp(again, data, size))
		abort();
	return 0;
}
