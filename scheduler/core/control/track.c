#include "scheduler/core/control/track.h"

#include <math.h>

#include "scheduler/core/control/steer.h"

#define MAX_TIME_NS (INT64_MAX / 4)
#define MAX_LOST    32 /* Iterations: beyond that a report is doubted. */
#define MAX_GAP_NS  INT64_C(3600000000000) /* No iteration is longer than an hour. */

#define GAIN            16   /* Samples that the period is the mean of. */
#define ODD_SDS         5    /* So far off is odd, */
#define ODD_FRAC        0.03 /* but not if it is less of the period. */
#define FIRST_SD_FRAC   0.02 /* Of the period, until it is seen. */
#define MIN_SD_FRAC     0.001
#define CUSUM_SLACK_SDS 0.5
#define CUSUM_ALARM_SDS 6
#define COMM_BAND_FRAC  0.15 /* By so much they differ by themselves. */
#define COMM_GAIN       8    /* Iterations that their usual length is the mean of. */

void
track_init(struct track *t, double period_ns, double comm_ns, double sd_ns)
{
	*t = (struct track){ .period_ns = period_ns, .comm_ns = comm_ns };
	t->sd_ns = fmax(sd_ns, FIRST_SD_FRAC * period_ns);
}

bool
track_is_known(const struct track *t)
{
	return t->has_begun && t->period_ns > 0 && t->n_samples >= TRACK_N_KNOWN;
}

void
track_learn_alone(struct track *t, double comm_ns)
{
	double band_ns = COMM_BAND_FRAC * t->comm_ns;
	double more_ns = fmin(fmax(comm_ns - t->comm_ns, -band_ns), band_ns);

	if (t->comm_ns <= 0 || comm_ns <= 0)
		return;
	t->n_comm++;
	t->comm_ns += more_ns / fmin(COMM_GAIN, t->n_comm + 1);
}

void
track_refine(struct track *t, double before_ns, double comm_ns)
{
	if (t->comm_ns <= 0 || comm_ns <= 0 || t->n_comm >= COMM_GAIN ||
	    fabs(comm_ns - before_ns) <= COMM_BAND_FRAC * before_ns)
		return;
	if (t->period_ns > 0)
		t->period_ns += comm_ns - t->comm_ns;
	t->comm_ns = comm_ns;
}

/* What of the collectives' time was others' doing; follows their usual length. */
static double
take_comm(struct track *t, double comm_ns, enum track_company company)
{
	double more_ns = comm_ns - t->comm_ns;

	if (t->comm_ns <= 0) {
		t->comm_ns = company == TRACK_ALONE ? comm_ns : 0;
		return 0;
	}
	if (company == TRACK_UNKNOWN)
		return more_ns;
	if (company == TRACK_ALONE)
		track_learn_alone(t, comm_ns);
	if (company == TRACK_ALONE || more_ns < 0 ||
	    (company == TRACK_PERHAPS && more_ns < COMM_BAND_FRAC * t->comm_ns))
		return 0;
	return more_ns;
}

static void
cusum_reset(struct track *t)
{
	t->cusum_up = t->cusum_down = 0;
	t->cusum_sum_ns[0] = t->cusum_sum_ns[1] = 0;
	t->n_cusum[0] = t->n_cusum[1] = 0;
}

/* Takes a residual; returns the bias that it tells of, or 0. */
static double
cusum_take(struct track *t, double off_ns)
{
	double scores[2] = { t->cusum_up + off_ns / t->sd_ns - CUSUM_SLACK_SDS,
			     t->cusum_down - off_ns / t->sd_ns - CUSUM_SLACK_SDS };

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
		if (scores[side] > CUSUM_ALARM_SDS)
			return t->cusum_sum_ns[side] / t->n_cusum[side];
	return 0;
}

static enum track_event
take_odd(struct track *t, double sample_ns)
{
	bool is_up = sample_ns > t->period_ns, was_up = t->odd_sum_ns > 0;
	double off_ns = sample_ns - t->period_ns;

	if (t->n_odd && is_up != was_up) {
		t->n_odd = 0;
		t->odd_sum_ns = 0;
	}
	t->n_odd++;
	t->odd_sum_ns += off_ns;
	if (t->n_odd < TRACK_N_ODD)
		return TRACK_ODD;
	t->period_ns += t->odd_sum_ns / t->n_odd;
	t->n_samples = t->n_odd;
	t->n_odd = 0;
	t->odd_sum_ns = 0;
	cusum_reset(t);
	return TRACK_CHANGED;
}

static enum track_event
take_sample(struct track *t, double sample_ns)
{
	double off_ns, bias_ns, weight;

	if (t->period_ns <= 0) {
		t->period_ns = sample_ns;
		t->sd_ns = FIRST_SD_FRAC * sample_ns;
		t->n_samples = 1;
		return TRACK_NORMAL;
	}
	off_ns = sample_ns - t->period_ns;
	if (fabs(off_ns) > fmax(ODD_SDS * t->sd_ns, ODD_FRAC * t->period_ns))
		return take_odd(t, sample_ns);
	t->n_odd = 0;
	t->odd_sum_ns = 0;
	bias_ns = cusum_take(t, off_ns);
	if (bias_ns != 0) {
		t->period_ns += bias_ns;
		t->n_samples = TRACK_N_KNOWN;
		cusum_reset(t);
		return TRACK_NORMAL;
	}
	t->n_samples++;
	weight = 1 / fmin(GAIN, (double)t->n_samples + 1);
	t->period_ns += weight * off_ns;
	t->sd_ns = sqrt((1 - weight) * t->sd_ns * t->sd_ns + weight * off_ns * off_ns);
	t->sd_ns = fmax(t->sd_ns, MIN_SD_FRAC * t->period_ns);
	return TRACK_NORMAL;
}

static bool
is_possible(const struct steer_report *r)
{
	return r->enter_ns >= 0 && r->enter_ns <= MAX_TIME_NS &&
	       r->begin_ns >= r->enter_ns && r->begin_ns - r->enter_ns <= MAX_GAP_NS;
}

/* True if it can be of the same run of iterations, with some lost in between. */
static bool
can_follow(const struct track *t, const struct steer_report *r)
{
	return r->enter_ns > t->begin_ns && r->number > t->number &&
	       r->number - t->number <= MAX_LOST &&
	       (t->period_ns <= 0 ||
		(double)(r->enter_ns - t->begin_ns) < MAX_LOST * t->period_ns);
}

enum track_event
track_report(struct track *t, const struct steer_report *r, enum track_company company)
{
	enum track_event event = TRACK_SYNCED;
	bool goes_on = !t->has_begun || can_follow(t, r);
	double interval_ns;

	if (!is_possible(r))
		return TRACK_REFUSED;
	/* Once it may be a report gone astray; the next one is where the job is. */
	if (!goes_on && t->n_refused++ == 0)
		return TRACK_REFUSED;
	interval_ns = (double)(r->enter_ns - t->begin_ns);
	t->stretch_ns = 0;
	if (goes_on && t->has_begun && r->number == t->number + 1 &&
	    interval_ns < (double)MAX_GAP_NS) {
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
