/* SPDX-License-Identifier: Apache-2.0 */
/* test_model.c - the models of examples/, jobs made from them, and refusals */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "scheduler/core/workload/work_model.h"
#include "tests/unit/test.h"

#define FOLDER "examples/models"
#define SOURCES                                                                       \
	"\"sources\": {\"parameters\": \"a\", \"batch\": \"b\", \"compute\": \"c\", " \
	"\"traffic\": \"d\"}"
#define LARGEST_SOURCES                                                               \
	"\"sources\": {\"parameters\": \"a\", \"batch\": \"b\", \"compute\": \"c\", " \
	"\"traffic\": \"d\", \"largest_tensor\": \"e\"}"
#define HEAD                                                                      \
	"{\"schema\": \"antiphase.model/1\", \"model\": \"m\", \"text\": \"t\", " \
	"\"gpu\": \"g\", \"parameters\": 1000, \"batch\": 4, "
#define FINE                                                                            \
	HEAD "\"also\": [\"M 1\"], \"collective\": \"ring\", \"segments\": [\"compute " \
	     "30 ms\", \"allreduce 125 MB\"], " SOURCES "}"

static int
parse(const char *text, struct work_model *ret_model, struct err *err)
{
	return work_model_parse("m.json", text, strlen(text), ret_model, err);
}

static void
every_model_of_the_examples_reads(void **state)
{
	DIR *folder = opendir(FOLDER);
	struct dirent *entry;
	unsigned n = 0;

	(void)state;
	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		struct work_model model;
		struct work_job job = { 0 };
		struct err err = { 0 };
		char *path, *text, *file;
		size_t length;

		if (entry->d_name[0] == '.')
			continue;
		path = xasprintf(FOLDER "/%s", entry->d_name);
		assert_int_equal(
			file_read(path, WORK_MODEL_MAX_BYTES, &text, &length, &err), 0);
		if (work_model_parse(path, text, length, &model, &err) < 0)
			fail_msg("%s:%u: %s", path, err.line, err.text);
		file = xasprintf("%s.json", model.name);
		assert_string_equal(file, entry->d_name);
		assert_int_equal(work_model_make_job(&model, 1.5, 50e9, &job), 0);
		assert_true(job.profile.n_phases > 0);
		work_job_fini(&job);
		work_model_fini(&model);
		free(file);
		free(text);
		free(path);
		n++;
	}
	closedir(folder);
	assert_true(n >= 13);
}

static void
read_model(const char *name, struct work_model *ret_model)
{
	char *path = xasprintf(FOLDER "/%s", name), *text;
	struct err err = { 0 };
	size_t length;

	assert_int_equal(file_read(path, WORK_MODEL_MAX_BYTES, &text, &length, &err),
			 0);
	assert_int_equal(work_model_parse(path, text, length, ret_model, &err), 0);
	free(text);
	free(path);
}

/* The models of CASSINI, then those of Muri, Pollux, Gavel and Synergy. */
static void
the_models_of_the_paper_and_of_the_traces_are_there_once(void **state)
{
	static const char *const names[] = {
		"VGG11",       "VGG16",         "VGG19",
		"ResNet50",    "WideResNet101", "BERT",
		"RoBERTa",     "XLM",           "CamemBERT",
		"GPT1",        "GPT2",          "GPT3",
		"DLRM",        "resnet18",      "shufflenet_v2_x1_0",
		"a2c",         "dqn",           "cifar10",
		"deepspeech2", "imagenet",      "ncf",
		"yolov3",      "ResNet-18",     "ResNet-50",
		"res18",       "res50",         "deepspeech",
		"shufflenet",
	};
	unsigned n_found[sizeof names / sizeof *names] = { 0 };
	DIR *folder = opendir(FOLDER);
	struct dirent *entry;

	(void)state;
	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		struct work_model model;

		if (entry->d_name[0] == '.')
			continue;
		read_model(entry->d_name, &model);
		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			n_found[i] += work_model_is(&model, names[i]);
		work_model_fini(&model);
	}
	closedir(folder);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (n_found[i] != 1)
			fail_msg("%s: %u models", names[i], n_found[i]);
}

/* A model with one ring message per iteration sends its gradients: 4 bytes each. */
static void
data_parallel_models_send_what_their_parameters_take(void **state)
{
	DIR *folder = opendir(FOLDER);
	struct dirent *entry;
	unsigned n = 0;

	(void)state;
	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		struct work_model model;
		unsigned n_messages = 0;
		int64_t bytes = 0;

		if (entry->d_name[0] == '.')
			continue;
		read_model(entry->d_name, &model);
		for (size_t i = 0; i < model.n_segments; i++) {
			n_messages += model.is_message[i];
			if (model.is_message[i])
				bytes += (int64_t)model.segments[i].nic_bytes;
		}
		if (n_messages == 1) {
			if (bytes != (int64_t)(4 * model.parameters))
				fail_msg("%s: %lld B of %g parameters", model.name,
					 (long long)bytes, model.parameters);
			n++;
		}
		work_model_fini(&model);
	}
	closedir(folder);
	assert_true(n >= 18);
}

