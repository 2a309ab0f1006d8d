/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge.h - finished cells of a sweep in one table of long form.
 *
 * A row holds one number with the axes and seed of its cell:
 *
 *	cell,policy,seed,of,metric,value
 *	1,none,1,,summary.goodput,0.692308
 *	1,none,1,A,jobs.slowdown,1.444444
 *
 * Results may be any JSON: all numbers are taken, with their path as the metric.  An
 * object in an array is named ("of") by its first string, or else by its place.  "seed"
 * is a column of its own; "wall_s" is left out because it differs from run to run.
 */
#ifndef SIM_SWEEP_MERGE_H
#define SIM_SWEEP_MERGE_H

#include <stddef.h>

struct err;
struct json;
struct study;

/* Calls 'number' for each number of 'result', in order; borrows 'of' and 'metric'. */
void merge_walk(const struct json *result,
		void (*number)(void *ctx, const char *of, const char *metric,
			       double value),
		void *ctx);

/*
 * Calls 'each' with the result of every finished cell, in order, and returns their
 * number. Reports damaged results on stderr and skips them.
 */
size_t merge_each(const struct study *study,
		  void (*each)(void *ctx, size_t cell, const struct json *result),
		  void *ctx);

/*
 * Writes sweep.csv and sweep.json into the study's folder, for the files' head with the
 * typed 'command'.  Damaged results as in merge_each().
 */
int merge_write(const struct study *study, const char *command, size_t *ret_n_merged,
		struct err *err);

#endif
