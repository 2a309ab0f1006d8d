/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_model.c - antiphase.model/1, checked value by value.
 */
#include "scheduler/core/workload/work_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/name.h"
#include "lib/base/words.h"
#include "scheduler/core/workload/segment_text.h"

#define LARGEST "largest_tensor"

static const char *const file_keys[] = { "schema",     "model",      "also",    "text",
					 "gpu",        "parameters", LARGEST,   "batch",
					 "collective", "segments",   "sources", NULL };
static const char *const source_keys[] = { "parameters", "batch", "compute",
					   "traffic",    LARGEST, NULL };

void
work_model_fini(struct work_model *model)
{
	for (size_t i = 0; i < model->n_also; i++)
		free(model->also[i]);
	free(model->also);
	free(model->name);
	free(model->text);
	free(model->gpu);
	free(model->segments);
	free(model->is_message);
	*model = (struct work_model){ 0 };
}

bool
work_model_is(const struct work_model *model, const char *name)
{
	if (strcasecmp(model->name, name) == 0)
		return true;
	for (size_t i = 0; i < model->n_also; i++)
		if (strcasecmp(model->also[i], name) == 0)
			return true;
	return false;
}

static int
check_name(const struct json_doc *doc, const struct json *value, const char *text,
	   struct err *err)
{
	const char *fault = name_fault(text);

	return fault ? json_fail(doc, value, err, "expected %s", fault) : 0;
}

static int
parse_name(const struct json_doc *doc, const char *key, char **ret_name,
	   struct err *err)
{
	const struct json *root = json_root(doc);
	const char *text;

	if (json_get_str(doc, root, key, &text, err) < 0 ||
	    check_name(doc, json_find(root, key), text, err) < 0)
		return -EINVAL;
	*ret_name = xstrdup(text);
	return 0;
}

static int
parse_also(const struct json_doc *doc, struct work_model *model, struct err *err)
{
	const struct json *array = NULL;
	size_t n = 0;

	if (json_opt_array(doc, json_root(doc), "also", &array, &n, err) < 0)
		return -EINVAL;
	if (n > WORK_MODEL_MAX_ALSO)
		return json_fail(doc, array, err, "%zu names, at most %d are allowed",
				 n, WORK_MODEL_MAX_ALSO);
	model->also = xcalloc(n + 1, sizeof *model->also);
	for (const struct json *value = n ? json_first(array) : NULL; value;
	     value = json_next(value)) {
		const char *text;

		if (json_as_str(doc, value, &text, err) < 0 ||
		    check_name(doc, value, text, err) < 0)
			return -EINVAL;
		model->also[model->n_also++] = xstrdup(text);
	}
	return 0;
}

static int
parse_collective(const struct json_doc *doc, struct work_model *model, struct err *err)
{
	const char *text;
	int kind;

	if (json_get_str(doc, json_root(doc), "collective", &text, err) < 0)
		return -EINVAL;
	kind = words_index(text, collective_names);
	if (kind < 0) {
		json_fail(doc, json_find(json_root(doc), "collective"), err,
			  "there is no collective '%.40s'", text);
		err_suggest(err, text, collective_names);
		return -EINVAL;
	}
	model->collective = (enum collective)kind;
	return 0;
}

static int
parse_segments(const struct json_doc *doc, struct work_model *model, struct err *err)
{
	const struct json *array;
	size_t n;

	if (json_get_array(doc, json_root(doc), "segments", &array, &n, err) < 0)
		return -EINVAL;
	if (!n || n > WORK_MODEL_MAX_SEGMENTS)
		return json_fail(doc, array, err, "expected 1 to %d segments, not %zu",
				 WORK_MODEL_MAX_SEGMENTS, n);
	model->segments = xcalloc(n, sizeof *model->segments);
	model->is_message = xcalloc(n, sizeof *model->is_message);
	for (const struct json *value = json_first(array); value;
	     value = json_next(value)) {
		struct err why = { 0 };
		const char *text;

		if (json_as_str(doc, value, &text, err) < 0)
			return -EINVAL;
		if (segment_text_parse(NULL, 0, text,
				       &model->segments[model->n_segments],
				       &model->is_message[model->n_segments], &why) < 0)
			return json_fail(doc, value, err, "%s", why.text);
		if (model->segments[model->n_segments].call.op != COLLECTIVE_OP_NONE)
			return json_fail(doc, value, err,
					 "expected no group or algorithm: a model has "
					 "'send SIZE' or 'allreduce SIZE'");
		model->n_segments++;
	}
	return 0;
}

/* Their content is for people: only their presence is checked. */
static int
check_sources(const struct json_doc *doc, struct err *err)
{
	const struct json *sources = json_find(json_root(doc), "sources");

	if (!sources)
		return json_fail(doc, json_root(doc), err,
				 "expected 'sources': where each number is from");
	if (json_as_object(doc, sources, err) < 0 ||
	    json_check_keys(doc, sources, source_keys, err) < 0)
		return -EINVAL;
	for (const char *const *key = source_keys; *key; key++) {
		const char *text;

		if (strcmp(*key, LARGEST) == 0 && !json_find(json_root(doc), LARGEST))
			continue;
		if (json_get_str(doc, sources, *key, &text, err) < 0)
			return -EINVAL;
		if (!*text)
			return json_fail(doc, json_find(sources, *key), err,
					 "expected where it is from");
	}
	return 0;
}

int
work_model_parse(const char *file, const char *text, size_t length,
		 struct work_model *ret_model, struct err *err)
{
	struct work_model model = { 0 };
	const struct json *root;
	struct json_doc *doc;

	if (json_parse(file, text, length, &doc, err) < 0)
		return -EINVAL;
	root = json_root(doc);
	if (json_check_schema(doc, "antiphase.model", 1, err) < 0 ||
	    json_check_keys(doc, root, file_keys, err) < 0 ||
	    parse_name(doc, "model", &model.name, err) < 0 ||
	    parse_name(doc, "text", &model.text, err) < 0 ||
	    parse_name(doc, "gpu", &model.gpu, err) < 0 ||
	    parse_also(doc, &model, err) < 0 ||
	    json_get_num(doc, root, "parameters", 0, 1e15, &model.parameters, err) <
		    0 ||
	    json_opt_num(doc, root, LARGEST, 1, model.parameters, &model.largest_tensor,
			 err) < 0 ||
	    json_get_int(doc, root, "batch", 1, 1000000000, &model.batch, err) < 0 ||
	    parse_collective(doc, &model, err) < 0 ||
	    parse_segments(doc, &model, err) < 0 || check_sources(doc, err) < 0) {
		work_model_fini(&model);
		json_doc_free(doc);
		return -EINVAL;
	}
	json_doc_free(doc);
	*ret_model = model;
	return 0;
}

int
work_model_make_job(const struct work_model *model, double nic_bytes, double line_bps,
		    struct work_job *job)
{
	job->collective = model->collective;
	job->n_segments = model->n_segments;
	job->segments =
		xmemdup(model->segments, model->n_segments, sizeof *job->segments);
	for (size_t i = 0; i < job->n_segments; i++) {
		struct work_segment *segment = &job->segments[i];

		if (!(nic_bytes > 0))
			*segment = (struct work_segment){ .compute_ns =
								  segment->compute_ns };
		else if (model->is_message[i])
			segment->nic_bytes *= nic_bytes;
	}
	return work_job_profile_from_segments(job, line_bps, NULL);
}
