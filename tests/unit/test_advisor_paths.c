/* SPDX-License-Identifier: Apache-2.0 */
/* test_advisor_paths.c - paths of jobs: at arrival, while they run, and as they leave */
#include <errno.h>
#include <stdio.h>

#include "lib/base/rng.h"
#include "scheduler/core/advise/advise.h"
#include "scheduler/core/advisor/advisor.h"
#include "scheduler/core/advisor/advisor_priv.h"
#include "scheduler/core/paths/link_loads.h"
#include "tests/unit/advisor_lab.h"
#include "tests/unit/jobs_fixture.h"
#include "tests/unit/test.h"

#define SECOND_NS INT64_C(1000000000)

static struct advisor_view
view_of(const struct advisor *advisor, uint32_t job)
{
	struct advisor_view view;

	assert_true(advisor_view(advisor, job, &view));
	return view;
}

/* A job over two leaves that fills a link for 'duty' of its period. */
static void
cross(struct fixture *f, const char *name, double duty, uint32_t from, uint32_t to)
{
	ON(fixture_job(f, name, 2, 100000 + 7 * (int64_t)strlen(name), duty, 50e9),
	   from, to);
}

/* Puts the last job as one that waits, and then with its hosts. */
static uint32_t
arrive(struct advisor *advisor, struct fixture *f)
{
	struct work_job *job = &f->workload.jobs[f->workload.n - 1];
	uint32_t *hosts = job->hosts, number;

	job->hosts = NULL;
	lab_put(advisor, f, true);
	job->hosts = hosts;
	number = lab_put(advisor, f, true);
	return number;
}

static double
harm_of(const struct advisor *advisor)
{
	return link_loads_total_harm(place_link_loads(advisor->place));
}

/* Looks at all restless jobs; returns how many flows were changed. */
static uint64_t
change_all(struct advisor *advisor, int64_t now_ns)
{
	uint64_t before = advisor_path_counts(advisor).n_changed;

	for (int i = 0; advisor_change_paths(advisor, now_ns, 1); i++)
		assert_true(i < 10000);
	return advisor_path_counts(advisor).n_changed - before;
}

/* Four jobs and four spines: none meets another, whatever hashing would do. */
static void
arrivals_avoid_collisions(void **state)
{
	struct advisor *advisor;
	struct fixture f;
	uint32_t jobs[4];

	(void)state;
	fixture_init(&f, 2, 4, 4, 50e9);
	advisor = advisor_new(f.topo, NULL);
	for (uint32_t i = 0; i < 4; i++) {
		char name[8] = "aaaa";

		name[i] = '\0';
		name[0] = (char)('a' + i);
		cross(&f, name, 0.5, i, 4 + i);
		jobs[i] = arrive(advisor, &f);
	}
	assert_near(harm_of(advisor), 0, 1e-12);
	lab_solve(advisor);
	for (uint32_t i = 0; i < 4; i++) {
		struct advisor_view view = view_of(advisor, jobs[i]);

		assert_near(view.slowdown_after, 1, 1e-9);
		assert_int_equal(view.mode, STEER_FREE);
		if (view.paths) {
			assert_int_equal(view.n_paths, 2);
			assert_true(view.paths_revision > 0);
		}
		/* Hashing may have been lucky, too. */
		if (view.reason == REASON_ROUTED_APART) {
			assert_true(view.n_links > 0);
			assert_true(view.links[0].score_after >
				    view.links[0].score_before);
			assert_true(view.slowdown_before > 1.02);
			assert_true(view.gain_low > 0.02);
		}
	}
	/* Choosing an arrival's paths changes nothing that runs. */
	assert_int_equal(advisor_path_counts(advisor).n_changed, 0);
	advisor_free(advisor);
	fixture_fini(&f);
}

/* As many as there are paths: by hash some of them meet, in almost all draws. */
static void
put_running(struct advisor *advisor, struct fixture *f, uint32_t n, double duty,
	    uint32_t *ret_jobs)
{
	for (uint32_t i = 0; i < n; i++) {
		char name[16];

		snprintf(name, sizeof name, "job%u", i);
		ON(fixture_job(f, name, 2, 100000 + 700 * i, duty, 50e9), i, 8 + i);
		f->workload.jobs[f->workload.n - 1].first_port = (uint16_t)(100 * i);
		ret_jobs[i] = lab_put(advisor, f, true);
	}
}

