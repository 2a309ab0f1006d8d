/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_policy_parts.c - parts of policies: places, plan checks, parameters, table,
 * sorting
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "policies/order_list.h"
#include "policies/places.h"
#include "tests/unit/policy_lab.h"

/* ---- Places ---------------------------------------------------------------------- */

/* Pieces as "node:gpus,..."; "" if it did not fit. */
static const char *
placed(const struct pol_place *place, uint32_t *n_free, uint32_t n_gpus)
{
	static char text[128];
	const struct pol_view view = { .cluster = &lab_cluster };
	const struct pol_want want = { .n_gpus = n_gpus };
	struct pol_free free = { .n_free = n_free };
	struct pol_plan plan = { 0 };
	uint32_t n, sum = 0;
	int at = 0;

	for (int i = 0; i < LAB_NODES; i++)
		free.n_all += n_free[i];
	sum = free.n_all;
	n = place->place(NULL, &view, &want, &free, &plan);
	text[0] = '\0';
	assert_int_equal(n, plan.pieces.n);
	for (uint32_t i = 0; i < n; i++)
		at += snprintf(text + at, sizeof text - (size_t)at, "%s%u:%u",
			       i ? "," : "", plan.pieces.items[i].node,
			       plan.pieces.items[i].n_gpus);
	assert_int_equal(sum - free.n_all, n ? n_gpus : 0);
	pol_plan_fini(&plan);
	return text;
}

static void
count_takes_what_is_free_in_the_order_of_nodes(void **state)
{
	uint32_t n_free[LAB_NODES] = { 1, 0, 3, 4 };

	(void)state;
	assert_string_equal(placed(&place_count, n_free, 5), "0:1,2:3,3:1");
	assert_string_equal(placed(&place_count, n_free, 4), "");
	assert_int_equal(n_free[3], 3);
}

static void
whole_takes_one_node_or_whole_ones_and_a_rest(void **state)
{
	uint32_t one[LAB_NODES] = { 1, 2, 4, 4 }, rest[LAB_NODES] = { 2, 4, 4, 1 };
	uint32_t none[LAB_NODES] = { 3, 3, 3, 3 }, no_rest[LAB_NODES] = { 0, 1, 4, 0 };

	(void)state;
	assert_string_equal(placed(&place_whole, one, 2), "1:2");
	assert_string_equal(placed(&place_whole, one, 8), "2:4,3:4");
	assert_string_equal(placed(&place_whole, rest, 10), "0:2,1:4,2:4");
	assert_string_equal(placed(&place_whole, none, 4), "");
	assert_string_equal(placed(&place_whole, no_rest, 6), "");
	assert_int_equal(no_rest[2], 4);
}

/* ---- Invalid plans --------------------------------------------------------------- */

static void
plans_that_cannot_be_are_told(void **state)
{
	struct policy_lab lab;
	struct pol_plan *plan;

	(void)state;
	lab_init(&lab, "fifo", NULL);
	lab_submit(&lab, 4, 4, 1);
	lab_submit(&lab, 4, 4, 1);
	lab_plan(&lab, 1);
	lab_carry_out(&lab);
	plan = &lab.plans[0];
	assert_null(pol_plan_why_not(plan, &lab.view));
	plan->pieces.items[1].node = 0;
	assert_string_equal(pol_plan_why_not(plan, &lab.view), "a GPU given twice");
	plan->pieces.items[1].node = LAB_NODES;
	assert_non_null(pol_plan_why_not(plan, &lab.view));
	plan->pieces.items[1] = (struct pol_piece){ 1, 3, 0 };
	assert_string_equal(pol_plan_why_not(plan, &lab.view),
			    "a gang that is not whole");
	plan->pieces.items[1].n_gpus = 4;
	plan->grants.items[1].job = 0;
	assert_string_equal(pol_plan_why_not(plan, &lab.view),
			    "a job that is granted twice");
	plan->grants.items[1].job = 1;
	plan->grants.items[1].group = 0;
	assert_string_equal(pol_plan_why_not(plan, &lab.view),
			    "a group on different GPUs");
	plan->grants.items[1].first_piece = 0;
	assert_null(pol_plan_why_not(plan, &lab.view));
	plan->grants.items[1].first_piece = 2;
	assert_string_equal(pol_plan_why_not(plan, &lab.view),
			    "a grant without its pieces");
	lab_fini(&lab);
}

static void
gpus_that_are_named_are_checked(void **state)
{
	struct policy_lab lab;
	struct pol_plan *plan;

	(void)state;
	lab_init(&lab, "fifo", NULL);
	lab_submit(&lab, 2, 2, 1);
	lab_submit(&lab, 2, 2, 1);
	lab_plan(&lab, 1);
	lab_carry_out(&lab);
	plan = &lab.plans[0];
	plan->pieces.items[0].gpus = 5;
	plan->pieces.items[1].gpus = 10;
	assert_null(pol_plan_why_not(plan, &lab.view));
	plan->pieces.items[1].gpus = 6;
	assert_string_equal(pol_plan_why_not(plan, &lab.view),
			    "a named GPU given twice");
	plan->pieces.items[1].gpus = 2;
	assert_string_equal(pol_plan_why_not(plan, &lab.view),
			    "a piece that names other GPUs than it has");
	plan->pieces.items[1].gpus = 24;
	assert_string_equal(pol_plan_why_not(plan, &lab.view),
			    "a piece that names other GPUs than it has");
	plan->pieces.items[1].gpus = 0;
	assert_null(pol_plan_why_not(plan, &lab.view));
	lab_fini(&lab);
}

