/*
 * pods.h - shifts of jobs as annotations of their pods (tell.h), at the API server of
 * Kubernetes: listed every PODS_LIST_NS, patched one after another where something is to
 * change, and at our end taken back.
 *
 * Only where 'kubernetes_api' in [scheduler] names the API server (https://...; with
 * 'kubernetes_ca_file' and 'kubernetes_token_file') or 'kubectl proxy' on this host.
 * Without an answer nothing is done, and nothing waits for one.
 */
#ifndef SCHEDULER_DAEMON_PODS_H
#define SCHEDULER_DAEMON_PODS_H

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/daemon/daemon.h"

#define PODS_LIST_NS    (5 * DAEMON_SECOND_NS)
#define PODS_TIMEOUT_NS (4 * DAEMON_SECOND_NS)
#define PODS_PER_SECOND 50 /* Patches; at our end as many as it takes. */
/* So long after our start nothing is taken back for want of advice. */
#define PODS_SETTLE_NS (60 * DAEMON_SECOND_NS)

struct pods_counts {
	uint64_t n_told;              /* Now: with an annotation of ours. */
	uint64_t n_changed, n_failed; /* Patches so far; the server's refusals. */
};

/* 0, or -errno with 'err' filled; nothing is asked for yet. */
int pods_open(struct daemon *d, struct err *err);
void pods_close(struct daemon *d);
void pods_tick(struct daemon *d); /* Each second. */
/* As actions_end(). */
bool pods_end(struct daemon *d);
/* False if there is no server to ask. */
bool pods_counts(const struct daemon *d, struct pods_counts *ret_counts);

#endif
