/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extender_body.c - kube-scheduler's requests, read in one pass without a tree: a body of
 * some megabytes must not hold the daemon's loop (tests/bench/bench_extender.c).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/json_scan.h"
#include "scheduler/k8s/extender_priv.h"
#include "scheduler/k8s/group.h"

#define BODY "the request"

#define PREFIX "antiphase.io/"

/* Longer keys are none of ours. */
#define MAX_KEY 128

/* What is read of a request; of a key that is there twice, the first counts. */
struct reader {
	const struct extender_opts *opts;
	struct json_scan scan;
	struct err *err;
	struct extender_ask *ask;
	bool has_pod, has_metadata, has_labels, has_annotations, has_owners, has_names;
	char name[K8S_MAX_TEXT + 1], namespace[K8S_MAX_TEXT + 1], uid[K8S_MAX_TEXT + 1];
	size_t n_labels;              /* Place in the list of the best label so far. */
	char group[K8S_MAX_TEXT + 1]; /* Its value; "": none. */
	char owner[K8S_MAX_TEXT + 1]; /* Uid of the controlling owner; "": none. */
	VEC(size_t) starts;           /* Of the nodes' names in ask->names. */
};

/* Enters an object if it is the first of its key, else skips the value. */
static bool
enter(struct reader *r, char bracket, bool *is_read)
{
	if (!*is_read && json_scan_begin(&r->scan, bracket)) {
		*is_read = true;
		return true;
	}
	json_scan_skip(&r->scan);
	return false;
}

/* Takes a text of valid length, the first one; skips any other value. */
static void
take_text(struct reader *r, char (*text)[K8S_MAX_TEXT + 1])
{
	if (**text || !json_scan_text(&r->scan, *text, sizeof *text))
		json_scan_skip(&r->scan);
}

/* ---- Annotations ----------------------------------------------------------------- */

/* A number in a text, as annotations have it. */
struct number {
	const char *key; /* After the prefix. */
	double min, max;
	double value;
	bool is_read;
};

static int
read_number(struct reader *r, struct number *number)
{
	char text[64], *end;
	struct json_scan at = r->scan;
	double value;

	if (json_scan_peek(&r->scan) != '"')
		return json_scan_fail(&at, BODY, r->err, "'%s%s' is not a text", PREFIX,
				      number->key);
	if (!json_scan_text(&r->scan, text, sizeof text)) {
		json_scan_skip(&r->scan);
		strcpy(text, "...");
	}
	errno = 0;
	value = strtod(text, &end);
	if (!*text || *end || errno || !(value >= number->min && value <= number->max))
		return json_scan_fail(
			&at, BODY, r->err,
			"'%s%s' is '%.40s'; expected a number from %g to %g", PREFIX,
			number->key, text, number->min, number->max);
	if (!number->is_read)
		number->value = value;
	number->is_read = true;
	return 0;
}

static int
read_placement(struct reader *r, bool *is_read)
{
	struct json_scan at = r->scan;
	char text[K8S_MAX_TEXT + 1] = "";

	take_text(r, &text);
	if (!*text || *is_read)
		return 0;
	*is_read = true;
	if (strcmp(text, "required") != 0 && strcmp(text, "preferred") != 0)
		return json_scan_fail(&at, BODY, r->err,
				      PREFIX "placement is '%.40s'; expected "
					     "'required' or 'preferred'",
				      text);
	r->ask->is_required = strcmp(text, "required") == 0;
	return 0;
}

static int
read_annotations(struct reader *r)
{
	struct number numbers[] = {
		{ "period-us", 1, 3.6e9, 0, false },
		{ "comm-us", 1, 3.6e9, 0, false },
		{ "rate-gbps", 1e-6, 1e6, 0, false },
		{ "pods", 1, EXTENDER_MAX_PODS, 1, false },
	};
	const size_t n_numbers = sizeof numbers / sizeof *numbers;
	struct json_scan at = r->scan;
	bool has_placement = false;
	char key[MAX_KEY];

	if (!enter(r, '{', &r->has_annotations))
		return 0;
	while (json_scan_member(&r->scan, key, sizeof key)) {
		struct number *number = NULL;
		int rc = 0;

		if (strncmp(key, PREFIX, strlen(PREFIX)) == 0)
			for (size_t i = 0; i < n_numbers; i++)
				if (strcmp(key + strlen(PREFIX), numbers[i].key) == 0)
					number = &numbers[i];
		if (number)
			rc = read_number(r, number);
		else if (strcmp(key, PREFIX "placement") == 0)
			rc = read_placement(r, &has_placement);
		else
			json_scan_skip(&r->scan);
		if (rc < 0)
			return rc;
	}
	if (numbers[1].value > numbers[0].value)
		return json_scan_fail(&at, BODY, r->err,
				      PREFIX "comm-us is above " PREFIX "period-us");
	r->ask->period_us = llround(numbers[0].value);
	r->ask->comm_us = llround(numbers[1].value);
	r->ask->rate_bps = numbers[2].value * 1e9;
	r->ask->n_pods = (uint32_t)numbers[3].value;
	return 0;
}

/* ---- The pod ------------------------------------------------------------------------ */

/* The rest is as k8s_group_of() has it. */
static void
read_labels(struct reader *r)
{
	char key[MAX_KEY];

	if (!enter(r, '{', &r->has_labels))
		return;
	while (json_scan_member(&r->scan, key, sizeof key)) {
		char text[K8S_MAX_TEXT + 1];
		size_t i = 0;

		while (i < r->n_labels && strcmp(key, r->opts->group_labels[i]) != 0)
			i++;
		if (i == r->n_labels) {
			json_scan_skip(&r->scan);
			continue;
		}
		*text = '\0';
		take_text(r, &text);
		if (*text) {
			r->n_labels = i; /* Only better ones from now on. */
			strcpy(r->group, text);
		}
	}
}

