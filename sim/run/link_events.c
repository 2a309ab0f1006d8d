/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/run/link_events.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "lib/base/vec.h"
#include "topology/route.h"
#include "topology/topo.h"

/* The present path of one flow. */
struct path {
	uint32_t *links; /* Owned; or NULL: none, it waits. */
	size_t n;
	bool is_new; /* The engine does not have it yet. */
};

struct job_paths {
	struct path *paths; /* Owned.  By flow of its routed_job; NULL: not placed. */
	double waits_since_ns; /* Negative: does not wait. */
	double waited_ns;
};

struct job_link {
	uint32_t job, link;
};

struct link_events {
	const struct scenario *scenario;
	const struct sim_plan *plan;
	const struct topo *topo;
	struct link_event *events; /* Owned.  By time. */
	size_t n, next;
	double *link_shares, *node_shares; /* Owned.  As events have set them. */
	double *capacity_bps;              /* Owned.  By link, in the engine. */
	struct job_paths *jobs;            /* Owned.  By job. */
	VEC(struct job_link) new_links;    /* Outside of their footprints. */
};

static int
compare_events(const void *a, const void *b, void *ctx)
{
	const struct scenario *s = ctx;
	uint32_t x = ((const struct link_event *)a)->number;
	uint32_t y = ((const struct link_event *)b)->number;
	int64_t x_ns = s->events[x].time_ns, y_ns = s->events[y].time_ns;

	if (x_ns != y_ns)
		return x_ns < y_ns ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void
copy_paths(const struct routed_job *routed, struct job_paths *job)
{
	job->paths = xcalloc(routed->flows.n + 1, sizeof *job->paths);
	for (size_t i = 0; i < routed->flows.n; i++) {
		size_t first = routed->path_first[i];

		job->paths[i].n = routed->path_first[i + 1] - first;
		job->paths[i].links = xmemdup(routed->path_links + first,
					      job->paths[i].n, sizeof(uint32_t));
	}
}

struct link_events *
link_events_new(const struct scenario *scenario, const struct sim_plan *plan,
		const struct topo *topo)
{
	struct link_events *e;
	uint32_t n_links = topo_n_links(topo), n_nodes = topo_n_nodes(topo);

	if (!scenario->n_events)
		return NULL;
	e = xcalloc(1, sizeof *e);
	e->scenario = scenario;
	e->plan = plan;
	e->topo = topo;
	e->n = scenario->n_events;
	e->events = xcalloc(e->n, sizeof *e->events);
	for (size_t i = 0; i < e->n; i++) {
		e->events[i].number = (uint32_t)i;
		e->events[i].is_waiting = xcalloc(plan->n + 1, sizeof(bool));
	}
	qsort_r(e->events, e->n, sizeof *e->events, compare_events, (void *)scenario);
	e->link_shares = xcalloc((size_t)n_links + 1, sizeof(double));
	e->capacity_bps = xcalloc((size_t)n_links + 1, sizeof(double));
	e->node_shares = xcalloc((size_t)n_nodes + 1, sizeof(double));
	for (uint32_t l = 0; l < n_links; l++) {
		e->link_shares[l] = 1;
		e->capacity_bps[l] = topo_link(topo, l)->capacity_bps;
	}
	for (uint32_t v = 0; v < n_nodes; v++)
		e->node_shares[v] = 1;
	e->jobs = xcalloc(plan->n + 1, sizeof *e->jobs);
	for (size_t j = 0; j < plan->n; j++) {
		e->jobs[j].waits_since_ns = -1;
		if (plan->jobs[j].is_placed)
			copy_paths(&plan->jobs[j].routed, &e->jobs[j]);
	}
	return e;
}

void
link_events_free(struct link_events *e)
{
	if (!e)
		return;
	for (size_t j = 0; j < e->plan->n; j++) {
		for (size_t i = 0;
		     e->jobs[j].paths && i < e->plan->jobs[j].routed.flows.n; i++)
			free(e->jobs[j].paths[i].links);
		free(e->jobs[j].paths);
	}
	for (size_t i = 0; i < e->n; i++)
		free(e->events[i].is_waiting);
	free(e->events);
	free(e->link_shares);
	free(e->node_shares);
	free(e->capacity_bps);
	free(e->jobs);
	vec_free(&e->new_links);
	free(e);
}

int64_t
link_events_next_ns(const struct link_events *e)
{
	return e && e->next < e->n
		       ? e->scenario->events[e->events[e->next].number].time_ns
		       : ENGINE_NEVER;
}

/* ---- Paths ----------------------------------------------------------------------- */

/* The links that are up, with routes over them. */
struct remains {
	struct topo *topo;
	uint32_t *ids; /* Owned.  By link of 'topo': the link of the fabric. */
	struct routes *routes;
	bool *is_down; /* Owned.  By link of the fabric. */
};

static double
share_of(const struct link_events *e, uint32_t l)
{
	const struct topo_link *link = topo_link(e->topo, l);

	return fmin(e->link_shares[l],
		    fmin(e->node_shares[link->from], e->node_shares[link->to]));
}

/* Whether the plan spreads flows over a fabric that hashes, as "spray" does. */
static bool
is_sprayed(const struct sim_plan *plan, const struct topo *topo)
{
	for (uint32_t tier = 1; tier <= TOPO_MAX_TIER; tier++)
		if (topo_balance(topo, tier) != TOPO_BALANCE_HASH)
			return false;
	for (size_t j = 0; j < plan->n; j++)
		for (size_t i = 0; i < plan->jobs[j].routed.flows.n; i++)
			if (plan->jobs[j].routed.weights[i] < 1)
				return true;
	return false;
}

static void
remains_init(const struct link_events *e, struct remains *r)
{
	uint32_t n_links = topo_n_links(e->topo);
	uint64_t seed = e->scenario->fabric.ecmp_seed;

	r->is_down = xcalloc((size_t)n_links + 1, sizeof *r->is_down);
	for (uint32_t l = 0; l < n_links; l++)
		r->is_down[l] = !(share_of(e, l) > 0);
	r->topo = topo_without(e->topo, r->is_down, &r->ids);
	r->routes = is_sprayed(e->plan, e->topo) ? routes_new_spraying(r->topo, seed)
						 : routes_new(r->topo, seed);
}

static void
remains_fini(struct remains *r)
{
	routes_free(r->routes);
	topo_unref(r->topo);
	free(r->ids);
	free(r->is_down);
}

/* The paths that one flow may take. */
struct choice {
	const struct remains *remains;
	VEC(uint32_t) links;
	VEC(size_t) first;
};

static void
add_path(void *ctx, const uint32_t *links, size_t n)
{
	struct choice *choice = ctx;

	for (size_t i = 0; i < n; i++)
		vec_push(&choice->links, choice->remains->ids[links[i]]);
	vec_push(&choice->first, choice->links.n);
}

static bool
is_up(const struct remains *r, const uint32_t *links, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (r->is_down[links[i]])
			return false;
	return true;
}

/* Gives flow 'i' of job 'j' a path, or none; true if that is another one. */
static bool
set_path(struct link_events *e, size_t j, size_t i, const uint32_t *links, size_t n)
{
	struct path *path = &e->jobs[j].paths[i];

	if (!links == !path->links &&
	    (!links ||
	     (n == path->n && !memcmp(links, path->links, n * sizeof *links))))
		return false;
	free(path->links);
	path->links = links ? xmemdup(links, n, sizeof *links) : NULL;
	path->n = links ? n : 0;
	path->is_new = true;
	for (size_t h = 0; h < path->n; h++)
		if (!footprint_find(&e->plan->jobs[j].routed.footprint, links[h]))
			vec_push(&e->new_links,
				 ((struct job_link){ (uint32_t)j, links[h] }));
	return true;
}

/* Gives the engine the job's new paths, in each segment that sends over them. */
static void
apply_paths(struct link_events *e, struct engine *engine, size_t j)
{
	const struct work_job *job = &e->scenario->workload.jobs[j];
	const struct routed_job *routed = &e->plan->jobs[j].routed;
	struct path *paths = e->jobs[j].paths;
	uint32_t engine_flow = 0;

	for (size_t s = 0; s < job->n_segments; s++) {
		const struct routed_pattern *pattern =
			routed_job_pattern(job, routed, s);
		size_t n = pattern ? pattern->n : routed->flows.n;

		/* As routed_job_add() numbers them. */
		for (size_t k = 0; job->segments[s].nic_bytes > 0 && k < n;
		     k++, engine_flow++) {
			const struct path *path =
				&paths[pattern ? pattern->flows[k] : k];

			if (path->is_new)
				BUG_ON(engine_set_path(engine, (uint32_t)j, engine_flow,
						       path->links,
						       (uint32_t)path->n) < 0);
		}
	}
	for (size_t i = 0; i < routed->flows.n; i++)
		paths[i].is_new = false;
}

/* Routes the flow whose parts are 'n' flows from 'first' on.  False: it has no path. */
static bool
route_flow(struct link_events *e, const struct remains *r, size_t j, size_t first,
	   size_t n, size_t number, uint32_t *n_moved)
{
	const struct routed_job *routed = &e->plan->jobs[j].routed;
	const struct collective_flow *flow = &routed->flows.flows[first];
	uint16_t port = (uint16_t)(e->scenario->workload.jobs[j].first_port + number);
	struct choice choice = { .remains = r };
	size_t n_paths = 0;

	vec_push(&choice.first, 0);
	if (routed->paths && routed->paths[first] != WORK_HASHED &&
	    is_up(r, routed->path_links + routed->path_first[first],
		  routed->path_first[first + 1] - routed->path_first[first])) {
		for (size_t h = routed->path_first[first];
		     h < routed->path_first[first + 1]; h++)
			vec_push(&choice.links, routed->path_links[h]);
		vec_push(&choice.first, choice.links.n);
		n_paths = 1;
	} else if (routes_spread_paths(r->routes, flow->source, flow->destination, port,
				       n, add_path, &choice, &n_paths) < 0) {
		n_paths = 0;
	}
	for (size_t i = 0; i < n; i++) {
		size_t k = n_paths ? i % n_paths : 0;
		const uint32_t *links = choice.links.items + choice.first.items[k];

		*n_moved += set_path(e, j, first + i, n_paths ? links : NULL,
				     n_paths ? choice.first.items[k + 1] -
						       choice.first.items[k]
					     : 0);
	}
	vec_free(&choice.links);
	vec_free(&choice.first);
	return n_paths > 0;
}

/* Returns whether all flows of the job have paths. */
static bool
route_job(struct link_events *e, struct engine *engine, const struct remains *r,
	  size_t j, uint32_t *n_moved)
{
	const struct routed_job *routed = &e->plan->jobs[j].routed;
	bool all = true;
	size_t number = 0;

	/* The n parts of a flow have the weight 1/n each. */
	for (size_t first = 0, n; first < routed->flows.n; first += n, number++) {
		n = (size_t)llround(1 / routed->weights[first]);
		all &= route_flow(e, r, j, first, n, number, n_moved);
	}
	apply_paths(e, engine, j);
	return all;
}

/* ---- Events ---------------------------------------------------------------------- */

static void
set_shares(struct link_events *e, const struct scenario_event *event)
{
	if (event->node != TOPO_NONE)
		e->node_shares[event->node] = event->share;
	for (int i = 0; i < 2; i++)
		if (event->links[i] != TOPO_NONE)
			e->link_shares[event->links[i]] = event->share;
}

static void
set_capacities(struct link_events *e, struct engine *engine)
{
	for (uint32_t l = 0; l < topo_n_links(e->topo); l++) {
		double share = share_of(e, l);
		double bps = topo_link(e->topo, l)->capacity_bps * share;

		/* No flow is on a link that is down. */
		if (!(share > 0) ||
		    !(bps < e->capacity_bps[l] || bps > e->capacity_bps[l]))
			continue;
		e->capacity_bps[l] = bps;
		BUG_ON(engine_set_capacity(engine, l, bps) < 0);
	}
}

static void
set_waiting(struct link_event *event, struct job_paths *job, size_t j, bool waits,
	    double now_ns)
{
	event->is_waiting[j] = waits;
	event->n_waiting += waits;
	if (waits && job->waits_since_ns < 0) {
		job->waits_since_ns = now_ns;
	} else if (!waits && job->waits_since_ns >= 0) {
		job->waited_ns += now_ns - job->waits_since_ns;
		job->waits_since_ns = -1;
	}
}

void
link_events_apply(struct link_events *e, struct engine *engine)
{
	double now_ns = engine_now_ns(engine);

	while ((double)link_events_next_ns(e) <= now_ns) {
		struct link_event *event = &e->events[e->next++];
		struct remains remains;

		event->has_happened = true;
		set_shares(e, &e->scenario->events[event->number]);
		set_capacities(e, engine);
		remains_init(e, &remains);
		for (size_t j = 0; j < e->plan->n; j++)
			if (e->jobs[j].paths)
				set_waiting(event, &e->jobs[j], j,
					    !route_job(e, engine, &remains, j,
						       &event->n_moved),
					    now_ns);
		remains_fini(&remains);
	}
}

const struct link_event *
link_events_all(const struct link_events *e, size_t *ret_n)
{
	*ret_n = e ? e->n : 0;
	return e ? e->events : NULL;
}

double
link_events_waited_ns(const struct link_events *e, size_t j, double now_ns)
{
	if (!e)
		return 0;
	return e->jobs[j].waited_ns +
	       (e->jobs[j].waits_since_ns < 0 ? 0 : now_ns - e->jobs[j].waits_since_ns);
}

static int
compare_job_links(const void *a, const void *b)
{
	const struct job_link *x = a, *y = b;

	if (x->link != y->link)
		return x->link < y->link ? -1 : 1;
	return (x->job > y->job) - (x->job < y->job);
}

void
link_events_count_jobs(const struct link_events *e, uint32_t *n_jobs)
{
	struct job_link *sorted;
	size_t n = e ? e->new_links.n : 0;

	if (!n)
		return;
	sorted = xmemdup(e->new_links.items, n, sizeof *sorted);
	sort_items(sorted, n, compare_job_links);
	for (size_t i = 0; i < n; i++)
		n_jobs[sorted[i].link] +=
			i == 0 || compare_job_links(&sorted[i], &sorted[i - 1]) != 0;
	free(sorted);
}
