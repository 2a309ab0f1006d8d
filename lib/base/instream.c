/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/instream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>
#include <zlib.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"

#define BLOCK_BYTES 65536

static const uint8_t gzip_magic[2] = { 0x1f, 0x8b };
static const char cut_off[] = "it is cut off";

struct instream {
	char *path; /* For messages; owned. */
	int fd;
	struct archive *archive; /* Owned. */
	/* The failure: -errno, or a text.  Kept because libarchive, which reads through
	 * this module, may forget that it failed. */
	int error;
	const char *why;
	bool is_over;            /* At the end, or failed with 'why'. */
	bool is_gzip, is_member; /* A gzip file; inside one of its members. */
	z_stream gzip;
	uint8_t raw[BLOCK_BYTES]; /* Of the file; not passed on: from 'at' to 'n'. */
	size_t at, n;
	uint8_t unzipped[BLOCK_BYTES];
	const uint8_t *block; /* Unpacked by libarchive, not yet read; borrowed. */
	size_t block_n;
	int64_t block_end; /* The block's end in the unpacked file. */
};

/* ---- The file -------------------------------------------------------------------- */

/* Reads until 'want' bytes or the end; false on failure. */
static bool
fill(struct instream *s, size_t want)
{
	s->n -= s->at;
	memmove(s->raw, s->raw + s->at, s->n);
	s->at = 0;
	while (s->n < want) {
		ssize_t got = read(s->fd, s->raw + s->n, sizeof s->raw - s->n);

		if (got < 0 && errno != EINTR)
			s->error = -errno;
		if (got == 0 || s->error)
			break;
		s->n += got > 0 ? (size_t)got : 0;
	}
	return s->error == 0;
}

static bool
is_gzip(const struct instream *s)
{
	return s->n >= sizeof gzip_magic &&
	       memcmp(s->raw + s->at, gzip_magic, sizeof gzip_magic) == 0;
}

/* Inflates at least a byte; 0 at the end, -1 on failure.  Like gzip(1), ignores bytes
 * after the last member. */
static la_ssize_t
unzip(struct instream *s)
{
	int status = Z_OK;

	s->gzip.next_out = s->unzipped;
	s->gzip.avail_out = sizeof s->unzipped;
	while (s->gzip.avail_out == sizeof s->unzipped) {
		if (s->n - s->at < sizeof gzip_magic &&
		    !fill(s, s->is_member ? 1 : sizeof gzip_magic))
			return -1;
		if (!s->is_member && !is_gzip(s))
			return 0;
		if (s->at == s->n) {
			s->why = cut_off;
			return -1;
		}
		s->is_member = true;
		s->gzip.next_in = s->raw + s->at;
		s->gzip.avail_in = (uInt)(s->n - s->at);
		status = inflate(&s->gzip, Z_NO_FLUSH);
		s->at = s->n - s->gzip.avail_in;
		if (status == Z_STREAM_END) {
			s->is_member = false;
			inflateReset(&s->gzip);
		} else if (status != Z_OK) {
			s->why = s->gzip.msg ? s->gzip.msg : "damaged";
			return -1;
		}
	}
	return (la_ssize_t)(sizeof s->unzipped - s->gzip.avail_out);
}

/* Callback of libarchive: the next bytes of the file. */
static la_ssize_t
read_block(struct archive *archive, void *ctx, const void **ret_block)
{
	struct instream *s = ctx;
	la_ssize_t n;

	if (s->is_gzip) {
		*ret_block = s->unzipped;
		n = unzip(s);
	} else {
		if (s->at == s->n && !fill(s, 1))
			s->at = s->n = 0;
		*ret_block = s->raw + s->at;
		n = s->error ? -1 : (la_ssize_t)(s->n - s->at);
		s->at = s->n;
	}
	if (n < 0)
		archive_set_error(archive, EIO, "cannot read");
	return n;
}

/* ---- Archives -------------------------------------------------------------------- */

static int
fail(const struct instream *s, struct err *err)
{
	const char *why;

	if (s->error)
		return err_set_errno(err, s->path, s->error, "cannot read");
	why = s->why ? s->why : archive_error_string(s->archive);
	/* The messages of liblzma, and of libarchive for other formats. */
	if (why && (strstr(why, "No progress is possible") || strstr(why, "runcated") ||
		    why == cut_off)) {
		err_set(err, s->path, 0, 0, "cannot be unpacked: %s", cut_off);
		return -ENODATA;
	}
	return err_set(err, s->path, 0, 0, "cannot be unpacked: %.200s",
		       why ? why : "damaged");
}

/* The member's name in "FILE:MEMBER", or NULL if a file has the whole name. */
static const char *
member_of(const char *path)
{
	const char *colon = strrchr(path, ':');

	return access(path, F_OK) == 0 || !colon || !colon[1] ? NULL : colon + 1;
}

