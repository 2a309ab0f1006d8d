/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extender_priv.h - what the extender's files share.
 *
 *	extender.c        jobs, their places, and the answers
 *	extender_body.c   kube-scheduler's requests
 */
#ifndef SCHEDULER_K8S_EXTENDER_PRIV_H
#define SCHEDULER_K8S_EXTENDER_PRIV_H

#include "lib/base/vec.h"
#include "scheduler/k8s/extender.h"

/* One request, parsed. */
struct extender_ask {
	char *job,
		*pod; /* Owned.  "NAMESPACE/NAME" of the job; the pod's uid or name. */
	uint32_t n_pods;
	int64_t period_us, comm_us;
	double rate_bps;
	bool is_required;
	VEC(const char *) nodes; /* Point into 'names'. */
	struct strbuf names;
};

/* Returns 0, or -EINVAL with 'err' filled.  Release with extender_ask_fini(). */
int extender_ask_parse(const struct extender_opts *opts, const char *body, size_t n,
		       struct extender_ask *ret_ask, struct err *err);
void extender_ask_fini(struct extender_ask *ask); /* Accepts a zeroed one. */

#endif
