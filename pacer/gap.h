/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gap.h - detection of the start of iterations from the gaps between collectives.
 *
 * A training job computes, all-reduces, and begins again; the gap between the last
 * collective of an iteration and the first of the next is longer than the gaps within
 * it.  The threshold is learned: recent gaps are sorted, and split where one is 1.4
 * times as long as the one below it, at the highest such place at which the gaps above
 *
 *	- take a fair share of all the time between collectives,
 *	- are too many to be an accident, and
 *	- nearly always come after the same number of collectives.
 *
 * So the buckets of one backward pass are one iteration, steps without collectives
 * (gradient accumulation) only make it longer, and an occasional checkpoint or stall is
 * not a boundary.  If all gaps are alike but the messages differ, the messages repeat
 * after a number of collectives (found by autocorrelation), which is then the
 * iteration.  If gaps and messages are alike, every collective counts as an iteration.
 *
 * Before that the threshold is a guess, half of the longest recent gap but at least
 * 5 ms; 'is_learned' is false.  Gaps below GAP_MIN_NS begin no iteration, so a solver
 * that reduces all the time has none.
 *
 * Pure, no allocation.  O(1) per collective, and occasionally O(n log n) for at most
 * GAP_EVENTS: 0.1 us per collective on average.
 */
#ifndef PACER_GAP_H
#define PACER_GAP_H

#include <stdbool.h>
#include <stdint.h>

#define GAP_EVENTS   1024 /* Recent collectives that are kept. */
#define GAP_MIN_NS   INT64_C(500000)
#define GAP_GUESS_NS INT64_C(5000000)

struct gap_event {
	int64_t gap_ns; /* From the end of the previous collective. */
	uint32_t what;  /* A number that differs between functions and sizes. */
};

struct gap {
	struct gap_event ring[GAP_EVENTS];
	uint64_t n;        /* Events so far; the last is at (n - 1) % GAP_EVENTS. */
	uint64_t first;    /* Earlier events are forgotten. */
	uint64_t learn_at; /* The value of 'n' for the next learning. */
	uint64_t boundary; /* 'n' at the last event that began an iteration. */
	uint32_t n_odd;  /* Iterations in a row with an unexpected number of events. */
	bool is_fixed;   /* The threshold was given. */
	bool is_learned; /* Else 'threshold_ns' is a guess. */
	int64_t threshold_ns;   /* Longer gaps begin an iteration. */
	uint32_t n_in_cycle;    /* Not 0: events are counted; an iteration begins at */
	uint64_t cycle_at;      /* events k with k % n_in_cycle == cycle_at */
	uint32_t cycle_what;    /* and this 'what'. */
	uint32_t per_iteration; /* Learned collectives per iteration; at least 1. */
	/* Work space, because nothing is allocated. */
	int64_t sorted_ns[GAP_EVENTS];
	uint16_t n_of[GAP_EVENTS + 1];
};

/* 'fixed_ns': a fixed threshold; 0: learn it. */
void gap_init(struct gap *gap, int64_t fixed_ns);

/*
 * Takes a collective that begins 'gap_ns' after the end of the previous one; returns
 * true if it begins an iteration.  Leave out the first collective of a program.
 */
bool gap_next(struct gap *gap, int64_t gap_ns, uint32_t what);

/* The threshold as known so far: the shortest gap that begins an iteration. */
int64_t gap_threshold_ns(const struct gap *gap);

#endif
