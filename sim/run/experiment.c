/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/run/experiment.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "lib/base/stats.h"
#include "lib/base/vec.h"
#include "scheduler/core/control/steer_sim.h"
#include "sim/baselines/mltcp.h"
#include "sim/run/isolated.h"
#include "sim/run/link_events.h"
#include "sim/run/run_series.h"
#include "sim/run/steering.h"
#include "topology/topo.h"

/* Iterations between two calls of go_on(). */
#define LOOK_EVERY 256

/* Separates the draws of phases from the engine's draws of jitter. */
#define PHASE_SALT UINT64_C(0x7068617365)

struct track {
	uint64_t n_target; /* Iterations to wait for; 0: none. */
	bool is_placed;
	bool is_pending; /* Its iterations are not complete. */
	bool has_started;
	double begin_ns; /* Begin of its first iteration, or end of its last one. */
	VEC(double) start_ns;
	VEC(double) duration_ns;
};

struct runner {
	const struct experiment_opts *opts;
	struct engine *engine;
	struct steer_sim *steered;  /* NULL: no job is steered. */
	struct run_series *series;  /* NULL: none. */
	struct link_events *events; /* NULL: none. */
	struct track *tracks;
	size_t n_jobs;
	uint64_t max_counted;      /* Per job, warm-up included. */
	uint64_t n_wanted, n_done; /* Iterations, of all jobs. */
	uint64_t n_seen;           /* All iterations. */
	size_t n_pending;
	const struct sim_plan *plan;
	const struct workload *workload;
	int64_t ticked_ns;  /* The last tick. */
	int64_t starved_ns; /* The run ends then; see experiment.h. */
	bool was_interrupted;
};

/* ---- Callbacks of the engine ----------------------------------------------------- */

static double
progress_frac(const struct runner *r)
{
	double frac = 0;

	if (r->n_wanted)
		frac = (double)r->n_done / (double)r->n_wanted;
	if (r->opts->duration_ns != ENGINE_NEVER)
		frac = fmax(frac,
			    engine_now_ns(r->engine) / (double)r->opts->duration_ns);
	return frac;
}

/*
 * An iteration is measured from the end of the one before, so that waits ordered by
 * pacing between the two are part of it.
 */
static void
on_iteration(void *ctx, uint32_t job, uint64_t iteration, double start_ns,
	     double end_ns)
{
	struct runner *r = ctx;
	struct track *track = &r->tracks[job];
	double begin_ns = track->has_started ? track->begin_ns : start_ns;

	track->has_started = true;
	track->begin_ns = end_ns;
	if (iteration >= r->opts->warmup_iterations && iteration < r->max_counted) {
		vec_push(&track->start_ns, begin_ns);
		vec_push(&track->duration_ns, end_ns - begin_ns);
	}
	if (r->opts->on_iteration && track->is_placed)
		r->opts->on_iteration(r->opts->ctx, job, iteration, start_ns, end_ns);
	if (iteration < track->n_target)
		r->n_done++;
	if (track->is_pending && iteration + 1 == track->n_target) {
		track->is_pending = false;
		if (--r->n_pending == 0)
			engine_stop(r->engine);
	}
	if (++r->n_seen % LOOK_EVERY == 0 && r->opts->go_on &&
	    !r->opts->go_on(r->opts->ctx, progress_frac(r))) {
		r->was_interrupted = true;
		engine_stop(r->engine);
	}
}

static void
on_flows(void *ctx, uint32_t job, uint32_t segment, double start_ns, double end_ns)
{
	struct runner *r = ctx;

	if (r->steered)
		steer_sim_on_flows(r->steered, job, segment, start_ns, end_ns);
	if (r->opts->on_flows)
		r->opts->on_flows(r->opts->ctx, job, segment, start_ns, end_ns);
}

static double
wait_ns(void *ctx, uint32_t job, uint64_t iteration, uint32_t segment, double now_ns)
{
	struct runner *r = ctx;

	return steer_sim_wait_ns(r->steered, job, iteration, segment, now_ns);
}

static void
on_sent(void *ctx, uint32_t job, uint32_t flow, double start_ns, double end_ns,
	double rate_bps, double ecn_packets)
{
	struct runner *r = ctx;

	flow = routed_job_flow(&r->workload->jobs[job], &r->plan->jobs[job].routed,
			       flow);
	r->opts->on_sent(r->opts->ctx, job, flow, start_ns, end_ns, rate_bps,
			 ecn_packets);
}

/* ---- Setting up ------------------------------------------------------------------ */