static void
read_owners(struct reader *r)
{
	if (!enter(r, '[', &r->has_owners))
		return;
	while (json_scan_element(&r->scan)) {
		char key[MAX_KEY], uid[K8S_MAX_TEXT + 1];
		bool is_controller = false;

		*uid = '\0';
		if (!json_scan_begin(&r->scan, '{')) {
			json_scan_skip(&r->scan);
			continue;
		}
		while (json_scan_member(&r->scan, key, sizeof key))
			if (strcmp(key, "uid") == 0)
				take_text(r, &uid);
			else if (strcmp(key, "controller") == 0 &&
				 json_scan_true(&r->scan))
				is_controller = true;
			else
				json_scan_skip(&r->scan);
		if (is_controller && !*r->owner)
			strcpy(r->owner, uid);
	}
}

static int
read_metadata(struct reader *r)
{
	char key[MAX_KEY];

	if (!enter(r, '{', &r->has_metadata))
		return 0;
	while (json_scan_member(&r->scan, key, sizeof key)) {
		int rc = 0;

		if (strcmp(key, "name") == 0)
			take_text(r, &r->name);
		else if (strcmp(key, "namespace") == 0)
			take_text(r, &r->namespace);
		else if (strcmp(key, "uid") == 0)
			take_text(r, &r->uid);
		else if (strcmp(key, "labels") == 0)
			read_labels(r);
		else if (strcmp(key, "ownerReferences") == 0)
			read_owners(r);
		else if (strcmp(key, "annotations") == 0)
			rc = read_annotations(r);
		else
			json_scan_skip(&r->scan);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int
read_pod(struct reader *r)
{
	char key[MAX_KEY];
	int rc = 0;

	if (!enter(r, '{', &r->has_pod))
		return 0;
	while (rc == 0 && json_scan_member(&r->scan, key, sizeof key))
		if (strcmp(key, "metadata") == 0)
			rc = read_metadata(r);
		else
			json_scan_skip(&r->scan);
	return rc;
}

/* ---- The request -------------------------------------------------------------------- */

static int
read_nodes(struct reader *r)
{
	char text[K8S_MAX_TEXT + 1];

	if (!enter(r, '[', &r->has_names))
		return 0;
	while (json_scan_element(&r->scan)) {
		struct json_scan at = r->scan;

		if (r->starts.n == EXTENDER_MAX_NODES)
			return json_scan_fail(&at, BODY, r->err,
					      "has more than %d nodes",
					      EXTENDER_MAX_NODES);
		if (!json_scan_text(&r->scan, text, sizeof text) || !*text)
			return r->scan.why ? 0
					   : json_scan_fail(
						     &at, BODY, r->err,
						     "is not a valid name of a node");
		vec_push(&r->starts, r->ask->names.length);
		strbuf_add(&r->ask->names, text, strlen(text) + 1);
	}
	return 0;
}

static int
read_root(struct reader *r)
{
	struct json_scan at = r->scan;
	char key[MAX_KEY];
	int rc = 0;

	if (!json_scan_begin(&r->scan, '{')) {
		json_scan_skip(&r->scan);
		rc = json_scan_end(&r->scan, BODY, r->err);
		return rc < 0 ? rc
			      : json_scan_fail(&at, BODY, r->err, "expected an object");
	}
	while (rc == 0 && json_scan_member(&r->scan, key, sizeof key))
		if (strcmp(key, "Pod") == 0)
			rc = read_pod(r);
		else if (strcmp(key, "NodeNames") == 0)
			rc = read_nodes(r);
		else
			json_scan_skip(&r->scan);
	if (rc == 0)
		rc = json_scan_end(&r->scan, BODY, r->err);
	if (rc < 0)
		return rc;
	if (!r->has_metadata)
		return json_scan_fail(
			&at, BODY, r->err,
			"has no Pod with metadata; is it from kube-scheduler?");
	if (!*r->name)
		return json_scan_fail(&at, BODY, r->err, "the pod has no name");
	if (!r->has_names)
		return json_scan_fail(&at, BODY, r->err,
				      "has no NodeNames; set nodeCacheCapable: true "
				      "for this extender");
	return 0;
}

int
extender_ask_parse(const struct extender_opts *opts, const char *body, size_t n,
		   struct extender_ask *ret_ask, struct err *err)
{
	struct extender_ask ask = { .n_pods = 1, .names = STRBUF_EMPTY };
	struct reader r = {
		.opts = opts, .err = err, .ask = &ask, .n_labels = opts->n_group_labels
	};
	int rc;

	json_scan_init(&r.scan, body, n);
	rc = read_root(&r);
	if (rc == 0) {
		ask.job = xasprintf("%s/%s", *r.namespace ? r.namespace : "default",
				    *r.group   ? r.group
				    : *r.owner ? r.owner
					       : r.name);
		ask.pod = xstrdup(*r.uid ? r.uid : r.name);
		/* The names stay where they are from now on. */
		vec_reserve(&ask.nodes, r.starts.n);
		for (size_t i = 0; i < r.starts.n; i++)
			vec_push(&ask.nodes, ask.names.text + r.starts.items[i]);
	}
	vec_free(&r.starts);
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
	strbuf_free(&ask->names);
	*ask = (struct extender_ask){ .names = STRBUF_EMPTY };
}
