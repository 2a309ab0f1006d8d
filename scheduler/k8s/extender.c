/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/k8s/extender.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define uthash_fatal(msg) BUG("uthash: %s", msg)
#include <uthash.h>

#include "lib/base/err.h"
#include "lib/base/jsonw.h"
#include "lib/base/strtab.h"
#include "scheduler/k8s/extender_priv.h"
#include "scheduler/k8s/group.h"

#define FORGET_US INT64_C(600000000)
/* A failed ranking of a job is not repeated for this long. */
#define RETRY_US INT64_C(1000000)

/* Scores: the pod's own node, others of its job, places nearly as good, the rest. */
#define SCORE_OWN    10
#define SCORE_CHOSEN 8
#define SCORE_ALSO   6 /* And down to 3, by rank. */

#define NO_POD UINT32_MAX

/* A node that a job may use: chosen, or nearly as good. */
struct plan_node {
	bool is_chosen;
	uint32_t rank; /* Among those nearly as good. */
	uint32_t pod;  /* The pod that has it, or NO_POD. */
};

struct pod {
	int64_t asked_us; /* Its last request; the pod is forgotten like a job. */
	bool is_known;    /* False: forgotten, the number is free. */
	uint32_t node;    /* In the plan, or STRTAB_NONE. */
};

struct job {
	char *name; /* Owned; the key. */
	int64_t asked_us, tried_us;
	uint32_t n_declared; /* Of its pods. */
	uint32_t n_pods;     /* The same, or the known ones, if these are more. */
	uint32_t n_known, n_also;
	struct strtab *names; /* Of the plan's nodes; the number is that in 'nodes'. */
	VEC(struct plan_node) nodes;
	struct strtab *uids; /* Of pods; the number is that in 'pods'. */
	VEC(struct pod) pods;
	UT_hash_handle hh; /* By time of the last request. */
};

struct extender {
	struct extender_opts opts;
	extender_rank_fn *rank;
	void *ctx;
	struct job *jobs;
	struct extender_counts counts;
};

struct extender *
extender_new(const struct extender_opts *opts, extender_rank_fn *rank, void *ctx)
{
	struct extender *extender = xcalloc(1, sizeof *extender);

	if (opts)
		extender->opts = *opts;
	if (!extender->opts.group_labels) {
		extender->opts.group_labels = k8s_group_labels;
		extender->opts.n_group_labels = K8S_N_GROUP_LABELS;
	}
	if (!extender->opts.forget_us)
		extender->opts.forget_us = FORGET_US;
	extender->rank = rank;
	extender->ctx = ctx;
	return extender;
}

static void
forget(struct extender *extender, struct job *job)
{
	HASH_DEL(extender->jobs, job);
	vec_free(&job->pods);
	vec_free(&job->nodes);
	strtab_free(job->uids);
	strtab_free(job->names);
	free(job->name);
	free(job);
}

void
extender_free(struct extender *extender)
{
	if (!extender)
		return;
	while (extender->jobs)
		forget(extender, extender->jobs);
	free(extender);
}

void
extender_observe(struct extender *extender, bool is_observing)
{
	extender->opts.is_observing = is_observing;
}

void
extender_choice_fini(struct extender_choice *choice)
{
	free(choice->chosen);
	free(choice->also);
	*choice = (struct extender_choice){ 0 };
}

struct extender_counts
extender_counts(const struct extender *extender)
{
	struct extender_counts counts = extender->counts;

	counts.jobs = HASH_COUNT(extender->jobs);
	return counts;
}

/* ---- Jobs and their pods ----------------------------------------------------------- */

