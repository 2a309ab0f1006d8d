/*
 * figures.c - what antiphase-scheduler says of itself and of what it sees, for Prometheus.
 * docs/api.md lists all of it; a test compares the two.
 */
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/cli.h"
#include "lib/base/clk.h"
#include "lib/daemon/http.h"
#include "lib/daemon/loop.h"
#include "lib/daemon/metrics.h"
#include "lib/daemon/passes.h"
#include "scheduler/core/advise/reason.h"
#include "scheduler/daemon/daemon.h"
#include "scheduler/daemon/jobs.h"
#include "scheduler/daemon/link_counters.h"
#include "scheduler/daemon/outcomes.h"
#include "scheduler/daemon/pace.h"
#include "scheduler/daemon/pods.h"
#include "scheduler/live/feed.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"
#include "scheduler/store/store.h"
#include "topology/topo.h"

/* Of one piece: others wait for it. */
#define SAMPLES_A_PIECE 2048
/* Of carried bytes, or of iterations, that have many samples each. */
#define LINKS_A_PIECE 512
#define JOBS_A_PIECE  128

/*
 * What there is many of is written in pieces, from '*at' on, by numbers that do not change
 * meanwhile, so that nothing is told twice; true: there is more of it.
 */

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

enum link_figure {
	LINK_CAPACITY,
	LINK_UTILIZATION,
	LINK_PEAK,
	LINK_OVER,
	LINK_JOBS,
	N_LINK_FIGURES,
};

static double
figure_of(const struct contention_link *link, enum link_figure which)
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
write_of_link(const struct daemon *d, struct metrics *m, uint32_t link, double value)
{
	struct strbuf name = STRBUF_EMPTY;

	topo_link_name(fabric_source_topo(d->fabric), link, &name);
	metrics_sample(m, value, "link", name.text, NULL);
	strbuf_free(&name);
}

static bool
write_links(const struct daemon *d, struct metrics *m, enum link_figure which,
	    size_t *at)
{
	static const struct {
		const char *name, *help;
	} families[N_LINK_FIGURES] = {
		[LINK_CAPACITY] = { "antiphase_scheduler_link_capacity_bytes_per_second",
				    "What a directed link can carry." },
		[LINK_UTILIZATION] = { "antiphase_scheduler_link_utilization_ratio",
				       "Of the capacity, over the last second." },
		[LINK_PEAK] = { "antiphase_scheduler_link_peak_utilization_ratio",
				"Of the capacity, in the busiest millisecond of the "
				"window." },
		[LINK_OVER] = { "antiphase_scheduler_link_over_ratio",
				"Share of the window in which it is full with two jobs "
				"or more." },
		[LINK_JOBS] = { "antiphase_scheduler_link_jobs",
				"Jobs active in the window." },
	};

	size_t n = telemetry_n_numbers(d);

	begin(m, *at, families[which].name, METRICS_GAUGE, families[which].help);
	for (int i = 0; i < SAMPLES_A_PIECE && *at < n; i++) {
		const struct contention_link *link = telemetry_link(d, (*at)++);
		double value = link ? figure_of(link, which) : -1;

		if (value >= 0)
			metrics_sample(m, value, "link", link->name, NULL);
	}
	return *at < n;
}

static void
write_carried_one(void *ctx, const char *link, const char *job, uint64_t bytes)
{
	metrics_sample_u64(ctx, bytes, "link", link, "job", job, NULL);
}

static bool
write_carried(struct daemon *d, struct metrics *m, size_t *at)
{
	if (!d->now.carried)
		return false;
	begin(m, *at, "antiphase_scheduler_link_job_transmit_bytes_total",
	      METRICS_COUNTER,
	      "What a job put on a link; \"other\": all without a place among "
	      "the link_jobs that carry most.");
	return link_counters_some(d->now.carried, at, LINKS_A_PIECE, write_carried_one,
				  m);
}

/* What the jobs ask of a link beyond what it can carry, as they are steered now. */
struct met {
	bool is_known;
	double score, excess_bps;
};

/* By link of the fabric, of those that jobs contend for. */
struct figures_met {
	struct met *items; /* Owned. */
	uint32_t n;
	int64_t fabric_source_since_us; /* Of which they are. */
};

