/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/replay/replay.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/stats.h"
#include "policies/params.h"
#include "policies/places.h"
#include "sim/apps/work_epochs.h"
#include "sim/cluster/work_inside.h"
#include "sim/cluster/work_muri.h"

#define MAX_SETS     128
#define MAX_EMULATED 4
/* Muri's simulator keeps one list of ends, in which such times are the same. */
#define MURI_CLOSE 1e-9

const char *const replay_semantics_names[] = {
	[REPLAY_PLAIN] = "plain",
	[REPLAY_TIRESIAS] = "tiresias",
	[REPLAY_MURI] = "muri",
	[REPLAY_SIA] = "sia",
	NULL,
};

/* Deviations of published simulators, on which their numbers depend. */
static const struct emulation {
	enum replay_semantics semantics;
	const char *policy;             /* NULL: all others. */
	const char *sets[MAX_EMULATED]; /* NULL: no more. */
	const char *place;
	double close_ends; /* Of cluster.h. */
} emulations[] = {
	{ REPLAY_TIRESIAS, "las", { "las.quantum_rounding=1" }, NULL, 0 },
	{ REPLAY_TIRESIAS, "2d-las", { "2d-las.quantum_rounding=1" }, NULL, 0 },
	{ REPLAY_TIRESIAS, "2d-gittins", { "2d-gittins.quantum_rounding=1" }, NULL, 0 },
	{ REPLAY_TIRESIAS, "tiresias", { "2d-las.quantum_rounding=1" }, NULL, 0 },
	{ REPLAY_TIRESIAS,
	  "longest-pending",
	  { "longest-pending.skip_behind_started=1" },
	  NULL,
	  0 },
	{ REPLAY_MURI, "las", { "las.quantum_rounding=2" }, "count", 0 },
	{ REPLAY_MURI, "2d-las", { "2d-las.quantum_rounding=2" }, "count", 0 },
	{ REPLAY_MURI, "tiresias", { "2d-las.quantum_rounding=2" }, "skew", 0 },
	{ REPLAY_MURI,
	  "themis-lp",
	  { "finish-time.muri_semantics=1" },
	  "whole",
	  MURI_CLOSE },
	{ REPLAY_MURI,
	  "muri-s",
	  { "muri.use_requested_duration=1" },
	  NULL,
	  MURI_CLOSE },
	{ REPLAY_MURI, NULL, { NULL }, "whole", MURI_CLOSE },
	{ REPLAY_SIA,
	  "gavel-throughput",
	  { "throughput.in_steps=1", "deficit.recompute_s=0", "deficit.since_arrival=1",
	    "deficit.types_together=1" },
	  NULL,
	  0 },
};

/* ---- Parameters ------------------------------------------------------------------ */

size_t
replay_modules(const struct policy_spec *spec, const char *place,
	       struct replay_module *ret_modules)
{
	const struct pol_place *other = place ? place_find(place) : NULL;
	const struct pol_place *placed = other && spec->place ? other : spec->place;
	const struct replay_module all[REPLAY_MODULES] = {
		{ "admission", spec->admit ? &spec->admit->module : NULL },
		{ "order", spec->order ? &spec->order->module : NULL },
		{ "size", spec->size ? &spec->size->module : NULL },
		{ "placement", placed ? &placed->module : NULL },
		{ "planner", spec->planner ? &spec->planner->module : NULL },
	};
	size_t n = 0;

	for (size_t i = 0; i < REPLAY_MODULES; i++)
		if (all[i].module)
			ret_modules[n++] = all[i];
	return n;
}

bool
replay_has_param(const struct policy_spec *spec, const char *place, const char *set)
{
	struct replay_module modules[REPLAY_MODULES];
	size_t n = replay_modules(spec, place, modules);

	for (size_t i = 0; i < n; i++)
		if (params_have(modules[i].module, set))
			return true;
	return false;
}

/* ---- A run ----------------------------------------------------------------------- */

