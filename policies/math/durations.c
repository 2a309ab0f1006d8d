/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/math/durations.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"

struct durations_of_size {
	uint32_t n_gpus; /* 0: all jobs. */
	VEC(double) sorted_s;
};

void
durations_free(struct durations *durations)
{
	for (size_t i = 0; i < durations->sizes.n; i++) {
		vec_free(&durations->sizes.items[i]->sorted_s);
		free(durations->sizes.items[i]);
	}
	vec_free(&durations->sizes);
}

static struct durations_of_size *
find(const struct durations *durations, uint32_t n_gpus)
{
	for (size_t i = 0; i < durations->sizes.n; i++)
		if (durations->sizes.items[i]->n_gpus == n_gpus)
			return durations->sizes.items[i];
	return NULL;
}

/* How many of them are at most 'duration_s'. */
static size_t
count_until(const struct durations_of_size *of, double duration_s)
{
	size_t low = 0, high = of->sorted_s.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (of->sorted_s.items[middle] <= duration_s)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void
add(struct durations *durations, uint32_t n_gpus, double duration_s)
{
	struct durations_of_size *of = find(durations, n_gpus);
	size_t at;

	if (!of) {
		of = xcalloc(1, sizeof *of);
		of->n_gpus = n_gpus;
		vec_push(&durations->sizes, of);
	}
	at = count_until(of, duration_s);
	vec_push(&of->sorted_s, duration_s);
	memmove(of->sorted_s.items + at + 1, of->sorted_s.items + at,
		(of->sorted_s.n - 1 - at) * sizeof *of->sorted_s.items);
	of->sorted_s.items[at] = duration_s;
}

void
durations_add(struct durations *durations, uint32_t n_gpus, double duration_s)
{
	add(durations, 0, duration_s);
	add(durations, n_gpus, duration_s);
}

double
durations_end_chance(const struct durations *durations, uint32_t n_gpus,
		     double executed_s, double more_s, size_t least)
{
	const struct durations_of_size *ofs[] = { find(durations, n_gpus),
						  find(durations, 0) };

	for (int i = 0; i < 2; i++) {
		size_t n_shorter = ofs[i] ? count_until(ofs[i], executed_s) : 0;
		size_t n_longer = ofs[i] ? ofs[i]->sorted_s.n - n_shorter : 0;

		if (n_longer >= (i == 0 ? least : 1))
			return (double)(count_until(ofs[i], executed_s + more_s) -
					n_shorter) /
			       (double)n_longer;
	}
	return 0;
}
