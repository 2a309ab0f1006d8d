/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/trace/lines.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/instream.h"
#include "lib/base/vec.h"

#define BLOCK (1u << 16)

struct lines {
	char *path;          /* Owned, as the user named it. */
	struct instream *in; /* Owned. */
	VEC(char)
	held; /* From 'from' on the returned text, from 'at' on the unread rest. */
	size_t from, at;
	size_t n; /* Length of the returned text, which is terminated there. */
	char was; /* The character replaced by the terminator. */
	size_t first_n, first_size; /* Of its first line, without and with its end. */
	bool is_over;
	uint64_t number, n_joined; /* Number of its first line; lines joined to it. */
};

int
lines_open(const char *path, struct lines **ret_lines, struct err *err)
{
	struct instream *in;
	struct lines *lines;
	int r = instream_open_member(path, &in, err);

	if (r < 0)
		return r;
	lines = xcalloc(1, sizeof *lines);
	lines->path = xstrdup(path);
	lines->in = in;
	*ret_lines = lines;
	return 0;
}

void
lines_close(struct lines *lines)
{
	if (!lines)
		return;
	instream_close(lines->in);
	vec_free(&lines->held);
	free(lines->path);
	free(lines);
}

static int
too_long(const struct lines *lines, struct err *err)
{
	err_set(err, lines->path, (unsigned)lines->number + 1, 0,
		"a line of more than %u bytes", LINES_MAX_BYTES);
	return -EMSGSIZE;
}

/* Reads more; discards what is before 'from'. */
static int
read_more(struct lines *lines, struct err *err)
{
	ssize_t n;

	if (lines->from)
		memmove(lines->held.items, lines->held.items + lines->from,
			lines->held.n - lines->from);
	lines->held.n -= lines->from;
	lines->at -= lines->from;
	lines->from = 0;
	if (lines->held.n > LINES_MAX_BYTES)
		return too_long(lines, err);
	vec_reserve(&lines->held, BLOCK + 1);
	n = instream_read(lines->in, (uint8_t *)lines->held.items + lines->held.n,
			  BLOCK, err);
	if (n < 0)
		return (int)n;
	/* At the end of the data, does not read again. */
	lines->is_over = n == 0;
	lines->held.n += (size_t)n;
	return 0;
}

/* Adds one line to the returned text: 1, 0 at the end, -errno. */
static int
tell_line(struct lines *lines, struct err *err)
{
	size_t seen = 0, n;
	char *line, *end;
	int r;

	for (;;) {
		n = lines->held.n - lines->at;
		end = n > seen ? memchr(lines->held.items + lines->at + seen, '\n',
					n - seen)
			       : NULL;
		if (end || lines->is_over)
			break;
		seen = n;
		r = read_more(lines, err);
		if (r < 0)
			return r;
	}
	if (!end && !n)
		return 0;
	line = lines->held.items + lines->at;
	n = end ? (size_t)(end - line) : n;
	if (lines->at + n - lines->from > LINES_MAX_BYTES)
		return too_long(lines, err);
	lines->at += n + (end != NULL);
	if (n && line[n - 1] == '\r')
		n--;
	if (memchr(line, '\0', n))
		return err_set(err, lines->path,
			       (unsigned)(lines->number + lines->n_joined) + 1, 0,
			       "a zero byte: this is not text");
	lines->n = (size_t)(line - lines->held.items) + n - lines->from;
	return 1;
}

/* Terminates the text at its end, or in the reserved byte after it. */
static void
terminate(struct lines *lines, char **ret_text, size_t *ret_n)
{
	*ret_text = lines->held.items + lines->from;
	*ret_n = lines->n;
	lines->was = (*ret_text)[lines->n];
	(*ret_text)[lines->n] = '\0';
}

int
lines_next(struct lines *lines, char **ret_line, size_t *ret_n, struct err *err)
{
	int r;

	lines->number += lines->n_joined;
	lines->n_joined = 0;
	lines->from = lines->at;
	r = tell_line(lines, err);
	if (r <= 0)
		return r;
	lines->number++;
	lines->first_n = lines->n;
	lines->first_size = lines->at - lines->from;
	terminate(lines, ret_line, ret_n);
	return 1;
}

int
lines_join(struct lines *lines, char **ret_text, size_t *ret_n, struct err *err)
{
	size_t n = lines->n;
	int r;

	lines->held.items[lines->from + n] = lines->was;
	r = tell_line(lines, err);
	if (r <= 0) {
		/* Reading may have moved it. */
		lines->n = n;
		terminate(lines, ret_text, ret_n);
		return r == -EMSGSIZE ? 0 : r;
	}
	lines->n_joined++;
	terminate(lines, ret_text, ret_n);
	return 1;
}

void
lines_back(struct lines *lines, char **ret_line, size_t *ret_n)
{
	lines->held.items[lines->from + lines->n] = lines->was;
	lines->n = lines->first_n;
	lines->at = lines->from + lines->first_size;
	lines->n_joined = 0;
	terminate(lines, ret_line, ret_n);
}

uint64_t
lines_number(const struct lines *lines)
{
	return lines->number;
}
