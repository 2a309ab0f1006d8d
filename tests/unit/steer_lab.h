/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steer_lab.h - simulated jobs for the control loop: one burst each on one link, pacers
 * with a delayed connection, and compute times that change during the run
 */
#ifndef TESTS_UNIT_STEER_LAB_H
#define TESTS_UNIT_STEER_LAB_H

#include "lib/base/rng.h"
#include "scheduler/core/control/steer_sim.h"
#include "scheduler/core/profile/profile.h"
#include "tests/unit/sim_lab.h"

#define STEER_LAB_MAX_JOBS 8
#define SECOND             1000000000.0

struct steer_lab_job {
	double compute_ms, comm_ms;
	/* Computing takes 'more_ms' longer in this interval. */
	double more_ms, more_from_s, more_until_s;
};

struct steer_lab_opts {
	const struct steer_lab_job *jobs;
	uint32_t n_jobs;
	enum steer_mode mode;
	bool is_steered;
	double jitter_frac, seconds;
	double locked_ms;         /* 0: none. */
	double known_frac;        /* Share of its bursts that the profile has; 0: 1. */
	double known_period_frac; /* Share of its period that the profile has; 0: 1. */
	double refined_s;         /* When the profile becomes exact; 0: never. */
	double watched_s;         /* Until then the loop only watches. */
	/*
	 * Weight of a job that begins while another sends; 0: 1, equal weights.  With
	 * TCP, flows under way keep their rate for a while.
	 */
	double late_weight;
	uint64_t seed;
	struct steer_sim_opts steered;
};

struct steer_lab {
	struct lab lab;
	const struct steer_lab_opts *opts;
	struct steer_sim *steered;
	bool has_computed_more[STEER_LAB_MAX_JOBS], is_sending[STEER_LAB_MAX_JOBS];
	struct profile profiles[STEER_LAB_MAX_JOBS];
	struct profile_phase phases[STEER_LAB_MAX_JOBS];
};

static double
steer_lab_wait(void *ctx, uint32_t job, uint64_t iteration, uint32_t segment,
	       double now_ns)
{
	struct steer_lab *l = ctx;
	const struct steer_lab_job *spec = &l->opts->jobs[job];
	double wait_ns;

	if (!l->has_computed_more[job] && spec->more_ms > 0 &&
	    now_ns >= spec->more_from_s * SECOND &&
	    (spec->more_until_s <= 0 || now_ns < spec->more_until_s * SECOND)) {
		l->has_computed_more[job] = true;
		return spec->more_ms * MS;
	}
	wait_ns = l->opts->is_steered ? steer_sim_wait_ns(l->steered, job, iteration,
							  segment, now_ns)
				      : 0;
	if (wait_ns <= 0)
		l->has_computed_more[job] = false;
	return wait_ns;
}

static void
steer_lab_on_flows(void *ctx, uint32_t job, uint32_t segment, double start_ns,
		   double end_ns)
{
	struct steer_lab *l = ctx;

	l->is_sending[job] = false;
	steer_sim_on_flows(l->steered, job, segment, start_ns, end_ns);
}

static double
steer_lab_weight(void *ctx, uint32_t job, uint64_t iteration, uint32_t segment)
{
	struct steer_lab *l = ctx;
	bool is_late = false;

	(void)iteration;
	(void)segment;
	for (uint32_t j = 0; j < l->opts->n_jobs; j++)
		is_late |= l->is_sending[j];
	l->is_sending[job] = true;
	return is_late ? l->opts->late_weight : 1;
}

static void
steer_lab_on_iteration(void *ctx, uint32_t job, uint64_t iteration, double start_ns,
		       double end_ns)
{
	struct steer_lab *l = ctx;

	lab_on_iteration(&l->lab, job, iteration, start_ns, end_ns);
}

/* Fills in the profile as known, and the description of the job for the loop. */
static inline struct steer_job
steer_lab_describe(struct steer_lab *l, uint32_t j, double burst_frac,
		   double period_frac)
{
	const struct steer_lab_job *spec = &l->opts->jobs[j];
	double period_ms = spec->compute_ms + spec->comm_ms;

	l->phases[j] = (struct profile_phase){
		.start_us = (int64_t)(spec->compute_ms * 1e3),
		.duration_us = (int64_t)(spec->comm_ms * burst_frac * 1e3),
		.rate_bps = ONE_LINK[0],
	};
	l->profiles[j] =
		(struct profile){ .period_us = (int64_t)(period_ms * period_frac * 1e3),
				  .n_phases = 1,
				  .phases = &l->phases[j] };
	return (struct steer_job){ .mode = l->opts->mode,
				   .profile = &l->profiles[j],
				   .locked_us = (int64_t)(l->opts->locked_ms * 1e3) };
}

