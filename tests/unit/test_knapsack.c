/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_knapsack.c - multiple-choice knapsacks against all solutions of small ones, and
 * Sia's rounds against glpsol (package glpk-utils)
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/rng.h"
#include "policies/math/knapsack.h"
#include "tests/unit/test.h"

#define MOST_CLASSES 40
#define MOST_CHOICES (MOST_CLASSES * 16)
#define MOST_SACKS   3
#define N_ROUNDS     1000 /* That glpsol solves, too. */

struct problem {
	struct knapsack_choice choices[MOST_CHOICES];
	uint32_t n_choices, n_classes, capacities[MOST_SACKS], n_sacks;
};

static void
add(struct problem *p, uint32_t class, uint32_t sack, uint32_t weight, double value)
{
	p->choices[p->n_choices++] =
		(struct knapsack_choice){ class, sack, weight, value };
}

/* The largest value of the classes from 'class' on. */
static double
best(struct problem *p, uint32_t class)
{
	double most;

	if (class == p->n_classes)
		return 0;
	most = best(p, class + 1);
	for (uint32_t i = 0; i < p->n_choices; i++) {
		const struct knapsack_choice *c = &p->choices[i];

		if (c->class != class || c->weight > p->capacities[c->sack])
			continue;
		p->capacities[c->sack] -= c->weight;
		most = fmax(most, c->value + best(p, class + 1));
		p->capacities[c->sack] += c->weight;
	}
	return most;
}

/* Solves, checks that the result is possible, and returns its value. */
static double
solve(const struct problem *p)
{
	uint32_t taken[MOST_CLASSES], used[MOST_SACKS] = { 0 };
	double sum = 0;

	assert_int_equal(knapsack_solve(p->choices, p->n_choices, p->n_classes,
					p->capacities, p->n_sacks, taken),
			 0);
	for (uint32_t class = 0; class < p->n_classes; class ++) {
		const struct knapsack_choice *c;

		if (taken[class] == KNAPSACK_NONE)
			continue;
		assert_in_range(taken[class], 0, p->n_choices - 1);
		c = &p->choices[taken[class]];
		assert_int_equal(c->class, class);
		used[c->sack] += c->weight;
		sum += c->value;
	}
	for (uint32_t sack = 0; sack < p->n_sacks; sack++)
		assert_true(used[sack] <= p->capacities[sack]);
	return sum;
}

/* kind 0: small whole values, with ties; 1: fractions; 2: large and small ones. */
static void
draw(struct rng *rng, int kind, struct problem *p)
{
	*p = (struct problem){ .n_classes = (uint32_t)rng_below(rng, 7),
			       .n_sacks = 1 + (uint32_t)rng_below(rng, MOST_SACKS) };
	for (uint32_t sack = 0; sack < p->n_sacks; sack++)
		p->capacities[sack] = (uint32_t)rng_below(rng, 10);
	for (uint32_t class = 0; class < p->n_classes; class ++)
		for (uint64_t n = rng_below(rng, 5); n; n--)
			add(p, class, (uint32_t)rng_below(rng, p->n_sacks),
			    (uint32_t)rng_below(rng, 8),
			    kind == 0   ? (double)rng_below(rng, 6) - 1
			    : kind == 1 ? rng_uniform(rng) - 0.1
					: pow(10, 8 * rng_uniform(rng) - 4));
}

static void
small_problems_are_solved_as_well_as_can_be(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (int i = 0; i < 5000; i++) {
		struct problem p;
		double value, most;

		draw(&rng, i % 3, &p);
		value = solve(&p);
		most = best(&p, 0);
		if (fabs(value - most) > 1e-8 * (1 + most))
			fail_msg("problem %d: %.17g instead of %.17g", i, value, most);
	}
}

static void
nothing_is_taken_from_nothing(void **state)
{
	struct problem p = { .n_classes = 2, .n_sacks = 1 };

	(void)state;
	assert_true(solve(&p) == 0);
	add(&p, 1, 0, 1, 5); /* Does not fit. */
	assert_true(solve(&p) == 0);
	p.capacities[0] = 1;
	assert_true(solve(&p) == 5);
}

/* Rooms of 2^64 states and more cannot be numbered; the result is possible. */
static void
huge_problems_get_a_possible_result(void **state)
{
	const uint32_t capacities[] = { UINT32_MAX, UINT32_MAX, 3 };
	const struct knapsack_choice choices[] = { { 0, 2, 2, 1 }, { 1, 2, 2, 3 } };
	uint32_t taken[2];

	(void)state;
	assert_int_equal(knapsack_solve(choices, 2, 2, capacities, 3, taken), -ENOSPC);
	assert_true(taken[0] == KNAPSACK_NONE || taken[1] == KNAPSACK_NONE);
}

/* ---- Sia's rounds ---------------------------------------------------------------- */

/*
 * A round as Sia has it, on up to 24 + 16 + 24 GPUs of three types: the value of a
 * configuration is 1.1 - (relative goodput)^-0.5, where goodputs grow with GPUs to a
 * power of up to 1, and restarts cost some jobs a part.
 */
