/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/metrics.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/cli.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/http.h"
#include "lib/daemon/loop.h"
#include "lib/daemon/metrics.h"
#include "lib/daemon/passes.h"
#include "scheduler/core/advise/fragmentation.h"
#include "scheduler/core/advise/reason.h"
#include "scheduler/daemon/actions.h"
#include "scheduler/daemon/fabric_source.h"
#include "scheduler/daemon/fragmentation_watch.h"
#include "scheduler/daemon/history.h"
#include "scheduler/daemon/jobs.h"
#include "scheduler/daemon/link_counters.h"
#include "scheduler/daemon/metrics_flows.h"
#include "scheduler/daemon/move_log.h"
#include "scheduler/daemon/outcomes.h"
#include "scheduler/daemon/pace.h"
#include "scheduler/daemon/pods.h"
#include "scheduler/daemon/telemetry.h"
#include "scheduler/live/feed.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"
#include "scheduler/store/store.h"
#include "topology/topo.h"

/* Of one piece, which other work waits for. */
#define SAMPLES_A_PIECE 2048
/* For metrics with many samples per link or job. */
#define LINKS_A_PIECE 512
#define JOBS_A_PIECE  128

/* The load on a link of the fabric by the jobs' profiles, as they are steered now. */
struct link_load {
	bool is_known; /* Jobs contend for the link. */
	double score, excess_bps;
};

struct scheduler_metrics {
	struct scheduler_metrics_opts opts;
	const struct live *live;             /* Of the telemetry. */
	const struct job_profiler *profiler; /* Of the telemetry. */
	struct http *http;                   /* NULL: none. */
	struct link_load *loads;             /* Owned. By link of the fabric. */
	uint32_t n_loads;                    /* Links in it. */
	int64_t fabric_since_us;             /* The fabric that 'loads' is for. */
};

struct scheduler_metrics *
scheduler_metrics_new(const struct scheduler_metrics_opts *opts)
{
	struct scheduler_metrics *own = xcalloc(1, sizeof *own);

	own->opts = *opts;
	own->live = telemetry_live(opts->telemetry);
	own->profiler = telemetry_profiler(opts->telemetry);
	return own;
}

void
scheduler_metrics_free(struct scheduler_metrics *own)
{
	if (!own)
		return;
	free(own->loads);
	free(own);
}

void
scheduler_metrics_add_http(struct scheduler_metrics *own, struct http *http)
{
	own->http = http;
}

/* Begins a family where '*at' is 0; else it goes on there. */
static void
begin(struct metrics *m, size_t at, const char *name, enum metrics_type type,
      const char *help)
{
	if (at)
		metrics_go_on(m, name);
	else
		metrics_family(m, name, type, help);
}

/* ---- Links ---------------------------------------------------------------------------- */

enum link_metric {
	LINK_CAPACITY,
	LINK_UTILIZATION,
	LINK_PEAK,
	LINK_OVER,
	LINK_JOBS,
	N_LINK_METRICS,
};

static double
value_of_link(const struct contention_link *link, enum link_metric which)
{
	switch (which) {
	case LINK_CAPACITY:
		return link->capacity_bps > 0 ? link->capacity_bps / 8 : -1;
	case LINK_UTILIZATION:
		return contention_now_frac(link);
	case LINK_PEAK:
		return contention_peak_frac(link);
	case LINK_OVER:
		return contention_over_frac(link);
	default:
		return (double)link->n_jobs;
	}
}

static void
write_of_link(const struct scheduler_metrics *own, struct metrics *m, uint32_t link,
	      double value)
{
	struct strbuf name = STRBUF_EMPTY;

	topo_link_name(fabric_source_topo(own->opts.fabric), link, &name);
	metrics_sample(m, value, "link", name.text, NULL);
	strbuf_free(&name);
}

