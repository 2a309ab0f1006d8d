/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local.h - cells of a sweep run on this machine.
 *
 * A bounded number of processes runs at once.  Each is this program with the cell's
 * command, so that the stored result is what the command prints.
 */
#ifndef SIM_SWEEP_LOCAL_H
#define SIM_SWEEP_LOCAL_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/progress.h"

struct err;
struct study;

struct local_result {
	size_t n_done, n_failed;
	size_t n_ended; /* From outside; they are still missing. */
	bool was_interrupted;
};

/* Number of CPUs that this process may use. */
size_t local_n_cpus(void);

/*
 * Checks the options of the cells, and each value of an axis, before any cell runs.
 * Returns 0, or -EINVAL with 'err' filled by what the command says about the first bad
 * one.  Takes a process per value.
 */
int local_check_options(const struct study *study, struct err *err);

/*
 * Runs the 'n' cells, except those that another process finishes meanwhile.  Failed
 * cells are reported on stderr and stored as failures.  SIGINT and SIGTERM end running
 * cells, which stay missing; so do cells ended from outside, for example by a batch
 * system or by the kernel when memory runs out.  Returns 0, or a negative errno with
 * 'err' filled if cells cannot be run or stored.
 */
int local_run(const struct study *study, const size_t *cells, size_t n,
	      size_t n_at_once, enum progress_form form,
	      struct local_result *ret_result, struct err *err);

/* For main(): makes this process, if it is a cell, end when its sweep ends. */
void local_be_a_cell(void);

#endif
