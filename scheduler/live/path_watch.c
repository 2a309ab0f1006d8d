/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/live/path_watch.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/vec.h"
#include "scheduler/live/flow_paths.h"
#include "scheduler/live/live.h"
#include "scheduler/live/traffic_map.h"
#include "topology/collective.h"
#include "topology/interface_links.h"
#include "topology/route.h"
#include "topology/topo.h"

#define MS_PER_S    1000
#define PARTS_OF_1S 20
/* The fine scale. */
#define FINE_MS      100
#define FINE_PARTS   10
#define MAX_FINE_MS  30000
#define NOT_YET      INT64_MIN
#define NO_INTERFACE UINT32_MAX

/* The whole seconds of a series, as a ring: second s is at s modulo PATH_WATCH_SECONDS. */
struct kept {
	float *bytes; /* Owned.  NULL: not of use. */
	uint32_t n_parts;
};

struct path_watch {
	const struct live *live;
	const struct topo *topo;
	struct routes *routes;
	VEC(struct topo_interface_links) interfaces; /* By interface. */
	VEC(struct kept) kept;                       /* By series. */
	int64_t first_s, end_s; /* Kept seconds; 'end_s' NOT_YET: none. */
	uint32_t *bins;         /* Owned.  Scratch, [MAX_FINE_MS]. */
	struct flow_paths found;
};

/* What is asked of path_inference.h, at one scale. */
struct question {
	const struct path_watch *watch;
	uint32_t bin_ms, n_parts;
	size_t n_bins;
	int64_t from_ms;
	struct path_inference_link *links;     /* Owned, with their series.  By link. */
	VEC(struct path_inference_flow) flows; /* Owned, with their series and paths. */
	VEC(size_t) numbers;                   /* By flow: in watch->found. */
};

struct path_watch *
path_watch_new(const struct live *live, const struct topo *topo, struct routes *routes)
{
	struct path_watch *watch = xcalloc(1, sizeof *watch);

	watch->live = live;
	watch->topo = topo;
	watch->routes = routes;
	watch->end_s = NOT_YET;
	watch->bins = xcalloc(MAX_FINE_MS, sizeof *watch->bins);
	return watch;
}

void
path_watch_free(struct path_watch *watch)
{
	if (!watch)
		return;
	for (size_t i = 0; i < watch->kept.n; i++)
		free(watch->kept.items[i].bytes);
	vec_free(&watch->kept);
	vec_free(&watch->interfaces);
	flow_paths_fini(&watch->found);
	free(watch->bins);
	free(watch);
}

/* ---- Series ----------------------------------------------------------------------- */

/* Finds the links of interfaces that are new. */
static void
attach_new(struct path_watch *watch)
{
	for (uint32_t i = (uint32_t)watch->interfaces.n;
	     i < live_n_interfaces(watch->live); i++) {
		const struct live_interface *it = live_interface(watch->live, i);
		const char *host = live_host(watch->live, it->host)->name;

		vec_push(&watch->interfaces,
			 topo_interface_links(watch->topo, NULL, host, it->name));
	}
}

static uint32_t
tier_of(const struct path_watch *watch, uint32_t node)
{
	return topo_node(watch->topo, node)->tier;
}

static bool
is_between_switches(const struct path_watch *watch, uint32_t link)
{
	return tier_of(watch, topo_link(watch->topo, link)->from) > 0 &&
	       tier_of(watch, topo_link(watch->topo, link)->to) > 0;
}

/* The link of a series with bins; TOPO_NONE: not of use. */
static uint32_t
link_of(const struct path_watch *watch, uint32_t series)
{
	const struct live_series *s = live_series(watch->live, series);
	uint32_t link;

	if (!s->has_bins || s->job == TELE_OTHER || s->interface >= watch->interfaces.n)
		return TOPO_NONE;
	link = s->direction == TELE_TX ? watch->interfaces.items[s->interface].tx
				       : watch->interfaces.items[s->interface].rx;
	if (link == TOPO_NONE)
		return TOPO_NONE;
	/* Totals of switches, and what jobs send out of hosts. */
	if (s->job == TELE_LINK)
		return is_between_switches(watch, link) ? link : TOPO_NONE;
	return s->direction == TELE_TX &&
			       tier_of(watch, topo_link(watch->topo, link)->from) == 0
		       ? link
		       : TOPO_NONE;
}

