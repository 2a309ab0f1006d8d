/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extender.h - kube-scheduler's extender webhook: nodes for a pod, chosen for its job
 * as a whole.
 *
 * kube-scheduler asks for one pod at a time: 'filter' returns the suitable nodes, then
 * 'prioritize' scores the rest, 0 to 10. The best node for the first pod may leave no
 * good nodes for the others. So the caller's ranking chooses all nodes of a job
 * together at the request for its first pod, and each pod gets one of them, the same
 * for repeated requests, until it is bound or forgotten. When a chosen node is no longer
 * offered, the pods that have none yet are ranked again. A place is kept from the pods of
 * its own job only; a pod that is not asked about any more loses it after ten minutes.
 *
 * A job is the pods of one namespace that agree on the first label present from a list
 * (opts), or have the same controlling owner, or else the pod alone. Its traffic is
 * declared in annotations, as a profile of one phase:
 *
 *	antiphase.io/period-us   time from iteration to iteration, alone
 *	antiphase.io/comm-us     of that, on the wire
 *	antiphase.io/rate-gbps   at this rate; absent: as fast as the fabric lets
 *	antiphase.io/pods        pods of the job, one a node; absent: 1
 *	antiphase.io/placement   "required": other nodes are filtered out; else they
 *	                         only score less; a job of one pod is not filtered
 *
 * or, without them, comes from the caller's knowledge of the job. If there is none, or
 * no place can be ranked, every node passes and scores 0, as without the extender.
 *
 * Bodies are hostile until checked. Only nodeCacheCapable is supported; a request with
 * whole Node objects gets an error that says so. Pure; O(nodes) per request, and one
 * ranking per job.
 */
#ifndef SCHEDULER_K8S_EXTENDER_H
#define SCHEDULER_K8S_EXTENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/strbuf.h"

struct err;
struct extender;

#define EXTENDER_MAX_NODES 20000
#define EXTENDER_MAX_PODS  10000 /* Of one job. */
#define EXTENDER_MAX_JOBS  20000 /* Remembered; the oldest is forgotten. */

struct extender_job {
	const char *name;            /* "NAMESPACE/NAME", as all here borrowed. */
	uint32_t n_nodes;            /* Nodes to choose. */
	int64_t period_us, comm_us;  /* 0: not declared. */
	double rate_bps;             /* 0: as fast as the fabric lets. */
	const char *const *siblings; /* Nodes that its earlier pods have. */
	size_t n_siblings;
};

/* The result of a ranking; arrays are owned, free with extender_choice_fini(). */
struct extender_choice {
	uint32_t *chosen; /* n_nodes of them, numbers in 'offered'. */
	size_t n_chosen;
	uint32_t *also; /* Of places nearly as good, best first. */
	size_t n_also;
};

/*
 * Ranks places of 'job' among the nodes offered. Returns 0 and a choice; or -errno with
 * a sentence in 'err': the job is unknown (-ENODATA), there is no room (-ENOSPC).
 */
typedef int extender_rank_fn(void *ctx, const struct extender_job *job,
			     const char *const *offered, size_t n_offered,
			     struct extender_choice *ret_choice, struct err *err);
void extender_choice_fini(struct extender_choice *choice);

/* What the extender may do for a job; it ranks and keeps places in any case. */
enum extender_power {
	EXTENDER_OBSERVES, /* Every node passes, and scores 0. */
	EXTENDER_SCORES,   /* Every node passes. */
	EXTENDER_FILTERS,  /* Nodes are filtered for "required" jobs. */
};

struct extender_opts {
	const char *const
		*group_labels; /* NULL: those of Job, JobSet, Kubeflow, Volcano. */
	size_t n_group_labels;
	int64_t forget_us; /* Jobs, pods; since their last request; 0: ten minutes. */
	/* By namespace, with the ranking's ctx; NULL: EXTENDER_FILTERS for all. */
	enum extender_power (*power)(void *ctx, const char *namespace);
	bool is_observing; /* EXTENDER_OBSERVES, whatever 'power' says. */
};

/* The options' texts are borrowed. */
struct extender *extender_new(const struct extender_opts *opts, extender_rank_fn *rank,
			      void *ctx);
void extender_free(struct extender *extender); /* Accepts NULL. */
void extender_observe(struct extender *extender, bool is_observing);

/*
 * Answer one body ('n' bytes, terminated) at wall clock time 'now_us'. Return 0 with
 * the reply in 'out', or -EINVAL with the reason in 'err', for status 400. The reply of
 * filter has a sentence for each node that it rejects.
 */
int extender_filter(struct extender *extender, const char *body, size_t n,
		    int64_t now_us, struct strbuf *out, struct err *err);
int extender_prioritize(struct extender *extender, const char *body, size_t n,
			int64_t now_us, struct strbuf *out, struct err *err);

struct extender_counts {
	uint64_t filters, prioritizes, refused;
	uint64_t rankings, unranked; /* Rankings of jobs; failed ones. */
	uint64_t jobs;               /* Remembered now. */
};
struct extender_counts extender_counts(const struct extender *extender);

#endif
