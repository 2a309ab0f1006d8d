/* SPDX-License-Identifier: Apache-2.0 */
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
#include "scheduler/core/profile/detect_constants.h"
#include "scheduler/core/profile/iteration_ends.h"
#include "scheduler/core/profile/iteration_times.h"
#include "scheduler/core/profile/period.h"
#include "scheduler/core/profile/phases.h"
#include "scheduler/core/profile/spectrum.h"

#define BITS_PER_BYTE_MS 8e3 /* 1 byte per ms in bits per second. */

/* The next step. */
enum stage {
	SPECTRUM,
	FIND,
	CANDIDATES,
	ALIGN,
	MEASURE,
	DESCRIBE,
	OVER,
};

/* One detection. */
struct search {
	const struct series_set *set; /* Borrowed. */
	const char *source;           /* Borrowed. */
	char *job;                    /* Owned. */
	struct err err;
	float *mean; /* Owned.  [n_buckets]. */
	double min_autocorrelation;
	struct period candidates[PERIOD_MAX_CANDIDATES];
	size_t n_candidates, next_candidate;
	struct period period;    /* The chosen one. */
	double residual;         /* Variance left unexplained; infinite: none yet. */
	struct aligner *aligner; /* Owned.  NULL except while aligning. */
	struct alignment alignment;
	struct iteration_times times;
	struct detection found; /* Owned. */
};

