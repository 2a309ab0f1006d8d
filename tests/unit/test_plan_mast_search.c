/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_plan_mast_search.c - MAST places a job, and stops others for it, as a search over
 * all sets of nodes and of jobs does
 */
#include "lib/base/rng.h"
#include "tests/unit/policy_lab.h"

#define N_NODES  8
#define N_SETS   (1u << N_NODES)
#define N_RUNS   7 /* Running jobs, at most. */
#define COPY_S   1000
#define N_SCORES 7

static uint32_t
submit(struct policy_lab *lab, int32_t priority, uint32_t n_gpus)
{
	return lab_add(lab, (struct pol_job){ .submit_s = lab->view.now_s,
					      .n_gpus = n_gpus,
					      .max_gpus = n_gpus,
					      .user = POL_NONE,
					      .vc = POL_NONE,
					      .priority = priority,
					      .duration_s = 100,
					      .remaining_s = 100,
					      .first_s = NAN });
}

/* Two racks are a cluster, two clusters a region. */
struct scene {
	uint32_t n_gpus[N_NODES], racks[N_NODES], zeros[N_NODES];
	uint32_t n_free[N_NODES];
	struct pol_cluster cluster;
	struct pol_piece pieces[N_RUNS][N_NODES];
	struct policy_lab lab;
	uint32_t job; /* The one that waits. */
};

/*
 * Nodes; free GPUs and number of the cluster; whether it is several racks; free GPUs and
 * number of the rack; free GPUs of the node.  Lower is better; the first that differs
 * counts.
 */
struct score {
	uint32_t of[N_SCORES];
};

static void
draw_cluster(struct scene *scene, struct rng *rng)
{
	uint32_t rack = 0;

	*scene = (struct scene){ 0 };
	for (uint32_t i = 0; i < N_NODES; i++) {
		rack += i && rng_below(rng, 3);
		rack = rack < i ? rack : i;
		scene->racks[i] = rack;
		scene->n_gpus[i] = scene->n_free[i] = (uint32_t)(1 + rng_below(rng, 8));
		scene->cluster.n_all_gpus += scene->n_gpus[i];
	}
	scene->cluster.n_nodes = N_NODES;
	scene->cluster.n_racks = rack + 1;
	scene->cluster.n_types = 1;
	scene->cluster.n_gpus = scene->n_gpus;
	scene->cluster.rack_of = scene->racks;
	scene->cluster.type_of = scene->zeros;
}

/* A running job on up to two random nodes. */
static void
draw_running(struct scene *scene, struct rng *rng)
{
	uint32_t k = scene->lab.n, id;
	struct pol_job *job;
	uint32_t n = 0, n_gpus = 0;
	uint32_t first = (uint32_t)rng_below(rng, N_NODES);

	for (uint32_t i = first; i < N_NODES && n < 1 + k % 2; i++) {
		uint32_t take = (uint32_t)rng_below(rng, scene->n_free[i] + 1);

		if (!take)
			continue;
		scene->pieces[k][n++] = (struct pol_piece){ i, take, 0 };
		scene->n_free[i] -= take;
		n_gpus += take;
	}
	if (!n)
		return;
	id = submit(&scene->lab, (int32_t)rng_below(rng, 3), n_gpus);
	job = &scene->lab.jobs[id];
	job->pieces = scene->pieces[k];
	job->n_pieces = n;
	job->n_held_gpus = n_gpus;
}

/* Racks of a unit: a rack, a cluster, a region, all. */
static const uint32_t widths[] = { 1, 2, 4, N_NODES };

static bool
is_allowed(const struct scene *scene, uint32_t node)
{
	const struct pol_job *job = &scene->lab.jobs[scene->job];
	uint32_t n_regions = (scene->cluster.n_racks + 3) / 4;

	return scene->lab.view.now_s >= job->submit_s + COPY_S ||
	       scene->racks[node] / 4 == rng_mix(job->id) % n_regions;
}

