/*
 * bench_settle.c - how soon jobs that have just begun find their turns, as the daemon
 * has it: of each nothing is known until its pacer has told of a few iterations
 * (paced.h), which others may have stretched, and more are looked at later.
 *
 *	equal, ratio, incommensurate, change	the jobs of demo_live
 *	quiet	all begin together; marks are off by 0.5 % of the shortest period
 *	rough	so they do, but computing varies by 3 %, and ends of bursts are seen late
 *		by 3 to 5 % of that period
 *	busy	they begin 2 to 10 s after each other; marks are off by 3 to 5 %, to both
 *		sides, and one in 20 is late by another 15 %
 *	fair, late	who comes late to a link gets as much, or 0.6 of a share
 *
 * Without and with the loop, from each job's first iteration to the end: mean slowdown;
 * with it over seeds the median, 90th percentile and worst, and by how much it is worse
 * than without; then of the seconds to the first order since all were there (or since one
 * had changed), and to where it is settled: from then on no 16 iterations running of any
 * job take more than 1.05 of what they would alone.  After a change: 1.05 of what they do
 * in the last third, in the mean of all jobs, in any 8 s.  A run that never is counts as
 * long as it is; how many these are comes last.
 *
 *	bench_settle [SEEDS [FIRST_SEED]]
 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/stats.h"
#include "scheduler/daemon/paced.h"
#include "scheduler/live/sent.h"
#include "tests/unit/steer_lab.h"

#define N_SEEDS  40
#define N_JOBS   3
#define N_MIN    4   /* Iterations of a job that is known. */
#define LOOK_S   0.1 /* The daemon looks at what was told so often, */
#define FRAMES_S 0.3 /* and frames of hosts are there so much later. */
#define SAME     0.01
#define LATE     0.6  /* As real jobs lose together. */
#define CHANGE_S 12.0 /* After all were there. */
#define WINDOW   16
#define NEAR     1.05
#define SPAN_S   8.0

enum marks {
	QUIET,
	ROUGH,
	BUSY,
	N_MARKS,
};

static const char *const marks_names[] = { "quiet", "rough", "busy" };

enum kind {
	EQUAL,
	RATIO,
	INCOMMENSURATE,
	CHANGE,
	N_KINDS,
};

static const struct {
	const char *name;

	struct {
		double compute_ms, comm_ms;
	} jobs[N_JOBS];

	double more_frac; /* By which the last computes longer after CHANGE_S. */
	double seconds;
} kinds[] = {
	[EQUAL] = { "equal", { { 262, 112 }, { 264, 112 }, { 266, 112 } }, 0, 45 },
	[RATIO] = { "ratio", { { 264, 107 }, { 553, 187 }, { 555, 187 } }, 0, 60 },
	[INCOMMENSURATE] = { "incommensurate",
			     { { 264, 112 }, { 345, 112 }, { 433, 112 } },
			     0,
			     45 },
	[CHANGE] = { "change", { { 262, 112 }, { 264, 112 }, { 266, 112 } }, 0.3, 60 },
};

struct settle {
	struct steer_lab lab; /* The first: the engine's observers take it. */
	struct steer_lab_job jobs[N_JOBS];
	struct steer_lab_opts opts;
	struct paced paced[N_JOBS];
	double begin_s[N_JOBS], told_s[N_JOBS]; /* 0: nothing new. */
	bool is_known[N_JOBS];
	double all_s; /* When the last one began. */
	struct rng rng;
};

struct outcome {
	double slowdown, shift_s, settled_s;
	bool is_settled;
};

/* ---- What the daemon does ---------------------------------------------------------- */

static void
on_report(void *ctx, uint32_t job, const struct steer_report *r)
{
	struct settle *s = ctx;
	const struct paced_report report = { r->number, r->enter_ns, r->begin_ns,
					     r->comm_ns, r->order };
	enum paced_event event = paced_add(&s->paced[job], &report);

	if (event == PACED_CHANGED ||
	    (event == PACED_WHOLE && s->paced[job].n % N_MIN == 0 &&
	     s->paced[job].n <= PACED_N_KEPT))
		s->told_s[job] = (double)r->begin_ns / SECOND;
}

/* The share of its time in collectives that others are seen to cost it, about. */
static double
held_frac(struct settle *s, uint32_t j)
{
	struct sent_iteration its[PACED_N_KEPT];
	size_t n = paced_iterations(&s->paced[j], its);
	double sum_ns = 0;

	for (size_t i = 0; i < n; i++)
		sum_ns += (double)its[i].comm_ns;
	return fmax(0, 1 - s->jobs[j].comm_ms * MS * (double)n / sum_ns +
			       0.05 * rng_normal(&s->rng));
}

