#include "sim/jobtrace/lines.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/vec.h"

#define BLOCK (1u << 16)

struct lines {
	char *path; /* Owned, as the user named it. */
	struct archive *archive;
	VEC(char) held; /* Not told yet, from 'at' on. */
	size_t at;
	bool is_over;
	uint64_t number;
};

/* Where the member's name begins, if that file is not there but the one before is. */
static const char *
member_of(const char *path)
{
	const char *colon = strrchr(path, ':');

	return access(path, F_OK) == 0 || !colon || !colon[1] ? NULL : colon + 1;
}

static int
archive_failed(struct lines *lines, struct err *err)
{
	const char *why = archive_error_string(lines->archive);
	int error = archive_errno(lines->archive);

	if (error == ENOENT || error == EACCES || error == EISDIR)
		return err_set_errno(err, lines->path, error, "cannot be read");
	return err_set(err, lines->path, 0, 0, "cannot be unpacked: %.200s",
		       why ? why : "damaged");
}

static int
find_member(struct lines *lines, const char *member, struct err *err)
{
	struct archive_entry *entry;
	int r;

	while ((r = archive_read_next_header(lines->archive, &entry)) == ARCHIVE_OK) {
		const char *name = archive_entry_pathname(entry);

		if (!member || (name && strcmp(name, member) == 0))
			return 0;
	}
	if (r != ARCHIVE_EOF)
		return archive_failed(lines, err);
	lines->is_over = true;
	return member ? err_set(err, lines->path, 0, 0, "has no member '%.200s'",
				member)
		      : 0; /* An empty file. */
}

/* Packed again and again, a small file is as large as one likes. */
static int
check_filters(struct lines *lines, struct err *err)
{
	int n = 0;

	for (int i = 0; i < archive_filter_count(lines->archive); i++)
		n += archive_filter_code(lines->archive, i) != ARCHIVE_FILTER_NONE;
	return n > 1 ? err_set(err, lines->path, 0, 0,
			       "is packed %d times, expected once at most", n)
		     : 0;
}

int
lines_open(const char *path, struct lines **ret_lines, struct err *err)
{
	const char *member = member_of(path);
	struct lines *lines = xcalloc(1, sizeof *lines);
	int r = 0;

	lines->path = member ? xasprintf("%.*s", (int)(member - path - 1), path)
			     : xstrdup(path);
	lines->archive = archive_read_new();
	BUG_ON(!lines->archive);
	/* Not all that libarchive knows: for some it runs programs. */
	archive_read_support_filter_gzip(lines->archive);
	archive_read_support_filter_xz(lines->archive);
	archive_read_support_filter_zstd(lines->archive);
	archive_read_support_filter_bzip2(lines->archive);
	if (member) {
		archive_read_support_format_tar(lines->archive);
	} else {
		archive_read_support_format_raw(lines->archive);
		archive_read_support_format_empty(lines->archive);
	}
	if (archive_read_open_filename(
		    lines->archive, strcmp(lines->path, "-") == 0 ? NULL : lines->path,
		    BLOCK) != ARCHIVE_OK)
		r = archive_failed(lines, err);
	if (r == 0)
		r = find_member(lines, member, err);
	if (r == 0)
		r = check_filters(lines, err);
	if (r < 0) {
		lines_close(lines);
		return r;
	}
	*ret_lines = lines;
	return 0;
}

void
lines_close(struct lines *lines)
{
	if (!lines)
		return;
	archive_read_free(lines->archive);
	vec_free(&lines->held);
	free(lines->path);
	free(lines);
}

/* Reads on; what was told is given up. */
static int
read_more(struct lines *lines, struct err *err)
{
	la_ssize_t n;

	if (lines->at)
		memmove(lines->held.items, lines->held.items + lines->at,
			lines->held.n - lines->at);
	lines->held.n -= lines->at;
	lines->at = 0;
	if (lines->held.n > LINES_MAX_BYTES) {
		err_set(err, lines->path, (unsigned)lines->number + 1, 0,
			"a line of more than %u bytes", LINES_MAX_BYTES);
		return -EMSGSIZE;
	}
	vec_reserve(&lines->held, BLOCK + 1);
	n = archive_read_data(lines->archive, lines->held.items + lines->held.n, BLOCK);
	if (n < 0)
		return archive_failed(lines, err);
	/* Data that is over is not asked for again. */
	lines->is_over = n == 0;
	lines->held.n += (size_t)n;
	return 0;
}

int
lines_next(struct lines *lines, char **ret_line, size_t *ret_n, struct err *err)
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
	lines->number++;
	lines->at += end ? (size_t)(end - line) + 1 : n;
	n = end ? (size_t)(end - line) : n;
	if (n && line[n - 1] == '\r')
		n--;
	if (memchr(line, '\0', n))
		return err_set(err, lines->path, (unsigned)lines->number, 0,
			       "a zero byte: this is no text");
	line[n] = '\0'; /* In place of its end, or of what is reserved behind. */
	*ret_line = line;
	*ret_n = n;
	return 1;
}

uint64_t
lines_number(const struct lines *lines)
{
	return lines->number;
}
