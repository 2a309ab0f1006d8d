/*
 * circle_svg.h - a picture of one link: time as an angle, one ring a job.
 *
 * Angle is time over the common period of the jobs, clockwise from twelve
 * o'clock.  Each job has a ring whose thickness is its rate; the outermost
 * ring is their sum, with the capacity as a dashed circle and what is above
 * it in another colour and hatched, so that colour is never the only sign.
 * Colours are those of Okabe and Ito (2008), told apart by colour-blind eyes.
 *
 * Unlike circle.h this draws the profiles themselves, not 72 samples.  If the
 * common period is too long to be drawn, the picture says so and shows the
 * time from 0 to the length of the longest iteration that can be: one turn of
 * many that all differ.
 *
 * Pure: the picture is text.
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

/* At most so many jobs have rings of their own; all are in the sum. */
#define CIRCLE_SVG_MAX_RINGS 8

/* Returns the new text of an SVG document; free with free(). */
char *circle_svg(const struct circle_svg *picture);

#endif
