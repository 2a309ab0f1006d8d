/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs_paths.c - which jobs' paths may be chosen, when those of running jobs are changed,
 * and the chosen ones in the store.
 */
#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "scheduler/core/advise/advise.h"
#include "scheduler/daemon/config.h"
#include "scheduler/daemon/fabric_source.h"
#include "scheduler/daemon/flow_table.h"
#include "scheduler/daemon/jobs_priv.h"
#include "scheduler/daemon/modes.h"
#include "scheduler/daemon/persist.h"
#include "topology/topo.h"

/*
 * Chosen: another number of connections means other paths, so that a job whose
 * connections are not quite equal keeps the number that it has.
 */
#define SAME_SPLIT 0.75

/* A running job's name is its local id, a waiting job's its id. */
static const char *
partition_of(const struct jobs *jobs, const struct job *job)
{
	const struct sched_snapshot *snapshot = jobs->opts.snapshot;
	const struct sched_job *known = job->is_waiting
						? sched_find_job(snapshot, job->name)
						: sched_find_local(snapshot, job->name);

	return known ? known->partition : "";
}

/* Whether the flows between the job's hosts can be put on chosen paths. */
static bool
is_movable(const struct jobs *jobs, const struct job *job)
{
	const struct topo *topo = fabric_source_topo(jobs->opts.fabric);

	if (!jobs->opts.is_movable || job->is_waiting)
		return false;
	for (uint32_t i = 0; i < job->n_hosts; i++)
		if (!jobs->opts.is_movable(jobs->opts.ctx,
					   topo_node(topo, job->hosts[i])->name))
			return false;
	return true;
}

/*
 * After a start the partition of a job is not known before the first snapshot; without
 * a cluster's scheduler there is none, and the job is seen soon.
 */
static bool
is_mode_known(const struct jobs *jobs, const struct job *job)
{
	return !job->is_restored || jobs->opts.snapshot->at_us;
}

/*
 * The hosts have reported the job's connections after it was put: if there are several to
 * each host, other paths are chosen.
 */
static void
notice_connections(struct jobs *jobs, struct job *job)
{
	struct work_job work;

	jobs_count_connections(jobs, job, job->hosts, job->n_hosts);
	if (job->n_connections < 2)
		return;
	work_job_copy(advisor_job(jobs->advisor, job->number), &work);
	free(work.paths);
	work.paths = NULL;
	work.n_paths = 0;
	/* Only the connections have changed. */
	BUG_ON(jobs_put_on_paths(jobs, job, &work, job->is_shiftable) < 0);
	work_job_fini(&work);
}

void
jobs_allow_paths(struct jobs *jobs, struct job *job)
{
	enum mode mode = MODE_OBSERVE;
	bool is_assigned;

	if (!(jobs->opts.levers & ADVISE_PATH) || job->number == UINT32_MAX ||
	    !is_mode_known(jobs, job))
		return;
	if (jobs->opts.modes)
		mode = modes_now(jobs->opts.modes, partition_of(jobs, job));
	advisor_allow_paths(jobs->advisor, job->number, mode != MODE_OBSERVE);
	is_assigned = advisor_has_assigned(jobs->advisor, job->number);
	if (mode != MODE_ENFORCE || (is_assigned && job->n_connections) ||
	    !is_movable(jobs, job))
		return;
	if (!job->n_connections)
		notice_connections(jobs, job);
	/* Their real paths are not known, so all of them are chosen. */
	advisor_assign_paths(jobs->advisor, job->number);
}

void
jobs_follow_modes(struct jobs *jobs)
{
	if (!jobs->advisor || !(jobs->opts.levers & ADVISE_PATH))
		return;
	for (size_t i = 0; i < jobs->items.n; i++)
		if (jobs->items.items[i])
			jobs_allow_paths(jobs, jobs->items.items[i]);
}

void
jobs_change_paths(struct jobs *jobs, int64_t until_ns)
{
	int64_t now_ns;

	do {
		now_ns = clk_monotonic_ns();
		jobs->has_restless = advisor_change_paths(jobs->advisor, now_ns, 1);
	} while (jobs->has_restless && now_ns < until_ns);
}

struct advisor_path_counts
jobs_path_counts(const struct jobs *jobs)
{
	struct advisor_path_counts counts = { .n_jobs = 0 };

	if (jobs->advisor)
		counts = advisor_path_counts(jobs->advisor);
	counts.n_changed += jobs->n_changed_before;
	return counts;
}

