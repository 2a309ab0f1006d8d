/* SPDX-License-Identifier: Apache-2.0 */
/* test_recipe.c - random jobs: reproducible, of the requested number and sizes */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/file.h"
#include "sim/cluster/histogram.h"
#include "sim/jobs/joblist.h"
#include "sim/jobs/recipe.h"
#include "tests/unit/test.h"

#define COMMON                                                                 \
	"[jobs]\ngpus = 24\nnic = 50 Gb/s\nmodels = models\nworkers = 1..12\n" \
	"iterations = 200..1000\nnames = one two\n"

static char folder[] = "/tmp/test_recipe.XXXXXX";

static void
put_file(const char *name, const char *text)
{
	char path[64];
	struct err err = { 0 };

	snprintf(path, sizeof path, "%s/%s", folder, name);
	if (file_write(path, text, strlen(text), &err) < 0)
		fail_msg("%s", err.text);
}

static void
put_model(const char *file, const char *name, const char *segments)
{
	char text[1024];

	snprintf(
		text, sizeof text,
		"{\"schema\": \"antiphase.model/1\", \"model\": \"%s\", \"text\": \"x\", "
		"\"parameters\": 1, \"batch\": 4, \"gpu\": \"x\", \"collective\": "
		"\"ring\", \"segments\": [%s], \"sources\": {\"parameters\": \"x\", "
		"\"batch\": \"x\", \"compute\": \"x\", \"traffic\": \"x\"}}",
		name, segments);
	put_file(file, text);
}

static int
make_folder(void **state)
{
	char path[64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/models", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	/* A ring of n sends 2 (n - 1) / n of 125 MB: 20 ms at 50 Gb/s for n = 2. */
	put_model("models/one.json", "one", "\"compute 30 ms\", \"allreduce 125 MB\"");
	put_model("models/two.json", "two", "\"compute 100 ms\"");
	put_model("models/three.json", "three", "\"compute 7 ms\"");
	return 0;
}

static int
remove_folder(void **state)
{
	static const char *const names[] = {
		"models/one.json", "models/two.json", "models/three.json",
		"x.ini",           "models",          ""
	};
	char path[64];

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		remove(path);
	}
	return 0;
}

static int
load(const char *text, struct recipe **ret_recipe, struct err *err)
{
	char path[64];

	put_file("x.ini", text);
	snprintf(path, sizeof path, "%s/x.ini", folder);
	return recipe_load(path, ret_recipe, err);
}

static struct recipe *
must_load(const char *text)
{
	struct recipe *recipe;
	struct err err = { 0 };

	if (load(text, &recipe, &err) < 0)
		fail_msg("line %u: %s", err.line, err.text);
	return recipe;
}

static void
the_same_seed_makes_the_same_jobs(void **state)
{
	struct recipe *a =
		must_load(COMMON "arrivals = poisson\nload = 90 %\ncount = 500\n");
	struct recipe *b =
		must_load(COMMON "arrivals = poisson\nload = 45 %\ncount = 500\n");
	size_t n, m;
	struct jobtrace_job *jobs = recipe_make(a, 7, &n), *again, *other;

	(void)state;
	assert_int_equal(n, 500);
	for (int i = 0; i < 2; i++) {
		again = recipe_make(i ? b : a, 7, &m);
		assert_int_equal(m, n);
		for (size_t k = 0; k < n; k++) {
			assert_string_equal(again[k].model, jobs[k].model);
			assert_int_equal(again[k].n_gpus, jobs[k].n_gpus);
			assert_true(again[k].duration_s == jobs[k].duration_s);
			/* Half the load gives twice the gaps and the same jobs. */
			assert_near(again[k].submit_s, jobs[k].submit_s * (i + 1),
				    1e-6);
		}
		free(again);
	}
	other = recipe_make(a, 8, &m);
	assert_false(other[0].submit_s == jobs[0].submit_s);
	free(other);
	free(jobs);
	recipe_free(a);
	recipe_free(b);
}

