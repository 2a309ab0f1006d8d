/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/series/saved_totals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/series/totals_image.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"

struct saved_totals {
	int fd;
	struct totals_image *image; /* Mapped. */
	struct saved_totals_row *found;
	size_t n_found;
	const char *complaint;
	unsigned current; /* The half written last. */
	uint32_t n;       /* Rows of the half being written. */
};

static void
read_found(struct saved_totals *totals, const uint8_t boot_id[16])
{
	int half = totals_image_read(totals->image, boot_id, &totals->complaint);
	const struct totals_half *found;

	if (half < 0) {
		totals_image_init(totals->image, boot_id);
		return;
	}
	found = &totals->image->halves[half];
	totals->current = (unsigned)half;
	totals->n_found = found->n;
	totals->found = xmemdup(found->rows, totals->n_found, sizeof *totals->found);
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
	else if (ftruncate(fd, sizeof(struct totals_image)) < 0)
		rc = err_set_errno(err, file, errno, "cannot make room");
	/* Reserves the pages, since a write without room would raise SIGBUS. */
	else if ((rc = -posix_fallocate(fd, 0, sizeof(struct totals_image))) < 0)
		err_set_errno(err, file, rc, "cannot make room");
	else
		image = mmap(NULL, sizeof(struct totals_image), PROT_READ | PROT_WRITE,
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
	struct totals_half *half = &totals->image->halves[!totals->current];

	half->n = totals->n;
	half->generation = totals->image->halves[totals->current].generation + 1;
	half->crc = totals_half_checksum(half);
	totals->current = !totals->current;
}