/* Sums of 'width' bins each; a gap makes its sum unknown. */
static void
sum_bins(const uint32_t *bins, uint32_t width, size_t n, float *ret_sums)
{
	for (size_t i = 0; i < n; i++) {
		double sum = 0;

		for (uint32_t k = 0; k < width && sum >= 0; k++)
			sum = bins[i * width + k] == TELE_GAP
				      ? PATH_INFERENCE_GAP
				      : sum + bins[i * width + k];
		ret_sums[i] = (float)sum;
	}
}

static void
forget_second(struct path_watch *watch, int64_t second)
{
	size_t at = (size_t)(second % PATH_WATCH_SECONDS);

	for (size_t i = 0; i < watch->kept.n; i++) {
		struct kept *kept = &watch->kept.items[i];

		for (uint32_t k = 0; kept->bytes && k < kept->n_parts; k++)
			kept->bytes[at * kept->n_parts + k] = PATH_INFERENCE_GAP;
	}
}

static void
keep_second(struct path_watch *watch, int64_t second)
{
	size_t at = (size_t)(second % PATH_WATCH_SECONDS);

	for (uint32_t i = 0; i < live_n_series(watch->live); i++) {
		struct kept *kept;
		size_t n;

		if (i == watch->kept.n)
			vec_push(&watch->kept, ((struct kept){ .bytes = NULL }));
		kept = &watch->kept.items[i];
		if (!kept->bytes && link_of(watch, i) == TOPO_NONE)
			continue;
		if (!kept->bytes) {
			bool is_total = live_series(watch->live, i)->job == TELE_LINK;

			kept->n_parts = is_total ? 1 : PARTS_OF_1S;
			n = (size_t)PATH_WATCH_SECONDS * kept->n_parts;
			kept->bytes = xcalloc(n, sizeof *kept->bytes);
			for (size_t k = 0; k < n; k++)
				kept->bytes[k] = PATH_INFERENCE_GAP;
		}
		live_bins(watch->live, i, second * MS_PER_S, MS_PER_S, watch->bins);
		sum_bins(watch->bins, MS_PER_S / kept->n_parts, kept->n_parts,
			 kept->bytes + at * kept->n_parts);
	}
}

void
path_watch_follow(struct path_watch *watch)
{
	int64_t complete_ms = live_complete_ms(watch->live), complete_s;
	int64_t span_s = live_span_ms(watch->live) / MS_PER_S;

	if (complete_ms < 0)
		return;
	complete_s = complete_ms / MS_PER_S;
	/* Clocks may be anything: no second before 1970 is kept. */
	if (span_s > complete_s)
		span_s = complete_s;
	attach_new(watch);
	if (watch->end_s == NOT_YET || complete_s - watch->end_s > PATH_WATCH_SECONDS ||
	    complete_s < watch->end_s - PATH_WATCH_SECONDS)
		watch->first_s = watch->end_s = complete_s - span_s;
	while (watch->end_s < complete_s) {
		if (watch->end_s < complete_s - span_s)
			forget_second(watch, watch->end_s);
		else
			keep_second(watch, watch->end_s);
		watch->end_s++;
	}
	if (watch->first_s < watch->end_s - PATH_WATCH_SECONDS)
		watch->first_s = watch->end_s - PATH_WATCH_SECONDS;
}

/* ---- Questions -------------------------------------------------------------------- */

