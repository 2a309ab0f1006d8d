/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c - the steps from events to a plan. */
#include "policies/policy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "policies/augment.h"
#include "policies/lease.h"
#include "policies/params.h"
#include "policies/places.h"

enum slot {
	ADMIT,
	ORDER,
	SIZE,
	PLACE,
	PLANNER,
	N_SLOTS,
};

struct policy {
	const struct policy_spec *spec;
	const struct pol_cluster *cluster;
	double round_s;
	struct pol_costs costs;
	const struct pol_place *place;
	const struct pol_module *modules[N_SLOTS]; /* NULL: none. */
	void *states[N_SLOTS];                     /* Owned. */
	struct rng rngs[N_SLOTS], vary_rng;
	struct augment_room vary;
	VEC(uint32_t) outside; /* Submitted, but not admitted yet. */
	VEC(uint32_t) ids;     /* In the order of service. */
	VEC(uint32_t) types;   /* By place in 'ids': the type of GPUs wanted. */
	VEC(struct pol_want) wants;
	VEC(struct pol_free) frees; /* One; or one for each type. */
	VEC(uint32_t) n_free;       /* Free GPUs of each of 'frees', by node. */
	VEC(uint32_t) n_left;       /* Of each, while jobs are chosen. */
	VEC(bool) is_chosen;        /* By id, where jobs may have several types. */
	double decided_s;
};

const struct policy_spec *
policy_find(const char *name)
{
	for (const struct policy_spec *spec = policy_table; spec->name; spec++)
		if (strcmp(spec->name, name) == 0)
			return spec;
	return NULL;
}

/* ---- Parameters ------------------------------------------------------------------ */

static bool
is_known(const struct policy *policy, const char *set)
{
	for (int slot = 0; slot < N_SLOTS; slot++)
		if (policy->modules[slot] && params_have(policy->modules[slot], set))
			return true;
	return false;
}

static int
begin_module(struct policy *policy, enum slot slot, const struct policy_opts *opts,
	     struct err *err)
{
	const struct pol_module *module = policy->modules[slot];
	double *values;
	int r = params_find(module, policy->spec->params, opts ? opts->sets : NULL,
			    opts ? opts->n_sets : 0, &values, err);

	if (r < 0)
		return r;
	rng_init_stream(&policy->rngs[slot], opts ? opts->seed : 1, slot);
	policy->states[slot] = xcalloc(1, module->state_size + 1);
	if (module->init)
		module->init(policy->states[slot], values, policy->cluster,
			     &policy->rngs[slot]);
	if (module->samples && opts && opts->n_samples)
		module->samples(policy->states[slot], opts->samples, opts->n_samples);
	if (module->leases && policy->spec->drive == POL_LEASES)
		module->leases(policy->states[slot], policy->round_s);
	if (module->rounds && policy->spec->drive == POL_ROUNDS)
		module->rounds(policy->states[slot], policy->round_s);
	free(values);
	return 0;
}

/* Returns -EINVAL, with a message that lists the placements. */
static int
no_such_place(const char *name, struct err *err)
{
	int r = err_set(err, NULL, 0, 0, "there is no placement '%.40s'; expected",
			name);

	for (const struct pol_place *const *place = place_all; *place; place++)
		err_append(err, "%s %s", place == place_all ? "" : ",",
			   (*place)->module.name);
	return r;
}

static struct pol_costs
costs_of(const struct policy_spec *spec, const struct policy_opts *opts)
{
	double restart_s =
		opts && !isnan(opts->restart_s) ? opts->restart_s : spec->restart_s;

	return (struct pol_costs){
		.restart_s = restart_s,
		.resize_s = opts && opts->resize_s ? *opts->resize_s : restart_s,
		.migrate_s = opts && opts->migrate_s ? *opts->migrate_s : restart_s,
	};
}

int
policy_new(const struct policy_spec *spec, const struct policy_opts *opts,
	   const struct pol_cluster *cluster, struct policy **ret_policy,
	   struct err *err)
{
	struct policy *policy = xcalloc(1, sizeof *policy);
	int r = 0;

