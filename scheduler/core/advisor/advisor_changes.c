/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advisor_changes.c - paths of running jobs, changed where that pays.
 *
 * Restless jobs are looked at one at a time, in order, so that a look is short; together
 * this is the descent of paths.h.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/core/advisor/advisor_priv.h"
#include "scheduler/core/paths/link_loads.h"
#include "scheduler/core/paths/paths.h"

#define NEVER     INT64_MIN
#define SECOND_NS 1e9
#define MINUTE_NS INT64_C(60000000000)

/* How many flows may be changed now. */
static size_t
n_allowed(struct advisor *advisor, int64_t now_ns)
{
	while (advisor->first_change < advisor->change_times.n &&
	       now_ns - advisor->change_times.items[advisor->first_change] >= MINUTE_NS)
		advisor->first_change++;
	if (advisor->first_change > advisor->change_times.n / 2) {
		advisor->change_times.n -= advisor->first_change;
		memmove(advisor->change_times.items,
			advisor->change_times.items + advisor->first_change,
			advisor->change_times.n * sizeof *advisor->change_times.items);
		advisor->first_change = 0;
	}
	return advisor->opts.changes_a_minute -
	       (advisor->change_times.n - advisor->first_change);
}

/*
 * By flow, whether its last change has yet to pay for itself; NULL: none.  '*ret_until_ns'
 * is when the first has.
 */
static bool *
unpaid_flows(const struct advisor *advisor, const struct job_paths *paths, size_t n,
	     int64_t now_ns, int64_t *ret_until_ns)
{
	int64_t payback_ns = (int64_t)(advisor->opts.payback_s * SECOND_NS);
	bool *is_unpaid;

	*ret_until_ns = INT64_MAX;
	if (!paths->changed_ns)
		return NULL;
	is_unpaid = xcalloc(n + 1, sizeof *is_unpaid);
	for (size_t i = 0; i < n; i++) {
		int64_t changed_ns = paths->changed_ns[i];

		is_unpaid[i] = changed_ns != NEVER && now_ns - changed_ns < payback_ns;
		if (is_unpaid[i] && changed_ns + payback_ns < *ret_until_ns)
			*ret_until_ns = changed_ns + payback_ns;
	}
	return is_unpaid;
}

/* False if no change of the job's paths can pay: its links do too little harm. */
static bool
can_pay(const struct advisor *advisor, uint32_t job, double change_cost)
{
	const struct routed_job *routed = place_routed_job(advisor->place, job);
	double harm = 0;

	for (size_t i = 0; i < routed->footprint.n; i++)
		harm += link_loads_harm(place_link_loads(advisor->place),
					routed->footprint.entries[i].link);
	return harm > change_cost * advisor->workload.jobs[job].weight;
}

/* The jobs that contend with 'job'; to be freed with vec_free(). */
struct numbers {
	VEC(uint32_t) items;
};

static void
list_neighbors(const struct advisor *advisor, uint32_t job, struct numbers *numbers)
{
	const struct routed_job *routed = place_routed_job(advisor->place, job);

	for (size_t i = 0; i < routed->footprint.n; i++) {
		uint32_t link = routed->footprint.entries[i].link;
		const struct link_load *loads;
		size_t n;

		if (!link_loads_is_exceedable(place_link_loads(advisor->place), link))
			continue;
		loads = link_loads_of(place_link_loads(advisor->place), link, &n);
		for (size_t k = 0; k < n; k++)
			vec_push(&numbers->items, loads[k].job);
	}
}

/* Notes the flows whose paths differ from those in the workload. */
static void
note_changes(struct advisor *advisor, uint32_t job, int64_t now_ns)
{
	const struct routed_job *routed = place_routed_job(advisor->place, job);
	const struct work_job *entry = &advisor->workload.jobs[job];
	struct job_paths *paths = &advisor->jobs.items[job]->paths;
	size_t n = routed->flows.n;

	if (!paths->changed_ns) {
		paths->changed_ns = xcalloc(n + 1, sizeof *paths->changed_ns);
		for (size_t i = 0; i < n; i++)
			paths->changed_ns[i] = NEVER;
	}
	for (size_t i = 0; i < n; i++) {
		if (routed->paths[i] == entry->paths[i])
			continue;
		paths->changed_ns[i] = now_ns;
		vec_push(&advisor->change_times, now_ns);
		advisor->path_counts.n_changed++;
	}
	advisor_take_paths(advisor, job);
}

/* Changes paths of one placed job where that pays. */
static void
change_paths(struct advisor *advisor, uint32_t job, size_t n_max, int64_t now_ns)
{
	const struct routed_job *routed = place_routed_job(advisor->place, job);
	struct job_paths *paths = &advisor->jobs.items[job]->paths;
	struct paths_opts opts = {
		.seed = advisor->opts.seed,
		.change_cost = advisor->opts.change_s / advisor->opts.payback_s,
		.max_changes = n_max,
	};
	struct paths_counts counts = { 0 };
	struct numbers neighbors = { 0 };
	struct footprint left;
	int64_t until_ns;
	bool *is_unpaid;

	if (!can_pay(advisor, job, opts.change_cost))
		return;
	is_unpaid = unpaid_flows(advisor, paths, routed->flows.n, now_ns, &until_ns);
	list_neighbors(advisor, job, &neighbors);
	left = (struct footprint){
		.entries = xmemdup(routed->footprint.entries, routed->footprint.n,
				   sizeof *routed->footprint.entries),
		.n = routed->footprint.n,
	};
	/* It was routed on this fabric before. */
	BUG_ON(place_change_paths(advisor->place, job, is_unpaid, &opts, &counts) < 0);
	if (counts.n_changed) {
		note_changes(advisor, job, now_ns);
		for (size_t i = 0; i < neighbors.items.n; i++)
			advisor_touch(advisor, neighbors.items.items[i]);
		advisor_touch_around(advisor, job);
		advisor_free_links(advisor, &left);
	}
	if (counts.n_changed == n_max)
		advisor_make_restless(advisor, job);
	if (until_ns != INT64_MAX) {
		advisor_make_restless(advisor, job);
		if (counts.n_changed < n_max)
			paths->not_before_ns = until_ns;
	}
	footprint_fini(&left);
	vec_free(&neighbors.items);
	free(is_unpaid);
}

bool
advisor_change_paths(struct advisor *advisor, int64_t now_ns, size_t n_max)
{
	size_t n = advisor->restless.n, looked = 0, n_changes = 0;

	while (looked < n && n_max > 0) {
		uint32_t job = advisor->restless.items[looked];
		struct job_paths *paths = &advisor->jobs.items[job]->paths;

		n_changes = n_allowed(advisor, now_ns);
		if (n_changes == 0)
			break;
		looked++;
		if (paths->not_before_ns > now_ns) {
			vec_push(&advisor->restless, job);
			continue;
		}
		paths->is_restless = false;
		/* Gone, or not ours to change. */
		if (!paths->may_choose || !place_routed_job(advisor->place, job))
			continue;
		change_paths(advisor, job, n_changes, now_ns);
		n_max--;
	}
	if (looked == 0)
		return false;
	advisor->restless.n -= looked;
	memmove(advisor->restless.items, advisor->restless.items + looked,
		advisor->restless.n * sizeof *advisor->restless.items);
	return looked < n && n_max == 0;
}
