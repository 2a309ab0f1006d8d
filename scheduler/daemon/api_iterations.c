/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_iterations.c - GET /api/v1/jobs/NAME/iterations: the last iterations of a job, and
 * the moments of advice, orders and actions that may have changed them.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/sort.h"
#include "lib/base/vec.h"
#include "scheduler/daemon/actions.h"
#include "scheduler/daemon/api_priv.h"
#include "scheduler/daemon/jobs.h"
#include "scheduler/daemon/outcomes.h"
#include "scheduler/live/live.h"
#include "scheduler/store/store.h"

#define MAX_LINES      100 /* Of the log of actions: requests and results. */
#define MAX_NODES_TEXT 200 /* Of a hostlist in a text. */

static const char *const order_texts[STEER_N_WHYS] = {
	[STEER_WHY_DRIFT] = "it leaves its window",
	[STEER_WHY_START] = "its first shift",
	[STEER_WHY_PERIOD] = "its period is stretched",
	[STEER_WHY_TURN] = "another job's turn",
};

/* What happened to the job when. */
struct moment {
	int64_t at_us;
	const char *kind; /* Static. */
	char *text;       /* Owned. */
	size_t number;    /* Of its addition. */
};

struct moments {
	VEC(struct moment) items;
};

static void
add(struct moments *moments, int64_t at_us, const char *kind, char *text)
{
	vec_push(&moments->items,
		 ((struct moment){ at_us, kind, text, moments->items.n }));
}

/* " on h[0-3]", or nothing; the caller frees it. */
static char *
on_nodes(const char *nodes)
{
	size_t n = nodes ? strlen(nodes) : 0;

	return n ? xasprintf(" on %.*s%s", MAX_NODES_TEXT, nodes,
			     n > MAX_NODES_TEXT ? "..." : "")
		 : xstrdup("");
}

/* ---- Sources -------------------------------------------------------------------------- */

static void
add_advice(struct moments *moments, const struct outcome *outcome)
{
	if (outcome->has_place) {
		char *nodes = on_nodes(outcome->nodes);

		add(moments, outcome->place_at_us, "place_advised",
		    xasprintf("a place is advised%s", nodes));
		free(nodes);
	}
	if (!outcome->has_shift)
		return;
	add(moments, outcome->since_ns / 1000, "shift_advised",
	    xasprintf("a shift is advised, to gain %.1f to %.1f %%",
		      100 * outcome->gain_low, 100 * outcome->gain_high));
	if (outcome->followed == OUTCOME_FOLLOWED && outcome->followed_ns)
		add(moments, outcome->followed_ns / 1000, "shift_followed",
		    xstrdup("the advice is followed from here on"));
}

static void
add_orders(struct moments *moments, const struct outcome *outcome)
{
	for (size_t i = 0; i < outcome_n_orders(outcome); i++) {
		const struct outcome_order order = outcome_order_at(outcome, i);

		add(moments, order.at_ns / 1000, "order",
		    xasprintf("order to wait, at most %.1f ms: %s",
			      (double)order.max_us / 1e3, order_texts[order.why]));
	}
}

/* Requests are left out: their results follow. */
static bool
add_line(void *ctx, const struct store_line *line)
{
	struct json_doc *doc;
	const struct json *root;
	const char *state, *text, *action, *error;
	char *nodes;

	if (json_parse("store", line->json, strlen(line->json), &doc, NULL) < 0)
		return true;
	root = json_root(doc);
	state = json_string(json_find(root, "state"));
	action = json_string(json_find(root, "action"));
	text = json_string(json_find(root, "text"));
	error = json_string(json_find(root, "error"));
	nodes = on_nodes(json_string(json_find(root, "nodes")));
	if (state && action && text && strcmp(state, "asked") != 0)
		add(ctx, line->at_us, "action",
		    xasprintf("%s%s%s: %s", action, nodes,
			      strcmp(state, "failed") == 0 ? " failed" : "",
			      error && *error ? error : text));
	free(nodes);
	json_doc_free(doc);
	return true;
}

