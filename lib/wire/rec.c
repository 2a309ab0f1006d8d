/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/wire/rec.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/instream.h"
#include "lib/base/strbuf.h"
#include "lib/wire/tele.h"

/* ---- Writing --------------------------------------------------------------------- */

struct rec_writer {
	char *path;
	int fd;
	int error; /* The first that occurred. */
};

static int
write_all(struct rec_writer *writer, const uint8_t *bytes, size_t n, struct err *err)
{
	while (n && !writer->error) {
		ssize_t done = write(writer->fd, bytes, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0) {
			writer->error = -errno;
			break;
		}
		bytes += done;
		n -= (size_t)done;
	}
	if (writer->error)
		err_set_errno(err, writer->path, writer->error, "cannot write");
	return writer->error;
}

int
rec_writer_open(const char *file, struct rec_writer **ret_writer, struct err *err)
{
	bool is_stdout = strcmp(file, "-") == 0;
	struct rec_writer *writer = xcalloc(1, sizeof *writer);
	int error;

	writer->path = xstrdup(is_stdout ? "standard output" : file);
	writer->fd = is_stdout
			     ? STDOUT_FILENO
			     : open(file,
				    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY,
				    0666);
	if (writer->fd < 0)
		error = err_set_errno(err, file, errno, "cannot create");
	else
		error = write_all(writer, (const uint8_t *)REC_FIRST_LINE,
				  strlen(REC_FIRST_LINE), err);
	if (error < 0) {
		rec_writer_close(writer, NULL);
		return error;
	}
	*ret_writer = writer;
	return 0;
}

int
rec_write(struct rec_writer *writer, const uint8_t *bytes, size_t n, struct err *err)
{
	return write_all(writer, bytes, n, err);
}

int
rec_writer_close(struct rec_writer *writer, struct err *err)
{
	int error;

	if (!writer)
		return 0;
	error = writer->error;
	if (writer->fd > STDERR_FILENO && close(writer->fd) < 0 && !error)
		error = -errno;
	if (error)
		err_set_errno(err, writer->path, error, "cannot write");
	free(writer->path);
	free(writer);
	return error;
}

/* ---- Reading --------------------------------------------------------------------- */

/* The least that is read at once. */
#define READ_BYTES 65536

/*
 * Limit of the work on invalid frames: checksums over this many bytes, plus sixteen
 * times the bytes read.  Random damage stays far below; only a file full of headers
 * that each claim a long frame reaches it.
 */
#define MAX_FUTILE_BYTES (UINT64_C(1) << 30)

struct rec_reader {
	char *path;
	struct instream *in;
	uint8_t *buffer; /* Owned: bytes 'at' to 'n' are not parsed yet. */
	size_t at, n, capacity;
	bool is_ended, is_skipping;
	bool is_pack_cut_off; /* The xz data ended too early. */
	uint64_t read_bytes, futile_bytes;
	struct rec_counts counts;
};

int
rec_reader_open(const char *file, struct rec_reader **ret_reader, struct err *err)
{
	struct instream *in;
	struct rec_reader *reader;
	int error = instream_open(file, &in, err);

	if (error < 0)
		return error;
	reader = xcalloc(1, sizeof *reader);
	reader->path = xstrdup(strcmp(file, "-") == 0 ? "standard input" : file);
	reader->in = in;
	*ret_reader = reader;
	return 0;
}

void
rec_reader_close(struct rec_reader *reader)
{
	if (!reader)
		return;
	instream_close(reader->in);
	free(reader->buffer);
	free(reader->path);
	free(reader);
}

const struct rec_counts *
rec_reader_counts(const struct rec_reader *reader)
{
	return &reader->counts;
}

uint64_t
rec_skipped_bytes(const struct rec_reader *reader)
{
	return reader->counts.skipped_bytes;
}

/* Moves the unparsed bytes to the front if there is too little room after them. */
static void
make_room(struct rec_reader *reader, size_t want)
{
	size_t left = reader->n - reader->at;

	if (reader->at && reader->capacity - reader->n < want) {
		memmove(reader->buffer, reader->buffer + reader->at, left);
		reader->at = 0;
		reader->n = left;
	}
	if (reader->capacity - reader->n < want) {
		reader->capacity = 2 * reader->capacity + want;
		reader->buffer = xreallocarray(reader->buffer, reader->capacity, 1);
	}
}

/*
 * Reads until 'want' bytes are available, or the end of the file.  Memory grows with
 * the bytes read, not with what a header claims.
 */
