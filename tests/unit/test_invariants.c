/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_invariants.c - what must hold after every event of a cluster under any policy
 *
 * No GPU is used twice, none of a node that is away, gangs are whole, no usable GPU is
 * idle where the policy promises that, and the service of each job adds up to its work.
 *
 * The runs cover every policy of the table, with preemption, restart costs, groups and
 * guests on the same GPUs, elastic sizes, jobs of no length, racks, types of GPUs, and
 * an augmentation that takes any candidate.  test_invariants N: with N seeds, not 3.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "policies/inside.h"
#include "policies/places.h"
#include "policies/stages.h"
#include "sim/cluster/cluster.h"
#include "tests/unit/test.h"

#define N_NODES 6
#define N_JOBS  50
#define NEAR_S  1e-6
#define SKEW    0.7 /* Skew of every third job. */

static const uint32_t gpus[N_NODES] = { 4, 4, 8, 8, 2, 4 };
static const uint32_t zeros[N_NODES], racks[N_NODES] = { 0, 0, 0, 1, 1, 1 };
static const uint32_t types[N_NODES] = { 0, 0, 1, 0, 1, 1 };
static const uint32_t all_of_one[1] = { 16 };

static const struct pol_cluster one_rack = { .n_nodes = N_NODES,
					     .n_racks = 1,
					     .n_types = 1,
					     .n_gpus = gpus,
					     .rack_of = zeros,
					     .type_of = zeros,
					     .n_all_gpus = 30 };
static const struct pol_cluster two_types = { .n_nodes = N_NODES,
					      .n_racks = 2,
					      .n_types = 2,
					      .n_gpus = gpus,
					      .rack_of = racks,
					      .type_of = types,
					      .n_all_gpus = 30 };
static uint64_t n_seeds = 3;
static struct pol_cluster linked; /* Some nodes are servers whose GPUs have links. */
static const struct pol_cluster one_node = { .n_nodes = 1,
					     .n_racks = 1,
					     .n_types = 1,
					     .n_gpus = all_of_one,
					     .rack_of = zeros,
					     .type_of = zeros,
					     .n_all_gpus = 16 };

struct scene {
	const char *text;
	const struct pol_cluster *cluster;
	uint32_t max_gpus; /* Most GPUs that a job wants. */
	bool has_stages;   /* Some jobs are guests, where the policy has guests. */
	bool is_elastic, is_augmented;
	double restart_s; /* NAN: the policy's value. */
	bool has_away;    /* Nodes go away and come back. */
};

static const struct scene scenes[] = {
	{ "rigid", &one_rack, 16, false, false, false, 45, false },
	{ "shared", &one_rack, 16, true, false, false, NAN, false },
	{ "shared, restarts", &one_rack, 16, true, false, false, 45, false },
	{ "elastic", &one_rack, 4, true, true, false, NAN, false },
	{ "augmented", &one_rack, 16, true, false, true, NAN, false },
	{ "elastic, augmented, restarts", &one_rack, 4, true, true, true, 45, false },
	{ "two types", &two_types, 8, true, false, true, NAN, false },
	{ "linked GPUs", &linked, 16, true, false, true, 45, false },
	{ "one node", &one_node, 16, true, true, true, 45, false },
	{ "away", &one_rack, 8, true, false, false, 45, true },
	{ "away, elastic, augmented", &one_rack, 4, true, true, true, 45, true },
	{ "away, two types", &two_types, 8, true, false, true, NAN, true },
};

/* Up to four nodes are away at a time; twice away is once away. */
static const struct cluster_change changes[] = {
	{ 0, 5, true },      { 500, 2, true },   { 900, 3, true },   { 1000, 2, false },
	{ 2000, 0, true },   { 2000, 1, true },  { 2500, 1, true },  { 3000, 3, false },
	{ 3100, 1, false },  { 4000, 0, false }, { 4000, 2, true },  { 4500, 2, false },
	{ 7000, 3, true },   { 7000, 2, true },  { 9000, 2, false }, { 9500, 3, false },
	{ 12000, 5, false },
};
#define N_CHANGES (sizeof changes / sizeof *changes)

