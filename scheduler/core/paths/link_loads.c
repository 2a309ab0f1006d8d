/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/paths/link_loads.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/vec.h"
#include "scheduler/core/paths/random_phase.h"
#include "scheduler/core/profile/profile.h"
#include "scheduler/core/solve/pair.h"
#include "topology/topo.h"

/* A factor below this is a rounding error of sums of factors. */
#define NO_FACTOR 1e-9

/* The load of all jobs on one link. */
struct link_state {
	VEC(struct link_load) loads;
	struct random_phase phases; /* Zeroed while no job is on the link. */
	double mean_bps, peak_bps;
	double weight;   /* Of all its jobs. */
	double gain_bps; /* Bound on what shifts gain, summed over pairs of jobs. */
	double cost;     /* e_l. */
};

/* A job's demand. */
struct demand {
	struct profile profile; /* Owned. */
	double mean_bps, peak_bps, weight;
	uint64_t serial; /* Of this demand among all; from 1. */
};

/* The last result of link_loads_added_harm() for a link. */
struct added {
	uint64_t serial; /* Of the demand; 0: none. */
	double factor, harm;
};

struct link_loads {
	const struct topo *topo;  /* Borrowed. */
	struct link_state *links; /* Owned. */
	double *harm;        /* Owned.  By link: dense, since it is summed often. */
	struct added *added; /* Owned.  By link. */
	VEC(struct demand) jobs;
	uint64_t n_demands; /* Set so far. */
	bool is_shifting;
};

struct link_loads *
link_loads_new(const struct topo *topo)
{
	struct link_loads *loads = xcalloc(1, sizeof *loads);

	loads->topo = topo;
	loads->is_shifting = true;
	loads->links = xcalloc(topo_n_links(topo) + 1, sizeof *loads->links);
	loads->harm = xcalloc(topo_n_links(topo) + 1, sizeof *loads->harm);
	loads->added = xcalloc(topo_n_links(topo) + 1, sizeof *loads->added);
	return loads;
}

void
link_loads_free(struct link_loads *loads)
{
	if (!loads)
		return;
	for (uint32_t l = 0; l < topo_n_links(loads->topo); l++) {
		vec_free(&loads->links[l].loads);
		random_phase_fini(&loads->links[l].phases);
	}
	for (size_t j = 0; j < loads->jobs.n; j++)
		profile_fini(&loads->jobs.items[j].profile);
	free(loads->links);
	free(loads->harm);
	free(loads->added);
	vec_free(&loads->jobs);
	free(loads);
}

void
link_loads_set_job(struct link_loads *loads, uint32_t job,
		   const struct profile *profile, double weight)
{
	while (loads->jobs.n <= job)
		vec_push(&loads->jobs, ((struct demand){ 0 }));
	profile_fini(&loads->jobs.items[job].profile);
	loads->jobs.items[job] = (struct demand){
		.mean_bps = profile_mean_bps(profile),
		.peak_bps = profile_peak_bps(profile),
		.weight = weight,
		.serial = ++loads->n_demands,
	};
	profile_copy(profile, &loads->jobs.items[job].profile);
}

/* ---- Adding and taking ----------------------------------------------------------- */

/* The index of a job on a link; the number of its loads if it is not there. */
static size_t
find(const struct link_state *l, uint32_t job)
{
	size_t i = 0;

	while (i < l->loads.n && l->loads.items[i].job != job)
		i++;
	return i;
}

/* The most that shifting one load against the others on the link gains. */
static double
gain_with_bps(const struct link_loads *loads, const struct link_state *l,
	      const struct link_load *load)
{
	const struct demand *jobs = loads->jobs.items;
	const struct pair_job job = { &jobs[load->job].profile, load->factor };
	double sum_bps = 0;

	for (size_t i = 0; i < l->loads.n; i++) {
		const struct link_load *other = &l->loads.items[i];

		if (other->job != load->job)
			sum_bps += pair_gain_bound_bps(
				&job, &(struct pair_job){ &jobs[other->job].profile,
							  other->factor });
	}
	return sum_bps;
}

