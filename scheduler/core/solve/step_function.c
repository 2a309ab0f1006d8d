/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/solve/step_function.h"

#include <math.h>
#include <string.h>

#include "scheduler/core/profile/profile.h"

int64_t
period_gcd(int64_t a_us, int64_t b_us)
{
	uint64_t a = (uint64_t)a_us, b = (uint64_t)b_us;
	int twos;

	if (a == b || b == 0)
		return a_us;
	if (a == 0)
		return b_us;
	/* Stein's algorithm: a 64-bit division costs more than many subtractions. */
	twos = __builtin_ctzll(a | b);
	a >>= __builtin_ctzll(a);
	while (b) {
		b >>= __builtin_ctzll(b);
		if (a > b) {
			uint64_t t = a;

			a = b;
			b = t;
		}
		b -= a;
	}
	return (int64_t)(a << twos);
}

int64_t
period_lcm(int64_t a_us, int64_t b_us, int64_t limit_us)
{
	__int128 lcm;

	if (a_us == b_us)
		return a_us <= limit_us ? a_us : 0;
	lcm = (__int128)(a_us / period_gcd(a_us, b_us)) * b_us;
	return lcm <= limit_us ? (int64_t)lcm : 0;
}

int64_t
period_mod(int64_t t_us, int64_t period_us)
{
	int64_t rest;

	if (t_us >= 0 && t_us < period_us)
		return t_us;
	rest = t_us % period_us;
	return rest < 0 ? rest + period_us : rest;
}

double
step_function_unit_bps(double max_bps)
{
	int exponent;

	(void)frexp(max_bps, &exponent); /* max_bps < 2^exponent */
	return ldexp(1, exponent - STEP_FUNCTION_LEVEL_BITS);
}

size_t
step_function_max_pieces(const struct profile *profile)
{
	return 2 * profile->n_phases + 1;
}

/* Begins a piece, unless the level is unchanged. */
static void
step_append(struct step_function *step, int64_t from_us, int64_t level)
{
	if (step->n > 0 && step->from_us[step->n - 1] == from_us)
		step->n--;
	if (step->n > 0 && step->level[step->n - 1] == level)
		return;
	step->from_us[step->n] = from_us;
	step->level[step->n++] = level;
}

/* Drops the first piece if it only continues the last one; at least one stays. */
static void
step_close(struct step_function *step)
{
	if (step->n < 2 || step->level[0] != step->level[step->n - 1])
		return;
	step->n--;
	memmove(step->from_us, step->from_us + 1, step->n * sizeof *step->from_us);
	memmove(step->level, step->level + 1, step->n * sizeof *step->level);
}

void
step_function_from_profile(const struct profile *profile, double factor,
			   double unit_bps, struct step_function *step)
{
	step->period_us = profile->period_us;
	step->n = 0;
	step_append(step, 0, 0);
	for (size_t i = 0; i < profile->n_phases; i++) {
		const struct profile_phase *phase = &profile->phases[i];
		int64_t end_us = phase->start_us + phase->duration_us;

		step_append(step, phase->start_us,
			    llround(factor * phase->rate_bps / unit_bps));
		if (end_us < profile->period_us)
			step_append(step, end_us, 0);
	}
	step_close(step);
}

/* The piece at 't_us' in [0, period). */
static size_t
step_piece(const struct step_function *step, int64_t t_us)
{
	size_t low = 0, high = step->n;

	if (t_us < step->from_us[0])
		return step->n - 1;
	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (step->from_us[mid] <= t_us)
			low = mid;
		else
			high = mid;
	}
	return low;
}

int64_t
step_function_at(const struct step_function *step, int64_t t_us)
{
	return step->level[step_piece(step, period_mod(t_us, step->period_us))];
}

int64_t
step_function_variation(const struct step_function *step)
{
	int64_t sum = 0, before = step->level[step->n - 1];

	for (size_t i = 0; i < step->n; i++) {
		sum += llabs(step->level[i] - before);
		before = step->level[i];
	}
	return sum;
}

int64_t
step_function_peak(const struct step_function *step)
{
	int64_t peak = step->level[0];

	for (size_t i = 1; i < step->n; i++)
		if (step->level[i] > peak)
			peak = step->level[i];
	return peak;
}

double
step_function_mean(const struct step_function *step)
{
	double sum = 0;

	for (size_t i = 0; i < step->n; i++) {
		int64_t end_us = i + 1 < step->n ? step->from_us[i + 1]
						 : step->from_us[0] + step->period_us;

		sum += (double)step->level[i] * (double)(end_us - step->from_us[i]);
	}
	return sum / (double)step->period_us;
}

/* Appends the edges of one term over 'period_us'. */
static void
add_edges(const struct step_function_term *term, int64_t period_us,
	  struct event_list *edges)
{
	const struct step_function *step = term->step;
	int64_t shift_us = period_mod(term->shift_us, step->period_us);
	struct event *out;

	if (step->n < 2)
		return;
	event_list_reserve(edges, step->n * (size_t)(period_us / step->period_us));
	out = edges->items + edges->n;
	for (int64_t base_us = 0; base_us < period_us; base_us += step->period_us) {
		int64_t before = step->level[step->n - 1];

		for (size_t i = 0; i < step->n; i++) {
			int64_t at_us = step->from_us[i] + shift_us;

			if (at_us >= step->period_us)
				at_us -= step->period_us;
			out->at_us = base_us + at_us;
			out->level = step->level[i] - before;
			before = step->level[i];
			out++;
		}
	}
	edges->n = (size_t)(out - edges->items);
}

void
step_function_sum(const struct step_function_term *terms, size_t n, int64_t period_us,
		  struct step_function_room *room)
{
	struct event_list *edges = &room->edges;
	struct step_function *sum = &room->step;
	int64_t level = 0;

	edges->n = 0;
	for (size_t i = 0; i < n; i++) {
		/* The level just before time 0, where the sweep begins. */
		level += step_function_at(terms[i].step, -1 - terms[i].shift_us);
		add_edges(&terms[i], period_us, edges);
	}
	event_list_sort(edges, period_us);
	if (room->capacity < edges->n + 1) {
		room->capacity = 2 * edges->n + 16;
		sum->from_us = xreallocarray(sum->from_us, room->capacity,
					     sizeof *sum->from_us);
		sum->level =
			xreallocarray(sum->level, room->capacity, sizeof *sum->level);
	}
	sum->period_us = period_us;
	sum->n = 0;
	step_append(sum, 0, level);
	for (size_t i = 0; i < edges->n; i++) {
		level += edges->items[i].level;
		step_append(sum, edges->items[i].at_us, level);
	}
	step_close(sum);
}

void
step_function_room_fini(struct step_function_room *room)
{
	free(room->step.from_us);
	free(room->step.level);
	event_list_fini(&room->edges);
	memset(room, 0, sizeof *room);
}
