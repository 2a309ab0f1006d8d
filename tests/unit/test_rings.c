/* SPDX-License-Identifier: Apache-2.0 */
/* test_rings.c - servers by name, and the best ring of each set of their GPUs */
#include <math.h>
#include <string.h>

#include "lib/base/rng.h"
#include "policies/rings.h"
#include "sim/cluster/work_inside.h"
#include "tests/unit/test.h"

static void
servers_are_graphs(void **state)
{
	(void)state;
	for (const struct pol_inside *in = inside_table; in->name; in++) {
		uint64_t all = 0;

		assert_ptr_equal(inside_find(in->name), in);
		assert_in_range(in->n_gpus, 2, INSIDE_MAX_GPUS);
		assert_int_equal(strlen(in->sockets), in->n_gpus);
		for (uint32_t k = 0; k < in->n_sockets; k++) {
			assert_true(inside_on_socket(in, k) != 0);
			assert_true(!(all & inside_on_socket(in, k)));
			all |= inside_on_socket(in, k);
		}
		assert_true(all == inside_all(in));
		for (uint32_t a = 0; a < in->n_gpus; a++) {
			assert_int_equal(strlen(in->links[a]), in->n_gpus);
			for (uint32_t b = 0; b < in->n_gpus; b++) {
				assert_in_range(inside_link(in, a, b), INSIDE_PCIE,
						INSIDE_DOUBLE_NVLINK);
				assert_int_equal(inside_link(in, a, b),
						 inside_link(in, b, a));
			}
		}
		for (int link = 1; link < INSIDE_N_LINKS; link++)
			assert_true(in->gb_s[link] > in->gb_s[link - 1]);
	}
	assert_null(inside_find("dgx"));
	assert_true(inside_share_socket(inside_find("power8"), 1, 2));
	assert_false(inside_share_socket(inside_find("power8"), 3, 12));
}

/* NVLinks of a V100's six bricks and of a P100's four. */
static void
each_gpu_has_its_links(void **state)
{
	static const struct {
		const char *name;
		uint32_t n_bricks;
	} servers[] = { { "dgx-v", 6 }, { "dgx-p", 4 }, { "summit", 4 } };

	(void)state;
	for (size_t i = 0; i < sizeof servers / sizeof *servers; i++) {
		const struct pol_inside *in = inside_find(servers[i].name);

		for (uint32_t a = 0; a < in->n_gpus; a++) {
			uint32_t n = 0;

			for (uint32_t b = 0; b < in->n_gpus; b++)
				n += a != b ? inside_link(in, a, b) : 0;
			assert_int_equal(n, servers[i].n_bricks);
		}
	}
}

