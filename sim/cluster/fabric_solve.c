/* SPDX-License-Identifier: Apache-2.0 */
/* fabric_solve.c - speeds of the jobs of a component, and a memory of solved ones. */
#include <math.h>
#include <string.h>

#include "lib/base/rng.h"
#include "scheduler/core/cassini/cassini.h"
#include "sim/cluster/fabric_priv.h"
#include "sim/cluster/steady.h"
#include "sim/cluster/window.h"
#include "topology/route.h"
#include "topology/topo.h"

#define uthash_fatal(msg) BUG("uthash: %s", msg)
#include <uthash.h>

/* Iterations of the slowest job, and of all jobs in the mean. */
#define MAX_ITERATIONS  128
#define MIN_ITERATIONS  16
#define EACH_OF_SLOWEST 8
/* Iterations times jobs^2: more jobs make each iteration more expensive. */
#define MAX_TOGETHER 8192

static uint32_t
at_least(uint32_t least, size_t n)
{
	return n > least ? (uint32_t)n : least;
}

struct steady_limits
fabric_limits(const struct fabric *fabric, size_t n_jobs)
{
	size_t n = fabric->opts.max_iterations;

	if (n)
		return (struct steady_limits){ (uint32_t)n,
					       at_least(1, EACH_OF_SLOWEST * n) };
	n = MAX_TOGETHER / (n_jobs * n_jobs);
	if (n > MAX_ITERATIONS)
		n = MAX_ITERATIONS;
	return (struct steady_limits){ at_least(MIN_ITERATIONS, n),
				       at_least(MIN_ITERATIONS, EACH_OF_SLOWEST * n) };
}

/* Jobs and hosts: the key of a component. */
struct known {
	UT_hash_handle hh;
	size_t n;       /* Jobs. */
	uint32_t *key;  /* Owned. */
	double *speeds; /* Owned, as the next.  NULL: not run yet. */
	double *squares;
	struct steady_seen *seen; /* Owned.  By job, if measured. */
	bool is_scored;
	struct fabric_known is;
};

/* Iteration times of the members in one mode. */
struct outcome {
	double *mean_ns, *rms_ns; /* Owned, by member, as the next. */
	struct steady_seen *seen; /* NULL: not measured. */
};

static double
square(double slowdown)
{
	return slowdown * slowdown;
}

/* Sum of GPUs times the mean squared slowdown: see fabric_choose.c. */
static double
loss(const struct fabric *fabric, const struct outcome *outcome)
{
	double sum = 0;

	for (size_t i = 0; i < fabric->members.n; i++) {
		const struct placed *placed = fabric->members.items[i];

		sum += placed->n_gpus *
		       square(outcome->rms_ns[i] / placed->isolated_ns);
	}
	return sum;
}

static const struct placed *
slowest_member(const struct fabric *fabric)
{
	const struct placed *slowest = fabric->members.items[0];

	for (size_t i = 1; i < fabric->members.n; i++)
		if (fabric->members.items[i]->isolated_ns > slowest->isolated_ns)
			slowest = fabric->members.items[i];
	return slowest;
}

/* The random begin of a job's first iteration, with that of 'first' at 0. */
static int64_t
phase_ns(const struct placed *placed, const struct placed *first)
{
	double ns = fmod(placed->phase * placed->isolated_ns -
				 first->phase * first->isolated_ns,
			 placed->isolated_ns);

	return llround(ns < 0 ? ns + placed->isolated_ns : ns);
}

/* Whether there are too many jobs with random phases to run until the state repeats. */
static bool
is_window(const struct fabric *fabric, const int64_t *shift_us)
{
	return !shift_us && fabric->members.n > FABRIC_MANY &&
	       !fabric->opts.max_iterations;
}

/* Runs a window, in which jobs continue from their state. */
static int
run_window(struct fabric *fabric, const struct link_subset_job *jobs,
	   struct outcome *outcome)
{
	size_t n = fabric->members.n;
	struct window_past **pasts = xcalloc(n, sizeof *pasts);
	double *phases = xcalloc(n, sizeof *phases);
	struct fabric_counts *counts = &fabric->counts;
	double mean2 = square(counts->window_error);
	struct window window;
	struct rng rng;
	int r;

	rng_init_stream(&rng, fabric->opts.seed, counts->n_windows++);
	for (size_t i = 0; i < n; i++) {
		pasts[i] = &fabric->members.items[i]->past;
		phases[i] = rng_uniform(&rng);
	}
	r = window_run(jobs, n, fabric->topo, rng_next(&rng), phases, pasts,
		       outcome->mean_ns, outcome->rms_ns, outcome->seen, &window);
	if (r == 0)
		counts->window_error = sqrt(mean2 + (square(window.error) - mean2) /
							    (double)counts->n_windows);
	free(pasts);
	free(phases);
	return r;
}

