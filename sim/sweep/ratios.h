/*
 * ratios.h - cells of a sweep against others of it, seed by seed.
 *
 * A row is one value of each axis.  Its base is the row with the same values but those
 * that 'base' says.  The ratio is that of the sums over the seeds that both have, base
 * over row; above 1 the row has less.  Its interval is the jackknife's over seeds, by
 * Student's t: what the draws of a seed have in common cancels out, and a seed whose
 * value is 0 does no harm.
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
	double ratio, ci95; /* NAN: not known. */
};

struct ratios_row {
	const char **values; /* Owned array, by axis; borrowed texts. */
	size_t n_seeds;      /* That both have. */
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
 * Of the document of a merged sweep (antiphase.sim-sweep/1), which is borrowed.  'base'
 * has "AXIS=VALUE".  Returns 0, or -EINVAL with 'err' filled: no such axis, value or
 * metric, or a metric that is of several things in one cell.
 */
int ratios_make(const struct json_doc *doc, const char *const *base, size_t n_base,
		const char *const *metrics, size_t n_metrics, struct ratios *ret_ratios,
		struct err *err);
void ratios_fini(struct ratios *ratios); /* Accepts a zeroed one. */

/* Whether the axis has more than one value. */
bool ratios_varies(const struct ratios *ratios, size_t axis);

#endif
