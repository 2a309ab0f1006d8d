/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_topo_aware.c - utility of GPUs, postponement, and the results of the simulator of
 * BSC and IBM
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/json.h"
#include "lib/base/strbuf.h"
#include "policies/places.h"
#include "policies/topo_utility.h"
#include "sim/cluster/cluster.h"
#include "sim/trace/lines.h"
#include "tests/unit/policy_lab.h"

/* ---- The rule -------------------------------------------------------------------- */

/* Jobs of model 1 take twice as long beside any other; each states a least utility. */
static double
alone_s(void *ctx, const struct pol_job *job, bool one_socket)
{
	(void)ctx;
	(void)job;
	return one_socket ? 100 : 110;
}

static double
beside_s(void *ctx, const struct pol_job *job, const struct pol_job *other)
{
	(void)ctx;
	(void)other;
	return job->model == 1 ? 200 : 100;
}

static double
least_utility(void *ctx, const struct pol_job *job)
{
	(void)job;
	return *(const double *)ctx;
}

static double least;
static const struct pol_measured measured = { &least, alone_s, beside_s,
					      least_utility };

static const struct pol_inside *
measured_power8(const struct pol_measured *of)
{
	static struct pol_inside inside;

	inside = *inside_find("power8");
	inside.measured = of;
	return &inside;
}

static uint32_t
submit(struct policy_lab *lab, uint32_t n_gpus, uint32_t model)
{
	return lab_add(lab, (struct pol_job){ .n_gpus = n_gpus,
					      .max_gpus = n_gpus,
					      .duration_s = 100,
					      .remaining_s = 100,
					      .model = model,
					      .first_s = NAN });
}

static void
begin(struct policy_lab *lab, uint32_t n_nodes, const char *set)
{
	const struct policy_opts opts = { .seed = 1,
					  .sets = &set,
					  .n_sets = set ? 1 : 0,
					  .round_s = NAN,
					  .restart_s = NAN };
	struct pol_cluster cluster = lab_cluster_of(lab_gpus, n_nodes);

	cluster.inside = measured_power8(&measured);
	lab_init_on(lab, cluster, "topo-aware", &opts);
}

/* The job's GPUs, of all nodes four bits each; 0: it waits. */
static uint64_t
gpus_of(const struct policy_lab *lab, uint32_t job)
{
	const struct pol_grant *grant = pol_plan_find(&lab->plans[0], job);
	uint64_t gpus = 0;

	for (uint32_t i = 0; grant && i < grant->n_pieces; i++) {
		const struct pol_piece *piece =
			&lab->plans[0].pieces.items[grant->first_piece + i];

		gpus |= piece->gpus << (4 * piece->node);
	}
	return gpus;
}

static void
utilities_are_relative_to_the_best(void **state)
{
	const struct topo_weights even = { 1.0 / 3, 1.0 / 3, 1.0 / 3 };
	struct topo_server server = { .inside = measured_power8(&measured),
				      .n_gpus = 4,
				      .n_free = 4 };
	const struct pol_job slow = { .model = 1 };
	const struct topo_neighbor beside = { &slow, 4 };
	double distances[INSIDE_MAX_GPUS + 1];
	struct topo_costs costs;

	(void)state;
	topo_least_distances(server.inside, distances);
	assert_near(distances[2], 1, 1e-12);
	assert_near(distances[3], 41, 1e-12);
	/* A pair of a socket costs the least, one of two sockets 19 of 40. */
	costs = topo_costs_of(&server, distances, &slow, 2, 3);
	assert_near(costs.communication, 0, 1e-12);
	assert_near(costs.fragmentation, 0.5, 1e-12);
	assert_near(topo_job_utility(&even, &costs), 1, 1e-9);
	costs = topo_costs_of(&server, distances, &slow, 2, 5);
	assert_near(costs.communication, 19.0 / 40, 1e-12);
	assert_near(topo_job_utility(&even, &costs),
		    0.2 / (sqrt(19.0 / 40) + sqrt(0.01)), 1e-9);
	/* A neighbor on the same socket. */
	server.neighbors = &beside;
	server.n_neighbors = 1;
	server.n_free = 3;
	costs = topo_costs_of(&server, distances, &slow, 1, 8);
	assert_near(costs.suffered, 0.5, 1e-12);
	assert_near(costs.caused, 0.5, 1e-12);
	assert_near(topo_system_utility(&even, &costs),
		    3 * cbrt(0.01) / (cbrt(0.01) + cbrt(0.5) + cbrt(0.5)), 1e-9);
	costs = topo_costs_of(&server, distances, &slow, 1, 1);
	assert_near(costs.suffered, 0, 1e-12);
}

