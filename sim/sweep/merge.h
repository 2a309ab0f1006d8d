/*
 * merge.h - all cells of a sweep that are done in one table, of long form: a row for
 * each number, with the cell's axes and seed.
 *
 *	cell,policy,seed,of,metric,value
 *	1,none,1,,summary.goodput,0.692308
 *	1,none,1,A,jobs.slowdown,1.444444
 *
 * Any document will do: numbers are found where they are.  Of an array of objects each
 * is told by its first string, or by its place.  Left out are "seed", which is a column,
 * and "wall_s", which differs from run to run.
 */
#ifndef SIM_SWEEP_MERGE_H
#define SIM_SWEEP_MERGE_H

#include <stddef.h>

struct err;
struct json;
struct study;

/* Calls 'number' for each of 'result', in order; 'of' and 'metric' are borrowed. */
void merge_walk(const struct json *result,
		void (*number)(void *ctx, const char *of, const char *metric,
			       double value),
		void *ctx);

/*
 * Calls 'each' with the result of every cell that is done and sound, in order; the others
 * are told on stderr.  Returns how many.
 */
size_t merge_each(const struct study *study,
		  void (*each)(void *ctx, size_t cell, const struct json *result),
		  void *ctx);

/*
 * Writes sweep.csv and sweep.json into the study's folder; 'command' is what was typed.
 * Says on stderr which cells are damaged, and takes them for missing.
 */
int merge_write(const struct study *study, const char *command, size_t *ret_n_merged,
		struct err *err);

#endif
