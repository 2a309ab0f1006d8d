/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/workload/routed_calls.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/vec.h"
#include "topology/pair_table.h"
#include "topology/topo.h"

struct pattern_maker {
	const struct work_job *job;
	const uint32_t *hosts;
	const struct topo *topo;
	struct pair_table pairs;
	VEC(struct routed_pattern) patterns; /* Of pairs, before rails. */
	uint32_t n_rails;
};

static struct routed_pattern *
find_pattern(struct routed_pattern *patterns, size_t n, const struct work_call *call,
	     uint32_t phase)
{
	for (size_t i = 0; i < n; i++)
		if (patterns[i].phase == phase &&
		    work_call_is_same(&patterns[i].call, call))
			return &patterns[i];
	return NULL;
}

/* 'n_rails' consecutive flows have the same hosts and bytes. */
static void
add_pattern(struct pattern_maker *m, const struct work_call *call, uint32_t phase,
	    const struct collective_flow *flows, size_t n, uint32_t n_rails,
	    double nic_bytes)
{
	struct routed_pattern pattern = { .call = *call, .phase = phase };

	pattern.n = n / n_rails;
	pattern.flows = xcalloc(pattern.n + 1, sizeof *pattern.flows);
	pattern.shares = xcalloc(pattern.n + 1, sizeof *pattern.shares);
	for (size_t i = 0; i < pattern.n; i++) {
		const struct collective_flow *flow = &flows[i * n_rails];

		pattern.flows[i] =
			pair_table_add(&m->pairs, flow->source, flow->destination);
		pattern.shares[i] = flow->bytes * n_rails / nic_bytes;
	}
	vec_push(&m->patterns, pattern);
}

/* The patterns of all phases of a call. */
static int
add_call(struct pattern_maker *m, const struct work_call *call)
{
	struct collective_phases phases;
	int r;

	if (call->op == COLLECTIVE_OP_NONE) {
		struct collective_flows flows;

		r = collective_make(m->topo, m->job->collective, m->hosts,
				    m->job->n_hosts_wanted, 1, &flows);
		if (r < 0)
			return r;
		m->n_rails = flows.n_rails;
		add_pattern(m, call, 0, flows.flows, flows.n, flows.n_rails,
			    flows.nic_bytes);
		collective_flows_fini(&flows);
		return 0;
	}
	r = work_call_phases(m->job, call, m->hosts, m->topo, &phases);
	if (r < 0)
		return r;
	m->n_rails = phases.n_rails;
	for (size_t i = 0; i < phases.n; i++)
		add_pattern(m, call, (uint32_t)i, phases.items[i].flows,
			    phases.items[i].n, 1, phases.items[i].nic_bytes);
	collective_phases_fini(&phases);
	return 0;
}