static void
a_pair_gets_a_socket(void **state)
{
	struct policy_lab lab;
	uint32_t a, b;

	(void)state;
	begin(&lab, 1, NULL);
	a = submit(&lab, 1, 0);
	b = submit(&lab, 2, 0);
	lab_plan(&lab, 1);
	assert_true(gpus_of(&lab, a) == 8);
	assert_true(gpus_of(&lab, b) == 3);
	lab_fini(&lab);
}

static void
jobs_that_disturb_each_other_are_kept_apart(void **state)
{
	struct policy_lab lab;
	uint32_t a, b;

	(void)state;
	begin(&lab, 1, NULL);
	a = submit(&lab, 1, 1);
	b = submit(&lab, 1, 1);
	lab_plan(&lab, 1);
	assert_false(inside_share_socket(lab.cluster.inside, gpus_of(&lab, a),
					 gpus_of(&lab, b)));
	lab_fini(&lab);
}

static void
a_job_waits_for_its_utility(void **state)
{
	struct policy_lab lab;
	uint32_t a, b, c;

	(void)state;
	least = 0.9;
	begin(&lab, 1, "topo-aware.postpone=1");
	a = submit(&lab, 1, 0);
	lab_plan(&lab, 1);
	lab_carry_out(&lab);
	b = submit(&lab, 3, 0);
	c = submit(&lab, 1, 1); /* Has the other socket for itself. */
	lab_plan(&lab, 1);
	assert_true(gpus_of(&lab, a) == 8);
	assert_true(gpus_of(&lab, b) == 7); /* At the least distance of three. */
	assert_true(gpus_of(&lab, c) == 0);
	lab_fini(&lab);

	begin(&lab, 1, "topo-aware.postpone=1");
	a = submit(&lab, 2, 0);
	b = submit(&lab, 1, 1);
	c = submit(&lab, 1, 1);
	lab_plan(&lab, 1);
	lab_carry_out(&lab);
	assert_true(gpus_of(&lab, b) != 0);
	assert_true(gpus_of(&lab, c) == 0); /* Beside b it would be slow. */
	lab_finish(&lab, b);
	lab_plan(&lab, 1);
	assert_true(gpus_of(&lab, c) != 0);
	lab_fini(&lab);
}

static void
a_large_job_gets_whole_nodes(void **state)
{
	struct policy_lab lab;
	uint32_t a;

	(void)state;
	begin(&lab, 3, NULL);
	submit(&lab, 1, 0);
	a = submit(&lab, 6, 0);
	lab_plan(&lab, 4);
	assert_int_equal(lab.n_plans, 1);
	assert_int_equal(__builtin_popcountll(gpus_of(&lab, a)), 6);
	lab_fini(&lab);
}

static void
a_job_that_fits_nowhere_keeps_its_turn(void **state)
{
	struct policy_lab lab;
	uint32_t a, b, c;

	(void)state;
	begin(&lab, 1, NULL);
	a = submit(&lab, 3, 0);
	lab_plan(&lab, 1);
	lab_carry_out(&lab);
	b = submit(&lab, 3, 0);
	lab_plan(&lab, 1);
	c = submit(&lab, 2, 0);
	lab_plan(&lab, 1);
	lab_finish(&lab, a);
	lab_plan(&lab, 1);
	assert_int_equal(__builtin_popcountll(gpus_of(&lab, b)), 3);
	assert_true(gpus_of(&lab, c) == 0);
	lab_fini(&lab);
}

/* ---- Its simulator --------------------------------------------------------------- */

#define ARCHIVE   SHARED_DATA "/traces/bsc_topo/bsc_topo.tar.xz"
#define PERIOD_S  1.1
#define N_NODES   4
#define MOST_JOBS 100

struct world {
	struct json_doc *trace;
	char *text;
	size_t n;
	const struct json *of[MOST_JOBS]; /* By job: its row. */
	struct cluster_job jobs[MOST_JOBS];
	double needed_s[MOST_JOBS], held_s[MOST_JOBS];
	struct pol_measured measured;
	struct pol_inside inside;
};

static struct json_doc *
read_json(const char *path, char **ret_text)
{
	struct strbuf text = STRBUF_EMPTY;
	struct err err = { 0 };
	struct json_doc *doc;
	struct lines *lines;
	char *line;
	size_t n;

	assert_int_equal(lines_open(path, &lines, &err), 0);
	while (lines_next(lines, &line, &n, &err) > 0)
		strbuf_printf(&text, "%s\n", line);
	lines_close(lines);
	*ret_text = text.text;
	assert_int_equal(json_parse(path, text.text, text.length, &doc, &err), 0);
	return doc;
}

