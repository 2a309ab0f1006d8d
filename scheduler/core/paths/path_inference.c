/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_inference.c - the search for the paths that fit best, and the test whether they
 * are better than all others.
 */
#include "scheduler/core/paths/path_inference.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/vec.h"
#include "scheduler/core/paths/path_fit.h"

/* Estimates of filters and noise, each followed by a descent. */
#define MAX_ROUNDS 6

/* Better paths that tests find, after which all tests are repeated. */
#define MAX_BETTER 32

/* Of one descent; it converges in a few. */
#define MAX_PASSES 20

/* Parts of the time whose means are compared, and those that must have data. */
#define N_BATCHES   10
#define MIN_BATCHES 6

/* Of the squares of the flow alone; see the header. */
#define MIN_EFFECT 0.05

/* A free factor of the flow: at least and at most on its path, at most on others. */
#define MIN_FACTOR       0.7
#define MAX_FACTOR       1.4
#define MAX_OTHER_FACTOR 0.3

/* Of the variance of each link on the path, by all flows there. */
#define MIN_EXPLAINED 0.1

/* Of the squares of the flow alone: smaller changes are rounding. */
#define EPSILON 1e-5

const char *const path_inference_reason_texts[] = {
	[PATH_INFERENCE_KNOWN] = "known",
	[PATH_INFERENCE_NO_COUNTERS] = "no counters of the links that tell paths apart",
	[PATH_INFERENCE_NO_TRAFFIC] = "its traffic is not known, or constant",
	[PATH_INFERENCE_UNCLEAR] = "several paths fit about as well so far",
	[PATH_INFERENCE_NO_FIT] = "its traffic fits no single path",
	[PATH_INFERENCE_TOO_MANY] = "too many paths, or flows on its links",
	NULL,
};

struct move {
	uint32_t flow, from;
};

struct search {
	const struct path_inference_problem *problem;
	struct path_fit *fit;   /* Owned. */
	VEC(struct move) moves; /* Owned. Since the remembered paths. */
	VEC(uint32_t) moved;    /* Owned. Scratch. */
	int n_better;           /* Of MAX_BETTER. */
};

static uint32_t
n_paths(const struct search *s, uint32_t flow)
{
	return s->problem->flows[flow].n_paths;
}

/* Whether paths of the flow are searched at all. */
static bool
is_searched(const struct search *s, uint32_t flow)
{
	return path_fit_varies(s->fit, flow) &&
	       n_paths(s, flow) <= PATH_INFERENCE_MAX_PATHS;
}

/* Moves the flow to its best path; returns whether it moved. */
static bool
improve(struct search *s, uint32_t flow)
{
	uint32_t now = path_fit_path(s->fit, flow), best = now;
	double least = 0;

	if (n_paths(s, flow) < 2 || !is_searched(s, flow))
		return false;
	for (uint32_t p = 0; p < n_paths(s, flow); p++) {
		double gain = p == now ? 0 : path_fit_gain(s->fit, flow, p);

		if (gain < least - EPSILON * path_fit_power(s->fit, flow, p, now)) {
			least = gain;
			best = p;
		}
	}
	if (best == now)
		return false;
	vec_push(&s->moves, ((struct move){ flow, now }));
	path_fit_move(s->fit, flow, best);
	return true;
}

/* Moves flows[0 .. n) until none of them gains; 'locked' stays. */
static void
descend(struct search *s, const uint32_t *flows, size_t n, uint32_t locked)
{
	bool has_moved = true;

	for (int pass = 0; pass < MAX_PASSES && has_moved; pass++) {
		has_moved = false;
		for (size_t i = 0; i < n; i++)
			if (flows[i] != locked)
				has_moved |= improve(s, flows[i]);
	}
}

static void
undo(struct search *s)
{
	while (s->moves.n) {
		struct move move = s->moves.items[--s->moves.n];

		path_fit_move(s->fit, move.flow, move.from);
	}
}

struct weighed {
	uint32_t flow;
	double bytes;
};

static int
compare_weighed(const void *a, const void *b)
{
	const struct weighed *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return (x->flow > y->flow) - (x->flow < y->flow);
}

/* All flows that are searched, the one with most traffic first; new array. */
static uint32_t *
order_flows(const struct search *s, size_t *ret_n)
{
	const struct path_inference_problem *problem = s->problem;
	struct weighed *all = xcalloc(problem->n_flows + 1, sizeof *all);
	uint32_t *flows = xcalloc(problem->n_flows + 1, sizeof *flows);
	size_t n = 0;

	for (uint32_t f = 0; f < problem->n_flows; f++) {
		if (!is_searched(s, f))
			continue;
		all[n] = (struct weighed){ .flow = f };
		for (size_t t = 0; t < problem->n_bins * problem->n_parts; t++)
			all[n].bytes += fmax(problem->flows[f].bytes[t], 0);
		n++;
	}
	qsort(all, n, sizeof *all, compare_weighed);
	for (size_t i = 0; i < n; i++)
		flows[i] = all[i].flow;
	free(all);
	*ret_n = n;
	return flows;
}

/* The best paths: first one flow after the other, then by descent. */
static void
search_paths(struct search *s)
{
	size_t n;
	uint32_t *flows = order_flows(s, &n);

	for (size_t i = 0; i < n; i++) {
		if (n_paths(s, flows[i]) == 1)
			path_fit_move(s->fit, flows[i], 0);
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t best = 0;
		double least = HUGE_VAL;

		for (uint32_t p = 0; p < n_paths(s, flows[i]); p++) {
			double gain = path_fit_gain(s->fit, flows[i], p);

			if (gain < least) {
				least = gain;
				best = p;
			}
		}
		path_fit_move(s->fit, flows[i], best);
	}
	for (int round = 0; round < MAX_ROUNDS; round++) {
		bool has_changed;

		descend(s, flows, n, UINT32_MAX);
		has_changed = path_fit_estimate(s->fit);
		if (s->moves.n == 0 && !has_changed && round > 0)
			break;
		s->moves.n = 0;
	}
	free(flows);
}