static int
run_steady(struct fabric *fabric, const struct link_subset_job *jobs,
	   struct outcome *outcome)
{
	size_t n = fabric->members.n;
	struct steady steady;
	int r = steady_run(jobs, n, fabric->topo, fabric->opts.seed,
			   fabric_limits(fabric, n), outcome->mean_ns, outcome->rms_ns,
			   outcome->seen, &steady);

	if (r < 0)
		return r;
	fabric->counts.n_exact += steady.is_exact;
	fabric->counts.n_means += !steady.is_exact;
	fabric->counts.max_error = fmax(fabric->counts.max_error, steady.max_error);
	return 0;
}

/* Runs with these shifts; NULL: random phases.  Isolated times if the engine fails. */
static void
run_component(struct fabric *fabric, const int64_t *shift_us, enum engine_pacing pacing,
	      struct outcome *outcome)
{
	size_t n = fabric->members.n;
	struct link_subset_job *jobs = xcalloc(n + 1, sizeof *jobs);
	const struct placed *first = slowest_member(fabric);
	bool goes_on = is_window(fabric, shift_us);
	int r;

	for (size_t i = 0; i < n; i++) {
		const struct placed *placed = fabric->members.items[i];

		jobs[i] = (struct link_subset_job){
			.job = &placed->job,
			.routed = &placed->routed,
			.pacing = shift_us ? pacing : ENGINE_PACE_FREE,
		};
		if (shift_us)
			jobs[i].shift_ns = shift_us[i] * 1000;
		else if (!goes_on)
			jobs[i].shift_ns = phase_ns(placed, first);
	}
	r = goes_on ? run_window(fabric, jobs, outcome)
		    : run_steady(fabric, jobs, outcome);
	for (size_t i = 0; r < 0 && i < n; i++)
		outcome->mean_ns[i] = outcome->rms_ns[i] =
			1e3 * (double)jobs[i].job->profile.period_us;
	free(jobs);
}

/* Also fills CASSINI's score. */
static struct joint_result *
find_shifts(struct fabric *fabric, struct fabric_known *known)
{
	size_t n = fabric->members.n;
	struct workload workload = { .jobs = xcalloc(n + 1, sizeof *workload.jobs),
				     .n = n };
	const struct routed_job **routed = xcalloc(n + 1, sizeof *routed);
	struct work_problem problem;
	struct joint_result *result;

	for (size_t i = 0; i < n; i++) {
		const struct placed *placed = fabric->members.items[i];

		workload.jobs[i] = placed->job; /* Borrows. */
		routed[i] = &placed->routed;
	}
	work_problem_make(&workload, routed, fabric->topo, &problem);
	if (fabric->opts.augment == FABRIC_CASSINI ||
	    fabric->opts.augment == FABRIC_CASSINI_ONCE)
		result = cassini_solve_scored(
			&problem.problem,
			&(struct cassini_opts){ .seed = fabric->opts.seed,
						.merge_twins = true },
			&known->score, &known->n_links);
	else
		result = joint_solve(&problem.problem,
				     &(struct joint_opts){ .seed = fabric->opts.seed,
							   .n_restarts = 2 });
	work_problem_fini(&problem);
	free(workload.jobs);
	free(routed);
	return result;
}

static void
free_seen(struct steady_seen *seen, size_t n)
{
	for (size_t i = 0; seen && i < n; i++)
		histogram_fini(&seen[i].times_ns);
	free(seen);
}

static struct outcome
new_outcome(const struct fabric *fabric)
{
	size_t n = fabric->members.n;

	return (struct outcome){
		.mean_ns = xcalloc(n + 1, sizeof(double)),
		.rms_ns = xcalloc(n + 1, sizeof(double)),
		.seen = fabric->opts.measure
				? xcalloc(n + 1, sizeof(struct steady_seen))
				: NULL,
	};
}

static void
free_outcome(struct outcome *outcome, size_t n)
{
	free(outcome->mean_ns);
	free(outcome->rms_ns);
	free_seen(outcome->seen, n);
}

static enum engine_pacing
pacing_of(enum fabric_augment augment)
{
	switch (augment) {
	case FABRIC_CASSINI:
		return ENGINE_PACE_REALIGN;
	case FABRIC_ANTIPHASE:
		return ENGINE_PACE_GATE;
	default:
		break;
	}
	return ENGINE_PACE_FREE;
}

