/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/control/phase_constraints.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "lib/base/vec.h"
#include "scheduler/core/control/control_constants.h"
#include "scheduler/core/profile/profile.h"
#include "scheduler/core/profile/same_period.h"
#include "scheduler/core/solve/joint.h"
#include "scheduler/core/solve/pair.h"
#include "scheduler/core/solve/step_function.h"

/* One pair of jobs on one link. */
struct contact {
	uint32_t a, b;
	double factor_a, factor_b, capacity_bps;
};

typedef VEC(struct contact) contact_vec;

/* ------ One profile ------ */

/* The phase after the longest gap, the first of several; n_phases at least 1. */
static size_t
onset_phase(const struct profile *p)
{
	size_t best = 0;
	int64_t best_gap_us = -1;

	for (size_t i = 0; i < p->n_phases; i++) {
		const struct profile_phase *before =
			&p->phases[(i + p->n_phases - 1) % p->n_phases];
		int64_t gap_us =
			p->phases[i].start_us - before->start_us - before->duration_us;

		if (i == 0)
			gap_us += p->period_us;
		if (gap_us > best_gap_us) {
			best_gap_us = gap_us;
			best = i;
		}
	}
	return best;
}

int64_t
phase_constraints_onset_us(const struct profile *p)
{
	return p->n_phases ? p->phases[onset_phase(p)].start_us : 0;
}

int64_t
phase_constraints_burst_us(const struct profile *p)
{
	const struct profile_phase *last;
	size_t first;
	int64_t length_us;

	if (!p->n_phases)
		return 0;
	first = onset_phase(p);
	last = &p->phases[(first + p->n_phases - 1) % p->n_phases];
	length_us = last->start_us + last->duration_us - p->phases[first].start_us;
	if (length_us <= 0)
		length_us += p->period_us;
	return (double)profile_busy_us(p) >=
			       (1 - CONSTRAINT_MAX_IDLE_FRAC) * (double)length_us
		       ? length_us
		       : 0;
}

/* ------ Pairs ------ */

static int
compare_contacts(const void *x, const void *y)
{
	const struct contact *m = x, *n = y;

	if (m->a != n->a)
		return m->a < n->a ? -1 : 1;
	if (m->b != n->b)
		return m->b < n->b ? -1 : 1;
	return (m->capacity_bps > n->capacity_bps) -
	       (m->capacity_bps < n->capacity_bps);
}

/* Finds the pairs of jobs that exceed a link together, sorted by pair. */
static void
find_contacts(const struct joint_problem *problem, contact_vec *contacts)
{
	for (size_t l = 0; l < problem->n_links; l++) {
		const struct joint_link *link = &problem->links[l];
		const struct joint_load *loads = &problem->loads[link->first_load];

		for (uint32_t i = 0; i < link->n_loads; i++) {
			for (uint32_t k = i + 1; k < link->n_loads; k++) {
				bool is_turned = loads[k].job < loads[i].job;
				const struct joint_load *a = &loads[is_turned ? k : i];
				const struct joint_load *b = &loads[is_turned ? i : k];
				const struct profile *pa = problem->profiles[a->job];
				const struct profile *pb = problem->profiles[b->job];
				struct contact m = { a->job, b->job, a->factor,
						     b->factor, link->capacity_bps };

				if (a->factor * profile_peak_bps(pa) +
					    b->factor * profile_peak_bps(pb) >
				    link->capacity_bps * (1 + CONSTRAINT_FITS_REL_TOL))
					vec_push(contacts, m);
			}
		}
	}
	sort_items(contacts->items, contacts->n, compare_contacts);
}

/* A pair of jobs, on all links that it shares. */
struct pair {
	const struct contact *contacts;
	size_t n;
	struct profile a, b; /* Borrowing; with the period that is kept. */
};