static bool
write_links(const struct scheduler_metrics *own, struct metrics *m,
	    enum link_metric which, size_t *at)
{
	static const struct {
		const char *name, *help;
	} families[N_LINK_METRICS] = {
		[LINK_CAPACITY] = { "antiphase_scheduler_link_capacity_bytes_per_second",
				    "Capacity of a directed link." },
		[LINK_UTILIZATION] = { "antiphase_scheduler_link_utilization_ratio",
				       "Rate over capacity, in the last second." },
		[LINK_PEAK] = { "antiphase_scheduler_link_peak_utilization_ratio",
				"Rate over capacity, in the busiest millisecond of the "
				"window." },
		[LINK_OVER] = { "antiphase_scheduler_link_over_ratio",
				"Share of the window in which the link is full with "
				"two or more jobs." },
		[LINK_JOBS] = { "antiphase_scheduler_link_jobs",
				"Jobs active in the window." },
	};

	size_t n = telemetry_n_numbers(own->opts.telemetry);

	begin(m, *at, families[which].name, METRICS_GAUGE, families[which].help);
	for (int i = 0; i < SAMPLES_A_PIECE && *at < n; i++) {
		const struct contention_link *link =
			telemetry_link(own->opts.telemetry, (*at)++);
		double value = link ? value_of_link(link, which) : -1;

		if (value >= 0)
			metrics_sample(m, value, "link", link->name, NULL);
	}
	return *at < n;
}

static void
write_counter(void *ctx, const char *link, const char *job, uint64_t bytes)
{
	metrics_sample_u64(ctx, bytes, "link", link, "job", job, NULL);
}

static bool
write_counters(struct scheduler_metrics *own, struct metrics *m, size_t *at)
{
	if (!telemetry_counters(own->opts.telemetry))
		return false;
	begin(m, *at, "antiphase_scheduler_link_job_transmit_bytes_total",
	      METRICS_COUNTER,
	      "Bytes of a job on a link; \"other\": all jobs outside the "
	      "link_jobs that carry most.");
	return link_counters_some(telemetry_counters(own->opts.telemetry), at,
				  LINKS_A_PIECE, write_counter, m);
}

static void
note_load(const struct job *job, const struct advisor_link *link,
	  struct link_load *load)
{
	const struct link_load now = {
		true,
		job->is_steered ? link->score_after : link->score_before,
		job->is_steered ? link->excess_after_bps : link->excess_before_bps,
	};

	/* One job that is not steered can undo the shifts of the others. */
	if (!load->is_known || now.score < load->score)
		*load = now;
}

static void
find_loads(struct scheduler_metrics *own)
{
	const struct jobs *jobs = own->opts.jobs;

	free(own->loads);
	own->n_loads = topo_n_links(fabric_source_topo(own->opts.fabric));
	own->loads = xcalloc(own->n_loads + 1, sizeof *own->loads);
	own->fabric_since_us = fabric_source_since_us(own->opts.fabric);
	for (size_t i = 0; i < jobs_n_places(jobs); i++) {
		const struct job *job = jobs_at(jobs, i);
		struct advisor_view view;

		/* The links of a job that was routed apart are those that it avoids. */
		if (!job || !jobs_view(jobs, job, &view) ||
		    reason_is_apart(view.reason))
			continue;
		for (size_t k = 0; k < view.n_links; k++)
			note_load(job, &view.links[k], &own->loads[view.links[k].link]);
	}
}

/* The next link that find_loads() found. */
static const struct link_load *
next_load(const struct scheduler_metrics *own, size_t *at)
{
	if (!fabric_source_topo(own->opts.fabric) ||
	    own->fabric_since_us != fabric_source_since_us(own->opts.fabric))
		return NULL;
	while (*at < own->n_loads)
		if (own->loads[(*at)++].is_known)
			return &own->loads[*at - 1];
	return NULL;
}