static bool
seeks_shifts(const struct fabric *fabric)
{
	switch (fabric->opts.augment) {
	case FABRIC_CASSINI:
	case FABRIC_CASSINI_ONCE:
		return true;
	case FABRIC_ANTIPHASE:
		return fabric->members.n <= FABRIC_MANY &&
		       fabric_pulls(fabric, ADVISE_TIME);
	default:
		return false;
	}
}

/* Runs the members, and remembers the result. */
static void
solve(struct fabric *fabric, struct known *known)
{
	size_t n = fabric->members.n;
	struct outcome chance = new_outcome(fabric), shifted = new_outcome(fabric);
	struct outcome *best = &chance;
	bool is_antiphase = fabric->opts.augment == FABRIC_ANTIPHASE;
	struct joint_result *result =
		seeks_shifts(fabric) ? find_shifts(fabric, &known->is) : NULL;

	fabric->counts.n_solved++;
	known->is.has_loop = result && result->gave_up;
	fabric->counts.n_loops += known->is.has_loop;
	if (result && !result->gave_up) {
		run_component(fabric, result->shift_us, pacing_of(fabric->opts.augment),
			      &shifted);
		best = &shifted;
	}
	if (best == &chance || is_antiphase) {
		run_component(fabric, NULL, ENGINE_PACE_FREE, &chance);
		if (best == &shifted && loss(fabric, &shifted) >= loss(fabric, &chance))
			best = &chance;
	}
	fabric->counts.n_shifted += best == &shifted;
	for (size_t i = 0; i < n; i++) {
		double isolated_ns = fabric->members.items[i]->isolated_ns;

		known->speeds[i] = isolated_ns / best->mean_ns[i];
		known->squares[i] = square(best->rms_ns[i] / isolated_ns);
	}
	known->seen = best->seen;
	best->seen = NULL;
	joint_result_free(result);
	free_outcome(&chance, n);
	free_outcome(&shifted, n);
}

/* ---- Memory ---------------------------------------------------------------------- */

static void
forget(struct fabric *fabric, struct known *known)
{
	HASH_DEL(fabric->known, known);
	free(known->key);
	free(known->speeds);
	free(known->squares);
	free_seen(known->seen, known->n);
	free(known);
}

static void
make_key(struct fabric *fabric)
{
	const bool has_paths =
		(fabric->paths || fabric->baseline) && routes_all_hash(fabric->routes);

	fabric->key.n = 0;
	for (size_t i = 0; i < fabric->members.n; i++) {
		const struct placed *placed = fabric->members.items[i];
		const struct work_job *job = &placed->job;

		vec_push(&fabric->key, placed->id);
		vec_push(&fabric->key, placed->n_gpus);
		vec_push(&fabric->key, job->n_hosts_wanted);
		for (uint32_t h = 0; h < job->n_hosts_wanted; h++)
			vec_push(&fabric->key, job->hosts[h]);
		vec_push(&fabric->key, job->priority);
		for (size_t f = 0; has_paths && f < placed->routed.flows.n; f++)
			vec_push(&fabric->key, placed->routed.paths[f]);
	}
}

static struct known *
find_known(struct fabric *fabric)
{
	size_t n_bytes;
	struct known *known;

	make_key(fabric);
	n_bytes = fabric->key.n * sizeof *fabric->key.items;
	HASH_FIND(hh, fabric->known, fabric->key.items, n_bytes, known);
	if (known)
		return known;
	if (HASH_COUNT(fabric->known) >= fabric->opts.max_remembered)
		forget(fabric, fabric->known);
	known = xcalloc(1, sizeof *known);
	known->key = xmemdup(fabric->key.items, fabric->key.n, sizeof *known->key);
	known->n = fabric->members.n;
	HASH_ADD_KEYPTR(hh, fabric->known, known->key, n_bytes, known);
	return known;
}

struct fabric_known
fabric_recall(struct fabric *fabric)
{
	struct known *known = find_known(fabric);

	if (!known->speeds) {
		known->speeds = xcalloc(known->n, sizeof *known->speeds);
		known->squares = xcalloc(known->n, sizeof *known->squares);
		solve(fabric, known);
		known->is.speeds = known->speeds;
		known->is.squares = known->squares;
		known->is.seen = known->seen;
		known->is_scored = true;
	}
	return known->is;
}

struct fabric_known
fabric_score(struct fabric *fabric)
{
	struct known *known = find_known(fabric);

	if (!known->is_scored) {
		struct joint_result *result = find_shifts(fabric, &known->is);

		known->is.has_loop = result && result->gave_up;
		known->is_scored = true;
		joint_result_free(result);
	}
	return known->is;
}

void
fabric_forget_all(struct fabric *fabric)
{
	while (fabric->known)
		forget(fabric, fabric->known);
}
