/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steer_shift.c - orders that keep jobs in their windows: see phase_correction.h.
 */
#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "scheduler/core/control/control_constants.h"
#include "scheduler/core/control/phase_correction.h"
#include "scheduler/core/control/steer_internal.h"

struct component {
	VEC(struct node *) nodes;
	VEC(struct phase_correction_job) jobs;
	VEC(struct phase_correction_constraint) constraints;
};

static void
gather(const struct steer *s, struct component *c, struct node *first)
{
	vec_push(&c->nodes, first);
	first->mark = 1;
	for (size_t i = 0; i < c->nodes.n; i++) {
		struct node *n = c->nodes.items[i];

		for (size_t k = 0; k < n->peers.n; k++) {
			struct peer *peer = &n->peers.items[k];
			struct node *other = peer->other;

			if (!other->mark && c->nodes.n < STEER_MAX_COMPONENT &&
			    node_is_live(s, other)) {
				vec_push(&c->nodes, other);
				other->mark = (uint32_t)c->nodes.n;
			}
		}
	}
	for (size_t i = 0; i < c->nodes.n; i++) {
		struct node *n = c->nodes.items[i];
		struct phase_correction_job job = { .phase_ns = node_next_ns(s, n),
						    .weight = n->weight,
						    .is_fixed = n->mode == STEER_FREE };

		vec_push(&c->jobs, job);
		for (size_t k = 0; k < n->peers.n; k++) {
			const struct peer *peer = &n->peers.items[k];
			struct phase_correction_constraint constraint = {
				.a = (uint32_t)i,
				.b = peer->other->mark - 1,
				.modulus_ns = peer->modulus_ns,
				.lo_ns = peer->lo_ns,
				.hi_ns = peer->hi_ns,
			};

			if (peer->is_a && peer->other->mark)
				vec_push(&c->constraints, constraint);
		}
	}
	for (size_t i = 0; i < c->nodes.n; i++)
		c->nodes.items[i]->mark = 0;
}

/* Delays that bring all jobs well into their windows.  Returns 0 or -1. */
static int
solve(const struct component *c, double *ret_delay_ns)
{
	double low = 0, high = 1;

	if (phase_correction_solve(c->jobs.items, c->jobs.n, c->constraints.items,
				   c->constraints.n, 0, ret_delay_ns) < 0)
		return -1;
	for (int i = 0; i < SHIFT_MARGIN_ROUNDS; i++) {
		double middle = (low + high) / 2;

		if (phase_correction_solve(c->jobs.items, c->jobs.n,
					   c->constraints.items, c->constraints.n,
					   middle, ret_delay_ns) == 0)
			low = middle;
		else
			high = middle;
	}
	return phase_correction_solve(c->jobs.items, c->jobs.n, c->constraints.items,
				      c->constraints.n, low * SHIFT_MARGIN_FRAC,
				      ret_delay_ns);
}

/* True if the last search found no delays; ignored after a clock was set back. */
static bool
is_unfit(const struct steer *s, const struct group *g)
{
	return s->now_ns < g->unfit_until_ns &&
	       g->unfit_until_ns - s->now_ns <= SHIFT_LONGEST_UNFIT_NS;
}

static void
note_fit(const struct steer *s, struct group *g, bool is_fit)
{
	if (is_fit)
		g->unfit_ns = 0;
	else
		g->unfit_ns = g->unfit_ns ? 2 * g->unfit_ns : SHIFT_FIRST_UNFIT_NS;
	if (g->unfit_ns > SHIFT_LONGEST_UNFIT_NS)
		g->unfit_ns = SHIFT_LONGEST_UNFIT_NS;
	g->unfit_until_ns = s->now_ns + g->unfit_ns;
}

static bool
is_allowed(const struct steer *s, struct node *n)
{
	/* A clock that was set back removes no tokens. */
	double minutes = fmax(0, (double)(s->now_ns - n->tokens_ns) / 60e9);

	n->tokens =
		fmin(STEER_MAX_TOKENS, n->tokens + minutes * s->opts.max_per_minute);
	n->tokens_ns = s->now_ns;
	return n->tokens >= 1;
}

/* True if one of the job's own constraints breaks at the next begins. */
static bool
is_leaving(const struct component *c)
{
	for (size_t i = 0; i < c->constraints.n; i++) {
		const struct phase_correction_constraint *e = &c->constraints.items[i];

		if ((e->a == 0 || e->b == 0) &&
		    fabs(phase_correction_error_ns(c->jobs.items, e)) > 0)
			return true;
	}
	return false;
}

/*
 * The earliest begin by order with which the mean length of iterations, which vary, is
 * 'locked_ns'.  With d in standard deviations from its own mean, E max(d, Z) = d Phi(d)
 * + phi(d); its slope is Phi(d).
 */
static double
lock_point_ns(const struct onset_tracker *t, double locked_ns)
{
	double wanted = (locked_ns - t->period_ns) / t->sd_ns, d = wanted;

	for (int i = 0; i < SHIFT_LOCK_ROUNDS; i++) {
		double below = 0.5 * erfc(-d / M_SQRT2);
		double density = exp(-d * d / 2) / sqrt(2 * M_PI);

		d -= (d * below + density - wanted) / fmax(below, SHIFT_LOCK_SLOPE);
	}
	return t->period_ns + d * t->sd_ns;
}

/* Delays a job that is faster than its lock a little each time. */
static void
keep_period(struct steer *s, struct node *n, struct orders *orders)
{
	const struct onset_tracker *t = &n->onsets;
	double begin_ns = (double)t->begin_ns;

	if (n->has_pending || t->sd_ns <= 0 ||
	    n->locked_ns < t->period_ns + SHIFT_MIN_LOCK_SDS * t->sd_ns)
		return;
	node_order(s, n, begin_ns + t->period_ns,
		   begin_ns + lock_point_ns(t, n->locked_ns), STEER_WHY_PERIOD, orders);
}

void
steer_shift(struct steer *s, struct node *node, struct orders *orders)
{
	struct group *g = &node->leader->group;
	struct component c = { 0 };
	double *delay_ns = NULL;
	bool is_fit;

	if (!node->peers.n || is_unfit(s, g)) {
		keep_period(s, node, orders);
		return;
	}
	gather(s, &c, node);
	if (!is_leaving(&c))
		goto out;
	delay_ns = xcalloc(c.jobs.n, sizeof *delay_ns);
	is_fit = solve(&c, delay_ns) == 0;
	note_fit(s, g, is_fit);
	if (!is_fit)
		goto out;
	for (size_t j = 0; j < c.jobs.n; j++) {
		struct node *n = c.nodes.items[j];
		double next_ns = c.jobs.items[j].phase_ns;

		if (delay_ns[j] <= 1 || n->has_pending || !is_allowed(s, n))
			continue;
		/* Too late for this begin: use the next one. */
		if (next_ns - SHIFT_GUARD_SDS * n->onsets.sd_ns <
		    (double)(s->now_ns + s->opts.latency_ns))
			next_ns += n->onsets.period_ns;
		n->tokens--;
		node_order(s, n, next_ns, next_ns + delay_ns[j],
			   n->is_fresh ? STEER_WHY_START : STEER_WHY_DRIFT, orders);
	}
out:
	keep_period(s, node, orders);
	free(delay_ns);
	vec_free(&c.nodes);
	vec_free(&c.jobs);
	vec_free(&c.constraints);
}
