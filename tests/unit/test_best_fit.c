/* SPDX-License-Identifier: Apache-2.0 */
/* test_best_fit.c - close placement, predicted order, and admission by load */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "policies/places.h"
#include "tests/unit/cluster_lab.h"
#include "tests/unit/test.h"

#define N_NODES 6

/* Three racks of two. */
static const uint32_t gpus[N_NODES] = { 8, 8, 8, 8, 8, 8 };
static const uint32_t racks[N_NODES] = { 0, 0, 1, 1, 2, 2 }, zeros[N_NODES];
static const struct pol_cluster cluster = { .n_nodes = N_NODES,
					    .n_racks = 3,
					    .n_types = 1,
					    .n_gpus = gpus,
					    .rack_of = racks,
					    .type_of = zeros,
					    .n_all_gpus = 48 };

struct room {
	void *state;
	struct pol_plan plan;
	uint32_t n_free[N_NODES];
};

static void
begin(struct room *room, double waits, const uint32_t *n_free)
{
	*room = (struct room){ .state = xcalloc(1, place_best_fit.module.state_size) };
	place_best_fit.module.init(room->state, &waits, &cluster, NULL);
	memcpy(room->n_free, n_free, sizeof room->n_free);
}

static void
end(struct room *room)
{
	place_best_fit.module.fini(room->state);
	free(room->state);
	pol_plan_fini(&room->plan);
}

/* The place as "1:4 2:4"; "" if it does not fit. */
static const char *
place(struct room *room, uint32_t n_gpus)
{
	static char text[64];
	const struct pol_view view = { .cluster = &cluster };
	const struct pol_want want = { .n_gpus = n_gpus };
	struct pol_free all = { .n_free = room->n_free };
	uint32_t n, sum = 0, before = 0;
	size_t at = 0;

	for (uint32_t i = 0; i < N_NODES; i++)
		before = all.n_all += room->n_free[i];
	pol_plan_clear(&room->plan);
	n = place_best_fit.place(room->state, &view, &want, &all, &room->plan);
	assert_int_equal(n, room->plan.pieces.n);
	text[0] = '\0';
	for (uint32_t i = 0; i < n; i++) {
		const struct pol_piece *piece = &room->plan.pieces.items[i];

		at += (size_t)snprintf(text + at, sizeof text - at, "%s%u:%u",
				       i ? " " : "", piece->node, piece->n_gpus);
		sum += piece->n_gpus;
	}
	assert_int_equal(sum, n ? n_gpus : 0);
	assert_int_equal(all.n_all, before - sum);
	return text;
}

static void
the_fullest_node_with_room_is_taken(void **state)
{
	struct room room;

	(void)state;
	begin(&room, 0, (const uint32_t[]){ 8, 5, 3, 4, 0, 8 });
	assert_string_equal(place(&room, 4), "3:4");
	assert_string_equal(place(&room, 4), "1:4");
	assert_string_equal(place(&room, 1), "1:1");
	assert_string_equal(place(&room, 8), "0:8");
	end(&room);
}

static void
a_rack_is_better_than_all(void **state)
{
	struct room room;

	(void)state;
	/* Two nodes in racks 0 and 1; rack 1 has less left over. */
	begin(&room, 0, (const uint32_t[]){ 6, 4, 5, 3, 7, 0 });
	assert_string_equal(place(&room, 8), "2:5 3:3");
	/* No rack has so many: the emptiest nodes, and the rest where it fits best. */
	assert_string_equal(place(&room, 14), "0:6 1:1 4:7");
	assert_string_equal(place(&room, 4), "");
	end(&room);
}

static void
it_waits_for_few_nodes_if_told_to(void **state)
{
	struct room room;

	(void)state;
	begin(&room, 1, (const uint32_t[]){ 6, 4, 5, 3, 7, 8 });
	assert_string_equal(place(&room, 8), "5:8");
	assert_string_equal(place(&room, 8), "");
	assert_string_equal(place(&room, 13), "0:6 4:7");
	assert_string_equal(place(&room, 10), "");
	end(&room);
}

/* ---- Orders ---------------------------------------------------------------------- */

static struct cluster_job
job(double submit_s, double duration_s, uint32_t user)
{
	return (struct cluster_job){ .submit_s = submit_s,
				     .duration_s = duration_s,
				     .n_gpus = 48,
				     .max_gpus = 48,
				     .user = user,
				     .predicted_s = NAN };
}

