/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/paths/paths.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "lib/base/sort.h"
#include "lib/base/vec.h"
#include "scheduler/core/paths/link_loads.h"
#include "scheduler/core/paths/path_colors.h"
#include "scheduler/core/workload/workload.h"
#include "topology/route.h"
#include "topology/topo.h"

#define DEFAULT_ROUNDS 8
/* Paths tried for a flow; where there are more, a random sample. */
#define MAX_TRIED 256
/* Gains up to this are rounding. */
#define TIE 1e-12
/* Flows that a redraw takes off beside those of the link. */
#define MORE_FLOWS 4
/*
 * A job with more flows stays hashed: that many even out by themselves, and costs grow
 * with their number.
 */
#define MAX_FLOWS 4096

/* A flow with a choice. */
struct flow {
	uint32_t job, number; /* Index in 'jobs', and of the flow in the job. */
	uint32_t n_paths;
	uint32_t first_path; /* At the beginning. */
	double load_bps;
};

/* The path that a flow has or could have. */
struct path {
	uint32_t number;
	uint32_t links[ROUTE_MAX_HOPS];
	size_t n;
	double harm, fullest;
};

struct search {
	struct link_loads *loads;
	const struct topo *topo;
	struct routes *routes;
	const struct paths_job *jobs;
	double change_cost;
	size_t n_left; /* Flows that may still leave their first paths. */
	struct rng rng;
	VEC(struct flow) flows; /* By job, until they are sorted. */
	VEC(size_t) taken;      /* Scratch: flows that have been taken off. */
	VEC(struct path) old;   /* Scratch: their paths. */
};

/* ---- Flows on links -------------------------------------------------------------- */

static void
add_flow(struct link_loads *loads, const struct paths_job *job, uint32_t flow,
	 bool is_taken)
{
	const struct routed_job *routed = job->routed;
	double factor = routed_job_flow_factor(routed, flow);

	for (size_t i = routed->path_first[flow]; i < routed->path_first[flow + 1]; i++)
		if (is_taken)
			link_loads_take(loads, routed->path_links[i], job->job, factor);
		else
			link_loads_add(loads, routed->path_links[i], job->job, factor);
}

void
paths_load(struct link_loads *loads, const struct paths_job *job)
{
	for (uint32_t i = 0; i < job->routed->flows.n; i++)
		add_flow(loads, job, i, false);
}

void
paths_unload(struct link_loads *loads, const struct paths_job *job)
{
	for (uint32_t i = 0; i < job->routed->flows.n; i++)
		add_flow(loads, job, i, true);
}

/* ---- One flow -------------------------------------------------------------------- */

static int
find_path(const struct search *s, const struct paths_job *job, uint32_t flow,
	  uint32_t number, struct path *ret_path, uint32_t *ret_n_paths)
{
	const struct collective_flow *f = &job->routed->flows.flows[flow];

	ret_path->number = number;
	return routes_numbered_path(s->routes, f->source, f->destination,
				    (uint16_t)(job->first_port + flow), number,
				    ret_path->links, &ret_path->n, ret_n_paths);
}

/* Fills in the harm of a path for a flow that is on no link, and its fullest link. */
static void
judge(struct search *s, const struct paths_job *job, const struct flow *flow,
      struct path *path)
{
	double factor = routed_job_flow_factor(job->routed, flow->number);

	path->harm =
		path->number == flow->first_path ? 0 : s->change_cost * job->weight;
	path->fullest = 0;
	for (size_t i = 0; i < path->n; i++) {
		uint32_t link = path->links[i];

		path->harm += link_loads_added_harm(s->loads, link, job->job, factor);
		path->fullest = fmax(path->fullest, link_loads_mean(s->loads, link));
	}
}

static bool
is_better(const struct path *a, const struct path *b)
{
	if (fabs(a->harm - b->harm) > TIE)
		return a->harm < b->harm;
	return a->fullest < b->fullest - TIE;
}

static struct path
path_now(const struct search *s, const struct flow *flow)
{
	const struct routed_job *routed = s->jobs[flow->job].routed;
	size_t first = routed->path_first[flow->number];
	struct path path = { .number = routed->paths[flow->number],
			     .n = routed->path_first[flow->number + 1] - first };

	memcpy(path.links, routed->path_links + first, path.n * sizeof *path.links);
	return path;
}