/* New array of the question's bins, each in 'n_parts', of a series. */
static float *
take_series(const struct question *q, uint32_t series, uint32_t n_parts)
{
	const struct path_watch *watch = q->watch;
	float *bytes = xcalloc(q->n_bins * n_parts + 1, sizeof *bytes);
	const struct kept *kept;

	if (q->bin_ms < MS_PER_S) {
		live_bins(watch->live, series, q->from_ms, q->n_bins * q->bin_ms,
			  watch->bins);
		sum_bins(watch->bins, q->bin_ms / n_parts, q->n_bins * n_parts, bytes);
		return bytes;
	}
	kept = series < watch->kept.n ? &watch->kept.items[series] : NULL;
	for (size_t t = 0; t < q->n_bins; t++) {
		size_t at = (size_t)(q->from_ms / MS_PER_S + (int64_t)t) %
			    PATH_WATCH_SECONDS;

		for (uint32_t k = 0; k < n_parts; k++)
			bytes[t * n_parts + k] = kept && kept->bytes
							 ? kept->bytes[at * n_parts + k]
							 : PATH_INFERENCE_GAP;
	}
	return bytes;
}

/* Takes the totals of links between switches; where both ends report, those sent. */
static bool
take_counters(struct question *q)
{
	const struct path_watch *watch = q->watch;
	uint32_t *clocks = xcalloc(live_n_hosts(watch->live) + 1, sizeof *clocks);
	uint32_t n_clocks = 0;

	q->links = xcalloc(topo_n_links(watch->topo) + 1, sizeof *q->links);
	for (uint32_t i = 0; i < live_n_series(watch->live); i++) {
		const struct live_series *s = live_series(watch->live, i);
		uint32_t link = s->job == TELE_LINK ? link_of(watch, i) : TOPO_NONE;
		uint32_t host;

		if (link == TOPO_NONE ||
		    (q->links[link].bytes && s->direction != TELE_TX))
			continue;
		free((void *)q->links[link].bytes);
		q->links[link].bytes = take_series(q, i, 1);
		host = live_interface(watch->live, s->interface)->host;
		if (!clocks[host])
			clocks[host] = ++n_clocks;
		q->links[link].clock = clocks[host] - 1;
	}
	free(clocks);
	return n_clocks > 0;
}

/* The links between switches of all paths of a flow, for path_inference.h. */
static bool
add_paths(const struct question *q, const struct flow_path *told, uint16_t port,
	  struct path_inference_flow *flow)
{
	VEC(uint32_t) ends = VEC_EMPTY;
	VEC(uint32_t) all = VEC_EMPTY;

	for (uint32_t p = 0; p < told->n_paths; p++) {
		uint32_t links[ROUTE_MAX_HOPS], n_paths;
		size_t n;

		if (routes_numbered_path(q->watch->routes, told->source,
					 told->destination, port, p, links, &n,
					 &n_paths) < 0)
			break;
		for (size_t i = 0; i < n; i++)
			if (is_between_switches(q->watch, links[i]))
				vec_push(&all, links[i]);
		vec_push(&ends, (uint32_t)all.n);
	}
	flow->n_paths = (uint32_t)ends.n;
	flow->path_ends = ends.items;
	flow->path_links = all.items;
	return ends.n == told->n_paths;
}

/* ---- Flows ------------------------------------------------------------------------ */

/* The flows of running jobs. */
struct roster {
	struct path_watch *watch;
	struct traffic_map_traffic *traffic; /* Owned. */
	uint16_t *ports;                     /* Owned.  By job. */
	uint32_t *interface_of;              /* Owned.  By link out of a host. */
	VEC(uint32_t) series;                /* By flow of watch->found. */
	VEC(uint16_t) port_of;               /* Likewise. */
};

static void
roster_init(struct roster *r, struct path_watch *watch)
{
	struct traffic_map_ports *ports = traffic_map_ports_begin(watch->live);
	uint32_t n_links = topo_n_links(watch->topo);

	*r = (struct roster){ .watch = watch,
			      .series = VEC_EMPTY,
			      .port_of = VEC_EMPTY };
	while (!traffic_map_ports_step(ports))
		continue;
	r->ports = traffic_map_ports_end(ports);
	r->traffic = traffic_map_traffic_begin(watch->live);
	while (!traffic_map_traffic_step(r->traffic))
		continue;
	r->interface_of = xcalloc(n_links + 1, sizeof *r->interface_of);
	for (uint32_t l = 0; l < n_links; l++)
		r->interface_of[l] = NO_INTERFACE;
	for (uint32_t i = 0; i < watch->interfaces.n; i++) {
		uint32_t tx = watch->interfaces.items[i].tx;

		if (tx != TOPO_NONE && (r->interface_of[tx] == NO_INTERFACE ||
					live_interface(watch->live, i)->is_rdma))
			r->interface_of[tx] = i;
	}
}

