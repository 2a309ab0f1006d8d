/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.c - segments of an iteration that overlap.
 *
 * Each segment has its own run.  A segment starts when the last of those that it waits
 * for has ended, in the same batch; the iteration ends with its last segment.  A
 * segment waits for earlier ones only, so there are no cycles.
 *
 * Cost of an event of the job: O(its running segments), and what the due ones among
 * them cost.
 */
#include <stdlib.h>

#include "engine/engine_internal.h"
#include "lib/base/alloc.h"

/* ------ What waits for what ------ */

/* The number of segments that 'i' waits for, and their list; it may be '*ret_before'. */
static uint32_t
list_after(const struct engine_job *spec, uint32_t i, uint32_t *ret_before,
	   const uint32_t **ret_after)
{
	const struct engine_segment *seg = &spec->segments[i];

	*ret_before = i - 1;
	*ret_after = seg->n_after ? seg->after : ret_before;
	if (seg->n_after)
		return seg->n_after;
	return i > 0 && !seg->from_start;
}

bool
graph_is_needed(const struct engine_job *spec)
{
	for (uint32_t i = 1; i < spec->n_segments; i++) {
		const uint32_t *after;
		uint32_t before;

		if (list_after(spec, i, &before, &after) != 1 || after[0] != i - 1)
			return true;
	}
	return false;
}

bool
graph_is_sound(const struct engine_job *spec)
{
	for (uint32_t i = 0; i < spec->n_segments; i++) {
		const struct engine_segment *seg = &spec->segments[i];

		if (seg->n_after && (!seg->after || seg->from_start))
			return false;
		for (uint32_t k = 0; k < seg->n_after; k++)
			if (seg->after[k] >= i)
				return false;
	}
	return true;
}

/* Lists for each segment the ones that wait for it. */
static void
link_segments(struct graph *g, const struct engine_job *spec)
{
	uint32_t n = spec->n_segments, before;
	const uint32_t *after;
	size_t sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		g->n_after[i] = list_after(spec, i, &before, &after);
		for (uint32_t k = 0; k < g->n_after[i]; k++)
			g->first_next[after[k]]++;
		sum += g->n_after[i];
	}
	/* The ends of the lists; filling them from behind moves these to the starts. */
	for (uint32_t i = 1; i <= n; i++)
		g->first_next[i] += g->first_next[i - 1];
	g->next = xcalloc(sum + 1, sizeof *g->next);
	for (uint32_t i = n; i-- > 0;) {
		list_after(spec, i, &before, &after);
		for (uint32_t k = g->n_after[i]; k-- > 0;)
			g->next[--g->first_next[after[k]]] = i;
	}
}

struct graph *
graph_new(const struct engine *e, struct job *job, const struct engine_job *spec)
{
	struct graph *g = xcalloc(1, sizeof *g);
	uint32_t n = job->n_segments;
	const struct segment *last = &job->segments[n - 1];
	uint32_t first = job->segments[0].first_flow;

	g->runs = xcalloc(n, sizeof *g->runs);
	g->due_ns = xcalloc(n, sizeof *g->due_ns);
	g->factors = xcalloc(n, sizeof *g->factors);
	g->n_after = xcalloc(n, sizeof *g->n_after);
	g->n_waits = xcalloc(n, sizeof *g->n_waits);
	g->running = xcalloc(n, sizeof *g->running);
	g->first_next = xcalloc((size_t)n + 1, sizeof *g->first_next);
	g->of_flow = xcalloc((size_t)last->first_flow + last->n_flows - first + 1,
			     sizeof *g->of_flow);
	for (uint32_t i = 0; i < n; i++) {
		const struct segment *seg = &job->segments[i];

		g->runs[i].job = job;
		g->runs[i].segment = i;
		g->runs[i].weight_factor = 1;
		for (uint32_t f = 0; f < seg->n_flows; f++)
			g->of_flow[seg->first_flow - first + f] = i;
	}
	link_segments(g, spec);
	if (job->pacing == ENGINE_PACE_GATE) {
		g->sending_bps =
			xcalloc((size_t)e->fluid.n_links + 1, sizeof *g->sending_bps);
		g->n_sending =
			xcalloc((size_t)e->fluid.n_links + 1, sizeof *g->n_sending);
	}
	return g;
}

void
graph_free(struct graph *g, uint32_t n_segments)
{
	if (!g)
		return;
	for (uint32_t i = 0; i < n_segments; i++)
		vec_free(&g->runs[i].gate_links);
	free(g->runs);
	free(g->due_ns);
	free(g->factors);
	free(g->n_after);
	free(g->n_waits);
	free(g->first_next);
	free(g->next);
	free(g->of_flow);
	free(g->running);
	free(g->sending_bps);
	free(g->n_sending);
	free(g);
}

/* ------ An iteration ------ */

static void
begin(struct engine *e, struct graph *g, uint32_t s)
{
	segment_begin(e, &g->runs[s], s, g->factors[s]);
	g->due_ns[s] = e->now_ns;
	g->running[g->n_running++] = s;
}

void
graph_begin(struct engine *e, struct job *job)
{
	struct graph *g = job->graph;

	/* All at once: so the jitter does not depend on which segment begins first. */
	for (uint32_t s = 0; s < job->n_segments; s++) {
		g->factors[s] = segment_draw_factor(job, s);
		g->n_waits[s] = g->n_after[s];
	}
	g->n_running = 0;
	for (uint32_t s = 0; s < job->n_segments; s++)
		if (!g->n_waits[s])
			begin(e, g, s);
}

static void
end(struct engine *e, struct job *job, uint32_t s)
{
	struct graph *g = job->graph;

	e->n_flows_finished += job->segments[s].n_flows;
	for (size_t i = g->first_next[s]; i < g->first_next[s + 1]; i++)
		if (--g->n_waits[g->next[i]] == 0)
			begin(e, g, g->next[i]);
}

double
graph_advance(struct engine *e, struct job *job, uint64_t *n_events)
{
	struct graph *g = job->graph;
	double limit_ns = e->now_ns + ENGINE_BATCH_NS, next_ns = INFINITY;
	uint32_t n_kept = 0;

	/* Segments that begin in this loop come last. */
	for (uint32_t i = 0; i < g->n_running; i++) {
		uint32_t s = g->running[i];
		double due_ns = g->due_ns[s];

		if (due_ns <= limit_ns)
			due_ns = segment_advance(e, &g->runs[s], n_events);
		if (due_ns < 0) {
			++*n_events;
			end(e, job, s);
			continue;
		}
		g->due_ns[s] = due_ns;
		next_ns = min_of(next_ns, due_ns);
		g->running[n_kept++] = s;
	}
	g->n_running = n_kept;
	return n_kept ? next_ns : -1;
}

void
graph_lower_changed(struct engine *e)
{
	for (size_t i = 0; i < e->fluid.changed.n; i++) {
		uint32_t f = e->fluid.changed.items[i], s;
		const struct job *job = e->jobs.items[e->fluid.flows[f].owner];
		struct graph *g = job->graph;

		if (!g)
			continue;
		s = g->of_flow[f - job->segments[0].first_flow];
		g->due_ns[s] = min_of(g->due_ns[s],
				      segment_flow_due_ns(e, &job->segments[s], f));
	}
}
