/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths.h - one of the equally short paths for each flow of each job
 *
 * Hashing sends flows over equally short paths at random, so that some links carry
 * several bursts at once while others carry none.  Here paths are chosen instead.  The
 * harm of link l is e_l times the weights of the jobs on it (link_loads.h), and the sum
 * of it over all links is made small: two jobs that cannot interleave go apart, two
 * that can may share a link.  Among paths of equal harm the one whose fullest link has
 * the lowest mean load is taken, so that later jobs find room.
 *
 * This is a greedy balance by duty or an edge coloring (path_colors.h), then local
 * search, then ruin and recreate (Schrimpf et al., "Record breaking optimization results
 * using the ruin and recreate principle", 2000).  Without it, a job's slowdown grows
 * with the number of links that it draws.
 *
 * Pure and deterministic for a seed.
 */
#ifndef SCHEDULER_CORE_PATHS_PATHS_H
#define SCHEDULER_CORE_PATHS_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct link_loads;
struct routed_job;
struct routes;
struct topo;

/* A job with hosts.  Its number is that in the link loads. */
struct paths_job {
	uint32_t job;
	uint16_t first_port;       /* Of its flow 0. */
	bool is_fixed;             /* Its paths stay. */
	const bool *is_flow_fixed; /* Borrowed.  By flow; NULL: none.  Those stay. */
	double weight;             /* As in the link loads. */
	struct routed_job *routed; /* Borrowed; paths and footprint change. */
};

struct paths_opts {
	uint64_t seed;
	uint32_t n_rounds;  /* Of moving each flow in turn; 0: default. */
	uint32_t n_redraws; /* Of ruin and recreate; none with 'max_changes'. */
	/*
	 * A flow of a running job leaves its path only if the harm falls by more than
	 * this times the job's weight.
	 */
	double change_cost;
	/*
	 * Flows that may get another path than before; 0: no limit.  With a limit there
	 * is no edge coloring, which changes many at once.
	 */
	size_t max_changes;
};

struct paths_counts {
	size_t n_flows;                 /* Those with a choice. */
	size_t n_changed;               /* Those that got another path than before. */
	double harm_before, harm_after; /* Of all links. */
};

/* Puts a job's flows on the links of their present paths, or takes them off. */
void paths_load(struct link_loads *loads, const struct paths_job *job);
void paths_unload(struct link_loads *loads, const struct paths_job *job);

/*
 * Chooses the paths of a job that is on no link, given those of all others, and puts
 * its flows on them.  For an arrival, or to try a place.  Returns 0 or -EHOSTUNREACH,
 * then with the job on no link.  O(flows * paths) costs of links.
 */
int paths_choose(struct link_loads *loads, const struct topo *topo,
		 struct routes *routes, const struct paths_job *job, uint64_t seed);

/*
 * Improves the paths of jobs[n], whose flows are on their links.  Returns 0 or
 * -EHOSTUNREACH.  O((rounds * flows + redraws * flows of a link) * paths) costs of
 * links.
 */
int paths_improve(struct link_loads *loads, const struct topo *topo,
		  struct routes *routes, const struct paths_job *jobs, size_t n,
		  const struct paths_opts *opts, struct paths_counts *ret_counts);

#endif
