/*
 * footing.c - interfaces to links by topology/attach.h, jobs to links by the flows
 * of a ring.
 */
#include "scheduler/live/footing.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/live/by_job.h"
#include "scheduler/live/live.h"
#include "topology/attach.h"
#include "topology/collective.h"
#include "topology/route.h"
#include "topology/topo.h"

/* A host with less than this share of the busiest host's traffic of a job is not
 * one of the job's: it starts it, or stores its files. */
#define HOST_MIN_SHARE 0.02

/* As in scenario files, for jobs without a port of their own. */
#define FIRST_PORT(i) ((uint16_t)(1024 + (uint64_t)(i)*251 % 64000))

struct footing_traffic {
	double *bytes;        /* Owned.  Kept of each series. */
	struct by_job by_job; /* Owned. */
};

struct finder {
	const struct live *live;
	struct topo *topo;
	struct routes *routes;
	uint32_t *tx, *rx;               /* Owned.  Links of each interface. */
	uint32_t *interface_of_link;     /* Owned.  Whose TX it is, or UINT32_MAX. */
	struct footing_traffic *traffic; /* Owned. */
	struct footing *found;
};

/* ---- Traffic of each series ------------------------------------------------------ */

/* Bytes of each series in what is kept, or of its last summary; new array. */
static double *
series_bytes(const struct live *live)
{
	uint32_t n = live_n_series(live), span = live_span_ms(live);
	int64_t to_ms = live_complete_ms(live);
	uint32_t *bins = xcalloc(span + 1, sizeof *bins);
	double *bytes = xcalloc(n + 1, sizeof *bytes);

	for (uint32_t s = 0; s < n; s++) {
		const struct live_series *series = live_series(live, s);

		if (!live_has_traffic(live, s))
			continue;
		if (!series->has_bins || !span) {
			bytes[s] = (double)live_window_bytes(live, s);
			continue;
		}
		live_bins(live, s, to_ms - span, span, bins);
		for (uint32_t t = 0; t < span; t++)
			if (bins[t] != TELE_GAP)
				bytes[s] += bins[t];
	}
	free(bins);
	return bytes;
}

struct footing_traffic *
footing_traffic_new(const struct live *live)
{
	struct footing_traffic *traffic = xcalloc(1, sizeof *traffic);

	traffic->bytes = series_bytes(live);
	by_job_init(&traffic->by_job, live, false);
	return traffic;
}

void
footing_traffic_free(struct footing_traffic *traffic)
{
	if (!traffic)
		return;
	free(traffic->bytes);
	by_job_fini(&traffic->by_job);
	free(traffic);
}

/* ---- What is measured -------------------------------------------------------------- */

static void
add_part(struct finder *f, uint32_t link, uint32_t job, uint32_t series,
	 bool is_measured, double share)
{
	if (link != TOPO_NONE)
		vec_push(&f->found->parts,
			 ((struct footing_part){ link, job, series, is_measured,
						 share }));
}

static void
attach(struct finder *f)
{
	uint32_t n = live_n_interfaces(f->live);

	f->tx = xcalloc(n + 1, sizeof *f->tx);
	f->rx = xcalloc(n + 1, sizeof *f->rx);
	if (f->topo) {
		uint32_t n_links = topo_n_links(f->topo);

		f->interface_of_link = xcalloc(n_links + 1, sizeof(uint32_t));
		for (uint32_t i = 0; i <= n_links; i++)
			f->interface_of_link[i] = UINT32_MAX;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct live_interface *it = live_interface(f->live, i);

		f->tx[i] = 2 * i;
		f->rx[i] = 2 * i + 1;
		if (f->topo) {
			struct topo_attach at = topo_attach_find(
				f->topo, NULL, live_host(f->live, it->host)->name,
				it->name);

			f->tx[i] = at.tx;
			f->rx[i] = at.rx;
			if (at.tx != TOPO_NONE &&
			    (f->interface_of_link[at.tx] == UINT32_MAX || it->is_rdma))
				f->interface_of_link[at.tx] = i;
			f->found->n_unattached +=
				at.tx == TOPO_NONE && at.rx == TOPO_NONE;
		}
	}
}

