/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/daemon/http_ask.h"

#include <errno.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/http_call.h"
#include "lib/daemon/loop.h"

struct answer {
	struct loop *loop;
	struct strbuf *reply;
	struct err *err;
	int status;
};

static void
on_done(void *ctx, int status, const char *body, size_t n)
{
	struct answer *answer = ctx;

	answer->status = status;
	if (status < 0)
		err_set(answer->err, NULL, 0, 0, "%s", body);
	else
		strbuf_add(answer->reply, body, n);
	loop_stop(answer->loop, 0);
}

int
http_ask(const struct http_call_opts *opts, struct strbuf *reply, struct err *err)
{
	struct answer answer = { .loop = loop_new(), .reply = reply, .err = err };
	struct http_call *call;
	int r = http_call(answer.loop, opts, on_done, &answer, &call, err);

	if (r == 0) {
		loop_run(answer.loop);
		r = answer.status;
	}
	loop_free(answer.loop);
	/* A missing socket is the same to the user as one without a listener. */
	return r == -ENOENT ? -ECONNREFUSED : r;
}

int
http_ask_get(const char *address, const char *path, int64_t timeout_ns,
	     struct strbuf *body, struct err *err)
{
	const struct http_call_opts opts = { .address = address,
					     .method = "GET",
					     .path = path,
					     .timeout_ns = timeout_ns,
					     .max_bytes = HTTP_ASK_MAX_BYTES,
					     .is_anywhere = true };
	int r = http_ask(&opts, body, err);

	if (r == -EINVAL)
		err_set(err, NULL, 0, 0, "'%.64s' is not ADDRESS:PORT", address);
	return r;
}

const char *
http_ask_address(const char *text)
{
	if (strncmp(text, "http://", 7) == 0)
		return text + 7;
	if (strncmp(text, "https://", 8) == 0)
		return text;
	return strncmp(text, "unix:/", 6) == 0 ? text + 5 : NULL;
}

void
http_ask_error(const char *from, int status, const char *body, size_t n,
	       struct err *err)
{
	struct json_doc *doc = NULL;
	const struct json *error = NULL;
	const char *message, *hint;

	if (json_parse(from, body, n, &doc, NULL) == 0 &&
	    json_as_object(doc, json_root(doc), NULL) == 0)
		error = json_find(json_root(doc), "error");
	if (!error || json_as_object(doc, error, NULL) < 0 ||
	    json_get_str(doc, error, "message", &message, NULL) < 0 || !*message)
		err_set(err, NULL, 0, 0, "%s answered with HTTP status %d", from,
			status);
	else
		err_set(err, from, 0, 0, "%s", message);
	if (error && json_get_str(doc, error, "hint", &hint, NULL) == 0 && *hint)
		err_append(err, " (%s)", hint);
	json_doc_free(doc);
}
