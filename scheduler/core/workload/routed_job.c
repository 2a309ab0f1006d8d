/* SPDX-License-Identifier: Apache-2.0 */
/*
 * routed_job.c - jobs on a fabric: flows with paths for the engine, and loads on
 * links for the joint solver.  Declared in workload.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "lib/base/vec.h"
#include "scheduler/core/workload/routed_calls.h"
#include "scheduler/core/workload/workload.h"
#include "topology/route.h"
#include "topology/topo.h"

/* ---- One job --------------------------------------------------------------------- */

/* Scales the flows so that the busiest interface sends or receives one byte. */
static void
scale_to_one_byte(struct collective_flows *flows)
{
	for (size_t i = 0; i < flows->n; i++)
		flows->flows[i].bytes /= flows->nic_bytes;
	flows->nic_bytes = 1;
}

/*
 * The flows with their paths.  A flow over tiers that spray or route adaptively becomes
 * parts: one for each of its paths, of equal bytes and weights.  Where these tiers are
 * symmetric, all parts get the same rate, and together what one flow over links of
 * summed capacity would get.
 */
struct router {
	const struct collective_flow *flow; /* That is being routed. */
	VEC(struct collective_flow) flows;
	VEC(double) weights;
	VEC(size_t) path_first;
	VEC(uint32_t) links;
	VEC(size_t) part_first; /* By connection: its first part. */
};

static void
add_part(void *ctx, const uint32_t *links, size_t n)
{
	struct router *router = ctx;

	for (size_t i = 0; i < n; i++)
		vec_push(&router->links, links[i]);
	vec_push(&router->path_first, router->links.n);
	vec_push(&router->flows, *router->flow);
	vec_push(&router->weights, 1);
}

/* Flow number i has source port first_port + i, as in footprint_make(). */
static int
find_path(const struct work_job *job, size_t i, struct routes *routes,
	  struct router *router)
{
	const struct collective_flow *flow = router->flow;
	uint16_t port = (uint16_t)(job->first_port + i);
	uint32_t links[ROUTE_MAX_HOPS], n_paths;
	size_t first = router->flows.n, n;
	int r;

	if (job->paths && job->paths[i] != WORK_HASHED) {
		r = routes_numbered_path(routes, flow->source, flow->destination, port,
					 job->paths[i], links, &n, &n_paths);
		if (r == 0)
			add_part(router, links, n);
		return r;
	}
	r = routes_spread_paths(routes, flow->source, flow->destination, port,
				WORK_MAX_PARTS, add_part, router, &n);
	for (size_t k = first; r == 0 && k < router->flows.n; k++) {
		router->flows.items[k].bytes /= (double)n;
		router->weights.items[k] /= (double)n;
	}
	return r;
}

static int
find_paths(const struct work_job *job, struct routes *routes, struct routed_job *routed)
{
	struct router router = { 0 };
	int r = 0;

	vec_push(&router.path_first, 0);
	for (size_t i = 0; i < routed->flows.n && r == 0; i++) {
		router.flow = &routed->flows.flows[i];
		vec_push(&router.part_first, router.flows.n);
		r = find_path(job, i, routes, &router);
	}
	vec_push(&router.part_first, router.flows.n);
	if (r == 0)
		routed_calls_number(routed, router.part_first.items,
				    router.part_first.n - 1, router.weights.items);
	vec_free(&router.part_first);
	free(routed->flows.flows);
	routed->flows.flows = router.flows.items;
	routed->flows.n = router.flows.n;
	routed->weights = router.weights.items;
	routed->path_first = router.path_first.items;
	routed->path_links = router.links.items;
	return r;
}

/* The paths by flow, for those who change them. */
static int
note_paths(const struct work_job *job, const struct routes *routes,
	   struct routed_job *routed)
{
	size_t n = routed->flows.n;

	if (job->paths && (job->n_paths != n || !routes_all_hash(routes)))
		return -EINVAL;
	if (!routes_all_hash(routes))
		return 0;
	routed->paths = xcalloc(n + 1, sizeof *routed->paths);
	for (size_t i = 0; i < n; i++)
		routed->paths[i] = job->paths ? job->paths[i] : WORK_HASHED;
	return 0;
}

