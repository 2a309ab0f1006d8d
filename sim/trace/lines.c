#include "sim/trace/lines.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "lib/base/err.h"
#include "lib/base/vec.h"

#define BLOCK (1u << 16)

struct lines {
	char *path; /* Owned, as the user named it. */
	/* What is not gzip it tells as it is.  Libarchive does not check its sums. */
	gzFile gz;
	char *block; /* Owned.  Of that, BLOCK bytes. */
	/* Why no more of it can be read; NULL: it can.  Libarchive may forget it. */
	const char *broken;
	struct archive *archive;
	VEC(char)
	held; /* From 'from' on what was told last, from 'at' on what was not. */
	size_t from, at;
	size_t n; /* Of what was told, which is terminated there, */
	char was; /* instead of this. */
	size_t first_n,
		first_size; /* Of its first line, without its end and with it. */
	bool is_over;
	uint64_t number, n_joined; /* Of its first line; how many more it has. */
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

	if (lines->broken)
		why = lines->broken;
	/* What liblzma says of a file that is cut off. */
	if (why && strstr(why, "No progress is possible"))
		why = "it is cut off";
	return err_set(err, lines->path, 0, 0, "cannot be unpacked: %.200s",
		       why ? why : "damaged");
}

/* Libarchive's: the next bytes of the file, by way of 'gz'. */
static la_ssize_t
read_block(struct archive *archive, void *ctx, const void **ret_block)
{
	struct lines *lines = ctx;
	int n = gzread(lines->gz, lines->block, BLOCK), kind;
	const char *why = gzerror(lines->gz, &kind);

	*ret_block = lines->block;
	if (n > 0 || (n == 0 && kind == Z_OK))
		return n;
	/* "<fd:3>: incorrect data check". */
	why = strstr(why, ": ") ? strstr(why, ": ") + 2 : why;
	lines->broken = kind == Z_BUF_ERROR ? "it is cut off" : why;
	archive_set_error(archive, EIO, "%s", lines->broken);
	return -1;
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
	if (r != ARCHIVE_EOF || lines->broken)
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
	int n = !gzdirect(lines->gz);

	for (int i = 0; i < archive_filter_count(lines->archive); i++)
		n += archive_filter_code(lines->archive, i) != ARCHIVE_FILTER_NONE;
	return n > 1 ? err_set(err, lines->path, 0, 0,
			       "is packed %d times, expected once at most", n)
		     : 0;
}

/* A file of many is not one of lines. */
static int
check_format(struct lines *lines, const char *member, struct err *err)
{
	int format = archive_format(lines->archive) & ARCHIVE_FORMAT_BASE_MASK;

	return !member && format == ARCHIVE_FORMAT_TAR
		       ? err_set(err, lines->path, 0, 0,
				 "is an archive; name a member as in '%.200s:MEMBER' "
				 "('tar -tf' lists them)",
				 lines->path)
		       : 0;
}

static int
open_file(struct lines *lines, struct err *err)
{
	bool is_stdin = strcmp(lines->path, "-") == 0;
	int fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
			  : open(lines->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return err_set_errno(err, lines->path, errno, "cannot be read");
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		close(fd);
		return err_set_errno(err, lines->path, EISDIR, "cannot be read");
	}
	lines->gz = gzdopen(fd, "r");
	BUG_ON(!lines->gz);
	gzbuffer(lines->gz, BLOCK);
	lines->block = xcalloc(BLOCK, 1);
	return archive_read_open(lines->archive, lines, NULL, read_block, NULL) ==
			       ARCHIVE_OK
		       ? 0
		       : archive_failed(lines, err);
}

int
lines_open(const char *path, struct lines **ret_lines, struct err *err)
{
	const char *member = member_of(path);
	struct lines *lines = xcalloc(1, sizeof *lines);
	int r;

	lines->path = member ? xasprintf("%.*s", (int)(member - path - 1), path)
			     : xstrdup(path);
	lines->archive = archive_read_new();
	BUG_ON(!lines->archive);
	/* Not all that libarchive knows: for some it runs programs. */
	archive_read_support_filter_gzip(lines->archive);
	archive_read_support_filter_xz(lines->archive);
	archive_read_support_filter_zstd(lines->archive);
	archive_read_support_filter_bzip2(lines->archive);
	archive_read_support_format_tar(lines->archive);
	if (!member) {
		archive_read_support_format_raw(lines->archive);
		archive_read_support_format_empty(lines->archive);
	}
	r = open_file(lines, err);
	if (r == 0)
		r = find_member(lines, member, err);
	if (r == 0)
		r = check_filters(lines, err);
	if (r == 0)
		r = check_format(lines, member, err);
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
	if (lines->gz)
		gzclose_r(lines->gz);
	free(lines->block);
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

/* Reads on; what is before 'from' is given up. */
static int
read_more(struct lines *lines, struct err *err)
{
	la_ssize_t n;

	if (lines->from)
		memmove(lines->held.items, lines->held.items + lines->from,
			lines->held.n - lines->from);
	lines->held.n -= lines->from;
	lines->at -= lines->from;
	lines->from = 0;
	if (lines->held.n > LINES_MAX_BYTES)
		return too_long(lines, err);
	vec_reserve(&lines->held, BLOCK + 1);
	n = archive_read_data(lines->archive, lines->held.items + lines->held.n, BLOCK);
	if (n < 0 || lines->broken)
		return archive_failed(lines, err);
	/* Data that is over is not asked for again. */
	lines->is_over = n == 0;
	lines->held.n += (size_t)n;
	return 0;
}

/* Tells one more line, behind what is told from 'from' on: 1, 0 at the end, -errno. */
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
			       "a zero byte: this is no text");
	lines->n = (size_t)(line - lines->held.items) + n - lines->from;
	return 1;
}

/* In place of its end, or of what is reserved behind. */
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
		lines->held.items[lines->from + n] = '\0';
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
