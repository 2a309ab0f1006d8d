/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settle_lab.h - new jobs, and the control loop that learns their profiles
 *
 * The loop learns as in the daemon: a job is unknown until its pacer has reported a few
 * iterations (pacer_profile.h), which other jobs may have stretched; later reports
 * refine its profile.
 *
 *	equal, ratio, incommensurate, change, part	the jobs of demo_live
 *	quiet	all begin together; reports are off by 0.5 % of the shortest period
 *	rough	as quiet, but computing varies by 3 %, ends of bursts are seen 3 to 5 %
 *		of that period late, and half of the cost of contention is seen
 *	blind	as rough, but contention is seen without its cost
 *	slow	as quiet, but collectives take a third longer than their bytes, and 0.7
 *		of the cost of contention is seen
 *	busy	jobs begin 2 to 10 s apart; reports are off by 3 to 5 % either way, and
 *		one in 20 is late by another 15 %
 *	late	a latecomer to a link gets 0.6 of a share; otherwise all are equal
 *
 * settle_disturb() adds the noise of other users of the machines and links:
 *
 *	hog	hosts of the first two jobs have stalls, one computing in five of 80 ms in
 *		the mean, and their pacers are late as below
 *	hogs	all hosts, one in two of 120 ms
 *	bursts	another program sends at random times, a fifth of the link's time
 *	late	waits end late, one in three by 60 ms in the mean, as do one in three reports
 *	wakes	all waits end late, by 80 ms in the mean; reports do not
 *	lost	one report and one order in five is lost
 *
 *	settle_make(&settle, RATIO, ROUGH, false, seed);
 *	settle_disturb(&settle, SETTLE_HOG);
 *	settle_run(&settle, true);
 *	...
 *	settle_finish(&settle);
 */
#ifndef TESTS_UNIT_SETTLE_LAB_H
#define TESTS_UNIT_SETTLE_LAB_H

#include "scheduler/daemon/pacer_profile.h"
#include "scheduler/live/iteration_volume.h"
#include "tests/unit/steer_lab.h"

#define SETTLE_N_JOBS   3
#define SETTLE_BURST_MS 100 /* Of the other program; between them, four times that. */
#define SETTLE_N_MIN    4   /* A job is known after this many iterations. */
#define SETTLE_LOOK_S   0.1 /* Interval at which the daemon reads reports. */
#define SETTLE_FRAMES_S 0.3 /* Delay of the hosts' frames. */
#define SETTLE_SAME     0.01
#define SETTLE_LATE     0.6  /* Weight of latecomers, as real jobs lose together. */
#define SETTLE_CHANGE_S 12.0 /* Time after the last job began. */

enum settle_marks {
	QUIET,
	ROUGH,
	BLIND,
	SLOW,
	BUSY,
	N_MARKS,
};

static const struct {
	const char *name;
	double jitter_frac;
	double seen_frac;  /* Share of the cost of contention that is seen. */
	double bytes_frac; /* Share of collectives' time that their bytes take. */
} settle_manners[] = {
	[QUIET] = { "quiet", 0.0115, 1, 1 }, [ROUGH] = { "rough", 0.03, 0.5, 1 },
	[BLIND] = { "blind", 0.03, 0, 1 },   [SLOW] = { "slow", 0.0115, 0.7, 0.75 },
	[BUSY] = { "busy", 0.02, 1, 1 },
};

enum settle_noise {
	SETTLE_CALM,
	SETTLE_HOG,
	SETTLE_HOGS,
	SETTLE_BURSTS,
	SETTLE_LATE_PACERS,
	SETTLE_LATE_WAKES,
	SETTLE_LOST,
	N_NOISES,
};

static const struct {
	const char *name;
	double stall_frac, stall_ms;
	uint32_t n_stalled; /* Jobs, the first ones. */
	bool has_bursts;
	double late_frac, wake_frac, late_ms; /* Of reports, and of ends of waits. */
	double lost_frac;                     /* Of reports, and of orders. */
} settle_noises[] = {
	[SETTLE_CALM] = { .name = "none" },
	[SETTLE_HOG] = { "hog", 0.2, 80, 2, .late_frac = 0.2, .wake_frac = 0.2,
			 .late_ms = 30 },
	[SETTLE_HOGS] = { "hogs", 0.5, 120, 3, .late_frac = 0.5, .wake_frac = 0.5,
			  .late_ms = 60 },
	[SETTLE_BURSTS] = { .name = "bursts", .has_bursts = true },
	[SETTLE_LATE_PACERS] = { .name = "late",
				 .late_frac = 0.33,
				 .wake_frac = 0.33,
				 .late_ms = 60 },
	[SETTLE_LATE_WAKES] = { .name = "wakes", .wake_frac = 1, .late_ms = 80 },
	[SETTLE_LOST] = { .name = "lost", .lost_frac = 0.2 },
};

