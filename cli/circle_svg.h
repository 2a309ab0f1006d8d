/* SPDX-License-Identifier: Apache-2.0 */
/*
 * circle_svg.h - a drawing of one link: time as an angle, one ring per job.
 *
 *
 * The angle is time over the jobs' common period, clockwise from twelve o'clock.  Each
 * job has a ring, and its thickness is the job's rate.  The outermost ring is their
 * sum, with the capacity as a dashed circle and the excess in another color and
 * hatched, so that color is never the only sign.  The colors are those of Okabe and
 * Ito (2008), which color-blind readers can tell apart.
 *
 *
 * Unlike circle.h this draws the profiles themselves, not 72 samples.  If the common
 * period is too long to be drawn, the drawing says so and shows the longest iteration
 * that can be drawn: one turn of many that all differ.  Periods that are one but for the
 * error of their measurement (same_period.h) are drawn as one.
 *
 *
 * Pure: the drawing is text.
 */
#ifndef CLI_CIRCLE_SVG_H
#define CLI_CIRCLE_SVG_H

#include <stddef.h>
#include <stdint.h>

struct profile;

struct circle_svg_job {
	const char *name;              /* Borrowed. */
	const struct profile *profile; /* Borrowed. */
	double factor;                 /* Demand on the link / the profile's rate. */
	int64_t shift_us;              /* Any. */
};

struct circle_svg {
	const char *title;    /* Borrowed: "leaf1:p3>spine0:p1". */
	const char *subtitle; /* Borrowed: "before", "after"; may be NULL. */
	double capacity_bps;  /* Above 0. */
	double score;         /* 1 - mean excess / capacity. */
	const struct circle_svg_job *jobs; /* Borrowed. */
	size_t n_jobs;                     /* At least 1. */
};

/* Maximum number of jobs with a ring of their own; all are in the sum. */
#define CIRCLE_SVG_MAX_RINGS 8

/* Returns a new SVG document; free with free(). */
char *circle_svg(const struct circle_svg *drawing);

#endif
