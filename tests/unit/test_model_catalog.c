/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_catalog.c - a folder of models, and the models of the jobs of a trace */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "sim/jobs/joblist.h"
#include "sim/jobs/model_catalog.h"
#include "tests/unit/memory_file.h"
#include "tests/unit/test.h"

#define TRACE "job_id,submit_s,num_gpus,duration_s,model\n"

static char folder[] = "/tmp/test-catalog-XXXXXX";

static void
put_text(const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", folder, name);
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
	free(path);
}

static void
put_model(const char *file, const char *name, const char *also)
{
	char *text = xasprintf(
		"{\"schema\":\"antiphase.model/1\",\"model\":\"%s\",\"also\":[%s],"
		"\"text\":\"t\",\"gpu\":\"g\",\"parameters\":1,\"batch\":1,"
		"\"collective\":\"ring\",\"segments\":[\"compute 1 ms\"],\"sources\":{"
		"\"parameters\":\"assumed\",\"batch\":\"assumed\",\"compute\":"
		"\"assumed\",\"traffic\":\"assumed\"}}",
		name, also);

	put_text(file, text);
	free(text);
}

static void
drop(const char *name)
{
	char *path = xasprintf("%s/%s", folder, name);

	unlink(path);
	free(path);
}

static void
load(struct model_catalog *catalog)
{
	struct err err = { 0 };

	if (model_catalog_load(folder, catalog, &err) < 0)
		fail_msg("%s: %s", err.file, err.text);
}

static int
setup(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	put_model("b.json", "Bert", "\"bert-base\", \"BERT2\"");
	put_model("a.json", "vgg16", "");
	put_model("c.json", "gpt2", "");
	put_text(".hidden.json", "no model");
	put_text("README", "no model");
	put_text(".json", "no model");
	return 0;
}

static int
teardown(void **state)
{
	static const char *const names[] = { "a.json",       "b.json",
					     "c.json",       "README",
					     ".hidden.json", ".json",
					     "zzz.json",     NULL };

	(void)state;
	for (const char *const *name = names; *name; name++)
		drop(*name);
	return rmdir(folder);
}

static void
models_are_in_the_order_of_their_files(void **state)
{
	struct model_catalog catalog;

	(void)state;
	load(&catalog);
	assert_int_equal(catalog.n, 3);
	assert_string_equal(catalog.models[0].name, "vgg16");
	assert_string_equal(catalog.models[1].name, "Bert");
	assert_string_equal(catalog.models[2].name, "gpt2");
	model_catalog_fini(&catalog);
}

static void
the_largest_tensor_is_told_as_a_share(void **state)
{
	struct model_catalog catalog;

	(void)state;
	load(&catalog);
	catalog.models[1].parameters = 400;
	catalog.models[1].largest_tensor = 100;
	catalog.models[2].parameters = 0;
	assert_near(model_catalog_skew(&catalog, 1), 0.25, 0);
	assert_near(model_catalog_skew(&catalog, 0), 0, 0);
	assert_near(model_catalog_skew(&catalog, 2), 0, 0);
	assert_near(model_catalog_skew(&catalog, POL_NONE), 0, 0);
	model_catalog_fini(&catalog);
}

static void
one_bad_model_and_an_empty_folder_are_refused(void **state)
{
	char none[] = "/tmp/test-catalog-none-XXXXXX";
	struct err err = { 0 };
	struct model_catalog catalog = { 0 };

	(void)state;
	put_text("zzz.json", "{\"schema\":\"antiphase.model/1\"}");
	assert_true(model_catalog_load(folder, &catalog, &err) < 0);
	assert_non_null(strstr(err.file, "zzz.json"));
	assert_null(catalog.models);
	drop("zzz.json");
	assert_non_null(mkdtemp(none));
	assert_true(model_catalog_load(none, &catalog, &err) < 0);
	assert_non_null(strstr(err.text, "has 0 models"));
	rmdir(none);
	assert_true(model_catalog_load(none, &catalog, &err) < 0);
	assert_non_null(strstr(err.text, "cannot read the folder"));
}

static void
a_job_trains_what_its_trace_names_or_what_is_drawn_for_its_place(void **state)
{
	static const char text[] = TRACE "1,0,1,1,BERT-Base\n"
					 "2,1,1,1,unheard-of\n"
					 "3,2,1,1,\n"
					 "4,3,1,1,GPT2\n"
					 "5,4,1,1,\n";
	static struct memory_file file;
	struct joblist list;
	struct model_catalog catalog;
	uint64_t n_drawn;

	(void)state;
	load(&catalog);
	assert_int_equal(joblist_load(memory_file_set(&file, text, strlen(text)),
				      JOBTRACE_AUTO, NULL, &list, NULL),
			 0);
	for (uint64_t seed = 1; seed <= 20; seed++) {
		uint32_t *models =
			joblist_find_models(&list, &catalog, 1, seed, &n_drawn);

		assert_int_equal(n_drawn, 3);
		assert_int_equal(models[0], 1);
		assert_int_equal(models[3], 2);
		for (size_t i = 0; i < list.n; i++) {
			struct rng rng;

			if (i == 0 || i == 3)
				continue;
			/* Determined by index and seed, independent of other jobs. */
			rng_init_stream(&rng, seed, i);
			assert_int_equal(models[i], rng_below(&rng, 3));
		}
		free(models);
	}
	joblist_fini(&list);
	model_catalog_fini(&catalog);
}

static void
small_jobs_may_have_none(void **state)
{
	static const char text[] = TRACE "1,0,1,1,bert\n"
					 "2,1,2,1,bert\n"
					 "3,2,4,1,\n"
					 "4,3,3,1,\n";
	static struct memory_file file;
	struct joblist list;
	struct model_catalog catalog;
	uint64_t n_drawn;
	uint32_t *models;

	(void)state;
	load(&catalog);
	assert_int_equal(joblist_load(memory_file_set(&file, text, strlen(text)),
				      JOBTRACE_AUTO, NULL, &list, NULL),
			 0);
	models = joblist_find_models(&list, &catalog, 2, 1, &n_drawn);
	assert_int_equal(models[0], POL_NONE);
	assert_int_equal(models[1], 1);
	assert_true(models[2] < 3 && models[3] < 3);
	assert_int_equal(n_drawn, 2);
	free(models);
	joblist_fini(&list);
	model_catalog_fini(&catalog);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(models_are_in_the_order_of_their_files),
		cmocka_unit_test(the_largest_tensor_is_told_as_a_share),
		cmocka_unit_test(one_bad_model_and_an_empty_folder_are_refused),
		cmocka_unit_test(
			a_job_trains_what_its_trace_names_or_what_is_drawn_for_its_place),
		cmocka_unit_test(small_jobs_may_have_none),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
