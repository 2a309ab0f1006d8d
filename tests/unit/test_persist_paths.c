/* SPDX-License-Identifier: Apache-2.0 */
/* test_persist_paths.c - documents of chosen paths: round trips, and what is refused */
#include <errno.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "scheduler/core/workload/workload.h"
#include "scheduler/daemon/persist.h"
#include "tests/unit/store_fixture.h"
#include "topology/gen_table.h"
#include "topology/topo.h"

static const uint32_t hosts[] = { 0, 1, 5 };

static struct topo *
make_topo(const char *plan)
{
	struct topo *topo;

	assert_int_equal(gen_text(plan, &topo, NULL), 0);
	return topo;
}

static struct persist_paths
paths_on(const struct topo *topo)
{
	return (struct persist_paths){
		.topo = topo, .fabric = topo_digest(topo), .hosts = hosts, .n_hosts = 3
	};
}

static int
find(struct store *store, const char *job, const struct topo *topo,
     struct persist_paths *ret_paths)
{
	struct err err = { 0 };
	int r;

	*ret_paths = paths_on(topo);
	r = persist_find_paths(store, job, ret_paths, &err);
	if (r < 0)
		assert_true(*err.text);
	if (r <= 0)
		assert_null(ret_paths->paths);
	return r;
}

static void
random_paths_come_back(void **state)
{
	struct topo *topo = make_topo("leaf-spine --leaves 2 --hosts-per-leaf 4 "
				      "--spines 2 --gbps 50");
	struct store *store = opened();
	struct persist_paths kept = paths_on(topo), found;
	struct rng rng;
	uint32_t numbers[64];

	(void)state;
	rng_init(&rng, 1);
	kept.paths = numbers;
	assert_int_equal(find(store, "7", topo, &found), 0);
	for (int round = 0; round < 100; round++) {
		kept.n_paths = rng_below(&rng, 65);
		kept.n_connections =
			(uint32_t)rng_below(&rng, WORK_MAX_CONNECTIONS + 1);
		for (size_t i = 0; i < kept.n_paths; i++)
			numbers[i] = rng_below(&rng, 4)
					     ? (uint32_t)rng_below(&rng, 65536)
					     : WORK_HASHED;
		persist_keep_paths(store, "7", &kept);
		assert_int_equal(find(store, "7", topo, &found), 1);
		assert_int_equal(found.n_connections, kept.n_connections);
		assert_int_equal(found.n_paths, kept.n_paths);
		assert_memory_equal(found.paths, numbers,
				    kept.n_paths * sizeof *numbers);
		free(found.paths);
	}
	/* Another job, and no store. */
	assert_int_equal(find(store, "8", topo, &found), 0);
	assert_int_equal(find(NULL, "7", topo, &found), 0);
	persist_keep_paths(store, "7", NULL);
	assert_int_equal(find(store, "7", topo, &found), 0);
	store_close(store);
	topo_unref(topo);
}

static void
paths_are_for_one_fabric_and_its_hosts(void **state)
{
	static const uint32_t others[] = { 0, 1, 4 };
	static const char *const plans[] = {
		"leaf-spine --leaves 2 --hosts-per-leaf 4 --spines 2 --gbps 50",
		"leaf-spine --leaves 2 --hosts-per-leaf 4 --spines 3 --gbps 50",
		"leaf-spine --leaves 2 --hosts-per-leaf 4 --spines 2 --gbps 100",
	};
	struct store *store = opened();
	uint32_t numbers[] = { 1, 0, WORK_HASHED };
	struct persist_paths paths;
	struct topo *topo;
	struct err err;

	(void)state;
	topo = make_topo(plans[0]);
	paths = paths_on(topo);
	paths.paths = numbers;
	paths.n_paths = 3;
	persist_keep_paths(store, "7", &paths);
	paths = paths_on(topo);
	paths.hosts = others;
	assert_int_equal(persist_find_paths(store, "7", &paths, &err), 0);
	paths.n_hosts = 2;
	assert_int_equal(persist_find_paths(store, "7", &paths, &err), 0);
	topo_unref(topo);
	for (size_t i = 0; i < 3; i++) {
		topo = make_topo(plans[i]);
		assert_int_equal(find(store, "7", topo, &paths), i == 0);
		free(paths.paths);
		topo_unref(topo);
	}
	store_close(store);
}

/* Every document that is cut short, and every one with another byte. */
static void
damaged_documents_are_refused_or_read(void **state)
{
	struct topo *topo = make_topo("leaf-spine --leaves 2 --hosts-per-leaf 4 "
				      "--spines 2 --gbps 50");
	char *good = xasprintf("{\"fabric\":\"%016llx\",\"hosts\":\"h[0-1,5]\","
			       "\"connections\":2,\"paths\":[0,1,-1,1]}",
			       (unsigned long long)topo_digest(topo));
	size_t n_refused = 0, n = strlen(good);
	struct store *store = opened();
	struct persist_paths found;

	(void)state;
	store_put(store, STORE_PATHS, "7", 1, good);
	assert_int_equal(find(store, "7", topo, &found), 1);
	assert_int_equal(found.n_paths, 4);
	free(found.paths);
	for (size_t i = 0; i < n; i++) {
		char *text = xstrndup(good, i);

		store_put(store, STORE_PATHS, "7", 1, text);
		assert_int_equal(find(store, "7", topo, &found), -EINVAL);
		free(text);
	}
	for (size_t i = 0; i < n; i++) {
		for (const char *with = "x9-\",{[ "; *with; with++) {
			char *text = xstrdup(good);

			text[i] = *with;
			store_put(store, STORE_PATHS, "7", 1, text);
			n_refused += find(store, "7", topo, &found) < 0;
			free(found.paths);
			free(text);
		}
	}
	assert_true(n_refused > n);
	free(good);
	store_close(store);
	topo_unref(topo);
}

static void
documents_that_are_too_long_are_refused(void **state)
{
	struct topo *topo = make_topo("leaf-spine --leaves 2 --hosts-per-leaf 4 "
				      "--spines 2 --gbps 50");
	size_t n = PERSIST_MAX_PATHS_BYTES;
	struct persist_paths paths = paths_on(topo), found;
	struct store *store = opened();
	char *text;

	(void)state;
	/* They are not stored, and what was there before is gone. */
	paths.n_paths = n / 2;
	paths.paths = xcalloc(n, sizeof *paths.paths);
	persist_keep_paths(store, "7", &paths);
	assert_int_equal(find(store, "7", topo, &found), 0);
	paths.n_paths = n / 4;
	persist_keep_paths(store, "7", &paths);
	assert_int_equal(find(store, "7", topo, &found), 1);
	free(found.paths);
	text = xasprintf("{\"fabric\":\"%*s\"}", (int)n, "");
	store_put(store, STORE_PATHS, "7", 1, text);
	assert_int_equal(find(store, "7", topo, &found), -EINVAL);
	free(text);
	free(paths.paths);
	store_close(store);
	topo_unref(topo);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(random_paths_come_back, make_directory,
						remove_directory),
		cmocka_unit_test_setup_teardown(paths_are_for_one_fabric_and_its_hosts,
						make_directory, remove_directory),
		cmocka_unit_test_setup_teardown(damaged_documents_are_refused_or_read,
						make_directory, remove_directory),
		cmocka_unit_test_setup_teardown(documents_that_are_too_long_are_refused,
						make_directory, remove_directory),
	};

	return cmocka_run_group_tests_name("stored paths", tests, NULL, NULL);
}