static void
take_path(struct search *s, const struct flow *flow, const struct path *path)
{
	const struct paths_job *job = &s->jobs[flow->job];
	struct routed_job *routed = job->routed;
	size_t first = routed->path_first[flow->number];

	BUG_ON(path->n != routed->path_first[flow->number + 1] - first);
	memcpy(routed->path_links + first, path->links, path->n * sizeof *path->links);
	routed->paths[flow->number] = path->number;
}

/* Gives a flow that is on no link its best path, and puts it there. */
static void
choose_path(struct search *s, const struct flow *flow)
{
	const struct paths_job *job = &s->jobs[flow->job];
	uint32_t n_tried = flow->n_paths < MAX_TRIED ? flow->n_paths : MAX_TRIED;
	uint32_t start = (uint32_t)rng_below(&s->rng, flow->n_paths), n_paths;
	struct path best = path_now(s, flow), path;

	judge(s, job, flow, &best);
	for (uint32_t i = 0; i < n_tried; i++) {
		uint32_t number = n_tried == flow->n_paths
					  ? (start + i) % flow->n_paths
					  : (uint32_t)rng_below(&s->rng, flow->n_paths);

		if (find_path(s, job, flow->number, number, &path, &n_paths) < 0)
			BUG("a flow has lost its paths");
		judge(s, job, flow, &path);
		if (is_better(&path, &best))
			best = path;
	}
	take_path(s, flow, &best);
	add_flow(s->loads, job, flow->number, false);
}

/* Lists the flows of a job that have a choice. */
static int
list_flows(struct search *s, uint32_t j)
{
	const struct paths_job *job = &s->jobs[j];
	struct path path;

	if (!job->routed->paths || job->routed->flows.n > MAX_FLOWS)
		return 0;
	for (uint32_t i = 0; i < job->routed->flows.n; i++) {
		struct flow flow = { .job = j,
				     .number = i,
				     .first_path = job->routed->paths[i],
				     .load_bps =
					     routed_job_flow_factor(job->routed, i) };
		int error = find_path(s, job, i, 0, &path, &flow.n_paths);

		if (error < 0)
			return error;
		if (flow.n_paths > 1 && !(job->is_flow_fixed && job->is_flow_fixed[i]))
			vec_push(&s->flows, flow);
	}
	return 0;
}

static void
search_init(struct search *s, struct link_loads *loads, const struct topo *topo,
	    struct routes *routes, const struct paths_job *jobs, uint64_t seed)
{
	*s = (struct search){
		.loads = loads, .topo = topo, .routes = routes, .jobs = jobs
	};
	rng_init(&s->rng, seed);
}

static void
search_fini(struct search *s)
{
	vec_free(&s->flows);
	vec_free(&s->taken);
	vec_free(&s->old);
}

int
paths_choose(struct link_loads *loads, const struct topo *topo, struct routes *routes,
	     const struct paths_job *job, uint64_t seed)
{
	size_t n = job->routed->flows.n;
	struct search s;
	int error;

	search_init(&s, loads, topo, routes, job, seed);
	error = list_flows(&s, 0);
	if (error == 0) {
		size_t next = 0;

		/* Flows without a choice come first: others can avoid them. */
		for (uint32_t i = 0; i < n; i++) {
			if (next < s.flows.n && s.flows.items[next].number == i)
				next++;
			else
				add_flow(loads, job, i, false);
		}
		for (size_t i = 0; i < s.flows.n; i++)
			choose_path(&s, &s.flows.items[i]);
		routed_job_refresh(job->routed, topo);
	}
	search_fini(&s);
	return error;
}

/* ---- All flows ------------------------------------------------------------------- */