static void
take_met(const struct job *job, const struct advisor_link *link, struct met *met)
{
	const struct met now = {
		true,
		job->is_steered ? link->score_after : link->score_before,
		job->is_steered ? link->excess_after_bps : link->excess_before_bps,
	};

	/* One that is not steered is enough to undo it. */
	if (!met->is_known || now.score < met->score)
		*met = now;
}

static void
find_met(struct daemon *d)
{
	uint32_t n = topo_n_links(fabric_source_topo(d->fabric));
	struct met *met = xcalloc(n + 1, sizeof *met);

	for (size_t i = 0; i < d->jobs->items.n; i++) {
		const struct job *job = d->jobs->items.items[i];
		struct advisor_view view;

		if (!job || job->number == UINT32_MAX || job->is_waiting ||
		    !advisor_view(d->jobs->advisor, job->number, &view) ||
		    !view.is_solved)
			continue;
		for (size_t k = 0; k < view.n_links; k++)
			take_met(job, &view.links[k], &met[view.links[k].link]);
	}
	figures_close(d);
	d->met = xcalloc(1, sizeof *d->met);
	*d->met = (struct figures_met){ met, n, fabric_source_since_us(d->fabric) };
}

void
figures_close(struct daemon *d)
{
	if (d->met)
		free(d->met->items);
	free(d->met);
	d->met = NULL;
}

/* What write_excess() has found, when it began. */
static const struct met *
next_met(const struct daemon *d, size_t *at)
{
	if (!fabric_source_topo(d->fabric) || !d->met ||
	    d->met->fabric_source_since_us != fabric_source_since_us(d->fabric))
		return NULL;
	while (*at < d->met->n)
		if (d->met->items[(*at)++].is_known)
			return &d->met->items[*at - 1];
	return NULL;
}

static bool
write_excess(struct daemon *d, struct metrics *m, size_t *at)
{
	const struct met *met;

	if (!fabric_source_topo(d->fabric) || !d->jobs->advisor)
		return false;
	if (*at == 0)
		find_met(d);
	begin(m, *at, "antiphase_scheduler_link_excess_ratio", METRICS_GAUGE,
	      "What its jobs ask of it beyond its capacity, by their profiles "
	      "and shifts as they are now: mean, of the capacity.");
	for (int i = 0; i < SAMPLES_A_PIECE; i++) {
		double capacity_bps;

		met = next_met(d, at);
		if (!met)
			return false;
		capacity_bps =
			topo_link(fabric_source_topo(d->fabric), (uint32_t)*at - 1)
				->capacity_bps;
		if (capacity_bps > 0)
			write_of_link(d, m, (uint32_t)*at - 1,
				      met->excess_bps / capacity_bps);
	}
	return true;
}

static bool
write_scores(struct daemon *d, struct metrics *m, size_t *at)
{
	const struct met *met;

	if (!fabric_source_topo(d->fabric) || !d->jobs->advisor)
		return false;
	begin(m, *at, "antiphase_scheduler_link_compatibility_score", METRICS_GAUGE,
	      "1: its jobs interleave perfectly; by their profiles and shifts "
	      "as they are now.");
	for (int i = 0; i < SAMPLES_A_PIECE; i++) {
		met = next_met(d, at);
		if (!met)
			return false;
		write_of_link(d, m, (uint32_t)*at - 1, met->score);
	}
	return true;
}

/* ---- Jobs ----------------------------------------------------------------------------- */

enum job_figure {
	JOB_PERIOD,
	JOB_DUTY,
	JOB_SHIFT,
	JOB_ERROR,
	N_JOB_FIGURES,
};

static bool
figure_of_job(const struct daemon *d, const struct profiled_job *seen,
	      enum job_figure which, double *ret_value)
{
	const struct job *job = jobs_find(d, live_job_name(d->now.live, seen->job));
	struct advisor_view view;
	struct steer_state state;

