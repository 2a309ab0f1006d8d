/* SPDX-License-Identifier: Apache-2.0 */
/*
 * totals_image.h - the bytes of the file of saved totals (saved_totals.h)
 *
 * Two halves, of which one is valid at any time.  Numbers are in host byte order, since
 * the file never leaves the host.  Pure: the file is mapped elsewhere, and its bytes are
 * untrusted until checked.
 */
#ifndef COLLECTOR_SERIES_TOTALS_IMAGE_H
#define COLLECTOR_SERIES_TOTALS_IMAGE_H

#include <stdint.h>

#include "collector/series/saved_totals.h"

struct totals_half {
	uint64_t generation; /* The valid half with the greater one counts; 0: none. */
	uint32_t n;          /* Of the rows. */
	uint32_t crc;        /* totals_half_checksum(). */
	struct saved_totals_row rows[SAVED_TOTALS_MAX];
};

struct totals_image {
	char magic[8];
	uint32_t version;
	uint32_t row_bytes;
	uint8_t boot_id[16];
	struct totals_half halves[2];
};

/* Of generation, n and the rows; 'n' is at most SAVED_TOTALS_MAX. */
uint32_t totals_half_checksum(const struct totals_half *half);

/* Makes an image without rows; leaves the bytes of the rows. */
void totals_image_init(struct totals_image *image, const uint8_t boot_id[16]);

/*
 * Returns the number of the half that counts, whose rows are all possible; or -1 with
 * 'ret_complaint' set to a static text, which stays unchanged for an image of zeros, or
 * one without rows.
 */
int totals_image_read(const struct totals_image *image, const uint8_t boot_id[16],
		      const char **ret_complaint);

#endif
