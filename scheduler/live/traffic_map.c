/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traffic_map.c - series to links: interfaces by topology/interface_links.h, jobs by the
 * flows of a ring.
 */
#include "scheduler/live/traffic_map.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "scheduler/live/flow_paths.h"
#include "scheduler/live/job_series.h"
#include "scheduler/live/live.h"
#include "scheduler/live/live_constants.h"
#include "topology/collective.h"
#include "topology/interface_links.h"
#include "topology/route.h"
#include "topology/topo.h"

/* Items per step: the cheaper an item, the more. */
#define JOBS_A_STEP       64
#define INTERFACES_A_STEP 1024
#define SERIES_A_STEP     16384
#define PARTS_A_STEP      32768

struct traffic_map_traffic {
	const struct live *live;
	uint32_t n_series, next;
	double *bytes;                /* Owned. Of each series, per millisecond. */
	struct job_series job_series; /* Owned. Of at least as many. */
};

enum stage {
	STAGE_TRAFFIC,
	STAGE_ATTACH,
	STAGE_MEASURED,
	STAGE_PORTS,
	STAGE_JOBS,
	STAGE_COUNT,
	STAGE_ORDER,
	STAGE_DONE,
};

struct traffic_map_finder {
	const struct live *live;
	struct topo *topo;
	struct routes *routes;
	const struct flow_paths *paths; /* Or NULL. */
	enum stage stage;
	uint32_t n_interfaces;       /* When they were attached to links. */
	uint32_t *tx, *rx;           /* Owned.  Links of each interface. */
	uint32_t *interface_of_link; /* Owned. Whose TX link it is, or UINT32_MAX. */
	struct traffic_map_traffic *traffic; /* Owned. */
	struct traffic_map_ports *numbering; /* Owned. Until it ends; then */
	uint16_t *ports;                     /* owned. */
	double *out_bytes;                   /* Owned.  Scratch, by link; zero. */
	uint32_t next_interface, next_series, next_job;
	uint32_t *first; /* Owned. By link: place of its next part in */
	VEC(struct traffic_map_part) ordered; /* this, owned. */
	size_t next_part;
	struct traffic_map found;
};

/* ---- Traffic of each series ------------------------------------------------------ */

struct traffic_map_traffic *
traffic_map_traffic_begin(const struct live *live)
{
	struct traffic_map_traffic *traffic = xcalloc(1, sizeof *traffic);
	uint32_t n = live_n_series(live);

	traffic->live = live;
	traffic->n_series = n;
	traffic->bytes = xcalloc(n + 1, sizeof *traffic->bytes);
	return traffic;
}

bool
traffic_map_traffic_step(struct traffic_map_traffic *traffic)
{
	uint32_t left = traffic->n_series - traffic->next;
	uint32_t n = left < SERIES_A_STEP ? left : SERIES_A_STEP;

	if (left == 0) {
		job_series_init(&traffic->job_series, traffic->live, false);
		return true;
	}
	for (uint32_t i = 0; i < n; i++, traffic->next++)
		traffic->bytes[traffic->next] =
			live_mean_bytes_per_ms(traffic->live, traffic->next);
	return false;
}

void
traffic_map_traffic_free(struct traffic_map_traffic *traffic)
{
	if (!traffic)
		return;
	free(traffic->bytes);
	job_series_fini(&traffic->job_series);
	free(traffic);
}

/* ---- Measured links -------------------------------------------------------------- */

static void
add_part(struct traffic_map_finder *f, uint32_t link, uint32_t job, uint32_t series,
	 bool is_measured, bool is_assumed, double share)
{
	if (link != TOPO_NONE)
		vec_push(&f->found.parts,
			 ((struct traffic_map_part){ link, job, series, is_measured,
						     is_assumed, share }));
}

