/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/control/onset_tracker.h"

#include <math.h>

#include "scheduler/core/control/control_constants.h"
#include "scheduler/core/control/steer.h"

#define MAX_TIME_NS (INT64_MAX / 4) /* Sums of such times do not overflow. */

void
onset_tracker_init(struct onset_tracker *t, double period_ns, double comm_ns,
		   double sd_ns)
{
	*t = (struct onset_tracker){ .period_ns = period_ns, .comm_ns = comm_ns };
	t->sd_ns = fmax(sd_ns, ONSET_FIRST_SD_FRAC * period_ns);
}

bool
onset_tracker_is_known(const struct onset_tracker *t)
{
	return t->has_begun && t->period_ns > 0 && t->n_samples >= ONSET_N_KNOWN;
}

void
onset_tracker_learn_isolated(struct onset_tracker *t, double comm_ns)
{
	double band_ns = ONSET_COMM_BAND_FRAC * t->comm_ns;
	double more_ns = fmin(fmax(comm_ns - t->comm_ns, -band_ns), band_ns);

	if (t->comm_ns <= 0 || comm_ns <= 0)
		return;
	t->n_comm++;
	t->comm_ns += more_ns / fmin(ONSET_COMM_GAIN, t->n_comm + 1);
}

void
onset_tracker_refine(struct onset_tracker *t, double before_ns, double comm_ns)
{
	if (t->comm_ns <= 0 || comm_ns <= 0 || t->n_comm >= ONSET_COMM_GAIN ||
	    fabs(comm_ns - before_ns) <= ONSET_COMM_BAND_FRAC * before_ns)
		return;
	if (t->period_ns > 0)
		t->period_ns += comm_ns - t->comm_ns;
	t->comm_ns = comm_ns;
}

/* The collectives' time caused by other jobs; updates their usual length. */
static double
take_comm(struct onset_tracker *t, double comm_ns, enum onset_contention company)
{
	double more_ns = comm_ns - t->comm_ns;

	if (t->comm_ns <= 0) {
		t->comm_ns = company == ONSET_ISOLATED ? comm_ns : 0;
		return 0;
	}
	if (company == ONSET_UNKNOWN)
		return more_ns;
	if (company == ONSET_ISOLATED)
		onset_tracker_learn_isolated(t, comm_ns);
	if (company == ONSET_ISOLATED || more_ns < 0 ||
	    (company == ONSET_MAYBE_CONTENDED &&
	     more_ns < ONSET_COMM_BAND_FRAC * t->comm_ns))
		return 0;
	return more_ns;
}

static void
cusum_reset(struct onset_tracker *t)
{
	t->cusum_up = t->cusum_down = 0;
	t->cusum_sum_ns[0] = t->cusum_sum_ns[1] = 0;
	t->n_cusum[0] = t->n_cusum[1] = 0;
}

/* Takes a residual; returns the bias that it shows, or 0. */
static double
cusum_take(struct onset_tracker *t, double off_ns)
{
	double scores[2] = { t->cusum_up + off_ns / t->sd_ns - ONSET_CUSUM_SLACK_SDS,
			     t->cusum_down - off_ns / t->sd_ns -
				     ONSET_CUSUM_SLACK_SDS };

	for (int side = 0; side < 2; side++) {
		if (scores[side] <= 0) {
			scores[side] = 0;
			t->cusum_sum_ns[side] = 0;
			t->n_cusum[side] = 0;
			continue;
		}
		t->cusum_sum_ns[side] += off_ns;
		t->n_cusum[side]++;
	}
	t->cusum_up = scores[0];
	t->cusum_down = scores[1];
	for (int side = 0; side < 2; side++)
		if (scores[side] > ONSET_CUSUM_ALARM_SDS)
			return t->cusum_sum_ns[side] / t->n_cusum[side];
	return 0;
}