static bool
write_excess(struct scheduler_metrics *own, struct metrics *m, size_t *at)
{
	const struct link_load *load;

	if (!fabric_source_topo(own->opts.fabric) || !jobs_advisor(own->opts.jobs))
		return false;
	if (*at == 0)
		find_loads(own);
	begin(m, *at, "antiphase_scheduler_link_excess_ratio", METRICS_GAUGE,
	      "Mean excess over capacity, from the jobs' current profiles and "
	      "shifts.");
	for (int i = 0; i < SAMPLES_A_PIECE; i++) {
		double capacity_bps;

		load = next_load(own, at);
		if (!load)
			return false;
		capacity_bps = topo_link(fabric_source_topo(own->opts.fabric),
					 (uint32_t)*at - 1)
				       ->capacity_bps;
		if (capacity_bps > 0)
			write_of_link(own, m, (uint32_t)*at - 1,
				      load->excess_bps / capacity_bps);
	}
	return true;
}

static bool
write_scores(struct scheduler_metrics *own, struct metrics *m, size_t *at)
{
	const struct link_load *load;

	if (!fabric_source_topo(own->opts.fabric) || !jobs_advisor(own->opts.jobs))
		return false;
	begin(m, *at, "antiphase_scheduler_link_compatibility_score", METRICS_GAUGE,
	      "Score, from the jobs' current profiles and shifts; 1: they "
	      "interleave perfectly.");
	for (int i = 0; i < SAMPLES_A_PIECE; i++) {
		load = next_load(own, at);
		if (!load)
			return false;
		write_of_link(own, m, (uint32_t)*at - 1, load->score);
	}
	return true;
}

/* ---- Jobs ----------------------------------------------------------------------------- */

enum job_metric {
	JOB_PERIOD,
	JOB_DUTY,
	JOB_CONFIDENCE,
	JOB_SHIFT,
	JOB_ERROR,
	JOB_STANDS_BACK,
	N_JOB_METRICS,
};

static bool
value_of_job(const struct scheduler_metrics *own, const struct profiled_job *seen,
	     enum job_metric which, double *ret_value)
{
	const struct job *job =
		jobs_find(own->opts.jobs, live_job_name(own->live, seen->job));
	struct advisor_view view;
	struct steer_state state;

	if (which == JOB_PERIOD || which == JOB_DUTY || which == JOB_CONFIDENCE) {
		const struct profile *profile = &seen->detection.profile;

		if (!seen->has_estimate)
			return false;
		*ret_value = which == JOB_PERIOD ? (double)profile->period_us / 1e6
			     : which == JOB_DUTY ? profile_duty(profile)
						 : profile->confidence;
		return true;
	}
	if (!job || job->number == UINT32_MAX || job->is_waiting)
		return false;
	if (which == JOB_SHIFT) {
		if (!jobs_view(own->opts.jobs, job, &view))
			return false;
		*ret_value = (double)view.shift_us / 1e6;
		return true;
	}
	pace_state(own->opts.pace, job, &state);
	*ret_value = which == JOB_STANDS_BACK ? state.learned.stands_back
					      : (double)state.error_us / 1e6;
	return state.is_tracked;
}

static bool
write_jobs(const struct scheduler_metrics *own, struct metrics *m,
	   enum job_metric which, size_t *at)
{
	static const struct {
		const char *name, *help;
	} families[N_JOB_METRICS] = {
		[JOB_PERIOD] = { "antiphase_scheduler_job_period_seconds",
				 "Period, from the job's traffic." },
		[JOB_DUTY] = { "antiphase_scheduler_job_communication_ratio",
			       "Share of the iteration in which the job sends." },
		[JOB_CONFIDENCE] = { "antiphase_scheduler_job_confidence_ratio",
				     "Confidence of the period, from the job's traffic: "
				     "0 is noise, 1 is a clock." },
		[JOB_SHIFT] = { "antiphase_scheduler_job_shift_seconds",
				"The shift that is advised." },
		[JOB_ERROR] = { "antiphase_scheduler_job_shift_error_seconds",
				"Distance of the job from its advised window." },
		[JOB_STANDS_BACK] = { "antiphase_scheduler_job_stands_back",
				      "1: the job and those on its links get no orders, "
				      "because turns did not help." },
	};

