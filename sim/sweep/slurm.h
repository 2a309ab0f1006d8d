/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm.h - missing cells of a sweep as a Slurm job array.
 *
 * A task is a chunk of cells; it runs 'antiphase-sim sweep FILE --cells LIST'.
 */
#ifndef SIM_SWEEP_SLURM_H
#define SIM_SWEEP_SLURM_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct strbuf;
struct study;

struct slurm_array {
	const size_t *cells; /* Borrowed.  The missing ones, ascending. */
	size_t n_cells;
	size_t chunk;              /* Cells per task. */
	const char *const *sbatch; /* Borrowed.  "partition=long", after the sweep's. */
	size_t n_sbatch;
	bool retries_failed;                /* Some cells have failed before. */
	const char *exe, *file, *out, *cwd; /* Absolute. */
	const char *command;                /* As typed. */
};

/* Cells per task such that an array has at most 1,000 tasks, Slurm's default limit. */
size_t slurm_array_chunk(size_t n_cells);

/* Makes the script.  Returns 0, or -EINVAL for a path that it cannot contain. */
int slurm_array_script(const struct study *study, const struct slurm_array *array,
		       struct strbuf *ret_script, struct err *err);

/*
 * Submits the script with sbatch and prints the job's number.  Returns -EBUSY with
 * 'err' filled if an earlier array of the study still waits or runs.
 */
int slurm_array_submit(const struct study *study, const char *script, struct err *err);

#endif