struct watch {
	const struct policy_spec *spec;
	const struct scene *scene;
	const char *const *sets; /* Parameters of the policy; NULL: defaults. */
	size_t n_sets;
	const struct cluster_job *jobs;
	double speeds[N_JOBS]; /* Valid until the next event. */
	double served[N_JOBS]; /* Service of each job by this test's own sums. */
	struct rng rng;
	uint64_t n_events, n_shared, n_guests, n_resized;
};

static void
draw_jobs(const struct scene *scene, struct cluster_job *jobs, uint64_t seed)
{
	struct rng rng;
	double now_s = 0;

	rng_init(&rng, seed);
	for (size_t i = 0; i < N_JOBS; i++) {
		struct cluster_job *job = &jobs[i];

		/* Some arrive at the same time, some are equal, some end at once. */
		if (rng_below(&rng, 3))
			now_s += (double)rng_below(&rng, 300);
		*job = (struct cluster_job){
			.submit_s = now_s,
			.duration_s = rng_below(&rng, 10)
					      ? (double)(1 + rng_below(&rng, 3000))
					      : 0,
			.n_gpus = 1u << rng_below(&rng, 5),
			.user = (uint32_t)rng_below(&rng, 4),
			.vc = POL_NONE,
			.model = POL_NONE,
			.priority = (int32_t)rng_below(&rng, 2),
			.predicted_s = rng_below(&rng, 2) ? NAN : 500,
			.iterations = NAN,
			.iteration_s = NAN,
			.stage_s = { NAN, NAN, NAN },
			.skew = i % 3 ? 0.3 : SKEW,
		};
		while (job->n_gpus > scene->max_gpus)
			job->n_gpus /= 2;
		job->max_gpus = scene->is_elastic && rng_below(&rng, 3)
					? job->n_gpus * 4
					: job->n_gpus;
		/* One in four is not measured. */
		if (!scene->has_stages || !rng_below(&rng, 4))
			continue;
		job->iteration_s = 1;
		job->stage_s[0] = 0.1 * (double)rng_below(&rng, 9);
		job->stage_s[1] = 0.1 + 0.1 * (double)rng_below(&rng, 9);
		job->stage_s[2] = 0.1 * (double)rng_below(&rng, 9);
	}
}

/* Sublinear in GPUs; slower on the second type and on several nodes. */
static double
speed(void *ctx, const struct pol_job *job, uint32_t n_gpus, uint32_t n_nodes,
      uint32_t type, const struct pol_job *const *mates, uint32_t n_mates)
{
	double alone = stages_speed(ctx, job, n_gpus, n_nodes, type, mates, n_mates);

	return alone * pow((double)n_gpus / job->n_gpus, 0.7) * (type ? 0.6 : 1) *
	       (n_nodes > 1 ? 0.9 : 1);
}

/* ---- After every event ----------------------------------------------------------- */

static void
wrong(const struct watch *w, const struct pol_view *view, uint32_t job,
      const char *what)
{
	fail_msg("%s, %s, at %g s, job %u: %s", w->spec->name, w->scene->text,
		 view->now_s, job, what);
}

static void
check_gang(const struct watch *w, const struct pol_view *view,
	   const struct pol_job *job)
{
	uint32_t sum = 0, n_wanted;

	for (uint32_t i = 0; i < job->n_pieces; i++) {
		if (job->pieces[i].node >= view->cluster->n_nodes ||
		    (i && job->pieces[i].node <= job->pieces[i - 1].node))
			wrong(w, view, job->id, "nodes that are none, or twice there");
		sum += job->pieces[i].n_gpus;
	}
	n_wanted = job->n_ranks > 1 ? (job->n_gpus + job->n_ranks - 1) / job->n_ranks
				    : job->n_gpus;
	if (sum != job->n_held_gpus ||
	    (sum != n_wanted && job->max_gpus <= job->n_gpus))
		wrong(w, view, job->id, "a gang that is not whole");
}

/* Whether it is first in the view among the jobs on the same GPUs. */
static bool
is_first(const struct pol_view *view, const struct pol_job *job)
{
	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *other = &view->jobs[view->ids[i]];

		if (other->n_pieces && other->group == job->group)
			return other == job;
	}
	return false;
}

