/* SPDX-License-Identifier: Apache-2.0 */
/*
 * knapsack.c - dynamic programming with bounds.
 *
 * With prices p of the sacks, no solution of the classes from k on with the room r is
 * worth more than
 *
 *	sum over sacks of p r + sum over classes of max(0, max (value - p weight))
 *
 * The prices are those that make this bound small for all classes; choices at these
 * prices, as far as they fit, are the first solution.  A state is the room that a
 * solution of the first classes leaves, as one number; of equal ones the most valuable
 * is kept.
 */
#include "policies/math/knapsack.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/vec.h"

#define N_SWEEPS  4  /* Over the sacks, to find prices. */
#define N_HALVES  40 /* Of the range of a price. */
#define TOLERANCE 1e-9
#define MAX_ROOM  (UINT64_C(1) << 62)

struct state {
	double value;
	uint32_t from;  /* Index of the state before this class. */
	uint32_t taken; /* Choice; or KNAPSACK_NONE. */
};

struct solver {
	const struct knapsack_choice *choices;
	uint32_t n_classes, n_sacks;
	const uint32_t *capacities;
	uint32_t *first;  /* [n_classes + 1] */
	double *prices;   /* [n_sacks] */
	uint64_t *stride; /* [n_sacks] Of a unit of room in a state's number. */
	double *rest;     /* [n_classes + 1] Of the bound, from that class on. */
	uint32_t *best;   /* [n_classes] The best solution known. */
	double best_value;
	VEC(struct state) states; /* Of all classes. */
	VEC(uint64_t) rooms;      /* Of the states before this class; after it. */
	VEC(uint64_t) next_rooms;
	uint32_t
		*slots; /* Hash table: 1 + a state's index after this class; 0: free. */
	size_t n_slots;
};

/* ---- Prices and the first solution ----------------------------------------------- */

/* Gain of the best choice of a class at the prices; 0: none. */
static double
best_gain(const struct solver *s, uint32_t class, uint32_t *ret_choice)
{
	double best = 0;

	*ret_choice = KNAPSACK_NONE;
	for (uint32_t i = s->first[class]; i < s->first[class + 1]; i++) {
		const struct knapsack_choice *choice = &s->choices[i];
		double gain = choice->value - s->prices[choice->sack] * choice->weight;

		if (gain > best && choice->weight <= s->capacities[choice->sack]) {
			best = gain;
			*ret_choice = i;
		}
	}
	return best;
}

/* Whether the best choices overfill a sack: its price is too low. */
static bool
is_overfull(const struct solver *s, uint32_t sack)
{
	uint64_t weight = 0;

	for (uint32_t class = 0; class < s->n_classes; class ++) {
		uint32_t i;

		best_gain(s, class, &i);
		if (i != KNAPSACK_NONE && s->choices[i].sack == sack)
			weight += s->choices[i].weight;
	}
	return weight > s->capacities[sack];
}

/* Coordinate by coordinate; any prices give a bound. */
static void
find_prices(struct solver *s, uint32_t n_choices)
{
	double most = 0;

	for (uint32_t i = 0; i < n_choices; i++)
		if (s->choices[i].weight)
			most = fmax(most, s->choices[i].value / s->choices[i].weight);
	for (int sweep = 0; sweep < N_SWEEPS; sweep++) {
		for (uint32_t sack = 0; sack < s->n_sacks; sack++) {
			double low = 0, high = most;

			s->prices[sack] = 0;
			if (!is_overfull(s, sack))
				continue;
			for (int i = 0; i < N_HALVES; i++) {
				s->prices[sack] = (low + high) / 2;
				if (is_overfull(s, sack))
					low = s->prices[sack];
				else
					high = s->prices[sack];
			}
			s->prices[sack] = high;
		}
		if (s->n_sacks == 1)
			break;
	}
}

