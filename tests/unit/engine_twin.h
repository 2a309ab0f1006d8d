/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_twin.h - a naive second engine for comparison
 *
 * It computes all rates anew at every event by progressive filling, and keeps a plain
 * state machine per job.  It is written from the contracts of engine.h and gate.c, not
 * from their code: no private flows, no parts, no lazy progress, no queue.  Quadratic
 * in everything.  It checks the gate's invariants at each event.
 */
#ifndef TESTS_UNIT_ENGINE_TWIN_H
#define TESTS_UNIT_ENGINE_TWIN_H

#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "lib/base/rng.h"
#include "lib/base/vec.h"
#include "tests/unit/test.h"
#include "tests/unit/workload_case.h"

#define TWIN_AGED     4
#define TWIN_BATCH_NS 1.0
#define TWIN_FULL     (1 + 1e-9)

struct twin_flow {
	double left_bits, rate_bps, cap_bps;
	bool is_active;
};

enum twin_state {
	TWIN_WAITS,
	TWIN_RUNS,
	TWIN_LEFT
};

struct twin_job {
	const struct engine_job *spec;
	enum twin_state state;
	uint32_t segment;
	bool is_sent, is_gated, is_admitted;
	double start_ns, compute_end_ns, send_ns, base_ns;
	double slot_ns, since_ns;
	uint32_t n_overtaken;
	uint64_t n_iterations, n_corrections;
	double waited_ns, end_ns;
	struct rng rng;
	struct twin_flow flows[CASE_MAX_FLOWS]; /* The flows of the current segment. */
	double factor;                          /* Factor on flow weights. */
	uint8_t priority;
	VEC(double) ends_ns; /* When each iteration ended. */
};

struct twin {
	double now_ns, capacity_bps[CASE_MAX_LINKS];
	uint32_t n_links, n_jobs;
	struct twin_job jobs[CASE_MAX_JOBS];
	struct engine_link_stats stats[CASE_MAX_LINKS];
	bool has_room; /* A flow ended, or a gated job left. */
	/* As in the engine's options; NULL: none. */
	double (*flow_weight)(void *ctx, uint32_t job, uint64_t iteration,
			      uint32_t segment);
	/* At the end of a job's iteration, the new priority of the next job; or NULL. */
	uint8_t (*priority)(uint32_t job, uint64_t iteration);
};

/* ------ Rates ------ */

static const struct engine_flow *
twin_spec(const struct twin_job *job, uint32_t f)
{
	return &job->spec->segments[job->segment].flows[f];
}

static double
twin_weight(const struct twin_job *job, uint32_t f)
{
	return twin_spec(job, f)->weight * job->factor;
}

static bool
twin_crosses(const struct engine_flow *flow, uint32_t link)
{
	for (uint32_t i = 0; i < flow->n_links; i++)
		if (flow->links[i] == link)
			return true;
	return false;
}

static double
twin_cap(const struct twin *t, const struct engine_flow *flow)
{
	double cap_bps = flow->cap_bps > 0 ? flow->cap_bps : INFINITY;

	for (uint32_t i = 0; i < flow->n_links; i++)
		cap_bps = fmin(cap_bps, t->capacity_bps[flow->links[i]]);
	return cap_bps;
}

#define TWIN_FOREACH_ACTIVE(t, j, f)                                           \
	for (struct twin_job *j = (t)->jobs; j < (t)->jobs + (t)->n_jobs; j++) \
		for (uint32_t f = 0; f < CASE_MAX_FLOWS; f++)                  \
			if (j->flows[f].is_active)

/*
 * The level at which link 'l' fills in a class, given the rates already fixed (>= 0).
 * Less than a billionth of the link left by higher classes is nothing.
 */
static double
twin_link_level(struct twin *t, uint32_t l, uint8_t priority)
{
	double left_bps = t->capacity_bps[l], own_bps = 0, weight = 0;

	TWIN_FOREACH_ACTIVE(t, j, f)
	{
		if (!twin_crosses(twin_spec(j, f), l) || j->priority < priority)
			continue;
		if (j->flows[f].rate_bps < 0)
			weight += twin_weight(j, f);
		else if (j->priority > priority)
			left_bps -= j->flows[f].rate_bps;
		else
			own_bps += j->flows[f].rate_bps;
	}
	if (left_bps < 1e-9 * t->capacity_bps[l])
		left_bps = 0;
	return weight > 0 ? fmax(left_bps - own_bps, 0) / weight : INFINITY;
}