static void
append(struct link_loads *loads, uint32_t link, uint32_t job, double factor)
{
	struct link_state *l = &loads->links[link];
	const struct demand *demand = &loads->jobs.items[job];
	struct link_load load = { job, factor };

	if (l->loads.n == 0)
		random_phase_init(&l->phases,
				  topo_link(loads->topo, link)->capacity_bps);
	l->gain_bps += gain_with_bps(loads, l, &load);
	vec_push(&l->loads, load);
	random_phase_add(&l->phases, &demand->profile, factor);
	l->mean_bps += factor * demand->mean_bps;
	l->peak_bps += factor * demand->peak_bps;
	l->weight += demand->weight;
}

/* Gives load i another factor.  Recomputes sums, so that they stay exact. */
static void
set_factor(struct link_loads *loads, uint32_t link, size_t i, double factor)
{
	struct link_state old = loads->links[link];

	random_phase_fini(&old.phases);
	loads->links[link] = (struct link_state){ 0 };
	for (size_t k = 0; k < old.loads.n; k++) {
		const struct link_load *load = &old.loads.items[k];
		double new = k == i ? factor : load->factor;

		if (new >= NO_FACTOR)
			append(loads, link, load->job, new);
	}
	vec_free(&old.loads);
}

/* e_l from its parts.  'gain_bps' is the most that shifts can remove from 'mu_bps'. */
static double
cost_of(const struct link_loads *loads, double load_bps, double mu_bps, double gain_bps,
	double capacity_bps)
{
	double least_bps;

	if (!loads->is_shifting)
		gain_bps = 0;
	least_bps = fmax(fmax(load_bps - capacity_bps, mu_bps - gain_bps), 0);
	return (least_bps + LINK_RESIDUE_FRAC * mu_bps) / capacity_bps;
}

static void
refresh_cost(struct link_loads *loads, uint32_t link)
{
	struct link_state *l = &loads->links[link];

	l->cost = 0;
	if (link_loads_is_exceedable(loads, link))
		l->cost =
			cost_of(loads, l->mean_bps, random_phase_excess_bps(&l->phases),
				l->gain_bps, l->phases.capacity_bps);
	loads->harm[link] = l->cost * l->weight;
	loads->added[link].serial = 0;
}

void
link_loads_set_shifting(struct link_loads *loads, bool is_shifting)
{
	if (loads->is_shifting == is_shifting)
		return;
	loads->is_shifting = is_shifting;
	for (uint32_t l = 0; l < topo_n_links(loads->topo); l++)
		refresh_cost(loads, l);
}

void
link_loads_add(struct link_loads *loads, uint32_t link, uint32_t job, double factor)
{
	const struct link_state *l = &loads->links[link];
	size_t i = find(l, job);

	if (i < l->loads.n)
		set_factor(loads, link, i, l->loads.items[i].factor + factor);
	else
		append(loads, link, job, factor);
	refresh_cost(loads, link);
}

void
link_loads_take(struct link_loads *loads, uint32_t link, uint32_t job, double factor)
{
	const struct link_state *l = &loads->links[link];
	size_t i = find(l, job);

	BUG_ON(i == l->loads.n);
	set_factor(loads, link, i, l->loads.items[i].factor - factor);
	refresh_cost(loads, link);
}

/* ---- Queries --------------------------------------------------------------------- */

const struct link_load *
link_loads_of(const struct link_loads *loads, uint32_t link, size_t *ret_n)
{
	*ret_n = loads->links[link].loads.n;
	return loads->links[link].loads.items;
}

bool
link_loads_is_exceedable(const struct link_loads *loads, uint32_t link)
{
	const struct link_state *l = &loads->links[link];

	return l->loads.n > 0 && l->peak_bps > LINK_FULL_FRAC * l->phases.capacity_bps;
}