static int
add_calls(struct pattern_maker *m)
{
	for (size_t i = 0; i < m->job->n_segments; i++) {
		const struct work_segment *s = &m->job->segments[i];
		int r;

		if (!(s->nic_bytes > 0) ||
		    find_pattern(m->patterns.items, m->patterns.n, &s->call, 0))
			continue;
		r = add_call(m, &s->call);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The flows of all pairs, with the bytes of an iteration. */
static void
make_flows(const struct pattern_maker *m, struct collective_flows *flows)
{
	double all_bytes = 0;

	flows->n = m->pairs.n;
	flows->flows = xcalloc(flows->n + 1, sizeof *flows->flows);
	flows->nic_bytes = 1;
	flows->n_rails = m->n_rails;
	for (size_t i = 0; i < flows->n; i++) {
		flows->flows[i].source = (uint32_t)(m->pairs.pairs[i] >> 32);
		flows->flows[i].destination = (uint32_t)m->pairs.pairs[i];
	}
	for (size_t i = 0; i < m->job->n_segments; i++)
		all_bytes += m->job->segments[i].nic_bytes;
	for (size_t i = 0; i < m->job->n_segments; i++) {
		const struct work_segment *s = &m->job->segments[i];
		const struct routed_pattern *pattern;

		if (!(s->nic_bytes > 0))
			continue;
		pattern = find_pattern(m->patterns.items, m->patterns.n, &s->call,
				       s->phase);
		for (size_t k = 0; pattern && k < pattern->n; k++)
			flows->flows[pattern->flows[k]].bytes +=
				pattern->shares[k] * s->nic_bytes / all_bytes;
	}
}

int
routed_calls_make(const struct work_job *job, const uint32_t *hosts,
		  const struct topo *topo, struct routed_job *routed)
{
	struct pattern_maker m = {
		.job = job,
		.hosts = hosts,
		.topo = topo,
		.pairs = PAIR_TABLE_EMPTY,
		.n_rails = 1,
	};
	int r = add_calls(&m);

	routed->patterns = m.patterns.items;
	routed->n_patterns = m.patterns.n;
	if (r == 0) {
		uint32_t n_connections = job->n_connections ? job->n_connections : 1;

		make_flows(&m, &routed->flows);
		r = collective_flows_split(&routed->flows, m.n_rails * n_connections);
	}
	pair_table_free(&m.pairs);
	if (r < 0)
		routed_calls_fini(routed);
	return r;
}

void
routed_calls_number(struct routed_job *routed, const size_t *part_first,
		    size_t n_connections, const double *weights)
{
	size_t n_pairs = 0, per_pair;

	for (size_t p = 0; p < routed->n_patterns; p++)
		for (size_t k = 0; k < routed->patterns[p].n; k++)
			if (routed->patterns[p].flows[k] >= n_pairs)
				n_pairs = routed->patterns[p].flows[k] + 1;
	per_pair = n_pairs ? n_connections / n_pairs : 1;
	for (size_t p = 0; p < routed->n_patterns; p++) {
		struct routed_pattern *pattern = &routed->patterns[p];
		VEC(uint32_t) flows = VEC_EMPTY;
		VEC(double) shares = VEC_EMPTY;

		for (size_t k = 0; k < pattern->n; k++) {
			size_t c = pattern->flows[k] * per_pair;

			for (size_t i = part_first[c]; i < part_first[c + per_pair];
			     i++) {
				vec_push(&flows, (uint32_t)i);
				vec_push(&shares, pattern->shares[k] * weights[i] /
							  (double)per_pair);
			}
		}
		free(pattern->flows);
		free(pattern->shares);
		pattern->flows = flows.items;
		pattern->shares = shares.items;
		pattern->n = flows.n;
	}
	if (!routed->patterns)
		return;
	routed->peaks = xcalloc(part_first[n_connections] + 1, sizeof *routed->peaks);
	for (size_t p = 0; p < routed->n_patterns; p++) {
		const struct routed_pattern *pattern = &routed->patterns[p];

		for (size_t k = 0; k < pattern->n; k++)
			routed->peaks[pattern->flows[k]] = fmax(
				routed->peaks[pattern->flows[k]], pattern->shares[k]);
	}
}

double
routed_job_flow_factor(const struct routed_job *routed, size_t flow)
{
	if (routed->peaks)
		return routed->peaks[flow];
	return routed->flows.flows[flow].bytes / routed->flows.nic_bytes;
}

void
routed_calls_fini(struct routed_job *routed)
{
	for (size_t i = 0; i < routed->n_patterns; i++) {
		free(routed->patterns[i].flows);
		free(routed->patterns[i].shares);
	}
	free(routed->patterns);
	free(routed->peaks);
	routed->patterns = NULL;
	routed->peaks = NULL;
	routed->n_patterns = 0;
}

/* ---- Of segments ----------------------------------------------------------------- */

const struct routed_pattern *
routed_job_pattern(const struct work_job *job, const struct routed_job *routed,
		   size_t segment)
{
	const struct work_segment *s = &job->segments[segment];

	if (!routed->patterns)
		return NULL;
	return find_pattern(routed->patterns, routed->n_patterns, &s->call, s->phase);
}

size_t
routed_segment_n_flows(const struct work_job *job, const struct routed_job *routed,
		       size_t segment)
{
	const struct routed_pattern *pattern;

	if (!(job->segments[segment].nic_bytes > 0))
		return 0;
	if (!routed->patterns)
		return routed->flows.n;
	pattern = routed_job_pattern(job, routed, segment);
	return pattern ? pattern->n : 0;
}

uint32_t
routed_job_flow(const struct work_job *job, const struct routed_job *routed,
		uint32_t engine_flow)
{
	size_t left = engine_flow;

	if (!routed->patterns)
		return engine_flow % (uint32_t)routed->flows.n;
	for (size_t i = 0; i < job->n_segments; i++) {
		size_t n = routed_segment_n_flows(job, routed, i);

		if (left < n)
			return routed_job_pattern(job, routed, i)->flows[left];
		left -= n;
	}
	BUG_ON(true);
}

/* The links of 'n' flows: of those of a pattern, or of all with NULL. */
static void
footprint_of(const struct routed_job *routed, const struct routed_pattern *pattern,
	     size_t n, const struct topo *topo, struct footprint *ret_footprint)
{
	struct collective_flows flows = { .n = n, .nic_bytes = 1 };
	VEC(uint32_t) links = VEC_EMPTY;
	VEC(size_t) first = VEC_EMPTY;

	flows.flows = xcalloc(n + 1, sizeof *flows.flows);
	vec_push(&first, 0);
	for (size_t k = 0; k < n; k++) {
		size_t i = pattern ? pattern->flows[k] : k;

		flows.flows[k] = routed->flows.flows[i];
		if (pattern)
			flows.flows[k].bytes = pattern->shares[k];
		for (size_t h = routed->path_first[i]; h < routed->path_first[i + 1];
		     h++)
			vec_push(&links, routed->path_links[h]);
		vec_push(&first, links.n);
	}
	footprint_of_paths(topo_n_links(topo), &flows, links.items, first.items,
			   ret_footprint);
	free(flows.flows);
	vec_free(&links);
	vec_free(&first);
}

void
routed_job_segment_footprint(const struct work_job *job,
			     const struct routed_job *routed, size_t segment,
			     const struct topo *topo, struct footprint *ret_footprint)
{
	footprint_of(routed, routed_job_pattern(job, routed, segment),
		     routed_segment_n_flows(job, routed, segment), topo, ret_footprint);
}

void
routed_calls_footprint(const struct routed_job *routed, const struct topo *topo,
		       struct footprint *ret_footprint)
{
	footprint_of(routed, NULL, routed->flows.n, topo, ret_footprint);
	for (size_t i = 0; i < ret_footprint->n; i++)
		ret_footprint->entries[i].factor = 0;
	for (size_t p = 0; p < routed->n_patterns; p++) {
		const struct routed_pattern *pattern = &routed->patterns[p];
		struct footprint own;
		size_t at = 0;

		footprint_of(routed, pattern, pattern->n, topo, &own);
		for (size_t i = 0; i < own.n; i++) {
			/* Both ascend, and the whole has each link. */
			while (ret_footprint->entries[at].link != own.entries[i].link)
				at++;
			ret_footprint->entries[at].factor =
				fmax(ret_footprint->entries[at].factor,
				     own.entries[i].factor);
		}
		footprint_fini(&own);
	}
}
