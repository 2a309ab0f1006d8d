/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure.c - statistics of links and jobs.
 *
 * Everything is lazy, as in the fluid.  A flow adds up its bytes when its rate
 * changes.  A link keeps the integral of its marked share over time; what a
 * flow had marked since its rate last changed is its rate times the growth of
 * that integral.  The fluid keeps all links live when it is measured, so that
 * a link's members are all the flows on it.
 */
#include <stdlib.h>

#include "engine/ecn.h"
#include "engine/engine_internal.h"
#include "lib/base/alloc.h"

/* Demand above the capacity by less than this is rounding. */
#define FITS_REL_TOL 1e-9

struct link_record {
	struct engine_link_stats stats;
	double since_ns; /* Integrated up to here, with the values below. */
	double marked_frac;
	uint32_t n_flows, n_jobs;
	bool is_over;
	bool is_dirty;
	bool is_unmarked; /* See engine.h. */
	double marked_ns; /* Integral of the marked share. */
};

struct flow_record {
	double since_ns;
	double rate_bps;
};

struct job_record {
	double packets, ecn_packets;
	uint32_t mark;
};

struct measure {
	struct link_record *links; /* Owned. */
	uint32_t n_links;
	double mtu_bytes;
	struct flow_record *flows; /* Owned. */
	uint32_t n_flows;
	struct job_record *jobs; /* Owned. */
	uint32_t n_jobs;
	double *seen_marked_ns; /* Owned.  By hop: the link's integral. */
	VEC(uint32_t) dirty;    /* Links whose flows or rates changed. */
	uint32_t mark;
};

struct measure *
measure_new(uint32_t n_links, double mtu_bytes, const bool *unmarked)
{
	struct measure *m = xcalloc(1, sizeof *m);

	m->n_links = n_links;
	m->mtu_bytes = mtu_bytes > 0 ? mtu_bytes : 4000;
	m->links = xcalloc(n_links ? n_links : 1, sizeof *m->links);
	for (uint32_t l = 0; unmarked && l < n_links; l++)
		m->links[l].is_unmarked = unmarked[l];
	return m;
}

void
measure_free(struct measure *m)
{
	if (!m)
		return;
	free(m->links);
	free(m->flows);
	free(m->jobs);
	free(m->seen_marked_ns);
	vec_free(&m->dirty);
	free(m);
}

static void
advance_link(struct link_record *link, double now_ns)
{
	double passed_ns = now_ns - link->since_ns;

	link->since_ns = now_ns;
	link->stats.busy_ns += link->n_flows ? passed_ns : 0;
	link->stats.over_ns += link->is_over ? passed_ns : 0;
	link->stats.job_ns += link->n_jobs * passed_ns;
	link->marked_ns += link->marked_frac * passed_ns;
}

static void
tell_sent(const struct engine *e, uint32_t f, const struct flow_record *record,
	  double ecn_packets)
{
	uint32_t owner = e->fluid.flows[f].owner;
	uint32_t first = e->jobs.items[owner]->segments[0].first_flow;

	e->observer.on_sent(e->observer.ctx, owner, f - first, record->since_ns,
			    e->now_ns, record->rate_bps, ecn_packets);
}

/* Adds the bytes that 'f' sent since its rate last changed. */
static void
advance_flow(struct measure *m, const struct engine *e, uint32_t f, double rate_bps)
{
	const struct fluid_flow *flow = &e->fluid.flows[f];
	struct flow_record *record = &m->flows[f];
	double bytes = record->rate_bps * (e->now_ns - record->since_ns) / 8e9;
	double ecn_packets = 0;

	for (uint32_t h = flow->first_hop, end = h + flow->n_hops; h < end; h++) {
		uint32_t l = e->fluid.hops.items[h].link;
		struct link_record *link = &m->links[l];
		double marked;

		advance_link(link, e->now_ns);
		marked = record->rate_bps * (link->marked_ns - m->seen_marked_ns[h]) /
			 8e9 / m->mtu_bytes;
		m->seen_marked_ns[h] = link->marked_ns;
		link->stats.bytes += bytes;
		link->stats.ecn_packets += marked;
		ecn_packets += marked;
		if (!link->is_dirty) {
			link->is_dirty = true;
			vec_push(&m->dirty, l);
		}
	}
	/* A packet can be marked once. */
	ecn_packets = min_of(ecn_packets, bytes / m->mtu_bytes);
	m->jobs[flow->owner].ecn_packets += ecn_packets;
	m->jobs[flow->owner].packets += bytes / m->mtu_bytes;
	if (e->observer.on_sent && bytes > 0)
		tell_sent(e, f, record, ecn_packets);
	record->since_ns = e->now_ns;
	record->rate_bps = rate_bps;
}

