/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gap.h - detection of where an iteration begins, from the time between collectives
 *
 * A training job computes, all-reduces, and begins again; the gap between the last
 * collective of an iteration and the first of the next is longer than the gaps within it.
 * How much longer is learned: recent gaps are sorted, and split where one is 1.5 times as
 * long as the one below it, at the highest such place at which the gaps above
 *
 *	- take a fair share of all the time between collectives,
 *	- are too many to be an accident, and
 *	- come after the same number of collectives, nearly each time.
 *
 * So the buckets of one backward pass are one iteration, steps without collectives
 * (gradient accumulation) only make it longer, and an occasional checkpoint or stall is not
 * taken for a boundary.  If all gaps are alike but the messages differ, the messages repeat
 * after a number of collectives (autocorrelation), and these are counted.  If both are
 * alike, every collective is an iteration: nothing distinguishes them.
 *
 * Until then the boundary is a guess, half of the longest recent gap but at least 5 ms;
 * 'is_learned' tells the two apart.  Gaps below GAP_MIN_NS begin no iteration, so a solver
 * that reduces all the time has none.
 *
 * Pure, no allocation.  O(1) per collective, and O(n log n) of at most GAP_EVENTS from time
 * to time: 0.1 us per collective on average.
 */
#ifndef PACER_GAP_H
#define PACER_GAP_H

#include <stdbool.h>
#include <stdint.h>

#define GAP_EVENTS   1024 /* Collectives looked at. */
#define GAP_MIN_NS   INT64_C(500000)
#define GAP_GUESS_NS INT64_C(5000000)

struct gap_event {
	int64_t gap_ns; /* From the end of the one before. */
	uint32_t what;  /* Any number that differs for other functions and sizes. */
};

struct gap {
	struct gap_event ring[GAP_EVENTS];
	uint64_t n;        /* Events so far; the last is at (n - 1) % GAP_EVENTS. */
	uint64_t first;    /* Those before are forgotten. */
	uint64_t learn_at; /* The value of 'n' for the next learning. */
	uint64_t boundary; /* 'n' at the last event that began an iteration. */
	uint32_t n_odd;    /* Iterations in a row of another number of collectives. */
	bool is_fixed;     /* The threshold was given. */
	bool is_learned;   /* Else 'threshold_ns' is a guess. */
	int64_t threshold_ns; /* Longer gaps begin an iteration. */
	uint32_t n_in_cycle;  /* Not 0: they are counted instead, so many, */
	uint64_t cycle_at;   /* events k with k % n_in_cycle equal to this begin one, */
	uint32_t cycle_what; /* and look like this. */
	uint32_t
		per_iteration; /* Collectives of an iteration, as learned; at least 1. */
	/* Room to work in, as nothing is allocated. */
	int64_t sorted_ns[GAP_EVENTS];
	uint16_t n_of[GAP_EVENTS + 1];
};

/* 'fixed_ns' not 0: this, and nothing is learned. */
void gap_init(struct gap *gap, int64_t fixed_ns);

/*
 * Takes a collective that begins 'gap_ns' after the end of the one before; returns true
 * if it begins an iteration.  The very first one of a program is to be left out.
 */
bool gap_next(struct gap *gap, int64_t gap_ns, uint32_t what);

/* The shortest gap that begins an iteration; as far as is known. */
int64_t gap_threshold_ns(const struct gap *gap);

#endif