static void
running_jobs_stay_hashed_until_a_change_pays(void **state)
{
	struct advisor *advisor;
	struct fixture f;
	uint32_t jobs[8];
	double before;

	(void)state;
	fixture_init(&f, 2, 8, 8, 50e9);
	advisor = advisor_new(f.topo, NULL);
	put_running(advisor, &f, 8, 0.5, jobs);
	assert_int_equal(advisor_path_counts(advisor).n_flows, 0);
	before = harm_of(advisor);
	assert_true(before > 0.02);
	assert_true(change_all(advisor, 0) > 0);
	assert_true(harm_of(advisor) < 0.1 * before);
	lab_solve(advisor);
	for (uint32_t i = 0; i < 8; i++)
		assert_near(view_of(advisor, jobs[i]).slowdown_after, 1, 0.01);
	/* Nothing is left that would pay. */
	assert_int_equal(change_all(advisor, 1000 * SECOND_NS), 0);
	advisor_free(advisor);
	fixture_fini(&f);
}

static void
running_jobs_stay_where_a_change_does_not_pay(void **state)
{
	/* More than any collision costs. */
	static const struct advisor_opts dear = { .change_s = 1000, .payback_s = 50 };
	struct advisor *advisor;
	struct fixture f;
	uint32_t jobs[8];

	(void)state;
	fixture_init(&f, 2, 8, 8, 50e9);
	advisor = advisor_new(f.topo, &dear);
	put_running(advisor, &f, 8, 0.5, jobs);
	assert_true(harm_of(advisor) > 0.02);
	assert_int_equal(change_all(advisor, 0), 0);
	advisor_free(advisor);
	/* Short bursts that rarely meet. */
	advisor = advisor_new(f.topo, NULL);
	workload_fini(&f.workload);
	f.workload = (struct workload){ 0 };
	put_running(advisor, &f, 8, 0.02, jobs);
	assert_true(harm_of(advisor) > 0);
	assert_int_equal(change_all(advisor, 0), 0);
	lab_solve(advisor);
	for (uint32_t i = 0; i < 8; i++)
		assert_null(view_of(advisor, jobs[i]).paths);
	advisor_free(advisor);
	fixture_fini(&f);
}

static void
changes_are_limited_in_any_minute(void **state)
{
	static const struct advisor_opts few = { .changes_a_minute = 2 };
	struct advisor *advisor;
	struct fixture f;
	uint32_t jobs[8];
	uint64_t n, total = 0;
	double harm;

	(void)state;
	fixture_init(&f, 2, 8, 8, 50e9);
	advisor = advisor_new(f.topo, &few);
	put_running(advisor, &f, 8, 0.5, jobs);
	harm = harm_of(advisor);
	assert_int_equal(change_all(advisor, 5 * SECOND_NS), 2);
	assert_int_equal(change_all(advisor, 64 * SECOND_NS), 0);
	assert_int_equal(change_all(advisor, 65 * SECOND_NS), 2);
	for (int64_t now_s = 66; now_s < 1000; now_s++) {
		n = change_all(advisor, now_s * SECOND_NS);
		assert_true(n <= 2);
		total += n;
	}
	assert_true(total > 0);
	assert_true(harm_of(advisor) < 0.1 * harm);
	advisor_free(advisor);
	fixture_fini(&f);
}

