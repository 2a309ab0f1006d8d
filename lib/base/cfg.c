/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/cfg.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <ini.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"

/* Bytes of the longest line, including its end. */
#define MAX_LINE 16384

/* What inih strips from both ends: isspace() of the C locale. */
#define BLANKS " \t\r\n\v\f"

/*
 * inih reports neither line numbers nor headings, and truncates long section names.  So
 * the function that feeds it lines keeps them.
 */
struct parser {
	const char *file;
	const char *next, *end; /* The text that inih has not read yet. */
	unsigned line;          /* The last one that inih read. */
	char *section;          /* Owned. */
	int (*entry)(void *ctx, const struct cfg_entry *entry, struct err *err);
	void *ctx;
	struct err *err;
	int result; /* The first failure, which ends reading. */
};

static int
fail(struct parser *p, const char *what)
{
	p->result = err_set(p->err, p->file, p->line, 0, "%s", what);
	return p->result;
}

/* True if nothing but blanks or a comment follows. */
static bool
is_rest_empty(const char *s)
{
	s += strspn(s, BLANKS);
	return !*s || *s == ';' || *s == '#';
}

/* Reads "[name]", stores it as the section and passes it to the caller. */
static int
take_heading(struct parser *p, const char *s)
{
	const char *start = s + 1 + strspn(s + 1, BLANKS);
	const char *close = strchr(start, ']');
	struct cfg_entry entry = { .line = p->line };
	const char *end = close;

	if (!close || !is_rest_empty(close + 1))
		return fail(p, "expected ']' at the end of the section's name");
	while (end > start && strchr(BLANKS, end[-1]))
		end--;
	if (end == start)
		return fail(p, "the section has no name; expected '[NAME]'");

	free(p->section);
	p->section = xstrndup(start, (size_t)(end - start));
	entry.section = p->section;
	p->result = p->entry(p->ctx, &entry, p->err);
	return p->result;
}

/* Checks a line before inih reads it. */
static int
check_line(struct parser *p, const char *line)
{
	const char *s = line + strspn(line, BLANKS);
	size_t key_length;

	if (is_rest_empty(s))
		return 0;
	if (*s == '[')
		return take_heading(p, s);
	/* inih would read "a:b = c" as the key 'a'. */
	key_length = strcspn(s, "=:");
	if (s[key_length] != '=')
		return fail(p, "expected 'key = value' or '[section]'");
	if (!key_length)
		return fail(p, "expected a key before '='");
	return 0;
}

/* fgets() for inih; always a whole line. */
static char *
read_line(char *line, int size, void *stream)
{
	struct parser *p = stream;
	size_t left = (size_t)(p->end - p->next);
	const char *newline;
	size_t length;

	if (p->result < 0 || !left)
		return NULL;
	newline = memchr(p->next, '\n', left);
	length = newline ? (size_t)(newline - p->next) + 1 : left;
	p->line++;
	if (length >= (size_t)size) {
		p->result = err_set(p->err, p->file, p->line, 0,
				    "the line has %zu bytes; at most %d are read",
				    length, size - 1);
		return NULL;
	}
	if (memchr(p->next, '\0', length)) {
		fail(p, "a NUL byte: the file is not text");
		return NULL;
	}

	memcpy(line, p->next, length);
	line[length] = '\0';
	p->next += length;
	return check_line(p, line) < 0 ? NULL : line;
}

static int
take_key(void *ctx, const char *section, const char *key, const char *value)
{
	struct parser *p = ctx;
	struct cfg_entry entry = {
		.section = p->section,
		.key = key,
		.value = value,
		.line = p->line,
	};

	(void)section;
	p->result = p->entry(p->ctx, &entry, p->err);
	return p->result == 0;
}

int
cfg_parse(const char *file, const char *text, size_t length,
	  int (*entry)(void *ctx, const struct cfg_entry *entry, struct err *err),
	  void *ctx, struct err *err)
{
	struct parser p = {
		.file = file,
		.next = text,
		.end = text + length,
		.entry = entry,
		.ctx = ctx,
		.err = err,
	};
	int bad_line;

	if (length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		p.next += 3; /* The byte order mark of UTF-8. */
	p.section = xstrdup("");

	/* inih's settings are global; these are the only ones in use. */
	ini_allow_multiline = false;
	ini_allow_bom = false; /* Skipped above, once. */
	ini_stop_on_first_error = true;
	ini_use_stack = false;
	ini_allow_realloc = false;
	ini_max_line = MAX_LINE;
	ini_initial_alloc = MAX_LINE;
	bad_line = ini_parse_stream(read_line, &p, take_key, &p);
	/* inih accepts all that check_line() accepts. */
	if (!p.result && bad_line)
		fail(&p, "expected 'key = value' or '[section]'");
	free(p.section);
	return p.result;
}
