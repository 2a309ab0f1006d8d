/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cluster/fabric_move.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "scheduler/core/advise/moves_search.h"
#include "scheduler/core/advise/place.h"
#include "sim/cluster/fabric_heal.h"
#include "sim/cluster/fabric_priv.h"
#include "topology/topo.h"

#define N_STEPS 3 /* That are simulated. */

/* A search over the grants of a plan; arrays are by grant. */
struct mover {
	struct fabric *fabric;
	const struct pol_view *view;
	struct pol_plan *plan;
	size_t n;
	struct workload workload; /* Shallow: placed jobs own what it points to. */
	struct moves_job *jobs;
	double *before, *after; /* Slowdowns. */
	uint32_t *n_workers;    /* Zero between steps. */
	uint32_t *grant_of;     /* By id. */
	size_t largest;         /* Component of the plan at hand. */
	double *slowdowns;      /* To be filled by note_slowdowns(). */
	struct place *place;
};

static const struct pol_grant *
grant_of(const struct mover *m, size_t i)
{
	return &m->plan->grants.items[i];
}

static struct pol_piece *
pieces_of(const struct mover *m, size_t i)
{
	return m->plan->pieces.items + grant_of(m, i)->first_piece;
}

/* ---- The jobs of the plan -------------------------------------------------------- */

/* Whether it runs and stays where it is. */
static bool
stays(const struct mover *m, size_t i)
{
	const struct pol_grant *grant = grant_of(m, i);
	const struct pol_job *job = &m->view->jobs[grant->job];

	return job->n_pieces == grant->n_pieces &&
	       memcmp(job->pieces, pieces_of(m, i),
		      grant->n_pieces * sizeof *job->pieces) == 0;
}

/* Whether its pieces are its own and alike. */
static bool
is_simple(const struct mover *m, size_t i)
{
	const struct pol_grant *grant = grant_of(m, i);
	const struct pol_piece *pieces = pieces_of(m, i);

	if (grant->n_owners || grant->given.of[NEED_CPUS] > 0 ||
	    grant->group != grant->job || pol_plan_names_gpus(m->plan, grant))
		return false;
	for (uint32_t k = 1; k < grant->n_pieces; k++)
		if (pieces[k].n_gpus != pieces[0].n_gpus)
			return false;
	for (size_t k = 0; k < m->n; k++)
		if (k != i && grant_of(m, k)->group == grant->job)
			return false;
	for (size_t k = 0; k < m->plan->owners.n; k++)
		if (m->plan->owners.items[k].job == grant->job)
			return false;
	return true;
}

/* Predicted, or as long as it has run; next to nothing for a start without either. */
static double
left_s(const struct pol_job *job)
{
	double left = job->executed_s;

	if (!isnan(job->predicted_s))
		left = job->predicted_s - job->executed_s;
	return fmax(left, 1);
}

static void
take_job(struct mover *m, size_t i)
{
	static struct profile silent = { .period_us = 1000000 };
	const struct pol_grant *grant = grant_of(m, i);
	const struct pol_job *job = &m->view->jobs[grant->job];
	struct fabric *fabric = m->fabric;
	struct placed *placed = fabric_try(fabric, job, pieces_of(m, i),
					   grant->n_pieces, grant->n_gpus);
	struct work_job *work = &m->workload.jobs[i];
	bool is_waiting = !stays(m, i);

	m->grant_of[grant->job] = (uint32_t)i;
	*work = (struct work_job){ .n_hosts_wanted = grant->n_pieces,
				   .profile = silent };
	if (placed) {
		*work = placed->job;
		work->paths = placed->routed.paths;
		work->n_paths = work->paths ? placed->routed.flows.n : 0;
	}
	work->slots_per_host = pieces_of(m, i)[0].n_gpus;
	work->weight = grant->n_gpus;
	m->jobs[i] = (struct moves_job){
		.weight = grant->n_gpus,
		.left_s = left_s(job),
		.cost_s = fabric->opts.move_cost_s > 0 ? fabric->opts.move_cost_s : NAN,
		.is_movable = (placed || grant->n_pieces == 1) && is_simple(m, i) &&
			      !moves_is_resting(fabric->moves.items, fabric->moves.n,
						m->view->now_s, job->id),
		.is_waiting = is_waiting,
	};
}

