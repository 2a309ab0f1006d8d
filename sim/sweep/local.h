/*
 * local.h - cells of a sweep on this machine, a bounded number of processes at once.
 *
 * Each is this program with the cell's command, so that what is kept is what anybody
 * gets who types it.
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
	size_t n_ended; /* From outside: missing as before. */
	bool was_interrupted;
};

/* CPUs that this process may use. */
size_t local_n_cpus(void);

/*
 * Runs the 'n' cells, but for those that another process has done meanwhile; those that
 * fail are told on stderr and kept as failures.  Ctrl-C or SIGTERM ends those under way,
 * which are then missing as before; likewise cells that are ended from outside, as a
 * batch system ends all processes of a job, or a kernel without memory one.  Returns 0, or a
 * negative errno with 'err' filled if nothing can be run or kept.
 */
int local_run(const struct study *study, const size_t *cells, size_t n,
	      size_t n_at_once, enum progress_form form,
	      struct local_result *ret_result, struct err *err);

/*
 * For main(): ends this process when the one that runs it as a cell ends, however it
 * does.
 */
void local_be_a_cell(void);

#endif