static double
number(const struct json *row, const char *key)
{
	return json_number(json_find(row, key));
}

/*
 * Measured times in seconds (data/profiles/prof_from_experiments.json of the same
 * repository, with which the published results come out): models AlexNet and GoogLeNet,
 * batches of 1 and 4, by kind = 2 * model + (batch 4).  0: not measured.
 */
enum {
	N_KINDS = 4,
	MOST_GPUS = 3
};

static const double alone_one_socket_s[N_KINDS][MOST_GPUS] = {
	{ 69.165, 127.415, 170.36 },
	{ 109.435, 152.285, 201.4 },
	{ 112.365, 146.135, 174.455 },
	{ 251.195, 299.16, 351.975 },
};
static const double pair_on_two_sockets_s[N_KINDS] = { 159.115, 187.32, 150.265,
						       305.375 };

/* Beside a job of each kind: of any size, of two GPUs, and of one GPU. */
static const double beside_kind_s[N_KINDS][MOST_GPUS][N_KINDS] = {
	{ { 63.79, 75.03, 64.45, 71.12 },
	  { 167.87, 172.08, 157.87, 154.52 },
	  { 168.08, 173.05, 0, 0 } },
	{ { 114.86, 98.61, 109.95, 115.13 },
	  { 191.7, 201.4, 199.47, 185.25 },
	  { 198.89, 194.97, 0, 0 } },
	{ { 0 }, { 169.06, 176.1, 0, 0 }, { 175.97, 175.93, 0, 0 } },
	{ { 0 }, { 306.63, 316.09, 0, 0 }, { 357.09, 364.85, 0, 0 } },
};

static uint32_t
kind_of(const struct world *w, const struct pol_job *job)
{
	const struct json *row = w->of[job->id];
	const char *model = json_string(json_find(row, "type"));
	const char *batch = json_string(json_find(row, "size"));

	assert_true(strcmp(batch, "1") == 0 || strcmp(batch, "4") == 0);
	return 2 * (strcmp(model, "bvlc_googlenet") == 0) + (*batch == '4');
}

/* Of three GPUs, which no socket has, the time is listed as of one socket. */
static double
solo_s(void *ctx, const struct pol_job *job, bool one_socket)
{
	uint32_t kind = kind_of(ctx, job);

	if (job->n_gpus == 2 && !one_socket)
		return pair_on_two_sockets_s[kind];
	return one_socket ? alone_one_socket_s[kind][job->n_gpus - 1] : 0;
}

static double
with_s(void *ctx, const struct pol_job *job, const struct pol_job *other)
{
	static const uint32_t other_gpus[] = { 0, 2, 1 };
	uint32_t needed = other_gpus[job->n_gpus - 1];

	if (needed && other->n_gpus != needed)
		return 0;
	return beside_kind_s[kind_of(ctx, job)][job->n_gpus - 1][kind_of(ctx, other)];
}

static double
minimal_utility(void *ctx, const struct pol_job *job)
{
	const struct world *w = ctx;

	return number(w->of[job->id], "minimal_utility");
}

static int
by_arrival(const void *a, const void *b)
{
	double x = number(*(const struct json *const *)a, "arrival");
	double y = number(*(const struct json *const *)b, "arrival");

	return (x > y) - (x < y);
}

/*
 * The step at which its simulator notices an arrival.  Its steps are a running sum in
 * floating point, at times below the arrival that was rounded up to a step.
 */
static double
notice_s(double arrival_s)
{
	double due_s = ceil(arrival_s / PERIOD_S - 1e-9) * PERIOD_S, sum_s = 0;
	unsigned n = 0;

	due_s = round(due_s * 10) / 10;
	for (; sum_s < due_s; n++)
		sum_s += PERIOD_S;
	return n * PERIOD_S;
}

static void
world_init(struct world *w)
{
	*w = (struct world){ 0 };
	w->trace = read_json(ARCHIVE ":data/workloads-100.json", &w->text);
	for (const struct json *row = json_first(json_root(w->trace)); row;
	     row = json_next(row))
		w->of[w->n++] = row;
	qsort(w->of, w->n, sizeof w->of[0], by_arrival);
	w->measured = (struct pol_measured){ w, solo_s, with_s, minimal_utility };
	w->inside = *inside_find("power8");
	w->inside.measured = &w->measured;
	for (size_t i = 0; i < w->n; i++) {
		uint32_t n_gpus = (uint32_t)number(w->of[i], "gpus");
		const struct pol_job job = { .id = (uint32_t)i, .n_gpus = n_gpus };

		w->jobs[i] = (struct cluster_job){
			.submit_s = notice_s(number(w->of[i], "arrival")),
			.duration_s = solo_s(w, &job, true),
			.n_gpus = n_gpus,
			.max_gpus = n_gpus,
			.user = POL_NONE,
			.vc = POL_NONE,
			.model = POL_NONE,
			.predicted_s = NAN,
			.iterations = NAN,
			.iteration_s = NAN,
			.stage_s = { NAN, NAN, NAN },
		};
		w->needed_s[i] = w->jobs[i].duration_s;
		w->held_s[i] = w->jobs[i].duration_s;
	}
}

