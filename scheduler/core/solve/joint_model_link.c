/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/solve/joint_model_link.h"

#include <math.h>

#include "lib/base/sort.h"

void
joint_model_group_room_fini(struct group_room *room)
{
	vec_free(&room->pairs);
	vec_free(&room->sorted);
}

static int
compare_pairs(const void *a_, const void *b_)
{
	const struct group_pair *a = a_, *b = b_;

	if (a->gain != b->gain)
		return a->gain > b->gain ? -1 : 1;
	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	return a->b < b->b ? -1 : a->b > b->b;
}

static uint32_t
find_root(const struct joint_model_load *loads, uint32_t i)
{
	while (loads[i].group != i)
		i = loads[i].group;
	return i;
}

/* Pieces of the sum of two groups over their common period, or 0 if too long. */
static double
joined_pieces(const struct joint_model_group *a, double a_pieces,
	      const struct joint_model_group *b, double b_pieces,
	      int64_t *ret_period_us)
{
	*ret_period_us =
		period_lcm(a->period_us, b->period_us, STEP_FUNCTION_MAX_PERIOD_US);
	if (*ret_period_us == 0)
		return 0;
	return a_pieces * (double)(*ret_period_us / a->period_us) +
	       b_pieces * (double)(*ret_period_us / b->period_us);
}

/* The gain bound of two loads in units, see pair.h. */
static double
gain_bound(const struct joint_model_load *a, const struct joint_model_load *b)
{
	double va =
		(double)step_function_variation(&a->step) / (double)a->step.period_us;
	double vb =
		(double)step_function_variation(&b->step) / (double)b->step.period_us;

	return (double)period_gcd(a->step.period_us, b->step.period_us) / 4 *
	       fmin(va, vb);
}

static void
list_pairs(const struct joint_model_load *loads, uint32_t n, double min_gain,
	   struct group_room *room)
{
	for (uint32_t a = 0; a < n; a++) {
		for (uint32_t b = a + 1; b < n; b++) {
			struct group_pair pair = { 0, a, b };

			if (loads[a].step.period_us == loads[b].step.period_us)
				continue;
			pair.gain = gain_bound(&loads[a], &loads[b]);
			if (pair.gain >= min_gain)
				vec_push(&room->pairs, pair);
		}
	}
	sort_items(room->pairs.items, room->pairs.n, compare_pairs);
}

/*
 * Joins groups, best pair first.  While this runs, loads[i].group is the parent
 * in a union-find forest whose roots are the lowest members, and groups[root]
 * has the period; 'others_us' of a root counts its group's pieces.
 */
static void
join_groups(struct joint_model_load *loads, uint32_t n,
	    const struct group_limits *limits, struct group_room *room,
	    struct joint_model_group *groups)
{
	uint32_t n_groups = 0;

	for (uint32_t i = 0; i < n; i++)
		n_groups += loads[i].group == i;
	for (size_t i = 0; i < room->pairs.n && n_groups > limits->enough_groups; i++) {
		const struct group_pair *pair = &room->pairs.items[i];
		uint32_t a = find_root(loads, pair->a), b = find_root(loads, pair->b);
		int64_t period_us;
		double pieces;

		if (a == b)
			continue;
		pieces = joined_pieces(&groups[a], (double)loads[a].others_us,
				       &groups[b], (double)loads[b].others_us,
				       &period_us);
		if (pieces > 0 && pieces <= (double)limits->max_pieces) {
			uint32_t low = a < b ? a : b, high = a < b ? b : a;

			loads[high].group = low;
			groups[low].period_us = period_us;
			loads[low].others_us = (int64_t)pieces;
			n_groups--;
		} else if (n == 2) {
			const struct step_function *s = &loads[0].step,
						   *t = &loads[1].step;
			int64_t g_us = period_gcd(s->period_us, t->period_us);
			double longer_us =
				fmax((double)s->period_us, (double)t->period_us);

			if ((double)s->n * (double)t->n * longer_us / (double)g_us >
			    limits->max_pair_bends)
				continue;
			loads[1].group = 0;
			groups[0].period_us = 0;
		}
	}
}

/* Common period of the loads of a group but 'skip'. */
static int64_t
others_period(const struct joint_model_load *loads,
	      const struct joint_model_group *group, uint32_t skip)
{
	int64_t period_us = 1;

	for (uint32_t i = group->first_load; i < group->first_load + group->n_loads;
	     i++)
		if (i != skip && period_us % loads[i].step.period_us != 0)
			period_us = period_lcm(period_us, loads[i].step.period_us,
					       INT64_MAX);
	return period_us;
}

uint32_t
joint_model_group_loads(struct joint_model_load *loads, uint32_t n, int64_t capacity,
			const struct group_limits *limits, struct group_room *room,
			struct joint_model_group *groups)
{
	uint32_t n_groups = 0, n_periods = 0;

	for (uint32_t i = 0; i < n; i++) {
		loads[i].group = i;
		loads[i].others_us = (int64_t)loads[i].step.n;
		groups[i].period_us = loads[i].step.period_us;
		for (uint32_t k = 0; k < i; k++) {
			if (loads[k].step.period_us == loads[i].step.period_us &&
			    loads[k].group == k) {
				loads[i].group = k;
				loads[k].others_us += (int64_t)loads[i].step.n;
				break;
			}
		}
	}
	for (uint32_t i = 0; i < n; i++)
		n_periods += loads[i].group == i;
	room->pairs.n = 0;
	if (n_periods > limits->enough_groups)
		list_pairs(loads, n, limits->min_gain * (double)capacity, room);
	join_groups(loads, n, limits, room, groups);

	/* Sorts loads by group, and groups by their lowest member. */
	room->sorted.n = 0;
	for (uint32_t root = 0; root < n; root++) {
		struct joint_model_group group = { 0 };

		if (loads[root].group != root)
			continue;
		group.first_load = (uint32_t)room->sorted.n;
		group.period_us = groups[root].period_us;
		for (uint32_t i = root; i < n; i++)
			if (find_root(loads, i) == root)
				vec_push(&room->sorted, loads[i]);
		group.n_loads = (uint32_t)room->sorted.n - group.first_load;
		groups[n_groups++] = group;
	}
	for (uint32_t g = 0; g < n_groups; g++) {
		for (uint32_t i = 0; i < groups[g].n_loads; i++) {
			uint32_t x = groups[g].first_load + i;

			loads[x] = room->sorted.items[x];
			loads[x].group = g;
		}
		for (uint32_t i = 0; i < groups[g].n_loads; i++) {
			uint32_t x = groups[g].first_load + i;

			loads[x].others_us = others_period(loads, &groups[g], x);
			loads[x].turn_us =
				period_gcd(loads[x].others_us, loads[x].step.period_us);
		}
	}
	return n_groups;
}