static const struct emulation *
find_emulation(enum replay_semantics semantics, const char *policy)
{
	for (size_t i = 0; i < sizeof emulations / sizeof *emulations; i++)
		if (emulations[i].semantics == semantics &&
		    (!emulations[i].policy ||
		     strcmp(emulations[i].policy, policy) == 0))
			return &emulations[i];
	return NULL;
}

static int
new_policy(const struct policy_spec *spec, const struct replay_opts *opts,
	   struct replay *replay, struct policy **ret_policy, struct err *err)
{
	const struct emulation *emulation = find_emulation(opts->semantics, spec->name);
	struct policy_opts policy_opts = opts->policy;
	const char *sets[MAX_SETS + MAX_EMULATED];
	size_t n_sets = 0;

	if (opts->policy.n_sets > MAX_SETS)
		return err_set(err, NULL, 0, 0, "more than %d parameters", MAX_SETS);
	for (size_t i = 0; emulation && i < MAX_EMULATED && emulation->sets[i]; i++)
		sets[n_sets++] = emulation->sets[i];
	for (size_t i = 0; i < opts->policy.n_sets; i++)
		if (replay_has_param(spec, opts->policy.place, opts->policy.sets[i]))
			sets[n_sets++] = opts->policy.sets[i];
	policy_opts.sets = sets;
	policy_opts.n_sets = n_sets;
	if (opts->apps) { /* Their work has its own restart_s. */
		policy_opts.restart_s = 0;
		policy_opts.resize_s = policy_opts.migrate_s = NULL;
	}
	if (!policy_opts.place && emulation && spec->place)
		policy_opts.place = emulation->place;
	/* A planner places jobs itself. */
	if (!spec->place)
		replay->place = NULL;
	else
		replay->place = policy_opts.place ? policy_opts.place
						  : spec->place->module.name;
	return policy_new(spec, &policy_opts, &opts->cluster, ret_policy, err);
}

static void
sum_up(const struct joblist *list, const struct replay_opts *opts, struct replay *r)
{
	double *jcts = xcalloc(list->n + 1, sizeof *jcts), sum = 0, wait = 0, gpu_s = 0;
	double end_s = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct cluster_result *result = &r->results[i];
		double submit_s = list->jobs[i].submit_s;

		r->n_begun += !isnan(result->first_s);
		gpu_s += result->attained_s;
		if (isnan(result->end_s))
			continue;
		sum += result->end_s - submit_s;
		wait += result->first_s - submit_s;
		end_s = fmax(end_s, result->end_s);
		jcts[r->n_done++] = result->end_s - submit_s;
	}
	stats_sort(jcts, r->n_done);
	r->mean_s = r->median_s = r->p99_s = r->max_s = r->wait_mean_s = NAN;
	r->makespan_s = r->gpu_share = NAN;
	if (r->n_done) {
		r->mean_s = sum / (double)r->n_done;
		r->wait_mean_s = wait / (double)r->n_done;
		r->median_s = stats_quantile(jcts, r->n_done, 0.5);
		r->p99_s = jcts[(size_t)(0.99 * (double)r->n_done)];
		r->max_s = jcts[r->n_done - 1];
		r->makespan_s = end_s;
	}
	if (r->n_done < list->n && opts->until_s < INFINITY)
		end_s = opts->until_s;
	if (!r->was_interrupted)
		r->fairness = fairness_of(list->jobs, r->results, list->n,
					  opts->cluster.n_all_gpus, end_s);
	if (list->n && end_s > list->jobs[0].submit_s && !r->was_interrupted)
		r->gpu_share = gpu_s / ((end_s - list->jobs[0].submit_s) *
					opts->cluster.n_all_gpus);
	free(jcts);
}

static struct replay_times
sum_up_times(const struct fabric_times *times)
{
	double n = histogram_weight(&times->iteration_s);

	return (struct replay_times){
		.n = n,
		.mean_s = histogram_mean(&times->iteration_s),
		.p99_s = histogram_quantile(&times->iteration_s, 0.99),
		.slowdown_mean = histogram_mean(&times->slowdown),
		.slowdown_p99 = histogram_quantile(&times->slowdown, 0.99),
		.ecn_packets = n > 0 ? times->ecn_packets / n : NAN,
	};
}