static void
world_fini(struct world *w)
{
	json_doc_free(w->trace);
	free(w->text);
}

/*
 * Its simulator's time of a job: the longest of what was measured of its places and
 * neighbors so far.
 */
static void
update_needed(struct world *w, const struct pol_view *view, const struct pol_job *job)
{
	uint64_t gpus = job->pieces[0].gpus;
	double alone = solo_s(w, job,
			      !inside_share_socket(&w->inside, gpus, 3) ||
				      !inside_share_socket(&w->inside, gpus, 12));
	double beside = 0;

	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *other = &view->jobs[view->ids[i]];

		if (other == job || !other->n_pieces ||
		    other->pieces[0].node != job->pieces[0].node ||
		    !inside_share_socket(&w->inside, gpus, other->pieces[0].gpus))
			continue;
		beside = fmax(beside, with_s(w, job, other));
	}
	w->needed_s[job->id] =
		fmax(w->needed_s[job->id], beside > alone ? beside : alone);
}

/* Ends are noticed in steps, and the GPUs are free in the step after that. */
static void
rates(void *ctx, const struct pol_view *view, double *speeds)
{
	struct world *w = ctx;

	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];

		if (!job->n_pieces)
			continue;
		update_needed(w, view, job);
		w->held_s[job->id] =
			(ceil(w->needed_s[job->id] / PERIOD_S - 1e-9) + 1) * PERIOD_S -
			1e-6;
		speeds[i] = job->remaining_s / (w->held_s[job->id] - job->executed_s);
	}
}

static void
advance(void *ctx, struct pol_job *job, double speed, double from_s, double to_s)
{
	const struct world *w = ctx;

	(void)speed;
	job->executed_s += to_s - from_s;
	job->remaining_s = w->held_s[job->id] - job->executed_s;
}

static double
no_speed(void *ctx, const struct pol_job *job, uint32_t n_gpus, uint32_t n_nodes,
	 uint32_t type, const struct pol_job *const *mates, uint32_t n_mates)
{
	(void)ctx;
	(void)job;
	(void)n_gpus;
	(void)n_nodes;
	(void)type;
	(void)mates;
	(void)n_mates;
	return 1;
}

/* ---- The policies it compares with ----------------------------------------------- */

/* Free GPUs of each node, and the plan with the running jobs. */
static void
keep_all(const struct pol_view *view, struct pol_plan *plan, uint64_t *ret_free)
{
	uint32_t n_free[N_NODES];
	struct pol_free free = place_empty(view->cluster, n_free);

	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];
		size_t first = plan->pieces.n;

		if (place_keep(job, &free, plan))
			pol_plan_grant(plan, job->id, job->n_gpus, job->id, first);
	}
	place_busy(plan, N_NODES, ret_free);
	for (uint32_t i = 0; i < N_NODES; i++)
		ret_free[i] = 0xf & ~ret_free[i];
}

/* Takes GPUs of a node, socket by socket: the fuller first, or in order. */
static uint64_t
take_gpus(uint64_t *free, uint32_t n, bool fuller)
{
	uint64_t taken = 0, low = *free & 3, high = *free & 12;
	bool high_first =
		fuller && high &&
		(!low || __builtin_popcountll(high) <= __builtin_popcountll(low));

	for (int k = 0; k < 2; k++) {
		uint64_t socket = (k == 0) == high_first ? high : low;

		for (; n && socket; socket &= socket - 1, n--)
			taken |= socket & -socket;
	}
	*free &= ~taken;
	return taken;
}

/*
 * Both serve jobs only while the first node has room, and take the last node that has.
 * Best fit loses, until the next step, GPUs of each node that it considers.
 */
