/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs_pacer.c - running jobs, from the reports of their pacers: profiled within a few
 * iterations, and again when their compute time changes. pace.c notes which jobs have
 * new reports; the next passes of the loop process these, within a share of the time.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/hostlist.h"
#include "lib/base/log.h"
#include "lib/base/sort.h"
#include "scheduler/daemon/config.h"
#include "scheduler/daemon/fabric_source.h"
#include "scheduler/daemon/jobs_priv.h"
#include "scheduler/daemon/telemetry.h"
#include "scheduler/live/iteration_volume.h"
#include "scheduler/live/live.h"
#include "scheduler/live/live_workload.h"
#include "topology/topo.h"

/* Hosts report traffic a little later than pacers report iterations; at most this. */
#define WAIT_NS (3 * JOBS_SECOND_NS)
/* Of one pass, and the share of the time that passes may take. */
#define MAX_AT_ONCE 64
#define SHARE       10
#define MAX_NODES   100000

void
jobs_note_report(struct jobs *jobs, struct job *job)
{
	if (job->has_report)
		return;
	job->has_report = true;
	job->reported_ns = clk_monotonic_ns();
	jobs->n_reported++;
}

/* ---- Hosts of a job -------------------------------------------------------------- */

struct nodes {
	const struct jobs *jobs;
	VEC(uint32_t) items;
};

/* Adds a host that never sent; the others show whether they carry the job. */
static int
add_unheard(void *ctx, const char *name)
{
	struct nodes *nodes = ctx;
	const struct topo *topo = fabric_source_topo(nodes->jobs->opts.fabric);
	uint32_t node = topo_find_node(topo, name);

	if (node != TOPO_NONE && topo_node(topo, node)->kind == TOPO_HOST &&
	    !nodes->jobs->is_heard[node])
		vec_push(&nodes->items, node);
	return 0;
}

/* Adds nodes that the cluster's scheduler gave it and that no host reports. */
static void
complete_hosts(const struct jobs *jobs, const struct job *job, struct work_job *new)
{
	const struct sched_job *known =
		sched_find_local(jobs->opts.snapshot, job->name);
	struct nodes nodes = { .jobs = jobs };
	const char *why;
	size_t n = 0;

	if (!known || !*known->nodes || known->n_nodes <= new->n_hosts_wanted ||
	    !jobs->is_heard)
		return;
	for (uint32_t i = 0; i < new->n_hosts_wanted; i++)
		vec_push(&nodes.items, new->hosts[i]);
	if (hostlist_expand(known->nodes, MAX_NODES, add_unheard, &nodes, &why) < 0) {
		vec_free(&nodes.items);
		return;
	}
	sort_items(nodes.items.items, nodes.items.n, sort_by_u32);
	for (size_t i = 0; i < nodes.items.n; i++)
		if (n == 0 || nodes.items.items[n - 1] != nodes.items.items[i])
			nodes.items.items[n++] = nodes.items.items[i];
	free(new->hosts);
	new->hosts = nodes.items.items;
	new->n_hosts_wanted = (uint32_t)n;
	new->weight = (double)n;
}

/*
 * The time of its bytes on the slowest link of its path, and its loss to others there.
 */
static int
find_path(const struct jobs *jobs, const struct live_workload *running, uint32_t id,
	  const struct work_job *new, double bytes, struct pacer_profile_path *ret_path)
{
	const struct topo *topo = fabric_source_topo(jobs->opts.fabric);
	struct pacer_profile_path path = {
		.line_bps = topo_line_bps(topo, new->hosts, new->n_hosts_wanted),
	};
	struct live_workload_others others;
	struct routed_job routed;
	int r = routed_job_make(new, new->hosts, topo,
				fabric_source_routes(jobs->opts.fabric), &routed);

	if (r < 0)
		return r;
	for (size_t i = 0; i < routed.footprint.n; i++) {
		const struct footprint_entry *entry = &routed.footprint.entries[i];

		path.isolated_us =
			fmax(path.isolated_us,
			     8e6 * bytes * entry->factor /
				     topo_link(topo, entry->link)->capacity_bps);
	}
	others = live_workload_others(running, id, &routed.footprint, path.line_bps);
	path.held_frac = others.held_frac;
	path.met_frac = others.met_frac;
	routed_job_fini(&routed);
	*ret_path = path;
	return 0;
}

/* ---- The profile ---------------------------------------------------------------------- */

/* Rank 0's place among the hosts that carry the job; UINT32_MAX: none. */
static uint32_t
host_of_pacer(const struct live *live, const uint32_t *series, size_t n,
	      const struct job *job)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t interface = live_series(live, series[i])->interface;
		uint32_t host = live_interface(live, interface)->host;

		if (strcmp(live_host(live, host)->name, job->pacer.host) == 0)
			return host;
	}
	return UINT32_MAX;
}

