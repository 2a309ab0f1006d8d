/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.h - the job of a pod: the pods of a namespace that agree on the first label
 * present from a list, or have the same controlling owner. Pure.
 */
#ifndef SCHEDULER_K8S_GROUP_H
#define SCHEDULER_K8S_GROUP_H

#include <stddef.h>

struct json;
struct json_doc;

/* The limit for labels and names in Kubernetes. */
#define K8S_MAX_TEXT 253

/* Those of antiphase, JobSet, Kubeflow, Volcano, Job, and one in common use. */
#define K8S_N_GROUP_LABELS 7
extern const char *const k8s_group_labels[K8S_N_GROUP_LABELS];

/* The object's text under that key if its length is valid; else NULL. */
const char *k8s_text_of(const struct json_doc *doc, const struct json *object,
			const char *key);
/* The job's name in its namespace, from a pod's metadata; NULL: the pod is alone. */
const char *k8s_group_of(const char *const *labels, size_t n,
			 const struct json_doc *doc, const struct json *metadata);

#endif
