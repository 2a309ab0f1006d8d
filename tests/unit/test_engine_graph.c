/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_engine_graph.c - segments of an iteration that overlap: cases by hand, and random
 * graphs of several jobs in the engine and in a naive twin of it
 *
 * The twin computes all rates anew at every event by progressive filling (fluid_twin.h)
 * and subtracts what each flow has sent; a segment starts when it finds that all those
 * before it have ended.
 */
#include <errno.h>

#include "tests/unit/fluid_twin.h"
#include "tests/unit/sim_lab.h"
#include "tests/unit/test.h"

#if defined(__SANITIZE_ADDRESS__)
#define N_CASES 60
#else
#define N_CASES 600
#endif

#define MAX_JOBS  4
#define MAX_SEGS  9
#define MAX_FLOWS 3
#define MAX_LINKS 6

/* ------ By hand: one link of 50 Gb/s, so 62.5 MB take 10 ms ------ */

#define FLOW_10MS               \
	(&(struct engine_flow){ \
		.links = PATH, .n_links = 1, .bytes = 62.5e6, .weight = 1 })
#define AFTER(...)                                  \
	.after = (const uint32_t[]){ __VA_ARGS__ }, \
	.n_after = sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t)

static struct engine_job
job_of(const struct engine_segment *segments, uint32_t n, uint64_t n_iterations)
{
	return (struct engine_job){ .segments = segments,
				    .n_segments = n,
				    .stop_ns = ENGINE_NEVER,
				    .max_iterations = n_iterations };
}

static void
add(struct lab *lab, const struct engine_job *job)
{
	uint32_t id;

	assert_int_equal(engine_add_job(lab->engine, job, &id), 0);
	lab->n_jobs++;
}

static void
assert_ends_ms(const struct lab *lab, uint32_t job, const double *ends_ms, size_t n)
{
	size_t seen = 0;

	for (size_t i = 0; i < lab->iterations.n; i++) {
		if (lab->iterations.items[i].job != job)
			continue;
		assert_true(seen < n);
		assert_near(lab->iterations.items[i].end_ns, ends_ms[seen] * MS, 2);
		seen++;
	}
	assert_int_equal(seen, n);
}

static void
assert_flows_ms(const struct lab *lab, size_t i, uint32_t segment, double start_ms,
		double end_ms)
{
	assert_true(i < lab->flows.n);
	assert_int_equal(lab->flows.items[i].segment, segment);
	assert_near(lab->flows.items[i].start_ns, start_ms * MS, 2);
	assert_near(lab->flows.items[i].end_ns, end_ms * MS, 2);
}

/*
 * Backward passes of 8 ms each; bucket 1 sends beside the second one, bucket 2 after
 * it, and both share the link for 4 ms.
 */
static void
buckets_overlap_the_backward_pass(void **state)
{
	const struct engine_segment segments[] = {
		{ .compute_ns = 8 * MS },
		{ .flows = FLOW_10MS, .n_flows = 1 },
		{ .compute_ns = 8 * MS, AFTER(0) },
		{ .flows = FLOW_10MS, .n_flows = 1 },
		{ .compute_ns = MS, AFTER(1, 3) },
	};
	struct engine_job job = job_of(segments, 5, 2);
	struct lab lab;

	(void)state;
	lab_open_link(&lab);
	add(&lab, &job);
	engine_run(lab.engine, ENGINE_NEVER);
	/* 1: 8 to 20 ms (2 ms left at 16 ms, at half the rate); 2: 16 to 28 ms. */
	assert_flows_ms(&lab, 0, 1, 8, 20);
	assert_flows_ms(&lab, 1, 3, 16, 28);
	assert_ends_ms(&lab, 0, (double[]){ 29, 58 }, 2);
	assert_int_equal(engine_flows_finished(lab.engine), 4);
	lab_close(&lab);
}

