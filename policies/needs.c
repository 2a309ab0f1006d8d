/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/needs.h"

#include <math.h>

#define NEAR 1e-6 /* Needs are sums of shares. */

void
needs_add(struct needs *sum, const struct needs *more, double times)
{
	for (int i = 0; i < N_NEEDS; i++)
		sum->of[i] += more->of[i] * times;
}

bool
needs_fit(const struct needs *sum, const struct needs *capacity, enum need first,
	  enum need last)
{
	for (int i = first; i <= (int)last; i++)
		if (capacity->of[i] > 0 &&
		    sum->of[i] > capacity->of[i] * (1 + NEAR) + NEAR)
			return false;
	return true;
}

uint32_t
needs_least_gpus(const struct needs *needs, uint32_t n_gpus,
		 const struct needs *capacity)
{
	double most = capacity->of[NEED_GPU_MEMORY], n;

	if (!(most > 0))
		return 1;
	n = ceil(needs->of[NEED_GPU_MEMORY] * n_gpus / most - NEAR);
	return (uint32_t)fmin(fmax(n, 1), UINT32_MAX);
}