void
routed_job_refresh(struct routed_job *routed, const struct topo *topo)
{
	footprint_fini(&routed->footprint);
	if (routed->patterns) {
		routed_calls_footprint(routed, topo, &routed->footprint);
		return;
	}
	footprint_of_paths(topo_n_links(topo), &routed->flows, routed->path_links,
			   routed->path_first, &routed->footprint);
}

/* The flows before they are routed. */
static int
make_flows(const struct work_job *job, const uint32_t *hosts, const struct topo *topo,
	   struct routed_job *routed)
{
	int r;

	if (work_job_has_calls(job))
		return routed_calls_make(job, hosts, topo, routed);
	r = collective_make(topo, job->collective, hosts, job->n_hosts_wanted, 1,
			    &routed->flows);
	if (r < 0)
		return r;
	if (routed->flows.n)
		scale_to_one_byte(&routed->flows);
	if (job->n_connections > 1)
		r = collective_flows_split(&routed->flows, job->n_connections);
	return r;
}

int
routed_job_make(const struct work_job *job, const uint32_t *hosts,
		const struct topo *topo, struct routes *routes,
		struct routed_job *ret_routed)
{
	struct routed_job routed = { 0 };
	int r = make_flows(job, hosts, topo, &routed);

	if (r == 0)
		r = note_paths(job, routes, &routed);
	if (r == 0 && !routed.paths && !routed.patterns)
		r = footprint_make(routes, &routed.flows, job->first_port,
				   &routed.footprint, NULL);
	if (r == 0)
		r = find_paths(job, routes, &routed);
	if (r < 0) {
		routed_job_fini(&routed);
		return r;
	}
	if (routed.paths || routed.patterns)
		routed_job_refresh(&routed, topo);
	*ret_routed = routed;
	return 0;
}

void
routed_job_fini(struct routed_job *routed)
{
	if (!routed)
		return;
	collective_flows_fini(&routed->flows);
	footprint_fini(&routed->footprint);
	free(routed->path_links);
	free(routed->path_first);
	free(routed->weights);
	free(routed->paths);
	routed_calls_fini(routed);
	*routed = (struct routed_job){ 0 };
}

/*
 * A flow that carries the share f of the busiest interface's bytes may use the share f
 * of that interface's cap, so that all flows end together.
 */
static void
lay_segment(const struct work_segment *segment, const struct routed_job *routed,
	    const struct routed_pattern *pattern, size_t n, struct engine_flow *flows)
{
	for (size_t k = 0; k < n; k++) {
		size_t i = pattern ? pattern->flows[k] : k;
		double share =
			pattern ? pattern->shares[k] : routed->flows.flows[i].bytes;

		flows[k] = (struct engine_flow){
			.links = routed->path_links + routed->path_first[i],
			.n_links = (uint32_t)(routed->path_first[i + 1] -
					      routed->path_first[i]),
			.bytes = share * segment->nic_bytes,
			.cap_bps = share * segment->cap_bps,
			.weight = routed->weights[i],
		};
	}
}