/* Gives up the places of pods that were not asked about for as long as a job is kept. */
static void
forget_pods(const struct extender *extender, struct job *job, int64_t now_us)
{
	for (uint32_t i = 0; i < job->pods.n; i++) {
		struct pod *pod = &job->pods.items[i];

		if (!pod->is_known ||
		    now_us - pod->asked_us <= extender->opts.forget_us)
			continue;
		if (pod->node != STRTAB_NONE)
			job->nodes.items[pod->node].pod = NO_POD;
		strtab_remove(job->uids, i);
		pod->is_known = false;
		pod->node = STRTAB_NONE;
		job->n_known--;
	}
}

static struct job *
job_of(struct extender *extender, const struct extender_ask *ask, int64_t now_us)
{
	struct job *job;

	/* The first job has the oldest request. */
	while (extender->jobs &&
	       (now_us - extender->jobs->asked_us > extender->opts.forget_us ||
		HASH_COUNT(extender->jobs) >= EXTENDER_MAX_JOBS))
		forget(extender, extender->jobs);
	HASH_FIND_STR(extender->jobs, ask->job, job);
	if (job) {
		HASH_DEL(extender->jobs, job);
	} else {
		job = xcalloc(1, sizeof *job);
		job->name = xstrdup(ask->job);
		job->tried_us = INT64_MIN;
		job->names = strtab_new();
		job->uids = strtab_new();
	}
	job->asked_us = now_us;
	if (ask->n_pods > job->n_declared)
		job->n_declared = ask->n_pods;
	forget_pods(extender, job, now_us);
	HASH_ADD_KEYPTR(hh, extender->jobs, job->name, strlen(job->name), job);
	return job;
}

/* The pod, added if it is new; NO_POD if there are too many. */
static uint32_t
pod_of(struct job *job, const char *uid, int64_t now_us)
{
	uint32_t number = strtab_find(job->uids, uid);

	if (number == STRTAB_NONE) {
		if (job->n_known == EXTENDER_MAX_PODS)
			return NO_POD;
		number = strtab_intern(job->uids, uid);
		if (number == job->pods.n)
			vec_push(&job->pods, ((struct pod){ .is_known = false }));
		job->pods.items[number] =
			(struct pod){ .is_known = true, .node = STRTAB_NONE };
		job->n_known++;
	}
	job->pods.items[number].asked_us = now_us;
	job->n_pods = job->n_known > job->n_declared ? job->n_known : job->n_declared;
	return number;
}

static struct plan_node *
node_of(struct job *job, const char *name)
{
	uint32_t number = strtab_intern(job->names, name);

	if (number == job->nodes.n)
		vec_push(&job->nodes, ((struct plan_node){ .pod = NO_POD }));
	return &job->nodes.items[number];
}

/* Gives the pod one of the chosen nodes that are offered; false if there is none. */
static bool
give_node(struct job *job, uint32_t pod, const struct extender_ask *ask)
{
	struct pod *p = &job->pods.items[pod];
	uint32_t best = STRTAB_NONE;

	for (size_t i = 0; i < ask->nodes.n; i++) {
		uint32_t number = strtab_find(job->names, ask->nodes.items[i]);

		if (number == STRTAB_NONE || !job->nodes.items[number].is_chosen)
			continue;
		if (number == p->node)
			return true;
		/* The order in which names are offered means nothing. */
		if (job->nodes.items[number].pod == NO_POD && number < best)
			best = number;
	}
	if (p->node != STRTAB_NONE) { /* No longer offered: the node is lost. */
		job->nodes.items[p->node].pod = NO_POD;
		job->nodes.items[p->node].is_chosen = false;
		p->node = STRTAB_NONE;
	}
	if (best == STRTAB_NONE)
		return false;
	p->node = best;
	job->nodes.items[best].pod = pod;
	return true;
}

/* Drops chosen nodes without a pod, and those nearly as good. */
static void
drop_unused(struct job *job)
{
	for (size_t i = 0; i < job->nodes.n; i++) {
		if (job->nodes.items[i].pod == NO_POD)
			job->nodes.items[i].is_chosen = false;
		job->nodes.items[i].rank = 0;
	}
	job->n_also = 0;
}