static void
roster_fini(struct roster *r)
{
	traffic_map_traffic_free(r->traffic);
	free(r->ports);
	free(r->interface_of);
	vec_free(&r->series);
	vec_free(&r->port_of);
}

static void
add_flow(struct roster *r, uint32_t job, const struct collective_flow *flow,
	 uint32_t rail, uint16_t port)
{
	const struct path_watch *watch = r->watch;
	struct flow_path told = { .job = job,
				  .source = flow->source,
				  .destination = flow->destination,
				  .rail = rail,
				  .reason = PATH_INFERENCE_UNCLEAR };
	uint32_t links[ROUTE_MAX_HOPS], interface, series = UINT32_MAX;
	size_t n;

	if (routes_numbered_path(watch->routes, flow->source, flow->destination, port,
				 0, links, &n, &told.n_paths) < 0 ||
	    n == 0)
		return;
	interface = r->interface_of[links[0]];
	if (interface != NO_INTERFACE)
		series = live_find_series(watch->live, interface, job, TELE_TX);
	if (series == UINT32_MAX)
		told.reason = PATH_INFERENCE_NO_TRAFFIC;
	vec_push(&r->watch->found.flows, told);
	vec_push(&r->series, series);
	vec_push(&r->port_of, port);
}

static void
add_job(struct roster *r, uint32_t job)
{
	const struct path_watch *watch = r->watch;
	struct collective_flows flows;
	size_t n_hosts;
	uint32_t *hosts = traffic_map_job_hosts(watch->live, watch->topo, r->traffic,
						job, &n_hosts);

	if (n_hosts > 1 && collective_make(watch->topo, COLLECTIVE_RING, hosts, n_hosts,
					   1, &flows) == 0) {
		for (size_t i = 0; i < flows.n; i++)
			add_flow(r, job, &flows.flows[i], (uint32_t)i % flows.n_rails,
				 (uint16_t)(r->ports[job] + i));
		collective_flows_fini(&flows);
	}
	free(hosts);
}

/* ---- Answers ---------------------------------------------------------------------- */

/* Joins the answer of a scale to what is known from a finer one. */
static void
take_answer(const struct question *q, const struct path_inference_answer *answer,
	    struct flow_path *flow)
{
	bool is_known = answer->reason == PATH_INFERENCE_KNOWN;

	if (flow->bin_ms && flow->reason == PATH_INFERENCE_KNOWN) {
		if (is_known && answer->path != flow->path)
			flow->reason = PATH_INFERENCE_UNCLEAR;
		return;
	}
	flow->reason = answer->reason;
	flow->margin = answer->margin;
	flow->path = answer->path;
	flow->bin_ms = q->bin_ms;
	flow->n_bins = (uint32_t)q->n_bins;
}

static void
ask(struct question *q, const struct roster *r)
{
	struct path_watch *watch = r->watch;
	struct path_inference_answer *answers;

	for (size_t i = 0; i < watch->found.flows.n; i++) {
		struct flow_path *told = &watch->found.flows.items[i];
		struct path_inference_flow flow = { 0 };

		if (told->n_paths > PATH_INFERENCE_MAX_PATHS)
			told->reason = PATH_INFERENCE_TOO_MANY;
		else if (r->series.items[i] != UINT32_MAX &&
			 add_paths(q, told, r->port_of.items[i], &flow)) {
			flow.bytes = take_series(q, r->series.items[i], q->n_parts);
			vec_push(&q->flows, flow);
			vec_push(&q->numbers, i);
			continue;
		}
		free((void *)flow.path_ends);
		free((void *)flow.path_links);
	}
	answers = xcalloc(q->flows.n + 1, sizeof *answers);
	path_inference_run(
		&(const struct path_inference_problem){
			.n_bins = q->n_bins,
			.n_parts = q->n_parts,
			.n_flows = q->flows.n,
			.n_links = topo_n_links(watch->topo),
			.flows = q->flows.items,
			.links = q->links },
		answers);
	for (size_t i = 0; i < q->flows.n; i++)
		take_answer(q, &answers[i],
			    &watch->found.flows.items[q->numbers.items[i]]);
	free(answers);
}

