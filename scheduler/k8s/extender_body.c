/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "scheduler/k8s/extender_priv.h"
#include "scheduler/k8s/group.h"

#define BODY "the request"

#define PREFIX "antiphase.io/"

/* Reads a number in a text, as annotations have it. */
static int
number_of(const struct json_doc *doc, const struct json *annotations, const char *key,
	  double min, double max, double *ret_value, struct err *err)
{
	const struct json *value = annotations ? json_find(annotations, key) : NULL;
	const char *text;
	double number;
	char *end;

	if (!value)
		return 0;
	if (json_as_str(doc, value, &text, err) < 0)
		return -EINVAL;
	errno = 0;
	number = strtod(text, &end);
	if (!*text || *end || errno || !(number >= min && number <= max))
		return json_fail(doc, value, err,
				 "'%s' is '%.40s'; expected a number from %g to %g",
				 key, text, min, max);
	*ret_value = number;
	return 0;
}

static int
parse_annotations(const struct json_doc *doc, const struct json *metadata,
		  struct extender_ask *ask, struct err *err)
{
	const struct json *annotations = json_find(metadata, "annotations");
	double period_us = 0, comm_us = 0, rate_gbps = 0, pods = 1;
	const char *placement;

	if (annotations && json_as_object(doc, annotations, err) < 0)
		return -EINVAL;
	if (number_of(doc, annotations, PREFIX "period-us", 1, 3.6e9, &period_us, err) <
		    0 ||
	    number_of(doc, annotations, PREFIX "comm-us", 1, 3.6e9, &comm_us, err) <
		    0 ||
	    number_of(doc, annotations, PREFIX "rate-gbps", 1e-6, 1e6, &rate_gbps,
		      err) < 0 ||
	    number_of(doc, annotations, PREFIX "pods", 1, EXTENDER_MAX_PODS, &pods,
		      err) < 0)
		return -EINVAL;
	if (comm_us > period_us)
		return json_fail(doc, annotations, err,
				 PREFIX "comm-us is above " PREFIX "period-us");
	ask->period_us = llround(period_us);
	ask->comm_us = llround(comm_us);
	ask->rate_bps = rate_gbps * 1e9;
	ask->n_pods = (uint32_t)pods;
	placement = k8s_text_of(doc, annotations, PREFIX "placement");
	if (placement && strcmp(placement, "required") != 0 &&
	    strcmp(placement, "preferred") != 0)
		return json_fail(doc, json_find(annotations, PREFIX "placement"), err,
				 PREFIX "placement is '%.40s'; expected 'required' or "
					"'preferred'",
				 placement);
	ask->is_required = placement && strcmp(placement, "required") == 0;
	return 0;
}

static int
parse_nodes(const struct json_doc *doc, const struct json *root,
	    struct extender_ask *ask, struct err *err)
{
	const struct json *names = NULL;
	size_t n = 0;

	if (json_get_array(doc, root, "NodeNames", &names, &n, NULL) < 0)
		return json_fail(doc, root, err,
				 "has no NodeNames; set nodeCacheCapable: true for "
				 "this extender");
	if (n > EXTENDER_MAX_NODES)
		return json_fail(doc, names, err, "has %zu nodes; at most %d are taken",
				 n, EXTENDER_MAX_NODES);
	vec_reserve(&ask->nodes, n);
	for (const struct json *name = json_first(names); name;
	     name = json_next(name)) {
		const char *text;

		if (json_as_str(doc, name, &text, err) < 0)
			return -EINVAL;
		if (!*text || strlen(text) > K8S_MAX_TEXT)
			return json_fail(doc, name, err,
					 "is not a valid name of a node");
		vec_push(&ask->nodes, text);
	}
	return 0;
}

static int
parse_pod(const struct extender_opts *opts, const struct json_doc *doc,
	  const struct json *root, struct extender_ask *ask, struct err *err)
{
	const struct json *pod = json_find(root, "Pod"), *metadata;
	const char *namespace, *name, *uid, *group;

	if (!pod || json_as_object(doc, pod, NULL) < 0 ||
	    !(metadata = json_find(pod, "metadata")) ||
	    json_as_object(doc, metadata, NULL) < 0)
		return json_fail(
			doc, root, err,
			"has no Pod with metadata; is it from kube-scheduler?");
	name = k8s_text_of(doc, metadata, "name");
	if (!name)
		return json_fail(doc, metadata, err, "the pod has no name");
	namespace = k8s_text_of(doc, metadata, "namespace");
	uid = k8s_text_of(doc, metadata, "uid");
	group = k8s_group_of(opts->group_labels, opts->n_group_labels, doc, metadata);
	ask->job = xasprintf("%s/%s", namespace ? namespace : "default",
			     group ? group : name);
	ask->pod = xstrdup(uid ? uid : name);
	return parse_annotations(doc, metadata, ask, err);
}

int
extender_ask_parse(const struct extender_opts *opts, const char *body, size_t n,
		   struct extender_ask *ret_ask, struct err *err)
{
	struct extender_ask ask = { 0 };
	const struct json *root;
	int rc = json_parse(BODY, body, n, &ask.doc, err);

	if (rc < 0)
		return rc;
	root = json_root(ask.doc);
	rc = json_as_object(ask.doc, root, err);
	if (rc == 0)
		rc = parse_pod(opts, ask.doc, root, &ask, err);
	if (rc == 0)
		rc = parse_nodes(ask.doc, root, &ask, err);
	if (rc < 0) {
		extender_ask_fini(&ask);
		return rc;
	}
	*ret_ask = ask;
	return 0;
}

void
extender_ask_fini(struct extender_ask *ask)
{
	free(ask->job);
	free(ask->pod);
	vec_free(&ask->nodes);
	json_doc_free(ask->doc);
	*ask = (struct extender_ask){ 0 };
}