static int
find_member(struct instream *s, const char *member, struct err *err)
{
	struct archive_entry *entry;
	int r, n_packed = s->is_gzip;

	while ((r = archive_read_next_header(s->archive, &entry)) == ARCHIVE_OK) {
		const char *name = archive_entry_pathname(entry);

		if (!member || (name && strcmp(name, member) == 0))
			break;
	}
	if ((r != ARCHIVE_OK && r != ARCHIVE_EOF) || s->error || s->why)
		return fail(s, err);
	s->is_over = r == ARCHIVE_EOF;
	if (s->is_over && member)
		return err_set(err, s->path, 0, 0, "has no member '%.200s'", member);
	/* A file packed several times could unpack to any size. */
	for (int i = 0; i < archive_filter_count(s->archive); i++)
		n_packed += archive_filter_code(s->archive, i) != ARCHIVE_FILTER_NONE;
	if (n_packed > 1)
		return err_set(err, s->path, 0, 0,
			       "is packed %d times, expected once at most", n_packed);
	if (!member && (archive_format(s->archive) & ARCHIVE_FORMAT_BASE_MASK) ==
			       ARCHIVE_FORMAT_TAR)
		return err_set(err, s->path, 0, 0,
			       "is an archive; name a member as in '%.200s:MEMBER' "
			       "('tar -tf' lists them)",
			       s->path);
	return 0;
}

/* Borrows 'path' only during the call. */
static int
open_stream(const char *path, bool knows_archives, const char *member,
	    struct instream **ret_stream, struct err *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	struct instream *s = xcalloc(1, sizeof *s);
	int r = 0;

	s->path = xstrdup(is_stdin ? "standard input" : path);
	s->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (s->fd < 0)
		r = err_set_errno(err, path, errno, "cannot open");
	else if (!fill(s, sizeof gzip_magic))
		r = fail(s, err);
	if (r < 0) {
		instream_close(s);
		return r;
	}
	s->is_gzip = is_gzip(s);
	BUG_ON(s->is_gzip && inflateInit2(&s->gzip, 16 + MAX_WBITS) != Z_OK);
	s->archive = archive_read_new();
	BUG_ON(!s->archive);
	/* Only some filters: for others libarchive runs programs. */
	archive_read_support_filter_gzip(s->archive);
	archive_read_support_filter_xz(s->archive);
	archive_read_support_filter_zstd(s->archive);
	archive_read_support_filter_bzip2(s->archive);
	if (knows_archives)
		archive_read_support_format_tar(s->archive);
	if (!member) {
		archive_read_support_format_raw(s->archive);
		archive_read_support_format_empty(s->archive);
	}
	if (archive_read_open(s->archive, s, NULL, read_block, NULL) != ARCHIVE_OK)
		r = fail(s, err);
	if (r == 0)
		r = find_member(s, member, err);
	/* Handles a file truncated at its start like one truncated later. */
	if (r == -ENODATA && !member) {
		s->is_over = true;
		s->why = cut_off;
		r = 0;
	}
	if (r < 0)
		instream_close(s);
	else
		*ret_stream = s;
	return r;
}

int
instream_open(const char *path, struct instream **ret_stream, struct err *err)
{
	return open_stream(path, false, NULL, ret_stream, err);
}

int
instream_open_member(const char *path, struct instream **ret_stream, struct err *err)
{
	const char *member = member_of(path);
	char *file =
		member ? xstrndup(path, (size_t)(member - path) - 1) : xstrdup(path);
	int r = open_stream(file, true, member, ret_stream, err);

	free(file);
	return r;
}

/* ---- Reading --------------------------------------------------------------------- */

ssize_t
instream_read(struct instream *s, uint8_t *bytes, size_t n, struct err *err)
{
	BUG_ON(n == 0);
	if (s->is_over)
		return s->why ? fail(s, err) : 0;
	while (!s->block_n) {
		const void *block;
		la_int64_t at;
		int r = archive_read_data_block(s->archive, &block, &s->block_n, &at);

		s->is_over = r == ARCHIVE_EOF;
		if (s->is_over && !s->error && !s->why)
			return 0;
		if (r != ARCHIVE_OK || s->error || s->why)
			return fail(s, err);
		if (at != s->block_end)
			return err_set(err, s->path, 0, 0, "has holes");
		s->block = block;
		s->block_end = at + (la_int64_t)s->block_n;
	}
	if (n > s->block_n)
		n = s->block_n;
	memcpy(bytes, s->block, n);
	s->block += n;
	s->block_n -= n;
	return (ssize_t)n;
}

uint64_t
instream_at(const struct instream *stream)
{
	off_t at = lseek(stream->fd, 0, SEEK_CUR);

	return at < 0 ? 0 : (uint64_t)at;
}

void
instream_close(struct instream *stream)
{
	if (!stream)
		return;
	archive_read_free(stream->archive);
	if (stream->is_gzip)
		inflateEnd(&stream->gzip);
	if (stream->fd > STDIN_FILENO)
		close(stream->fd);
	free(stream->path);
	free(stream);
}
