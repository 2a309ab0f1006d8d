/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.c - the send gate: work-conserving slots on links that could be exceeded.
 *
 * A gated job that is about to send waits only while another gated job sends over a
 * link of its path and the two together could exceed that link.  It requests all of its
 * links at once and holds none while it waits, so there is no deadlock.  A slot is the
 * time at which the job's plan wanted to send: its grid, or without one the time at
 * which it asked.  Waiting jobs go in the order of their slots, each as soon as it can,
 * so no link is kept idle for a job that waits for another link.
 *
 * The exception is aging: a job that was overtaken MAX_OVERTAKEN times by jobs with
 * later slots on its links reserves its links.  No other job starts on them, so it goes
 * when the present senders have ended; of two such jobs, the one that has waited longer
 * comes first.
 *
 * A job that asks in the batch in which a link becomes free comes before waiting jobs:
 * so a job whose segments follow each other without computing keeps its links from one
 * to the next, until a waiting job has aged.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/engine_internal.h"
#include "lib/base/alloc.h"

/* A compromise between fairness and throughput, chosen by hand. */
#define MAX_OVERTAKEN 4

static bool can_go(struct engine *e, const struct job *job);
static void admit(struct engine *e, struct job *job);
static void reserve(struct engine *e, const struct job *job);
static struct job *oldest_aged(struct engine *e, const struct job *after);

void
gate_init(struct gate *gate, uint32_t n_links)
{
	size_t n = n_links ? n_links : 1;

	*gate = (struct gate){ 0 };
	gate->sending_bps = xcalloc(n, sizeof *gate->sending_bps);
	gate->n_sending = xcalloc(n, sizeof *gate->n_sending);
	gate->reserved = xcalloc(n, sizeof *gate->reserved);
	gate->own_bps = xcalloc(n, sizeof *gate->own_bps);
}

void
gate_fini(struct gate *gate)
{
	free(gate->sending_bps);
	free(gate->n_sending);
	free(gate->reserved);
	free(gate->own_bps);
	vec_free(&gate->waiters);
}

/* The time at which the plan wanted this segment to send. */
static double
slot_ns(const struct engine *e, const struct job *job)
{
	double off_ns;

	if (job->grid_ns <= 0)
		return e->now_ns;
	off_ns = job->start_ns - job->base_ns;
	off_ns -= round(off_ns / job->grid_ns) * job->grid_ns;
	return e->now_ns - off_ns;
}

bool
gate_ask(struct engine *e, struct job *job)
{
	struct gate *gate = &e->gate;
	size_t i;

	job->gate_slot_ns = slot_ns(e, job);
	gate->stamp++;
	for (struct job *w = NULL; (w = oldest_aged(e, w));)
		reserve(e, w);
	if (can_go(e, job)) {
		admit(e, job);
		return true;
	}
	job->is_gated = true;
	job->gate_since_ns = e->now_ns;
	job->n_overtaken = 0;
	job->n_corrections++;

	vec_push(&gate->waiters, job->id);
	for (i = gate->waiters.n - 1; i > 0; i--) {
		const struct job *before = e->jobs.items[gate->waiters.items[i - 1]];

		if (before->gate_slot_ns < job->gate_slot_ns ||
		    (before->gate_slot_ns == job->gate_slot_ns && before->id < job->id))
			break;
		gate->waiters.items[i] = before->id;
	}
	gate->waiters.items[i] = job->id;
	return false;
}

void
gate_flow_start(struct engine *e, uint32_t flow)
{
	const struct fluid_spec *spec = &e->fluid.specs[flow];

	for (uint32_t i = 0; i < spec->n_links; i++) {
		uint32_t l = e->fluid.paths.items[spec->first_link + i];

		e->gate.sending_bps[l] += spec->cap_bps;
		e->gate.n_sending[l]++;
	}
}

void
gate_flow_end(struct engine *e, uint32_t flow)
{
	const struct fluid_spec *spec = &e->fluid.specs[flow];

	for (uint32_t i = 0; i < spec->n_links; i++) {
		uint32_t l = e->fluid.paths.items[spec->first_link + i];

		e->gate.sending_bps[l] =
			--e->gate.n_sending[l] ? e->gate.sending_bps[l] - spec->cap_bps
					       : 0;
	}
	e->gate.is_changed = true;
}

static void
unlist(struct engine *e, struct job *job)
{
	struct gate *gate = &e->gate;

	for (size_t i = 0; i < gate->waiters.n; i++) {
		if (gate->waiters.items[i] != job->id)
			continue;
		memmove(&gate->waiters.items[i], &gate->waiters.items[i + 1],
			(gate->waiters.n - i - 1) * sizeof *gate->waiters.items);
		gate->waiters.n--;
		break;
	}
	job->is_gated = false;
	job->waited_ns += e->now_ns - job->gate_since_ns;
}

