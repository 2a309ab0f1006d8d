/* SPDX-License-Identifier: Apache-2.0 */
/* monkeytree.c - fragments, and loads of racks */
#include "sim/baselines/monkeytree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"

static const uint32_t *
row_of(const struct monkeytree *mt, const uint32_t *workers, uint32_t job)
{
	return workers + (size_t)job * mt->n_racks;
}

static uint32_t
count_racks(const struct monkeytree *mt, const uint32_t *row)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < mt->n_racks; r++)
		n += row[r] > 0;
	return n;
}

int
monkeytree_check(const struct monkeytree *mt)
{
	for (uint32_t j = 0; j < mt->n_jobs; j++)
		if (!mt->rings[j])
			return -EINVAL;
	for (uint32_t r = 0; r < mt->n_racks; r++) {
		uint64_t sum = 0;

		for (uint32_t j = 0; j < mt->n_jobs; j++)
			sum += row_of(mt, mt->workers, j)[r];
		if (sum > mt->capacity[r])
			return -EINVAL;
	}
	return 0;
}

void
monkeytree_loads(const struct monkeytree *mt, const uint32_t *workers,
		 uint32_t *ret_loads)
{
	memset(ret_loads, 0, mt->n_racks * sizeof *ret_loads);
	for (uint32_t j = 0; j < mt->n_jobs; j++) {
		const uint32_t *row = row_of(mt, workers, j);

		if (count_racks(mt, row) < 2)
			continue;
		for (uint32_t r = 0; r < mt->n_racks; r++)
			if (row[r])
				ret_loads[r] += mt->rings[j];
	}
}

bool
monkeytree_is_due(const struct monkeytree *mt)
{
	uint32_t *loads = xcalloc(mt->n_racks, sizeof *loads);
	bool is_due = false;

	monkeytree_loads(mt, mt->workers, loads);
	for (uint32_t r = 0; r < mt->n_racks; r++)
		is_due |= loads[r] > mt->lambda;
	free(loads);
	return is_due;
}

uint32_t
monkeytree_moved(const struct monkeytree *mt, const uint32_t *workers)
{
	uint32_t n = 0;

	for (size_t i = 0; i < (size_t)mt->n_jobs * mt->n_racks; i++)
		if (workers[i] > mt->workers[i])
			n += workers[i] - mt->workers[i];
	return n;
}
