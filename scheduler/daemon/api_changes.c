/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_changes.c - changes in effect at the cluster's scheduler, the log of actions,
 * and, with the token, undoing.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "scheduler/daemon/actions.h"
#include "scheduler/daemon/api_priv.h"
#include "scheduler/daemon/config.h"
#include "scheduler/daemon/fabric_source.h"
#include "scheduler/daemon/persist.h"
#include "scheduler/store/store.h"

#define MAX_LOG 1000 /* Lines of one answer. */

static void
put_change(const struct decide_change *change, struct jsonw *w)
{
	jsonw_object(w, NULL);
	jsonw_str(w, "job", change->job);
	jsonw_str(w, "kind", decide_kind_names[change->kind]);
	jsonw_str(w, "nodes", *change->nodes ? change->nodes : NULL);
	jsonw_str(w, "record", change->record);
	jsonw_int(w, "at_us", change->at_us);
	jsonw_bool(w, "is_under_way", change->is_under_way);
	jsonw_end(w);
}

/* ---- Reading -------------------------------------------------------------------------- */

/* Lines of the log are whole documents, collected as text. */
struct gathering {
	struct strbuf text;
	int64_t since_us, n_max, n, last_id;
	bool is_more; /* There are older lines that match. */
};

static bool
add_line(void *ctx, const struct store_line *line)
{
	struct gathering *log = ctx;
	struct strbuf object = STRBUF_EMPTY;

	if (line->at_us < log->since_us)
		return false;
	if (log->n == log->n_max) {
		log->is_more = true;
		return false;
	}
	if (persist_log_line(line, &object)) {
		strbuf_printf(&log->text, "%s    %s", log->n ? ",\n" : "\n",
			      object.text);
		log->last_id = line->id;
		log->n++;
	}
	strbuf_free(&object);
	return true;
}

static void
put_log(const struct gathering *log, struct http_reply *reply)
{
	/* Before the brace that ends the document. */
	char *end = strrchr(reply->body.text, '}');

	reply->body.length = (size_t)(end - reply->body.text);
	while (reply->body.length && reply->body.text[reply->body.length - 1] == '\n')
		reply->body.length--;
	strbuf_printf(&reply->body, ",\n  \"log\": [%s%s]\n}\n", log->text.text,
		      log->n ? "\n  " : "");
}

static void
write_changes(struct api *api, const char *job, const struct gathering *log,
	      struct http_reply *reply)
{
	const struct decide_changes *changes = actions_changes(api->opts.actions);
	struct json_text text;

	json_text_begin(&text, "antiphase.changes/1");
	jsonw_int(&text.w, "at_us", clk_wall_us());
	jsonw_array(&text.w, "standing");
	for (size_t i = 0; i < changes->items.n; i++) {
		const struct decide_change *change = &changes->items.items[i];

		if (change->kind != DECIDE_OVER &&
		    (!job || strcmp(change->job, job) == 0))
			put_change(change, &text.w);
	}
	jsonw_end(&text.w);
	jsonw_bool(&text.w, "has_log", api->opts.store != NULL);
	if (log->is_more)
		jsonw_int(&text.w, "next_before", log->last_id);
	else
		jsonw_null(&text.w, "next_before");
	json_text_end(&text, &reply->body);
	put_log(log, reply);
}

void
api_changes(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	struct api *api = ctx;
	const char *job = http_query(request, "job");
	struct gathering log = { .text = STRBUF_EMPTY };
	struct store_page page = { .before_id = 0 };
	struct err err = { .line = 0 };

	if (!api_number(request, "since_us", 0, &log.since_us) ||
	    !api_number(request, "before", 0, &page.before_id) ||
	    !api_number(request, "limit", MAX_LOG, &log.n_max) || log.n_max < 1 ||
	    log.n_max > MAX_LOG) {
		http_reply_error(reply, 400, "bad_query",
				 "?job=ID&since_us=&before=&limit=",
				 "since_us is microseconds, before the id of a line, "
				 "limit 1 to %d",
				 MAX_LOG);
		return;
	}
	if (job && !*job)
		job = NULL;
	page.key = job;
	page.n_max = (size_t)log.n_max + 1;
	if (api->opts.store && store_read_history(api->opts.store, STORE_LOG, &page,
						  add_line, &log, &err) < 0)
		http_reply_error(reply, 500, "store", "", "%s", err.text);
	else
		write_changes(api, job, &log, reply);
	strbuf_free(&log.text);
}

/* ---- Undoing -------------------------------------------------------------------------- */

static bool
is_standing(const struct decide_changes *changes, const char *job)
{
	for (size_t i = 0; i < changes->items.n; i++)
		if (strcmp(changes->items.items[i].job, job) == 0)
			return changes->items.items[i].kind != DECIDE_OVER;
	return false;
}

/* POST /api/v1/jobs/ID/unpin */
void
api_job_action(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	static const char unpin[] = "/unpin";
	struct api *api = ctx;
	size_t n = strlen(request->rest), n_unpin = sizeof unpin - 1;
	const struct gathering nothing = { .text = STRBUF_EMPTY };
	char *job;

	if (n <= n_unpin || strcmp(request->rest + n - n_unpin, unpin) != 0) {
		http_reply_error(reply, 404, "not_found",
				 "POST /api/v1/jobs/ID/unpin is what there is",
				 "there is no such request");
		return;
	}
	job = xstrndup(request->rest, n - n_unpin);
	if (!is_standing(actions_changes(api->opts.actions), job)) {
		http_reply_error(reply, 404, "not_ours",
				 "GET /api/v1/changes lists all changes",
				 "antiphase has not changed job '%s'", job);
	} else {
		write_changes(api, job, &nothing, reply);
		log_warn("scheduler",
			 "job %s is about to be unpinned, as requested by the API",
			 job);
		actions_undo(api->opts.actions, job);
	}
	free(job);
}