static enum onset_event
take_odd(struct onset_tracker *t, double sample_ns)
{
	bool is_up = sample_ns > t->period_ns, was_up = t->odd_sum_ns > 0;
	double off_ns = sample_ns - t->period_ns;

	if (t->n_odd && is_up != was_up) {
		t->n_odd = 0;
		t->odd_sum_ns = 0;
	}
	t->n_odd++;
	t->odd_sum_ns += off_ns;
	if (t->n_odd < ONSET_N_ODD)
		return ONSET_ODD;
	t->period_ns += t->odd_sum_ns / t->n_odd;
	t->n_samples = t->n_odd;
	t->n_odd = 0;
	t->odd_sum_ns = 0;
	cusum_reset(t);
	return ONSET_CHANGED;
}

static enum onset_event
take_sample(struct onset_tracker *t, double sample_ns)
{
	double off_ns, bias_ns, weight;

	if (t->period_ns <= 0) {
		t->period_ns = sample_ns;
		t->sd_ns = ONSET_FIRST_SD_FRAC * sample_ns;
		t->n_samples = 1;
		return ONSET_NORMAL;
	}
	off_ns = sample_ns - t->period_ns;
	if (fabs(off_ns) >
	    fmax(ONSET_ODD_SDS * t->sd_ns, ONSET_ODD_FRAC * t->period_ns))
		return take_odd(t, sample_ns);
	t->n_odd = 0;
	t->odd_sum_ns = 0;
	bias_ns = cusum_take(t, off_ns);
	if (bias_ns != 0) {
		t->period_ns += bias_ns;
		t->n_samples = ONSET_N_KNOWN;
		cusum_reset(t);
		return ONSET_NORMAL;
	}
	t->n_samples++;
	weight = 1 / fmin(ONSET_GAIN, (double)t->n_samples + 1);
	t->period_ns += weight * off_ns;
	t->sd_ns = sqrt((1 - weight) * t->sd_ns * t->sd_ns + weight * off_ns * off_ns);
	t->sd_ns = fmax(t->sd_ns, ONSET_MIN_SD_FRAC * t->period_ns);
	return ONSET_NORMAL;
}

static bool
is_possible(const struct steer_report *r)
{
	return r->enter_ns >= 0 && r->enter_ns <= MAX_TIME_NS &&
	       r->begin_ns >= r->enter_ns &&
	       r->begin_ns - r->enter_ns <= ONSET_MAX_GAP_NS;
}

/* True if the report can continue the same run, with some iterations lost. */
static bool
can_follow(const struct onset_tracker *t, const struct steer_report *r)
{
	return r->enter_ns > t->begin_ns && r->number > t->number &&
	       r->number - t->number <= ONSET_MAX_LOST &&
	       (t->period_ns <= 0 ||
		(double)(r->enter_ns - t->begin_ns) < ONSET_MAX_LOST * t->period_ns);
}

enum onset_event
onset_tracker_report(struct onset_tracker *t, const struct steer_report *r,
		     enum onset_contention company)
{
	enum onset_event event = ONSET_SYNCED;
	bool goes_on = !t->has_begun || can_follow(t, r);
	double interval_ns;

	if (!is_possible(r))
		return ONSET_REFUSED;
	/* The first one may be a stray report; the next one resynchronizes. */
	if (!goes_on && t->n_refused++ == 0)
		return ONSET_REFUSED;
	interval_ns = (double)(r->enter_ns - t->begin_ns);
	t->stretch_ns = 0;
	if (goes_on && t->has_begun && r->number == t->number + 1 &&
	    interval_ns < (double)ONSET_MAX_GAP_NS) {
		if (r->comm_ns > 0 && (double)r->comm_ns <= interval_ns)
			t->stretch_ns = take_comm(t, (double)r->comm_ns, company);
		event = take_sample(t, interval_ns - t->stretch_ns);
	}
	t->has_begun = true;
	t->n_refused = 0;
	t->number = r->number;
	t->begin_ns = r->begin_ns;
	t->n_reports++;
	return event;
}