static bool
has_same_gpus(const struct pol_job *a, const struct pol_job *b)
{
	return a->n_pieces == b->n_pieces &&
	       memcmp(a->pieces, b->pieces, a->n_pieces * sizeof *a->pieces) == 0;
}

/* A GPU has one owner or one group of owners, and at most one guest. */
static void
check_gpus(struct watch *w, const struct pol_view *view)
{
	uint32_t n_owned[N_NODES] = { 0 }, n_guests[N_NODES] = { 0 };

	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];
		uint32_t *n_used = job->is_opportunistic ? n_guests : n_owned;

		if (!job->n_pieces)
			continue;
		check_gang(w, view, job);
		w->n_guests += job->is_opportunistic;
		w->n_resized += job->n_held_gpus != job->n_gpus;
		if (!is_first(view, job)) {
			const struct pol_job *first = &view->jobs[job->group];

			w->n_shared++;
			if (first->n_pieces && !has_same_gpus(job, first))
				wrong(w, view, job->id, "a group on different GPUs");
			continue;
		}
		for (uint32_t k = 0; k < job->n_pieces; k++) {
			uint32_t node = job->pieces[k].node;

			n_used[node] += job->pieces[k].n_gpus;
			if (n_used[node] > pol_node_gpus(view->cluster, node))
				wrong(w, view, job->id, "a GPU used twice");
		}
	}
}

static void
check_service(const struct watch *w, const struct pol_view *view)
{
	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];

		if (!(fabs(job->remaining_s + w->served[job->id] - job->duration_s) <
		      NEAR_S))
			wrong(w, view, job->id,
			      "what it was served and what is left do not sum up");
		if (job->executed_s < 0 || job->submit_s > view->now_s)
			wrong(w, view, job->id, "it runs before it is there");
	}
}

static void
after_event(void *ctx, const struct pol_view *view, double *speeds)
{
	struct watch *w = ctx;

	w->n_events++;
	check_gpus(w, view);
	check_service(w, view);
	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];

		w->speeds[job->id] = speeds[i];
		if (job->n_pieces ? !(speeds[i] > 0) : speeds[i] != 0)
			wrong(w, view, job->id, "it runs at no speed, or waits at one");
	}
}

static void
worked(void *ctx, const struct pol_job *job, double dt_s)
{
	struct watch *w = ctx;

	w->served[job->id] += dt_s * w->speeds[job->id];
}

/* ---- After every decision -------------------------------------------------------- */

/* A job runs if enough GPUs are free, on any nodes. */
static const char *const busy[] = {
	"fifo-backfill",
	"smallest",
	"srtf",
	"srsf",
	"las",
	"2d-las",
	"2d-gittins",
	"tiresias",
	"gandiva-fair",
	"themis",
	"astraea",
	"random",
	"gavel-max-min",
	"gavel-ftf",
	"gavel-makespan",
	"gavel-throughput",
	"tiresias-rounds",
	"allox",
	"shockwave",
	"gandiva",
	"synergy",
	"singularity",
	"iadeep",
	"kube-knots",
	NULL,
};
/* No job passes one that arrived earlier. */
static const char *const in_turn[] = { "fifo", "longest-pending", "blox", NULL };

static bool
is_one_of(const char *const *names, const struct policy_spec *spec)
{
	while (*names && strcmp(*names, spec->name) != 0)
		names++;
	return *names;
}

/* Whether the job must run on few nodes or wait. */
static bool
is_skewed(const struct watch *w, const struct pol_job *job)
{
	return w->spec->place == &place_skew && job->skew >= SKEW;
}

/* The least number of nodes with this many GPUs; nodes have at most 16. */
static uint32_t
least_nodes(const struct pol_cluster *cluster, uint32_t n_gpus)
{
	uint32_t n = 0;

	for (uint32_t size = 16; size; size--)
		for (uint32_t i = 0; i < cluster->n_nodes; i++) {
			if (cluster->n_gpus[i] != size || !n_gpus)
				continue;
			n_gpus -= size < n_gpus ? size : n_gpus;
			n++;
		}
	return n;
}

static void
check_skew(const struct watch *w, const struct pol_view *view)
{
	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];

		if (job->n_pieces && is_skewed(w, job) &&
		    job->n_pieces != least_nodes(view->cluster, job->n_gpus))
			wrong(w, view, job->id, "it is skewed, and on many nodes");
	}
}

