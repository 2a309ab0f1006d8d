/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/circle_svg.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "lib/base/svg.h"
#include "lib/base/vec.h"
#include "scheduler/core/profile/profile.h"
#include "scheduler/core/profile/same_period.h"
#include "scheduler/core/solve/step_function.h"

#define WIDTH       900
#define MIN_HEIGHT  550
#define CX          286.0
#define CY          302.0
#define R_HOLE      62.0  /* The hole shows the score. */
#define R_OUTER     205.0 /* The sum's ring at its largest. */
#define R_TICKS     211.0
#define LEGEND_X    580.0
#define LEGEND_Y    112.0
#define LEGEND_STEP 40.0
#define SUM_SHARE   0.42 /* The sum's share of the width of all rings. */
#define MAX_SLICES  4000 /* Sectors of all jobs together. */
#define MAX_LONGEST 24   /* Iterations of the longest job in a drawn common period. */
/* Characters kept at the start and end of a name too long for the legend. */
#define NAME_HEAD 14
#define NAME_TAIL 7

#define INK    "#222222"
#define PALE   "#767676"
#define TRACK  "#f0f0f0"
#define SUM    "#8a8a8a"
#define EXCESS "#d55e00" /* Vermilion, used for nothing else. */

/* Styles of text. */
#define TEXT(size, color) "font-size=\"" size "\" fill=\"" color "\""
#define BOLD              " font-weight=\"bold\""
#define MIDDLE            " text-anchor=\"middle\""

/* Okabe and Ito without vermilion, then the same lighter or darker. */
static const char *const colors[CIRCLE_SVG_MAX_RINGS] = {
	"#0072b2", "#e69f00", "#009e73", "#cc79a7",
	"#56b4e9", "#000000", "#b8a800", "#5d3a9b",
};

/* ---- Time ------------------------------------------------------------------- */

/* A constant rate in a part of the turn. */
struct slice {
	double from, to; /* In [0, 1], from < to. */
	double rate_bps;
};

/* A change of the sum of demands. */
struct edge {
	double at;
	double change_bps;
};

struct slices {
	VEC(struct slice) list;
};

/* The time of one turn. */
struct window {
	int64_t period_us;
	bool is_whole; /* The common period of all jobs. */
};

static int64_t
count_slices(const struct circle_svg *drawing, int64_t period_us)
{
	int64_t n = 0;

	for (size_t j = 0; j < drawing->n_jobs; j++) {
		const struct profile *profile = drawing->jobs[j].profile;

		n += (period_us / profile->period_us + 1) *
		     (int64_t)(profile->n_phases + 1);
	}
	return n;
}

/* The common period of all jobs; 0 if too long to be drawn. */
static int64_t
find_common(const struct circle_svg *drawing, int64_t limit_us)
{
	int64_t common_us = 1;

	for (size_t j = 0; j < drawing->n_jobs && common_us > 0; j++)
		common_us = period_lcm(common_us, drawing->jobs[j].profile->period_us,
				       limit_us);
	return common_us > 0 && count_slices(drawing, common_us) <= MAX_SLICES
		       ? common_us
		       : 0;
}

/* Common period; else the longest iteration that can be drawn; else the shortest. */
static struct window
find_window(const struct circle_svg *drawing)
{
	int64_t longest_us = 1, shortest_us = INT64_MAX, drawn_us = 0, common_us;

	for (size_t j = 0; j < drawing->n_jobs; j++) {
		int64_t period_us = drawing->jobs[j].profile->period_us;

		longest_us = period_us > longest_us ? period_us : longest_us;
		shortest_us = period_us < shortest_us ? period_us : shortest_us;
		if (period_us > drawn_us &&
		    count_slices(drawing, period_us) <= MAX_SLICES)
			drawn_us = period_us;
	}
	common_us = find_common(drawing, longest_us * MAX_LONGEST);
	if (common_us > 0)
		return (struct window){ common_us, true };
	return (struct window){ drawn_us > 0 ? drawn_us : shortest_us, false };
}

/* Adds the part of [from, to) microseconds that lies in the window. */
static void
add_slice(struct slices *slices, int64_t from_us, int64_t to_us, double rate_bps,
	  const struct window *window)
{
	double period = (double)window->period_us;

	from_us = from_us > 0 ? from_us : 0;
	to_us = to_us < window->period_us ? to_us : window->period_us;
	if (from_us < to_us)
		vec_push(&slices->list,
			 ((struct slice){ (double)from_us / period,
					  (double)to_us / period, rate_bps }));
}