/* Two flows of a job over one link are no isolated flows, though it has no other job. */
static void
flows_of_a_job_share_a_link(void **state)
{
	const struct engine_segment segments[] = {
		{ .flows = FLOW_10MS, .n_flows = 1, .from_start = true },
		{ .flows = FLOW_10MS, .n_flows = 1, .from_start = true },
		{ .compute_ns = 5 * MS, .from_start = true },
	};
	struct engine_job job = job_of(segments, 3, 1);
	struct lab lab;

	(void)state;
	for (int told = 0; told < 2; told++) {
		struct engine_config config = lab_config(&lab, ONE_LINK, 1);

		if (!told)
			config.observer.on_flows = NULL;
		lab_open(&lab, &config);
		add(&lab, &job);
		engine_run(lab.engine, ENGINE_NEVER);
		assert_ends_ms(&lab, 0, (double[]){ 20 }, 1);
		lab_close(&lab);
	}
}

static void
latency_delays_the_bytes_and_not_the_computing(void **state)
{
	const struct engine_segment chain[] = {
		{ .compute_ns = 4 * MS,
		  .flows_offset_ns = 2 * MS,
		  .latency_ns = 3 * MS,
		  .flows = FLOW_10MS,
		  .n_flows = 1 },
		{ .compute_ns = MS, .latency_ns = 7 * MS },
	};
	struct engine_job job = job_of(chain, 2, 2);
	struct lab lab;

	(void)state;
	lab_open_link(&lab);
	add(&lab, &job);
	engine_run(lab.engine, ENGINE_NEVER);
	assert_flows_ms(&lab, 0, 0, 5, 15);
	assert_ends_ms(&lab, 0, (double[]){ 16, 32 }, 2);
	lab_close(&lab);
}

/* A graph that is a chain gives what the chain gives, with jitter and every pacing. */
static void
a_graph_that_is_a_chain_is_one(void **state)
{
	static const enum engine_pacing pacings[] = { ENGINE_PACE_FREE,
						      ENGINE_PACE_REALIGN,
						      ENGINE_PACE_GATE };
	/* Segment 1 waits for 0 twice, which makes a graph. */
	const struct engine_segment graph[] = {
		{ .compute_ns = 9 * MS },
		{ .flows = FLOW_10MS, .n_flows = 1, AFTER(0, 0) },
		{ .compute_ns = 3 * MS },
	};
	const struct engine_segment chain[] = { graph[0],
						{ .flows = FLOW_10MS, .n_flows = 1 },
						graph[2] };

	(void)state;
	for (size_t p = 0; p < 3; p++) {
		struct lab labs[2];

		for (int i = 0; i < 2; i++) {
			lab_open_link(&labs[i]);
			for (int j = 0; j < 3; j++) {
				struct engine_job job =
					job_of(i ? graph : chain, 3, 50);

				job.jitter_frac = 0.1;
				job.pacing = pacings[p];
				job.grid_ns = 30 * MS;
				job.shift_ns = j * 4 * MS;
				add(&labs[i], &job);
			}
			engine_run(labs[i].engine, ENGINE_NEVER);
		}
		assert_int_equal(labs[0].iterations.n, 150);
		assert_int_equal(labs[1].iterations.n, 150);
		for (size_t i = 0; i < 150; i++)
			assert_near(labs[0].iterations.items[i].end_ns,
				    labs[1].iterations.items[i].end_ns, 1e-3);
		lab_close(&labs[0]);
		lab_close(&labs[1]);
	}
}

