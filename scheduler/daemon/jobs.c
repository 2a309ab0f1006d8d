/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/jobs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/strtab.h"
#include "scheduler/core/advise/advise.h"
#include "scheduler/daemon/config.h"
#include "scheduler/daemon/fabric_source.h"
#include "scheduler/daemon/jobs_priv.h"
#include "scheduler/daemon/persist.h"
#include "scheduler/daemon/telemetry.h"
#include "scheduler/live/live.h"
#include "scheduler/live/live_workload.h"
#include "topology/topo.h"

/* A profile that stays the same is stored again after this time. */
#define KEEP_NS (30 * JOBS_SECOND_NS)

/* A pacer that was silent for longer is gone. */
#define PACER_NS (60 * JOBS_SECOND_NS)
/* Pods that heed their annotations are listed far more often. */
#define READER_NS (60 * JOBS_SECOND_NS)

/* ---- The list ------------------------------------------------------------------------ */

struct jobs *
jobs_new(const struct jobs_opts *opts)
{
	struct jobs *jobs = xcalloc(1, sizeof *jobs);

	jobs->opts = *opts;
	if (jobs->opts.levers == 0)
		jobs->opts.levers = ADVISE_ALL_LEVERS;
	jobs->live = telemetry_live(opts->telemetry);
	jobs->profiler = telemetry_profiler(opts->telemetry);
	jobs->names = strtab_new();
	return jobs;
}

void
jobs_set_pacing(struct jobs *jobs, const struct jobs_pacing *pacing)
{
	jobs->pacing = *pacing;
}

void
jobs_set_outcomes(struct jobs *jobs, const struct jobs_outcomes *outcomes)
{
	jobs->outcomes = *outcomes;
}

static void
job_free(struct job *job)
{
	profile_fini(&job->profile);
	free(job->hosts);
	free(job->name);
	free(job->nodes);
	free(job->record);
	free(job->doc);
	jobs_move_free(job->move);
	free(job);
}

void
jobs_free(struct jobs *jobs)
{
	if (!jobs)
		return;
	for (size_t i = 0; i < jobs->items.n; i++)
		if (jobs->items.items[i])
			job_free(jobs->items.items[i]);
	vec_free(&jobs->items);
	vec_free(&jobs->by_number);
	live_workload_free(jobs->taking.running);
	jobs_stop_moving(jobs);
	advisor_free(jobs->advisor);
	strtab_free(jobs->names);
	free(jobs->is_silent);
	free(jobs->is_heard);
	free(jobs);
}

struct job *
jobs_find(const struct jobs *jobs, const char *name)
{
	uint32_t id = strtab_find(jobs->names, name);

	return id == STRTAB_NONE ? NULL : jobs->items.items[id];
}

struct job *
jobs_find_k8s(const struct jobs *jobs, const char *name)
{
	const char *slash = strchr(name, '/');
	struct job *job = jobs_find(jobs, name);

	return job || !slash ? job : jobs_find(jobs, slash + 1);
}

struct job *
jobs_of_number(const struct jobs *jobs, uint32_t number)
{

	return number < jobs->by_number.n ? jobs->by_number.items[number] : NULL;
}

/* The advisor's numbers are dense; those of jobs that are gone are used again. */
static void
note_number(struct jobs *jobs, struct job *job)
{
	while (jobs->by_number.n <= job->number)
		vec_push(&jobs->by_number, NULL);
	jobs->by_number.items[job->number] = job;
}

struct job *
jobs_make(struct jobs *jobs, const char *name)
{
	uint32_t id = strtab_intern(jobs->names, name);
	struct job *job;

	if (id == jobs->items.n)
		vec_push(&jobs->items, NULL);
	job = jobs->items.items[id];
	if (job)
		return job;
	job = xcalloc(1, sizeof *job);
	job->name = xstrdup(name);
	job->number = UINT32_MAX;
	job->refusal = JOBS_NO_PERIOD;
	job->move_s = NAN;
	job->began_us = clk_wall_us();
	/* Assumed until jobs_mark_running() checks it. */
	job->is_here = true;
	jobs->items.items[id] = job;
	return job;
}

