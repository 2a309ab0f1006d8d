/*
 * goodput.h - how fast a job learns on so many GPUs (Pollux, OSDI 2021, 3).
 *
 * With k GPUs, m samples on each at once, s times more before gradients are exchanged:
 *
 *	T_grad = a_c + b_c m
 *	T_sync = 0 on one GPU; a_r + b_r (k - 2) on one node; a_n + b_n (k - 2) on more
 *	T_iter = s T_grad + (T_grad^g + T_sync^g)^(1/g)
 *	M = k m (s + 1), throughput = M / T_iter
 *	efficiency = (phi + M0) / (phi + M), phi = M0 var / sqr: the noise of gradients
 *	goodput = throughput * efficiency
 *
 * 1 <= g <= 10 is how much of the exchange hides behind the computing.  The seven numbers
 * are fitted to what was measured.  Pure.
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

/* A measured iteration: grad_s of one T_grad, iter_s of one T_iter with s = 0. */
struct goodput_sample {
	uint32_t n_nodes, n_gpus, local;
	double grad_s, iter_s; /* Above 0. */
};

struct goodput {
	double params[GOODPUT_N_PARAMS]; /* In seconds; gamma without a unit. */
	double grad_sqr, grad_var;
	uint32_t first_batch, max_batch; /* M0, and the most. */
	uint32_t min_local, max_local;   /* Of a GPU at once. */
};

/* How a batch is made. */
struct goodput_batch {
	uint32_t local, n_more; /* m, s; local 0: none fits. */
};

/*
 * Fits the seven to n > 0 samples: the root mean square errors of the logarithms of both
 * times, plus 1e-3 (g - 1)^2 + 1e-2 ((b_n/a_n)^2 + (b_r/a_r)^2).  What no sample tells is
 * taken to be good: that more nodes or GPUs will not hurt.  Deterministic.
 */
void goodput_fit(const struct goodput_sample *samples, size_t n,
		 double ret_params[GOODPUT_N_PARAMS]);

double goodput_iteration_s(const struct goodput *goodput, uint32_t n_nodes,
			   uint32_t n_gpus, struct goodput_batch batch);
double goodput_efficiency(const struct goodput *goodput, double batch);
double goodput_at(const struct goodput *goodput, uint32_t n_nodes, uint32_t n_gpus,
		  struct goodput_batch batch);

/*
 * The most there is over 50 batches, from the first (or the least that GPUs can have) to
 * the largest in equal ratios; 0 if none fits.
 */
double goodput_best(const struct goodput *goodput, uint32_t n_nodes, uint32_t n_gpus,
		    struct goodput_batch *ret_batch);

#endif
