/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cluster/link_subset.h"

#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/vec.h"
#include "topology/topo.h"

/* Links of all jobs under dense numbers. */
struct links {
	VEC(uint32_t) of_topo; /* By dense number. */
	uint32_t *numbers;    /* By link: its dense number plus one; 0: none.  Owned. */
	VEC(uint32_t) path;   /* Scratch. */
	double *capacity_bps; /* Owned, as the next. */
	bool *unmarked;
};

static void
number_links(const struct link_subset_job *jobs, size_t n, const struct topo *topo,
	     struct links *links)
{
	links->numbers = xcalloc(topo_n_links(topo) + 1, sizeof *links->numbers);
	for (size_t j = 0; j < n; j++) {
		const struct routed_job *routed = jobs[j].routed;
		size_t n_hops =
			routed->flows.n ? routed->path_first[routed->flows.n] : 0;

		for (size_t i = 0; i < n_hops; i++) {
			uint32_t link = routed->path_links[i];

			if (links->numbers[link])
				continue;
			vec_push(&links->of_topo, link);
			links->numbers[link] = (uint32_t)links->of_topo.n;
		}
	}
	links->capacity_bps =
		xcalloc(links->of_topo.n + 1, sizeof *links->capacity_bps);
	links->unmarked = xcalloc(links->of_topo.n + 1, sizeof *links->unmarked);
	for (size_t i = 0; i < links->of_topo.n; i++) {
		const struct topo_link *link = topo_link(topo, links->of_topo.items[i]);

		links->capacity_bps[i] = link->capacity_bps;
		links->unmarked[i] = topo_node(topo, link->from)->kind == TOPO_HOST;
	}
}

static int
add_job(const struct link_subset_job *spec, struct links *links, struct engine *engine)
{
	struct routed_job routed = *spec->routed;
	struct work_job job = *spec->job;
	size_t n_hops = routed.flows.n ? routed.path_first[routed.flows.n] : 0;
	uint32_t id;

	links->path.n = 0;
	vec_reserve(&links->path, n_hops + 1);
	for (size_t i = 0; i < n_hops; i++)
		vec_push(&links->path, links->numbers[routed.path_links[i]] - 1);
	routed.path_links = links->path.items;
	job.arrival_ns = 0;
	job.stop_ns = ENGINE_NEVER;
	job.max_iterations = 0;
	return routed_job_add(&job, &routed, engine, spec->shift_ns, spec->pacing, &id);
}

int
link_subset_engine(const struct link_subset_job *jobs, size_t n,
		   const struct topo *topo, const struct engine_config *config,
		   struct engine **ret_engine)
{
	struct links links = { 0 };
	struct engine_config own = *config;
	struct engine *engine;
	int r = 0;

	number_links(jobs, n, topo, &links);
	own.capacity_bps = links.capacity_bps;
	own.unmarked = links.unmarked;
	own.n_links = (uint32_t)links.of_topo.n;
	engine = engine_new(&own);
	for (size_t j = 0; r == 0 && j < n; j++)
		r = add_job(&jobs[j], &links, engine);
	vec_free(&links.of_topo);
	vec_free(&links.path);
	free(links.numbers);
	free(links.capacity_bps);
	free(links.unmarked);
	if (r < 0) {
		engine_free(engine);
		return r;
	}
	*ret_engine = engine;
	return 0;
}