static void
twin_fill_class(struct twin *t, uint8_t priority)
{
	uint32_t n_open = 0;

	TWIN_FOREACH_ACTIVE(t, j, f)
	n_open += j->priority == priority;
	while (n_open) {
		double level = INFINITY;
		uint32_t full = UINT32_MAX;
		struct twin_flow *capped = NULL;

		for (uint32_t l = 0; l < t->n_links; l++) {
			double here = twin_link_level(t, l, priority);

			if (here < level) {
				level = here;
				full = l;
			}
		}
		TWIN_FOREACH_ACTIVE(t, j, f)
		{
			double here = j->flows[f].cap_bps / twin_weight(j, f);

			if (j->priority == priority && j->flows[f].rate_bps < 0 &&
			    here <= level) {
				level = here;
				capped = &j->flows[f];
			}
		}
		TWIN_FOREACH_ACTIVE(t, j, f)
		{
			struct twin_flow *flow = &j->flows[f];

			if (flow->rate_bps >= 0 || j->priority != priority ||
			    (capped ? flow != capped
				    : !twin_crosses(twin_spec(j, f), full)))
				continue;
			flow->rate_bps =
				capped ? flow->cap_bps : level * twin_weight(j, f);
			n_open--;
		}
	}
}

static void
twin_fill(struct twin *t)
{
	TWIN_FOREACH_ACTIVE(t, j, f)
	j->flows[f].rate_bps = -1;
	for (int priority = UINT8_MAX; priority >= 0; priority--)
		twin_fill_class(t, (uint8_t)priority);
}

/* ------ The gate ------ */

/* Sum of the caps of the flows of segment 's' that have work on link 'l'. */
static double
twin_demand(const struct twin *t, const struct twin_job *job, uint32_t s, uint32_t l)
{
	const struct engine_segment *seg = &job->spec->segments[s];
	double sum_bps = 0;

	for (uint32_t f = 0; f < seg->n_flows; f++)
		if (seg->flows[f].bytes > 0 && twin_crosses(&seg->flows[f], l))
			sum_bps += twin_cap(t, &seg->flows[f]);
	return sum_bps;
}

/* The rate that a job past the gate has, or is about to have, on link 'l'. */
static double
twin_sending(const struct twin *t, const struct twin_job *job, uint32_t l)
{
	double sum_bps = 0;

	if (job->is_admitted)
		return twin_demand(t, job, job->segment, l);
	for (uint32_t f = 0; f < CASE_MAX_FLOWS; f++)
		if (job->flows[f].is_active && twin_crosses(twin_spec(job, f), l))
			sum_bps += job->flows[f].cap_bps;
	return sum_bps;
}

/* Whether all present jobs, each in its worst segment, could exceed link 'l'. */
static bool
twin_can_exceed(const struct twin *t, uint32_t l)
{
	double sum_bps = 0;

	for (uint32_t i = 0; i < t->n_jobs; i++) {
		double worst_bps = 0;

		for (uint32_t s = 0;
		     s < t->jobs[i].spec->n_segments && t->jobs[i].state != TWIN_LEFT;
		     s++)
			worst_bps = fmax(worst_bps, twin_demand(t, &t->jobs[i], s, l));
		sum_bps += worst_bps;
	}
	return sum_bps > t->capacity_bps[l] * TWIN_FULL;
}

static bool
twin_is_aged(const struct twin_job *job)
{
	return job->is_gated && job->n_overtaken >= TWIN_AGED;
}

/* Whether aged job 'a' goes before waiting job 'b', which may be aged or not. */
static bool
twin_is_before(const struct twin_job *a, const struct twin_job *b)
{
	if (!twin_is_aged(b))
		return true;
	return a->since_ns != b->since_ns ? a->since_ns < b->since_ns : a < b;
}

static bool
twin_can_go(const struct twin *t, const struct twin_job *job)
{
	for (uint32_t l = 0; l < t->n_links; l++) {
		double own_bps = twin_demand(t, job, job->segment, l), sum_bps = 0;

		if (own_bps == 0)
			continue;
		for (uint32_t i = 0; i < t->n_jobs; i++) {
			const struct twin_job *o = &t->jobs[i];

			if (o == job || o->spec->pacing != ENGINE_PACE_GATE ||
			    o->state != TWIN_RUNS)
				continue;
			sum_bps += twin_sending(t, o, l);
			if (twin_is_aged(o) && twin_is_before(o, job) &&
			    twin_demand(t, o, o->segment, l) > 0 &&
			    twin_can_exceed(t, l))
				return false;
		}
		if (sum_bps > 0 && sum_bps + own_bps > t->capacity_bps[l] * TWIN_FULL)
			return false;
	}
	return true;
}