	uint32_t n = live_n_jobs(own->live);

	begin(m, *at, families[which].name, METRICS_GAUGE, families[which].help);
	for (int i = 0; i < SAMPLES_A_PIECE && *at < n; i++) {
		const struct profiled_job *job =
			job_profiler_find(own->profiler, (uint32_t)(*at)++);
		double value;

		if (job && value_of_job(own, job, which, &value))
			metrics_sample(m, value, "job",
				       live_job_name(own->live, job->job), NULL);
	}
	return *at < n;
}

static bool
write_iterations(struct scheduler_metrics *own, struct metrics *m, size_t *at)
{
	const struct outcome *outcome;
	const char *job;

	begin(m, *at, "antiphase_scheduler_job_iteration_seconds", METRICS_HISTOGRAM,
	      "Iteration times, from the job's pacer.");
	for (int i = 0; i < JOBS_A_PIECE; i++) {
		outcome = outcomes_paced(own->opts.outcomes, at, &job);
		if (!outcome)
			return false;
		metrics_histogram(m, outcome_bounds_s, outcome->histogram,
				  OUTCOME_N_BOUNDS, outcome->sum_s, "job", job);
	}
	return true;
}

/* ---- Advice and actions --------------------------------------------------------------- */

static void
write_pods(const struct scheduler_metrics *own, struct metrics *m)
{
	struct pods_counts pods;

	if (!pods_counts(own->opts.pods, &pods))
		return;
	metrics_gauge(m, "antiphase_scheduler_pods_annotated", (double)pods.n_annotated,
		      "Pods that carry a shift from antiphase.");
	metrics_counter(m, "antiphase_scheduler_pods_changed_total", pods.n_changed,
			"Changes of pods' annotations.");
	metrics_counter(m, "antiphase_scheduler_pods_failed_total", pods.n_failed,
			"Changes of pods' annotations that the API server refused.");
}

static void
write_fragmentation(const struct scheduler_metrics *own, struct metrics *m)
{
	const struct fragmentation *found =
		fragmentation_watch_result(own->opts.fragmentation);

	if (!found || isnan(found->lost_frac))
		return;
	metrics_gauge(m, "antiphase_scheduler_fragmentation_ratio", found->lost_frac,
		      "Share of goodput lost because jobs are scattered over racks.");
	metrics_gauge(m, "antiphase_scheduler_jobs_fragmented", found->n_fragmented,
		      "Jobs that span more racks than they need.");
}

static void
write_paths(const struct scheduler_metrics *own, struct metrics *m)
{
	struct advisor_path_counts counts = jobs_path_counts(own->opts.jobs);

	metrics_gauge(m, "antiphase_scheduler_jobs_routed", (double)counts.n_jobs,
		      "Jobs with flows on paths that advice has chosen.");
	metrics_gauge(m, "antiphase_scheduler_flows_routed", (double)counts.n_flows,
		      "Flows on paths that advice has chosen.");
	metrics_counter(m, "antiphase_scheduler_paths_changed_total", counts.n_changed,
			"Flows of running jobs that advice gave another path.");
}

static void
write_moves(const struct scheduler_metrics *own, struct metrics *m)
{
	metrics_counter(m, "antiphase_scheduler_moves_advised_total",
			jobs_totals(own->opts.jobs)->n_moves_advised,
			"Running jobs that were advised to move; an unchanged advice "
			"is not counted again.");
	metrics_counter(m, "antiphase_scheduler_moves_total",
			move_log_count(own->opts.moves),
			"Running jobs that were requeued for a move.");
}

