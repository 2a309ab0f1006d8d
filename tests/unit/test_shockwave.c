/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_shockwave.c - policies that share time, against the published results of
 * Shockwave's simulator (NSDI 2023): its 120 jobs on 32 GPUs
 *
 * The semantics and quirks of that simulator are implemented only here: a round ends
 * when the last of its jobs has done its steps; steps are whole; a job that did not run
 * in the previous round loses 20 s; batch sizes grow during a job, decided at the end
 * of a round and applied at the end of the next round in which the job runs.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "policies/policy.h"
#include "sim/trace/jobtrace.h"
#include "sim/trace/lines.h"
#include "tests/unit/test.h"

#define ARCHIVE SHARED_DATA "/traces/shockwave/shockwave_traces.tar.xz"
#define TRACE                        \
	ARCHIVE ":traces/reproduce/" \
		"120_0.2_5_100_40_25_0,0.5,0.5_0.6,0.3,0.09,0.01_multigpu_dynamic.trace"
#define SPEEDS ARCHIVE ":tacc_throughputs.json"

#define N_JOBS       120
#define N_GPUS       32
#define MAX_SPEEDS   256
#define MAX_FAILURES 5
#define ROUND_S      120.0
#define RESTART_S    20.0

enum model {
	RESNET18,
	RESNET50,
	TRANSFORMER,
	LM,
	RECOMMENDATION,
	N_MODELS
};

static const struct {
	const char *name;
	int n_samples, max_batch, min_batch;
} models[] = {
	[RESNET18] = { "ResNet-18", 50000, 256, 16 },
	[RESNET50] = { "ResNet-50", 100000, 128, 16 },
	[TRANSFORMER] = { "Transformer", 10000, 128, 16 },
	[LM] = { "LM", 59675, 80, 5 },
	[RECOMMENDATION] = { "Recommendation", 117907, 8192, 512 },
};

/* The epochs from which gradient noise allows 2, 4, 8, 16 times the batch size. */
static const struct {
	enum model model;
	int batch, n_gpus, epochs[4];
} growth[] = {
	{ RESNET18, 16, 1, { 31, 41, 51, 71 } },
	{ RESNET18, 16, 2, { 21, 31, 91, 111 } },
	{ RESNET18, 16, 4, { 11, 21, 81, 91 } },
	{ RESNET18, 32, 1, { 21, 31, 51 } },
	{ RESNET18, 32, 2, { 11, 21, 41 } },
	{ RESNET18, 32, 4, { 21, 31, 61 } },
	{ RESNET18, 64, 1, { 11, 31 } },
	{ RESNET18, 64, 2, { 21, 41 } },
	{ RESNET18, 64, 4, { 11, 61 } },
	{ RESNET18, 128, 1, { 11 } },
	{ RESNET18, 128, 2, { 41 } },
	{ RESNET18, 128, 4, { 11 } },
	{ RESNET50, 32, 2, { 101, 111 } },
	{ RESNET50, 32, 4, { 131, 221 } },
	{ RESNET50, 64, 1, { 101 } },
	{ RESNET50, 64, 2, { 81 } },
	{ RESNET50, 64, 4, { 191 } },
	{ LM, 5, 1, { 31, 41, 61, 71 } },
	{ LM, 5, 2, { 31, 51, 61, 71 } },
	{ LM, 5, 4, { 11, 31, 71, 91 } },
	{ LM, 10, 1, { 11, 21, 41 } },
	{ LM, 10, 2, { 11, 31, 41 } },
	{ LM, 10, 4, { 11, 31, 61 } },
	{ LM, 20, 1, { 11, 41 } },
	{ LM, 20, 2, { 31, 41 } },
	{ LM, 20, 4, { 11, 61 } },
	{ LM, 40, 1, { 11 } },
	{ LM, 40, 2, { 11 } },
	{ LM, 40, 4, { 61 } },
	{ RECOMMENDATION, 512, 1, { 21, 41, 71, 91 } },
	{ RECOMMENDATION, 1024, 1, { 21, 51, 91 } },
	{ RECOMMENDATION, 2048, 1, { 21, 41 } },
	{ RECOMMENDATION, 4096, 1, { 41 } },
};

struct speed {
	char model[32];
	int batch, n_gpus;
	double steps_s; /* Steps per second. */
};

