/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advisor_paths.c - paths of jobs as they come and go.
 *
 * A job's entry in the workload names its present paths, by flow.  A job is restless
 * while its paths may be changed for the better (advisor_changes.c), because jobs have
 * come to its links, or have left links that its flows could use.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/core/advisor/advisor_priv.h"
#include "scheduler/core/paths/link_loads.h"
#include "topology/route.h"
#include "topology/topo.h"

/* ---- Restless jobs --------------------------------------------------------------- */

void
advisor_make_restless(struct advisor *advisor, uint32_t number)
{
	struct job_paths *paths = &advisor->jobs.items[number]->paths;

	if (!advisor->is_choosing)
		return;
	paths->not_before_ns = INT64_MIN;
	if (paths->is_restless)
		return;
	paths->is_restless = true;
	vec_push(&advisor->restless, number);
}

/* The jobs on a link, if they suffer there. */
static void
make_link_restless(struct advisor *advisor, uint32_t link)
{
	const struct link_loads *all = place_link_loads(advisor->place);
	const struct link_load *loads;
	size_t n;

	if (!(link_loads_cost(all, link) > 0))
		return;
	loads = link_loads_of(all, link, &n);
	for (size_t i = 0; i < n; i++)
		advisor_make_restless(advisor, loads[i].job);
}

/* The job and those that it contends with. */
static void
make_neighbors_restless(struct advisor *advisor, uint32_t number)
{
	const struct routed_job *routed = place_routed_job(advisor->place, number);

	advisor_make_restless(advisor, number);
	for (size_t i = 0; i < routed->footprint.n; i++)
		make_link_restless(advisor, routed->footprint.entries[i].link);
}

/*
 * The jobs on links that are equivalent to one that becomes free: on the way up the
 * links out of the same switch to the same tier, on the way down those into it.
 */
static void
make_siblings_restless(struct advisor *advisor, uint32_t link)
{
	const struct topo *topo = advisor->topo;
	const struct topo_link *l = topo_link(topo, link);
	uint32_t from_tier = topo_node(topo, l->from)->tier;
	uint32_t to_tier = topo_node(topo, l->to)->tier;
	bool is_up = from_tier < to_tier;
	uint32_t near = is_up ? l->from : l->to, far_tier = is_up ? to_tier : from_tier;
	size_t n;
	const uint32_t *out = topo_links_out(topo, near, &n);

	if (from_tier == 0 || to_tier == 0)
		return;
	for (size_t i = 0; i < n; i++) {
		const struct topo_link *other = topo_link(topo, out[i]);
		uint32_t sibling = is_up ? out[i] : other->reverse;

		if (topo_node(topo, other->to)->tier == far_tier &&
		    sibling != TOPO_NONE)
			make_link_restless(advisor, sibling);
	}
}

void
advisor_free_links(struct advisor *advisor, const struct footprint *footprint)
{
	for (size_t i = 0; i < footprint->n; i++)
		make_siblings_restless(advisor, footprint->entries[i].link);
}

/* ---- Paths as jobs come and go --------------------------------------------------- */

uint32_t *
advisor_paths_keep(const struct advisor *advisor, uint32_t job,
		   const struct work_job *next, size_t *ret_n)
{
	const struct work_job *entry = &advisor->workload.jobs[job];
	bool is_same = next->hosts && !next->paths &&
		       entry->collective == next->collective &&
		       entry->n_connections == next->n_connections &&
		       entry->n_hosts_wanted == next->n_hosts_wanted;

	if (!advisor->is_choosing || !is_same ||
	    memcmp(entry->hosts, next->hosts,
		   entry->n_hosts_wanted * sizeof *entry->hosts) != 0)
		return NULL;
	*ret_n = entry->n_paths;
	return xmemdup(entry->paths, entry->n_paths, sizeof *entry->paths);
}