/* Puts the jobs with flows, and those that may move, on the place. */
static void
fill_place(struct mover *m)
{
	struct fabric *fabric = m->fabric;
	const struct pol_cluster *cluster = m->view->cluster;
	int64_t *free_gpus = xcalloc(topo_n_nodes(fabric->topo) + 1, sizeof *free_gpus);

	m->place = place_new(fabric->topo, fabric->routes, &m->workload,
			     fabric->paths ? PLACE_CHOSEN : PLACE_HASHED);
	for (uint32_t i = 0; i < cluster->n_nodes; i++)
		free_gpus[fabric->hosts[i]] = pol_node_gpus(cluster, i);
	for (uint32_t i = 0; i < m->n; i++) {
		const struct pol_grant *grant = grant_of(m, i);
		uint32_t *hosts = xcalloc(grant->n_pieces, sizeof *hosts);

		for (uint32_t k = 0; k < grant->n_pieces; k++) {
			hosts[k] = fabric->hosts[pieces_of(m, i)[k].node];
			if (grant->group == grant->job && !grant->n_owners)
				free_gpus[hosts[k]] -= pieces_of(m, i)[k].n_gpus;
		}
		if ((m->jobs[i].is_movable || m->workload.jobs[i].n_segments) &&
		    place_put(m->place, i, hosts) < 0)
			BUG("a placed job has no path");
		free(hosts);
		/* The paths of elsewhere are others. */
		m->workload.jobs[i].paths = NULL;
		m->workload.jobs[i].n_paths = 0;
	}
	for (uint32_t i = 0; i < topo_n_nodes(fabric->topo); i++)
		place_set_free_slots(m->place, i, free_gpus[i]);
	free(free_gpus);
}

static void
mover_init(struct mover *m, struct fabric *fabric, const struct pol_view *view,
	   struct pol_plan *plan)
{
	size_t n = plan->grants.n;

	*m = (struct mover){
		.fabric = fabric,
		.view = view,
		.plan = plan,
		.n = n,
		.workload = { .jobs = xcalloc(n + 1, sizeof(struct work_job)), .n = n },
		.jobs = xcalloc(n + 1, sizeof *m->jobs),
		.before = xcalloc(n + 1, sizeof *m->before),
		.after = xcalloc(n + 1, sizeof *m->after),
		.n_workers = xcalloc(n + 1, sizeof *m->n_workers),
		.grant_of = xcalloc((size_t)view->n_ids + 1, sizeof *m->grant_of),
	};
}

static void
mover_fini(struct mover *m)
{
	place_free(m->place);
	free(m->workload.jobs);
	free(m->jobs);
	free(m->before);
	free(m->after);
	free(m->n_workers);
	free(m->grant_of);
}

/* ---- Steps ----------------------------------------------------------------------- */