struct job {
	enum model model;
	bool is_accordion, is_gns;
	int batch, first_batch, n_gpus;
	int64_t n_steps, n_done;
	double submit_s, steps_s;
	double end_s; /* End of its last steps. */
	double run_s, limit_s;
	int n_failures;
	bool will_grow, will_shrink;
	bool is_done;
};

static struct {
	struct speed speeds[MAX_SPEEDS];
	size_t n_speeds;
	struct job jobs[N_JOBS];
} input;

static const uint32_t ones[N_GPUS] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
				       1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 },
		      zeros[N_GPUS];
static const struct pol_cluster cluster = { .n_nodes = N_GPUS,
					    .n_racks = 1,
					    .n_types = 1,
					    .n_gpus = ones,
					    .rack_of = zeros,
					    .type_of = zeros,
					    .n_all_gpus = N_GPUS };

/* ---- Input ----------------------------------------------------------------------- */

/* Lines "('ResNet-18 (batch size 16)', 1)": {, and the next one, of the V100s. */
static void
read_speeds(void)
{
	struct lines *lines;
	struct err err = { 0 };
	struct speed speed = { 0 };
	bool is_v100 = false;
	char *line;
	size_t n;

	assert_int_equal(lines_open(SPEEDS, &lines, &err), 0);
	while (lines_next(lines, &line, &n, &err) > 0) {
		const char *null = strstr(line, "\"null\": ");

		if (strncmp(line, "    \"", 5) == 0)
			is_v100 = strncmp(line, "    \"v100\"", 10) == 0;
		if (!is_v100)
			continue;
		if (sscanf(line, "        \"('%31[^ ] (batch size %d)', %d)\": {",
			   speed.model, &speed.batch, &speed.n_gpus) == 3)
			continue;
		if (!null || strncmp(line, "            \"null\"", 18) != 0)
			continue;
		speed.steps_s = strtod(null + 8, NULL);
		assert_true(input.n_speeds < MAX_SPEEDS);
		input.speeds[input.n_speeds++] = speed;
	}
	lines_close(lines);
}

/* 0: not measured. */
static double
find_speed(enum model model, int batch, int n_gpus)
{
	for (size_t i = 0; i < input.n_speeds; i++) {
		const struct speed *speed = &input.speeds[i];

		if (strcmp(speed->model, models[model].name) == 0 &&
		    speed->batch == batch && speed->n_gpus == n_gpus)
			return speed->steps_s;
	}
	return 0;
}

static int64_t
steps_of_epoch(enum model model, int batch)
{
	return (models[model].n_samples + batch - 1) / batch;
}

