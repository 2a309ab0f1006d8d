/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenario_bind.c - a scenario's jobs on a fabric: names of hosts to ids, slots
 * that are there, messages to bytes of an interface, profiles.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/hostlist.h"
#include "scheduler/core/workload/scenario_reader.h"
#include "topology/topo.h"

struct binder {
	struct scenario *scenario;
	const struct topo *topo;
	struct err *err;
	size_t job;       /* The job being bound. */
	uint32_t *stamp;  /* By node: number of the last job that named it, plus 1. */
	uint32_t n_hosts; /* Of this job, so far. */
	size_t n_phases;  /* Segments of all jobs, so far. */
};

static int
unknown_host(struct binder *b, unsigned line, const char *name)
{
	size_t n;
	const uint32_t *hosts = topo_hosts(b->topo, &n);
	const char **names = xcalloc(n + 1, sizeof *names);

	for (size_t i = 0; i < n; i++)
		names[i] = topo_node(b->topo, hosts[i])->name;
	err_set(b->err, b->scenario->file, line, 0, "fabric '%s' has no host '%s'",
		topo_name(b->topo), name);
	err_suggest(b->err, name, names);
	free(names);
	return -EINVAL;
}

static int
take_host(void *ctx, const char *name)
{
	struct binder *b = ctx;
	struct work_job *job = &b->scenario->workload.jobs[b->job];
	unsigned line = b->scenario->details[b->job].hosts_line;
	uint32_t node = topo_find_node(b->topo, name);

	if (node == TOPO_NONE || topo_node(b->topo, node)->kind != TOPO_HOST)
		return unknown_host(b, line, name);
	if (b->stamp[node] == b->job + 1)
		return err_set(b->err, b->scenario->file, line, 0,
			       "host '%s' is here twice", name);
	if (job->slots_per_host > topo_node(b->topo, node)->n_slots)
		return err_set(b->err, b->scenario->file, line, 0,
			       "host '%s' has %u slots, and job '%s' wants %u", name,
			       topo_node(b->topo, node)->n_slots, job->name,
			       job->slots_per_host);
	b->stamp[node] = (uint32_t)b->job + 1;
	job->hosts[b->n_hosts++] = node;
	return 0;
}

static int
bind_hosts(struct binder *b)
{
	struct work_job *job = &b->scenario->workload.jobs[b->job];
	const struct scenario_job *details = &b->scenario->details[b->job];
	const char *why;
	int error;

	if (job->collective == COLLECTIVE_ALL_TO_ALL &&
	    job->n_hosts_wanted > WORK_MAX_ALL_TO_ALL)
		return err_set(
			b->err, b->scenario->file, details->line, 0,
			"job '%s' is all-to-all on %u hosts; at most %d are simulated",
			job->name, job->n_hosts_wanted, WORK_MAX_ALL_TO_ALL);

	if (!details->hosts) {
		if (job->n_hosts_wanted <= topo_n_hosts(b->topo))
			return 0;
		return err_set(b->err, b->scenario->file, details->line, 0,
			       "job '%s' wants %u hosts, and fabric '%s' has %u",
			       job->name, job->n_hosts_wanted, topo_name(b->topo),
			       topo_n_hosts(b->topo));
	}
	job->hosts = xcalloc(job->n_hosts_wanted, sizeof *job->hosts);
	b->n_hosts = 0;
	error = hostlist_expand(details->hosts, job->n_hosts_wanted, take_host, b,
				&why);
	BUG_ON(error == 0 && b->n_hosts != job->n_hosts_wanted);
	return error;
}

/* ---- Slots ----------------------------------------------------------------------- */

/* The slots of one job on one host. */
struct tenant {
	uint32_t host, job;
};

static int
compare_tenants(const void *a, const void *b)
{
	const struct tenant *ta = a, *tb = b;

	if (ta->host != tb->host)
		return ta->host < tb->host ? -1 : 1;
	return (ta->job > tb->job) - (ta->job < tb->job);
}

/* Slots held by the tenants of one host when job 'when' arrives. */
static uint64_t
slots_taken(const struct binder *b, const struct tenant *tenants, size_t n,
	    uint32_t when)
{
	const struct work_job *jobs = b->scenario->workload.jobs;
	int64_t now_ns = jobs[when].arrival_ns;
	uint64_t taken = 0;

	for (size_t i = 0; i < n; i++) {
		const struct work_job *job = &jobs[tenants[i].job];

		if (job->arrival_ns <= now_ns && now_ns < job->stop_ns)
			taken += job->slots_per_host;
	}
	return taken;
}