/* Every phase of 'job' in the window, in the order of iterations. */
static void
find_slices(const struct circle_svg_job *job, const struct window *window,
	    struct slices *ret_slices)
{
	const struct profile *profile = job->profile;
	int64_t shift_us = period_mod(job->shift_us, profile->period_us);

	memset(ret_slices, 0, sizeof *ret_slices);
	/* The iteration before time 0 may still be sending then. */
	for (int64_t start_us = shift_us - profile->period_us;
	     start_us < window->period_us; start_us += profile->period_us)
		for (size_t i = 0; i < profile->n_phases; i++) {
			const struct profile_phase *phase = &profile->phases[i];
			int64_t from_us = start_us + phase->start_us;

			add_slice(ret_slices, from_us, from_us + phase->duration_us,
				  phase->rate_bps * job->factor, window);
		}
}

static int
compare_edges(const void *pa, const void *pb)
{
	const struct edge *a = pa, *b = pb;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return (a->change_bps > b->change_bps) - (a->change_bps < b->change_bps);
}

/* The sum of all jobs, as slices round the whole turn. */
static void
find_sum(const struct circle_svg *drawing, const struct window *window,
	 struct slices *ret_slices)
{
	VEC(struct edge) edges = VEC_EMPTY;
	double rate_bps = 0, at = 0;

	for (size_t j = 0; j < drawing->n_jobs; j++) {
		struct slices of_job;

		find_slices(&drawing->jobs[j], window, &of_job);
		for (size_t i = 0; i < of_job.list.n; i++) {
			const struct slice *slice = &of_job.list.items[i];

			vec_push(&edges,
				 ((struct edge){ slice->from, slice->rate_bps }));
			vec_push(&edges,
				 ((struct edge){ slice->to, -slice->rate_bps }));
		}
		vec_free(&of_job.list);
	}
	sort_items(edges.items, edges.n, compare_edges);

	memset(ret_slices, 0, sizeof *ret_slices);
	for (size_t i = 0; i < edges.n; i++) {
		const struct edge *edge = &edges.items[i];

		/* Ignore rounding residue of sums that should be 0. */
		if (edge->at > at && rate_bps > drawing->capacity_bps * 1e-9)
			vec_push(&ret_slices->list,
				 ((struct slice){ at, edge->at, rate_bps }));
		at = edge->at;
		rate_bps += edge->change_bps;
	}
	vec_free(&edges);
}

/* ---- Text --------------------------------------------------------------------- */

static void put_text(struct svg *svg, double x, double y, const char *style,
		     const char *fmt, ...) __attribute__((format(printf, 5, 6)));

static void
put_text(struct svg *svg, double x, double y, const char *style, const char *fmt, ...)
{
	char line[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof line, fmt, args);
	va_end(args);
	svg_text(svg, x, y, style, line);
}

/* Milliseconds with as many digits as fit: "255", "62.5", "0.125". */
static const char *
in_ms(int64_t us, char buffer[32])
{
	int decimals = us % 1000 == 0 ? 0 : us >= 10000 ? 1 : 3;

	snprintf(buffer, 32, "%.*f", decimals, (double)us / 1e3);
	return buffer;
}

/* Bytes of the first 'n' characters of UTF-8, or of all. */
static size_t
bytes_of(const char *text, size_t n)
{
	size_t length = 0;

	while (n-- > 0 && text[length] != '\0') {
		length++;
		while (((unsigned char)text[length] & 0xc0) == 0x80)
			length++;
	}
	return length;
}

/* A name, with its middle cut out if it is too long for the legend. */
static char *
short_name(const char *name)
{
	size_t n = 0;

	for (const char *c = name; *c != '\0'; c++)
		n += ((unsigned char)*c & 0xc0) != 0x80;
	if (n <= NAME_HEAD + NAME_TAIL + 1)
		return xstrdup(name);
	return xasprintf("%.*s\u2026%s", (int)bytes_of(name, NAME_HEAD), name,
			 name + bytes_of(name, n - NAME_TAIL));
}

