/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/run/steering.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "scheduler/core/control/phase_constraints.h"
#include "scheduler/core/control/steer_sim.h"
#include "scheduler/core/workload/iteration_traffic.h"

/*
 * The segment whose flows are the profile's onset: without contention, they start
 * nearest to it.  An isolated segment lasts as long as the longer of its computation
 * and its traffic.
 */
static uint32_t
onset_segment(const struct work_job *job)
{
	double onset_ns = 1e3 * (double)phase_constraints_onset_us(&job->profile),
	       at_ns = 0;
	double best_off_ns = INFINITY, period_ns = 1e3 * (double)job->profile.period_us;
	double line_bps = profile_peak_bps(&job->profile);
	uint32_t best = 0;

	for (size_t i = 0; i < job->n_segments; i++) {
		const struct work_segment *s = &job->segments[i];
		double rate_bps =
			s->cap_bps > 0 ? fmin(s->cap_bps, line_bps) : line_bps;
		double send_ns = 0, off_ns;

		if (s->nic_bytes > 0) {
			off_ns = fabs(at_ns + work_segment_wait_ns(s) - onset_ns);
			off_ns = fmin(off_ns, period_ns - off_ns);
			if (off_ns < best_off_ns) {
				best_off_ns = off_ns;
				best = (uint32_t)i;
			}
			send_ns =
				work_segment_wait_ns(s) + s->nic_bytes * 8e9 / rate_bps;
		}
		at_ns += fmax((double)s->compute_ns, send_ns);
	}
	return best;
}

/* The same where segments overlap. */
static uint32_t
overlapping_onset(const struct work_job *job)
{
	double onset_ns = 1e3 * (double)phase_constraints_onset_us(&job->profile);
	double best_off_ns = INFINITY;
	struct iteration_traffic traffic;
	uint32_t best = 0;

	if (iteration_traffic_make(job, profile_peak_bps(&job->profile), &traffic) < 0)
		return 0;
	for (size_t i = 0; i < job->n_segments; i++) {
		double off_ns = fabs(traffic.send_ns[i] - onset_ns);

		off_ns = fmin(off_ns, traffic.iteration_ns - off_ns);
		if (traffic.send_ns[i] < 0 || off_ns >= best_off_ns)
			continue;
		best_off_ns = off_ns;
		best = (uint32_t)i;
	}
	iteration_traffic_fini(&traffic);
	return best;
}

static void
add_edges(const struct workload *workload, const struct sim_plan *plan,
	  const struct topo *topo, struct steer_sim *steered)
{
	const struct routed_job **routed = xcalloc(plan->n + 1, sizeof *routed);
	int64_t *shift_us = xcalloc(plan->n + 1, sizeof *shift_us);
	uint32_t *jobs = xcalloc(plan->n + 1, sizeof *jobs);
	struct work_problem problem;
	struct phase_constraints edges;
	size_t n = 0;

	for (size_t j = 0; j < plan->n; j++) {
		const struct sim_plan_job *planned = &plan->jobs[j];

		if (!planned->is_placed || planned->pacing != ENGINE_PACE_STEER)
			continue;
		routed[j] = &planned->routed;
		shift_us[j] = planned->shift_ns / 1000;
		jobs[n++] = (uint32_t)j;
	}
	work_problem_make(workload, routed, topo, &problem);
	phase_constraints_make(&problem.problem, shift_us, NULL, &edges);
	for (size_t i = 0; i < n; i++) {
		const struct work_job *job = &workload->jobs[jobs[i]];
		const struct steer_job what = { .mode = edges.modes[jobs[i]],
						.profile = &job->profile,
						.weight = job->weight };

		steer_sim_add(steered, jobs[i],
			      work_job_overlaps(job) ? overlapping_onset(job)
						     : onset_segment(job),
			      &what);
	}
	steer_set_constraints(steer_sim_steer(steered), jobs, n, edges.items, edges.n);
	phase_constraints_fini(&edges);
	work_problem_fini(&problem);
	free(routed);
	free(shift_us);
	free(jobs);
}

struct steer_sim *
steering_make(const struct workload *workload, const struct sim_plan *plan,
	      const struct topo *topo, uint64_t seed)
{
	const struct steer_sim_opts opts = { .seed = seed };
	struct steer_sim *steered;
	bool is_wanted = false;

	for (size_t j = 0; j < plan->n; j++)
		is_wanted |= plan->jobs[j].is_placed &&
			     plan->jobs[j].pacing == ENGINE_PACE_STEER;
	if (!is_wanted)
		return NULL;
	steered = steer_sim_new(&opts);
	add_edges(workload, plan, topo, steered);
	return steered;
}
