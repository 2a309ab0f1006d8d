/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs_paths.c - which jobs' paths may be chosen, and when those of running jobs are
 * changed.
 */
#include "lib/base/clk.h"
#include "scheduler/core/advise/advise.h"
#include "scheduler/daemon/config.h"
#include "scheduler/daemon/fabric_source.h"
#include "scheduler/daemon/jobs_priv.h"
#include "scheduler/daemon/modes.h"
#include "topology/topo.h"

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

void
jobs_allow_paths(struct jobs *jobs, const struct job *job)
{
	enum mode mode = MODE_OBSERVE;

	if (!(jobs->opts.levers & ADVISE_PATH) || job->number == UINT32_MAX)
		return;
	if (jobs->opts.modes)
		mode = modes_now(jobs->opts.modes, partition_of(jobs, job));
	advisor_allow_paths(jobs->advisor, job->number, mode != MODE_OBSERVE);
	/* Their real paths are not known, so all of them are chosen. */
	if (mode == MODE_ENFORCE && !advisor_has_assigned(jobs->advisor, job->number) &&
	    is_movable(jobs, job))
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