/* When the job would start without a shift. */
static int64_t
start_ns_of(const struct experiment_opts *opts, const struct work_job *job, size_t j)
{
	struct rng rng;
	int64_t period_ns = job->profile.period_us * 1000;

	if (!opts->random_phases)
		return job->arrival_ns;
	rng_init_stream(&rng, opts->seed ^ PHASE_SALT, j);
	return job->arrival_ns + (int64_t)(rng_uniform(&rng) * (double)period_ns);
}

/* Wait of a job for its phase in the common grid. */
static int64_t
delay_ns_of(const struct sim_plan_job *planned, const struct work_job *job,
	    int64_t start_ns)
{
	int64_t period_ns = job->profile.period_us * 1000;
	int64_t delay_ns;

	if (!planned->is_aligned)
		return planned->shift_ns;
	/* A shift is relative to the arrival. */
	delay_ns = (job->arrival_ns + planned->shift_ns - start_ns) % period_ns;
	return delay_ns < 0 ? delay_ns + period_ns : delay_ns;
}

/*
 * Adds all jobs in the order of the workload, so that they have the same numbers in
 * the engine, and with them the same draws of jitter.
 */
static int
add_jobs(struct runner *r, const struct scenario *scenario, const struct sim_plan *plan)
{
	int error = 0;

	for (size_t j = 0; j < plan->n && error == 0; j++) {
		const struct sim_plan_job *planned = &plan->jobs[j];
		const struct work_job *work = &scenario->workload.jobs[j];
		struct work_job job = *work; /* Borrows. */
		struct work_segment *segments = NULL;
		uint32_t id;

		if (!planned->is_placed) {
			error = isolated_add_placeholder(r->engine);
			continue;
		}
		job.priority = planned->priority;
		if (plan->mltcp) {
			segments =
				xmemdup(job.segments, job.n_segments, sizeof *segments);
			mltcp_weigh(plan->mltcp, segments, job.n_segments);
			job.segments = segments;
		}
		job.arrival_ns = start_ns_of(r->opts, &job, j);
		error = routed_job_add(&job, &planned->routed, r->engine,
				       delay_ns_of(planned, work, job.arrival_ns),
				       planned->pacing, &id);
		free(segments);
	}
	return error;
}

static struct engine *
make_engine(const struct topo *topo, const struct experiment_opts *opts,
	    struct runner *runner)
{
	uint32_t n = topo_n_links(topo);
	double *capacity_bps = xcalloc((size_t)n + 1, sizeof *capacity_bps);
	bool *unmarked = xcalloc((size_t)n + 1, sizeof *unmarked);
	struct engine_config config = {
		.capacity_bps = capacity_bps,
		.unmarked = unmarked,
		.n_links = n,
		.seed = opts->seed,
		.measure_links = true,
		.mtu_bytes = opts->mtu_bytes,
		.observer = { .ctx = runner, .on_iteration = on_iteration },
	};
	struct engine *engine;

	for (uint32_t i = 0; i < n; i++) {
		const struct topo_link *link = topo_link(topo, i);

		capacity_bps[i] = link->capacity_bps;
		unmarked[i] = topo_node(topo, link->from)->kind == TOPO_HOST;
	}
	if (opts->on_flows || runner->steered)
		config.observer.on_flows = on_flows;
	if (runner->steered)
		config.observer.wait_ns = wait_ns;
	if (opts->on_sent)
		config.observer.on_sent = on_sent;
	engine = engine_new(&config);
	free(capacity_bps);
	free(unmarked);
	return engine;
}

static void
set_targets(struct runner *r, const struct workload *workload,
	    const struct sim_plan *plan)
{
	uint64_t all = r->opts->iterations;
	double last_ns = 0;

	for (size_t j = 0; j < plan->n; j++) {
		uint64_t own = workload->jobs[j].max_iterations;

		if (!plan->jobs[j].is_placed)
			continue;
		r->tracks[j].is_placed = true;
		r->tracks[j].n_target = all && (!own || all < own) ? all : own;
		if (!all)
			continue;
		r->tracks[j].is_pending = true;
		r->n_pending++;
		r->n_wanted += r->tracks[j].n_target;
		last_ns = fmax(
			last_ns,
			(double)workload->jobs[j].arrival_ns +
				1e3 * EXPERIMENT_STARVED *
					(double)r->tracks[j].n_target *
					(double)workload->jobs[j].profile.period_us);
	}
	r->starved_ns = all && last_ns < 9e18 ? (int64_t)last_ns : ENGINE_NEVER;
}

