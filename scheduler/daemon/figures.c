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
#include "scheduler/daemon/carried.h"
#include "scheduler/daemon/daemon.h"
#include "scheduler/daemon/jobs.h"
#include "scheduler/daemon/outcomes.h"
#include "scheduler/daemon/pace.h"
#include "scheduler/daemon/pods.h"
#include "scheduler/live/feed.h"
#include "scheduler/live/live.h"
#include "scheduler/live/online.h"
#include "scheduler/store/store.h"
#include "topology/topo.h"

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

	topo_link_name(d->fabric.topo, link, &name);
	metrics_sample(m, value, "link", name.text, NULL);
	strbuf_free(&name);
}

static void
write_links(const struct daemon *d, struct metrics *m, enum link_figure which)
{
	static const struct {
		const char *name, *help;
	} families[N_LINK_FIGURES] = {
		[LINK_CAPACITY] = { "antiphase_link_capacity_bytes_per_second",
				    "What a directed link can carry." },
		[LINK_UTILIZATION] = { "antiphase_link_utilization_ratio",
				       "Of the capacity, over the last second." },
		[LINK_PEAK] = { "antiphase_link_peak_utilization_ratio",
				"Of the capacity, in the busiest millisecond of the "
				"window." },
		[LINK_OVER] = { "antiphase_link_over_ratio",
				"Share of the window in which it is full with two jobs "
				"or more." },
		[LINK_JOBS] = { "antiphase_link_jobs", "Jobs active in the window." },
	};
	const struct contention *found = &d->now.found;

	metrics_family(m, families[which].name, METRICS_GAUGE, families[which].help);
	for (size_t i = 0; i < found->n_links; i++) {
		double value = figure_of(&found->links[i], which);

		if (value >= 0)
			metrics_sample(m, value, "link", found->links[i].name, NULL);
	}
}

static void
write_carried_one(void *ctx, const char *link, const char *job, uint64_t bytes)
{
	metrics_sample_u64(ctx, bytes, "link", link, "job", job, NULL);
}

static void
write_carried(const struct daemon *d, struct metrics *m)
{
	if (!d->now.carried)
		return;
	metrics_family(m, "antiphase_link_job_transmit_bytes_total", METRICS_COUNTER,
		       "What a job put on a link; \"other\": all without a place among "
		       "the link_jobs that carry most.");
	carried_each(d->now.carried, write_carried_one, m);
}

/* What the jobs ask of a link beyond what it can carry, as they are steered now. */
struct met {
	bool is_known;
	double score, excess_bps;
};

/* By link of the fabric, of those that jobs contend for. */
static struct met *
find_met(const struct daemon *d)
{
	struct met *met = xcalloc(topo_n_links(d->fabric.topo) + 1, sizeof *met);

	for (size_t i = 0; i < d->jobs->items.n; i++) {
		const struct job *job = d->jobs->items.items[i];
		struct advisor_view view;

		if (!job || job->number == UINT32_MAX || job->is_waiting ||
		    !advisor_view(d->jobs->advisor, job->number, &view) ||
		    !view.is_solved)
			continue;
		for (size_t k = 0; k < view.n_links; k++) {
			const struct advisor_link *link = &view.links[k];
			struct met now = {
				true,
				job->is_steered ? link->score_after
						: link->score_before,
				job->is_steered ? link->excess_after_bps
						: link->excess_before_bps,
			};

			/* One that is not steered is enough to undo it. */
			if (!met[link->link].is_known ||
			    now.score < met[link->link].score)
				met[link->link] = now;
		}
	}
	return met;
}