/* Values of the published formula, computed elsewhere. */
static void
the_formula_is_mapas(void **state)
{
	static const struct {
		uint32_t n_double, n_single, n_pcie;
		double gb_s;
	} values[] = {
		{ 0, 0, 0, 12.335062892 },  { 2, 0, 0, 58.925035865 },
		{ 0, 2, 0, 27.720347953 },  { 0, 0, 2, 10.370793117 },
		{ 3, 0, 0, 77.046310899 },  { 1, 1, 1, 24.107430607 },
		{ 4, 2, 2, -43.309459555 }, { 2, 1, 0, 57.857863510 },
		{ 8, 0, 0, 161.904117790 }, { 0, 3, 5, 166.556884235 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		assert_near(rings_predict_gb_s(values[i].n_double, values[i].n_single,
					       values[i].n_pcie),
			    values[i].gb_s, 1e-8);
}

/* ---- Against all orders of a set ------------------------------------------------- */

static void
try_ring(const struct pol_inside *in, const uint32_t *order, uint32_t n,
	 struct ring *best)
{
	uint32_t count[INSIDE_N_LINKS] = { 0 };
	enum inside_link slowest = INSIDE_DOUBLE_NVLINK;
	double sum = 0;

	for (uint32_t i = 0; n > 1 && i < n; i++) {
		enum inside_link link = inside_link(in, order[i], order[(i + 1) % n]);

		count[link]++;
		sum += in->gb_s[link];
		slowest = link < slowest ? link : slowest;
	}
	best->gb_s = fmax(best->gb_s, sum);
	best->predicted_gb_s = fmax(best->predicted_gb_s,
				    rings_predict_gb_s(count[2], count[1], count[0]));
	best->slowest = slowest > best->slowest ? slowest : best->slowest;
}

/* All orders that begin with the first one. */
static void
try_orders(const struct pol_inside *in, uint32_t *order, uint32_t at, uint32_t n,
	   struct ring *best)
{
	if (at >= n)
		try_ring(in, order, n, best);
	for (uint32_t i = at; i < n; i++) {
		uint32_t gpu = order[i];

		order[i] = order[at];
		order[at] = gpu;
		try_orders(in, order, at + 1, n, best);
		order[at] = order[i];
		order[i] = gpu;
	}
}

static void
check_set(const struct pol_inside *in, const struct rings *rings, uint32_t set)
{
	struct ring best = { .predicted_gb_s = -INFINITY };
	const struct ring *ring = rings_of(rings, set);
	uint32_t order[INSIDE_MAX_GPUS], n = 0;

	for (uint32_t i = 0; i < in->n_gpus; i++)
		if (set >> i & 1)
			order[n++] = i;
	try_orders(in, order, 1, n, &best);
	assert_near(ring->gb_s, best.gb_s, 1e-9);
	assert_near(ring->predicted_gb_s, best.predicted_gb_s, 1e-9);
	assert_int_equal(ring->slowest, best.slowest);
	assert_true(rings_best_slowest(rings, n) >= best.slowest);
}

static void
they_are_the_best_of_all_orders(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (const struct pol_inside *in = inside_table; in->name; in++) {
		struct rings *rings = rings_new(in);

		for (uint32_t set = 1; set < UINT32_C(1) << in->n_gpus; set++) {
			int n = __builtin_popcount(set);

			if (n <= 3 || in->n_gpus <= 8 ||
			    (n <= 7 && !rng_below(&rng, 50)))
				check_set(in, rings, set);
		}
		rings_free(rings);
	}
}

/* ---- Speeds ---------------------------------------------------------------------- */

static double
speed_of(struct work_inside *inside, const struct pol_job *job)
{
	const struct pol_view view = { .jobs = job,
				       .n_jobs = 1,
				       .ids = (uint32_t[]){ 0 } };
	struct cluster_work work = { 0 };
	double speed = 1;

	work_inside_add(inside, &work);
	work.rates(work.ctx, &view, &speed);
	return speed;
}

static void
a_slow_ring_slows_its_job(void **state)
{
	const struct pol_inside *in = inside_find("dgx-v");
	struct work_inside *work = work_inside_new(in);
	struct pol_piece piece = { 0, 2, 1u << 0 | 1u << 3 };
	struct pol_job job = { .stage_s = { 0.2, 0.6, 0.2 },
			       .pieces = &piece,
			       .n_pieces = 1 };

	(void)state;
	assert_near(speed_of(work, &job), 1, 1e-12);
	piece.gpus = 1u << 0 | 1u << 1; /* 25 instead of 50 GB/s. */
	assert_near(speed_of(work, &job), 1 / 1.2, 1e-12);
	piece.gpus = 1u << 0 | 1u << 7; /* 10 GB/s. */
	assert_near(speed_of(work, &job), 1 / 1.8, 1e-12);
	piece.gpus = 0;
	assert_near(speed_of(work, &job), 1, 1e-12);
	piece.gpus = 1u << 0 | 1u << 7;
	job.stage_s[0] = job.stage_s[1] = job.stage_s[2] = NAN;
	assert_near(speed_of(work, &job), 1, 1e-12);
	work_inside_free(work);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(servers_are_graphs),
		cmocka_unit_test(each_gpu_has_its_links),
		cmocka_unit_test(the_formula_is_mapas),
		cmocka_unit_test(they_are_the_best_of_all_orders),
		cmocka_unit_test(a_slow_ring_slows_its_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
