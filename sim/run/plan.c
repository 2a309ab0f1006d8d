/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/run/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "topology/route.h"

const char *const sim_policy_names[N_SIM_POLICIES + 1] = {
	"none",       "fair",       "cassini", "antiphase",  "spray", "crux",
	"crux-paths", "monkeytree", "mltcp",   "mltcp-text", NULL,
};

void
sim_plan_fini(struct sim_plan *plan)
{
	for (size_t i = 0; i < plan->n; i++) {
		routed_job_fini(&plan->jobs[i].routed);
		free(plan->jobs[i].hosts);
	}
	free(plan->jobs);
	*plan = (struct sim_plan){ 0 };
}

/* 'advice' (NULL: none) may have paths. */
static int
place(const struct scenario *scenario, size_t job, const uint32_t *hosts,
      const struct advice *advice, const struct topo *topo, struct routes *routes,
      struct sim_plan_job *planned, struct err *err)
{
	const struct work_job *work = &scenario->workload.jobs[job];
	struct work_job routed_as = *work;
	int error;

	if (advice && advice->paths) {
		routed_as.n_paths = advice->n_paths;
		routed_as.paths = xcalloc(advice->n_paths, sizeof *routed_as.paths);
		for (size_t i = 0; i < advice->n_paths; i++)
			routed_as.paths[i] = advice->paths[i].number;
	}
	error = routed_job_make(&routed_as, hosts, topo, routes, &planned->routed);
	if (routed_as.paths != work->paths)
		free(routed_as.paths);
	if (error < 0)
		return err_set(err, scenario->file, scenario->details[job].line, 0,
			       "job '%s': there is no path between two of its hosts",
			       work->name);
	planned->is_placed = true;
	planned->hosts = xmemdup(hosts, work->n_hosts_wanted, sizeof *hosts);
	return 0;
}

static enum engine_pacing
engine_pacing_of(enum scenario_pacing pacing)
{
	switch (pacing) {
	case SCENARIO_PACE_REALIGN:
		return ENGINE_PACE_REALIGN;
	case SCENARIO_PACE_GATE:
		return ENGINE_PACE_GATE;
	case SCENARIO_PACE_STEER:
		return ENGINE_PACE_STEER;
	default:
		return ENGINE_PACE_FREE;
	}
}

/* ---- From the scenario ---------------------------------------------------------- */

static int
plan_none(const struct scenario *scenario, const struct topo *topo,
	  struct routes *routes, enum scenario_pacing pacing, struct sim_plan *plan,
	  struct err *err)
{
	for (size_t j = 0; j < plan->n; j++) {
		const struct work_job *job = &scenario->workload.jobs[j];
		struct sim_plan_job *planned = &plan->jobs[j];

		if (!job->hosts)
			return err_set(
				err, scenario->file, scenario->details[j].line, 0,
				"job '%s' has no hosts; set 'hosts', or choose a "
				"policy with --policy",
				job->name);
		if (place(scenario, j, job->hosts, NULL, topo, routes, planned, err) <
		    0)
			return -EINVAL;
		if (pacing == SCENARIO_PACE_NONE)
			continue;
		planned->shift_ns = job->shift_ns;
		planned->pacing = engine_pacing_of(pacing);
	}
	return 0;
}

/* ---- From a policy -------------------------------------------------------------- */

/*
 * A requested pacing applies to jobs with a phase.  Jobs without one have no grid;
 * they stay at a gate only if gates are requested.  Steering needs no phase: it
 * applies to all.
 */
static enum engine_pacing
overridden(const struct advice *advice, enum scenario_pacing pacing)
{
	if (pacing == SCENARIO_PACE_UNSET)
		return advice->pacing;
	if (advice->is_phased || pacing == SCENARIO_PACE_STEER)
		return engine_pacing_of(pacing);
	return pacing == SCENARIO_PACE_GATE ? advice->pacing : ENGINE_PACE_FREE;
}

static int
plan_advised(const struct scenario *scenario, struct topo *topo, struct routes *routes,
	     enum advise_policy policy, unsigned levers, enum scenario_pacing pacing,
	     struct sim_plan *plan, struct err *err)
{
	const struct advise_opts opts = {
		.policy = policy,
		.levers = levers,
		.seed = scenario->sim.seed,
	};
	struct advice_set *set;
	int error = 0;

	if (advise(&scenario->workload, topo, routes, &opts, &set) < 0)
		return err_set(err, scenario->file, 0, 0,
			       "there is no path between two hosts of a job");
	for (size_t i = 0; i < set->n && error == 0; i++) {
		const struct advice *advice = &set->items[i];
		struct sim_plan_job *planned = &plan->jobs[advice->job];

		if (!advice->hosts)
			continue;
		error = place(scenario, advice->job, advice->hosts, advice, topo,
			      routes, planned, err);
		planned->has_paths = advice->paths != NULL;
		planned->reason = advice->reason;
		planned->move_lost_s = advice->move ? advice->move->lost_s : 0;
		if (pacing == SCENARIO_PACE_NONE)
			continue;
		planned->shift_ns = advice->shift_us * 1000;
		planned->is_aligned = advice->is_phased;
		planned->pacing = overridden(advice, pacing);
	}
	advice_set_free(set);
	return error;
}

