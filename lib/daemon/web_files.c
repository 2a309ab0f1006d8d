/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/daemon/web_files.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <zlib.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/http.h"

/*
 * The Makefile compresses web/dist into build/web.  An embedded file has the labels
 * web_NAME and web_NAME_size.
 */
#define EMBED(name, path)                                   \
	__asm__(".section .rodata\n"                        \
		"web_" #name ":\n"                          \
		".incbin \"build/web/" path ".gz\"\n"       \
		"web_" #name "_end:\n"                      \
		".balign 4\n"                               \
		"web_" #name "_size:\n"                     \
		".long web_" #name "_end - web_" #name "\n" \
		".previous\n");                             \
	extern const unsigned char web_##name[];            \
	extern const uint32_t web_##name##_size

EMBED(index, "index.html");
EMBED(script, "app.js");
EMBED(style, "app.css");
EMBED(icon, "icon.svg");
EMBED(licenses, "LICENSES.txt");
EMBED(report, "report.html");

static const struct web_file files[] = {
	{ "index.html", "text/html; charset=utf-8", web_index, &web_index_size },
	{ "app.js", "text/javascript; charset=utf-8", web_script, &web_script_size },
	{ "app.css", "text/css; charset=utf-8", web_style, &web_style_size },
	{ "icon.svg", "image/svg+xml", web_icon, &web_icon_size },
	{ "LICENSES.txt", "text/plain; charset=utf-8", web_licenses,
	  &web_licenses_size },
	{ "report.html", "text/html; charset=utf-8", web_report, &web_report_size },
};

const struct web_file *
web_file_find(const char *name)
{
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		if (strcmp(files[i].name, name) == 0)
			return &files[i];
	return NULL;
}

void
web_file_unpack(const struct web_file *file, struct strbuf *out)
{
	unsigned char piece[8192];
	z_stream z = { .next_in = (Bytef *)(uintptr_t)file->bytes,
		       .avail_in = *file->n_bytes };
	int r;

	BUG_ON(inflateInit2(&z, 16 + MAX_WBITS) != Z_OK);
	do {
		z.next_out = piece;
		z.avail_out = sizeof piece;
		r = inflate(&z, Z_NO_FLUSH);
		BUG_ON(r != Z_OK && r != Z_STREAM_END);
		strbuf_add(out, (const char *)piece, sizeof piece - z.avail_out);
	} while (r != Z_STREAM_END);
	inflateEnd(&z);
}

static bool
takes_gzip(const struct http_request *request)
{
	const char *accepted = http_header(request, "Accept-Encoding");

	return accepted && strstr(accepted, "gzip");
}

void
web_file_answer(const struct http_request *request, struct http_reply *reply)
{
	const char *name = request->path + 1;
	const struct web_file *file = web_file_find(*name ? name : "index.html");
	unsigned long sum = crc32(0, file->bytes, *file->n_bytes);

	reply->content_type = file->content_type;
	reply->policy = WEB_FILE_POLICY;
	reply->is_gzip = takes_gzip(request);
	snprintf(reply->etag, sizeof reply->etag, "\"%08lx-%s\"", sum,
		 reply->is_gzip ? "gzip" : "plain");
	if (reply->is_gzip)
		strbuf_add(&reply->body, (const char *)file->bytes, *file->n_bytes);
	else
		web_file_unpack(file, &reply->body);
}