static int
compare_loads(const void *a, const void *b)
{
	const struct flow *x = a, *y = b;

	if (x->load_bps != y->load_bps)
		return x->load_bps > y->load_bps ? -1 : 1;
	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

static void
take_off(struct search *s, const struct flow *flow)
{
	add_flow(s->loads, &s->jobs[flow->job], flow->number, true);
}

static bool
has_left(const struct search *s, const struct flow *flow)
{
	return s->jobs[flow->job].routed->paths[flow->number] != flow->first_path;
}

/* Moves a flow to its best path; returns whether it has moved. */
static bool
move_flow(struct search *s, const struct flow *flow)
{
	const uint32_t *path = &s->jobs[flow->job].routed->paths[flow->number];
	uint32_t before = *path;
	bool had_left = has_left(s, flow);

	if (!had_left && s->n_left == 0)
		return false;
	take_off(s, flow);
	choose_path(s, flow);
	if (had_left && !has_left(s, flow))
		s->n_left++;
	else if (!had_left && has_left(s, flow))
		s->n_left--;
	return *path != before;
}

/* Moves each flow in turn to its best path, until none moves. */
static void
descend(struct search *s, uint32_t n_rounds)
{
	bool has_moved = true;

	for (uint32_t round = 0; round < n_rounds && has_moved; round++) {
		has_moved = false;
		for (size_t i = 0; i < s->flows.n; i++)
			has_moved |= move_flow(s, &s->flows.items[i]);
	}
}

static bool
is_on(const struct search *s, const struct flow *flow, uint32_t link)
{
	const struct routed_job *routed = s->jobs[flow->job].routed;

	for (size_t i = routed->path_first[flow->number];
	     i < routed->path_first[flow->number + 1]; i++)
		if (routed->path_links[i] == link)
			return true;
	return false;
}

/* A link drawn by its harm; TOPO_NONE if no link does harm. */
static uint32_t
draw_link(struct search *s)
{
	double left = rng_uniform(&s->rng) * link_loads_total_harm(s->loads);
	uint32_t drawn = TOPO_NONE;

	for (uint32_t l = 0; l < topo_n_links(s->topo) && left >= 0; l++) {
		double harm = link_loads_harm(s->loads, l);

		if (harm > 0)
			drawn = l;
		left -= harm;
	}
	return drawn;
}

/* Takes the listed flows off, and remembers their paths. */
static void
take_listed(struct search *s)
{
	s->old.n = 0;
	for (size_t i = 0; i < s->taken.n; i++) {
		const struct flow *flow = &s->flows.items[s->taken.items[i]];

		vec_push(&s->old, path_now(s, flow));
		take_off(s, flow);
	}
}

/* Puts the listed flows, which have got other paths, back on those remembered. */
static void
return_listed(struct search *s)
{
	for (size_t i = 0; i < s->taken.n; i++)
		take_off(s, &s->flows.items[s->taken.items[i]]);
	for (size_t i = 0; i < s->taken.n; i++) {
		const struct flow *flow = &s->flows.items[s->taken.items[i]];

		take_path(s, flow, &s->old.items[i]);
		add_flow(s->loads, &s->jobs[flow->job], flow->number, false);
	}
}

/* Takes the flows of a link and a few others off, in random order. */
static void
ruin(struct search *s, uint32_t link)
{
	s->taken.n = 0;
	for (size_t i = 0; i < s->flows.n; i++)
		if (is_on(s, &s->flows.items[i], link) ||
		    rng_below(&s->rng, s->flows.n) < MORE_FLOWS)
			vec_push(&s->taken, i);
	for (size_t i = s->taken.n; i > 1; i--) {
		size_t k = rng_below(&s->rng, i), swap = s->taken.items[i - 1];

		s->taken.items[i - 1] = s->taken.items[k];
		s->taken.items[k] = swap;
	}
	take_listed(s);
}

/* Ruins and recreates the paths around links that do harm; keeps what is no worse. */
static void
redraw(struct search *s, uint32_t n_redraws)
{
	double best = link_loads_total_harm(s->loads);

	for (uint32_t i = 0; i < n_redraws && best > TIE; i++) {
		uint32_t link = draw_link(s);
		double harm;

		ruin(s, link);
		for (size_t k = 0; k < s->taken.n; k++)
			choose_path(s, &s->flows.items[s->taken.items[k]]);
		harm = link_loads_total_harm(s->loads);
		if (harm <= best + TIE)
			best = harm;
		else
			return_listed(s);
	}
}

/* ---- Edge coloring --------------------------------------------------------------- */

/* The paths of all flows by edge coloring; a new array. */
static struct path_colors_flow *
color_flows(const struct search *s)
{
	struct path_colors_flow *colored = xcalloc(s->flows.n + 1, sizeof *colored);

	for (size_t i = 0; i < s->flows.n; i++) {
		const struct flow *flow = &s->flows.items[i];
		const struct paths_job *job = &s->jobs[flow->job];
		const struct collective_flow *f =
			&job->routed->flows.flows[flow->number];
		size_t first = job->routed->path_first[flow->number];

		colored[i] = (struct path_colors_flow){
			.source = f->source,
			.destination = f->destination,
			.port = (uint16_t)(job->first_port + flow->number),
			.n_paths = flow->n_paths,
			.links = job->routed->path_links + first,
			.n_links = job->routed->path_first[flow->number + 1] - first,
		};
	}
	path_colors_find(s->topo, s->routes, colored, s->flows.n);
	return colored;
}

/* The harm of all links, and the cost of the flows that have left their first paths. */
static double
cost_now(const struct search *s)
{
	double cost = link_loads_total_harm(s->loads);

	for (size_t i = 0; s->change_cost > 0 && i < s->flows.n; i++) {
		const struct flow *flow = &s->flows.items[i];

		if (has_left(s, flow))
			cost += s->change_cost * s->jobs[flow->job].weight;
	}
	return cost;
}

/*
 * If the present paths do harm, starts again from an edge coloring: where many flows
 * leave each rack, moving one at a time ends far from paths without a collision.  Keeps
 * what is better, changes included.
 */
static void
try_coloring(struct search *s, uint32_t n_rounds)
{
	double before = cost_now(s);
	struct path_colors_flow *colored;

	if (!(link_loads_total_harm(s->loads) > TIE))
		return;
	colored = color_flows(s);
	s->taken.n = 0;
	for (size_t i = 0; i < s->flows.n; i++)
		vec_push(&s->taken, i);
	take_listed(s);
	for (size_t i = 0; i < s->flows.n; i++) {
		const struct flow *flow = &s->flows.items[i];
		const struct path *old = &s->old.items[i];
		const struct paths_job *job = &s->jobs[flow->job];
		uint32_t n_paths;
		struct path path = *old;

		if (colored[i].number != PATH_COLORS_PRESENT &&
		    find_path(s, job, flow->number, colored[i].number, &path,
			      &n_paths) < 0)
			BUG("a flow has lost its paths");
		/* The same path may have no number as yet. */
		if (memcmp(path.links, old->links, path.n * sizeof *path.links) != 0)
			take_path(s, flow, &path);
		add_flow(s->loads, job, flow->number, false);
	}
	free(colored);
	descend(s, n_rounds);
	if (cost_now(s) > before - TIE)
		return_listed(s);
}

int
paths_improve(struct link_loads *loads, const struct topo *topo, struct routes *routes,
	      const struct paths_job *jobs, size_t n, const struct paths_opts *opts,
	      struct paths_counts *ret_counts)
{
	uint32_t n_rounds = opts->n_rounds ? opts->n_rounds : DEFAULT_ROUNDS;
	struct search s;
	int error = 0;

	search_init(&s, loads, topo, routes, jobs, opts->seed);
	s.change_cost = opts->change_cost;
	/* Without a limit half of the range: a coloring changes paths uncounted. */
	s.n_left = opts->max_changes ? opts->max_changes : SIZE_MAX / 2;
	for (uint32_t j = 0; j < n && error == 0; j++)
		if (!jobs[j].is_fixed)
			error = list_flows(&s, j);
	if (error == 0) {
		*ret_counts =
			(struct paths_counts){ .n_flows = s.flows.n,
					       .harm_before =
						       link_loads_total_harm(loads) };
		sort_items(s.flows.items, s.flows.n, compare_loads);
		descend(&s, n_rounds);
		if (opts->max_changes == 0) {
			try_coloring(&s, n_rounds);
			redraw(&s, opts->n_redraws);
		}
		for (size_t i = 0; i < s.flows.n; i++)
			ret_counts->n_changed += has_left(&s, &s.flows.items[i]);
		ret_counts->harm_after = link_loads_total_harm(loads);
		for (uint32_t j = 0; j < n; j++)
			routed_job_refresh(jobs[j].routed, topo);
	}
	search_fini(&s);
	return error;
}