static bool
measure(struct settle *s, uint32_t j, struct profile *ret_profile)
{
	double off = 1 + 0.02 * rng_normal(&s->rng);
	const struct sent sent = { .bytes = s->jobs[j].comm_ms * 1e-3 * ONE_LINK[0] /
					    8 * off,
				   .within_frac = 1,
				   .busy_frac = 1 };
	const struct paced_path path = { .line_bps = 10 * ONE_LINK[0],
					 .alone_us = s->jobs[j].comm_ms * 1e3 * off,
					 .held_frac = held_frac(s, j) };

	return paced_profile(&s->paced[j], N_MIN, &sent, &path, ret_profile);
}

static void
remember(struct settle *s, uint32_t j)
{
	struct steer_report reports[PACED_N_KEPT + 1];
	const struct paced *paced = &s->paced[j];

	for (size_t i = 0; i < paced->n_reports; i++)
		reports[i] = (struct steer_report){ paced->reports[i].number,
						    paced->reports[i].enter_ns,
						    paced->reports[i].begin_ns,
						    paced->reports[i].comm_ns,
						    paced->reports[i].order };
	steer_remember(steered_steer(s->lab.steered), j, reports, paced->n_reports);
}

/* True: it is another one than before. */
static bool
take_up(struct settle *s, uint32_t j)
{
	struct steer_lab *l = &s->lab;
	struct steer_job what = { .mode = STEER_GATE, .profile = &l->profiles[j] };
	struct profile new;

	if (!measure(s, j, &new))
		return false;
	if (s->is_known[j] &&
	    fabs((double)(new.period_us - l->profiles[j].period_us)) <=
		    SAME * (double)new.period_us) {
		profile_fini(&new);
		return false;
	}
	if (s->is_known[j])
		profile_fini(&l->profiles[j]);
	l->profiles[j] = new;
	if (steer_set_job(steered_steer(l->steered), j, &what))
		remember(s, j);
	s->is_known[j] = true;
	return true;
}

/* Of those that are known. */
static void
set_edges(struct settle *s)
{
	struct steer_edge edges[N_JOBS * N_JOBS];
	uint32_t jobs[N_JOBS], n_jobs = 0;
	size_t n = 0;

	for (uint32_t a = 0; a < N_JOBS; a++) {
		const struct profile *pa = &s->lab.profiles[a];

		if (!s->is_known[a])
			continue;
		jobs[n_jobs++] = a;
		for (uint32_t b = a + 1; b < N_JOBS; b++) {
			const struct profile *pb = &s->lab.profiles[b];
			int64_t longer_us;

			if (!s->is_known[b])
				continue;
			longer_us = pa->period_us > pb->period_us ? pa->period_us
								  : pb->period_us;
			edges[n++] = (struct steer_edge){
				.a = a,
				.b = b,
				.modulus_us = longer_us,
				.lo_us = pa->phases[0].duration_us,
				.hi_us = longer_us - pb->phases[0].duration_us,
				.cost = 1,
			};
		}
	}
	steer_set_edges(steered_steer(s->lab.steered), jobs, n_jobs, edges, n);
}

static void
look(struct settle *s, double now_s)
{
	bool is_new = false;

	for (uint32_t j = 0; j < N_JOBS; j++) {
		if (s->told_s[j] <= 0 || now_s < s->told_s[j] + FRAMES_S)
			continue;
		s->told_s[j] = 0;
		is_new |= take_up(s, j);
	}
	if (is_new)
		set_edges(s);
}

/* ---- A run -------------------------------------------------------------------------- */