static void
put_heading(struct svg *svg, const struct circle_svg *drawing)
{
	put_text(svg, 24, 36, TEXT("20", INK) BOLD, "%s%s%s", drawing->title,
		 drawing->subtitle != NULL ? ", " : "",
		 drawing->subtitle != NULL ? drawing->subtitle : "");
	put_text(svg, 24, 58, TEXT("13", PALE),
		 "The angle is time, a ring is a job, its thickness is the "
		 "rate; the outer ring is their sum.");
}

static void
put_center(struct svg *svg, const struct circle_svg *drawing)
{
	double excess_gbps = (1 - drawing->score) * drawing->capacity_bps / 1e9;

	put_text(svg, CX, CY - 24, TEXT("12", PALE) MIDDLE, "score");
	put_text(svg, CX, CY + 4, TEXT("26", INK) BOLD MIDDLE, "%.3f",
		 drawing->score + 0.0);
	put_text(svg, CX, CY + 24, TEXT("12", PALE) MIDDLE, "mean excess");
	put_text(svg, CX, CY + 39, TEXT("12", PALE) MIDDLE, "%.3g Gb/s",
		 excess_gbps > 1e-9 ? excess_gbps : 0.0);
}

/* Lines at the quarters, with their times. */
static void
put_clock(struct svg *svg, const struct window *window)
{
	static const struct {
		double dx, dy;
		const char *anchor;
	} labels[4] = {
		{ 0, -8, "middle" },
		{ 8, 4, "start" },
		{ 0, 18, "middle" },
		{ -8, 4, "end" },
	};

	for (int i = 0; i < 4; i++) {
		double x = sin(M_PI / 2 * i), y = -cos(M_PI / 2 * i);
		double ms = (double)window->period_us / 4e3 * i;
		char style[96];

		svg_line(svg, CX + R_HOLE * x, CY + R_HOLE * y, CX + R_TICKS * x,
			 CY + R_TICKS * y,
			 "stroke=\"" PALE "\" stroke-width=\"0.75\" "
			 "stroke-dasharray=\"1 3\"");
		snprintf(style, sizeof style,
			 "font-size=\"12\" text-anchor=\"%s\" fill=\"" INK "\"",
			 labels[i].anchor);
		put_text(svg, CX + R_TICKS * x + labels[i].dx,
			 CY + R_TICKS * y + labels[i].dy, style, "%.*f%s",
			 ms >= 1000 || i == 0 ? 0
			 : ms >= 10           ? 1
					      : 3,
			 ms, i == 0 ? "" : " ms");
	}
}

/* ---- Rings -------------------------------------------------------------------- */

/* Places of the rings, and thickness per rate. */
struct rings {
	size_t n;
	double width;             /* Of one job's ring, with the gap to the next. */
	double job_scale;         /* Pixels per bit per second. */
	double r_sum, r_capacity; /* Where the sum begins, and where it reaches C. */
	double sum_scale;
};

static struct rings
plan_rings(const struct circle_svg *drawing, const struct slices *sum)
{
	struct rings rings = { 0 };
	double room = R_OUTER - R_HOLE - 8;
	double peak_bps = 0, peaks_bps = 0, top_bps;

	rings.n = drawing->n_jobs < CIRCLE_SVG_MAX_RINGS ? drawing->n_jobs
							 : CIRCLE_SVG_MAX_RINGS;
	for (size_t j = 0; j < drawing->n_jobs; j++) {
		const struct circle_svg_job *job = &drawing->jobs[j];
		double job_bps = profile_peak_bps(job->profile) * job->factor;

		peaks_bps += job_bps;
		if (j < rings.n)
			peak_bps = fmax(peak_bps, job_bps);
	}
	/* Nearly independent of the shifts, so that before and after compare. */
	top_bps = fmin(peaks_bps, drawing->capacity_bps * 2);
	top_bps = fmax(top_bps, drawing->capacity_bps * 1.1);
	for (size_t i = 0; i < sum->list.n; i++)
		top_bps = fmax(top_bps, sum->list.items[i].rate_bps);

	rings.width = room * (1 - SUM_SHARE) / (double)rings.n;
	rings.job_scale = peak_bps > 0 ? rings.width * 0.86 / peak_bps : 0;
	rings.r_sum = R_OUTER - room * SUM_SHARE;
	rings.sum_scale = room * SUM_SHARE / top_bps;
	rings.r_capacity = rings.r_sum + rings.sum_scale * drawing->capacity_bps;
	return rings;
}