/* Each bucket passes the gate on its own, and none waits for its own job's flows. */
static void
the_gate_holds_segments_back_only_for_other_jobs(void **state)
{
	const struct engine_segment buckets[] = {
		{ .compute_ns = 2 * MS },
		{ .flows = FLOW_10MS, .n_flows = 1 },
		{ .compute_ns = 2 * MS, AFTER(0) },
		{ .flows = FLOW_10MS, .n_flows = 1 },
		{ .compute_ns = 0, AFTER(1, 3) },
	};
	const struct engine_segment single[] = {
		{ .compute_ns = 3 * MS },
		{ .flows = FLOW_10MS, .n_flows = 1 },
	};
	struct engine_job a = job_of(buckets, 5, 1), b = job_of(single, 2, 1);
	struct engine_job_stats stats;
	struct lab lab;

	(void)state;
	a.pacing = b.pacing = ENGINE_PACE_GATE;
	lab_open_link(&lab);
	add(&lab, &a);
	add(&lab, &b);
	engine_run(lab.engine, ENGINE_NEVER);
	/* The buckets take the link from 2 to 22 ms, together; then the other job. */
	assert_ends_ms(&lab, 0, (double[]){ 22 }, 1);
	assert_ends_ms(&lab, 1, (double[]){ 32 }, 1);
	engine_job_stats(lab.engine, 0, &stats);
	assert_int_equal(stats.n_corrections, 0);
	engine_job_stats(lab.engine, 1, &stats);
	assert_near(stats.waited_ns, 19.0 * MS, 2);
	lab_close(&lab);
}

/* The job leaves amid three running segments, and the other job has the link. */
static void
a_job_leaves_with_all_its_segments(void **state)
{
	const struct engine_segment fork[] = {
		{ .flows = FLOW_10MS, .n_flows = 1, .from_start = true },
		{ .flows = FLOW_10MS, .n_flows = 1, .from_start = true },
		{ .compute_ns = 50 * MS, .from_start = true },
	};
	const struct engine_segment single = { .flows = FLOW_10MS, .n_flows = 1 };
	struct engine_job a = job_of(fork, 3, 1), b = job_of(&single, 1, 1);
	struct lab lab;

	(void)state;
	a.stop_ns = 6 * MS;
	lab_open_link(&lab);
	add(&lab, &a);
	add(&lab, &b);
	engine_run(lab.engine, ENGINE_NEVER);
	/* A third for 6 ms, then all: 2 + 8 ms. */
	assert_ends_ms(&lab, 0, (double[]){ 0 }, 0);
	assert_ends_ms(&lab, 1, (double[]){ 14 }, 1);
	lab_close(&lab);
}

static void
only_earlier_segments_can_be_waited_for(void **state)
{
	struct engine_segment segments[2] = { { .compute_ns = MS },
					      { .compute_ns = MS, AFTER(0) } };
	struct engine_job job = job_of(segments, 2, 1);
	uint32_t itself = 1, none = 7, id;
	struct lab lab;

	(void)state;
	lab_open_link(&lab);
	add(&lab, &job);
	segments[1].from_start = true; /* Both. */
	assert_int_equal(engine_add_job(lab.engine, &job, &id), -EINVAL);
	segments[1].from_start = false;
	segments[1].after = &itself;
	assert_int_equal(engine_add_job(lab.engine, &job, &id), -EINVAL);
	segments[1].after = &none;
	assert_int_equal(engine_add_job(lab.engine, &job, &id), -EINVAL);
	segments[1].after = NULL;
	assert_int_equal(engine_add_job(lab.engine, &job, &id), -EINVAL);
	segments[1].n_after = 0;
	segments[0].n_after = 1;
	segments[0].after = &itself;
	assert_int_equal(engine_add_job(lab.engine, &job, &id), -EINVAL);
	segments[0].n_after = 0;
	segments[0].latency_ns = -1;
	assert_int_equal(engine_add_job(lab.engine, &job, &id), -EINVAL);
	segments[0].latency_ns = 0;
	assert_int_equal(engine_add_job(lab.engine, &job, &id), 0);
	lab_close(&lab);
}

