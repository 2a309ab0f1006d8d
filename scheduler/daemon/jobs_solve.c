/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs_solve.c - advice for running jobs: solved component by component, and read, in
 * steps.
 */
#include <stdlib.h>

#include "lib/base/clk.h"
#include "lib/base/sort.h"
#include "lib/daemon/loop.h"
#include "scheduler/daemon/jobs_priv.h"

/*
 * A slice of work between two updates; then a rest of several times that for other
 * work. A request waits for a slice and the longest component at most.
 */
#define SLICE_NS (JOBS_SECOND_NS / 250)
#define REST     4
/* How often advice is read while components are solved. */
#define VIEWS_NS (JOBS_SECOND_NS / 10)
/* Unchanged jobs that are skipped between two readings of the clock. */
#define VIEWS_A_STEP 128

const double jobs_solve_bounds_s[JOBS_N_SOLVE_BOUNDS] = { 0.0001, 0.0003, 0.001, 0.003,
							  0.01,   0.03,   0.1,   1 };

/* Reads the advice for a job if it is new; true if so. */
static bool
take_view(struct jobs *jobs, struct job *job)
{
	struct advisor_view view;

	if (!jobs_view(jobs, job, &view))
		return false;
	if (view.revision == job->revision && job->doc &&
	    job->refusal == JOBS_ADVISED && clk_wall_us() < job->valid_until_us &&
	    !job->is_outcome_new && !job->is_move_new &&
	    job->is_steered == jobs->pacing.is_steered(jobs->pacing.ctx, job))
		return false;
	job->revision = view.revision;
	job->component = view.component;
	job->refusal = JOBS_ADVISED;
	jobs_write_doc(jobs, job, &view, NULL);
	jobs_keep_paths(jobs, job, &view);
	jobs->pacing.on_view(jobs->pacing.ctx, job, &view);
	return true;
}

static void
count_solve(struct jobs *jobs, double took_s)
{
	size_t i = 0;

	while (i < JOBS_N_SOLVE_BOUNDS && took_s > jobs_solve_bounds_s[i])
		i++;
	jobs->totals.solves[i]++;
	jobs->totals.solves_s += took_s;
}

/* A job, and those that were solved with it. */
struct member {
	uint32_t component, number;
};

static int
compare_members(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->component != y->component)
		return x->component < y->component ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static bool
is_touched(const struct member *touched, size_t n, uint32_t component)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (touched[middle].component < component)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && touched[low].component == component;
}

/* Calls on_component() for components that have a job with new advice ('touched'). */
static void
take_components(struct jobs *jobs, struct member *touched, size_t n_touched)
{
	VEC(struct member) members = VEC_EMPTY;
	VEC(uint32_t) numbers = VEC_EMPTY;

	qsort(touched, n_touched, sizeof *touched, compare_members);
	for (size_t i = 0; i < jobs->items.n; i++) {
		const struct job *job = jobs->items.items[i];

		if (job && job->number != UINT32_MAX && !job->is_waiting &&
		    job->revision && is_touched(touched, n_touched, job->component))
			vec_push(&members,
				 ((struct member){ job->component, job->number }));
	}
	sort_items(members.items, members.n, compare_members);
	for (size_t i = 0; i < members.n;) {
		uint32_t component = members.items[i].component;

		numbers.n = 0;
		for (; i < members.n && members.items[i].component == component; i++)
			vec_push(&numbers, members.items[i].number);
		jobs->pacing.on_component(jobs->pacing.ctx, numbers.items, numbers.n);
	}
	vec_free(&members);
	vec_free(&numbers);
}

static void
solve_some(struct jobs *jobs, int64_t until_ns)
{
	int64_t began_ns = clk_monotonic_ns();
	double took_s;

	/* Shifts are solved for these paths. */
	jobs_change_paths(jobs, until_ns);
	do {
		jobs->n_unsolved = advisor_step(jobs->advisor, 1);
	} while (jobs->n_unsolved && clk_monotonic_ns() < until_ns);
	took_s = (double)(clk_monotonic_ns() - began_ns) / 1e9;
	jobs->totals.solve_s += took_s;
	jobs->took_s += took_s;
}

/* Reads the advice for as many jobs as there is time for. */
static void
take_views(struct jobs *jobs, int64_t until_ns)
{
	VEC(struct member) touched = VEC_EMPTY;
	size_t i = jobs->next_view;
	bool is_time = true;

	loop_part(jobs->opts.loop, "views");
	for (; i < jobs->items.n && is_time; i++) {
		struct job *job = jobs->items.items[i];
		bool is_new = job && take_view(jobs, job);

		if (is_new)
			vec_push(&touched,
				 ((struct member){ job->component, job->number }));
		if (is_new || i % VIEWS_A_STEP == 0)
			is_time = clk_monotonic_ns() < until_ns;
	}
	jobs->next_view = i < jobs->items.n ? i : 0;
	jobs->n_touched += touched.n;
	if (touched.n)
		take_components(jobs, touched.items, touched.n);
	vec_free(&touched);
	if (jobs->next_view)
		return;
	jobs->viewed_ns = clk_monotonic_ns();
	if (jobs->n_unsolved || jobs->n_touched)
		count_solve(jobs, jobs->took_s);
	jobs->n_touched = 0;
	jobs->took_s = 0;
}

void
jobs_solve(struct jobs *jobs)
{
	int64_t until_ns = clk_monotonic_ns() + SLICE_NS;

	if (!jobs->advisor)
		return;
	if (!jobs->next_view) {
		solve_some(jobs, until_ns);
		if (jobs->n_unsolved && clk_monotonic_ns() - jobs->viewed_ns < VIEWS_NS)
			return;
	}
	take_views(jobs, until_ns);
}

void
jobs_step(struct jobs *jobs)
{
	int64_t began_ns = clk_monotonic_ns();
	bool is_new;

	if (began_ns < jobs->rest_until_ns)
		return;
	loop_part(jobs->opts.loop, "reports");
	is_new = jobs_take_reports(jobs, began_ns + SLICE_NS);
	loop_part(jobs->opts.loop, jobs->has_unranked ? "waiting" : "advice");
	if (jobs->has_unranked)
		jobs_take_waiting(jobs);
	else if (is_new || jobs->n_unsolved || jobs->next_view || jobs->has_restless)
		jobs_solve(jobs);
	jobs->rest_until_ns =
		clk_monotonic_ns() + REST * (clk_monotonic_ns() - began_ns);
}