/* The excess of the worst link, as a share of its capacity. */
static double
excess_frac(const struct pair *p, int64_t shift_us)
{
	double worst = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct contact *m = &p->contacts[i];
		const struct pair_job a = { &p->a, m->factor_a };
		const struct pair_job b = { &p->b, m->factor_b };

		worst = fmax(worst, pair_excess_bps(&a, &b, shift_us, m->capacity_bps) /
					    m->capacity_bps);
	}
	return worst;
}

/*
 * How far the excess stays within 'limit', from 'shift_us' in the direction of 'sign'.
 */
static int64_t
reach_us(const struct pair *p, int64_t shift_us, int sign, double limit, int64_t g_us)
{
	int64_t good_us = 0, bad_us = g_us, step_us = g_us / CONSTRAINT_STEPS + 1;

	for (int64_t at_us = step_us; at_us < g_us; at_us += step_us) {
		if (excess_frac(p, shift_us + sign * at_us) > limit) {
			bad_us = at_us;
			break;
		}
		good_us = at_us;
	}
	while (bad_us - good_us > 1) {
		int64_t middle_us = (good_us + bad_us) / 2;

		if (excess_frac(p, shift_us + sign * middle_us) > limit)
			bad_us = middle_us;
		else
			good_us = middle_us;
	}
	return good_us;
}

/* False if there is no window that can be kept, or the window is the whole period. */
static bool
make_window(const struct pair *p, int64_t shift_us,
	    struct steer_constraint *ret_constraint)
{
	int64_t g_us = period_gcd(p->a.period_us, p->b.period_us);
	double limit = excess_frac(p, shift_us) + PHASE_CONSTRAINTS_TOLERANCE;
	int64_t before_us = reach_us(p, shift_us, -1, limit, g_us);
	int64_t after_us = reach_us(p, shift_us, 1, limit, g_us);
	int64_t lo_us = shift_us - before_us + phase_constraints_onset_us(&p->b) -
			phase_constraints_onset_us(&p->a);

	if (before_us + after_us >= g_us - 1 ||
	    (double)(before_us + after_us) < CONSTRAINT_MIN_WINDOW_FRAC * (double)g_us)
		return false;
	lo_us %= g_us;
	if (lo_us < 0)
		lo_us += g_us;
	ret_constraint->modulus_us = g_us;
	ret_constraint->lo_us = lo_us;
	ret_constraint->hi_us = lo_us + before_us + after_us;
	return true;
}

/* Keeps two bursts apart, modulo the gcd if both fit into it, or the longer period. */
static bool
make_bursts(const struct pair *p, struct steer_constraint *ret_constraint)
{
	int64_t a_us = phase_constraints_burst_us(&p->a),
		b_us = phase_constraints_burst_us(&p->b);
	int64_t g_us = period_gcd(p->a.period_us, p->b.period_us);
	int64_t longer_us =
		p->a.period_us > p->b.period_us ? p->a.period_us : p->b.period_us;

	if (!a_us || !b_us)
		return false;
	ret_constraint->modulus_us = a_us + b_us <= g_us ? g_us : longer_us;
	if (ret_constraint->modulus_us < a_us + b_us)
		ret_constraint->modulus_us = a_us + b_us;
	ret_constraint->lo_us = a_us;
	ret_constraint->hi_us = ret_constraint->modulus_us - b_us;
	return true;
}

/* ------ All constraints ------ */

/* The periods that the jobs are kept at: their own, those of same_period.h, or locked. */
static int64_t *
kept_periods(const struct joint_problem *problem, const int64_t *locked_us)
{
	int64_t *kept_us = xcalloc(problem->n_jobs + 1, sizeof *kept_us);
	struct profile *joined = same_period_join(problem->profiles, problem->n_jobs);

	for (size_t j = 0; j < problem->n_jobs; j++) {
		kept_us[j] =
			joined ? joined[j].period_us : problem->profiles[j]->period_us;
		if (locked_us && locked_us[j] > kept_us[j])
			kept_us[j] = locked_us[j];
	}
	free(joined);
	return kept_us;
}

