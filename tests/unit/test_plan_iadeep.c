/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_iadeep.c - jobs of one GPU join those that interfere least (IADeep) */
#include <math.h>
#include <string.h>

#include "policies/interference.h"
#include "policies/stages.h"
#include "tests/unit/policy_lab.h"
#include "tests/unit/test.h"

static const uint32_t two_gpus[] = { 1, 1 };
static const struct needs gpu_of_24[] = { { { 0, 0, 24, 0 } } };

/* Published pairs, by name. */
static const struct {
	const char *a, *b;
	double slowdown;
} pairs[] = {
	{ "vgg16", "vgg16", 0.732301 },
	{ "vgg16", "vgg19", 0.931930 },
	{ "vgg16", "squeezenet", 0.723528 },
	{ "vgg16", "googlenet", 0.283854 },
	{ "vgg16", "resnet152", 0.718372 },
	{ "vgg16", "neumf", 0.579333 },
	{ "vgg16", "adgcl", 0.516815 },
	{ "vgg19", "vgg19", 0.904826 },
	{ "vgg19", "squeezenet", 0.801716 },
	{ "vgg19", "googlenet", 0.295773 },
	{ "vgg19", "alexnet", 1.311461 },
	{ "vgg19", "resnet152", 1.050346 },
	{ "vgg19", "neumf", 0.449606 },
	{ "vgg19", "adgcl", 0.508320 },
	{ "squeezenet", "squeezenet", 0.114963 },
	{ "squeezenet", "googlenet", 0.079835 },
	{ "squeezenet", "alexnet", 0.961634 },
	{ "squeezenet", "resnet152", 0.656056 },
	{ "squeezenet", "neumf", 0.344501 },
	{ "squeezenet", "adgcl", 0.395390 },
	{ "googlenet", "alexnet", 0.114963 },
	{ "googlenet", "neumf", 0.104776 },
	{ "alexnet", "alexnet", 3.088294 },
	{ "alexnet", "resnet152", 1.163909 },
	{ "alexnet", "neumf", 0.945327 },
	{ "alexnet", "adgcl", 0.932871 },
	{ "resnet152", "neumf", 0.284248 },
	{ "resnet152", "adgcl", 0.411436 },
	{ "neumf", "adgcl", 0.205500 },
	{ "adgcl", "adgcl", 0.312948 },
};

static void
begin(struct policy_lab *lab)
{
	struct pol_cluster cluster = lab_cluster_of(two_gpus, 2);

	cluster.capacity = gpu_of_24;
	lab_init_on(lab, cluster, "iadeep", NULL);
	lab->view.speed.speed = stages_speed;
}

/* 'used': the part of an iteration on the GPU. */
static void
submit(struct policy_lab *lab, uint32_t n_gpus, const char *model, double used,
       double memory)
{
	lab_add(lab, (struct pol_job){ .n_gpus = n_gpus,
				       .max_gpus = n_gpus,
				       .measured_model = interference_find(model),
				       .needs = { { 0, 0, memory, 0 } },
				       .iteration_s = 1,
				       .stage_s = { 1 - used, used, 0 } });
}

static void
put_group(struct strbuf *text, const struct pol_plan *plan,
	  const struct pol_grant *grant)
{
	(void)plan;
	if (grant->group != grant->job)
		strbuf_printf(text, " with %c", 'a' + (int)grant->group);
}

static const char *
decide(struct policy_lab *lab)
{
	const char *text = lab_decide(lab, put_group);

	lab_carry_out(lab);
	for (size_t i = 0; i < lab->plans[0].grants.n; i++)
		lab->jobs[lab->plans[0].grants.items[i].job].group =
			lab->plans[0].grants.items[i].group;
	return text;
}

static void
the_measured_pairs_are_as_published(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		uint32_t a = interference_find(pairs[i].a);
		uint32_t b = interference_find(pairs[i].b);

		assert_true(a && b);
		assert_near(interference_of_pair(a, b), pairs[i].slowdown, 0);
		assert_near(interference_of_pair(b, a), pairs[i].slowdown, 0);
	}
	assert_int_equal(interference_find("VGG16"), interference_find("vgg16"));
	assert_int_equal(interference_find("gpt2"), 0);
	assert_true(isnan(interference_of_pair(0, 0)));
	/* Not measured. */
	assert_true(isnan(interference_of_pair(interference_find("googlenet"),
					       interference_find("resnet152"))));
}

static void
an_idle_gpu_goes_first_then_the_least_interference(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab);
	submit(&lab, 1, "vgg19", 0.3, 4);
	submit(&lab, 1, "adgcl", 0.3, 4);
	submit(&lab, 1, "vgg16", 0.3, 4); /* 0.93 with a, 0.52 with b. */
	submit(&lab, 1, "neumf", 0.3, 4); /* 0.45 with a, 0.79 with b and c. */
	assert_string_equal(decide(&lab), "a 0:1, d 0:1 with a, b 1:1, c 1:1 with b");
	lab_fini(&lab);
}

static void
unseen_pairs_follow_the_model_of_speed(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab);
	submit(&lab, 1, "", 0.8, 0);
	submit(&lab, 1, "", 0.2, 0);
	/* It computes while b loads, and would wait for a. */
	submit(&lab, 1, "", 0.8, 0);
	assert_string_equal(decide(&lab), "a 0:1, b 1:1, c 1:1 with b");
	lab_fini(&lab);
}

static void
memory_utilization_and_unknown_jobs_keep_a_gpu_closed(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab);
	submit(&lab, 1, "neumf", 0.3, 20);
	submit(&lab, 1, "vgg19", 0.995, 1); /* Above the threshold. */
	submit(&lab, 1, "neumf", 0.3, 5);   /* 25 GiB are too much beside a. */
	submit(&lab, 2, "neumf", 0.3, 1);   /* Never shares. */
	submit(&lab, 1, "vgg16", 0.3, 4);
	submit(&lab, 1, "vgg16", 0.3, 0); /* All of a's memory is used. */
	assert_string_equal(decide(&lab), "a 0:1, e 0:1 with a, b 1:1");
	/* What runs stays, under a new first job. */
	lab_finish(&lab, 0);
	assert_string_equal(decide(&lab), "b 1:1, e 0:1, c 0:1 with e, f 0:1 with e");
	lab_fini(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_measured_pairs_are_as_published),
		cmocka_unit_test(an_idle_gpu_goes_first_then_the_least_interference),
		cmocka_unit_test(unseen_pairs_follow_the_model_of_speed),
		cmocka_unit_test(memory_utilization_and_unknown_jobs_keep_a_gpu_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