/* Logs the basis of the profile, or why there is none. */
static void
log_profile(const struct job *job, const struct iteration_volume *sent,
	    const struct pacer_profile_path *path, const struct profile *profile)
{
	log_dbg("pacer",
		"job %s: %u iterations, %.0f bytes each (%zu measured, %.2f of them in "
		"collectives, %.2f of that sending): %.1f ms alone, others send in %.2f "
		"of it and cost it %.3f; "
		"taken to be %.1f ms of %.1f ms",
		job->name, job->pacer_profile.n, sent->bytes, sent->n_iterations,
		sent->within_frac, sent->busy_frac, path->isolated_us / 1e3,
		path->met_frac, path->held_frac,
		profile ? (double)profile->phases[0].duration_us / 1e3 : 0,
		profile ? (double)profile->period_us / 1e3 : 0);
}

/* Puts the profile into 'new', which is a ring. */
static int
take_profile(const struct jobs *jobs, const struct live_workload *running,
	     const struct job *job, uint32_t id, struct work_job *new)
{
	struct iteration_volume_sample iterations[PACER_PROFILE_N_KEPT];
	size_t n = pacer_profile_iterations(&job->pacer_profile, iterations), n_series;
	const uint32_t *series = live_workload_series(running, id, &n_series);
	struct pacer_profile_path path;
	struct iteration_volume sent;
	int r = iteration_volume_measure(
		jobs->live, series, n_series,
		host_of_pacer(jobs->live, series, n_series, job), iterations, n, &sent);

	if (r == 0)
		r = find_path(jobs, running, id, new, sent.bytes, &path);
	if (r < 0)
		return r;
	if (!pacer_profile_make(&job->pacer_profile,
				(size_t)jobs->opts.config->pacer_min_iterations, &sent,
				&path, &new->profile))
		r = -ENODATA;
	log_profile(job, &sent, &path, r == 0 ? &new->profile : NULL);
	if (r < 0)
		return r;
	work_job_segments_from_profile(new);
	new->jitter_frac = work_job_jitter_of_profile(new);
	return 0;
}

int
jobs_pacer_work(const struct jobs *jobs, const struct live_workload *running,
		const struct job *job, struct work_job *ret_job)
{
	uint32_t id = live_find_job(jobs->live, job->name);
	struct work_job new;
	int r;

	if (id >= TELE_OTHER || !jobs_has_pacer(job) ||
	    job->pacer_profile.n < jobs->opts.config->pacer_min_iterations)
		return -ENODATA;
	live_workload_ring(running, id, &new);
	complete_hosts(jobs, job, &new);
	r = new.n_hosts_wanted < 2 ? -EAGAIN
				   : take_profile(jobs, running, job, id, &new);
	if (r == 0)
		*ret_job = new;
	else
		work_job_fini(&new);
	return r;
}

/* ---- Processing reports ---------------------------------------------------------------- */

/* Processes a job. True: done, until its pacer reports more. */
static bool
take_report(struct jobs *jobs, const struct live_workload *running, struct job *job)
{
	struct work_job new;
	int r = jobs_pacer_work(jobs, running, job, &new);

	if (r < 0) {
		bool is_over =
			r != -EAGAIN || clk_monotonic_ns() - job->reported_ns > WAIT_NS;

		if (is_over)
			log_dbg("pacer", "job %s: %u iterations, of no use: %s",
				job->name, job->pacer_profile.n, strerror(-r));
		return is_over;
	}
	if (jobs_has_silent(jobs, new.hosts, new.n_hosts_wanted)) {
		jobs_refuse(jobs, job, JOBS_SILENT);
	} else {
		jobs_put(jobs, job, &new, true);
		job->is_restored = false;
	}
	work_job_fini(&new);
	return true;
}

/*
 * The next job with new reports; false: none is left. Round robin: begins behind the
 * job that was last.
 */
static bool
take_next(struct jobs *jobs)
{
	struct jobs_taking *taking = &jobs->taking;

	while (taking->n_left && taking->n_looked++ < jobs->items.n) {
		struct job *job;

		jobs->next_reported = (jobs->next_reported + 1) % jobs->items.n;
		job = jobs->items.items[jobs->next_reported];
		if (!job || !job->has_report)
			continue;
		taking->n_left--;
		if (take_report(jobs, taking->running, job)) {
			job->has_report = false;
			jobs->n_reported--;
		}
		return true;
	}
	return false;
}

bool
jobs_take_reports(struct jobs *jobs, int64_t until_ns)
{
	struct jobs_taking *taking = &jobs->taking;
	int64_t began_ns = clk_monotonic_ns();
	bool has_taken = false, is_over = false;

	if (!taking->running) {
		if (!jobs->n_reported || !jobs->advisor ||
		    !fabric_source_topo(jobs->opts.fabric) ||
		    began_ns - jobs->taken_ns < SHARE * jobs->taking_cost_ns)
			return false;
		taking->running = live_workload_begin(
			jobs->live, fabric_source_topo(jobs->opts.fabric),
			telemetry_links(jobs->opts.telemetry));
		taking->n_left = MAX_AT_ONCE;
	}
	do {
		if (!taking->is_ready)
			taking->is_ready = live_workload_step(taking->running);
		else if (take_next(jobs))
			has_taken = true;
		else
			is_over = true;
	} while (!is_over && clk_monotonic_ns() < until_ns);
	taking->cost_ns += clk_monotonic_ns() - began_ns;
	if (is_over) {
		jobs->taken_ns = clk_monotonic_ns();
		jobs->taking_cost_ns = taking->cost_ns;
		jobs_stop_taking(jobs);
	}
	return has_taken;
}
