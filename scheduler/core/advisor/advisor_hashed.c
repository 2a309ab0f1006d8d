/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advisor_hashed.c - what a job would lose on the paths of hashing: the evidence for
 * the paths that were chosen for it.
 *
 * The other jobs stay as they are.  So the losses of several jobs do not add up to what
 * hashing all of them would cost.  The result is that of the last time that the job was
 * touched: jobs that come to links which it only would have used do not touch it.
 */
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "scheduler/core/advisor/advisor_priv.h"
#include "scheduler/core/paths/link_loads.h"
#include "topology/topo.h"

static int
compare_links(const void *a, const void *b)
{
	const struct advisor_link *x = a, *y = b;

	if (x->score_before != y->score_before)
		return x->score_before < y->score_before ? -1 : 1;
	return (x->link > y->link) - (x->link < y->link);
}

/* The links that the job contends for at its present paths, worst first. */
static void
list_links(const struct advisor *advisor, uint32_t job, struct hashed *hashed)
{
	const struct routed_job *routed = place_routed_job(advisor->place, job);
	const struct link_loads *loads = place_link_loads(advisor->place);
	VEC(struct advisor_link) links = VEC_EMPTY;

	for (size_t i = 0; i < routed->footprint.n; i++) {
		uint32_t link = routed->footprint.entries[i].link;
		double capacity_bps = topo_link(advisor->topo, link)->capacity_bps;
		double excess_bps = link_loads_excess_bps(loads, link);
		size_t n;

		(void)link_loads_of(loads, link, &n);
		if (n < 2 || !link_loads_is_exceedable(loads, link))
			continue;
		vec_push(&links, ((struct advisor_link){
					 .link = link,
					 .n_jobs = (uint32_t)n,
					 .score_before = 1 - excess_bps / capacity_bps,
					 .excess_before_bps = excess_bps,
				 }));
	}
	sort_items(links.items, links.n, compare_links);
	hashed->links = links.items;
	hashed->n_links = links.n;
}

/* The excess that is left on these links without the job. */
static void
fill_after(const struct advisor *advisor, struct hashed *hashed)
{
	for (size_t i = 0; i < hashed->n_links; i++) {
		struct advisor_link *link = &hashed->links[i];

		link->excess_after_bps = link_loads_excess_bps(
			place_link_loads(advisor->place), link->link);
		link->score_after =
			1 - link->excess_after_bps /
				    topo_link(advisor->topo, link->link)->capacity_bps;
	}
}

/* Puts the job, which is on no link, on its hosts with these paths; NULL: hashed. */
static void
put_with(struct advisor *advisor, uint32_t job, uint32_t *paths)
{
	struct work_job *entry = &advisor->workload.jobs[job];

	entry->paths = paths;
	/* It was routed on this fabric before. */
	BUG_ON(place_put(advisor->place, job, entry->hosts) < 0);
}

void
advisor_compare_hashed(struct advisor *advisor, uint32_t job)
{
	uint32_t *paths = advisor->workload.jobs[job].paths;
	struct hashed *hashed = &advisor->jobs.items[job]->hashed;
	struct advisor_link *old = hashed->links;

	*hashed = (struct hashed){ .is_known = true };
	place_remove(advisor->place, job);
	place_set_paths(advisor->place, job, PLACE_HASHED);
	put_with(advisor, job, NULL);
	list_links(advisor, job, hashed);
	advisor_forecast(advisor, job, false, &hashed->forecast);
	place_remove(advisor->place, job);
	put_with(advisor, job, paths);
	fill_after(advisor, hashed);
	/* The present view borrows the old links. */
	advisor_publish_again(advisor, job);
	free(old);
}
