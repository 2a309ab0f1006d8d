/*
 * detect.c - from series to a profile, with a reason for each refusal.
 */
#include "scheduler/core/profile/detect.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/stats.h"
#include "scheduler/core/profile/align.h"
#include "scheduler/core/profile/period.h"
#include "scheduler/core/profile/phases.h"
#include "scheduler/core/profile/spectrum.h"
#include "scheduler/core/profile/times.h"

/*
 * Below these nothing is answered.  Measured on noise, constant rates, single
 * bursts and random bursts (tests/unit/test_detect.c), and on jobs.
 */
#define MIN_CONFIDENCE    0.1 /* Autocorrelation at the period. */
#define MIN_DIP           0.1 /* How far it dips on both sides. */
#define MIN_EXPLAINED     0.1 /* Share of variance. */
#define MIN_EXPLAINED_FEW 2   /* The same, over the number of iterations. */
#define MIN_TOGETHER      0.5 /* Confidence + share explained - jitter / period. */
#define MAX_JITTER        0.2 /* Standard deviation over the period. */
#define MAX_DISAGREEMENT  0.1 /* Between the estimate and the iterations. */
#define MIN_CONTRAST      0.1 /* Standard deviation over the mean of an iteration. */

/*
 * The detector's bar: the period is to be this near the job's own median
 * (tests/unit/test_detect_capture.c).
 */
#define PERIOD_BAR 0.02

/* See try_candidate(). */
#define RESIDUAL_FLOOR 0.1
#define FAR_LESS       0.5

#define BITS_PER_BYTE_MS 8e3 /* 1 byte per ms in bits per second. */

/* What is to be done next. */
enum stage {
	SPECTRUM,
	FIND,
	CANDIDATES,
	ALIGN,
	MEASURE,
	DESCRIBE,
	OVER,
};

/* What one detection works on. */
struct search {
	const struct series_set *set; /* Borrowed. */
	const char *source;           /* Borrowed. */
	char *job;                    /* Owned. */
	struct err err;
	float *mean; /* Owned.  [n_buckets]. */
	double least;
	struct period candidates[PERIOD_MAX_CANDIDATES];
	size_t n_candidates, next_candidate;
	double chosen; /* What 'period' leaves unexplained; infinite: none is chosen. */
	struct period period;
	struct aligner *aligner; /* Owned.  While it is at work. */
	struct alignment alignment;
	struct times times;
	struct detection found; /* Owned. */
};

struct detector {
	struct spectrum_maker *maker; /* Owned. */
	enum stage stage;
	int error; /* Why it is over. */
	struct search search;
};