static void
twin_admit(struct twin *t, struct twin_job *job)
{
	if (job->is_gated)
		job->waited_ns += t->now_ns - job->since_ns;
	job->is_gated = false;
	job->is_admitted = true;
	for (uint32_t i = 0; i < t->n_jobs; i++) {
		struct twin_job *w = &t->jobs[i];
		bool meets = false;

		for (uint32_t l = 0; w->is_gated && l < t->n_links; l++)
			meets |= twin_demand(t, job, job->segment, l) > 0 &&
				 twin_demand(t, w, w->segment, l) > 0 &&
				 twin_can_exceed(t, l);
		w->n_overtaken += meets && job->slot_ns > w->slot_ns;
	}
}

/* Whether any link of this segment could be exceeded. */
static bool
twin_needs_gate(const struct twin *t, const struct twin_job *job)
{
	for (uint32_t l = 0; l < t->n_links; l++)
		if (twin_demand(t, job, job->segment, l) > 0 && twin_can_exceed(t, l))
			return true;
	return false;
}

static void
twin_ask(struct twin *t, struct twin_job *job)
{
	double grid_ns = (double)job->spec->grid_ns, off_ns = 0;

	if (grid_ns > 0) {
		off_ns = job->start_ns - job->base_ns;
		off_ns -= round(off_ns / grid_ns) * grid_ns;
	}
	job->slot_ns = t->now_ns - off_ns;
	if (twin_can_go(t, job)) {
		twin_admit(t, job);
		return;
	}
	job->is_gated = true;
	job->since_ns = t->now_ns;
	job->n_overtaken = 0;
	job->n_corrections++;
}

/* Admits waiting jobs if they fit: first the aged ones by age, then all by slot. */
static void
twin_release(struct twin *t)
{
	bool is_tried[CASE_MAX_JOBS] = { false };

	t->has_room = false;
	for (int aged = 1; aged >= 0; aged--) {
		memset(is_tried, 0, sizeof is_tried);
		for (;;) {
			struct twin_job *best = NULL;

			for (uint32_t i = 0; i < t->n_jobs; i++) {
				struct twin_job *w = &t->jobs[i];

				if (!w->is_gated || is_tried[i] ||
				    (aged && !twin_is_aged(w)))
					continue;
				if (!best || (aged ? w->since_ns < best->since_ns
						   : w->slot_ns < best->slot_ns))
					best = w;
			}
			if (!best)
				break;
			is_tried[best - t->jobs] = true;
			if (twin_can_go(t, best))
				twin_admit(t, best);
		}
	}
}

/* No two jobs past the gate exceed a link together; no job that fits waits. */
static void
twin_check_gate(const struct twin *t)
{
	for (uint32_t l = 0; l < t->n_links; l++) {
		double sum_bps = 0;
		uint32_t n = 0;

		for (uint32_t i = 0; i < t->n_jobs; i++) {
			double own_bps = twin_sending(t, &t->jobs[i], l);

			if (t->jobs[i].spec->pacing != ENGINE_PACE_GATE || own_bps == 0)
				continue;
			sum_bps += own_bps;
			n++;
		}
		if (n > 1)
			assert_true(sum_bps <= t->capacity_bps[l] * (1 + 1e-9));
	}
	for (uint32_t i = 0; i < t->n_jobs; i++) {
		if (!t->jobs[i].is_gated)
			continue;
		assert_false(twin_can_go(t, &t->jobs[i]));
		assert_true(t->jobs[i].n_overtaken < TWIN_AGED + t->n_jobs);
	}
}

/* ------ Jobs ------ */

static void
twin_begin_segment(struct twin *t, struct twin_job *job, uint32_t s)
{
	const struct engine_segment *seg = &job->spec->segments[s];
	double compute_ns = (double)seg->compute_ns;
	double offset_ns = (double)seg->flows_offset_ns;

	if (job->spec->jitter_frac > 0 && seg->compute_ns > 0) {
		double factor = 1 + job->spec->jitter_frac * rng_normal(&job->rng);

		factor = fmax(factor, 0);
		if (offset_ns <= compute_ns)
			offset_ns *= factor;
		else
			offset_ns += compute_ns * (factor - 1);
		compute_ns *= factor;
	}
	job->state = TWIN_RUNS;
	job->segment = s;
	job->is_sent = false;
	job->compute_end_ns = t->now_ns + compute_ns;
	job->send_ns = seg->n_flows ? t->now_ns + offset_ns : t->now_ns;
}

