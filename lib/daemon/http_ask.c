#include "lib/daemon/http_ask.h"

#include <errno.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/http_call.h"
#include "lib/daemon/loop.h"

struct answer {
	struct loop *loop;
	struct strbuf *body;
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
		strbuf_add(answer->body, body, n);
	loop_stop(answer->loop, 0);
}

int
http_ask(const char *address, const char *path, int64_t timeout_ns, struct strbuf *body,
	 struct err *err)
{
	const struct http_call_opts opts = { .address = address,
					     .method = "GET",
					     .path = path,
					     .timeout_ns = timeout_ns,
					     .max_bytes = HTTP_ASK_MAX_BYTES,
					     .is_anywhere = true };
	struct answer answer = { .loop = loop_new(), .body = body, .err = err };
	struct http_call *call;
	int r = http_call(answer.loop, &opts, on_done, &answer, &call, err);

	if (r == -EINVAL)
		err_set(err, NULL, 0, 0, "'%.64s' is not ADDRESS:PORT", address);
	if (r == 0) {
		loop_run(answer.loop);
		r = answer.status;
	}
	loop_free(answer.loop);
	return r;
}