/* A point of a job whose segments overlap cannot be resumed; the state repeats. */
static void
states_repeat_and_points_are_refused(void **state)
{
	const struct engine_segment segments[] = {
		{ .compute_ns = 8 * MS },
		{ .flows = FLOW_10MS, .n_flows = 1 },
		{ .compute_ns = 8 * MS, AFTER(0) },
		{ .compute_ns = MS, AFTER(1, 2) },
	};
	struct engine_job job = job_of(segments, 4, 0);
	struct engine_point point = { 0 };
	double *states[3];
	struct lab lab;
	size_t size;

	(void)state;
	lab_open_link(&lab);
	add(&lab, &job);
	assert_int_equal(engine_job_resume(lab.engine, 0, &point), -EINVAL);
	size = engine_state_size(lab.engine);
	for (int i = 0; i < 3; i++) {
		/* An iteration takes 19 ms. */
		engine_run(lab.engine, (i < 2 ? 12 + 19 * i : 36) * (int64_t)MS);
		states[i] = xcalloc(size, sizeof(double));
		engine_state(lab.engine, states[i]);
	}
	for (size_t i = 0; i < size; i++)
		assert_near(states[0][i], states[1][i], 1);
	assert_memory_not_equal(states[0], states[2], size * sizeof(double));
	for (int i = 0; i < 3; i++)
		free(states[i]);
	lab_close(&lab);
}

/* ------ Random graphs ------ */

struct graph_case {
	uint32_t n_links, n_jobs;
	double capacity_bps[MAX_LINKS];
	struct engine_job jobs[MAX_JOBS];
	struct engine_segment segments[MAX_JOBS][MAX_SEGS];
	uint32_t after[MAX_JOBS][MAX_SEGS][MAX_SEGS];
	struct engine_flow flows[MAX_JOBS][MAX_SEGS][MAX_FLOWS];
	uint32_t paths[MAX_JOBS][MAX_SEGS][MAX_FLOWS][3];
};

static void
draw_segment(struct graph_case *c, struct rng *rng, uint32_t j, uint32_t s)
{
	struct engine_segment *seg = &c->segments[j][s];

	*seg = (struct engine_segment){ .flows = c->flows[j][s],
					.after = c->after[j][s] };
	if (rng_below(rng, 3))
		seg->compute_ns = (int64_t)rng_below(rng, 20 * MS);
	if (rng_below(rng, 3))
		seg->n_flows = (uint32_t)rng_below(rng, MAX_FLOWS + 1);
	if (rng_below(rng, 3) == 0)
		seg->flows_offset_ns = (int64_t)rng_below(rng, 10 * MS);
	if (rng_below(rng, 3) == 0)
		seg->latency_ns = (int64_t)rng_below(rng, 2 * MS);
	for (uint32_t f = 0; f < seg->n_flows; f++) {
		struct engine_flow *flow = &c->flows[j][s][f];
		uint32_t *path = c->paths[j][s][f], most = c->n_links < 3 ? 1 : 3;
		uint32_t first = (uint32_t)rng_below(rng, c->n_links);

		*flow = (struct engine_flow){ .links = path, .weight = 1 };
		if (rng_below(rng, 8))
			flow->n_links = 1 + (uint32_t)rng_below(rng, most);
		for (uint32_t i = 0; i < flow->n_links; i++)
			path[i] = (first + i) % c->n_links;
		if (rng_below(rng, 8))
			flow->bytes = 1e6 + 60e6 * rng_uniform(rng);
		if (rng_below(rng, 4) == 0)
			flow->cap_bps = 5e9 + 40e9 * rng_uniform(rng);
		if (rng_below(rng, 3) == 0)
			flow->weight = 0.5 + 3 * rng_uniform(rng);
	}
	if (s == 0)
		seg->compute_ns += MS; /* Each iteration takes some time. */
	if (rng_below(rng, 5) == 0)
		seg->from_start = true;
	else if (s > 0 && rng_below(rng, 4))
		for (uint32_t i = 0; i < s; i++)
			if (rng_below(rng, s) < 2)
				c->after[j][s][seg->n_after++] = i;
}