static void
poisson_arrivals_are_as_they_should_be(void **state)
{
	struct recipe *recipe =
		must_load(COMMON "arrivals = poisson\nload = 90 %\ncount = 20000\n");
	size_t n, n_one = 0;
	struct jobtrace_job *jobs = recipe_make(recipe, 1, &n);
	double gpu_s = 0, workers = 0, square = 0, gap_s, last_s = 0;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		bool is_one = strcmp(jobs[i].model, "one") == 0;
		double sent_s = jobs[i].n_gpus > 1
					? 0.04 * (jobs[i].n_gpus - 1) / jobs[i].n_gpus
					: 0;

		assert_in_range(jobs[i].n_gpus, 1, 12);
		assert_true(jobs[i].iterations >= 200 && jobs[i].iterations <= 1000);
		assert_near(jobs[i].iteration_s, is_one ? 0.03 + sent_s : 0.1, 1e-6);
		assert_near(jobs[i].duration_s,
			    jobs[i].iterations * jobs[i].iteration_s, 1e-9);
		n_one += is_one;
		workers += jobs[i].n_gpus;
		gpu_s += jobs[i].n_gpus * jobs[i].duration_s;
	}
	assert_near((double)n_one / (double)n, 0.5, 0.02);
	assert_near(workers / (double)n, 6.5, 0.1);
	assert_near(gpu_s / (double)n / recipe_mean_gpu_s(recipe), 1, 0.02);
	/* 90 % of the GPUs' time; exponential gaps. */
	assert_near(gpu_s / (24 * jobs[n - 1].submit_s), 0.9, 0.03);
	gap_s = jobs[n - 1].submit_s / (double)n;
	for (size_t i = 0; i < n; i++) {
		double gap = jobs[i].submit_s - last_s;

		assert_true(gap >= 0);
		square += (gap - gap_s) * (gap - gap_s);
		last_s = jobs[i].submit_s;
	}
	assert_near(sqrt(square / (double)n) / gap_s, 1, 0.05);
	free(jobs);
	recipe_free(recipe);
}

static void
a_snapshot_and_a_burst_fill_their_shares(void **state)
{
	struct recipe *snapshot =
		must_load(COMMON "arrivals = snapshot\nload = 100 %\n");
	struct recipe *burst =
		must_load(COMMON "arrivals = burst\nload = 75 %\nburst = "
				 "50 %\nburst_at = 2 min\n");

	(void)state;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		uint32_t sum = 0, late = 0;
		size_t n;
		struct jobtrace_job *jobs = recipe_make(snapshot, seed, &n);

		for (size_t i = 0; i < n; i++) {
			assert_true(jobs[i].submit_s == 0);
			sum += jobs[i].n_gpus;
		}
		assert_int_equal(sum, 24);
		free(jobs);
		jobs = recipe_make(burst, seed, &n);
		sum = 0;
		for (size_t i = 0; i < n; i++) {
			if (jobs[i].submit_s > 0) {
				assert_true(jobs[i].submit_s == 120);
				assert_true(jobs[i].iterations >= 200);
				late += jobs[i].n_gpus;
			} else {
				assert_true(jobs[i].iterations >= 1);
				sum += jobs[i].n_gpus;
			}
		}
		assert_int_equal(sum, 18);
		assert_int_equal(late, 12);
		free(jobs);
	}
	recipe_free(snapshot);
	recipe_free(burst);
}

