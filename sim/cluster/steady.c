#include "sim/cluster/steady.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/vec.h"
#include "topology/topo.h"

#define N_BATCHES 16
#define WARM_UP   0.25
#define SPREAD    8   /* Iterations of all jobs, over max_iterations, a job. */
#define SAME_NS   1.0 /* What the engine takes for the same time. */

struct seen {
	uint64_t n;                           /* Iterations. */
	uint64_t n_at_save;                   /* When the state was kept. */
	uint64_t n_at_warm;                   /* When the first part was over. */
	double ecn, ecn_at_save, ecn_at_warm; /* Packets that were marked. */
	/* Sums of squares: of all, those when the state was kept; after the first part. */
	double square_ns2, square_at_save_ns2, square_warm_ns2;
	double last_end_ns;
	double sum_ns[N_BATCHES];
	uint64_t n_in[N_BATCHES];
	VEC(double) times_ns; /* Of all its iterations, if they are wanted. */
};

struct run {
	struct engine *engine;
	struct seen *seen;
	size_t slowest;
	uint64_t n_all;
	uint32_t warm_up, max_iterations;
	bool is_measured;
};

static void
on_iteration(void *ctx, uint32_t job, uint64_t iteration, double start_ns,
	     double end_ns)
{
	struct run *run = ctx;
	struct seen *seen = &run->seen[job];
	uint64_t at = run->seen[run->slowest].n;
	double took_ns = end_ns - (seen->n ? seen->last_end_ns : start_ns);

	(void)iteration;
	if (at >= run->warm_up && at < run->max_iterations) {
		uint64_t batch = (at - run->warm_up) * N_BATCHES /
				 (run->max_iterations - run->warm_up);

		seen->sum_ns[batch] += took_ns;
		seen->square_warm_ns2 += took_ns * took_ns;
		seen->n_in[batch]++;
	}
	if (run->is_measured)
		vec_push(&seen->times_ns, took_ns);
	seen->square_ns2 += took_ns * took_ns;
	seen->last_end_ns = end_ns;
	seen->n++;
	run->n_all++;
	if (job == run->slowest)
		engine_stop(run->engine);
}

/* Links under dense numbers, so that the engine is small. */
static double *
number_links(const struct steady_job *jobs, size_t n, const struct topo *topo,
	     struct laid_job *ret_laid, bool **ret_unmarked, uint32_t *ret_n_links)
{
	VEC(uint32_t) links = VEC_EMPTY;
	double *capacity_bps;
	uint32_t *number, n_links = 0;

	number = xcalloc(topo_n_links(topo) + 1, sizeof *number);
	for (size_t j = 0; j < n; j++) {
		const struct laid_job *laid = jobs[j].laid;
		size_t n_hops = laid->flows.n ? laid->path_first[laid->flows.n] : 0;

		ret_laid[j] = *laid;
		ret_laid[j].path_links = xcalloc(n_hops + 1, sizeof(uint32_t));
		for (size_t i = 0; i < n_hops; i++) {
			uint32_t link = laid->path_links[i];

			if (!number[link]) {
				number[link] = ++n_links;
				vec_push(&links, link);
			}
			ret_laid[j].path_links[i] = number[link] - 1;
		}
	}
	free(number);
	capacity_bps = xcalloc(n_links + 1, sizeof *capacity_bps);
	*ret_unmarked = xcalloc(n_links + 1, sizeof **ret_unmarked);
	for (size_t i = 0; i < links.n; i++) {
		const struct topo_link *link = topo_link(topo, links.items[i]);

		capacity_bps[i] = link->capacity_bps;
		(*ret_unmarked)[i] = topo_node(topo, link->from)->kind == TOPO_HOST;
	}
	vec_free(&links);
	*ret_n_links = n_links;
	return capacity_bps;
}

static bool
is_same(const double *a, const double *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fabs(a[i] - b[i]) > SAME_NS)
			return false;
	return true;
}

/* How many packets were marked up to now. */
static void
note_marks(struct run *run, size_t n)
{
	struct engine_job_stats stats;
	bool is_warm = run->seen[run->slowest].n <= run->warm_up;

	for (size_t j = 0; j < n; j++) {
		struct seen *seen = &run->seen[j];

		engine_job_stats(run->engine, (uint32_t)j, &stats);
		seen->ecn = stats.ecn_packets;
		if (is_warm) {
			seen->ecn_at_warm = seen->ecn;
			seen->n_at_warm = seen->n;
		}
	}
}

/* True with the exact means, if the state repeats. */
static bool
find_cycle(struct run *run, size_t n, bool may_repeat, double *ret_iteration_ns)
{
	size_t size = engine_state_size(run->engine);
	double *now = xcalloc(size + 1, sizeof *now);
	double *kept = xcalloc(size + 1, sizeof *kept), kept_ns = 0;
	uint64_t since = 0, power = 1;
	bool is_exact = false;

	while (!is_exact && run->seen[run->slowest].n < run->max_iterations &&
	       run->n_all < (uint64_t)SPREAD * run->max_iterations * n) {
		engine_run(run->engine, ENGINE_NEVER);
		if (run->is_measured)
			note_marks(run, n);
		if (!may_repeat)
			continue;
		engine_state(run->engine, now);
		if (since && is_same(now, kept, size)) {
			double length_ns = engine_now_ns(run->engine) - kept_ns;

			is_exact = true;
			for (size_t j = 0; j < n; j++)
				is_exact &= run->seen[j].n > run->seen[j].n_at_save;
			for (size_t j = 0; is_exact && j < n; j++)
				ret_iteration_ns[j] =
					length_ns / (double)(run->seen[j].n -
							     run->seen[j].n_at_save);
		} else if (++since == power) {
			double *other = kept;

			kept = now;
			now = other;
			kept_ns = engine_now_ns(run->engine);
			for (size_t j = 0; j < n; j++) {
				run->seen[j].n_at_save = run->seen[j].n;
				run->seen[j].ecn_at_save = run->seen[j].ecn;
				run->seen[j].square_at_save_ns2 =
					run->seen[j].square_ns2;
			}
			power *= 2;
			since = 1;
		}
	}
	free(now);
	free(kept);
	return is_exact;
}