static void
take_away(struct jobs *jobs, struct job *job)
{
	if (job->number == UINT32_MAX)
		return;
	jobs->pacing.on_remove(jobs->pacing.ctx, job->number);
	advisor_remove(jobs->advisor, job->name);
	jobs->by_number.items[job->number] = NULL;
	job->number = UINT32_MAX;
	profile_fini(&job->profile);
	free(job->hosts);
	job->hosts = NULL;
	job->n_hosts = 0;
	jobs_forget_move(job);
	job->is_ranked = false;
	job->is_by_pacer = false;
	job->revision = 0;
	job->paths_revision = 0;
}

void
jobs_stop_taking(struct jobs *jobs)
{
	live_workload_free(jobs->taking.running);
	jobs->taking = (struct jobs_taking){ .running = NULL };
}

size_t
jobs_n_places(const struct jobs *jobs)
{
	return jobs->items.n;
}

struct job *
jobs_at(const struct jobs *jobs, size_t place)
{
	return jobs->items.items[place];
}

struct advisor *
jobs_advisor(const struct jobs *jobs)
{
	return jobs->advisor;
}

bool
jobs_view(const struct jobs *jobs, const struct job *job, struct advisor_view *ret_view)
{
	return job->number != UINT32_MAX && !job->is_waiting &&
	       advisor_view(jobs->advisor, job->number, ret_view) &&
	       ret_view->is_solved;
}

/* ---- Refusing ------------------------------------------------------------------------ */

void
jobs_refuse(struct jobs *jobs, struct job *job, enum jobs_refusal why)
{
	take_away(jobs, job);
	if (job->doc && job->refusal == why)
		return;
	job->refusal = why;
	jobs_write_doc(jobs, job, NULL, NULL);
}

/* Refuses all jobs, once. */
void
jobs_mark_silent(struct jobs *jobs)
{
	const struct status status = telemetry_status(jobs->opts.telemetry);

	free(jobs->is_silent);
	free(jobs->is_heard);
	jobs->is_silent = jobs->is_heard = NULL;
	jobs->n_silent = 0;
	if (fabric_source_topo(jobs->opts.fabric)) {
		size_t n = topo_n_nodes(fabric_source_topo(jobs->opts.fabric)) + 1;

		jobs->is_silent = xcalloc(n, sizeof(bool));
		jobs->is_heard = xcalloc(n, sizeof(bool));
	}
	for (uint32_t i = 0; i < live_n_hosts(jobs->live); i++) {
		bool is_silent = status_is_silent(&status, i);
		uint32_t node = TOPO_NONE;

		jobs->n_silent += is_silent;
		if (fabric_source_topo(jobs->opts.fabric))
			node = topo_find_node(fabric_source_topo(jobs->opts.fabric),
					      live_host(jobs->live, i)->name);
		if (node == TOPO_NONE)
			continue;
		jobs->is_heard[node] = true;
		jobs->is_silent[node] |= is_silent;
	}
}

bool
jobs_has_silent(const struct jobs *jobs, const uint32_t *hosts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (jobs->is_silent && jobs->is_silent[hosts[i]])
			return true;
	return false;
}

/* ---- Handing jobs to the advisor -------------------------------------------------------- */

bool
jobs_has_pacer(const struct job *job)
{
	return job->report_ns && clk_monotonic_ns() - job->report_ns < PACER_NS;
}

static bool
is_near(double a, double b, double frac)
{
	return fabs(a - b) <= frac * fmax(fabs(a), fabs(b));
}

static bool
is_same_place(const struct job *job, const struct work_job *new, bool is_shiftable)
{
	return job->number != UINT32_MAX && job->is_waiting == !new->hosts &&
	       job->is_shiftable == is_shiftable &&
	       job->n_hosts == new->n_hosts_wanted &&
	       (!new->hosts ||
		memcmp(job->hosts, new->hosts, job->n_hosts * sizeof *job->hosts) == 0);
}

static bool
is_same_profile(const struct profile *a, const struct profile *b)
{
	return a->n_phases == b->n_phases &&
	       is_near((double)a->period_us, (double)b->period_us,
		       PROFILE_SAME_PERIOD_FRAC) &&
	       is_near(a->bytes_per_iteration, b->bytes_per_iteration,
		       PROFILE_SAME_BYTES_FRAC);
}