/* The maximum occurs when a job arrives.  O(tenants^2) for each host. */
static int
check_host(const struct binder *b, const struct tenant *tenants, size_t n)
{
	const struct topo_node *node = topo_node(b->topo, tenants[0].host);

	for (size_t i = n; i-- > 0;) {
		uint64_t taken = slots_taken(b, tenants, n, tenants[i].job);

		if (taken > node->n_slots)
			return err_set(
				b->err, b->scenario->file,
				b->scenario->details[tenants[i].job].hosts_line, 0,
				"host '%s' has %u slots, and its jobs take %llu with "
				"job '%s'",
				node->name, node->n_slots, (unsigned long long)taken,
				b->scenario->workload.jobs[tenants[i].job].name);
	}
	return 0;
}

static int
check_slots(const struct binder *b)
{
	const struct workload *workload = &b->scenario->workload;
	struct tenant *tenants;
	size_t n = 0, k = 0;
	int error = 0;

	for (size_t j = 0; j < workload->n; j++)
		n += workload->jobs[j].hosts ? workload->jobs[j].n_hosts_wanted : 0;
	tenants = xcalloc(n + 1, sizeof *tenants);
	for (size_t j = 0; j < workload->n; j++)
		for (uint32_t i = 0;
		     workload->jobs[j].hosts && i < workload->jobs[j].n_hosts_wanted;
		     i++)
			tenants[k++] = (struct tenant){ workload->jobs[j].hosts[i],
							(uint32_t)j };
	qsort(tenants, n, sizeof *tenants, compare_tenants);
	for (size_t first = 0, end; first < n && error == 0; first = end) {
		for (end = first + 1; end < n; end++)
			if (tenants[end].host != tenants[first].host)
				break;
		error = check_host(b, tenants + first, end - first);
	}
	free(tenants);
	return error;
}

/* ---- Messages, profiles ---------------------------------------------------------- */

/*
 * The job's hosts; any, while it waits and only their number matters.  NULL with the
 * error filled, if a hierarchical all-reduce has none.
 */
static const uint32_t *
hosts_or_any(const struct binder *b, bool is_hierarchical)
{
	const struct work_job *job = &b->scenario->workload.jobs[b->job];
	size_t n;

	if (job->hosts)
		return job->hosts;
	if (!is_hierarchical)
		return topo_hosts(b->topo, &n);
	err_set(b->err, b->scenario->file, b->scenario->details[b->job].line, 0,
		"job '%s': what a hierarchical all-reduce sends depends on its hosts; "
		"expected 'hosts', or 'send' instead of 'allreduce'",
		job->name);
	return NULL;
}

/* Bytes sent by the busiest interface per byte of message. */
static int
bytes_per_message(const struct binder *b, double *ret_factor)
{
	const struct work_job *job = &b->scenario->workload.jobs[b->job];
	const uint32_t *hosts =
		hosts_or_any(b, job->collective == COLLECTIVE_HIERARCHICAL);
	struct collective_flows flows;

	if (!hosts)
		return -EINVAL;
	if (collective_make(b->topo, job->collective, hosts, job->n_hosts_wanted, 1,
			    &flows) < 0)
		return err_set(b->err, b->scenario->file,
			       b->scenario->details[b->job].line, 0,
			       "job '%s' has no flows on these hosts", job->name);
	*ret_factor = flows.nic_bytes;
	collective_flows_fini(&flows);
	return 0;
}

static int
bind_messages(struct binder *b)
{
	struct work_job *job = &b->scenario->workload.jobs[b->job];
	struct scenario_job *details = &b->scenario->details[b->job];
	double factor = 0;

	if (details->has_profile)
		return 0;
	for (size_t i = 0; i < job->n_segments; i++) {
		if (!details->is_message[i] ||
		    job->segments[i].call.op != COLLECTIVE_OP_NONE)
			continue;
		if (!(factor > 0) && job->n_hosts_wanted > 1 &&
		    bytes_per_message(b, &factor) < 0)
			return -EINVAL;
		job->segments[i].nic_bytes *= factor;
		details->is_message[i] = false;
	}
	return 0;
}

