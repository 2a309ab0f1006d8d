/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topo_utility.h - how well GPUs of a server suit a job: the utility of the
 * topology-aware scheduler of BSC and IBM (SC 2017), as its code has it.
 *
 * Each cost is from 0.01 to about 1; a utility is the inverse of the sum of the costs,
 * each to the power of its weight, relative to the best there is.
 *
 *	communication  distance of all pairs of GPUs, 1 with an NVLink and 20 without,
 *	               beyond the least of as many GPUs, over 20 for each GPU
 *	interference   time alone over time beside each job on the same socket
 *	fragmentation  GPUs left free, less those that the job could have taken instead,
 *	               over all GPUs
 *
 * The system's utility has all three, and the mean of the interference that the job
 * suffers and causes; the job's own has the first two.
 */
#ifndef POLICIES_TOPO_UTILITY_H
#define POLICIES_TOPO_UTILITY_H

#include "policies/inside.h"

#define TOPO_MIN_COST 0.01

struct topo_weights {
	double communication, interference, fragmentation;
};

struct topo_neighbor {
	const struct pol_job *job;
	uint64_t gpus;
};

/* A server and its jobs. */
struct topo_server {
	const struct pol_inside *inside; /* NULL: GPUs are interchangeable. */
	uint32_t n_gpus, n_free;
	const struct topo_neighbor *neighbors;
	size_t n_neighbors;
};

struct topo_costs {
	double communication, suffered, caused, fragmentation;
	bool has_neighbors;
};

/* The least sum of distances of n GPUs, by n: fills [INSIDE_MAX_GPUS + 1]. */
void topo_least_distances(const struct pol_inside *inside, double *ret_least);
/* Costs of a job on 'n_gpus' GPUs of a server; 'gpus' 0: any. */
struct topo_costs topo_costs_of(const struct topo_server *server, const double *least,
				const struct pol_job *job, uint32_t n_gpus,
				uint64_t gpus);
double topo_system_utility(const struct topo_weights *weights,
			   const struct topo_costs *costs);
double topo_job_utility(const struct topo_weights *weights,
			const struct topo_costs *costs);

#endif
