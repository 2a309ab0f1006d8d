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
 * Most waiting jobs wait on while other jobs come and go.  So a job's links are listed
 * when it asks, and a waiting job is first checked on the link that blocked it last.
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

static void list_links(struct engine *e, struct job *job);
static bool can_go(const struct gate *gate, const struct fluid *fl, struct job *job);
static void admit(struct engine *e, struct job *job);
static void reserve(struct gate *gate, const struct job *job);
static bool is_older(const struct job *a, const struct job *b);

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
	vec_free(&gate->aged);
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
	for (i = 0; i < gate->aged.n; i++)
		reserve(gate, e->jobs.items[gate->aged.items[i]]);
	list_links(e, job);
	if (can_go(gate, &e->fluid, job)) {
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
remove_id(uint32_t *ids, size_t *n, uint32_t id)
{
	for (size_t i = 0; i < *n; i++) {
		if (ids[i] != id)
			continue;
		memmove(&ids[i], &ids[i + 1], (*n - i - 1) * sizeof *ids);
		--*n;
		break;
	}
}

static void
unlist(struct engine *e, struct job *job)
{
	struct gate *gate = &e->gate;

	remove_id(gate->waiters.items, &gate->waiters.n, job->id);
	if (job->n_overtaken >= MAX_OVERTAKEN)
		remove_id(gate->aged.items, &gate->aged.n, job->id);
	job->is_gated = false;
	job->waited_ns += e->now_ns - job->gate_since_ns;
}

/* Lets a waiting job send. */
static void
release(struct engine *e, struct job *w)
{
	unlist(e, w);
	admit(e, w);
	event_queue_set(&e->queue, w->id, e->now_ns);
}

void
gate_release(struct engine *e)
{
	struct gate *gate = &e->gate;
	size_t i = 0;

	gate->is_changed = false;
	gate->stamp++;
	while (i < gate->aged.n) {
		struct job *w = e->jobs.items[gate->aged.items[i]];

		if (!can_go(gate, &e->fluid, w)) {
			reserve(gate, w);
			i++;
			continue;
		}
		release(e, w);
		/* It may have made others old; the older ones reserve next time. */
		while (i < gate->aged.n &&
		       is_older(e->jobs.items[gate->aged.items[i]], w))
			i++;
	}
	i = 0;
	while (i < gate->waiters.n) {
		struct job *w = e->jobs.items[gate->waiters.items[i]];

		if (can_go(gate, &e->fluid, w))
			release(e, w);
		else
			i++;
	}
}

void
gate_rebuild(struct engine *e)
{
	struct gate *gate = &e->gate;

	for (size_t i = 0; i < gate->waiters.n; i++)
		list_links(e, e->jobs.items[gate->waiters.items[i]]);
	if (gate->waiters.n)
		gate_release(e);
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

static void
list_links(struct engine *e, struct job *job)
{
	double *own_bps = e->gate.own_bps;

	job->gate_links.n = 0;
	job->gate_blocked = 0;
	FOREACH_GATED_FLOW(e, job, f) {
		FOREACH_PATH_LINK(e, f, l) {
			if (!e->fluid.links[*l].can_exceed)
				continue;
			if (own_bps[*l] == 0)
				vec_push(&job->gate_links,
					 ((struct gate_link){ *l, 0 }));
			own_bps[*l] += e->fluid.specs[f].cap_bps;
		}
	}
	for (size_t i = 0; i < job->gate_links.n; i++) {
		struct gate_link *own = &job->gate_links.items[i];

		own->bps = own_bps[own->link];
		own_bps[own->link] = 0;
	}
}

static bool
is_blocked(const struct gate *gate, const struct fluid *fl, const struct gate_link *own)
{
	uint32_t l = own->link;

	return gate->reserved[l] == gate->stamp ||
	       (gate->n_sending[l] &&
		gate->sending_bps[l] + own->bps >
			fl->links[l].capacity_bps * (1 + FLUID_REL_TOL));
}

static bool
can_go(const struct gate *gate, const struct fluid *fl, struct job *job)
{
	const struct gate_link *links = job->gate_links.items;
	size_t n = job->gate_links.n;

	if (job->gate_blocked < n && is_blocked(gate, fl, &links[job->gate_blocked]))
		return false;
	for (size_t i = 0; i < n; i++)
		if (is_blocked(gate, fl, &links[i])) {
			job->gate_blocked = i;
			return false;
		}
	return true;
}

/* True if the job has a link that is marked in 'own_bps'. */
static bool
has_marked_link(const struct gate *gate, const struct job *job)
{
	for (size_t i = 0; i < job->gate_links.n; i++)
		if (gate->own_bps[job->gate_links.items[i].link] > 0)
			return true;
	return false;
}

static bool
is_older(const struct job *a, const struct job *b)
{
	return a->gate_since_ns < b->gate_since_ns ||
	       (a->gate_since_ns == b->gate_since_ns && a->id < b->id);
}

/* Puts a waiting job in its place among those that have aged. */
static void
age(struct engine *e, const struct job *job)
{
	struct gate *gate = &e->gate;
	size_t i;

	vec_push(&gate->aged, job->id);
	for (i = gate->aged.n - 1; i > 0; i--) {
		const struct job *before = e->jobs.items[gate->aged.items[i - 1]];

		if (is_older(before, job))
			break;
		gate->aged.items[i] = before->id;
	}
	gate->aged.items[i] = job->id;
}

static void
admit(struct engine *e, struct job *job)
{
	struct gate *gate = &e->gate;

	job->is_admitted = true;
	FOREACH_GATED_FLOW(e, job, f)
		gate_flow_start(e, f);
	for (size_t i = 0; i < job->gate_links.n; i++)
		gate->own_bps[job->gate_links.items[i].link] = 1;
	for (size_t i = 0; i < gate->waiters.n; i++) {
		struct job *w = e->jobs.items[gate->waiters.items[i]];

		if (job->gate_slot_ns > w->gate_slot_ns && has_marked_link(gate, w) &&
		    ++w->n_overtaken == MAX_OVERTAKEN)
			age(e, w);
	}
	for (size_t i = 0; i < job->gate_links.n; i++)
		gate->own_bps[job->gate_links.items[i].link] = 0;
}

static void
reserve(struct gate *gate, const struct job *job)
{
	for (size_t i = 0; i < job->gate_links.n; i++)
		gate->reserved[job->gate_links.items[i].link] = gate->stamp;
}
