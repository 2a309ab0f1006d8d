/* SPDX-License-Identifier: Apache-2.0 */
/* test_extender.c - answers to kube-scheduler for jobs that are placed as a whole */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "scheduler/k8s/extender.h"
#include "tests/unit/test.h"

#define S INT64_C(1000000)

/* A ranking that takes the offered nodes of the highest names; counts calls. */
struct ranker {
	unsigned n_asked;
	int rc;
	struct extender_job last;
	char siblings[256];
	bool is_too_free; /* Answers with nodes that were not offered. */
};

static const char *const *sorting;

static int
by_name_down(const void *a, const void *b)
{
	return strcmp(sorting[*(const uint32_t *)b], sorting[*(const uint32_t *)a]);
}

static int
rank_highest(void *ctx, const struct extender_job *job, const char *const *offered,
	     size_t n_offered, struct extender_choice *choice, struct err *err)
{
	struct ranker *ranker = ctx;
	uint32_t *order;
	size_t n = job->n_nodes;

	ranker->n_asked++;
	ranker->last = *job;
	ranker->siblings[0] = '\0';
	for (size_t i = 0; i < job->n_siblings; i++) {
		strcat(ranker->siblings, job->siblings[i]);
		strcat(ranker->siblings, " ");
	}
	if (ranker->rc < 0 || n > n_offered) {
		err_set(err, NULL, 0, 0, "no");
		return ranker->rc < 0 ? ranker->rc : -ENOSPC;
	}
	order = xcalloc(n_offered, sizeof *order);
	for (uint32_t i = 0; i < n_offered; i++)
		order[i] = i;
	sorting = offered;
	qsort(order, n_offered, sizeof *order, by_name_down);
	choice->chosen = xmemdup(order, n, sizeof *order);
	choice->n_chosen = n;
	if (ranker->is_too_free)
		choice->chosen[0] = UINT32_MAX - 5;
	choice->n_also = n_offered - n < 2 ? n_offered - n : 2;
	choice->also = xmemdup(order + n, choice->n_also, sizeof *order);
	free(order);
	return 0;
}

/* A request for one pod of job "train" that offers nodes n00 to n(n-1). */
static char *
body_of(const char *pod, const char *annotations, const char *nodes)
{
	return xasprintf("{\"Pod\":{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ml\","
			 "\"uid\":\"uid-%s\",\"labels\":{\"job-name\":\"train\"},"
			 "\"annotations\":{%s}},\"spec\":{}},\"Nodes\":null,"
			 "\"NodeNames\":[%s]}",
			 pod, pod, annotations, nodes);
}

#define FOUR "\"n00\",\"n01\",\"n02\",\"n03\""
#define TWO_PODS                                                             \
	"\"antiphase.io/pods\":\"2\",\"antiphase.io/period-us\":\"255000\"," \
	"\"antiphase.io/comm-us\":\"102000\""

typedef int verb_fn(struct extender *extender, const char *body, size_t n,
		    int64_t now_us, struct strbuf *out, struct err *err);

static char *
answer(struct extender *extender, verb_fn *verb, const char *pod,
       const char *annotations, const char *nodes, int64_t now_us)
{
	char *body = body_of(pod, annotations, nodes);
	struct strbuf out = STRBUF_EMPTY;
	struct err err = { 0 };

	if (verb(extender, body, strlen(body), now_us, &out, &err) < 0)
		fail_msg("%s", err.text);
	free(body);
	return strbuf_steal(&out);
}

static void
says(struct extender *extender, verb_fn *verb, const char *pod, const char *annotations,
     const char *nodes, int64_t now_us, const char *expected)
{
	char *text = answer(extender, verb, pod, annotations, nodes, now_us);

	assert_string_equal(text, expected);
	free(text);
}

/* The score of a node in the prioritize answer. */
static int
score(struct extender *extender, const char *pod, const char *annotations,
      const char *nodes, const char *node)
{
	char *text = answer(extender, extender_prioritize, pod, annotations, nodes, S);
	char *key = xasprintf("{\"Host\": \"%s\", \"Score\": ", node);
	char *found = strstr(text, key);
	int value = -1;

	if (found)
		value = atoi(found + strlen(key));
	free(key);
	free(text);
	return value;
}

