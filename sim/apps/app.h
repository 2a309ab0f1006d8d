/*
 * app.h - an application that trains: what was measured of it, and what lies between.
 *
 * How long a step takes, and how much of it is the exchange of gradients, for so many GPUs
 * on each node and a batch on each GPU; and, for some batches, what each epoch came to:
 * iterations, and how noisy gradients were.  Progress is in iterations of the first batch,
 * as if no sample were worth less than there; a larger batch makes 'gain' times as much an
 * iteration (Pollux, OSDI 2021, 3.2).
 */
#ifndef SIM_APPS_APP_H
#define SIM_APPS_APP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct simplices;

#define APP_MAX_NODES   64
#define APP_MAX_BATCHES 16

struct app_step {
	double step_s, sync_s; /* sync_s is in step_s. */
};

/* What was measured on one placement. */
struct app_place {
	uint32_t n_nodes, n_gpus;
	uint32_t counts[8]; /* By node; the smallest of its rotations. */
	size_t first, n;    /* Of 'local' and 'steps', ascending by batch. */
};

/* A training with one batch. */
struct app_curve {
	uint32_t batch;
	/* After each epoch. */
	double *progress, *iterations, *grad_sqr, *grad_var;
};

struct app {
	char name[32];
	uint32_t first_batch, max_batch, min_local, max_local, n_epochs, max_gpus;
	struct app_curve curves[APP_MAX_BATCHES]; /* Ascending by batch. */
	uint32_t n_curves;
	struct app_place *places;
	size_t n_places;
	double *local; /* Batch of a GPU. */
	struct app_step *steps;
	/* By (nodes, GPUs, batch of a GPU), for placements that were not measured. */
	struct simplices *between;
	struct app_step *corners;
};

/*
 * Reads those that there are measurements of, from a folder or an archive, as
 * "FILE.tar.xz:traces".  0 or -errno with 'err' filled.
 */
int apps_read(const char *path, struct app **ret_apps, size_t *ret_n, struct err *err);
void apps_free(struct app *apps, size_t n);
const struct app *apps_find(const struct app *apps, size_t n, const char *name);

/*
 * A step on 'counts' GPUs of each node, with 'local' samples on each GPU; false if that is
 * too far from what was measured.
 */
bool app_step(const struct app *app, const uint32_t *counts, uint32_t n_nodes,
	      double local, struct app_step *ret_step);

/* Progress when so many epochs are over, whatever the batch. */
double app_progress(const struct app *app, uint32_t n_epochs);
/* Iterations with that batch when epochs up to number 'epoch', from 0, are over. */
double app_iterations(const struct app *app, double batch, uint32_t epoch);
/* Of gradients in an epoch, from 0. */
void app_noise(const struct app *app, double batch, uint32_t epoch, double *ret_sqr,
	       double *ret_var);

#endif
