/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/advice_svg.h"

#include <stdlib.h>

#include "cli/circle_svg.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "scheduler/core/advise/advise.h"
#include "scheduler/core/solve/joint.h"
#include "scheduler/core/workload/workload.h"
#include "topology/topo.h"

uint32_t
advice_worst_link(const struct advice_set *set)
{
	uint32_t worst = TOPO_NONE;
	double score = 2;

	for (size_t j = 0; j < set->n; j++) {
		const struct advice *advice = &set->items[j];

		if (advice->n_links == 0 || reason_is_apart(advice->reason))
			continue;
		if (advice->links[0].score_before < score) {
			score = advice->links[0].score_before;
			worst = advice->links[0].link;
		}
	}
	return worst;
}

/* The jobs on one link, for the drawing and the solver. */
struct on_link {
	VEC(struct circle_svg_job) jobs;
	VEC(const struct profile *) profiles;
	VEC(struct joint_load) loads;
	VEC(int64_t) shifts_us;
};

/* Adds 'job' if it crosses the link.  Returns 0 or -EHOSTUNREACH. */
static int
add_if_on(struct on_link *on, const struct work_job *job, const struct advice *advice,
	  struct topo *topo, struct routes *routes, uint32_t link, bool at_shifts)
{
	struct routed_job routed;
	int r = routed_job_make(job, advice->hosts, topo, routes, &routed);

	if (r < 0)
		return r;
	for (size_t i = 0; i < routed.footprint.n; i++) {
		const struct footprint_entry *e = &routed.footprint.entries[i];
		int64_t shift_us =
			(at_shifts ? advice->shift_us : 0) + job->arrival_ns / 1000;

		if (e->link != link)
			continue;
		vec_push(&on->loads,
			 ((struct joint_load){ (uint32_t)on->jobs.n, e->factor }));
		vec_push(&on->jobs, ((struct circle_svg_job){ job->name, &job->profile,
							      e->factor, shift_us }));
		vec_push(&on->profiles, &job->profile);
		vec_push(&on->shifts_us, shift_us % job->profile.period_us);
	}
	routed_job_fini(&routed);
	return 0;
}

static double
score_of(const struct on_link *on, uint32_t link, double capacity_bps)
{
	struct joint_link only = { .id = link,
				   .n_loads = (uint32_t)on->loads.n,
				   .capacity_bps = capacity_bps,
				   .weight = 1 };
	struct joint_problem problem = { .n_jobs = on->jobs.n,
					 .profiles = on->profiles.items,
					 .n_links = 1,
					 .links = &only,
					 .loads = on->loads.items };
	double excess_bps = 0;

	if (on->jobs.n > 0)
		joint_excess(&problem, on->shifts_us.items, &excess_bps);
	return 1 - excess_bps / capacity_bps;
}

char *
advice_link_svg(const struct advice_set *set, const struct workload *workload,
		struct topo *topo, struct routes *routes, uint32_t link, bool at_shifts,
		const char *subtitle)
{
	struct profile idle = { .period_us = 1000 };
	struct circle_svg_job nobody = { "(no job)", &idle, 1, 0 };
	struct on_link on = { 0 };
	struct strbuf name = STRBUF_EMPTY;
	struct circle_svg drawing = { .subtitle = subtitle };
	char *text = NULL;

	for (size_t j = 0; j < set->n; j++) {
		if (set->items[j].hosts &&
		    add_if_on(&on, &workload->jobs[j], &set->items[j], topo, routes,
			      link, at_shifts) < 0)
			goto out;
	}
	topo_link_name(topo, link, &name);
	drawing.title = name.text;
	drawing.capacity_bps = topo_link(topo, link)->capacity_bps;
	drawing.score = score_of(&on, link, drawing.capacity_bps);
	drawing.jobs = on.jobs.n ? on.jobs.items : &nobody;
	drawing.n_jobs = on.jobs.n ? on.jobs.n : 1;
	text = circle_svg(&drawing);
out:
	strbuf_free(&name);
	vec_free(&on.jobs);
	vec_free(&on.profiles);
	vec_free(&on.loads);
	vec_free(&on.shifts_us);
	return text;
}
