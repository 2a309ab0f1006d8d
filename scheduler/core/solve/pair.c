/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/solve/pair.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "scheduler/core/profile/profile.h"
#include "scheduler/core/profile/same_period.h"
#include "scheduler/core/solve/overlap.h"
#include "scheduler/core/solve/plateau.h"

/* P (E(d) - E(0)) at every bend, in unit-microseconds. */
struct sweep {
	wide_int *value; /* Owned.  One a bend. */
	wide_int min;
	wide_int integral2; /* Twice the integral over [0, g). */
};

/* The steps of both jobs in one allocation. */
struct pair_steps {
	struct step_function a, b;
	int64_t capacity;
	double unit_bps;
	int64_t *memory; /* Owned. */
};

static void
pair_steps_make(const struct pair_job *a, const struct pair_job *b, double capacity_bps,
		struct pair_steps *ret_steps)
{
	struct pair_steps *steps = ret_steps;
	struct profile pa = *a->profile, pb = *b->profile;
	int64_t one_us = same_period(&pa, &pb);
	size_t na = step_function_max_pieces(a->profile),
	       nb = step_function_max_pieces(b->profile);
	double sum_bps = a->factor * profile_peak_bps(a->profile) +
			 b->factor * profile_peak_bps(b->profile);

	steps->unit_bps = step_function_unit_bps(fmax(sum_bps, capacity_bps));
	steps->capacity = llround(capacity_bps / steps->unit_bps);
	steps->memory = xcalloc(2 * (na + nb), sizeof *steps->memory);
	steps->a.from_us = steps->memory;
	steps->a.level = steps->a.from_us + na;
	steps->b.from_us = steps->a.level + na;
	steps->b.level = steps->b.from_us + nb;
	if (one_us)
		pa.period_us = pb.period_us = one_us;
	step_function_from_profile(&pa, a->factor, steps->unit_bps, &steps->a);
	step_function_from_profile(&pb, b->factor, steps->unit_bps, &steps->b);
}

static void
sweep_make(const struct event_list *bends, int64_t g_us, struct sweep *ret_sweep)
{
	struct sweep *sweep = ret_sweep;
	wide_int slope = 0, value = 0;
	int64_t at_us = 0;

	/* The slope just before 0: it integrates to 0 over a turn. */
	for (size_t i = 0; i < bends->n; i++)
		slope += (wide_int)bends->items[i].level * bends->items[i].at_us;
	slope /= g_us;

	sweep->value = xcalloc(bends->n + 1, sizeof *sweep->value);
	sweep->min = 0;
	sweep->integral2 = 0;
	for (size_t i = 0; i <= bends->n; i++) {
		bool is_end = i == bends->n;
		int64_t length_us = (is_end ? g_us : bends->items[i].at_us) - at_us;
		wide_int rise = slope * length_us;

		sweep->integral2 += (2 * value + rise) * length_us;
		value += rise;
		at_us += length_us;
		if (is_end)
			break;
		if (value < sweep->min)
			sweep->min = value;
		sweep->value[i] = value;
		slope += bends->items[i].level;
	}
}

struct low {
	const wide_int *value;
	wide_int high;
};

static bool
is_low(const void *ctx, size_t bend)
{
	const struct low *low = ctx;

	return low->value[bend] <= low->high;
}

static bool
is_pair(const struct pair_job *a, const struct pair_job *b, double capacity_bps)
{
	return capacity_bps > 0 && isfinite(capacity_bps) && a->factor > 0 &&
	       isfinite(a->factor) && b->factor > 0 && isfinite(b->factor);
}

int
pair_optimize(const struct pair_job *a, const struct pair_job *b, double capacity_bps,
	      struct pair_optimum *ret_optimum)
{
	struct pair_optimum *optimum = ret_optimum;
	struct pair_steps steps;
	struct overlap_cost cost = { 0 };
	struct overlap_room room = { 0 };
	struct event_list bends = { 0 };
	struct plateau widest;
	struct sweep sweep;
	int64_t g_us;
	double periods_us2, hyperperiod_us;
	wide_int mean, at_zero, tolerance;

	if (!is_pair(a, b, capacity_bps))
		return -EINVAL;
	pair_steps_make(a, b, capacity_bps, &steps);
	cost.capacity = steps.capacity;
	g_us = period_gcd(steps.a.period_us, steps.b.period_us);
	periods_us2 = (double)steps.a.period_us * (double)steps.b.period_us;
	hyperperiod_us = periods_us2 / (double)g_us;

	overlap_bends(&steps.a, &steps.b, 0, &cost, &room, &bends);
	event_list_sort(&bends, g_us);
	sweep_make(&bends, g_us, &sweep);
	mean = overlap_mean(&steps.a, &steps.b, &cost);
	at_zero = (2 * mean - sweep.integral2) / (2 * (wide_int)g_us);

	optimum->period_us = g_us;
	optimum->mean_excess_bps = steps.unit_bps * (double)mean / periods_us2;
	optimum->min_excess_bps =
		steps.unit_bps * (double)(at_zero + sweep.min) / hyperperiod_us;
	optimum->score = 1 - optimum->min_excess_bps / capacity_bps;
	tolerance = (wide_int)(hyperperiod_us * 0x1p-40 * (double)steps.capacity);
	widest = plateau_widest(&bends, g_us, is_low,
				&(struct low){ sweep.value, sweep.min + tolerance });
	optimum->shift_us = widest.at_us;
	optimum->slack_us = widest.slack_us;
	free(sweep.value);
	free(steps.memory);
	event_list_fini(&bends);
	overlap_room_fini(&room);
	return 0;
}

double
pair_excess_bps(const struct pair_job *a, const struct pair_job *b, int64_t shift_us,
		double capacity_bps)
{
	struct pair_steps steps;
	struct overlap_cost cost = { 0 };
	struct overlap_room room = { 0 };
	double excess;

	pair_steps_make(a, b, capacity_bps, &steps);
	cost.capacity = steps.capacity;
	excess = overlap_excess(&steps.a, &steps.b, shift_us, &cost, &room);
	overlap_room_fini(&room);
	free(steps.memory);
	return steps.unit_bps * excess;
}

/* Total variation per time, bits per second per microsecond. */
static double
variation_rate(const struct pair_job *job)
{
	return job->factor * profile_variation_bps(job->profile) /
	       (double)job->profile->period_us;
}

double
pair_gain_bound_bps(const struct pair_job *a, const struct pair_job *b)
{
	int64_t g_us = same_period(a->profile, b->profile);

	if (!g_us)
		g_us = period_gcd(a->profile->period_us, b->profile->period_us);
	return (double)g_us / 4 * fmin(variation_rate(a), variation_rate(b));
}