void
advisor_paths_prepare(struct advisor *advisor, uint32_t job, bool has_waited,
		      uint32_t *kept, size_t n_kept)
{
	struct work_job *entry = &advisor->workload.jobs[job];
	struct job_paths *paths = &advisor->jobs.items[job]->paths;
	bool is_chosen = advisor->is_choosing && paths->may_choose &&
			 (has_waited || !entry->hosts);

	place_set_paths(advisor->place, job, is_chosen ? PLACE_CHOSEN : PLACE_HASHED);
	paths->is_assigned &= kept != NULL;
	if (kept) {
		entry->paths = kept;
		entry->n_paths = n_kept;
		return;
	}
	free(paths->changed_ns);
	paths->changed_ns = NULL;
}

static void
set_n_chosen(struct advisor *advisor, struct job_paths *paths, size_t n)
{
	struct advisor_path_counts *counts = &advisor->path_counts;

	counts->n_jobs += (n > 0) - (size_t)(paths->n_chosen > 0);
	counts->n_flows += n - paths->n_chosen;
	paths->n_chosen = n;
}

void
advisor_take_paths(struct advisor *advisor, uint32_t job)
{
	const struct routed_job *routed = place_routed_job(advisor->place, job);
	struct work_job *entry = &advisor->workload.jobs[job];
	size_t n = routed->flows.n, n_chosen = 0;

	entry->paths = xreallocarray(entry->paths, n + 1, sizeof *entry->paths);
	entry->n_paths = n;
	for (size_t i = 0; i < n; i++) {
		entry->paths[i] = routed->paths[i];
		n_chosen += routed->paths[i] != WORK_HASHED;
	}
	set_n_chosen(advisor, &advisor->jobs.items[job]->paths, n_chosen);
	advisor->jobs.items[job]->paths.is_new = true;
}

void
advisor_paths_note(struct advisor *advisor, uint32_t job)
{
	struct job_paths *paths = &advisor->jobs.items[job]->paths;

	if (!advisor->is_choosing)
		return;
	if (place_routed_job(advisor->place, job)) {
		advisor_take_paths(advisor, job);
		make_neighbors_restless(advisor, job);
		return;
	}
	set_n_chosen(advisor, paths, 0);
	free(paths->changed_ns);
	free(paths->view);
	paths->changed_ns = NULL;
	paths->view = NULL;
	paths->revision = 0;
	paths->is_assigned = false;
}

void
advisor_paths_leave(struct advisor *advisor, uint32_t job)
{
	if (advisor->is_choosing)
		advisor_free_links(advisor,
				   &place_routed_job(advisor->place, job)->footprint);
}

void
advisor_allow_paths(struct advisor *advisor, uint32_t job, bool is_allowed)
{
	struct work_job *entry = &advisor->workload.jobs[job];
	struct job_paths *paths = &advisor->jobs.items[job]->paths;

	if (paths->may_choose == is_allowed)
		return;
	paths->may_choose = is_allowed;
	if (!place_routed_job(advisor->place, job)) {
		advisor_paths_prepare(advisor, job, true, NULL, 0);
	} else if (is_allowed) {
		make_neighbors_restless(advisor, job);
	} else if (paths->n_chosen) {
		advisor_touch_around(advisor, job);
		advisor_paths_leave(advisor, job);
		place_remove(advisor->place, job);
		free(entry->paths);
		entry->paths = NULL;
		entry->n_paths = 0;
		advisor_paths_prepare(advisor, job, false, NULL, 0);
		/* It was routed on this fabric before. */
		BUG_ON(place_put(advisor->place, job, entry->hosts) < 0);
		advisor_paths_note(advisor, job);
		advisor_touch_around(advisor, job);
	}
}

/* ---- Paths for all flows of a job -------------------------------------------------- */

/* The number of the path that hashing gives a flow; WORK_HASHED: it is the only one. */
static uint32_t
number_of_hashed(const struct advisor *advisor, uint32_t job, size_t flow)
{
	const struct routed_job *routed = place_routed_job(advisor->place, job);
	const struct collective_flow *f = &routed->flows.flows[flow];
	uint16_t port = (uint16_t)(advisor->workload.jobs[job].first_port + flow);
	size_t first = routed->path_first[flow], n;
	uint32_t links[ROUTE_MAX_HOPS], n_paths = 2;

	for (uint32_t number = 0; n_paths > 1 && number < n_paths; number++)
		if (routes_numbered_path(advisor->routes, f->source, f->destination,
					 port, number, links, &n, &n_paths) == 0 &&
		    n_paths > 1 && n == routed->path_first[flow + 1] - first &&
		    memcmp(links, routed->path_links + first, n * sizeof *links) == 0)
			return number;
	return WORK_HASHED;
}