static void
make_constraint(const struct joint_problem *problem, const struct contact *contacts,
		size_t n, const int64_t *shift_us, const int64_t *kept_us,
		struct phase_constraints *constraints)
{
	uint32_t a = contacts->a, b = contacts->b;
	struct pair p = { .contacts = contacts,
			  .n = n,
			  .a = *problem->profiles[a],
			  .b = *problem->profiles[b] };
	struct steer_constraint made = { .a = a, .b = b };
	int64_t relative_us = shift_us ? shift_us[b] - shift_us[a] : 0;
	double worst = 0;

	p.a.period_us = kept_us[a];
	p.b.period_us = kept_us[b];
	p.a.period_error_us = p.b.period_error_us = 0; /* As they are kept: exact. */
	for (size_t i = 0; i < n; i++)
		worst = fmax(worst, (contacts[i].factor_a * profile_peak_bps(&p.a) +
				     contacts[i].factor_b * profile_peak_bps(&p.b)) /
						    contacts[i].capacity_bps -
					    1);
	made.cost = fmin(1, worst); /* The share of a second that the pair loses. */
	if (!make_bursts(&p, &made)) {
		if (!make_window(&p, relative_us, &made))
			return;
		for (int end = 0; end < 2; end++)
			constraints->modes[end ? b : a] = STEER_SHIFT;
	} else {
		for (int end = 0; end < 2; end++)
			if (constraints->modes[end ? b : a] == STEER_FREE)
				constraints->modes[end ? b : a] = STEER_GATE;
	}
	constraints->items = xreallocarray(constraints->items, constraints->n + 1,
					   sizeof *constraints->items);
	constraints->items[constraints->n++] = made;
}

/* True if the constraint is a repeating window, also for bursts. */
static bool
is_window(const int64_t *kept_us, const struct steer_constraint *e)
{
	return kept_us[e->a] % e->modulus_us == 0 && kept_us[e->b] % e->modulus_us == 0;
}

/*
 * Jobs that share a window with a job that can only be kept in phase are kept in phase
 * too, transitively: all of them follow one plan.
 */
static void
spread_shift(const int64_t *kept_us, struct phase_constraints *constraints)
{
	bool has_changed = true;

	while (has_changed) {
		has_changed = false;
		for (size_t i = 0; i < constraints->n; i++) {
			const struct steer_constraint *e = &constraints->items[i];
			enum steer_mode *a = &constraints->modes[e->a];
			enum steer_mode *b = &constraints->modes[e->b];

			if (*a == *b || !is_window(kept_us, e))
				continue;
			*a = *b = STEER_SHIFT;
			has_changed = true;
		}
	}
}

void
phase_constraints_make(const struct joint_problem *problem, const int64_t *shift_us,
		       const int64_t *locked_us,
		       struct phase_constraints *ret_constraints)
{
	contact_vec contacts = VEC_EMPTY;
	struct phase_constraints constraints = { .n_jobs = problem->n_jobs };
	int64_t *kept_us = kept_periods(problem, locked_us);

	constraints.modes = xcalloc(problem->n_jobs + 1, sizeof *constraints.modes);
	find_contacts(problem, &contacts);
	for (size_t i = 0, n; i < contacts.n; i += n) {
		const struct contact *m = &contacts.items[i];

		for (n = 1; i + n < contacts.n && m[n].a == m->a && m[n].b == m->b;)
			n++;
		make_constraint(problem, m, n, shift_us, kept_us, &constraints);
	}
	spread_shift(kept_us, &constraints);
	vec_free(&contacts);
	free(kept_us);
	*ret_constraints = constraints;
}

void
phase_constraints_fini(struct phase_constraints *constraints)
{
	free(constraints->items);
	free(constraints->modes);
	*constraints = (struct phase_constraints){ 0 };
}
