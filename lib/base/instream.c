#include "lib/base/instream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lzma.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"

/* What the decompressor may use: xz -9 needs 65 MiB to decode. */
#define XZ_MAX_MEMORY_BYTES (UINT64_C(128) << 20)
#define BUFFER_BYTES        65536

static const uint8_t xz_magic[6] = { 0xfd, '7', 'z', 'X', 'Z', 0 };

struct instream {
	char *path; /* For messages. */
	int fd;
	bool is_xz, is_ended;
	lzma_stream xz;
	/* Read and not yet handed on: the first bytes, or what the decoder has not. */
	size_t at, n;
	uint8_t buffer[BUFFER_BYTES];
};

static ssize_t
read_fd(struct instream *s, uint8_t *bytes, size_t n, struct err *err)
{
	ssize_t got;

	do {
		got = read(s->fd, bytes, n);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return err_set_errno(err, s->path, errno, "cannot read");
	return got;
}

int
instream_open(const char *path, struct instream **ret_stream, struct err *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	struct instream *s = xcalloc(1, sizeof *s);
	ssize_t got = 1;

	s->path = xstrdup(is_stdin ? "standard input" : path);
	s->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (s->fd < 0) {
		int error = err_set_errno(err, path, errno, "cannot open");

		instream_close(s);
		return error;
	}
	while (s->n < sizeof xz_magic && got > 0) {
		got = read_fd(s, s->buffer + s->n, sizeof xz_magic - s->n, err);
		if (got < 0) {
			instream_close(s);
			return (int)got;
		}
		s->n += (size_t)got;
	}
	s->xz = (lzma_stream)LZMA_STREAM_INIT;
	s->is_xz = s->n == sizeof xz_magic && memcmp(s->buffer, xz_magic, s->n) == 0;
	if (s->is_xz && lzma_stream_decoder(&s->xz, XZ_MAX_MEMORY_BYTES,
					    LZMA_CONCATENATED) != LZMA_OK) {
		instream_close(s);
		return err_set(err, path, 0, 0, "cannot start the xz decoder");
	}
	*ret_stream = s;
	return 0;
}

static ssize_t
read_plain(struct instream *s, uint8_t *bytes, size_t n, struct err *err)
{
	size_t kept = s->n - s->at;

	if (!kept)
		return read_fd(s, bytes, n, err);
	if (kept > n)
		kept = n;
	memcpy(bytes, s->buffer + s->at, kept);
	s->at += kept;
	return (ssize_t)kept;
}

static ssize_t
read_xz(struct instream *s, uint8_t *bytes, size_t n, struct err *err)
{
	bool is_input_ended = false;

	s->xz.next_out = bytes;
	s->xz.avail_out = n;
	while (s->xz.avail_out == n && !s->is_ended) {
		lzma_ret status;

		if (s->at == s->n) {
			ssize_t got = read_fd(s, s->buffer, sizeof s->buffer, err);

			if (got < 0)
				return got;
			is_input_ended = got == 0;
			s->at = 0;
			s->n = (size_t)got;
		}
		s->xz.next_in = s->buffer + s->at;
		s->xz.avail_in = s->n - s->at;
		status = lzma_code(&s->xz, is_input_ended ? LZMA_FINISH : LZMA_RUN);
		s->at = s->n - s->xz.avail_in;
		if (status == LZMA_STREAM_END) {
			s->is_ended = true;
		} else if (status == LZMA_BUF_ERROR && is_input_ended &&
			   s->xz.avail_out == n) {
			err_set(err, s->path, 0, 0, "the xz data is cut off");
			return -ENODATA;
		} else if (status != LZMA_OK && status != LZMA_BUF_ERROR) {
			return err_set(err, s->path, 0, 0,
				       "damaged xz data; try 'xz -t' on the file");
		}
	}
	return (ssize_t)(n - s->xz.avail_out);
}

ssize_t
instream_read(struct instream *stream, uint8_t *bytes, size_t n, struct err *err)
{
	BUG_ON(n == 0);
	return stream->is_xz ? read_xz(stream, bytes, n, err)
			     : read_plain(stream, bytes, n, err);
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
	if (stream->is_xz)
		lzma_end(&stream->xz);
	if (stream->fd > STDIN_FILENO)
		close(stream->fd);
	free(stream->path);
	free(stream);
}