static void
pods_of_a_job_are_given_nodes_that_were_chosen_together(void **state)
{
	struct ranker ranker = { 0 };
	struct extender *extender = extender_new(NULL, rank_highest, &ranker);

	(void)state;
	says(extender, extender_filter, "w-0", TWO_PODS, FOUR, S,
	     "{\"Nodes\": null, \"NodeNames\": [\"n00\", \"n01\", \"n02\", \"n03\"], "
	     "\"FailedNodes\": {}, \"FailedAndUnresolvableNodes\": {}, \"Error\": \"\"}\n");
	assert_int_equal(ranker.n_asked, 1);
	assert_string_equal(ranker.last.name, "ml/train");
	assert_int_equal(ranker.last.n_nodes, 2);
	assert_int_equal(ranker.last.period_us, 255000);
	assert_int_equal(ranker.last.comm_us, 102000);
	assert_int_equal(score(extender, "w-0", TWO_PODS, FOUR, "n03"), 10);
	assert_int_equal(score(extender, "w-0", TWO_PODS, FOUR, "n02"), 8);
	assert_int_equal(score(extender, "w-0", TWO_PODS, FOUR, "n01"), 6);
	assert_int_equal(score(extender, "w-0", TWO_PODS, FOUR, "n00"), 5);
	/* The second gets the other node, whether or not the first is offered. */
	assert_int_equal(score(extender, "w-1", TWO_PODS, "\"n00\",\"n02\"", "n02"),
			 10);
	assert_int_equal(score(extender, "w-1", TWO_PODS, FOUR, "n03"), 0);
	/* Repeated requests get the same answers. */
	assert_int_equal(score(extender, "w-0", TWO_PODS, FOUR, "n03"), 10);
	assert_int_equal(ranker.n_asked, 1);
	assert_int_equal(extender_counts(extender).jobs, 1);
	extender_free(extender);
}

static void
a_pod_whose_node_is_gone_is_ranked_again_beside_its_siblings(void **state)
{
	struct ranker ranker = { 0 };
	struct extender *extender = extender_new(NULL, rank_highest, &ranker);

	(void)state;
	assert_int_equal(score(extender, "w-0", TWO_PODS, FOUR, "n03"), 10);
	assert_int_equal(score(extender, "w-1", TWO_PODS, FOUR, "n02"), 10);
	/* Another scheduler took n02. */
	assert_int_equal(score(extender, "w-1", TWO_PODS, "\"n00\",\"n01\"", "n01"),
			 10);
	assert_int_equal(ranker.n_asked, 2);
	assert_int_equal(ranker.last.n_nodes, 1);
	assert_string_equal(ranker.siblings, "n03 ");
	/* A third pod beyond the announced number. */
	assert_int_equal(score(extender, "w-2", TWO_PODS, "\"n00\"", "n00"), 10);
	assert_int_equal(ranker.last.n_nodes, 1);
	assert_string_equal(ranker.siblings, "n03 n01 ");
	extender_free(extender);
}

static void
required_filters_and_fails_open(void **state)
{
	struct ranker ranker = { 0 };
	struct extender *extender = extender_new(NULL, rank_highest, &ranker);
	char *text =
		answer(extender, extender_filter, "w-0",
		       TWO_PODS ",\"antiphase.io/placement\":\"required\"", FOUR, S);

	(void)state;
	assert_non_null(strstr(text, "\"NodeNames\": [\"n02\", \"n03\"]"));
	assert_non_null(strstr(text, "\"n00\": \"antiphase: "));
	free(text);
	/* The ranking has no place for this job: every node passes. */
	ranker.rc = -ENODATA;
	text = answer(
		extender, extender_filter, "x",
		"\"antiphase.io/job\":\"no label\","
		"\"antiphase.io/placement\":\"required\",\"antiphase.io/pods\":\"9\"",
		"\"n00\"", S);
	assert_non_null(strstr(text, "\"NodeNames\": [\"n00\"], \"FailedNodes\": {}"));
	free(text);
	extender_free(extender);
}

static void
what_cannot_be_ranked_scores_nothing_and_is_not_tried_at_once(void **state)
{
	struct ranker ranker = { .rc = -ENODATA };
	struct extender *extender = extender_new(NULL, rank_highest, &ranker);

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(score(extender, "w-0", "", FOUR, "n03"), 0);
	assert_int_equal(ranker.n_asked, 1);
	free(answer(extender, extender_filter, "w-0", "", FOUR, 3 * S));
	assert_int_equal(ranker.n_asked, 2);
	assert_int_equal(extender_counts(extender).unranked, 2);
	ranker.rc = 0;
	free(answer(extender, extender_filter, "w-0", "", FOUR, 5 * S));
	assert_int_equal(score(extender, "w-0", "", FOUR, "n03"), 10);
	extender_free(extender);
}