/* The paths of a placed job by number, also of flows on the path of hashing. */
static uint32_t *
number_paths(const struct advisor *advisor, uint32_t job, size_t *ret_n)
{
	const struct routed_job *routed = place_routed_job(advisor->place, job);
	uint32_t *numbers = xcalloc(routed->flows.n + 1, sizeof *numbers);

	for (size_t i = 0; i < routed->flows.n; i++)
		numbers[i] = routed->paths[i] != WORK_HASHED
				     ? routed->paths[i]
				     : number_of_hashed(advisor, job, i);
	*ret_n = routed->flows.n;
	return numbers;
}

static bool
has_hashed(const struct advisor *advisor, uint32_t job)
{
	const struct routed_job *routed = place_routed_job(advisor->place, job);

	for (size_t i = 0; i < routed->flows.n; i++)
		if (routed->paths[i] == WORK_HASHED &&
		    number_of_hashed(advisor, job, i) != WORK_HASHED)
			return true;
	return false;
}

void
advisor_assign_paths(struct advisor *advisor, uint32_t job)
{
	struct work_job *entry = &advisor->workload.jobs[job];
	struct job_paths *paths = &advisor->jobs.items[job]->paths;
	uint32_t *numbers;
	size_t n;

	if (!advisor->is_choosing || !paths->may_choose || paths->is_assigned ||
	    !place_routed_job(advisor->place, job))
		return;
	if (!has_hashed(advisor, job)) {
		paths->is_assigned = true;
		return;
	}
	advisor_touch_around(advisor, job);
	advisor_paths_leave(advisor, job);
	place_remove(advisor->place, job);
	free(entry->paths);
	entry->paths = NULL;
	entry->n_paths = 0;
	advisor_paths_prepare(advisor, job, true, NULL, 0);
	/* It was routed on this fabric before. */
	BUG_ON(place_put(advisor->place, job, entry->hosts) < 0);
	numbers = number_paths(advisor, job, &n);
	place_remove(advisor->place, job);
	advisor_paths_prepare(advisor, job, false, numbers, n);
	BUG_ON(place_put(advisor->place, job, entry->hosts) < 0);
	paths->is_assigned = true;
	advisor_paths_note(advisor, job);
	advisor_touch_around(advisor, job);
}

bool
advisor_has_assigned(const struct advisor *advisor, uint32_t job)
{
	return advisor->jobs.items[job]->paths.is_assigned;
}

/* ---- The published paths --------------------------------------------------------- */

static bool
is_same_paths(const struct advice_path *a, const struct advice_path *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i].source != b[i].source ||
		    a[i].destination != b[i].destination || a[i].via != b[i].via ||
		    a[i].number != b[i].number || a[i].port != b[i].port)
			return false;
	return true;
}

void
advisor_paths_refresh_view(struct advisor *advisor, uint32_t number)
{
	const struct routed_job *routed = place_routed_job(advisor->place, number);
	struct advisor_job *job = advisor->jobs.items[number];
	struct job_paths *paths = &job->paths;
	struct advice_path *new;

	if (!paths->is_new)
		return;
	paths->is_new = false;
	new = advice_paths_make(routed, &advisor->workload.jobs[number],
				advisor->routes);
	/* The present view has as many, unless the job has moved. */
	if (!new == !paths->view &&
	    (!new || (job->view.n_paths == routed->flows.n &&
		      is_same_paths(new, paths->view, routed->flows.n)))) {
		free(new);
		return;
	}
	free(paths->view);
	paths->view = new;
	paths->revision = ++advisor->revision;
}

struct advisor_path_counts
advisor_path_counts(const struct advisor *advisor)
{
	return advisor->path_counts;
}