static int
fill(struct rec_reader *reader, size_t want, struct err *err)
{
	while (reader->n - reader->at < want && !reader->is_ended) {
		ssize_t got;

		make_room(reader, READ_BYTES);
		got = instream_read(reader->in, reader->buffer + reader->n,
				    reader->capacity - reader->n, err);
		if (got == -ENODATA)
			reader->is_pack_cut_off = true;
		else if (got < 0)
			return (int)got;
		if (got <= 0)
			reader->is_ended = true;
		else
			reader->n += (size_t)got;
		reader->read_bytes += got > 0 ? (uint64_t)got : 0;
	}
	return 0;
}

static void
skip(struct rec_reader *reader, size_t n)
{
	if (!reader->is_skipping)
		reader->counts.damaged++;
	reader->is_skipping = true;
	reader->counts.skipped_bytes += n;
	reader->at += n;
}

/* Skips to where the next frame or first line may begin. */
static void
skip_to_next(struct rec_reader *reader)
{
	const uint8_t *from = reader->buffer + reader->at + 1;
	const uint8_t *end = reader->buffer + reader->n, *next = from;

	while (next < end && *next != 0xa7 && *next != REC_FIRST_LINE[0])
		next++;
	skip(reader, (size_t)(next - from) + 1);
}

static bool
take_first_line(struct rec_reader *reader)
{
	size_t length = strlen(REC_FIRST_LINE);

	if (reader->n - reader->at < length ||
	    memcmp(reader->buffer + reader->at, REC_FIRST_LINE, length) != 0)
		return false;
	reader->at += length;
	reader->is_skipping = false;
	return true;
}

/*
 * Looks for a frame at the start of the buffer.  Returns 1 with it; 0 if there is none,
 * after skipping some bytes; or -errno.
 */
static int
try_frame(struct rec_reader *reader, struct tele_frame *frame, size_t *ret_n,
	  struct err *err)
{
	size_t left = reader->n - reader->at, n = 0;
	int error;

	if (left >= TELE_HEADER_BYTES)
		n = tele_frame_bytes(reader->buffer + reader->at);
	if (!n) {
		/* Too short for a header, but perhaps the start of one. */
		if (left < TELE_HEADER_BYTES && reader->buffer[reader->at] == 0xa7)
			reader->counts.is_cut_off = true;
		skip_to_next(reader);
		return 0;
	}
	error = fill(reader, n, err);
	if (error < 0)
		return error;
	if (reader->n - reader->at < n) {
		reader->counts.is_cut_off = true;
		skip_to_next(reader);
		return 0;
	}
	error = tele_decode(reader->buffer + reader->at, n, frame, NULL);
	if (error == -EBADMSG) {
		reader->futile_bytes += n;
		skip_to_next(reader);
		return 0;
	}
	reader->is_skipping = false;
	reader->counts.is_cut_off = false;
	if (error < 0) {
		reader->counts.foreign++;
		reader->at += n;
		return 0;
	}
	*ret_n = n;
	return 1;
}

int
rec_read(struct rec_reader *reader, struct tele_frame *frame, const uint8_t **ret_bytes,
	 size_t *ret_n, struct err *err)
{
	for (;;) {
		size_t n = 0;
		int error = fill(reader, strlen(REC_FIRST_LINE), err);

		if (error < 0)
			return error;
		if (reader->at == reader->n)
			break;
		if (take_first_line(reader))
			continue;
		error = try_frame(reader, frame, &n, err);
		if (error < 0)
			return error;
		if (error) {
			if (ret_bytes) {
				*ret_bytes = reader->buffer + reader->at;
				*ret_n = n;
			}
			reader->at += n;
			reader->counts.frames++;
			reader->counts.bytes += n;
			return 1;
		}
		if (reader->futile_bytes > MAX_FUTILE_BYTES + 16 * reader->read_bytes) {
			err_set(err, reader->path, 0, 0,
				"is too damaged: it is full of headers of frames that "
				"do not follow");
			return -EBADMSG;
		}
	}
	tele_clear(frame);
	if (reader->is_pack_cut_off)
		reader->counts.is_cut_off = true;
	if (reader->counts.skipped_bytes && !reader->counts.frames &&
	    !reader->counts.foreign) {
		err_set(err, reader->path, 0, 0,
			"has no frame in it; expected what 'antiphase record' writes");
		return -EBADMSG;
	}
	return 0;
}

void
rec_describe_damage(const struct rec_counts *counts, struct strbuf *out)
{
	const char *between = "";

	if (counts->skipped_bytes) {
		strbuf_printf(out, "%" PRIu64 " bytes in %" PRIu64 " place%s skipped",
			      counts->skipped_bytes, counts->damaged,
			      counts->damaged == 1 ? "" : "s");
		between = ", ";
	}
	if (counts->foreign) {
		strbuf_printf(out, "%s%" PRIu64 " frames of another version", between,
			      counts->foreign);
		between = ", ";
	}
	if (counts->is_cut_off)
		strbuf_printf(out, "%scut off within a frame", between);
}
