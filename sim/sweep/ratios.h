/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ratios.h - ratios between cells of a sweep, paired by seed.
 *
 * A row is one value of each axis.  Its base is the row with the same values except
 * those given in 'base'.  The ratio is the sum over common seeds of the base divided by
 * that of the row; above 1 the row has less.  The 95 % interval is the jackknife over
 * seeds with Student's t: effects common to a seed cancel out, and a seed with value 0
 * does no harm.
 */
#ifndef SIM_SWEEP_RATIOS_H
#define SIM_SWEEP_RATIOS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct json_doc;

#define RATIOS_MAX_METRICS 8

struct ratios_value {
	double base, mean;  /* Over the seeds. */
	double ratio, ci95; /* NAN: unknown. */
};

struct ratios_row {
	const char **values; /* Owned array, by axis; borrowed texts. */
	size_t n_seeds;      /* Common to row and base. */
	struct ratios_value metrics[RATIOS_MAX_METRICS];
};

struct ratios {
	size_t n_axes, n_rows, n_metrics;
	const char **axes;           /* Owned array of borrowed names. */
	struct ratios_row *rows;     /* Owned. */
	const char *sweep, *version; /* Borrowed from the document. */
	uint64_t min_seed, max_seed;
};

/*
 * Computes the ratios from a merged sweep (antiphase.sim_sweep/2), which it borrows.
 * 'base' has items "AXIS=VALUE".  Returns 0, or -EINVAL with 'err' filled: an unknown
 * axis, value or metric, or a metric that appears several times in one cell.
 */
int ratios_make(const struct json_doc *doc, const char *const *base, size_t n_base,
		const char *const *metrics, size_t n_metrics, struct ratios *ret_ratios,
		struct err *err);
void ratios_fini(struct ratios *ratios); /* Accepts a zeroed one. */

/* Whether the axis has more than one value. */
bool ratios_varies(const struct ratios *ratios, size_t axis);

#endif
