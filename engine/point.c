/* SPDX-License-Identifier: Apache-2.0 */
/* point.c - a job's position in an iteration, and how to resume from it. */
#include <errno.h>
#include <stdlib.h>

#include "engine/engine_internal.h"
#include "lib/base/alloc.h"

void
engine_point_fini(struct engine_point *point)
{
	free(point->left);
	*point = (struct engine_point){ 0 };
}

static void
copy_point(const struct engine_point *from, struct engine_point *ret)
{
	*ret = *from;
	ret->left = xcalloc(from->n_flows + 1, sizeof *ret->left);
	for (uint32_t i = 0; i < from->n_flows; i++)
		ret->left[i] = from->left[i];
}

/* When an isolated segment sends its first byte. */
static double
send_after_ns(const struct segment *seg)
{
	return seg->offset_ns + seg->latency_ns;
}

/* How long the isolated segment takes. */
static double
segment_ns(const struct engine *e, const struct segment *seg)
{
	double longest_ns = 0;

	for (uint32_t i = 0; i < seg->n_flows; i++)
		longest_ns = max_of(longest_ns,
				    fluid_alone_ns(&e->fluid, seg->first_flow + i));
	return max_of(seg->compute_ns,
		      seg->n_flows ? send_after_ns(seg) + longest_ns : 0);
}

static double
iteration_ns(const struct engine *e, const struct job *job)
{
	double sum_ns = 0;

	for (uint32_t i = 0; i < job->n_segments; i++)
		sum_ns += segment_ns(e, &job->segments[i]);
	return sum_ns;
}

/* The share of its bytes that a flow of the running segment, which sends, has left. */
static double
left_of_flow(const struct engine *e, const struct run *run, uint32_t i)
{
	uint32_t f = run_segment(run)->first_flow + i;
	const struct fluid_flow *flow = &e->fluid.flows[f];
	double work = e->fluid.specs[f].work, left;

	if (flow->is_active)
		left = fluid_work_left(&e->fluid, f, e->now_ns) / work;
	else if (work > 0 && fluid_is_private(&e->fluid, f))
		left = (run->send_ns + run_flow_ns(e, run, i) - e->now_ns) /
		       fluid_alone_ns(&e->fluid, f);
	else
		return 0; /* The flow has ended. */
	return min_of(max_of(0, left), 1);
}

void
engine_job_point(const struct engine *e, uint32_t id, struct engine_point *ret)
{
	const struct job *job = e->jobs.items[id];
	const struct run *run = &job->run;
	const struct segment *seg = run_segment(run);
	bool sends = run->is_sent && run->send_ns <= e->now_ns;

	BUG_ON(job->graph);
	if (job->from) {
		copy_point(job->from, ret);
		return;
	}
	*ret = (struct engine_point){ .since_ns = e->now_ns - job->start_ns };
	if (job->state != JOB_RUNNING) {
		ret->since_ns =
			job->state == JOB_WAITING ? min_of(ret->since_ns, 0) : 0;
		return;
	}
	ret->segment = run->segment;
	ret->compute_ns = max_of(0, run->compute_end_ns - e->now_ns);
	ret->send_ns = seg->n_flows && !sends ? max_of(0, run->send_ns - e->now_ns) : 0;
	ret->n_flows = seg->n_flows;
	ret->left = xcalloc(seg->n_flows + 1, sizeof *ret->left);
	for (uint32_t i = 0; i < seg->n_flows; i++)
		ret->left[i] = sends       ? left_of_flow(e, run, i)
			       : run->left ? run->left[i]
					   : 1;
}

/* The position 'at_ns' into the isolated segment. */
static void
point_in_segment(const struct engine *e, const struct segment *seg, double at_ns,
		 struct engine_point *ret)
{
	ret->compute_ns = max_of(0, seg->compute_ns - at_ns);
	ret->send_ns = seg->n_flows ? max_of(0, send_after_ns(seg) - at_ns) : 0;
	ret->n_flows = seg->n_flows;
	ret->left = xcalloc(seg->n_flows + 1, sizeof *ret->left);
	for (uint32_t i = 0; i < seg->n_flows; i++) {
		double isolated_ns = fluid_alone_ns(&e->fluid, seg->first_flow + i);
		double sent_ns = max_of(0, at_ns - send_after_ns(seg));

		ret->left[i] = sent_ns < isolated_ns ? 1 - sent_ns / isolated_ns : 0;
	}
}

void
engine_point_amid(const struct engine *e, uint32_t id, double share,
		  struct engine_point *ret)
{
	const struct job *job = e->jobs.items[id];
	double at_ns = share * iteration_ns(e, job);
	uint32_t s = 0;

	BUG_ON(job->graph);
	*ret = (struct engine_point){ .since_ns = at_ns };
	for (; s + 1 < job->n_segments; s++) {
		double segment = segment_ns(e, &job->segments[s]);

		if (at_ns < segment)
			break;
		at_ns -= segment;
	}
	ret->segment = s;
	point_in_segment(e, &job->segments[s], at_ns, ret);
}

/* True if the point is finite and fits the job. */
static bool
is_point_of(const struct job *job, const struct engine_point *point)
{
	if (!isfinite(point->since_ns) || point->segment >= job->n_segments ||
	    !(point->compute_ns >= 0 && isfinite(point->compute_ns)) ||
	    !(point->send_ns >= 0 && isfinite(point->send_ns)))
		return false;
	if (point->since_ns <= 0)
		return true;
	if (point->n_flows != job->segments[point->segment].n_flows)
		return false;
	for (uint32_t i = 0; i < point->n_flows; i++)
		if (!(point->left[i] >= 0 && point->left[i] <= 1))
			return false;
	return true;
}

int
engine_job_resume(struct engine *e, uint32_t id, const struct engine_point *from)
{
	struct job *job = e->jobs.items[id];

	if (job->state != JOB_WAITING || job->n_iterations || job->from ||
	    job->pacing != ENGINE_PACE_FREE || job->graph || !is_point_of(job, from))
		return -EINVAL;
	if (from->since_ns <= 0) {
		job->start_ns -= from->since_ns;
		event_queue_set(&e->queue, id, min_of(job->start_ns, job->stop_ns));
		return 0;
	}
	job->from = xcalloc(1, sizeof *job->from);
	copy_point(from, job->from);
	return 0;
}

double
engine_job_progress(const struct engine *e, uint32_t id)
{
	const struct job *job = e->jobs.items[id];
	double done_ns = 0, send_ns = 0, all_ns = iteration_ns(e, job);
	struct engine_point point;
	const struct segment *seg;

	engine_job_point(e, id, &point);
	seg = &job->segments[point.segment];
	for (uint32_t i = 0; i < point.n_flows; i++)
		send_ns = max_of(
			send_ns,
			point.left[i] * fluid_alone_ns(&e->fluid, seg->first_flow + i));
	if (point.n_flows)
		send_ns += point.send_ns;
	for (uint32_t s = 0; s < point.segment; s++)
		done_ns += segment_ns(e, &job->segments[s]);
	if (point.left)
		done_ns += max_of(0, segment_ns(e, seg) -
					     max_of(point.compute_ns, send_ns));
	engine_point_fini(&point);
	return (double)job->n_iterations + done_ns / all_ns;
}