static void
add_measured(struct finder *f)
{
	for (uint32_t s = 0; s < live_n_series(f->live); s++) {
		const struct live_series *series = live_series(f->live, s);
		bool is_rx = series->direction == TELE_RX;

		add_part(f, (is_rx ? f->rx : f->tx)[series->interface], series->job, s,
			 true, 1);
	}
}

/* ---- Jobs on the fabric --------------------------------------------------------- */

static int
compare_ids(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Node of a live host that is a host of the fabric, or TOPO_NONE. */
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

uint32_t *
footing_job_hosts(const struct live *live, const struct topo *topo,
		  const struct footing_traffic *traffic, uint32_t job, size_t *ret_n)
{
	uint32_t n_hosts = live_n_hosts(live);
	double *of_host = xcalloc(n_hosts + 1, sizeof *of_host), most = 0;
	VEC(uint32_t) nodes = VEC_EMPTY;
	size_t n = 0, n_series;
	const uint32_t *series = by_job_series(&traffic->by_job, job, &n_series);

	for (size_t i = 0; i < n_series; i++) {
		uint32_t interface = live_series(live, series[i])->interface;

		of_host[live_interface(live, interface)->host] +=
			traffic->bytes[series[i]];
	}
	for (uint32_t h = 0; h < n_hosts; h++)
		if (of_host[h] > most)
			most = of_host[h];
	for (uint32_t h = 0; h < n_hosts; h++) {
		uint32_t node;

		if (!(most > 0) || of_host[h] < HOST_MIN_SHARE * most ||
		    (live_host(live, h)->flags & TELE_IMPORTED))
			continue;
		node = node_of(topo, live_host(live, h)->name);
		if (node != TOPO_NONE)
			vec_push(&nodes, node);
	}
	free(of_host);
	if (nodes.n)
		qsort(nodes.items, nodes.n, sizeof *nodes.items, compare_ids);
	for (size_t i = 0; i < nodes.n; i++)
		if (n == 0 || nodes.items[n - 1] != nodes.items[i])
			nodes.items[n++] = nodes.items[i];
	*ret_n = n;
	return nodes.items;
}

static int
compare_names(const void *a, const void *b, void *live)
{
	const uint32_t *x = a, *y = b;
	const char *nx = live_job_name(live, *x), *ny = live_job_name(live, *y);
	int order = strverscmp(nx, ny);

	return order ? order : strcmp(nx, ny);
}

uint16_t *
footing_first_ports(const struct live *live)
{
	uint32_t n = live_n_jobs(live);
	uint32_t *order = xcalloc(n + 1, sizeof *order);
	uint16_t *ports = xcalloc(n + 1, sizeof *ports);

	for (uint32_t j = 0; j < n; j++)
		order[j] = j;
	qsort_r(order, n, sizeof *order, compare_names, (void *)live);
	for (uint32_t i = 0; i < n; i++)
		ports[order[i]] = FIRST_PORT(i);
	free(order);
	return ports;
}

/* A flow with its path. */
struct laid {
	uint32_t links[ROUTE_MAX_HOPS];
	size_t n_links;
	double bytes;
};

/* Adds what the flows put on links behind the first: the hosts' part is measured. */
static void
add_flows(struct finder *f, uint32_t job, const struct laid *laid, size_t n,
	  double *out_bytes)
{
	for (size_t i = 0; i < n; i++)
		out_bytes[laid[i].links[0]] += laid[i].bytes;
	for (size_t i = 0; i < n; i++) {
		uint32_t first = laid[i].links[0];
		uint32_t interface = f->interface_of_link[first];
		uint32_t series =
			interface == UINT32_MAX
				? UINT32_MAX
				: live_find_series(f->live, interface, job, TELE_TX);

		for (size_t k = 1; k < laid[i].n_links && series != UINT32_MAX; k++)
			add_part(f, laid[i].links[k], job, series, false,
				 laid[i].bytes / out_bytes[first]);
	}
	for (size_t i = 0; i < n; i++)
		out_bytes[laid[i].links[0]] = 0;
}

static void
add_job(struct finder *f, uint32_t job, uint16_t port, double *out_bytes)
{
	struct collective_flows flows;
	struct laid *laid;
	size_t n_hosts, n = 0;
	uint32_t *hosts =
		footing_job_hosts(f->live, f->topo, f->traffic, job, &n_hosts);

	if (n_hosts < 2 ||
	    collective_make(f->topo, COLLECTIVE_RING, hosts, n_hosts, 1, &flows) < 0) {
		free(hosts);
		return;
	}
	laid = xcalloc(flows.n + 1, sizeof *laid);
	for (size_t i = 0; i < flows.n; i++) {
		const struct collective_flow *flow = &flows.flows[i];

		laid[n].bytes = flow->bytes;
		if (routes_path(f->routes, flow->source, flow->destination,
				(uint16_t)(port + i), laid[n].links,
				&laid[n].n_links) == 0 &&
		    laid[n].n_links > 0)
			n++;
	}
	f->found->n_unplaced += n < flows.n;
	add_flows(f, job, laid, n, out_bytes);
	free(laid);
	free(hosts);
	collective_flows_fini(&flows);
}

static void
add_computed(struct finder *f)
{
	uint16_t *ports = footing_first_ports(f->live);
	double *out_bytes = xcalloc(topo_n_links(f->topo) + 1, sizeof *out_bytes);

	for (uint32_t j = 0; j < live_n_jobs(f->live); j++)
		add_job(f, j, ports[j], out_bytes);
	free(out_bytes);
	free(ports);
}

/* ---- One part for each thing measured --------------------------------------------- */

static int
compare_parts(const void *a, const void *b)
{
	const struct footing_part *x = a, *y = b;

	if (x->link != y->link)
		return x->link < y->link ? -1 : 1;
	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	if (x->is_measured != y->is_measured)
		return x->is_measured ? -1 : 1;
	return (x->series > y->series) - (x->series < y->series);
}

/* Of two ends of a cable that both tell, which is believed. */
static unsigned
merit(const struct live *live, const struct footing_part *part)
{
	const struct live_series *s = live_series(live, part->series);

	return 4u * s->has_bins + 2u * live_interface(live, s->interface)->is_rdma +
	       (s->direction == TELE_TX);
}

/*
 * Both ends of a cable may tell of it, or an RDMA device and the interface of the
 * same port: one is taken.  What is measured is not computed as well.
 */
static void
thin(const struct live *live, struct footing *found)
{
	struct footing_part *parts = found->parts.items;
	size_t n = 0;

	if (found->parts.n)
		qsort(parts, found->parts.n, sizeof *parts, compare_parts);
	for (size_t i = 0; i < found->parts.n; i++) {
		struct footing_part *last = n ? &parts[n - 1] : NULL;
		bool is_same = last && last->link == parts[i].link &&
			       last->job == parts[i].job;

		if (!is_same || (!last->is_measured && last->series != parts[i].series))
			parts[n++] = parts[i];
		else if (!last->is_measured)
			last->share += parts[i].share;
		else if (parts[i].is_measured &&
			 merit(live, &parts[i]) > merit(live, last))
			*last = parts[i];
	}
	found->parts.n = n;
}

void
footing_find(const struct live *live, struct topo *topo, struct routes *routes,
	     struct footing *ret_footing)
{
	struct finder f = { .live = live, .topo = topo, .routes = routes };

	*ret_footing = (struct footing){ .parts = VEC_EMPTY };
	f.found = ret_footing;
	f.traffic = footing_traffic_new(live);
	attach(&f);
	add_measured(&f);
	if (topo)
		add_computed(&f);
	thin(live, ret_footing);
	footing_traffic_free(f.traffic);
	free(f.tx);
	free(f.rx);
	free(f.interface_of_link);
}

void
footing_fini(struct footing *footing)
{
	vec_free(&footing->parts);
}