/* Exchanges the choice of a class for a more valuable one that fits; or returns false. */
static bool
improve_class(struct solver *s, uint32_t class, uint64_t *left)
{
	uint32_t now = s->best[class], best = now;
	double value = now == KNAPSACK_NONE ? 0 : s->choices[now].value;

	if (now != KNAPSACK_NONE)
		left[s->choices[now].sack] += s->choices[now].weight;
	for (uint32_t i = s->first[class]; i < s->first[class + 1]; i++) {
		const struct knapsack_choice *choice = &s->choices[i];

		if (choice->value <= value || choice->weight > left[choice->sack])
			continue;
		value = choice->value;
		best = i;
	}
	if (best != KNAPSACK_NONE)
		left[s->choices[best].sack] -= s->choices[best].weight;
	s->best[class] = best;
	return best != now;
}

static void
find_first(struct solver *s)
{
	uint64_t *left = xcalloc(s->n_sacks + 1, sizeof *left);
	bool again = true;

	for (uint32_t sack = 0; sack < s->n_sacks; sack++)
		left[sack] = s->capacities[sack];
	for (uint32_t class = 0; class < s->n_classes; class ++) {
		uint32_t i;

		best_gain(s, class, &i);
		s->best[class] = KNAPSACK_NONE;
		if (i == KNAPSACK_NONE ||
		    s->choices[i].weight > left[s->choices[i].sack])
			continue;
		s->best[class] = i;
		left[s->choices[i].sack] -= s->choices[i].weight;
	}
	for (int sweep = 0; again && sweep < N_SWEEPS; sweep++) {
		again = false;
		for (uint32_t class = 0; class < s->n_classes; class ++)
			again |= improve_class(s, class, left);
	}
	for (uint32_t class = 0; class < s->n_classes; class ++)
		if (s->best[class] != KNAPSACK_NONE)
			s->best_value += s->choices[s->best[class]].value;
	free(left);
}

/* ---- States ---------------------------------------------------------------------- */

static uint64_t
room_of(const struct solver *s, uint64_t rooms, uint32_t sack)
{
	return rooms / s->stride[sack] % (s->capacities[sack] + UINT64_C(1));
}

/* Numbers states; false if there are too many. */
static bool
number_rooms(struct solver *s, uint64_t *ret_all)
{
	uint64_t stride = 1;

	*ret_all = 0;
	for (uint32_t sack = 0; sack < s->n_sacks; sack++) {
		s->stride[sack] = stride;
		*ret_all += stride * s->capacities[sack];
		if (stride > MAX_ROOM / (s->capacities[sack] + UINT64_C(1)))
			return false;
		stride *= s->capacities[sack] + UINT64_C(1);
	}
	return true;
}

static double
bound_of(const struct solver *s, uint32_t class, uint64_t rooms)
{
	double bound = s->rest[class];

	for (uint32_t sack = 0; sack < s->n_sacks; sack++)
		bound += s->prices[sack] * (double)room_of(s, rooms, sack);
	return bound;
}

static size_t
slot_of(const struct solver *s, uint64_t rooms)
{
	size_t at = (size_t)((rooms * UINT64_C(0x9e3779b97f4a7c15)) >> 20) &
		    (s->n_slots - 1);

	while (s->slots[at] && s->next_rooms.items[s->slots[at] - 1] != rooms)
		at = (at + 1) & (s->n_slots - 1);
	return at;
}

/* The table is at most half full. */
static void
grow_slots(struct solver *s)
{
	if (s->next_rooms.n * 2 < s->n_slots)
		return;
	free(s->slots);
	s->n_slots = s->n_slots ? s->n_slots * 2 : 1024;
	s->slots = xcalloc(s->n_slots, sizeof *s->slots);
	for (size_t i = 0; i < s->next_rooms.n; i++)
		s->slots[slot_of(s, s->next_rooms.items[i])] = (uint32_t)i + 1;
}

/* Adds a state after 'class', unless it is useless.  'begin': the first of these. */
static void
add_state(struct solver *s, uint32_t class, size_t begin, uint64_t rooms,
	  struct state state)
{
	double bound = state.value + bound_of(s, class + 1, rooms);
	size_t slot;

	if (bound <= s->best_value + TOLERANCE * fabs(s->best_value))
		return;
	grow_slots(s);
	slot = slot_of(s, rooms);
	if (!s->slots[slot]) {
		vec_push(&s->next_rooms, rooms);
		vec_push(&s->states, state);
		s->slots[slot] = (uint32_t)s->next_rooms.n;
	} else if (s->states.items[begin + s->slots[slot] - 1].value < state.value) {
		s->states.items[begin + s->slots[slot] - 1] = state;
	}
}

