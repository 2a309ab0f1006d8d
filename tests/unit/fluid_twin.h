/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fluid_twin.h - a naive solver of rates for comparison
 *
 * It computes all rates anew by progressive filling, one class of priority after the
 * other, and checks those of the fluid against these and against their definition.
 */
#ifndef TESTS_UNIT_FLUID_TWIN_H
#define TESTS_UNIT_FLUID_TWIN_H

#include <stdlib.h>
#include <string.h>

#include "engine/fluid.h"
#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "tests/unit/test.h"

#define MAX_PATH 5

/* A random network and its flows, in the twin's form. */
struct net {
	uint32_t n_links, n_flows;
	double *capacity_bps;
	uint32_t *paths; /* MAX_PATH entries per flow. */
	uint32_t *n_path;
	double *cap_bps, *weight, *bytes;
	uint8_t *priority;
	bool *is_active;
	double *rate_bps; /* The twin's result. */
};

static double
path_cap(const struct net *net, uint32_t f)
{
	double cap_bps = net->cap_bps[f] > 0 ? net->cap_bps[f] : INFINITY;

	for (uint32_t i = 0; i < net->n_path[f]; i++)
		cap_bps =
			fmin(cap_bps, net->capacity_bps[net->paths[f * MAX_PATH + i]]);
	return cap_bps;
}

static bool
crosses(const struct net *net, uint32_t f, uint32_t l)
{
	for (uint32_t i = 0; i < net->n_path[f]; i++)
		if (net->paths[f * MAX_PATH + i] == l)
			return true;
	return false;
}

/*
 * Progressive filling of the flows of a class over what higher classes leave: raises
 * all levels until a link is full.
 */
static void
fill_class_naively(struct net *net, uint8_t priority)
{
	bool *is_fixed = xcalloc(net->n_flows, sizeof *is_fixed);
	double *left_bps = xcalloc(net->n_links, sizeof *left_bps);

	for (uint32_t l = 0; l < net->n_links; l++) {
		left_bps[l] = net->capacity_bps[l];
		for (uint32_t f = 0; f < net->n_flows; f++)
			if (net->priority[f] > priority && crosses(net, f, l))
				left_bps[l] -= net->rate_bps[f];
		if (left_bps[l] < FLUID_LEFT_TOL * net->capacity_bps[l])
			left_bps[l] = 0;
	}
	for (uint32_t f = 0; f < net->n_flows; f++)
		is_fixed[f] = !net->is_active[f] || net->priority[f] != priority;
	for (;;) {
		double level = INFINITY;
		uint32_t full = UINT32_MAX, n_open = 0;

		for (uint32_t l = 0; l < net->n_links; l++) {
			double left = left_bps[l], weight = 0;

			for (uint32_t f = 0; f < net->n_flows; f++) {
				if (!net->is_active[f] || !crosses(net, f, l) ||
				    net->priority[f] != priority)
					continue;
				if (is_fixed[f])
					left -= net->rate_bps[f];
				else
					weight += net->weight[f];
			}
			if (weight > 0 && left / weight < level) {
				level = left / weight;
				full = l;
			}
		}
		for (uint32_t f = 0; f < net->n_flows; f++) {
			if (is_fixed[f])
				continue;
			n_open++;
			if (path_cap(net, f) / net->weight[f] <= level) {
				level = path_cap(net, f) / net->weight[f];
				full = UINT32_MAX;
			}
		}
		if (!n_open)
			break;
		for (uint32_t f = 0; f < net->n_flows; f++) {
			if (is_fixed[f])
				continue;
			if (full == UINT32_MAX
				    ? path_cap(net, f) / net->weight[f] > level
				    : !crosses(net, f, full))
				continue;
			is_fixed[f] = true;
			net->rate_bps[f] = level * net->weight[f];
		}
	}
	free(is_fixed);
	free(left_bps);
}

