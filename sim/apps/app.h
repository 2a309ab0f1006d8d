/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app.h - a measured training application, and interpolation between measurements.
 *
 * Measured are the time of a step and the part that exchanges gradients, by GPUs per
 * node and batch per GPU; and, for some batch sizes, the iterations and the gradient
 * noise of each epoch.  Progress is counted in iterations of the first batch size, as
 * if no sample were worth less than there; a larger batch makes 'gain' times as much
 * progress per iteration (Pollux, OSDI 2021, section 3.2).
 *
 * Steps may be measured on several types of GPUs, as for Sia (SOSP 2023); then there is
 * an application for each type.
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
#define APP_MAX_TYPES   16 /* Types of GPUs. */

struct app_step {
	double step_s, sync_s; /* sync_s is in step_s. */
};

/* Measurements of one placement. */
struct app_place {
	uint32_t n_nodes, n_gpus;
	uint32_t counts[8]; /* GPUs by node; the smallest rotation. */
	size_t first, n;    /* In 'local' and 'steps', ascending by batch. */
};

struct app_reach {
	uint32_t n_nodes, n_gpus, local;
};

/* A training run with one batch size. */
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
	double *local; /* Batches per GPU. */
	struct app_step *steps;
	/* By (nodes, GPUs, batch per GPU), for unmeasured placements. */
	struct simplices *between;
	/* The largest batch per GPU on as many nodes and GPUs; with types only. */
	struct app_reach *reaches;
	size_t n_reaches;
	struct app_step *corners;
	double slowdown;  /* Of real runs over measured steps; 1: none known. */
	double restart_s; /* Of a start, measured; NAN: not known. */
};

/*
 * Reads all applications of a folder, or of an archive as "FILE.tar.xz:traces"; with
 * 'type', as measured on this type of GPUs; NULL: on the only one.  Returns 0 or -errno
 * with 'err' filled.
 */
int apps_read(const char *path, const char *type, struct app **ret_apps, size_t *ret_n,
	      struct err *err);
void apps_free(struct app *apps, size_t n);
const struct app *apps_find(const struct app *apps, size_t n, const char *name);

/*
 * A step on 'counts' GPUs of each node, with 'local' samples per GPU. Returns false if
 * that is too far from the measurements.
 */
bool app_step(const struct app *app, const uint32_t *counts, uint32_t n_nodes,
	      double local, struct app_step *ret_step);

/*
 * The largest batch per GPU there: with types of GPUs, what was measured on these nodes,
 * or on at least as many nodes and GPUs; without, what was measured anywhere.
 */
uint32_t app_max_local(const struct app *app, const uint32_t *counts, uint32_t n_nodes);

/* Progress at the end of n_epochs epochs, for any batch size. */
double app_progress(const struct app *app, uint32_t n_epochs);
/* Iterations with a batch size until the end of epoch 'epoch', from 0. */
double app_iterations(const struct app *app, double batch, uint32_t epoch);
/* Gradient noise in an epoch, from 0. */
void app_noise(const struct app *app, double batch, uint32_t epoch, double *ret_sqr,
	       double *ret_var);

#endif