/* The node of a host; hosts ascend. */
static uint32_t
node_of(const struct fabric *fabric, const struct pol_cluster *cluster, uint32_t host)
{
	uint32_t low = 0, high = cluster->n_nodes;

	while (low + 1 < high) {
		uint32_t middle = (low + high) / 2;

		if (fabric->hosts[middle] <= host)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Exchanges the pieces of the plan's jobs with those of the step. */
static void
set_nodes(struct mover *m, const struct moves_step *step, uint32_t *const *hosts)
{
	for (uint32_t i = 0; i < step->n_jobs; i++)
		for (uint32_t k = 0; k < grant_of(m, step->jobs[i])->n_pieces; k++)
			pieces_of(m, step->jobs[i])[k].node =
				node_of(m->fabric, m->view->cluster, hosts[i][k]);
}

static void
note_slowdowns(struct fabric *fabric, const uint32_t *at, void *ctx)
{
	struct mover *m = ctx;
	struct fabric_known known;

	(void)at;
	if (fabric->members.n > m->largest)
		m->largest = fabric->members.n;
	if (m->largest > FABRIC_MANY)
		return;
	known = fabric_recall(fabric);
	for (size_t i = 0; i < fabric->members.n; i++)
		m->slowdowns[m->grant_of[fabric->members.items[i]->id]] =
			1 / known.speeds[i];
}

/* Simulates the plan as it is; false if a component is too large. */
static bool
simulate(struct mover *m, double *ret_slowdowns)
{
	m->slowdowns = ret_slowdowns;
	m->largest = 0;
	for (size_t i = 0; i < m->n; i++)
		ret_slowdowns[i] = 1;
	fabric_place_plan(m->fabric, m->view, m->plan, true);
	fabric_components(m->fabric, note_slowdowns, m);
	return m->largest <= FABRIC_MANY;
}

/* Bills a step by simulation; the plan is as before afterwards. */
static void
bill_step(struct mover *m, const struct moves_step *step, struct moves_bill *bill)
{
	uint32_t *old[MOVES_STEP_JOBS] = { NULL };
	bool is_small;

	for (uint32_t i = 0; i < step->n_jobs; i++) {
		const struct pol_grant *grant = grant_of(m, step->jobs[i]);

		old[i] = xcalloc(grant->n_pieces, sizeof *old[i]);
		for (uint32_t k = 0; k < grant->n_pieces; k++)
			old[i][k] =
				m->fabric->hosts[pieces_of(m, step->jobs[i])[k].node];
		m->n_workers[step->jobs[i]] = step->n_workers[i];
	}
	set_nodes(m, step, step->hosts);
	is_small = simulate(m, m->after);
	if (is_small)
		moves_bill(m->jobs, m->n, m->before, m->after, m->n_workers, bill);
	else
		*bill = step->bill;
	set_nodes(m, step, old);
	for (uint32_t i = 0; i < step->n_jobs; i++) {
		m->n_workers[step->jobs[i]] = 0;
		free(old[i]);
	}
}

static void
take_step(struct mover *m, const struct moves_step *step, const struct moves_bill *bill,
	  double *ret_lost_s)
{
	struct fabric *fabric = m->fabric;

	set_nodes(m, step, step->hosts);
	for (uint32_t i = 0; i < step->n_jobs; i++) {
		uint32_t at = step->jobs[i];

		ret_lost_s[at] = moves_lost_s(&m->jobs[at], step->n_workers[i]);
		if (m->jobs[at].is_waiting) {
			fabric->counts.n_starts_moved++;
			continue;
		}
		fabric->counts.n_moves++;
		fabric->counts.moved_lost_s += ret_lost_s[at];
		vec_push(&fabric->moves,
			 ((struct moves_past){ grant_of(m, at)->job, m->view->now_s,
					       bill->payback_s }));
	}
}

/* Takes the best of the steps that pay; false: none does. */
static bool
take_best(struct mover *m, const struct moves_steps *steps, double *ret_lost_s)
{
	const struct moves_step *best = NULL;
	struct moves_bill best_bill = { 0 };
	bool is_small = steps->n > 0 && simulate(m, m->before);

	for (size_t i = 0; i < steps->n; i++) {
		struct moves_bill bill = steps->items[i].bill;

		if (is_small)
			bill_step(m, &steps->items[i], &bill);
		if (bill.pays && (!best || bill.gain - bill.cost >
						   best_bill.gain - best_bill.cost)) {
			best = &steps->items[i];
			best_bill = bill;
		}
	}
	if (best)
		take_step(m, best, &best_bill, ret_lost_s);
	return best;
}

/* ---- The interface to the cluster ------------------------------------------------ */

static double
share_of(const struct fabric *fabric)
{
	return fabric->opts.moves_per_hour > 0 ? fabric->opts.moves_per_hour
					       : MOVES_SHARE_PER_HOUR;
}

uint32_t
fabric_moves_allowed(const struct fabric *fabric, double now_s, uint32_t n_running)
{
	return moves_allowed(fabric->moves.items, fabric->moves.n, now_s, n_running,
			     share_of(fabric));
}

/* Forgets moves that no longer count. */
static void
forget_moves(struct fabric *fabric, double now_s)
{
	const double window_s = 3600 / fmin(1, share_of(fabric));
	size_t n = 0;

	for (size_t i = 0; i < fabric->moves.n; i++) {
		const struct moves_past *past = &fabric->moves.items[i];

		if (past->at_s + fmax(window_s, past->payback_s) > now_s)
			fabric->moves.items[n++] = *past;
	}
	fabric->moves.n = n;
}

void
fabric_move(void *ctx, const struct pol_view *view, struct pol_plan *plan,
	    double *ret_lost_s)
{
	struct fabric *fabric = ctx;
	struct moves_opts opts = { .seed = fabric->opts.seed,
				   .n_tries = FABRIC_MOVE_TRIES,
				   .n_max = N_STEPS };
	struct moves_steps steps = { 0 };
	struct mover m;
	uint32_t n_running = 0;

	forget_moves(fabric, view->now_s);
	if (fabric_heal(fabric, view, plan, ret_lost_s) || view->now_s < fabric->look_s)
		return;
	mover_init(&m, fabric, view, plan);
	fabric_place_plan(fabric, view, plan, true);
	for (size_t i = 0; i < m.n; i++) {
		take_job(&m, i);
		n_running += !m.jobs[i].is_waiting;
	}
	opts.n_allowed = fabric_moves_allowed(fabric, view->now_s, n_running);
	/* Two starts may exchange nodes without a move. */
	if (opts.n_allowed > 0 || m.n > n_running + 1) {
		fill_place(&m);
		moves_search(m.place, m.jobs, &opts, &steps);
	}
	if (!take_best(&m, &steps, ret_lost_s))
		fabric->look_s = view->now_s + FABRIC_MOVE_EVERY_S;
	moves_steps_fini(&steps);
	mover_fini(&m);
}