/* Makes the states after 'class' from those before; false: too many. */
static bool
expand(struct solver *s, uint32_t class, size_t before)
{
	size_t begin = s->states.n, n = s->rooms.n;

	s->next_rooms.n = 0;
	memset(s->slots, 0, s->n_slots * sizeof *s->slots);
	for (size_t k = 0; k < n; k++) {
		uint64_t rooms = s->rooms.items[k];
		struct state state = s->states.items[before + k];

		state.from = (uint32_t)(before + k);
		state.taken = KNAPSACK_NONE;
		add_state(s, class, begin, rooms, state);
		for (uint32_t i = s->first[class]; i < s->first[class + 1]; i++) {
			const struct knapsack_choice *choice = &s->choices[i];
			struct state next = state;

			if (choice->value <= 0 ||
			    choice->weight > room_of(s, rooms, choice->sack))
				continue;
			next.value += choice->value;
			next.taken = i;
			add_state(s, class, begin,
				  rooms - choice->weight * s->stride[choice->sack],
				  next);
		}
		if (s->states.n > KNAPSACK_MAX_STATES)
			return false;
	}
	s->rooms.n = 0;
	for (size_t k = 0; k < s->next_rooms.n; k++)
		vec_push(&s->rooms, s->next_rooms.items[k]);
	return true;
}

/* Takes the best of the last states, if it beats the solution known. */
static void
take_best(struct solver *s, size_t begin)
{
	double value = s->best_value;
	size_t best = SIZE_MAX;

	for (size_t k = begin; k < s->states.n; k++) {
		if (s->states.items[k].value <= value)
			continue;
		value = s->states.items[k].value;
		best = k;
	}
	if (best == SIZE_MAX)
		return;
	for (uint32_t class = s->n_classes; class; class --) {
		s->best[class - 1] = s->states.items[best].taken;
		best = s->states.items[best].from;
	}
}

static int
search(struct solver *s)
{
	uint64_t all;
	size_t before = 0;

	if (!number_rooms(s, &all))
		return -ENOSPC;
	grow_slots(s);
	vec_push(&s->states, ((struct state){ 0, 0, KNAPSACK_NONE }));
	vec_push(&s->rooms, all);
	for (uint32_t class = 0; class < s->n_classes; class ++) {
		size_t begin = s->states.n;

		if (!expand(s, class, before))
			return -ENOSPC;
		before = begin;
	}
	take_best(s, before);
	return 0;
}

/* ---- All ------------------------------------------------------------------------- */

static void
find_rest(struct solver *s)
{
	for (uint32_t class = s->n_classes; class; class --) {
		uint32_t i;

		s->rest[class - 1] = s->rest[class] + best_gain(s, class - 1, &i);
	}
}

int
knapsack_solve(const struct knapsack_choice *choices, uint32_t n_choices,
	       uint32_t n_classes, const uint32_t *capacities, uint32_t n_sacks,
	       uint32_t *ret_taken)
{
	struct solver s = {
		.choices = choices,
		.n_classes = n_classes,
		.n_sacks = n_sacks,
		.capacities = capacities,
		.first = xcalloc(n_classes + 1, sizeof *s.first),
		.prices = xcalloc(n_sacks + 1, sizeof *s.prices),
		.stride = xcalloc(n_sacks + 1, sizeof *s.stride),
		.rest = xcalloc(n_classes + 1, sizeof *s.rest),
		.best = ret_taken,
	};
	int r = 0;

	for (uint32_t class = 0, i = 0; class < n_classes; class ++) {
		while (i < n_choices && choices[i].class <= class)
			i++;
		s.first[class + 1] = i;
	}
	find_prices(&s, n_choices);
	find_rest(&s);
	find_first(&s);
	if (n_classes)
		r = search(&s);
	vec_free(&s.states);
	vec_free(&s.rooms);
	vec_free(&s.next_rooms);
	free(s.slots);
	free(s.first);
	free(s.prices);
	free(s.stride);
	free(s.rest);
	return r;
}
