/* SPDX-License-Identifier: Apache-2.0 */
/*
 * saved_totals.h - totals since the boot, kept in a file over restarts
 *
 * The file is in the runtime directory, which the next boot empties, and is mapped into
 * memory, so that the next process finds the totals however this one ends.  It has two
 * halves: the invalid half is written, then declared valid by its checksum, so that one
 * half is valid at any time.  Totals of another boot or version, or with both halves
 * damaged, are discarded.
 *
 * The file is locked while it is open: one collector per runtime directory.
 */
#ifndef COLLECTOR_SERIES_SAVED_TOTALS_H
#define COLLECTOR_SERIES_SAVED_TOTALS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/wire/tele.h"

struct err;
struct saved_totals;

#define SAVED_TOTALS_MAX 16384 /* Rows; further ones are counted, not kept. */

enum saved_totals_owner {
	SAVED_TOTALS_LINK,
	SAVED_TOTALS_OTHER,
	SAVED_TOTALS_JOB,
};

struct saved_totals_row {
	char interface[TELE_MAX_NAME + 1];
	char job[TELE_MAX_NAME + 1]; /* For SAVED_TOTALS_JOB. */
	uint8_t owner;               /* enum saved_totals_owner. */
	uint8_t direction, measure;  /* enum tele_direction, tele_measure. */
	uint8_t unused[5];           /* Zero. */
	uint64_t bytes, packets, ce, retransmits;
};

/*
 * Opens or creates the file.  Returns 0; -EBUSY if another process has locked it; or
 * -errno; with 'err' filled.
 */
int saved_totals_open(const char *file, const uint8_t boot_id[16],
		      struct saved_totals **ret_totals, struct err *err);
void saved_totals_close(struct saved_totals *totals); /* Accepts NULL. */

/* The rows of an earlier process of this boot; borrowed. */
const struct saved_totals_row *saved_totals_found(const struct saved_totals *totals,
						  size_t *ret_n);
/* A text on why there are none; NULL if nothing is wrong. */
const char *saved_totals_complaint(const struct saved_totals *totals);

/* Rewrites all rows: begin, add each, commit. add returns -ENOSPC when it is full. */
void saved_totals_begin(struct saved_totals *totals);
int saved_totals_add(struct saved_totals *totals, const struct saved_totals_row *row);
void saved_totals_commit(struct saved_totals *totals);

#endif