/* ---- Several connections --------------------------------------------------------- */

void
jobs_count_connections(const struct jobs *jobs, struct job *job, const uint32_t *hosts,
		       uint32_t n_hosts)
{
	const struct topo *topo = fabric_source_topo(jobs->opts.fabric);
	struct flow_split split = { 0 };
	double n;

	if (!(jobs->opts.levers & ADVISE_PATH) || !jobs->opts.add_split)
		return;
	for (uint32_t i = 0; i < n_hosts; i++)
		jobs->opts.add_split(jobs->opts.ctx, topo_node(topo, hosts[i])->name,
				     job->name, &split);
	if (!(split.busiest > 0))
		return;
	n = split.bytes / split.busiest;
	if (!job->n_connections || fabs(n - job->n_connections) >= SAME_SPLIT)
		job->n_connections = (uint32_t)fmin(round(n), WORK_MAX_CONNECTIONS);
}

/* ---- Paths in the store ---------------------------------------------------------- */

static struct persist_paths
paths_of(const struct jobs *jobs, const uint32_t *hosts, uint32_t n_hosts)
{
	return (struct persist_paths){
		.topo = fabric_source_topo(jobs->opts.fabric),
		.fabric = jobs->fabric_digest,
		.hosts = hosts,
		.n_hosts = n_hosts,
	};
}

static void
log_ignored(struct jobs *jobs, const struct job *job, const char *why)
{
	log_limited(&jobs->paths_limit, clk_monotonic_ns(), LOG_LEVEL_WARN, "store",
		    "paths of job %s are ignored: %s", job->name, why);
}

/* Puts the stored paths into 'work'; the caller frees them. */
static void
find_stored(struct jobs *jobs, struct job *job, struct work_job *work)
{
	struct persist_paths paths = paths_of(jobs, work->hosts, work->n_hosts_wanted);
	struct err err = { .line = 0 };
	int r = persist_find_paths(jobs->opts.store, job->name, &paths, &err);

	job->has_stored_paths = r != 0;
	if (r < 0)
		log_ignored(jobs, job, err.text);
	if (r <= 0)
		return;
	work->paths = paths.paths;
	work->n_paths = paths.n_paths;
	/* Until the hosts have reported them. */
	if (!job->n_connections)
		job->n_connections = paths.n_connections;
}

int
jobs_put_on_paths(struct jobs *jobs, struct job *job, const struct work_job *work,
		  bool is_shiftable)
{
	bool is_new = advisor_find(jobs->advisor, job->name) == UINT32_MAX;
	struct work_job put = *work; /* Borrows all but stored paths. */
	int r;

	if (is_new && work->hosts && jobs->opts.levers & ADVISE_PATH)
		find_stored(jobs, job, &put);
	put.n_connections = job->n_connections ? job->n_connections : 1;
	r = advisor_put(jobs->advisor, &put, is_shiftable, &job->number);
	if (put.paths != work->paths) {
		free(put.paths);
		put.paths = NULL;
		put.n_paths = 0;
		if (r < 0) {
			log_ignored(jobs, job, "they do not fit its flows");
			r = advisor_put(jobs->advisor, &put, is_shiftable,
					&job->number);
		}
	}
	return r;
}

void
jobs_keep_paths(struct jobs *jobs, struct job *job, const struct advisor_view *view)
{
	struct persist_paths paths = paths_of(jobs, job->hosts, job->n_hosts);

	if (!view->paths) {
		jobs_forget_paths(jobs, job);
		return;
	}
	if (view->paths_revision == job->paths_revision)
		return;
	job->paths_revision = view->paths_revision;
	job->has_stored_paths = true;
	paths.n_connections = advisor_job(jobs->advisor, job->number)->n_connections;
	paths.n_paths = view->n_paths;
	paths.paths = xcalloc(view->n_paths + 1, sizeof *paths.paths);
	for (size_t i = 0; i < view->n_paths; i++)
		paths.paths[i] = view->paths[i].number;
	persist_keep_paths(jobs->opts.store, job->name, &paths);
	free(paths.paths);
}

void
jobs_forget_paths(struct jobs *jobs, struct job *job)
{
	if (job->has_stored_paths)
		persist_keep_paths(jobs->opts.store, job->name, NULL);
	job->has_stored_paths = false;
	job->paths_revision = 0;
}