static void
question_fini(struct question *q)
{
	for (uint32_t l = 0; q->links && l < topo_n_links(q->watch->topo); l++)
		free((void *)q->links[l].bytes);
	free(q->links);
	for (size_t i = 0; i < q->flows.n; i++) {
		free((void *)q->flows.items[i].bytes);
		free((void *)q->flows.items[i].path_ends);
		free((void *)q->flows.items[i].path_links);
	}
	vec_free(&q->flows);
	vec_free(&q->numbers);
}

/* Asks at one scale, if there is time enough, and a switch that reports. */
static void
ask_scale(const struct roster *r, uint32_t bin_ms, uint32_t n_parts, int64_t from_ms,
	  size_t n_bins)
{
	struct question q = { .watch = r->watch,
			      .bin_ms = bin_ms,
			      .n_parts = n_parts,
			      .n_bins = n_bins,
			      .from_ms = from_ms,
			      .flows = VEC_EMPTY,
			      .numbers = VEC_EMPTY };

	if (n_bins >= PATH_INFERENCE_MIN_BINS && take_counters(&q))
		ask(&q, r);
	question_fini(&q);
}

/* Fills in the links of the paths that are known. */
static void
add_links(const struct roster *r)
{
	struct path_watch *watch = r->watch;

	for (size_t i = 0; i < watch->found.flows.n; i++) {
		struct flow_path *flow = &watch->found.flows.items[i];
		uint32_t links[ROUTE_MAX_HOPS];
		size_t n;

		if (!flow->bin_ms || flow->reason != PATH_INFERENCE_KNOWN ||
		    flow->n_paths < 2 ||
		    routes_numbered_path(watch->routes, flow->source, flow->destination,
					 r->port_of.items[i], flow->path, links, &n,
					 &flow->n_paths) < 0)
			continue;
		flow->first = (uint32_t)watch->found.links.n;
		flow->n_links = (uint32_t)n;
		for (size_t k = 0; k < n; k++)
			vec_push(&watch->found.links, links[k]);
	}
}

static bool
has_counters(const struct path_watch *watch)
{
	for (uint32_t i = 0; i < live_n_series(watch->live); i++)
		if (live_series(watch->live, i)->job == TELE_LINK &&
		    link_of(watch, i) != TOPO_NONE)
			return true;
	return false;
}

const struct flow_paths *
path_watch_infer(struct path_watch *watch)
{
	int64_t to_ms = live_complete_ms(watch->live);
	uint32_t span_ms = live_span_ms(watch->live);
	uint32_t fine_ms = span_ms < MAX_FINE_MS ? span_ms : MAX_FINE_MS;
	struct roster r;

	flow_paths_fini(&watch->found);
	path_watch_follow(watch);
	if (to_ms == LIVE_NEVER || !routes_all_hash(watch->routes) ||
	    topo_n_links(watch->topo) > PATH_WATCH_MAX_LINKS || !has_counters(watch))
		return &watch->found;
	roster_init(&r, watch);
	for (uint32_t job = 0; job < live_n_jobs(watch->live) &&
			       watch->found.flows.n <= PATH_WATCH_MAX_FLOWS;
	     job++)
		if (live_is_job(watch->live, job))
			add_job(&r, job);
	if (watch->found.flows.n <= PATH_WATCH_MAX_FLOWS) {
		fine_ms -= fine_ms % FINE_MS;
		ask_scale(&r, FINE_MS, FINE_PARTS, to_ms - fine_ms, fine_ms / FINE_MS);
		ask_scale(&r, MS_PER_S, PARTS_OF_1S, watch->first_s * MS_PER_S,
			  (size_t)(watch->end_s - watch->first_s));
		add_links(&r);
	} else {
		for (size_t i = 0; i < watch->found.flows.n; i++)
			watch->found.flows.items[i].reason = PATH_INFERENCE_TOO_MANY;
	}
	flow_paths_sort(&watch->found);
	roster_fini(&r);
	return &watch->found;
}