static void
begin_attach(struct traffic_map_finder *f)
{
	uint32_t n = live_n_interfaces(f->live);

	f->n_interfaces = n;
	f->tx = xcalloc(n + 1, sizeof *f->tx);
	f->rx = xcalloc(n + 1, sizeof *f->rx);
	if (f->topo) {
		uint32_t n_links = topo_n_links(f->topo);

		f->interface_of_link = xcalloc(n_links + 1, sizeof(uint32_t));
		for (uint32_t i = 0; i <= n_links; i++)
			f->interface_of_link[i] = UINT32_MAX;
	}
}

static void
attach(struct traffic_map_finder *f, uint32_t i)
{
	const struct live_interface *it = live_interface(f->live, i);
	struct topo_interface_links at;

	f->tx[i] = 2 * i;
	f->rx[i] = 2 * i + 1;
	if (!f->topo)
		return;
	at = topo_interface_links(f->topo, NULL, live_host(f->live, it->host)->name,
				  it->name);
	f->tx[i] = at.tx;
	f->rx[i] = at.rx;
	if (at.tx != TOPO_NONE &&
	    (f->interface_of_link[at.tx] == UINT32_MAX || it->is_rdma))
		f->interface_of_link[at.tx] = i;
	if (at.tx == TOPO_NONE && at.rx == TOPO_NONE && !f->found.n_unattached++)
		f->found.first_unattached = i;
}

/* Returns true at the end. */
static bool
attach_some(struct traffic_map_finder *f)
{
	if (!f->tx)
		begin_attach(f);
	for (int i = 0; i < INTERFACES_A_STEP && f->next_interface < f->n_interfaces;
	     i++)
		attach(f, f->next_interface++);
	return f->next_interface == f->n_interfaces;
}

static bool
add_measured(struct traffic_map_finder *f)
{
	uint32_t n = f->traffic->n_series;

	if (f->next_series == 0)
		vec_reserve(&f->found.parts, n);
	for (int i = 0; i < SERIES_A_STEP && f->next_series < n; i++) {
		uint32_t s = f->next_series++;
		const struct live_series *series = live_series(f->live, s);
		bool is_rx = series->direction == TELE_RX;

		if (series->interface >= f->n_interfaces)
			continue;
		add_part(f, (is_rx ? f->rx : f->tx)[series->interface], series->job, s,
			 true, false, 1);
	}
	return f->next_series == n;
}

/* ---- Jobs on the fabric --------------------------------------------------------- */

/* The node of a live host if it is a host of the fabric, or TOPO_NONE. */
static uint32_t
node_of(const struct topo *topo, const char *name)
{
	uint32_t node = topo_find_node(topo, name);

	if (node == TOPO_NONE && strchr(name, '.')) {
		char *bare = xstrndup(name, strcspn(name, "."));

		node = topo_find_node(topo, bare);
		free(bare);
	}
	return topo_host_number(topo, node) == TOPO_NONE ? TOPO_NONE : node;
}

/* The traffic of a job at a host. */
struct of_host {
	uint32_t host;
	double bytes;
};

static int
compare_of_hosts(const void *a, const void *b)
{
	const struct of_host *x = a, *y = b;

	return (x->host > y->host) - (x->host < y->host);
}

/* The hosts with traffic of the job, each once; new array of '*ret_n'. */
static struct of_host *
hosts_of_job(const struct live *live, const struct traffic_map_traffic *traffic,
	     uint32_t job, size_t *ret_n)
{
	size_t n_series, n = 0;
	const uint32_t *series = job_series_of(&traffic->job_series, job, &n_series);
	struct of_host *of = xcalloc(n_series + 1, sizeof *of);

	/* Series that are newer than 'traffic' are not in it. */
	while (n_series && series[n_series - 1] >= traffic->n_series)
		n_series--;
	for (size_t i = 0; i < n_series; i++) {
		uint32_t interface = live_series(live, series[i])->interface;

		of[i] = (struct of_host){ live_interface(live, interface)->host,
					  traffic->bytes[series[i]] };
	}
	qsort(of, n_series, sizeof *of, compare_of_hosts);
	for (size_t i = 0; i < n_series; i++) {
		if (n && of[n - 1].host == of[i].host)
			of[n - 1].bytes += of[i].bytes;
		else
			of[n++] = of[i];
	}
	*ret_n = n;
	return of;
}

