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
 *
 * Segments of a job that overlap pass the gate each on its own, with a slot each, and
 * never wait for flows of their own job; the places of their job on a link are counted
 * apart for that, in its graph.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/engine_internal.h"
#include "lib/base/alloc.h"

/* A compromise between fairness and throughput, chosen by hand. */
#define MAX_OVERTAKEN 4

static void list_links(struct engine *e, struct run *run);
static bool can_go(const struct gate *gate, const struct fluid *fl, struct run *run);
static void admit(struct engine *e, struct run *run);
static void reserve(struct gate *gate, const struct run *run);
static bool is_older(const struct run *a, const struct run *b);

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

/* The order of runs where the time decides nothing. */
static bool
is_first(const struct run *a, const struct run *b)
{
	return a->job->id < b->job->id || (a->job == b->job && a->segment < b->segment);
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
gate_ask(struct engine *e, struct run *run)
{
	struct gate *gate = &e->gate;
	size_t i;

	run->gate_slot_ns = slot_ns(e, run->job);
	gate->stamp++;
	for (i = 0; i < gate->aged.n; i++)
		reserve(gate, gate->aged.items[i]);
	list_links(e, run);
	if (can_go(gate, &e->fluid, run)) {
		admit(e, run);
		return true;
	}
	run->is_gated = true;
	run->gate_since_ns = e->now_ns;
	run->n_overtaken = 0;
	run->job->n_corrections++;

	vec_push(&gate->waiters, run);
	for (i = gate->waiters.n - 1; i > 0; i--) {
		struct run *before = gate->waiters.items[i - 1];

		if (before->gate_slot_ns < run->gate_slot_ns ||
		    (before->gate_slot_ns == run->gate_slot_ns &&
		     is_first(before, run)))
			break;
		gate->waiters.items[i] = before;
	}
	gate->waiters.items[i] = run;
	return false;
}

void
gate_flow_start(struct engine *e, uint32_t flow)
{
	const struct fluid_spec *spec = &e->fluid.specs[flow];
	struct graph *graph = e->jobs.items[e->fluid.flows[flow].owner]->graph;

	for (uint32_t i = 0; i < spec->n_links; i++) {
		uint32_t l = e->fluid.paths.items[spec->first_link + i];

		e->gate.sending_bps[l] += spec->cap_bps;
		e->gate.n_sending[l]++;
		if (!graph)
			continue;
		graph->sending_bps[l] += spec->cap_bps;
		graph->n_sending[l]++;
	}
}

void
gate_flow_end(struct engine *e, uint32_t flow)
{
	const struct fluid_spec *spec = &e->fluid.specs[flow];
	struct graph *graph = e->jobs.items[e->fluid.flows[flow].owner]->graph;

	for (uint32_t i = 0; i < spec->n_links; i++) {
		uint32_t l = e->fluid.paths.items[spec->first_link + i];

		e->gate.sending_bps[l] =
			--e->gate.n_sending[l] ? e->gate.sending_bps[l] - spec->cap_bps
					       : 0;
		if (!graph)
			continue;
		graph->sending_bps[l] = --graph->n_sending[l]
						? graph->sending_bps[l] - spec->cap_bps
						: 0;
	}
	e->gate.is_changed = true;
}

static void
remove_run(struct run **runs, size_t *n, const struct run *run)
{
	for (size_t i = 0; i < *n; i++) {
		if (runs[i] != run)
			continue;
		memmove(&runs[i], &runs[i + 1], (*n - i - 1) * sizeof(struct run *));
		--*n;
		break;
	}
}

static void
unlist(struct engine *e, struct run *run)
{
	struct gate *gate = &e->gate;

	remove_run(gate->waiters.items, &gate->waiters.n, run);
	if (run->n_overtaken >= MAX_OVERTAKEN)
		remove_run(gate->aged.items, &gate->aged.n, run);
	run->is_gated = false;
	run->job->waited_ns += e->now_ns - run->gate_since_ns;
}

/* Lets a waiting job send. */
static void
release(struct engine *e, struct run *w)
{
	unlist(e, w);
	admit(e, w);
	if (w->job->graph)
		w->job->graph->due_ns[w->segment] = e->now_ns;
	event_queue_set(&e->queue, w->job->id, e->now_ns);
}

void
gate_release(struct engine *e)
{
	struct gate *gate = &e->gate;
	size_t i = 0;

	gate->is_changed = false;
	gate->stamp++;
	while (i < gate->aged.n) {
		struct run *w = gate->aged.items[i];

		if (!can_go(gate, &e->fluid, w)) {
			reserve(gate, w);
			i++;
			continue;
		}
		release(e, w);
		/* It may have made others old; the older ones reserve next time. */
		while (i < gate->aged.n && is_older(gate->aged.items[i], w))
			i++;
	}
	i = 0;
	while (i < gate->waiters.n) {
		struct run *w = gate->waiters.items[i];

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
		list_links(e, gate->waiters.items[i]);
	if (gate->waiters.n)
		gate_release(e);
}

/* ------ A job's links ------ */

/* Each flow that the gate controls: not private, with bytes to send. */
#define FOREACH_GATED_FLOW(e, run, f)                        \
	for (uint32_t f = run_segment(run)->first_flow,      \
		      end__ = f + run_segment(run)->n_flows; \
	     f < end__; f++)                                 \
		if (!fluid_is_private(&(e)->fluid, f) && (e)->fluid.specs[f].work > 0)

#define FOREACH_PATH_LINK(e, f, l)                                                \
	for (const uint32_t *                                                     \
		     l = (e)->fluid.paths.items + (e)->fluid.specs[f].first_link, \
		    *last__ = l + (e)->fluid.specs[f].n_links;                    \
	     l < last__; l++)

void
gate_leave(struct engine *e, struct run *run)
{
	if (run->is_gated)
		unlist(e, run);
	if (run->is_admitted)
		FOREACH_GATED_FLOW(e, run, f)
			gate_flow_end(e, f);
	run->is_admitted = false;
	e->gate.is_changed = true; /* A reservation may be gone. */
}

static void
list_links(struct engine *e, struct run *run)
{
	double *own_bps = e->gate.own_bps;

	run->gate_links.n = 0;
	run->gate_blocked = 0;
	FOREACH_GATED_FLOW(e, run, f) {
		FOREACH_PATH_LINK(e, f, l) {
			if (!e->fluid.links[*l].can_exceed)
				continue;
			if (own_bps[*l] == 0)
				vec_push(&run->gate_links,
					 ((struct gate_link){ *l, 0 }));
			own_bps[*l] += e->fluid.specs[f].cap_bps;
		}
	}
	for (size_t i = 0; i < run->gate_links.n; i++) {
		struct gate_link *own = &run->gate_links.items[i];

		own->bps = own_bps[own->link];
		own_bps[own->link] = 0;
	}
}

static bool
is_blocked(const struct gate *gate, const struct fluid *fl, const struct graph *graph,
	   const struct gate_link *own)
{
	uint32_t l = own->link, n_others = gate->n_sending[l];
	double others_bps = gate->sending_bps[l];

	if (graph) {
		n_others -= graph->n_sending[l];
		others_bps -= graph->sending_bps[l];
	}
	return gate->reserved[l] == gate->stamp ||
	       (n_others && others_bps + own->bps >
				    fl->links[l].capacity_bps * (1 + FLUID_REL_TOL));
}

static bool
can_go(const struct gate *gate, const struct fluid *fl, struct run *run)
{
	const struct gate_link *links = run->gate_links.items;
	const struct graph *graph = run->job->graph;
	size_t n = run->gate_links.n, last = run->gate_blocked;

	if (last < n && is_blocked(gate, fl, graph, &links[last]))
		return false;
	for (size_t i = 0; i < n; i++)
		if (is_blocked(gate, fl, graph, &links[i])) {
			run->gate_blocked = i;
			return false;
		}
	return true;
}

/* True if the job has a link that is marked in 'own_bps'. */
static bool
has_marked_link(const struct gate *gate, const struct run *run)
{
	for (size_t i = 0; i < run->gate_links.n; i++)
		if (gate->own_bps[run->gate_links.items[i].link] > 0)
			return true;
	return false;
}

static bool
is_older(const struct run *a, const struct run *b)
{
	return a->gate_since_ns < b->gate_since_ns ||
	       (a->gate_since_ns == b->gate_since_ns && is_first(a, b));
}

/* Puts a waiting job in its place among those that have aged. */
static void
age(struct gate *gate, struct run *run)
{
	size_t i;

	vec_push(&gate->aged, run);
	for (i = gate->aged.n - 1; i > 0; i--) {
		if (is_older(gate->aged.items[i - 1], run))
			break;
		gate->aged.items[i] = gate->aged.items[i - 1];
	}
	gate->aged.items[i] = run;
}

static void
admit(struct engine *e, struct run *run)
{
	struct gate *gate = &e->gate;

	run->is_admitted = true;
	FOREACH_GATED_FLOW(e, run, f)
		gate_flow_start(e, f);
	for (size_t i = 0; i < run->gate_links.n; i++)
		gate->own_bps[run->gate_links.items[i].link] = 1;
	for (size_t i = 0; i < gate->waiters.n; i++) {
		struct run *w = gate->waiters.items[i];

		if (run->gate_slot_ns > w->gate_slot_ns && w->job != run->job &&
		    has_marked_link(gate, w) && ++w->n_overtaken == MAX_OVERTAKEN)
			age(gate, w);
	}
	for (size_t i = 0; i < run->gate_links.n; i++)
		gate->own_bps[run->gate_links.items[i].link] = 0;
}

static void
reserve(struct gate *gate, const struct run *run)
{
	for (size_t i = 0; i < run->gate_links.n; i++)
		gate->reserved[run->gate_links.items[i].link] = gate->stamp;
}