/* ---- By a published system -------------------------------------------------------- */

/* Places as under "fair", over all equally short paths at once. */
static int
plan_sprayed(const struct scenario *scenario, struct topo *topo,
	     enum scenario_pacing pacing, struct sim_plan *plan, struct err *err)
{
	struct routes *routes = routes_new_spraying(topo, scenario->fabric.ecmp_seed);
	int error =
		plan_advised(scenario, topo, routes, ADVISE_FAIR, 0, pacing, plan, err);

	routes_free(routes);
	return error;
}

/* Places as under "fair", then paths and priorities for all jobs at once. */
static int
plan_baseline(const struct scenario *scenario, struct topo *topo, struct routes *routes,
	      enum baseline baseline, enum scenario_pacing pacing,
	      struct sim_plan *plan, struct err *err)
{
	struct baseline_job *jobs = xcalloc(plan->n + 1, sizeof *jobs);
	int error =
		plan_advised(scenario, topo, routes, ADVISE_FAIR, 0, pacing, plan, err);
	size_t n = 0;

	plan->mltcp = baseline_mltcp(baseline);
	for (size_t j = 0; j < plan->n; j++) {
		const struct work_job *work = &scenario->workload.jobs[j];

		if (plan->jobs[j].is_placed)
			jobs[n++] = (struct baseline_job){
				.work = work,
				.hosts = plan->jobs[j].hosts,
				.routed = &plan->jobs[j].routed,
				.n_gpus = (double)work->n_hosts_wanted *
					  work->slots_per_host,
			};
	}
	if (error == 0)
		error = baseline_route(baseline, jobs, n, topo, routes,
				       scenario->sim.seed);
	if (error == -ENOTSUP)
		err_set(err, scenario->file, 0, 0,
			"monkeytree needs a fabric with two tiers of switches");
	for (size_t j = 0, i = 0; j < plan->n; j++)
		if (plan->jobs[j].is_placed)
			plan->jobs[j].priority = jobs[i++].priority;
	free(jobs);
	return error;
}

static int
plan_any(const struct scenario *scenario, struct topo *topo, struct routes *routes,
	 int policy, unsigned levers, enum scenario_pacing pacing,
	 struct sim_plan *plan, struct err *err)
{
	if (policy == SIM_POLICY_NONE)
		return plan_none(scenario, topo, routes,
				 pacing ? pacing : scenario->sim.pacing, plan, err);
	if (policy == SIM_POLICY_SPRAY)
		return plan_sprayed(scenario, topo, pacing, plan, err);
	if (policy >= SIM_POLICY_BASELINE)
		return plan_baseline(scenario, topo, routes,
				     (enum baseline)(policy - SIM_POLICY_BASELINE),
				     pacing, plan, err);
	plan->has_reasons = true;
	return plan_advised(scenario, topo, routes,
			    (enum advise_policy)(policy - SIM_POLICY_ADVISE), levers,
			    pacing, plan, err);
}

int
sim_plan_make(const struct scenario *scenario, struct topo *topo, struct routes *routes,
	      int policy, unsigned levers, enum scenario_pacing pacing,
	      struct sim_plan *ret_plan, struct err *err)
{
	struct sim_plan plan = { .n = scenario->workload.n };
	int64_t start_ns = clk_cpu_ns();
	int error;

	plan.jobs = xcalloc(plan.n, sizeof *plan.jobs);
	error = plan_any(scenario, topo, routes, policy, levers, pacing, &plan, err);
	plan.solve_ns = clk_cpu_ns() - start_ns;
	if (error < 0) {
		sim_plan_fini(&plan);
		return error;
	}
	*ret_plan = plan;
	return 0;
}

static bool
is_same_job(const struct sim_plan_job *a, const struct sim_plan_job *b, size_t n_hosts)
{
	if (!a->is_placed || !b->is_placed)
		return a->is_placed == b->is_placed;
	return memcmp(a->hosts, b->hosts, n_hosts * sizeof *a->hosts) == 0 &&
	       !a->has_paths && !b->has_paths && a->shift_ns == b->shift_ns &&
	       a->pacing == b->pacing && a->is_aligned == b->is_aligned;
}

bool
sim_plan_is_same(const struct sim_plan *a, const struct sim_plan *b,
		 const struct workload *workload)
{
	if (!a->has_reasons || !b->has_reasons)
		return false;
	for (size_t j = 0; j < workload->n; j++)
		if (!is_same_job(&a->jobs[j], &b->jobs[j],
				 workload->jobs[j].n_hosts_wanted))
			return false;
	return true;
}

void
sim_plan_report_moves(const struct sim_plan *plan, const struct scenario *scenario,
		      const char *policy)
{
	for (size_t j = 0; j < plan->n; j++)
		if (plan->jobs[j].move_lost_s > 0)
			fprintf(stderr,
				"%s: %s: job '%s' moves before its first "
				"iteration; the %g s that it loses are not in the figures\n",
				log_program(), policy, scenario->workload.jobs[j].name,
				plan->jobs[j].move_lost_s);
}