static void
fill_naively(struct net *net)
{
	memset(net->rate_bps, 0, net->n_flows * sizeof *net->rate_bps);
	for (uint32_t priority = FLUID_N_CLASSES; priority-- > 0;)
		for (uint32_t f = 0; f < net->n_flows; f++)
			if (net->is_active[f] && net->priority[f] == priority) {
				fill_class_naively(net, (uint8_t)priority);
				break;
			}
}

/* One of 'n' classes, the highest being 255. */
static uint8_t
draw_priority(struct rng *rng, uint32_t n)
{
	static const uint8_t classes[] = { 255, 0, 7, 8, 100 };

	return classes[rng_below(rng, n)];
}

static void
make_net(struct net *net, struct rng *rng, uint32_t n_links, uint32_t n_flows,
	 bool weighted)
{
	net->n_links = n_links;
	net->n_flows = n_flows;
	net->capacity_bps = xcalloc(n_links, sizeof(double));
	net->paths = xcalloc(n_flows * MAX_PATH, sizeof(uint32_t));
	net->n_path = xcalloc(n_flows, sizeof(uint32_t));
	net->cap_bps = xcalloc(n_flows, sizeof(double));
	net->weight = xcalloc(n_flows, sizeof(double));
	net->bytes = xcalloc(n_flows, sizeof(double));
	net->priority = xcalloc(n_flows, sizeof(uint8_t));
	net->is_active = xcalloc(n_flows, sizeof(bool));
	net->rate_bps = xcalloc(n_flows, sizeof(double));
	for (uint32_t l = 0; l < n_links; l++)
		net->capacity_bps[l] = 1e9 * (double)(10 + rng_below(rng, 6) * 18);
	for (uint32_t f = 0; f < n_flows; f++) {
		net->n_path[f] = 1 + (uint32_t)rng_below(rng, MAX_PATH);
		for (uint32_t i = 0; i < net->n_path[f]; i++)
			net->paths[f * MAX_PATH + i] =
				(uint32_t)rng_below(rng, n_links);
		if (rng_below(rng, 4) == 0)
			net->cap_bps[f] = 1e9 * (1 + 20 * rng_uniform(rng));
		net->weight[f] = weighted ? 0.25 + 4 * rng_uniform(rng) : 1;
		net->bytes[f] = 1e6 * (1 + rng_uniform(rng));
	}
}

static void
free_net(struct net *net)
{
	free(net->capacity_bps);
	free(net->paths);
	free(net->n_path);
	free(net->cap_bps);
	free(net->weight);
	free(net->bytes);
	free(net->priority);
	free(net->is_active);
	free(net->rate_bps);
}

static void
init_fluid(struct fluid *fl, const struct net *net, bool keeps_all)
{
	fluid_init(fl, net->capacity_bps, net->n_links, keeps_all);
	for (uint32_t f = 0; f < net->n_flows; f++)
		fluid_add_flow(fl, f / 3, 0, net->paths + f * MAX_PATH, net->n_path[f],
			       net->bytes[f], net->cap_bps[f], net->weight[f]);
	fluid_rebuild(fl);
}

/*
 * True if the flow is at its cap, or on a link that flows of its class and higher ones
 * fill and where no flow of its class has a higher level.
 */
static bool
has_certificate(const struct fluid *fl, const struct net *net, uint32_t f)
{
	double rate_bps = fl->flows[f].rate_bps;

	if (rate_bps >= path_cap(net, f) * (1 - 1e-9))
		return true;
	for (uint32_t l = 0; l < net->n_links; l++) {
		double sum_bps = 0, max_level = 0;

		if (!crosses(net, f, l))
			continue;
		for (uint32_t g = 0; g < net->n_flows; g++) {
			if (!net->is_active[g] || !crosses(net, g, l) ||
			    net->priority[g] < net->priority[f])
				continue;
			sum_bps += fl->flows[g].rate_bps;
			if (net->priority[g] == net->priority[f])
				max_level = fmax(max_level, fl->flows[g].rate_bps /
								    net->weight[g]);
		}
		if (sum_bps >= net->capacity_bps[l] * (1 - 1.1e-9) &&
		    max_level <= rate_bps / net->weight[f] * (1 + 1e-9))
			return true;
	}
	return false;
}