/* The mean over the batches, and its standard error. */
static double
mean_ns(const struct seen *seen, double now_ns, double *ret_error)
{
	double sum_ns = 0, mean, square = 0;
	uint64_t n = 0;
	unsigned n_batches = 0;

	*ret_error = 0;
	for (unsigned b = 0; b < N_BATCHES; b++) {
		sum_ns += seen->sum_ns[b];
		n += seen->n_in[b];
		n_batches += seen->n_in[b] > 0;
	}
	if (!n)
		return seen->n ? seen->last_end_ns / (double)seen->n : now_ns;
	mean = sum_ns / (double)n;
	for (unsigned b = 0; b < N_BATCHES; b++)
		if (seen->n_in[b]) {
			double off = seen->sum_ns[b] / (double)seen->n_in[b] - mean;

			square += off * off;
		}
	if (n_batches > 1)
		*ret_error = sqrt(square / (n_batches * (n_batches - 1.0))) / mean;
	return mean;
}

/* Of the same iterations as their mean, which it is not below. */
static double
rms_ns(const struct seen *seen, bool is_exact, double mean)
{
	double square_ns2 = is_exact ? seen->square_ns2 - seen->square_at_save_ns2
				     : seen->square_warm_ns2;
	uint64_t n = is_exact ? seen->n - seen->n_at_save : 0;

	for (unsigned b = 0; !is_exact && b < N_BATCHES; b++)
		n += seen->n_in[b];
	return n ? fmax(mean, sqrt(square_ns2 / (double)n)) : mean;
}

/* Of the part that repeats, or else of what came after the first. */
static void
tell_seen(const struct seen *seen, bool is_exact, struct steady_seen *ret_seen)
{
	uint64_t from = is_exact ? seen->n_at_save : seen->n_at_warm;
	double ecn = seen->ecn - (is_exact ? seen->ecn_at_save : seen->ecn_at_warm);

	*ret_seen = (struct steady_seen){ 0 };
	if (from >= seen->times_ns.n) {
		from = 0;
		ecn = seen->ecn;
	}
	for (uint64_t i = from; i < seen->times_ns.n; i++)
		spread_add(&ret_seen->times_ns, seen->times_ns.items[i], 1);
	if (seen->times_ns.n)
		ret_seen->ecn_packets = ecn / (double)(seen->times_ns.n - from);
}

int
steady_run(const struct steady_job *jobs, size_t n, const struct topo *topo,
	   uint64_t seed, uint32_t max_iterations, double *ret_iteration_ns,
	   double *ret_rms_ns, struct steady_seen *ret_seen, struct steady *ret_steady)
{
	struct laid_job *laid = xcalloc(n + 1, sizeof *laid);
	struct run run = { .max_iterations = max_iterations,
			   .warm_up = (uint32_t)(WARM_UP * max_iterations),
			   .is_measured = ret_seen != NULL };
	struct engine_config config = { .seed = seed,
					.measure_links = ret_seen != NULL,
					.observer = { .ctx = &run,
						      .on_iteration = on_iteration } };
	bool may_repeat = true, *unmarked;
	double *capacity_bps =
		number_links(jobs, n, topo, laid, &unmarked, &config.n_links);
	int r = 0;

	config.capacity_bps = capacity_bps;
	config.unmarked = unmarked;
	run.engine = engine_new(&config);
	run.seen = xcalloc(n + 1, sizeof *run.seen);
	for (size_t j = 0; r == 0 && j < n; j++) {
		struct work_job job = *jobs[j].job;
		uint32_t id;

		job.arrival_ns = 0;
		job.stop_ns = ENGINE_NEVER;
		job.max_iterations = 0;
		may_repeat &= !(job.jitter_frac > 0);
		if (job.profile.period_us > jobs[run.slowest].job->profile.period_us)
			run.slowest = j;
		r = laid_job_add(&job, &laid[j], run.engine, jobs[j].shift_ns,
				 jobs[j].pacing, &id);
	}
	*ret_steady = (struct steady){ 0 };
	if (r == 0) {
		ret_steady->is_exact =
			find_cycle(&run, n, may_repeat, ret_iteration_ns);
		ret_steady->n_iterations = run.n_all;
	}
	for (size_t j = 0; r == 0 && !ret_steady->is_exact && j < n; j++) {
		double error;

		ret_iteration_ns[j] =
			mean_ns(&run.seen[j], engine_now_ns(run.engine), &error);
		ret_steady->max_error = fmax(ret_steady->max_error, error);
	}
	for (size_t j = 0; r == 0 && ret_rms_ns && j < n; j++)
		ret_rms_ns[j] =
			rms_ns(&run.seen[j], ret_steady->is_exact, ret_iteration_ns[j]);
	for (size_t j = 0; r == 0 && ret_seen && j < n; j++)
		tell_seen(&run.seen[j], ret_steady->is_exact, &ret_seen[j]);
	engine_free(run.engine);
	for (size_t j = 0; j < n; j++) {
		free(laid[j].path_links);
		vec_free(&run.seen[j].times_ns);
	}
	free(unmarked);
	free(laid);
	free(capacity_bps);
	free(run.seen);
	return r;
}
