/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cluster/steady.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/vec.h"

#define N_BATCHES 16
#define WARM_UP   0.25 /* Fraction of the time. */
#define SAME_NS   1.0  /* The engine's resolution. */
/*
 * Chosen: a run with a job that has no iteration, since higher priorities leave it
 * nothing, ends after so many times the iterations of the slowest job.
 */
#define STARVED 16

struct iteration {
	double end_ns, took_ns;
};

/* Observations of a job. */
struct seen {
	VEC(struct iteration) iterations;
	size_t n_at_save; /* Iterations when the state was kept. */
	VEC(double) ecn;  /* Marked packets until each of run.noted_ns. */
};

struct run {
	struct engine *engine;
	struct seen *seen;
	size_t n, slowest;
	struct steady_limits limits;
	uint64_t n_all;
	size_t n_unseen; /* Jobs without an iteration. */
	double starved_ns;
	bool is_measured;
	VEC(double) noted_ns;
	size_t n_noted_at_save;
};

static bool
is_spent(const struct run *run)
{
	if (run->n_unseen && engine_now_ns(run->engine) > run->starved_ns)
		return true;
	return run->seen[run->slowest].iterations.n >= run->limits.of_slowest ||
	       (!run->n_unseen && run->n_all >= (uint64_t)run->limits.of_each * run->n);
}

static void
on_iteration(void *ctx, uint32_t job, uint64_t iteration, double start_ns,
	     double end_ns)
{
	struct run *run = ctx;
	struct seen *seen = &run->seen[job];
	size_t n = seen->iterations.n;
	double since_ns = n ? seen->iterations.items[n - 1].end_ns : start_ns;

	(void)iteration;
	run->n_unseen -= !n;
	run->n_all++;
	vec_push(&seen->iterations, ((struct iteration){ end_ns, end_ns - since_ns }));
	if (job == run->slowest || is_spent(run))
		engine_stop(run->engine);
}

static bool
is_same(const double *a, const double *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fabs(a[i] - b[i]) > SAME_NS)
			return false;
	return true;
}

/* Records the marked packets until now. */
static void
note_marks(struct run *run)
{
	struct engine_job_stats stats;

	vec_push(&run->noted_ns, engine_now_ns(run->engine));
	for (size_t j = 0; j < run->n; j++) {
		engine_job_stats(run->engine, (uint32_t)j, &stats);
		vec_push(&run->seen[j].ecn, stats.ecn_packets);
	}
}

/* Makes the present state the one to find again. */
static void
note_save(struct run *run)
{
	run->n_noted_at_save = run->noted_ns.n;
	for (size_t j = 0; j < run->n; j++)
		run->seen[j].n_at_save = run->seen[j].iterations.n;
}

/* True if all jobs had an iteration since the state was kept. */
static bool
has_all_since_save(const struct run *run)
{
	for (size_t j = 0; j < run->n; j++)
		if (run->seen[j].iterations.n == run->seen[j].n_at_save)
			return false;
	return true;
}

/*
 * Runs until the state repeats, which returns true with the length of the cycle, or to
 * the limits.
 */
static bool
find_cycle(struct run *run, bool may_repeat, double *ret_length_ns)
{
	size_t size = engine_state_size(run->engine);
	double *now = xcalloc(size + 1, sizeof *now);
	double *kept = xcalloc(size + 1, sizeof *kept), kept_ns = 0;
	uint64_t since = 0, power = 1;
	bool is_exact = false;

	while (!is_exact && !is_spent(run)) {
		engine_run(run->engine, ENGINE_NEVER);
		if (run->is_measured)
			note_marks(run);
		if (!may_repeat)
			continue;
		engine_state(run->engine, now);
		if (since && is_same(now, kept, size)) {
			*ret_length_ns = engine_now_ns(run->engine) - kept_ns;
			is_exact = has_all_since_save(run);
		} else if (++since == power) {
			double *other = kept;

			kept = now;
			now = other;
			kept_ns = engine_now_ns(run->engine);
			note_save(run);
			power *= 2;
			since = 1;
		}
	}
	free(now);
	free(kept);
	return is_exact;
}

/* The first iteration that began after the warm-up; the last if none did. */
static size_t
first_warm(const struct seen *seen, double warm_ns)
{
	size_t n = seen->iterations.n;

	for (size_t i = 0; i < n; i++)
		if (seen->iterations.items[i].end_ns -
			    seen->iterations.items[i].took_ns >=
		    warm_ns - SAME_NS)
			return i;
	return n ? n - 1 : 0;
}

static double
mean_ns(const struct seen *seen, size_t from)
{
	double sum_ns = 0;

	for (size_t i = from; i < seen->iterations.n; i++)
		sum_ns += seen->iterations.items[i].took_ns;
	return sum_ns / (double)(seen->iterations.n - from);
}

/* Root mean square; at least 'mean' despite rounding. */
static double
rms_ns(const struct seen *seen, size_t from, double mean)
{
	double square_ns2 = 0;

	for (size_t i = from; i < seen->iterations.n; i++)
		square_ns2 += seen->iterations.items[i].took_ns *
			      seen->iterations.items[i].took_ns;
	return fmax(mean, sqrt(square_ns2 / (double)(seen->iterations.n - from)));
}

