/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gavel.c - AlloX on three types of GPUs, against the results of Gavel (OSDI 2020)
 *
 * Jobs are drawn with the same random numbers as in Gavel's simulator.  Its semantics
 * and quirks are implemented only here: a round ends when the last of its jobs has done
 * its steps, and steps are whole except for a job's last ones.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "policies/policy.h"
#include "sim/replay/throughputs.h"
#include "tests/unit/test.h"

#define ARCHIVE SHARED_DATA "/traces/gavel/gavel_msr_seed0_physical_throughputs.tar.xz"
#define SPEEDS  ARCHIVE ":simulation_throughputs.json"

#define N_TYPES      3
#define N_PER_TYPE   36
#define N_GPUS       (N_TYPES * N_PER_TYPE)
#define FIRST        4000 /* Only these jobs' completion times count. */
#define END          5000
#define MOST_JOBS    5400
#define MAX_FAILURES 5
#define ROUND_S      360.0

/* ---- Python's random numbers: the Mersenne Twister, MT19937 ---------------------- */

#define MT_N 624

struct twister {
	uint32_t state[MT_N];
	size_t i;
};

static void
twister_init(struct twister *t, uint32_t seed)
{
	uint32_t *s = t->state;
	size_t i = 1;

	s[0] = 19650218;
	for (size_t k = 1; k < MT_N; k++)
		s[k] = 1812433253 * (s[k - 1] ^ s[k - 1] >> 30) + (uint32_t)k;
	for (int k = 0; k < MT_N; k++) {
		s[i] = (s[i] ^ (s[i - 1] ^ s[i - 1] >> 30) * 1664525) + seed;
		if (++i >= MT_N) {
			s[0] = s[MT_N - 1];
			i = 1;
		}
	}
	for (int k = 0; k < MT_N - 1; k++) {
		s[i] = (s[i] ^ (s[i - 1] ^ s[i - 1] >> 30) * 1566083941) - (uint32_t)i;
		if (++i >= MT_N) {
			s[0] = s[MT_N - 1];
			i = 1;
		}
	}
	s[0] = UINT32_C(1) << 31;
	t->i = MT_N;
}

static uint32_t
twister_next(struct twister *t)
{
	uint32_t y;

	if (t->i == MT_N) {
		for (size_t k = 0; k < MT_N; k++) {
			uint32_t mixed = (t->state[k] & UINT32_C(0x80000000)) |
					 (t->state[(k + 1) % MT_N] & 0x7fffffff);

			t->state[k] = t->state[(k + 397) % MT_N] ^ mixed >> 1 ^
				      (mixed & 1 ? UINT32_C(0x9908b0df) : 0);
		}
		t->i = 0;
	}
	y = t->state[t->i++];
	y ^= y >> 11;
	y ^= y << 7 & UINT32_C(0x9d2c5680);
	y ^= y << 15 & UINT32_C(0xefc60000);
	return y ^ y >> 18;
}

/* Uniform from 0 to 1. */
static double
twister_uniform(struct twister *t)
{
	uint32_t a = twister_next(t) >> 5, b = twister_next(t) >> 6;

	return (a * 67108864.0 + b) * (1.0 / 9007199254740992.0);
}

static uint32_t
twister_below(struct twister *t, uint32_t n, int n_bits)
{
	uint32_t x;

	do
		x = twister_next(t) >> (32 - n_bits);
	while (x >= n);
	return x;
}

static void
numbers_are_those_of_python(void **state)
{
	struct twister t;

	(void)state;
	twister_init(&t, 44);
	assert_near(twister_uniform(&t), 0.40853587925449375, 0);
	assert_near(twister_uniform(&t), 0.5419720091045962, 0);
	assert_int_equal(twister_below(&t, 26, 5), 3);
}

/* ---- Jobs ------------------------------------------------------------------------ */

static const struct {
	const char *name;
	uint32_t batches[5];
} models[] = {
	{ "ResNet-18", { 16, 32, 64, 128, 256 } },
	{ "ResNet-50", { 16, 32, 64, 128 } },
	{ "Transformer", { 16, 32, 64, 128, 256 } },
	{ "LM", { 5, 10, 20, 40, 80 } },
	{ "Recommendation", { 512, 1024, 2048, 4096, 8192 } },
};

#define N_KINDS 26 /* The above, and two without batches. */

static const char *const type_names[N_TYPES] = { "v100", "p100", "k80" };

struct job {
	double n_steps, n_done, steps_s[N_TYPES];
	double end_s;
	int n_failures;
};

struct running {
	uint32_t id;
	double n_steps, end_s;
};

struct lab {
	double kinds[N_KINDS][N_TYPES]; /* Steps per second. */
	struct twister sizes, gaps;
	struct job jobs[MOST_JOBS];
	struct pol_job seen[MOST_JOBS];
	struct pol_piece pieces[MOST_JOBS];
	uint32_t ids[MOST_JOBS];
	struct pol_view view;
	struct policy *policy;
	struct pol_plan plan;
	struct running running[N_GPUS];
	size_t n_running, n_arrived, n_counted;
	double round_s, last_end_s, next_s;
};