/*
 * Whether to keep the job as it is. A different profile must be seen twice in a row,
 * because it is solved again and gives steered jobs new windows. A pacer has already
 * seen it often enough.
 */
static bool
is_same(struct job *job, const struct work_job *new, bool is_shiftable,
	bool is_by_pacer)
{
	/* A first guess, from few iterations, becomes a better one. */
	bool is_refined = is_by_pacer && job->pacer_profile.n <= PACER_PROFILE_N_KEPT;

	if (!is_same_place(job, new, is_shiftable))
		return false;
	if (is_same_profile(&job->profile, &new->profile)) {
		job->n_different = 0;
		return true;
	}
	return !job->has_changed && !is_refined && ++job->n_different < 2;
}

static void
keep(struct jobs *jobs, struct job *job)
{
	job->kept_ns = clk_monotonic_ns();
	if (!job->is_waiting && !job->is_restored)
		persist_keep_profile(jobs->opts.store,
				     fabric_source_topo(jobs->opts.fabric), job,
				     sched_find_local(jobs->opts.snapshot, job->name));
}

void
jobs_put(struct jobs *jobs, struct job *job, const struct work_job *new,
	 bool is_by_pacer)
{
	bool is_shiftable =
		(jobs_has_pacer(job) && !job->is_observing) ||
		(job->reader_ns && clk_monotonic_ns() - job->reader_ns < READER_NS);
	uint32_t n_connections = job->n_connections;

	if (new->hosts)
		jobs_count_connections(jobs, job, new->hosts, new->n_hosts_wanted);
	if (n_connections == job->n_connections &&
	    is_same(job, new, is_shiftable, is_by_pacer)) {
		if (!job->n_different) {
			job->is_by_pacer = is_by_pacer;
			job->has_changed = false;
		}
		/* Stored again, so that a restart knows that it is recent. */
		if (clk_monotonic_ns() - job->kept_ns >= KEEP_NS)
			keep(jobs, job);
		return;
	}
	if (job->number != UINT32_MAX && job->is_waiting == !!new->hosts)
		take_away(jobs, job);
	/* A known job keeps its number and the state tracked for it. */
	if (jobs_put_on_paths(jobs, job, new, is_shiftable) < 0) {
		jobs_refuse(jobs, job, JOBS_NOT_PLACED);
		return;
	}
	note_number(jobs, job);
	job->n_different = 0;
	job->is_by_pacer = is_by_pacer;
	job->has_changed = false;
	profile_fini(&job->profile);
	profile_copy(&new->profile, &job->profile);
	/* The next round finds it again, if it still pays. */
	jobs_forget_move(job);
	free(job->hosts);
	job->hosts = new->hosts ? xmemdup(new->hosts, new->n_hosts_wanted,
					  sizeof *new->hosts)
				: NULL;
	job->n_hosts = new->n_hosts_wanted;
	job->is_shiftable = is_shiftable;
	job->is_waiting = !new->hosts;
	job->is_ranked = false;
	job->revision = 0;
	jobs_allow_paths(jobs, job);
	keep(jobs, job);
}

/* ---- Work for the advisor --------------------------------------------------------------- */

void
jobs_make_work(const char *name, uint32_t n_nodes, const struct profile *profile,
	       struct work_job *ret_job)
{
	*ret_job = (struct work_job){
		.name = xstrdup(name),
		.collective = COLLECTIVE_RING,
		.n_hosts_wanted = n_nodes,
		.slots_per_host = 1,
		.stop_ns = ENGINE_NEVER,
		.weight = n_nodes,
	};
	profile_copy(profile, &ret_job->profile);
	work_job_segments_from_profile(ret_job);
}

/* ---- Keeping up ------------------------------------------------------------------------ */

/* Frees their places on the list for new jobs. */
void
jobs_drop_gone(struct jobs *jobs)
{

	for (uint32_t i = 0; i < jobs->items.n; i++) {
		struct job *job = jobs->items.items[i];

		if (!job || job->is_here)
			continue;
		/* One that was not seen since a restart may just be seen late. */
		if (!job->is_restored)
			jobs_forget_paths(jobs, job);
		take_away(jobs, job);
		jobs->n_reported -= job->has_report;
		job_free(job);
		jobs->items.items[i] = NULL;
		strtab_remove(jobs->names, i);
	}
}

