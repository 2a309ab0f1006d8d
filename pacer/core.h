/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core.h - the pacer's decisions: iterations, their cost, orders, and waits.
 *
 * The caller reports the start and end of collectives, passes orders on, and waits
 * before the first collective of an iteration:
 *
 *	if (core_enter(&core, now_ns, bytes, what)) {
 *		core_order(&core, &order);              all received orders
 *		wait_until(core_wait_until_ns(&core));  0: do not wait
 *		core_begun(&core, now_ns, &report);     send the report
 *	}
 *	... the collective ...
 *	core_exit(&core, begin_ns, now_ns);
 *
 * A wait is never longer than the job's learned period, nor than the order allows.
 * There is no wait before iteration CORE_FIRST, nor while the gap is a guess or the
 * period is unknown.  An order is used once, at the next iteration; if that begins
 * after the order has expired, the order is dropped.  A newer order replaces an older
 * one.
 *
 * Pure: no clock, no I/O, no allocation.
 */
#ifndef PACER_CORE_H
#define PACER_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/wire/pace.h"
#include "pacer/gap.h"

/* The first iterations of a job differ from those that follow. */
#define CORE_FIRST   3
#define CORE_PERIODS 9 /* The period is their median. */

struct core_options {
	int64_t gap_ns;    /* 0: learn it. */
	int64_t shift_ns;  /* A single wait, as soon as possible. */
	bool is_observing; /* Orders are received but not followed. */
	bool is_explicit;  /* Only core_iteration() begins iterations. */
};

struct core_counts {
	uint64_t iterations;
	uint64_t orders;  /* Received, without repetitions. */
	uint64_t applied; /* Iterations that waited. */
	uint64_t expired; /* Orders that expired before their iteration. */
	int64_t waited_ns, longest_wait_ns;
};

struct core {
	struct core_options options;
	struct gap gap;
	bool has_exit, has_begun;
	int64_t last_exit_ns;
	int64_t enter_ns, begin_ns; /* Of the current iteration. */
	int64_t until_ns;           /* End of the wait; 0: no wait. */
	bool is_absolute; /* The wait has a fixed end, not a fixed duration. */

	/* Of the current iteration so far, and of the previous one. */
	struct core_sums {
		int64_t comm_ns;
		uint64_t bytes;
		uint32_t n;
	} now, before;

	int64_t periods_ns[CORE_PERIODS]; /* Without waits. */
	uint32_t n_periods;
	bool has_order;
	struct pace_order order; /* Not used yet. */
	uint32_t last_order;     /* Number of the latest order; 0: none. */
	struct core_counts counts;
};

void core_init(struct core *core, const struct core_options *options);

/*
 * A collective of 'bytes' begins; 'what' differs between functions and sizes.  Returns
 * true if an iteration begins with it; then make the calls above.
 */
bool core_enter(struct core *core, int64_t now_ns, uint64_t bytes, uint32_t what);
/* The program reports the start of an iteration; make the same calls then. */
void core_iteration(struct core *core, int64_t now_ns);
/* A collective reported to core_enter() ends. */
void core_exit(struct core *core, int64_t begin_ns, int64_t now_ns);

/* Takes an order; ignores one with the number of the last order. */
void core_order(struct core *core, const struct pace_order *order);

/* The time until which to wait, or 0.  Uses the order up. */
int64_t core_wait_until_ns(struct core *core);
/* The wait is over; fills the report except 'lost'. */
void core_begun(struct core *core, int64_t now_ns, struct pace_iteration *ret_report);

/* The job's own period; 0: unknown. */
int64_t core_period_ns(const struct core *core);

#endif