static bool
write_actions(struct scheduler_metrics *own, struct metrics *m, size_t *at)
{
	uint32_t by_reason[N_REASONS] = { 0 }, by_refusal[JOBS_N_REFUSALS] = { 0 };
	const struct jobs_totals *totals = jobs_totals(own->opts.jobs);
	struct actions_counts counts = actions_counts(own->opts.actions);
	struct pace_counts pace = pace_counts(own->opts.pace);

	(void)at;
	for (size_t i = 0; i < jobs_n_places(own->opts.jobs); i++) {
		const struct job *job = jobs_at(own->opts.jobs, i);

		if (job && job->refusal == JOBS_ADVISED)
			by_reason[job->reason]++;
		else if (job)
			by_refusal[job->refusal]++;
	}
	metrics_family(m, "antiphase_scheduler_jobs_advised", METRICS_GAUGE,
		       "Jobs with an advice, by its reason.");
	for (int i = 0; i < N_REASONS; i++)
		metrics_sample(m, by_reason[i], "reason", reason_name((enum reason)i),
			       NULL);
	metrics_family(m, "antiphase_scheduler_jobs_refused", METRICS_GAUGE,
		       "Jobs without an advice, by the reason.");
	for (int i = 1; i < JOBS_N_REFUSALS; i++)
		metrics_sample(m, by_refusal[i], "reason", jobs_refusal_names[i], NULL);
	metrics_family(m, "antiphase_scheduler_advice_total", METRICS_COUNTER,
		       "Advices given, by kind and reason; an unchanged advice is not "
		       "counted again.");
	for (int kind = 0; kind < JOBS_N_KINDS; kind++)
		for (int i = 0; i < N_REASONS; i++)
			metrics_sample_u64(m, totals->n_given[kind][i], "kind",
					   jobs_kind_names[kind], "reason",
					   reason_name((enum reason)i), NULL);
	metrics_counter(m, "antiphase_scheduler_advice_followed_total",
			outcomes_n_followed(own->opts.outcomes),
			"Advices that were found to be followed.");
	metrics_family(m, "antiphase_scheduler_actions_total", METRICS_COUNTER,
		       "Changes requested from the cluster's scheduler, by reason.");
	for (int i = 0; i < DECIDE_N_WHYS; i++)
		metrics_sample_u64(m, counts.n_asked[i], "reason", decide_why_names[i],
				   NULL);
	metrics_counter(m, "antiphase_scheduler_actions_failed_total", counts.n_failed,
			"Changes that the cluster's scheduler refused.");
	write_pods(own, m);
	write_fragmentation(own, m);
	write_paths(own, m);
	write_moves(own, m);
	metrics_family(m, "antiphase_scheduler_orders_total", METRICS_COUNTER,
		       "Orders sent to pacers, by reason.");
	for (int i = 0; i < STEER_N_WHYS; i++)
		metrics_sample_u64(m, pace.orders[i], "reason", steer_why_names[i],
				   NULL);
	metrics_counter(m, "antiphase_scheduler_iterations_total", pace.reports,
			"Iterations reported by pacers.");
	metrics_counter(m, "antiphase_scheduler_iterations_ignored_total", pace.others,
			"Reported iterations from a second rank 0 of a job.");
	metrics_counter(m, "antiphase_scheduler_pacers_replaced_total", pace.replaced,
			"Pacers on no node of their job, replaced by one that is.");
	metrics_write_flows(&own->opts, m);
	metrics_gauge(m, "antiphase_scheduler_stopped",
		      actions_modes(own->opts.actions)->is_stopped,
		      "1 while the kill switch is set.");
	return false;
}

/* ---- The daemon ----------------------------------------------------------------------- */

static bool
write_host_ages(struct scheduler_metrics *own, struct metrics *m, size_t *at)
{
	const struct status status = telemetry_status(own->opts.telemetry);
	uint32_t n = live_n_hosts(own->live);

	begin(m, *at, "antiphase_scheduler_telemetry_age_seconds", METRICS_GAUGE,
	      "Time since a host's last frame.");
	for (int i = 0; i < SAMPLES_A_PIECE && *at < n; i++) {
		uint32_t host = (uint32_t)(*at)++;

		metrics_sample(m, (double)status_host_age_ns(&status, host) / 1e9,
			       "host", live_host(own->live, host)->name, NULL);
	}
	return *at < n;
}