static void
read_kinds(struct lab *lab)
{
	struct throughputs *speeds;
	struct err err = { 0 };
	size_t n = 0;

	assert_int_equal(throughputs_load(SPEEDS, &speeds, &err), 0);
	for (size_t m = 0; m < sizeof models / sizeof *models + 2; m++) {
		bool has_batches = m < sizeof models / sizeof *models;

		for (size_t b = 0; b < (has_batches ? 5 : 1); b++) {
			uint32_t batch = has_batches ? models[m].batches[b] : 0;
			const char *name = has_batches ? models[m].name
					   : m == 5    ? "A3C"
						       : "CycleGAN";

			if (has_batches && !batch)
				continue;
			for (int t = 0; t < N_TYPES; t++)
				lab->kinds[n][t] = throughputs_of(
					speeds, throughputs_type(speeds, type_names[t]),
					throughputs_key(speeds, name, batch, 1));
			assert_true(lab->kinds[n++][0] > 0);
		}
	}
	assert_int_equal(n, N_KINDS);
	throughputs_free(speeds);
}

static double
speed(void *ctx, const struct pol_job *job, uint32_t n_gpus, uint32_t n_nodes,
      uint32_t type, const struct pol_job *const *mates, uint32_t n_mates)
{
	const struct job *it = &((const struct lab *)ctx)->jobs[job->id];

	(void)n_gpus;
	(void)n_nodes;
	(void)mates;
	(void)n_mates;
	return it->steps_s[type] / it->steps_s[0];
}

static void
see(struct lab *lab, uint32_t id)
{
	const struct job *job = &lab->jobs[id];

	lab->seen[id].remaining_s = (job->n_steps - job->n_done) / job->steps_s[0];
}

static void
arrive(struct lab *lab, double mean_gap_s)
{
	while (lab->next_s <= lab->view.now_s) {
		uint32_t id = (uint32_t)lab->n_arrived++;
		struct job *job = &lab->jobs[id];
		double lasts_s;

		assert_true(lab->n_arrived <= MOST_JOBS);
		twister_uniform(&lab->sizes); /* The number of GPUs: one. */
		lasts_s = twister_uniform(&lab->sizes) >= 0.8 ? 3 : 1.5;
		lasts_s += (lasts_s > 2 ? 1 : 1.5) * twister_uniform(&lab->sizes);
		lasts_s = 60 * pow(10, lasts_s);
		*job = (struct job){ 0 };
		memcpy(job->steps_s, lab->kinds[twister_below(&lab->sizes, N_KINDS, 5)],
		       sizeof job->steps_s);
		job->n_steps = lasts_s * job->steps_s[0];
		lab->seen[id] = (struct pol_job){ .id = id,
						  .submit_s = lab->next_s,
						  .n_gpus = 1,
						  .max_gpus = 1,
						  .predicted_s = NAN,
						  .first_s = NAN,
						  .group = id };
		see(lab, id);
		lab->seen[id].duration_s = lab->seen[id].remaining_s;
		lab->ids[lab->view.n_jobs++] = id;
		policy_event(lab->policy, &lab->view, POL_ARRIVED, &lab->seen[id]);
		lab->next_s += -log(1 - twister_uniform(&lab->gaps)) / (1 / mean_gap_s);
	}
}

/* ---- Rounds ---------------------------------------------------------------------- */

static int
latest_first(const void *a, const void *b)
{
	const struct running *p = a, *q = b;

	if (p->end_s > q->end_s || p->end_s < q->end_s)
		return p->end_s > q->end_s ? -1 : 1;
	return p->id < q->id ? -1 : 1;
}

static void
take_out(struct lab *lab, uint32_t id)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < lab->view.n_jobs; i++)
		if (lab->ids[i] != id)
			lab->ids[n++] = lab->ids[i];
	lab->view.n_jobs = n;
	lab->n_counted += id >= FIRST && id < END;
	policy_event(lab->policy, &lab->view, POL_DONE, &lab->seen[id]);
}

static void
finish(struct lab *lab, const struct running *running)
{
	struct job *job = &lab->jobs[running->id];
	double run_s = running->end_s - lab->round_s;
	bool is_done;

	job->end_s = running->end_s;
	if (running->n_steps <= 0 || run_s <= 0) {
		is_done = ++job->n_failures >= MAX_FAILURES;
		policy_event(lab->policy, &lab->view, POL_CHANGED,
			     &lab->seen[running->id]);
	} else {
		job->n_failures = 0;
		job->n_done += running->n_steps;
		lab->seen[running->id].executed_s += run_s;
		is_done = !(job->n_steps - job->n_done > 0);
	}
	see(lab, running->id);
	if (is_done)
		take_out(lab, running->id);
}