/* The times at which each flow was changed, over many random events. */
static void
no_flow_is_changed_twice_within_its_payback_time(void **state)
{
	struct advisor *advisor;
	struct fixture f;
	struct rng rng;
	int64_t last_ns[24][2];
	uint32_t numbers[24][2];

	(void)state;
	memset(last_ns, 0x80, sizeof last_ns);
	rng_init(&rng, 3);
	fixture_init(&f, 4, 6, 3, 50e9);
	advisor = advisor_new(f.topo, NULL);
	for (int step = 0; step < 400; step++) {
		uint32_t i = (uint32_t)rng_below(&rng, 24), number;
		int64_t now_ns = step * 3 * SECOND_NS;
		char name[16];

		snprintf(name, sizeof name, "job%u", i);
		if (rng_below(&rng, 3) == 0) {
			advisor_remove(advisor, name);
			last_ns[i][0] = last_ns[i][1] = INT64_MIN / 2;
		} else if (advisor_find(advisor, name) == UINT32_MAX) {
			ON(fixture_job(&f, name, 2, 90000 + 1300 * i, 0.5, 50e9), i,
			   (i + 6 + 6 * (uint32_t)rng_below(&rng, 3)) % 24);
			number = lab_put(advisor, &f, true);
			for (int k = 0; k < 2; k++)
				numbers[i][k] = advisor_job(advisor, number)->paths[k];
		}
		change_all(advisor, now_ns);
		for (i = 0; i < 24; i++) {
			snprintf(name, sizeof name, "job%u", i);
			number = advisor_find(advisor, name);
			for (int k = 0; number != UINT32_MAX && k < 2; k++) {
				uint32_t path = advisor_job(advisor, number)->paths[k];

				if (path == numbers[i][k])
					continue;
				assert_true(now_ns - last_ns[i][k] >= 50 * SECOND_NS);
				last_ns[i][k] = now_ns;
				numbers[i][k] = path;
			}
		}
	}
	assert_true(advisor_path_counts(advisor).n_changed > 20);
	advisor_free(advisor);
	fixture_fini(&f);
}

/* All that is derived from the jobs and their paths, against a place made anew. */
static void
check_whole(const struct advisor *advisor)
{
	struct place *anew = place_new(advisor->topo, advisor->routes,
				       &advisor->workload, PLACE_HASHED);
	struct advisor_path_counts counts = { 0 }, said = advisor_path_counts(advisor);

	for (uint32_t j = 0; j < advisor->jobs.n; j++) {
		const struct routed_job *routed = place_routed_job(advisor->place, j);
		size_t n_chosen = 0;

		if (!routed)
			continue;
		assert_int_equal(place_put(anew, j, advisor->workload.jobs[j].hosts),
				 0);
		for (size_t i = 0; i < routed->flows.n; i++) {
			assert_int_equal(routed->paths[i],
					 advisor->workload.jobs[j].paths[i]);
			n_chosen += routed->paths[i] != WORK_HASHED;
		}
		counts.n_jobs += n_chosen > 0;
		counts.n_flows += n_chosen;
	}
	assert_int_equal(counts.n_jobs, said.n_jobs);
	assert_int_equal(counts.n_flows, said.n_flows);
	for (uint32_t l = 0; l < topo_n_links(advisor->topo); l++)
		assert_near(link_loads_harm(place_link_loads(anew), l),
			    link_loads_harm(place_link_loads(advisor->place), l), 1e-9);
	place_free(anew);
}

static void
random_events_leave_the_advisor_whole(void **state)
{
	struct advisor *advisor;
	struct fixture f;
	struct rng rng;

	(void)state;
	rng_init(&rng, 8);
	fixture_init(&f, 4, 6, 3, 50e9);
	advisor = advisor_new(f.topo, &(struct advisor_opts){ .n_iterations = 5 });
	for (int step = 0; step < 300; step++) {
		uint32_t i = (uint32_t)rng_below(&rng, 12), hosts[24], number;
		struct work_job *job;
		char name[16];

		snprintf(name, sizeof name, "job%u", i);
		for (uint32_t h = 0; h < 24; h++)
			hosts[h] = h;
		rng_shuffle(&rng, hosts, 24);
		job = fixture_job(&f, name, 2 + (uint32_t)rng_below(&rng, 3),
				  90000 + 1300 * (int64_t)rng_below(&rng, 12), 0.4,
				  50e9);
		number = advisor_find(advisor, name);
		switch (rng_below(&rng, 6)) {
		case 0:
			advisor_remove(advisor, name);
			break;
		case 1: /* It waits, from now on. */
			lab_put(advisor, &f, true);
			break;
		case 2:
			if (number != UINT32_MAX)
				advisor_allow_paths(advisor, number,
						    rng_below(&rng, 2));
			break;
		default:
			fixture_on(job, hosts);
			lab_put(advisor, &f, true);
		}
		change_all(advisor, step * SECOND_NS);
		check_whole(advisor);
		if (step % 20 == 0) {
			lab_solve(advisor);
			check_whole(advisor);
		}
	}
	assert_true(advisor_path_counts(advisor).n_changed > 20);
	advisor_free(advisor);
	fixture_fini(&f);
}

