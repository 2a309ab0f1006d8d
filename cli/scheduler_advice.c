/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/scheduler_advice.h"

#include <stdlib.h>
#include <string.h>

#include "cli/scheduler_api.h"
#include "lib/base/alloc.h"
#include "lib/base/cli.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "lib/daemon/http_ask.h"
#include "scheduler/core/advise/advice_doc.h"

#define MAX_LISTED 5 /* Names in a message. */

/* ---- Finding the job ------------------------------------------------------------- */

static void
fail_unknown(const struct advice_doc *doc, const char *job, struct err *err)
{
	VEC(const char *) names = VEC_EMPTY;
	size_t length = strlen(job), n_alike = 0;

	err_set(err, NULL, 0, 0, "no job '%.64s' among the %zu that have advice", job,
		doc->n_jobs);
	for (size_t i = 0; i < doc->n_jobs; i++) {
		const char *name = doc->jobs[i].name;

		vec_push(&names, name);
		if (strncmp(name, job, length) == 0 && n_alike++ < MAX_LISTED)
			err_append(err, "%s%.64s", n_alike == 1 ? "; so begin " : ", ",
				   name);
	}
	vec_push(&names, NULL);
	if (!n_alike)
		err_suggest(err, job, names.items);
	else if (n_alike > MAX_LISTED)
		err_append(err, " and %zu more", n_alike - MAX_LISTED);
	vec_free(&names);
}

/* Keeps the job with that name, or the only job whose name begins with it. */
static int
keep_only(struct advice_doc *doc, const char *job, struct err *err)
{
	size_t length = strlen(job), n = 0, kept = 0;
	struct advice_doc_job first;

	for (size_t i = 0; i < doc->n_jobs; i++) {
		if (strcmp(doc->jobs[i].name, job) == 0) {
			kept = i;
			n = 1;
			break;
		}
		if (strncmp(doc->jobs[i].name, job, length) == 0) {
			kept = i;
			n++;
		}
	}
	if (n != 1) {
		fail_unknown(doc, job, err);
		return CLI_USAGE;
	}
	first = doc->jobs[0];
	doc->jobs[0] = doc->jobs[kept];
	doc->jobs[kept] = first;
	advice_doc_cut(doc, 1);
	return CLI_OK;
}

/* ---- Asking ---------------------------------------------------------------------- */

static int
get(const char *address, const char *job, struct strbuf *body, int *ret_http,
    struct err *err)
{
	struct strbuf path = STRBUF_EMPTY;
	int status;

	strbuf_puts(&path, "/api/v1/advice");
	if (job) {
		strbuf_putc(&path, '/');
		scheduler_api_escape(job, &path);
	}
	strbuf_clear(body);
	status = scheduler_api_get(address, path.text, "its advice", body, ret_http,
				   err);
	strbuf_free(&path);
	return status;
}

static int
take_answer(const char *address, const struct strbuf *body, struct advice_doc *doc,
	    struct err *err)
{
	advice_doc_fini(doc);
	if (advice_json_parse_live(address, body->text, body->length, doc, err) < 0)
		return CLI_UNREACHABLE;
	doc->at_us = clk_wall_us();
	return CLI_OK;
}

int
scheduler_advice_ask(const char *address, const char *job, struct advice_doc *ret_doc,
		     struct strbuf *ret_body, struct err *err)
{
	int http, status;

	*ret_doc = (struct advice_doc){ 0 };
	*ret_body = (struct strbuf)STRBUF_EMPTY;
	status = get(address, job, ret_body, &http, err);
	if (status == CLI_OK && job && http == 404) {
		/* The name may be a prefix: request the one job that has it. */
		char *name;

		status = get(address, NULL, ret_body, &http, err);
		if (status == CLI_OK)
			status = take_answer(address, ret_body, ret_doc, err);
		if (status == CLI_OK)
			status = keep_only(ret_doc, job, err);
		if (status != CLI_OK)
			return status;
		name = xstrdup(ret_doc->jobs[0].name);
		status = get(address, name, ret_body, &http, err);
		free(name);
	}
	if (status == CLI_OK && http == 404) {
		err_set(err, NULL, 0, 0,
			"%s has no advice; check that it is antiphase-scheduler",
			address);
		return CLI_UNREACHABLE;
	}
	return status == CLI_OK ? take_answer(address, ret_body, ret_doc, err) : status;
}

int
scheduler_advice_read(const char *file, const char *job, struct advice_doc *ret_doc,
		      struct strbuf *ret_body, struct err *err)
{
	char *text;
	size_t length;

	*ret_doc = (struct advice_doc){ 0 };
	*ret_body = (struct strbuf)STRBUF_EMPTY;
	if (file_read(file, HTTP_ASK_MAX_BYTES, &text, &length, err) < 0)
		return CLI_USAGE;
	strbuf_add(ret_body, text, length);
	free(text);
	if (advice_json_parse_live(file, ret_body->text, length, ret_doc, err) < 0)
		return CLI_USAGE;
	return job ? keep_only(ret_doc, job, err) : CLI_OK;
}