static bool
write_host_gaps(struct scheduler_metrics *own, struct metrics *m, size_t *at)
{
	uint32_t n = live_n_hosts(own->live);

	begin(m, *at, "antiphase_scheduler_telemetry_gaps_total", METRICS_COUNTER,
	      "Frames missing from a host's sequences.");
	for (int i = 0; i < SAMPLES_A_PIECE && *at < n; i++) {
		const struct live_host *host = live_host(own->live, (uint32_t)(*at)++);

		metrics_sample_u64(m, host->gaps, "host", host->name, NULL);
	}
	return *at < n;
}

static bool
write_host_clocks(struct scheduler_metrics *own, struct metrics *m, size_t *at)
{
	uint32_t n = live_n_hosts(own->live);
	int64_t offset_ns;

	begin(m, *at, "antiphase_scheduler_clock_offset_seconds", METRICS_GAUGE,
	      "A host's clock minus this host's, from the frame of the last "
	      "minutes with the shortest delay; too low by that delay.");
	for (int i = 0; i < SAMPLES_A_PIECE && *at < n; i++) {
		const char *host = live_host(own->live, (uint32_t)(*at)++)->name;

		if (telemetry_clock_offset_ns(own->opts.telemetry, host, &offset_ns))
			metrics_sample(m, (double)offset_ns / 1e9, "host", host, NULL);
	}
	return *at < n;
}

static bool
write_self(struct scheduler_metrics *own, struct metrics *m, size_t *at)
{
	const struct jobs_totals *totals = jobs_totals(own->opts.jobs);
	struct feed_counts feed = feed_counts(telemetry_feed(own->opts.telemetry));
	const struct status status = telemetry_status(own->opts.telemetry);
	struct status_census census;

	(void)at;
	status_census(&status, &census);
	metrics_counter(m, "antiphase_scheduler_frames_total", feed.frames,
			"Frames received.");
	metrics_counter(m, "antiphase_scheduler_frames_damaged_total",
			feed.damaged + feed.foreign,
			"Messages that were not frames, or of another version.");
	metrics_family(m, "antiphase_scheduler_frames_refused_total", METRICS_COUNTER,
		       "Messages of the bus for a host that the sender's key does not "
		       "speak for (name), or that another one sends for (duplicate).");
	metrics_sample_u64(m, feed.misnamed, "reason", "name", NULL);
	metrics_sample_u64(m, feed.duplicates, "reason", "duplicate", NULL);
	metrics_gauge(m, "antiphase_scheduler_telemetry_bytes",
		      (double)live_bytes(own->live),
		      "Memory for telemetry; at most memory_mb.");
	metrics_counter(m, "antiphase_scheduler_telemetry_refused_total",
			live_counts(own->live)->refused,
			"Hosts, interfaces, jobs or series in frames for which there "
			"was no room, and frames with impossible times.");
	metrics_write_limits(&own->opts, m);
	metrics_gauge(m, "antiphase_scheduler_hosts_clock_off", census.n_off,
		      "Hosts that report with a wall clock far from that of most.");
	metrics_counter(m, "antiphase_scheduler_host_clock_steps_total",
			live_counts(own->live)->steps, "Steps of hosts' wall clocks.");
	metrics_counter(m, "antiphase_scheduler_clock_rebases_total",
			live_counts(own->live)->rebases,
			"Times that the clocks of most hosts were stepped, and the "
			"time of the telemetry followed.");
	metrics_counter(m, "antiphase_scheduler_rankings_total", totals->n_ranked,
			"Rankings of places for waiting jobs.");
	metrics_family(m, "antiphase_scheduler_ranking_seconds_total", METRICS_COUNTER,
		       "Time spent on these rankings.");
	metrics_sample(m, totals->rank_s, NULL);
	metrics_family(m, "antiphase_scheduler_solve_seconds_total", METRICS_COUNTER,
		       "Time spent on advice for running jobs.");
	metrics_sample(m, totals->solve_s, NULL);
	metrics_family(m, "antiphase_scheduler_solve_duration_seconds",
		       METRICS_HISTOGRAM,
		       "Duration of each round that computes advice for running jobs.");
	metrics_histogram(m, jobs_solve_bounds_s, totals->solves, JOBS_N_SOLVE_BOUNDS,
			  totals->solves_s, NULL, NULL);
	metrics_gauge(m, "antiphase_scheduler_link_scan_seconds",
		      (double)telemetry_scan_cost_ns(own->opts.telemetry) / 1e9,
		      "Duration of the last scan of all links.");
	if (own->opts.store) {
		metrics_counter(m, "antiphase_scheduler_store_errors_total",
				store_n_errors(own->opts.store),
				"Failures of writing or reading the store.");
		metrics_gauge(m, "antiphase_scheduler_store_failing",
			      store_error(own->opts.store) != NULL,
			      "1 from a failure of the store until something is "
			      "written again.");
		metrics_gauge(m, "antiphase_scheduler_store_bytes",
			      (double)store_bytes(own->opts.store),
			      "Size of the history in use.");
		metrics_gauge(
			m, "antiphase_scheduler_store_links_dropped",
			history_n_left_out(own->opts.history),
			"Links of the last second for which the history had no room.");
	}
	if (own->http) {
		struct http_counts http = http_counts(own->http);

		metrics_counter(m, "antiphase_scheduler_http_requests_total",
				http.requests, "HTTP requests.");
		metrics_counter(m, "antiphase_scheduler_http_refused_total",
				http.refused,
				"Invalid requests and closed connections.");
		metrics_gauge(m, "antiphase_scheduler_http_listeners", http.listeners,
			      "Clients that receive events.");
	}
	passes_write(loop_passes(own->opts.loop), "antiphase_scheduler", m);
	return false;
}