struct detector {
	struct spectrum_maker *maker; /* Owned. */
	enum stage stage;
	int error; /* Result of a finished search. */
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

/* The share of variance that a period leaves unexplained, plus a floor. */
static double
residual_of(const struct search *s, const struct period *period)
{
	return 1 + RESIDUAL_FLOOR -
	       align_explained(s->mean, s->set->n_buckets, period->buckets);
}

/*
 * Chooses the candidate with the highest score, unless another leaves far less of the
 * traffic unexplained: bursts inside an iteration may score higher than the iteration,
 * but then they differ from one another.  A multiple of the period explains slightly
 * more because it has more cells.
 */
static void
try_candidate(struct search *s, const struct period *candidate)
{
	double residual;

	if (candidate->autocorrelation < s->min_autocorrelation ||
	    candidate->dip < MIN_DIP)
		return;
	residual = residual_of(s, candidate);
	if (isinf(s->residual) || residual < FAR_LESS * s->residual) {
		s->period = *candidate;
		s->residual = residual;
	}
}

static int
find_candidates(struct search *s, struct spectrum_maker *maker)
{
	struct spectrum spectrum;

	if (!spectrum_end(maker, &spectrum))
		return refuse(s, "the rate is constant, so no iteration can be seen");
	s->n_candidates = period_candidates(&spectrum, s->candidates);
	spectrum_fini(&spectrum);
	return 0;
}

/* Refuses if no candidate repeats well enough. */
static int
judge_candidates(struct search *s)
{
	const struct period *first = s->candidates;

	if (!isinf(s->residual))
		return 0;
	return refuse(s,
		      "the traffic does not repeat (best autocorrelation %.2f, "
		      "%.2f is needed); a longer part without start-up and pauses "
		      "may",
		      s->n_candidates
			      ? fmax(fmin(first->autocorrelation, first->dip), 0)
			      : 0.0,
		      s->min_autocorrelation);
}

/* Fills in the times of the iterations. */
static void
measure(struct search *s)
{
	struct detection *found = &s->found;

	iteration_times_measure(s->set, &s->alignment, &s->times);
	found->mean_us = s->times.mean_ms * 1e3;
	found->profile.period_us = llround(s->times.period_ms * 1e3);
	found->profile.period_error_us = profile_error_us(s->times.period_se_ms * 1e3);
	found->profile.jitter_us = llround(s->times.sd_ms * 1e3);
	found->profile.n_iterations = (int64_t)s->alignment.n_onsets - 1;
}

/* True if each iteration is two with half of the bytes, with as clear a quiet between. */
static bool
are_pairs(const struct search *s)
{
	const struct alignment *a = &s->alignment;
	size_t n = s->set->n_buckets;
	double bytes = iteration_times_bytes(a, s->mean, n) / 2;
	struct iteration_ends ends;
	bool answer;

	iteration_ends_init(s->mean, n, (size_t)lround(fmax(a->onsets[0], 0)), bytes,
			    &ends);
	answer = ends.clear >= MIN_CLEAR && ends.n > a->n_onsets + a->n_onsets / 2;
	iteration_ends_fini(&ends);
	return answer;
}

/*
 * True if all iterations have the same bytes, and far more nearly than the same time.
 * What jitters by a sixth of its period has hardly an autocorrelation, and its iterations
 * explain little of one another, bucket by bucket; but nothing else cuts traffic into
 * equal parts of unequal length, except that two iterations are as equal as one.
 */
static bool
are_alike(const struct search *s)
{
	struct iteration_spread spread;

	iteration_times_spread(&s->alignment, s->mean, s->set->n_buckets, &spread);
	return s->found.profile.n_iterations >= ALIKE_MIN_ITERATIONS &&
	       spread.bytes <= ALIKE_BYTES &&
	       spread.bytes <= ALIKE_SHARE * spread.times && !are_pairs(s);
}

/* Refuses if the iterations found are too few, too different or too irregular. */
static int
judge(struct search *s)
{
	const struct profile *p = &s->found.profile;
	bool is_alike;
	double least;

	aligner_end(s->aligner, &s->alignment);
	s->aligner = NULL;
	if (s->alignment.n_onsets < DETECT_MIN_ITERATIONS + 1)
		return refuse(
			s,
			"fewer than %d iterations of about %.0f ms in %.1f s; more of its "
			"traffic is needed",
			DETECT_MIN_ITERATIONS, s->period.buckets, seconds(s));
	measure(s);
	is_alike = are_alike(s);
	least = fmax(MIN_EXPLAINED, MIN_EXPLAINED_FEW / (double)p->n_iterations);
	if (!is_alike)
		least = fmax(least,
			     MIN_TOGETHER +
				     (double)p->jitter_us / (double)p->period_us -
				     s->period.autocorrelation);
	if (s->alignment.explained < least)
		return refuse(
			s,
			"stretches of %.0f ms have little in common (they explain "
			"%.0f %% of the variance; with %lld of them %.0f %% is "
			"needed)",
			s->period.buckets, fmax(100 * s->alignment.explained, 0),
			(long long)p->n_iterations, 100 * least);
	if (fabs(s->times.onset_ms / s->period.buckets - 1) >
	    (is_alike ? MAX_DISAGREEMENT_ALIKE : MAX_DISAGREEMENT))
		return refuse(
			s,
			"the spectrum has a period of %.0f ms, the iterations found "
			"one of %.0f ms",
			s->period.buckets, s->times.onset_ms);
	if ((double)p->jitter_us > MAX_JITTER * (double)p->period_us)
		return refuse(s,
			      "the traffic repeats after %.0f +- %.0f ms, which is too "
			      "irregular for an iteration",
			      (double)p->period_us / 1e3, (double)p->jitter_us / 1e3);
	return 0;
}

/* Makes the fold (mean iteration), which begins in the quiet before its traffic. */
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
 * The highest rate over LINE_BUCKETS that any interface received (if none received:
 * sent). Arriving traffic is paced by the wire; traffic counted before the sender's
 * queue is not.
 */
static double
line_rate(const struct series_set *set)
{
	float *smooth = xcalloc(set->n_buckets, sizeof *smooth);
	double highest[2] = { 0 };

	for (size_t s = 0; s < set->n_series; s++) {
		double *high = &highest[set->ids[s].is_ingress];

		series_smooth(series_row(set, s), set->n_buckets, LINE_BUCKETS, smooth);
		for (size_t t = 0; t < set->n_buckets; t++)
			*high = fmax(*high, smooth[t]);
	}
	free(smooth);
	return (highest[1] > 0 ? highest[1] : highest[0]) * BITS_PER_BYTE_MS;
}

/* Rotates the fold so that it begins with the first phase. */
static void
rotate_fold(struct detection *found, size_t by)
{
	double *rotated = xcalloc(found->n_fold, sizeof *rotated);

	for (size_t t = 0; t < found->n_fold; t++)
		rotated[t] = found->fold_bps[(t + by) % found->n_fold];
	free(found->fold_bps);
	found->fold_bps = rotated;
}

/*
 * Standard deviation of the smoothed fold over its mean.  Smoothing removes the beat of
 * a constant packet rate with the buckets, which is no iteration.
 */
static double
contrast(const struct detection *found)
{
	size_t n = found->n_fold, half = n / CONTRAST_PART > CONTRAST_BUCKETS
						 ? n / CONTRAST_PART
						 : CONTRAST_BUCKETS;
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
		round(iteration_times_bytes(&s->alignment, s->mean, s->set->n_buckets));
	fold(s);
	ratio = contrast(found);
	if (!(ratio >= MIN_CONTRAST))
		return refuse(
			s,
			"the rate is nearly constant (it varies by %.1f %%), so there "
			"is nothing to interleave",
			100 * ratio);

	rotate_fold(found,
		    phases_fill(found->fold_bps, found->n_fold, 1000, line_bps, p));
	if (profile_normalize(p, &why) < 0)
		BUG("detected profile: %s", why);
	return 0;
}

/* ---- In steps -------------------------------------------------------------------- */

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
			      .residual = INFINITY,
			      .min_autocorrelation =
				      fmax(MIN_AUTOCORRELATION,
					   NOISE_SDS / sqrt((double)set->n_buckets)) };
	detector->error = 0;
	if ((double)set->n_buckets * PERIOD_MAX_SHARE <= PERIOD_MIN_BUCKETS) {
		detector->error = refuse(
			s,
			"%.2f s of traffic is too short; use at least 10 s or 20 "
			"iterations",
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
 * A high autocorrelation means that the traffic repeats, not that the period is exact:
 * with few iterations that differ, their median is uncertain.  So the confidence is
 * limited to the probability that the period is within the bar, by its standard error.
 */
static double
confidence(const struct search *s)
{
	double se = s->times.period_se_ms / s->times.period_ms;
	double within = se > 0 ? erf(PERIOD_BAR / se / M_SQRT2) : 1;

	return fmin(s->period.autocorrelation, within);
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
