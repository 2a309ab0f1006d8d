/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/solve/piecewise_linear.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "scheduler/core/solve/plateau.h"

/*
 * Values are sums of products, each rounded to 2^-53 of the sum of the terms' sizes;
 * smaller differences are ignored.
 */
#define ROUNDING 0x1p-44
/* Number of local minima to draw from. */
#define N_CHOICES 6

void
piecewise_linear_reset(struct piecewise_linear *f, int64_t turn_us)
{
	f->bends.n = 0;
	f->turn_us = turn_us;
}

static int
compare_slopes(const void *a_, const void *b_)
{
	const struct event *a = a_, *b = b_;

	return a->slope < b->slope ? -1 : a->slope > b->slope;
}

/* Sorts by slope: a run is nearly always short, but need not be. */
static void
sort_run(struct event *at, size_t n)
{
	if (n > 16) {
		qsort(at, n, sizeof *at, compare_slopes);
		return;
	}
	for (size_t i = 1; i < n; i++) {
		struct event x = at[i];
		size_t k = i;

		for (; k > 0 && at[k - 1].slope > x.slope; k--)
			at[k] = at[k - 1];
		at[k] = x;
	}
}

/*
 * Merges bends at the same time into one.  Adds them by size, so that the sum, to the
 * last bit, does not depend on their order.
 */
static void
merge_bends(struct event_list *bends)
{
	struct event *at = bends->items;
	size_t n = 0;

	for (size_t first = 0, next; first < bends->n; first = next) {
		struct event sum = at[first];

		for (next = first + 1; next < bends->n; next++)
			if (at[next].at_us != sum.at_us)
				break;
		if (next - first > 2)
			sort_run(&at[first], next - first);
		sum = at[first];
		for (size_t k = first + 1; k < next; k++)
			sum.slope += at[k].slope;
		at[n++] = sum;
	}
	bends->n = n;
}

void
piecewise_linear_close(struct piecewise_linear *f)
{
	const struct event *at;
	double slope = 0, size = 0, value = 0;
	int64_t last_us = 0;

	event_list_sort(&f->bends, f->turn_us);
	merge_bends(&f->bends);
	if (f->value_capacity < f->bends.n) {
		f->value_capacity = f->bends.capacity;
		f->value = xreallocarray(f->value, f->value_capacity, sizeof *f->value);
	}
	at = f->bends.items;
	/* The slope just before 0: it integrates to 0 over a turn. */
	for (size_t i = 0; i < f->bends.n; i++) {
		slope += at[i].slope * (double)at[i].at_us;
		size += fabs(at[i].slope);
	}
	slope /= (double)f->turn_us;
	for (size_t i = 0; i < f->bends.n; i++) {
		value += slope * (double)(at[i].at_us - last_us);
		f->value[i] = value;
		slope += at[i].slope;
		last_us = at[i].at_us;
	}
	f->tolerance = size * (double)f->turn_us * ROUNDING / (double)(f->bends.n + 1);
}

struct low {
	const double *value;
	double high;
};

static bool
is_low(const void *ctx, size_t bend)
{
	const struct low *low = ctx;

	return low->value[bend] <= low->high;
}

void
piecewise_linear_minimize(const struct piecewise_linear *f,
			  struct piecewise_linear_minimum *ret_minimum)
{
	struct plateau widest;
	double min = 0;

	for (size_t i = 0; i < f->bends.n; i++)
		min = f->value[i] < min ? f->value[i] : min;
	ret_minimum->gain = -min;
	widest = plateau_widest(&f->bends, f->turn_us, is_low,
				&(struct low){ f->value, min + f->tolerance });
	ret_minimum->at_us = widest.at_us;
	ret_minimum->slack_us = widest.slack_us;
}

int64_t
piecewise_linear_draw_minimum(const struct piecewise_linear *f, struct rng *rng)
{
	size_t n = f->bends.n, choice[N_CHOICES + 1], n_choices = 0;

	for (size_t i = 0; i < n; i++) {
		double value = f->value[i];
		size_t k;

		if (value >= f->value[i > 0 ? i - 1 : n - 1] - f->tolerance ||
		    value > f->value[i + 1 < n ? i + 1 : 0] + f->tolerance)
			continue;
		for (k = n_choices;
		     k > 0 && f->value[choice[k - 1]] > value + f->tolerance; k--)
			choice[k] = choice[k - 1];
		choice[k] = i;
		n_choices += n_choices < N_CHOICES;
	}
	if (n_choices == 0) /* Flat. */
		return (int64_t)rng_below(rng, (uint64_t)f->turn_us);
	return f->bends.items[choice[rng_below(rng, n_choices)]].at_us;
}

int64_t
piecewise_linear_slack(const struct piecewise_linear *f)
{
	const struct event *at = f->bends.items;
	size_t n = f->bends.n;
	int64_t right_us = 0, left_us = 0;
	size_t i = 0, k = n;

	/* Up to the last bend before the first one that is too high. */
	while (i < n && f->value[i] <= f->tolerance)
		right_us = at[i++].at_us;
	if (i == n)
		return f->turn_us / 2;
	while (k > 0 && f->value[k - 1] <= f->tolerance)
		left_us = f->turn_us - at[--k].at_us;
	return left_us < right_us ? left_us : right_us;
}

void
piecewise_linear_fini(struct piecewise_linear *f)
{
	event_list_fini(&f->bends);
	free(f->value);
	memset(f, 0, sizeof *f);
}