/* ---- Running --------------------------------------------------------------------- */

/* Stops waiting for jobs that have left.  Returns when the next job leaves. */
static int64_t
release_stopped(struct runner *r, const struct workload *workload)
{
	int64_t next_ns = ENGINE_NEVER;

	for (size_t j = 0; j < r->n_jobs; j++) {
		int64_t stop_ns = workload->jobs[j].stop_ns;

		if (!r->tracks[j].is_pending)
			continue;
		if ((double)stop_ns <= engine_now_ns(r->engine)) {
			r->tracks[j].is_pending = false;
			r->n_pending--;
		} else if (stop_ns < next_ns) {
			next_ns = stop_ns;
		}
	}
	return next_ns;
}

static void
tick(struct runner *r, int64_t now_ns)
{
	r->ticked_ns = now_ns;
	if (!r->opts->on_tick(r->opts->ctx, now_ns))
		r->was_interrupted = true;
}

/* The end of the next tick, step of the series, or the next event, but not after 'until_ns'. */
static int64_t
next_stop_ns(const struct runner *r, int64_t until_ns)
{
	int64_t tick_ns = r->opts->tick_ns, next_ns = until_ns;

	if (tick_ns && r->ticked_ns + tick_ns < next_ns)
		next_ns = r->ticked_ns + tick_ns;
	if (r->series && run_series_next_ns(r->series) < next_ns)
		next_ns = run_series_next_ns(r->series);
	if (link_events_next_ns(r->events) < next_ns)
		next_ns = link_events_next_ns(r->events);
	return next_ns;
}

/*
 * As engine_run(), tick by tick and step by step.  Also ends when no event is left; the
 * engine's time is then earlier.
 */
static void
run_until(struct runner *r, int64_t until_ns)
{
	while (!r->was_interrupted) {
		int64_t next_ns;

		link_events_apply(r->events, r->engine);
		next_ns = next_stop_ns(r, until_ns);
		engine_run(r->engine, next_ns);
		if (engine_now_ns(r->engine) < (double)next_ns ||
		    (r->opts->iterations && !r->n_pending))
			return;
		if (r->series && next_ns == run_series_next_ns(r->series))
			run_series_note(r->series, r->engine);
		if (r->opts->tick_ns && next_ns == r->ticked_ns + r->opts->tick_ns)
			tick(r, next_ns);
		if (next_ns == until_ns)
			return;
	}
}

static void
run(struct runner *r, const struct workload *workload)
{
	int64_t duration_ns = r->opts->duration_ns;

	if (r->starved_ns < duration_ns)
		duration_ns = r->starved_ns;
	for (;;) {
		int64_t until_ns = release_stopped(r, workload);

		if ((r->opts->iterations && !r->n_pending) || r->was_interrupted)
			break;
		if (until_ns > duration_ns)
			until_ns = duration_ns;
		run_until(r, until_ns);
		/* All jobs have left, or the time is over. */
		if (until_ns == duration_ns)
			break;
	}
	if (r->opts->tick_ns && engine_now_ns(r->engine) > (double)r->ticked_ns)
		tick(r, (int64_t)ceil(engine_now_ns(r->engine)));
}

/* ---- Results --------------------------------------------------------------------- */

static void
fill_job(struct runner *r, size_t j, const struct work_job *work,
	 struct experiment_job *job)
{
	struct track *track = &r->tracks[j];
	struct engine_job_stats stats;
	double *sorted, now_ns = engine_now_ns(r->engine);
	size_t n = track->duration_ns.n;

	job->is_placed = true;
	job->is_starved = track->is_pending && now_ns >= (double)r->starved_ns;
	if (job->is_starved) {
		vec_push(&track->start_ns, track->begin_ns);
		vec_push(&track->duration_ns, now_ns - track->begin_ns);
		n++;
	}
	job->n = n;
	job->n_skipped = r->opts->warmup_iterations;
	job->iteration_ns = track->duration_ns.items;
	job->start_ns = track->start_ns.items;
	track->duration_ns.items = NULL;
	track->start_ns.items = NULL;
	sorted = n ? xmemdup(job->iteration_ns, n, sizeof *sorted) : NULL;
	if (n) {
		stats_sort(sorted, n);
		job->mean_ns = stats_mean(job->iteration_ns, n);
		job->p50_ns = stats_quantile(sorted, n, 0.5);
		job->p90_ns = stats_quantile(sorted, n, 0.9);
		job->p99_ns = stats_quantile(sorted, n, 0.99);
	}
	free(sorted);
	engine_job_stats(r->engine, (uint32_t)j, &stats);
	job->completion_ns = -1;
	if (stats.end_ns >= 0 && work->max_iterations &&
	    stats.n_iterations >= work->max_iterations)
		job->completion_ns = stats.end_ns - (double)work->arrival_ns;
	job->active_ns =
		(stats.end_ns >= 0 ? stats.end_ns : now_ns) - (double)work->arrival_ns;
	job->n_corrections = stats.n_corrections;
	if (job->active_ns > 0)
		job->corrections_per_min =
			(double)stats.n_corrections * 60e9 / job->active_ns;
	job->path_wait_ns = link_events_waited_ns(r->events, j, now_ns);
	job->packets = stats.packets;
	job->ecn_packets = stats.ecn_packets;
	if (stats.n_iterations)
		job->ecn_per_iteration = stats.ecn_packets / (double)stats.n_iterations;
}

