/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/daemon/control.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/daemon/control_run.h"
#include "lib/daemon/http.h"

struct control {
	struct http *http;                      /* Owned. */
	const struct control_command *commands; /* Borrowed. */
	void *ctx;                              /* Borrowed. */
};

/* ---- One request ----------------------------------------------------------------- */

static void
refuse(struct http_reply *reply, int error, const char *why)
{
	static const struct {
		int error;
		unsigned status;
		const char *code;
	} known[] = {
		{ EINVAL, 400, "bad_request" }, { EPERM, 403, "not_allowed" },
		{ ENOENT, 404, "not_found" },   { EEXIST, 409, "exists" },
		{ EFBIG, 413, "too_large" },    { E2BIG, 507, "full" },
		{ EBUSY, 503, "busy" },         { EOPNOTSUPP, 501, "not_supported" },
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (known[i].error == -error) {
			http_reply_error(reply, known[i].status, known[i].code, "",
					 "%s", why);
			return;
		}
	}
	http_reply_error(reply, 500, "failed", "", "%s", why);
}

static void
answer(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	const struct control *control = ctx;
	uid_t user = http_peer_user(request);
	const struct control_request asked = {
		.method = request->method,
		.words = request->rest,
		.body = request->body,
		.n_body = request->n_body,
		.user = user,
		.may_change = user == 0 || user == geteuid(),
	};
	struct err err = { .line = 0 };
	int r = control_run(control->commands, control->ctx, &asked, &reply->body,
			    &err);

	if (*reply->body.text != '{')
		reply->content_type = "text/plain; charset=utf-8";
	if (r < 0)
		refuse(reply, r, err.text);
}

/* ---- Start and end --------------------------------------------------------------- */

static const struct http_route routes[] = {
	{ "GET", "/control/*", false, 0, answer, NULL },
	{ "POST", "/control", false, CONTROL_MAX_BODY, answer, NULL },
	{ "POST", "/control/*", false, CONTROL_MAX_BODY, answer, NULL },
};

int
control_open(struct loop *loop, const char *path,
	     const struct control_command *commands, void *ctx,
	     struct control **ret_control, struct err *err)
{
	struct control *control = xcalloc(1, sizeof *control);
	int r = http_open(loop, path, NULL, 0, &control->http, err);

	if (r < 0) {
		free(control);
		return r;
	}
	control->commands = commands;
	control->ctx = ctx;
	http_add_routes(control->http, routes, sizeof routes / sizeof *routes, control);
	*ret_control = control;
	return 0;
}

void
control_close(struct control *control)
{
	if (!control)
		return;
	http_close(control->http);
	free(control);
}
