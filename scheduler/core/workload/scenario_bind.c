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
#include "scheduler/core/workload/workload_ini.h"
#include "topology/topo.h"

struct binder {
	struct scenario *scenario;
	const struct topo *topo;
	struct err *err;
	size_t job;       /* The job being bound. */
	uint32_t *stamp;  /* By node: number of the last job that named it, plus 1. */
	uint32_t n_hosts; /* Of this job, so far. */
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

/* Bytes sent by the busiest interface per byte of message. */
static int
bytes_per_message(const struct binder *b, double *ret_factor)
{
	const struct work_job *job = &b->scenario->workload.jobs[b->job];
	const uint32_t *hosts = job->hosts;
	struct collective_flows flows;
	size_t n;

	if (!hosts && job->collective == COLLECTIVE_HIERARCHICAL)
		return err_set(
			b->err, b->scenario->file, b->scenario->details[b->job].line, 0,
			"job '%s': what a hierarchical all-reduce sends depends on its "
			"hosts; expected 'hosts', or 'send' instead of 'allreduce'",
			job->name);
	/* For the others only the number of hosts matters: take any. */
	if (!hosts)
		hosts = topo_hosts(b->topo, &n);
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
		if (!details->is_message[i])
			continue;
		if (!(factor > 0) && job->n_hosts_wanted > 1 &&
		    bytes_per_message(b, &factor) < 0)
			return -EINVAL;
		job->segments[i].nic_bytes *= factor;
		details->is_message[i] = false;
	}
	return 0;
}

/* The fastest interface of a host. */
static double
interface_bps(const struct topo *topo, uint32_t host)
{
	size_t n;
	const uint32_t *links = topo_links_out(topo, host, &n);
	double bps = 0;

	for (size_t i = 0; i < n; i++)
		if (topo_link(topo, links[i])->capacity_bps > bps)
			bps = topo_link(topo, links[i])->capacity_bps;
	return bps;
}

/* The slowest of the job's hosts; of all hosts, while the job waits. */
static double
line_bps(const struct binder *b)
{
	const struct work_job *job = &b->scenario->workload.jobs[b->job];
	size_t n = job->n_hosts_wanted;
	const uint32_t *hosts = job->hosts ? job->hosts : topo_hosts(b->topo, &n);
	double least_bps = 0;

	for (size_t i = 0; i < n; i++) {
		double bps = interface_bps(b->topo, hosts[i]);

		if (bps > 0 && (least_bps <= 0 || bps < least_bps))
			least_bps = bps;
	}
	return least_bps;
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
			error = bind_profile(&b);
	}
	if (error == 0)
		error = check_slots(&b);
	free(b.stamp);
	return error < 0 ? -EINVAL : 0;
}