/* No link above its capacity, and each flow with its certificate. */
static void
check_invariants(const struct fluid *fl, const struct net *net)
{
	double *sum_bps = xcalloc(net->n_links, sizeof *sum_bps);

	for (uint32_t f = 0; f < net->n_flows; f++)
		for (uint32_t l = 0; l < net->n_links; l++)
			if (net->is_active[f] && crosses(net, f, l))
				sum_bps[l] += fl->flows[f].rate_bps;
	for (uint32_t l = 0; l < net->n_links; l++)
		assert_true(sum_bps[l] <= net->capacity_bps[l] * (1 + 1e-9));
	for (uint32_t f = 0; f < net->n_flows; f++)
		assert_true(!net->is_active[f] || has_certificate(fl, net, f));
	free(sum_bps);
}

/* What each flow has sent, summed up at each step, agrees with the fluid. */
static void
check_work(const struct fluid *fl, const struct net *net, const double *sent_bits,
	   double now_ns)
{
	for (uint32_t f = 0; f < net->n_flows; f++) {
		double work = fl->specs[f].work;

		if (net->is_active[f])
			assert_near(fluid_work_left(fl, f, now_ns),
				    work - 1e9 * sent_bits[f], 1e-9 * work);
		else
			assert_true(fl->finish_ns[f] == INFINITY);
		if (net->is_active[f] && fl->flows[f].rate_bps <= 0)
			assert_true(fl->finish_ns[f] == INFINITY);
	}
}

/*
 * Flips flows on and off in batches and compares after each.  With classes, flows
 * change theirs, also while they send.
 */
static inline void
run_classes(uint64_t seed, uint32_t n_links, uint32_t n_flows, bool weighted,
	    bool keeps_all, uint32_t n_steps, uint32_t n_classes)
{
	struct rng rng;
	struct net net;
	struct fluid fl;
	double *sent_bits = xcalloc(n_flows, sizeof *sent_bits), now_ns = 0;

	rng_init(&rng, seed);
	make_net(&net, &rng, n_links, n_flows, weighted);
	init_fluid(&fl, &net, keeps_all);
	for (uint32_t step = 0; step < n_steps; step++) {
		uint64_t n_flips = 1 + rng_below(&rng, 3);

		for (uint64_t i = 0; i < n_flips; i++) {
			uint32_t f = (uint32_t)rng_below(&rng, n_flows);

			if (net.is_active[f])
				fluid_stop(&fl, f);
			else if (rng_below(&rng, 2))
				fluid_start(&fl, f, now_ns);
			else
				fluid_start_midway(&fl, f,
						   now_ns + fluid_alone_ns(&fl, f));
			sent_bits[f] = 0;
			net.is_active[f] = !net.is_active[f];
			if (n_classes == 1 || rng_below(&rng, 2) == 0)
				continue;
			f = (uint32_t)rng_below(&rng, n_flows);
			net.priority[f] = draw_priority(&rng, n_classes);
			fluid_set_priority(&fl, f, net.priority[f]);
		}
		if (rng_below(&rng, 50) == 0)
			fluid_rebuild(&fl);
		fluid_solve(&fl, now_ns);
		fill_naively(&net);
		for (uint32_t f = 0; f < n_flows; f++)
			assert_near(fl.flows[f].rate_bps, net.rate_bps[f],
				    1e-9 * net.rate_bps[f] + (n_classes > 1));
		check_invariants(&fl, &net);
		for (uint32_t f = 0; f < n_flows; f++)
			sent_bits[f] += net.is_active[f] ? net.rate_bps[f] * 1e-9 : 0;
		now_ns += 1;
		check_work(&fl, &net, sent_bits, now_ns);
	}
	fluid_fini(&fl);
	free_net(&net);
	free(sent_bits);
}

#endif