	if (which == JOB_PERIOD || which == JOB_DUTY) {
		if (!seen->has_estimate)
			return false;
		*ret_value = which == JOB_DUTY
				     ? status_duty(&seen->detection.profile)
				     : (double)seen->detection.profile.period_us / 1e6;
		return true;
	}
	if (!job || job->number == UINT32_MAX || job->is_waiting)
		return false;
	if (which == JOB_SHIFT) {
		if (!advisor_view(d->jobs->advisor, job->number, &view) ||
		    !view.is_solved)
			return false;
		*ret_value = (double)view.shift_us / 1e6;
		return true;
	}
	pace_state(d, job, &state);
	*ret_value = (double)state.error_us / 1e6;
	return state.is_tracked;
}

static bool
write_jobs(const struct daemon *d, struct metrics *m, enum job_figure which, size_t *at)
{
	static const struct {
		const char *name, *help;
	} families[N_JOB_FIGURES] = {
		[JOB_PERIOD] = { "antiphase_scheduler_job_period_seconds",
				 "Time from iteration to iteration, as its traffic "
				 "shows." },
		[JOB_DUTY] = { "antiphase_scheduler_job_communication_ratio",
			       "Share of the iteration in which it sends." },
		[JOB_SHIFT] = { "antiphase_scheduler_job_shift_seconds",
				"What it is advised to be later by." },
		[JOB_ERROR] = { "antiphase_scheduler_job_shift_error_seconds",
				"How far it is outside of what was advised." },
	};

	uint32_t n = live_n_jobs(d->now.live);

	begin(m, *at, families[which].name, METRICS_GAUGE, families[which].help);
	for (int i = 0; i < SAMPLES_A_PIECE && *at < n; i++) {
		const struct profiled_job *job =
			job_profiler_find(d->now.online, (uint32_t)(*at)++);
		double value;

		if (job && figure_of_job(d, job, which, &value))
			metrics_sample(m, value, "job",
				       live_job_name(d->now.live, job->job), NULL);
	}
	return *at < n;
}

static bool
write_iterations(struct daemon *d, struct metrics *m, size_t *at)
{
	const struct outcome *outcome;
	const char *job;

	begin(m, *at, "antiphase_scheduler_job_iteration_seconds", METRICS_HISTOGRAM,
	      "Iterations, as the job's pacer tells them.");
	for (int i = 0; i < JOBS_A_PIECE; i++) {
		outcome = outcomes_paced(d, at, &job);
		if (!outcome)
			return false;
		metrics_histogram(m, outcome_bounds_s, outcome->histogram,
				  OUTCOME_N_BOUNDS, outcome->sum_s, "job", job);
	}
	return true;
}

/* ---- What is advised and done --------------------------------------------------------- */

static void
write_pods(const struct daemon *d, struct metrics *m)
{
	struct pods_counts pods;

	if (!pods_counts(d, &pods))
		return;
	metrics_gauge(m, "antiphase_scheduler_pods_annotated", (double)pods.n_told,
		      "Pods of Kubernetes that bear a shift of ours.");
	metrics_counter(m, "antiphase_scheduler_pods_changed_total", pods.n_changed,
			"Changes of pods' annotations.");
	metrics_counter(m, "antiphase_scheduler_pods_failed_total", pods.n_failed,
			"Such changes that the API server refused.");
}

