/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_web.c - the page: GET / and its files.  It reads the API like any other client.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/daemon/web_files.h"
#include "lib/wire/crc32c.h"
#include "scheduler/daemon/api_priv.h"

/* No script, style, picture or connection but this server's; in no frame. */
#define POLICY \
	"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static bool
takes_gzip(const struct http_request *request)
{
	const char *accepted = http_header(request, "Accept-Encoding");

	return accepted && strstr(accepted, "gzip");
}

void
api_web(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	const char *name = request->path + 1;
	const struct web_file *file = web_file_find(*name ? name : "index.html");
	uint32_t sum = crc32c(0, file->bytes, *file->n_bytes);

	(void)ctx;
	reply->content_type = file->content_type;
	reply->policy = POLICY;
	reply->is_gzip = takes_gzip(request);
	snprintf(reply->etag, sizeof reply->etag, "\"%08" PRIx32 "-%s\"", sum,
		 reply->is_gzip ? "gzip" : "plain");
	if (reply->is_gzip)
		strbuf_add(&reply->body, (const char *)file->bytes, *file->n_bytes);
	else
		web_file_unpack(file, &reply->body);
}
