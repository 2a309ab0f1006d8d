/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pods.h - shifts of jobs as annotations of their pods (pod_report.h), at the API
 * server of Kubernetes.
 *
 * Every PODS_LIST_NS pods are listed, and patched one after another where an annotation
 * has to change; the end of the daemon removes annotations. The setting kubernetes_api
 * names the API server (https://..., with kubernetes_ca_file and kubernetes_token_file)
 * or 'kubectl proxy' on this host. Without an answer no pod changes, and the daemon
 * goes on.
 */
#ifndef SCHEDULER_DAEMON_PODS_H
#define SCHEDULER_DAEMON_PODS_H

#include <stdbool.h>
#include <stdint.h>

#define PODS_LIST_NS    INT64_C(5000000000)
#define PODS_TIMEOUT_NS INT64_C(4000000000)
#define PODS_PER_SECOND 50 /* Patches; no limit at the end of the daemon. */
/* For this long after the start, missing advice removes no annotation. */
#define PODS_SETTLE_NS INT64_C(60000000000)

struct err;
struct jobs;
struct loop;
struct modes;
struct pods;
struct scheduler_config;
struct store;

struct pods_opts {
	struct loop *loop; /* Borrowed, as all here. */
	const struct scheduler_config *config;
	struct jobs *jobs;
	const struct modes *modes; /* By namespace. */
	struct store *store;       /* For the log; NULL: none. */
};

struct pods_counts {
	uint64_t n_annotated;         /* Pods that have an annotation of ours now. */
	uint64_t n_changed, n_failed; /* Patches so far; the server's refusals. */
};

/*
 * 0, and '*ret_pods' is NULL if the settings name no server; or -errno with 'err'
 * filled. Sends no request yet.
 */
int pods_open(const struct pods_opts *opts, struct pods **ret_pods, struct err *err);
void pods_close(struct pods *pods);
void pods_tick(struct pods *pods); /* Each second. */
/* As actions_end(). */
bool pods_end(struct pods *pods);
/* False without a server. */
bool pods_counts(const struct pods *pods, struct pods_counts *ret_counts);

#endif
