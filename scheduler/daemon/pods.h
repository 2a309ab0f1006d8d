/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pods.h - shifts of jobs as annotations of their pods (pod_report.h), at the API server of
 * Kubernetes.
 *
 * Pods are listed every PODS_LIST_NS and patched one after another where an annotation is
 * to change; at the end of the daemon annotations are removed.  The setting kubernetes_api
 * names the API server (https://..., with kubernetes_ca_file and kubernetes_token_file) or
 * 'kubectl proxy' on this host.  Without an answer nothing is done, and nothing waits.
 */
#ifndef SCHEDULER_DAEMON_PODS_H
#define SCHEDULER_DAEMON_PODS_H

#include <stdbool.h>
#include <stdint.h>

#define PODS_LIST_NS    INT64_C(5000000000)
#define PODS_TIMEOUT_NS INT64_C(4000000000)
#define PODS_PER_SECOND 50 /* Patches; at our end as many as it takes. */
/* So long after our start nothing is taken back for want of advice. */
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
	uint64_t n_annotated;         /* Now: with an annotation of ours. */
	uint64_t n_changed, n_failed; /* Patches so far; the server's refusals. */
};

/*
 * 0, and '*ret_pods' is NULL if the settings name no server; or -errno with 'err' filled.
 * Nothing is asked for yet.
 */
int pods_open(const struct pods_opts *opts, struct pods **ret_pods, struct err *err);
void pods_close(struct pods *pods);
void pods_tick(struct pods *pods); /* Each second. */
/* As actions_end(). */
bool pods_end(struct pods *pods);
/* False if there is no server to ask. */
bool pods_counts(const struct pods *pods, struct pods_counts *ret_counts);

#endif
