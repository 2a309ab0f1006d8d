/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/topo_utility.h"

#include <math.h>

#define NEAR_DISTANCE 1
#define FAR_DISTANCE  20

static double
distance(const struct pol_inside *inside, uint64_t gpus)
{
	double sum = 0;

	for (uint64_t a = gpus; a; a &= a - 1)
		for (uint64_t b = a & (a - 1); b; b &= b - 1)
			sum += inside_link(inside, (uint32_t)__builtin_ctzll(a),
					   (uint32_t)__builtin_ctzll(b)) == INSIDE_PCIE
				       ? FAR_DISTANCE
				       : NEAR_DISTANCE;
	return sum;
}

void
topo_least_distances(const struct pol_inside *inside, double *ret_least)
{
	for (uint32_t n = 0; n <= INSIDE_MAX_GPUS; n++)
		ret_least[n] = n < 2 ? 0 : INFINITY;
	for (uint64_t set = 1; inside && set <= inside_all(inside); set++) {
		double *least = &ret_least[__builtin_popcountll(set)];

		*least = fmin(*least, distance(inside, set));
	}
}

/* Whether the GPUs are on one socket. */
static bool
is_on_one(const struct pol_inside *inside, uint64_t gpus)
{
	uint32_t first = inside_socket(inside, (uint32_t)__builtin_ctzll(gpus));

	return !(gpus & ~inside_on_socket(inside, first));
}

/* Time alone over time beside the other, if that is slower; else 0. */
static double
slowdown(const struct pol_measured *measured, const struct pol_job *job,
	 const struct pol_job *other, bool one_socket)
{
	double alone_s = measured->alone_s(measured->ctx, job, one_socket);
	double beside_s = measured->beside_s(measured->ctx, job, other);

	return alone_s > 0 && alone_s < beside_s ? alone_s / beside_s : 0;
}

static void
add_interference(const struct topo_server *server, const struct pol_job *job,
		 uint64_t gpus, struct topo_costs *costs)
{
	const struct pol_inside *inside = server->inside;
	uint32_t n_slowed = 0;
	bool one_socket = is_on_one(inside, gpus);

	for (size_t i = 0; i < server->n_neighbors; i++) {
		const struct topo_neighbor *other = &server->neighbors[i];
		double caused;

		if (!inside_share_socket(inside, gpus, other->gpus))
			continue;
		costs->suffered +=
			slowdown(inside->measured, job, other->job, one_socket);
		caused = slowdown(inside->measured, other->job, job,
				  is_on_one(inside, other->gpus));
		costs->caused += caused;
		n_slowed += caused > 0;
	}
	if (server->n_neighbors)
		costs->suffered /= (double)server->n_neighbors;
	if (n_slowed)
		costs->caused /= n_slowed;
}

struct topo_costs
topo_costs_of(const struct topo_server *server, const double *least,
	      const struct pol_job *job, uint32_t n_gpus, uint64_t gpus)
{
	struct topo_costs costs = { .has_neighbors = server->n_neighbors > 0 };
	uint32_t n_left = server->n_free - n_gpus;

	if (gpus && n_gpus > 1)
		costs.communication = (distance(server->inside, gpus) - least[n_gpus]) /
				      (FAR_DISTANCE * n_gpus);
	if (gpus && server->inside->measured)
		add_interference(server, job, gpus, &costs);
	costs.fragmentation =
		(double)(server->n_free - (n_left < n_gpus ? n_left : n_gpus)) /
		server->n_gpus;
	if (costs.fragmentation == 1) /* As its code has it: nothing is cut up. */
		costs.fragmentation = 0;
	return costs;
}

static double
at_least(double cost)
{
	return fmax(cost, TOPO_MIN_COST);
}

double
topo_system_utility(const struct topo_weights *weights, const struct topo_costs *costs)
{
	double interference = at_least(costs->suffered);

	if (costs->has_neighbors)
		interference = (interference + at_least(costs->caused)) / 2;
	return 3 * cbrt(TOPO_MIN_COST) /
	       (pow(at_least(costs->communication), weights->communication) +
		pow(interference, weights->interference) +
		pow(at_least(costs->fragmentation), weights->fragmentation));
}

/* The weight of fragmentation goes to the others: each is half again as large. */
double
topo_job_utility(const struct topo_weights *weights, const struct topo_costs *costs)
{
	return 2 * sqrt(TOPO_MIN_COST) /
	       (pow(at_least(costs->communication), 1.5 * weights->communication) +
		pow(at_least(costs->suffered), 1.5 * weights->interference));
}