/* ---- Is it better than the others? ------------------------------------------------- */

/*
 * Compares the remembered paths with the present ones: by how many standard errors they
 * fit better.
 */
static double
margin_of(struct search *s, double *ret_difference)
{
	double parts[N_BATCHES] = { 0 }, sum = 0, squares = 0, mean, variance;
	size_t n = 0;

	s->moved.n = 0;
	for (size_t i = 0; i < s->moves.n; i++) {
		bool is_new = true;

		for (size_t k = 0; k < i; k++)
			is_new &= s->moves.items[k].flow != s->moves.items[i].flow;
		if (is_new)
			vec_push(&s->moved, s->moves.items[i].flow);
	}
	path_fit_difference(s->fit, s->moved.items, s->moved.n, parts, N_BATCHES);
	for (size_t i = 0; i < N_BATCHES; i++) {
		sum += parts[i];
		squares += parts[i] * parts[i];
		n += parts[i] != 0;
	}
	*ret_difference = sum;
	if (n < MIN_BATCHES)
		return 0;
	mean = sum / (double)n;
	variance = (squares - sum * mean) / (double)(n - 1);
	return variance > 0 ? mean / sqrt(variance / (double)n) : 0;
}

/*
 * Tests the flow's path against all others. Returns true if another one is better; then
 * flows are where they fit better, and that is remembered.
 */
static bool
test_flow(struct search *s, uint32_t flow, struct path_inference_answer *answer)
{
	uint32_t best = path_fit_path(s->fit, flow);
	size_t n;
	uint32_t *neighbors = path_fit_neighbors(s->fit, flow, &n);

	answer->margin = HUGE_VAL;
	for (uint32_t p = 0; p < n_paths(s, flow); p++) {
		double difference, margin, power;

		if (p == best)
			continue;
		power = path_fit_power(s->fit, flow, p, best);
		s->moves.n = 0;
		vec_push(&s->moves, ((struct move){ flow, best }));
		path_fit_move(s->fit, flow, p);
		descend(s, neighbors, n, flow);
		margin = margin_of(s, &difference);
		if (difference < -EPSILON * power && s->n_better < MAX_BETTER) {
			s->n_better++;
			path_fit_remember(s->fit);
			free(neighbors);
			return true;
		}
		undo(s);
		if (difference < MIN_EFFECT * power)
			margin = 0;
		answer->margin = fmin(answer->margin, margin);
	}
	free(neighbors);
	return false;
}

/* Whether the links of its path are explained, and a free factor fits, too. */
static bool
fits(const struct search *s, uint32_t flow)
{
	uint32_t path = path_fit_path(s->fit, flow);

	if (path_fit_explained(s->fit, flow) < MIN_EXPLAINED)
		return false;
	for (uint32_t p = 0; p < n_paths(s, flow); p++) {
		double here, there;

		if (p == path)
			continue;
		here = path_fit_factor(s->fit, flow, path, p);
		there = path_fit_factor(s->fit, flow, p, path);
		if (here < MIN_FACTOR || here > MAX_FACTOR || there > MAX_OTHER_FACTOR)
			return false;
	}
	return true;
}

static bool
are_told_apart(const struct search *s, uint32_t flow)
{
	for (uint32_t a = 0; a < n_paths(s, flow); a++)
		for (uint32_t b = 0; b < a; b++)
			if (!path_fit_tells_apart(s->fit, flow, a, b))
				return false;
	return true;
}

/* Fills in an answer, or returns true if there are better paths. */
static bool
answer_flow(struct search *s, uint32_t flow, struct path_inference_answer *answer)
{
	*answer = (struct path_inference_answer){ .reason = PATH_INFERENCE_UNCLEAR };
	if (n_paths(s, flow) == 1) {
		answer->reason = PATH_INFERENCE_KNOWN;
		answer->margin = HUGE_VAL;
	} else if (n_paths(s, flow) > PATH_INFERENCE_MAX_PATHS ||
		   path_fit_is_crowded(s->fit, flow)) {
		answer->reason = PATH_INFERENCE_TOO_MANY;
	} else if (!path_fit_varies(s->fit, flow)) {
		answer->reason = PATH_INFERENCE_NO_TRAFFIC;
	} else if (!are_told_apart(s, flow)) {
		answer->reason = PATH_INFERENCE_NO_COUNTERS;
	} else {
		if (test_flow(s, flow, answer))
			return true;
		answer->path = path_fit_path(s->fit, flow);
		if (!fits(s, flow))
			answer->reason = PATH_INFERENCE_NO_FIT;
		else if (answer->margin >= PATH_INFERENCE_MARGIN)
			answer->reason = PATH_INFERENCE_KNOWN;
	}
	return false;
}

void
path_inference_run(const struct path_inference_problem *problem,
		   struct path_inference_answer *ret_answers)
{
	struct search s = { .problem = problem,
			    .moves = VEC_EMPTY,
			    .moved = VEC_EMPTY };

	s.fit = path_fit_new(problem);
	search_paths(&s);
	path_fit_remember(s.fit);
	for (size_t f = 0; f < problem->n_flows; f++)
		while (answer_flow(&s, (uint32_t)f, &ret_answers[f]))
			f = 0; /* Paths have changed: all over again. */
	vec_free(&s.moves);
	vec_free(&s.moved);
	path_fit_free(s.fit);
}