	*policy = (struct policy){
		.spec = spec,
		.cluster = cluster,
		.round_s = opts && !isnan(opts->round_s) ? opts->round_s : spec->round_s,
		.costs = costs_of(spec, opts),
		.place = opts && opts->place && spec->place ? place_find(opts->place)
							    : spec->place,
		.modules = {
			[ADMIT] = spec->admit ? &spec->admit->module : NULL,
			[ORDER] = spec->order ? &spec->order->module : NULL,
			[SIZE] = spec->size ? &spec->size->module : NULL,
			[PLANNER] = spec->planner ? &spec->planner->module : NULL,
		},
		.decided_s = -INFINITY,
	};
	rng_init_stream(&policy->vary_rng, opts ? opts->seed : 1, N_SLOTS);
	if (policy->place)
		policy->modules[PLACE] = &policy->place->module;
	if (opts && opts->place && !place_find(opts->place))
		r = no_such_place(opts->place, err);
	for (size_t i = 0; r == 0 && opts && i < opts->n_sets; i++)
		if (strchr(opts->sets[i], '=') && !is_known(policy, opts->sets[i]))
			r = err_set(err, NULL, 0, 0,
				    "'%s' has no parameter '%.*s'; see 'antiphase sim "
				    "policies %s'",
				    spec->name, (int)strcspn(opts->sets[i], "="),
				    opts->sets[i], spec->name);
	for (int slot = 0; r == 0 && slot < N_SLOTS; slot++)
		if (policy->modules[slot])
			r = begin_module(policy, slot, opts, err);
	if (r < 0) {
		policy_free(policy);
		return r;
	}
	*ret_policy = policy;
	return 0;
}

void
policy_free(struct policy *policy)
{
	if (!policy)
		return;
	for (int slot = 0; slot < N_SLOTS; slot++) {
		if (policy->states[slot] && policy->modules[slot]->fini)
			policy->modules[slot]->fini(policy->states[slot]);
		free(policy->states[slot]);
	}
	vec_free(&policy->outside);
	vec_free(&policy->ids);
	vec_free(&policy->types);
	vec_free(&policy->wants);
	vec_free(&policy->frees);
	vec_free(&policy->n_free);
	vec_free(&policy->n_left);
	vec_free(&policy->is_chosen);
	augment_room_fini(&policy->vary);
	free(policy);
}

struct pol_costs
policy_costs(const struct policy *policy)
{
	return policy->costs;
}

bool
policy_keeps_places(const struct policy *policy)
{
	return policy->cluster->n_types == 1 && !policy->spec->planner &&
	       policy->spec->keep != POL_KEEP_NOTHING;
}

double
policy_round_s(const struct policy *policy)
{
	return policy->spec->drive == POL_EVENTS ? INFINITY : policy->round_s;
}

static bool
has_types(const struct policy *policy)
{
	return policy->spec->order && policy->spec->order->types;
}

uint32_t
policy_max_gpus(const struct policy *policy)
{
	const struct pol_cluster *cluster = policy->cluster;
	bool by_type = policy->spec->planner && policy->spec->planner->by_type;
	uint32_t most = 0;

	if (!has_types(policy) && !by_type)
		return cluster->n_all_gpus;
	for (uint32_t type = 0; type < cluster->n_types; type++) {
		uint32_t n = pol_cluster_gpus(cluster, type);

		most = n > most ? n : most;
	}
	return most;
}

/* ---- Events ---------------------------------------------------------------------- */

static void
notify(struct policy *policy, const struct pol_view *view, enum pol_event event,
       const struct pol_job *job, enum slot from, enum slot to)
{
	for (int slot = from; slot <= (int)to; slot++)
		if (policy->states[slot] && policy->modules[slot]->on_event)
			policy->modules[slot]->on_event(policy->states[slot], view,
							event, job);
}