const uint32_t *
traffic_map_job_series(const struct traffic_map_traffic *traffic, uint32_t job,
		       size_t *ret_n)
{
	return job_series_of(&traffic->job_series, job, ret_n);
}

uint32_t *
traffic_map_job_hosts(const struct live *live, const struct topo *topo,
		      const struct traffic_map_traffic *traffic, uint32_t job,
		      size_t *ret_n)
{
	VEC(uint32_t) nodes = VEC_EMPTY;
	size_t n = 0, n_hosts;
	struct of_host *of = hosts_of_job(live, traffic, job, &n_hosts);
	double most = 0;

	for (size_t i = 0; i < n_hosts; i++)
		if (of[i].bytes > most)
			most = of[i].bytes;
	for (size_t i = 0; i < n_hosts; i++) {
		const struct live_host *host = live_host(live, of[i].host);
		uint32_t node;

		if (!(most > 0) || of[i].bytes < HOST_MIN_SHARE * most ||
		    (host->flags & TELE_IMPORTED))
			continue;
		node = node_of(topo, host->name);
		if (node != TOPO_NONE)
			vec_push(&nodes, node);
	}
	free(of);
	sort_items(nodes.items, nodes.n, sort_by_u32);
	for (size_t i = 0; i < nodes.n; i++)
		if (n == 0 || nodes.items[n - 1] != nodes.items[i])
			nodes.items[n++] = nodes.items[i];
	*ret_n = n;
	return nodes.items;
}

/* What a flow sends over one link of its paths. */
struct flow_load {
	uint32_t first; /* The first link of its paths. */
	uint32_t link;  /* Another one. */
	double bytes;
	bool is_assumed; /* There are others. */
};

/* The flows of one job. */
struct flow_loads {
	VEC(struct flow_load) loads; /* Of one flow after the other. */
	VEC(uint32_t) firsts;        /* One a flow. */
	bool is_first;               /* The next link is the first of a flow. */
	double bytes;                /* Of that flow. */
	bool is_assumed;             /* Its path. */
};

static void
take_link(void *ctx, uint32_t link, double share)
{
	struct flow_loads *flows = ctx;

	if (flows->is_first)
		vec_push(&flows->firsts, link);
	else
		vec_push(&flows->loads,
			 ((struct flow_load){ flows->firsts.items[flows->firsts.n - 1],
					      link, flows->bytes * share,
					      flows->is_assumed }));
	flows->is_first = false;
}

/* Adds the flows' parts of all links but the first, which hosts measure. */
static void
add_loads(struct traffic_map_finder *f, uint32_t job, const struct flow_loads *flows)
{
	uint32_t first = UINT32_MAX, series = UINT32_MAX;

	for (size_t i = 0; i < flows->loads.n; i++) {
		const struct flow_load *load = &flows->loads.items[i];

		if (load->first != first) {
			uint32_t interface = f->interface_of_link[load->first];

			first = load->first;
			series = interface == UINT32_MAX
					 ? UINT32_MAX
					 : live_find_series(f->live, interface, job,
							    TELE_TX);
		}
		if (series != UINT32_MAX)
			add_part(f, load->link, job, series, false, load->is_assumed,
				 load->bytes / f->out_bytes[first]);
	}
}

/* Takes the links of a flow's known path, or else of its assumed ones. */
static void
take_path(struct traffic_map_finder *f, uint32_t job,
	  const struct collective_flow *flow, uint32_t rail, uint16_t port,
	  struct flow_loads *loads)
{
	size_t n;
	const uint32_t *links = flow_paths_links(f->paths, job, flow->source,
						 flow->destination, rail, &n);

