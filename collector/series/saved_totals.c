/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/series/saved_totals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/wire/crc32c.h"

#define VERSION 1

static const char magic[8] = "AP-TOTL";

/* In host byte order: the file never leaves the host. */
struct half {
	uint64_t generation; /* The valid half with the greater one is read. */
	uint32_t n;
	uint32_t crc; /* Of generation, n and the rows. */
	struct saved_totals_row rows[SAVED_TOTALS_MAX];
};

struct image {
	char magic[8];
	uint32_t version;
	uint32_t row_bytes;
	uint8_t boot_id[16];
	struct half halves[2];
};

struct saved_totals {
	int fd;
	struct image *image; /* Mapped. */
	struct saved_totals_row *found;
	size_t n_found;
	const char *complaint;
	unsigned current; /* The half written last. */
	uint32_t n;       /* Rows of the half being written. */
};

static uint32_t
checksum(const struct half *half)
{
	uint32_t crc = crc32c(0, (const uint8_t *)half, offsetof(struct half, crc));

	return crc32c(crc, (const uint8_t *)half->rows, half->n * sizeof half->rows[0]);
}

static bool
is_name(const char *name)
{
	return memchr(name, '\0', TELE_MAX_NAME + 1) != NULL;
}

static bool
is_row(const struct saved_totals_row *row)
{
	return is_name(row->interface) && *row->interface && is_name(row->job) &&
	       row->owner <= SAVED_TOTALS_JOB &&
	       (row->owner == SAVED_TOTALS_JOB) == !!*row->job &&
	       row->direction <= TELE_RX && row->measure <= TELE_OFFERED;
}

/* Rejects impossible values even if the checksum is valid. */
static bool
is_whole(const struct half *half)
{
	if (!half->generation || half->n > SAVED_TOTALS_MAX ||
	    half->crc != checksum(half))
		return false;
	for (uint32_t i = 0; i < half->n; i++) {
		if (!is_row(&half->rows[i]))
			return false;
	}
	return true;
}

static void
start_anew(struct saved_totals *totals, const uint8_t boot_id[16])
{
	struct image *image = totals->image;

	for (int i = 0; i < 2; i++)
		image->halves[i].generation = image->halves[i].n = 0;
	memcpy(image->magic, magic, sizeof magic);
	image->version = VERSION;
	image->row_bytes = sizeof(struct saved_totals_row);
	memcpy(image->boot_id, boot_id, 16);
}

static void
read_found(struct saved_totals *totals, const uint8_t boot_id[16])
{
	struct image *image = totals->image;
	bool whole[2] = { is_whole(&image->halves[0]), is_whole(&image->halves[1]) };

	if (memcmp(image->magic, magic, sizeof magic) != 0 ||
	    image->version != VERSION ||
	    image->row_bytes != sizeof(struct saved_totals_row)) {
		static const char zeros[sizeof magic];

		if (memcmp(image->magic, zeros, sizeof zeros) != 0)
			totals->complaint = "it is of another version, or no such file";
	} else if (memcmp(image->boot_id, boot_id, 16) != 0) {
		totals->complaint = "it is of an earlier boot";
	} else if (!whole[0] && !whole[1]) {
		if (image->halves[0].generation || image->halves[1].generation)
			totals->complaint = "it is damaged";
	} else {
		unsigned i =
			whole[1] && (!whole[0] || image->halves[1].generation >
							  image->halves[0].generation);

		totals->current = i;
		totals->n_found = image->halves[i].n;
		totals->found = xmemdup(image->halves[i].rows, totals->n_found,
					sizeof(struct saved_totals_row));
		return;
	}
	start_anew(totals, boot_id);
}

int
saved_totals_open(const char *file, const uint8_t boot_id[16],
		  struct saved_totals **ret_totals, struct err *err)
{
	struct saved_totals *totals;
	struct stat info;
	void *image = MAP_FAILED;
	int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644), rc = 0;

	if (fd < 0)
		return err_set_errno(err, file, errno, "cannot open");
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		rc = -errno;
		close(fd);
		if (rc != -EWOULDBLOCK)
			return err_set_errno(err, file, rc, "cannot lock");
		err_set(err, file, 0, 0,
			"another collector runs in this runtime directory; "
			"give this one its own by --runtime-dir");
		return -EBUSY;
	}
	if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))
		rc = err_set(err, file, 0, 0, "is not a regular file");
	else if (ftruncate(fd, sizeof(struct image)) < 0)
		rc = err_set_errno(err, file, errno, "cannot make room");
	/* Reserves the pages, since a write without room would raise SIGBUS. */
	else if ((rc = -posix_fallocate(fd, 0, sizeof(struct image))) < 0)
		err_set_errno(err, file, rc, "cannot make room");
	else
		image = mmap(NULL, sizeof(struct image), PROT_READ | PROT_WRITE,
			     MAP_SHARED, fd, 0);
	if (rc == 0 && image == MAP_FAILED)
		rc = err_set_errno(err, file, errno, "cannot map");
	if (rc < 0) {
		close(fd);
		return rc;
	}
	totals = xcalloc(1, sizeof *totals);
	totals->fd = fd;
	totals->image = image;
	read_found(totals, boot_id);
	*ret_totals = totals;
	return 0;
}

void
saved_totals_close(struct saved_totals *totals)
{
	if (!totals)
		return;
	munmap(totals->image, sizeof *totals->image);
	close(totals->fd);
	free(totals->found);
	free(totals);
}

const struct saved_totals_row *
saved_totals_found(const struct saved_totals *totals, size_t *ret_n)
{
	*ret_n = totals->n_found;
	return totals->found;
}

const char *
saved_totals_complaint(const struct saved_totals *totals)
{
	return totals->complaint;
}

/* ---- Writing --------------------------------------------------------------------- */

void
saved_totals_begin(struct saved_totals *totals)
{
	totals->n = 0;
	/* Invalid until it is committed. */
	totals->image->halves[!totals->current].generation = 0;
}

int
saved_totals_add(struct saved_totals *totals, const struct saved_totals_row *row)
{
	if (totals->n == SAVED_TOTALS_MAX)
		return -ENOSPC;
	totals->image->halves[!totals->current].rows[totals->n++] = *row;
	return 0;
}

void
saved_totals_commit(struct saved_totals *totals)
{
	struct half *half = &totals->image->halves[!totals->current];

	half->n = totals->n;
	half->generation = totals->image->halves[totals->current].generation + 1;
	half->crc = checksum(half);
	totals->current = !totals->current;
}