static void
draw_round(struct rng *rng, struct problem *p)
{
	static const uint32_t sizes[MOST_SACKS] = { 4, 8, 8 }, most[] = { 6, 2, 3 };

	*p = (struct problem){ .n_classes = 1 + (uint32_t)rng_below(rng, MOST_CLASSES),
			       .n_sacks = MOST_SACKS };
	for (uint32_t t = 0; t < MOST_SACKS; t++)
		p->capacities[t] = sizes[t] * (1 + (uint32_t)rng_below(rng, most[t]));
	for (uint32_t class = 0; class < p->n_classes; class ++) {
		double power = 0.3 + 0.7 * rng_uniform(rng);
		double factor = rng_below(rng, 2) ? 1 : 0.5 + 0.5 * rng_uniform(rng);
		uint32_t limit = 1u << rng_below(rng, 6);

		for (uint32_t t = 0; t < MOST_SACKS; t++) {
			double rate = 1 + 3 * rng_uniform(rng);

			for (uint32_t g = 1; g <= limit && g <= p->capacities[t];
			     g = g < sizes[t] ? 2 * g : g + sizes[t]) {
				double goodput = rate * pow(g, power) * factor;

				add(p, class, t, g, 1.1 - pow(goodput, -0.5));
			}
		}
	}
}

/* The problem in the LP format of CPLEX, which glpsol reads. */
static void
write_lp(const struct problem *p, FILE *file)
{
	fprintf(file, "Maximize\n obj: 0 zero\n");
	for (uint32_t i = 0; i < p->n_choices; i++)
		fprintf(file, " %+.17g x%u\n", p->choices[i].value, i);
	fprintf(file, "Subject To\n");
	for (uint32_t class = 0; class < p->n_classes; class ++) {
		fprintf(file, " class%u: zero\n", class);
		for (uint32_t i = 0; i < p->n_choices; i++)
			if (p->choices[i].class == class)
				fprintf(file, " + x%u\n", i);
		fprintf(file, " <= 1\n");
	}
	for (uint32_t sack = 0; sack < p->n_sacks; sack++) {
		fprintf(file, " sack%u: zero\n", sack);
		for (uint32_t i = 0; i < p->n_choices; i++)
			if (p->choices[i].sack == sack)
				fprintf(file, " %+d x%u\n", (int)p->choices[i].weight,
					i);
		fprintf(file, " <= %u\n", p->capacities[sack]);
	}
	fprintf(file, "Bounds\n zero = 0\nBinary\n");
	for (uint32_t i = 0; i < p->n_choices; i++)
		fprintf(file, " x%u\n", i);
	fprintf(file, "End\n");
}

/* The objective in glpsol's report, "Objective:  obj = 3.14 (MAXimum)". */
static double
read_objective(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[256];
	double value = NAN;
	bool is_best = false;

	assert_non_null(file);
	while (fgets(line, sizeof line, file)) {
		is_best |= strcmp(line, "Status:     INTEGER OPTIMAL\n") == 0;
		sscanf(line, "Objective: obj = %lf", &value);
	}
	fclose(file);
	assert_true(is_best);
	return value;
}

static double
ask_glpsol(const struct problem *p, const char *folder)
{
	char lp[64], report[64], command[256];
	FILE *file;

	snprintf(lp, sizeof lp, "%s/round.lp", folder);
	snprintf(report, sizeof report, "%s/report", folder);
	file = fopen(lp, "w");
	assert_non_null(file);
	write_lp(p, file);
	assert_int_equal(fclose(file), 0);
	snprintf(command, sizeof command, "glpsol --lp %s -o %s >/dev/null", lp,
		 report);
	assert_int_equal(system(command), 0);
	return read_objective(report);
}

static void
rounds_of_sia_are_solved_as_by_glpsol(void **state)
{
	char folder[] = "/tmp/antiphase-knapsack-XXXXXX", command[64];
	struct rng rng;

	(void)state;
	if (system("command -v glpsol >/dev/null") != 0) {
		print_message("no glpsol (package glpk-utils)\n");
		skip();
	}
	assert_non_null(mkdtemp(folder));
	rng_init(&rng, 4);
	for (int i = 0; i < N_ROUNDS; i++) {
		struct problem p;
		double value, theirs;

		draw_round(&rng, &p);
		value = solve(&p);
		theirs = ask_glpsol(&p, folder);
		/* Its report has ten digits. */
		if (!(fabs(value - theirs) <= 1e-8 * (1 + value)))
			fail_msg("round %d: %.17g instead of %.10g", i, value, theirs);
	}
	snprintf(command, sizeof command, "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_problems_are_solved_as_well_as_can_be),
		cmocka_unit_test(nothing_is_taken_from_nothing),
		cmocka_unit_test(huge_problems_get_a_possible_result),
		cmocka_unit_test(rounds_of_sia_are_solved_as_by_glpsol),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
