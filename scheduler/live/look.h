/*
 * look.h - one link of contention.h looked at: the series of its jobs in the window,
 * millisecond by millisecond, and the figures that follow from them.
 */
#ifndef SCHEDULER_LIVE_LOOK_H
#define SCHEDULER_LIVE_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "scheduler/live/contention.h"

struct footing_part;

#define BITS_PER_BYTE_MS 8e3 /* 1 byte per ms in bits per second. */

/* The traffic of one job on the link being looked at. */
struct track {
	uint32_t job;
	float *bytes;     /* Owned.  [n]. */
	uint64_t *active; /* Owned.  A bit for each millisecond. */
	double sum;
};

struct look {
	const struct live *live;
	const struct contention_opts *opts;
	int64_t from_ms;
	size_t n, n_words; /* Milliseconds of the window; words of a bit set. */
	uint32_t *bins;    /* Scratch, [n]. */
	double *total;     /* [n]: bytes of all. */
	uint8_t *known;    /* [n]. */
	uint8_t *n_active; /* [n]: jobs, at most 255. */
	uint64_t *over;    /* A bit for each millisecond. */
	VEC(struct track) tracks;
	struct contention_link *link; /* Being filled. */
};

/* Of 'live', 'opts', 'from_ms' and 'n' set by the caller; the rest is made. */
void look_init(struct look *look);
void look_fini(struct look *look);

/*
 * Begins with a link and reads parts[0 .. n), all of it.  The total is what the frames
 * say it is, or the sum of all that they tell apart.
 */
void look_read(struct look *look, struct contention_link *link,
	       const struct footing_part *parts, size_t n);
void look_drop_track(struct look *look, size_t i);

/* Fills the link's known_ms and, if any of the window is known, its total rates. */
void look_measure_total(struct look *look);
/* Fills the rest of the link; where known_ms > 0. */
void look_measure_jobs(struct look *look);
/* Whether a computed load is more than the link can carry, over 100 ms. */
bool look_is_impossible(const struct look *look);

#endif
