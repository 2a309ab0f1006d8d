/*
 * gap.h - where an iteration begins, learned from the time between collectives.
 *
 * A training job computes, all-reduces, and begins again; between the last collective
 * of an iteration and the first of the next there is more time than within it.  How
 * much more is learned: the gaps seen lately are sorted, and parted where one is half
 * again as long as the one below it, as high up as the gaps above
 *
 *	- take a fair share of all the time between collectives,
 *	- are so many that they are no accident, and
 *	- come after the same number of collectives, nearly each time.
 *
 * So buckets of one backward pass are one iteration, steps without collectives (gradient
 * accumulation) only make it longer, and neither a checkpoint now and then nor a stall
 * is taken for a boundary.  Where all gaps are alike but the messages are not, the
 * messages repeat after so many collectives (autocorrelation), and these are counted.
 * Where both are alike every collective is an iteration: nothing tells them apart.
 *
 * Until that is learned a guess is made, half of the longest gap of late and 5 ms at
 * least; 'is_learned' says which it is.  Gaps below GAP_MIN_NS begin no iteration, so a
 * solver that reduces all the time has none.
 *
 * Pure, no allocation.  O(1) a collective, and O(n log n) of at most GAP_EVENTS now and
 * then: 0.1 us a collective, on average.
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
	uint64_t learn_at; /* When 'n' is this, it is learned again. */
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
