/*
 * totals.h - what was counted since the boot, kept over the end of the process.
 *
 * A file of a runtime directory that the next boot empties, mapped into memory, so
 * that what is written is there for the next process however this one ends.  It has two halves;
 * the one that is not valid is written, then declared valid with its checksum, so
 * that there is a whole one at any moment.  What was written on another boot, by
 * another version, or is damaged in both halves, is not read: totals start anew.
 *
 * The file is locked while it is open: there is one collector a runtime directory.
 */
#ifndef COLLECTOR_TOTALS_H
#define COLLECTOR_TOTALS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/wire/tele.h"

struct err;
struct totals;

#define TOTALS_MAX 16384 /* Rows; further ones are counted, not kept. */

enum totals_whose {
	TOTALS_LINK,
	TOTALS_OTHER,
	TOTALS_JOB,
};

struct totals_row {
	char interface[TELE_MAX_NAME + 1];
	char job[TELE_MAX_NAME + 1]; /* Of TOTALS_JOB. */
	uint8_t whose;               /* enum totals_whose. */
	uint8_t direction, measure;  /* enum tele_direction, tele_measure. */
	uint8_t unused[5];           /* Zero. */
	uint64_t bytes, packets, ce, retransmits;
};

/*
 * Opens or makes the file.  Returns 0; -EBUSY if another process has it; or -errno;
 * with 'err' filled.
 */
int totals_open(const char *file, const uint8_t boot_id[16], struct totals **ret_totals,
		struct err *err);
void totals_close(struct totals *totals); /* Accepts NULL. */

/* The rows that an earlier process of this boot left; borrowed. */
const struct totals_row *totals_found(const struct totals *totals, size_t *ret_n);
/* Why there are none, for people; NULL if nothing is amiss. */
const char *totals_complaint(const struct totals *totals);

/* Writes all rows anew: begin, add each, commit.  add returns -ENOSPC when it is full. */
void totals_begin(struct totals *totals);
int totals_add(struct totals *totals, const struct totals_row *row);
void totals_commit(struct totals *totals);

#endif