void
measure_rebuild(struct measure *m, const struct engine *e)
{
	const struct fluid *fl = &e->fluid;

	m->flows = xreallocarray(m->flows, fl->n_flows, sizeof *m->flows);
	for (; m->n_flows < fl->n_flows; m->n_flows++)
		m->flows[m->n_flows] = (struct flow_record){ 0 };
	m->jobs = xreallocarray(m->jobs, e->jobs.n, sizeof *m->jobs);
	for (; m->n_jobs < e->jobs.n; m->n_jobs++)
		m->jobs[m->n_jobs] = (struct job_record){ 0 };
	m->seen_marked_ns =
		xreallocarray(m->seen_marked_ns, fl->hops.n, sizeof *m->seen_marked_ns);
	/* Flows may have left links without an event there. */
	for (uint32_t l = 0; e->is_changing && l < m->n_links; l++) {
		m->links[l].is_dirty = true;
		vec_push(&m->dirty, l);
	}
	for (size_t h = 0; h < fl->hops.n; h++)
		m->seen_marked_ns[h] = m->links[fl->hops.items[h].link].marked_ns;
}

void
measure_flow_end(struct measure *m, const struct engine *e, uint32_t f)
{
	advance_flow(m, e, f, 0);
}

/* Updates the statistics of the flows on a link. */
static void
count_link(struct measure *m, const struct engine *e, uint32_t l)
{
	const struct fluid *fl = &e->fluid;
	const struct fluid_link *link = &fl->links[l];
	struct link_record *record = &m->links[l];
	uint32_t n_bottlenecked = 0;
	double rate_bps = 0, demand_bps = 0;

	advance_link(record, e->now_ns);
	m->mark++;
	record->n_flows = link->n_members;
	record->n_jobs = 0;
	for (uint32_t i = 0; i < link->n_members; i++) {
		uint32_t f = fl->members.items[link->first + i].flow;
		const struct fluid_flow *flow = &fl->flows[f];

		demand_bps += fl->specs[f].cap_bps;
		rate_bps += flow->rate_bps;
		n_bottlenecked += flow->bottleneck == l && flow->rate_bps > 0;
		record->n_jobs += m->jobs[flow->owner].mark != m->mark;
		m->jobs[flow->owner].mark = m->mark;
	}
	/* Not 'is_hot': the fluid rounds caps up, so a link that just fits may be hot. */
	record->is_over = demand_bps > link->capacity_bps * (1 + FITS_REL_TOL);
	if (n_bottlenecked == 1)
		n_bottlenecked = 2; /* See ecn.h. */
	if (!record->is_over || record->is_unmarked)
		n_bottlenecked = 0;
	record->marked_frac = ecn_marked_frac(n_bottlenecked);
	record->stats.peak_bps = max_of(record->stats.peak_bps, rate_bps);
	record->stats.max_queue_bytes =
		max_of(record->stats.max_queue_bytes, ecn_queue_bytes(n_bottlenecked));
	if (record->n_jobs > record->stats.max_jobs)
		record->stats.max_jobs = record->n_jobs;
}

void
measure_batch(struct measure *m, const struct engine *e)
{
	const struct fluid *fl = &e->fluid;

	for (size_t i = 0; i < fl->changed.n; i++) {
		uint32_t f = fl->changed.items[i];

		advance_flow(m, e, f, fl->flows[f].rate_bps);
	}
	for (size_t i = 0; i < fl->set.n; i++) {
		uint32_t f = fl->set.items[i].flow;

		advance_flow(m, e, f, fl->flows[f].rate_bps);
	}
	for (size_t i = 0; i < m->dirty.n; i++) {
		count_link(m, e, m->dirty.items[i]);
		m->links[m->dirty.items[i]].is_dirty = false;
	}
	m->dirty.n = 0;
}

void
measure_flush(struct measure *m, const struct engine *e)
{
	for (uint32_t f = 0; f < m->n_flows; f++)
		if (e->fluid.flows[f].is_active)
			advance_flow(m, e, f, m->flows[f].rate_bps);
	for (size_t i = 0; i < m->dirty.n; i++)
		m->links[m->dirty.items[i]].is_dirty = false;
	m->dirty.n = 0;
	for (uint32_t l = 0; l < m->n_links; l++)
		advance_link(&m->links[l], e->now_ns);
}

void
measure_link(const struct measure *m, uint32_t l, struct engine_link_stats *ret_stats)
{
	*ret_stats = m->links[l].stats;
	ret_stats->packets = ret_stats->bytes / m->mtu_bytes;
}

void
measure_job(const struct measure *m, uint32_t job, double *ret_packets,
	    double *ret_ecn_packets)
{
	*ret_packets = job < m->n_jobs ? m->jobs[job].packets : 0;
	*ret_ecn_packets = job < m->n_jobs ? m->jobs[job].ecn_packets : 0;
}
