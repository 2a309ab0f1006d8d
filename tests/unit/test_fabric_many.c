/* Where many jobs meet on the fabric: how long they are run, and that nobody shifts them. */
#include "lib/base/err.h"
#include "sim/cluster/fabric_priv.h"
#include "tests/unit/test.h"
#include "topology/gen.h"
#include "topology/topo.h"

#define MOST 20 /* Jobs, each on a host of either leaf. */
#define LINE 50e9

/* A ring of two sends 2 ms at 50 Gb/s out of each, in 102 ms: twenty fit. */
static struct work_segment segments[] = { { .compute_ns = 100000000 },
					  { .nic_bytes = 12.5e6 } };
static bool messages[] = { false, true };
static struct work_model model = {
	.name = "few", .segments = segments, .n_segments = 2, .is_message = messages
};

/* Speeds of 'n' jobs that meet on the one uplink of their leaves. */
static struct fabric_counts
meet(uint32_t n, enum fabric_augment augment, double *ret_speeds)
{
	static const uint32_t model_of[MOST], zeros[2 * MOST];
	const struct gen_leaf_spine options = { .n_leaves = 2,
						.hosts_per_leaf = MOST,
						.n_spines = 1,
						.host_bps = LINE,
						.uplink_bps = LINE };
	const struct fabric_opts opts = { .augment = augment, .seed = 1 };
	uint32_t gpus[2 * MOST], ids[MOST];
	struct pol_cluster cluster = { .n_nodes = 2 * MOST,
				       .n_racks = 1,
				       .n_types = 1,
				       .n_gpus = gpus,
				       .rack_of = zeros,
				       .type_of = zeros,
				       .n_all_gpus = 2 * MOST };
	struct pol_piece pieces[MOST][2];
	struct pol_job jobs[MOST];
	const struct pol_view view = {
		.cluster = &cluster, .ids = ids, .n_jobs = n, .jobs = jobs, .n_ids = n
	};
	struct fabric_counts counts;
	struct cluster_work work;
	struct fabric *fabric;
	struct topo *topo;
	struct err err;

	for (uint32_t i = 0; i < 2 * MOST; i++)
		gpus[i] = 1;
	for (uint32_t i = 0; i < n; i++) {
		pieces[i][0] = (struct pol_piece){ i, 1 };
		pieces[i][1] = (struct pol_piece){ MOST + i, 1 };
		ids[i] = i;
		jobs[i] = (struct pol_job){
			.id = i, .pieces = pieces[i], .n_pieces = 2, .n_held_gpus = 2
		};
		ret_speeds[i] = 1;
	}
	assert_int_equal(gen_leaf_spine(&options, &topo, &err), 0);
	assert_int_equal(
		fabric_new(&cluster, topo, &model, model_of, n, &opts, &fabric, &err),
		0);
	work = fabric_work(fabric);
	work.rates(work.ctx, &view, ret_speeds);
	counts = fabric_counts(fabric);
	fabric_free(fabric);
	topo_unref(topo);
	assert_int_equal(counts.max_jobs, n);
	return counts;
}

static void
as_many_as_are_shifted_are_as_alone(void **state)
{
	double chance[MOST], shifted[MOST];

	(void)state;
	meet(FABRIC_MANY, FABRIC_NONE, chance);
	assert_int_equal(meet(FABRIC_MANY, FABRIC_ANTIPHASE, shifted).n_shifted, 1);
	for (uint32_t i = 0; i < FABRIC_MANY; i++)
		assert_near(shifted[i], 1, 1e-3);
	assert_memory_not_equal(chance, shifted, FABRIC_MANY * sizeof *chance);
}

static void
more_are_left_to_chance(void **state)
{
	double chance[MOST], left[MOST];

	(void)state;
	meet(FABRIC_MANY + 1, FABRIC_NONE, chance);
	assert_int_equal(meet(FABRIC_MANY + 1, FABRIC_ANTIPHASE, left).n_shifted, 0);
	assert_memory_equal(chance, left, (FABRIC_MANY + 1) * sizeof *chance);
}

static void
more_jobs_are_run_for_fewer_iterations(void **state)
{
	static const struct {
		size_t n;
		struct steady_limits limits;
	} rows[] = {
		{ 1, { 128, 1024 } }, { 8, { 128, 1024 } }, { 16, { 32, 256 } },
		{ 32, { 16, 64 } },   { 57, { 16, 16 } },   { 1000, { 16, 16 } },
	};
	struct fabric fabric = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct steady_limits limits = fabric_limits(&fabric, rows[i].n);

		assert_int_equal(limits.of_slowest, rows[i].limits.of_slowest);
		assert_int_equal(limits.of_each, rows[i].limits.of_each);
	}
	fabric.opts.max_iterations = 20;
	assert_int_equal(fabric_limits(&fabric, 57).of_slowest, 20);
	assert_int_equal(fabric_limits(&fabric, 57).of_each, 160);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_as_are_shifted_are_as_alone),
		cmocka_unit_test(more_are_left_to_chance),
		cmocka_unit_test(more_jobs_are_run_for_fewer_iterations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