static void
twin_send(struct twin *t, struct twin_job *job)
{
	const struct engine_segment *seg = &job->spec->segments[job->segment];

	job->is_sent = true;
	job->is_admitted = false;
	job->factor = 1;
	if (t->flow_weight && seg->n_flows)
		job->factor = t->flow_weight(NULL, (uint32_t)(job - t->jobs),
					     job->n_iterations, job->segment);
	for (uint32_t f = 0; f < seg->n_flows; f++) {
		struct twin_flow *flow = &job->flows[f];

		flow->left_bits = seg->flows[f].bytes * 8;
		flow->cap_bps = twin_cap(t, &seg->flows[f]);
		flow->is_active = flow->left_bits > 0 && flow->cap_bps < INFINITY;
		flow->rate_bps = flow->cap_bps; /* Until rates are computed. */
	}
}

static void
twin_leave(struct twin *t, struct twin_job *job)
{
	for (uint32_t f = 0; f < CASE_MAX_FLOWS; f++)
		job->flows[f].is_active = false;
	if (job->is_gated)
		job->waited_ns += t->now_ns - job->since_ns;
	job->is_gated = job->is_admitted = false;
	job->state = TWIN_LEFT;
	job->end_ns = t->now_ns;
	t->has_room = true;
}

static void
twin_end_segment(struct twin *t, struct twin_job *job)
{
	const struct engine_job *spec = job->spec;
	double late_ns, grid_ns = (double)spec->grid_ns;
	double frac = spec->deadband_frac > 0 ? spec->deadband_frac : 0.05;

	if (job->segment + 1 < spec->n_segments) {
		twin_begin_segment(t, job, job->segment + 1);
		return;
	}
	vec_push(&job->ends_ns, t->now_ns);
	job->n_iterations++;
	if (t->priority) {
		uint32_t id = (uint32_t)(job - t->jobs);

		t->jobs[(id + 1) % t->n_jobs].priority =
			t->priority(id, job->n_iterations - 1);
	}
	if (spec->max_iterations && job->n_iterations == spec->max_iterations) {
		twin_leave(t, job);
		return;
	}
	job->state = TWIN_WAITS;
	job->start_ns = t->now_ns;
	if (spec->pacing != ENGINE_PACE_REALIGN || !(grid_ns > 0))
		return;
	late_ns = fmod(t->now_ns - job->base_ns, grid_ns);
	if (late_ns <= frac * grid_ns || grid_ns - late_ns <= frac * grid_ns)
		return;
	job->n_corrections++;
	job->waited_ns += grid_ns - late_ns;
	job->start_ns += grid_ns - late_ns;
}

/* Ends flows that are due; returns whether any flow is left. */
static bool
twin_reap(struct twin *t, struct twin_job *job)
{
	bool is_left = false;

	for (uint32_t f = 0; f < CASE_MAX_FLOWS; f++) {
		struct twin_flow *flow = &job->flows[f];

		if (!flow->is_active)
			continue;
		if (flow->left_bits * 1e9 > flow->rate_bps * TWIN_BATCH_NS) {
			is_left = true;
			continue;
		}
		flow->is_active = false;
		t->has_room |= job->spec->pacing == ENGINE_PACE_GATE;
	}
	return is_left;
}

/* Does one thing that is due; returns whether there was one. */
static bool
twin_step(struct twin *t, struct twin_job *job)
{
	double limit_ns = t->now_ns + TWIN_BATCH_NS;

	if (job->state == TWIN_LEFT)
		return false;
	if (job->spec->stop_ns != ENGINE_NEVER &&
	    (double)job->spec->stop_ns <= limit_ns) {
		twin_leave(t, job);
		return true;
	}
	if (job->state == TWIN_WAITS) {
		if (job->start_ns > limit_ns)
			return false;
		job->start_ns = t->now_ns;
		twin_begin_segment(t, job, 0);
		return true;
	}
	if (job->is_gated)
		return false;
	if (!job->is_sent) {
		if (job->send_ns > limit_ns)
			return false;
		if (job->spec->pacing == ENGINE_PACE_GATE && !job->is_admitted &&
		    twin_needs_gate(t, job)) {
			twin_ask(t, job);
			if (job->is_gated)
				return false;
		}
		twin_send(t, job);
		return true;
	}
	if (twin_reap(t, job) || job->compute_end_ns > limit_ns)
		return false;
	twin_end_segment(t, job);
	return true;
}

/* ------ Time ------ */