/* Relative standard error of the mean, from batches of equal time; 0 for one batch. */
static double
standard_error(const struct seen *seen, size_t from, double warm_ns, double end_ns,
	       double mean)
{
	double sum_ns[N_BATCHES] = { 0 }, square = 0;
	uint64_t n_in[N_BATCHES] = { 0 };
	unsigned n_batches = 0;

	for (size_t i = from; i < seen->iterations.n; i++) {
		const struct iteration *it = &seen->iterations.items[i];
		double at = (it->end_ns - warm_ns) / (end_ns - warm_ns) * N_BATCHES;
		unsigned batch =
			at < N_BATCHES - 1 ? (unsigned)fmax(at, 0) : N_BATCHES - 1;

		sum_ns[batch] += it->took_ns;
		n_in[batch]++;
	}
	for (unsigned b = 0; b < N_BATCHES; b++)
		if (n_in[b]) {
			double off = sum_ns[b] / (double)n_in[b] - mean;

			square += off * off;
			n_batches++;
		}
	return n_batches > 1 ? sqrt(square / (n_batches * (n_batches - 1.0))) / mean
			     : 0;
}

/*
 * Marked packets per iteration: since the kept state, or since the first note after
 * the warm-up.
 */
static double
marks_of(const struct run *run, const struct seen *seen, bool is_exact, double warm_ns)
{
	size_t last = run->noted_ns.n - 1, first = run->n_noted_at_save - 1, n = 0;
	double from_ns;

	for (first = is_exact ? first : 0; !is_exact && first < last; first++)
		if (run->noted_ns.items[first] >= warm_ns)
			break;
	from_ns = run->noted_ns.items[first];
	for (size_t i = seen->iterations.n; i > 0; i--, n++)
		if (seen->iterations.items[i - 1].end_ns <= from_ns)
			break;
	if (n)
		return (seen->ecn.items[last] - seen->ecn.items[first]) / (double)n;
	return seen->iterations.n ? seen->ecn.items[last] / (double)seen->iterations.n
				  : 0;
}

/* Fills the results by job. */
static void
fill_results(const struct run *run, bool is_exact, double length_ns,
	     double *ret_iteration_ns, double *ret_rms_ns, struct steady_seen *ret_seen,
	     struct steady *ret_steady)
{
	double end_ns = engine_now_ns(run->engine), warm_ns = WARM_UP * end_ns;

	for (size_t j = 0; j < run->n; j++) {
		const struct seen *seen = &run->seen[j];
		size_t from = is_exact ? seen->n_at_save : first_warm(seen, warm_ns);
		size_t n = seen->iterations.n - from;
		/* A lower bound if no iteration ended. */
		double mean = is_exact ? length_ns / (double)n
			      : n      ? mean_ns(seen, from)
				       : end_ns;

		if (!is_exact && n)
			ret_steady->max_error =
				fmax(ret_steady->max_error,
				     standard_error(seen, from, warm_ns, end_ns, mean));
		ret_iteration_ns[j] = mean;
		if (ret_rms_ns)
			ret_rms_ns[j] = n ? rms_ns(seen, from, mean) : mean;
		if (!ret_seen)
			continue;
		ret_seen[j] = (struct steady_seen){
			.ecn_packets = marks_of(run, seen, is_exact, warm_ns),
		};
		for (size_t i = from; i < seen->iterations.n; i++)
			histogram_add(&ret_seen[j].times_ns,
				      seen->iterations.items[i].took_ns, 1);
	}
}

int
steady_run(const struct link_subset_job *jobs, size_t n, const struct topo *topo,
	   uint64_t seed, struct steady_limits limits, double *ret_iteration_ns,
	   double *ret_rms_ns, struct steady_seen *ret_seen, struct steady *ret_steady)
{
	struct run run = {
		.n = n, .n_unseen = n, .limits = limits, .is_measured = ret_seen != NULL
	};
	const struct engine_config config = {
		.seed = seed,
		.measure_links = ret_seen != NULL,
		.observer = { .ctx = &run, .on_iteration = on_iteration }
	};
	bool may_repeat = true;
	double length_ns = 0;
	int r = link_subset_engine(jobs, n, topo, &config, &run.engine);

	*ret_steady = (struct steady){ 0 };
	if (r < 0)
		return r;
	run.seen = xcalloc(n + 1, sizeof *run.seen);
	for (size_t j = 0; j < n; j++) {
		may_repeat &=
			!(jobs[j].job->jitter_frac > 0 || jobs[j].job->stall_frac > 0);
		if (jobs[j].job->profile.period_us >
		    jobs[run.slowest].job->profile.period_us)
			run.slowest = j;
	}
	run.starved_ns = STARVED * 1e3 * limits.of_slowest *
			 (double)jobs[run.slowest].job->profile.period_us;
	ret_steady->is_exact = find_cycle(&run, may_repeat, &length_ns);
	ret_steady->n_iterations = run.n_all;
	fill_results(&run, ret_steady->is_exact, length_ns, ret_iteration_ns,
		     ret_rms_ns, ret_seen, ret_steady);
	engine_free(run.engine);
	for (size_t j = 0; j < n; j++) {
		vec_free(&run.seen[j].iterations);
		vec_free(&run.seen[j].ecn);
	}
	vec_free(&run.noted_ns);
	free(run.seen);
	return 0;
}
