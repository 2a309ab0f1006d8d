/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/cassini/affinity.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"

/* One end of an edge, as seen from the other. */
struct arc {
	uint32_t to;
	int64_t weight;
};

/*
 * Vertices are the jobs, then the links.  The arcs of vertex v are
 * arcs[first[v] .. first[v + 1]), in the order of the edges given.
 */
struct affinity {
	uint32_t n_jobs, n_links;
	size_t n_edges;
	size_t *first;    /* Owned. */
	struct arc *arcs; /* Owned; two an edge. */
};

static uint32_t
n_vertices(const struct affinity *graph)
{
	return graph->n_jobs + graph->n_links;
}

struct affinity *
affinity_new(uint32_t n_jobs, uint32_t n_links, const struct affinity_edge *edges,
	     size_t n_edges)
{
	struct affinity *graph = xcalloc(1, sizeof *graph);
	uint32_t n = n_jobs + n_links;
	size_t *fill;

	graph->n_jobs = n_jobs;
	graph->n_links = n_links;
	graph->n_edges = n_edges;
	graph->first = xcalloc((size_t)n + 1, sizeof *graph->first);
	graph->arcs = xcalloc(2 * n_edges + 1, sizeof *graph->arcs);

	for (size_t i = 0; i < n_edges; i++) {
		BUG_ON(edges[i].job >= n_jobs || edges[i].link >= n_links);
		graph->first[edges[i].job + 1]++;
		graph->first[n_jobs + edges[i].link + 1]++;
	}
	for (uint32_t v = 0; v < n; v++)
		graph->first[v + 1] += graph->first[v];

	fill = xmemdup(graph->first, (size_t)n + 1, sizeof *fill);
	for (size_t i = 0; i < n_edges; i++) {
		uint32_t job = edges[i].job, link = n_jobs + edges[i].link;

		graph->arcs[fill[job]++] =
			(struct arc){ .to = link, .weight = edges[i].weight };
		graph->arcs[fill[link]++] =
			(struct arc){ .to = job, .weight = edges[i].weight };
	}
	free(fill);
	return graph;
}

void
affinity_free(struct affinity *graph)
{
	if (graph == NULL)
		return;
	free(graph->first);
	free(graph->arcs);
	free(graph);
}

/* Assigns the number 'part' to all vertices reachable from 'start'. */
static void
flood(const struct affinity *graph, uint32_t start, uint32_t part, uint32_t *parts,
      uint32_t *stack)
{
	size_t n_stack = 0;

	parts[start] = part;
	stack[n_stack++] = start;
	while (n_stack > 0) {
		uint32_t v = stack[--n_stack];

		for (size_t i = graph->first[v]; i < graph->first[v + 1]; i++) {
			uint32_t to = graph->arcs[i].to;

			if (parts[to] == AFFINITY_NONE) {
				parts[to] = part;
				stack[n_stack++] = to;
			}
		}
	}
}

uint32_t
affinity_components(const struct affinity *graph, uint32_t *ret_of_job,
		    uint32_t *ret_of_link)
{
	uint32_t n = n_vertices(graph), n_parts = 0;
	uint32_t *parts = xcalloc((size_t)n + 1, sizeof *parts);
	uint32_t *stack = xcalloc((size_t)n + 1, sizeof *stack);

	for (uint32_t v = 0; v < n; v++)
		parts[v] = AFFINITY_NONE;

	/* Every part with an edge contains a job. */
	for (uint32_t job = 0; job < graph->n_jobs; job++)
		if (parts[job] == AFFINITY_NONE &&
		    graph->first[job] < graph->first[job + 1])
			flood(graph, job, n_parts++, parts, stack);

	if (ret_of_job != NULL)
		memcpy(ret_of_job, parts, graph->n_jobs * sizeof *parts);
	if (ret_of_link != NULL)
		memcpy(ret_of_link, parts + graph->n_jobs,
		       graph->n_links * sizeof *parts);
	free(parts);
	free(stack);
	return n_parts;
}

bool
affinity_has_loop(const struct affinity *graph)
{
	uint32_t n = n_vertices(graph), n_used = 0;

	/* A forest has as many edges as vertices minus trees. */
	for (uint32_t v = 0; v < n; v++)
		if (graph->first[v] < graph->first[v + 1])
			n_used++;
	return graph->n_edges > n_used - affinity_components(graph, NULL, NULL);
}

bool
affinity_has_loop_round(const struct affinity *graph, uint32_t job)
{
	uint32_t n = n_vertices(graph), n_here = 0;
	uint32_t *parts = xcalloc((size_t)n + 1, sizeof *parts);
	uint32_t *stack = xcalloc((size_t)n + 1, sizeof *stack);
	size_t n_arcs = 0; /* Both directions of each edge. */

	for (uint32_t v = 0; v < n; v++)
		parts[v] = AFFINITY_NONE;
	flood(graph, job, 0, parts, stack);
	for (uint32_t v = 0; v < n; v++)
		if (parts[v] == 0) {
			n_here++;
			n_arcs += graph->first[v + 1] - graph->first[v];
		}
	free(parts);
	free(stack);
	return n_arcs / 2 > n_here - 1;
}

/* 'x' modulo 'period', never negative. */
static int64_t
wrap(int64_t x, int64_t period)
{
	return ((x % period) + period) % period;
}

/*
 * Assigns shifts to the jobs that share link vertex 'link' with 'job', from which the
 * walk came, and appends them to the queue.  Returns its new length.
 */
static size_t
stitch_link(const struct affinity *graph, uint32_t job, const struct arc *to_link,
	    const int64_t *periods, bool *visited, int64_t *shifts, uint32_t *queue,
	    size_t n_queue)
{
	uint32_t link = to_link->to;

	for (size_t i = graph->first[link]; i < graph->first[link + 1]; i++) {
		const struct arc *to_job = &graph->arcs[i];
		uint32_t k = to_job->to;

		if (visited[k])
			continue;
		visited[k] = true;
		shifts[k] = wrap(shifts[job] - to_link->weight + to_job->weight,
				 periods[k]);
		queue[n_queue++] = k;
	}
	return n_queue;
}

void
affinity_stitch(const struct affinity *graph, const int64_t *periods,
		int64_t *ret_shifts)
{
	bool *visited = xcalloc((size_t)graph->n_jobs + 1, sizeof *visited);
	uint32_t *queue = xcalloc((size_t)graph->n_jobs + 1, sizeof *queue);

	for (uint32_t u = 0; u < graph->n_jobs; u++) {
		size_t head = 0, n_queue = 0;

		if (visited[u])
			continue;
		visited[u] = true;
		ret_shifts[u] = 0;
		queue[n_queue++] = u;
		while (head < n_queue) {
			uint32_t job = queue[head++];

			for (size_t i = graph->first[job]; i < graph->first[job + 1];
			     i++)
				n_queue = stitch_link(graph, job, &graph->arcs[i],
						      periods, visited, ret_shifts,
						      queue, n_queue);
		}
	}
	free(visited);
	free(queue);
}
