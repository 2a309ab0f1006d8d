/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/control/stand_back.h"

#include <math.h>

#include "scheduler/core/control/control_constants.h"

void
stand_back_init(struct stand_back *w)
{
	*w = (struct stand_back){ .state = STAND_BACK_NOT, .predicted = INFINITY };
}

static void
costs_take(struct stand_back_costs *c, double cost, double weight)
{
	c->n = fmin(c->n + weight, STAND_BACK_KEPT);
	c->mean += weight / c->n * (cost - c->mean);
}

static bool
is_sharing_known(const struct stand_back *w)
{
	return w->share.n >= STAND_BACK_LOOK;
}

double
stand_back_turns_cost(const struct stand_back *w)
{
	if (!isfinite(w->predicted))
		return w->turns.n > 0 ? w->turns.mean : INFINITY;
	return (w->turns.mean * w->turns.n + w->predicted * STAND_BACK_PREDICTED_N) /
	       (w->turns.n + STAND_BACK_PREDICTED_N);
}

/* The cost that turns may have; INFINITY: there is nothing to compare with. */
static double
allowed_cost(const struct stand_back *w, const struct stand_back_iteration *it)
{
	if (is_sharing_known(w))
		return w->share.mean;
	return it->isolated + (it->predicted_share + it->predicted_turns) / 2;
}

static void
rest(struct stand_back *w, int64_t now_ns)
{
	w->pause_ns = w->pause_ns ? 2 * w->pause_ns : STAND_BACK_FIRST_NS;
	if (w->pause_ns > STAND_BACK_LONGEST_NS)
		w->pause_ns = STAND_BACK_LONGEST_NS;
	w->until_ns = now_ns + w->pause_ns;
	w->n_failed++;
	w->state = STAND_BACK_RESTS;
}

static void
resume(struct stand_back *w)
{
	w->state = STAND_BACK_NOT;
	w->until_ns = 0;
	w->shortfall = 0;
}

static void
note_turning(struct stand_back *w, const struct stand_back_iteration *it)
{
	if (!w->turning_since_ns || it->now_ns < w->turning_since_ns)
		w->turning_since_ns = it->now_ns;
	else if (it->now_ns - w->turning_since_ns >= STAND_BACK_TRUST_NS)
		w->pause_ns = 0;
	if (isfinite(it->predicted_turns))
		w->predicted = it->isolated + it->predicted_turns;
	w->n_turning += it->weight;
}

static bool
take_turn(struct stand_back *w, const struct stand_back_iteration *it)
{
	double allowed = allowed_cost(w, it);

	note_turning(w, it);
	if (w->n_turning <= STAND_BACK_SKIPPED)
		return false;
	costs_take(&w->turns, it->cost, it->weight);
	if (!isfinite(allowed))
		return false;
	w->shortfall = fmax(0, w->shortfall + it->weight * (it->cost - allowed));
	if (w->shortfall <= STAND_BACK_MAX ||
	    w->n_turning < STAND_BACK_SKIPPED + STAND_BACK_MIN)
		return false;
	if (is_sharing_known(w))
		rest(w, it->now_ns);
	else
		w->state = STAND_BACK_LOOKS;
	return true;
}

static bool
take_share(struct stand_back *w, const struct stand_back_iteration *it)
{
	costs_take(&w->share, it->cost, it->weight);
	if (w->state == STAND_BACK_LOOKS && is_sharing_known(w)) {
		if (stand_back_turns_cost(w) < w->share.mean)
			resume(w);
		else
			rest(w, it->now_ns);
		return true;
	}
	if (w->state != STAND_BACK_RESTS)
		return false;
	/* If the clock was set back, the pause ends. */
	if (it->now_ns < w->until_ns && w->until_ns - it->now_ns <= w->pause_ns)
		return false;
	resume(w);
	return true;
}

bool
stand_back_take(struct stand_back *w, const struct stand_back_iteration *it)
{
	if (it->is_turning && w->state == STAND_BACK_NOT)
		return take_turn(w, it);
	w->turning_since_ns = 0;
	w->n_turning = 0;
	/* While it stands back, no turns should be taken. */
	return !it->is_turning && take_share(w, it);
}
