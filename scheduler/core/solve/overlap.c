/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/solve/overlap.h"

#include <string.h>

static int64_t
piece_length(const struct step_function *step, size_t i)
{
	if (i + 1 < step->n)
		return step->from_us[i + 1] - step->from_us[i];
	return step->from_us[0] + step->period_us - step->from_us[i];
}

void
overlap_room_fini(struct overlap_room *room)
{
	free(room->rows);
	event_list_fini(&room->bends);
	memset(room, 0, sizeof *room);
}

static int64_t *
overlap_rows(struct overlap_room *room, size_t n)
{
	if (room->capacity < n) {
		room->capacity = 2 * n + 64;
		room->rows =
			xreallocarray(room->rows, room->capacity, sizeof *room->rows);
	}
	return room->rows;
}

/* row[i] = e(a_i, y) */
static void
fill_row(const struct step_function *a, int64_t y, const struct overlap_cost *cost,
	 int64_t *row)
{
	int64_t below = cost->capacity - y;

	if (cost->rest) {
		for (size_t i = 0; i < a->n; i++)
			row[i] = demand_levels_excess(cost->rest, below - a->level[i]);
		return;
	}
	for (size_t i = 0; i < a->n; i++)
		row[i] = a->level[i] > below ? a->level[i] - below : 0;
}

void
overlap_bends(const struct step_function *a, const struct step_function *b,
	      int64_t shift_us, const struct overlap_cost *cost,
	      struct overlap_room *room, struct event_list *bends)
{
	int64_t g_us = period_gcd(a->period_us, b->period_us);
	int64_t *rows = overlap_rows(room, 3 * a->n);
	int64_t *before = rows, *after = rows + a->n, *rest_us = rows + 2 * a->n;

	if (a->n < 2 || b->n < 2)
		return;
	event_list_reserve(bends, a->n * b->n);
	for (size_t i = 0; i < a->n; i++)
		rest_us[i] = period_mod(a->from_us[i], g_us);
	fill_row(a, b->level[b->n - 1], cost, before);
	for (size_t k = 0; k < b->n; k++) {
		int64_t v_us = period_mod(b->from_us[k] + shift_us, g_us);
		struct event *out = bends->items + bends->n;
		int64_t left, *t;

		fill_row(a, b->level[k], cost, after);
		left = before[a->n - 1] - after[a->n - 1];
		for (size_t i = 0; i < a->n; i++) {
			int64_t right = before[i] - after[i];
			int64_t at_us = rest_us[i] - v_us;

			/* Most pairs of edges have no bend: avoid a branch on it. */
			out->at_us = at_us < 0 ? at_us + g_us : at_us;
			out->level = right - left;
			out += right != left;
			left = right;
		}
		bends->n = (size_t)(out - bends->items);
		t = before;
		before = after;
		after = t;
	}
}

wide_int
overlap_mean(const struct step_function *a, const struct step_function *b,
	     const struct overlap_cost *cost)
{
	wide_int sum = 0;

	for (size_t k = 0; k < b->n; k++) {
		wide_int row = 0;

		for (size_t i = 0; i < a->n; i++)
			row += (wide_int)overlap_cost_at(cost,
							 a->level[i] + b->level[k]) *
			       piece_length(a, i);
		sum += row * piece_length(b, k);
	}
	return sum;
}

double
overlap_excess(const struct step_function *a, const struct step_function *b,
	       int64_t shift_us, const struct overlap_cost *cost,
	       struct overlap_room *room)
{
	int64_t g_us = period_gcd(a->period_us, b->period_us);
	wide_int sum = 2 * overlap_mean(a, b, cost);
	struct event_list *bends = &room->bends;

	bends->n = 0;
	overlap_bends(a, b, shift_us, cost, room, bends);
	for (size_t i = 0; i < bends->n; i++) {
		/* y (g - y) is the same for y and g - y: no remainder needed. */
		int64_t y_us = bends->items[i].at_us;

		sum += (wide_int)bends->items[i].level * y_us * (g_us - y_us);
	}
	return (double)sum / (2 * (double)a->period_us * (double)b->period_us);
}

double
overlap_excess_alone(const struct step_function *a, const struct overlap_cost *cost)
{
	wide_int sum = 0;

	for (size_t i = 0; i < a->n; i++)
		sum += (wide_int)overlap_cost_at(cost, a->level[i]) *
		       piece_length(a, i);
	return (double)sum / (double)a->period_us;
}