double
link_loads_mean(const struct link_loads *loads, uint32_t link)
{
	return loads->links[link].mean_bps / topo_link(loads->topo, link)->capacity_bps;
}

double
link_loads_excess_bps(const struct link_loads *loads, uint32_t link)
{
	const struct link_state *l = &loads->links[link];

	return l->loads.n > 0 ? random_phase_excess_bps(&l->phases) : 0;
}

/* ---- Cost ------------------------------------------------------------------------ */

double
link_loads_cost(const struct link_loads *loads, uint32_t link)
{
	return loads->links[link].cost;
}

/* Excess and gain of the link with 'load' in place of load number 'at', if any. */
static void
evaluate_with(const struct link_loads *loads, uint32_t link,
	      const struct link_load *load, size_t at, double *ret_mu_bps,
	      double *ret_gain_bps)
{
	const struct link_state *l = &loads->links[link];
	struct link_state other = { 0 };

	*ret_gain_bps = gain_with_bps(loads, l, load);
	random_phase_init(&other.phases, topo_link(loads->topo, link)->capacity_bps);
	for (size_t i = 0; i < l->loads.n; i++) {
		const struct link_load *one = &l->loads.items[i];

		if (i == at)
			continue;
		random_phase_add(&other.phases, &loads->jobs.items[one->job].profile,
				 one->factor);
		*ret_gain_bps += gain_with_bps(loads, &other, one);
		vec_push(&other.loads, *one);
	}
	*ret_mu_bps = random_phase_excess_with_bps(
		&other.phases, &loads->jobs.items[load->job].profile, load->factor);
	random_phase_fini(&other.phases);
	vec_free(&other.loads);
}

double
link_loads_cost_with(const struct link_loads *loads, uint32_t link, uint32_t job,
		     double factor)
{
	const struct link_state *l = &loads->links[link];
	const struct demand *new = &loads->jobs.items[job];
	double capacity_bps = topo_link(loads->topo, link)->capacity_bps;
	double mean_bps = l->mean_bps + factor * new->mean_bps;
	struct link_load load = { job, factor };
	double gain_bps, mu_bps;
	size_t at = find(l, job);

	if (l->peak_bps + factor * new->peak_bps <= LINK_FULL_FRAC * capacity_bps)
		return 0;
	if (at == l->loads.n && l->loads.n > 0) {
		mu_bps =
			random_phase_excess_with_bps(&l->phases, &new->profile, factor);
		gain_bps = l->gain_bps + gain_with_bps(loads, l, &load);
	} else {
		/* Flows of one job collide, which no shift can change. */
		if (at < l->loads.n)
			load.factor += l->loads.items[at].factor;
		evaluate_with(loads, link, &load, at, &mu_bps, &gain_bps);
	}
	return cost_of(loads, mean_bps, mu_bps, gain_bps, capacity_bps);
}

double
link_loads_harm(const struct link_loads *loads, uint32_t link)
{
	return loads->harm[link];
}

/* The harm with 'factor' more of 'job'. */
static double
harm_with(const struct link_loads *loads, uint32_t link, uint32_t job, double factor)
{
	const struct link_state *l = &loads->links[link];
	double weight = l->weight;

	if (find(l, job) == l->loads.n)
		weight += loads->jobs.items[job].weight;
	return link_loads_cost_with(loads, link, job, factor) * weight;
}

double
link_loads_added_harm(struct link_loads *loads, uint32_t link, uint32_t job,
		      double factor)
{
	struct added *added = &loads->added[link];
	uint64_t serial = loads->jobs.items[job].serial;

	if (added->serial != serial || added->factor != factor)
		*added = (struct added){ serial, factor,
					 harm_with(loads, link, job, factor) -
						 link_loads_harm(loads, link) };
	return added->harm;
}

double
link_loads_total_harm(const struct link_loads *loads)
{
	double sum = 0;

	for (uint32_t l = 0; l < topo_n_links(loads->topo); l++)
		sum += loads->harm[l];
	return sum;
}