/* As in Tiresias (NSDI 2019): one tensor dominates VGG, none ResNet and BERT. */
static void
the_largest_tensors_are_told(void **state)
{
	static const struct {
		const char *file;
		double least, most; /* Range of the number of parameters. */
	} rows[] = {
		{ "vgg11.json", 0.773, 0.774 }, { "vgg16.json", 0.742, 0.743 },
		{ "vgg19.json", 0.715, 0.716 }, { "resnet50.json", 0.092, 0.093 },
		{ "bert.json", 0.214, 0.215 },  { "ncf.json", 0.559, 0.56 },
		{ "deepspeech2.json", 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct work_model model;

		read_model(rows[i].file, &model);
		assert_in_range((int)(1e4 * model.largest_tensor / model.parameters),
				(int)(1e4 * rows[i].least), (int)(1e4 * rows[i].most));
		work_model_fini(&model);
	}
}

static void
a_place_makes_a_job_of_a_model(void **state)
{
	struct work_model model;
	struct work_job job = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(parse(FINE, &model, &err), 0);
	assert_true(work_model_is(&model, "M") && work_model_is(&model, "m 1"));
	assert_false(work_model_is(&model, "m 2"));
	/* A ring of two sends the message once; 20 ms at 50 Gb/s. */
	assert_int_equal(work_model_make_job(&model, 1, 50e9, &job), 0);
	assert_int_equal(job.profile.period_us, 50000);
	work_job_fini(&job);
	/* A ring of four sends half as much more. */
	assert_int_equal(work_model_make_job(&model, 1.5, 50e9, &job), 0);
	assert_int_equal(job.profile.period_us, 60000);
	work_job_fini(&job);
	/* Within one host nothing is sent. */
	assert_int_equal(work_model_make_job(&model, 0, 50e9, &job), 0);
	assert_int_equal(job.profile.period_us, 30000);
	assert_int_equal(job.profile.n_phases, 0);
	work_job_fini(&job);
	work_model_fini(&model);
}

static void
what_is_no_model_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"schema\": \"antiphase.profiles/1\"}",
		HEAD SOURCES "}",
		HEAD
		"\"collective\": \"rign\", \"segments\": [\"compute 1 ms\"], " SOURCES
		"}",
		HEAD "\"collective\": \"ring\", \"segments\": [], " SOURCES "}",
		HEAD "\"collective\": \"ring\", \"segments\": [3], " SOURCES "}",
		HEAD "\"collective\": \"ring\", \"segments\": [\"compute\"], " SOURCES
		     "}",
		HEAD "\"collective\": \"ring\", \"segments\": [\"compute 1 ms\"]}",
		HEAD "\"collective\": \"ring\", \"segments\": [\"compute 1 ms\"], "
		     "\"sources\": {\"parameters\": \"a\"}}",
		HEAD "\"collective\": \"ring\", \"segments\": [\"compute 1 ms\"], "
		     "\"also\": [\"\"], " SOURCES "}",
		/* Without a source; none at all; more than exist. */
		HEAD "\"largest_tensor\": 1000, \"collective\": \"ring\", "
		     "\"segments\": [\"compute 1 ms\"], " SOURCES "}",
		HEAD "\"largest_tensor\": 0, \"collective\": \"ring\", "
		     "\"segments\": [\"compute 1 ms\"], " LARGEST_SOURCES "}",
		HEAD "\"largest_tensor\": 1001, \"collective\": \"ring\", "
		     "\"segments\": [\"compute 1 ms\"], " LARGEST_SOURCES "}",
		HEAD
		"\"collective\": \"ring\", \"segments\": [\"compute 1 ms\"], \"more\": "
		"1, " SOURCES "}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct work_model model;
		struct err err = { 0 };

		assert_int_equal(parse(bad[i], &model, &err), -EINVAL);
		assert_true(*err.text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_model_of_the_examples_reads),
		cmocka_unit_test(
			the_models_of_the_paper_and_of_the_traces_are_there_once),
		cmocka_unit_test(data_parallel_models_send_what_their_parameters_take),
		cmocka_unit_test(the_largest_tensors_are_told),
		cmocka_unit_test(a_place_makes_a_job_of_a_model),
		cmocka_unit_test(what_is_no_model_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
