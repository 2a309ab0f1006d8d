/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/k8s.h"

#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/daemon/http.h"
#include "scheduler/k8s/extender.h"

static void
ask(struct extender *extender,
    int (*answer)(struct extender *extender, const char *body, size_t n, int64_t now_us,
		  struct strbuf *out, struct err *err),
    const struct http_request *request, struct http_reply *reply)
{
	struct err err = { .line = 0 };

	if (answer(extender, request->body, request->n_body, clk_wall_us(),
		   &reply->body, &err) < 0)
		http_reply_error(reply, 400, "bad_body", "docs/kubernetes.md", "%s",
				 err.text);
}

static void
filter(void *extender, const struct http_request *request, struct http_reply *reply)
{
	ask(extender, extender_filter, request, reply);
}

static void
prioritize(void *extender, const struct http_request *request, struct http_reply *reply)
{
	ask(extender, extender_prioritize, request, reply);
}

void
k8s_serve(struct http *http, struct extender *extender)
{
	static const struct http_route routes[] = {
		{ "POST", "/k8s/filter", false, HTTP_MAX_BODY, filter },
		{ "POST", "/k8s/prioritize", false, HTTP_MAX_BODY, prioritize },
	};

	http_add_routes(http, routes, sizeof routes / sizeof *routes, extender);
}