static bool
write_deeds(struct daemon *d, struct metrics *m, size_t *at)
{
	uint32_t by_reason[N_REASONS] = { 0 }, by_refusal[JOBS_N_REFUSALS] = { 0 };
	struct pace_counts pace = pace_counts(d);

	(void)at;
	for (size_t i = 0; i < d->jobs->items.n; i++) {
		const struct job *job = d->jobs->items.items[i];

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
		       "Jobs that nothing is advised for, by the reason.");
	for (int i = 1; i < JOBS_N_REFUSALS; i++)
		metrics_sample(m, by_refusal[i], "reason", jobs_refusal_names[i], NULL);
	metrics_family(m, "antiphase_scheduler_advice_total", METRICS_COUNTER,
		       "Advices given, by what they are about and their reason; one "
		       "that says the same again is not counted.");
	for (int kind = 0; kind < JOBS_N_KINDS; kind++)
		for (int i = 0; i < N_REASONS; i++)
			metrics_sample_u64(m, d->jobs->so_far.n_given[kind][i], "kind",
					   jobs_kind_names[kind], "reason",
					   reason_name((enum reason)i), NULL);
	metrics_counter(m, "antiphase_scheduler_advice_followed_total",
			outcomes_n_followed(d),
			"Advices that were found to be followed.");
	metrics_family(m, "antiphase_scheduler_actions_total", METRICS_COUNTER,
		       "Changes asked of the cluster's scheduler, by the reason.");
	for (int i = 0; i < DECIDE_N_WHYS; i++)
		metrics_sample_u64(m, d->deeds.n_asked[i], "reason",
				   decide_why_names[i], NULL);
	metrics_counter(m, "antiphase_scheduler_actions_failed_total",
			d->deeds.n_failed,
			"Changes that the cluster's scheduler refused.");
	write_pods(d, m);
	metrics_family(m, "antiphase_scheduler_orders_total", METRICS_COUNTER,
		       "Orders announced for pacers, by the reason.");
	for (int i = 0; i < STEER_N_WHYS; i++)
		metrics_sample_u64(m, pace.orders[i], "reason", steer_why_names[i],
				   NULL);
	metrics_counter(m, "antiphase_scheduler_iterations_total", pace.reports,
			"Iterations that pacers told of.");
	metrics_counter(m, "antiphase_scheduler_iterations_ignored_total", pace.others,
			"Those of another rank 0 than the one that has the job.");
	metrics_gauge(m, "antiphase_scheduler_stopped", d->deeds.modes.is_stopped,
		      "1 while the kill switch is on.");
	return false;
}

/* ---- Ourselves ------------------------------------------------------------------------ */

static bool
write_host_ages(struct daemon *d, struct metrics *m, size_t *at)
{
	const struct status picture = telemetry_status(d);
	uint32_t n = live_n_hosts(d->now.live);

	begin(m, *at, "antiphase_scheduler_telemetry_age_seconds", METRICS_GAUGE,
	      "Since a host was last heard.");
	for (int i = 0; i < SAMPLES_A_PIECE && *at < n; i++) {
		uint32_t host = (uint32_t)(*at)++;

		metrics_sample(m, (double)status_host_age_ns(&picture, host) / 1e9,
			       "host", live_host(d->now.live, host)->name, NULL);
	}
	return *at < n;
}

static bool
write_host_gaps(struct daemon *d, struct metrics *m, size_t *at)
{
	uint32_t n = live_n_hosts(d->now.live);

	begin(m, *at, "antiphase_scheduler_telemetry_gaps_total", METRICS_COUNTER,
	      "Frames missing from a host's sequences.");
	for (int i = 0; i < SAMPLES_A_PIECE && *at < n; i++) {
		const struct live_host *host =
			live_host(d->now.live, (uint32_t)(*at)++);

		metrics_sample_u64(m, host->gaps, "host", host->name, NULL);
	}
	return *at < n;
}

static bool
write_host_clocks(struct daemon *d, struct metrics *m, size_t *at)
{
	uint32_t n = live_n_hosts(d->now.live);
	int64_t offset_ns;

	begin(m, *at, "antiphase_scheduler_clock_offset_seconds", METRICS_GAUGE,
	      "A host's clock less ours, by its frame that came soonest in "
	      "the last minutes: less by what that was under way.");
	for (int i = 0; i < SAMPLES_A_PIECE && *at < n; i++) {
		const char *host = live_host(d->now.live, (uint32_t)(*at)++)->name;

		if (telemetry_clock_offset_ns(d, host, &offset_ns))
			metrics_sample(m, (double)offset_ns / 1e9, "host", host, NULL);
	}
	return *at < n;
}

