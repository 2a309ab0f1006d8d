/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/solve/core_decomposition.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/unionfind.h"

/* Whether load 'x' is an edge of the graph. */
static bool
is_edge(const struct joint_model *model, size_t x)
{
	return model->groups[model->loads[x].group].n_loads > 1;
}

/* Removes vertices of degree 1.  Vertices are numbered jobs first, then links. */
static void
find_core(const struct joint_model *model, const bool *is_off,
	  struct core_decomposition *peeled)
{
	size_t n = model->n_jobs + model->n_links, head = 0, tail = 0;
	uint32_t *degree = xcalloc(n + 1, sizeof *degree);
	uint32_t *queue = xcalloc(n + 1, sizeof *queue);
	bool *is_gone = xcalloc(n + 1, sizeof *is_gone);

	for (size_t u = 0; u < model->n_uses; u++) {
		uint32_t l = model->uses[u].link;

		if (is_off && is_off[l])
			continue;
		degree[model->loads[model->uses[u].load].job]++;
		degree[model->n_jobs + l]++;
	}
	for (uint32_t v = 0; v < n; v++) {
		if (degree[v] > 1)
			continue;
		is_gone[v] = true;
		queue[tail++] = v;
	}
	while (head < tail) {
		uint32_t v = queue[head++], first, count;
		bool is_job = v < model->n_jobs;

		if (is_job) {
			first = model->jobs[v].first_use;
			count = model->jobs[v].n_uses;
		} else {
			first = model->links[v - model->n_jobs].first_load;
			count = model->links[v - model->n_jobs].n_loads;
			if (is_off && is_off[v - model->n_jobs])
				continue;
		}
		for (uint32_t i = first; i < first + count; i++) {
			uint32_t w;

			if (is_job && is_off && is_off[model->uses[i].link])
				continue;
			if (!is_job && !is_edge(model, i))
				continue;
			w = is_job ? (uint32_t)model->n_jobs + model->uses[i].link
				   : model->loads[i].job;
			if (is_gone[w] || --degree[w] > 1)
				continue;
			is_gone[w] = true;
			queue[tail++] = w;
		}
	}
	for (size_t l = 0; l < model->n_links; l++)
		peeled->is_core_link[l] = !is_gone[model->n_jobs + l];
	for (size_t u = 0; u < model->n_uses; u++)
		if (peeled->is_core_link[model->uses[u].link])
			peeled->is_core_job[model->loads[model->uses[u].load].job] =
				true;
	free(degree);
	free(queue);
	free(is_gone);
}

/* A job that represents the link: any job on which its shift matters. */
static uint32_t
first_job_of(const struct joint_model *model, uint32_t l)
{
	size_t x = model->links[l].first_load;

	while (!is_edge(model, x))
		x++;
	return model->loads[x].job;
}

/* Numbers the components by their lowest jobs, and counts their members. */
static void
find_components(const struct joint_model *model, const bool *is_off,
		struct core_decomposition *peeled)
{
	uint32_t *parent = xcalloc(model->n_jobs + 1, sizeof *parent);
	struct core_component *components;

	for (uint32_t j = 0; j < model->n_jobs; j++)
		parent[j] = j;
	for (size_t u = 0; u < model->n_uses; u++) {
		uint32_t l = model->uses[u].link;

		if (!is_off || !is_off[l])
			unionfind_join(parent, first_job_of(model, l),
				       model->loads[model->uses[u].load].job);
	}
	components = xcalloc(model->n_jobs + 1, sizeof *components);
	for (uint32_t j = 0; j < model->n_jobs; j++) {
		uint32_t root = unionfind_root(parent, j), c;
		bool is_used = false;

		for (uint32_t i = 0; i < model->jobs[j].n_uses; i++) {
			uint32_t l = model->uses[model->jobs[j].first_use + i].link;

			is_used = is_used || !is_off || !is_off[l];
		}
		peeled->component_of[j] = CORE_NONE;
		if (!is_used)
			continue;
		c = root == j ? (uint32_t)peeled->n_components++
			      : peeled->component_of[root];
		peeled->component_of[j] = c;
		components[c].n_jobs++;
		components[c].has_fixed |= !model->jobs[j].is_movable;
	}
	peeled->components = components;
	free(parent);
}

void
core_decomposition_make(const struct joint_model *model, const bool *is_off,
			struct core_decomposition *ret_peeled)
{
	struct core_decomposition *peeled = ret_peeled;
	struct core_component *c;
	uint32_t n_jobs = 0, n_links = 0;

	memset(peeled, 0, sizeof *peeled);
	peeled->job_list = xcalloc(model->n_jobs + 1, sizeof *peeled->job_list);
	peeled->link_list = xcalloc(model->n_links + 1, sizeof *peeled->link_list);
	peeled->component_of = xcalloc(model->n_jobs + 1, sizeof *peeled->component_of);
	peeled->is_core_link =
		xcalloc(model->n_links + 1, sizeof *peeled->is_core_link);
	peeled->is_core_job = xcalloc(model->n_jobs + 1, sizeof *peeled->is_core_job);
	find_core(model, is_off, peeled);
	find_components(model, is_off, peeled);

	for (uint32_t l = 0; l < model->n_links; l++) {
		if (is_off && is_off[l])
			continue;
		c = &peeled->components[peeled->component_of[first_job_of(model, l)]];
		c->n_links++;
		c->n_core_links += peeled->is_core_link[l];
	}
	for (size_t i = 0; i < peeled->n_components; i++) {
		c = &peeled->components[i];
		c->first_job = n_jobs;
		c->first_link = n_links;
		n_jobs += c->n_jobs;
		n_links += c->n_links;
		c->n_jobs = c->n_links = 0;
	}
	for (uint32_t j = 0; j < model->n_jobs; j++) {
		if (peeled->component_of[j] == CORE_NONE)
			continue;
		c = &peeled->components[peeled->component_of[j]];
		peeled->job_list[c->first_job + c->n_jobs++] = j;
	}
	for (uint32_t l = 0; l < model->n_links; l++) {
		if (is_off && is_off[l])
			continue;
		c = &peeled->components[peeled->component_of[first_job_of(model, l)]];
		peeled->link_list[c->first_link + c->n_links++] = l;
	}
}

void
core_decomposition_fini(struct core_decomposition *peeled)
{
	free(peeled->components);
	free(peeled->job_list);
	free(peeled->link_list);
	free(peeled->component_of);
	free(peeled->is_core_link);
	free(peeled->is_core_job);
	memset(peeled, 0, sizeof *peeled);
}

uint32_t
core_component_of_link(const struct core_decomposition *peeled,
		       const struct joint_model *model, uint32_t l)
{
	return peeled->component_of[first_job_of(model, l)];
}
