/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenario_ranks.c - the groups of a job's ranks, and whether the calls of its segments
 * can go over them.
 */
#include <errno.h>

#include "lib/base/err.h"
#include "scheduler/core/workload/scenario_reader.h"

/* "tp 8 x pp 4 x dp 16". */
static int
bad_product(struct scenario_reader *r, uint64_t n_ranks)
{
	const struct work_job *job = &r->draft.job;
	const uint32_t *size = job->ranks.size;

	return scenario_fail(
		r,
		"job '%s': tp %u x pp %u x dp %u are %llu ranks, and %u hosts of %u "
		"slots have %llu",
		job->name, size[RANK_GROUP_TP], size[RANK_GROUP_PP],
		size[RANK_GROUP_DP],
		(unsigned long long)rank_layout_n_ranks(&job->ranks),
		job->n_hosts_wanted, job->slots_per_host, (unsigned long long)n_ranks);
}

/* Sizes that the section omits: 1 of tp and pp, and of dp what is left. */
static int
complete_layout(struct scenario_reader *r, uint64_t n_ranks, bool *ret_has_ep)
{
	struct work_job *job = &r->draft.job;
	uint32_t *size = job->ranks.size;
	uint64_t n_left = n_ranks;

	*ret_has_ep = size[RANK_GROUP_EP] > 0;
	for (int kind = 0; kind < N_RANK_GROUPS; kind++)
		if (!size[kind] && kind != RANK_GROUP_DP)
			size[kind] = 1;
	if (!size[RANK_GROUP_DP]) {
		n_left /= (uint64_t)size[RANK_GROUP_TP] * size[RANK_GROUP_PP];
		size[RANK_GROUP_DP] = n_left ? (uint32_t)n_left : 1;
	}
	if (rank_layout_n_ranks(&job->ranks) != n_ranks)
		return bad_product(r, n_ranks);
	if (size[RANK_GROUP_DP] % size[RANK_GROUP_EP])
		return scenario_fail(r,
				     "job '%s': ep %u does not divide dp %u, so expert "
				     "groups do not fit into data groups",
				     job->name, size[RANK_GROUP_EP],
				     size[RANK_GROUP_DP]);
	return 0;
}

static int
check_call(struct scenario_reader *r, const struct work_call *call, uint64_t n_ranks,
	   bool has_groups, bool has_ep)
{
	const struct work_job *job = &r->draft.job;
	const char *op = collective_op_names[call->op - 1], *why;
	size_t n;

	if (call->over < N_RANK_GROUPS && !has_groups)
		return scenario_fail(r,
				     "'over %s' needs the sizes of the job's groups; "
				     "expected 'tp = N', 'pp = N' or 'dp = N'",
				     rank_group_names[call->over]);
	if (call->over == RANK_GROUP_EP && !has_ep)
		return scenario_fail(r, "'over ep' needs 'ep = N' in the job");
	if ((call->over == WORK_OVER_PAIR || call->over == WORK_OVER_RANGE) &&
	    (call->from >= n_ranks || call->to >= n_ranks))
		return scenario_fail(
			r, "there is no rank %u: job '%s' has ranks 0 to %llu",
			call->from >= n_ranks ? call->from : call->to, job->name,
			(unsigned long long)n_ranks - 1);
	if (call->algorithm == COLLECTIVE_BY_HIERARCHY && job->is_movable)
		return scenario_fail(r,
				     "what a hierarchical all-reduce sends depends on "
				     "its hosts, and job '%s' is movable",
				     job->name);
	n = work_call_n_ranks(job, call);
	why = collective_op_fault(call->op, call->algorithm, n);
	if (why)
		return scenario_fail(r, "'%s %s' over %zu ranks: %s; expected ring", op,
				     collective_algorithm_names[call->algorithm], n,
				     why);
	if (n > job->n_hosts_wanted)
		n = job->n_hosts_wanted;
	if (call->op == COLLECTIVE_ALLTOALL && n > WORK_MAX_ALL_TO_ALL)
		return scenario_fail(
			r, "all-to-all over %zu hosts; at most %d are simulated", n,
			WORK_MAX_ALL_TO_ALL);
	return 0;
}

int
scenario_ranks_finish(struct scenario_reader *r)
{
	struct work_job *job = &r->draft.job;
	uint64_t n_ranks = (uint64_t)job->n_hosts_wanted * job->slots_per_host;
	bool has_groups = false, has_ep = false;

	r->line = r->draft.details.line;
	for (int kind = 0; kind < N_RANK_GROUPS; kind++)
		has_groups |= job->ranks.size[kind] > 0;
	if (has_groups && complete_layout(r, n_ranks, &has_ep) < 0)
		return -EINVAL;
	if (job->latency_ns && r->draft.details.has_profile)
		return scenario_fail(r,
				     "job '%s' has 'latency', which belongs to "
				     "'segment': a profile contains it",
				     job->name);
	for (size_t i = 0; i < job->n_segments; i++) {
		const struct work_call *call = &job->segments[i].call;

		if (call->op == COLLECTIVE_OP_NONE)
			continue;
		r->line = r->draft.segment_lines.items[i];
		if (check_call(r, call, n_ranks, has_groups, has_ep) < 0)
			return -EINVAL;
	}
	return 0;
}