/* A sector; invisibly thin ones are omitted. */
static void
put_sector(struct svg *svg, double r_inner, double r_outer, const struct slice *slice,
	   const char *style)
{
	if (r_outer - r_inner > 0.01)
		svg_sector(svg, CX, CY, r_inner, r_outer, slice->from, slice->to,
			   style);
}

static void
put_job_ring(struct svg *svg, const struct circle_svg_job *job, size_t index,
	     const struct rings *rings, const struct window *window)
{
	double r = R_HOLE + 4 + rings->width * (double)index;
	double turn = (double)period_mod(job->shift_us, job->profile->period_us) /
		      (double)window->period_us;
	struct slices slices;
	char style[64];

	svg_sector(svg, CX, CY, r, r + rings->width * 0.86, 0, 1,
		   "fill=\"" TRACK "\" fill-rule=\"evenodd\"");
	snprintf(style, sizeof style, "fill=\"%s\"", colors[index]);
	find_slices(job, window, &slices);
	for (size_t i = 0; i < slices.list.n; i++)
		put_sector(svg, r, r + rings->job_scale * slices.list.items[i].rate_bps,
			   &slices.list.items[i], style);
	vec_free(&slices.list);

	/* The start of the job's first iteration. */
	snprintf(style, sizeof style, "stroke=\"%s\" stroke-width=\"2\"",
		 colors[index]);
	svg_line(svg, CX + r * sin(2 * M_PI * turn), CY - r * cos(2 * M_PI * turn),
		 CX + (r + rings->width) * sin(2 * M_PI * turn),
		 CY - (r + rings->width) * cos(2 * M_PI * turn), style);
}

static void
put_sum_ring(struct svg *svg, const struct slices *sum, const struct rings *rings,
	     double capacity_bps)
{
	svg_sector(svg, CX, CY, rings->r_sum, rings->r_capacity, 0, 1,
		   "fill=\"" TRACK "\" fill-rule=\"evenodd\"");
	for (size_t i = 0; i < sum->list.n; i++) {
		const struct slice *slice = &sum->list.items[i];
		double r = rings->r_sum + rings->sum_scale * slice->rate_bps;

		put_sector(svg, rings->r_sum, fmin(r, rings->r_capacity), slice,
			   "fill=\"" SUM "\" stroke=\"" SUM "\" stroke-width=\"0.6\"");
		if (slice->rate_bps > capacity_bps * (1 + 1e-9)) {
			put_sector(svg, rings->r_capacity, r, slice,
				   "fill=\"" EXCESS "\" stroke=\"" EXCESS
				   "\" stroke-width=\"0.6\"");
			put_sector(svg, rings->r_capacity, r, slice,
				   "fill=\"url(#hatch)\"");
		}
	}
	svg_sector(svg, CX, CY, 0, rings->r_capacity, 0, 1,
		   "fill=\"none\" stroke=\"" INK "\" stroke-width=\"1.2\" "
		   "stroke-dasharray=\"5 3\"");
}

/* ---- Legend ------------------------------------------------------------------- */

static void
put_legend_job(struct svg *svg, const struct circle_svg_job *job, size_t index,
	       double y)
{
	const struct profile *profile = job->profile;
	char period[32], shift[32], style[64];
	char *name = short_name(job->name);

	snprintf(style, sizeof style, "fill=\"%s\"", colors[index]);
	svg_rect(svg, LEGEND_X, y - 11, 14, 14, style);
	put_text(svg, LEGEND_X + 22, y, TEXT("14", INK) BOLD, "%s", name);
	put_text(svg, LEGEND_X + 22, y + 16, TEXT("12", INK),
		 "%s ms, peak %.3g Gb/s, shift %s ms",
		 in_ms(profile->period_us, period),
		 profile_peak_bps(profile) * job->factor / 1e9,
		 in_ms(period_mod(job->shift_us, profile->period_us), shift));
	free(name);
}

