/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core.h - the pacer's decisions: iterations, their cost, orders, and how long to wait
 *
 * The caller reports the begin and end of collectives, hands in orders, and waits before
 * the first collective of an iteration as long as core.h says:
 *
 *	if (core_enter(&core, now_ns, bytes, what)) {
 *		core_order(&core, &order);              those that have come
 *		wait_until(core_wait_until_ns(&core));  0: do not wait
 *		core_begun(&core, now_ns, &report);     to be sent
 *	}
 *	... the collective ...
 *	core_exit(&core, begin_ns, now_ns);
 *
 * A wait is never longer than the job's own period, as learned, nor than the order allows.
 * There is no wait before iteration CORE_FIRST, nor while the gap is a guess or the period
 * is unknown.  An order is used once: at the next iteration, or never if that begins after
 * the order's end.  A newer order replaces an older one.
 *
 * Pure: no clock, no I/O, no allocation.
 */
#ifndef PACER_CORE_H
#define PACER_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/wire/pace.h"
#include "pacer/gap.h"

/* Iterations of a start are others than those that follow. */
#define CORE_FIRST   3
#define CORE_PERIODS 9 /* The period is their median. */

struct core_options {
	int64_t gap_ns;    /* 0: learn it. */
	int64_t shift_ns;  /* To wait once, as soon as may be. */
	bool is_observing; /* Orders are taken and not followed. */
	bool is_explicit;  /* Only core_iteration() begins iterations. */
};

struct core_counts {
	uint64_t iterations;
	uint64_t orders;  /* That came, and were none again. */
	uint64_t applied; /* Iterations that waited. */
	uint64_t expired; /* Orders out of date when their iteration came. */
	int64_t waited_ns, longest_wait_ns;
};

struct core {
	struct core_options options;
	struct gap gap;
	bool has_exit, has_begun;
	int64_t last_exit_ns;
	int64_t enter_ns, begin_ns; /* Of the current iteration. */
	int64_t until_ns;           /* What is waited for; 0: nothing. */
	bool is_absolute; /* It is the time that counts, not how long it takes. */

	/* Of it, so far; and of the one before. */
	struct core_sums {
		int64_t comm_ns;
		uint64_t bytes;
		uint32_t n;
	} now, before;

	int64_t periods_ns[CORE_PERIODS]; /* Without what was waited. */
	uint32_t n_periods;
	bool has_order;
	struct pace_order order; /* Still to be used. */
	uint32_t last_order;     /* Its number, or that of the last; 0: none. */
	struct core_counts counts;
};

void core_init(struct core *core, const struct core_options *options);

/*
 * A collective begins, of so many bytes; 'what' differs for other functions and sizes.
 * Returns true if an iteration begins with it; then what is above has to follow.
 */
bool core_enter(struct core *core, int64_t now_ns, uint64_t bytes, uint32_t what);
/* The program reports the begin of an iteration; the same calls must follow. */
void core_iteration(struct core *core, int64_t now_ns);
/* One ends that core_enter() has heard of. */
void core_exit(struct core *core, int64_t begin_ns, int64_t now_ns);

/* Takes an order; one with the number of the last is the same one again. */
void core_order(struct core *core, const struct pace_order *order);

/* Until when to wait, or 0; the order is used up by asking. */
int64_t core_wait_until_ns(struct core *core);
/* The wait is over; fills the report but for 'lost'. */
void core_begun(struct core *core, int64_t now_ns, struct pace_iteration *ret_report);

/* The job's own period; 0: not known yet. */
int64_t core_period_ns(const struct core *core);

#endif