static double
twin_next_ns(const struct twin *t)
{
	double next_ns = INFINITY;

	for (uint32_t i = 0; i < t->n_jobs; i++) {
		const struct twin_job *job = &t->jobs[i];

		if (job->state == TWIN_LEFT)
			continue;
		if (job->spec->stop_ns != ENGINE_NEVER)
			next_ns = fmin(next_ns, (double)job->spec->stop_ns);
		if (job->state == TWIN_WAITS)
			next_ns = fmin(next_ns, job->start_ns);
		if (job->state != TWIN_RUNS)
			continue;
		if (!job->is_sent && !job->is_gated)
			next_ns = fmin(next_ns, job->send_ns);
		if (job->is_sent && job->compute_end_ns > t->now_ns + TWIN_BATCH_NS)
			next_ns = fmin(next_ns, job->compute_end_ns);
		for (uint32_t f = 0; f < CASE_MAX_FLOWS; f++)
			if (job->flows[f].is_active)
				next_ns = fmin(next_ns,
					       t->now_ns +
						       job->flows[f].left_bits * 1e9 /
							       job->flows[f].rate_bps);
	}
	return next_ns;
}

static void
twin_note_link(struct twin *t, uint32_t l, double passed_ns)
{
	double rate_bps = 0, caps_bps = 0;
	uint32_t n_jobs = 0;

	for (uint32_t i = 0; i < t->n_jobs; i++) {
		bool is_here = false;

		for (uint32_t f = 0; f < CASE_MAX_FLOWS; f++) {
			const struct twin_flow *flow = &t->jobs[i].flows[f];

			if (!flow->is_active ||
			    !twin_crosses(twin_spec(&t->jobs[i], f), l))
				continue;
			is_here = true;
			rate_bps += flow->rate_bps;
			caps_bps += flow->cap_bps;
		}
		n_jobs += is_here;
	}
	t->stats[l].bytes += rate_bps * passed_ns / 8e9;
	t->stats[l].busy_ns += n_jobs ? passed_ns : 0;
	t->stats[l].over_ns +=
		caps_bps > t->capacity_bps[l] * TWIN_FULL ? passed_ns : 0;
	t->stats[l].job_ns += n_jobs * passed_ns;
	if (n_jobs > t->stats[l].max_jobs && passed_ns > 0)
		t->stats[l].max_jobs = n_jobs;
	if (rate_bps > t->stats[l].peak_bps)
		t->stats[l].peak_bps = rate_bps;
}

static void
twin_pass(struct twin *t, double to_ns)
{
	for (uint32_t l = 0; l < t->n_links; l++)
		twin_note_link(t, l, to_ns - t->now_ns);
	TWIN_FOREACH_ACTIVE(t, j, f)
	j->flows[f].left_bits -= j->flows[f].rate_bps * (to_ns - t->now_ns) / 1e9;
	t->now_ns = to_ns;
}

static void
twin_init(struct twin *t, const double *capacity_bps, uint32_t n_links)
{
	memset(t, 0, sizeof *t);
	memcpy(t->capacity_bps, capacity_bps, n_links * sizeof *capacity_bps);
	t->n_links = n_links;
}

/* Borrows 'spec' until twin_fini(). */
static void
twin_add(struct twin *t, const struct engine_job *spec, uint64_t seed)
{
	struct twin_job *job = &t->jobs[t->n_jobs];

	job->spec = spec;
	job->priority = spec->priority;
	job->base_ns = (double)spec->arrival_ns + (double)spec->shift_ns;
	job->start_ns = job->base_ns;
	job->end_ns = -1;
	rng_init_stream(&job->rng, seed, t->n_jobs);
	t->n_jobs++;
}

static void
twin_run(struct twin *t, double until_ns)
{
	for (;;) {
		double next_ns;
		bool is_done;

		twin_fill(t);
		twin_check_gate(t);
		next_ns = twin_next_ns(t);
		if (next_ns == INFINITY)
			return; /* Without jobs, time does not advance. */
		if (next_ns > until_ns) {
			twin_pass(t, until_ns);
			return;
		}
		twin_pass(t, fmax(next_ns, t->now_ns));
		do {
			is_done = false;
			for (uint32_t i = 0; i < t->n_jobs; i++)
				while (twin_step(t, &t->jobs[i]))
					is_done = true;
			if (t->has_room) {
				twin_release(t);
				is_done = true;
			}
		} while (is_done);
	}
}

static void
twin_fini(struct twin *t)
{
	for (uint32_t i = 0; i < t->n_jobs; i++)
		vec_free(&t->jobs[i].ends_ns);
}

#endif
