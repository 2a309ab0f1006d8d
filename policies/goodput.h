/* SPDX-License-Identifier: Apache-2.0 */
/*
 * goodput.h - goodput of a training job: throughput times statistical efficiency
 * (Pollux, OSDI 2021, section 3).
 *
 * With k GPUs, m samples on each GPU at once, and s accumulation steps before
 * gradients are exchanged:
 *
 *	T_grad = a_c + b_c m
 *	T_sync = 0 on one GPU; a_r + b_r (k - 2) on one node; a_n + b_n (k - 2) on more
 *	T_iter = s T_grad + (T_grad^g + T_sync^g)^(1/g)
 *	M = k m (s + 1), throughput = M / T_iter
 *	efficiency = (phi + M0) / (phi + M), phi = M0 var / sqr: the gradient noise scale
 *	goodput = throughput * efficiency
 *
 * 1 <= g <= 10 is the overlap of communication and computation.  The seven parameters
 * are fitted to measurements.  Pure.
 */
#ifndef POLICIES_GOODPUT_H
#define POLICIES_GOODPUT_H

#include <stddef.h>
#include <stdint.h>

enum {
	GOODPUT_A_C,
	GOODPUT_B_C,
	GOODPUT_A_N,
	GOODPUT_B_N,
	GOODPUT_A_R,
	GOODPUT_B_R,
	GOODPUT_GAMMA,
	GOODPUT_N_PARAMS,
};

/* A measured iteration: grad_s is one T_grad, iter_s is one T_iter with s = 0. */
struct goodput_sample {
	uint32_t n_nodes, n_gpus, local;
	double grad_s, iter_s; /* Above 0. */
};

struct goodput {
	double params[GOODPUT_N_PARAMS]; /* Seconds; gamma has no unit. */
	double grad_sqr, grad_var;
	uint32_t first_batch, max_batch; /* M0, and the largest M. */
	uint32_t min_local, max_local;   /* Range of m. */
};

/* How a batch is split. */
struct goodput_batch {
	uint32_t local, n_more; /* m and s; local 0: no batch fits. */
};

/*
 * Fits the seven parameters to n > 0 samples.  Minimizes the root mean square errors
 * of the logarithms of both times, plus 1e-3 (g - 1)^2 + 1e-2 ((b_n/a_n)^2 +
 * (b_r/a_r)^2). What no sample covers is assumed to be good: more nodes or GPUs cost
 * nothing.  Deterministic.
 */
void goodput_fit(const struct goodput_sample *samples, size_t n,
		 double ret_params[GOODPUT_N_PARAMS]);

double goodput_iteration_s(const struct goodput *goodput, uint32_t n_nodes,
			   uint32_t n_gpus, struct goodput_batch batch);
double goodput_efficiency(const struct goodput *goodput, double batch);
double goodput_at(const struct goodput *goodput, uint32_t n_nodes, uint32_t n_gpus,
		  struct goodput_batch batch);

/*
 * Returns the largest goodput over 50 batch sizes in geometric steps, from the first
 * batch (or the smallest that the GPUs can have) to the largest; 0 if none fits.
 */
double goodput_best(const struct goodput *goodput, uint32_t n_nodes, uint32_t n_gpus,
		    struct goodput_batch *ret_batch);

#endif