/* Admits the jobs that may be considered. */
static void
admit(struct policy *policy, const struct pol_view *view)
{
	size_t n = 0;

	for (size_t i = 0; i < policy->outside.n; i++) {
		const struct pol_job *job = &view->jobs[policy->outside.items[i]];

		if (policy->spec->admit &&
		    !policy->spec->admit->admit(policy->states[ADMIT], view, job))
			policy->outside.items[n++] = job->id;
		else
			notify(policy, view, POL_ARRIVED, job, ORDER, PLANNER);
	}
	policy->outside.n = n;
}

void
policy_event(struct policy *policy, const struct pol_view *view, enum pol_event event,
	     const struct pol_job *job)
{
	notify(policy, view, event, job, ADMIT, ADMIT);
	if (event == POL_ARRIVED)
		vec_push(&policy->outside, job->id);
	else
		notify(policy, view, event, job, ORDER, PLANNER);
}

/* When the next lease ends. */
static double
next_lease_end_s(const struct policy *policy, const struct pol_view *view)
{
	double next_s = INFINITY;

	for (uint32_t i = 0; i < view->n_jobs; i++)
		next_s = fmin(next_s, lease_end_s(&view->jobs[view->ids[i]],
						  view->now_s, policy->round_s));
	return next_s;
}

/*
 * The number of the last round that has begun.  Rounds are counted from time 0; a
 * quotient may be rounded to the round before or after.
 */
static double
round_of(const struct policy *policy, const struct pol_view *view)
{
	double k = floor(view->now_s / policy->round_s);

	if ((k + 1) * policy->round_s <= view->now_s)
		return k + 1;
	return k * policy->round_s > view->now_s ? k - 1 : k;
}

double
policy_wakeup_s(struct policy *policy, const struct pol_view *view)
{
	double next_s = INFINITY;

	for (int slot = 0; slot < N_SLOTS; slot++)
		if (policy->states[slot] && policy->modules[slot]->wakeup_s)
			next_s = fmin(next_s, policy->modules[slot]->wakeup_s(
						      policy->states[slot], view));
	if (policy->spec->drive == POL_LEASES)
		next_s = fmin(next_s, next_lease_end_s(policy, view));
	if (policy->spec->drive == POL_ROUNDS && view->n_jobs)
		next_s = fmin(next_s, (round_of(policy, view) + 1) * policy->round_s);
	/* Advances by at least the clock's resolution, so that time goes on. */
	return fmax(next_s, nextafter(view->now_s, INFINITY));
}

bool
policy_is_due(const struct policy *policy, const struct pol_view *view)
{
	if (policy->spec->drive != POL_ROUNDS)
		return true;
	return policy->decided_s < round_of(policy, view) * policy->round_s;
}

/* ---- Deciding -------------------------------------------------------------------- */

/* Frees all GPUs, or those of each type. */
static void
free_all(struct policy *policy)
{
	const struct pol_cluster *cluster = policy->cluster;
	uint32_t n = has_types(policy) ? cluster->n_types : 1;

	policy->n_free.n = policy->frees.n = 0;
	vec_reserve(&policy->n_free, (size_t)n * cluster->n_nodes + 1);
	for (uint32_t k = 0; k < n; k++) {
		struct pol_free free = { .n_free = policy->n_free.items +
						   policy->n_free.n };

		for (uint32_t i = 0; i < cluster->n_nodes; i++) {
			bool counts = !has_types(policy) || cluster->type_of[i] == k;
			uint32_t n_gpus = counts ? pol_node_gpus(cluster, i) : 0;

			vec_push(&policy->n_free, n_gpus);
			free.n_all += n_gpus;
		}
		vec_push(&policy->frees, free);
	}
}

static struct pol_free *
free_for(struct policy *policy, const struct pol_want *want)
{
	return &policy->frees.items[has_types(policy) ? want->type : 0];
}

