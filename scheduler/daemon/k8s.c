/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/k8s.h"

#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/daemon/http.h"
#include "scheduler/k8s/extender.h"

/*
 * 5,000 names of nodes of 253 characters, the longest, and a pod of 1.5 MB, the largest
 * that Kubernetes stores.
 */
#define MAX_BODY 3000000u

static void
ask(const struct k8s_server *server,
    int (*answer)(struct extender *extender, const char *body, size_t n, int64_t now_us,
		  struct strbuf *out, struct err *err),
    const struct http_request *request, struct http_reply *reply)
{
	struct err err = { .line = 0 };
	uid_t user = http_peer_user(request);

	if (!peer_users_has(&server->users, user)) {
		http_reply_error(reply, 403, "wrong_user",
				 "kubernetes_users in [scheduler] lists who may ask",
				 "user %d is not kube-scheduler's", (int)user);
		return;
	}
	if (answer(server->extender, request->body, request->n_body, clk_wall_us(),
		   &reply->body, &err) < 0)
		http_reply_error(reply, 400, "bad_body", "docs/kubernetes.md", "%s",
				 err.text);
}

static void
filter(void *server, const struct http_request *request, struct http_reply *reply)
{
	ask(server, extender_filter, request, reply);
}

static void
prioritize(void *server, const struct http_request *request, struct http_reply *reply)
{
	ask(server, extender_prioritize, request, reply);
}

void
k8s_serve(struct http *http, struct k8s_server *server)
{
	static const struct http_route routes[] = {
		{ "POST", "/k8s/filter", false, MAX_BODY, filter, HTTP_ANY_PARAMETERS },
		{ "POST", "/k8s/prioritize", false, MAX_BODY, prioritize,
		  HTTP_ANY_PARAMETERS },
	};

	http_add_routes(http, routes, sizeof routes / sizeof *routes, server);
}