/* A job that goes leaves a path to one that had to share. */
static void
a_removal_gives_its_path_to_others(void **state)
{
	struct advisor *advisor;
	struct fixture f;
	uint32_t number;

	(void)state;
	fixture_init(&f, 2, 4, 2, 50e9);
	advisor = advisor_new(f.topo, NULL);
	cross(&f, "a", 0.7, 0, 4);
	arrive(advisor, &f);
	cross(&f, "bb", 0.7, 1, 5);
	arrive(advisor, &f);
	cross(&f, "ccc", 0.6, 2, 6);
	number = arrive(advisor, &f);
	assert_true(harm_of(advisor) > 0.1);
	change_all(advisor, 0);
	assert_true(harm_of(advisor) > 0.1);
	/* The job that 'ccc' does not share a link with. */
	lab_solve(advisor);
	assert_int_equal(
		view_of(advisor, number).component !=
			view_of(advisor, advisor_find(advisor, "a")).component,
		view_of(advisor, number).component ==
			view_of(advisor, advisor_find(advisor, "bb")).component);
	advisor_remove(
		advisor,
		view_of(advisor, number).component ==
				view_of(advisor, advisor_find(advisor, "a")).component
			? "bb"
			: "a");
	assert_true(change_all(advisor, 100 * SECOND_NS) > 0);
	assert_near(harm_of(advisor), 0, 1e-12);
	lab_solve(advisor);
	assert_near(view_of(advisor, number).slowdown_after, 1, 1e-9);
	advisor_free(advisor);
	fixture_fini(&f);
}

/* Paths are those of the same hosts: they stay with another profile, not elsewhere. */
static void
a_job_that_is_put_again_keeps_its_paths(void **state)
{
	struct advisor *advisor;
	struct work_job *job;
	struct fixture f;
	uint32_t number, path;
	uint64_t revision;

	(void)state;
	fixture_init(&f, 2, 8, 8, 50e9);
	advisor = advisor_new(f.topo, NULL);
	for (uint32_t i = 0; i < 8; i++) {
		char name[16];

		snprintf(name, sizeof name, "job%u", i);
		ON(fixture_job(&f, name, 2, 100000 + 700 * i, 0.5, 50e9), i, 8 + i);
		number = arrive(advisor, &f);
		if (advisor->jobs.items[number]->paths.n_chosen)
			break;
	}
	job = &f.workload.jobs[f.workload.n - 1];
	lab_solve(advisor);
	assert_true(advisor->jobs.items[number]->paths.n_chosen > 0);
	revision = view_of(advisor, number).paths_revision;
	path = advisor_job(advisor, number)->paths[0];
	job->profile.period_us += 20000;
	assert_int_equal(lab_put(advisor, &f, true), number);
	lab_solve(advisor);
	assert_int_equal(advisor_job(advisor, number)->paths[0], path);
	assert_int_equal(view_of(advisor, number).paths_revision, revision);
	/* Restarted elsewhere, it was not seen before: hashed. */
	ON(job, 7, 15);
	assert_int_equal(lab_put(advisor, &f, true), number);
	lab_solve(advisor);
	assert_int_equal(advisor_job(advisor, number)->paths[0], WORK_HASHED);
	assert_null(view_of(advisor, number).paths);
	assert_true(view_of(advisor, number).paths_revision != revision);
	advisor_free(advisor);
	fixture_fini(&f);
}

static void
a_job_may_be_left_to_hashing(void **state)
{
	struct advisor *advisor;
	struct fixture f;
	uint32_t jobs[8];
	double hashed;

	(void)state;
	fixture_init(&f, 2, 8, 8, 50e9);
	advisor = advisor_new(f.topo, NULL);
	put_running(advisor, &f, 8, 0.5, jobs);
	hashed = harm_of(advisor);
	for (uint32_t i = 0; i < 8; i++)
		advisor_allow_paths(advisor, jobs[i], false);
	assert_int_equal(change_all(advisor, 0), 0);
	for (uint32_t i = 0; i < 8; i++)
		advisor_allow_paths(advisor, jobs[i], true);
	assert_true(change_all(advisor, 0) > 0);
	lab_solve(advisor);
	assert_true(advisor_path_counts(advisor).n_jobs > 0);
	for (uint32_t i = 0; i < 8; i++)
		advisor_allow_paths(advisor, jobs[i], false);
	assert_near(harm_of(advisor), hashed, 1e-9);
	lab_solve(advisor);
	for (uint32_t i = 0; i < 8; i++)
		assert_null(view_of(advisor, jobs[i]).paths);
	assert_int_equal(advisor_path_counts(advisor).n_jobs, 0);
	assert_int_equal(advisor_path_counts(advisor).n_flows, 0);
	advisor_free(advisor);
	fixture_fini(&f);
}