/* Fills what each job in the order of service is to get. */
static void
want(struct policy *policy, const struct pol_view *view, uint32_t n)
{
	const struct policy_spec *spec = policy->spec;

	policy->wants.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct pol_job *job = &view->jobs[policy->ids.items[i]];

		vec_push(&policy->wants, place_want(job));
	}
	if (has_types(policy)) {
		vec_reserve(&policy->types, n + 1);
		spec->order->types(policy->states[ORDER], policy->types.items);
		for (uint32_t i = 0; i < n; i++)
			policy->wants.items[i].type = policy->types.items[i];
	}
	if (spec->size)
		spec->size->size(policy->states[SIZE], view, policy->wants.items, n);
}

static void
grant(struct pol_plan *plan, const struct pol_want *want, size_t first_piece)
{
	pol_plan_grant(plan, want->job, want->n_gpus, want->job, first_piece);
	plan->grants.items[plan->grants.n - 1].n_ranks = want->n_ranks;
}

/* Gives the job its present pieces; false if it has none that fit and are free. */
static inline bool
keep(const struct pol_view *view, const struct pol_want *want, struct pol_free *free,
     struct pol_plan *plan)
{
	size_t first = plan->pieces.n;

	if (!want->n_held || want->n_held != want->n_gpus ||
	    !place_keep(&view->jobs[want->job], free, plan))
		return false;
	grant(plan, want, first);
	return true;
}

static bool
place(struct policy *policy, const struct pol_view *view, const struct pol_want *want,
      struct pol_free *free, struct pol_plan *plan)
{
	size_t first = plan->pieces.n;

	if (want->n_gpus > free->n_all ||
	    !policy->place->place(policy->states[PLACE], view, want, free, plan))
		return false;
	grant(plan, want, first);
	return true;
}

/* Whether the job is already chosen, for another type. */
static bool
is_chosen(const struct policy *policy, const struct pol_want *want)
{
	return has_types(policy) && policy->is_chosen.items[want->job];
}

static void
begin_choice(struct policy *policy)
{
	policy->n_left.n = 0;
	for (size_t i = 0; i < policy->frees.n; i++)
		vec_push(&policy->n_left, policy->frees.items[i].n_all);
	for (size_t i = 0; has_types(policy) && i < policy->wants.n; i++) {
		while (policy->is_chosen.n <= policy->wants.items[i].job)
			vec_push(&policy->is_chosen, false);
		policy->is_chosen.items[policy->wants.items[i].job] = false;
	}
}

/* Chooses jobs by number of GPUs; the others get nothing. */
static void
choose(struct policy *policy)
{
	bool is_over = false;

	begin_choice(policy);
	for (size_t i = 0; i < policy->wants.n; i++) {
		struct pol_want *want = &policy->wants.items[i];
		uint32_t *n_left =
			&policy->n_left
				 .items[free_for(policy, want) - policy->frees.items];

		if (is_over || want->n_gpus > *n_left || is_chosen(policy, want)) {
			is_over |= policy->spec->order->fit == POL_STRICT;
			want->n_gpus = 0;
		} else if (has_types(policy)) {
			policy->is_chosen.items[want->job] = true;
		}
		*n_left -= want->n_gpus;
	}
}

/* The next smaller requested number of GPUs; 0: none. */
static uint32_t
next_size(const struct policy *policy, uint32_t below)
{
	uint32_t size = 0;

	for (size_t i = 0; i < policy->wants.n; i++) {
		uint32_t n = policy->wants.items[i].n_gpus;

		if (n > size && n < below)
			size = n;
	}
	return size;
}

/* Places the chosen jobs, the largest first. */
static void
serve_chosen(struct policy *policy, const struct pol_view *view, struct pol_plan *plan)
{
	struct pol_want *wants = policy->wants.items;
	size_t n = policy->wants.n;

	choose(policy);
	for (uint32_t size = next_size(policy, UINT32_MAX); size;
	     size = next_size(policy, size)) {
		for (size_t i = 0; i < n; i++)
			if (wants[i].n_gpus == size &&
			    keep(view, &wants[i], free_for(policy, &wants[i]), plan))
				wants[i].n_gpus = 0;
		for (size_t i = 0; i < n; i++)
			if (wants[i].n_gpus == size)
				place(policy, view, &wants[i],
				      free_for(policy, &wants[i]), plan);
	}
}

