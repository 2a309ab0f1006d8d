/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_saved_totals.c - bytes as a file of saved totals: only possible rows are found
 *
 * The first byte says which checksums are made right, since the fuzzer cannot guess
 * them.  Then come the header and the rows of each half in turn.
 */
#include <string.h>

#include "collector/series/totals_image.h"
#include "tests/fuzz/fuzz.h"

#define MAX_ROWS 64

static struct totals_image image;

struct input {
	const uint8_t *data;
	size_t n;
};

/* Copies the next bytes; zeros at the end. */
static void
take(struct input *in, void *to, size_t n)
{
	size_t n_there = in->n < n ? in->n : n;

	memset(to, 0, n);
	if (n_there)
		memcpy(to, in->data, n_there);
	in->data += n_there;
	in->n -= n_there;
}

static void
take_half(struct input *in, struct totals_half *half, bool is_right)
{
	take(in, half, offsetof(struct totals_half, rows));
	for (int i = 0; i < MAX_ROWS; i++)
		take(in, &half->rows[i], sizeof half->rows[i]);
	/* Further rows are zeros: as many as a file may have, but not more bytes. */
	if (is_right && half->n <= SAVED_TOTALS_MAX)
		half->crc = totals_half_checksum(half);
}

static void
check_row(const struct saved_totals_row *row)
{
	BUG_ON(!row->interface[0] || strlen(row->interface) > TELE_MAX_NAME);
	BUG_ON(strlen(row->job) > TELE_MAX_NAME);
	BUG_ON((row->owner == SAVED_TOTALS_JOB) != (row->job[0] != '\0'));
	BUG_ON(row->direction > TELE_RX || row->measure > TELE_OFFERED);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t boot_id[16] = "a boot of a day";
	struct input in = { data, size };
	const char *complaint = NULL;
	uint8_t right = 0;
	int half;

	take(&in, &right, 1);
	take(&in, &image, offsetof(struct totals_image, halves));
	take_half(&in, &image.halves[0], right & 1);
	take_half(&in, &image.halves[1], right & 2);
	half = totals_image_read(&image, boot_id, &complaint);
	BUG_ON(half < -1 || half > 1 || (half >= 0 && complaint));
	if (half >= 0) {
		BUG_ON(!image.halves[half].generation ||
		       image.halves[half].n > SAVED_TOTALS_MAX);
		for (uint32_t i = 0; i < image.halves[half].n; i++)
			check_row(&image.halves[half].rows[i]);
		return 0;
	}
	totals_image_init(&image, boot_id);
	complaint = NULL;
	BUG_ON(totals_image_read(&image, boot_id, &complaint) != -1 || complaint);
	return 0;
}
