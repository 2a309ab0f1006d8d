/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advise_k8s.h - an advice as lines of kubectl: each job's shift as an annotation of
 * its pods, from where a downward API volume brings it to the job.
 */
#ifndef CLI_ADVISE_K8S_H
#define CLI_ADVISE_K8S_H

#include <stdio.h>

struct advice_doc;
struct err;

#define ADVISE_K8S_LABEL "batch.kubernetes.io/job-name"

/*
 * Prints a line "kubectl annotate" for each placed job; its pods are those whose label
 * 'label' is the job's name, which may be "NAMESPACE/NAME".  Waiting jobs are comments.
 * Returns 0, or -EINVAL with 'err' filled, and nothing printed, if a name or the key is
 * invalid in Kubernetes.
 */
int advise_k8s_print(const struct advice_doc *doc, const char *label, FILE *out,
		     struct err *err);

#endif