/* Serves jobs in order from the free GPUs. */
static void
serve(struct policy *policy, const struct pol_view *view, struct pol_plan *plan)
{
	const struct policy_spec *spec = policy->spec;
	struct pol_free *free = &policy->frees.items[0];
	struct pol_want *wants = policy->wants.items;
	size_t n = policy->wants.n;

	if (spec->drive == POL_LEASES) {
		for (size_t i = 0; i < n; i++)
			if (lease_holds(&view->jobs[wants[i].job], view->now_s,
					policy->round_s) &&
			    keep(view, &wants[i], free, plan))
				wants[i].n_gpus = 0;
	}
	if (spec->keep == POL_KEEP_CHOSEN) {
		serve_chosen(policy, view, plan);
		return;
	}
	/* Jobs that stay keep their GPUs before others are placed. */
	if (spec->keep == POL_KEEP_PLACE)
		choose(policy);
	if (spec->keep != POL_KEEP_NOTHING) {
		for (size_t i = 0; i < n; i++)
			if (wants[i].n_gpus && keep(view, &wants[i], free, plan))
				wants[i].n_gpus = 0;
	}
	for (size_t i = 0; i < n && free->n_all; i++) {
		if (!wants[i].n_gpus)
			continue;
		if (!place(policy, view, &wants[i], free, plan) &&
		    spec->order->fit == POL_STRICT)
			break;
	}
}

/* Makes the policy's own plan, or several with a planner. */
static uint32_t
plan(struct policy *policy, const struct pol_view *view, struct pol_plan *plans,
     uint32_t n_max)
{
	const struct policy_spec *spec = policy->spec;
	uint32_t n;

	vec_reserve(&policy->ids, (size_t)view->n_jobs * policy->cluster->n_types + 1);
	if (spec->planner)
		return spec->planner->plan(policy->states[PLANNER], view, plans, n_max);
	n = spec->order->order(policy->states[ORDER], view, policy->ids.items);
	want(policy, view, n);
	free_all(policy);
	serve(policy, view, &plans[0]);
	return 1;
}

static const uint32_t *
parts_of(const struct policy *policy)
{
	const struct pol_planner *planner = policy->spec->planner;

	return planner && planner->parts ? planner->parts(policy->states[PLANNER])
					 : NULL;
}

/* Its placement, if it scatters. */
static const struct pol_place *
scattering(const struct policy *policy)
{
	bool scatters = policy->place && policy->place->scatters &&
			policy->cluster->n_types == 1;

	return scatters ? policy->place : NULL;
}

static bool
is_fixed(const struct policy *policy)
{
	return policy->spec->planner && policy->spec->planner->is_fixed;
}

bool
policy_vary(struct policy *policy, const struct pol_view *view,
	    const struct pol_plan *base, struct pol_plan *plan)
{
	return !is_fixed(policy) &&
	       augment_vary_one(&policy->vary, view, scattering(policy),
				policy->states[PLACE], parts_of(policy),
				&policy->vary_rng, base, plan);
}

uint32_t
policy_decide(struct policy *policy, const struct pol_view *view,
	      struct pol_plan *plans, uint32_t n_max)
{
	uint32_t n;

	admit(policy, view);
	policy->decided_s = view->now_s;
	for (uint32_t i = 0; i < n_max; i++)
		pol_plan_clear(&plans[i]);
	n = plan(policy, view, plans, n_max);
	if (is_fixed(policy))
		return n;
	return augment_vary(&policy->vary, view, scattering(policy),
			    policy->states[PLACE], parts_of(policy), &policy->vary_rng,
			    plans, n, n_max);
}

void
policy_taken(struct policy *policy, const struct pol_view *view,
	     const struct pol_plan *plan)
{
	if (policy->spec->order && policy->spec->order->served)
		policy->spec->order->served(policy->states[ORDER], view, plan);
}