static int64_t
divide_up(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

/* Batch size of an epoch by gradient noise, as a multiple of the first. */
static int
noise_factor(const struct job *job, int64_t epoch)
{
	int factor = 1;

	for (size_t i = 0; i < sizeof growth / sizeof *growth; i++) {
		if (growth[i].model != job->model ||
		    growth[i].batch != job->first_batch ||
		    growth[i].n_gpus != job->n_gpus)
			continue;
		for (int k = 0; k < 4 && growth[i].epochs[k]; k++)
			if (epoch >= growth[i].epochs[k])
				factor *= 2;
	}
	return factor;
}

/* Whether gradients change so much in an epoch that batches must be small. */
static bool
is_critical(const struct job *job, int64_t epoch)
{
	switch (job->model) {
	case LM:
		return epoch < 10;
	case RECOMMENDATION:
		return epoch < (job->first_batch <= 1024   ? 30
				: job->first_batch == 2048 ? 40
							   : 10);
	case RESNET50:
		return epoch % 30 < 10;
	case RESNET18:
		return epoch < (job->first_batch == 256 ? 20 : 10) ||
		       (epoch >= 150 && epoch < 160) || (epoch >= 250 && epoch < 260);
	default:
		return true;
	}
}

/* A job is ended after 1.5 times its expected duration. */
static double
limit_of(const struct job *job)
{
	int64_t n = divide_up(job->n_steps, steps_of_epoch(job->model, job->batch));
	double sum_s = 0;

	for (int64_t epoch = 0; epoch < n; epoch++) {
		bool is_late = (double)epoch > (double)n * 0.3;
		bool is_critical_too =
			is_critical(job, epoch) ||
			(job->model == RECOMMENDATION &&
			 ((epoch >= 60 && epoch < 70) || (epoch >= 80 && epoch < 90)));
		int batch = job->batch;

		if (job->is_gns)
			batch *= noise_factor(job, epoch);
		else if (job->is_accordion && is_late && !is_critical_too)
			batch = models[job->model].max_batch;
		sum_s += models[job->model].n_samples / (double)batch /
			 find_speed(job->model, batch, job->n_gpus);
	}
	return floor(floor(sum_s) * 1.5);
}

static void
read_jobs(void)
{
	struct jobtrace *trace;
	struct jobtrace_job in;
	struct err err = { 0 };
	size_t n = 0;

	assert_int_equal(jobtrace_open(TRACE, JOBTRACE_SHOCKWAVE, &trace, &err), 0);
	while (jobtrace_next(trace, &in, &err) > 0) {
		struct job *job = &input.jobs[n++];
		int model = 0;

		assert_true(n <= N_JOBS);
		while (model < N_MODELS && strcmp(models[model].name, in.model) != 0)
			model++;
		assert_true(model < N_MODELS);
		*job = (struct job){
			.model = (enum model)model,
			.is_accordion = strcmp(in.mode, "accordion") == 0,
			.is_gns = strcmp(in.mode, "gns") == 0,
			.batch = (int)in.batch,
			.first_batch = (int)in.batch,
			.n_gpus = (int)in.n_gpus,
			.n_steps = (int64_t)in.iterations,
			.submit_s = in.submit_s,
		};
		job->steps_s = find_speed(job->model, job->batch, job->n_gpus);
		assert_true(job->steps_s > 0);
		job->limit_s = limit_of(job);
	}
	jobtrace_close(trace);
	assert_int_equal(n, N_JOBS);
}

static int
read_all(void **state)
{
	(void)state;
	if (access(ARCHIVE, R_OK) == 0) {
		read_speeds();
		read_jobs();
	}
	return 0;
}

/* ---- Growing batches ------------------------------------------------------------- */

static void
look_at_batch(struct job *job)
{
	int64_t epoch = divide_up(job->n_done, steps_of_epoch(job->model, job->batch));

	if (job->is_gns && job->batch != models[job->model].max_batch &&
	    job->first_batch * noise_factor(job, epoch + 1) > job->batch)
		job->will_grow = true;
	if (!job->is_accordion || job->model == TRANSFORMER)
		return;
	if (job->batch == job->first_batch && !is_critical(job, epoch)) {
		if (job->batch != models[job->model].max_batch)
			job->will_grow = true;
	} else if (job->batch != job->first_batch && is_critical(job, epoch)) {
		if (job->batch != models[job->model].min_batch)
			job->will_shrink = true;
	}
}

/* Keeps the numbers of epochs, done and in all. */
static void
change_batch(struct job *job)
{
	enum model model = job->model;
	int64_t was = steps_of_epoch(model, job->batch), is, n_epochs, n_steps;
	int batch = job->batch * 2;

	if (!job->will_grow && !job->will_shrink)
		return;
	if (job->is_accordion)
		batch = job->will_grow ? models[model].max_batch : job->first_batch;
	job->will_grow = job->will_shrink = false;
	if ((model != TRANSFORMER && job->first_batch == models[model].max_batch) ||
	    !(find_speed(model, batch, job->n_gpus) > 0))
		return;
	is = steps_of_epoch(model, batch);
	n_epochs = divide_up(job->n_steps, was);
	n_steps = (int64_t)ceil((double)job->n_steps *
				(1 / ((double)batch / job->batch)));
	job->n_steps = divide_up(n_steps, is) == n_epochs ? n_steps : is * n_epochs;
	job->n_done = divide_up(job->n_done, was) * is;
	job->batch = batch;
	job->steps_s = find_speed(model, batch, job->n_gpus);
}

/* ---- Rounds ---------------------------------------------------------------------- */

struct running {
	uint32_t id;
	int64_t n_steps;
	double end_s;
};

struct lab {
	struct job jobs[N_JOBS];
	struct pol_job seen[N_JOBS];
	struct pol_piece pieces[N_JOBS][N_GPUS];
	uint32_t ids[N_JOBS];
	bool ran[N_JOBS]; /* Ran in the round before the last. */
	struct pol_view view;
	struct policy *policy;
	struct pol_plan plan;
	struct running running[N_JOBS];
	size_t n_running, n_arrived, n_done, n_rounds;
	double round_s, last_end_s; /* Of the last round; NAN: none. */
};

static int
latest_first(const void *a, const void *b)
{
	const struct running *p = a, *q = b;

	if (p->end_s > q->end_s || p->end_s < q->end_s)
		return p->end_s > q->end_s ? -1 : 1;
	return p->id < q->id ? -1 : 1;
}

static void
see(struct lab *lab, uint32_t id)
{
	const struct job *job = &lab->jobs[id];

	lab->seen[id].remaining_s = (double)(job->n_steps - job->n_done) / job->steps_s;
}

static void
take_out(struct lab *lab, uint32_t id)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < lab->view.n_jobs; i++)
		if (lab->ids[i] != id)
			lab->ids[n++] = lab->ids[i];
	lab->view.n_jobs = n;
	lab->jobs[id].is_done = true;
	lab->n_done++;
	policy_event(lab->policy, &lab->view, POL_DONE, &lab->seen[id]);
}

