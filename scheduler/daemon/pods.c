/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/pods.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/http_call.h"
#include "scheduler/daemon/config.h"
#include "scheduler/daemon/jobs.h"
#include "scheduler/daemon/modes.h"
#include "scheduler/daemon/persist.h"
#include "scheduler/k8s/pod_report.h"

/* Only a pod's metadata is needed: the server sends it without the rest. */
#define ACCEPT_LIST "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
#define ACCEPT_ONE  "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
#define TYPE_PATCH  "application/merge-patch+json"
#define LIST_LIMIT  500
#define MAX_LIST    ((size_t)16 << 20)

struct pods {
	struct pods_opts opts;
	struct pod_report *report;  /* Owned. */
	struct http_client *client; /* Owned. */
	struct http_call *call;     /* Under way, or NULL. */
	bool is_listing;            /* The call is a list, not a patch. */
	struct pod_report_round round;
	bool is_patching;
	size_t next;             /* The next patch of the round. */
	size_t n_done, n_failed; /* Of the patches of one job. */
	char *why;               /* Owned. Of the last failure. */
	unsigned n_left;         /* Patches that are left in this second. */
	int64_t opened_ns, listed_ns;
	bool is_ending;
	bool is_last; /* This is the round at the end of the daemon. */
	bool is_over; /* That round is over. */
	struct pods_counts counts;
	struct log_limit said;
};

static void list(struct pods *pods);
static void list_last(struct pods *pods);
static void patch(struct pods *pods);

/* ---- Advice for pods ------------------------------------------------------------- */

static bool
may_annotate(void *ctx, const char *namespace)
{
	const struct pods *pods = ctx;

	return modes_now(pods->opts.modes, namespace) != MODE_OBSERVE;
}

static bool
advice_of(void *ctx, const char *name, struct pod_report_advice *ret_advice)
{
	static const char *const pacings[] = {
		[STEER_FREE] = "free",
		[STEER_SHIFT] = "realign",
		[STEER_GATE] = "gate",
	};
	const struct pods *pods = ctx;
	const struct job *job = jobs_find_k8s(pods->opts.jobs, name);
	struct advisor_view view;

	/* Pods of a job that cannot be shifted get no annotation. */
	if (!job || !job->is_shiftable || job->refusal != JOBS_ADVISED ||
	    !jobs_view(pods->opts.jobs, job, &view))
		return false;
	*ret_advice = (struct pod_report_advice){ .shift_us = view.shift_us,
						  .slack_us = view.slack_us,
						  .pacing = pacings[view.mode] };
	return true;
}

static void
on_reader(void *ctx, const char *name)
{
	const struct pods *pods = ctx;
	struct job *job = jobs_find_k8s(pods->opts.jobs, name);

	if (job)
		job->reader_ns = clk_monotonic_ns();
}

/* ---- Requests ------------------------------------------------------------------------ */