static void
draw_graph_case(struct graph_case *c, uint64_t seed)
{
	struct rng rng;

	memset(c, 0, sizeof *c);
	rng_init(&rng, seed);
	c->n_links = 1 + (uint32_t)rng_below(&rng, MAX_LINKS);
	for (uint32_t l = 0; l < c->n_links; l++)
		c->capacity_bps[l] = 1e9 * (double)(10 + rng_below(&rng, 90));
	c->n_jobs = 1 + (uint32_t)rng_below(&rng, MAX_JOBS);
	for (uint32_t j = 0; j < c->n_jobs; j++) {
		struct engine_job *job = &c->jobs[j];

		*job = job_of(c->segments[j], 1 + (uint32_t)rng_below(&rng, MAX_SEGS),
			      1 + rng_below(&rng, 6));
		job->shift_ns = (int64_t)rng_below(&rng, 30 * MS);
		job->priority = (uint8_t)rng_below(&rng, 2);
		if (rng_below(&rng, 3) == 0)
			job->pacing = ENGINE_PACE_REALIGN;
		job->grid_ns = (int64_t)rng_below(&rng, 60 * MS);
		for (uint32_t s = 0; s < job->n_segments; s++)
			draw_segment(c, &rng, j, s);
	}
}

enum naive_state {
	NAIVE_WAITS,
	NAIVE_RUNS,
	NAIVE_ENDED
};

struct naive_segment {
	enum naive_state state;
	bool is_sent;
	double compute_end_ns, send_ns;
	double left_bits[MAX_FLOWS];
};

struct naive_job {
	bool is_running, has_left;
	double start_ns;
	uint64_t n_iterations;
	struct naive_segment segments[MAX_SEGS];
	VEC(double) ends_ns;
};

struct naive {
	const struct graph_case *c;
	struct net net;
	double now_ns;
	struct naive_job jobs[MAX_JOBS];
};

/* The number of a flow in the net. */
static uint32_t
flow_of(uint32_t j, uint32_t s, uint32_t f)
{
	return (j * MAX_SEGS + s) * MAX_FLOWS + f;
}

static void
naive_init(struct naive *n, const struct graph_case *c)
{
	struct rng rng;

	memset(n, 0, sizeof *n);
	n->c = c;
	rng_init(&rng, 1);
	make_net(&n->net, &rng, c->n_links, MAX_JOBS * MAX_SEGS * MAX_FLOWS, false);
	memcpy(n->net.capacity_bps, c->capacity_bps,
	       c->n_links * sizeof *c->capacity_bps);
	for (uint32_t j = 0; j < c->n_jobs; j++) {
		n->jobs[j].start_ns = (double)c->jobs[j].shift_ns;
		for (uint32_t s = 0; s < MAX_SEGS; s++)
			for (uint32_t f = 0; f < c->segments[j][s].n_flows; f++) {
				const struct engine_flow *flow = &c->flows[j][s][f];
				uint32_t i = flow_of(j, s, f);

				memcpy(n->net.paths + i * MAX_PATH, flow->links,
				       flow->n_links * sizeof *flow->links);
				n->net.n_path[i] = flow->n_links;
				n->net.cap_bps[i] = flow->cap_bps;
				n->net.weight[i] = flow->weight;
				n->net.priority[i] = c->jobs[j].priority;
			}
	}
}

static void
naive_fini(struct naive *n)
{
	for (uint32_t j = 0; j < n->c->n_jobs; j++)
		vec_free(&n->jobs[j].ends_ns);
	free_net(&n->net);
}

/* Whether all that the segment waits for has ended. */
static bool
naive_may_start(const struct naive *n, uint32_t j, uint32_t s)
{
	const struct engine_segment *seg = &n->c->segments[j][s];
	const struct naive_segment *segments = n->jobs[j].segments;

	if (seg->n_after == 0)
		return s == 0 || seg->from_start ||
		       segments[s - 1].state == NAIVE_ENDED;
	for (uint32_t i = 0; i < seg->n_after; i++)
		if (segments[seg->after[i]].state != NAIVE_ENDED)
			return false;
	return true;
}