/* ---- Another fabric -------------------------------------------------------------------- */

/*
 * Restores a running job of the last run: advice uses its profile until traffic shows a
 * new one, or it is too old.
 */
static void
restore_job(void *ctx, const char *name, const struct profile *profile,
	    const uint32_t *hosts, uint32_t n_hosts, int64_t at_us)
{
	struct jobs *jobs = ctx;
	struct work_job new;
	struct job *job;

	if (!jobs->advisor || jobs_find(jobs, name))
		return;
	job = jobs_make(jobs, name);
	jobs_make_work(name, n_hosts, profile, &new);
	new.hosts = xmemdup(hosts, n_hosts, sizeof *hosts);
	job->is_here = job->is_restored = true;
	job->restored_us = at_us;
	jobs_put(jobs, job, &new, false);
	job->is_restored = job->number != UINT32_MAX;
	work_job_fini(&new);
}

/* Once, when the fabric is known. */
static void
restore(struct jobs *jobs)
{
	struct err err;

	if (jobs->is_restored)
		return;
	jobs->is_restored = true;
	if (persist_read_profiles(
		    jobs->opts.store, fabric_source_topo(jobs->opts.fabric),
		    jobs->opts.config->max_age_us, restore_job, jobs, &err) < 0)
		log_err("store", "%s", err.text);
}

void
jobs_set_fabric(struct jobs *jobs)
{
	const struct advisor_opts opts = {
		.seed = 1,
		.ecmp_seed = jobs->opts.config->ecmp_seed,
		.levers = jobs->opts.levers,
		.changes_a_minute = (uint32_t)jobs->opts.config->path_changes,
	};

	jobs_stop_taking(jobs);
	jobs_stop_moving(jobs);
	jobs->next_view = 0;
	for (size_t i = 0; i < jobs->items.n; i++)
		if (jobs->items.items[i])
			take_away(jobs, jobs->items.items[i]);
	free(jobs->is_silent);
	free(jobs->is_heard);
	jobs->is_silent = jobs->is_heard = NULL;
	jobs->n_changed_before = jobs_path_counts(jobs).n_changed;
	advisor_free(jobs->advisor);
	jobs->advisor = advisor_new(fabric_source_topo(jobs->opts.fabric), &opts);
	if (jobs->opts.levers & ADVISE_PATH)
		jobs->fabric_digest =
			topo_digest(fabric_source_topo(jobs->opts.fabric));
	jobs->nodes_at_us = 0;
	restore(jobs);
}

/* ---- Queries ---------------------------------------------------------------------- */

void
jobs_advice(const struct jobs *jobs, const struct sched_job *waiting,
	    struct decide_advice *ret_advice)
{
	bool is_waiting = waiting->state == SCHED_WAITING;
	const struct job *job =
		jobs_find(jobs, is_waiting ? waiting->id : waiting->local_id);

	*ret_advice = (struct decide_advice){ .answer = DECIDE_NO_ANSWER };
	if (!job || !job->doc)
		return;
	ret_advice->answer = job->answer;
	ret_advice->nodes = job->nodes;
	ret_advice->record = job->record;
	ret_advice->valid_until_us = job->valid_until_us;
	/* Two jobs that make room for each other are for people to move. */
	if (job->move && !job->move->with) {
		ret_advice->move_nodes = job->move->nodes;
		ret_advice->move_payback_s = job->move->payback_s;
	}
}

struct jobs_counts
jobs_counts(const struct jobs *jobs)
{
	struct jobs_counts counts = { .n_jobs = 0 };

	for (size_t i = 0; i < jobs->items.n; i++) {
		const struct job *job = jobs->items.items[i];

		if (!job)
			continue;
		counts.n_jobs++;
		counts.n_waiting += job->is_waiting;
		counts.n_advised += job->refusal == JOBS_ADVISED;
		counts.n_refused += job->refusal != JOBS_ADVISED;
	}
	return counts;
}

const struct jobs_totals *
jobs_totals(const struct jobs *jobs)
{
	return &jobs->totals;
}

void
jobs_count_ranking(struct jobs *jobs, int64_t took_ns)
{
	jobs->totals.n_ranked++;
	jobs->totals.rank_s += (double)took_ns / 1e9;
}
