/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.h - which job a pod is of: the pods of a namespace that agree on the first label
 * there is of a list, or have the same controlling owner.  Pure.
 */
#ifndef SCHEDULER_K8S_GROUP_H
#define SCHEDULER_K8S_GROUP_H

#include <stddef.h>

struct json;
struct json_doc;

/* Labels and names of Kubernetes are shorter. */
#define K8S_MAX_TEXT 253

/* Those of antiphase, JobSet, Kubeflow, Volcano, Job, and what people write. */
#define K8S_N_GROUP_LABELS 7
extern const char *const k8s_group_labels[K8S_N_GROUP_LABELS];

/* The object's text of that key, if it is one of a sensible length; else NULL. */
const char *k8s_text_of(const struct json_doc *doc, const struct json *object,
			const char *key);
/* The job's name in its namespace, of a pod's metadata; NULL: the pod is alone. */
const char *k8s_group_of(const char *const *labels, size_t n,
			 const struct json_doc *doc, const struct json *metadata);

#endif
