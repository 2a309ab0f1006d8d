/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/k8s/group.h"

#include <string.h>

#include "lib/base/json.h"

const char *const k8s_group_labels[K8S_N_GROUP_LABELS] = {
	"antiphase.io/job",
	"jobset.sigs.k8s.io/jobset-name",
	"training.kubeflow.org/job-name",
	"volcano.sh/job-name",
	"batch.kubernetes.io/job-name",
	"job-name",
	"job",
};

const char *
k8s_text_of(const struct json_doc *doc, const struct json *object, const char *key)
{
	const char *text = NULL;

	if (!object || json_opt_str(doc, object, key, &text, NULL) < 0 || !text ||
	    !*text || strlen(text) > K8S_MAX_TEXT)
		return NULL;
	return text;
}

const char *
k8s_group_of(const char *const *group_labels, size_t n, const struct json_doc *doc,
	     const struct json *metadata)
{
	const struct json *labels = json_find(metadata, "labels"), *owners;

	for (size_t i = 0; i < n; i++) {
		const char *group = k8s_text_of(doc, labels, group_labels[i]);

		if (group)
			return group;
	}
	owners = json_find(metadata, "ownerReferences");
	for (const struct json *owner = owners ? json_first(owners) : NULL; owner;
	     owner = json_next(owner)) {
		bool is_controller = false;
		const char *uid;

		if (json_as_object(doc, owner, NULL) < 0)
			break;
		json_opt_bool(doc, owner, "controller", &is_controller, NULL);
		uid = k8s_text_of(doc, owner, "uid");
		if (is_controller && uid)
			return uid;
	}
	return NULL;
}
