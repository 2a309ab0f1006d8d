/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/fragmentation_watch.h"

#include <stdint.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "scheduler/core/advise/fragmentation.h"
#include "scheduler/daemon/fabric_source.h"
#include "scheduler/daemon/jobs.h"

/* The least rest after a round, and the rest as a multiple of its time. */
#define LEAST_REST_NS INT64_C(2000000000)
#define REST          20

struct fragmentation_watch {
	const struct fabric_source *fabric; /* Borrowed. */
	const struct jobs *jobs;            /* Borrowed. */
	struct fragmentation_maker *maker;  /* Owned; NULL without a fabric. */
	bool is_under_way;                  /* A round, */
	size_t next_job;                    /* which goes on with this job. */
	int64_t cost_ns;                    /* Time spent on it. */
	int64_t rest_until_ns;
	bool has_result;
	struct fragmentation result;
};

struct fragmentation_watch *
fragmentation_watch_new(const struct fabric_source *fabric, const struct jobs *jobs)
{
	struct fragmentation_watch *watch = xcalloc(1, sizeof *watch);

	watch->fabric = fabric;
	watch->jobs = jobs;
	return watch;
}

void
fragmentation_watch_restart(struct fragmentation_watch *watch)
{
	fragmentation_maker_free(watch->maker);
	fragmentation_fini(&watch->result);
	*watch = (struct fragmentation_watch){ .fabric = watch->fabric,
					       .jobs = watch->jobs };
}

void
fragmentation_watch_free(struct fragmentation_watch *watch)
{
	if (!watch)
		return;
	fragmentation_watch_restart(watch);
	free(watch);
}

const struct fragmentation *
fragmentation_watch_result(const struct fragmentation_watch *watch)
{
	return watch->has_result ? &watch->result : NULL;
}

/* ---- Rounds ---------------------------------------------------------------------- */

static void
begin_round(struct fragmentation_watch *watch)
{
	if (!watch->maker)
		watch->maker =
			fragmentation_maker_new(fabric_source_topo(watch->fabric),
						fabric_source_routes(watch->fabric));
	watch->is_under_way = true;
	watch->next_job = 0;
	watch->cost_ns = 0;
}

static void
end_round(struct fragmentation_watch *watch)
{
	fragmentation_fini(&watch->result);
	fragmentation_take(watch->maker, &watch->result);
	watch->result.at_us = clk_wall_us();
	watch->has_result = true;
	watch->is_under_way = false;
}

static void
add_job(struct fragmentation_watch *watch, const struct job *job)
{
	struct advisor_view view;
	const struct work_job *work;

	if (!job || !job->is_here || job->is_waiting)
		return;
	work = job->number == UINT32_MAX
		       ? NULL
		       : advisor_job(jobs_advisor(watch->jobs), job->number);
	if (!work || !work->hosts || !jobs_view(watch->jobs, job, &view) ||
	    !(view.slowdown_unshifted > 0))
		fragmentation_add_unknown(watch->maker);
	else
		fragmentation_add(watch->maker, work, view.slowdown_unshifted);
}

bool
fragmentation_watch_step(struct fragmentation_watch *watch)
{
	int64_t began_ns = clk_monotonic_ns();

	if (!fabric_source_topo(watch->fabric) || !jobs_advisor(watch->jobs) ||
	    began_ns < watch->rest_until_ns)
		return false;
	if (!watch->is_under_way)
		begin_round(watch);
	else if (watch->next_job < jobs_n_places(watch->jobs))
		add_job(watch, jobs_at(watch->jobs, watch->next_job++));
	else
		end_round(watch);
	watch->cost_ns += clk_monotonic_ns() - began_ns;
	if (!watch->is_under_way) {
		int64_t rest_ns = REST * watch->cost_ns;

		rest_ns = rest_ns > LEAST_REST_NS ? rest_ns : LEAST_REST_NS;
		watch->rest_until_ns = clk_monotonic_ns() + rest_ns;
	}
	return watch->is_under_way;
}
