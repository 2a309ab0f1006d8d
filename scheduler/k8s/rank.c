/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/k8s/rank.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "scheduler/core/advisor/advisor.h"
#include "scheduler/core/profile/profile.h"
#include "scheduler/core/workload/workload.h"
#include "topology/topo.h"

/* Nodes of places as good as the first that are returned, at most. */
#define MAX_ALSO 256
/* Losses of goodput that differ by no more count as equal. */
#define SAME_LOSS 1e-3

int
k8s_declared(const struct topo *topo, const struct extender_job *job,
	     struct profile *ret_profile)
{
	size_t n_hosts;
	const uint32_t *hosts = topo_hosts(topo, &n_hosts);

	if (job->period_us <= 0 || job->comm_us <= 0 || job->comm_us > job->period_us ||
	    job->period_us > PROFILE_MAX_PERIOD_US)
		return -ENODATA;
	profile_of_burst(job->period_us, job->comm_us,
			 job->rate_bps > 0 ? job->rate_bps
					   : topo_line_bps(topo, hosts, n_hosts > 0),
			 ret_profile);
	return 0;
}

/* ---- Ranking ---------------------------------------------------------------------------- */

/*
 * Finds the offered hosts of the fabric, and the number of the offer of each. An
 * offered node has room.
 */
static uint32_t *
map_offered(struct advisor *advisor, const struct topo *topo,
	    const char *const *offered, size_t n, bool *ret_allowed, int64_t *ret_were)
{
	uint32_t *number = xcalloc(topo_n_hosts(topo) + 1, sizeof *number);

	for (size_t i = 0; i < n; i++) {
		uint32_t node = topo_find_node(topo, offered[i]);
		uint32_t host = topo_host_number(topo, node);

		if (host == TOPO_NONE || ret_allowed[host])
			continue;
		ret_were[host] = advisor_set_free(advisor, node, 1);
		ret_allowed[host] = true;
		number[host] = (uint32_t)i;
	}
	return number;
}

/* Restores the free slots, which were set for this ranking. */
static void
reset_free(struct advisor *advisor, const struct topo *topo, const bool *allowed,
	   const int64_t *were)
{
	size_t n;
	const uint32_t *hosts = topo_hosts(topo, &n);

	for (size_t i = 0; i < n; i++)
		if (allowed[i])
			advisor_set_free(advisor, hosts[i], were[i]);
}

/* The offered hosts below the leaves of the job's earlier pods; returns how many. */
static uint32_t
find_near(const struct topo *topo, const struct extender_job *job, const bool *allowed,
	  bool *ret_near)
{
	bool *is_theirs = xcalloc(topo_n_nodes(topo) + 1, sizeof *is_theirs);
	uint32_t n_near = 0;
	size_t n_hosts;
	const uint32_t *hosts = topo_hosts(topo, &n_hosts);

	for (size_t i = 0; i < job->n_siblings; i++) {
		uint32_t leaf =
			topo_leaf_of(topo, topo_find_node(topo, job->siblings[i]));

		if (leaf != TOPO_NONE)
			is_theirs[leaf] = true;
	}
	for (size_t i = 0; i < n_hosts; i++) {
		uint32_t leaf = topo_leaf_of(topo, hosts[i]);

		ret_near[i] = allowed[i] && leaf != TOPO_NONE && is_theirs[leaf];
		n_near += ret_near[i];
	}
	free(is_theirs);
	return n_near;
}

/* 'best' is the place chosen; those of 'ranking' are returned, too. */
static void
choose(const struct topo *topo, const struct extender_job *job,
       const struct advisor_place *best, const struct advisor_ranking *ranking,
       const uint32_t *number, struct extender_choice *ret_choice)
{
	*ret_choice = (struct extender_choice){
		.chosen = xcalloc(job->n_nodes + 1, sizeof *ret_choice->chosen),
		.n_chosen = job->n_nodes,
		.also = xcalloc(MAX_ALSO, sizeof *ret_choice->also),
	};
	for (uint32_t i = 0; i < job->n_nodes; i++)
		ret_choice->chosen[i] = number[topo_host_number(topo, best->hosts[i])];
	for (size_t p = 0; p < ranking->n; p++)
		for (uint32_t i = 0; i < job->n_nodes; i++)
			if (ret_choice->n_also < MAX_ALSO)
				ret_choice->also[ret_choice->n_also++] =
					number[topo_host_number(
						topo, ranking->items[p].hosts[i])];
}

/* Gives the job to the advisor, ranks it, and removes it. */
static int
rank_waiting(struct advisor *advisor, const struct extender_job *job,
	     const struct profile *profile, const bool *allowed,
	     struct advisor_ranking *ret_ranking)
{
	struct work_job waiting = { .name = xasprintf("k8s:%s", job->name),
				    .collective = COLLECTIVE_RING,
				    .n_hosts_wanted = job->n_nodes,
				    .slots_per_host = 1,
				    .stop_ns = ENGINE_NEVER,
				    .weight = job->n_nodes };
	uint32_t number;
	int r;

	profile_copy(profile, &waiting.profile);
	work_job_segments_from_profile(&waiting);
	r = advisor_put(advisor, &waiting, false, &number);
	if (r == 0) {
		r = advisor_rank(advisor, number, allowed, ret_ranking);
		advisor_remove(advisor, waiting.name);
	}
	work_job_fini(&waiting);
	return r;
}

int
k8s_rank(struct advisor *advisor, const struct topo *topo,
	 const struct extender_job *job, const struct profile *profile,
	 const char *const *offered, size_t n_offered,
	 struct extender_choice *ret_choice, struct err *err)
{
	struct advisor_ranking all = { 0 }, near = { 0 };
	size_t n_hosts = topo_n_hosts(topo) + 1;
	bool *allowed = xcalloc(n_hosts, sizeof *allowed);
	bool *nearby = xcalloc(n_hosts, sizeof *nearby);
	int64_t *were = xcalloc(n_hosts, sizeof *were);
	uint32_t *number =
		map_offered(advisor, topo, offered, n_offered, allowed, were);
	const struct advisor_place *best;
	int r = rank_waiting(advisor, job, profile, allowed, &all);

	if (r == 0 && !all.n)
		r = -ENOSPC;
	if (r == 0) {
		best = &all.items[0];
		if (job->n_siblings &&
		    find_near(topo, job, allowed, nearby) >= job->n_nodes &&
		    rank_waiting(advisor, job, profile, nearby, &near) == 0 && near.n &&
		    near.items[0].loss <= best->loss + SAME_LOSS)
			best = &near.items[0];
		choose(topo, job, best, &all, number, ret_choice);
	} else {
		err_set(err, NULL, 0, 0,
			"%u nodes for job '%s', of the %zu that are offered, cannot "
			"be had together",
			job->n_nodes, job->name, n_offered);
	}
	advisor_ranking_fini(&all);
	advisor_ranking_fini(&near);
	reset_free(advisor, topo, allowed, were);
	free(number);
	free(were);
	free(allowed);
	free(nearby);
	return r;
}
