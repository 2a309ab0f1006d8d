/*
 * grid.h - what a sweep is: a command, axes of values for its options, and seeds.
 *
 *	[sweep]
 *	command = run two-jobs.ini --iterations 50
 *	seeds = 1..10
 *	[axes]
 *	policy = none antiphase
 *	fabric = one.json two.json
 *
 * An axis "set.NAME" is an option --set=NAME=VALUE: a parameter of policies, or a value in
 * the scenario file.  A cell is a value of each axis, and a seed.  Cells are numbered from 0 here (from 1
 * where people see them), the seed running fastest, then the last axis.
 *
 * A cell's digest is of all that its result depends on: the program's version, its
 * command with the seed, and the bytes of the files that the command names.  Where it
 * stands in the grid is not part of it, so that a grid that grows keeps its results.
 *
 * sweep_parse() is pure; the digests read files.
 */
#ifndef SIM_SWEEP_GRID_H
#define SIM_SWEEP_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/compare/seeds.h"

struct err;

#define SWEEP_MAX_CELLS 1000000
#define SWEEP_MAX_BYTES (1u << 20) /* Of the file. */

/* Words of a line; a vector as of lib/base/vec.h. */
struct sweep_words {
	char **items; /* Owned. */
	size_t n, capacity;
};

struct sweep_axis {
	char *name; /* Owned.  "policy", "set.2d-las.limit0", "operand". */
	struct sweep_words values;
};

struct sweep {
	char *file;                 /* Owned. */
	char *dir;                  /* Owned.  Where its paths begin. */
	char *out;                  /* Owned.  Folder of the results, from there. */
	struct sweep_words command; /* First the verb: "run". */
	struct sweep_words inputs;  /* More files whose bytes count. */
	struct sweep_words sbatch;  /* "partition=long". */

	struct {
		struct sweep_axis *items; /* Owned. */
		size_t n, capacity;
	} axes;
	struct seeds seeds;
	int64_t limit_ns; /* Of a cell; 0: none. */
	size_t n_cells;
};

/* Returns 0, or -EINVAL with 'err' filled.  Release with sweep_fini(). */
int sweep_parse(const char *file, const char *text, size_t length,
		struct sweep *ret_sweep, struct err *err);
void sweep_fini(struct sweep *sweep); /* Accepts a zeroed one. */

void sweep_words_fini(struct sweep_words *words);

/* An option of sbatch: "NAME" or "NAME=VALUE", none that we need ourselves. */
int sweep_check_sbatch(const char *text, struct err *err);

const char *sweep_value(const struct sweep *sweep, size_t cell, size_t axis);
uint64_t sweep_seed(const struct sweep *sweep, size_t cell);

/* The words after the program's name, the last followed by NULL; free with _fini(). */
void sweep_command(const struct sweep *sweep, size_t cell,
		   struct sweep_words *ret_words);

/* 'n_cells' of them; free with free().  NULL with 'err' filled for an unreadable file. */
uint64_t *sweep_digests(const struct sweep *sweep, const char *version,
			struct err *err);

#endif