static void
recipes_that_are_none_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"[other]\n",
		"[jobs]\nload = x\n",
		COMMON,
		COMMON "arrivals = poisson\nload = 90 %\n",
		COMMON "arrivals = snapshot\nload = 90 %\ncount = 3\n",
		COMMON "arrivals = burst\nload = 90 %\nburst = 10 %\n",
		COMMON "arrivals = sometimes\nload = 90 %\n",
		COMMON "arrivals = snapshot\nload = 90 %\nload = 80 %\n",
		COMMON "arrivals = snapshot\nload = 0 %\n",
		COMMON "arrivals = snapshot\nload = 90 %\nlaod = 90 %\n",
		"[jobs]\narrivals = snapshot\ngpus = 4\nnic = 1 Gb/s\nmodels = models\n"
		"workers = 1..5\niterations = 1\nload = 1\n",
		"[jobs]\narrivals = snapshot\ngpus = 4\nnic = 1 Gb/s\nmodels = models\n"
		"workers = 3..2\niterations = 1\nload = 1\n",
		"[jobs]\narrivals = snapshot\ngpus = 4\nnic = 1 Gb/s\nmodels = models\n"
		"workers = 0\niterations = 1\nload = 1\n",
		"[jobs]\narrivals = snapshot\ngpus = 4\nnic = 1 Gb/s\nmodels = models\n"
		"workers = 1\niterations = 1\nload = 1\nnames = four\n",
		"[jobs]\narrivals = snapshot\ngpus = 4\nnic = 1 Gb/s\nmodels = nowhere\n"
		"workers = 1\niterations = 1\nload = 1\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct recipe *recipe;
		struct err err = { 0 };

		if (load(bad[i], &recipe, &err) == 0)
			fail_msg("taken: %s", bad[i]);
		assert_true(err.text[0]);
	}
}

static void
a_list_is_made_of_a_recipe(void **state)
{
	struct joblist list;
	struct err err = { 0 };
	char path[64];

	(void)state;
	recipe_free(must_load(COMMON "arrivals = poisson\nload = 90 %\ncount = 50\n"));
	snprintf(path, sizeof path, "%s/x.ini", folder);
	assert_true(recipe_is(path));
	assert_false(recipe_is("jobs.csv"));
	assert_int_equal(joblist_make(path, 3, &list, &err), 0);
	assert_int_equal(list.n, 50);
	assert_string_equal(joblist_id(&list, 49), "job50");
	assert_true(list.jobs[0].iterations >= 200);
	joblist_fini(&list);
	assert_true(joblist_make("/nowhere.ini", 3, &list, &err) < 0);
}

static void
a_spread_knows_means_and_quantiles(void **state)
{
	struct histogram spread = { 0 }, copy, scaled = { 0 };

	(void)state;
	assert_true(isnan(histogram_mean(&spread)));
	assert_true(isnan(histogram_quantile(&spread, 0.5)));
	for (int i = 1000; i >= 1; i--)
		histogram_add(&spread, i, 1);
	histogram_add(&spread, 0, 1);
	histogram_add(&spread, NAN, 1);
	assert_near(histogram_weight(&spread), 1000, 1e-9);
	assert_near(histogram_mean(&spread), 500.5, 1e-9);
	for (int p = 1; p <= 99; p++)
		assert_near(histogram_quantile(&spread, p / 100.0) / (10.0 * p), 1,
			    0.006);
	histogram_copy(&spread, &copy);
	histogram_add_all(&scaled, &copy, 2, 10);
	assert_near(histogram_weight(&scaled), 10, 1e-9);
	assert_near(histogram_mean(&scaled), 1001, 1e-6);
	histogram_fini(&copy);
	histogram_fini(&scaled);
	histogram_fini(&spread);
	/* Only few values are exact. */
	histogram_add(&spread, 0.3, 98);
	histogram_add(&spread, 0.7, 2);
	assert_near(histogram_quantile(&spread, 0.98), 0.3, 1e-12);
	assert_near(histogram_quantile(&spread, 0.99), 0.7, 1e-12);
	histogram_fini(&spread);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_seed_makes_the_same_jobs),
		cmocka_unit_test(poisson_arrivals_are_as_they_should_be),
		cmocka_unit_test(a_snapshot_and_a_burst_fill_their_shares),
		cmocka_unit_test(recipes_that_are_none_are_refused),
		cmocka_unit_test(a_list_is_made_of_a_recipe),
		cmocka_unit_test(a_spread_knows_means_and_quantiles),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
