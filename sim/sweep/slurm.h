/*
 * slurm.h - the missing cells of a sweep as a job array of Slurm's: a task is a chunk of
 * cells, and runs 'antiphase-sim sweep FILE --cells LIST' as anybody would.
 */
#ifndef SIM_SWEEP_SLURM_H
#define SIM_SWEEP_SLURM_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct strbuf;
struct study;

struct slurm_array {
	const size_t *cells; /* Borrowed.  That are missing; ascending. */
	size_t n_cells;
	size_t chunk;              /* Cells a task. */
	const char *const *sbatch; /* Borrowed.  "partition=long", after the sweep's. */
	size_t n_sbatch;
	bool retries_failed;                /* Cells among them have failed before. */
	const char *exe, *file, *out, *cwd; /* Absolute. */
	const char *command;                /* What was typed. */
};

/* As many cells a task that arrays have at most 1,000 tasks, which Slurm allows. */
size_t slurm_array_chunk(size_t n_cells);

/* The script.  Returns 0, or -EINVAL for a path that cannot stand in one. */
int slurm_array_script(const struct study *study, const struct slurm_array *array,
		       struct strbuf *ret_script, struct err *err);

/*
 * Hands the script to sbatch, unless an array of an earlier time is still there: returns
 * -EBUSY then, with 'err' filled.  Prints the job's number.
 */
int slurm_array_submit(const struct study *study, const char *script, struct err *err);

#endif