/* The meaning of a turn; below the legend. */
static void
put_note(struct svg *svg, double y, const struct window *window)
{
	static const char style[] = TEXT("12", PALE);
	char ms[32];

	in_ms(window->period_us, ms);
	put_text(svg, LEGEND_X, y, style, "Thin line: an iteration starts.");
	if (window->is_whole) {
		put_text(svg, LEGEND_X, y + 18, style,
			 "One turn: the common period, %s ms.", ms);
		return;
	}
	put_text(svg, LEGEND_X, y + 18, style, "One turn: the first %s ms.", ms);
	put_text(svg, LEGEND_X, y + 34, style,
		 "The common period is too long to draw;");
	put_text(svg, LEGEND_X, y + 50, style, "each turn differs.");
}

static void
put_legend(struct svg *svg, const struct circle_svg *drawing, const struct rings *rings,
	   const struct window *window)
{
	double y = LEGEND_Y;

	put_text(svg, LEGEND_X, y - 24, TEXT("12", PALE), "Rings, from the inside:");
	for (size_t j = 0; j < rings->n; j++, y += LEGEND_STEP)
		put_legend_job(svg, &drawing->jobs[j], j, y);
	if (drawing->n_jobs > rings->n) {
		put_text(svg, LEGEND_X + 22, y, TEXT("12", INK),
			 "and %zu more, only in the sum", drawing->n_jobs - rings->n);
		y += LEGEND_STEP * 0.75;
	}
	svg_rect(svg, LEGEND_X, y - 11, 14, 14, "fill=\"" SUM "\"");
	put_text(svg, LEGEND_X + 22, y, TEXT("14", INK), "sum of all jobs");
	y += LEGEND_STEP * 0.7;
	svg_rect(svg, LEGEND_X, y - 11, 14, 14, "fill=\"" EXCESS "\"");
	svg_rect(svg, LEGEND_X, y - 11, 14, 14, "fill=\"url(#hatch)\"");
	put_text(svg, LEGEND_X + 22, y, TEXT("14", INK), "above the capacity");
	y += LEGEND_STEP * 0.7;
	svg_line(svg, LEGEND_X - 2, y - 4, LEGEND_X + 16, y - 4,
		 "stroke=\"" INK "\" stroke-width=\"1.2\" stroke-dasharray=\"5 3\"");
	put_text(svg, LEGEND_X + 22, y, TEXT("14", INK), "capacity, %.4g Gb/s",
		 drawing->capacity_bps / 1e9);
	put_note(svg, y + LEGEND_STEP, window);
}

static double
height_of(size_t n_rings)
{
	return fmax(MIN_HEIGHT, LEGEND_Y + LEGEND_STEP * ((double)n_rings + 5.6));
}

static char *
draw(const struct circle_svg *drawing)
{
	struct window window = find_window(drawing);
	struct slices sum;
	struct rings rings;
	struct svg svg;

	find_sum(drawing, &window, &sum);
	rings = plan_rings(drawing, &sum);
	svg_init(&svg, WIDTH, height_of(rings.n), drawing->title);
	strbuf_puts(&svg.text,
		    "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" "
		    "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
		    "<rect width=\"2\" height=\"6\" fill=\"#000000\"/>"
		    "</pattern></defs>\n");
	svg_rect(&svg, 0, 0, WIDTH, height_of(rings.n), "fill=\"#ffffff\"");
	put_heading(&svg, drawing);
	put_sum_ring(&svg, &sum, &rings, drawing->capacity_bps);
	for (size_t j = 0; j < rings.n; j++)
		put_job_ring(&svg, &drawing->jobs[j], j, &rings, &window);
	put_clock(&svg, &window);
	put_center(&svg, drawing);
	put_legend(&svg, drawing, &rings, &window);
	vec_free(&sum.list);
	return svg_finish(&svg);
}

char *
circle_svg(const struct circle_svg *drawing)
{
	struct circle_svg_job *jobs =
		xmemdup(drawing->jobs, drawing->n_jobs, sizeof *jobs);
	const struct profile **profiles = xcalloc(drawing->n_jobs, sizeof *profiles);
	struct circle_svg joined_drawing = *drawing;
	struct profile *joined;
	char *text;

	for (size_t j = 0; j < drawing->n_jobs; j++)
		profiles[j] = jobs[j].profile;
	joined = same_period_join(profiles, drawing->n_jobs);
	for (size_t j = 0; j < drawing->n_jobs && joined; j++)
		jobs[j].profile = &joined[j];
	joined_drawing.jobs = jobs;
	text = draw(&joined_drawing);
	free(joined);
	free(profiles);
	free(jobs);
	return text;
}
