/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/series/totals_image.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "lib/wire/crc32c.h"

#define VERSION 1

static const char magic[8] = "AP-TOTL";

uint32_t
totals_half_checksum(const struct totals_half *half)
{
	uint32_t crc =
		crc32c(0, (const uint8_t *)half, offsetof(struct totals_half, crc));

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
is_whole(const struct totals_half *half)
{
	if (!half->generation || half->n > SAVED_TOTALS_MAX ||
	    half->crc != totals_half_checksum(half))
		return false;
	for (uint32_t i = 0; i < half->n; i++) {
		if (!is_row(&half->rows[i]))
			return false;
	}
	return true;
}

void
totals_image_init(struct totals_image *image, const uint8_t boot_id[16])
{
	for (int i = 0; i < 2; i++)
		image->halves[i].generation = image->halves[i].n = 0;
	memcpy(image->magic, magic, sizeof magic);
	image->version = VERSION;
	image->row_bytes = sizeof(struct saved_totals_row);
	memcpy(image->boot_id, boot_id, 16);
}

int
totals_image_read(const struct totals_image *image, const uint8_t boot_id[16],
		  const char **ret_complaint)
{
	static const char zeros[sizeof magic];
	const struct totals_half *a = &image->halves[0], *b = &image->halves[1];
	bool is_a_whole, is_b_whole;

	if (memcmp(image->magic, magic, sizeof magic) != 0 ||
	    image->version != VERSION ||
	    image->row_bytes != sizeof(struct saved_totals_row)) {
		if (memcmp(image->magic, zeros, sizeof zeros) != 0)
			*ret_complaint = "it is of another version, or no such file";
		return -1;
	}
	if (memcmp(image->boot_id, boot_id, 16) != 0) {
		*ret_complaint = "it is of an earlier boot";
		return -1;
	}
	is_a_whole = is_whole(a);
	is_b_whole = is_whole(b);
	if (!is_a_whole && !is_b_whole) {
		if (a->generation || b->generation)
			*ret_complaint = "it is damaged";
		return -1;
	}
	return is_b_whole && (!is_a_whole || b->generation > a->generation);
}
