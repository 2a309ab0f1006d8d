/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/k8s/pod_report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/base/sort.h"
#include "lib/base/strtab.h"
#include "scheduler/k8s/group.h"
#include "topology/k8s.h"

#define LIST "the list of pods"

#define SHIFT  "antiphase.io/shift-us"
#define SLACK  "antiphase.io/slack-us"
#define PACING "antiphase.io/pacing"
#define TOLD   "antiphase.io/told"
#define READS  "antiphase.io/reads-shift"

/* Of the token to continue a list; the server's have some hundred bytes. */
#define MAX_TOKEN 4096

/* The last report to the pods of a job. */
struct reported {
	bool is_reported; /* False: annotations were removed. */
	struct pod_report_advice advice;
	int64_t at_us; /* 0: never. */
};

struct pod_report {
	struct strtab *names;      /* Owned. Jobs. */
	VEC(struct reported) jobs; /* By number in 'names'. */
};

/* A pod of the list; texts are borrowed from it. */
struct pod {
	const char *namespace, *name, *uid, *version;
	const char *shift, *slack, *pacing, *told; /* Annotations, or NULL. */
	bool reads;
};

struct pod_report *
pod_report_new(void)
{
	struct pod_report *report = xcalloc(1, sizeof *report);

	report->names = strtab_new();
	return report;
}

void
pod_report_free(struct pod_report *report)
{
	if (!report)
		return;
	strtab_free(report->names);
	vec_free(&report->jobs);
	free(report);
}

/* ---- Reports ----------------------------------------------------------------------- */

static struct reported *
reported_of(struct pod_report *report, const char *job)
{
	uint32_t id;

	if (strtab_n(report->names) >= POD_REPORT_MAX_JOBS) {
		strtab_free(report->names);
		report->names = strtab_new();
		report->jobs.n = 0;
	}
	id = strtab_intern(report->names, job);
	if (id == report->jobs.n)
		vec_push(&report->jobs, ((struct reported){ .at_us = 0 }));
	return &report->jobs.items[id];
}

static bool
is_near(const struct pod_report_advice *a, const struct pod_report_advice *b)
{
	int64_t slack_us = a->slack_us < b->slack_us ? a->slack_us : b->slack_us;

	return llabs(a->shift_us - b->shift_us) <= slack_us &&
	       strcmp(a->pacing, b->pacing) == 0;
}

/* The advice, the same for all pods of a job until a change is due; false: none. */
static bool
advice_of(struct pod_report *report, const struct pod_report_view *view,
	  const char *job, struct pod_report_advice *ret_advice)
{
	struct pod_report_advice advice;
	bool is_advised = view->advice(view->ctx, job, &advice);
	struct reported *last;

	/* Users choose names: unknown jobs are not kept. */
	if (!is_advised && strtab_find(report->names, job) == STRTAB_NONE)
		return false;
	last = reported_of(report, job);
	if (!last->at_us || view->now_us - last->at_us >= POD_REPORT_CHANGE_US) {
		bool is_other = is_advised != last->is_reported ||
				(is_advised && !is_near(&advice, &last->advice));

		if (is_other) {
			last->is_reported = is_advised;
			last->at_us = view->now_us;
		}
		if (is_other && is_advised)
			last->advice = advice;
	}
	*ret_advice = last->advice;
	return last->is_reported;
}

/* ---- Patches ------------------------------------------------------------------------- */

static void
put_number(struct jsonw *w, const char *key, int64_t value)
{
	char text[24];

	snprintf(text, sizeof text, "%lld", (long long)value);
	jsonw_str(w, key, text);
}

/* 'advice' NULL: removes our annotations. */
static void
add_patch(struct pod_report_round *round, const struct pod *pod, const char *job,
	  const struct pod_report_advice *advice, enum pod_report_why why)
{
	struct pod_report_patch patch = { .why = why };
	struct jsonw w;
	size_t length;
	FILE *out;

	if (round->patches.n >= POD_REPORT_MAX_PATCHES) {
		round->n_left++;
		return;
	}
	out = open_memstream(&patch.body, &length);
	BUG_ON(!out);
	jsonw_init(&w, out);
	jsonw_flat_object(&w, NULL);
	jsonw_object(&w, "metadata");
	/* The server refuses it for a new pod of that name, or a changed one. */
	jsonw_str(&w, "uid", pod->uid);
	jsonw_str(&w, "resourceVersion", pod->version);
	jsonw_object(&w, "annotations");
	if (advice) {
		put_number(&w, SHIFT, advice->shift_us);
		put_number(&w, SLACK, advice->slack_us);
		jsonw_str(&w, PACING, advice->pacing);
		put_number(&w, TOLD, advice->shift_us);
		patch.shift_us = advice->shift_us;
	} else {
		jsonw_null(&w, SHIFT);
		jsonw_null(&w, SLACK);
		jsonw_null(&w, PACING);
		jsonw_null(&w, TOLD);
	}
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
	fclose(out);
	patch.job = xstrdup(job);
	patch.path =
		xasprintf("/api/v1/namespaces/%s/pods/%s", pod->namespace, pod->name);
	vec_push(&round->patches, patch);
}

static bool
is_number(const char *text, int64_t value)
{
	char own[24];

	snprintf(own, sizeof own, "%lld", (long long)value);
	return text && strcmp(text, own) == 0;
}