static void
finish_round(struct lab *lab)
{
	if (!lab->n_running) {
		lab->view.now_s = lab->next_s;
		return;
	}
	qsort(lab->running, lab->n_running, sizeof *lab->running, latest_first);
	if (!isnan(lab->last_end_s))
		lab->round_s = lab->last_end_s;
	lab->last_end_s = lab->view.now_s = lab->running[0].end_s;
	for (size_t i = 0; i < lab->n_running; i++)
		finish(lab, &lab->running[i]);
	lab->n_running = 0;
}

static void
begin_round(struct lab *lab)
{
	const struct pol_plan *plan = &lab->plan;

	policy_decide(lab->policy, &lab->view, &lab->plan, 1);
	assert_null(pol_plan_why_not(plan, &lab->view));
	for (uint32_t i = 0; i < lab->view.n_jobs; i++)
		lab->seen[lab->ids[i]].n_pieces = lab->seen[lab->ids[i]].n_held_gpus =
			0;
	for (size_t i = 0; i < plan->grants.n; i++) {
		const struct pol_grant *grant = &plan->grants.items[i];
		struct pol_job *seen = &lab->seen[grant->job];
		struct job *job = &lab->jobs[grant->job];
		uint32_t type;
		double n_steps;

		lab->pieces[seen->id] = plan->pieces.items[grant->first_piece];
		seen->pieces = &lab->pieces[seen->id];
		seen->n_pieces = seen->n_held_gpus = 1;
		type = lab->view.cluster->type_of[seen->pieces->node];
		n_steps = fmin(floor(job->steps_s[type] * ROUND_S),
			       job->n_steps - job->n_done);
		lab->running[lab->n_running++] =
			(struct running){ grant->job, n_steps,
					  lab->view.now_s +
						  n_steps / job->steps_s[type] };
	}
	policy_taken(lab->policy, &lab->view, plan);
}

static double
mean_s(uint32_t seed, double mean_gap_s)
{
	static const char *const sets[] = { "deficit.initial_credit_s=180",
					    "deficit.hold_new_jobs=1",
					    "deficit.recompute_s=1920" };
	const struct policy_opts opts = {
		.sets = sets, .n_sets = 3, .round_s = NAN, .restart_s = NAN, .seed = 1
	};
	static uint32_t ones[N_GPUS], zeros[N_GPUS], types[N_GPUS];
	const struct pol_cluster cluster = { .n_nodes = N_GPUS,
					     .n_racks = 1,
					     .n_types = N_TYPES,
					     .n_gpus = ones,
					     .rack_of = zeros,
					     .type_of = types,
					     .n_all_gpus = N_GPUS };
	struct lab *lab = xcalloc(1, sizeof *lab);
	struct err err = { 0 };
	double sum_s = 0;

	for (uint32_t i = 0; i < N_GPUS; i++) {
		ones[i] = 1;
		types[i] = i / N_PER_TYPE;
	}
	lab->view = (struct pol_view){ .cluster = &cluster,
				       .ids = lab->ids,
				       .jobs = lab->seen,
				       .n_ids = MOST_JOBS,
				       .speed = { .ctx = lab, .speed = speed } };
	lab->last_end_s = NAN;
	twister_init(&lab->sizes, seed + 2);
	twister_init(&lab->gaps, seed + 3);
	read_kinds(lab);
	assert_int_equal(
		policy_new(policy_find("allox"), &opts, &cluster, &lab->policy, &err),
		0);
	while (lab->n_counted < END - FIRST) {
		finish_round(lab);
		arrive(lab, mean_gap_s);
		begin_round(lab); /* Even without jobs the shares are computed. */
	}
	for (uint32_t i = FIRST; i < END; i++)
		sum_s += lab->jobs[i].end_s - lab->seen[i].submit_s;
	policy_free(lab->policy);
	pol_plan_fini(&lab->plan);
	free(lab);
	return sum_s / (END - FIRST);
}

/* ---- Published results ----------------------------------------------------------- */

static const struct {
	uint32_t seed;
	double mean_gap_s, mean_s;
} published[] = {
	{ 42, 9000, 59492.106756 },   { 1234, 9000, 64494.582453 },
	{ 15, 9000, 54834.129989 },   { 42, 4500, 59770.441018 },
	{ 1234, 4500, 64695.450528 }, { 15, 4500, 55072.401336 },
};

static void
allox_is_as_published(void **state)
{
	(void)state;
	if (access(ARCHIVE, R_OK) != 0)
		skip();
	for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
		double want_s = published[i].mean_s;
		double got_s = mean_s(published[i].seed, published[i].mean_gap_s);

		print_message("seed %u, every %g s: mean %.6f s (%+.2g)\n",
			      published[i].seed, published[i].mean_gap_s, got_s,
			      got_s / want_s - 1);
		assert_near(got_s, want_s, 1e-9 * want_s);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_those_of_python),
		cmocka_unit_test(allox_is_as_published),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