/* ---- Parameters ------------------------------------------------------------------ */

static void
parameters_that_are_wrong_are_refused_with_what_to_do(void **state)
{
	static const struct {
		const char *set, *says;
	} cases[] = {
		{ "2d-las.limit0", "expected NAME=VALUE" },
		{ "2d-las.limit0=x", "has no number" },
		{ "2d-las.limit0=nan", "has no number" },
		{ "2d-las.limit0=-1", "expected 0 to" },
		{ "2d-las.limit9=1", "no parameter '2d-las.limit9'" },
		{ "2d-las.quantum_rounding=0.5",
		  "expected a whole number from 0 to 2" },
		{ "2d-las.limit0=7201", "(.limit1) is below that of the first" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct policy_opts opts = { .sets = &cases[i].set,
						  .n_sets = 1,
						  .round_s = NAN,
						  .restart_s = NAN };
		struct policy *policy;
		struct err err = { 0 };

		assert_true(policy_new(policy_find("2d-las"), &opts, &lab_cluster,
				       &policy, &err) < 0);
		if (!strstr(err.text, cases[i].says))
			fail_msg("'%s': %s", cases[i].set, err.text);
	}
}

/* The overrides in a row of the table are existing parameters, within their range. */
static void
rows_of_the_table_have_parameters_that_there_are(void **state)
{
	(void)state;
	for (const struct policy_spec *spec = policy_table; spec->name; spec++) {
		for (const struct pol_param *p = spec->params; p && p->name; p++) {
			char set[80];
			const char *const sets[] = { set };
			const struct policy_opts opts = { .sets = sets,
							  .n_sets = 1,
							  .round_s = NAN,
							  .restart_s = NAN };
			struct policy *policy;
			struct err err = { 0 };

			snprintf(set, sizeof set, "%s=%.17g", p->name, p->value);
			if (policy_new(spec, &opts, &lab_cluster, &policy, &err) < 0)
				fail_msg("%s: %s", spec->name, err.text);
			policy_free(policy);
		}
	}
}

/* Planners place jobs themselves, but an unknown placement is still an error. */
static void
placements_are_for_those_who_place(void **state)
{
	struct policy_opts opts = { .round_s = NAN,
				    .restart_s = NAN,
				    .place = "nowhere" };
	struct policy *policy;
	struct err err = { 0 };

	(void)state;
	assert_true(policy_new(policy_find("pollux"), &opts, &lab_cluster, &policy,
			       &err) < 0);
	assert_non_null(strstr(err.text, "there is no placement 'nowhere'"));
	opts.place = "whole";
	assert_int_equal(
		policy_new(policy_find("pollux"), &opts, &lab_cluster, &policy, &err),
		0);
	policy_free(policy);
}

/* ---- Sorting --------------------------------------------------------------------- */

static void
sorting_keeps_the_order_of_equals(void **state)
{
	uint32_t ids[LAB_JOBS], scratch[LAB_JOBS];
	double keys[LAB_JOBS];

	(void)state;
	for (uint32_t seed = 0; seed < 1000; seed++) {
		uint32_t n = seed % (LAB_JOBS + 1), x = seed * 2654435761u;

		for (uint32_t i = 0; i < n; i++) {
			x = x * 1664525u + 1013904223u;
			ids[i] = i;
			keys[i] = x >> 30;
		}
		order_sort(ids, n, keys, scratch);
		for (uint32_t i = 1; i < n; i++) {
			assert_true(keys[ids[i - 1]] <= keys[ids[i]]);
			if (keys[ids[i - 1]] >= keys[ids[i]])
				assert_true(ids[i - 1] < ids[i]);
		}
	}
}

static void
names_in_the_table_are_all_different(void **state)
{
	(void)state;
	for (const struct policy_spec *spec = policy_table; spec->name; spec++) {
		assert_ptr_equal(policy_find(spec->name), spec);
		assert_true(spec->text && spec->source);
		assert_true(spec->planner || (spec->order && spec->place));
		assert_true(spec->drive == POL_EVENTS || spec->round_s > 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(count_takes_what_is_free_in_the_order_of_nodes),
		cmocka_unit_test(whole_takes_one_node_or_whole_ones_and_a_rest),
		cmocka_unit_test(plans_that_cannot_be_are_told),
		cmocka_unit_test(gpus_that_are_named_are_checked),
		cmocka_unit_test(parameters_that_are_wrong_are_refused_with_what_to_do),
		cmocka_unit_test(rows_of_the_table_have_parameters_that_there_are),
		cmocka_unit_test(placements_are_for_those_who_place),
		cmocka_unit_test(sorting_keeps_the_order_of_equals),
		cmocka_unit_test(names_in_the_table_are_all_different),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
