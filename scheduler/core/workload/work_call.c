/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/workload/work_call.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/vec.h"
#include "scheduler/core/workload/workload.h"
#include "topology/topo.h"

bool
work_call_is_same(const struct work_call *a, const struct work_call *b)
{
	return a->op == b->op && a->algorithm == b->algorithm && a->over == b->over &&
	       a->from == b->from && a->to == b->to && a->step == b->step;
}

bool
work_job_has_calls(const struct work_job *job)
{
	for (size_t i = 0; i < job->n_segments; i++)
		if (job->segments[i].call.op != COLLECTIVE_OP_NONE)
			return true;
	return false;
}

size_t
work_call_n_ranks(const struct work_job *job, const struct work_call *call)
{
	if (call->over == WORK_OVER_HOSTS)
		return job->n_hosts_wanted;
	if (call->over == WORK_OVER_RANGE)
		return (call->to - call->from) / call->step + 1;
	return call->over == WORK_OVER_PAIR ? 2 : job->ranks.size[call->over];
}

/* The hosts of all ranks, those of the first group first.  Free with free(). */
static uint32_t *
hosts_of_groups(const struct work_job *job, const struct work_call *call,
		const uint32_t *hosts, size_t n_groups, size_t n_ranks)
{
	uint32_t slots = job->slots_per_host;
	uint32_t *of_ranks = xcalloc(n_groups * n_ranks + 1, sizeof *of_ranks);

	if (call->over == WORK_OVER_PAIR) {
		of_ranks[0] = hosts[call->from / slots];
		of_ranks[1] = hosts[call->to / slots];
		return of_ranks;
	}
	if (call->over == WORK_OVER_RANGE) {
		for (size_t k = 0; k < n_ranks; k++)
			of_ranks[k] =
				hosts[(call->from + (uint32_t)k * call->step) / slots];
		return of_ranks;
	}
	for (size_t g = 0; g < n_groups; g++)
		for (size_t k = 0; k < n_ranks; k++)
			of_ranks[g * n_ranks + k] =
				hosts[rank_group_member(&job->ranks,
							(enum rank_group)call->over,
							(uint32_t)g, (uint32_t)k) /
				      slots];
	return of_ranks;
}

int
work_call_phases(const struct work_job *job, const struct work_call *call,
		 const uint32_t *hosts, const struct topo *topo,
		 struct collective_phases *ret_phases)
{
	size_t n_ranks = work_call_n_ranks(job, call), n_groups = 1;
	uint32_t *of_ranks;
	int r;

	if (call->over < N_RANK_GROUPS) {
		uint64_t n = rank_layout_n_ranks(&job->ranks);

		if (n != (uint64_t)job->n_hosts_wanted * job->slots_per_host)
			return -EINVAL;
		n_groups = (size_t)(n / n_ranks);
	}
	if (call->over == WORK_OVER_HOSTS) {
		of_ranks = xmemdup(hosts, n_ranks, sizeof *hosts);
		if (call->algorithm == COLLECTIVE_BY_RING)
			collective_ring_order(topo, of_ranks, n_ranks);
		else
			collective_order(topo, of_ranks, n_ranks);
	} else {
		of_ranks = hosts_of_groups(job, call, hosts, n_groups, n_ranks);
	}
	r = collective_phases_make(topo, call->op, call->algorithm, of_ranks, n_groups,
				   n_ranks, 1, ret_phases);
	free(of_ranks);
	return r;
}

/* ---- Segments to phases ---------------------------------------------------------- */

/* The phases of a call, which further segments may have, too. */
struct known_call {
	const struct work_call *call;
	struct collective_phases phases;
};

struct expansion {
	const struct work_job *job;
	VEC(struct work_segment) segments;
	VEC(struct known_call) known;
};

static int
find_phases(struct expansion *e, const struct work_call *call, const uint32_t *hosts,
	    const struct topo *topo, const struct collective_phases **ret_phases)
{
	struct known_call made = { .call = call };
	int r;

	for (size_t i = 0; i < e->known.n; i++)
		if (work_call_is_same(e->known.items[i].call, call)) {
			*ret_phases = &e->known.items[i].phases;
			return 0;
		}
	r = work_call_phases(e->job, call, hosts, topo, &made.phases);
	if (r < 0)
		return r;
	vec_push(&e->known, made);
	*ret_phases = &e->known.items[e->known.n - 1].phases;
	return 0;
}

static void
add_phases(struct expansion *e, const struct work_segment *segment,
	   const struct collective_phases *phases)
{
	size_t first = e->segments.n;
	struct work_segment made = *segment;

	for (size_t i = 0; i < phases->n; i++) {
		const struct collective_phase *phase = &phases->items[i];

		if (!phase->n)
			continue;
		made.phase = (uint32_t)i;
		made.continues = e->segments.n > first;
		made.nic_bytes = segment->nic_bytes * phase->nic_bytes;
		made.latency_ns = phase->n_steps * e->job->latency_ns;
		if (made.continues) {
			made.compute_ns = made.send_offset_ns = 0;
			made.from_start = false;
		}
		vec_push(&e->segments, made);
	}
	if (e->segments.n > first)
		return;
	made = (struct work_segment){ .compute_ns = segment->compute_ns,
				      .from_start = segment->from_start };
	vec_push(&e->segments, made);
}

/* What needed a segment needs its last phase, and its first phase what it needed. */
static void
move_needs(struct work_job *job, const size_t *first)
{
	for (size_t k = 0; k < job->n_needs; k++) {
		struct work_need *need = &job->needs[k];

		need->segment = (uint32_t)first[need->segment];
		need->after = (uint32_t)first[need->after + 1] - 1;
	}
}

int
work_calls_expand(struct work_job *job, const uint32_t *hosts, const struct topo *topo,
		  size_t max_segments, size_t *ret_segment)
{
	struct expansion e = { .job = job, .segments = VEC_EMPTY, .known = VEC_EMPTY };
	/* By segment: its first phase; then their number. */
	size_t *first = xcalloc(job->n_segments + 1, sizeof *first);
	int r = 0;

	for (size_t i = 0; i < job->n_segments && r == 0; i++) {
		const struct work_segment *segment = &job->segments[i];
		const struct collective_phases *phases;

		first[i] = e.segments.n;
		if (segment->call.op == COLLECTIVE_OP_NONE) {
			vec_push(&e.segments, *segment);
			continue;
		}
		r = find_phases(&e, &segment->call, hosts, topo, &phases);
		if (r == 0)
			add_phases(&e, segment, phases);
		if (r == 0 && e.segments.n > max_segments)
			r = -E2BIG;
		if (r < 0)
			*ret_segment = i;
	}
	for (size_t i = 0; i < e.known.n; i++)
		collective_phases_fini(&e.known.items[i].phases);
	vec_free(&e.known);
	first[job->n_segments] = e.segments.n;
	if (r == 0)
		move_needs(job, first);
	free(first);
	if (r < 0) {
		vec_free(&e.segments);
		return r;
	}
	free(job->segments);
	job->segments = e.segments.items;
	job->n_segments = e.segments.n;
	return 0;
}