static bool
says(const struct pod *pod, const struct pod_report_advice *advice)
{
	return is_number(pod->shift, advice->shift_us) &&
	       is_number(pod->slack, advice->slack_us) && pod->pacing &&
	       strcmp(pod->pacing, advice->pacing) == 0;
}

static void
check_pod(struct pod_report *report, const struct pod_report_view *view,
	  const struct pod *pod, const char *job, struct pod_report_round *round)
{
	bool is_ours = pod->told && pod->shift && strcmp(pod->told, pod->shift) == 0;
	bool may = !view->is_ending && view->may_annotate(view->ctx, pod->namespace);
	struct pod_report_advice advice;

	if (may && pod->reads)
		view->reads(view->ctx, job);
	if (!is_ours && (pod->shift || pod->told)) {
		round->n_others++;
		return;
	}
	round->n_annotated += is_ours;
	if (may && advice_of(report, view, job, &advice)) {
		if (!says(pod, &advice))
			add_patch(round, pod, job, &advice, POD_REPORT_ADVISED);
	} else if (is_ours && !may) {
		add_patch(round, pod, job, NULL, POD_REPORT_STOPPED);
	} else if (is_ours && !view->is_waiting) {
		add_patch(round, pod, job, NULL, POD_REPORT_NO_ADVICE);
	}
}

/* ---- Reading ------------------------------------------------------------------------- */

/* False for an invalid pod. */
static bool
read_pod(const struct json_doc *doc, const struct json *metadata, struct pod *ret_pod)
{
	const struct json *annotations = json_find(metadata, "annotations");
	const char *reads;

	if (annotations && json_as_object(doc, annotations, NULL) < 0)
		return false;
	reads = k8s_text_of(doc, annotations, READS);
	*ret_pod = (struct pod){
		.namespace = k8s_text_of(doc, metadata, "namespace"),
		.name = k8s_text_of(doc, metadata, "name"),
		.uid = k8s_text_of(doc, metadata, "uid"),
		.version = k8s_text_of(doc, metadata, "resourceVersion"),
		.shift = k8s_text_of(doc, annotations, SHIFT),
		.slack = k8s_text_of(doc, annotations, SLACK),
		.pacing = k8s_text_of(doc, annotations, PACING),
		.told = k8s_text_of(doc, annotations, TOLD),
		.reads = reads && strcmp(reads, "true") == 0,
	};
	return ret_pod->namespace && ret_pod->name && ret_pod->uid &&
	       ret_pod->version && k8s_name_is_valid(ret_pod->namespace) &&
	       k8s_name_is_valid(ret_pod->name);
}

static void
read_item(struct pod_report *report, const struct json_doc *doc,
	  const struct json *item, const struct pod_report_view *view,
	  struct pod_report_round *round)
{
	const struct json *metadata;
	const char *group;
	struct pod pod;
	char *job;

	if (json_as_object(doc, item, NULL) < 0 ||
	    !(metadata = json_find(item, "metadata")) ||
	    json_as_object(doc, metadata, NULL) < 0 || !read_pod(doc, metadata, &pod))
		return;
	round->n_pods++;
	group = k8s_group_of(k8s_group_labels, K8S_N_GROUP_LABELS, doc, metadata);
	job = xasprintf("%s/%s", pod.namespace, group ? group : pod.name);
	check_pod(report, view, &pod, job, round);
	free(job);
}

int
pod_report_read(struct pod_report *report, const char *text, size_t n,
		const struct pod_report_view *view, struct pod_report_round *round,
		struct err *err)
{
	const struct json *items, *metadata;
	const char *next = NULL;
	struct json_doc *doc;
	size_t n_items;
	int r = json_parse(LIST, text, n, &doc, err);

	if (r < 0)
		return r;
	r = json_as_object(doc, json_root(doc), err);
	if (r == 0)
		r = json_get_array(doc, json_root(doc), "items", &items, &n_items, err);
	if (r < 0) {
		json_doc_free(doc);
		return r;
	}
	metadata = json_find(json_root(doc), "metadata");
	if (metadata && json_as_object(doc, metadata, NULL) == 0)
		json_opt_str(doc, metadata, "continue", &next, NULL);
	free(round->next);
	round->next = next && *next && strlen(next) <= MAX_TOKEN ? xstrdup(next) : NULL;
	for (const struct json *item = json_first(items); item; item = json_next(item))
		read_item(report, doc, item, view, round);
	json_doc_free(doc);
	return 0;
}

/* ---- Rounds -------------------------------------------------------------------------- */

static int
compare_patches(const void *a, const void *b)
{
	const struct pod_report_patch *x = a, *y = b;
	int order = strcmp(x->job, y->job);

	if (order == 0)
		order = (int)x->why - (int)y->why;
	return order ? order : strcmp(x->path, y->path);
}

void
pod_report_round_sort(struct pod_report_round *round)
{
	sort_items(round->patches.items, round->patches.n, compare_patches);
}

bool
pod_report_is_same_group(const struct pod_report_patch *a,
			 const struct pod_report_patch *b)
{
	return a->why == b->why && strcmp(a->job, b->job) == 0;
}

void
pod_report_round_fini(struct pod_report_round *round)
{
	for (size_t i = 0; i < round->patches.n; i++) {
		free(round->patches.items[i].job);
		free(round->patches.items[i].path);
		free(round->patches.items[i].body);
	}
	vec_free(&round->patches);
	free(round->next);
	*round = (struct pod_report_round){ .next = NULL };
}
