/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_web.c - the page: GET / and its files, which read the API like any other client, and
 * GET /tables, which has links and jobs without JavaScript.
 */
#include "lib/base/err.h"
#include "lib/daemon/web_files.h"
#include "lib/daemon/web_tables.h"
#include "scheduler/daemon/api_priv.h"

void
api_web(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	(void)ctx;
	web_file_answer(request, reply);
}

void
api_tables(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	struct http_reply links = { .body = STRBUF_EMPTY };
	struct http_reply jobs = { .body = STRBUF_EMPTY };
	struct err err;

	api_links(ctx, request, &links);
	api_jobs(ctx, request, &jobs);
	if (links.status || jobs.status) { /* The query. */
		strbuf_free(&reply->body);
		*reply = links.status ? links : jobs;
		strbuf_free(links.status ? &jobs.body : &links.body);
		return;
	}
	reply->content_type = "text/html; charset=utf-8";
	reply->policy = WEB_FILE_POLICY;
	if (web_tables_page((const char *const[]){ links.body.text, jobs.body.text }, 2,
			    &reply->body, &err) < 0)
		BUG("our own document is no JSON: %s", err.text);
	strbuf_free(&links.body);
	strbuf_free(&jobs.body);
}