static bool
write_self(struct daemon *d, struct metrics *m, size_t *at)
{
	struct jobs_counts jobs = jobs_counts(d);
	struct feed_counts feed = feed_counts(d->now.feed);

	(void)at;
	metrics_counter(m, "antiphase_scheduler_frames_total", feed.frames,
			"Frames received.");
	metrics_counter(m, "antiphase_scheduler_frames_damaged_total",
			feed.damaged + feed.foreign,
			"Messages that were no frame, or of another version.");
	metrics_gauge(m, "antiphase_scheduler_telemetry_bytes",
		      (double)live_bytes(d->now.live),
		      "Memory for what frames told; memory_mb at most.");
	metrics_counter(m, "antiphase_scheduler_telemetry_refused_total",
			live_counts(d->now.live)->refused,
			"Times that frames told of a host, job or series that there "
			"was no memory for.");
	metrics_counter(m, "antiphase_scheduler_rankings_total", jobs.n_ranked,
			"Places of waiting jobs that were ranked.");
	metrics_family(m, "antiphase_scheduler_ranking_seconds_total", METRICS_COUNTER,
		       "What ranking took.");
	metrics_sample(m, jobs.rank_s, NULL);
	metrics_family(m, "antiphase_scheduler_solve_seconds_total", METRICS_COUNTER,
		       "Time spent on advice for running jobs.");
	metrics_sample(m, jobs.solve_s, NULL);
	metrics_family(m, "antiphase_scheduler_solve_duration_seconds",
		       METRICS_HISTOGRAM,
		       "Rounds in which advice for running jobs was solved anew.");
	metrics_histogram(m, jobs_solve_bounds_s, d->jobs->so_far.solves,
			  JOBS_N_SOLVE_BOUNDS, d->jobs->so_far.solves_s, NULL, NULL);
	metrics_gauge(m, "antiphase_scheduler_link_scan_seconds",
		      (double)d->now.last_cost_ns / 1e9,
		      "What the last look at all links took.");
	if (d->store) {
		metrics_gauge(m, "antiphase_scheduler_store_bytes",
			      (double)store_bytes(d->store), "Of history, in use.");
		metrics_gauge(m, "antiphase_scheduler_store_links_dropped",
			      history_n_left_out(d),
			      "Links of the last second that history had no room for.");
	}
	if (d->http) {
		struct http_counts http = http_counts(d->http);

		metrics_counter(m, "antiphase_scheduler_http_requests_total",
				http.requests, "Requests over HTTP.");
		metrics_counter(m, "antiphase_scheduler_http_refused_total",
				http.refused,
				"Requests that were no good, and connections cut.");
		metrics_gauge(m, "antiphase_scheduler_http_listeners", http.listeners,
			      "Those that hear events.");
	}
	passes_write(loop_passes(d->loop), "antiphase_scheduler", m);
	return false;
}

/* ---- All of it, in pieces ------------------------------------------------------------- */

/* Each of a few milliseconds at most: others wait for one of them, and not for all. */
static bool
write_piece(struct daemon *d, struct metrics *m, struct http_place *place)
{
	static bool (*const writers[])(struct daemon * d, struct metrics * m,
				       size_t * at) = {
		write_carried,    write_excess,      write_scores,
		write_iterations, write_deeds,       write_host_ages,
		write_host_gaps,  write_host_clocks, write_self,
	};
	const unsigned n_writers = sizeof writers / sizeof *writers;
	unsigned part = place->part;
	bool has_more;

	if (part == 0 && place->at == 0)
		metrics_process(m, cli_version());
	if (part < N_LINK_FIGURES) {
		has_more = write_links(d, m, part, &place->at);
	} else if (part < N_LINK_FIGURES + N_JOB_FIGURES) {
		has_more = write_jobs(d, m, part - N_LINK_FIGURES, &place->at);
	} else {
		part -= N_LINK_FIGURES + N_JOB_FIGURES;
		has_more = writers[part](d, m, &place->at);
	}
	if (has_more)
		return true;
	*place = (struct http_place){ .part = place->part + 1 };
	if (place->part < N_LINK_FIGURES + N_JOB_FIGURES + n_writers)
		return true;
	metrics_finish(m);
	return false;
}

void
figures_write_all(void *daemon, struct strbuf *out)
{
	struct http_place place = { .part = 0 };
	struct metrics m;

	metrics_init(&m, out);
	while (write_piece(daemon, &m, &place))
		continue;
}

bool
figures_write_piece(void *daemon, struct http_place *place, struct strbuf *out)
{
	struct metrics m;

	metrics_init(&m, out);
	return write_piece(daemon, &m, place);
}

bool
figures_write_open(void *daemon, struct http_place *place, struct strbuf *out)
{
	struct metrics m;

	metrics_init_as(&m, out, METRICS_OPEN);
	return write_piece(daemon, &m, place);
}