/* GPUs of the unit of a node's rack, by node; of allowed nodes only. */
static uint32_t
sum_unit(const struct scene *scene, const uint32_t *n_gpus, uint32_t node,
	 uint32_t width)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < N_NODES; i++)
		if (is_allowed(scene, i) &&
		    scene->racks[i] / width == scene->racks[node] / width)
			n += n_gpus[i];
	return n;
}

/* The level of scope in which the job has to run: 3 is more than its region. */
static uint32_t
level_of(const struct scene *scene, uint32_t n_gpus)
{
	for (uint32_t level = 1; level < 4; level++)
		for (uint32_t i = 0; i < N_NODES; i++)
			if (is_allowed(scene, i) &&
			    sum_unit(scene, scene->n_gpus, i, widths[level]) >= n_gpus)
				return level;
	return 3;
}

/* Whether the job fits on this set of nodes; and the set's score. */
static bool
rate(const struct scene *scene, const uint32_t *n_free, uint32_t set,
     struct score *ret_score)
{
	uint32_t n_gpus = scene->lab.jobs[scene->job].n_gpus, room = 0;
	uint32_t level = level_of(scene, n_gpus);
	uint32_t first = (uint32_t)__builtin_ctz(set), same_rack = 1;

	for (uint32_t i = 0; i < N_NODES; i++) {
		if (!(set >> i & 1))
			continue;
		if (!is_allowed(scene, i) ||
		    scene->racks[i] / widths[level] !=
			    scene->racks[first] / widths[level])
			return false;
		same_rack &= scene->racks[i] == scene->racks[first];
		room += n_free[i];
	}
	*ret_score = (struct score){
		{ (uint32_t)__builtin_popcount(set),
		  sum_unit(scene, n_free, first, widths[level]),
		  scene->racks[first] / widths[level] },
	};
	/* In larger scopes than a cluster, only these are compared. */
	if (level > 1)
		return room >= n_gpus;
	ret_score->of[3] = !same_rack;
	if (same_rack) {
		ret_score->of[4] = sum_unit(scene, n_free, first, 1);
		ret_score->of[5] = scene->racks[first];
	}
	if (ret_score->of[0] == 1)
		ret_score->of[6] = n_free[first];
	return room >= n_gpus;
}

static int
compare(const struct score *a, const struct score *b)
{
	for (int i = 0; i < N_SCORES; i++)
		if (a->of[i] != b->of[i])
			return a->of[i] < b->of[i] ? -1 : 1;
	return 0;
}

static bool
search(const struct scene *scene, const uint32_t *n_free, struct score *ret_best)
{
	bool fits = false;

	for (uint32_t set = 1; set < N_SETS; set++) {
		struct score score;

		if (!rate(scene, n_free, set, &score) ||
		    (fits && compare(&score, ret_best) >= 0))
			continue;
		*ret_best = score;
		fits = true;
	}
	return fits;
}

/* Frees the GPUs of a set of jobs; returns how many, POL_NONE: some may not lose them. */
static uint32_t
free_jobs(const struct scene *scene, uint32_t jobs, uint32_t *ret_n_free)
{
	uint32_t n = 0;

	memcpy(ret_n_free, scene->n_free, sizeof scene->n_free);
	for (uint32_t id = 0; id < scene->job; id++) {
		const struct pol_job *job = &scene->lab.jobs[id];

		if (!(jobs >> id & 1))
			continue;
		if (job->priority >= scene->lab.jobs[scene->job].priority)
			return POL_NONE;
		for (uint32_t i = 0; i < job->n_pieces; i++)
			ret_n_free[job->pieces[i].node] += job->pieces[i].n_gpus;
		n += job->n_gpus;
	}
	return n;
}