static void
keep_choice(struct job *job, const struct extender_ask *ask,
	    const struct extender_choice *choice)
{
	for (size_t i = 0; i < choice->n_chosen; i++)
		if (choice->chosen[i] < ask->nodes.n)
			node_of(job, ask->nodes.items[choice->chosen[i]])->is_chosen =
				true;
	for (size_t i = 0; i < choice->n_also; i++) {
		struct plan_node *node;

		if (choice->also[i] >= ask->nodes.n)
			continue;
		node = node_of(job, ask->nodes.items[choice->also[i]]);
		if (!node->is_chosen && node->rank == 0)
			node->rank = ++job->n_also;
	}
}

/* Ranks places for the pods without a node. */
static void
rank(struct extender *extender, struct job *job, const struct extender_ask *ask,
     int64_t now_us)
{
	struct extender_job what = { .name = job->name,
				     .n_nodes = job->n_pods,
				     .period_us = ask->period_us,
				     .comm_us = ask->comm_us,
				     .rate_bps = ask->rate_bps };
	struct extender_choice choice = { 0 };
	VEC(const char *) siblings = VEC_EMPTY;

	if (job->tried_us != INT64_MIN && now_us - job->tried_us < RETRY_US &&
	    now_us >= job->tried_us)
		return;
	for (size_t i = 0; i < job->pods.n; i++)
		if (job->pods.items[i].node != STRTAB_NONE) {
			vec_push(&siblings,
				 strtab_name(job->names, job->pods.items[i].node));
			what.n_nodes--;
		}
	what.siblings = siblings.items;
	what.n_siblings = siblings.n;
	drop_unused(job);
	extender->counts.rankings++;
	if (extender->rank(extender->ctx, &what, ask->nodes.items, ask->nodes.n,
			   &choice, NULL) == 0) {
		job->tried_us = INT64_MIN;
		keep_choice(job, ask, &choice);
	} else {
		job->tried_us = now_us;
		extender->counts.unranked++;
	}
	extender_choice_fini(&choice);
	vec_free(&siblings);
}

/* Finds the job and the pod's node; NONE if there is no answer. */
static uint32_t
decide(struct extender *extender, const struct extender_ask *ask, int64_t now_us,
       struct job **ret_job)
{
	struct job *job = job_of(extender, ask, now_us);
	uint32_t pod = pod_of(job, ask->pod, now_us);

	*ret_job = job;
	if (pod == NO_POD || ask->nodes.n == 0)
		return STRTAB_NONE;
	if (!give_node(job, pod, ask)) {
		rank(extender, job, ask, now_us);
		give_node(job, pod, ask);
	}
	return job->pods.items[pod].node;
}

/* What the extender may do for the job of a request. */
static enum extender_power
power_of(const struct extender *extender, const struct extender_ask *ask)
{
	char *namespace;
	enum extender_power power;

	if (extender->opts.is_observing)
		return EXTENDER_OBSERVES;
	if (!extender->opts.power)
		return EXTENDER_FILTERS;
	namespace = xstrndup(ask->job, strcspn(ask->job, "/"));
	power = extender->opts.power(extender->ctx, namespace);
	free(namespace);
	return power;
}

/* ---- Answers ------------------------------------------------------------------------ */

struct reply {
	struct jsonw w;
	FILE *file;
	char *text;
	size_t size;
};

static void
reply_begin(struct reply *reply)
{
	reply->file = open_memstream(&reply->text, &reply->size);
	if (!reply->file)
		BUG("no memory for a reply");
	jsonw_init(&reply->w, reply->file);
}

static void
reply_end(struct reply *reply, struct strbuf *out)
{
	jsonw_finish(&reply->w);
	fclose(reply->file);
	strbuf_add(out, reply->text, reply->size);
	free(reply->text);
}