/* The server's message, "pods is forbidden: ...", or the whole text. */
static char *
words_of(int status, const char *body, size_t n)
{
	struct json_doc *doc;
	const char *message = NULL;
	char *words;

	if (status < 0)
		return xstrdup(body);
	if (json_parse("the reply", body, n, &doc, NULL) < 0)
		return xasprintf("status %d", status);
	if (json_as_object(doc, json_root(doc), NULL) == 0)
		json_opt_str(doc, json_root(doc), "message", &message, NULL);
	words = xasprintf("status %d%s%.200s", status, message ? ": " : "",
			  message ? message : "");
	json_doc_free(doc);
	/* The text comes from the server: no control characters. */
	for (char *c = words; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return words;
}

static void
end_round(struct pods *pods, const char *why)
{

	if (why)
		log_limited(&pods->said, clk_monotonic_ns(), LOG_LEVEL_WARN, "pods",
			    "pods are not told their shifts: %s", why);
	pod_report_round_fini(&pods->round);
	pods->is_patching = false;
	pods->is_over = pods->is_last;
}

static int
call(struct pods *pods, const struct http_call_opts *what,
     void (*done)(void *ctx, int status, const char *body, size_t n))
{
	struct http_call_opts opts = *what;
	struct err err = { .line = 0 };
	int r;

	opts.address = pods->opts.config->kubernetes_api;
	opts.client = pods->client;
	opts.ca_file = pods->opts.config->kubernetes_ca_file;
	opts.token_file = pods->opts.config->kubernetes_token_file;
	opts.timeout_ns = PODS_TIMEOUT_NS;
	opts.max_bytes = MAX_LIST;
	r = http_call(pods->opts.loop, &opts, done, pods, &pods->call, &err);
	if (r < 0)
		end_round(pods, err.text);
	return r;
}

/* ---- Patches ------------------------------------------------------------------------- */

/* All pods of a job are patched, or as many as will be: logs it. */
static void
log_job(struct pods *pods, const struct pod_report_patch *at)
{
	static const enum decide_why whys[] = {
		[POD_REPORT_ADVISED] = DECIDE_TOLD,
		[POD_REPORT_STOPPED] = DECIDE_STOPPED,
		[POD_REPORT_NO_ADVICE] = DECIDE_EXPIRED,
	};

	char *record = at->why == POD_REPORT_ADVISED
			       ? xasprintf("antiphase.io/shift-us=%lld of %zu pods",
					   (long long)at->shift_us, pods->n_done)
			       : xasprintf("antiphase.io/shift-us removed of %zu pods",
					   pods->n_done);
	const struct decide_action action = { .kind = SCHED_RECORD,
					      .why = whys[at->why],
					      .job = at->job,
					      .record = record };

	if (pods->n_done) {
		log_info("pods", "job %s: %s (%s)", at->job, record,
			 decide_why_texts[action.why]);
		persist_log(pods->opts.store, &action, "done", NULL);
	}
	if (pods->n_failed) {
		log_limited(&pods->said, clk_monotonic_ns(), LOG_LEVEL_WARN, "pods",
			    "job %s: %zu pods could not be told: %s", at->job,
			    pods->n_failed, pods->why);
		persist_log(pods->opts.store, &action, "failed", pods->why);
	}
	pods->n_done = pods->n_failed = 0;
	free(pods->why);
	pods->why = NULL;
	free(record);
}

static void
on_patched(void *ctx, int status, const char *body, size_t n)
{
	struct pods *pods = ctx;
	const struct pod_report_patch *at = &pods->round.patches.items[pods->next++];
	bool is_last = pods->next == pods->round.patches.n ||
		       !pod_report_is_same_group(at, at + 1);

	pods->call = NULL;
	if (status == 200) {
		pods->n_done++;
		pods->counts.n_changed++;
	} else if (status != 404 && status != 409) {
		/* The next list shows pods that are gone or replaced. */
		pods->n_failed++;
		pods->counts.n_failed++;
		free(pods->why);
		pods->why = words_of(status, body, n);
	}
	if (is_last || status < 0 || pods->is_ending != pods->is_last)
		log_job(pods, at);
	if (status < 0)
		end_round(pods, body);
	else if (pods->is_ending && !pods->is_last)
		list_last(pods);
	else
		patch(pods);
}

/* Sends the next patch, if there is one and it is time. */
static void
patch(struct pods *pods)
{
	const struct pod_report_patch *next;

	if (pods->next == pods->round.patches.n) {
		end_round(pods, NULL);
		return;
	}
	if (pods->n_left == 0 && !pods->is_last)
		return;
	if (pods->n_left)
		pods->n_left--;
	next = &pods->round.patches.items[pods->next];
	call(pods,
	     &(struct http_call_opts){ .method = "PATCH",
				       .path = next->path,
				       .accept = ACCEPT_ONE,
				       .type = TYPE_PATCH,
				       .body = next->body },
	     on_patched);
}

/* ---- Lists --------------------------------------------------------------------------- */

static void
add_encoded(struct strbuf *out, const char *text)
{
	for (; *text; text++) {
		if ((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
		    (*text >= '0' && *text <= '9') || strchr("-._", *text))
			strbuf_putc(out, *text);
		else
			strbuf_printf(out, "%%%02X", (unsigned char)*text);
	}
}

static void
on_listed(void *ctx, int status, const char *body, size_t n)
{
	struct pods *pods = ctx;
	const struct pod_report_view view = {
		.now_us = clk_wall_us(),
		.is_ending = pods->is_last,
		.is_waiting = clk_monotonic_ns() - pods->opened_ns < PODS_SETTLE_NS,
		.may_annotate = may_annotate,
		.advice = advice_of,
		.reads = on_reader,
		.ctx = pods,
	};
	struct err err = { .line = 0 };
	char *why;

	pods->call = NULL;
	pods->is_listing = false;
	if (status != 200) {
		why = words_of(status, body, n);
		end_round(pods, why);
		free(why);
		return;
	}
	if (pod_report_read(pods->report, body, n, &view, &pods->round, &err) < 0) {
		end_round(pods, err.text);
		return;
	}
	if (pods->round.next) {
		list(pods);
		return;
	}
	pods->counts.n_annotated = pods->round.n_annotated;
	pod_report_round_sort(&pods->round);
	pods->is_patching = true;
	pods->next = 0;
	patch(pods);
}

static void
list(struct pods *pods)
{
	struct strbuf path = STRBUF_EMPTY;

	strbuf_printf(&path,
		      "/api/v1/pods?limit=%d&fieldSelector=status.phase%%3DRunning"
		      "&labelSelector=",
		      LIST_LIMIT);
	add_encoded(&path, pods->opts.config->kubernetes_pods);
	if (pods->round.next) {
		strbuf_puts(&path, "&continue=");
		add_encoded(&path, pods->round.next);
	}
	pods->listed_ns = clk_monotonic_ns();
	pods->is_listing = true;
	if (call(pods,
		 &(struct http_call_opts){
			 .method = "GET", .path = path.text, .accept = ACCEPT_LIST },
		 on_listed) < 0)
		pods->is_listing = false;
	strbuf_free(&path);
}

/* The round that removes all annotations, as if there were no advice. */
static void
list_last(struct pods *pods)
{
	end_round(pods, NULL);
	pods->is_last = true;
	list(pods);
}

/* ---- Opening and closing ------------------------------------------------------------- */

int
pods_open(const struct pods_opts *opts, struct pods **ret_pods, struct err *err)
{
	const char *address = opts->config->kubernetes_api;
	struct pods *pods;
	int r;

	*ret_pods = NULL;
	if (!address)
		return 0;
	r = http_call_check(address, err);
	if (r < 0)
		return r;
	pods = xcalloc(1, sizeof *pods);
	pods->opts = *opts;
	pods->report = pod_report_new();
	pods->client = http_client_new(opts->loop);
	pods->opened_ns = clk_monotonic_ns();
	*ret_pods = pods;
	return 0;
}

void
pods_close(struct pods *pods)
{
	if (!pods)
		return;
	http_call_cancel(pods->call);
	http_client_free(pods->client);
	pod_report_round_fini(&pods->round);
	pod_report_free(pods->report);
	free(pods->why);
	free(pods);
}

void
pods_tick(struct pods *pods)
{

	if (!pods || pods->is_ending)
		return;
	pods->n_left = PODS_PER_SECOND;
	if (pods->call)
		return;
	if (pods->is_patching)
		patch(pods);
	else if (!pods->listed_ns ||
		 clk_monotonic_ns() - pods->listed_ns >= PODS_LIST_NS)
		list(pods);
}

bool
pods_end(struct pods *pods)
{

	if (!pods)
		return true;
	if (pods->is_ending)
		return pods->is_over;
	pods->is_ending = true;
	/* Ends a patch under way first, so that the last list shows its result. */
	if (pods->call && !pods->is_listing)
		return false;
	http_call_cancel(pods->call);
	pods->call = NULL;
	list_last(pods);
	return pods->is_over;
}

bool
pods_counts(const struct pods *pods, struct pods_counts *ret_counts)
{
	if (pods)
		*ret_counts = pods->counts;
	return pods != NULL;
}
