/* SPDX-License-Identifier: Apache-2.0 */
/*
 * passes.h - durations of a loop's passes, and each program part's share of them.
 *
 * A pass serves everything that is ready or due after one wait.  All runs on one
 * thread, so a request waits for the end of the current pass: the longest passes limit
 * the response time.  Named parts of the program share a pass.
 *
 * Passes and parts are measured in wall time and in CPU time, which is less if other
 * processes ran or a disk was slow.  Maxima are those of this minute and the one
 * before.  Pure: the caller passes the time.
 */
#ifndef LIB_DAEMON_PASSES_H
#define LIB_DAEMON_PASSES_H

#include <stddef.h>
#include <stdint.h>

#define PASSES_N_BOUNDS  8
#define PASSES_MAX_PARTS 48 /* Further names count for the last part. */
#define PASSES_SPAN_NS   INT64_C(60000000000)

/* Wall time and CPU time. */
struct passes_time {
	int64_t wall_ns, cpu_ns;
};

struct passes_part {
	const char *name;       /* Borrowed: static text. */
	uint64_t n;             /* Times that the part ran. */
	struct passes_time sum; /* Since the start. */
	struct passes_time most,
		last_most; /* Maxima of this minute and the last one. */
};

struct passes {
	uint64_t counts[PASSES_N_BOUNDS + 1]; /* Passes by wall time. */
	struct passes_part all;
	struct passes_part parts[PASSES_MAX_PARTS];
	size_t n_parts;
	struct passes_part *at; /* Runs since 'part_began'; NULL: between passes. */
	struct passes_time began, part_began;
	int64_t span_ns; /* When this minute began. */
};

struct metrics;

void passes_begin(struct passes *passes, struct passes_time now);
/* Attributes the time from now on to this part; ignored outside of a pass. */
void passes_part(struct passes *passes, const char *name, struct passes_time now);
void passes_end(struct passes *passes, struct passes_time now);

/* Metrics "PREFIX_loop_*"; docs/api.md lists them. */
void passes_write(const struct passes *passes, const char *prefix, struct metrics *m);

#endif