enum settle_kind {
	EQUAL,
	RATIO,
	INCOMMENSURATE,
	CHANGE,
	PART,
	N_KINDS,
};

static const struct {
	const char *name;

	struct {
		double compute_ms, comm_ms;
	} jobs[SETTLE_N_JOBS];

	double more_frac; /* Extra computing of the last job after SETTLE_CHANGE_S. */
	double seconds;
} settle_kinds[] = {
	[EQUAL] = { "equal", { { 262, 112 }, { 264, 112 }, { 266, 112 } }, 0, 45 },
	[RATIO] = { "ratio", { { 264, 107 }, { 553, 187 }, { 555, 187 } }, 0, 60 },
	[INCOMMENSURATE] = { "incommensurate",
			     { { 264, 112 }, { 345, 112 }, { 433, 112 } },
			     0,
			     45 },
	[CHANGE] = { "change", { { 262, 112 }, { 264, 112 }, { 205, 112 } }, 0.3, 60 },
	[PART] = { "part", { { 262, 112 }, { 264, 112 }, { 266, 112 } }, 0.3, 60 },
};

struct settle {
	struct steer_lab lab; /* Must be first: the engine's observers cast it. */
	struct steer_lab_job jobs[SETTLE_N_JOBS];
	struct steer_lab_opts opts;
	struct pacer_profile paced[SETTLE_N_JOBS];
	double begin_s[SETTLE_N_JOBS], told_s[SETTLE_N_JOBS]; /* 0: no news. */
	bool is_known[SETTLE_N_JOBS];
	enum settle_marks marks;
	enum settle_noise noise;
	bool has_gate; /* Without the loop: turns by an oracle that sees the link. */
	double all_s;  /* When the last job began. */
	/* How long jobs took turns, in all, and at most until the loop stood back. */
	double turns_s, stretch_s, failed_s;
	uint32_t n_failed; /* Times that it stood back. */
	bool stands_back;
	struct rng rng;
};

/* ---- The daemon's part ----------------------------------------------------------- */

static void
settle_on_report(void *ctx, uint32_t job, const struct steer_report *report)
{
	struct settle *s = ctx;
	enum pacer_profile_event event = pacer_profile_add(&s->paced[job], report);

	if (event == PACER_PROFILE_CHANGED ||
	    (event == PACER_PROFILE_WHOLE && s->paced[job].n % SETTLE_N_MIN == 0 &&
	     s->paced[job].n <= PACER_PROFILE_N_KEPT))
		s->told_s[job] = (double)report->begin_ns / SECOND;
}

/* The share of its time in collectives that a job loses to contention. */
static double
settle_lost_frac(const struct settle *s, uint32_t j)
{
	struct iteration_volume_sample its[PACER_PROFILE_N_KEPT];
	size_t n = pacer_profile_iterations(&s->paced[j], its);
	double sum_ns = 0;

	for (size_t i = 0; i < n; i++)
		sum_ns += (double)its[i].comm_ns;
	return fmax(0, 1 - s->jobs[j].comm_ms * MS * (double)n / sum_ns);
}

static bool
settle_measure(struct settle *s, uint32_t j, struct profile *ret_profile)
{
	double off = 1 + 0.02 * rng_normal(&s->rng);
	double bytes_ms =
		s->jobs[j].comm_ms * settle_manners[s->marks].bytes_frac * off;
	const struct iteration_volume sent = { .bytes = bytes_ms * 1e-3 * ONE_LINK[0] /
							8,
					       .within_frac = 1,
					       .busy_frac = 1 };
	double lost_frac = settle_lost_frac(s, j);
	double seen_frac = settle_manners[s->marks].seen_frac;
	struct pacer_profile_path path = { .line_bps = 10 * ONE_LINK[0],
					   .isolated_us = bytes_ms * 1e3 };

	/* Two jobs each lose half of the time in which both send. */
	path.met_frac = fmin(1, 2 * lost_frac);
	if (seen_frac > 0)
		path.held_frac =
			fmax(0, seen_frac * lost_frac + 0.05 * rng_normal(&s->rng));

	return pacer_profile_make(&s->paced[j], SETTLE_N_MIN, &sent, &path,
				  ret_profile);
}