/* Without a store, what was done last is known, if it is not undone. */
static void
add_change(struct moments *moments, struct api *api, const char *id)
{
	const struct decide_changes *changes = actions_changes(api->opts.actions);

	for (size_t i = 0; i < changes->items.n; i++) {
		const struct decide_change *change = &changes->items.items[i];
		char *nodes;

		if (strcmp(change->job, id) != 0 || change->kind == DECIDE_OVER)
			continue;
		nodes = on_nodes(change->nodes);
		add(moments, change->at_us, "action",
		    xasprintf("%s%s", decide_kind_names[change->kind], nodes));
		free(nodes);
	}
}

static int
add_actions(struct moments *moments, struct api *api, const char *name, struct err *err)
{
	/* The cluster's scheduler may call it otherwise than its hosts do. */
	const struct sched_job *known =
		sched_find_local(actions_snapshot(api->opts.actions), name);
	const struct store_page page = { .key = known ? known->id : name,
					 .n_max = MAX_LINES };

	if (api->opts.store)
		return store_read_history(api->opts.store, STORE_LOG, &page, add_line,
					  moments, err);
	add_change(moments, api, page.key);
	return 0;
}

/* ---- The document --------------------------------------------------------------------- */

static int
compare_moments(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->at_us != y->at_us)
		return x->at_us < y->at_us ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void
put_moments(struct moments *moments, struct jsonw *w)
{
	sort_items(moments->items.items, moments->items.n, compare_moments);
	jsonw_array(w, "moments");
	for (size_t i = 0; i < moments->items.n; i++) {
		const struct moment *moment = &moments->items.items[i];

		jsonw_flat_object(w, NULL);
		jsonw_int(w, "at_us", moment->at_us);
		jsonw_str(w, "kind", moment->kind);
		jsonw_str(w, "text", moment->text);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void
put_iterations(const struct outcome *outcome, struct jsonw *w)
{
	jsonw_array(w, "iterations");
	for (size_t i = 0; i < outcome_n_iterations(outcome); i++) {
		const struct outcome_iteration iteration =
			outcome_iteration_at(outcome, i);

		jsonw_flat_object(w, NULL);
		jsonw_int(w, "at_us", iteration.begin_ns / 1000);
		jsonw_int(w, "duration_us", iteration.took_us);
		jsonw_end(w);
	}
	jsonw_end(w);
}

/* As slowdowns of outcomes, against the profile that advice is computed from. */
static int64_t
isolated_us(const struct job *job, const struct outcome *outcome)
{
	return job && job->number != UINT32_MAX ? job->profile.period_us
						: outcome->isolated_us;
}

static void
write_iterations(const struct job *job, const char *name, const struct outcome *outcome,
		 struct moments *moments, struct http_reply *reply)
{
	int64_t isolated = isolated_us(job, outcome);
	struct json_text text;

	json_text_begin(&text, "antiphase.iterations/1");
	jsonw_str(&text.w, "job", name);
	jsonw_str(&text.w, "source",
		  outcome->has_pacer              ? "pacer"
		  : outcome_n_iterations(outcome) ? "traffic"
						  : NULL);
	if (isolated > 0)
		jsonw_int(&text.w, "isolated_us", isolated);
	else
		jsonw_null(&text.w, "isolated_us");
	put_iterations(outcome, &text.w);
	put_moments(moments, &text.w);
	json_text_end(&text, &reply->body);
}

void
api_job_iterations(struct api *api, const char *name, struct http_reply *reply)
{
	static const struct outcome nothing;
	const struct job *job = jobs_find(api->opts.jobs, name);
	const struct outcome *outcome = outcomes_find(api->opts.outcomes, name);
	struct moments moments = { VEC_EMPTY };
	struct err err = { .line = 0 };

	if (!job && !outcome && live_find_job(api->live, name) >= TELE_OTHER) {
		http_reply_error(reply, 404, "unknown_job",
				 "GET /api/v1/jobs lists those that have traffic",
				 "nothing is known of a job '%s'", name);
		return;
	}
	if (!outcome)
		outcome = &nothing;
	add_advice(&moments, outcome);
	add_orders(&moments, outcome);
	if (add_actions(&moments, api, name, &err) < 0)
		http_reply_error(reply, 500, "store", "", "%s", err.text);
	else
		write_iterations(job, name, outcome, &moments, reply);
	for (size_t i = 0; i < moments.items.n; i++)
		free(moments.items.items[i].text);
	vec_free(&moments.items);
}