/* The latency of segments without a call; those with one get it by their phases. */
static int
bind_latency(struct binder *b)
{
	struct work_job *job = &b->scenario->workload.jobs[b->job];
	const uint32_t *hosts;
	int64_t latency_ns;

	if (!job->latency_ns)
		return 0;
	hosts = hosts_or_any(b, job->collective == COLLECTIVE_HIERARCHICAL);
	if (!hosts)
		return -EINVAL;
	latency_ns = job->latency_ns * collective_n_steps(b->topo, job->collective,
							  hosts, job->n_hosts_wanted);
	for (size_t i = 0; i < job->n_segments; i++)
		if (job->segments[i].call.op == COLLECTIVE_OP_NONE &&
		    job->segments[i].nic_bytes > 0)
			job->segments[i].latency_ns = latency_ns;
	return 0;
}

static int
bind_calls(struct binder *b)
{
	struct work_job *job = &b->scenario->workload.jobs[b->job];
	const struct scenario_job *details = &b->scenario->details[b->job];
	bool is_hierarchical = false;
	const uint32_t *hosts;
	size_t segment;
	int r;

	for (size_t i = 0; i < job->n_segments; i++)
		is_hierarchical |=
			job->segments[i].call.algorithm == COLLECTIVE_BY_HIERARCHY;
	hosts = hosts_or_any(b, is_hierarchical);
	if (!hosts)
		return -EINVAL;
	r = work_calls_expand(job, hosts, b->topo, WORK_MAX_PHASES - b->n_phases,
			      &segment);
	b->n_phases += job->n_segments;
	if (r == -E2BIG)
		return err_set(b->err, b->scenario->file, details->line, 0,
			       "job '%s': its segment %zu has too many flows or phases "
			       "to simulate",
			       job->name, segment + 1);
	if (r < 0)
		return err_set(b->err, b->scenario->file, details->line, 0,
			       "job '%s' has no flows on these hosts", job->name);
	return 0;
}

/* That of the job's hosts; of all hosts, while the job waits. */
static double
line_bps(const struct binder *b)
{
	const struct work_job *job = &b->scenario->workload.jobs[b->job];
	size_t n = job->n_hosts_wanted;
	const uint32_t *hosts = job->hosts ? job->hosts : topo_hosts(b->topo, &n);

	return topo_line_bps(b->topo, hosts, n);
}

static int
bind_profile(struct binder *b)
{
	struct work_job *job = &b->scenario->workload.jobs[b->job];
	struct profile *profile = &job->profile, captured = *profile;
	double bps = line_bps(b);
	const char *why;

	/* A captured profile is kept, unless it is faster than the interfaces. */
	if (b->scenario->details[b->job].has_profile &&
	    profile_peak_bps(profile) <= bps)
		return 0;
	if (!(bps > 0))
		return err_set(b->err, b->scenario->file,
			       b->scenario->details[b->job].line, 0,
			       "job '%s' has hosts without a link", job->name);
	if (work_job_profile_from_segments(job, bps, &why) < 0)
		return err_set(b->err, b->scenario->file,
			       b->scenario->details[b->job].line, 0, "job '%s': %s",
			       job->name, why);
	if (b->scenario->details[b->job].has_profile) {
		profile->n_iterations = captured.n_iterations;
		profile->confidence = captured.confidence;
		profile->period_error_us = captured.period_error_us;
		profile->jitter_us = captured.jitter_us;
	}
	return 0;
}

int
scenario_bind(struct scenario *scenario, const struct topo *topo, struct err *err)
{
	struct binder b = { .scenario = scenario, .topo = topo, .err = err };
	int error = 0;

	b.stamp = xcalloc(topo_n_nodes(topo) + 1, sizeof *b.stamp);
	for (; b.job < scenario->workload.n && error == 0; b.job++) {
		error = bind_hosts(&b);
		if (error == 0)
			error = bind_messages(&b);
		if (error == 0)
			error = bind_latency(&b);
		if (error == 0 && work_job_has_calls(&scenario->workload.jobs[b.job]))
			error = bind_calls(&b);
		if (error == 0)
			error = bind_profile(&b);
	}
	if (error == 0)
		error = check_slots(&b);
	for (size_t i = 0; i < scenario->n_events && error == 0; i++)
		error = scenario_event_bind(scenario, &scenario->events[i], topo, err);
	free(b.stamp);
	return error < 0 ? -EINVAL : 0;
}
