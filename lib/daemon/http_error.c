/* SPDX-License-Identifier: Apache-2.0 */
/* http_error.c - the reply that refuses a request, as every API of antiphase does. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/jsonw.h"
#include "lib/daemon/http_priv.h"

void
http_reply_error(struct http_reply *reply, unsigned status, const char *code,
		 const char *hint, const char *format, ...)
{
	char message[512], *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	struct jsonw w;
	va_list args;

	BUG_ON(!out);
	va_start(args, format);
	vsnprintf(message, sizeof message, format, args);
	va_end(args);
	jsonw_init(&w, out);
	jsonw_flat_object(&w, NULL);
	jsonw_object(&w, "error");
	jsonw_str(&w, "code", code);
	jsonw_str(&w, "message", message);
	jsonw_str(&w, "hint", hint);
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
	fclose(out);
	strbuf_clear(&reply->body);
	strbuf_add(&reply->body, text, length);
	free(text);
	reply->status = status;
	reply->content_type = NULL;
	reply->is_gzip = false;
	reply->policy = NULL;
	reply->etag[0] = '\0';
}
