/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/err.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/log.h"
#include "lib/base/utf8.h"

/* Longer words are not corrected. */
#define MAX_WORD 48

static void
set_location(struct err *err, const char *file, unsigned line, unsigned column)
{
	snprintf(err->file, sizeof err->file, "%s", file ? file : "");
	utf8_disarm(err->file, 0);
	err->line = line;
	err->column = column;
}

int
err_set(struct err *err, const char *file, unsigned line, unsigned column,
	const char *fmt, ...)
{
	va_list args;

	if (!err)
		return -EINVAL;
	set_location(err, file, line, column);
	va_start(args, fmt);
	vsnprintf(err->text, sizeof err->text, fmt, args);
	va_end(args);
	utf8_disarm(err->text, 0);
	return -EINVAL;
}

int
err_set_errno(struct err *err, const char *file, int error, const char *what)
{
	if (error < 0)
		error = -error;
	err_set(err, file && !*file ? "''" : file, 0, 0, "%s: %s", what,
		strerror(error));
	return -error;
}

void
err_append(struct err *err, const char *fmt, ...)
{
	size_t length;
	va_list args;

	if (!err)
		return;
	length = strlen(err->text);
	va_start(args, fmt);
	vsnprintf(err->text + length, sizeof err->text - length, fmt, args);
	va_end(args);
	utf8_disarm(err->text, 0);
}

char *
err_line(const struct err *err)
{
	if (!*err->file)
		return xstrdup(err->text);
	if (!err->line)
		return xasprintf("%s: %s", err->file, err->text);
	if (!err->column)
		return xasprintf("%s:%u: %s", err->file, err->line, err->text);
	return xasprintf("%s:%u:%u: %s", err->file, err->line, err->column, err->text);
}

void
err_write(const struct err *err, FILE *out)
{
	char *line = err_line(err);

	fprintf(out, "%s\n", line);
	free(line);
}

void
err_print(const struct err *err, FILE *out)
{
	fprintf(out, "%s: ", log_program());
	err_write(err, out);
}

/*
 * The least number of letters to insert, delete, replace or swap with their neighbor
 * that turn 'a' into 'b' (optimal string alignment), in three rows.  Words have at most
 * MAX_WORD characters.
 */
static size_t
edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t rows[3][MAX_WORD + 1];

	for (size_t j = 0; j <= b_length; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t *row = rows[i % 3];
		const size_t *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);

			if (above[j] + 1 < best)
				best = above[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1] && above2[j - 2] + 1 < best)
				best = above2[j - 2] + 1;
			row[j] = best;
		}
	}
	return rows[a_length % 3][b_length];
}

const char *
err_did_you_mean(const char *word, const char *const *words)
{
	size_t length = strlen(word);
	size_t best_distance = length / 3 + 1;
	const char *best = NULL;

	if (!length || length > MAX_WORD)
		return NULL;
	for (; *words; words++) {
		size_t other_length = strlen(*words);
		size_t distance;

		if (other_length > MAX_WORD)
			continue;
		distance = edit_distance(word, length, *words, other_length);
		/* One wrong letter in a short word is accepted, too. */
		if (distance < best_distance ||
		    (!best && length > 1 && distance == 1)) {
			best = *words;
			best_distance = distance;
		}
	}
	return best;
}

void
err_suggest(struct err *err, const char *word, const char *const *words)
{
	const char *meant = err_did_you_mean(word, words);

	if (meant)
		err_append(err, " (did you mean '%s'?)", meant);
}