static void
observing_changes_nothing(void **state)
{
	struct extender_opts opts = { .is_observing = true };
	struct ranker ranker = { 0 };
	struct extender *extender = extender_new(&opts, rank_highest, &ranker);
	char *text = answer(extender, extender_filter, "w-0",
			    "\"antiphase.io/placement\":\"required\"", FOUR, S);

	(void)state;
	assert_non_null(strstr(text, "\"FailedNodes\": {}"));
	free(text);
	assert_int_equal(score(extender, "w-0", "", FOUR, "n03"), 0);
	extender_observe(extender, false);
	assert_int_equal(score(extender, "w-0", "", FOUR, "n03"), 10);
	extender_free(extender);
}

static void
jobs_are_forgotten_and_answers_of_a_wrong_ranking_survived(void **state)
{
	struct extender_opts opts = { .forget_us = 60 * S };
	struct ranker ranker = { .is_too_free = true };
	struct extender *extender = extender_new(&opts, rank_highest, &ranker);

	(void)state;
	assert_int_equal(score(extender, "w-0", "", FOUR, "n03"), 0);
	free(answer(extender, extender_filter, "w-0", "", FOUR, 100 * S));
	assert_int_equal(extender_counts(extender).jobs, 1);
	assert_int_equal(ranker.n_asked, 2);
	extender_free(extender);
}

static void
a_pod_that_is_not_asked_about_any_more_loses_its_place(void **state)
{
	struct extender_opts opts = { .forget_us = 60 * S };
	struct ranker ranker = { 0 };
	struct extender *extender = extender_new(&opts, rank_highest, &ranker);
	char *text;

	(void)state;
	free(answer(extender, extender_filter, "w-0", TWO_PODS, FOUR, S));
	free(answer(extender, extender_filter, "w-1", TWO_PODS, FOUR, 50 * S));
	/* w-0 was deleted; the pod in its place gets its node, and no more are chosen. */
	text = answer(extender, extender_prioritize, "w-0b", TWO_PODS, FOUR, 62 * S);
	assert_non_null(strstr(text, "{\"Host\": \"n03\", \"Score\": 10}"));
	assert_non_null(strstr(text, "{\"Host\": \"n02\", \"Score\": 0}"));
	free(text);
	assert_int_equal(ranker.n_asked, 1);
	/* Both are asked about again and again: they keep theirs. */
	for (int i = 1; i < 10; i++) {
		free(answer(extender, extender_filter, "w-1", TWO_PODS, FOUR,
			    (62 + 40 * i) * S));
		text = answer(extender, extender_prioritize, "w-0b", TWO_PODS, FOUR,
			      (62 + 40 * i) * S);
		assert_non_null(strstr(text, "{\"Host\": \"n03\", \"Score\": 10}"));
		free(text);
	}
	assert_int_equal(ranker.n_asked, 1);
	extender_free(extender);
}

/* The first value of a key counts, and only what is a text. */
static void
odd_members_do_not_change_a_request(void **state)
{
	static const char *const bodies[] = {
		"{\"NodeNames\":[" FOUR
		"],\"Pod\":{\"spec\":[{\"metadata\":{\"name\":\"x\"}}],"
		"\"metadata\":{\"labels\":{\"job\":7,\"job-name\":\"train\",\"job-name\":\"b\"},"
		"\"name\":\"w-0\",\"namespace\":\"ml\",\"name\":\"c\"}},"
		"\"NodeNames\":[],\"Pod\":{}}",
		"{\"Pod\":{\"metadata\":{\"ownerReferences\":[3,{\"uid\":\"a\"},"
		"{\"controller\":false,\"uid\":\"b\"},{\"uid\":\"train\",\"controller\":true},"
		"{\"controller\":true,\"uid\":\"d\"}],\"namespace\":\"ml\",\"name\":\"w-0\","
		"\"labels\":null,\"annotations\":null}},\"NodeNames\":[" FOUR "]}",
		"{\"P\\u006fd\":{\"metadata\":{\"labels\":{\"job\":\"b\","
		"\"antiphase.io/job\":\"tr\\u0061in\"},\"name\":\"w-0\",\"namespace\":\"ml\"}},"
		"\"NodeNames\":[" FOUR "]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
		struct ranker ranker = { 0 };
		struct extender *extender = extender_new(NULL, rank_highest, &ranker);
		struct strbuf out = STRBUF_EMPTY;
		struct err err = { 0 };

		if (extender_prioritize(extender, bodies[i], strlen(bodies[i]), S, &out,
					&err) < 0)
			fail_msg("%zu: %s", i, err.text);
		assert_string_equal(ranker.last.name, "ml/train");
		assert_non_null(strstr(out.text, "{\"Host\": \"n03\", \"Score\": 10}"));
		strbuf_free(&out);
		extender_free(extender);
	}
}

