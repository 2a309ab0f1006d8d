/* SPDX-License-Identifier: Apache-2.0 */
/* market_rank.c - in which rounds of a window jobs run. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "policies/math/market.h"

#define TINY 1e-9 /* Of GPUs: rounding errors. */

struct rank {
	bool is_urgent; /* It needs each round that is left. */
	double density; /* Priority per GPU and round. */
	uint32_t job;
};

static int
first_in_rank(const void *a, const void *b)
{
	const struct rank *p = a, *q = b;

	if (p->is_urgent != q->is_urgent)
		return p->is_urgent ? -1 : 1;
	if (p->density > q->density || p->density < q->density)
		return p->density > q->density ? -1 : 1;
	return p->job < q->job ? -1 : 1;
}

void
market_rank(const struct market *m, const uint32_t *x, const double *priorities,
	    bool *ret_runs)
{
	struct rank *ranks = xcalloc(m->n_jobs + 1, sizeof *ranks);
	uint32_t *left = xcalloc(m->n_jobs + 1, sizeof *left);

	memset(ret_runs, 0, (size_t)m->n_jobs * m->n_rounds * sizeof *ret_runs);
	memcpy(left, x, m->n_jobs * sizeof *left);
	for (uint32_t t = 0; t < m->n_rounds; t++) {
		double room = m->capacity;
		uint32_t n = 0;

		for (uint32_t j = 0; j < m->n_jobs; j++)
			if (left[j])
				ranks[n++] = (struct rank){
					left[j] >= m->n_rounds - t,
					priorities[j] / (x[j] * m->jobs[j].n_gpus), j
				};
		qsort(ranks, n, sizeof *ranks, first_in_rank);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t j = ranks[i].job;

			if (m->jobs[j].n_gpus > room + TINY)
				continue;
			room -= m->jobs[j].n_gpus;
			ret_runs[(size_t)j * m->n_rounds + t] = true;
			left[j]--;
		}
	}
	free(left);
	free(ranks);
}