static void
make(struct settle *s, enum kind kind, enum marks marks, bool is_late, uint64_t seed)
{
	static const double jitter_fracs[] = { 0.0115, 0.03, 0.02 };
	double shortest_ms = INFINITY, from_s = 0, off_ns;

	*s = (struct settle){ .all_s = 0 };
	rng_init_stream(&s->rng, seed, 0x736574 + kind);
	for (uint32_t j = 0; j < N_JOBS; j++) {
		double compute_ms = kinds[kind].jobs[j].compute_ms;
		double comm_ms = kinds[kind].jobs[j].comm_ms;
		double period_ms = compute_ms + comm_ms;

		s->jobs[j] = (struct steer_lab_job){ .compute_ms = compute_ms,
						     .comm_ms = comm_ms };
		shortest_ms = fmin(shortest_ms, period_ms);
		s->begin_s[j] = from_s + rng_uniform(&s->rng) * period_ms * 1e-3;
		s->all_s = s->begin_s[j];
		if (marks == BUSY)
			from_s += 2 + 8 * rng_uniform(&s->rng);
	}
	if (kinds[kind].more_frac > 0) {
		s->jobs[N_JOBS - 1].more_ms =
			kinds[kind].more_frac * s->jobs[N_JOBS - 1].compute_ms;
		s->jobs[N_JOBS - 1].more_from_s = s->all_s + CHANGE_S;
	}
	s->opts = (struct steer_lab_opts){
		.jobs = s->jobs,
		.n_jobs = N_JOBS,
		.jitter_frac = jitter_fracs[marks],
		.seconds = s->all_s + kinds[kind].seconds,
		.late_weight = is_late ? LATE : 0,
		.seed = seed,
		.steered = { .seed = seed, .on_report = on_report, .ctx = s },
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

static void
add(struct settle *s, uint32_t j)
{
	const struct steer_lab_job *spec = &s->jobs[j];
	struct lab_job job;

	lab_job_init(&job, (int64_t)(spec->compute_ms * MS), PATH, 1,
		     spec->comm_ms * 1e-3 * ONE_LINK[0] / 8);
	job.job.jitter_frac = s->opts.jitter_frac;
	job.job.arrival_ns = (int64_t)(s->begin_s[j] * SECOND);
	job.job.pacing = ENGINE_PACE_STEER;
	lab_add(&s->lab.lab, &job);
	steered_add(s->lab.steered, j, 0, NULL);
}

static void
run(struct settle *s, bool is_steered)
{
	struct steer_lab *l = &s->lab;
	struct engine_config config;

	s->opts.is_steered = is_steered;
	l->opts = &s->opts;
	l->steered = steered_new(&s->opts.steered);
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
	for (uint32_t j = 0; j < N_JOBS; j++)
		add(s, j);
	for (double at_s = LOOK_S; at_s < s->opts.seconds; at_s += LOOK_S) {
		engine_run(l->lab.engine, (int64_t)(at_s * SECOND));
		look(s, at_s);
	}
}

static void
finish(struct settle *s)
{
	for (uint32_t j = 0; j < N_JOBS; j++)
		if (s->is_known[j])
			profile_fini(&s->lab.profiles[j]);
	steer_lab_close(&s->lab);
}

/* ---- What became of it ---------------------------------------------------------------- */

/* What the iteration would have taken alone, ms. */
static double
should_ms(const struct settle *s, const struct lab_iteration *it)
{
	const struct steer_lab_job *job = &s->jobs[it->job];
	double came_ns = it->end_ns - job->comm_ms * MS;

	return job->compute_ms + job->comm_ms +
	       (job->more_ms > 0 && came_ns >= job->more_from_s * SECOND ? job->more_ms
									 : 0);
}

/* Since 'from_s', when the job was settled; INFINITY: never. */
static double
judge(const struct settle *s, uint32_t j, double from_s, double *ret_slowdown)
{
	double over_ms[WINDOW] = { 0 }, begin_s[WINDOW] = { 0 }, sum_ms = 0, took = 0,
	       should = 0, settled_s = INFINITY;
	size_t n = 0;

	for (size_t i = 0; i < s->lab.lab.iterations.n; i++) {
		const struct lab_iteration *it = &s->lab.lab.iterations.items[i];
		double ms = (it->end_ns - it->start_ns) / MS;

		if (it->job != j)
			continue;
		took += ms;
		should += should_ms(s, it);
		if (it->start_ns < from_s * SECOND)
			continue;
		sum_ms -= over_ms[n % WINDOW];
		over_ms[n % WINDOW] = ms - NEAR * should_ms(s, it);
		begin_s[n % WINDOW] = it->start_ns / SECOND;
		sum_ms += over_ms[n++ % WINDOW];
		if (n < WINDOW)
			continue;
		if (sum_ms > 0)
			settled_s = INFINITY;
		else if (isinf(settled_s))
			settled_s = begin_s[n % WINDOW];
	}
	*ret_slowdown = took / should;
	return settled_s - from_s;
}

/* Mean time of the job's iterations between the two; 0: there are none. */
static double
mean_ms(const struct settle *s, uint32_t j, double from_s, double until_s)
{
	double sum_ms = 0;
	size_t n = 0;

	for (size_t i = 0; i < s->lab.lab.iterations.n; i++) {
		const struct lab_iteration *it = &s->lab.lab.iterations.items[i];

		if (it->job != j || it->start_ns < from_s * SECOND ||
		    it->start_ns >= until_s * SECOND)
			continue;
		sum_ms += (it->end_ns - it->start_ns) / MS;
		n++;
	}
	return n ? sum_ms / (double)n : 0;
}

/* Of all jobs together, seconds since 'from_s'; INFINITY: never. */
static double
settled_again_s(const struct settle *s, double from_s)
{
	double until_s = s->opts.seconds, settled_s = INFINITY, last_ms[N_JOBS];

	for (uint32_t j = 0; j < N_JOBS; j++)
		last_ms[j] =
			mean_ms(s, j, from_s + (until_s - from_s) * 2 / 3, until_s);
	for (double at_s = from_s; at_s + SPAN_S <= until_s; at_s += LOOK_S) {
		double sum = 0;

		for (uint32_t j = 0; j < N_JOBS; j++)
			sum += mean_ms(s, j, at_s, at_s + SPAN_S) / last_ms[j] / N_JOBS;
		if (sum > NEAR)
			settled_s = INFINITY;
		else if (isinf(settled_s))
			settled_s = at_s - from_s;
	}
	return settled_s;
}

static void
play(struct settle *s, bool is_steered, struct outcome *ret_o)
{
	bool changes = s->jobs[N_JOBS - 1].more_ms > 0;
	double from_s = s->all_s, most_s, first_ns = INFINITY;
	struct outcome o = { .is_settled = true };

	if (changes)
		from_s = s->jobs[N_JOBS - 1].more_from_s;
	most_s = s->opts.seconds - from_s;
	run(s, is_steered);
	for (uint32_t j = 0; j < N_JOBS; j++) {
		struct steer_state state;
		double slowdown, settled_s = judge(s, j, from_s, &slowdown);

		steer_state(steered_steer(s->lab.steered), j, &state);
		if (state.first_shift_ns)
			first_ns = fmin(first_ns, (double)state.first_shift_ns);
		o.slowdown += slowdown / N_JOBS;
		if (changes)
			settled_s = settled_again_s(s, from_s);
		o.is_settled &= !isinf(settled_s);
		o.settled_s = fmax(o.settled_s, fmin(settled_s, most_s));
	}
	o.shift_s = fmin(fmax(0, first_ns / SECOND - s->all_s), s->opts.seconds);
	finish(s);
	*ret_o = o;
}

static void
print_quantiles(double *values, size_t n, int digits)
{
	stats_sort(values, n);
	printf("  %*.*f %*.*f %*.*f", digits + 3, digits,
	       stats_quantile(values, n, 0.5), digits + 3, digits,
	       stats_quantile(values, n, 0.9), digits + 3, digits, values[n - 1]);
}

static void
bench(enum kind kind, enum marks marks, bool is_late, size_t n, uint64_t first_seed)
{
	double *values = xcalloc(5 * n, sizeof *values), free_sum = 0, sum = 0;
	size_t n_unsettled = 0;

	for (size_t i = 0; i < n; i++) {
		struct settle s;
		struct outcome o[2];

		for (int is_steered = 0; is_steered < 2; is_steered++) {
			make(&s, kind, marks, is_late, first_seed + i);
			play(&s, is_steered, &o[is_steered]);
		}
		free_sum += o[0].slowdown;
		sum += o[1].slowdown;
		values[i] = o[1].slowdown;
		values[n + i] = o[1].slowdown - o[0].slowdown;
		values[2 * n + i] = o[1].shift_s;
		values[3 * n + i] = o[1].settled_s;
		n_unsettled += !o[1].is_settled;
	}
	printf("%-14s %-5s %-4s %3zu  %6.4f %6.4f", kinds[kind].name,
	       marks_names[marks], is_late ? "late" : "fair", n, free_sum / (double)n,
	       sum / (double)n);
	print_quantiles(values, n, 3);
	print_quantiles(values + n, n, 3);
	print_quantiles(values + 2 * n, n, 1);
	print_quantiles(values + 3 * n, n, 1);
	printf("  %zu\n", n_unsettled);
	fflush(stdout);
	free(values);
}

int
main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : N_SEEDS;
	uint64_t first_seed = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;

	printf("%-14s %-5s %-4s %3s  %6s %6s  %-20s  %-20s  %-14s  %-14s  %s\n", "jobs",
	       "marks", "link", "n", "free", "with", "with: p50 p90 worst",
	       "harm: p50 p90 worst", "shift, s", "settled, s", "never");
	for (int k = 0; k < N_KINDS && n; k++)
		for (int how = 0; how < 2 * N_MARKS; how++)
			bench((enum kind)k, (enum marks)(how % N_MARKS), how >= N_MARKS,
			      n, first_seed);
	return 0;
}