void
gate_release(struct engine *e)
{
	struct gate *gate = &e->gate;
	size_t i = 0;

	gate->is_changed = false;
	gate->stamp++;
	for (struct job *w = NULL; (w = oldest_aged(e, w));) {
		if (!can_go(e, w)) {
			reserve(e, w);
			continue;
		}
		unlist(e, w);
		admit(e, w);
		event_queue_set(&e->queue, w->id, e->now_ns);
	}
	while (i < gate->waiters.n) {
		struct job *w = e->jobs.items[gate->waiters.items[i]];

		if (!can_go(e, w)) {
			i++;
			continue;
		}
		unlist(e, w);
		admit(e, w);
		event_queue_set(&e->queue, w->id, e->now_ns);
	}
}

/* ------ A job's links ------ */

/* Each flow that the gate controls: not private, with bytes to send. */
#define FOREACH_GATED_FLOW(e, job, f)                                      \
	for (uint32_t f = (job)->segments[(job)->segment].first_flow,      \
		      end__ = f + (job)->segments[(job)->segment].n_flows; \
	     f < end__; f++)                                               \
		if (!fluid_is_private(&(e)->fluid, f) && (e)->fluid.specs[f].work > 0)

#define FOREACH_PATH_LINK(e, f, l)                                                \
	for (const uint32_t *                                                     \
		     l = (e)->fluid.paths.items + (e)->fluid.specs[f].first_link, \
		    *last__ = l + (e)->fluid.specs[f].n_links;                    \
	     l < last__; l++)

void
gate_leave(struct engine *e, struct job *job)
{
	if (job->is_gated)
		unlist(e, job);
	if (job->is_admitted)
		FOREACH_GATED_FLOW(e, job, f)
			gate_flow_end(e, f);
	job->is_admitted = false;
	e->gate.is_changed = true; /* A reservation may be gone. */
}

static bool
can_go(struct engine *e, const struct job *job)
{
	struct gate *gate = &e->gate;
	bool can = true;

	FOREACH_GATED_FLOW(e, job, f)
		FOREACH_PATH_LINK(e, f, l)
			gate->own_bps[*l] += e->fluid.specs[f].cap_bps;
	FOREACH_GATED_FLOW(e, job, f) {
		FOREACH_PATH_LINK(e, f, l) {
			const struct fluid_link *link = &e->fluid.links[*l];

			if (gate->own_bps[*l] == 0 || !link->can_exceed)
				continue;
			if (gate->reserved[*l] == gate->stamp)
				can = false;
			if (gate->n_sending[*l] &&
			    gate->sending_bps[*l] + gate->own_bps[*l] >
				    link->capacity_bps * (1 + FLUID_REL_TOL))
				can = false;
			gate->own_bps[*l] = 0;
		}
	}
	FOREACH_GATED_FLOW(e, job, f)
		FOREACH_PATH_LINK(e, f, l)
			gate->own_bps[*l] = 0;
	return can;
}

/* True if the two jobs share a link that could be exceeded. */
static bool
share_link(struct engine *e, const struct job *a, const struct job *b)
{
	struct gate *gate = &e->gate;
	bool share = false;

	FOREACH_GATED_FLOW(e, a, f)
		FOREACH_PATH_LINK(e, f, l)
			gate->own_bps[*l] = 1;
	FOREACH_GATED_FLOW(e, b, f)
		FOREACH_PATH_LINK(e, f, l)
			share |= gate->own_bps[*l] > 0 && e->fluid.links[*l].can_exceed;
	FOREACH_GATED_FLOW(e, a, f)
		FOREACH_PATH_LINK(e, f, l)
			gate->own_bps[*l] = 0;
	return share;
}

static void
admit(struct engine *e, struct job *job)
{
	job->is_admitted = true;
	FOREACH_GATED_FLOW(e, job, f)
		gate_flow_start(e, f);
	for (size_t i = 0; i < e->gate.waiters.n; i++) {
		struct job *w = e->jobs.items[e->gate.waiters.items[i]];

		w->n_overtaken +=
			job->gate_slot_ns > w->gate_slot_ns && share_link(e, job, w);
	}
}

static void
reserve(struct engine *e, const struct job *job)
{
	FOREACH_GATED_FLOW(e, job, f)
		FOREACH_PATH_LINK(e, f, l)
			e->gate.reserved[*l] = e->gate.stamp;
}

/* The aged waiter that comes next after 'after' (NULL: the first), or NULL. */
static struct job *
oldest_aged(struct engine *e, const struct job *after)
{
	struct job *best = NULL;

	for (size_t i = 0; i < e->gate.waiters.n; i++) {
		struct job *w = e->jobs.items[e->gate.waiters.items[i]];

		if (w->n_overtaken < MAX_OVERTAKEN)
			continue;
		if (after &&
		    (w->gate_since_ns < after->gate_since_ns ||
		     (w->gate_since_ns == after->gate_since_ns && w->id <= after->id)))
			continue;
		if (!best || w->gate_since_ns < best->gate_since_ns ||
		    (w->gate_since_ns == best->gate_since_ns && w->id < best->id))
			best = w;
	}
	return best;
}