	loads->is_assumed = !links && routes_n_paths(f->routes, flow->source,
						     flow->destination) > 1;
	if (!links) {
		(void)routes_spread(f->routes, flow->source, flow->destination, port,
				    take_link, loads, NULL);
		return;
	}
	for (size_t i = 0; i < n; i++)
		take_link(loads, links[i], 1);
}

static void
add_job(struct traffic_map_finder *f, uint32_t job)
{
	uint16_t port = f->ports[job];
	struct flow_loads loads = { .loads = VEC_EMPTY, .firsts = VEC_EMPTY };
	struct collective_flows flows;
	size_t n_hosts;
	uint32_t *hosts =
		traffic_map_job_hosts(f->live, f->topo, f->traffic, job, &n_hosts);

	if (n_hosts < 2 ||
	    collective_make(f->topo, COLLECTIVE_RING, hosts, n_hosts, 1, &flows) < 0) {
		free(hosts);
		return;
	}
	for (size_t i = 0; i < flows.n; i++) {
		const struct collective_flow *flow = &flows.flows[i];

		loads.is_first = true;
		loads.bytes = flow->bytes;
		take_path(f, job, flow, (uint32_t)(i % flows.n_rails),
			  (uint16_t)(port + i), &loads);
		if (!loads.is_first)
			f->out_bytes[loads.firsts.items[loads.firsts.n - 1]] +=
				flow->bytes;
	}
	f->found.n_unplaced += loads.firsts.n < flows.n;
	add_loads(f, job, &loads);
	for (size_t i = 0; i < loads.firsts.n; i++)
		f->out_bytes[loads.firsts.items[i]] = 0;
	vec_free(&loads.loads);
	vec_free(&loads.firsts);
	free(hosts);
	collective_flows_fini(&flows);
}

/* ---- One part for each measured quantity ----------------------------------------- */

static int
compare_parts(const void *a, const void *b)
{
	const struct traffic_map_part *x = a, *y = b;

	if (x->link != y->link)
		return x->link < y->link ? -1 : 1;
	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	if (x->is_measured != y->is_measured)
		return x->is_measured ? -1 : 1;
	return (x->series > y->series) - (x->series < y->series);
}

/* The rank of a part where both ends of a cable send frames: the highest counts. */
static unsigned
merit(const struct live *live, const struct traffic_map_part *part)
{
	const struct live_series *s = live_series(live, part->series);

	return 4u * s->has_bins + 2u * live_interface(live, s->interface)->is_rdma +
	       (s->direction == TELE_TX);
}

/*
 * Frames may come from both ends of a cable, or from an RDMA device and the interface
 * of the same port: one counts.  A measured part is not computed as well.
 */
size_t
traffic_map_thin(const struct live *live, struct traffic_map_part *parts,
		 size_t n_parts)
{
	size_t n = 0;

	sort_items(parts, n_parts, compare_parts);
	for (size_t i = 0; i < n_parts; i++) {
		struct traffic_map_part *last = n ? &parts[n - 1] : NULL;
		bool is_same = last && last->job == parts[i].job;

		if (!is_same || (!last->is_measured && last->series != parts[i].series))
			parts[n++] = parts[i];
		else if (!last->is_measured) {
			last->share += parts[i].share;
			last->is_assumed |= parts[i].is_assumed;
		} else if (parts[i].is_measured &&
			   merit(live, &parts[i]) > merit(live, last))
			*last = parts[i];
	}
	return n;
}

/* ---- Step by step ---------------------------------------------------------------- */