/* GPUs of one type, where the policy serves the types one by one. */
static uint32_t
count_free(const struct watch *w, const struct pol_view *view, uint32_t type)
{
	bool by_type = w->spec->order && w->spec->order->types;
	uint32_t n = 0;

	for (uint32_t i = 0; i < view->cluster->n_nodes; i++)
		if (!by_type || view->cluster->type_of[i] == type)
			n += pol_node_gpus(view->cluster, i);
	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];

		for (uint32_t k = 0; is_first(view, job) && k < job->n_pieces; k++)
			if (!by_type ||
			    view->cluster->type_of[job->pieces[k].node] == type)
				n -= job->pieces[k].n_gpus;
	}
	return n;
}

static void
check_busy(const struct watch *w, const struct pol_view *view, uint32_t type)
{
	uint32_t n_free = count_free(w, view, type);

	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];

		if (!job->n_pieces && job->n_gpus <= n_free && !is_skewed(w, job))
			wrong(w, view, job->id, "it waits beside free GPUs");
	}
}

static void
check_turns(const struct watch *w, const struct pol_view *view)
{
	bool waits = false;

	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];

		if (waits && job->n_pieces)
			wrong(w, view, job->id, "it passed one that came before");
		waits |= !job->n_pieces;
	}
}

static void
after_plan(void *ctx, const struct pol_view *view, const struct pol_plan *plan)
{
	const struct watch *w = ctx;

	assert_null(pol_plan_why_not(plan, view));
	for (uint32_t type = 0; type < view->cluster->n_types; type++)
		if (is_one_of(busy, w->spec))
			check_busy(w, view, type);
	check_skew(w, view);
	if (is_one_of(in_turn, w->spec) && !w->scene->has_away)
		check_turns(w, view);
}

static uint32_t
take_any(void *ctx, const struct pol_view *view, const struct pol_plan *plans,
	 uint32_t n)
{
	struct watch *w = ctx;

	for (uint32_t i = 0; i < n; i++)
		assert_null(pol_plan_why_not(&plans[i], view));
	return (uint32_t)rng_below(&w->rng, n);
}

/* ---- Runs ------------------------------------------------------------------------ */

static void
check_end(const struct watch *w, const struct cluster_result *results)
{
	for (size_t i = 0; i < N_JOBS; i++) {
		const struct cluster_job *job = &w->jobs[i];
		const struct cluster_result *r = &results[i];

		if (!(r->first_s >= job->submit_s) || !(r->end_s >= r->first_s) ||
		    !(fabs(w->served[i] - job->duration_s) < NEAR_S) ||
		    !(r->executed_s <= r->end_s - r->first_s + NEAR_S))
			fail_msg("%s, %s, job %zu of %g s from %g s on: began at %g, "
				 "ended at %g, ran for %g and was served %g",
				 w->spec->name, w->scene->text, i, job->duration_s,
				 job->submit_s, r->first_s, r->end_s, r->executed_s,
				 w->served[i]);
		if (w->spec->keep == POL_KEEP_ALL && !w->scene->has_away)
			assert_int_equal(r->n_preempted, 0);
	}
}

