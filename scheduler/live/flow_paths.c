/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/live/flow_paths.h"

#include "lib/base/sort.h"

static int
compare(const void *a, const void *b)
{
	const struct flow_path *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	if (x->destination != y->destination)
		return x->destination < y->destination ? -1 : 1;
	return (x->rail > y->rail) - (x->rail < y->rail);
}

void
flow_paths_sort(struct flow_paths *paths)
{
	sort_items(paths->flows.items, paths->flows.n, compare);
}

void
flow_paths_fini(struct flow_paths *paths)
{
	vec_free(&paths->flows);
	vec_free(&paths->links);
}

const struct flow_path *
flow_paths_find(const struct flow_paths *paths, uint32_t job, uint32_t source,
		uint32_t destination, uint32_t rail)
{
	const struct flow_path key = {
		.job = job, .source = source, .destination = destination, .rail = rail
	};

	if (!paths || !paths->flows.n)
		return NULL;
	return bsearch(&key, paths->flows.items, paths->flows.n,
		       sizeof *paths->flows.items, compare);
}

const uint32_t *
flow_paths_links(const struct flow_paths *paths, uint32_t job, uint32_t source,
		 uint32_t destination, uint32_t rail, size_t *ret_n)
{
	const struct flow_path *flow =
		flow_paths_find(paths, job, source, destination, rail);

	if (!flow || !flow->n_links)
		return NULL;
	*ret_n = flow->n_links;
	return paths->links.items + flow->first;
}