/* Measured jobs train in the rounds of the policy. */
static int
make_epochs(struct joblist *list, const struct policy_spec *spec,
	    const struct replay_opts *opts, struct epochs **ret_epochs, struct err *err)
{
	const struct policy_opts *user = &opts->policy;
	struct epochs_opts epochs_opts = {
		.tick_s = isnan(user->round_s) ? spec->round_s : user->round_s,
		.restart_s = user->restart_s,
		.adapts = spec->adapts,
		.moves_are_free = opts->semantics == REPLAY_SIA,
		.cluster = &opts->cluster,
		.stride = opts->apps_by_type ? opts->n_apps : 0,
	};
	struct epochs_job *jobs;
	size_t bad = 0;
	int r = 0;

	if (isnan(user->restart_s) && !opts->apps_by_type)
		epochs_opts.restart_s = spec->restart_s;
	if (spec->drive != POL_ROUNDS)
		return err_set(err, NULL, 0, 0,
			       "--apps needs a policy with rounds, and '%s' has none",
			       spec->name);
	jobs = xcalloc(list->n + 1, sizeof *jobs);
	for (size_t i = 0; r == 0 && i < list->n; i++) {
		const char *name = joblist_model(list, list->jobs[i].model);

		jobs[i] = (struct epochs_job){
			.app = apps_find(opts->apps, opts->n_apps, name),
			.submit_s = list->jobs[i].submit_s,
			.n_gpus = list->jobs[i].n_gpus,
			.batch = list->jobs[i].batch,
		};
		if (!jobs[i].app)
			r = err_set(err, NULL, 0, 0,
				    "job %.60s trains '%.40s', which was not measured",
				    joblist_id(list, i), name);
	}
	if (r == 0 &&
	    epochs_new(jobs, list->n, &epochs_opts, ret_epochs, list->jobs, &bad) < 0)
		r = err_set(err, NULL, 0, 0,
			    "job %.60s was not measured on %u GPUs with a batch of %u",
			    joblist_id(list, bad), jobs[bad].n_gpus, jobs[bad].batch);
	free(jobs);
	return r;
}

/* In Muri's semantics, durations follow from iterations. */
static int
make_work(struct joblist *list, const struct policy_spec *spec,
	  const struct replay_opts *opts, struct work_muri *muri,
	  struct fabric **ret_fabric, struct epochs **ret_epochs,
	  struct cluster_work *ret_work, struct err *err)
{
	*ret_work = (struct cluster_work){ 0 };
	if (opts->apps) {
		int r = make_epochs(list, spec, opts, ret_epochs, err);

		if (r == 0)
			*ret_work = epochs_work(*ret_epochs);
		return r;
	}
	if (opts->topo) {
		struct fabric_opts fabric_opts = opts->fabric;
		int r;

		/* A planner has its own state of nodes. */
		fabric_opts.may_move = spec->place != NULL;
		r = fabric_new(&opts->cluster, opts->topo, opts->catalog->models,
			       opts->model_of, list->n, &fabric_opts, ret_fabric, err);
		for (size_t i = 0; i < list->n; i++)
			list->jobs[i].skew =
				model_catalog_skew(opts->catalog, opts->model_of[i]);
		if (r == 0)
			*ret_work = fabric_work(*ret_fabric);
		return r;
	}
	if (opts->speeds)
		*ret_work = replay_speeds_work(opts->speeds);
	if (opts->semantics != REPLAY_MURI)
		return 0;
	for (size_t i = 0; i < list->n; i++)
		if (!(list->jobs[i].iterations > 0) || !(list->jobs[i].iteration_s > 0))
			return err_set(err, NULL, 0, 0,
				       "job %.60s lacks iterations or iteration_s, "
				       "which --semantics muri needs",
				       joblist_id(list, i));
	work_muri_init(muri, list->jobs, list->n, joblist_model, list);
	*ret_work = work_muri_work(muri);
	return 0;
}