static void
run(struct watch *w, uint64_t seed)
{
	const struct scene *scene = w->scene;
	const struct cluster_work work = {
		.ctx = w,
		.speed = { .speed = speed },
		.rates = after_event,
		.worked = worked,
		.augment = { .ctx = w, .choose = scene->is_augmented ? take_any : NULL }
	};
	bool is_away[N_NODES] = { false };
	struct pol_cluster cluster = *scene->cluster;
	const struct cluster_opts opts = { .cluster = &cluster,
					   .changes = changes,
					   .n_changes = scene->has_away ? N_CHANGES : 0,
					   .is_away = is_away,
					   .work = &work,
					   .until_s = INFINITY,
					   .check = true,
					   .ctx = w,
					   .on_plan = after_plan };
	/* A short search must hold the invariants, too, and so must moves. */
	static const char *const short_search[] = { "goodput.max_generations=5" };
	static const char *const moves[] = { "gandiva.max_moves=2" };
	const char *planner = w->spec->planner ? w->spec->planner->module.name : "";
	const char *const *more = strcmp(planner, "goodput") == 0   ? short_search
				  : strcmp(planner, "gandiva") == 0 ? moves
								    : NULL;
	const struct policy_opts policy_opts = { .seed = seed,
						 .sets = w->sets ? w->sets : more,
						 .n_sets = w->sets ? w->n_sets
								   : more != NULL,
						 .round_s = NAN,
						 .restart_s = scene->restart_s };
	struct cluster_job jobs[N_JOBS];
	struct cluster_result results[N_JOBS];
	struct cluster_counts counts;
	struct policy *policy;
	struct err err = { 0 };
	size_t bad;

	if (scene->has_away)
		cluster.is_away = is_away;
	draw_jobs(scene, jobs, seed);
	w->jobs = jobs;
	memset(w->served, 0, sizeof w->served);
	rng_init(&w->rng, seed);
	assert_int_equal(policy_new(w->spec, &policy_opts, &cluster, &policy, &err), 0);
	assert_int_equal(
		cluster_run(jobs, N_JOBS, policy, &opts, results, &counts, &bad), 0);
	assert_int_equal(w->n_events, counts.n_events);
	check_end(w, results);
	if (w->spec->planner && w->spec->planner->is_fixed)
		assert_int_equal(counts.n_migrations, 0);
	policy_free(policy);
}

static void
they_hold_after_every_event_under_every_policy(void **state)
{
	uint64_t n_shared = 0, n_guests = 0, n_resized = 0;

	(void)state;
	for (const struct policy_spec *spec = policy_table; spec->name; spec++) {
		for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
			for (uint64_t seed = 1; seed <= n_seeds; seed++) {
				struct watch w = { .spec = spec, .scene = &scenes[i] };

				run(&w, seed);
				n_shared += w.n_shared;
				n_guests += w.n_guests;
				n_resized += w.n_resized;
			}
		}
	}
	/* The scenes did exercise sharing, guests and resizing. */
	assert_true(n_shared > 0 && n_guests > 0 && n_resized > 0);
}

/* Queues that most jobs leave and in which they soon starve. */
static void
they_hold_where_jobs_are_promoted(void **state)
{
	static const struct {
		const char *policy, *sets[3];
	} tries[] = {
		{ "las", { "las.limit0=60", "las.limit1=300", "las.promote=0.3" } },
		{ "2d-las",
		  { "2d-las.limit0=200", "2d-las.limit1=900", "2d-las.promote=1" } },
		{ "2d-gittins",
		  { "2d-gittins.limit0=200", "2d-gittins.limit1=900",
		    "2d-gittins.promote=2" } },
		{ "tiresias-rounds",
		  { "2d-las.limit0=200", "2d-las.limit1=900", "2d-las.promote=1" } },
	};

	(void)state;
	for (size_t k = 0; k < sizeof tries / sizeof *tries; k++)
		for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
			for (uint64_t seed = 1; seed <= n_seeds; seed++) {
				struct watch w = { .spec = policy_find(tries[k].policy),
						   .scene = &scenes[i],
						   .sets = tries[k].sets,
						   .n_sets = 3 };

				run(&w, seed);
			}
}

/* Lent servers are returned and lent again within hours. */
static void
they_hold_where_most_servers_are_lent(void **state)
{
	static const char *const sets[] = { "lyra.loaned_share=0.7",
					    "lyra.peak_hour=3" };
	uint64_t n_resized = 0;

	(void)state;
	for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
		for (uint64_t seed = 1; seed <= n_seeds; seed++) {
			struct watch w = { .spec = policy_find("lyra"),
					   .scene = &scenes[i],
					   .sets = sets,
					   .n_sets = 2 };

			run(&w, seed);
			n_resized += w.n_resized;
		}
	assert_true(n_resized > 0);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_hold_after_every_event_under_every_policy),
		cmocka_unit_test(they_hold_where_jobs_are_promoted),
		cmocka_unit_test(they_hold_where_most_servers_are_lent),
	};

	if (argc > 1)
		n_seeds = strtoull(argv[1], NULL, 10);
	linked = one_rack;
	linked.inside = inside_find("power8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