static void
finish(struct lab *lab, const struct running *running)
{
	struct job *job = &lab->jobs[running->id];
	double run_s = running->end_s - lab->round_s, slowness = 1;
	int64_t n_steps;
	bool is_done = false;

	if (lab->n_rounds != 1 && !lab->ran[running->id] && run_s > ROUND_S - 5) {
		slowness = (run_s - RESTART_S) / run_s;
		run_s -= RESTART_S;
	}
	job->end_s = running->end_s;
	n_steps = (int64_t)((double)running->n_steps * slowness);
	job->run_s += run_s;
	lab->seen[running->id].executed_s += run_s;
	if (n_steps <= 0 && run_s <= 0) {
		/* The job had done more than all its steps when its batch grew. */
		is_done = ++job->n_failures >= MAX_FAILURES;
		policy_event(lab->policy, &lab->view, POL_CHANGED,
			     &lab->seen[running->id]);
	} else {
		job->n_failures = 0;
		job->n_done += n_steps;
		is_done = job->n_done >= job->n_steps || job->run_s > job->limit_s;
	}
	change_batch(job);
	see(lab, running->id);
	if (is_done)
		take_out(lab, running->id);
}

static void
finish_round(struct lab *lab)
{
	double end_s;

	if (!lab->n_running) {
		lab->view.now_s = lab->jobs[lab->n_arrived].submit_s;
		return;
	}
	qsort(lab->running, lab->n_running, sizeof *lab->running, latest_first);
	end_s = lab->running[0].end_s;
	if (!isnan(lab->last_end_s))
		lab->round_s = lab->last_end_s;
	lab->last_end_s = lab->view.now_s = end_s;
	for (size_t i = 0; i < lab->n_running; i++)
		finish(lab, &lab->running[i]);
	memset(lab->ran, 0, sizeof lab->ran);
	for (size_t i = 0; i < lab->n_running; i++)
		lab->ran[lab->running[i].id] = true;
	lab->n_running = 0;
	for (size_t i = 0; i < lab->n_arrived; i++)
		if (!lab->jobs[i].is_done)
			look_at_batch(&lab->jobs[i]);
}

static void
arrive(struct lab *lab)
{
	while (lab->n_arrived < N_JOBS &&
	       lab->jobs[lab->n_arrived].submit_s <= lab->view.now_s) {
		uint32_t id = (uint32_t)lab->n_arrived++;
		const struct job *job = &lab->jobs[id];

		lab->seen[id] = (struct pol_job){ .id = id,
						  .submit_s = job->submit_s,
						  .n_gpus = (uint32_t)job->n_gpus,
						  .max_gpus = (uint32_t)job->n_gpus,
						  .predicted_s = NAN,
						  .first_s = NAN,
						  .group = id };
		see(lab, id);
		lab->seen[id].duration_s = lab->seen[id].remaining_s;
		lab->ids[lab->view.n_jobs++] = id;
		policy_event(lab->policy, &lab->view, POL_ARRIVED, &lab->seen[id]);
	}
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
		int64_t n_steps = (int64_t)(job->steps_s * ROUND_S);

		memcpy(lab->pieces[seen->id], plan->pieces.items + grant->first_piece,
		       grant->n_pieces * sizeof(struct pol_piece));
		seen->pieces = lab->pieces[seen->id];
		seen->n_pieces = grant->n_pieces;
		seen->n_held_gpus = grant->n_gpus;
		if (n_steps > job->n_steps - job->n_done)
			n_steps = job->n_steps - job->n_done;
		lab->running[lab->n_running++] = (struct running){
			grant->job, n_steps,
			fmax(lab->view.now_s,
			     lab->view.now_s + (double)n_steps / job->steps_s)
		};
	}
	policy_taken(lab->policy, &lab->view, plan);
	lab->n_rounds++;
}