/* ---- All of it, in pieces ------------------------------------------------------------- */

/* Each takes a few milliseconds: other work waits for one of them, not for all. */
static bool
write_piece(struct scheduler_metrics *own, struct metrics *m, struct http_place *place)
{
	static bool (*const writers[])(struct scheduler_metrics * own,
				       struct metrics * m, size_t * at) = {
		write_counters,   write_excess,      write_scores,
		write_iterations, write_actions,     write_host_ages,
		write_host_gaps,  write_host_clocks, write_self,
	};
	const unsigned n_writers = sizeof writers / sizeof *writers;
	unsigned part = place->part;
	bool has_more;

	if (part == 0 && place->at == 0)
		metrics_process(m, cli_version());
	if (part < N_LINK_METRICS) {
		has_more = write_links(own, m, part, &place->at);
	} else if (part < N_LINK_METRICS + N_JOB_METRICS) {
		has_more = write_jobs(own, m, part - N_LINK_METRICS, &place->at);
	} else {
		part -= N_LINK_METRICS + N_JOB_METRICS;
		has_more = writers[part](own, m, &place->at);
	}
	if (has_more)
		return true;
	*place = (struct http_place){ .part = place->part + 1 };
	if (place->part < N_LINK_METRICS + N_JOB_METRICS + n_writers)
		return true;
	metrics_finish(m);
	return false;
}

void
scheduler_metrics_write(struct scheduler_metrics *own, struct strbuf *out)
{
	struct http_place place = { .part = 0 };
	struct metrics m;

	metrics_init(&m, out);
	while (write_piece(own, &m, &place))
		continue;
}

bool
scheduler_metrics_write_text(void *own, struct http_place *place, struct strbuf *out)
{
	struct metrics m;

	metrics_init(&m, out);
	return write_piece(own, &m, place);
}

bool
scheduler_metrics_write_open(void *own, struct http_place *place, struct strbuf *out)
{
	struct metrics m;

	metrics_init_as(&m, out, METRICS_OPEN);
	return write_piece(own, &m, place);
}
