/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_files.h - the files of web/dist, as they are compressed into the programs.
 *
 * antiphase-scheduler serves them; 'antiphase report' writes them into a page.
 */
#ifndef LIB_DAEMON_WEB_FILES_H
#define LIB_DAEMON_WEB_FILES_H

#include <stdint.h>

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

#endif