static void
fill_links(const struct runner *r, const struct sim_plan *plan, const struct topo *topo,
	   struct experiment *experiment)
{
	uint32_t n = topo_n_links(topo);
	uint32_t *n_jobs = xcalloc((size_t)n + 1, sizeof *n_jobs);
	size_t n_used = 0;

	for (size_t j = 0; j < plan->n; j++)
		for (size_t i = 0; i < plan->jobs[j].routed.footprint.n; i++)
			n_jobs[plan->jobs[j].routed.footprint.entries[i].link]++;
	link_events_count_jobs(r->events, n_jobs);
	for (uint32_t l = 0; l < n; l++)
		n_used += n_jobs[l] > 0;
	experiment->links = xcalloc(n_used + 1, sizeof *experiment->links);
	for (uint32_t l = 0; l < n; l++) {
		struct experiment_link *link = &experiment->links[experiment->n_links];

		if (!n_jobs[l])
			continue;
		link->link = l;
		link->n_jobs = n_jobs[l];
		engine_link_stats(r->engine, l, &link->stats);
		experiment->n_links++;
	}
	free(n_jobs);
}

/* The mean of the job's iterations within [from_ns, to_ns]; 0: there is none. */
static double
mean_between(const struct experiment_job *job, double from_ns, double to_ns)
{
	double sum_ns = 0;
	size_t n = 0;

	for (size_t i = 0; i < job->n; i++) {
		double start_ns = job->start_ns[i];

		if (start_ns < from_ns || start_ns + job->iteration_ns[i] > to_ns)
			continue;
		sum_ns += job->iteration_ns[i];
		n++;
	}
	return n ? sum_ns / (double)n : 0;
}

static void
fill_events(const struct runner *r, const struct scenario *scenario,
	    struct experiment *experiment)
{
	size_t n;
	const struct link_event *events = link_events_all(r->events, &n);

	experiment->events = xcalloc(n + 1, sizeof *experiment->events);
	experiment->n_events = n;
	for (size_t i = 0; i < n; i++) {
		struct experiment_event *event = &experiment->events[i];
		double before_ns = 0, at_ns, after_ns = INFINITY;

		event->event = &scenario->events[events[i].number];
		event->has_happened = events[i].has_happened;
		event->n_moved = events[i].n_moved;
		event->spans = xcalloc(r->n_jobs + 1, sizeof *event->spans);
		at_ns = (double)event->event->time_ns;
		/* Events at the same time are one change. */
		for (size_t k = 0; k < n; k++) {
			double ns = (double)scenario->events[events[k].number].time_ns;

			if (ns < at_ns)
				before_ns = ns;
			if (ns > at_ns)
				after_ns = fmin(after_ns, ns);
		}
		for (size_t j = 0; j < r->n_jobs && event->has_happened; j++) {
			const struct experiment_job *job = &experiment->jobs[j];

			event->spans[j] = (struct experiment_span){
				mean_between(job, before_ns, at_ns),
				mean_between(job, at_ns, after_ns),
				events[i].is_waiting[j],
			};
		}
	}
}

static void
runner_fini(struct runner *r)
{
	for (size_t j = 0; j < r->n_jobs; j++) {
		vec_free(&r->tracks[j].start_ns);
		vec_free(&r->tracks[j].duration_ns);
	}
	free(r->tracks);
	engine_free(r->engine);
	steer_sim_free(r->steered);
	run_series_free(r->series);
	link_events_free(r->events);
}