/* User 0's jobs are short, so the next one is predicted to be short. */
static void
users_are_expected_to_do_what_they_did(void **state)
{
	const struct cluster_job jobs[] = { job(0, 10, 0), job(1, 1000, 1),
					    job(20, 500, 2), job(1100, 900, 1),
					    job(1101, 10, 0) };
	struct cluster_job foretold[5];
	struct cluster_result results[5];

	(void)state;
	cluster_lab_run(&cluster, "qssf", NULL, jobs, 5, results);
	/* When the third job was done, user 1's last took 1000 s, user 0's 10 s. */
	assert_true(results[4].first_s < results[3].first_s);
	assert_true(results[4].first_s == 1510);
	memcpy(foretold, jobs, sizeof jobs);
	foretold[3].predicted_s = 1;
	cluster_lab_run(&cluster, "qssf", NULL, foretold, 5, results);
	assert_true(results[3].first_s < results[4].first_s);
	cluster_lab_run(&cluster, "qssf", "predicted.oracle=1", foretold, 5, results);
	assert_true(results[4].first_s < results[3].first_s);
}

static void
jobs_are_let_in_while_there_is_no_load(void **state)
{
	const struct cluster_job jobs[] = { job(0, 1000, 0), job(0, 1000, 0) };
	struct cluster_job small[3] = { job(0, 1000, 0), job(0, 1000, 0),
					job(0, 1000, 0) };
	struct cluster_result results[3];

	(void)state;
	/* A job above the load limit by itself is admitted when no job runs. */
	cluster_lab_run(&cluster, "blox", "load.max=0.5", jobs, 2, results);
	assert_true(results[0].first_s == 0);
	assert_true(results[1].first_s == 1200);
	/* There is room for all three, but only two are admitted. */
	for (int i = 0; i < 3; i++)
		small[i].n_gpus = small[i].max_gpus = 8;
	cluster_lab_run(&cluster, "blox", "load.max=0.4", small, 3, results);
	assert_true(results[1].first_s == 0);
	assert_true(results[2].first_s == 1200);
	cluster_lab_run(&cluster, "blox", NULL, small, 3, results);
	assert_true(results[2].first_s == 0);
}

/* Equal seeds give equal nodes; gangs are whole; all nodes get used. */
static void
random_places_are_drawn_from_what_is_free(void **state)
{
	uint32_t n_taken[N_NODES] = { 0 };

	(void)state;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct pol_piece first[N_NODES];
		uint32_t n_first = 0;

		for (int again = 0; again < 2; again++) {
			const struct pol_view view = { .cluster = &cluster };
			const struct pol_want want = { .n_gpus = 11 };
			uint32_t n_free[N_NODES] = { 8, 0, 3, 8, 1, 8 }, n, sum = 0;
			struct pol_free all = { n_free, 28 };
			struct pol_plan plan = { 0 };
			void *placing = xcalloc(1, place_random.module.state_size);
			struct rng rng;

			rng_init(&rng, seed);
			place_random.module.init(placing, NULL, &cluster, &rng);
			n = place_random.place(placing, &view, &want, &all, &plan);
			assert_int_equal(n, plan.pieces.n);
			for (uint32_t i = 0; i < n; i++) {
				const struct pol_piece *piece = &plan.pieces.items[i];

				assert_true(!i || piece->node > piece[-1].node);
				assert_true(piece->node != 1 && piece->n_gpus > 0);
				sum += piece->n_gpus;
				n_taken[piece->node] += !again;
			}
			assert_int_equal(sum, 11);
			assert_int_equal(all.n_all, 17);
			if (again) {
				assert_int_equal(n, n_first);
				assert_memory_equal(plan.pieces.items, first,
						    n * sizeof *first);
			}
			n_first = n;
			memcpy(first, plan.pieces.items, n * sizeof *first);
			all.n_all = 3;
			assert_int_equal(
				place_random.place(placing, &view, &want, &all, &plan),
				0);
			place_random.module.fini(placing);
			free(placing);
			pol_plan_fini(&plan);
		}
	}
	for (uint32_t i = 0; i < N_NODES; i++)
		assert_true(i == 1 ? n_taken[i] == 0 : n_taken[i] > 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_fullest_node_with_room_is_taken),
		cmocka_unit_test(a_rack_is_better_than_all),
		cmocka_unit_test(it_waits_for_few_nodes_if_told_to),
		cmocka_unit_test(users_are_expected_to_do_what_they_did),
		cmocka_unit_test(jobs_are_let_in_while_there_is_no_load),
		cmocka_unit_test(random_places_are_drawn_from_what_is_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