static void
refused(const char *body, const char *expected)
{
	struct ranker ranker = { 0 };
	struct extender *extender = extender_new(NULL, rank_highest, &ranker);
	struct strbuf out = STRBUF_EMPTY;
	struct err err = { 0 };

	assert_int_equal(extender_filter(extender, body, strlen(body), S, &out, &err),
			 -EINVAL);
	if (!strstr(err.text, expected))
		fail_msg("'%s' has no '%s'", err.text, expected);
	assert_int_equal(out.length, 0);
	assert_int_equal(extender_counts(extender).refused, 1);
	assert_int_equal(ranker.n_asked, 0);
	extender_free(extender);
	strbuf_free(&out);
}

static void
bad_bodies_are_refused_with_what_is_wrong(void **state)
{
	(void)state;
	refused("", "");
	refused("{", "");
	refused("[]", "object");
	refused("{\"NodeNames\":[]}", "kube-scheduler");
	refused("{\"Pod\":{\"metadata\":{}},\"NodeNames\":[]}", "no name");
	refused("{\"Pod\":{\"metadata\":{\"name\":\"a\"}},\"Nodes\":{\"items\":[]}}",
		"nodeCacheCapable: true");
	refused("{\"Pod\":{\"metadata\":{\"name\":\"a\"}},\"NodeNames\":[7]}", "");
	refused("{\"Pod\":{\"metadata\":{\"name\":\"a\"}},\"NodeNames\":[\"\"]}",
		"not a valid name of a node");
	refused("{\"Pod\":{\"metadata\":{\"name\":\"a\",\"annotations\":{"
		"\"antiphase.io/period-us\":\"soon\"}}},\"NodeNames\":[]}",
		"expected a number from 1");
	refused("{\"Pod\":{\"metadata\":{\"name\":\"a\",\"annotations\":{"
		"\"antiphase.io/period-us\":\"10\",\"antiphase.io/comm-us\":\"20\"}}},"
		"\"NodeNames\":[]}",
		"above");
	refused("{\"Pod\":{\"metadata\":{\"name\":\"a\",\"annotations\":{"
		"\"antiphase.io/placement\":\"maybe\"}}},\"NodeNames\":[]}",
		"'required' or 'preferred'");
}

static void
recorded_requests_of_a_real_scheduler_are_answered(void **state)
{
	static const char *const files[] = { "filter", "prioritize" };
	static verb_fn *const verbs[] = { extender_filter, extender_prioritize };
	struct ranker ranker = { 0 };
	struct extender *extender = extender_new(NULL, rank_highest, &ranker);

	(void)state;
	for (int cached = 1; cached >= 0; cached--)
		for (int i = 0; i < 2; i++) {
			struct strbuf out = STRBUF_EMPTY;
			struct json_doc *doc = NULL;
			struct err err = { 0 };
			char path[256], *body;
			size_t n;

			snprintf(path, sizeof path,
				 SHARED_DATA "/k8s/nodeCacheCapable-%s-%s.json",
				 cached ? "true" : "false", files[i]);
			if (file_read(path, 1 << 20, &body, &n, &err) < 0) {
				extender_free(extender);
				skip();
			}
			assert_int_equal(verbs[i](extender, body, n, S, &out, &err),
					 cached ? 0 : -EINVAL);
			if (cached) {
				assert_int_equal(json_parse("reply", out.text,
							    out.length, &doc, &err),
						 0);
				assert_non_null(strstr(out.text, "n09"));
			} else {
				assert_non_null(strstr(err.text, "nodeCacheCapable"));
			}
			json_doc_free(doc);
			free(body);
			strbuf_free(&out);
		}
	assert_string_equal(ranker.last.name, "default/resnet");
	assert_int_equal(ranker.last.period_us, 255000);
	extender_free(extender);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			pods_of_a_job_are_given_nodes_that_were_chosen_together),
		cmocka_unit_test(
			a_pod_whose_node_is_gone_is_ranked_again_beside_its_siblings),
		cmocka_unit_test(required_filters_and_fails_open),
		cmocka_unit_test(
			what_cannot_be_ranked_scores_nothing_and_is_not_tried_at_once),
		cmocka_unit_test(observing_changes_nothing),
		cmocka_unit_test(
			jobs_are_forgotten_and_answers_of_a_wrong_ranking_survived),
		cmocka_unit_test(
			a_pod_that_is_not_asked_about_any_more_loses_its_place),
		cmocka_unit_test(odd_members_do_not_change_a_request),
		cmocka_unit_test(bad_bodies_are_refused_with_what_is_wrong),
		cmocka_unit_test(recorded_requests_of_a_real_scheduler_are_answered),
	};

	return cmocka_run_group_tests_name("extender", tests, NULL, NULL);
}
