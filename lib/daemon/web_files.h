/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_files.h - the files of web/dist, as they are compressed into the programs.
 *
 * antiphase-scheduler and 'antiphase web' serve them; 'antiphase report' writes them into a
 * page.
 */
#ifndef LIB_DAEMON_WEB_FILES_H
#define LIB_DAEMON_WEB_FILES_H

#include <stdint.h>

struct http_reply;
struct http_request;
struct strbuf;

struct web_file {
	const char *name; /* "app.js". */
	const char *content_type;
	const unsigned char *bytes; /* A gzip member. */
	const uint32_t *n_bytes;    /* Its length, which only the assembler knows. */
};

/* NULL if there is no file of that name. */
const struct web_file *web_file_find(const char *name);

/* Appends the file as it was before it was compressed. */
void web_file_unpack(const struct web_file *file, struct strbuf *out);

/* Paths of the page and its files, which web_file_answer() serves. */
#define WEB_FILE_PATHS                                                   \
	{                                                                \
		"/", "/app.js", "/app.css", "/icon.svg", "/LICENSES.txt" \
	}

/* No script, style, picture or connection but this server's; in no frame. */
#define WEB_FILE_POLICY \
	"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/* Answers a request for one of WEB_FILE_PATHS. */
void web_file_answer(const struct http_request *request, struct http_reply *reply);

#endif