/* Reports why cluster_run() refused a job. */
static void
refuse_job(const struct joblist *list, size_t bad, const struct cluster_job *job,
	   const struct policy *policy, int r, struct err *err)
{
	const char *id = joblist_id(list, bad);
	double round_s = policy_round_s(policy);

	if (r == -ERANGE)
		err_set(err, NULL, 0, 0,
			"job %.60s takes %g s, which are %.3g rounds of %g s; at most "
			"%g are replayed: leave it out ('antiphase trace filter "
			"--max-duration'), or set --until or --round",
			id, job->duration_s, job->duration_s / round_s, round_s,
			CLUSTER_MAX_ROUNDS);
	else if (r == -EINVAL)
		err_set(err, NULL, 0, 0,
			"job %.60s needs %u GPUs, the cluster has "
			"%u",
			id, job->n_gpus, policy_max_gpus(policy));
}

int
replay_run(const struct joblist *list, const struct policy_spec *spec,
	   const struct replay_opts *opts, struct replay *ret_replaying,
	   struct err *err)
{
	struct joblist mine = *list;
	struct work_muri muri = { 0 };
	struct fabric *fabric = NULL;
	struct epochs *epochs = NULL;
	struct work_inside *inside = NULL;
	struct cluster_work work;
	const struct emulation *emulation = find_emulation(opts->semantics, spec->name);
	struct cluster_opts cluster_opts = {
		.cluster = &opts->cluster,
		.work = &work,
		.until_s = opts->until_s,
		.check = opts->check,
		.close_ends = emulation ? emulation->close_ends : 0,
		.ctx = opts->ctx,
		.go_on = opts->go_on,
	};
	struct policy *policy = NULL;
	int64_t start_ns = clk_monotonic_ns();
	size_t bad = 0;
	int r;

	*ret_replaying = (struct replay){ .spec = spec };
	if (opts->topo)
		ret_replaying->augment = fabric_augment_names[opts->fabric.augment];
	mine.jobs = xcalloc(list->n + 1, sizeof *mine.jobs);
	memcpy(mine.jobs, list->jobs, list->n * sizeof *mine.jobs);
	ret_replaying->results = xcalloc(list->n + 1, sizeof *ret_replaying->results);
	r = new_policy(spec, opts, ret_replaying, &policy, err);
	if (r == 0)
		r = make_work(&mine, spec, opts, &muri, &fabric, &epochs, &work, err);
	if (r == 0 && opts->cluster.inside) {
		inside = work_inside_new(opts->cluster.inside);
		work_inside_add(inside, &work);
	}
	if (r == 0) {
		r = cluster_run(mine.jobs, mine.n, policy, &cluster_opts,
				ret_replaying->results, &ret_replaying->counts, &bad);
		ret_replaying->was_interrupted = r == -ECANCELED;
		if (r == -ECANCELED)
			r = 0;
		if (r < 0)
			refuse_job(list, bad, &mine.jobs[bad], policy, r, err);
	}
	if (r == 0)
		sum_up(list, opts, ret_replaying);
	if (fabric) {
		ret_replaying->fabric = fabric_counts(fabric);
		ret_replaying->times = sum_up_times(fabric_times(fabric));
	}
	ret_replaying->wall_s = (double)(clk_monotonic_ns() - start_ns) / 1e9;
	policy_free(policy);
	fabric_free(fabric);
	epochs_free(epochs);
	work_muri_fini(&muri);
	work_inside_free(inside);
	free(mine.jobs);
	if (r < 0)
		replay_fini(ret_replaying);
	return r;
}

bool
replay_restarts_freely(const struct replay *replay, const struct replay_opts *opts)
{
	return opts->semantics == REPLAY_PLAIN && !opts->apps &&
	       isnan(opts->policy.restart_s) && !(replay->spec->restart_s > 0) &&
	       replay->counts.n_preemptions + replay->counts.n_migrations > 0;
}

void
replay_fini(struct replay *replay)
{
	free(replay->results);
	replay->results = NULL;
}