/* Shifts are solved for the links that the chosen paths use. */
static void
shifts_are_for_the_chosen_paths(void **state)
{
	struct advisor *advisor;
	struct fixture f;
	struct advisor_view a, b;
	uint32_t one, two;

	(void)state;
	/* Two spines: the third and fourth job must share with the others. */
	fixture_init(&f, 2, 4, 2, 50e9);
	advisor = advisor_new(f.topo, NULL);
	for (uint32_t i = 0; i < 4; i++) {
		char name[16];

		snprintf(name, sizeof name, "job%u", i);
		ON(fixture_job(&f, name, 2, i < 2 ? 100000 : 130000, 0.3, 50e9), i,
		   4 + i);
		arrive(advisor, &f);
	}
	change_all(advisor, 0);
	lab_solve(advisor);
	/* Equal periods interleave, so they share a path, and are shifted. */
	one = advisor_find(advisor, "job0");
	two = advisor_find(advisor, "job1");
	a = view_of(advisor, one);
	b = view_of(advisor, two);
	assert_int_equal(a.component, b.component);
	assert_int_equal(a.n_constraints, 1);
	assert_near(a.slowdown_after, 1, 0.02);
	assert_near(b.slowdown_after, 1, 0.02);
	assert_true(a.slowdown_unshifted > 1.02);
	advisor_free(advisor);
	fixture_fini(&f);
}

/* Waiting jobs are ranked with the paths that they would get. */
static void
places_are_ranked_among_chosen_paths(void **state)
{
	static const unsigned levers[] = { ADVISE_PLACE | ADVISE_TIME,
					   ADVISE_ALL_LEVERS };
	double loss[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct advisor_opts opts = { .levers = levers[i] };
		struct advisor_ranking ranking;
		struct advisor *advisor;
		bool allowed[16] = { [7] = true, [15] = true };
		struct fixture f;
		uint32_t jobs[7], number;

		fixture_init(&f, 2, 8, 8, 50e9);
		advisor = advisor_new(f.topo, &opts);
		put_running(advisor, &f, 7, 0.5, jobs);
		change_all(advisor, 0);
		fixture_job(&f, "new", 2, 123456, 0.5, 50e9);
		number = lab_put(advisor, &f, true);
		assert_int_equal(advisor_rank(advisor, number, allowed, &ranking), 0);
		assert_int_equal(ranking.n, 1);
		loss[i] = ranking.items[0].loss;
		advisor_ranking_fini(&ranking);
		advisor_free(advisor);
		fixture_fini(&f);
	}
	assert_near(loss[1], 0, 1e-9);
	assert_true(loss[0] > 0.01);
}

/* Levers: no place is sought, no job is shifted, no path is chosen. */
static void
levers_that_are_off_change_nothing(void **state)
{
	const struct advisor_opts opts = { .levers = ADVISE_PATH };
	struct advisor_ranking ranking;
	struct advisor *advisor;
	struct fixture f;
	uint32_t number;

	(void)state;
	fixture_init(&f, 2, 4, 1, 50e9);
	advisor = advisor_new(f.topo, &opts);
	cross(&f, "a", 0.3, 0, 4);
	lab_put(advisor, &f, true);
	f.workload.jobs[0].name[0] = 'b';
	ON(&f.workload.jobs[0], 1, 5);
	number = lab_put(advisor, &f, true);
	lab_solve(advisor);
	assert_int_equal(view_of(advisor, number).mode, STEER_FREE);
	assert_int_equal(view_of(advisor, number).shift_us, 0);
	assert_true(view_of(advisor, number).slowdown_after > 1.02);
	/* More than a leaf has room for: packed, it shares links with both. */
	fixture_job(&f, "new", 5, 123456, 0.5, 50e9);
	number = lab_put(advisor, &f, true);
	assert_int_equal(advisor_rank(advisor, number, NULL, &ranking), -ENOSPC);
	f.workload.jobs[1].n_hosts_wanted = 4;
	number = lab_put(advisor, &f, true);
	assert_int_equal(advisor_rank(advisor, number, NULL, &ranking), 0);
	assert_int_equal(ranking.n, 1);
	assert_true(ranking.items[0].loss > 0);
	assert_near(ranking.items[0].loss, ranking.packed_loss, 1e-12);
	advisor_ranking_fini(&ranking);
	advisor_free(advisor);
	fixture_fini(&f);
}