static inline void
steer_lab_add(struct steer_lab *l, uint32_t j)
{
	const struct steer_lab_opts *o = l->opts;
	const struct steer_lab_job *spec = &o->jobs[j];
	double period_ms = spec->compute_ms + spec->comm_ms;
	struct steer_job what =
		steer_lab_describe(l, j, o->known_frac > 0 ? o->known_frac : 1,
				   o->known_period_frac > 0 ? o->known_period_frac : 1);
	struct lab_job job;
	struct rng rng;

	rng_init_stream(&rng, o->seed ^ 0x70, j);
	lab_job_init(&job, (int64_t)(spec->compute_ms * MS), PATH, 1,
		     spec->comm_ms * 1e-3 * ONE_LINK[0] / 8);
	job.job.jitter_frac = o->jitter_frac;
	job.job.shift_ns = (int64_t)(rng_uniform(&rng) * period_ms * MS);
	job.job.pacing = ENGINE_PACE_STEER;
	lab_add(&l->lab, &job);
	steer_sim_add(l->steered, j, 0, &what);
}

/* No pair may overlap, but bursts may be back to back. */
static inline void
steer_lab_set_edges(struct steer_lab *l)
{
	struct steer_constraint edges[STEER_LAB_MAX_JOBS * STEER_LAB_MAX_JOBS];
	uint32_t jobs[STEER_LAB_MAX_JOBS];
	size_t n = 0;

	for (uint32_t a = 0; a < l->opts->n_jobs; a++) {
		jobs[a] = a;
		for (uint32_t b = a + 1; b < l->opts->n_jobs; b++) {
			int64_t ta_us = l->profiles[a].period_us;
			int64_t tb_us = l->profiles[b].period_us;
			int64_t longer_us = ta_us > tb_us ? ta_us : tb_us;

			if (l->opts->locked_ms > 0)
				longer_us = (int64_t)(l->opts->locked_ms * 1e3);

			edges[n++] = (struct steer_constraint){
				.a = a,
				.b = b,
				.modulus_us = longer_us,
				.lo_us = l->phases[a].duration_us,
				.hi_us = longer_us - l->phases[b].duration_us,
				.cost = 1,
			};
		}
	}
	steer_set_constraints(steer_sim_steer(l->steered), jobs, l->opts->n_jobs, edges,
			      n);
}

/* Runs until 'at_s', then gives the loop all profiles and sets the mode of the jobs. */
static inline void
steer_lab_tell(struct steer_lab *l, enum steer_mode mode, double at_s)
{
	engine_run(l->lab.engine, (int64_t)(at_s * SECOND));
	for (uint32_t j = 0; j < l->opts->n_jobs; j++) {
		struct steer_job what = steer_lab_describe(l, j, 1, 1);

		what.mode = mode;
		steer_set_job(steer_sim_steer(l->steered), j, &what);
	}
	steer_lab_set_edges(l);
}

static inline void
steer_lab_run(struct steer_lab *l, const struct steer_lab_opts *opts)
{
	struct engine_config config;

	memset(l, 0, sizeof *l);
	l->opts = opts;
	l->steered = steer_sim_new(&opts->steered);
	config = lab_config(&l->lab, ONE_LINK, 1);
	config.seed = opts->seed;
	config.observer = (struct engine_observer){
		.ctx = l,
		.on_iteration = steer_lab_on_iteration,
		.on_flows = steer_lab_on_flows,
		.flow_weight = opts->late_weight > 0 ? steer_lab_weight : NULL,
		.wait_ns = steer_lab_wait,
	};
	lab_open(&l->lab, &config);
	for (uint32_t j = 0; j < opts->n_jobs; j++)
		steer_lab_add(l, j);
	steer_lab_set_edges(l);
	if (opts->watched_s > 0) {
		steer_lab_tell(l, STEER_FREE, 0);
		steer_lab_tell(l, opts->mode, opts->watched_s);
	}
	if (opts->refined_s > 0)
		steer_lab_tell(l, opts->mode, opts->refined_s);
	engine_run(l->lab.engine, (int64_t)(opts->seconds * SECOND));
}

static inline void
steer_lab_close(struct steer_lab *l)
{
	steer_sim_free(l->steered);
	lab_close(&l->lab);
}

/* Mean iteration time between two times over the isolated iteration time. */
static inline double
steer_lab_slowdown(const struct steer_lab *l, uint32_t job, double from_s,
		   double until_s)
{
	const struct steer_lab_job *spec = &l->opts->jobs[job];
	double isolated_ms = spec->compute_ms + spec->comm_ms, first_ns = -1,
	       last_ns = -1;
	uint64_t n = 0;

	if (spec->more_ms > 0 && from_s >= spec->more_from_s &&
	    (spec->more_until_s <= 0 || until_s <= spec->more_until_s))
		isolated_ms += spec->more_ms;
	for (size_t i = 0; i < l->lab.iterations.n; i++) {
		const struct lab_iteration *it = &l->lab.iterations.items[i];

		if (it->job != job || it->end_ns < from_s * SECOND ||
		    it->end_ns >= until_s * SECOND)
			continue;
		if (first_ns < 0)
			first_ns = it->end_ns;
		else
			n++;
		last_ns = it->end_ns;
	}
	assert_true(n > 10);
	return (last_ns - first_ns) / (double)n / (isolated_ms * MS);
}

static inline double
steer_lab_mean_slowdown(const struct steer_lab *l, double from_s, double until_s)
{
	double sum = 0;

	for (uint32_t j = 0; j < l->opts->n_jobs; j++)
		sum += steer_lab_slowdown(l, j, from_s, until_s);
	return sum / l->opts->n_jobs;
}

#endif