int
routed_job_add(const struct work_job *job, const struct routed_job *routed,
	       struct engine *engine, int64_t shift_ns, enum engine_pacing pacing,
	       uint32_t *ret_id)
{
	struct engine_segment *segments =
		xcalloc(job->n_segments + 1, sizeof *segments);
	struct engine_flow *flows;
	size_t n_flows = 0;
	uint32_t *after = work_needs_fill(job, segments);
	bool takes_time = false;
	int r = -EINVAL;

	for (size_t i = 0; i < job->n_segments; i++)
		n_flows += routed_segment_n_flows(job, routed, i);
	flows = xcalloc(n_flows + 1, sizeof *flows);
	n_flows = 0;
	for (size_t i = 0; i < job->n_segments; i++) {
		const struct work_segment *s = &job->segments[i];
		size_t n = routed_segment_n_flows(job, routed, i);

		segments[i].compute_ns = s->compute_ns;
		if (n) {
			lay_segment(s, routed, routed_job_pattern(job, routed, i), n,
				    flows + n_flows);
			segments[i].flows_offset_ns = s->send_offset_ns;
			segments[i].latency_ns = s->latency_ns;
			segments[i].flows = flows + n_flows;
			segments[i].n_flows = (uint32_t)n;
			segments[i].first_weight = s->first_weight;
			segments[i].last_weight = s->last_weight;
			segments[i].n_steps = s->n_steps;
			n_flows += n;
		}
		takes_time |= segments[i].compute_ns > 0 || segments[i].n_flows > 0;
	}
	if (takes_time) {
		struct engine_job engine_job = {
			.segments = segments,
			.n_segments = (uint32_t)job->n_segments,
			.arrival_ns = job->arrival_ns,
			.shift_ns = shift_ns,
			.stop_ns = job->stop_ns,
			.max_iterations = job->max_iterations,
			.jitter_frac = job->jitter_frac,
			.stall_frac = job->stall_frac,
			.stall_ns = job->stall_ns,
			.pacing = pacing,
			.priority = job->priority,
			.grid_ns = job->profile.period_us * 1000,
		};

		r = engine_add_job(engine, &engine_job, ret_id);
	}
	free(segments);
	free(flows);
	free(after);
	return r;
}

/* ---- All jobs: the joint problem ------------------------------------------------- */

struct place {
	uint32_t link, job;
	double factor;
};

static int
compare_places(const void *a, const void *b)
{
	const struct place *pa = a, *pb = b;

	if (pa->link != pb->link)
		return pa->link < pb->link ? -1 : 1;
	return (pa->job > pb->job) - (pa->job < pb->job);
}

/* Appends the link of places[0 .. n) with its loads. */
static void
put_link(struct work_problem *problem, const struct place *places, size_t n,
	 const struct topo *topo, uint32_t *n_loads)
{
	struct joint_link *link = &problem->links[problem->problem.n_links++];

	*link = (struct joint_link){
		.id = places[0].link,
		.first_load = *n_loads,
		.n_loads = (uint32_t)n,
		.capacity_bps = topo_link(topo, places[0].link)->capacity_bps,
		.weight = 1,
	};
	for (size_t i = 0; i < n; i++)
		problem->loads[(*n_loads)++] = (struct joint_load){
			.job = places[i].job,
			.factor = places[i].factor,
		};
}

void
work_problem_make(const struct workload *workload,
		  const struct routed_job *const *routed, const struct topo *topo,
		  struct work_problem *ret_problem)
{
	struct work_problem problem = { 0 };
	VEC(struct place) places = VEC_EMPTY;
	uint32_t n_loads = 0;

	problem.profiles = xcalloc(workload->n + 1, sizeof(struct profile *));
	for (size_t j = 0; j < workload->n; j++) {
		problem.profiles[j] = &workload->jobs[j].profile;
		for (size_t i = 0; routed[j] && i < routed[j]->footprint.n; i++) {
			const struct footprint_entry *e =
				&routed[j]->footprint.entries[i];

			vec_push(&places,
				 ((struct place){ e->link, (uint32_t)j, e->factor }));
		}
	}
	sort_items(places.items, places.n, compare_places);
	problem.links = xcalloc(places.n / 2 + 1, sizeof *problem.links);
	problem.loads = xcalloc(places.n + 1, sizeof *problem.loads);
	for (size_t first = 0, end; first < places.n; first = end) {
		for (end = first + 1; end < places.n; end++)
			if (places.items[end].link != places.items[first].link)
				break;
		if (end - first >= 2)
			put_link(&problem, &places.items[first], end - first, topo,
				 &n_loads);
	}
	vec_free(&places);
	problem.problem.n_jobs = workload->n;
	problem.problem.profiles = problem.profiles;
	problem.problem.links = problem.links;
	problem.problem.loads = problem.loads;
	*ret_problem = problem;
}

void
work_problem_fini(struct work_problem *problem)
{
	free(problem->profiles);
	free(problem->links);
	free(problem->loads);
	*problem = (struct work_problem){ 0 };
}