/* The fewest GPUs that running jobs have to lose; POL_NONE: the job cannot run. */
static uint32_t
least_lost(const struct scene *scene)
{
	uint32_t least = POL_NONE;

	for (uint32_t jobs = 0; jobs < 1u << scene->job; jobs++) {
		uint32_t n_free[N_NODES];
		uint32_t lost = free_jobs(scene, jobs, n_free);
		struct score score;

		if (lost < least && search(scene, n_free, &score))
			least = lost;
	}
	return least;
}

/* The jobs that the plan stops or moves. */
static uint32_t
find_stopped(const struct scene *scene)
{
	const struct pol_plan *plan = &scene->lab.plans[0];
	uint32_t jobs = 0;

	for (uint32_t id = 0; id < scene->job; id++) {
		const struct pol_job *job = &scene->lab.jobs[id];
		const struct pol_grant *grant = pol_plan_find(plan, id);

		if (!grant || grant->n_pieces != job->n_pieces ||
		    memcmp(plan->pieces.items + grant->first_piece, job->pieces,
			   job->n_pieces * sizeof *job->pieces) != 0)
			jobs |= 1u << id;
	}
	return jobs;
}

struct counts {
	uint32_t fits, preempts, waits, wide;
};

static void
check(const struct scene *scene, uint64_t seed, struct counts *counts)
{
	const struct pol_plan *plan = &scene->lab.plans[0];
	const struct pol_grant *grant = pol_plan_find(plan, scene->job);
	uint32_t least = least_lost(scene), n_free[N_NODES];
	uint32_t lost = free_jobs(scene, find_stopped(scene), n_free), set = 0;
	struct score best, score;

	counts->waits += !grant;
	counts->fits += grant && !lost;
	counts->preempts += lost && lost != POL_NONE;
	counts->wide += level_of(scene, scene->lab.jobs[scene->job].n_gpus) > 1;
	if (lost != (least == POL_NONE ? 0 : least) || !grant != (least == POL_NONE))
		fail_msg("seed %d: %u GPUs lost, not %u", (int)seed, lost, least);
	if (!grant)
		return;
	for (uint32_t i = 0; i < grant->n_pieces; i++)
		set |= 1u << plan->pieces.items[grant->first_piece + i].node;
	assert_true(rate(scene, n_free, set, &score));
	assert_true(search(scene, n_free, &best));
	if (compare(&score, &best) != 0)
		fail_msg("seed %d: nodes %x: %u nodes, %u free in the unit; best: %u, "
			 "%u",
			 (int)seed, set, score.of[0], score.of[1], best.of[0],
			 best.of[1]);
}

static void
the_place_is_that_of_a_flat_search(void **state)
{
	static const char *const sets[] = { "mast.racks_per_cluster=2",
					    "mast.copy_s=1000" };
	const struct policy_opts opts = {
		.sets = sets, .n_sets = 2, .round_s = NAN, .restart_s = NAN
	};
	struct counts counts = { 0 };

	(void)state;
	for (uint64_t seed = 1; seed <= 1000; seed++) {
		struct scene scene;
		struct rng rng;
		uint32_t n_gpus;

		rng_init(&rng, seed);
		draw_cluster(&scene, &rng);
		lab_init_on(&scene.lab, scene.cluster, "mast", &opts);
		for (uint32_t k = 0; k < N_RUNS; k++)
			draw_running(&scene, &rng);
		n_gpus = (uint32_t)(1 + rng_below(&rng, rng_below(&rng, 2) ? 4 : 24));
		scene.job = submit(&scene.lab, 1, n_gpus);
		scene.lab.view.now_s = rng_below(&rng, 2) ? COPY_S : COPY_S - 1;
		lab_plan(&scene.lab, 1);
		check(&scene, seed, &counts);
		lab_fini(&scene.lab);
	}
	printf("%u fit, %u preempt, %u wait, %u larger than a cluster\n", counts.fits,
	       counts.preempts, counts.waits, counts.wide);
	assert_true(counts.fits > 0 && counts.preempts > 0 && counts.waits > 0 &&
		    counts.wide > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_place_is_that_of_a_flat_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