struct published {
	const char *policy;
	double mean_s, makespan_s;
	double mean_off, makespan_off; /* Tolerances, relative. */
	const char *set;               /* Parameters set in addition; NULL: none. */
	bool counts_steps;             /* A speed is steps per second. */
};

struct outcome {
	double mean_s, makespan_s;
};

static double
steps_a_second(void *ctx, const struct pol_job *job, uint32_t n_gpus, uint32_t n_nodes,
	       uint32_t type, const struct pol_job *const *mates, uint32_t n_mates)
{
	(void)n_gpus;
	(void)n_nodes;
	(void)type;
	(void)mates;
	(void)n_mates;
	return ((const struct lab *)ctx)->jobs[job->id].steps_s;
}

static struct outcome
replay(const struct published *want)
{
	const char *const sets[] = { "deficit.initial_credit_s=60",
				     "deficit.hold_new_jobs=1", want->set };
	const struct policy_opts opts = { .sets = sets,
					  .n_sets = want->set ? 3 : 2,
					  .round_s = NAN,
					  .restart_s = NAN,
					  .seed = 1 };
	static struct lab lab;
	struct outcome outcome = { 0 };
	struct err err = { 0 };

	lab = (struct lab){ .view = { .cluster = &cluster, .n_ids = N_JOBS },
			    .last_end_s = NAN };
	memcpy(lab.jobs, input.jobs, sizeof lab.jobs);
	lab.view.ids = lab.ids;
	lab.view.jobs = lab.seen;
	if (want->counts_steps)
		lab.view.speed =
			(struct pol_speed){ .ctx = &lab, .speed = steps_a_second };
	assert_int_equal(policy_new(policy_find(want->policy), &opts, &cluster,
				    &lab.policy, &err),
			 0);
	while (lab.n_done < N_JOBS) {
		finish_round(&lab);
		arrive(&lab);
		if (lab.view.n_jobs)
			begin_round(&lab);
	}
	for (size_t i = 0; i < N_JOBS; i++)
		outcome.mean_s += (lab.jobs[i].end_s - lab.jobs[i].submit_s) / N_JOBS;
	outcome.makespan_s = lab.view.now_s;
	policy_free(lab.policy);
	pol_plan_fini(&lab.plan);
	return outcome;
}

static void
skip_without_data(void)
{
	if (access(ARCHIVE, R_OK) != 0)
		skip();
}

/* ---- Published results ----------------------------------------------------------- */

/*
 * Exact where a formula gives the shares.  Where shares are the optimum of a linear
 * program, it has many optima, and the simulator took another one.
 */
static const struct published published[] = {
	{ "gandiva-fair", 12574.272467530895, 32367.434395330914, 1e-9, 1e-9, NULL,
	  false },
	{ "gavel-max-min", 11274.11699328137, 33207.66301239685, 0.02, 0.02, NULL,
	  false },
	{ "gavel-ftf", 11301.976669591379, 31928.738767753155, 0.06, 0.06, NULL,
	  false },
	{ "gavel-makespan", 19806.727988584385, 24204.81630868378, 0.03, 0.03, NULL,
	  false },
	{ "gavel-throughput", 9654.699760876134, 31909.030927449847, 0.01, 0.03, NULL,
	  true },
	{ "allox", 9926.30656827876, 32488.621148396294, 0.005, 0.005,
	  "assigned.oldest_frac=0.2", false },
	/* A new run of the same simulator, mean only: another SciPy's ties. */
	{ "allox", 9972.915, 32488.621148396294, 1e-7, 0.005,
	  "assigned.oldest_frac=0.2", false },
};

static void
results_are_as_published(void **state)
{
	(void)state;
	skip_without_data();
	for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
		const struct published *want = &published[i];
		struct outcome got = replay(want);

		print_message("%s: mean %.12g (%+.3f %%), makespan %.12g (%+.3f %%)\n",
			      want->policy, got.mean_s,
			      100 * (got.mean_s / want->mean_s - 1), got.makespan_s,
			      100 * (got.makespan_s / want->makespan_s - 1));
		assert_near(got.mean_s, want->mean_s, want->mean_off * want->mean_s);
		assert_near(got.makespan_s, want->makespan_s,
			    want->makespan_off * want->makespan_s);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_are_as_published),
	};

	return cmocka_run_group_tests(tests, read_all, NULL);
}
