/* SPDX-License-Identifier: Apache-2.0 */
/*
 * passes.h - what the passes of a loop take, and which part of the program took how much.
 *
 * A pass is all that was ready and due after one wait.  As all of it is done on one thread,
 * whoever comes meanwhile waits for its end, and so the longest passes say how long an
 * answer may take.  Of what is done in a pass, its parts are told apart by name.
 *
 * Each is measured twice: in time, and in time of the processor, which is less where
 * others had it, or a disk was waited for.  The longest are those of this minute and the
 * one before.  Pure: the time is handed in.
 */
#ifndef LIB_DAEMON_PASSES_H
#define LIB_DAEMON_PASSES_H

#include <stddef.h>
#include <stdint.h>

#define PASSES_N_BOUNDS  8
#define PASSES_MAX_PARTS 48 /* Further names are counted as the last. */
#define PASSES_SPAN_NS   INT64_C(60000000000)

/* By the two clocks. */
struct passes_time {
	int64_t wall_ns, cpu_ns;
};

struct passes_part {
	const char *name;                   /* Borrowed: static text. */
	uint64_t n;                         /* Times that it had its turn. */
	struct passes_time sum;             /* Since the start. */
	struct passes_time most, last_most; /* In this minute, and in the one before. */
};

struct passes {
	uint64_t counts[PASSES_N_BOUNDS + 1]; /* By time. */
	struct passes_part all;
	struct passes_part parts[PASSES_MAX_PARTS];
	size_t n_parts;
	struct passes_part *at; /* Had since 'part_began'; NULL: between passes. */
	struct passes_time began, part_began;
	int64_t span_ns; /* When this minute began. */
};

struct metrics;

void passes_begin(struct passes *passes, struct passes_time now);
/* What follows is of this part; outside of a pass, that of nobody. */
void passes_part(struct passes *passes, const char *name, struct passes_time now);
void passes_end(struct passes *passes, struct passes_time now);

/* Metrics "PREFIX_loop_*"; docs/api.md lists them. */
void passes_write(const struct passes *passes, const char *prefix, struct metrics *m);

#endif