/* Takes up a job's profile; returns whether it differs from the one before. */
static bool
settle_take_up(struct settle *s, uint32_t j)
{
	struct steer_lab *l = &s->lab;
	struct steer_job what = { .mode = STEER_GATE, .profile = &l->profiles[j] };
	struct profile new;

	if (!settle_measure(s, j, &new))
		return false;
	if (s->is_known[j] &&
	    fabs((double)(new.period_us - l->profiles[j].period_us)) <=
		    SETTLE_SAME * (double)new.period_us) {
		profile_fini(&new);
		return false;
	}
	if (s->is_known[j])
		profile_fini(&l->profiles[j]);
	l->profiles[j] = new;
	if (steer_set_job(steer_sim_steer(l->steered), j, &what))
		steer_remember(steer_sim_steer(l->steered), j, s->paced[j].reports,
			       s->paced[j].n_reports);
	s->is_known[j] = true;
	return true;
}

/* Sets the edges between known jobs. */
static void
settle_set_edges(struct settle *s)
{
	struct steer_constraint edges[SETTLE_N_JOBS * SETTLE_N_JOBS];
	uint32_t jobs[SETTLE_N_JOBS], n_jobs = 0;
	size_t n = 0;

	for (uint32_t a = 0; a < SETTLE_N_JOBS; a++) {
		const struct profile *pa = &s->lab.profiles[a];

		if (!s->is_known[a])
			continue;
		jobs[n_jobs++] = a;
		for (uint32_t b = a + 1; b < SETTLE_N_JOBS; b++) {
			const struct profile *pb = &s->lab.profiles[b];
			int64_t longer_us;

			if (!s->is_known[b])
				continue;
			longer_us = pa->period_us > pb->period_us ? pa->period_us
								  : pb->period_us;
			edges[n++] = (struct steer_constraint){
				.a = a,
				.b = b,
				.modulus_us = longer_us,
				.lo_us = pa->phases[0].duration_us,
				.hi_us = longer_us - pb->phases[0].duration_us,
				.cost = 1,
			};
		}
	}
	steer_set_constraints(steer_sim_steer(s->lab.steered), jobs, n_jobs, edges, n);
}

static void
settle_watch_turns(struct settle *s)
{
	bool takes_turns = false, stands_back = false;

	for (uint32_t j = 0; j < SETTLE_N_JOBS; j++) {
		struct steer_state state;

		steer_state(steer_sim_steer(s->lab.steered), j, &state);
		takes_turns |= state.learned.takes_turns;
		stands_back |= state.learned.stands_back;
	}
	if (stands_back && !s->stands_back) {
		s->failed_s = fmax(s->failed_s, s->stretch_s);
		s->n_failed++;
	}
	s->stands_back = stands_back;
	s->stretch_s = takes_turns ? s->stretch_s + SETTLE_LOOK_S : 0;
	s->turns_s += takes_turns ? SETTLE_LOOK_S : 0;
}

static void
settle_look(struct settle *s, double now_s)
{
	bool is_new = false;

	settle_watch_turns(s);
	for (uint32_t j = 0; j < SETTLE_N_JOBS; j++) {
		if (s->told_s[j] <= 0 || now_s < s->told_s[j] + SETTLE_FRAMES_S)
			continue;
		s->told_s[j] = 0;
		is_new |= settle_take_up(s, j);
	}
	if (is_new)
		settle_set_edges(s);
}

/* ---- A run ----------------------------------------------------------------------- */

static void
settle_make(struct settle *s, enum settle_kind kind, enum settle_marks marks,
	    bool is_late, uint64_t seed)
{
	double shortest_ms = INFINITY, from_s = 0, off_ns;

	*s = (struct settle){ .marks = marks };
	rng_init_stream(&s->rng, seed, 0x736574 + kind);
	for (uint32_t j = 0; j < SETTLE_N_JOBS; j++) {
		double compute_ms = settle_kinds[kind].jobs[j].compute_ms;
		double comm_ms = settle_kinds[kind].jobs[j].comm_ms;
		double period_ms = compute_ms + comm_ms;

		s->jobs[j] = (struct steer_lab_job){ .compute_ms = compute_ms,
						     .comm_ms = comm_ms };
		shortest_ms = fmin(shortest_ms, period_ms);
		s->begin_s[j] = from_s + rng_uniform(&s->rng) * period_ms * 1e-3;
		s->all_s = s->begin_s[j];
		if (marks == BUSY)
			from_s += 2 + 8 * rng_uniform(&s->rng);
	}
	if (settle_kinds[kind].more_frac > 0) {
		s->jobs[SETTLE_N_JOBS - 1].more_ms =
			settle_kinds[kind].more_frac *
			s->jobs[SETTLE_N_JOBS - 1].compute_ms;
		s->jobs[SETTLE_N_JOBS - 1].more_from_s = s->all_s + SETTLE_CHANGE_S;
	}
	s->opts = (struct steer_lab_opts){
		.jobs = s->jobs,
		.n_jobs = SETTLE_N_JOBS,
		.jitter_frac = settle_manners[marks].jitter_frac,
		.seconds = s->all_s + settle_kinds[kind].seconds,
		.late_weight = is_late ? SETTLE_LATE : 0,
		.seed = seed,
		.steered = { .seed = seed, .on_report = settle_on_report, .ctx = s },
	};
	off_ns = (0.03 + 0.02 * rng_uniform(&s->rng)) * shortest_ms * MS;
	s->opts.steered.mark_sd_ns = marks == BUSY ? off_ns : 0.005 * shortest_ms * MS;
	if (marks == ROUGH)
		s->opts.steered.late_end_sd_ns = off_ns;
	if (marks == BUSY) {
		s->opts.steered.late_mark_frac = 0.05;
		s->opts.steered.late_mark_ns = 0.15 * shortest_ms * MS;
	}
}