/* A counting sort, as a sort by comparison would take too long for one step. */
static void
count_by_link(struct traffic_map_finder *f)
{
	size_t n = f->found.parts.n;
	uint32_t n_links = f->topo ? topo_n_links(f->topo) : 2 * f->n_interfaces;
	uint32_t *first = xcalloc((size_t)n_links + 2, sizeof *first);

	for (size_t i = 0; i < n; i++)
		first[f->found.parts.items[i].link + 1]++;
	for (uint32_t l = 1; l < n_links + 2; l++)
		first[l] += first[l - 1];
	f->first = first;
	vec_reserve(&f->ordered, n + 1);
	f->ordered.n = n;
}

static bool
order_by_link(struct traffic_map_finder *f)
{
	const size_t n = f->found.parts.n;

	for (size_t i = 0; i < PARTS_A_STEP && f->next_part < n; i++) {
		const struct traffic_map_part *part =
			&f->found.parts.items[f->next_part++];

		f->ordered.items[f->first[part->link]++] = *part;
	}
	if (f->next_part < n)
		return false;
	vec_free(&f->found.parts);
	f->found.parts.items = f->ordered.items;
	f->found.parts.n = f->ordered.n;
	f->found.parts.capacity = f->ordered.capacity;
	f->ordered.items = NULL;
	f->ordered.n = f->ordered.capacity = 0;
	return true;
}

static void
add_some_jobs(struct traffic_map_finder *f)
{
	uint32_t n_jobs = f->traffic->job_series.n_jobs;

	for (int i = 0; i < JOBS_A_STEP && f->next_job < n_jobs; i++)
		add_job(f, f->next_job++);
	if (f->next_job == n_jobs)
		f->stage = STAGE_COUNT;
}

struct traffic_map_finder *
traffic_map_begin(const struct live *live, struct topo *topo, struct routes *routes,
		  const struct flow_paths *paths)
{
	struct traffic_map_finder *f = xcalloc(1, sizeof *f);

	f->live = live;
	f->topo = topo;
	f->routes = routes;
	f->paths = paths;
	return f;
}

bool
traffic_map_step(struct traffic_map_finder *f)
{
	switch (f->stage) {
	case STAGE_TRAFFIC:
		if (!f->traffic)
			f->traffic = traffic_map_traffic_begin(f->live);
		if (traffic_map_traffic_step(f->traffic))
			f->stage = STAGE_ATTACH;
		break;
	case STAGE_ATTACH:
		if (attach_some(f))
			f->stage = STAGE_MEASURED;
		break;
	case STAGE_MEASURED:
		if (add_measured(f))
			f->stage = f->topo ? STAGE_PORTS : STAGE_COUNT;
		break;
	case STAGE_PORTS:
		/* There are at least as many jobs as in 'traffic'. */
		if (!f->numbering)
			f->numbering = traffic_map_ports_begin(f->live);
		if (!traffic_map_ports_step(f->numbering))
			break;
		f->ports = traffic_map_ports_end(f->numbering);
		f->numbering = NULL;
		f->out_bytes = xcalloc(topo_n_links(f->topo) + 1, sizeof *f->out_bytes);
		f->stage = STAGE_JOBS;
		break;
	case STAGE_JOBS:
		add_some_jobs(f);
		break;
	case STAGE_COUNT:
		count_by_link(f);
		f->stage = STAGE_ORDER;
		break;
	case STAGE_ORDER:
		if (order_by_link(f))
			f->stage = STAGE_DONE;
		break;
	case STAGE_DONE:
		break;
	}
	return f->stage == STAGE_DONE;
}

void
traffic_map_end(struct traffic_map_finder *f, struct traffic_map *ret_map)
{
	if (!f)
		return;
	if (ret_map)
		*ret_map = f->found;
	else
		traffic_map_fini(&f->found);
	traffic_map_traffic_free(f->traffic);
	free(f->tx);
	free(f->rx);
	free(f->interface_of_link);
	free(traffic_map_ports_end(f->numbering));
	free(f->ports);
	free(f->out_bytes);
	free(f->first);
	vec_free(&f->ordered);
	free(f);
}

void
traffic_map_fini(struct traffic_map *map)
{
	vec_free(&map->parts);
}