/* A tier that sprays: there is nothing to choose, and nothing is claimed. */
static void
spraying_fabrics_have_no_paths(void **state)
{
	struct gen_leaf_spine options = {
		.n_leaves = 2,
		.hosts_per_leaf = 8,
		.n_spines = 8,
		.host_bps = 50e9,
		.uplink_bps = 50e9,
		.balance = { 1, { TOPO_BALANCE_SPRAY } },
	};
	struct advisor *advisor;
	struct fixture f = { 0 };
	uint32_t jobs[8], number;

	(void)state;
	assert_int_equal(gen_leaf_spine(&options, &f.topo, NULL), 0);
	advisor = advisor_new(f.topo, NULL);
	put_running(advisor, &f, 7, 0.5, jobs);
	ON(fixture_job(&f, "new", 2, 100000, 0.5, 50e9), 7, 15);
	number = arrive(advisor, &f);
	assert_int_equal(change_all(advisor, 0), 0);
	lab_solve(advisor);
	assert_null(view_of(advisor, number).paths);
	assert_int_equal(view_of(advisor, number).paths_revision, 0);
	assert_near(view_of(advisor, number).slowdown_after, 1, 1e-9);
	assert_int_equal(advisor_path_counts(advisor).n_jobs, 0);
	advisor_allow_paths(advisor, number, false);
	advisor_allow_paths(advisor, number, true);
	advisor_remove(advisor, "new");
	assert_int_equal(change_all(advisor, SECOND_NS), 0);
	advisor_free(advisor);
	fixture_fini(&f);
}

static void
given_paths_are_taken_and_wrong_ones_refused(void **state)
{
	struct advisor *advisor;
	struct work_job *job;
	struct fixture f;
	uint32_t number;

	(void)state;
	fixture_init(&f, 2, 4, 4, 50e9);
	advisor = advisor_new(f.topo, NULL);
	cross(&f, "a", 0.3, 0, 4);
	job = &f.workload.jobs[0];
	job->n_paths = 2;
	job->paths = xcalloc(2, sizeof *job->paths);
	job->paths[0] = 3;
	job->paths[1] = WORK_HASHED;
	number = lab_put(advisor, &f, true);
	assert_int_equal(advisor_job(advisor, number)->paths[0], 3);
	assert_int_equal(advisor_job(advisor, number)->paths[1], WORK_HASHED);
	assert_int_equal(advisor_path_counts(advisor).n_flows, 1);
	lab_solve(advisor);
	assert_int_equal(view_of(advisor, number).paths[0].number, 3);
	assert_true(view_of(advisor, number).paths[0].via != TOPO_NONE);
	job->n_paths = 1;
	assert_int_equal(advisor_put(advisor, job, true, &number), -EINVAL);
	advisor_free(advisor);
	fixture_fini(&f);
}

/* The number of flows that are left to hashing although they have a choice. */
static size_t
n_left_to_hashing(const struct advisor *advisor, uint32_t job)
{
	struct advisor_view view = view_of(advisor, job);
	size_t n = 0;

	assert_non_null(view.paths);
	for (size_t i = 0; i < view.n_paths; i++)
		n += view.paths[i].number == WORK_HASHED;
	return n;
}

/* The present paths, by flow. */
static const uint32_t *
numbers_of(const struct advisor *advisor, uint32_t job)
{
	return advisor_job(advisor, job)->paths;
}

