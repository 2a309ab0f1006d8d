/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/solve/demand_levels.h"

#include <math.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "scheduler/core/solve/step_function.h"

struct share {
	int64_t level;
	double share;
};

static int
compare_shares(const void *a_, const void *b_)
{
	const struct share *a = a_, *b = b_;

	/* Also by share: the order of equal levels affects their rounding. */
	if (a->level != b->level)
		return a->level < b->level ? -1 : 1;
	return a->share < b->share ? -1 : a->share > b->share;
}

/* Halves the levels by merging neighbors; the mean stays. */
static size_t
merge_neighbors(struct share *shares, size_t n)
{
	size_t m = 0;

	for (size_t i = 0; i < n; i += 2) {
		struct share x = shares[i];

		if (i + 1 < n) {
			double sum = x.share + shares[i + 1].share;
			double part = shares[i + 1].share / sum;

			x.level +=
				llround((double)(shares[i + 1].level - x.level) * part);
			x.share = sum;
		}
		shares[m++] = x;
	}
	return m;
}

/* Makes levels from shares in order; consumes them. */
static void
levels_make(struct share *shares, size_t n, struct demand_levels *ret_levels)
{
	struct demand_levels *levels = ret_levels;
	size_t m = 0;
	double tail = 0, tail_mean = 0;

	for (size_t i = 0; i < n; i++) {
		if (m > 0 && shares[m - 1].level == shares[i].level)
			shares[m - 1].share += shares[i].share;
		else
			shares[m++] = shares[i];
	}
	while (m > DEMAND_LEVELS_MAX)
		m = merge_neighbors(shares, m);
	levels->n = m;
	/* A single allocation that begins with the levels. */
	levels->level =
		xreallocarray(NULL, m, sizeof *levels->level + 3 * sizeof(double));
	levels->share = (void *)(levels->level + m);
	levels->tail = levels->share + m;
	levels->tail_mean = levels->tail + m;
	for (size_t i = m; i-- > 0;) {
		tail += shares[i].share;
		tail_mean += shares[i].share * (double)shares[i].level;
		levels->level[i] = shares[i].level;
		levels->share[i] = shares[i].share;
		levels->tail[i] = tail;
		levels->tail_mean[i] = tail_mean;
	}
}

void
demand_levels_of_step(const struct step_function *step,
		      struct demand_levels *ret_levels)
{
	struct share few[32];
	struct share *shares = step->n > 32 ? xcalloc(step->n, sizeof *shares) : few;

	for (size_t i = 0; i < step->n; i++) {
		int64_t end_us = i + 1 < step->n ? step->from_us[i + 1]
						 : step->from_us[0] + step->period_us;

		shares[i].level = step->level[i];
		shares[i].share =
			(double)(end_us - step->from_us[i]) / (double)step->period_us;
	}
	sort_items(shares, step->n, compare_shares);
	levels_make(shares, step->n, ret_levels);
	if (shares != few)
		free(shares);
}

/* Merges the sums of few levels and many: each of the few makes a sorted run. */
void
demand_levels_add(struct demand_levels *levels, const struct demand_levels *other)
{
	const struct demand_levels *few = levels->n < other->n ? levels : other;
	const struct demand_levels *many = few == other ? levels : other;
	struct share *shares = xcalloc(few->n * many->n, sizeof *shares);
	size_t n = 0, length = many->n;

	for (size_t k = 0; k < few->n; k++) {
		for (size_t i = 0; i < length; i++) {
			shares[n].level = many->level[i] + few->level[k];
			shares[n++].share = many->share[i] * few->share[k];
		}
	}
	demand_levels_fini(levels);
	sort_items(shares, n, compare_shares);
	levels_make(shares, n, levels);
	free(shares);
}

void
demand_levels_fini(struct demand_levels *levels)
{
	free(levels->level);
	memset(levels, 0, sizeof *levels);
}

/* Mean of max(0, level - room), rounded to a unit. */
int64_t
demand_levels_excess(const struct demand_levels *levels, int64_t room)
{
	size_t low = 0, high = levels->n;

	while (low < high) { /* Find the first level above 'room'. */
		size_t mid = low + (high - low) / 2;

		if (levels->level[mid] > room)
			high = mid;
		else
			low = mid + 1;
	}
	if (low == levels->n)
		return 0;
	return llround(levels->tail_mean[low] - (double)room * levels->tail[low]);
}