static void
serve(const struct pol_view *view, struct pol_plan *plan, bool best_fit)
{
	uint64_t free[N_NODES];
	uint32_t room;

	keep_all(view, plan, free);
	room = (uint32_t)__builtin_popcountll(free[0]);
	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];
		uint32_t node = POL_NONE;
		uint64_t gpus = 0;

		if (job->n_pieces)
			continue;
		for (uint32_t k = 0; job->n_gpus <= room && k < N_NODES; k++) {
			if ((uint32_t)__builtin_popcountll(free[k]) < job->n_gpus)
				continue;
			node = k;
			if (best_fit)
				gpus = take_gpus(&free[k], job->n_gpus, true);
		}
		if (node == POL_NONE && !best_fit)
			break;
		if (node == POL_NONE)
			continue;
		if (!best_fit)
			gpus = take_gpus(&free[node], job->n_gpus, false);
		vec_push(&plan->pieces,
			 ((struct pol_piece){ node, job->n_gpus, gpus }));
		pol_plan_grant(plan, job->id, job->n_gpus, job->id, plan->pieces.n - 1);
	}
}

static uint32_t
plan_best_fit(void *state, const struct pol_view *view, struct pol_plan *plans,
	      uint32_t n_max)
{
	(void)state;
	(void)n_max;
	serve(view, plans, true);
	return 1;
}

static uint32_t
plan_first_come(void *state, const struct pol_view *view, struct pol_plan *plans,
		uint32_t n_max)
{
	(void)state;
	(void)n_max;
	serve(view, plans, false);
	return 1;
}

static const struct pol_planner best_fit = { .module = { .name = "bf" },
					     .plan = plan_best_fit };
static const struct pol_planner first_come = { .module = { .name = "fcfs" },
					       .plan = plan_first_come };

/* Mean completion time in its simulator's steps. */
static double
replay(const struct pol_planner *planner, const char *const *sets, size_t n_sets)
{
	struct policy_spec spec = *policy_find("topo-aware");
	const struct policy_opts opts = { .seed = 1,
					  .sets = sets,
					  .n_sets = n_sets,
					  .round_s = PERIOD_S,
					  .restart_s = NAN };
	struct pol_cluster cluster = lab_cluster_of(lab_gpus, N_NODES);
	struct cluster_result results[MOST_JOBS];
	struct cluster_counts counts;
	struct policy *policy;
	struct err err = { 0 };
	struct world w;
	double sum = 0;
	size_t bad;

	world_init(&w);
	cluster.inside = &w.inside;
	spec.drive = POL_ROUNDS;
	spec.planner = planner ? planner : spec.planner;
	assert_int_equal(policy_new(&spec, &opts, &cluster, &policy, &err), 0);
	const struct cluster_work work = { .ctx = &w,
					   .speed = { .speed = no_speed },
					   .advance = advance,
					   .rates = rates };
	const struct cluster_opts run = {
		.cluster = &cluster, .work = &work, .until_s = INFINITY, .check = true
	};

	assert_int_equal(cluster_run(w.jobs, w.n, policy, &run, results, &counts, &bad),
			 0);
	for (size_t i = 0; i < w.n; i++)
		sum += results[i].end_s - PERIOD_S - w.jobs[i].submit_s;
	policy_free(policy);
	sum /= (double)w.n;
	world_fini(&w);
	return sum;
}

/*
 * Run under Python 2, its language, without the fault that takes a GPU that is in use: a
 * job that it places on the last free GPU of a node gets the last one of the socket, free
 * or not.  With it the utility rules' means are 238.491 and 251.482, and of the 100 jobs
 * 26 and 19 share a GPU.
 */
static void
it_agrees_with_its_simulator(void **state)
{
	static const char *const sets[] = { "topo-aware.first_node=1",
					    "topo-aware.postpone=1" };

	const struct {
		const struct pol_planner *planner;
		size_t n_sets;
		double mean_s;
	} cases[] = { { NULL, 1, 263.109 },
		      { NULL, 2, 262.889 },
		      { &best_fit, 0, 382.074 },
		      { &first_come, 0, 480.381 } };

	(void)state;
	if (access(ARCHIVE, R_OK) != 0) {
		print_message("skipped: %s is not there\n", ARCHIVE);
		skip();
	}
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_near(replay(cases[i].planner, sets, cases[i].n_sets),
			    cases[i].mean_s, 1e-3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(utilities_are_relative_to_the_best),
		cmocka_unit_test(a_pair_gets_a_socket),
		cmocka_unit_test(jobs_that_disturb_each_other_are_kept_apart),
		cmocka_unit_test(a_job_waits_for_its_utility),
		cmocka_unit_test(a_large_job_gets_whole_nodes),
		cmocka_unit_test(a_job_that_fits_nowhere_keeps_its_turn),
		cmocka_unit_test(it_agrees_with_its_simulator),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