static void
write_met(const struct daemon *d, struct metrics *m)
{
	struct met *met;

	if (!d->fabric.topo || !d->jobs->advisor)
		return;
	met = find_met(d);
	metrics_family(m, "antiphase_link_excess_ratio", METRICS_GAUGE,
		       "What its jobs ask of it beyond its capacity, by their profiles "
		       "and shifts as they are now: mean, of the capacity.");
	for (uint32_t i = 0; i < topo_n_links(d->fabric.topo); i++) {
		double capacity_bps = topo_link(d->fabric.topo, i)->capacity_bps;

		if (met[i].is_known && capacity_bps > 0)
			write_of_link(d, m, i, met[i].excess_bps / capacity_bps);
	}
	metrics_family(m, "antiphase_link_compatibility_score", METRICS_GAUGE,
		       "1: its jobs interleave perfectly; by their profiles and shifts "
		       "as they are now.");
	for (uint32_t i = 0; i < topo_n_links(d->fabric.topo); i++)
		if (met[i].is_known)
			write_of_link(d, m, i, met[i].score);
	free(met);
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
figure_of_job(const struct daemon *d, const struct online_job *seen,
	      enum job_figure which, double *ret_value)
{
	const struct job *job = jobs_find(d, live_job_name(d->now.live, seen->job));
	struct advisor_view view;
	struct steer_state state;

	if (which == JOB_PERIOD || which == JOB_DUTY) {
		if (!seen->has_estimate)
			return false;
		*ret_value = which == JOB_DUTY
				     ? picture_duty(&seen->detection.profile)
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

static void
write_jobs(const struct daemon *d, struct metrics *m, enum job_figure which)
{
	static const struct {
		const char *name, *help;
	} families[N_JOB_FIGURES] = {
		[JOB_PERIOD] = { "antiphase_job_period_seconds",
				 "Time from iteration to iteration, as its traffic "
				 "shows." },
		[JOB_DUTY] = { "antiphase_job_communication_ratio",
			       "Share of the iteration in which it sends." },
		[JOB_SHIFT] = { "antiphase_job_shift_seconds",
				"What it is advised to be later by." },
		[JOB_ERROR] = { "antiphase_job_shift_error_seconds",
				"How far it is outside of what was advised." },
	};

	size_t n;
	const struct online_job *const *jobs = online_jobs(d->now.online, &n);

	metrics_family(m, families[which].name, METRICS_GAUGE, families[which].help);
	for (size_t i = 0; i < n; i++) {
		double value;

		if (figure_of_job(d, jobs[i], which, &value))
			metrics_sample(m, value, "job",
				       live_job_name(d->now.live, jobs[i]->job), NULL);
	}
}

static void
write_iterations(const struct daemon *d, struct metrics *m)
{
	const struct outcome *outcome;
	const char *job;

	metrics_family(m, "antiphase_job_iteration_seconds", METRICS_HISTOGRAM,
		       "Iterations, as the job's pacer tells them.");
	for (size_t i = 0; (outcome = outcomes_paced(d, &i, &job));)
		metrics_histogram(m, outcome_bounds_s, outcome->histogram,
				  OUTCOME_N_BOUNDS, outcome->sum_s, "job", job);
}

/* ---- What is advised and done --------------------------------------------------------- */

static void
write_pods(const struct daemon *d, struct metrics *m)
{
	struct pods_counts pods;

	if (!pods_counts(d, &pods))
		return;
	metrics_gauge(m, "antiphase_pods_told", (double)pods.n_told,
		      "Pods of Kubernetes that bear a shift of ours.");
	metrics_counter(m, "antiphase_pods_changed_total", pods.n_changed,
			"Changes of pods' annotations.");
	metrics_counter(m, "antiphase_pods_failed_total", pods.n_failed,
			"Such changes that the API server refused.");
}

static void
write_deeds(const struct daemon *d, struct metrics *m)
{
	uint32_t by_reason[N_REASONS] = { 0 }, by_refusal[JOBS_N_REFUSALS] = { 0 };
	struct pace_counts pace = pace_counts(d);

	for (size_t i = 0; i < d->jobs->items.n; i++) {
		const struct job *job = d->jobs->items.items[i];

		if (job && job->refusal == JOBS_ADVISED)
			by_reason[job->reason]++;
		else if (job)
			by_refusal[job->refusal]++;
	}
	metrics_family(m, "antiphase_jobs_advised", METRICS_GAUGE,
		       "Jobs with an advice, by its reason.");
	for (int i = 0; i < N_REASONS; i++)
		metrics_sample(m, by_reason[i], "reason", reason_name((enum reason)i),
			       NULL);
	metrics_family(m, "antiphase_jobs_refused", METRICS_GAUGE,
		       "Jobs that nothing is advised for, by the reason.");
	for (int i = 1; i < JOBS_N_REFUSALS; i++)
		metrics_sample(m, by_refusal[i], "reason", jobs_refusal_names[i], NULL);
	metrics_family(m, "antiphase_advice_total", METRICS_COUNTER,
		       "Advices given, by what they are about and their reason; one "
		       "that says the same again is not counted.");
	for (int kind = 0; kind < JOBS_N_KINDS; kind++)
		for (int i = 0; i < N_REASONS; i++)
			metrics_sample_u64(m, d->jobs->so_far.n_given[kind][i], "kind",
					   jobs_kind_names[kind], "reason",
					   reason_name((enum reason)i), NULL);
	metrics_counter(m, "antiphase_advice_followed_total", outcomes_n_followed(d),
			"Advices that were found to be followed.");
	metrics_family(m, "antiphase_deeds_total", METRICS_COUNTER,
		       "Changes asked of the cluster's scheduler, by the reason.");
	for (int i = 0; i < DECIDE_N_WHYS; i++)
		metrics_sample_u64(m, d->deeds.n_asked[i], "reason",
				   decide_why_names[i], NULL);
	metrics_counter(m, "antiphase_deeds_failed_total", d->deeds.n_failed,
			"Changes that the cluster's scheduler refused.");
	write_pods(d, m);
	metrics_family(m, "antiphase_orders_total", METRICS_COUNTER,
		       "Orders announced for pacers, by the reason.");
	for (int i = 0; i < STEER_N_WHYS; i++)
		metrics_sample_u64(m, pace.orders[i], "reason", steer_why_names[i],
				   NULL);
	metrics_counter(m, "antiphase_iterations_total", pace.reports,
			"Iterations that pacers told of.");
	metrics_counter(m, "antiphase_iterations_ignored_total", pace.others,
			"Those of another rank 0 than the one that has the job.");
	metrics_gauge(m, "antiphase_stopped", d->deeds.modes.is_stopped,
		      "1 while the kill switch is on.");
}

/* ---- Ourselves ------------------------------------------------------------------------ */

static void
write_host_ages(const struct daemon *d, struct metrics *m)
{
	const struct picture picture = now_picture(d);

	metrics_family(m, "antiphase_telemetry_age_seconds", METRICS_GAUGE,
		       "Since a host was last heard.");
	for (uint32_t i = 0; i < live_n_hosts(d->now.live); i++)
		metrics_sample(m, (double)picture_host_age_ns(&picture, i) / 1e9,
			       "host", live_host(d->now.live, i)->name, NULL);
}

static void
write_host_gaps(const struct daemon *d, struct metrics *m)
{
	metrics_family(m, "antiphase_telemetry_gaps_total", METRICS_COUNTER,
		       "Frames missing from a host's sequences.");
	for (uint32_t i = 0; i < live_n_hosts(d->now.live); i++)
		metrics_sample_u64(m, live_host(d->now.live, i)->gaps, "host",
				   live_host(d->now.live, i)->name, NULL);
}

static void
write_host_clocks(const struct daemon *d, struct metrics *m)
{
	int64_t offset_ns;

	metrics_family(m, "antiphase_clock_offset_seconds", METRICS_GAUGE,
		       "A host's clock less ours, by its frame that came soonest in "
		       "the last minutes: less by what that was under way.");
	for (uint32_t i = 0; i < live_n_hosts(d->now.live); i++)
		if (now_clock_offset_ns(d, live_host(d->now.live, i)->name, &offset_ns))
			metrics_sample(m, (double)offset_ns / 1e9, "host",
				       live_host(d->now.live, i)->name, NULL);
}

static void
write_self(const struct daemon *d, struct metrics *m)
{
	struct jobs_counts jobs = jobs_counts(d);
	struct feed_counts feed = feed_counts(d->now.feed);

	metrics_counter(m, "antiphase_frames_total", feed.frames, "Frames received.");
	metrics_counter(m, "antiphase_frames_damaged_total",
			feed.damaged + feed.foreign,
			"Messages that were no frame, or of another version.");
	metrics_counter(m, "antiphase_rankings_total", jobs.n_ranked,
			"Places of waiting jobs that were ranked.");
	metrics_family(m, "antiphase_ranking_seconds_total", METRICS_COUNTER,
		       "What ranking took.");
	metrics_sample(m, jobs.rank_s, NULL);
	metrics_family(m, "antiphase_solve_seconds_total", METRICS_COUNTER,
		       "Time spent on advice for running jobs.");
	metrics_sample(m, jobs.solve_s, NULL);
	metrics_family(m, "antiphase_solve_duration_seconds", METRICS_HISTOGRAM,
		       "Rounds in which advice for running jobs was solved anew.");
	metrics_histogram(m, jobs_solve_bounds_s, d->jobs->so_far.solves,
			  JOBS_N_SOLVE_BOUNDS, d->jobs->so_far.solves_s, NULL, NULL);
	metrics_gauge(m, "antiphase_link_look_seconds",
		      (double)d->now.last_cost_ns / 1e9,
		      "What the last look at all links took.");
	if (d->store) {
		metrics_gauge(m, "antiphase_store_bytes", (double)store_bytes(d->store),
			      "Of history, in use.");
		metrics_gauge(m, "antiphase_store_links_left_out",
			      history_n_left_out(d),
			      "Links of the last second that history had no room for.");
	}
	if (d->http) {
		struct http_counts http = http_counts(d->http);

		metrics_counter(m, "antiphase_http_requests_total", http.requests,
				"Requests over HTTP.");
		metrics_counter(m, "antiphase_http_refused_total", http.refused,
				"Requests that were no good, and connections cut.");
		metrics_gauge(m, "antiphase_http_listeners", http.listeners,
			      "Those that hear events.");
	}
	passes_write(loop_passes(d->loop), m);
}

/* ---- All of it, in pieces ------------------------------------------------------------- */

/* Each of some milliseconds at most: others wait for one of them, and not for all. */
static bool
write_piece(const struct daemon *d, struct metrics *m, unsigned piece)
{
	static void (*const writers[])(const struct daemon *d, struct metrics *m) = {
		write_carried,   write_met,       write_iterations,  write_deeds,
		write_host_ages, write_host_gaps, write_host_clocks, write_self,
	};
	const unsigned n_writers = sizeof writers / sizeof *writers;

	if (piece == 0)
		metrics_process(m, cli_version());
	if (piece < N_LINK_FIGURES) {
		write_links(d, m, piece);
	} else if (piece < N_LINK_FIGURES + N_JOB_FIGURES) {
		write_jobs(d, m, piece - N_LINK_FIGURES);
	} else {
		piece -= N_LINK_FIGURES + N_JOB_FIGURES;
		writers[piece](d, m);
		if (piece + 1 == n_writers) {
			metrics_finish(m);
			return false;
		}
	}
	return true;
}

void
figures_write(void *daemon, struct strbuf *out)
{
	struct metrics m;

	metrics_init(&m, out);
	for (unsigned i = 0; write_piece(daemon, &m, i); i++)
		continue;
}

bool
figures_write_piece(void *daemon, unsigned piece, struct strbuf *out)
{
	struct metrics m;

	metrics_init(&m, out);
	return write_piece(daemon, &m, piece);
}

bool
figures_write_open(void *daemon, unsigned piece, struct strbuf *out)
{
	struct metrics m;

	metrics_init_as(&m, out, METRICS_OPEN);
	return write_piece(daemon, &m, piece);
}