static void
assigned_jobs_leave_nothing_to_hashing(void **state)
{
	struct advisor *advisor;
	struct fixture f;
	uint32_t jobs[8];
	uint64_t revision;

	(void)state;
	fixture_init(&f, 2, 8, 8, 50e9);
	advisor = advisor_new(f.topo, NULL);
	put_running(advisor, &f, 8, 0.5, jobs);
	for (uint32_t i = 0; i < 8; i++) {
		assert_false(advisor_has_assigned(advisor, jobs[i]));
		advisor_assign_paths(advisor, jobs[i]);
		assert_true(advisor_has_assigned(advisor, jobs[i]));
	}
	/* These are no changes, and leave little to be changed. */
	assert_int_equal(advisor_path_counts(advisor).n_changed, 0);
	assert_int_equal(advisor_path_counts(advisor).n_flows, 16);
	change_all(advisor, 0);
	assert_true(harm_of(advisor) < 0.01);
	lab_solve(advisor);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(n_left_to_hashing(advisor, jobs[i]), 0);
	/* Once; also when the job is put again with another profile. */
	revision = view_of(advisor, jobs[7]).paths_revision;
	advisor_assign_paths(advisor, jobs[7]);
	f.workload.jobs[7].profile.period_us *= 2;
	assert_int_equal(lab_put(advisor, &f, true), jobs[7]);
	assert_true(advisor_has_assigned(advisor, jobs[7]));
	lab_solve(advisor);
	assert_true(view_of(advisor, jobs[7]).paths_revision == revision);
	/* Not if they may not be chosen; then all is forgotten. */
	advisor_allow_paths(advisor, jobs[7], false);
	advisor_assign_paths(advisor, jobs[7]);
	assert_false(advisor_has_assigned(advisor, jobs[7]));
	lab_solve(advisor);
	assert_null(view_of(advisor, jobs[7]).paths);
	advisor_allow_paths(advisor, jobs[7], true);
	advisor_assign_paths(advisor, jobs[7]);
	lab_solve(advisor);
	assert_int_equal(n_left_to_hashing(advisor, jobs[7]), 0);
	advisor_remove(advisor, "job7");
	assert_int_equal(advisor_path_counts(advisor).n_flows, 14);
	/* A job that comes with a path for each flow keeps them, where it would not go. */
	f.workload.jobs[7].paths = xcalloc(2, sizeof(uint32_t));
	f.workload.jobs[7].n_paths = 2;
	for (int i = 0; i < 2; i++)
		f.workload.jobs[7].paths[i] = numbers_of(advisor, jobs[0])[i];
	jobs[7] = lab_put(advisor, &f, true);
	advisor_assign_paths(advisor, jobs[7]);
	assert_true(advisor_has_assigned(advisor, jobs[7]));
	for (int i = 0; i < 2; i++)
		assert_int_equal(numbers_of(advisor, jobs[7])[i],
				 numbers_of(advisor, jobs[0])[i]);
	/* If one of them is hashed, all are chosen. */
	advisor_remove(advisor, "job7");
	f.workload.jobs[7].paths[0] = WORK_HASHED;
	jobs[7] = lab_put(advisor, &f, true);
	advisor_assign_paths(advisor, jobs[7]);
	assert_true(numbers_of(advisor, jobs[7])[1] != numbers_of(advisor, jobs[0])[1]);
	advisor_free(advisor);
	fixture_fini(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arrivals_avoid_collisions),
		cmocka_unit_test(running_jobs_stay_hashed_until_a_change_pays),
		cmocka_unit_test(running_jobs_stay_where_a_change_does_not_pay),
		cmocka_unit_test(changes_are_limited_in_any_minute),
		cmocka_unit_test(no_flow_is_changed_twice_within_its_payback_time),
		cmocka_unit_test(random_events_leave_the_advisor_whole),
		cmocka_unit_test(a_removal_gives_its_path_to_others),
		cmocka_unit_test(a_job_that_is_put_again_keeps_its_paths),
		cmocka_unit_test(a_job_may_be_left_to_hashing),
		cmocka_unit_test(shifts_are_for_the_chosen_paths),
		cmocka_unit_test(places_are_ranked_among_chosen_paths),
		cmocka_unit_test(levers_that_are_off_change_nothing),
		cmocka_unit_test(spraying_fabrics_have_no_paths),
		cmocka_unit_test(given_paths_are_taken_and_wrong_ones_refused),
		cmocka_unit_test(assigned_jobs_leave_nothing_to_hashing),
	};

	return cmocka_run_group_tests_name("advisor paths", tests, NULL, NULL);
}
