/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grid.h - a sweep: a command, axes of values for its options, and seeds.
 *
 *	[sweep]
 *	command = run two-jobs.ini --iterations 50
 *	seeds = 1..10
 *	[axes]
 *	policy = none antiphase
 *	fabric = one.json two.json
 *
 * An axis "set.NAME" is an option --set=NAME=VALUE: a parameter of policies, or a value
 * in the scenario file.  A cell is one value of each axis and one seed.  Cells are
 * numbered from 0 here and from 1 in all output; the seed runs fastest, then the last
 * axis.
 *
 * A cell's digest covers all that its result depends on: the program's version, the
 * cell's command with the seed, and the bytes of the files that the command names.  Its
 * place in the grid is not included, so that a grid keeps its results when it grows.
 *
 * sweep_parse() is pure; sweep_digests() reads files.
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

/* Words of a line; a vector of lib/base/vec.h. */
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
	char *dir;                  /* Owned.  Its paths are relative to this. */
	char *out;                  /* Owned.  Folder of results, relative to 'dir'. */
	struct sweep_words command; /* First the verb: "run". */
	struct sweep_words inputs;  /* More files for the digests. */
	struct sweep_words sbatch;  /* Options, such as "partition=long". */

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

/* Checks an option of sbatch: "NAME" or "NAME=VALUE", not one that a sweep sets. */
int sweep_check_sbatch(const char *text, struct err *err);

const char *sweep_value(const struct sweep *sweep, size_t cell, size_t axis);
uint64_t sweep_seed(const struct sweep *sweep, size_t cell);

/* The words after the program's name, the last followed by NULL; free with _fini(). */
void sweep_command(const struct sweep *sweep, size_t cell,
		   struct sweep_words *ret_words);

/* Digests of all cells; free with free().  NULL with 'err' filled on a read error. */
uint64_t *sweep_digests(const struct sweep *sweep, const char *version,
			struct err *err);

#endif