static int refuse(struct search *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static int
refuse(struct search *s, const char *fmt, ...)
{
	char text[400];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	err_set(&s->err, s->source, 0, 0, "job '%s': no profile: %s", s->job, text);
	return -ENODATA;
}

static double
seconds(const struct search *s)
{
	return (double)s->set->n_buckets / 1e3;
}

/* What a period leaves unexplained, with a floor: no two perfect ones differ. */
static double
residual(const struct search *s, const struct period *period)
{
	return 1 + RESIDUAL_FLOOR -
	       align_explained(s->mean, s->set->n_buckets, period->buckets);
}

/*
 * One candidate after another: the one with the highest score is chosen, unless another
 * one leaves far less of the traffic unexplained: bursts inside an iteration may score
 * higher than the iteration, but then they differ from one another.  (That a multiple of
 * the period explains a little more is natural, as it has more cells.)
 */
static void
try_candidate(struct search *s, const struct period *candidate)
{
	double here;

	if (candidate->confidence < s->least || candidate->dip < MIN_DIP)
		return;
	here = residual(s, candidate);
	if (isinf(s->chosen) || here < FAR_LESS * s->chosen) {
		s->period = *candidate;
		s->chosen = here;
	}
}

static int
find_candidates(struct search *s, struct spectrum_maker *maker)
{
	struct spectrum spectrum;

	if (!spectrum_end(maker, &spectrum))
		return refuse(s,
			      "the rate is constant, so that no iteration can be seen");
	s->n_candidates = period_candidates(&spectrum, s->candidates);
	spectrum_fini(&spectrum);
	return 0;
}

/* Refuses if no candidate repeats well enough. */
static int
judge_candidates(struct search *s)
{
	const struct period *first = s->candidates;

	if (!isinf(s->chosen))
		return 0;
	return refuse(s,
		      "the traffic does not repeat (best autocorrelation %.2f, "
		      "%.2f is needed); try a longer part, or one without start-up and "
		      "pauses (--from, --for)",
		      s->n_candidates ? fmax(fmin(first->confidence, first->dip), 0)
				      : 0.0,
		      s->least);
}

/* How long the iterations take. */
static void
measure(struct search *s)
{
	struct detection *found = &s->found;

	times_measure(s->set, &s->alignment, &s->times);
	found->mean_us = s->times.mean_ms * 1e3;
	found->profile.period_us = llround(s->times.period_ms * 1e3);
	found->profile.jitter_us = llround(s->times.sd_ms * 1e3);
	found->profile.n_iterations = (int64_t)s->alignment.n_onsets - 1;
}

/* Whether the iterations that were found are iterations. */
static int
judge(struct search *s)
{
	const struct profile *p = &s->found.profile;
	double least;

	aligner_end(s->aligner, &s->alignment);
	s->aligner = NULL;
	if (s->alignment.n_onsets < DETECT_MIN_ITERATIONS + 1)
		return refuse(
			s,
			"fewer than %d iterations of about %.0f ms in %.1f s; try a longer "
			"part (--for)",
			DETECT_MIN_ITERATIONS, s->period.buckets, seconds(s));
	measure(s);
	least = fmax(MIN_EXPLAINED, MIN_EXPLAINED_FEW / (double)p->n_iterations);
	least = fmax(least, MIN_TOGETHER + (double)p->jitter_us / (double)p->period_us -
				    s->period.confidence);
	if (s->alignment.explained < least)
		return refuse(
			s,
			"stretches of %.0f ms have little in common (they explain "
			"%.0f %% of the variance, with %lld of them %.0f %% is "
			"needed)",
			s->period.buckets, fmax(100 * s->alignment.explained, 0),
			(long long)p->n_iterations, 100 * least);
	if (fabs(s->times.onset_ms / s->period.buckets - 1) > MAX_DISAGREEMENT)
		return refuse(
			s,
			"the spectrum says %.0f ms, the iterations found say %.0f ms",
			s->period.buckets, s->times.onset_ms);
	if ((double)p->jitter_us > MAX_JITTER * (double)p->period_us)
		return refuse(
			s,
			"what repeats does so after %.0f +- %.0f ms, which is too "
			"irregular to be an iteration",
			(double)p->period_us / 1e3, (double)p->jitter_us / 1e3);
	return 0;
}

/* Makes the mean iteration, which begins in the quiet before its traffic. */
static void
fold(struct search *s)
{
	struct detection *found = &s->found;
	const struct alignment *a = &s->alignment;
	size_t n = (size_t)lround((double)found->profile.period_us / 1e3);

	found->n_fold = n;
	found->fold_bps = xcalloc(n, sizeof *found->fold_bps);
	for (size_t t = 0; t < n; t++) {
		double sum = 0;
		size_t n_seen = 0;

		for (size_t k = 0; k + 1 < a->n_onsets; k++) {
			size_t at = (size_t)lround(fmax(a->onsets[k], 0)) + t;

			if ((double)at >= a->onsets[k + 1] || at >= s->set->n_buckets)
				continue;
			sum += s->mean[at];
			n_seen++;
		}
		if (n_seen > 0)
			found->fold_bps[t] = sum / (double)n_seen * BITS_PER_BYTE_MS;
	}
}

/*
 * The highest rate over 5 ms that any interface received (or, if only senders
 * were seen, sent): what arrives is paced by the wire, what is counted before
 * the sender's queue is not.
 */
static double
line_rate(const struct series_set *set)
{
	float *smooth = xcalloc(set->n_buckets, sizeof *smooth);
	double highest[2] = { 0 };

	for (size_t s = 0; s < set->n_series; s++) {
		double *high = &highest[set->ids[s].is_ingress];

		series_smooth(series_row(set, s), set->n_buckets, 5, smooth);
		for (size_t t = 0; t < set->n_buckets; t++)
			*high = fmax(*high, smooth[t]);
	}
	free(smooth);
	return (highest[1] > 0 ? highest[1] : highest[0]) * BITS_PER_BYTE_MS;
}

/* Turns the fold so that it begins with the first phase. */
static void
turn_fold(struct detection *found, size_t by)
{
	double *turned = xcalloc(found->n_fold, sizeof *turned);

	for (size_t t = 0; t < found->n_fold; t++)
		turned[t] = found->fold_bps[(t + by) % found->n_fold];
	free(found->fold_bps);
	found->fold_bps = turned;
}

/*
 * Standard deviation of the fold over its mean, smoothed over an eighth of it:
 * packets of a constant rate beat with the buckets, which is no iteration.
 */
static double
contrast(const struct detection *found)
{
	size_t n = found->n_fold, half = n / 16 > 5 ? n / 16 : 5;
	double *smooth = xcalloc(n, sizeof *smooth), ratio;

	for (size_t t = 0; t < n; t++)
		for (size_t i = 0; i <= 2 * half; i++)
			smooth[t] += found->fold_bps[(t + i) % n];
	ratio = stats_sd(smooth, n) / stats_mean(smooth, n);
	free(smooth);
	return ratio;
}

static int
describe(struct search *s)
{
	struct detection *found = &s->found;
	struct profile *p = &found->profile;
	double line_bps = line_rate(s->set), ratio;
	const char *why = NULL;

	p->bytes_per_iteration =
		round(times_bytes(&s->alignment, s->mean, s->set->n_buckets));
	fold(s);
	ratio = contrast(found);
	if (!(ratio >= MIN_CONTRAST))
		return refuse(
			s,
			"the rate is all but constant (%.1f %% up and down), so that "
			"nothing could be interleaved",
			100 * ratio);

	turn_fold(found,
		  phases_fill(found->fold_bps, found->n_fold, 1000, line_bps, p));
	if (profile_normalize(p, &why) < 0)
		BUG("detected profile: %s", why);
	return 0;
}

/* ---- In steps ------------------------------------------------------------------------ */

struct detector *
detector_new(void)
{
	struct detector *detector = xcalloc(1, sizeof *detector);

	detector->maker = spectrum_maker_new();
	detector->stage = OVER;
	return detector;
}

static void
search_fini(struct search *s)
{
	detection_fini(&s->found);
	aligner_free(s->aligner);
	alignment_fini(&s->alignment);
	free(s->mean);
	free(s->job);
	*s = (struct search){ .set = NULL };
}

void
detector_free(struct detector *detector)
{
	if (!detector)
		return;
	search_fini(&detector->search);
	spectrum_maker_free(detector->maker);
	free(detector);
}

void
detector_begin(struct detector *detector, const struct series_set *set,
	       const char *source, const char *job)
{
	struct search *s = &detector->search;

	search_fini(s);
	*s = (struct search){ .set = set,
			      .source = source,
			      .job = xstrdup(job),
			      .chosen = INFINITY,
			      .least = fmax(MIN_CONFIDENCE,
					    4 / sqrt((double)set->n_buckets)) };
	detector->error = 0;
	if ((double)set->n_buckets * PERIOD_MAX_SHARE <= PERIOD_MIN_BUCKETS) {
		detector->error =
			refuse(s,
			       "%.2f s of traffic is too little, at least 10 s or 20 "
			       "iterations are wanted",
			       seconds(s));
		detector->stage = OVER;
		return;
	}
	s->mean = xcalloc(set->n_buckets ? set->n_buckets : 1, sizeof *s->mean);
	series_mean(set, s->mean);
	spectrum_begin(detector->maker, set);
	detector->stage = SPECTRUM;
}

/*
 * The autocorrelation says that the traffic repeats, and not after how long: of few
 * iterations that differ, it may be high and their median anywhere among them.  So it is
 * at most the probability that the period is within the bar, by its standard error.
 */
static double
confidence(const struct search *s)
{
	double se = s->times.period_se_ms / s->times.period_ms;
	double within = se > 0 ? erf(PERIOD_BAR / se / M_SQRT2) : 1;

	return fmin(s->period.confidence, within);
}

static void
finish(struct search *s)
{
	s->found.profile.job = s->job;
	s->job = NULL;
	s->found.profile.confidence = round(confidence(s) * 1e4) / 1e4;
	s->found.explained = s->alignment.explained;
}

bool
detector_step(struct detector *detector)
{
	struct search *s = &detector->search;

	switch (detector->stage) {
	case SPECTRUM:
		if (!spectrum_step(detector->maker))
			detector->stage = FIND;
		break;
	case FIND:
		detector->error = find_candidates(s, detector->maker);
		detector->stage = CANDIDATES;
		break;
	case CANDIDATES:
		if (s->next_candidate < s->n_candidates) {
			try_candidate(s, &s->candidates[s->next_candidate++]);
			break;
		}
		detector->error = judge_candidates(s);
		if (detector->error == 0)
			s->aligner = aligner_new(s->mean, s->set->n_buckets,
						 s->period.buckets);
		detector->stage = ALIGN;
		break;
	case ALIGN:
		if (!aligner_step(s->aligner))
			detector->stage = MEASURE;
		break;
	case MEASURE:
		detector->error = judge(s);
		detector->stage = DESCRIBE;
		break;
	case DESCRIBE:
		detector->error = describe(s);
		if (detector->error == 0)
			finish(s);
		detector->stage = OVER;
		break;
	case OVER:
		break;
	}
	if (detector->error < 0)
		detector->stage = OVER;
	return detector->stage != OVER;
}

int
detector_end(struct detector *detector, struct detection *ret_detection,
	     struct err *err)
{
	struct search *s = &detector->search;

	BUG_ON(detector->stage != OVER);
	if (detector->error == 0) {
		*ret_detection = s->found;
		s->found = (struct detection){ 0 };
	} else if (err) {
		*err = s->err;
	}
	search_fini(s);
	return detector->error;
}

int
detect_profile(const struct series_set *set, const char *source, const char *job,
	       struct detection *ret_detection, struct err *err)
{
	struct detector *detector = detector_new();
	int error;

	detector_begin(detector, set, source, job);
	while (detector_step(detector))
		continue;
	error = detector_end(detector, ret_detection, err);
	detector_free(detector);
	return error;
}

void
detection_fini(struct detection *detection)
{
	profile_fini(&detection->profile);
	free(detection->fold_bps);
	*detection = (struct detection){ 0 };
}