int
experiment_run(const struct scenario *scenario, const struct sim_plan *plan,
	       const struct topo *topo, const struct experiment_opts *opts,
	       struct experiment *ret_experiment)
{
	struct runner r = { .opts = opts,
			    .n_jobs = plan->n,
			    .plan = plan,
			    .workload = &scenario->workload };
	struct experiment experiment = { .n_jobs = plan->n };
	int error;

	r.max_counted = opts->iterations ? opts->iterations : EXPERIMENT_MAX_ITERATIONS;
	r.tracks = xcalloc(plan->n + 1, sizeof *r.tracks);
	set_targets(&r, &scenario->workload, plan);
	if (opts->with_series)
		r.series = run_series_new(plan, topo);
	r.steered = steering_make(&scenario->workload, plan, topo, opts->seed);
	r.engine = make_engine(topo, opts, &r);
	error = add_jobs(&r, scenario, plan);
	if (error < 0)
		goto out;
	r.events = link_events_new(scenario, plan, topo);
	run(&r, &scenario->workload);
	experiment.simulated_ns = engine_now_ns(r.engine);
	experiment.was_interrupted = r.was_interrupted;
	experiment.jobs = xcalloc(plan->n + 1, sizeof *experiment.jobs);
	for (size_t j = 0; j < plan->n; j++)
		if (plan->jobs[j].is_placed)
			fill_job(&r, j, &scenario->workload.jobs[j],
				 &experiment.jobs[j]);
	fill_links(&r, plan, topo, &experiment);
	fill_events(&r, scenario, &experiment);
	if (r.series)
		run_series_end(r.series, r.engine, &experiment);
	experiment.series = r.series;
	r.series = NULL;
	error = isolated_fill(scenario, plan, topo, opts, &experiment);
	if (error < 0)
		experiment_fini(&experiment);
	else
		*ret_experiment = experiment;
out:
	runner_fini(&r);
	return error;
}

void
experiment_fini(struct experiment *experiment)
{
	for (size_t j = 0; experiment->jobs && j < experiment->n_jobs; j++) {
		free(experiment->jobs[j].iteration_ns);
		free(experiment->jobs[j].start_ns);
	}
	free(experiment->jobs);
	for (size_t i = 0; i < experiment->n_events; i++)
		free(experiment->events[i].spans);
	free(experiment->events);
	free(experiment->links);
	run_series_free(experiment->series);
	*experiment = (struct experiment){ 0 };
}

void
experiment_opts_init(struct experiment_opts *opts, const struct scenario *scenario,
		     int policy)
{
	enum scenario_phases phases = scenario->sim.phases;

	*opts = (struct experiment_opts){
		.seed = scenario->sim.seed,
		.iterations = scenario->sim.iterations,
		.warmup_iterations = scenario->sim.warmup_iterations,
		.duration_ns = scenario->sim.duration_ns,
		.random_phases =
			phases == SCENARIO_PHASES_RANDOM ||
			(phases == SCENARIO_PHASES_UNSET && policy != SIM_POLICY_NONE),
		.mtu_bytes = scenario->sim.mtu_bytes,
	};
}

void
experiment_summarize(const struct experiment *experiment,
		     const struct workload *workload,
		     struct experiment_summary *ret_summary)
{
	struct experiment_summary s = { 0 };
	double weight = 0, packets = 0, ecn_packets = 0, n;

	for (size_t j = 0; j < experiment->n_jobs; j++) {
		const struct experiment_job *job = &experiment->jobs[j];

		weight += workload->jobs[j].weight;
		if (!job->n)
			continue;
		s.n_jobs++;
		s.iteration_mean_ns += job->mean_ns;
		s.iteration_p90_ns += job->p90_ns;
		s.iteration_p99_ns += job->p99_ns;
		s.slowdown_mean += job->slowdown;
		s.slowdown_worst = fmax(s.slowdown_worst, job->slowdown);
		s.goodput += workload->jobs[j].weight / job->slowdown;
		s.ecn_per_iteration += job->ecn_per_iteration;
		s.corrections_per_min += job->corrections_per_min;
		packets += job->packets;
		ecn_packets += job->ecn_packets;
	}
	n = s.n_jobs ? (double)s.n_jobs : 1;
	s.iteration_mean_ns /= n;
	s.iteration_p90_ns /= n;
	s.iteration_p99_ns /= n;
	s.slowdown_mean /= n;
	s.ecn_per_iteration /= n;
	s.corrections_per_min /= n;
	s.goodput = weight > 0 ? s.goodput / weight : 0;
	s.ecn_frac = packets > 0 ? ecn_packets / packets : 0;
	*ret_summary = s;
}
