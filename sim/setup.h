/*
 * setup.h - what 'run' and 'compare' begin with: a scenario, its fabric, and a
 * way to be interrupted.
 */
#ifndef SIM_SETUP_H
#define SIM_SETUP_H

#include <stdbool.h>

#include "lib/base/progress.h"
#include "scheduler/core/workload/workload_ini.h"

struct err;

struct setup {
	struct scenario *scenario;
	struct topo *topo;
	struct routes *routes;
};

/*
 * Reads the scenario 'path' and makes its fabric, or reads 'fabric' instead if
 * that is not NULL.  Returns 0 or a negative errno with 'err' filled.  Release
 * with setup_fini().
 */
int setup_load(const char *path, const char *fabric, struct setup *ret_setup,
	       struct err *err);
void setup_fini(struct setup *setup); /* Accepts a zeroed one. */

/* Ctrl-C once ends the run after what it is doing; twice, at once. */
void setup_catch_interrupts(void);
bool setup_is_interrupted(void);

/*
 * Progress of several runs, one after another, on stderr: run number 'i' of 'n',
 * as the go_on of experiment.h.
 */
struct setup_progress {
	struct progress progress;
	size_t i, n;
};

void setup_progress_init(struct setup_progress *progress, size_t n);
bool setup_go_on(void *ctx, double frac);

#endif