/* Does one thing of a segment that is due; returns whether there was one. */
static bool
naive_step_segment(struct naive *n, uint32_t j, uint32_t s)
{
	const struct engine_segment *seg = &n->c->segments[j][s];
	struct naive_segment *run = &n->jobs[j].segments[s];
	double limit_ns = n->now_ns + 1;
	bool sends = false;

	if (run->state == NAIVE_WAITS && naive_may_start(n, j, s)) {
		*run = (struct naive_segment){ .state = NAIVE_RUNS };
		run->compute_end_ns = n->now_ns + (double)seg->compute_ns;
		run->send_ns = n->now_ns + (double)seg->flows_offset_ns +
			       (double)seg->latency_ns;
		run->is_sent = !seg->n_flows;
		return true;
	}
	if (run->state != NAIVE_RUNS)
		return false;
	if (!run->is_sent) {
		if (run->send_ns > limit_ns)
			return false;
		run->is_sent = true;
		for (uint32_t f = 0; f < seg->n_flows; f++) {
			uint32_t i = flow_of(j, s, f);

			run->left_bits[f] = seg->flows[f].bytes * 8;
			n->net.is_active[i] =
				seg->flows[f].bytes > 0 &&
				(seg->flows[f].n_links || seg->flows[f].cap_bps > 0);
			n->net.rate_bps[i] = path_cap(&n->net, i);
		}
		return true;
	}
	for (uint32_t f = 0; f < seg->n_flows; f++) {
		uint32_t i = flow_of(j, s, f);

		/* Ended within a nanosecond at its rate. */
		if (n->net.is_active[i] &&
		    run->left_bits[f] * 1e9 <= n->net.rate_bps[i])
			n->net.is_active[i] = false;
		sends |= n->net.is_active[i];
	}
	if (sends || run->compute_end_ns > limit_ns)
		return false;
	run->state = NAIVE_ENDED;
	return true;
}

static void
naive_end_iteration(struct naive *n, uint32_t j)
{
	const struct engine_job *spec = &n->c->jobs[j];
	struct naive_job *job = &n->jobs[j];
	double grid_ns = (double)spec->grid_ns, late_ns;

	vec_push(&job->ends_ns, n->now_ns);
	job->is_running = false;
	job->has_left = ++job->n_iterations == spec->max_iterations;
	job->start_ns = n->now_ns;
	if (spec->pacing != ENGINE_PACE_REALIGN || !(grid_ns > 0))
		return;
	late_ns = fmod(n->now_ns - (double)spec->shift_ns, grid_ns);
	if (late_ns > 0.05 * grid_ns && grid_ns - late_ns > 0.05 * grid_ns)
		job->start_ns += grid_ns - late_ns;
}

static bool
naive_step_job(struct naive *n, uint32_t j)
{
	struct naive_job *job = &n->jobs[j];
	bool did = false, ended = true;

	if (job->has_left)
		return false;
	if (!job->is_running) {
		if (job->start_ns > n->now_ns + 1)
			return false;
		job->is_running = true;
		memset(job->segments, 0, sizeof job->segments);
	}
	for (uint32_t s = 0; s < n->c->jobs[j].n_segments; s++) {
		while (naive_step_segment(n, j, s))
			did = true;
		ended &= job->segments[s].state == NAIVE_ENDED;
	}
	if (ended)
		naive_end_iteration(n, j);
	return did || ended;
}

static double
naive_next_ns(const struct naive *n)
{
	double next_ns = INFINITY;

	for (uint32_t j = 0; j < n->c->n_jobs; j++) {
		const struct naive_job *job = &n->jobs[j];

		if (!job->has_left && !job->is_running)
			next_ns = fmin(next_ns, job->start_ns);
		for (uint32_t s = 0; job->is_running && s < n->c->jobs[j].n_segments;
		     s++) {
			const struct naive_segment *run = &job->segments[s];

			if (run->state != NAIVE_RUNS)
				continue;
			if (run->compute_end_ns > n->now_ns)
				next_ns = fmin(next_ns, run->compute_end_ns);
			if (!run->is_sent)
				next_ns = fmin(next_ns, run->send_ns);
			for (uint32_t f = 0; f < n->c->segments[j][s].n_flows; f++) {
				uint32_t i = flow_of(j, s, f);

				if (n->net.is_active[i] && n->net.rate_bps[i] > 0)
					next_ns = fmin(
						next_ns,
						n->now_ns + run->left_bits[f] * 1e9 /
								    n->net.rate_bps[i]);
			}
		}
	}
	return next_ns;
}