static inline void
settle_disturb(struct settle *s, enum settle_noise noise)
{
	struct steer_sim_opts *o = &s->opts.steered;

	s->noise = noise;
	o->late_wake_frac = settle_noises[noise].wake_frac;
	o->late_wake_ns = settle_noises[noise].late_ms * MS;
	if (settle_noises[noise].late_frac > 0) {
		o->late_mark_frac = settle_noises[noise].late_frac;
		o->late_mark_ns = settle_noises[noise].late_ms * MS;
	}
	o->lost_report_frac = o->lost_order_frac = settle_noises[noise].lost_frac;
}

/* Another program, of which the loop knows nothing. */
static void
settle_add_bursts(struct settle *s)
{
	struct lab_job other;

	lab_job_init(&other, 1, PATH, 1, SETTLE_BURST_MS * 1e-3 * ONE_LINK[0] / 8);
	other.job.stall_frac = 1;
	other.job.stall_ns = 4 * SETTLE_BURST_MS * MS;
	lab_add(&s->lab.lab, &other);
}

static void
settle_add(struct settle *s, uint32_t j)
{
	const struct steer_lab_job *spec = &s->jobs[j];
	struct lab_job job;

	lab_job_init(&job, (int64_t)(spec->compute_ms * MS), PATH, 1,
		     spec->comm_ms * 1e-3 * ONE_LINK[0] / 8);
	job.job.jitter_frac = s->opts.jitter_frac;
	job.job.arrival_ns = (int64_t)(s->begin_s[j] * SECOND);
	job.job.pacing = s->has_gate ? ENGINE_PACE_GATE : ENGINE_PACE_STEER;
	if (j < settle_noises[s->noise].n_stalled) {
		job.job.stall_frac = settle_noises[s->noise].stall_frac;
		job.job.stall_ns = settle_noises[s->noise].stall_ms * MS;
	}
	lab_add(&s->lab.lab, &job);
	steer_sim_add(s->lab.steered, j, 0, NULL);
}

static void
settle_run(struct settle *s, bool is_steered)
{
	struct steer_lab *l = &s->lab;
	struct engine_config config;

	s->opts.is_steered = is_steered;
	l->opts = &s->opts;
	l->steered = steer_sim_new(&s->opts.steered);
	config = lab_config(&l->lab, ONE_LINK, 1);
	config.seed = s->opts.seed;
	config.observer = (struct engine_observer){
		.ctx = l,
		.on_iteration = steer_lab_on_iteration,
		.on_flows = steer_lab_on_flows,
		.flow_weight = s->opts.late_weight > 0 ? steer_lab_weight : NULL,
		.wait_ns = steer_lab_wait,
	};
	lab_open(&l->lab, &config);
	for (uint32_t j = 0; j < SETTLE_N_JOBS; j++)
		settle_add(s, j);
	if (settle_noises[s->noise].has_bursts)
		settle_add_bursts(s);
	for (double at_s = SETTLE_LOOK_S; at_s < s->opts.seconds;
	     at_s += SETTLE_LOOK_S) {
		engine_run(l->lab.engine, (int64_t)(at_s * SECOND));
		settle_look(s, at_s);
	}
}

static void
settle_finish(struct settle *s)
{
	for (uint32_t j = 0; j < SETTLE_N_JOBS; j++)
		if (s->is_known[j])
			profile_fini(&s->lab.profiles[j]);
	steer_lab_close(&s->lab);
}

#endif
