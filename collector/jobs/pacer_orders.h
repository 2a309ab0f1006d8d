/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pacer_orders.h - orders for pacers: the scheduler's JSON, in the clock of this host
 *
 *	{"schema":"antiphase.orders/1","orders":[{"job":"4711","pid":123,"number":7,
 *	  "delay_us":0,"not_before_us":0,"expires_us":1763650000000000,"max_us":250000}]}
 *
 * Times are wall clock, microseconds since 1970; 'not_before_us' 0 means none.  A
 * message is accepted as a whole or not at all.  Pure.
 */
#ifndef COLLECTOR_JOBS_PACER_ORDERS_H
#define COLLECTOR_JOBS_PACER_ORDERS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/wire/pace.h"
#include "lib/wire/tele.h"

#define ORDERS_MAX 4096 /* In a message. */

struct err;

struct orders_row {
	char job[TELE_MAX_NAME + 1];
	uint32_t pid;
	struct pace_order order;
};

struct orders {
	VEC(struct orders_row) rows;
};

/*
 * Replaces the rows by those of 'text', terminated, of 'n' bytes; 'wall_offset_ns' is
 * wall clock minus CLOCK_MONOTONIC.  Returns 0, or -EINVAL with 'err' filled and no
 * rows.
 */
int orders_parse(struct orders *orders, const char *text, size_t n,
		 int64_t wall_offset_ns, struct err *err);
void orders_fini(struct orders *orders);

#endif