static void
naive_run(struct naive *n)
{
	for (;;) {
		double next_ns;
		bool did;

		fill_naively(&n->net);
		next_ns = fmax(naive_next_ns(n), n->now_ns);
		if (next_ns == INFINITY)
			return;
		for (uint32_t j = 0; j < MAX_JOBS; j++)
			for (uint32_t s = 0; s < MAX_SEGS; s++)
				for (uint32_t f = 0; f < MAX_FLOWS; f++) {
					uint32_t i = flow_of(j, s, f);

					if (n->net.is_active[i])
						n->jobs[j].segments[s].left_bits[f] -=
							n->net.rate_bps[i] *
							(next_ns - n->now_ns) * 1e-9;
				}
		n->now_ns = next_ns;
		do {
			did = false;
			for (uint32_t j = 0; j < n->c->n_jobs; j++)
				while (naive_step_job(n, j))
					did = true;
		} while (did);
	}
}

/* An iteration ends when the twin's does: to 1e-9, and a nanosecond's batch an event. */
static void
compare(const struct lab *lab, const struct naive *n, uint64_t seed)
{
	uint64_t n_seen[MAX_JOBS] = { 0 };

	for (size_t i = 0; i < lab->iterations.n; i++) {
		const struct lab_iteration *it = &lab->iterations.items[i];
		const struct naive_job *job = &n->jobs[it->job];
		double end_ns = it->iteration < job->ends_ns.n
					? job->ends_ns.items[it->iteration]
					: NAN;

		if (!(fabs(end_ns - it->end_ns) <= 1e-9 * end_ns + 4))
			fail_msg("case %llu: job %u iteration %llu ends at %.3f ns, "
				 "the twin's at %.3f",
				 (unsigned long long)seed, it->job,
				 (unsigned long long)it->iteration, it->end_ns, end_ns);
		n_seen[it->job]++;
	}
	for (uint32_t j = 0; j < n->c->n_jobs; j++)
		assert_int_equal(n_seen[j], n->jobs[j].ends_ns.n);
}

static void
iterations_end_when_the_naive_twin_ends_them(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < N_CASES; seed++) {
		struct engine_config config;
		struct graph_case c;
		struct naive naive;
		struct lab lab;

		draw_graph_case(&c, seed);
		config = lab_config(&lab, c.capacity_bps, c.n_links);
		config.measure_links = seed % 3 == 1;
		if (seed % 2)
			config.observer.on_flows = NULL; /* Lets it look ahead. */
		lab_open(&lab, &config);
		for (uint32_t j = 0; j < c.n_jobs; j++)
			add(&lab, &c.jobs[j]);
		engine_run(lab.engine, ENGINE_NEVER);
		naive_init(&naive, &c);
		naive_run(&naive);
		compare(&lab, &naive, seed);
		naive_fini(&naive);
		lab_close(&lab);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_overlap_the_backward_pass),
		cmocka_unit_test(flows_of_a_job_share_a_link),
		cmocka_unit_test(latency_delays_the_bytes_and_not_the_computing),
		cmocka_unit_test(a_graph_that_is_a_chain_is_one),
		cmocka_unit_test(the_gate_holds_segments_back_only_for_other_jobs),
		cmocka_unit_test(a_job_leaves_with_all_its_segments),
		cmocka_unit_test(only_earlier_segments_can_be_waited_for),
		cmocka_unit_test(states_repeat_and_points_are_refused),
		cmocka_unit_test(iterations_end_when_the_naive_twin_ends_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
