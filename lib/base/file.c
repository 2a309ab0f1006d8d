#include "lib/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lzma.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/newfile.h"

/* What the decompressor may use: xz -9 needs 65 MiB to decode. */
#define XZ_MAX_MEMORY_BYTES (UINT64_C(128) << 20)

/* UTF-8's byte order mark, which some editors put in front. */
static const char utf8_mark[3] = { '\xef', '\xbb', '\xbf' };

static const uint8_t xz_magic[6] = { 0xfd, '7', 'z', 'X', 'Z', 0 };

static int
too_large(const char *path, size_t max_bytes, struct err *err)
{
	err_set(err, path, 0, 0, "is larger than %.3g MB, the limit for such a file",
		(double)max_bytes / 1e6);
	return -EFBIG;
}

/* Grows '*buffer' so that at least one byte more than 'length' and the terminator fit. */
static void
make_room(char **buffer, size_t *capacity, size_t length)
{
	if (length + 2 > *capacity) {
		*capacity = *capacity ? *capacity * 2 : 65536;
		*buffer = xreallocarray(*buffer, *capacity, 1);
	}
}

int
file_unxz(const char *path, const uint8_t *bytes, size_t length, size_t max_bytes,
	  char **ret_text, size_t *ret_length, struct err *err)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	char *text = NULL;
	size_t capacity = 0, used = 0;
	lzma_ret status;
	int result = 0;

	if (lzma_stream_decoder(&stream, XZ_MAX_MEMORY_BYTES, LZMA_CONCATENATED) !=
	    LZMA_OK)
		return err_set(err, path, 0, 0, "cannot start the xz decoder");

	stream.next_in = bytes;
	stream.avail_in = length;
	do {
		make_room(&text, &capacity, used);
		stream.next_out = (uint8_t *)text + used;
		stream.avail_out = capacity - 1 - used;
		status = lzma_code(&stream, LZMA_FINISH);
		used = capacity - 1 - stream.avail_out;
		if (used > max_bytes) {
			result = too_large(path, max_bytes, err);
			goto out;
		}
	} while (status == LZMA_OK);

	if (status != LZMA_STREAM_END) {
		result = err_set(err, path, 0, 0,
				 "damaged xz data; try 'xz -t' on the file");
		goto out;
	}
	text[used] = '\0';
	*ret_text = text;
	*ret_length = used;
	text = NULL;
out:
	free(text);
	lzma_end(&stream);
	return result;
}

static int
read_all(int fd, const char *path, size_t max_bytes, char **ret_text,
	 size_t *ret_length, struct err *err)
{
	char *text = NULL;
	size_t capacity = 0, length = 0;

	for (;;) {
		ssize_t n;

		make_room(&text, &capacity, length);
		n = read(fd, text + length, capacity - 1 - length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int error = errno;

			free(text);
			return err_set_errno(err, path, error, "cannot read");
		}
		if (n == 0)
			break;
		length += (size_t)n;
		if (length > max_bytes) {
			free(text);
			return too_large(path, max_bytes, err);
		}
	}
	text[length] = '\0';
	*ret_text = text;
	*ret_length = length;
	return 0;
}

int
file_read(const char *path, size_t max_bytes, char **ret_text, size_t *ret_length,
	  struct err *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	size_t length = 0;
	int result;

	if (fd < 0)
		return err_set_errno(err, path, errno, "cannot open");
	result = read_all(fd, path, max_bytes, &text, &length, err);
	if (!is_stdin)
		close(fd);
	if (result < 0)
		return result;

	if (length >= sizeof xz_magic && memcmp(text, xz_magic, sizeof xz_magic) == 0) {
		char *packed = text;

		result = file_unxz(path, (const uint8_t *)packed, length, max_bytes,
				   &text, &length, err);
		free(packed);
		if (result < 0)
			return result;
	}
	if (length >= sizeof utf8_mark &&
	    memcmp(text, utf8_mark, sizeof utf8_mark) == 0) {
		length -= sizeof utf8_mark;
		memmove(text, text + sizeof utf8_mark, length + 1);
	}
	*ret_text = text;
	*ret_length = length;
	return 0;
}

int
file_write(const char *path, const char *text, size_t length, struct err *err)
{
	struct newfile file;
	int r;

	if (strcmp(path, "-") == 0) {
		fwrite(text, 1, length, stdout); /* cli_finish() looks for errors. */
		return 0;
	}
	r = newfile_open(path, &file, err);
	if (r < 0)
		return r;
	if (fwrite(text, 1, length, file.out) != length)
		r = err_set_errno(err, path, errno, "cannot write");
	return newfile_finish(&file, r, err);
}