static int64_t
score_of(const struct job *job, uint32_t number, uint32_t own)
{
	const struct plan_node *node;

	if (number == STRTAB_NONE)
		return 0;
	if (number == own)
		return SCORE_OWN;
	node = &job->nodes.items[number];
	if (node->is_chosen)
		return node->pod == NO_POD ? SCORE_CHOSEN : 0;
	if (node->rank)
		return SCORE_ALSO - 3 * (int64_t)(node->rank - 1) / job->n_also;
	return 0;
}

/* Whether this pod, if restricted to its job's nodes, may have this one. */
static bool
may_have(const struct job *job, uint32_t number, uint32_t own)
{
	return number != STRTAB_NONE &&
	       (number == own || (job->nodes.items[number].is_chosen &&
				  job->nodes.items[number].pod == NO_POD));
}

int
extender_filter(struct extender *extender, const char *body, size_t n, int64_t now_us,
		struct strbuf *out, struct err *err)
{
	struct extender_ask ask;
	struct reply reply = { 0 };
	struct job *job;
	uint32_t own;
	bool is_strict;

	if (extender_ask_parse(&extender->opts, body, n, &ask, err) < 0) {
		extender->counts.refused++;
		return -EINVAL;
	}
	extender->counts.filters++;
	own = decide(extender, &ask, now_us, &job);
	/* A job of one pod sends nothing. */
	is_strict = ask.is_required && own != STRTAB_NONE && job->n_pods > 1 &&
		    power_of(extender, &ask) == EXTENDER_FILTERS;
	reply_begin(&reply);
	jsonw_flat_object(&reply.w, NULL);
	jsonw_null(&reply.w, "Nodes");
	jsonw_array(&reply.w, "NodeNames");
	for (size_t i = 0; i < ask.nodes.n; i++)
		if (!is_strict ||
		    may_have(job, strtab_find(job->names, ask.nodes.items[i]), own))
			jsonw_str(&reply.w, NULL, ask.nodes.items[i]);
	jsonw_end(&reply.w);
	jsonw_object(&reply.w, "FailedNodes");
	for (size_t i = 0; i < ask.nodes.n && is_strict; i++)
		if (!may_have(job, strtab_find(job->names, ask.nodes.items[i]), own))
			jsonw_str(
				&reply.w, ask.nodes.items[i],
				"antiphase: the job's pods are to go elsewhere, where "
				"its traffic contends with no other job");
	jsonw_end(&reply.w);
	jsonw_object(&reply.w, "FailedAndUnresolvableNodes");
	jsonw_end(&reply.w);
	jsonw_str(&reply.w, "Error", "");
	jsonw_end(&reply.w);
	reply_end(&reply, out);
	extender_ask_fini(&ask);
	return 0;
}

int
extender_prioritize(struct extender *extender, const char *body, size_t n,
		    int64_t now_us, struct strbuf *out, struct err *err)
{
	struct extender_ask ask;
	struct reply reply = { 0 };
	struct job *job;
	uint32_t own;
	bool is_silent;

	if (extender_ask_parse(&extender->opts, body, n, &ask, err) < 0) {
		extender->counts.refused++;
		return -EINVAL;
	}
	extender->counts.prioritizes++;
	own = decide(extender, &ask, now_us, &job);
	is_silent = own == STRTAB_NONE || power_of(extender, &ask) == EXTENDER_OBSERVES;
	reply_begin(&reply);
	jsonw_flat_array(&reply.w, NULL);
	for (size_t i = 0; i < ask.nodes.n; i++) {
		uint32_t number = strtab_find(job->names, ask.nodes.items[i]);

		jsonw_object(&reply.w, NULL);
		jsonw_str(&reply.w, "Host", ask.nodes.items[i]);
		jsonw_int(&reply.w, "Score",
			  is_silent ? 0 : score_of(job, number, own));
		jsonw_end(&reply.w);
	}
	jsonw_end(&reply.w);
	reply_end(&reply, out);
	extender_ask_fini(&ask);
	return 0;
}
